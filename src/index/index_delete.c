/*
 * index_delete.c
 *		Which entries of an index page may be deleted: their rows are dead to all, or no snapshot
 *		needs a version of the row with the entry's key any more (index_stale.c).
 *
 * Called by index access methods before they split a page: about entries already marked as dead
 * (simple deletion: all of them will be deleted, and the conflict xid is needed) or about a page
 * full of candidates (bottom-up deletion: a few table pages are visited, as long as that pays).
 *
 * LOCKING: the caller holds an exclusive lock on an index page, so it has opened undo before (L2).
 * One table page after the other is locked in share mode; its undo is read meanwhile (L1).
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/relscan.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/prefetch.h"
#include "zheap/base/stats.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/index/index.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"

#include "index_delete.h"
#include "index_delete_choose.h"

/*
 * Bytes freed that are enough where updates in place have left stale entries.  A visit to a page
 * in shared buffers costs some thousand instructions; the server's part of a bottom-up deletion,
 * which sorts the leaf's entries and compares their keys, some hundred thousand, each time.
 */
#define STALE_ENOUGH	(BLCKSZ / 4)

/* Set by zindex_delete_from_leaf for the next call of zindex_delete_tuples. */
static bool whole_leaf = false;

static ZMarkedRow *const *rows_with_keys = NULL;

static void
table_page_leave(ZIndexDelete *del)
{
	if (!BufferIsValid(del->buffer))
		return;
	if (del->has_rows)
		zview_detach(&del->view, &del->overflow_buf);
	UnlockReleaseBuffer(del->buffer);
	del->buffer = InvalidBuffer;
}

/*
 * Lock a table page in share mode, after leaving the previous one.  In a simple deletion pages
 * ascend.
 */
static void
table_page_enter(ZIndexDelete *del, BlockNumber block)
{
	table_page_leave(del);
	Assert(del->op->bottomup || del->block == InvalidBlockNumber || block > del->block);
	del->block = block;
	del->buffer = ReadBuffer(del->table, block);
	LockBuffer(del->buffer, BUFFER_LOCK_SHARE);
	del->has_rows = zview_attach(&del->view, del->buffer, BUFFER_LOCK_SHARE,
								 &del->overflow_buf);
}

/*
 * Check that the entry names a row or a dead line pointer: pointers are reused only after their
 * index entries are gone (I1).  Anything else is damage, reported as heap does.
 */
static void
check_entry(ZIndexDelete *del, const TM_IndexDelete *deltid)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);
	OffsetNumber entry = del->op->status[deltid->id].idxoffnum;
	const char *index = RelationGetRelationName(del->op->irel);

	if (!del->has_rows || offnum > PageGetMaxOffsetNumber(del->view.page))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg_internal("tid (%u,%u) from index tuple at offset %u of block %u in index \"%s\" points past the end of the table page's line pointers",
								 del->block, offnum, entry, del->op->iblknum, index)));
	if (!ItemIdIsUsed(PageGetItemId(del->view.page, offnum)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg_internal("tid (%u,%u) from index tuple at offset %u of block %u in index \"%s\" points to an unused line pointer",
								 del->block, offnum, entry, del->op->iblknum, index)));
}

/* ---- the deletion ---- */

/* Return whether an entry of the current page may be deleted. */
static bool
entry_is_deletable(ZIndexDelete *del, const TM_IndexDelete *deltid)
{
	TM_IndexStatus *status = &del->op->status[deltid->id];
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&deltid->tid);
	bool		marked = status->knowndeletable;
	bool		is_dead = true;

	check_entry(del, deltid);

	if (!marked)
	{
		/* rows that are skipped as damaged would be taken for dead */
		if (unlikely(zheap_skip_heap_rows))
			return false;
		is_dead = zmvcc_dead_to_all(&del->view, offnum);
		if (!is_dead && !zindex_entry_is_stale(del, deltid))
			return false;
		del->nstale += !is_dead;
		status->knowndeletable = true;
		if (del->op->bottomup)
		{
			Assert(status->freespace > 0);
			del->freed += status->freespace;
		}
	}
	if (is_dead)
		zindex_note_last(del, deltid, marked);
	return true;
}

/*
 * Return whether a bottom-up deletion stops before the next page: it has freed enough, or the last
 * page gave nothing, which says something about the next one.  Each further page must promise
 * less to be worth a visit.  Stale entries may be anywhere; but the index page is locked, so few
 * pages are read for them.
 */
static bool
is_enough(ZIndexDelete *del)
{
	bool		enough;

	if (!del->op->bottomup || del->whole_leaf || del->npages == 0)
		return false;
	if (del->several_keys)
		return del->freed >= STALE_ENOUGH ||
			zprefetch_misses() - del->misses >= ZDELETE_BLOCKS;
	enough = del->freed >= del->target || del->freed == del->freed_before;
	del->freed_before = del->freed;
	del->target /= 2;
	return enough;
}

/* Loop over the entries by table page. */
TransactionId
zindex_delete_tuples(Relation table, TM_IndexDeleteOp *delstate)
{
	ZIndexDelete del = {0};
	int			ndeletable = 0;
	int			i;

	Assert(delstate->ndeltids > 0);

	del.whole_leaf = whole_leaf;
	whole_leaf = false;
	del.rows = rows_with_keys;
	rows_with_keys = NULL;
	del.table = table;
	del.op = delstate;
	del.buffer = InvalidBuffer;
	del.block = InvalidBlockNumber;
	del.leaf = InvalidBuffer;
	del.target = delstate->bottomupfreespace;
	del.misses = zprefetch_misses();
	del.several_keys = zindex_is_watched(delstate->irel);
	zdelete_choose_entries(delstate, del.several_keys, del.whole_leaf);
	zview_open(&del.view, table);

	for (i = 0; i < delstate->ndeltids; i++)
	{
		TM_IndexDelete *deltid = &delstate->deltids[i];
		BlockNumber block = ItemPointerGetBlockNumber(&deltid->tid);

		if (!BufferIsValid(del.buffer) || block != del.block)
		{
			if (is_enough(&del))
				break;
			table_page_enter(&del, block);
			del.npages++;
		}

		if (entry_is_deletable(&del, deltid))
			ndeletable = i + 1;
	}

	table_page_leave(&del);
	if (BufferIsValid(del.leaf))
		ReleaseBuffer(del.leaf);
	zview_close(&del.view);

	/* an updater has counted its update before, VACUUM its pages */
	if (del.nstale > 0)
		zstats_count_known(table, ZTABLE_STALE_REMOVED, del.nstale);
	Assert(ndeletable > 0 || delstate->bottomup);
	Assert(del.npages <= ZDELETE_STALE_BLOCKS || !delstate->bottomup || del.whole_leaf);
	delstate->ndeltids = ndeletable;

	return del.conflict;
}

/* The server's function calls zindex_delete_tuples, removes the entries and logs that. */
void
zindex_delete_from_leaf(Relation table, Buffer leaf, TM_IndexDeleteOp *op,
						struct ZMarkedRow *const *rows)
{
	Assert(op->bottomup && op->iblknum == BufferGetBlockNumber(leaf));
	whole_leaf = true;
	rows_with_keys = rows;
	_bt_delitems_delete_check(op->irel, leaf, table, op);
}
