/*
 * undo_pending.c
 *		What becomes of transactions, and what of their undo is left to apply.
 *
 * A transaction enters itself in its log with its first record (undo_write.c).
 * When it has ended its callback either simply strikes it out, or makes the log
 * pending from that record on.  A sweep takes a sweep id, walks the log from there
 * to its end, and marks it applied; aborts that come in between are "newly aborted", and are what
 * the log is pending from afterwards.
 *
 * What cannot be applied (a damaged page, a table that somebody has locked) is
 * left, and not tried again before ZUndoLog.retry_at.  What belongs to a transaction in
 * progress, which may be a prepared one, is left until that has ended.  Until then
 * sweeps begin at what is newly aborted.
 *
 * So a log is in one of these states, which its fields tell (check_state):
 *
 *   APPLIED	pending_from is invalid
 *   UNSEEN		pending_from is valid, oldest_unapplied is not: no sweep has come to its
 *				end since
 *   WAITING	both are valid, retry_at is 0: oldest_unapplied was in progress
 *   BACKED_OFF	both are valid, and retry_at: something could not be applied
 *
 *   APPLIED	-> UNSEEN		zundo_log_mark_pending()
 *   UNSEEN		-> APPLIED		mark_all_applied(), clear_pending()
 *   UNSEEN		-> WAITING		mark_part_applied() with the oldest that is left
 *   WAITING	-> BACKED_OFF	zundo_pending_back_off()
 *   WAITING, BACKED_OFF -> UNSEEN	begin_sweep(); a sweep of what is newly aborted goes
 *				back from there to where it came from, mark_newly_applied()
 *
 * newly_aborted_from may be valid in all of them but APPLIED.
 *
 * LOCKING: ZUndoLog.mutex, a spinlock, nothing else; but finding a log by its
 * number needs the database's lock.  The callbacks cannot fail.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/timestamp.h"

#include "undo_private.h"

FullTransactionId
zundo_older(FullTransactionId a, FullTransactionId b)
{
	if (!FullTransactionIdIsValid(a))
		return b;
	if (!FullTransactionIdIsValid(b))
		return a;
	return FullTransactionIdPrecedes(a, b) ? a : b;
}

/*
 * The mutex is held.  What the fields of each state have in common; called after each
 * transition.
 */
static void
check_state(const ZUndoLog *log)
{
#ifdef USE_ASSERT_CHECKING
	if (log->pending_from == ZUNDO_INVALID)
	{
		Assert(!FullTransactionIdIsValid(log->pending_fxid));
		Assert(!FullTransactionIdIsValid(log->oldest_unapplied));
		Assert(log->newly_aborted_from == ZUNDO_INVALID);
		Assert(log->aborts == 0 && log->retry_at == 0);
	}
	else
		Assert(FullTransactionIdIsValid(log->pending_fxid));
	if (log->newly_aborted_from == ZUNDO_INVALID)
		Assert(!FullTransactionIdIsValid(log->newly_aborted_fxid) && log->newly_aborted_count == 0);
	else
		Assert(FullTransactionIdIsValid(log->newly_aborted_fxid));
#endif
}

/* ---- marking ---- */

void
zundo_log_mark_pending(ZUndoLog *log, ZUndoPtr from, uint32 ordinal, FullTransactionId fxid)
{
	Assert(from != ZUNDO_INVALID && FullTransactionIdIsValid(fxid));

	SpinLockAcquire(&log->mutex);
	if (log->pending_from == ZUNDO_INVALID)
	{
		log->pending_from = from;
		log->pending_ordinal = ordinal;
		log->pending_fxid = fxid;
		log->aborts = 1;
	}
	else
	{
		/* further on in the log, but its xid may be older */
		if (log->newly_aborted_from == ZUNDO_INVALID)
		{
			log->newly_aborted_from = from;
			log->newly_aborted_ordinal = ordinal;
		}
		log->newly_aborted_fxid = zundo_older(log->newly_aborted_fxid, fxid);
		log->newly_aborted_count++;
	}
	check_state(log);
	SpinLockRelease(&log->mutex);
}

/*
 * The transaction has left the process array.  Until "active" is cleared it
 * keeps the horizon back; from the marking on the mark does.
 */
