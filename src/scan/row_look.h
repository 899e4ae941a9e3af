/*
 * row_look.h
 *		Private to scan: a first look at a row of a page copy, without undo.
 */
#ifndef ZHEAP_SCAN_ROW_LOOK_H
#define ZHEAP_SCAN_ROW_LOOK_H

#include "zheap/page/page_plan.h"
#include "zheap/scan/scan.h"

/*
 * Return whether a row of a seen slot is sound; if so, subtract its padding from *len.  Checks
 * what zpage_check_row would find, without calling it for the common kind of row.
 */
static inline bool
zrow_look_is_sound(Page page, OffsetNumber offnum, const char *row, uint32 *len)
{
	uint8		flags = zrow_flags(row);
	uint32		natts = zrow_natts(row);

	/* zmvcc_fetch() finds out whether heap functions have changed it */
	if (zpage_row_names_itself(page, offnum))
		return false;
	if (unlikely((flags & (ZROW_PADDED | ZROW_ORIGIN)) != 0))
	{
		if (zpage_check_row(page, offnum) != NULL)
			return false;
		*len -= zrow_pad_length(row, *len);
		return true;
	}
	if (unlikely(natts > ZROW_MAX_NATTS ||
				 ((flags & ZROW_HASNULL) != 0 && *len < ZROW_HDR_SIZE + (natts + 7) / 8)))
		return false;
	Assert(zpage_check_row(page, offnum) == NULL);
	return true;
}

/*
 * Look at a row.  "seen" has the slots that the snapshot sees (zscan_seen_slots).
 *
 * Return false if there is no row for that snapshot.  Otherwise *seen_row has its place or,
 * without a length, zmvcc_fetch must be called, which also reports damage.  Runs once per row of a
 * scan.
 */
static pg_attribute_always_inline bool
zrow_look(Page page, OffsetNumber offnum, uint32 seen, ZScanRow *seen_row)
{
	PageHeader	header = (PageHeader) page;
	ItemIdData	lp = *PageGetItemId(page, offnum);
	uint32		offset = ItemIdGetOffset(&lp);
	uint32		len = ItemIdGetLength(&lp);
	const char *row = (char *) page + offset;

	if (!ItemIdIsNormal(&lp))
		return false;
	seen_row->offnum = offnum;
	seen_row->offset = (uint16) offset;
	seen_row->len = 0;
	if (unlikely(offset < header->pd_upper || offset + len > header->pd_special ||
				 len < ZROW_HDR_SIZE) ||
		!zpage_slot_in(seen, zrow_slotno(row)))
		return true;
	if ((zrow_flags(row) & ZROW_DELETED) != 0)
		return false;
	if (likely(zrow_look_is_sound(page, offnum, row, &len)))
		seen_row->len = (uint16) len;
	return true;
}

#endif							/* ZHEAP_SCAN_ROW_LOOK_H */
