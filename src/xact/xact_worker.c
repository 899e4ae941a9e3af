/*
 * xact_worker.c
 *		A worker: rolls back what aborted transactions left in one database (xact_sweep.c),
 *		moves the horizon, discards and truncates, and ends.
 *
 * A worker that stayed would be in the way of DROP DATABASE and CREATE DATABASE
 * ... TEMPLATE, which wait for other sessions of a database to go away, but tell
 * only autovacuum workers.  They hold a lock on the database, though: while a
 * worker is busy it tries that lock ten times a second, and leaves when it does
 * not get it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "zheap/undo/undo.h"
#include "xact_private.h"

/* in milliseconds: between looks, and how long before others have their turn */
#define LOOK_INTERVAL	100
#define TURN			5000

/* without anything to roll back: so many rounds, with naps in milliseconds between */
#define STAY_ROUNDS		10
#define STAY_NAP		20

/* extents freed between looks */
#define DISCARD_AT_A_TIME	256

ZWorkerShared *zxact_shared;

static ZWorkerSlot *my_slot;	/* NULL in other processes */

Size
zxact_worker_shmem_size(void)
{
	return sizeof(ZWorkerShared);
}

void
zxact_worker_shmem_init(void)
{
	bool		found;

	zxact_shared = ShmemInitStruct("zheap workers", sizeof(ZWorkerShared), &found);
	if (found)
		return;
	memset(zxact_shared, 0, sizeof(ZWorkerShared));
	SpinLockInit(&zxact_shared->mutex);
	pg_atomic_init_u64(&zxact_shared->undo_done, 0);
	pg_atomic_init_u64(&zxact_shared->pages, 0);
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		ZWorkerSlot *slot = &zxact_shared->slots[i];

		pg_atomic_init_u64(&slot->undo_total, 0);
		pg_atomic_init_u64(&slot->undo_done, 0);
		pg_atomic_init_u64(&slot->pages, 0);
		pg_atomic_init_u64(&slot->errors, 0);
	}
}

/* ---- for views ---- */

bool
zxact_worker_info(int i, ZWorkerInfo *info)
{
	ZWorkerSlot *slot = &zxact_shared->slots[i];

	info->pid = slot->pid;
	info->db = slot->db;
	info->state = slot->state;
	info->started = slot->started;
	info->undo_total = pg_atomic_read_u64(&slot->undo_total);
	info->undo_done = pg_atomic_read_u64(&slot->undo_done);
	info->pages = pg_atomic_read_u64(&slot->pages);
	info->errors = pg_atomic_read_u64(&slot->errors);
	return info->state != ZWORKER_NONE;
}

void
zxact_worker_totals(uint64 *undo, uint64 *pages)
{
	*undo = pg_atomic_read_u64(&zxact_shared->undo_done);
	*pages = pg_atomic_read_u64(&zxact_shared->pages);
}

void
zxact_error_info(ZErrorInfo *info)
{
	SpinLockAcquire(&zxact_shared->mutex);
	info->errors = zxact_shared->errors;
	info->last_at = zxact_shared->last_error_at;
	info->last_db = zxact_shared->last_error_db;
	memcpy(info->last, zxact_shared->last_error, sizeof(info->last));
	SpinLockRelease(&zxact_shared->mutex);
}

int
zxact_launcher_pid(void)
{
	return zxact_shared->launcher_pid;
}

void
zxact_worker_progress(Size undo, uint32 pages)
{
	if (my_slot == NULL)
		return;
	if (undo > 0)
	{
		pg_atomic_write_u64(&my_slot->undo_done,
							pg_atomic_read_u64(&my_slot->undo_done) + undo);
		pg_atomic_fetch_add_u64(&zxact_shared->undo_done, undo);
	}
	if (pages > 0)
	{
		pg_atomic_write_u64(&my_slot->pages,
							pg_atomic_read_u64(&my_slot->pages) + pages);
		pg_atomic_fetch_add_u64(&zxact_shared->pages, pages);
	}
}

void
zxact_worker_error(void)
{
	if (my_slot != NULL)
		pg_atomic_write_u64(&my_slot->errors, pg_atomic_read_u64(&my_slot->errors) + 1);
}

/* ---- when to go ---- */