static void
end_transaction(bool pending)
{
	ZUndoLog   *log = MyUndo.log;

	MyUndo.ready = false;
	if (MyUndo.first != ZUNDO_INVALID)
	{
		Assert(log->owner == MyProcPid);
		if (pending)
			zundo_log_mark_pending(log, MyUndo.first, MyUndo.first_ordinal, MyUndo.fxid);
		pg_write_barrier();
		pg_atomic_write_u64(&log->active, 0);
	}
	if (MyUndo.entered)
	{
		pg_write_barrier();
		pg_atomic_write_u32(&log->uses, pg_atomic_read_u32(&log->uses) + 1);
	}
	MyUndo.entered = false;
	MyUndo.extents = 0;
	MyUndo.first = ZUNDO_INVALID;
	MyUndo.fxid = InvalidFullTransactionId;
	MyUndo.sub_aborted = false;
}

void
zundo_at_commit(void)
{
	end_transaction(MyUndo.sub_aborted);
	zundo_local_at_end(false);
	zundo_close_at_commit();
}

/* The commit log will tell its status. */
void
zundo_at_prepare(void)
{
	end_transaction(true);
	/* a transaction that used temporary tables cannot be prepared */
	zundo_local_at_end(false);
	zundo_close_at_commit();
}

void
zundo_at_abort(void)
{
	end_transaction(true);
	zundo_local_at_end(true);
	/* the resource owner closes it */
	MyUndo.rel = NULL;
}

/*
 * Nothing is told to others before the top transaction ends: its xid is older
 * and keeps the horizon back anyway.  Subtransactions that began after this one
 * did so within it.
 */
void
zundo_at_subabort(void)
{
	if (MyUndo.first != ZUNDO_INVALID &&
		MyUndo.last_sub >= GetCurrentSubTransactionId())
		MyUndo.sub_aborted = true;
	zundo_local_at_subabort();
}

/* ---- pinning the horizon ---- */

/* Pins that are full become one that is in force until the last is over. */
static void
add_pin(ZUndoLog *log, FullTransactionId fxid, FullTransactionId until)
{
	ZUndoPin   *last = &log->pins[ZUNDO_PINS - 1];

	for (int i = 0; i < ZUNDO_PINS; i++)
	{
		if (!FullTransactionIdIsValid(log->pins[i].fxid))
		{
			log->pins[i].fxid = fxid;
			log->pins[i].until = until;
			return;
		}
	}
	last->fxid = zundo_older(last->fxid, fxid);
	last->until = until;
}

/*
 * A snapshot that was taken when "until" was the next xid has an xmin of at most
 * that, hence not older alone, but newer.
 */
static void
drop_pins(ZUndoDb *db, ZUndoLog *log, FullTransactionId oldest_needed)
{
	while (FullTransactionIdIsValid(log->pins[0].fxid) &&
		   FullTransactionIdFollows(oldest_needed, log->pins[0].until))
	{
		/* before the horizon can move beyond what was held */
		zundo_horizon_raise(&db->released, log->pins[0].until);
		for (int i = 1; i < ZUNDO_PINS; i++)
			log->pins[i - 1] = log->pins[i];
		log->pins[ZUNDO_PINS - 1].fxid = InvalidFullTransactionId;
	}
}

FullTransactionId
zundo_log_oldest(ZUndoDb *db, ZUndoLog *log, FullTransactionId oldest_needed)
{
	FullTransactionId oldest;

	oldest = FullTransactionIdFromU64(pg_atomic_read_u64(&log->active));
	oldest = zundo_older(oldest, oldest_needed);

	/*
	 * A transaction marks its log before it clears "active", so that one of
	 * the two is seen.
	 */
	pg_read_barrier();
	SpinLockAcquire(&log->mutex);
	drop_pins(db, log, oldest_needed);
	for (int i = 0; i < ZUNDO_PINS; i++)
		oldest = zundo_older(oldest, log->pins[i].fxid);
	if (log->pending_from != ZUNDO_INVALID)
		oldest = zundo_older(oldest, zundo_older(log->pending_fxid, log->newly_aborted_fxid));
	SpinLockRelease(&log->mutex);
	return oldest;
}

bool
zundo_log_has_pins(ZUndoLog *log)
{
	bool		result;

	SpinLockAcquire(&log->mutex);
	result = FullTransactionIdIsValid(log->pins[0].fxid);
	SpinLockRelease(&log->mutex);
	return result;
}

