/*
 * rollback_sweep.c
 *		Sweep undo logs for transactions that aborted.
 *
 * Each pending log is read to its end (rollback_attempt.c), in one or several transactions, and
 * marked as applied up to the first record that was left.  Where undo could not be read, the
 * pages of all tables may prove that none of it is needed.
 *
 * LOCKING: the undo relation ShareUpdateExclusive, so that one sweep of a database runs at a
 * time.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "zheap/record/record.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"

#include "rollback_sweep.h"

/*
 * Milliseconds after which the records left are tried again: because a table was locked, or
 * because of an error.  Doubled each time, up to the limit.
 */
#define FIRST_RETRY_LOCKED	200
#define LAST_RETRY_LOCKED	10000
#define FIRST_RETRY_FAILED	1000
#define LAST_RETRY_FAILED	60000

/* Purpose and findings of a sweep of all logs. */
typedef struct SweepMode
{
	bool		own_transactions;	/* a worker's; else it runs in the caller's transaction */
	bool		skip;			/* give up pages that cannot be rolled back because of damage */
	uint64		given_up;		/* number of pages given up */
	List	   *doubtful;		/* of Doubtful: logs about which the tables' pages have to prove
								 * more */
	FullTransactionId next;		/* all older transactions must have ended before that */
} SweepMode;

/* A log that was swept, except for records that could not be read, or rolled back. */
typedef struct Doubtful
{
	ZUndoPending pending;
	Sweep		sweep;
} Doubtful;

/*
 * Begin a part of the sweep.  Return false if another sweep is under way: a worker's and
 * VACUUM's would only do each other's work again.  The undo relation is locked,
 * ShareUpdateExclusive, if the result is true; VACUUM has that lock already.
 */
static bool
begin(bool own_transactions)
{
	if (!own_transactions)
	{
		zundo_open();
		return true;
	}
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	zundo_open();
	return ConditionalLockRelation(zundo_relation(), ShareUpdateExclusiveLock);
}

static void
end(bool own_transactions)
{
	if (own_transactions)
	{
		PopActiveSnapshot();
		CommitTransactionCommand();
		pgstat_report_stat(false);
	}
}

static void
mark_so_far(const Sweep *sweep, ZUndoPending *pending)
{
	ZUndoSwept	swept = {.upto = sweep->at, .extents = sweep->passed};

	Assert(swept.upto != ZUNDO_INVALID);
	if (sweep->swept.upto != ZUNDO_INVALID)
	{
		swept.upto = sweep->swept.upto;
		swept.extents = sweep->swept.extents;
	}
	zundo_pending_mark_applied(pending, &swept);
}

/* Mark the log as swept: its end has been reached.  Back off if records were left. */
static void
finish(const Sweep *sweep, ZUndoPending *pending)
{
	/* R6: if any record was left, upto is at or before it */
	Assert(sweep->at == ZUNDO_INVALID && !sweep->jump);
	Assert(sweep->swept.upto != ZUNDO_INVALID || !(sweep->failed || sweep->locked));
	zundo_pending_mark_applied(pending, &sweep->swept);
	if (sweep->failed)
		zundo_pending_back_off(pending, FIRST_RETRY_FAILED, LAST_RETRY_FAILED,
							   sweep->left_relid);
	else if (sweep->locked)
		zundo_pending_back_off(pending, FIRST_RETRY_LOCKED, LAST_RETRY_LOCKED,
							   sweep->left_relid);
}

/*
 * Remember that the log's sweep was incomplete.  The log has backed off, and stays so if we are
 * cancelled.  When all logs were swept, the tables may prove that less of it is left.  "next":
 * the next xid at the sweep's begin, or when it last reported its progress; no earlier log's is
 * newer.
 */
static void
note_doubtful(SweepMode *mode, const Sweep *sweep, const ZUndoPending *pending,
			  FullTransactionId next)
{
	Doubtful   *doubtful = palloc(sizeof(Doubtful));

	doubtful->sweep = *sweep;
	doubtful->pending = *pending;
	mode->doubtful = lappend(mode->doubtful, doubtful);
	mode->next = next;
}

/*
 * Look through all tables, after all older transactions have ended.  Return whether no aborted
 * change is left.
 */
static bool
tables_are_clean(SweepMode *mode)
{
	if (zrollback_wait_for_older(mode->next))
		return zrollback_all_tables(mode->skip, &mode->given_up);
	ereport(WARNING,
			(errmsg("tables were not searched for rows to roll back"),
			 errdetail("Transaction %u, or an older one, is still in progress, perhaps prepared.",
					   GetOldestActiveTransactionId(false, true)),
			 errhint("Retry when that transaction has ended.")));
	return false;
}

