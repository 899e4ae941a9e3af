/*
 * undo_holders.c
 *		Holders, which keep undo from being discarded.
 *
 * The horizon is computed from the process array, which does not say whose xid was the oldest.
 * These functions look at each backend, prepared transaction and slot that may hold it back.
 * They serve views and messages, so a result that is a moment old is good enough.
 *
 * LOCKING: ProcArrayLock or ReplicationSlotControlLock or the database's lock, shared, one at a
 * time.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_relation.h"

#include "../store/undo_state.h"
#include "keep_private.h"

/* ---- collecting ---- */

typedef struct HolderList
{
	ZUndoHolder *holders;
	int			n;
	int			max;
} HolderList;

/*
 * Rank holders with the same xid: first the transaction whose own xid it is, last ourselves.
 * The snapshots of the others are that old because that transaction still ran when they were
 * taken.
 */
static int
rank(ZUndoHolderKind kind, int pid, bool own_xid)
{
	if (pid != 0 && pid == MyProcPid)
		return 3;
	if (own_xid || kind == ZUNDO_HOLDER_PREPARED)
		return 0;
	return kind == ZUNDO_HOLDER_BACKEND ? 2 : 1;
}

static void
add_holder(HolderList *list, ZUndoHolderKind kind, int pid, FullTransactionId xid)
{
	ZUndoHolder *holder;

	if (list->n == list->max)
		return;
	holder = &list->holders[list->n++];
	memset(holder, 0, sizeof(*holder));
	holder->kind = kind;
	holder->pid = pid;
	holder->xid = xid;
	holder->rank = rank(kind, pid, false);
}

/* Return the oldest xid that the process keeps; invalid: none of this database. */
static TransactionId
kept_by_process(const PGPROC *proc)
{
	TransactionId xmin = proc->xmin;
	TransactionId xid = proc->xid;

	if (proc->statusFlags & (PROC_IN_VACUUM | PROC_IN_LOGICAL_DECODING))
		return InvalidTransactionId;
	if (proc->databaseId != MyDatabaseId && proc->databaseId != InvalidOid)
		return InvalidTransactionId;
	/* the leader stands for its parallel workers */
	if (proc->lockGroupLeader != NULL && proc->lockGroupLeader != proc)
		return InvalidTransactionId;
	if (!TransactionIdIsNormal(xmin))
		return TransactionIdIsNormal(xid) ? xid : InvalidTransactionId;
	return TransactionIdIsNormal(xid) && TransactionIdPrecedes(xid, xmin) ? xid : xmin;
}

/* Return whether the entry is that of a prepared transaction that has not ended. */
static bool
is_prepared(const PGPROC *proc, uint32 index)
{
	return index >= ProcGlobal->allProcCount && proc->pid == 0 &&
		TransactionIdIsNormal(proc->xid) &&
		ProcGlobal->xids[proc->pgxactoff] == proc->xid;
}

/* Add backends, walsenders and prepared transactions.  Takes ProcArrayLock, shared. */
static void
add_processes(HolderList *list)
{
	LWLockAcquire(ProcArrayLock, LW_SHARED);
	for (uint32 i = 0; i < ProcGlobal->allProcCount + max_prepared_xacts; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		TransactionId kept = kept_by_process(proc);

		if (!TransactionIdIsValid(kept))
			continue;
		if (is_prepared(proc, i))
		{
			add_holder(list, ZUNDO_HOLDER_PREPARED, 0, zfxid_from_xid(kept));
			list->holders[list->n - 1].prepared = proc->xid;
		}
		else if (proc->pid != 0)
		{
			ZUndoHolderKind kind = (proc->statusFlags & PROC_AFFECTS_ALL_HORIZONS) ?
			ZUNDO_HOLDER_STANDBY : ZUNDO_HOLDER_BACKEND;

			add_holder(list, kind, proc->pid, zfxid_from_xid(kept));
			list->holders[list->n - 1].rank = rank(kind, proc->pid, kept == proc->xid);
		}
	}
	LWLockRelease(ProcArrayLock);
}

/*
 * Add replication slots with an xmin.  Takes ReplicationSlotControlLock, shared, and their
 * spinlocks.
 */
