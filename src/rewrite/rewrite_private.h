/*
 * rewrite_private.h
 *		State of one CLUSTER or VACUUM FULL, shared by the files rewrite_*.c.
 *
 * No page is locked when any of these functions is called, and none on return.  All may raise
 * errors of reading and writing.  Memory comes from the current context unless said otherwise.
 */
#ifndef ZHEAP_REWRITE_PRIVATE_H
#define ZHEAP_REWRITE_PRIVATE_H

#include "utils/hsearch.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat_stream.h"
#include "zheap/mvcc/version.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"

/* ---- the new file, page by page (rewrite_page.c) ---- */

/*
 * The page being filled.  It is in private memory until it is full: no other process can see the
 * new file, and pages that are written at once need no buffers.
 */
typedef struct ZCopyPage
{
	Relation	rel;
	BlockNumber block;			/* its block number */
	Page		page;
	Page		overflow;		/* the page behind it, if the page has no slots of its own: it
								 * has the one that its row names */
	Size		spare;			/* bytes kept free by fillfactor */

	/* the newest record of each row with a history, and its modifier */
	bool		has_history;
	ZDirectory	dir;

	/* rows at the page's end whose insertions one undo record will cover */
	FullTransactionId run_fxid;
	OffsetNumber run_first;
	uint16		run_count;		/* 0: none */
	CommandId	run_cid;
} ZCopyPage;

/* Begin a new file; copy_page_close() frees the memory. */
extern void copy_page_open(ZCopyPage *out, Relation rel);

/* Write the remaining page, make the file durable, and free the memory. */
extern void copy_page_close(ZCopyPage *out);

/*
 * Make sure that the page has room for a row of "len" bytes, writing the page and beginning
 * another if necessary.
 */
extern void copy_page_find(ZCopyPage *out, uint32 len);

/* Set *tid to the place of the next row. */
extern void copy_page_tid(const ZCopyPage *out, ItemPointer tid);

/*
 * Write an undo record about the next row, and return its place.  No slot leads to it: its place
 * must be given to copy_page_changed() or to another record.
 */
extern ZUndoPtr copy_page_undo(ZCopyPage *out, ZUndoRecord *rec);

/*
 * State that the next row's newest version was made by the record and modifier *newest.
 * Completes *hdr.
 */
extern void copy_page_changed(ZCopyPage *out, const ZOwner *newest, ZRowHeader *hdr);

/*
 * State that the next row was inserted by "fxid" and has not been changed since.  Completes
 * *hdr.
 */
extern void copy_page_inserted(ZCopyPage *out, FullTransactionId fxid, CommandId cid,
							   ZRowHeader *hdr);

/* Add the row, whose header is complete.  "deleter" is invalid unless the row is deleted. */
extern void copy_page_add(ZCopyPage *out, const char *row, uint32 len,
						  FullTransactionId deleter);

/* ---- the whole rewrite (rewrite_table.c) ---- */

typedef struct ZCopy
{
	Relation	from;
	Relation	to;
	FullTransactionId oldest;	/* transactions that committed before it are visible to all */

	ZPageView	view;			/* view of a page of "from" */
	BlockNumber view_block;		/* that page, or invalid */
	BlockNumber nblocks;		/* of "from" */
	bool		view_rows;		/* it holds rows */
	BufferAccessStrategy strategy;

	/*
	 * newest xid whose changes are treated as visible to all, and that standbys may not know as
	 * such
	 */
	FullTransactionId conflict;

	MemoryContext context;		/* reset after each row */
	TupleTableSlot *slot;		/* virtual: the values of one row */

	ZCopyPage	out;

	/* rows that updates have moved (rewrite_move.c) */
	HTAB	   *moves;			/* or NULL */
	HTAB	   *targets;		/* TIDs of rows that moved rows lead to; NULL if not collected:
								 * any row may be one */
	ItemPointerData *pending;
	int64		npending;
	int64		pending_alloc;

	double		num_tuples;
	double		tups_vacuumed;
	double		tups_recently_dead;
} ZCopy;

/* ---- the old table (rewrite_view.c) ---- */

/* The position of a stream of the old table's pages. */
typedef struct ZCopyAhead
{
	BlockNumber block;
	BlockNumber nblocks;
} ZCopyAhead;

/* View the block of the old table.  Return whether it holds rows. */
extern bool copy_view(ZCopy *copy, BlockNumber block);

/* Do so for a pinned page, which is not locked and stays pinned. */
extern bool copy_view_pinned(ZCopy *copy, Buffer buffer);

/*
 * Begin a stream of all pages of the old table, in order.  The caller ends it; "ahead" must
 * exist until then.
 */
extern ReadStream *copy_stream_begin(ZCopy *copy, ZCopyAhead *ahead);

/*
 * Note that changes of the transaction are treated as visible to all, though they may not be so
 * on standbys yet.
 */
extern void copy_note_conflict(ZCopy *copy, FullTransactionId fxid);

/*
 * Return whether the version, whose modifier has not aborted, is visible to all.  Resolves
 * version->upper_bound.
 */
extern bool copy_all_visible(ZCopy *copy, ZRowVersion *version);

/* ---- one row (rewrite_row.c) ---- */

/*
 * Store the values of a version of the viewed page in copy->slot.  They point into the version
 * and the current memory context.  ERROR (data_corrupted) if the row cannot be read.
 */
extern void copy_values(ZCopy *copy, const ZRowVersion *version);

/* Write a row with the values in copy->slot, visible to all. */
extern void copy_row_frozen(ZCopy *copy);

/*
 * Write the row of the viewed page with all versions that a snapshot may still see.  *tid is set
 * to its new place, or is invalid if the row is gone meanwhile.  If the row was moved, its newer
 * version is at *moved_to (NULL if that is not known: it was deleted then).  Returns the
 * inserter; invalid if the insertion is visible to all.  ERROR (data_corrupted) if a version is
 * missing.
 */
extern FullTransactionId copy_row_history(ZCopy *copy, OffsetNumber offnum,
										  const ItemPointerData *moved_to, ItemPointer tid);

/* ---- rows that updates have moved (rewrite_move.c) ---- */

/* Return whether a row was moved; "version" is its newest version, not visible to all. */
extern bool copy_is_moved(const ZRowVersion *version);

/*
 * Put off the row at "tid" until the end, because it must name the new place of the row that it
 * leads to.
 */
extern void copy_move_later(ZCopy *copy, const ZRowVersion *version, const ItemPointerData *tid);

/* Remember that the row at "from" was inserted by "inserter", and is now at "to". */
extern void copy_move_remember(ZCopy *copy, const ItemPointerData *from,
							   const ItemPointerData *to, FullTransactionId inserter);

/* Write the rows that were put off. */
extern void copy_moves_finish(ZCopy *copy);

#endif							/* ZHEAP_REWRITE_PRIVATE_H */
