/*
 * lock_wait.c
 *		The only place where a row operation waits for another transaction.
 */
#include "postgres.h"

#include "storage/lmgr.h"

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

/* What waiters line up on: names the version, not only the row. */
static ItemPointerData
queue_tid(const ZRowQueue *queue)
{
	ItemPointerData tid = queue->tid;

	Assert(tid.ip_posid < (1 << ZLOCK_PARITY_SHIFT));
	tid.ip_posid |= queue->parity << ZLOCK_PARITY_SHIFT;
	return tid;
}

static bool
queue_enter(ZRowQueue *queue, uint16 parity)
{
	ItemPointerData tid;

	if (queue->queued && queue->parity == parity)
		return true;
	zlock_queue_leave(queue);
	queue->parity = parity;
	tid = queue_tid(queue);
	if (queue->policy == LockWaitBlock)
		LockTuple(queue->rel, &tid, hwlock_mode[queue->mode]);
	else if (!ConditionalLockTuple(queue->rel, &tid, hwlock_mode[queue->mode]))
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
		ItemPointerData tid = queue_tid(queue);

		UnlockTuple(queue->rel, &tid, hwlock_mode[queue->mode]);
	}
	queue->queued = false;
}
