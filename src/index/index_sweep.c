/*
 * index_sweep.c
 *		VACUUM's pass over the entries of rows with several keys in one B-tree.
 *
 * All leaves are looked through for entries of the rows that VACUUM names; of these, those that
 * nobody needs go (N4), and the others are counted, for a row that has one in each index has one
 * key again (N5).
 *
 * The way is from leaf to right sibling, so that no entry is missed: a split moves entries to a
 * new page on the right, and pages are deleted by VACUUM alone, of which there is one at a time.
 *
 * LOCKING: one leaf, share, to see which pages of the table it leads to; these are read; then the
 * leaf, exclusively, and table pages and undo below it (index_delete.c), MAX_BLOCKS at a time.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "commands/vacuum.h"
#include "storage/bufmgr.h"

#include "zheap/base/base.h"
#include "zheap/index/index.h"

#include "index_leaf.h"

/*
 * Table pages that are looked at while a leaf is locked.  They are read before: VACUUM's ring of
 * buffers, 32 in all, must still have them.
 */
#define MAX_BLOCKS		16

/* A range of table blocks, last included. */
typedef struct BlockRange
{
	BlockNumber first;
	BlockNumber last;
} BlockRange;

/* The rows that are looked for, as far as they are in these blocks. */
typedef struct SweepRows
{
	const ZIndexSweep *sweep;
	BlockRange	range;
} SweepRows;

static int
row_compare(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) &((const ZMarkedRow *) a)->tid,
							  (ItemPointer) &((const ZMarkedRow *) b)->tid);
}

/* NULL: the row is none of those. */
static void *
find_marked(const void *arg, ItemPointer tid)
{
	const SweepRows *rows = arg;
	const ZIndexSweep *sweep = rows->sweep;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	ZMarkedRow	key = {.tid = *tid};

	if (block < rows->range.first || block > rows->range.last ||
		ItemPointerCompare(tid, &sweep->rows[0].tid) < 0 ||
		ItemPointerCompare(tid, &sweep->rows[sweep->nrows - 1].tid) > 0)
		return NULL;
	return bsearch(&key, sweep->rows, sweep->nrows, sizeof(ZMarkedRow), row_compare);
}

/*
 * The leaf is locked.  Items that are marked as dead are of rows that are dead to all: left to
 * whoever needs their space.
 */
static void
collect_entries(const ZIndexSweep *sweep, Buffer buffer, BlockRange range, ZLeafEntries *leaf)
{
	SweepRows	rows = {sweep, range};

	zleaf_collect(sweep->index, buffer, false, find_marked, &rows, leaf);
}

/* The caller knows by ids which entries are gone; what stays is counted. */
static void
count_entries(ZIndexSweep *sweep, const ZLeafEntries *leaf, int n)
{
	for (int id = 0; id < n; id++)
	{
		ZMarkedRow *row = leaf->rows[id];

		if (leaf->status[id].knowndeletable)
			sweep->removed++;
		else if (row->flags & ZMARKED_SEEN)
			row->flags |= ZMARKED_SEVERAL;
		else
			row->flags |= ZMARKED_SEEN;
	}
}

/* Remove what nobody needs of the entries for rows in these blocks. */
static void
clean_leaf(ZIndexSweep *sweep, BlockNumber block, BlockRange range, ZLeafEntries *leaf)
{
	Buffer		buffer = _bt_getbuf(sweep->index, block, BT_WRITE);
	Page		page = BufferGetPage(buffer);
	int			n;

	collect_entries(sweep, buffer, range, leaf);
	n = leaf->op.ndeltids;
	if (n > 0)
	{
		zindex_delete_from_leaf(sweep->table, buffer, &leaf->op);
		count_entries(sweep, leaf, n);
		if (PageGetMaxOffsetNumber(page) < P_FIRSTDATAKEY(BTPageGetOpaque(page)))
			sweep->empty++;
	}
	_bt_relbuf(sweep->index, buffer);
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
read_blocks(ZIndexSweep *sweep, const ZLeafEntries *leaf)
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
		ReleaseBuffer(ReadBufferExtended(sweep->table, MAIN_FORKNUM, last, RBM_NORMAL,
										 sweep->strategy));
		nread++;
	}
	return last;
}

/*
 * Returns the leaf's right sibling.  That is the one after all entries that were on the leaf have
 * been looked at, so if it is split meanwhile the new page is the next.
 */
static BlockNumber
sweep_leaf(ZIndexSweep *sweep, BlockNumber block, ZLeafEntries *leaf)
{
	BlockRange	range = {0, MaxBlockNumber};

	sweep->leaves++;
	for (;;)
	{
		Buffer		buffer;
		BTPageOpaque opaque;
		BlockNumber next;

		vacuum_delay_point();
		buffer = _bt_getbuf(sweep->index, block, BT_READ);
		opaque = BTPageGetOpaque(BufferGetPage(buffer));
		next = opaque->btpo_next;
		leaf->op.ndeltids = 0;
		if (!P_IGNORE(opaque))
			collect_entries(sweep, buffer, range, leaf);
		_bt_relbuf(sweep->index, buffer);
		if (leaf->op.ndeltids == 0)
			return next;
		range.last = read_blocks(sweep, leaf);
		clean_leaf(sweep, block, range, leaf);
		range = (BlockRange) {range.last + 1, MaxBlockNumber};
	}
}

void
zindex_sweep(ZIndexSweep *sweep)
{
	ZLeafEntries *leaf = palloc(sizeof(ZLeafEntries));
	Buffer		buffer = _bt_get_endpoint(sweep->index, 0, false, NULL);
	BlockNumber block = P_NONE;

	Assert(sweep->nrows > 0);
	for (int i = 0; i < sweep->nrows; i++)
		sweep->rows[i].flags &= ~ZMARKED_SEEN;
	if (BufferIsValid(buffer))
	{
		block = BufferGetBlockNumber(buffer);
		_bt_relbuf(sweep->index, buffer);
	}
	while (block != P_NONE)
		block = sweep_leaf(sweep, block, leaf);
	pfree(leaf);
}
