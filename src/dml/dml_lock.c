/*
 * dml_lock.c
 *		Locking the newest version of a row: SELECT FOR UPDATE, EvalPlanQual,
 *		BEFORE triggers, ON CONFLICT DO UPDATE.
 *
 * The lock is an undo record of ours; see lock.h.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "zheap/dml/target.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"

bool
zdml_lock_row(ZTarget *target, const ZJudgement *judgement, LockTupleMode mode, CommandId cid)
{
	ZChange		change;

	memset(&change, 0, sizeof(change));
	if (!ztarget_reserve_slot(target, 0, &change.slot))
		return false;
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_LOCK;
	change.row.offnum = change.undo.offnum = target->offnum;
	change.row.hdr.flags2 = zrow_lock_bits(Max(judgement->strongest_lock, (int) mode));
	change.row.hdr.natts = ZROW_NATTS_KEEP;
	change.undo.lockmode = mode;
	change.undo.cid = cid;
	zchange_execute(target, &change);
	return true;
}

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
	TransactionId replacer;		/* whom we waited for that replaced the version that we
								 * meant, unless rolled back; or invalid */
	bool		conflict;		/* the caller is ON CONFLICT */
} ZLockCall;

/*
 * Whose version does the caller mean?  Most callers saw a version through their
 * snapshot.  ON CONFLICT found the newest through a dirty one; it is the only
 * caller that neither follows updates nor runs under a transaction snapshot.
 */
static bool
means_newest(const ZLockCall *call)
{
	return !(call->flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION) && !IsolationUsesXactSnapshot();
}

/*
 * The version that was locked: the newest, except that a KEY SHARE lock may have
 * been taken beside an update in progress, and then is about the version before.
 */
static bool
fetch_locked(ZTarget *target, const ZLockCall *call, ZImage *image)
{
	if (call->mode == LockTupleKeyShare && !call->traversed && !means_newest(call) &&
		call->snapshot != InvalidSnapshot && IsMVCCSnapshot(call->snapshot) &&
		zmvcc_fetch(&target->view, target->offnum, call->snapshot, image))
		return true;
	if (zmvcc_fetch(&target->view, target->offnum, SnapshotSelf, image))
		return true;
	return zmvcc_fetch(&target->view, target->offnum, SnapshotAny, image);
}

static void
store_row(ZTarget *target, const ZLockCall *call, TupleTableSlot *slot)
{
	ZImage		image;
	ZVersion	version;

	if (!fetch_locked(target, call, &image))
		return;
	zmvcc_find_modifier(&target->view, &image);
	zmvcc_version_of(&image, &target->view, &version);
	ztuple_slot_store(slot, image.row, image.len, &call->tid,
					  RelationGetRelid(call->rel), &version);
}

/*
 * TM_Ok: record the lock, unless we hold one as strong, or made the newest
 * version ourselves, which keeps others out as an update in place does.
 */
static bool
lock_now(ZTarget *target, ZLockCall *call, const ZJudgement *judgement)
{
	if (judgement->own_lock >= (int) call->mode ||
		(judgement->modified_by_us && call->mode != LockTupleExclusive))
		return true;
	return zdml_lock_row(target, judgement, call->mode, call->cid);
}

/* How the row at tid looks to who does not mind a snapshot; its page is not locked. */
static TM_Result
judge_newest(Relation rel, ItemPointerData tid, const ZLockCall *call, TransactionId *xid)
{
	ZJudgeQuery query = {call->snapshot, InvalidSnapshot, call->cid, call->mode};
	ZJudgement	judgement;
	ZTarget		target;

	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	ztarget_lock_row_page(&target);
	zjudge_row(&target, &query, &judgement);
	/* replaced again: not the version that replaced ours */
	if (judgement.result == TM_Updated && judgement.missed == 1)
	{
		query.snapshot = InvalidSnapshot;
		zjudge_row(&target, &query, &judgement);
	}
	*xid = judgement.xid;
	ztarget_close(&target);
	return judgement.result;
}

/*
 * The version that we meant was being replaced when we came, now it has been.  Heap
 * locks the replacement first, too, even if it will then fail: so it waits for a
 * third transaction that is at it, and hears that it has been deleted.  False: waited;
 * look again.  The page is locked on entry, and on exit if true.
 */
