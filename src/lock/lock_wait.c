/*
 * lock_wait.c
 *		The only place where a row operation waits for another transaction.
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "storage/lock.h"

#include "zheap/lock/lock.h"

/* heap's heavyweight modes (heapam.c, tupleLockExtraInfo) */
static const LOCKMODE hwlock_mode[] = {
	[LockTupleKeyShare] = AccessShareLock,
	[LockTupleShare] = RowShareLock,
	[LockTupleNoKeyExclusive] = ExclusiveLock,
	[LockTupleExclusive] = AccessExclusiveLock
};

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

static bool
queue_enter(ZRowQueue *queue, uint16 parity)
{
	bool		may_wait = queue->policy == LockWaitBlock;
	LOCKTAG		tag;

	if (queue->queued && queue->parity == parity)
		return true;
	zlock_queue_leave(queue);
	queue->parity = parity;
	queue_tag(queue, &tag);
	if (LockAcquire(&tag, hwlock_mode[queue->mode], false, !may_wait) ==
		LOCKACQUIRE_NOT_AVAIL)
	{
		if (queue->policy == LockWaitError)
			could_not_lock(queue);
		return false;
	}
	queue->queued = true;
	return true;
}

bool
zlock_queue_wait(ZRowQueue *queue, uint16 parity, TransactionId xid, bool is_holder)
{
	if (!is_holder && !queue_enter(queue, parity))
		return false;
	if (queue->policy == LockWaitBlock)
	{
		XactLockTableWait(xid, queue->rel, &queue->tid, queue->oper);
		return true;
	}
	if (ConditionalXactLockTableWait(xid))
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
		LOCKTAG		tag;

		queue_tag(queue, &tag);
		LockRelease(&tag, hwlock_mode[queue->mode], false);
	}
	queue->queued = false;
}
