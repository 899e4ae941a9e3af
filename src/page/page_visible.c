/*
 * page_visible.c
 *		A page whose rows everybody sees, and the visibility map's bits that say so.
 *
 * The map is the server's (visibilitymap.c), which executor, planner and ANALYZE read: two bits a
 * block, since PostgreSQL 9.6.  Its bits are set and cleared here, as the server's functions log
 * that in records of heap's, or not at all.
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"

#include "zheap/page/page.h"

#define BLOCKS_PER_BYTE		(BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define BLOCKS_PER_PAGE		((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * BLOCKS_PER_BYTE)

/* P6, but for whom the rows are visible to. */
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
		/* in a row that is not deleted the second bit means what it says */
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

/* A page that replay has made anew, because the map was cut off later, is all zeros. */
static void
init_if_new(Page map)
{
	if (PageIsNew(map))
		PageInit(map, BLCKSZ, 0);
}

/* "Frozen" as well: nothing here ever is to be frozen. */
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
