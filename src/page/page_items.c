/*
 * page_items.c
 *		Space and free line pointers of a table page.
 *
 * LOCKING: the caller holds the page's lock in any mode, or has a copy.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

/* unit of the free space map (freespace.c), in bytes */
#define MAP_STEP	32

StaticAssertDecl(TYPEALIGN(MAP_STEP, ZPAGE_MAX_ROW) <= ZPAGE_MAP_EMPTY, "the map has no more");

/* The header has been checked, so this is not negative (P1). */
Size
zpage_free_contiguous(Page page)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_upper - header->pd_lower;
}

Size
zpage_free_total(Page page)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	Size		space = header->pd_special - header->pd_lower;
	Size		used = 0;
	OffsetNumber off;

	/* a line pointer without a row has no length (zpage_check_row) */
	for (off = FirstOffsetNumber; off <= max; off++)
		used += ItemIdGetLength(PageGetItemId(page, off));
	/* damaged rows that overlap may have more bytes than the page */
	return used < space ? space - used : 0;
}

Size
zpage_free_for_row(Page page)
{
	Size		space = zpage_free_total(page);
	OffsetNumber off = zpage_free_offset(page, FirstOffsetNumber);

	if (off == InvalidOffsetNumber)
		return 0;
	if (off > PageGetMaxOffsetNumber(page))
		space = space > sizeof(ItemIdData) ? space - sizeof(ItemIdData) : 0;
	return space;
}

bool
zpage_has_total(Page page, Size need)
{
	return zpage_free_contiguous(page) >= need || zpage_free_total(page) >= need;
}

bool
zpage_has_for_row(Page page, Size need)
{
	OffsetNumber off = zpage_free_offset(page, FirstOffsetNumber);

	if (off == InvalidOffsetNumber)
		return false;
	if (off > PageGetMaxOffsetNumber(page))
		need += sizeof(ItemIdData);
	return zpage_has_total(page, need);
}

bool
zpage_is_blank(Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		if (ItemIdIsUsed(PageGetItemId(page, off)))
			return false;
	}
	return zpage_overflow_block(page) == InvalidBlockNumber;
}

Size
zpage_free_for_map(Page page)
{
	Size		space = zpage_free_for_row(page);

	if (zpage_is_blank(page))
		return ZPAGE_MAP_EMPTY;
	/* the page was made for a long row, which is no longer there */
	return space >= ZPAGE_ROOM(ZPAGE_INITIAL_SLOTS) ? TYPEALIGN(MAP_STEP, space) : space;
}

OffsetNumber
zpage_free_offset(Page page, OffsetNumber from)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	OffsetNumber off;

	if (PageHasFreeLinePointers(page))
	{
		for (off = from; off <= max; off++)
		{
			if (!ItemIdIsUsed(PageGetItemId(page, off)))
				return off;
		}
	}
	off = Max(from, OffsetNumberNext(max));
	return off <= ZPAGE_MAX_OFFSET ? off : InvalidOffsetNumber;
}

/*
 * After compaction all free space is contiguous, and the grown row's old bytes are free as well.
 */
bool
zpage_update_fits(Page page, OffsetNumber offnum, uint32 newlen)
{
	uint32		alloc = ItemIdGetLength(PageGetItemId(page, offnum));

	if (newlen <= alloc)
		return true;
	return zpage_free_contiguous(page) >= newlen ||
		zpage_free_total(page) >= newlen - alloc;
}
