/*
 * reap.h
 *		What a writer notes of rows that are deleted, so that it can remove their index entries
 *		later and VACUUM need not.
 *
 * A backend notes of a table, first, pages with rows that it has deleted; then, when it prunes
 * such a page or another one, the bytes of rows that became dead line pointers, for their keys;
 * then rows whose keys do not lead to all entries: those that have had several, and are named only
 * where such entries may be, and those whose keys are not known any more;
 * last, dead line pointers that no index names any more, but a scan may still remember.  Whoever
 * is above (clean_by_writer.c) takes a row from one to the next.  What is forgotten on the way is
 * left to VACUUM.
 */
#ifndef ZHEAP_REAP_H
#define ZHEAP_REAP_H

#include "access/itup.h"
#include "access/transam.h"
#include "storage/block.h"
#include "storage/itemptr.h"
#include "storage/proc.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/mvcc.h"

#define ZREAP_MAX_RANGES	256
#define ZREAP_MAX_ROWS		512
#define ZREAP_MAX_BYTES		(64 * 1024)
#define ZREAP_ENOUGH_ROWS	200
#define ZREAP_MAX_WAITING	4096
#define ZREAP_MAX_SWEPT		2048	/* there is room for those that come meanwhile */
#define ZREAP_MAX_POINTERS	4096
#define ZREAP_MAX_PAGES		1024

/* The indexes, and the size of a high key, of a walk that may pause. */
#define ZREAP_MAX_INDEXES	32
#define ZREAP_MAX_PIVOT		(BLCKSZ / 2)

/* Blocks in which this backend has deleted rows. */
typedef struct ZReapRange
{
	BlockNumber first;
	BlockNumber last;			/* included */
	FullTransactionId newest;	/* the last transaction that did */
	int			rows;
} ZReapRange;

/* A row that was dead to all: now a dead line pointer. */
typedef struct ZReapRow
{
	ItemPointerData tid;
	uint16		len;
	uint32		offset;			/* of the row's bytes, within those of all rows */
	uint16		removed;		/* so many indexes have no entry of it any more */
	bool		here;			/* the index in hand has none */
	bool		several;		/* it has had several keys (ZROW2_SEVERAL_KEYS) */
	bool		anywhere;		/* not found by its keys: any index may have entries of it */
} ZReapRow;

/* A dead line pointer that no index names. */
typedef struct ZReapPointer
{
	FullTransactionId since;	/* as old as that: no scan remembers it (zreap_is_past) */
	ItemPointerData tid;
} ZReapPointer;

/* A page that was deleted from an index. */
typedef struct ZReapPage
{
	RelFileLocator index;
	BlockNumber block;
	FullTransactionId safe;		/* when all see this one as finished, the page is free */
} ZReapPage;

/*
 * A sweep: a walk over the leaves of each index that may have several entries of a row, or of each
 * index.  Batch by batch it goes on where it was paused.
 */
typedef struct ZReapWalk
{
	bool		all;			/* each index */
	int			nindexes;
	int			at;				/* so many of them are done with */
	RelFileLocator indexes[ZREAP_MAX_INDEXES];
	bool		paused;			/* within the next one, at the leaf with the high key "pivot" */
	union						/* as aligned as attributes of the tuple may want it */
	{
		IndexTupleData tuple;
		char		bytes[ZREAP_MAX_PIVOT];
		double		force_align_d;
		int64		force_align_i64;
	}			pivot;
	BlockNumber leaves;			/* looked at so far */
	BlockNumber expected;		/* so many there were when it began */
} ZReapWalk;

/* Large, so only sessions have them that delete more than a few rows, or have pruned some. */
typedef struct ZReapLists
{
	ZReapRow	rows[ZREAP_MAX_ROWS];
	/*
	 * For a sweep, without bytes.  No index names them any more but those that may have several
	 * entries of a row, unless they are "anywhere".  The first ones are being swept, in the order
	 * of TIDs.
	 */
	ZReapRow	waiting[ZREAP_MAX_WAITING];
	ZReapWalk	walk;
	ZReapPointer pointers[ZREAP_MAX_POINTERS];
	ZReapPage	pages[ZREAP_MAX_PAGES];
	char		bytes[ZREAP_MAX_BYTES];
} ZReapLists;

