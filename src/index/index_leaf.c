/*
 * index_leaf.c
 *		Find the entries on a leaf of a B-tree, single or in posting lists, of a given set of rows.
 *
 * LOCKING: the caller has the leaf locked.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/index/index_leaf.h"

static void
add_entry(ZLeafEntries *leaf, void *row, ItemPointer tid, OffsetNumber offnum, Size size)
{
	int			id = leaf->op.ndeltids++;

	leaf->rows[id] = row;
	leaf->deltids[id].tid = *tid;
	leaf->deltids[id].id = id;
	leaf->status[id].idxoffnum = offnum;
	leaf->status[id].knowndeletable = false;
	leaf->status[id].promising = false;
	leaf->status[id].freespace = size;
}

static int
tid_compare(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/* Return the row with this TID, or NULL. */
static void *
find_row(const ZLeafRows *rows, ItemPointer tid)
{
	char	   *first = rows->rows;
	char	   *last = first + (rows->nrows - 1) * rows->size;

	if (ItemPointerCompare(tid, (ItemPointer) first) < 0 ||
		ItemPointerCompare(tid, (ItemPointer) last) > 0)
		return NULL;
	return bsearch(tid, first, rows->nrows, rows->size, tid_compare);
}

/* Add the entry if it is of one of the rows. */
static inline void
look_for(const ZLeafRows *rows, ItemPointer tid, OffsetNumber offnum, Size size,
		 ZLeafEntries *leaf)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	void	   *row;

	if ((rows->filter != NULL && !zleaf_filter_has(rows->filter, tid)) ||
		block < rows->first || block > rows->last)
		return;
	row = find_row(rows, tid);
	if (row != NULL)
		add_entry(leaf, row, tid, offnum, size);
}

void
zleaf_collect(Relation index, Buffer buffer, const ZLeafRows *rows, ZLeafEntries *leaf)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	leaf->op = (TM_IndexDeleteOp)
	{
		.irel = index,.iblknum = BufferGetBlockNumber(buffer),.bottomup = true,
		.bottomupfreespace = BLCKSZ,.deltids = leaf->deltids,.status = leaf->status
	};
	for (OffsetNumber off = P_FIRSTDATAKEY(BTPageGetOpaque(page)); off <= max; off++)
	{
		ItemId		item = PageGetItemId(page, off);
		IndexTuple	tuple = (IndexTuple) PageGetItem(page, item);

		if (ItemIdIsDead(item) && !rows->dead)
			continue;
		if (!BTreeTupleIsPosting(tuple))
		{
			look_for(rows, &tuple->t_tid, off, ItemIdGetLength(item) + sizeof(ItemIdData), leaf);
			continue;
		}
		for (int i = 0; i < BTreeTupleGetNPosting(tuple); i++)
			look_for(rows, BTreeTupleGetPostingN(tuple, i), off, sizeof(ItemPointerData), leaf);
	}
}

bool
zleaf_is_empty(Page page)
{
	return PageGetMaxOffsetNumber(page) < P_FIRSTDATAKEY(BTPageGetOpaque(page));
}
