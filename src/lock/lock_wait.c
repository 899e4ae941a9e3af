/*
 * lock_wait.c
 *		Wait for another transaction: the only place where a row operation does.
 *
 * LOCKING: heavyweight locks on a row's version and on a transaction.  No content lock may be
 * held.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/resowner.h"

#include "zheap/base/base.h"
#include "zheap/lock/lock.h"

/* heap's heavyweight modes (heapam.c, tupleLockExtraInfo) */
static const LOCKMODE hwlock_mode[] = {
	[LockTupleKeyShare] = AccessShareLock,
	[LockTupleShare] = RowShareLock,
	[LockTupleNoKeyExclusive] = ExclusiveLock,
	[LockTupleExclusive] = AccessExclusiveLock
};

/*
 * The place in a queue that the backend has, or is about to get; owner NULL: none.  There is never
 * more than one (K4): between entering and leaving the backend works on no other zheap row (toast
 * tables are heap tables).
 */
static struct
{
	ResourceOwner owner;
	LOCKTAG		tag;
	LOCKMODE	mode;
}			place;

/*
 * After an ERROR, release the place when its resource owner is released: with the statement, the
 * savepoint or the transaction.  The server would do that, too, but takes a tuple lock of
 * USER_LOCKMETHOD for a forgotten session lock.
 *
 * The error may have occurred while the lock was being acquired, so it may or may not be held.
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

/*
 * Raise heap's ERROR (lock_not_available).  The place in the queue, if any, is released with the
 * statement.
 */
static void
could_not_lock(ZRowQueue *queue)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on row in relation \"%s\"",
					RelationGetRelationName(queue->rel))));
}

/*
 * Set the tag of the lock that waiters queue for: it identifies the version, not only the row.
 * pg_locks, the log and reports of deadlocks show all of a tuple lock's tag but the method, and
 * the two methods behave alike.
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
 * Enter the queue for a version, behind the backends that wait for it already.  A place in another
 * version's queue is released first: the wait here must not delay the backends behind us there.
 * Returns whether the place was obtained; false only with LockWaitSkip.  ERROR
 * (lock_not_available) with LockWaitError.
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