TransactionId
zundo_released(FullTransactionId horizon)
{
	FullTransactionId released;

	/* the horizon was read before; the backend that raised it had raised this one first */
	pg_read_barrier();
	released = FullTransactionIdFromU64(pg_atomic_read_u64(&MyUndo.db->released));
	return FullTransactionIdPrecedes(released, horizon) ? InvalidTransactionId : zfxid_xid(released);
}

bool
zundo_is_quiet(void)
{
	FullTransactionId next = ReadNextFullTransactionId();
	int			others;

	if (!FullTransactionIdEquals(zundo_oldest_needed(), next))
		return false;
	pfree(GetCurrentVirtualXIDs(InvalidTransactionId, true, false, PROC_IN_VACUUM, &others));
	return others == 0;
}

void
zundo_pins_waive(void)
{
	ZUndoDb    *db = MyUndo.db;
	ZUndoLog   *log = NULL;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		SpinLockAcquire(&log->mutex);
		drop_pins(db, log, FullTransactionIdFromU64(PG_UINT64_MAX));
		SpinLockRelease(&log->mutex);
	}
	LWLockRelease(zundo_db_lock(db));
}

/* ---- sweeping ---- */

bool
zundo_is_first_active(int number, ZUndoPtr ptr)
{
	ZUndoDb    *db = MyUndo.db;
	ZUndoLog   *log;
	bool		result;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	log = zundo_log_find(db, number);
	result = log != NULL && pg_atomic_read_u64(&log->active_first) == ptr &&
		pg_atomic_read_u64(&log->active) != 0;
	LWLockRelease(zundo_db_lock(db));
	return result;
}

static void
clear_newly_aborted(ZUndoLog *log)
{
	log->newly_aborted_from = ZUNDO_INVALID;
	log->newly_aborted_ordinal = 0;
	log->newly_aborted_fxid = InvalidFullTransactionId;
	log->newly_aborted_count = 0;
}

/*
 * Until the sweep tells how far it came the log is UNSEEN: if that never happens the
 * next one looks at everything.
 */
static void
begin_sweep(ZUndoLog *log, bool newly_aborted, ZUndoPending *pending)
{
	uint32		sweep_id = zundo_new_sweep_id();

	SpinLockAcquire(&log->mutex);
	pending->log = (int) log->number;
	pending->sweep_id = log->sweep_id = sweep_id;
	pending->newly_aborted = newly_aborted;
	pending->from = newly_aborted ? log->newly_aborted_from : log->pending_from;
	pending->ordinal = newly_aborted ? log->newly_aborted_ordinal : log->pending_ordinal;
	pending->aborts = log->newly_aborted_count;
	pending->left_before = log->oldest_unapplied;
	/* this sweep is going to see what was newly aborted for the last one */
	log->aborts += log->newly_aborted_count;
	log->pending_fxid = zundo_older(log->pending_fxid, log->newly_aborted_fxid);
	log->oldest_unapplied = InvalidFullTransactionId;
	clear_newly_aborted(log);
	check_state(log);
	SpinLockRelease(&log->mutex);
}

bool
zundo_log_is_pending(ZUndoLog *log)
{
	bool		result;

	SpinLockAcquire(&log->mutex);
	result = log->pending_from != ZUNDO_INVALID;
	SpinLockRelease(&log->mutex);
	return result;
}

/*
 * What is left has its time: when the transaction that it belongs to has ended, or when
 * it may be tried again.
 */
ZSweepDue
zundo_log_sweep_due(ZUndoLog *log, TimestampTz now)
{
	FullTransactionId oldest_unapplied;
	TimestampTz retry_at;
	bool		pending;
	bool		newly_aborted;
	bool		due;

	SpinLockAcquire(&log->mutex);
	pending = log->pending_from != ZUNDO_INVALID;
	newly_aborted = log->newly_aborted_from != ZUNDO_INVALID;
	oldest_unapplied = log->oldest_unapplied;
	retry_at = log->retry_at;
	SpinLockRelease(&log->mutex);

	if (!pending)
		return ZSWEEP_NONE;
	if (!FullTransactionIdIsValid(oldest_unapplied))
		return ZSWEEP_WHOLE;
	if (retry_at != 0)
		due = retry_at <= now;
	else
		due = !TransactionIdIsInProgress(zfxid_xid(oldest_unapplied));
	if (due)
		return ZSWEEP_WHOLE;
	return newly_aborted ? ZSWEEP_NEW : ZSWEEP_NONE;
}

