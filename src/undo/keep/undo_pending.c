/*
 * undo_pending.c
 *		Pending undo of a log: its states and their transitions.
 *
 * When a transaction that has written undo ends it either leaves nothing behind, or makes its
 * log pending from its first record on (undo_xact.c).  A sweep takes a sweep id, walks the log
 * from there to its end, and marks it applied (undo_sweep.c); aborts that come in between are
 * "newly aborted", and the log is pending from them afterwards.
 *
 * What cannot be applied (a damaged page, a locked table) is left, and not tried again before
 * ZUndoLog.retry_at.  What belongs to a transaction in progress, which may be a prepared one,
 * is left until that has ended.  Until then sweeps begin at what is newly aborted.
 *
 *                            zundo_log_mark_pending()
 *            +---------+ ------------------------------> +--------+
 *            | APPLIED |                                 | UNSEEN | <---------------+
 *            +---------+ <------------------------------ +--------+                 |
 *                 ^       all is applied                     |  something is left   |
 *                 |                                          v                      |
 *                 |  the sweep reports                 +---------+   its time       |
 *                 |  once more: now all is applied     | WAITING | ---------------->+
 *                 +<---------------------------------- +---------+                  |
 *                 |                                        |  zundo_log_back_off()  |
 *                 |                                        v                        |
 *                 |                                    +------------+  its time     |
 *                 +----------------------------------- | BACKED_OFF | --------------+
 *                                                      +------------+
 *
 * That its time has come is no transition: zundo_log_begin_sweep() of the next sweep is.
 *
 *   APPLIED -> UNSEEN      zundo_log_mark_pending(): an abort; or the log was loaded
 *   UNSEEN -> APPLIED      zundo_log_mark_applied(): all, or all but what the owner's transaction
 *                          in progress has written
 *   UNSEEN -> WAITING      zundo_log_mark_applied(): something is left; or the sweep was one of
 *                          what was newly aborted, and the log was WAITING before it
 *   UNSEEN -> BACKED_OFF   zundo_log_mark_applied() of such a sweep, if the log was that before
 *   WAITING -> BACKED_OFF  zundo_log_back_off(): what is left could not be applied
 *   WAITING, BACKED_OFF -> UNSEEN             zundo_log_begin_sweep(), of either kind
 *   WAITING, BACKED_OFF -> APPLIED, WAITING   zundo_log_mark_applied() once more, by the same
 *                          sweep of the whole log; to UNSEEN if something is newly aborted
 *   each but APPLIED -> itself                zundo_log_mark_pending(): it is newly aborted
 *   UNSEEN -> itself       another sweep begins; this one is broken off (mark_applied,
 *                          back_off), or has applied all but what is newly aborted
 *   WAITING, BACKED_OFF -> itself             once more, what such a sweep has left (mark_applied,
 *                          back_off)
 *
 * newly_aborted_from may be valid in all states but APPLIED.
 *
 * LOCKING: ZUndoLog.mutex, a spinlock, nothing else.  Nothing here can fail.
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/procarray.h"

#include "zheap/undo/undo_pending.h"

#include "../store/undo_state.h"
#include "keep_private.h"

/* State of a log, derived from its fields. */
typedef enum PendingState
{
	APPLIED,					/* nothing is pending */
	UNSEEN,						/* no sweep has come to the end since */
	WAITING,					/* for the end of the transaction "oldest_unapplied" */
	BACKED_OFF					/* something could not be applied: not before "retry_at" */
} PendingState;

static PendingState
state_of(const ZUndoLog *log)
{
	if (log->pending_from == ZUNDO_INVALID)
		return APPLIED;
	if (!FullTransactionIdIsValid(log->oldest_unapplied))
		return UNSEEN;
	return log->retry_at == 0 ? WAITING : BACKED_OFF;
}

/*
 * Assert what the fields of each state promise; called after each transition.  The mutex is
 * held.
 */
