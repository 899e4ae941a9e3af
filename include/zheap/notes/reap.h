/*
 * reap.h
 *		What a writer notes of rows that are deleted, so that it can remove their index entries
 *		later and VACUUM need not.
 *
 * A backend's notes of a table are of four kinds:
 *
 * 1. ranges of pages in which it has deleted rows;
 *
 * 2. rows that it has pruned to dead line pointers, with their bytes, which give the keys of
 *	  their index entries;
 *
 * 3. rows whose keys do not lead to all their entries: those that have had several keys, which
 *	  are named only by indexes that may have several entries of a row, and those whose keys
 *	  are not known any more;
 *
 * 4. dead line pointers that no index names any more, but that a scan may still remember.
 *
 * The layer clean (clean_by_writer.c) moves a row from one kind to the next.  A row that is
 * forgotten on the way is left to VACUUM.
 *
 * LOCKING: none; the notes are in the backend's memory.
 */
#ifndef ZHEAP_REAP_H
#define ZHEAP_REAP_H

#include "access/itup.h"
#include "access/transam.h"
#include "storage/block.h"
#include "storage/itemptr.h"
#include "storage/proc.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/version.h"

#define ZREAP_MAX_RANGES	256
#define ZREAP_MAX_ROWS		512
#define ZREAP_MAX_BYTES		(64 * 1024)
#define ZREAP_ENOUGH_ROWS	200
#define ZREAP_MAX_WAITING	4096
#define ZREAP_MAX_SWEPT		2048	/* leaves room in "waiting" for rows that are added during a
									 * sweep */
#define ZREAP_MAX_POINTERS	4096
#define ZREAP_MAX_PAGES		1024

/* Limits of a walk that may pause: number of indexes, bytes of a high key. */
#define ZREAP_MAX_INDEXES	32
#define ZREAP_MAX_PIVOT		(BLCKSZ / 2)

/* Blocks in which this backend has deleted rows. */
typedef struct ZReapRange
{
	BlockNumber first;
	BlockNumber last;			/* included */
	FullTransactionId newest;	/* the last transaction that deleted one there */
	int			rows;
} ZReapRange;

/* A pruned row: it was dead to all snapshots, and is a dead line pointer now. */
typedef struct ZReapRow
{
	ItemPointerData tid;
	uint16		len;
	uint32		offset;			/* of the row's bytes, within those of all rows */
	uint16		removed;		/* number of indexes that have no entry of it any more */
	bool		here;			/* the index being processed has none */
	bool		several;		/* it has had several keys (ZROW2_SEVERAL_KEYS) */
	bool		anywhere;		/* not found by its keys: any index may have entries of it */
} ZReapRow;

/* A dead line pointer that no index names. */
typedef struct ZReapPointer
{
	FullTransactionId since;	/* when it is past (zreap_is_past), no scan remembers it */
	ItemPointerData tid;
} ZReapPointer;

/* A page that was deleted from an index. */
typedef struct ZReapPage
{
	RelFileLocator index;
	BlockNumber block;
	FullTransactionId safe;		/* the page is free when all snapshots see this one as finished */
} ZReapPage;

/*
 * A sweep: a walk over the leaves of all indexes, or of those that may have several entries of a
 * row.  It is paused at the end of a batch, and continued by the next one.
 */
typedef struct ZReapWalk
{
	bool		all;			/* all indexes; else those that may have several entries of a
								 * row */
	int			nindexes;
	int			at;				/* number of indexes that are done */
	RelFileLocator indexes[ZREAP_MAX_INDEXES];
	bool		paused;			/* within the next one, at the leaf with the high key "pivot" */
	union						/* as aligned as attributes of the tuple may want it */
	{
		IndexTupleData tuple;
		char		bytes[ZREAP_MAX_PIVOT];
		double		force_align_d;
		int64		force_align_i64;
	}			pivot;
	BlockNumber leaves;			/* visited so far */
	BlockNumber expected;		/* their number when the sweep began */
} ZReapWalk;

/*
 * Large, so allocated only in sessions that delete more than a few rows, or that have pruned
 * some.
 */
typedef struct ZReapLists
{
	ZReapRow	rows[ZREAP_MAX_ROWS];
	/*
	 * Rows that wait for a sweep, without their bytes.  Only indexes that may have several
	 * entries of a row name them, unless they are "anywhere".  The first nswept are being swept,
	 * in the order of TIDs.
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
	LocalTransactionId lxid;	/* the last transaction that checked whether there is enough */
	bool		busy;			/* a batch is running, or was ended by an error */
	int			failures;
	uint32		scattered;		/* indexes, by their number, whose entries are left to VACUUM */
	uint32		removals;		/* number of batches that have removed entries */
	uint32		asked;			/* number of checks whether a batch is worth its cost */
	int			noted;			/* rows deleted or pruned that have not been added to the credit */
	int			credit;			/* page visits that batches may cost; no batch while negative */
	int			looks;			/* page visits of the current batch */
	int			nranges;
	BlockNumber range_blocks;	/* in all ranges */
	int			range_rows;
	int			nrows;
	int			nbytes;
	int			ntaken;			/* rows of the page that is being pruned, behind the others */
	int			taken_bytes;
	int			taken_lost;
	int			nwaiting;
	int			nswept;			/* the first of them, being swept; 0 if no sweep is under way */
	int			npointers;
	int			npages;
	uint64		lost;			/* rows left to VACUUM, not yet added to the statistics */
	ZReapRange	ranges[ZREAP_MAX_RANGES];	/* the oldest first, as in all lists */
	ZReapLists *lists;			/* NULL if not needed yet, or no memory */
} ZReapNotes;

