/*
 * worker_main.c
 *		A worker: rolls back what aborted transactions left in one database (rollback_sweep.c),
 *		moves the horizon, discards and truncates, marks pages all-visible, and ends.
 *
 * A worker that stayed would be in the way of DROP DATABASE and CREATE DATABASE
 * ... TEMPLATE, which wait for other sessions of a database to go away, but tell
 * only autovacuum workers.  So it asks now and then whether it is to leave.
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

#include "zheap/clean/clean.h"
#include "zheap/notes/filled.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"
#include "worker_private.h"

/* without anything to roll back: so many rounds, with naps in milliseconds between */
#define STAY_ROUNDS		10
#define STAY_NAP		20

/* extents freed between looks */
#define DISCARD_AT_A_TIME	256

/* milliseconds for marking pages before undo is looked at again */
#define MARK_TIME			1000

static emit_log_hook_type previous_emit_log = NULL;

static const ZRollbackWorker rollback_worker = {
	.is_to_leave = zworker_is_to_leave,
	.progress = zworker_progress,
	.error = zworker_error
};

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
 * How much there is to go through: how far the worker is can be told then.  False:
 * nothing, and what is told is about the last time.
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
 * For some time, as undo is to be discarded, too; less if there is something to roll back, here or
 * elsewhere.  True: there may be more pages.
 */
static bool
mark_filled(void)
{
	TimestampTz start = GetCurrentTimestamp();
	ZMarkVisit	visit;
	bool		more = true;

	StartTransactionCommand();
	zclean_begin_marking(&visit);
	CommitTransactionCommand();
	while (more && !zworker_shared->starving && !zworker_is_to_leave() &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), MARK_TIME))
	{
		StartTransactionCommand();
		report_state(ZWORKER_MARKING, "zheap: marking pages all-visible");
		zundo_open();
		more = !zundo_sweep_is_due(NULL) && zclean_mark_filled(&visit);
		CommitTransactionCommand();
	}
	return more;
}

/* False: something is left.  *busy: there was something to roll back, or there are pages left. */
static bool
work(bool *busy)
{
	bool		left = false;

	*busy = false;

	StartTransactionCommand();
	if (!zundo_exists())
	{
		zfilled_forget_database(MyDatabaseId);
		CommitTransactionCommand();
		/* if there is said to be undo, that is of a relation which was taken back or dropped */
		return false;
	}
	zundo_open();
	*busy = measure_work();
	CommitTransactionCommand();

	if (*busy)
		left = roll_back_database();
	Assert(!IsTransactionState());	/* J3 */
	discard();
	if (mark_filled())
		*busy = true;
	Assert(!IsTransactionState());
	pgstat_report_stat(true);
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
	if (*idle >= STAY_ROUNDS || zworker_shared->starving || zworker_is_to_leave())
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, STAY_NAP,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return !zworker_is_to_leave();
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

	zrollback_error_count(error->message);
	MemoryContextSwitchTo(old);
}

/* False: the launcher that started us has died, and another one may have given our slot away. */
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
 * The database may have been dropped since the launcher has looked.  That is nothing that an
 * operator should be alarmed by; that the worker has exited is told anyway.
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
 * As autovacuum's workers: what a page of zeros takes the place of would count as rolled back, and
 * limits and isolation levels are meant for sessions.
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