static void
check_state(const ZUndoLog *log)
{
	switch (state_of(log))
	{
		case APPLIED:
			Assert(!FullTransactionIdIsValid(log->pending_fxid));
			Assert(!FullTransactionIdIsValid(log->oldest_unapplied));
			Assert(log->newly_aborted_from == ZUNDO_INVALID);
			Assert(log->aborts == 0 && log->retry_at == 0);
			Assert(log->sweep_id == ZUNDO_NO_SWEEP);
			break;
		case UNSEEN:
			Assert(FullTransactionIdIsValid(log->pending_fxid));
			break;
		case WAITING:
		case BACKED_OFF:
			/* older if a sweep of what was newly aborted was broken off */
			Assert(FullTransactionIdIsValid(log->pending_fxid));
			Assert(FullTransactionIdPrecedesOrEquals(log->pending_fxid, log->oldest_unapplied));
			break;
	}
	Assert((log->newly_aborted_from == ZUNDO_INVALID) ==
		   !FullTransactionIdIsValid(log->newly_aborted_fxid));
	Assert(log->newly_aborted_from != ZUNDO_INVALID || log->newly_aborted_count == 0);
}

/* ---- looking ---- */

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
 * The rest that a sweep has left is due when the transaction that it belongs to has ended, or
 * when it may be tried again.
 */
