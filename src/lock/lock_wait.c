/*
 * lock_wait.c
 *		The only place where a row operation waits for another transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/resowner.h"

#include "zheap/lock/lock.h"

/* heap's heavyweight modes (heapam.c, tupleLockExtraInfo) */
static const LOCKMODE hwlock_mode[] = {
	[LockTupleKeyShare] = AccessShareLock,
	[LockTupleShare] = RowShareLock,
	[LockTupleNoKeyExclusive] = ExclusiveLock,
	[LockTupleExclusive] = AccessExclusiveLock
};

/*
 * The place in a queue that the backend has, or is about to get; no owner: none.  There
 * is never more than one: nothing between entering and leaving works on another row of
 * ours (toast tables are heap tables).
 */
static struct
{
	ResourceOwner owner;
	LOCKTAG		tag;
	LOCKMODE	mode;
}			place;

/*
 * After an ERROR the place is given up as soon as its owner is released: with the
 * statement, the savepoint or the transaction.  The server would do that, too, but
 * thinks that a tuple lock of USER_LOCKMETHOD has been forgotten.
 *
 * The error may have come while the lock was being acquired, so it is there or not.
 */
static void
release_place(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS || place.owner == NULL ||
		place.owner != CurrentResourceOwner)
		return;
	Assert(!is_commit);
	if (LockHeldByMe(&place.tag, place.mode, false))
		LockRelease(&place.tag, place.mode, false);
	place.owner = NULL;
}

void
zlock_wait_register(void)
{
	RegisterResourceReleaseCallback(release_place, NULL);
}

void
zlock_queue_init(ZRowQueue *queue, Relation rel, const ItemPointerData *tid,
				 LockTupleMode mode, LockWaitPolicy policy, XLTW_Oper oper)
{
	queue->rel = rel;
	queue->tid = *tid;
	queue->mode = mode;
	queue->policy = policy;
	queue->oper = oper;
	queue->queued = false;
	queue->parity = 0;
}

/* ERROR, heap's.  The place in the queue, if there is one, goes with the statement. */
static void
could_not_lock(ZRowQueue *queue)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on row in relation \"%s\"",
					RelationGetRelationName(queue->rel))));
}

/*
 * What waiters line up on: names the version, not only the row.  pg_locks, the log and
 * reports of deadlocks show all of a tuple lock's tag but the method, and the two
 * methods are alike.
 */
static void
queue_tag(const ZRowQueue *queue, LOCKTAG *tag)
{
	const LockRelId *rel = &queue->rel->rd_lockInfo.lockRelId;

	SET_LOCKTAG_TUPLE(*tag, rel->dbId, rel->relId,
					  ItemPointerGetBlockNumber(&queue->tid),
					  ItemPointerGetOffsetNumber(&queue->tid));
	if (queue->parity != 0)
		tag->locktag_lockmethodid = USER_LOCKMETHOD;
}

/*
 * Behind those who wait for this version already.  One for another version is given up before:
 * the wait here must not keep those who come after us from that one.
 */
static bool
queue_enter(ZRowQueue *queue, uint16 parity)
{
	bool		may_wait = queue->policy == LockWaitBlock;

	if (queue->queued && queue->parity == parity)
		return true;
	zlock_queue_leave(queue);
	queue->parity = parity;
	Assert(place.owner == NULL);	/* K4 */
	queue_tag(queue, &place.tag);
	place.mode = hwlock_mode[queue->mode];
	place.owner = CurrentResourceOwner;
	queue->queued = LockAcquire(&place.tag, place.mode, false, !may_wait) != LOCKACQUIRE_NOT_AVAIL;
	if (queue->queued)
		return true;
	place.owner = NULL;
	if (queue->policy == LockWaitError)
		could_not_lock(queue);
	return false;
}

bool
zlock_queue_wait(ZRowQueue *queue, uint16 parity, TransactionId xid, bool is_holder)
{
	Assert(!zheap_holds_buffer_lock()); /* L1 */
	Assert(TransactionIdIsNormal(xid) && !TransactionIdIsCurrentTransactionId(xid));
	Assert(parity <= 1);
	if (!is_holder && !queue_enter(queue, parity))
		return false;
	if (queue->policy == LockWaitBlock)
	{
		XactLockTableWait(xid, queue->rel, &queue->tid, queue->oper);
		return true;
	}
	if (ConditionalXactLockTableWait(xid, zcompat_logs_lock_failure(queue->policy)))
		return true;
	if (queue->policy == LockWaitError)
		could_not_lock(queue);
	return false;
}

void
zlock_queue_leave(ZRowQueue *queue)
{
	if (queue->queued)
	{
		Assert(place.owner != NULL && LockHeldByMe(&place.tag, place.mode, false));	/* K4 */
		LockRelease(&place.tag, place.mode, false);
		place.owner = NULL;
	}
	queue->queued = false;
}
