/*
 * dml_lock.c
 *		Locking the newest version of a row: SELECT FOR UPDATE, EvalPlanQual, BEFORE triggers, ON
 *		CONFLICT DO UPDATE.
 *
 * The lock is an undo record of our transaction; see lock.h.
 *
 * LOCKING: no page on entry and on exit; the row's page, exclusively, from the check to the
 * lock's record, unlocked where a transaction is waited for or another row is read (D2, D3).  In
 * share mode where the question is only whether there is a transaction to wait for again.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"

typedef struct ZLockCall
{
	Relation	rel;
	ItemPointerData tid;
	Snapshot	snapshot;
	CommandId	cid;
	LockTupleMode mode;
	LockWaitPolicy policy;
	uint8		flags;
	bool		traversed;
	bool		fetches;		/* heap would fetch the next version */
	TransactionId replacer;		/* the transaction for which we waited and that replaced the
								 * version meant, unless rolled back; or invalid */
	bool		conflict;		/* the caller is ON CONFLICT */
	char	   *found;			/* the row that the caller found by its values, or NULL */
	uint32		found_len;
	ItemPointerData successor;	/* the row there, moved by "mover", and later places of it have
								 * our KEY SHARE lock; or invalid */
	FullTransactionId mover;
} ZLockCall;

/*
 * Return whether the caller means the newest version.  Most callers saw a version through their
 * snapshot.  ON CONFLICT and the apply worker found the newest one through a dirty snapshot;
 * they are the only callers that neither follow updates nor run under a transaction snapshot.
 */
static bool
means_newest(const ZLockCall *call)
{
	return !(call->flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION) && !IsolationUsesXactSnapshot();
}

/*
 * Fetch the version that was locked, and return whether there is one.  It is the newest one,
 * except that a KEY SHARE lock may have been taken beside an update in progress, and is about
 * the version before then.
 */
static bool
fetch_locked_version(ZTarget *target, const ZLockCall *call, ZRowVersion *version)
{
	if (call->mode == LockTupleKeyShare && !call->traversed && !means_newest(call) &&
		call->snapshot != InvalidSnapshot && IsMVCCSnapshot(call->snapshot) &&
		zmvcc_fetch(&target->view, target->offnum, call->snapshot, version))
		return true;
	if (zmvcc_fetch(&target->view, target->offnum, SnapshotSelf, version))
		return true;
	return zmvcc_fetch(&target->view, target->offnum, SnapshotAny, version);
}

/* Undo records that may be read to store the row, besides check and lock (B1). */
#define STORE_READS		32

StaticAssertDecl(ZTARGET_CHECK_READS + STORE_READS + ZVIEW_STEP_READS <= ZVIEW_MAX_READS,
				 "B1: check, directory, version to store");

/*
 * Store the locked version in the executor slot.  Return false if that takes more than "limit"
 * undo records; 0 means no limit.
 */
static bool
try_store(ZTarget *target, const ZLockCall *call, TupleTableSlot *slot, int limit)
{
	ZPageView  *view = &target->view;
	ZRowVersion	version;
	ZVersionId	id;
	bool		found;

	if (limit > 0)
		zview_limit(view, limit);
	found = fetch_locked_version(target, call, &version);
	if (found)
	{
		zmvcc_find_modifier(view, &version);
		zmvcc_version_id(&version, view, &id);
	}
	if (limit > 0 && !zview_limit_end(view))
		return false;
	if (found)
		ztuple_slot_store(slot, version.row, version.len, &call->tid,
						  RelationGetRelid(call->rel), &id);
	return true;
}

/*
 * Store the locked version in the executor slot.  The page is locked on entry; on exit it may
 * not be.
 */
static void
store_row(ZTarget *target, const ZLockCall *call, TupleTableSlot *slot)
{
	if (try_store(target, call, slot, STORE_READS))
		return;
	ztarget_leave(target);
	(void) try_store(target, call, slot, 0);
}

/*
 * After TM_Ok: record the lock, unless we hold one as strong, or made the newest version
 * ourselves, which keeps others out as an update in place does.  Return false if the row must be
 * checked again.
 */
static bool
lock_now(ZTarget *target, ZLockCall *call, const ZUpdateCheck *check)
{
	if (check->own_lock >= (int) call->mode ||
		(check->modified_by_us && call->mode != LockTupleExclusive))
		return true;
	return zdml_lock_row(target, check, call->mode, call->cid) == ZSTEP_DONE;
}

