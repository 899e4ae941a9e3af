/*
 * index_walk.c
 *		A pass over all leaves of a B-tree, for the entries of some rows.
 *
 * The way is from leaf to right sibling, so that no entry is missed: a split moves entries to a
 * new page on the right, and nothing moves them to the left.  Why pages that are deleted meanwhile
 * hide none: "From leaf to leaf" in README.md.
 *
 * LOCKING: one leaf, share, to see which pages of the table it leads to; these are read; then the
 * leaf, exclusively, and table pages and undo below it (index_delete.c), MAX_BLOCKS at a time.
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
 * Table pages that are looked at while a leaf is locked.  They are read before: VACUUM's ring of
 * buffers, 32 in all, must still have them.
 */
#define MAX_BLOCKS		16

/* Remove what nobody needs of the entries for rows in these blocks. */
static void
clean_leaf(ZLeafWalk *walk, BlockNumber block, const ZLeafRows *rows, ZLeafEntries *leaf)
{
	Buffer		buffer = _bt_getbuf(walk->index, block, BT_WRITE);
	int			n;

	zleaf_collect(walk->index, buffer, rows, leaf);
	n = leaf->op.ndeltids;
	if (n > 0)
	{
		zindex_delete_from_leaf(walk->table, buffer, &leaf->op);
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

/* Read the first of the blocks that the leaf's entries lead to; the last one read. */
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

/* The leaf has been looked through.  Is the walk to go on here another time? */
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
 * Returns the leaf's right sibling.  That is the one after all entries that were on the leaf have
 * been looked at, so if it is split meanwhile the new page is the next.
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

/* The first leaf; or that where the walk was paused, or which has taken over its keys. */
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
 * Links that are damaged may lead to where no page is, for which _bt_getbuf() may make one, or
 * back, so that the walk would have no end.  A page may come twice, if it was deleted behind the
 * walk and is used anew before it.
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

/* More pages of the level above are not read: with long keys they have few leaves each. */
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
	/* the level of a root never goes down */
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