ZSweepDue
zundo_log_sweep_due(ZUndoLog *log, TimestampTz now)
{
	FullTransactionId oldest_unapplied;
	TimestampTz retry_at;
	PendingState state;
	bool		newly_aborted;
	bool		due = false;

	SpinLockAcquire(&log->mutex);
	state = state_of(log);
	newly_aborted = log->newly_aborted_from != ZUNDO_INVALID;
	oldest_unapplied = log->oldest_unapplied;
	retry_at = log->retry_at;
	SpinLockRelease(&log->mutex);

	switch (state)
	{
		case APPLIED:
			return ZSWEEP_NONE;
		case UNSEEN:
			due = true;
			break;
		case WAITING:
			/*
			 * the launcher, which has no snapshot, must not read truncated parts of pg_subtrans
			 */
			due = TransactionIdDidCommit(zfxid_xid(oldest_unapplied)) ||
				!TransactionIdIsInProgress(zfxid_xid(oldest_unapplied));
			break;
		case BACKED_OFF:
			due = retry_at <= now;
			break;
	}
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

/* ---- an abort ---- */

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

/* ---- a sweep ---- */

static void
clear_newly_aborted(ZUndoLog *log)
{
	log->newly_aborted_from = ZUNDO_INVALID;
	log->newly_aborted_ordinal = 0;
	log->newly_aborted_fxid = InvalidFullTransactionId;
	log->newly_aborted_count = 0;
}

/*
 * Until the sweep reports how far it came the log is UNSEEN: if that never happens the next one
 * looks at everything.
 */
void
zundo_log_begin_sweep(ZUndoLog *log, bool newly_aborted, ZUndoPending *pending)
{
	uint32		sweep_id = zundo_new_sweep_id();

	SpinLockAcquire(&log->mutex);
	/* another sweep may have changed this since the caller asked what is due */
	if (log->newly_aborted_from == ZUNDO_INVALID ||
		!FullTransactionIdIsValid(log->oldest_unapplied))
		newly_aborted = false;
	pending->log = (int) log->number;
	pending->sweep_id = log->sweep_id = sweep_id;
	pending->newly_aborted = newly_aborted;
	pending->from = newly_aborted ? log->newly_aborted_from : log->pending_from;
	pending->ordinal = newly_aborted ? log->newly_aborted_ordinal : log->pending_ordinal;
	pending->aborts = log->newly_aborted_count;
	pending->left_before = log->oldest_unapplied;
	pending->retry_before = log->retry_at;
	pending->relid_before = log->left_relid;
	/* this sweep will see what was newly aborted for the last one */
	log->aborts += log->newly_aborted_count;
	log->pending_fxid = zundo_older(log->pending_fxid, log->newly_aborted_fxid);
	log->oldest_unapplied = InvalidFullTransactionId;
	clear_newly_aborted(log);
	check_state(log);
	SpinLockRelease(&log->mutex);
}

static void
clear_pending(ZUndoLog *log)
{
	log->aborts = 0;
	log->pending_from = ZUNDO_INVALID;
	log->pending_ordinal = 0;
	log->pending_fxid = log->oldest_unapplied = InvalidFullTransactionId;
	/* what becomes pending from here on does not concern that sweep */
	log->sweep_id = ZUNDO_NO_SWEEP;
	log->retry_at = 0;
	log->retry_wait = 0;
	log->left_relid = InvalidOid;
}

/* The whole log was swept; only what was newly aborted is left. */
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
 * Return whether all that is left belongs to the transaction that the log's owner is in.  It
 * will mark the log itself when it aborts.  If it has ended since its position was noted, then
 * it has by now either marked the log, which is newly aborted, or needed no mark; and what its
 * successor writes does not concern this sweep.
 */
static bool
only_active_is_left(ZUndoLog *log, ZUndoPtr upto)
{
	return log->newly_aborted_from == ZUNDO_INVALID &&
		zundo_log_is_active_from(log, upto);
}

/*
 * Mark what was newly aborted when the sweep began as applied.  What an earlier sweep has left
 * is still left, and what this one has left joins it: the next sweep of the whole log will come
 * to it.  A sweep that is broken off gives the rest back.  One that reports once more, of less,
 * replaces its former report.
 */
static void
mark_newly_applied(ZUndoLog *log, ZUndoPending *pending, const ZUndoSwept *swept,
				   uint32 ordinal, FullTransactionId next)
{
	bool		all = swept->upto == ZUNDO_INVALID;

	Assert(FullTransactionIdIsValid(pending->left_before));
	log->oldest_unapplied = pending->left_before;
	log->retry_at = pending->retry_before;
	log->left_relid = pending->relid_before;
	if (!all && !FullTransactionIdIsValid(swept->oldest))
	{
		log->newly_aborted_from = swept->upto;
		log->newly_aborted_ordinal = ordinal;
		log->newly_aborted_fxid = zundo_older(log->newly_aborted_fxid, log->pending_fxid);
		return;
	}
	zundo_pin_add(log, log->pending_fxid, next);
	log->aborts -= Min(log->aborts, pending->aborts);
	log->aborts += swept->left;
	pending->aborts = swept->left;
	if (!all && !only_active_is_left(log, swept->upto))
		log->oldest_unapplied = zundo_older(log->oldest_unapplied, swept->oldest);
	log->pending_fxid = log->oldest_unapplied;
	/* otherwise it is what was aborted since */
	if (log->newly_aborted_count == 0)
		clear_newly_aborted(log);
}

/* Mark the log as applied by a sweep of the whole log, up to swept->upto. */
static void
mark_whole_applied(ZUndoLog *log, const ZUndoSwept *swept, uint32 ordinal, FullTransactionId next)
{
	bool		all = swept->upto == ZUNDO_INVALID;
	bool		only_active = !all && only_active_is_left(log, swept->upto);

	/* what was pending no longer keeps the horizon back, as a whole or up to "oldest" */
	if (all || only_active || FullTransactionIdIsValid(swept->oldest))
		zundo_pin_add(log, log->pending_fxid, next);
	if (all)
		mark_all_applied(log);
	else if (only_active)
		clear_pending(log);
	else
		mark_part_applied(log, swept, ordinal);
}

/*
 * Return whether no other sweep has begun, and the log is still pending for this one.  The
 * mutex is held.
 */
static bool
is_of_sweep(const ZUndoLog *log, const ZUndoPending *pending)
{
	Assert(pending->sweep_id != ZUNDO_NO_SWEEP);
	return log->sweep_id == pending->sweep_id;
}

void
zundo_log_mark_applied(ZUndoLog *log, ZUndoPending *pending, const ZUndoSwept *swept,
					   FullTransactionId next)
{
	uint32		ordinal = pending->ordinal != 0 ? pending->ordinal + swept->extents : 0;

	SpinLockAcquire(&log->mutex);
	if (is_of_sweep(log, pending))
	{
		if (pending->newly_aborted)
			mark_newly_applied(log, pending, swept, ordinal, next);
		else
			mark_whole_applied(log, swept, ordinal, next);
		check_state(log);
	}
	SpinLockRelease(&log->mutex);
}

bool
zundo_log_is_swept_by(ZUndoLog *log, const ZUndoPending *pending)
{
	bool		result;

	SpinLockAcquire(&log->mutex);
	result = is_of_sweep(log, pending);
	SpinLockRelease(&log->mutex);
	return result;
}

void
zundo_log_back_off(ZUndoLog *log, const ZUndoPending *pending, uint32 first, uint32 last,
				   Oid relid, TimestampTz now)
{
	SpinLockAcquire(&log->mutex);
	if (is_of_sweep(log, pending))
	{
		/* sweeps of what was newly aborted do not count */
		if (!pending->newly_aborted)
			log->retry_wait = Min(Max(log->retry_wait * 2, first), last);
		if (log->retry_at <= now)
			log->retry_at = now + Max(log->retry_wait, first) * INT64CONST(1000);
		if (OidIsValid(relid))
			log->left_relid = relid;
		check_state(log);
	}
	SpinLockRelease(&log->mutex);
}
