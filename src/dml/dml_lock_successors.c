/*
 * dml_lock_successors.c
 *		A KEY SHARE lock on a row that an update has moved.
 *
 * This corresponds to heap_lock_updated_tuple: the version that the caller saw is locked, and
 * later versions must not lose its key either.  The new row may belong to a transaction in
 * progress.
 *
 * LOCKING: no page on entry and on exit; one table page at a time, exclusively (D2), unlocked
 * where a transaction is waited for (D3).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/scan/scan.h"

/* Undo records that may be read for that besides the check and the lock (B1). */
#define SUCCESSOR_READS	96

StaticAssertDecl(ZTARGET_CHECK_READS + SUCCESSOR_READS + ZVIEW_STEP_READS <= ZVIEW_MAX_READS,
				 "B1: check, successor, directory");

/*
 * Return whether an update in place has changed the key since the row was moved here.  Our
 * snapshot does not see the move, so undo goes back to it.  Far links lead past versions that
 * have left the key alone, so that n of them cost O(log n) steps.
 */
static bool
key_changed(ZPageView *view, OffsetNumber offnum)
{
	ZUnseen		keys = {.owner = zunseen_any, .curcid = InvalidCommandId, .no_keys = true};
	ZRowVersion	version;

	Assert(!view->locked || view->limit > 0);	/* B1 */
	zmvcc_current(view, offnum, &version);
	while (zmvcc_skip_aborted(view, &version) && !zmodifier_is_all_visible(&version.modifier))
	{
		if (!(version.hdr.flags & ZROW_DELETED) && (version.hdr.flags2 & ZROW2_KEYS_UPDATED))
			return true;
		if (!zmvcc_previous_unseen(view, &version, &keys))
			break;
	}
	return false;
}

static void
look_at(ZPageView *view, OffsetNumber offnum, bool keys, bool *changed, ZLockHolders *holders)
{
	*changed = keys && key_changed(view, offnum);
	zlock_holders(view, NULL, offnum, LockTupleKeyShare, holders);
}

/*
 * Find out whether the key has changed (only if "keys"), and which transactions hold a lock.  If
 * that takes more undo than may be read while the page is locked, it is done with a copy.
 * Return false if the row has changed meanwhile.  The page is locked on entry and exit.
 */
static bool
look_at_successor(ZTarget *target, bool keys, bool *changed, ZLockHolders *holders)
{
	ZLockHolders since;
	ZTarget		copy;

	zview_limit(&target->view, SUCCESSOR_READS);
	look_at(&target->view, target->offnum, keys, changed, holders);
	if (zview_limit_end(&target->view))
		return true;

	ztarget_look_at_copy(target, &copy);
	look_at(&copy.view, target->offnum, keys, changed, holders);
	if (!ztarget_confirm(target, &copy, LockTupleKeyShare, &since))
		return false;
	holders->conflicting = zlock_oldest(holders->conflicting, since.conflicting);
	holders->own = Max(holders->own, since.own);
	holders->strongest = Max(holders->strongest, since.strongest);
	return true;
}

/*
 * Return whether the move to this page was rolled back.  Then the row that it made is gone, or
 * about to be removed, and the place may belong to another row.  If not, the row exists while
 * its page is locked: our snapshot does not see the move, nor what came after that.
 */
static bool
move_is_undone(FullTransactionId mover)
{
	return FullTransactionIdIsValid(mover) && zmvcc_xact_status(mover) == ZXACT_ABORTED;
}

/*
 * Unlock the page, and wait for the transaction; as on heap, whatever the caller's policy is,
 * and not in a queue.
 */
static void
wait_for(ZTarget *target, TransactionId xid, ItemPointer tid)
{
	ztarget_unlock(target);
	Assert(!zheap_holds_buffer_lock()); /* D3 */
	XactLockTableWait(xid, target->rel, tid, XLTW_LockUpdated);
}

/*
 * Lock one row, which *mover has moved to *tid.  Return true if *result is final; *moved is true
 * if the row was moved on, and *tid and *mover are set to its next place and the transaction
 * that moved it there.  Return false if the row must be checked again.  The page is locked on
 * entry; on exit it may not be.
 */
static bool
lock_one(ZTarget *target, CommandId cid, ItemPointer tid, FullTransactionId *mover,
		 TM_Result *result, bool *moved)
{
	ZCheckQuery query = {InvalidSnapshot, InvalidSnapshot, cid, LockTupleKeyShare, false, false};
	ZLockHolders holders;
	ZUpdateCheck check;
	bool		changed;

	zcheck_row(target, &query, &check);
	*result = TM_Ok;
	*moved = false;
	if (move_is_undone(*mover) || !zpage_is_row(target->view.page, target->offnum))
		return true;
	switch (check.result)
	{
		case TM_BeingModified:
			wait_for(target, check.xid, tid);
			return false;
		case TM_SelfModified:
			return true;
		case TM_Deleted:
			*result = TM_Deleted;
			return true;
		case TM_Updated:
			*result = TM_Updated;
			if (!(check.version.hdr.flags & ZROW_MOVED) ||
				(check.version.hdr.flags2 & ZROW2_KEYS_UPDATED))
				return true;
			check.moved_to = check.ctid;
			break;
		default:
			/*
			 * Invisible: made by the mover, which has not finished, or by us.  The mover may
			 * hold a lock on the row as well: see below.
			 */
			break;
	}
	if (!look_at_successor(target, !check.modified_by_us, &changed, &holders))
		return false;
	if (changed)
	{
		*result = TM_Updated;
		return true;
	}
	if (TransactionIdIsValid(holders.conflicting))
	{
		wait_for(target, holders.conflicting, tid);
		return false;
	}
	check.strongest_lock = holders.strongest;
	if (holders.own < 0 && !check.modified_by_us &&
		zdml_lock_row(target, &check, LockTupleKeyShare, cid) == ZSTEP_AGAIN)
		return false;
	*moved = ItemPointerIsValid(&check.moved_to);
	Assert(!*moved || !ItemPointerEquals(&check.moved_to, tid));
	*tid = check.moved_to;
	*mover = check.mover;
	return true;
}

TM_Result
zdml_lock_successors(Relation rel, ItemPointerData tid, FullTransactionId mover, CommandId cid)
{
	TM_Result	result = TM_Ok;
	bool		moved = true;
	ZTarget		target;

	ztarget_open(&target, rel);
	while (moved)
	{
		CHECK_FOR_INTERRUPTS();
		ztarget_pin(&target, &tid);
		do
		{
			if (!target.locked)
				ztarget_lock_row_page(&target);
		} while (!lock_one(&target, cid, &tid, &mover, &result, &moved));
		ztarget_unlock(&target);
	}
	ztarget_close(&target);
	return result;
}
