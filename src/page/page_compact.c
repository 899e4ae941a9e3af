/*
 * page_compact.c
 *		Move rows within a page.
 *
 * The layout after compaction depends only on the page's bytes (rows follow their line pointers,
 * the first one highest), so redo needs no list of moves.
 *
 * LOCKING: the caller holds the page's exclusive lock.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

/* The caller has checked that all rows together fit (zpage_check_quick). */
void
zpage_compact_apply(Page page)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	PGAlignedBlock copy;
	uint16		upper = header->pd_special;
	OffsetNumber off;

	memcpy(copy.data + header->pd_upper, (char *) page + header->pd_upper,
		   header->pd_special - header->pd_upper);
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		uint16		len = ItemIdGetLength(lp);

		if (!ItemIdIsNormal(lp))
			continue;
		Assert(len <= upper - header->pd_lower);	/* P3 */
		upper -= len;
		memcpy((char *) page + upper, copy.data + ItemIdGetOffset(lp), len);
		lp->lp_off = upper;
	}
	Assert(upper >= header->pd_upper);	/* free space does not shrink */
	/* the hole is zero on all replicas, whatever it contained (W1) */
	MemSet((char *) page + header->pd_lower, 0, upper - header->pd_lower);
	header->pd_upper = upper;
}

/*
 * The slots stay where they are, at their distances from the page's end; the rows move down, and
 * the space that becomes free is the new slots.
 */
void
zpage_grow_apply(Page page, int grow)
{
	PageHeader	header = (PageHeader) page;
	Size		shift = grow * sizeof(ZPageSlot);
	OffsetNumber max;
	OffsetNumber off;

	if (grow == 0)
		return;
	Assert(zpage_nslots(page) + grow <= ZPAGE_MAX_INPAGE);
	if (zpage_free_contiguous(page) < shift)
		zpage_compact_apply(page);
	Assert(zpage_free_contiguous(page) >= shift);

	memmove((char *) page + header->pd_upper - shift,
			(char *) page + header->pd_upper,
			header->pd_special - header->pd_upper);
	max = PageGetMaxOffsetNumber(page);
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);

		if (ItemIdIsNormal(lp))
			lp->lp_off -= shift;
	}
	header->pd_upper -= shift;
	header->pd_special -= shift;
	memset((char *) page + header->pd_special, 0, shift);
}
