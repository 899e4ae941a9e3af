/*
 * page_init.c
 *		Initialize pages.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

/* Initialize the trailer of any kind of page; PageInit has zeroed the special area. */
static void
trailer_init(Page page, uint8 kind)
{
	ZPageTrailer *trailer = zpage_trailer(page);

	trailer->reused_word = (uint64) (kind | ZPAGE_VERSION) << ZPAGE_SLOT_COUNT_SHIFT;
	trailer->overflow = InvalidBlockNumber;
	trailer->naming_word = (uint32) ZPAGE_MAGIC << ZPAGE_GROUPS;
}

/* PageInit zeroes the page, so the slots are free. */
void
zpage_init_apply(Page page, int nslots)
{
	Assert(nslots >= 0 && nslots <= ZPAGE_MAX_INPAGE);
	PageInit(page, BLCKSZ, ZPAGE_SPECIAL_SIZE(nslots));
	trailer_init(page, 0);
	Assert(zpage_nslots(page) == nslots);
}

void
zpage_overflow_init_apply(Page page, BlockNumber table_block)
{
	ZOverflowPageBody *body;

	PageInit(page, BLCKSZ, sizeof(ZPageTrailer));
	trailer_init(page, ZPAGE_KIND_OVERFLOW);
	body = (ZOverflowPageBody *) PageGetContents(page);
	body->table_block = table_block;
	/* the whole arrays are in use: pd_lower keeps them out of the "hole" */
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + sizeof(ZOverflowPageBody);
}
