/*
 * rollback_class.c
 *		Looking for tables in pg_class, also in VACUUM.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"

#include "rollback_private.h"

static void
set_status_flags(uint8 flags)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags = flags;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = flags;
	LWLockRelease(ProcArrayLock);
}

/*
 * VACUUM's snapshot keeps nothing back: what it sees of a catalog may be pruned while it is
 * being scanned.  Ours must.  After an error that is caught we keep things back like
 * any other transaction, to the end of this one.
 */
void
zrollback_class_scan(Oid index, ScanKey keys, int nkeys, ZClassVisitor visit, void *arg)
{
	uint8		flags = MyProc->statusFlags;
	Snapshot	snapshot;

	if (flags & PROC_IN_VACUUM)
		set_status_flags(flags & ~PROC_IN_VACUUM);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	zheap_class_scan(index, snapshot, keys, nkeys, visit, arg);
	UnregisterSnapshot(snapshot);
	if (flags & PROC_IN_VACUUM)
		set_status_flags(flags);
	Assert(MyProc->statusFlags == flags);
}
