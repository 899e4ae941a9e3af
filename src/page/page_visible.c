/*
 * page_visible.c
 *		All-visible pages, and their bits in the visibility map.
 *
 * The map is the server's (visibilitymap.c), which executor, planner and ANALYZE read: two bits
 * per block, since PostgreSQL 9.6. zheap sets and clears its bits here, because the server's
 * functions log that in heap's records, or not at all.
 *
 * LOCKING: the caller holds the table page's lock in any mode, and the map page's exclusive lock
 * to change it.
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

#define BLOCKS_PER_BYTE		(BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define BLOCKS_PER_PAGE		((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * BLOCKS_PER_BYTE)

/* P6, except whether the rows are visible to all. */
bool
zpage_may_be_visible(Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	bool		has_rows = false;

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		const char *row = (const char *) page + ItemIdGetOffset(lp);

		if (ItemIdIsDead(lp))
			return false;
		if (!ItemIdIsNormal(lp))
			continue;
		/* SPECULATIVE has its own meaning only in a row that is not deleted */
		if ((zrow_flags(row) & ZROW_DELETED) || ((uint8) row[1] & ZROW2_SPECULATIVE) ||
			zrow_has_several_keys(row))
			return false;
		has_rows = true;
	}
	return has_rows;
}

BlockNumber
zmap_page_of(BlockNumber block)
{
	return block / BLOCKS_PER_PAGE;
}

static uint8 *
byte_of(Page map, BlockNumber block)
{
	return (uint8 *) PageGetContents(map) + block % BLOCKS_PER_PAGE / BLOCKS_PER_BYTE;
}

static int
shift_of(BlockNumber block)
{
	return (int) (block % BLOCKS_PER_BYTE) * BITS_PER_HEAPBLOCK;
}

/* Replay creates a page of zeros if the map was truncated later. */
static void
init_if_new(Page map)
{
	if (PageIsNew(map))
		PageInit(map, BLCKSZ, 0);
}

/* Set "all-frozen" as well: zheap never has anything to freeze. */
void
zmap_set_apply(Page map, BlockNumber block)
{
	init_if_new(map);
	*byte_of(map, block) |= VISIBILITYMAP_VALID_BITS << shift_of(block);
}

void
zmap_clear_apply(Page map, BlockNumber block)
{
	init_if_new(map);
	*byte_of(map, block) &= ~(VISIBILITYMAP_VALID_BITS << shift_of(block));
}