/*
 * Look through all tables because some undo of these logs could not be read.  If nothing of
 * transactions older than mode->next is left, then no undo that these sweeps read, or skipped,
 * is needed: those transactions have ended, and the others began after the sweeps last reported
 * their progress, so that each makes its log pending from its own first record when it aborts
 * or is prepared, and that mark is kept apart.  The records that a sweep has seen of them do
 * not prove where they begin: that may be on an unreadable page (R10).  One look at the tables
 * serves all logs.  Meanwhile no other process sweeps, because this one has the lock.
 */
static void
settle_doubtful(SweepMode *mode)
{
	ListCell   *cell;
	bool		clean;

	if (mode->doubtful == NIL)
		return;
	zundo_hold_sweeps(true);
	clean = tables_are_clean(mode);
	zundo_hold_sweeps(false);
	foreach(cell, mode->doubtful)
	{
		Doubtful   *doubtful = lfirst(cell);
		Sweep	   *sweep = &doubtful->sweep;

		if (!clean)
			break;
		sweep->swept = (ZUndoSwept) {.upto = ZUNDO_INVALID};
		sweep->failed = sweep->locked = false;
		finish(sweep, &doubtful->pending);
	}
	list_free_deep(mode->doubtful);
	mode->doubtful = NIL;
}

/*
 * Sweep one log to its end, within a transaction on entry and exit.  The progress is marked
 * each time a transaction ends, so that the next sweep goes on there.  Return false if the log
 * is to be continued another time.
 */
static bool
sweep_pending(ZUndoPending *pending, SweepMode *mode)
{
	Sweep		sweep = {.log = pending->log, .at = pending->from,
	.own_transactions = mode->own_transactions};
	FullTransactionId next = ReadNextFullTransactionId();

	zprefetch_init(&sweep.prefetch, ZREADER_ROLLBACK);
	/* tables of a sweep that was cancelled */
	zrollback_tables_forget();
	for (;;)
	{
		zsweep_attempt(&sweep);
		if (sweep.at == ZUNDO_INVALID)
			break;
		mark_so_far(&sweep, pending);
		/* this sweep takes over the transactions newly aborted by now (R10) */
		next = ReadNextFullTransactionId();
		if (zrollback_worker_is_to_leave())
			return false;
		if (mode->own_transactions)
		{
			end(true);
			if (!begin(true) || !zundo_pending_is_newest(pending))
				return false;
		}
	}
	/* the end of a sealed log is unknown: records may lie behind the end that was found */
	if (zundo_log_is_sealed(pending->log))
		zsweep_note_damage(&sweep, pending->from, 0);
	finish(&sweep, pending);
	if (!mode->own_transactions && (sweep.damaged || (mode->skip && sweep.failed)))
		note_doubtful(mode, &sweep, pending, next);
	return true;
}

/* Sweep all pending logs, each once.  Return true if the sweep was broken off. */
static bool
sweep_all(SweepMode *mode)
{
	ZUndoPending pending = {.log = -1};
	bool		left = false;
	bool		more = true;

	Assert(IsTransactionState() == !mode->own_transactions);
	while (more)
	{
		if (!begin(mode->own_transactions))
		{
			left = true;
			more = false;
		}
		else if (!zundo_pending_next(pending.log, !mode->own_transactions, &pending))
			more = false;
		else if (!sweep_pending(&pending, mode))
		{
			left = true;
			more = false;
		}
		end(mode->own_transactions);
	}
	settle_doubtful(mode);
	return left;
}

bool
zrollback_sweep(bool own_transactions)
{
	SweepMode	mode = {.own_transactions = own_transactions};

	return sweep_all(&mode);
}

void
zrollback_refuse_changed(void)
{
	if (zundo_is_writing() || TransactionIdIsValid(GetTopTransactionIdIfAny()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("undo cannot be given up by a transaction that has changed something")));
}

uint64
zrollback_skip(void)
{
	SweepMode	mode = {.skip = true};

	zrollback_refuse_changed();
	zundo_open();
	LockRelation(zundo_relation(), ShareUpdateExclusiveLock);
	(void) sweep_all(&mode);
	return mode.given_up;
}

/*
 * Where no xids are assigned, no snapshot will be newer than those for which the horizon waits:
 * check that there are none, and let the horizon advance.
 */
void
zrollback_vacuum(void)
{
	(void) zrollback_sweep(false);
	if (IsUnderPostmaster && !zheap_xids_are_refused())
		return;
	if (!zundo_is_quiet())
		return;
	if (XLogStandbyInfoActive())
		(void) zrec_conflict_emit(zundo_relation(), ReadNextFullTransactionId());
	zundo_pins_waive();
}