/*
 * Check the version that replaced the one meant, in the row at "tid"; TM_Updated if that was
 * replaced again.  *xid is set to the transaction in the way.  No page is locked on entry and
 * exit.
 */
static TM_Result
check_newest(Relation rel, ItemPointerData tid, const ZLockCall *call, TransactionId *xid)
{
	ZCheckQuery query = {call->snapshot, InvalidSnapshot, call->cid, call->mode, true, false};
	ZUpdateCheck check;
	ZTarget		target;

	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	ztarget_lock_row_page(&target);
	zcheck_row(&target, &query, &check);
	/*
	 * not replaced again: the version that replaced ours is the newest committed one, so check
	 * the newest
	 */
	if (check.result == TM_Updated && check.superseded == 1)
	{
		query.snapshot = InvalidSnapshot;
		zcheck_row(&target, &query, &check);
	}
	*xid = check.xid;
	ztarget_close(&target);
	return check.result;
}

/*
 * The version that we meant was being replaced when we first checked it, and has been replaced
 * now.  Heap locks the replacement first, too, even if that will fail: so it waits for a third
 * transaction that is changing it, and finds that it was deleted; a caller that does not want to
 * wait skips the row.  Return false if it waited: check the row again.  The page is locked on
 * entry, and on exit if the result is true.
 */
static bool
replacement_ended(ZTarget *target, ZLockCall *call, ZRowQueue *queue, ZUpdateCheck *check)
{
	TransactionId xid;
	TM_Result	result;

	if (!TransactionIdIsValid(call->replacer) || call->traversed ||
		!TransactionIdDidCommit(call->replacer) ||
		!(call->flags & TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS) ||
		ItemPointerIndicatesMovedPartitions(&check->ctid) ||
		check->superseded != (ItemPointerEquals(&check->ctid, &call->tid) ? 1 : 0))
		return true;
	Assert(check->result == TM_Updated);
	ztarget_unlock(target);
	result = check_newest(call->rel, check->ctid, call, &xid);
	if (result == TM_BeingModified)
	{
		/* as on heap, not in the queue for the replacement, but still in ours */
		if (zlock_queue_wait(queue, 0, xid, true))
			return false;
		check->result = TM_WouldBlock;
		check->xid = xid;
	}
	if (result == TM_Deleted)
		check->result = TM_Deleted;
	ztarget_lock_row_page(target);
	return true;
}

/*
 * Return whether the version to be locked was moved, and the new row does not have our lock yet.
 */
static bool
lacks_successor(const ZLockCall *call, const ZUpdateCheck *check)
{
	if (!ItemPointerIsValid(&check->moved_to) || check->own_lock >= (int) call->mode)
		return false;
	return !FullTransactionIdEquals(check->mover, call->mover) ||
		!ItemPointerEquals(unconstify(ItemPointerData *, &check->moved_to),
						   unconstify(ItemPointerData *, &call->successor));
}

/*
 * The version to be locked was moved, or is being moved: lock the newest one, too.  That one is
 * locked first, as on heap: while we wait there, no transaction may have to wait for our lock
 * here, where a transaction that deletes the newest one may look (ZROW_ORIGIN).  Return true if
 * *check is final; the page is locked then.  Return false if the row must be checked again.
 */
static bool
lock_successors(ZTarget *target, ZLockCall *call, ZRowQueue *queue, ZUpdateCheck *check)
{
	Assert(call->mode == LockTupleKeyShare);
	ztarget_unlock(target);
	check->result = zdml_lock_successors(call->rel, check->moved_to, check->mover, call->cid);
	if (check->result == TM_Ok)
	{
		call->successor = check->moved_to;
		call->mover = check->mover;
		return false;
	}
	if (call->flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION)
	{
		/* it was deleted after all: find out what became of it */
		call->traversed = call->fetches = true;
		zlock_queue_leave(queue);
		return false;
	}
	ztarget_lock_row_page(target);
	return true;
}

/*
 * Return whether the version to be locked is being replaced, and heap would wait for that while
 * it fetches it.  Heap waits whatever the lock's mode is, and whatever the update changes; what
 * follows when it has the version is another matter.
 */
static bool
fetch_waits(ZLockCall *call, const ZUpdateCheck *check)
{
	if (call->fetches && check->later)
		call->fetches = check->result == TM_Ok || check->result == TM_BeingModified;
	else if (call->fetches)
		call->fetches = check->result == TM_BeingModified && TransactionIdIsValid(check->replacer);
	return call->fetches;
}

