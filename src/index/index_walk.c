/*
 * index_walk.c
 *		A pass over all leaves of a B-tree, for the entries of some rows.
 *
 * The pass goes from each leaf to its right sibling, so that no entry is missed: a split moves
 * entries to a new page on the right, and nothing moves them to the left.  "From leaf to leaf" in
 * README.md says why pages that are deleted meanwhile hide none.
 *
 * LOCKING: one leaf, share, to see which pages of the table it leads to; these are read, with no
 * lock; then the leaf, exclusively, and table pages and undo below it (index_delete.c), MAX_BLOCKS
 * at a time.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/base/pg_compat_index.h"
#include "zheap/base/pg_compat_vacuum.h"
#include "zheap/base/base.h"
#include "zheap/index/index.h"
#include "zheap/notes/reap.h"

#include "zheap/index/index_leaf.h"

/*
 * Number of table pages that are visited while a leaf is locked.  They are read before, so
 * VACUUM's ring of 32 buffers must still have them.
 */
#define MAX_BLOCKS		16

/* Delete the leaf's entries for rows in these blocks that no snapshot needs. */
static void
clean_leaf(ZLeafWalk *walk, BlockNumber block, const ZLeafRows *rows, ZLeafEntries *leaf)
{
	Buffer		buffer = _bt_getbuf(walk->index, block, BT_WRITE);
	int			n;

	zleaf_collect(walk->index, buffer, rows, leaf);
	n = leaf->op.ndeltids;
	if (n > 0)
	{
		zindex_delete_from_leaf(walk->table, buffer, &leaf->op,
								walk->keys ? (ZMarkedRow *const *) leaf->rows : NULL);
		walk->note(walk->arg, leaf, n);
	}
	if (n > 0 && zleaf_is_empty(BufferGetPage(buffer)))
		walk->leave_empty(walk->arg, buffer);
	else
		_bt_relbuf(walk->index, buffer);
}

static int
block_compare(const void *a, const void *b)
{
	BlockNumber x = *(const BlockNumber *) a;
	BlockNumber y = *(const BlockNumber *) b;

	return x < y ? -1 : x > y;
}

/*
 * Read the first MAX_BLOCKS of the blocks that the leaf's entries lead to.  Return the last one
 * read.
 */
static BlockNumber
read_blocks(ZLeafWalk *walk, const ZLeafEntries *leaf)
{
	BlockNumber blocks[MaxTIDsPerBTreePage];
	BlockNumber last = InvalidBlockNumber;
	int			nread = 0;

	for (int i = 0; i < leaf->op.ndeltids; i++)
		blocks[i] = ItemPointerGetBlockNumber(&leaf->deltids[i].tid);
	qsort(blocks, leaf->op.ndeltids, sizeof(BlockNumber), block_compare);
	for (int i = 0; i < leaf->op.ndeltids && nread < MAX_BLOCKS; i++)
	{
		if (blocks[i] == last)
			continue;
		last = blocks[i];
		ReleaseBuffer(ReadBufferExtended(walk->table, MAIN_FORKNUM, last, RBM_NORMAL,
										 walk->strategy));
		nread++;
	}
	return last;
}

/*
 * Return whether the walk pauses after this leaf, all of whose entries have been handled; if so,
 * keep its high key.
 */
static bool
pause_at(ZLeafWalk *walk, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	ItemId		item;

	/* an ignored page has no high key of its own */
	if (walk->pivot == NULL || walk->leaves < walk->max_leaves || P_IGNORE(opaque) ||
		P_RIGHTMOST(opaque))
		return false;
	item = PageGetItemId(page, P_HIKEY);
	if (ItemIdGetLength(item) > ZREAP_MAX_PIVOT)
		return false;
	memcpy(walk->pivot, PageGetItem(page, item), ItemIdGetLength(item));
	return true;
}

/*
 * Visit a leaf, and return its right sibling as it is after all its entries have been handled: if
 * the leaf is split meanwhile the new page is the next.
 */