uint32
zundo_log_pending_extents(ZUndoLog *log, ZSweepDue due, uint32 most)
{
	uint32		from;

	SpinLockAcquire(&log->mutex);
	from = due == ZSWEEP_NEW ? log->newly_aborted_ordinal : log->pending_ordinal;
	SpinLockRelease(&log->mutex);
	if (from == 0)
		return most;
	return Min(log->ordinal - from + 1, most);
}

bool
zundo_pending_next(int after, bool all, ZUndoPending *pending)
{
	TimestampTz now = all ? PG_INT64_MAX : GetCurrentTimestamp();
	ZUndoDb    *db;
	ZUndoLog   *log = NULL;
	ZUndoLog   *found = NULL;
	ZSweepDue	found_due = ZSWEEP_NONE;

	zundo_open();
	db = MyUndo.db;
	if (!db->loaded)
		zundo_db_load();
	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		ZSweepDue	due;

		if ((int) log->number <= after || (found != NULL && log->number > found->number))
			continue;
		due = zundo_log_sweep_due(log, now);
		if (due == ZSWEEP_NONE)
			continue;
		found = log;
		found_due = due;
	}
	if (found != NULL)
		begin_sweep(found, found_due == ZSWEEP_NEW, pending);
	LWLockRelease(zundo_db_lock(db));
	return found != NULL;
}

Oid
zundo_log_left_relid(ZUndoLog *log)
{
	Oid			result;

	SpinLockAcquire(&log->mutex);
	result = log->left_relid;
	SpinLockRelease(&log->mutex);
	return result;
}

int
zundo_log_aborted(ZUndoLog *log, FullTransactionId *oldest, ZUndoPtr *from)
{
	int			result;

	SpinLockAcquire(&log->mutex);
	*from = log->pending_from;
	*oldest = zundo_older(log->pending_fxid, log->newly_aborted_fxid);
	result = log->aborts + log->newly_aborted_count;
	SpinLockRelease(&log->mutex);
	if (*from == ZUNDO_INVALID)
	{
		*oldest = InvalidFullTransactionId;
		result = 0;
	}
	return result;
}

static void
clear_pending(ZUndoLog *log)
{
	log->aborts = 0;
	log->pending_from = ZUNDO_INVALID;
	log->pending_ordinal = 0;
	log->pending_fxid = log->oldest_unapplied = InvalidFullTransactionId;
	log->retry_at = 0;
	log->retry_wait = 0;
	log->left_relid = InvalidOid;
}

/* The whole log was looked at; only what was newly aborted is left. */
static void
mark_all_applied(ZUndoLog *log)
{
	clear_pending(log);
	log->pending_from = log->newly_aborted_from;
	log->pending_ordinal = log->newly_aborted_ordinal;
	log->pending_fxid = log->newly_aborted_fxid;
	log->aborts = log->newly_aborted_count;
	clear_newly_aborted(log);
}

/* Something from "upto" on is left; what was newly aborted lies behind it. */
static void
mark_part_applied(ZUndoLog *log, const ZUndoSwept *swept, uint32 ordinal)
{
	Assert(swept->upto != ZUNDO_INVALID);
	log->pending_from = swept->upto;
	log->pending_ordinal = ordinal;
	log->oldest_unapplied = swept->oldest;
	log->retry_at = 0;
	if (FullTransactionIdIsValid(swept->oldest))
	{
		log->pending_fxid = swept->oldest;
		log->aborts = swept->left;
		log->left_relid = InvalidOid;
		return;
	}
	log->pending_fxid = zundo_older(log->pending_fxid, log->newly_aborted_fxid);
	log->aborts += log->newly_aborted_count;
	clear_newly_aborted(log);
}

/*
 * Does all that is left belong to the transaction that the log's owner is in?
 * It will tell itself when it aborts.  If it ended since its position was
 * noted, then it did so by now either with a mark, which is newly aborted, or without
 * need of one; and what its successor writes is none of this sweep's business.
 */
static bool
only_active_is_left(ZUndoLog *log, ZUndoPtr upto)
{
	return log->newly_aborted_from == ZUNDO_INVALID &&
		pg_atomic_read_u64(&log->active_first) == upto &&
		pg_atomic_read_u64(&log->active) != 0;
}

