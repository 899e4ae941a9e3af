/*
 * worker_launcher.c
 *		Main function of the launcher: start short-lived workers (worker_main.c) for databases
 *		that have work.
 *
 * The database that has waited longest comes first.  One where a worker failed, or left work that
 * it could not do, waits longer each time, except that new aborts allow one early try (J5).
 *
 * LOCKING: none but those of reading pg_database, and the lock of a database for a moment
 * (zworker_database_is_wanted).
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
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"
#include "worker_private.h"

/*
 * Minimum interval between visits of a database without aborts.  Freeing extents is not urgent,
 * as writers reuse their own, and starting a worker costs as much as a new connection.  All
 * times are in milliseconds.
 */
#define VISIT_INTERVAL		5000

/* delay after a worker that failed, or that left work; doubled each time, up to the last one */
#define FIRST_DELAY_FAILED	1000
#define LAST_DELAY_FAILED	60000
#define FIRST_DELAY_LEFT	200
#define LAST_DELAY_LEFT		10000

/* delay if the database is locked */
#define DELAY_LOCKED		1000

/* datconnlimit of a database whose DROP was interrupted; not all minor versions define it */
#define INVALID_DATABASE	(-2)

/* State of a database, kept until the database is found to be dropped. */
typedef struct Visit
{
	Oid			db;
	TimestampTz started;		/* start of the last worker; 0: never */
	TimestampTz not_before;		/* end of the delay */
	TimestampTz early;			/* earliest time of the one early try for new aborts; 0: used up */
	int			delay;			/* last delay in milliseconds; 0: none */
	uint32		aborts;			/* the database's count of aborts */
	uint32		aborts_before;	/* that count when the last worker was started */
	bool		work;			/* true if shared memory knows of work */
	bool		urgent;			/* true if aborted transactions are to be rolled back */
	bool		first;			/* true if no worker has been there since the server started */
} Visit;

typedef struct RunningWorker
{
	Oid			db;
	BackgroundWorkerHandle *handle; /* NULL: no worker that this launcher started */
} RunningWorker;

static Visit *visits;			/* allocated in TopMemoryContext, in no order */
static int	nvisits;
static int	max_visits;
static RunningWorker running[ZHEAP_MAX_UNDO_WORKERS];

static void
describe_worker(BackgroundWorker *worker, const char *function, const char *type)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	strlcpy(worker->bgw_library_name, "zheap", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
	strlcpy(worker->bgw_name, type, BGW_MAXLEN);
	strlcpy(worker->bgw_type, type, BGW_MAXLEN);
}

void
zworker_launcher_register(void)
{
	BackgroundWorker worker;

	/* pg_upgrade drops and creates databases and changes no rows: workers would only disturb it */
	if (IsBinaryUpgrade)
		return;
	describe_worker(&worker, "zheap_launcher_main", "zheap undo launcher");
	worker.bgw_restart_time = 5;
	RegisterBackgroundWorker(&worker);
}

/* ---- databases ---- */

/* Find or create the entry of a database.  The result is valid until the next call. */
static Visit *
visit_of(Oid db)
{
	Visit	   *visit;

	for (int i = 0; i < nvisits; i++)
	{
		if (visits[i].db == db)
			return &visits[i];
	}
	if (nvisits == max_visits)
	{
		max_visits = Max(2 * max_visits, 16);
		visits = visits == NULL ?
			MemoryContextAlloc(TopMemoryContext, max_visits * sizeof(Visit)) :
			repalloc(visits, max_visits * sizeof(Visit));
	}
	visit = &visits[nvisits++];
	memset(visit, 0, sizeof(*visit));
	visit->db = db;
	Assert(nvisits <= max_visits);
	return visit;
}

static void
forget_visit(Oid db)
{
	for (int i = 0; i < nvisits; i++)
	{
		if (visits[i].db != db)
			continue;
		visits[i] = visits[--nvisits];
		return;
	}
}

/*
 * List the OIDs of all databases, or of those that allow connections, in "context".  The caller
 * is in a transaction.  pg_database can be read without a connection to a database, but only by a
 * scan.
 */
