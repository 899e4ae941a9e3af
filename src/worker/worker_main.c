/*
 * worker_main.c
 *		Main function of a worker: roll back the aborted transactions of one database
 *		(rollback_sweep.c), advance the horizon, discard and truncate undo, and exit.
 *
 * DROP DATABASE and CREATE DATABASE ... TEMPLATE wait for other sessions of the database to
 * end, but signal only autovacuum workers.  So a worker checks regularly whether it is to
 * leave (zworker_is_to_leave).
 *
 * LOCKING: none between two pieces of work (J3); within them, the layers below take their own.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"
#include "worker_private.h"

/* rounds without work before a worker ends, and milliseconds of sleep between rounds */
#define STAY_ROUNDS		10
#define STAY_NAP		20

/* extents discarded between two checks whether to leave */
#define DISCARD_AT_A_TIME	256

static emit_log_hook_type previous_emit_log = NULL;

static const ZRollbackWorker rollback_worker = {
	.is_to_leave = zworker_is_to_leave,
	.progress = zworker_progress,
	.error = zworker_error
};

/* Free the slot on exit.  The barrier keeps the state from being read after the holder is 0. */
static void
worker_gone(int code, Datum arg)
{
	Assert(zworker_pid(zworker_my_slot) == MyProcPid);	/* J2 */
	zworker_my_slot->state = ZWORKER_NONE;
	pg_write_barrier();
	pg_atomic_write_u32(&zworker_my_slot->holder, 0);
	zworker_my_slot = NULL;
	zworker_wake();
}

static void
report_state(ZWorkerState state, const char *activity)
{
	Assert(zworker_pid(zworker_my_slot) == MyProcPid);	/* J2 */
	zworker_my_slot->state = state;
	pgstat_report_activity(STATE_RUNNING, activity);
}

/*
 * Publish how much undo is to be rolled back, so that views can show progress.  Return whether
 * there is any; if not, leave the figures of the last sweep.
 */
static bool
measure_work(void)
{
	uint64		bytes;

	if (!zundo_sweep_is_due(&bytes))
		return false;
	pg_atomic_write_u64(&zworker_my_slot->undo_total, bytes);
	pg_atomic_write_u64(&zworker_my_slot->undo_done, 0);
	return true;
}

/*
 * Assign an xid.  The horizon waits until all snapshots are newer than the rollback; in an idle
 * server, where no other transaction gets an xid, new snapshots would look as old as it.
 */
static void
pass_an_xid(void)
{
	StartTransactionCommand();
	(void) GetCurrentTransactionId();
	CommitTransactionCommand();
}

/* Sweep the logs of this database, in transactions of its own.  Return whether work is left. */
static bool
roll_back_database(void)
{
	uint64		before = pg_atomic_read_u64(&zworker_my_slot->pages);
	bool		left;

	report_state(ZWORKER_ROLLING_BACK, "zheap: rolling back");
	left = zrollback_sweep(true);
	if (pg_atomic_read_u64(&zworker_my_slot->pages) > before && !zworker_is_to_leave() &&
		!zheap_xids_are_refused())
		pass_an_xid();
	return left;
}

/* Advance the horizon, and discard and truncate undo, in one transaction. */
static void
discard(void)
{
	StartTransactionCommand();
	report_state(ZWORKER_DISCARDING, "zheap: discarding undo");
	zundo_open();
	zundo_horizon_advance();
	while (!zworker_is_to_leave() && zundo_discard(DISCARD_AT_A_TIME) > 0)
		;						/* more of it */
	if (!zworker_is_to_leave())
		(void) zundo_truncate(false);
	zundo_hold_warn();
	CommitTransactionCommand();
}

/*
 * One round: roll back, discard.  Return whether all of the rolling back could be done.  *busy is
 * true if there was undo to roll back.
 */
static bool
work(bool *busy)
{
	bool		left = false;

	*busy = false;

	StartTransactionCommand();
	if (!zundo_exists())
	{
		CommitTransactionCommand();
		/* undo that shared memory still knows is of a relation that was rolled back or dropped */
		return false;
	}
	zundo_open();
	*busy = measure_work();
	CommitTransactionCommand();

	if (*busy)
		left = roll_back_database();
	Assert(!IsTransactionState());	/* J3 */
	discard();
	Assert(!IsTransactionState());
	pgstat_report_stat(true);
	return !left;
}

/*
 * Sleep before the next round: a client that rolls back is likely to do it again soon, and a new
 * worker costs as much as a new connection.  Return whether to go on.
 */
static bool
stay(bool busy, int *idle)
{
	*idle = busy ? 0 : *idle + 1;
	if (*idle >= STAY_ROUNDS || zworker_shared->starving || zworker_is_to_leave())
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, STAY_NAP,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return !zworker_is_to_leave();
}

/* Work in rounds until there is nothing to do, or it is time to leave.  Returns as work(). */
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

/* Count the error that ends this worker, in PG_CATCH. */
static void
count_failure(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	ErrorData  *error = CopyErrorData();

	zrollback_error_count(error->message);
	MemoryContextSwitchTo(old);
}

/*
 * Claim the slot that the launcher has reserved.  Return whether it is ours: false if the launcher
 * that started us has died, in which case a later one may have given the slot away.
 */
static bool
claim_slot(int i)
{
	ZWorkerSlot *slot = &zworker_shared->slots[i];
	uint32		ticket;

	Assert(i >= 0 && i < ZHEAP_MAX_UNDO_WORKERS);
	memcpy(&ticket, MyBgworkerEntry->bgw_extra, sizeof(ticket));
	if (!zworker_claim(slot, ticket))
		return false;
	zworker_my_slot = slot;
	on_shmem_exit(worker_gone, 0);
	return true;
}

/*
 * Keep "database does not exist" out of the log: the database may have been dropped since the
 * launcher looked, and this need not alarm an operator.  The worker's exit is logged anyway.
 */
static void
hide_dropped_database(ErrorData *error)
{
	if (previous_emit_log)
		previous_emit_log(error);
	if (!OidIsValid(MyDatabaseId) && error->sqlerrcode == ERRCODE_UNDEFINED_DATABASE)
		error->output_to_server = false;
}

/*
 * Override settings as autovacuum workers do.  With zero_damaged_pages, a page replaced by zeros
 * would count as rolled back; timeouts and isolation levels are meant for sessions.
 */
static void
override_settings(void)
{
	static const char *const settings[][2] = {
		{"zero_damaged_pages", "false"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"search_path", ""},
	};

	for (int i = 0; i < (int) lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

void
zheap_worker_main(Datum arg)
{
	if (!claim_slot(DatumGetInt32(arg)))
		proc_exit(0);
	zrollback_worker_register(&rollback_worker);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	previous_emit_log = emit_log_hook;
	emit_log_hook = hide_dropped_database;
	BackgroundWorkerInitializeConnectionByOid(zworker_my_slot->db, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	pgstat_report_appname("zheap undo worker");
	override_settings();

	PG_TRY();
	{
		zworker_my_slot->end = work_on() ? ZWORKER_DONE : ZWORKER_LEFT;
	}
	PG_CATCH();
	{
		count_failure();
		PG_RE_THROW();
	}
	PG_END_TRY();
	proc_exit(0);
}