static void
add_slots(HolderList *list)
{
	if (max_replication_slots <= 0)
		return;
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];
		TransactionId xmin;

		if (!slot->in_use)
			continue;
		SpinLockAcquire(&slot->mutex);
		xmin = slot->effective_xmin;
		SpinLockRelease(&slot->mutex);
		if (!TransactionIdIsNormal(xmin))
			continue;
		add_holder(list, ZUNDO_HOLDER_SLOT, 0, zfxid_from_xid(xmin));
		strlcpy(list->holders[list->n - 1].name, NameStr(slot->data.name), GIDSIZE);
	}
	LWLockRelease(ReplicationSlotControlLock);
}

/*
 * Add the oldest aborted transaction that is not rolled back everywhere, with a table of it
 * that the last sweep could not roll back.  Takes the database's lock, shared.
 */
static void
add_aborted(HolderList *list)
{
	ZUndoDb    *db = MyUndo.db;
	ZUndoLog   *log = NULL;
	FullTransactionId oldest = InvalidFullTransactionId;
	Oid			relid = InvalidOid;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		FullTransactionId fxid;
		ZUndoPtr	from;

		(void) zundo_log_aborted(log, &fxid, &from);
		if (!FullTransactionIdIsValid(fxid) ||
			!FullTransactionIdEquals(fxid, zundo_older(oldest, fxid)))
			continue;
		oldest = fxid;
		relid = zundo_log_left_relid(log);
	}
	LWLockRelease(zundo_db_lock(db));
	/* the log of a prepared transaction is pending, too, but that one is listed already */
	if (!FullTransactionIdIsValid(oldest) || TransactionIdIsInProgress(zfxid_xid(oldest)))
		return;
	add_holder(list, ZUNDO_HOLDER_ABORTED, 0, oldest);
	list->holders[list->n - 1].relid = relid;
	if (OidIsValid(relid))
		zundo_find_blocker(&list->holders[list->n - 1]);
}

static int
compare_holders(const void *a, const void *b)
{
	uint64		x = U64FromFullTransactionId(((const ZUndoHolder *) a)->xid);
	uint64		y = U64FromFullTransactionId(((const ZUndoHolder *) b)->xid);

	if (x != y)
		return x < y ? -1 : 1;
	return ((const ZUndoHolder *) a)->rank - ((const ZUndoHolder *) b)->rank;
}

/* ---- GIDs: the server has no interface to them but its SQL function ---- */

/* Set the names of prepared transactions from the rows of pg_prepared_xact(). */
static void
name_prepared(HolderList *list, FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	for (;;)
	{
		Datum		row;
		Datum		xid;
		Datum		gid;
		bool		isnull;

		fcinfo->isnull = false;
		rsinfo->isDone = ExprSingleResult;
		row = FunctionCallInvoke(fcinfo);
		if (rsinfo->isDone != ExprMultipleResult || fcinfo->isnull)
			break;
		xid = GetAttributeByNum(DatumGetHeapTupleHeader(row), 1, &isnull);
		gid = GetAttributeByNum(DatumGetHeapTupleHeader(row), 2, &isnull);
		for (int i = 0; i < list->n; i++)
		{
			ZUndoHolder *holder = &list->holders[i];

			if (TransactionIdIsValid(holder->prepared) &&
				holder->prepared == DatumGetTransactionId(xid))
				strlcpy(holder->name, TextDatumGetCString(gid), GIDSIZE);
		}
	}
}

/* Call pg_prepared_xact(), if the list has prepared transactions. */
static void
add_gids(HolderList *list)
{
	LOCAL_FCINFO(fcinfo, 0);
	FmgrInfo	flinfo;
	ReturnSetInfo rsinfo = {0};
	bool		wanted = false;

	for (int i = 0; i < list->n; i++)
		wanted = wanted || TransactionIdIsValid(list->holders[i].prepared);
	/* not under a buffer lock: types are looked up */
	if (!wanted || InterruptHoldoffCount > 0)
		return;
	fmgr_info(F_PG_PREPARED_XACT, &flinfo);
	rsinfo.type = T_ReturnSetInfo;
	rsinfo.econtext = CreateStandaloneExprContext();
	rsinfo.allowedModes = SFRM_ValuePerCall;
	rsinfo.returnMode = SFRM_ValuePerCall;
	InitFunctionCallInfoData(*fcinfo, &flinfo, 0, InvalidOid, NULL, (Node *) &rsinfo);
	name_prepared(list, fcinfo);
	FreeExprContext(rsinfo.econtext, true);
}

