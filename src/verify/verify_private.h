/*
 * verify_private.h
 *		Shared by the files of zheap_verify().
 *
 * Damage is found in "steps", functions that verify_step() runs in a subtransaction.  An ERROR
 * (data_corrupted) or (index_corrupted) ends the step and becomes a finding.  Functions here that
 * are said to raise one are called in steps only.
 */
#ifndef ZHEAP_VERIFY_PRIVATE_H
#define ZHEAP_VERIFY_PRIVATE_H

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "lib/bloomfilter.h"
#include "lib/integerset.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "utils/hsearch.h"

#include "zheap/base/pg_compat_bitmap.h"
#include "zheap/inspect/inspect.h"
#include "zheap/mvcc/version.h"

typedef struct Verify Verify;
typedef struct VerifyIndex VerifyIndex;
typedef struct VerifyBrin VerifyBrin;

/*
 * Functions that check indexes of one access method.  "read" and "read_again" may be NULL.
 */
typedef struct VerifyMethod
{
	Oid			am;
	/* Allocate what is needed, in about "memory" kB. */
	void		(*begin) (VerifyIndex *index, int memory);
	/* Read verify->index, before the table is read; and after it.  Steps. */
	void		(*read) (Verify *verify);
	void		(*read_again) (Verify *verify);
	/*
	 * Return whether the row in verify->slot, whose key is in verify->index, is in that index.
	 * True also if the method has reported that it is missing.
	 */
	bool		(*has) (Verify *verify);
	/* Free what "begin" has allocated. */
	void		(*end) (VerifyIndex *index);
} VerifyMethod;

/* An index that should have entries of the table's rows. */
struct VerifyIndex
{
	Relation	rel;
	const VerifyMethod *method;
	IndexInfo  *info;
	ExprState  *predicate;
	bool		readable;		/* true until a step has found it damaged */
	bool		unknown;		/* true if it was not read, though no damage was found */
	uint64		freed;			/* zheap_pointers_freed() before the index was read */

	/* the key of the current row */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	/* state of the method; what it does not use is NULL */
	bloom_filter *entries;		/* the index's entries: key, or what they hold of it, and TID */
	bloom_filter *rows;			/* rows that the snapshot sees: key and TID */
	TIDBitmap  *tids;			/* TIDs of the entries */
	ZCompatTids *iterator;		/* over "tids"; NULL before these are complete */
	ZCompatTidBlock *at;		/* current block of the iterator; NULL at the end */
	VerifyBrin *brin;
};

struct Verify
{
	ReturnSetInfo *rsinfo;
	bool		with_relation;	/* true if the first column of the result is the table */
	bool		toast;			/* true if chunks of toasted values are read */
	Relation	rel;
	Relation	toast_rel;		/* or NULL */
	Snapshot	snapshot;		/* the statement's: rows that it sees are in indexes */
	VerifyIndex *indexes;
	int			nindexes;
	VerifyIndex *index;			/* the current one */
	EState	   *estate;			/* for keys and predicates */
	TupleTableSlot *slot;		/* a row, its values deformed */
	MemoryContext per_row;
	ZPageView	view;

	/* current place, which findings are reported for */
	BlockNumber block;
	OffsetNumber offnum;		/* or invalid */
	bool		usable;			/* true if the rows of the page can be read */
	int64		findings;		/* number of findings so far */
	int			nrecords;		/* number of WAL records searched for */

	IntegerSet *damaged;		/* blocks with rows that could not be checked; NULL if none */
};

/* ---- verify_findings.c ---- */

/* Report a finding at the current place.  "kind" is one of those in docs/inspection.md. */
extern void verify_report(Verify *verify, const char *kind, const char *fmt,...)
			pg_attribute_printf(3, 4);

/* Let findings be about no place in the table. */
extern void verify_reset_place(Verify *verify);

/* Report that an item of verify->index is damaged. */
extern void verify_report_item(Verify *verify, BlockNumber index_block, OffsetNumber item);

/*
 * Report that an entry of verify->index leads to "where" at "tid".  The entry is item "item" of
 * "index_block", which may be invalid.  Resets the current place.
 */
extern void verify_report_entry(Verify *verify, ItemPointer tid, BlockNumber index_block,
								OffsetNumber item, const char *where);

/*
 * Run a step in a subtransaction and a memory context of its own.  An error by damage is reported
 * as a finding of this kind; pins and locks that the step held are released.  Return whether the
 * step came to its end.  Other errors, and cancellation, are raised again.
 */