typedef struct ZReapNotes
{
	Oid			table;
	RelFileLocator locator;
	uint64		freed;			/* zheap_pointers_freed() when rows and pointers were noted */
	LocalTransactionId lxid;	/* in this transaction it was looked whether there is enough */
	bool		busy;			/* being worked on, or an error has ended that */
	int			failures;
	uint32		asked;			/* so often it was asked whether a batch is worth while */
	int			noted;			/* rows deleted or pruned, to be paid for by a batch */
	int			credit;			/* looks at pages that batches may cost; less than 0: none yet */
	int			looks;			/* those of the batch in hand */
	int			nranges;
	BlockNumber range_blocks;	/* in all of these */
	int			range_rows;
	int			nrows;
	int			nbytes;
	int			ntaken;			/* rows of the page that is being pruned, behind the others */
	int			taken_bytes;
	int			taken_lost;
	int			nwaiting;
	int			nswept;			/* of these; 0: no sweep is under way */
	int			npointers;
	int			npages;
	uint64		lost;			/* rows left to VACUUM, still to be counted */
	ZReapRange	ranges[ZREAP_MAX_RANGES];	/* the oldest first, as all of these */
	ZReapLists *lists;			/* NULL: not needed yet, or no memory */
} ZReapNotes;

/*
 * Called when enough has been noted of a table whose indexes are all valid B-trees on columns, at
 * the start of a write: no page is locked.
 */
extern void (*zreap_hook) (Relation rel, ZReapNotes *notes);

/* The table whose notes these are is being written to; or NULL. */
extern ZReapNotes *zreap_current;

/* ---- for writers ---- */

extern void zreap_look(Relation rel);
extern void zreap_note_deleted(BlockNumber block, FullTransactionId fxid);

/* At the start of a write to the table.  No page is locked. */
static inline void
zreap_begin_write(Relation rel)
{
	if (unlikely(zheap_remove_dead_entries))
		zreap_look(rel);
	else
		zreap_current = NULL;
}

/*
 * A table that this transaction has rewritten has another file, whose line pointers are no longer
 * those of the notes; and the other way about when that is rolled back.
 */
static inline bool
zreap_is_of(const ZReapNotes *notes, Relation rel)
{
	return notes->table == RelationGetRelid(rel) &&
		RelFileLocatorEquals(notes->locator, rel->rd_locator);
}

/* A row has been deleted.  The page may be locked. */
static inline void
zreap_note(Relation rel, BlockNumber block, FullTransactionId fxid)
{
	if (unlikely(zreap_current != NULL) && zreap_is_of(zreap_current, rel))
		zreap_note_deleted(block, fxid);
}

/* To whom pruning hands over the rows of the table; NULL: nobody. */
static inline ZReapNotes *
zreap_taker(Relation rel)
{
	return zreap_current != NULL && zreap_is_of(zreap_current, rel) ? zreap_current : NULL;
}

/*
 * The page is locked; its rows that are to become dead line pointers are taken one by one, and
 * count when they are: if there is an error before, somebody else will come upon them.
 */
extern void zreap_begin_page(ZReapNotes *notes, Relation rel);
extern void zreap_take_row(ZReapNotes *notes, ZPageView *view, ZRowVersion *version);
extern void zreap_end_page(ZReapNotes *notes);

/* ---- for those who work on the notes ---- */

/* Is there room for as many pointers as rows may be noted, and those that are being swept? */
static inline bool
zreap_has_room(const ZReapNotes *notes)
{
	return notes->npointers + notes->nswept + ZREAP_MAX_ROWS <= ZREAP_MAX_POINTERS;
}

/* Is it worth while to look for the rows' entries?  Those on one leaf are removed together. */
static inline bool
zreap_has_rows(const ZReapNotes *notes)
{
	return notes->nrows >= ZREAP_ENOUGH_ROWS || notes->nbytes >= ZREAP_MAX_BYTES / 2;
}

/* Are there pages to be pruned, which all snapshots are past, and is that worth a batch? */
extern bool zreap_has_pages(Relation rel, ZReapNotes *notes);

/* In the order of TIDs, and of none it is known that an index has no entry. */
extern void zreap_sort_rows(ZReapRow *rows, int n);

/* No index names the row any more, but a scan that began before "since" may remember it. */
extern void zreap_note_pointer(ZReapNotes *notes, const ZReapRow *row, FullTransactionId since);

/* Forgets the oldest n ranges. */
extern void zreap_forget_ranges(ZReapNotes *notes, int n);

/*
 * Forgets what may not be any more what it was, since VACUUM has freed line pointers.  Whoever
 * works on the notes has locked the table against VACUUM.
 */
extern void zreap_check_notes(Relation rel, ZReapNotes *notes);

/* Is a transaction that was not finished then finished for all snapshots of this database? */
extern bool zreap_is_past(Relation rel, FullTransactionId fxid);

/*
 * As zdml_reclaim_pointers (dml.h), of the caller's own notes.  Returns how many of the pointers
 * were freed; the others may be locked.
 */
extern int	zreap_free_pointers(Relation rel, Buffer buffer, OffsetNumber *offsets, int n);

#endif							/* ZHEAP_REAP_H */
