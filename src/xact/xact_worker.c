/*
 * xact_worker.c
 *		The launcher, and the short-lived workers that it starts for databases
 *		with something to do.
 *
 * A worker sweeps (xact_sweep.c), moves the horizon and discards, and ends when
 * there is nothing more: a worker that stayed would be in the way of DROP
 * DATABASE and CREATE DATABASE ... TEMPLATE.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/rel.h"

#include "zheap/undo/undo.h"
#include "zheap/xact/xact.h"

#define MAX_WORKERS		3

/*
 * Giving extents back to the free list is not urgent, and writers reuse their own
 * anyway: unless somebody has aborted, a database is visited at most this often
 * (milliseconds).  Starting a worker costs as much as a new connection.
 */
#define VISIT_INTERVAL	5000
#define VISITS_KEPT		64

typedef struct WorkerShared
{
	Latch	   *launcher;		/* NULL while it does not run */
} WorkerShared;

static WorkerShared *shared;

Size
zxact_worker_shmem_size(void)
{
	return sizeof(WorkerShared);
}

void
zxact_worker_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("zheap workers", sizeof(WorkerShared), &found);
	if (!found)
		shared->launcher = NULL;
}

/* Somebody aborted: no need to wait for the next round. */
void
zxact_worker_wake(void)
{
	Latch	   *latch = shared ? shared->launcher : NULL;

	if (latch)
		SetLatch(latch);
}

void
zxact_launcher_register(void)
{
	BackgroundWorker worker;

	/* pg_upgrade drops and makes databases, and changes nothing in them */
	if (IsBinaryUpgrade)
		return;
	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "zheap", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "zheap_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "zheap undo launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "zheap undo launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

/* ---- launcher ---- */

typedef struct RunningWorker
{
	Oid			db;
	BackgroundWorkerHandle *handle;
} RunningWorker;

static RunningWorker running[MAX_WORKERS];

typedef struct Visit
{
	Oid			db;
	TimestampTz at;
} Visit;

static Visit visits[VISITS_KEPT];

/* Note a visit to the database; false: the last one was a moment ago. */
static bool
visit_due(Oid db, bool urgent)
{
	TimestampTz now = GetCurrentTimestamp();
	Visit	   *oldest = &visits[0];
	int			i;

	for (i = 0; i < VISITS_KEPT; i++)
	{
		if (visits[i].db == db)
		{
			if (!urgent && !TimestampDifferenceExceeds(visits[i].at, now, VISIT_INTERVAL))
				return false;
			visits[i].at = now;
			return true;
		}
		if (visits[i].at < oldest->at)
			oldest = &visits[i];
	}
	oldest->db = db;
	oldest->at = now;
	return true;
}

/* The entry to use for db, or NULL if a worker runs there or none is free. */
static RunningWorker *
worker_entry(Oid db)
{
	RunningWorker *free = NULL;
	int			i;

	for (i = 0; i < MAX_WORKERS; i++)
	{
		RunningWorker *entry = &running[i];
		pid_t		pid;

		if (entry->handle &&
			GetBackgroundWorkerPid(entry->handle, &pid) == BGWH_STOPPED)
		{
			pfree(entry->handle);
			entry->handle = NULL;
		}
		if (entry->handle && entry->db == db)
			return NULL;
		if (!entry->handle)
			free = entry;
	}
	return free;
}

static bool
start_worker(Oid db)
{
	RunningWorker *entry = worker_entry(db);
	BackgroundWorker worker;

	if (entry == NULL)
		return false;
	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(db);
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "zheap", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "zheap_worker_main", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "zheap undo worker", BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "zheap undo worker for database %u", db);
	entry->db = db;
	if (!RegisterDynamicBackgroundWorker(&worker, &entry->handle))
		entry->handle = NULL;	/* no slot free: next round */
	return entry->handle != NULL;
}

/*
 * After a restart nobody knows which databases hold undo of transactions that a
 * crash cut off: look at each of them once.
 */
static List *
all_databases(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *dbs = NIL;
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database db = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old;

		if (!db->datallowconn)
			continue;
		old = MemoryContextSwitchTo(context);
		dbs = lappend_oid(dbs, db->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return dbs;
}

static void
launcher_gone(int code, Datum arg)
{
	shared->launcher = NULL;
}

void
zheap_launcher_main(Datum arg)
{
	Oid			dbs[16];
	bool		urgent[lengthof(dbs)];
	List	   *unvisited;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	shared->launcher = MyLatch;
	on_shmem_exit(launcher_gone, 0);
	unvisited = all_databases();

	for (;;)
	{
		int			n = zundo_databases_with_work(dbs, urgent, lengthof(dbs));
		int			i;

		for (i = 0; i < n; i++)
		{
			if (visit_due(dbs[i], urgent[i]))
				start_worker(dbs[i]);
		}
		while (unvisited != NIL && start_worker(linitial_oid(unvisited)))
			unvisited = list_delete_first(unvisited);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 zheap_undo_worker_naptime, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		/* aborts come in bursts: not one round for each */
		pg_usleep(10000L);
	}
}

/* ---- worker ---- */

void
zheap_worker_main(Datum arg)
{
	Oid			db = DatumGetObjectId(arg);
	bool		left;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(db, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
	pgstat_report_appname("zheap undo worker");

	StartTransactionCommand();
	if (!zundo_exists())
		proc_exit(0);
	CommitTransactionCommand();

	left = zxact_sweep(true);

	StartTransactionCommand();
	zundo_open();
	zundo_horizon_advance();
	zundo_discard();
	CommitTransactionCommand();

	/* what is held up by others is tried again, but not in a tight loop */
	if (left)
		pg_usleep(100000L);
	proc_exit(0);
}