extern bool verify_step(Verify *verify, const char *kind, void (*step) (Verify *verify));

/* Note that rows of verify->block could not be checked; blocks come in ascending order. */
extern void verify_note_damaged(Verify *verify);

/* Return whether rows of the block could not be checked. */
extern bool verify_is_damaged(Verify *verify, BlockNumber block);

/* ---- verify_page.c ---- */

/*
 * Check the page verify->block: its header, slots, overflow and lock pages, its bits in the
 * visibility map, and each row's header.  A step.  Sets verify->usable to whether its rows can be
 * read.  Holds no lock afterwards.
 */
extern void verify_page(Verify *verify);

/* ---- verify_entry.c ---- */

/*
 * These functions work on copies of pages, which may be damaged: they stay within the copy, take
 * no lock, and raise no error unless they say so.
 */

/* Return whether the line pointer is one that an entry may name: a row's, or dead (I1). */
extern bool verify_pointer_exists(Page page, OffsetNumber offnum);

/* Return whether the item is within an index's page, and long enough for an index tuple. */
extern bool verify_item_fits(Page page, OffsetNumber offnum);

/* Return whether all items of the page fit. */
extern bool verify_items_fit(Page page);

/* Return whether the header is that of a page whose special space has "special" bytes. */
extern bool verify_has_special(Page page, Size special);

/* Return the item, on the page, if it is a whole index tuple, or NULL. */
extern IndexTuple verify_index_tuple(Page page, OffsetNumber offnum);

/*
 * Return the end of a value that begins at "at", aligned relative to "start"; NULL if it does not
 * end before or at "end".
 */
extern const char *verify_value_end(const char *start, const char *at, const char *end,
									int16 attlen, char attalign);

/*
 * Deform the first "size" bytes of an index tuple.  The values point into the tuple.  Return
 * whether all of them are within these bytes.
 */
extern bool verify_entry_values(IndexTuple tuple, Size size, TupleDesc desc, Datum *values,
								bool *isnull);

/*
 * Return the values of an index's columns as bytes, which are the same for the same values,
 * compressed or not.  Allocated in the current context.  ERROR (data_corrupted) if a value cannot
 * be decompressed.
 */
extern StringInfo verify_key_bytes(TupleDesc desc, const Datum *values, const bool *isnull);

/*
 * Add to a filter, or look up in it, the first "len" of the bytes followed by the TID, which
 * overwrites what is behind "len".  verify_lacks_entry() returns true if they are certainly not in
 * the filter.
 */
extern void verify_add_entry(bloom_filter *filter, StringInfo bytes, int len, ItemPointer tid);
extern bool verify_lacks_entry(bloom_filter *filter, StringInfo bytes, int len, ItemPointer tid);

/* ---- verify_seen.c ---- */

/*
 * Store the version that the snapshot sees of a row on the view's page in verify->slot, which then
 * points to memory of the current context.  Return whether the snapshot sees one.  ERROR
 * (data_corrupted) if the row or its undo is damaged.
 */
extern bool verify_fetch_seen(Verify *verify, OffsetNumber offnum);

/*
 * Deform the first "upto" columns of a version; *end is set to the offset of their end.  ERROR
 * (data_corrupted) if they run past the row's end.
 */
extern void verify_deform(Verify *verify, const ZRowVersion *version, int upto, Datum *values,
						  bool *isnull, uint32 *end);

/*
 * Form the index's key of the row in verify->slot.  Return whether the row belongs into the index:
 * false if its predicate excludes it.  Errors are those of expressions.
 */
extern bool verify_form_key(Verify *verify, VerifyIndex *index);

/* ---- verify_walk.c: walking an index from its roots ---- */

/* A link that is still to be followed. */
typedef struct VerifyLink
{
	ItemPointerData to;
	XLogRecPtr	parent_lsn;		/* LSN of the page with the link, as read, or invalid */
} VerifyLink;

typedef struct VerifyWalk
{
	Relation	index;
	TIDBitmap  *tids;			/* TIDs of the entries found so far */
	HTAB	   *passed;			/* places visited so far */
	VerifyLink *links;			/* stack of links to be followed */
	int			nlinks;
	int			max_links;
	PGAlignedBlock copy;		/* copy of the current page */
	BlockNumber block;			/* the current page */
} VerifyWalk;

/* Begin a walk through verify->index.  It is freed with the step's memory. */
extern VerifyWalk *verify_walk_begin(Verify *verify);