static BlockNumber
walk_leaf(ZLeafWalk *walk, BlockNumber block, ZLeafEntries *leaf)
{
	ZLeafRows	rows = walk->rows;

	walk->leaves++;
	for (;;)
	{
		Buffer		buffer;
		BTPageOpaque opaque;
		BlockNumber next;

		vacuum_delay_point(false);
		buffer = _bt_getbuf(walk->index, block, BT_READ);
		opaque = BTPageGetOpaque(BufferGetPage(buffer));
		next = opaque->btpo_next;
		leaf->op.ndeltids = 0;
		if (!P_IGNORE(opaque))
			zleaf_collect(walk->index, buffer, &rows, leaf);
		if (leaf->op.ndeltids == 0)
			walk->paused = pause_at(walk, BufferGetPage(buffer));
		_bt_relbuf(walk->index, buffer);
		if (leaf->op.ndeltids == 0)
			return next;
		rows.last = read_blocks(walk, leaf);
		clean_leaf(walk, block, &rows, leaf);
		rows.first = rows.last + 1;
		rows.last = walk->rows.last;
	}
}

/*
 * Return the first leaf; or, of a paused walk, the leaf where it was paused, or that has taken
 * over its keys.
 */
static BlockNumber
first_leaf(ZLeafWalk *walk)
{
	BlockNumber block = P_NONE;
	Buffer		buffer;

	if (walk->paused)
	{
		BTScanInsert key = _bt_mkscankey(walk->index, walk->pivot);

		zcompat_bt_key_is_pivot(key);
		zcompat_bt_descend(walk->index, NULL, key, &buffer, BT_READ);
		pfree(key);
	}
	else
		buffer = _bt_get_endpoint(walk->index, 0, false);
	if (BufferIsValid(buffer))
	{
		block = BufferGetBlockNumber(buffer);
		_bt_relbuf(walk->index, buffer);
	}
	return block;
}

/*
 * Raise an error if a link is damaged: it may lead beyond the end of the index, where _bt_getbuf()
 * might add a page, or back, so that the walk would not end.  A page may be visited twice, if it
 * was deleted behind the walk and reused before it.
 */
static void
check_link(ZLeafWalk *walk, BlockNumber block, BlockNumber *nblocks)
{
	if (block < *nblocks && walk->leaves / 2 < *nblocks)
		return;
	*nblocks = RelationGetNumberOfBlocks(walk->index);
	if (block >= *nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has a link to block %u, which does not exist",
						RelationGetRelationName(walk->index), block),
				 errhint("Rebuild it with REINDEX.")));
	if (walk->leaves / 2 >= *nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("the leaf pages of index \"%s\" form a circle",
						RelationGetRelationName(walk->index)),
				 errhint("Rebuild it with REINDEX.")));
}

bool
zleaf_walk(ZLeafWalk *walk)
{
	ZLeafEntries *leaf = palloc(sizeof(ZLeafEntries));
	BlockNumber nblocks = 0;
	BlockNumber block;

	Assert(!zheap_holds_buffer_lock()); /* L1: index pages come first */
	Assert(walk->pivot != NULL || !walk->paused);
	block = first_leaf(walk);
	walk->leaves = 0;
	walk->paused = false;
	while (block != P_NONE && !walk->paused &&
		   (walk->pivot != NULL || walk->leaves < walk->max_leaves))
	{
		check_link(walk, block, &nblocks);
		block = walk_leaf(walk, block, leaf);
	}
	pfree(leaf);
	return block == P_NONE;
}

/* Limit the pages read of the level above: with long keys they have few leaves each. */
static BlockNumber
max_parents(BlockNumber max_leaves)
{
	return 16 + max_leaves / 32;
}

BlockNumber
zindex_count_leaves(Relation index, BlockNumber max, int *looks)
{
	Buffer		buffer = _bt_getbuf(index, BTREE_METAPAGE, BT_READ);
	bool		is_leaf = BTPageGetMeta(BufferGetPage(buffer))->btm_level == 0;
	BlockNumber leaves = 0;
	BlockNumber parents = 0;
	BlockNumber next;

	_bt_relbuf(index, buffer);
	(*looks)++;
	if (is_leaf)
		return 1;
	/* the level of a root never decreases */
	buffer = _bt_get_endpoint(index, 1, false);
	for (;;)
	{
		Page		page = BufferGetPage(buffer);
		BTPageOpaque opaque = BTPageGetOpaque(page);

		if (!P_IGNORE(opaque))
			leaves += PageGetMaxOffsetNumber(page) - P_FIRSTDATAKEY(opaque) + 1;
		next = P_RIGHTMOST(opaque) ? P_NONE : opaque->btpo_next;
		_bt_relbuf(index, buffer);
		parents++;
		(*looks)++;
		if (next == P_NONE || leaves > max)
			return leaves;
		if (parents == max_parents(max))
			return max + 1;
		CHECK_FOR_INTERRUPTS();
		buffer = _bt_getbuf(index, next, BT_READ);
	}
}
