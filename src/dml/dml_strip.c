/*
 * dml_strip.c
 *		Taking back space of rows that old snapshots still see.
 *
 * A deleted row stays on its page until nobody sees it any more.  When the page
 * needs the space before that, the row's body moves to undo, where every other old
 * version is; header and line pointer stay, and a pointer to the body.  That is no
 * version: the row's modifier is its deleter as before, and nothing is put back if
 * the transaction that does it is rolled back.
 *
 * U7: the record is younger than the deletion, so it lives as long as any snapshot
 * that does not see the deletion.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/dml/target.h"

/* so much must be gained */
#define STRIP_MIN_GAIN		16

static bool
worth_it(Page page, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(page, offnum);
	ZRowHeader	hdr;

	if (!ItemIdIsNormal(lp) || ItemIdGetLength(lp) < ZROW_STRIPPED_SIZE + STRIP_MIN_GAIN)
		return false;
	zrow_header_get((char *) page + ItemIdGetOffset(lp), &hdr);
	return (hdr.flags & ZROW_DELETED) && !zrow_is_stripped(&hdr);
}

/* False: the page was unlocked. */
static bool
strip_row(ZTarget *target, OffsetNumber offnum)
{
	ZChange		change;
	ZImage		image;
	FullTransactionId fxid;

	if (zmvcc_state(&target->view, offnum, &image, &fxid) != ZSTATE_RECENTLY_DEAD ||
		!(image.hdr.flags & ZROW_DELETED) || image.row == target->view.image)
		return true;
	memset(&change, 0, sizeof(change));
	if (!ztarget_reserve_slot(target, 0, &change.slot))
		return false;
	/* the slot may have changed hands, or the page's rows been put back */
	zmvcc_current(&target->view, offnum, &image);
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_STRIP;
	change.row.offnum = change.undo.offnum = offnum;
	change.undo.mid = image.row + ZROW_HDR_SIZE;
	change.undo.midlen = image.len - ZROW_HDR_SIZE;
	if (zchange_undo_fits(&change))
		zchange_execute(target, &change);
	return true;
}

bool
zdml_strip_page(ZTarget *target)
{
	OffsetNumber max = PageGetMaxOffsetNumber(target->view.page);
	OffsetNumber off;

	if (RelationUsesLocalBuffers(target->rel))
		return true;
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		if (worth_it(target->view.page, off) && !strip_row(target, off))
			return false;
	}
	return true;
}
