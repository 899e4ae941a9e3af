/*
 * index_prefetch.c
 *		Table blocks that an index scan will read next.
 *
 * A B-tree scan has read all matching entries of a leaf before it returns the first one, so their
 * TIDs name the table's blocks that come next; and the leaf names the next leaf.  The look ahead
 * ends at the end of the leaf.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zheap/scan/index_prefetch.h"

/* Begin at the scan's entry: it has read a leaf, or turned on it. */
static void
look_from(ZIndexPrefetch *ahead, const BTScanPosData *pos, bool backward)
{
	ahead->leaf = pos->currPage;
	ahead->backward = backward;
	ahead->item = pos->itemIndex;
	ahead->asked_leaf = false;
	zprefetch_turn(&ahead->prefetch);
}

/* Bring the position up to date with the scan's. */
static void
follow(ZIndexPrefetch *ahead, const BTScanPosData *pos)
{
	int			at = pos->itemIndex;

	/* a scan begins a leaf at one end of the matching entries or at the other */
	if (ahead->leaf != pos->currPage)
		look_from(ahead, pos, at == pos->lastItem && at > pos->firstItem);
	else if (ahead->backward ? at > ahead->at : at < ahead->at)
		look_from(ahead, pos, !ahead->backward);
	else if (ahead->backward ? ahead->item > at : ahead->item < at)
		ahead->item = at;
	ahead->at = at;
}

/* Prefetch the next leaf, once.  A backward scan does not know it yet. */
static void
ask_for_leaf(ZIndexPrefetch *ahead, const BTScanPosData *pos, Relation index)
{
	if (ahead->asked_leaf || ahead->backward || !pos->moreRight || pos->nextPage == P_NONE)
		return;
	ahead->asked_leaf = true;
	(void) PrefetchBuffer(index, MAIN_FORKNUM, pos->nextPage);
}

void
zindex_prefetch(ZIndexPrefetch *ahead, IndexScanDesc scan)
{
	const BTScanPosData *pos = &((BTScanOpaque) scan->opaque)->currPos;

	if (!BTScanPosIsValid(*pos))
		return;
	follow(ahead, pos);
	while (zprefetch_wants(&ahead->prefetch))
	{
		int			next = ahead->item + (ahead->backward ? -1 : 1);
		BlockNumber block;

		if (next < pos->firstItem || next > pos->lastItem)
		{
			ask_for_leaf(ahead, pos, scan->indexRelation);
			break;
		}
		ahead->item = next;
		block = ItemPointerGetBlockNumber(&pos->items[next].heapTid);
		if (block == ahead->last)
			continue;
		ahead->last = block;
		zprefetch_ask(&ahead->prefetch, scan->heapRelation, block);
	}
}
