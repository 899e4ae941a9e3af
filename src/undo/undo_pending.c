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
 * left, and not tried again before ZUndoLog.retry_at.  Until then sweeps begin at
 * what is newly aborted.
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

/* Try anew what was in vain so long ago, in microseconds. */
#define RETRY_INTERVAL		(10 * USECS_PER_SEC)

FullTransactionId
zundo_older(FullTransactionId a, FullTransactionId b)
{
	if (!FullTransactionIdIsValid(a))
		return b;
	if (!FullTransactionIdIsValid(b))
		return a;
	return FullTransactionIdPrecedes(a, b) ? a : b;
}

/* ---- marking ---- */

void
zundo_log_mark_pending(ZUndoLog *log, ZUndoPtr from, FullTransactionId fxid)
{
	Assert(from != ZUNDO_INVALID && FullTransactionIdIsValid(fxid));

	SpinLockAcquire(&log->mutex);
	if (log->pending_from == ZUNDO_INVALID)
	{
		log->pending_from = from;
		log->pending_fxid = fxid;
		log->oldest_unapplied = InvalidFullTransactionId;
		log->needs_rescan = false;
		log->aborts = 1;
	}
	else
	{
		/* further on in the log, but its xid may be older */
		if (log->newly_aborted_from == ZUNDO_INVALID)
			log->newly_aborted_from = from;
		log->newly_aborted_fxid = zundo_older(log->newly_aborted_fxid, fxid);
		log->newly_aborted_count++;
		log->needs_rescan = true;
	}
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
			zundo_log_mark_pending(log, MyUndo.first, MyUndo.fxid);
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

static void
clear_newly_aborted(ZUndoLog *log)
{
	log->newly_aborted_from = ZUNDO_INVALID;
	log->newly_aborted_fxid = InvalidFullTransactionId;
	log->newly_aborted_count = 0;
}

static void
begin_sweep(ZUndoLog *log, bool newly_aborted, ZUndoPending *pending)
{
	SpinLockAcquire(&log->mutex);
	pending->log = (int) log->number;
	pending->sweep_id = ++log->sweep_id;
	pending->newly_aborted = newly_aborted;
	pending->from = newly_aborted ? log->newly_aborted_from : log->pending_from;
	pending->aborts = log->newly_aborted_count;
	/* this sweep is going to see what was newly aborted for the last one */
	log->aborts += log->newly_aborted_count;
	log->pending_fxid = zundo_older(log->pending_fxid, log->newly_aborted_fxid);
	clear_newly_aborted(log);
	log->needs_rescan = false;
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
 * Is there anything to sweep now?  *newly_aborted: only what is newly aborted; not if a sweep of the
 * whole was broken off.
 */
static bool
is_to_be_swept(ZUndoLog *log, TimestampTz now, bool *newly_aborted)
{
	bool		result;

	SpinLockAcquire(&log->mutex);
	result = log->pending_from != ZUNDO_INVALID && (log->retry_at <= now || log->needs_rescan);
	*newly_aborted = log->retry_at > now && log->newly_aborted_from != ZUNDO_INVALID &&
		FullTransactionIdIsValid(log->oldest_unapplied);
	SpinLockRelease(&log->mutex);
	return result;
}

bool
zundo_pending_next(int after, bool all, ZUndoPending *pending)
{
	TimestampTz now = all ? PG_INT64_MAX : GetCurrentTimestamp();
	ZUndoDb    *db;
	ZUndoLog   *log = NULL;
	ZUndoLog   *found = NULL;
	bool		found_newly_aborted = false;

	zundo_open();
	db = MyUndo.db;
	if (!db->loaded)
		zundo_db_load();
	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		bool		newly_aborted;

		if ((int) log->number > after && (found == NULL || log->number < found->number) &&
			is_to_be_swept(log, now, &newly_aborted))
		{
			found = log;
			found_newly_aborted = newly_aborted;
		}
	}
	if (found != NULL)
		begin_sweep(found, found_newly_aborted, pending);
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
	log->pending_fxid = log->oldest_unapplied = InvalidFullTransactionId;
	log->retry_at = 0;
	log->retry_wait = 0;
	log->left_relid = InvalidOid;
	log->needs_rescan = false;
}

/* The whole log was looked at; only what was newly aborted is left. */
static void
mark_all_applied(ZUndoLog *log)
{
	clear_pending(log);
	log->pending_from = log->newly_aborted_from;
	log->pending_fxid = log->newly_aborted_fxid;
	log->aborts = log->newly_aborted_count;
	clear_newly_aborted(log);
}

/* Something from "upto" on is left; what was newly aborted lies behind it. */
static void
mark_part_applied(ZUndoLog *log, ZUndoPtr upto, FullTransactionId oldest, uint32 left)
{
	Assert(upto != ZUNDO_INVALID);
	log->pending_from = upto;
	log->oldest_unapplied = oldest;
	log->retry_at = 0;
	if (FullTransactionIdIsValid(oldest))
	{
		log->pending_fxid = oldest;
		log->aborts = left;
		log->left_relid = InvalidOid;
		return;
	}
	log->pending_fxid = zundo_older(log->pending_fxid, log->newly_aborted_fxid);
	log->aborts += log->newly_aborted_count;
	clear_newly_aborted(log);
}

/*
 * What was newly aborted when the sweep began was looked at.  What an earlier one has left
 * still is, and what this one has left joins it: the next that goes through the
 * whole log comes by there.  A sweep that is broken off gives the rest back.
 */
static void
mark_newly_applied(ZUndoLog *log, const ZUndoPending *pending, ZUndoPtr upto,
				   FullTransactionId oldest, uint32 left, FullTransactionId next)
{
	if (upto != ZUNDO_INVALID && !FullTransactionIdIsValid(oldest))
	{
		log->newly_aborted_from = upto;
		log->newly_aborted_fxid = log->pending_fxid;
		log->needs_rescan = true;
		return;
	}
	add_pin(log, log->pending_fxid, next);
	log->aborts -= Min(log->aborts, pending->aborts);
	log->aborts += left;
	log->oldest_unapplied = zundo_older(log->oldest_unapplied, oldest);
	log->pending_fxid = log->oldest_unapplied;
	/* else what has come in since */
	if (log->newly_aborted_count == 0)
	{
		clear_newly_aborted(log);
		log->needs_rescan = false;
	}
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

static void
mark_whole_applied(ZUndoLog *log, ZUndoPtr upto, FullTransactionId oldest, uint32 left,
				   FullTransactionId next)
{
	bool		all = upto == ZUNDO_INVALID;
	bool		only_active = !all && only_active_is_left(log, upto);

	/* what was pending is let go, as a whole or up to "oldest" */
	if (all || only_active || FullTransactionIdIsValid(oldest))
		add_pin(log, log->pending_fxid, next);
	if (all)
		mark_all_applied(log);
	else if (only_active)
		clear_pending(log);
	else
		mark_part_applied(log, upto, oldest, left);
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

void
zundo_pending_mark_applied(const ZUndoPending *pending, ZUndoPtr upto,
						   FullTransactionId oldest, uint32 left)
{
	ZUndoDb    *db = MyUndo.db;
	FullTransactionId next = ReadNextFullTransactionId();
	ZUndoLog   *log;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	log = lock_unapplied(db, pending);
	if (log != NULL)
	{
		if (pending->newly_aborted)
			mark_newly_applied(log, pending, upto, oldest, left, next);
		else
			mark_whole_applied(log, upto, oldest, left, next);
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

/* ---- is there work? ---- */

typedef struct WorkSearch
{
	Oid		   *dbs;
	bool	   *urgent;
	int			ndbs;
	int			max;
	FullTransactionId oldest;	/* what no snapshot of any database needs */
	FullTransactionId next;
	TimestampTz now;
} WorkSearch;

/* Not while all that is left is a prepared transaction. */
static bool
can_be_swept(ZUndoLog *log, TimestampTz now)
{
	FullTransactionId oldest_unapplied;
	bool		pending;
	bool		needs_rescan;
	TimestampTz retry_at;

	SpinLockAcquire(&log->mutex);
	pending = log->pending_from != ZUNDO_INVALID;
	oldest_unapplied = log->oldest_unapplied;
	needs_rescan = log->needs_rescan;
	retry_at = log->retry_at;
	SpinLockRelease(&log->mutex);

	if (!pending || needs_rescan || !FullTransactionIdIsValid(oldest_unapplied))
		return pending;
	if (retry_at != 0)
		return retry_at <= now;
	return !TransactionIdIsInProgress(zfxid_xid(oldest_unapplied));
}

/*
 * Where could the database's horizon be?  Which snapshots it has is only known
 * within it: take what holds for all databases, and every now and then, if
 * transactions have gone by, just try.
 */
static FullTransactionId
possible_horizon(ZUndoDb *db, const WorkSearch *search)
{
	FullTransactionId horizon = search->oldest;
	ZUndoLog   *log = NULL;
	uint64		known = pg_atomic_read_u64(&db->horizon);

	if (search->now - (TimestampTz) pg_atomic_read_u64(&db->last_advance) > RETRY_INTERVAL &&
		pg_atomic_read_u64(&db->last_next) != U64FromFullTransactionId(search->next))
		return search->next;

	while ((log = zundo_log_next(db, log)) != NULL)
		horizon = zundo_older(horizon, zundo_log_oldest(db, log, search->oldest));
	if (U64FromFullTransactionId(horizon) < known)
		horizon = FullTransactionIdFromU64(known);
	return horizon;
}

static void
search_work(ZUndoDb *db, void *state)
{
	WorkSearch *search = state;
	FullTransactionId horizon = possible_horizon(db, search);
	ZUndoLog   *log = NULL;
	bool		sweep = false;
	bool		discard = zundo_wants_truncation(db, search->now) || zundo_hold_due(db, search->now);

	while (!sweep && (log = zundo_log_next(db, log)) != NULL)
	{
		sweep = can_be_swept(log, search->now);
		discard = discard || zundo_oldest_is_free(log, horizon, log->owner != 0 ? 2 : 1);
	}
	if ((sweep || discard) && search->ndbs < search->max)
	{
		search->urgent[search->ndbs] = sweep;
		search->dbs[search->ndbs++] = db->dboid;
	}
}

int
zundo_databases_with_work(Oid *dbs, bool *urgent, int max)
{
	WorkSearch	search;

	search.dbs = dbs;
	search.urgent = urgent;
	search.ndbs = 0;
	search.max = max;
	search.oldest = zfxid_from_xid(GetOldestNonRemovableTransactionId(NULL));
	search.next = ReadNextFullTransactionId();
	search.now = GetCurrentTimestamp();
	zundo_db_foreach(search_work, &search);
	return search.ndbs;
}