static bool
replacement_settled(ZTarget *target, ZLockCall *call, ZRowQueue *queue, ZJudgement *j)
{
	TransactionId xid;
	TM_Result	result;

	if (!TransactionIdIsValid(call->replacer) || call->traversed ||
		!TransactionIdDidCommit(call->replacer) ||
		!(call->flags & TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS) ||
		ItemPointerIndicatesMovedPartitions(&j->ctid) ||
		j->missed != (ItemPointerEquals(&j->ctid, &call->tid) ? 1 : 0))
		return true;
	ztarget_unlock(target);
	result = judge_newest(call->rel, j->ctid, call, &xid);
	if (result == TM_BeingModified)
	{
		/* like heap, not in the queue for the replacement, but still in ours */
		zlock_queue_wait(queue, 0, xid, true);
		return false;
	}
	if (result == TM_Deleted)
		j->result = TM_Deleted;
	ztarget_lock_row_page(target);
	return true;
}

/*
 * The version that we locked has been moved, or is being moved; the newest is to
 * have the lock, too.  True: done.
 */
static bool
lock_successors(ZTarget *target, ZLockCall *call, ZJudgement *j)
{
	ztarget_unlock(target);
	j->result = zdml_lock_successors(call->rel, j->moved_to, call->cid);
	ztarget_lock_row_page(target);
	if (j->result == TM_Ok || !(call->flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION))
		return true;
	/* gone after all: then what has become of it? */
	call->traversed = true;
	return false;
}

/*
 * One look at the row.  True: *result is final.  The page is locked on entry; on
 * exit it may not be.
 */
static bool
lock_step(ZTarget *target, ZLockCall *call, ZRowQueue *queue, ZJudgement *j)
{
	ZJudgeQuery query = {call->snapshot, InvalidSnapshot, call->cid, call->mode};

	if (means_newest(call) || call->traversed)
		query.snapshot = InvalidSnapshot;
	zjudge_row(target, &query, j);

	switch (j->result)
	{
		case TM_Ok:
			if (!lock_now(target, call, j))
				return false;
			if (!ItemPointerIsValid(&j->moved_to) || j->own_lock >= (int) call->mode)
				return true;
			return lock_successors(target, call, j);
		case TM_BeingModified:
			ztarget_unlock(target);
			if (j->later)
			{
				/* like heap, whatever the policy, and not in a queue */
				XactLockTableWait(j->xid, call->rel, &call->tid, XLTW_LockUpdated);
				return false;
			}
			if (zlock_queue_wait(queue, j->version, j->xid,
								 j->own_lock >= 0 || j->modified_by_us))
			{
				call->replacer = j->replacer;
				return false;
			}
			j->result = TM_WouldBlock;
			ztarget_lock_row_page(target);
			return true;
		case TM_Updated:
			if (!replacement_settled(target, call, queue, j))
				return false;
			if (j->result == TM_Deleted || !(call->flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION))
				return true;
			if (ItemPointerIndicatesMovedPartitions(&j->ctid))
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("tuple to be locked was already moved to another partition due to concurrent update")));
			call->traversed = true;
			ztarget_unlock(target);
			zlock_queue_leave(queue);
			if (!ItemPointerEquals(&j->ctid, &call->tid))
			{
				call->tid = j->ctid;
				zlock_queue_init(queue, call->rel, &call->tid, call->mode,
								 call->policy, XLTW_FetchUpdated);
				ztarget_pin(target, &call->tid);
			}
			return false;
		case TM_SelfModified:
			/* ON CONFLICT must hear that this command made the version it hit */
			if (call->conflict)
				j->result = TM_Invisible;
			return true;
		default:
			return true;
	}
}

TM_Result
zdml_lock(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
		  CommandId cid, LockTupleMode mode, LockWaitPolicy wait_policy, uint8 flags,
		  TM_FailureData *tmfd)
{
	ZLockCall	call = {rel, ztid_untagged(tid), snapshot, cid, mode, wait_policy, flags,
	false, InvalidTransactionId, false};
	ZJudgement	judgement;
	ZRowQueue	queue;
	ZTarget		target;
	bool		done = false;

	zheap_require_preload();
	if (ztid_tag(tid) == ZTID_TAG_LAST)
		call.snapshot = InvalidSnapshot;

	/* whoever else locks rows asks for more */
	call.conflict = zscan_take_conflict(rel, &call.tid) && flags == 0;
	ExecClearTuple(slot);
	ztarget_open(&target, rel);
	ztarget_pin(&target, &call.tid);
	zlock_queue_init(&queue, rel, &call.tid, mode, wait_policy, XLTW_Lock);
	while (!done)
	{
		if (!target.locked)
			ztarget_lock_row_page(&target);
		done = lock_step(&target, &call, &queue, &judgement);
	}
	zlock_queue_leave(&queue);
	store_row(&target, &call, slot);
	zjudge_report(&target, &judgement, tmfd);
	tmfd->traversed = call.traversed;
	*tid = call.tid;
	if (judgement.result == TM_Ok)
		ztid_set_tag(tid, ZTID_TAG_LAST);	/* rule A */
	ztarget_close(&target);
	return judgement.result;
}
