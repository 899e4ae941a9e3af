/*
 * dml_target.c
 *		Opening, locking and leaving the page that an operation works on.
 *
 * LOCKING: one table page at a time, exclusively, with its overflow page, or two (D2); then a
 * lock page; the undo page comes last (L1).  Everything that may block or touch a catalog is
 * done before a page is locked.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/serial.h"
#include "zheap/rollback/rollback.h"
#include "zheap/scan/scan.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"

static void
open_on_no_page(ZTarget *target, Relation rel, FullTransactionId fxid)
{
	target->rel = rel;
	target->fxid = fxid;
	target->buffer = InvalidBuffer;
	target->overflow_buf = InvalidBuffer;
	target->locked = false;
	target->init_page = false;
	target->offnum = InvalidOffsetNumber;
	zview_open(&target->view, rel);
}

void
ztarget_open(ZTarget *target, Relation rel)
{
	Assert(!zheap_holds_buffer_lock()); /* D2 */
	if (RelationUsesLocalBuffers(rel))
		zundo_open_for(rel);
	else
		zundo_prepare();
	ztid_forget_conflict();
	open_on_no_page(target, rel, GetCurrentFullTransactionId());
}

void
ztarget_open_second(ZTarget *target, const ZTarget *first)
{
	open_on_no_page(target, first->rel, first->fxid);
}

void
ztarget_release(ZTarget *target)
{
	ztarget_unlock(target);
	if (BufferIsValid(target->buffer))
		ReleaseBuffer(target->buffer);
	target->buffer = InvalidBuffer;
	target->init_page = false;
}

void
ztarget_close(ZTarget *target)
{
	ztarget_release(target);
	zview_close(&target->view);
}

void
ztarget_pin(ZTarget *target, const ItemPointerData *tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	Assert(!target->locked);
	if (BufferIsValid(target->buffer))
		ReleaseBuffer(target->buffer);
	target->buffer = zscan_read_recent(target->rel, block);
	target->offnum = ItemPointerGetOffsetNumber(tid);
}

/* Attach the view, after the page was locked.  Return whether the page holds rows. */
static bool
look(ZTarget *target)
{
	target->locked = true;
#ifdef USE_ASSERT_CHECKING
	target->checked = false;
#endif
	return zview_attach(&target->view, target->buffer, BUFFER_LOCK_EXCLUSIVE,
						&target->overflow_buf);
}

bool
ztarget_lock(ZTarget *target)
{
	Assert(!target->locked);		/* D2 */
	Assert(!zheap_holds_buffer_lock()); /* L1: one table page, before all others */
	/*
	 * an invalidation may have been accepted since ztarget_open(), for example where toasted
	 * values were read
	 */
	zundo_open();
	LockBuffer(target->buffer, BUFFER_LOCK_EXCLUSIVE);
	return look(target);
}

bool
ztarget_lock_second(ZTarget *target, const ZTarget *first)
{
	Assert(first->locked && !target->locked);
	Assert(target->rel == first->rel && target->buffer != first->buffer);
	if (!ConditionalLockBuffer(target->buffer))
	{
		/* D2: a process that waits with a page locked waits for a later page */
		if (BufferGetBlockNumber(target->buffer) < BufferGetBlockNumber(first->buffer))
			return false;
		LockBuffer(target->buffer, BUFFER_LOCK_EXCLUSIVE);
	}
	if (look(target))
		return true;
	ztarget_unlock(target);
	return false;
}

void
ztarget_lock_row_page(ZTarget *target)
{
	if (!ztarget_lock(target))
		zheap_corrupt(target->rel, BufferGetBlockNumber(target->buffer), target->offnum,
					  "page named by a row's TID holds no rows");
}

void
ztarget_unlock(ZTarget *target)
{
	if (!target->locked)
		return;
	zview_detach(&target->view, &target->overflow_buf);
	LockBuffer(target->buffer, BUFFER_LOCK_UNLOCK);
	target->locked = false;
}

