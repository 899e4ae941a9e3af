/*
 * dml_delete.c
 *		DELETE: the row stays where it is, marked, until nobody needs it.
 *
 * LOCKING: no page on entry and on exit; the row's page, exclusively, from the check to the
 * change (D1).
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/dml/reap.h"
#include "zheap/dml/run.h"
#include "zheap/dml/target.h"

TM_Result
zdml_delete(Relation rel, ItemPointer otid, CommandId cid, Snapshot snapshot,	/* tidy: the server's signature */
			Snapshot crosscheck, bool wait, TM_FailureData *tmfd, bool changing_part)
{
	ItemPointerData tid = ztid_untagged(otid);
	ZCheckQuery query = {snapshot, crosscheck, cid, LockTupleExclusive, false};
	ZUpdateCheck check;
	ZDeletion	deletion = {.cid = cid, .version = &check.version};
	ZRowQueue	queue;
	ZTarget		target;
	HeapTuple	toasted = NULL;

	zheap_require_preload();
	zreap_begin_write(rel);
	if (ztid_means_newest(otid))
		query.snapshot = InvalidSnapshot;
	else if (crosscheck == InvalidSnapshot && !changing_part &&
			 zrun_delete(rel, &tid, cid, snapshot))
	{
		ztid_mark_last(otid);
		pgstat_count_heap_delete(rel);
		return TM_Ok;
	}

	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	zlock_queue_init(&queue, rel, &tid, LockTupleExclusive, LockWaitBlock, XLTW_Delete);
	do
	{
		zcheck_row_wait(&target, &query, &queue, wait, &check);
		if (check.result != TM_Ok)
			break;
		Assert(target.checked);	/* D1 */
		if (check.version.hdr.flags & ZROW_HASEXTERNAL)
		{
			if (toasted)
				heap_freetuple(toasted);
			toasted = zdml_heap_tuple(rel, check.version.row, check.version.len);
		}
		deletion.flags2 = (changing_part ? ZROW2_MOVED_PART : 0) |
			zrow_lock_bits(check.strongest_lock);
	} while (zdml_mark_deleted(&target, &deletion) == ZSTEP_AGAIN);
	zlock_queue_leave(&queue);
	if (check.result != TM_Ok)
		zcheck_report(&target, &check, tmfd);
	ztarget_close(&target);
	if (check.result == TM_Ok)
	{
		/* RETURNING and AFTER ROW triggers want the version that is gone */
		ztid_mark_last(otid);
		if (toasted)
			heap_toast_delete(rel, toasted, false);
		pgstat_count_heap_delete(rel);
	}
	if (toasted)
		heap_freetuple(toasted);
	return check.result;
}
