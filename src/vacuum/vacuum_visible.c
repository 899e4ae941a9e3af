/*
 * vacuum_visible.c
 *		Mark pages all-visible, so that the next VACUUM skips them.
 *
 * What the mark says, and why index-only scans may rely on it: README.md, "All-visible pages".
 *
 * LOCKING: a table page, exclusively; then the visibility map's page, last of all (L1).
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/status.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo_horizon.h"

#include "vacuum_private.h"

/*
 * Return the end of WAL.  Just behind the header of a WAL page there is no record yet, and
 * flushing up to there would make the server log an error.
 */
static XLogRecPtr
end_of_wal(void)
{
	XLogRecPtr	lsn = GetXLogInsertRecPtr();
	uint32		header = XLogSegmentOffset(lsn, wal_segment_size) < XLOG_BLCKSZ ?
		SizeOfXLogLongPHD : SizeOfXLogShortPHD;

	return lsn % XLOG_BLCKSZ == header ? lsn - header : lsn;
}

/*
 * The WAL record of a mark may reach the disk after the page.  The commits that the mark relies
 * on must not: a transaction whose commit is lost in a crash counts as aborted
 * (synchronous_commit off).
 */
void
vacuum_begin_marking(ZVacuum *vac)
{
	vac->map = InvalidBuffer;
	vac->seen = zfxid_from_xid(GetOldestNonRemovableTransactionId(vac->rel));
	if (vac->npages > 0 && RelationNeedsWAL(vac->rel))
		XLogFlush(end_of_wal());
}

void
vacuum_end_marking(ZVacuum *vac)
{
	if (BufferIsValid(vac->map))
		ReleaseBuffer(vac->map);
	vac->map = InvalidBuffer;
}

/*
 * A block is not skipped if the statement wants all pages read; if the number of rows is not
 * known yet; or if the map does not have it as all-visible.
 */
bool
vacuum_may_skip(ZVacuum *vac, BlockNumber block)
{
	return (vac->params->options & VACOPT_DISABLE_PAGE_SKIPPING) == 0 &&
		vac->old_reltuples >= 0 && VM_ALL_VISIBLE(vac->rel, block, &vac->map);
}

/* The number is exact if no page was skipped, or else what the server would estimate for heap. */
double
vacuum_live_rows(const ZVacuum *vac)
{
	if (vac->skipped == 0)
		return (double) vac->live;
	return vac_estimate_reltuples(vac->rel, vac->scanned + vac->skipped, vac->scanned,
								  (double) vac->live);
}

/* No table page is locked, because the map may have to be read or extended. */
void
vacuum_pin_map(ZVacuum *vac, BlockNumber block)
{
	Assert(!zheap_holds_buffer_lock());
	visibilitymap_pin(vac->rel, block, &vac->map);
}

/*
 * Clear a mark that must not be there, with heap's WARNING.  Unlike on heap the map page is
 * logged: a standby's map is damaged in the same way, or the record does no harm.  Without the
 * mark on the table page no change would clear the bit there.
 */
static void
clear_wrong_mark(ZVacuum *vac, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	BlockNumber block = BufferGetBlockNumber(buffer);

	if (PageIsAllVisible(page))
	{
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page containing dead tuples is marked as all-visible in relation \"%s\" page %u",
						RelationGetRelationName(vac->rel), block)));
		PageClearAllVisible(page);
		MarkBufferDirty(buffer);
	}
	else
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page is not marked all-visible but visibility map bit is set in relation \"%s\" page %u",
						RelationGetRelationName(vac->rel), block)));
	(void) visibilitymap_clear(vac->rel, block, vac->map, VISIBILITYMAP_VALID_BITS);
	if (!RelationNeedsWAL(vac->rel))
		return;
	LockBuffer(vac->map, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	MarkBufferDirty(vac->map);
	log_newpage_buffer(vac->map, false);
	END_CRIT_SECTION();
	LockBuffer(vac->map, BUFFER_LOCK_UNLOCK);
}

/*
 * Return whether every snapshot sees all owners of the page's slots, present and earlier.  They
 * have committed, then, since rows of aborted owners were rolled back and the slots given up:
 * below the horizon this is certain.  Nor is there a scan left that may know a removed entry.
 * *newest is set to the newest owner.
 */
static bool
owners_are_visible(const ZVacuum *vac, Page page, FullTransactionId *newest)
{
	int			nslots = zpage_nslots(page);

	*newest = zpage_reused_fxid(page);
	if (zpage_overflow_block(page) != InvalidBlockNumber)
		return false;
	for (int i = 1; i <= nslots; i++)
	{
		FullTransactionId fxid = zpage_slot_fxid(zpage_slot(page, NULL, i));

		if (!FullTransactionIdIsValid(fxid))
			continue;
		if (!FullTransactionIdPrecedes(fxid, vac->seen))
			return false;
		if (!FullTransactionIdPrecedes(fxid, zview_horizon(&vac->view)) &&
			zmvcc_xact_status(fxid) == ZXACT_ABORTED)
			return false;
		if (FullTransactionIdPrecedes(*newest, fxid))
			*newest = fxid;
	}
	return !FullTransactionIdIsValid(*newest) ||
		FullTransactionIdPrecedes(*newest, vac->seen);
}

void
vacuum_mark_visible(ZVacuum *vac, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	BlockNumber block = BufferGetBlockNumber(buffer);
	bool		in_map = VM_ALL_VISIBLE(vac->rel, block, &vac->map);
	bool		may_be = zpage_may_be_visible(page);
	FullTransactionId newest;

	Assert(zheap_buffer_is_exclusive(buffer));
	if (in_map ? !(may_be && PageIsAllVisible(page)) : (!may_be && PageIsAllVisible(page)))
	{
		clear_wrong_mark(vac, buffer);
		in_map = false;
	}
	if (in_map || !may_be || !owners_are_visible(vac, page, &newest))
		return;
	/* standbys have cancelled the snapshots that do not see it */
	if (FullTransactionIdPrecedes(newest, zundo_logged_horizon()))
		newest = InvalidFullTransactionId;
	LockBuffer(vac->map, BUFFER_LOCK_EXCLUSIVE);
	zrec_mark_visible(vac->rel, buffer, vac->map, newest);
	LockBuffer(vac->map, BUFFER_LOCK_UNLOCK);
}
