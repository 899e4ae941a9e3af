/*
 * page_check.c
 *		Check the invariants of a table page.
 *
 * LOCKING: the caller holds the page's lock in any mode, or has a copy.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"
#include "zheap/page/row.h"

/* Check all that PageIsVerified does not know of. */
const char *
zpage_check_header(Page page)
{
	PageHeader	header = (PageHeader) page;
	uint32		slots = BLCKSZ - sizeof(ZPageTrailer) - header->pd_special;

	if (PageGetPageSize(page) != BLCKSZ ||
		PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION)
		return "page header is damaged";
	if (!zpage_is_table(page))
		return "page is no zheap table page";
	if (zpage_kind(page) != ZPAGE_VERSION)
		return "page has an unknown version";
	/* a pd_special behind the trailer results in a huge number */
	if (slots > ZPAGE_MAX_INPAGE * sizeof(ZPageSlot) || slots % sizeof(ZPageSlot) != 0)
		return "page has an impossible number of transaction slots";
	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special)
		return "page boundaries are inconsistent";	/* P1 */
	if ((header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0 ||
		PageGetMaxOffsetNumber(page) > ZPAGE_MAX_OFFSET)
		return "page has an impossible number of line pointers";
	return NULL;
}

const char *
zpage_check_overflow(Page page)
{
	PageHeader	header = (PageHeader) page;

	if (PageGetPageSize(page) != BLCKSZ ||
		PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION)
		return "page header is damaged";
	if (!zpage_is_overflow(page))
		return "page is no overflow page";
	if (header->pd_special != BLCKSZ - sizeof(ZPageTrailer) ||
		header->pd_lower != SizeOfPageHeaderData + sizeof(ZOverflowPageBody) ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special)
		return "page boundaries are inconsistent";
	if (zpage_overflow_body(page)->nlock_pages > ZPAGE_MAX_LOCK_PAGES)
		return "overflow page has an impossible number of lock pages";
	return NULL;
}

/*
 * Check a row's bytes, without padding, against a header, which need not be the one at their
 * beginning.
 */
static inline const char *
check_row_header(Page page, const ZRowHeader *hdr, const char *row, uint32 len)
{
	if (hdr->natts > ZROW_MAX_NATTS)
		return "row has an impossible number of attributes";
	if (hdr->slotno != 0 && !zpage_has_slot(page, hdr->slotno))
		return "row names a transaction slot that does not exist";	/* P2 */
	if (zrow_is_tombstone(hdr))
		return len == ZROW_TOMBSTONE_SIZE ? NULL : "row without a body has a wrong length";
	if ((hdr->flags & ZROW_HASNULL) && len < (uint32) (ZROW_HDR_SIZE + (hdr->natts + 7) / 8))
		return "row is shorter than its null bitmap";
	if ((hdr->flags & ZROW_ORIGIN) && !zrow_origins_valid(row, len))
		return "row has an impossible list of places where it was";
	return NULL;
}

/* Check a row's place, space and padding (P3, P4), then its header. */
static const char *
check_row_bytes(Page page, OffsetNumber offnum)
{
	PageHeader	header = (PageHeader) page;
	ItemId		lp = PageGetItemId(page, offnum);
	uint32		off = ItemIdGetOffset(lp);
	uint32		len = ItemIdGetLength(lp);
	const char *row = (const char *) page + off;
	ZRowHeader	hdr;
	uint32		pad;

	if (off < header->pd_upper || off + len > header->pd_special)
		return "row lies outside of the page's rows";	/* P3 */
	if (len < ZROW_HDR_SIZE)
		return "row is shorter than its header";
	zrow_header_get(row, &hdr);
	if (hdr.flags & ZROW_PADDED)
	{
		if ((uint8) row[len - 1] == 255 && len < ZROW_HDR_SIZE + 3)
			return "row has impossible padding";
		pad = zrow_pad_length(row, len);
		if (pad == 0 || pad > len - ZROW_HDR_SIZE)
			return "row has impossible padding";	/* P4 */
	}
	else
		pad = 0;
	if (hdr.slotno != 0 && !(zpage_naming(page) & zpage_group_bit(offnum)))
		return "row names a transaction slot, unlike its group";	/* P5 */
	if (zrow_is_tombstone(&hdr) && pad != 0)
		return "row without a body has a wrong length";
	return check_row_header(page, &hdr, row, len - pad);
}

const char *
zpage_check_version(Page page, OffsetNumber offnum, const ZRowHeader *hdr,
					const char *row, uint32 len)
{
	if (len > ItemIdGetLength(PageGetItemId(page, offnum)))
		return "row was longer than the space that was kept for it";
	return check_row_header(page, hdr, row, len);
}

/* The page header has been checked, so the line pointer lies within the page. */
const char *
zpage_check_row(Page page, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(page, offnum);

	if (ItemIdIsNormal(lp))
		return check_row_bytes(page, offnum);
	if (ItemIdIsRedirected(lp))
		return "line pointer is a redirection";
	if (ItemIdHasStorage(lp))
		return "line pointer without a row has a length";
	return NULL;
}

const char *
zpage_check_quick(Page page, OffsetNumber *offnum)
{
	const char *wrong = zpage_check_header(page);
	uint32		space = 0;		/* of all rows together */
	OffsetNumber max;
	OffsetNumber off;

	*offnum = InvalidOffsetNumber;
	if (wrong)
		return wrong;
	max = PageGetMaxOffsetNumber(page);
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		wrong = zpage_check_row(page, off);
		if (wrong)
		{
			*offnum = off;
			return wrong;
		}
		space += ItemIdGetLength(PageGetItemId(page, off));
	}
	/* compaction must stay within the page, whichever rows overlap */
	if (space > (uint32) (((PageHeader) page)->pd_special - ((PageHeader) page)->pd_upper))
		return "rows overlap";	/* P3 */
	return NULL;
}

/*
 * The costly part, which finds overlapping rows, uses a byte of stack for each byte of the page.
 */
const char *
zpage_check(Page page, OffsetNumber *offnum)
{
	const char *wrong = zpage_check_quick(page, offnum);
	uint8		used[BLCKSZ];
	OffsetNumber max;
	OffsetNumber off;

	if (wrong)
		return wrong;
	if (PageIsAllVisible(page) && !zpage_may_be_visible(page))
		return "page is marked all-visible, but has rows that not all see";	/* P6 */
	memset(used, 0, sizeof(used));
	max = PageGetMaxOffsetNumber(page);
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		uint32		i;

		if (!ItemIdIsNormal(lp))
			continue;
		for (i = 0; i < ItemIdGetLength(lp); i++)
		{
			if (used[ItemIdGetOffset(lp) + i]++)
			{
				*offnum = off;
				return "rows overlap";	/* P3 */
			}
		}
	}
	return NULL;
}

#ifdef USE_ASSERT_CHECKING
void
zpage_assert_valid(Page page)
{
	OffsetNumber offnum;
	const char *wrong = zpage_check(page, &offnum);

	if (wrong)
		elog(PANIC, "zheap page invariant broken at offset %u: %s", offnum, wrong);
}

bool
zpage_slot_is_left(Page page, int slotno)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		const char *row = (const char *) page + ItemIdGetOffset(lp);

		/* skip damaged rows: readers report them */
		if (ItemIdIsNormal(lp) && zpage_check_row(page, off) == NULL &&
			zrow_slotno(row) == slotno && !(zrow_flags(row) & ZROW_REUSED))
			return false;
	}
	return true;
}
#endif