/*
 * Wait for the transaction in the way; the page is unlocked.  For a transaction that replaces
 * the next version, heap does not queue; if that version is only locked, heap queues as others
 * do, and keeps its place if the row is changed before its turn comes.  Return false if the
 * policy is not to wait.
 */
static bool
wait_in_turn(ZTarget *target, const ZLockCall *call, ZRowQueue *queue, const ZUpdateCheck *check)
{
	if (!call->fetches)
	{
		queue->oper = XLTW_Lock;
		return zcheck_wait(target, queue, check);
	}
	ztarget_unlock(target);
	queue->oper = XLTW_FetchUpdated;
	return zlock_queue_wait(queue, check->parity, check->xid, true);
}

/*
 * Copy the row that the apply worker has found by its values; it passes the slot in which it
 * found it, as the address of the TID shows.  If the row has another version when it can be
 * locked, the worker must search again.
 */
static void
note_found(ZLockCall *call, ItemPointer tid, TupleTableSlot *slot)
{
	ZTupleSlot *found = (ZTupleSlot *) slot;

	if (call->flags != 0 || tid != &slot->tts_tid || TTS_EMPTY(slot) || found->row == NULL)
		return;
	call->found_len = found->row_len;
	call->found = palloc(found->row_len);
	memcpy(call->found, found->row, found->row_len);
}

static bool
is_as_found(const ZLockCall *call, const ZRowVersion *version)
{
	return call->found == NULL ||
		zrow_same_body(version->row, version->len, call->found, call->found_len);
}

static void
report_moved_partition(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("tuple to be locked was already moved to another partition due to concurrent update")));
}

/*
 * Continue with the next version, in the row's place or where it was moved.  Returns false:
 * check the row there.
 */
static bool
go_on(ZTarget *target, ZLockCall *call, ZRowQueue *queue, const ZUpdateCheck *check)
{
	ItemPointerData next = check->ctid;
	bool		moved = !ItemPointerEquals(&next, &call->tid);

	call->traversed = call->fetches = true;
	/* a row in its place is checked again under this hold, unless undo was read (B1) */
	if (moved || queue->queued || target->view.reads > 0)
		ztarget_unlock(target);
	zlock_queue_leave(queue);
	if (moved)
	{
		call->tid = next;
		zlock_queue_init(queue, call->rel, &call->tid, call->mode, call->policy, XLTW_Lock);
		ztarget_pin(target, &call->tid);
	}
	return false;
}

/*
 * The version that the statement found was replaced by another transaction's, and that one by
 * ours, in a function that the statement has called.  As on heap, continue with the last of
 * ours.  Return whether *check is final.
 */
static bool
go_on_to_own(ZTarget *target, ZLockCall *call, ZRowQueue *queue, ZUpdateCheck *check)
{
	const ZRowHeader *newest = &check->version.hdr;

	if (!(newest->flags & ZROW_DELETED))
		return true;
	if (newest->flags2 & ZROW2_MOVED_PART)
		report_moved_partition();
	if (newest->flags & ZROW_MOVED)
		return go_on(target, call, queue, check);
	check->result = TM_Deleted;
	return true;
}

/*
 * Check the row once, and lock it if that is possible.  Return whether *check is final.  The
 * page is locked on entry; on exit it may not be.
 */
static bool
lock_step(ZTarget *target, ZLockCall *call, ZRowQueue *queue, ZUpdateCheck *check)
{
	ZCheckQuery query = {call->snapshot, InvalidSnapshot, call->cid, call->mode,
	TransactionIdIsValid(call->replacer), false};

	if (means_newest(call) || call->traversed)
		query.snapshot = InvalidSnapshot;
	zcheck_row(target, &query, check);
	if (fetch_waits(call, check))
		check->result = TM_BeingModified;

	switch (check->result)
	{
		case TM_Ok:
			if (!is_as_found(call, &check->version))
			{
				check->result = TM_Updated;
				check->ctid = call->tid;
				return true;
			}
			if (lacks_successor(call, check))
				return lock_successors(target, call, queue, check);
			return lock_now(target, call, check);
		case TM_BeingModified:
			if (check->later && !call->fetches)
			{
				ztarget_unlock(target);
				Assert(!zheap_holds_buffer_lock()); /* D3 */
				/* as on heap, whatever the policy, and not in a queue */
				XactLockTableWait(check->xid, call->rel, &call->tid, XLTW_LockUpdated);
				return false;
			}
			if (wait_in_turn(target, call, queue, check))
			{
				call->replacer = check->replacer;
				return false;
			}
			check->result = TM_WouldBlock;
			ztarget_lock_row_page(target);
			return true;
		case TM_Updated:
			if (!replacement_ended(target, call, queue, check))
				return false;
			if (check->result != TM_Updated || !(call->flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION))
				return true;
			if (ItemPointerIndicatesMovedPartitions(&check->ctid))
				report_moved_partition();
			return go_on(target, call, queue, check);
		case TM_SelfModified:
			if (call->traversed)
				return go_on_to_own(target, call, queue, check);
			/* ON CONFLICT must be able to report that this command made the version it met */
			if (call->conflict)
				check->result = TM_Invisible;
			return true;
		case TM_Invisible:
			/* ours, at the place to which we have moved the row since the statement found it */
			if (call->traversed && check->modified_by_us)
				check->result = TM_SelfModified;
			return true;
		default:
			return true;
	}
}