ZUndoHolder *
zundo_holders(int *n)
{
	HolderList	list;

	zundo_open();
	list.n = 0;
	list.max = ProcGlobal->allProcCount + max_prepared_xacts + Max(max_replication_slots, 0) + 1;
	list.holders = palloc(list.max * sizeof(ZUndoHolder));
	add_processes(&list);
	add_slots(&list);
	add_aborted(&list);
	add_gids(&list);
	qsort(list.holders, list.n, sizeof(ZUndoHolder), compare_holders);
	*n = list.n;
	return list.holders;
}

/* ---- messages ---- */

/* Describe changes of a table that are still to be rolled back. */
static char *
aborted_text(const ZUndoHolder *holder, const char *table)
{
	TransactionId xid = zfxid_xid(holder->xid);

	if (holder->pid != 0)
		return psprintf(_("Undo of transaction %u and later is kept back by changes of table \"%s\" that are still to be rolled back when process %d unlocks the table."),
						xid, table, holder->pid);
	if (holder->name[0] != '\0')
		return psprintf(_("Undo of transaction %u and later is kept back by changes of table \"%s\" that are still to be rolled back when prepared transaction \"%s\" unlocks the table."),
						xid, table, holder->name);
	return psprintf(_("Undo of transaction %u and later is kept back by changes of table \"%s\" that are still to be rolled back."),
					xid, table);
}

/* Describe such changes if the table is not known, or the catalog cannot be read. */
static char *
aborted_unnamed_text(const ZUndoHolder *holder)
{
	TransactionId xid = zfxid_xid(holder->xid);

	if (holder->pid != 0)
		return psprintf(_("Undo of transaction %u and later is kept back by changes that are still to be rolled back when process %d unlocks the table."),
						xid, holder->pid);
	if (holder->name[0] != '\0')
		return psprintf(_("Undo of transaction %u and later is kept back by changes that are still to be rolled back when prepared transaction \"%s\" unlocks the table."),
						xid, holder->name);
	return psprintf(_("Undo of transaction %u and later is kept back by changes that are still to be rolled back."),
					xid);
}

char *
zundo_holder_text(const ZUndoHolder *holder)
{
	TransactionId xid = zfxid_xid(holder->xid);
	char	   *table;

	switch (holder->kind)
	{
		case ZUNDO_HOLDER_BACKEND:
			return psprintf(_("Undo of transaction %u and later is kept back by the transaction of process %d."),
							xid, holder->pid);
		case ZUNDO_HOLDER_PREPARED:
			if (holder->name[0] == '\0')
				return psprintf(_("Undo of transaction %u and later is kept back by a prepared transaction."),
								xid);
			return psprintf(_("Undo of transaction %u and later is kept back by prepared transaction \"%s\"."),
							xid, holder->name);
		case ZUNDO_HOLDER_SLOT:
			return psprintf(_("Undo of transaction %u and later is kept back by replication slot \"%s\"."),
							xid, holder->name);
		case ZUNDO_HOLDER_STANDBY:
			return psprintf(_("Undo of transaction %u and later is kept back by \"hot_standby_feedback\" to process %d."),
							xid, holder->pid);
		case ZUNDO_HOLDER_ABORTED:
			table = OidIsValid(holder->relid) && InterruptHoldoffCount == 0 ?
				get_rel_name(holder->relid) : NULL;
			return table != NULL ? aborted_text(holder, table) : aborted_unnamed_text(holder);
	}
	return psprintf(_("Undo of transaction %u and later is kept back."), xid);
}

char *
zundo_describe_holder(void)
{
	int			n;
	ZUndoHolder *holders = zundo_holders(&n);

	return n > 0 ? zundo_holder_text(&holders[0]) : NULL;
}
