/*
 * undo_blocker.c
 *		The transaction that has a table locked, so that its rows cannot be rolled back.
 *
 * A sweep takes only locks that it gets at once.  So no process waits for the transaction, and
 * nothing else shows that it delays the sweep.
 *
 * LOCKING: the lock table's partition, shared, then ProcArrayLock, shared; not both at the same
 * time.
 */
#include "postgres.h"

#include "access/twophase.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"

#include "zheap/undo/undo_holders.h"

#include "keep_private.h"

/*
 * Set the holder's "pid", or "prepared" if it is a prepared transaction, which has a dummy
 * process.  Returns whether the transaction was found.
 */
static bool
find_process(VirtualTransactionId vxid, ZUndoHolder *holder)
{
	bool		found = false;

	LWLockAcquire(ProcArrayLock, LW_SHARED);
	for (uint32 i = 0; i < ProcGlobal->allProcCount + max_prepared_xacts && !found; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];

		if (zcompat_proc_backend(proc) != zcompat_vxid_backend(vxid) ||
			zcompat_proc_lxid(proc) != vxid.localTransactionId ||
			(proc->pid == 0 && !TransactionIdIsNormal(proc->xid)))
			continue;
		found = true;
		holder->pid = proc->pid;
		if (proc->pid == 0)
			holder->prepared = proc->xid;
	}
	LWLockRelease(ProcArrayLock);
	return found;
}

void
zundo_find_blocker(ZUndoHolder *holder)
{
	VirtualTransactionId *vxids;
	LOCKTAG		tag;
	int			n;

	/* GetLockConflicts() omits our own locks */
	if (CheckRelationOidLockedByMe(holder->relid, AccessExclusiveLock, true))
	{
		holder->pid = MyProcPid;
		return;
	}
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, holder->relid);
	vxids = GetLockConflicts(&tag, AccessShareLock, &n);
	for (int i = 0; i < n; i++)
	{
		if (find_process(vxids[i], holder))
			break;
	}
}
