/*
 * index_leaf.c
 *		The entries on a leaf of a B-tree that name one of some rows, single or in posting lists.
 *
 * LOCKING: the caller has the leaf locked.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "index_leaf.h"

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

void
zleaf_collect(Relation index, Buffer buffer, bool dead, ZLeafFindRow find, const void *rows,
			  ZLeafEntries *leaf)
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
		bool		posting = BTreeTupleIsPosting(tuple);
		int			n = posting ? BTreeTupleGetNPosting(tuple) : 1;
		Size		size = posting ? sizeof(ItemPointerData) :
			ItemIdGetLength(item) + sizeof(ItemIdData);

		if (ItemIdIsDead(item) && !dead)
			continue;
		for (int i = 0; i < n; i++)
		{
			ItemPointer tid = posting ? BTreeTupleGetPostingN(tuple, i) : &tuple->t_tid;
			void	   *row = find(rows, tid);

			if (row != NULL)
				add_entry(leaf, row, tid, off, size);
		}
	}
}