/* Add a link to be followed. */
extern void verify_walk_add(VerifyWalk *walk, BlockNumber block, OffsetNumber off,
							XLogRecPtr parent_lsn);

/*
 * Visit the places that links lead to until none is left; visits may add links.  Can be cancelled.
 */
extern void verify_walk_run(VerifyWalk *walk,
							void (*visit) (VerifyWalk *walk, const VerifyLink *link));

/*
 * Note that a place is visited.  Return whether this is the first visit: if links form a circle,
 * a place is visited again.
 */
extern bool verify_walk_pass(VerifyWalk *walk, BlockNumber block, OffsetNumber off);

/*
 * Copy a page of the index, which becomes the current one.  ERROR (index_corrupted) if it does not
 * exist, is all zeros, or is_page() returns false; (data_corrupted) if it cannot be read.
 */
extern void verify_walk_copy(VerifyWalk *walk, BlockNumber block,
							 bool (*is_page) (Page page, BlockNumber block));

/* Raise ERROR (index_corrupted) with this message, or that this block of an index is damaged. */
pg_noreturn extern void verify_damaged(const char *fmt,...) pg_attribute_printf(1, 2);
pg_noreturn extern void verify_damaged_block(Relation index, BlockNumber block);

/*
 * Check the link to a block, after "n" others of the same level or bucket ("what").  ERROR
 * (index_corrupted) if the index has no more pages than were followed, as then links lead back, or
 * does not have the block.  *nblocks is the index's size when last asked for, 0 at first.  Can be
 * cancelled.
 */
extern void verify_link(Relation index, BlockNumber block, BlockNumber n, BlockNumber *nblocks,
						const char *what);

/* ---- verify_summary.c ---- */

/*
 * Return whether a value of a BRIN summary, for a column of "type", is whole.  True also for
 * values of other types than the server's two for summaries, which need no check.
 */
extern bool verify_summary_fits(Oid summary_type, Oid type, Datum value);

/* ---- verify_btree.c, _hash.c, _gist.c, _spgist.c, _gin.c, _brin.c ---- */

extern const VerifyMethod verify_btree;
extern const VerifyMethod verify_hash;
extern const VerifyMethod verify_gist;
extern const VerifyMethod verify_spgist;
extern const VerifyMethod verify_gin;
extern const VerifyMethod verify_brin;

/* ---- verify_tids.c: methods that keep the TIDs of all entries ---- */

/* Create index->tids, a bitmap of at most "memory" kB; verify_tids_end() frees it. */
extern void verify_tids_begin(VerifyIndex *index, int memory);

/* Start the iteration, when the TIDs are complete. */
extern void verify_tids_ready(VerifyIndex *index);

/*
 * Return whether verify->index has an entry with the TID of verify->slot, or may have one, as the
 * bitmap is lossy there.  Rows are asked for in the order of their blocks.
 */
extern bool verify_tids_have(Verify *verify);

/*
 * Report TIDs of all indexes that must not be there: those of the page in the view whose line
 * pointers are unused; those beyond the table's end.
 */
extern void verify_tids_of_page(Verify *verify);
extern void verify_tids_beyond(Verify *verify);
extern void verify_tids_end(VerifyIndex *index);

/* The method of access method "oid"; "function" puts the TIDs of the entries into index->tids. */
#define VERIFY_TIDS_METHOD(oid, function) { \
	.am = (oid),.begin = verify_tids_begin,.read = (function), \
	.has = verify_tids_have,.end = verify_tids_end \
}

/* ---- verify_index.c ---- */

/*
 * Open and read the table's indexes, with AccessShareLock, before the table is read; read them
 * again after it; close them and release the locks.
 */
extern void verify_open_indexes(Verify *verify);
extern void verify_reread_indexes(Verify *verify);
extern void verify_close_indexes(Verify *verify);

/* Report the indexes that lack the row in verify->slot, which the snapshot sees. */
extern void verify_in_indexes(Verify *verify);

/* ---- verify_row.c ---- */

/*
 * Copy the page verify->block into the view, and check the chain of each slot.  A step.  Sets
 * verify->usable to whether the page has rows.  No lock is held while undo is read.
 */
extern void verify_chains(Verify *verify);

/*
 * Check all versions of the row at verify->offnum of the view's page, and the one that the
 * snapshot sees: toasted values, index entries.  In a step: ERROR (data_corrupted) if the row or
 * its undo is damaged.
 */
extern void verify_row(Verify *verify);

#endif							/* ZHEAP_VERIFY_PRIVATE_H */
