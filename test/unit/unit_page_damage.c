/*
 * unit_page_damage.c
 *		A table page with damaged bytes: what would lead a change out of the page is
 *		found by the check that comes before changes, and space is not promised.
 */
#include "postgres.h"

#include "fmgr.h"

#include "unit.h"
#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

PG_FUNCTION_INFO_V1(zheap_unit_page_damage);

/* A page full of rows without attributes but for their padding. */
static void
page_fill(Unit *unit, Page page)
{
	char		bytes[1000] = {0};
	OffsetNumber offnum = FirstOffsetNumber;

	unit_bytes(unit, page, BLCKSZ);
	zpage_init_apply(page, unit_int(unit, 0, unit_once_in(unit, 2) ? 2 : ZPAGE_MAX_INPAGE));
	for (;;)
	{
		ZNewRow		new = {offnum++, unit_int(unit, ZROW_HDR_SIZE, sizeof(bytes)), bytes};
		ZRowPlan	plan = {.op = ZOP_INSERT, .nrows = 1, .rows = &new};

		if (!zpage_has_for_row(page, new.len))
			return;
		zpage_row_apply(page, &plan);
	}
}

/* The trailer of a former version, of 24 bytes, ends in the magic of now. */
static void
former_version_check(Unit *unit)
{
	PGAlignedBlock former;
	Page		page = (Page) former.data;
	char	   *trailer = former.data + BLCKSZ - 24;
	uint16		magic = 0x5A48;
	FullTransactionId fxid = FullTransactionIdFromU64(unit_int(unit, 0, 1000));

	page_fill(unit, page);
	memset(trailer, 0, 24);
	memcpy(trailer + 8, &fxid, sizeof(fxid));
	memset(trailer + 16, 255, 4);
	trailer[20] = 4;
	trailer[21] = (char) unit_int(unit, 1, 4);
	memcpy(trailer + 22, &magic, sizeof(magic));
	unit_check(strcmp(zpage_check_header(page), "page has an unknown version") == 0);
}

/* Each row lies within the page's rows, but together they are more than these. */
static void
overlap_check(Unit *unit, Page page)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	OffsetNumber offnum;
	ItemId		lp = PageGetItemId(page, unit_int(unit, FirstOffsetNumber, max));

	unit_check(zpage_check_quick(page, &offnum) == NULL);
	ItemIdSetNormal(lp, header->pd_upper, header->pd_special - header->pd_upper);
	/* that row is what the others have, and some of these say that they are padded */
	((char *) page)[header->pd_upper] &= ~ZROW_PADDED;
	if (max == FirstOffsetNumber)
		return;
	unit_check(zpage_check_quick(page, &offnum) != NULL);
	unit_check(zpage_free_total(page) == 0 && zpage_free_for_map(page) == 0);
	unit_check(!zpage_has_total(page, header->pd_upper - header->pd_lower + 1));
}

/* Any bytes: the answers are what they may be, but nothing beyond the page is read. */
static void
any_bytes_check(Unit *unit)
{
	char	   *page = unit_guarded(BLCKSZ);
	OffsetNumber offnum;
	int			changes = unit_int(unit, 0, 30);

	page_fill(unit, page);
	for (; changes > 0; changes--)
		page[unit_int(unit, 0, BLCKSZ - 1)] = (char) unit_int(unit, 0, 255);
	(void) zpage_check(page, &offnum);
	if (unit_once_in(unit, 100))
		zpage_dump(page);
}

static void
damage_round(Unit *unit)
{
	PGAlignedBlock page;

	page_fill(unit, page.data);
	overlap_check(unit, page.data);
	former_version_check(unit);
	any_bytes_check(unit);
}

/* zheap_unit_page_damage(seed bigint, rounds integer) returns void */
Datum
zheap_unit_page_damage(PG_FUNCTION_ARGS)
{
	return unit_repeat(fcinfo, damage_round);
}
