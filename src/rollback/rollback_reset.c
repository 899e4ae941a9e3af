/*
 * rollback_reset.c
 *		Give up all undo, if the undo relation itself is too damaged to go on.
 *
 * Undo is not needed when no page of any table names an aborted transaction and everything
 * committed is visible to all snapshots.  So:
 *
 * 1. Lock the undo relation against all other sessions, and wait for its users: a transaction
 *    that has written a zheap table, or read undo, uses it until its end.  A prepared one that
 *    has written is waited for, too (undo_use.c): there is none left.  Note the next xid: all
 *    transactions that wrote zheap tables of this database are older, and have ended.
 * 2. Wait for snapshots that were taken before.  Later ones see all those transactions as
 *    ended.  Standbys get the same from zundo_reset's record.
 * 3. Look through all tables and roll back what is aborted; give up what cannot be rolled back.
 * 4. Make the undo relation anew, with the noted xid as its horizon.  A crash before leaves it
 *    as it was, one after that finds it new.
 *
 * Our own snapshot is as old as our statement; it must not be used on zheap tables after that.
 * Our xid may be older than the noted one, so we may change no zheap table, temporary ones
 * included (zundo_refuse_given_up).
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"

#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"

#include "rollback_private.h"

static bool
has_ended(VirtualTransactionId *vxid)
{
	return !VirtualTransactionIdIsValid(*vxid) || VirtualXactLock(*vxid, false);
}

/*
 * Wait until all older snapshots have ended.  For 10 seconds at most, as no session can use
 * zheap tables meanwhile, and one of them may wait for us: then ERROR (object_in_use).
 */
static void
wait_for_snapshots(void)
{
	int			n;
	VirtualTransactionId *vxids = GetCurrentVirtualXIDs(InvalidTransactionId, true, false,
														PROC_IN_VACUUM, &n);

	for (int i = 0, naps = ZROLLBACK_NAPS; i < n; i++)
	{
		while (!has_ended(&vxids[i]))
		{
			PGPROC	   *proc = zcompat_backend_proc(zcompat_vxid_backend(vxids[i]));

			if (!zrollback_nap(&naps) && proc != NULL)
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_IN_USE),
						 errmsg("undo cannot be given up while older snapshots are open"),
						 errdetail("Process %d has an older snapshot.", proc->pid),
						 errhint("End its transaction.")));
		}
	}
	pfree(vxids);
}

uint64
zrollback_reset(void)
{
	uint64		given_up = 0;
	FullTransactionId next;

	PreventInTransactionBlock(true, "zheap_undo_skip(true)");
	zrollback_refuse_changed();
	LockRelationOid(zundo_relation_oid(), AccessExclusiveLock);
	zundo_wait_for_users(zundo_relation_oid());
	zundo_open();
	/* R9: no other session writes or reads undo until the end */
	Assert(CheckRelationLockedByMe(zundo_relation(), AccessExclusiveLock, false));
	next = ReadNextFullTransactionId();
	wait_for_snapshots();
	if (!zrollback_all_tables(true, &given_up))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("could not search all tables for rows to roll back"),
				 errdetail("A table is locked by another session, or could not be read, as a warning has reported."),
				 errhint("Retry when no other session has a zheap table locked, or remove the cause of the warning.")));
	Assert(CheckRelationLockedByMe(zundo_relation(), AccessExclusiveLock, false));
	zundo_reset(next);
	ereport(LOG,
			(errmsg("all undo of database \"%s\" was given up", get_database_name(MyDatabaseId)),
			 errdetail("On %llu pages rows of aborted transactions could not be rolled back.",
					   (unsigned long long) given_up)));
	return given_up;
}
