/*
 * dml_tombstone.c
 *		Freeing the space of deleted rows that old snapshots still see.
 *
 * A deleted row stays on its page until no snapshot sees it any more.  If the page needs the
 * space earlier, the row's body moves to undo, where all other old versions are; header and line
 * pointer stay, and a pointer to the body.  This makes no version: the row's modifier is still
 * its deleter, and nothing is rolled back if the transaction that moved the body aborts.
 *
 * The record lives as long as any snapshot that does not see the deletion: the deleter's xid had
 * been assigned when the record was written, so it precedes the xid with which the record's
 * extent is closed, and while there is such a snapshot the horizon does not pass the deleter
 * (H1).
 *
 * LOCKING: the page is locked exclusively; on exit as well, except after AGAIN (unlocked).
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"

/* Least number of bytes that must be gained. */
#define TOMBSTONE_MIN_GAIN	16

static bool
worth_it(Page page, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(page, offnum);
	ZRowHeader	hdr;

	if (!zpage_leads_to_row(lp) || ItemIdGetLength(lp) < ZROW_TOMBSTONE_SIZE + TOMBSTONE_MIN_GAIN)
		return false;
	zrow_header_get((char *) page + ItemIdGetOffset(lp), &hdr);
	return (hdr.flags & ZROW_DELETED) && !zrow_is_tombstone(&hdr);
}

static ZStep
tombstone_row(ZTarget *target, OffsetNumber offnum)
{
	ZChange		change;
	ZRowVersion	version;
	FullTransactionId fxid;

	if (zmvcc_state(&target->view, offnum, &version, &fxid) != ZSTATE_RECENTLY_DEAD ||
		!(version.hdr.flags & ZROW_DELETED) || version.row == target->view.version_buf)
		return ZSTEP_DONE;
	/* read the version again: the slot may have changed hands */
	if (zchange_begin(target, ZOP_TOMBSTONE, offnum, 0, &change, &version) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	/* this makes no version: the row is deleted, and its modifier stays */
	Assert((version.hdr.flags & ZROW_DELETED) && version.len > ZROW_TOMBSTONE_SIZE);
	change.undo.mid = version.row + ZROW_HDR_SIZE;
	change.undo.midlen = version.len - ZROW_HDR_SIZE;
	if (zchange_undo_fits(&change))
		zchange_execute(target, &change);
	return ZSTEP_DONE;
}

ZStep
zdml_tombstone_page(ZTarget *target)
{
	OffsetNumber max = PageGetMaxOffsetNumber(target->view.page);
	OffsetNumber off;

	Assert(target->locked);
	if (RelationUsesLocalBuffers(target->rel))
		return ZSTEP_DONE;
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		if (worth_it(target->view.page, off) && tombstone_row(target, off) == ZSTEP_AGAIN)
			return ZSTEP_AGAIN;
	}
	return ZSTEP_DONE;
}
