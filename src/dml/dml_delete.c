/*
 * dml_delete.c
 *		DELETE: the row stays where it is, marked, until nobody needs it.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/dml/target.h"

/* Returns false if the page was unlocked: start again. */
static bool
delete_row(ZTarget *target, const ZUpdateCheck *check, CommandId cid, bool changing_part)
{
	ZChange		change;
	ZRowVersion	version;

	memset(&change, 0, sizeof(change));
	if (!ztarget_reserve_slot(target, 0, &change.slot))
		return false;
	ztarget_conflict_in(target);
	zmvcc_current(&target->view, target->offnum, &version);
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_DELETE;
	change.row.offnum = change.undo.offnum = target->offnum;
	change.row.hdr.flags = (version.hdr.flags & ZROW_VALUE_FLAGS) | ZROW_DELETED;
	change.row.hdr.flags2 = (changing_part ? ZROW2_MOVED_PART : 0) |
		zrow_lock_bits(check->strongest_lock);
	change.row.hdr.slotno = change.slot.slotno;
	change.row.hdr.natts = ZROW_NATTS_KEEP;
	change.undo.cid = cid;
	zchange_describe_before(target, &version, &change);
	zchange_execute(target, &change);
	return true;
}

TM_Result
zdml_delete(Relation rel, ItemPointer otid, CommandId cid, Snapshot snapshot,	/* tidy: the server's signature */
			Snapshot crosscheck, bool wait, TM_FailureData *tmfd, bool changing_part)
{
	ItemPointerData tid = ztid_untagged(otid);
	ZCheckQuery query = {snapshot, crosscheck, cid, LockTupleExclusive};
	ZUpdateCheck check;
	ZRowQueue	queue;
	ZTarget		target;
	HeapTuple	toasted = NULL;

	zheap_require_preload();
	if (ztid_tag(otid) == ZTID_TAG_LAST)
		query.snapshot = InvalidSnapshot;

	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	zlock_queue_init(&queue, rel, &tid, LockTupleExclusive, LockWaitBlock, XLTW_Delete);
	for (;;)
	{
		if (!target.locked)
			ztarget_lock_row_page(&target);
		zcheck_row(&target, &query, &check);
		if (check.result == TM_BeingModified && wait)
		{
			ztarget_unlock(&target);
			zlock_queue_wait(&queue, check.parity, check.xid,
							 check.own_lock >= 0 || check.modified_by_us);
			continue;
		}
		if (check.result != TM_Ok)
			break;
		if (check.version.hdr.flags & ZROW_HASEXTERNAL)
		{
			if (toasted)
				heap_freetuple(toasted);
			toasted = zdml_heap_tuple(rel, check.version.row, check.version.len);
		}
		if (delete_row(&target, &check, cid, changing_part))
			break;
	}
	zlock_queue_leave(&queue);
	if (check.result != TM_Ok)
		zcheck_report(&target, &check, tmfd);
	ztarget_close(&target);
	if (check.result == TM_Ok)
	{
		/* RETURNING and AFTER ROW triggers want the version that is gone */
		ztid_set_tag(otid, ZTID_TAG_LAST);
		if (toasted)
			heap_toast_delete(rel, toasted, false);
		pgstat_count_heap_delete(rel);
	}
	if (toasted)
		heap_freetuple(toasted);
	return check.result;
}
