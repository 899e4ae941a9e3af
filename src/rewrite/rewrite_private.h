/*
 * rewrite_private.h
 *		State of one CLUSTER or VACUUM FULL, shared by the files vacuum_copy*.c.
 */
#ifndef ZHEAP_REWRITE_PRIVATE_H
#define ZHEAP_REWRITE_PRIVATE_H

#include "utils/hsearch.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat_stream.h"
#include "zheap/mvcc/mvcc.h"
#include "zheap/page/page.h"

/* ---- the new file, page by page (rewrite_page.c) ---- */

/*
 * The page being filled.  It is private memory until it is full: nobody else can
 * see the file, and what is written at once needs no buffers.
 */
typedef struct ZCopyPage
{
	Relation	rel;
	BlockNumber block;			/* where the page will be */
	Page		page;
	Page		overflow;		/* the page behind it, where a page without slots of its own
								 * has the one that its row names */
	Size		spare;			/* of fillfactor */

	/* of each row with a history the newest record, and its modifier */
	bool		has_history;
	ZDirectory	dir;

	/* rows at the page's end whose insertion one undo record is to tell */
	FullTransactionId run_fxid;
	OffsetNumber run_first;
	uint16		run_count;		/* 0: none */
	CommandId	run_cid;
} ZCopyPage;

extern void copy_page_open(ZCopyPage *out, Relation rel);

/* Write what is left; make the file durable. */
extern void copy_page_close(ZCopyPage *out);

/* Turn to a page with room for a row of "len" bytes. */
extern void copy_page_find(ZCopyPage *out, uint32 len);

/* Where the next row will be. */
extern void copy_page_tid(const ZCopyPage *out, ItemPointer tid);

/*
 * Write an undo record about the next row.  No slot leads to it: it is found by its
 * place, which copy_page_changed or another record tells.
 */
extern ZUndoPtr copy_page_undo(ZCopyPage *out, ZUndoRecord *rec);

/* The next row's newest version, and the record of its making.  Completes *hdr. */
extern void copy_page_changed(ZCopyPage *out, const ZOwner *newest, ZRowHeader *hdr);

/* The next row was inserted by fxid, and nobody has changed it.  Completes *hdr. */
extern void copy_page_inserted(ZCopyPage *out, FullTransactionId fxid, CommandId cid,
							   ZRowHeader *hdr);

/*
 * Add the row.  Its header is complete; "deleter" is invalid unless the row is
 * deleted.
 */
extern void copy_page_add(ZCopyPage *out, const char *row, uint32 len,
						  FullTransactionId deleter);

/* ---- the whole (rewrite_table.c) ---- */

typedef struct ZCopy
{
	Relation	from;
	Relation	to;
	FullTransactionId oldest;	/* what committed before is visible to all */

	ZPageView	view;			/* of a page of "from" */
	BlockNumber view_block;		/* that page, or invalid */
	BlockNumber nblocks;		/* of "from" */
	bool		view_rows;		/* it holds rows */
	BufferAccessStrategy strategy;

	/* newest xid whose changes are taken as visible to all, and that standbys have
	 * not been told of */
	FullTransactionId conflict;

	MemoryContext context;		/* emptied from row to row */
	TupleTableSlot *slot;		/* virtual: the values of one row */

	ZCopyPage	out;

	/* rows that updates have moved (rewrite_move.c) */
	HTAB	   *moves;			/* or NULL */
	HTAB	   *targets;		/* TIDs that they lead to; NULL: any row may be one */
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

/* View the block of the old table; false: it holds no rows. */
extern bool copy_view(ZCopy *copy, BlockNumber block);

/* The same for a pinned page, which is not locked and stays pinned. */
extern bool copy_view_pinned(ZCopy *copy, Buffer buffer);

/* Begin a stream of all pages of the old table, in order.  It uses "ahead" until it ends. */
extern ReadStream *copy_stream_begin(ZCopy *copy, ZCopyAhead *ahead);

/* What the transaction did is taken as visible to all; on standbys it may not be so yet. */
extern void copy_note_conflict(ZCopy *copy, FullTransactionId fxid);

/*
 * Is the version, whose modifier has not aborted, visible to all?  Resolves
 * version->upper_bound.
 */
extern bool copy_all_visible(ZCopy *copy, ZRowVersion *version);

/* ---- one row (rewrite_row.c) ---- */

/*
 * The values of a version of the view's page into copy->slot.  They live in the
 * version and the current memory context.
 */
extern void copy_values(ZCopy *copy, const ZRowVersion *version);

/* Write a row of the values in copy->slot, visible to all. */
extern void copy_row_frozen(ZCopy *copy);

/*
 * Write the row of the viewed page with all versions that a snapshot may still
 * see.  *tid gets its new place.  If it was moved, its newer version is at
 * *moved_to (NULL: not known, it was deleted then).  Returns who inserted it;
 * invalid if that is visible to all.  An invalid *tid: the row has gone meanwhile.
 */
extern FullTransactionId copy_row_history(ZCopy *copy, OffsetNumber offnum,
										  const ItemPointerData *moved_to, ItemPointer tid);

/* ---- rows that updates have moved (rewrite_move.c) ---- */

/* "version" is the newest version of a row at "tid", not visible to all. */
extern bool copy_is_moved(const ZRowVersion *version);

/* Put the row off until the end: it must name its new place. */
extern void copy_move_later(ZCopy *copy, const ZRowVersion *version, const ItemPointerData *tid);

/* The row at "from" was inserted by "inserter" and is now at "to". */
extern void copy_move_remember(ZCopy *copy, const ItemPointerData *from,
							   const ItemPointerData *to, FullTransactionId inserter);

/* Write the rows that were put off. */
extern void copy_moves_finish(ZCopy *copy);

#endif							/* ZHEAP_REWRITE_PRIVATE_H */