static List *
all_databases(MemoryContext context, bool connectable)
{
	Relation	rel = table_open(DatabaseRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(rel, 0, NULL);
	List	   *dbs = NIL;
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database db = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old;

		if (connectable && !db->datallowconn)
			continue;
		/* after an interrupted DROP DATABASE nothing but another one is possible */
		if (db->datconnlimit == INVALID_DATABASE)
			continue;
		old = MemoryContextSwitchTo(context);
		dbs = lappend_oid(dbs, db->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	return dbs;
}

/*
 * Remove the entries of dropped databases without work, whenever the number of entries has
 * doubled.  can_be_visited() never looks at these.
 */
static void
forget_dropped(void)
{
	static int	enough = 16;
	List	   *dbs;

	if (nvisits < enough)
		return;
	StartTransactionCommand();
	dbs = all_databases(CurrentMemoryContext, false);
	for (int i = nvisits - 1; i >= 0; i--)
	{
		/* if there is work, can_be_visited() also forgets what shared memory has */
		if (!visits[i].work && !list_member_oid(dbs, visits[i].db))
			visits[i] = visits[--nvisits];
	}
	CommitTransactionCommand();
	enough = Max(2 * nvisits, 16);
}

/*
 * Have each database visited once: after a restart, shared memory does not know which ones hold
 * undo of transactions that a crash has interrupted.
 */
static void
visit_all_once(void)
{
	List	   *dbs;
	ListCell   *cell;

	StartTransactionCommand();
	dbs = all_databases(CurrentMemoryContext, true);
	foreach(cell, dbs)
		visit_of(lfirst_oid(cell))->first = true;
	CommitTransactionCommand();
}

/*
 * Return whether a worker can connect: the database exists, and no session is about to drop or
 * copy it.  If it does not exist, forget all that is known of it.  Runs a transaction.
 */
static bool
can_be_visited(Oid db)
{
	bool		exists;
	bool		is_free;

	Assert(!IsTransactionState());
	StartTransactionCommand();
	exists = list_member_oid(all_databases(CurrentMemoryContext, false), db);
	is_free = exists && !zworker_database_is_wanted(db);
	CommitTransactionCommand();
	if (!exists)
	{
		zundo_forget_database(db);
		forget_visit(db);
	}
	return is_free;
}

/* ---- workers ---- */

/*
 * Delay the next visit after one that was in vain.  A visit after the end of the delay doubles the
 * delay and allows a new early try; an early one changes nothing.  So a database where all visits
 * fail and transactions abort all the time costs at most twice as many visits.
 */
static void
delay(Visit *visit, int first, int last)
{
	TimestampTz now = GetCurrentTimestamp();

	if (now < visit->not_before)
		return;
	visit->delay = Min(Max(visit->delay * 2, first), last);
	Assert(visit->delay >= first && visit->delay <= last);
	visit->not_before = TimestampTzPlusMilliseconds(now, visit->delay);
	visit->early = TimestampTzPlusMilliseconds(now, first);
}

static void
end_delay(Visit *visit)
{
	visit->delay = 0;
	visit->not_before = visit->early = 0;
}

/* Delay the next visit of a locked database.  Does nothing if the database has been forgotten. */
static void
delay_locked(Oid db)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), DELAY_LOCKED);

	for (int i = 0; i < nvisits; i++)
	{
		if (visits[i].db != db)
			continue;
		visits[i].not_before = Max(visits[i].not_before, until);
		visits[i].early = visits[i].early == 0 ? 0 : Max(visits[i].early, until);
	}
}

static void
note_start(Visit *visit)
{
	visit->started = GetCurrentTimestamp();
	visit->aborts_before = visit->aborts;
	visit->early = 0;
}

/* Set the delay of the next visit by how the worker has ended. */
static void
note_end(RunningWorker *worker, ZWorkerSlot *slot)
{
	Visit	   *visit = visit_of(worker->db);

	Assert(visit->db == slot->db && zworker_pid(slot) == 0);	/* J2 */
	if (slot->end == ZWORKER_FAILED)
		delay(visit, FIRST_DELAY_FAILED, LAST_DELAY_FAILED);
	else if (slot->end == ZWORKER_LEFT)
		delay(visit, FIRST_DELAY_LEFT, LAST_DELAY_LEFT);
	else
		end_delay(visit);
	/* until a worker has read the database's logs, shared memory does not know of their undo */
	visit->first = visit->first && slot->end == ZWORKER_FAILED &&
		visit->delay < LAST_DELAY_FAILED;
}

/* Free the slots of the workers that have ended since the last round. */
static void
collect_workers(void)
{
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		RunningWorker *worker = &running[i];
		ZWorkerSlot *slot = &zworker_shared->slots[i];
		pid_t		pid;

		if (worker->handle == NULL ||
			GetBackgroundWorkerPid(worker->handle, &pid) != BGWH_STOPPED)
			continue;
		pfree(worker->handle);
		worker->handle = NULL;
		zworker_take_ticket_back(slot);
		note_end(worker, slot);
		slot->state = ZWORKER_NONE;
	}
}

/* Return whether the slot is in use, by a worker of this launcher or of an earlier one. */
static bool
slot_is_used(int i)
{
	return running[i].handle != NULL || zworker_pid(&zworker_shared->slots[i]) != 0;
}

static bool
is_running(Oid db)
{
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		if (slot_is_used(i) && zworker_shared->slots[i].db == db)
			return true;
	}
	return false;
}

/* The number of a slot that may be used, or -1. */
static int
free_entry(void)
{
	for (int i = 0; i < zheap_undo_workers; i++)
	{
		if (!slot_is_used(i))
			return i;
	}
	return -1;
}

/*
 * Take back the tickets of workers that an earlier launcher has registered and that have not
 * started: this launcher has no handles of them.  Those that have started are known by their pids
 * (J1).
 */
static void
take_all_tickets_back(void)
{
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
		zworker_take_ticket_back(&zworker_shared->slots[i]);
}