/*
 * Return the transaction in progress that changed the row last, if another one inserted it; or
 * invalid.  Locks the page in share mode meanwhile.
 */
static TransactionId
changer_in_progress(ZTarget *target)
{
	ZPageView  *view = &target->view;
	TransactionId xid = InvalidTransactionId;
	ZRowVersion version;

	LockBuffer(target->buffer, BUFFER_LOCK_SHARE);
	if (zview_attach(view, target->buffer, BUFFER_LOCK_SHARE, &target->overflow_buf))
	{
		if (zpage_is_row(view->page, target->offnum))
		{
			zmvcc_current(view, target->offnum, &version);
			if (!(version.hdr.flags & ZROW_INSERTED) && zmodifier_is_exact(&version.modifier) &&
				zmvcc_version_status(view, &version) == ZXACT_IN_PROGRESS)
				xid = zfxid_xid(zmodifier_fxid(&version.modifier));
		}
		zview_detach(view, &target->overflow_buf);
	}
	LockBuffer(target->buffer, BUFFER_LOCK_UNLOCK);
	return xid;
}

/*
 * Wait while transactions in progress change the row one after the other, as there is nothing to
 * check before that ends.  On heap, too, many waiters wake up when such a transaction ends, and
 * all but one wait again: so the page is locked in share mode only.
 */
static void
wait_while_changed(ZTarget *target, const ZLockCall *call, ZRowQueue *queue)
{
	TransactionId xid;

	if (call->policy != LockWaitBlock)
		return;
	queue->oper = XLTW_FetchUpdated;
	while (TransactionIdIsValid(xid = changer_in_progress(target)))
		(void) zlock_queue_wait(queue, 0, xid, true);
}

TM_Result
zdml_lock(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,	/* tidy: the server's signature */
		  CommandId cid, LockTupleMode mode, LockWaitPolicy wait_policy, uint8 flags,
		  TM_FailureData *tmfd)
{
	ZLockCall	call = {.rel = rel, .tid = ztid_untagged(tid), .snapshot = snapshot, .cid = cid,
		.mode = mode, .policy = wait_policy, .flags = flags};
	ZUpdateCheck check;
	ZRowQueue	queue;
	ZTarget		target;
	bool		done = false;

	zheap_require_preload();
	ztuple_slot_check_kind(rel, slot);
	if (ztid_means_newest(tid))
		call.snapshot = InvalidSnapshot;

	/* any other caller that locks rows sets flags */
	call.conflict = ztid_take_conflict(rel, &call.tid) && flags == 0;
	note_found(&call, tid, slot);
	ExecClearTuple(slot);
	ztarget_open(&target, rel);
	ztarget_pin(&target, &call.tid);
	zlock_queue_init(&queue, rel, &call.tid, mode, wait_policy, XLTW_Lock);
	while (!done)
	{
		if (!target.locked)
		{
			if (call.fetches)
				wait_while_changed(&target, &call, &queue);
			ztarget_lock_row_page(&target);
		}
		done = lock_step(&target, &call, &queue, &check);
	}
	zlock_queue_leave(&queue);
	Assert(target.locked);		/* the version is stored as it was locked */
	store_row(&target, &call, slot);
	/* ON CONFLICT checks whether its own command made the row */
	if (check.result == TM_Invisible && !TTS_EMPTY(slot))
		ztuple_slot_id(slot)->for_core = true;
	zcheck_report(&target, &check, tmfd);
	tmfd->traversed = call.traversed;
	*tid = call.tid;
	if (check.result == TM_Ok)
	{
		ztid_note_locked(rel, tid);
		/* before 15.15, 16.11 and 17.7 MERGE continues with this TID */
		tmfd->ctid = *tid;
	}
	ztarget_close(&target);
	return check.result;
}