/*
 * Runs a batch (zclean_by_writer).  Called at the start of a write, when enough is noted of a
 * table whose indexes are all valid B-trees on columns; no page is locked.  May raise any error
 * of reading and changing pages.
 */
extern void (*zreap_hook) (Relation rel, ZReapNotes *notes);

/* The notes of the table that is being written to, or NULL. */
extern ZReapNotes *zreap_current;

/* ---- for writers ---- */

/*
 * Set zreap_current for a write to the table; run a batch if there is enough.  No page is
 * locked.  Errors: those of the batch (zreap_hook).
 */
extern void zreap_look(Relation rel);
/* Note a deleted row of the table of zreap_current: see zreap_note(). */
extern void zreap_note_deleted(BlockNumber block, FullTransactionId fxid);

/*
 * Begin a write to the table.  No page is locked.  A batch may run here, and its errors are
 * raised.
 */
static inline void
zreap_begin_write(Relation rel)
{
	if (unlikely(zheap_remove_dead_entries))
		zreap_look(rel);
	else
		zreap_current = NULL;
}

/*
 * Return whether the notes are about the table and its present file.  If this transaction has
 * rewritten the table, the line pointers of the new file are others; the same if that is rolled
 * back.
 */
static inline bool
zreap_is_of(const ZReapNotes *notes, Relation rel)
{
	return notes->table == RelationGetRelid(rel) &&
		RelFileLocatorEquals(notes->locator, rel->rd_locator);
}

/* Note that a row was deleted by "fxid".  The page may be locked; cannot fail. */
static inline void
zreap_note(Relation rel, BlockNumber block, FullTransactionId fxid)
{
	if (unlikely(zreap_current != NULL) && zreap_is_of(zreap_current, rel))
		zreap_note_deleted(block, fxid);
}

/* Return the notes that take the rows that pruning removes from the table, or NULL. */
static inline ZReapNotes *
zreap_taker(Relation rel)
{
	return zreap_current != NULL && zreap_is_of(zreap_current, rel) ? zreap_current : NULL;
}

/*
 * Take the rows of a page that are about to become dead line pointers, one by one.  The page is
 * locked throughout.  The rows count from zreap_end_page() on, when they are dead line pointers;
 * after an error before that they are found again by the next pruning.  zreap_take_row() may
 * read undo if the row's body is there (errors as zmvcc_reconstruct_body()); the others cannot
 * fail.
 */
extern void zreap_begin_page(ZReapNotes *notes, Relation rel);
extern void zreap_take_row(ZReapNotes *notes, ZPageView *view, ZRowVersion *version);
extern void zreap_end_page(ZReapNotes *notes);

/* ---- for the layer clean ---- */

/*
 * Return whether there is room for the pointers of ZREAP_MAX_ROWS rows and of the rows being
 * swept.
 */
static inline bool
zreap_has_room(const ZReapNotes *notes)
{
	return notes->npointers + notes->nswept + ZREAP_MAX_ROWS <= ZREAP_MAX_POINTERS;
}

/*
 * Return whether there are enough rows to look for their entries: those on one leaf are removed
 * together.
 */
static inline bool
zreap_has_rows(const ZReapNotes *notes)
{
	return notes->nrows >= ZREAP_ENOUGH_ROWS || notes->nbytes >= ZREAP_MAX_BYTES / 2;
}

/*
 * Return whether there are enough pages to be pruned, the oldest of them past for all snapshots,
 * and a batch is worth its cost.
 */
extern bool zreap_has_pages(Relation rel, ZReapNotes *notes);

/*
 * Return whether autovacuum looks after the table, by the settings.  If so, it comes when a share
 * of the rows is dead, and removes their entries a whole leaf at a time.
 */
extern bool zreap_vacuum_comes(Relation rel);

/* Sort rows by TID, and reset their counts of indexes without an entry. */
extern void zreap_sort_rows(ZReapRow *rows, int n);

/*
 * Note the pointer of a row that no index names any more, but that a scan begun before "since"
 * may remember.
 */
extern void zreap_note_pointer(ZReapNotes *notes, const ZReapRow *row, FullTransactionId since);

/* Forget the oldest n ranges. */
extern void zreap_forget_ranges(ZReapNotes *notes, int n);

/*
 * Forget rows and pointers if VACUUM has freed line pointers since they were noted.  The
 * caller's lock on the table excludes VACUUM, if it goes on to use them.
 */
extern void zreap_check_notes(Relation rel, ZReapNotes *notes);

/*
 * Return whether every snapshot of this database sees "fxid", and all transactions before it, as
 * finished.  Recomputes the removable horizon if that may help.
 */
extern bool zreap_is_past(Relation rel, FullTransactionId fxid);

/*
 * Free dead line pointers of the caller's notes; the buffer is locked exclusively.  Returns how
 * many were freed: a pointer at which other transactions may hold a row lock is kept.  The
 * contract is that of zdml_reclaim_pointers (dml.h), but VACUUM's count is not changed.
 */
extern int	zreap_free_pointers(Relation rel, Buffer buffer, OffsetNumber *offsets, int n);

#endif							/* ZHEAP_REAP_H */