void
ztarget_leave(ZTarget *target)
{
	Assert(target->locked);
	(void) zview_copy_viewed(&target->view, target->buffer, &target->overflow_buf);
	LockBuffer(target->buffer, BUFFER_LOCK_UNLOCK);
	target->locked = false;
}

void
ztarget_look_at_copy(ZTarget *target, ZTarget *copy)
{
	ztarget_leave(target);
	*copy = *target;
	zview_open(&target->view, target->rel);
}

bool
ztarget_confirm(ZTarget *target, ZTarget *copy, LockTupleMode mode, ZLockHolders *since)
{
	bool		same;

	Assert(!target->locked && !copy->locked);
	ztarget_lock_row_page(target);
	zview_limit(&target->view, ZTARGET_CHECK_READS);
	same = zmvcc_same_versions(&copy->view, &target->view, &target->offnum, 1);
	if (same)
		zlock_holders(&target->view, &copy->view, target->offnum, mode, since);
	same = zview_limit_end(&target->view) && same;
	zview_close(&copy->view);
	if (same)
		ztarget_set_checked(target);
	else
	{
		/* B1: the next check begins with nothing read */
		ztarget_unlock(target);
		ztarget_lock_row_page(target);
	}
	return same;
}

void
ztarget_check_rows(ZTarget *target)
{
	OffsetNumber offnum;
	const char *wrong = zpage_check_quick(target->view.page, &offnum);

	Assert(target->locked);
	if (wrong)
		zheap_corrupt(target->rel, target->view.block, offnum, "%s", wrong);
}

/*
 * Do what the result of a reservation requires.  DONE: the page is still locked; AGAIN: it is
 * unlocked.
 */
static ZStep
reserved(ZTarget *target, ZSlotResult result, const ZSlotPlan *plan)
{
	int			npages = zview_slot_pages(&target->view);

	Assert(target->locked);		/* D1 */
	switch (result)
	{
		case ZSLOT_OK:
			if (plan->grow > 0)
				ztarget_check_rows(target);
			return ZSTEP_DONE;
		case ZSLOT_ROLL_BACK:
			ztarget_unlock(target);
			if (plan->slotno != 0)
				zrollback_lock_slot(target->rel, target->buffer, plan->slotno);
			else
				zrollback_page(target->rel, target->buffer);
			break;
		case ZSLOT_NEED_PAGE:
			ztarget_unlock(target);
			zslot_add_page(target->rel, target->buffer, npages);
			break;
	}
	Assert(!target->locked);	/* D2: others may have changed the page */
	return ZSTEP_AGAIN;
}

ZStep
ztarget_reserve_slot(ZTarget *target, Size reserve, ZSlotPlan *plan)
{
	ZSlotResult result = zslot_reserve(&target->view, target->fxid, reserve, plan);

	return reserved(target, result, plan);
}

ZStep
ztarget_reserve_lock_slot(ZTarget *target, ZSlotPlan *plan)
{
	ZSlotResult result = zslot_reserve_lock(&target->view, target->fxid, plan);

	return reserved(target, result, plan);
}

ZStep
ztarget_add_overflow_page(ZTarget *target)
{
	Assert(target->locked && target->init_page);
	ztarget_unlock(target);
	target->init_page = false;
	zslot_add_page(target->rel, target->buffer, ZSLOT_NEW_PAGE);
	return ZSTEP_AGAIN;
}

void
ztarget_conflict_in(ZTarget *target)
{
	BlockNumber block = BufferGetBlockNumber(target->buffer);
	ItemPointerData tid;
	ZRowHeader	hdr;
	uint32		len;

	Assert(target->locked);
	/* the caller has checked the row */
	zrow_header_get(zpage_row(target->view.page, target->offnum, &len, NULL), &hdr);
	zmvcc_version_tid(&tid, block, target->offnum, hdr.flags2);
	CheckForSerializableConflictIn(target->rel, &tid, block);
}

void
ztarget_conflict_in_new(ZTarget *target)
{
	Assert(target->locked);
	/*
	 * no transaction has read the row, and a predicate lock on a page covers rows that were read
	 */
	CheckForSerializableConflictIn(target->rel, NULL, InvalidBlockNumber);
}
