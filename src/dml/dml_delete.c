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
delete_row(ZTarget *target, const ZJudgement *judgement, CommandId cid, bool changing_part)
{
	ZChange		change;
	ZImage		image;

	memset(&change, 0, sizeof(change));
	if (!ztarget_reserve_slot(target, 0, &change.slot))
		return false;
	ztarget_conflict_in(target);
	zmvcc_current(&target->view, target->offnum, &image);
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_DELETE;
	change.row.offnum = change.undo.offnum = target->offnum;
	change.row.hdr.flags = (image.hdr.flags & ZROW_VALUE_FLAGS) | ZROW_DELETED;
	change.row.hdr.flags2 = (changing_part ? ZROW2_MOVED_PART : 0) |
		zrow_lock_bits(judgement->strongest_lock);
	change.row.hdr.slotno = change.slot.slotno;
	change.row.hdr.natts = ZROW_NATTS_KEEP;
	change.undo.cid = cid;
	zchange_describe_before(target, &image, &change);
	zchange_execute(target, &change);
	return true;
}

TM_Result
zdml_delete(Relation rel, ItemPointer otid, CommandId cid, Snapshot snapshot,
			Snapshot crosscheck, bool wait, TM_FailureData *tmfd, bool changing_part)
{
	ItemPointerData tid = ztid_untagged(otid);
	ZJudgeQuery query = {snapshot, crosscheck, cid, LockTupleExclusive};
	ZJudgement	judgement;
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
		zjudge_row(&target, &query, &judgement);
		if (judgement.result == TM_BeingModified && wait)
		{
			ztarget_unlock(&target);
			zlock_queue_wait(&queue, judgement.version, judgement.xid,
							 judgement.own_lock >= 0 || judgement.modified_by_us);
			continue;
		}
		if (judgement.result != TM_Ok)
			break;
		if (judgement.image.hdr.flags & ZROW_HASEXTERNAL)
		{
			if (toasted)
				heap_freetuple(toasted);
			toasted = zdml_heap_tuple(rel, judgement.image.row, judgement.image.len);
		}
		if (delete_row(&target, &judgement, cid, changing_part))
			break;
	}
	zlock_queue_leave(&queue);
	if (judgement.result != TM_Ok)
		zjudge_report(&target, &judgement, tmfd);
	ztarget_close(&target);
	if (judgement.result == TM_Ok)
	{
		/* RETURNING and AFTER ROW triggers want the version that is gone */
		ztid_set_tag(otid, ZTID_TAG_LAST);
		if (toasted)
			heap_toast_delete(rel, toasted, false);
		pgstat_count_heap_delete(rel);
	}
	if (toasted)
		heap_freetuple(toasted);
	return judgement.result;
}