/* Register a worker for the database in free slot "i".  Return false if no process is free. */
static bool
start_worker(int i, Oid db)
{
	ZWorkerSlot *slot = &zworker_shared->slots[i];
	BackgroundWorker worker;
	uint32		ticket;

	Assert(!slot_is_used(i));		/* J2 */
	Assert(!is_running(db));	/* J1 */
	slot->db = db;
	slot->end = ZWORKER_FAILED;
	slot->started = GetCurrentTimestamp();
	pg_atomic_write_u64(&slot->undo_total, 0);
	pg_atomic_write_u64(&slot->undo_done, 0);
	pg_atomic_write_u64(&slot->pages, 0);
	pg_atomic_write_u64(&slot->errors, 0);
	slot->state = ZWORKER_STARTING;
	ticket = zworker_give_ticket(slot);

	describe_worker(&worker, "zheap_worker_main", "zheap undo worker");
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = Int32GetDatum(i);
	memcpy(worker.bgw_extra, &ticket, sizeof(ticket));
	worker.bgw_notify_pid = MyProcPid;
	snprintf(worker.bgw_name, BGW_MAXLEN, "zheap undo worker for database %u", db);
	running[i].db = db;
	if (RegisterDynamicBackgroundWorker(&worker, &running[i].handle))
		return true;
	running[i].handle = NULL;
	zworker_take_ticket_back(slot);
	return false;
}

/* ---- rounds ---- */

/*
 * Return whether a delayed database may have its early try: what was aborted since the last visit
 * may be possible to roll back, though the rest was not.
 */
static bool
may_be_early(const Visit *visit, TimestampTz now)
{
	return visit->early != 0 && now >= visit->early && visit->aborts != visit->aborts_before;
}

/* Return whether a database with work is to be visited now. */
static bool
is_due(const Visit *visit, TimestampTz now)
{
	if (is_running(visit->db) || (now < visit->not_before && !may_be_early(visit, now)))
		return false;
	return visit->urgent || visit->first || visit->started == 0 ||
		TimestampDifferenceExceeds(visit->started, now, VISIT_INTERVAL);
}

/* J5: urgent databases first, and among equals the one that has waited longest. */
static int
compare_visits(const void *a, const void *b)
{
	const Visit *x = a;
	const Visit *y = b;

	if (x->urgent != y->urgent)
		return x->urgent ? -1 : 1;
	return x->started < y->started ? -1 : x->started > y->started;
}

/* Set "work" and "urgent" of all databases from shared memory. */
static void
note_work(void)
{
	int			max = zundo_max_databases();
	ZUndoWork  *work = palloc(max * sizeof(ZUndoWork));
	int			n = zundo_databases_with_work(work, max);

	for (int i = 0; i < nvisits; i++)
		visits[i].work = visits[i].urgent = false;
	for (int i = 0; i < n; i++)
	{
		Visit	   *visit = visit_of(work[i].db);

		visit->urgent = work[i].urgent;
		visit->aborts = work[i].aborts;
		visit->work = true;
	}
	pfree(work);
}

/* Return copies of the databases that are due, in order, and their number; the caller frees. */
static Visit *
collect_due(int *n)
{
	TimestampTz now = GetCurrentTimestamp();
	Visit	   *due;

	note_work();
	due = palloc(Max(nvisits, 1) * sizeof(Visit));
	*n = 0;
	for (int i = 0; i < nvisits; i++)
	{
		if ((visits[i].work || visits[i].first) && is_due(&visits[i], now))
			due[(*n)++] = visits[i];
	}
	Assert(*n <= nvisits);
	qsort(due, *n, sizeof(Visit), compare_visits);
	return due;
}

/* Start workers for the databases that are due, as far as slots are free. */
static void
start_due(void)
{
	int			n;
	Visit	   *due = collect_due(&n);
	int			i;

	for (i = 0; i < n; i++)
	{
		Oid			db = due[i].db;
		int			entry = free_entry();
		Visit	   *visit;

		Assert(entry < ZHEAP_MAX_UNDO_WORKERS);
		if (entry < 0)
			break;
		if (!can_be_visited(db))
		{
			delay_locked(db);
			continue;
		}
		visit = visit_of(db);
		if (start_worker(entry, db))
			note_start(visit);
	}
	zworker_shared->starving = i < n;
	pfree(due);
}

static void
launcher_gone(int code, Datum arg)
{
	zworker_shared->launcher = NULL;
	zworker_shared->launcher_pid = 0;
}

void
zheap_launcher_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	zworker_shared->launcher = MyLatch;
	zworker_shared->launcher_pid = MyProcPid;
	on_shmem_exit(launcher_gone, 0);
	take_all_tickets_back();
	visit_all_once();
	/* let it begin as low as possible: later snapshots are in no conflict with it */
	(void) zheap_newest_killer();

	for (;;)
	{
		collect_workers();
		forget_dropped();
		start_due();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 zheap_undo_worker_naptime, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		/* aborts come in bursts: let one round serve many of them */
		pg_usleep(10000L);
	}
}