/*
 * What was newly aborted when the sweep began was looked at.  What an earlier one has left
 * still is, and what this one has left joins it: the next that goes through the
 * whole log comes by there.  A sweep that is broken off gives the rest back.
 */
static void
mark_newly_applied(ZUndoLog *log, const ZUndoPending *pending, const ZUndoSwept *swept,
				   uint32 ordinal, FullTransactionId next)
{
	bool		all = swept->upto == ZUNDO_INVALID;

	Assert(FullTransactionIdIsValid(pending->left_before));
	log->oldest_unapplied = pending->left_before;
	if (!all && !FullTransactionIdIsValid(swept->oldest))
	{
		log->newly_aborted_from = swept->upto;
		log->newly_aborted_ordinal = ordinal;
		log->newly_aborted_fxid = zundo_older(log->newly_aborted_fxid, log->pending_fxid);
		return;
	}
	add_pin(log, log->pending_fxid, next);
	log->aborts -= Min(log->aborts, pending->aborts);
	log->aborts += swept->left;
	if (!all && !only_active_is_left(log, swept->upto))
		log->oldest_unapplied = zundo_older(log->oldest_unapplied, swept->oldest);
	log->pending_fxid = log->oldest_unapplied;
	/* else what has come in since */
	if (log->newly_aborted_count == 0)
		clear_newly_aborted(log);
}

static void
mark_whole_applied(ZUndoLog *log, const ZUndoSwept *swept, uint32 ordinal, FullTransactionId next)
{
	bool		all = swept->upto == ZUNDO_INVALID;
	bool		only_active = !all && only_active_is_left(log, swept->upto);

	/* what was pending is let go, as a whole or up to "oldest" */
	if (all || only_active || FullTransactionIdIsValid(swept->oldest))
		add_pin(log, log->pending_fxid, next);
	if (all)
		mark_all_applied(log);
	else if (only_active)
		clear_pending(log);
	else
		mark_part_applied(log, swept, ordinal);
}

/* The mutex is held, and the database's lock; NULL: another sweep has begun, or no need. */
static ZUndoLog *
lock_unapplied(ZUndoDb *db, const ZUndoPending *pending)
{
	ZUndoLog   *log = zundo_log_find(db, pending->log);

	if (log == NULL)
		return NULL;
	SpinLockAcquire(&log->mutex);
	if (log->sweep_id == pending->sweep_id && log->pending_from != ZUNDO_INVALID)
		return log;
	SpinLockRelease(&log->mutex);
	return NULL;
}

bool
zundo_pending_is_newest(const ZUndoPending *pending)
{
	ZUndoLog   *log;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_SHARED);
	log = lock_unapplied(MyUndo.db, pending);
	if (log != NULL)
		SpinLockRelease(&log->mutex);
	LWLockRelease(zundo_db_lock(MyUndo.db));
	return log != NULL;
}

void
zundo_pending_mark_applied(const ZUndoPending *pending, const ZUndoSwept *swept)
{
	ZUndoDb    *db = MyUndo.db;
	uint32		ordinal = pending->ordinal != 0 ? pending->ordinal + swept->extents : 0;
	FullTransactionId next = ReadNextFullTransactionId();
	ZUndoLog   *log;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	log = lock_unapplied(db, pending);
	if (log != NULL)
	{
		if (pending->newly_aborted)
			mark_newly_applied(log, pending, swept, ordinal, next);
		else
			mark_whole_applied(log, swept, ordinal, next);
		check_state(log);
		SpinLockRelease(&log->mutex);
	}
	LWLockRelease(zundo_db_lock(db));
}

void
zundo_pending_back_off(const ZUndoPending *pending, uint32 first, uint32 last, Oid relid)
{
	ZUndoDb    *db = MyUndo.db;
	TimestampTz now = GetCurrentTimestamp();
	ZUndoLog   *log;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	log = lock_unapplied(db, pending);
	if (log != NULL)
	{
		/* those in between do not count */
		if (!pending->newly_aborted)
			log->retry_wait = Min(Max(log->retry_wait * 2, first), last);
		if (log->retry_at <= now)
			log->retry_at = now + Max(log->retry_wait, first) * INT64CONST(1000);
		if (OidIsValid(relid))
			log->left_relid = relid;
		SpinLockRelease(&log->mutex);
	}
	LWLockRelease(zundo_db_lock(db));
}
