/*
 * dml_speculative.c
 *		The end of a speculative insertion (ON CONFLICT): it is confirmed, or removed.
 *
 * An update that moves a row can take back the new one in the same way.
 *
 * LOCKING: no page on entry and on exit; the row's page, exclusively.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/status.h"
#include "zheap/page/page.h"
#include "zheap/rollback/rollback.h"

/* Return how the insertion ended, for decoding; NULL if the table is not logically logged. */
static const ZRecLogical *
logical_end(Relation rel, bool succeeded)
{
	static const ZRecLogical confirm = {.kind = ZLOGICAL_CONFIRM, .nrows = 1};
	static const ZRecLogical take_back = {.kind = ZLOGICAL_TAKE_BACK, .nrows = 1};

	if (!RelationIsLogicallyLogged(rel))
		return NULL;
	return succeeded ? &confirm : &take_back;
}

static void
confirm_row(ZTarget *target, const ZRecLogical *logical)
{
	Assert(target->locked && CritSectionCount == 0);	/* D1, D4 */
	START_CRIT_SECTION();
	zpage_confirm_apply(target->view.page, target->offnum);
	MarkBufferDirty(target->buffer);
	if (RelationNeedsWAL(target->rel))
	{
		XLogRecPtr	lsn = zrec_confirm_emit(target->buffer, target->offnum, logical);

		PageSetLSN(target->view.page, lsn);
	}
	END_CRIT_SECTION();
}

/* Roll back the row like one of an aborted transaction; the slot stays ours. */
static void
kill_row(ZTarget *target, int slotno, const ZRecLogical *logical)
{
	ZRowRollback rollback = {0};
	ZRollbackPlan plan = {0};
	const ZPageSlot *slot = zpage_slot(target->view.page, target->view.overflow, slotno);

	rollback.offnum = target->offnum;
	rollback.kind = ZROLLBACK_KILL;
	plan.slotno = slotno;
	plan.next = zpage_slot_owner(slot);
	plan.next_count = zpage_slot_count(slot);
	plan.nrows = 1;
	plan.rows = &rollback;

	Assert(target->locked && zmvcc_xact_status(plan.next.fxid) == ZXACT_OWN);	/* D1 */
	zrollback_execute(&target->view, target->buffer, target->overflow_buf, &plan, logical);
}

void
zdml_take_back_row(Relation rel, const ItemPointerData *tid)
{
	ZTarget		target;
	ZRowVersion	version;

	ztarget_open(&target, rel);
	ztarget_pin(&target, tid);
	ztarget_lock_row_page(&target);
	zmvcc_current(&target.view, target.offnum, &version);
	Assert(version.hdr.flags & ZROW_INSERTED);
	/* the update is logged for decoding when the old row is marked */
	kill_row(&target, version.hdr.slotno, NULL);
	ztarget_close(&target);
}

void
zdml_complete_speculative(Relation rel, TupleTableSlot *slot, uint32 token, bool succeeded)
{
	ItemPointerData tid = ztid_untagged(&slot->tts_tid);
	HeapTuple	toasted = NULL;
	ZTarget		target;
	ZRowVersion	version;

	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	ztarget_lock_row_page(&target);
	zmvcc_current(&target.view, target.offnum, &version);
	if (!(version.hdr.flags2 & ZROW2_SPECULATIVE))
		elog(ERROR, "row is no speculative insertion");
	if (succeeded)
		confirm_row(&target, logical_end(rel, true));
	else
	{
		if (version.hdr.flags & ZROW_HASEXTERNAL)
			toasted = zdml_heap_tuple(rel, version.row, version.len);
		kill_row(&target, version.hdr.slotno, logical_end(rel, false));
	}
	ztarget_close(&target);
	/* as on heap, because the insertion was counted */
	if (!succeeded)
		pgstat_count_heap_delete(rel);
	if (toasted)
	{
		heap_toast_delete(rel, toasted, true);
		heap_freetuple(toasted);
	}
}
