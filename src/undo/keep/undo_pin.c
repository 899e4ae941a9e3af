/*
 * undo_pin.c
 *		Horizon pins: snapshots that applied undo has to wait for.
 *
 * When a sweep has applied undo, a snapshot may still go with a copy of a page from before,
 * whose slots name transactions that are rolled back by now.  If the horizon passed these, they
 * would be taken for old committed ones.  So the log pins the horizon at the oldest of them,
 * until every snapshot is newer than the sweep's end.
 *
 * LOCKING: ZUndoLog.mutex.
 */
#include "postgres.h"

#include "access/transam.h"

#include "zheap/undo/undo_horizon.h"

#include "../store/undo_state.h"
#include "keep_private.h"

/* When all pins are used, merge the new one into the last: the older xid, the later end. */
void
zundo_pin_add(ZUndoLog *log, FullTransactionId fxid, FullTransactionId until)
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
 * A snapshot that was taken when "until" was the next xid has an xmin of at most that.  So it
 * is not enough that "oldest_needed" reaches "until": it must follow it.
 */
void
zundo_pins_drop(ZUndoDb *db, ZUndoLog *log, FullTransactionId oldest_needed)
{
	while (FullTransactionIdIsValid(log->pins[0].fxid) &&
		   FullTransactionIdFollows(oldest_needed, log->pins[0].until))
	{
		/* before the horizon can move beyond what was pinned */
		zundo_horizon_raise(&db->released, log->pins[0].until);
		for (int i = 1; i < ZUNDO_PINS; i++)
			log->pins[i - 1] = log->pins[i];
		log->pins[ZUNDO_PINS - 1].fxid = InvalidFullTransactionId;
	}
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

void
zundo_pins_waive(void)
{
	ZUndoDb    *db = MyUndo.db;
	ZUndoLog   *log = NULL;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		SpinLockAcquire(&log->mutex);
		zundo_pins_drop(db, log, FullTransactionIdFromU64(PG_UINT64_MAX));
		SpinLockRelease(&log->mutex);
	}
	LWLockRelease(zundo_db_lock(db));
}

TransactionId
zundo_released(FullTransactionId horizon)
{
	FullTransactionId released;

	/*
	 * the caller has read the horizon before; the backend that raised it had raised "released"
	 * first
	 */
	pg_read_barrier();
	released = FullTransactionIdFromU64(pg_atomic_read_u64(&MyUndo.db->released));
	return FullTransactionIdPrecedes(released, horizon) ?
		InvalidTransactionId : zfxid_xid(released);
}