bool
zxact_database_is_wanted(Oid db)
{
	LOCKTAG		tag;

	/* as LockSharedObject() */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, db, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

bool
zxact_worker_is_to_leave(void)
{
	static TimestampTz looked_at = 0;
	static bool leave = false;
	TimestampTz now;

	if (my_slot == NULL || leave)
		return leave;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(looked_at, now, LOOK_INTERVAL))
		return false;
	looked_at = now;
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	leave = zheap_undo_workers == 0 || zxact_database_is_wanted(MyDatabaseId) ||
		(zxact_shared->starving && TimestampDifferenceExceeds(my_slot->started, now, TURN));
	return leave;
}

/* ---- the worker ---- */

static void
worker_gone(int code, Datum arg)
{
	my_slot->pid = 0;
	my_slot->state = ZWORKER_NONE;
	my_slot = NULL;
	zxact_worker_wake();
}

static void
report_state(ZWorkerState state, const char *activity)
{
	my_slot->state = state;
	pgstat_report_activity(STATE_RUNNING, activity);
}

/*
 * How much there is to go through: how far the worker is can be told then.  False:
 * nothing, and what is told is about the last time.
 */
static bool
measure_work(void)
{
	uint64		bytes;

	if (!zundo_sweep_is_due(&bytes))
		return false;
	pg_atomic_write_u64(&my_slot->undo_total, bytes);
	pg_atomic_write_u64(&my_slot->undo_done, 0);
	return true;
}

/*
 * The horizon waits for snapshots that are as old as what was just rolled back to
 * go away; where nobody else gets an xid, new ones would look as old.
 */
static void
pass_an_xid(void)
{
	StartTransactionCommand();
	(void) GetCurrentTransactionId();
	CommitTransactionCommand();
}

static bool
roll_back(void)
{
	uint64		before = pg_atomic_read_u64(&my_slot->pages);
	bool		left;

	report_state(ZWORKER_ROLLING_BACK, "zheap: putting back what was rolled back");
	left = zxact_sweep(true);
	if (pg_atomic_read_u64(&my_slot->pages) > before && !zxact_worker_is_to_leave() &&
		!zheap_xids_are_refused())
		pass_an_xid();
	return left;
}

static void
discard(void)
{
	StartTransactionCommand();
	report_state(ZWORKER_DISCARDING, "zheap: discarding undo");
	zundo_open();
	zundo_horizon_advance();
	while (!zxact_worker_is_to_leave() && zundo_discard(DISCARD_AT_A_TIME) > 0)
		;						/* more of it */
	if (!zxact_worker_is_to_leave())
		(void) zundo_truncate(false);
	zundo_hold_warn();
	CommitTransactionCommand();
}

/* False: something is left.  *busy: there was something to roll back. */
static bool
work(bool *busy)
{
	bool		left = false;

	*busy = false;

	StartTransactionCommand();
	if (!zundo_exists())
	{
		CommitTransactionCommand();
		return true;
	}
	zundo_open();
	*busy = measure_work();
	CommitTransactionCommand();

	if (*busy)
		left = roll_back();
	discard();
	return !left;
}

/*
 * A client that rolls back does it again soon, and a new worker costs as much as a new
 * connection: stay a moment.  True: there may be work again.
 */
static bool
stay(bool busy, int *idle)
{
	*idle = busy ? 0 : *idle + 1;
	if (*idle >= STAY_ROUNDS || zxact_shared->starving || zxact_worker_is_to_leave())
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, STAY_NAP,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return !zxact_worker_is_to_leave();
}

static bool
work_on(void)
{
	int			idle = 0;
	bool		busy;
	bool		done;

	do
		done = work(&busy);
	while (done && stay(busy, &idle));
	return done;
}

static void
count_failure(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	ErrorData  *error = CopyErrorData();

	zxact_error_count(error->message);
	MemoryContextSwitchTo(old);
}

void
zheap_worker_main(Datum arg)
{
	my_slot = &zxact_shared->slots[DatumGetInt32(arg)];
	on_shmem_exit(worker_gone, 0);
	my_slot->pid = MyProcPid;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(my_slot->db, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
	pgstat_report_appname("zheap undo worker");

	PG_TRY();
	{
		my_slot->end = work_on() ? ZWORKER_DONE : ZWORKER_LEFT;
	}
	PG_CATCH();
	{
		count_failure();
		PG_RE_THROW();
	}
	PG_END_TRY();
	proc_exit(0);
}
