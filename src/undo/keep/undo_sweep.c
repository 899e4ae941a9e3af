/*
 * undo_sweep.c
 *		Interface between the undo layer and a sweep.
 *
 * A sweep (rollback_sweep.c) asks for the next log that is due, goes through it, and reports
 * how far it has come.  What that means for the log is a transition of its state
 * (undo_pending.c).  Here logs are found by their numbers, as an entry in shared memory may
 * come to belong to another log while a sweep is under way.
 *
 * LOCKING: the database's lock, shared.
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_pending.h"

#include "../store/undo_state.h"
#include "keep_private.h"

bool
zundo_pending_next(int after, bool all, ZUndoPending *pending)
{
	TimestampTz now = all ? PG_INT64_MAX : GetCurrentTimestamp();
	ZUndoDb    *db = zundo_open_loaded();
	ZUndoLog   *log = NULL;
	ZUndoLog   *found = NULL;
	ZSweepDue	found_due = ZSWEEP_NONE;

	/* the process that held sweeps has ended, perhaps by an error, as we may sweep */
	zundo_hold_sweeps(false);
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
		zundo_log_begin_sweep(found, found_due == ZSWEEP_NEW, pending);
	LWLockRelease(zundo_db_lock(db));
	return found != NULL;
}

void
zundo_hold_sweeps(bool hold)
{
	pg_atomic_write_u32(&MyUndo.db->sweeps_held, hold);
}

/*
 * Return the log with this number, or NULL if it does not exist any more.  Takes the database's
 * lock, shared; release_found() releases it in either case.
 */
static ZUndoLog *
find_locked(int number)
{
	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_SHARED);
	return zundo_log_find(MyUndo.db, number);
}

static void
release_found(void)
{
	LWLockRelease(zundo_db_lock(MyUndo.db));
}

bool
zundo_is_first_active(int number, ZUndoPtr ptr)
{
	ZUndoLog   *log = find_locked(number);
	bool		result = log != NULL && zundo_log_is_active_from(log, ptr);

	release_found();
	return result;
}

bool
zundo_log_is_sealed(int number)
{
	ZUndoLog   *log = find_locked(number);
	bool		result = log != NULL && log->sealed;

	release_found();
	return result;
}

bool
zundo_pending_is_newest(const ZUndoPending *pending)
{
	ZUndoLog   *log = find_locked(pending->log);
	bool		result = log != NULL && zundo_log_is_swept_by(log, pending);

	release_found();
	return result;
}

void
zundo_pending_mark_applied(ZUndoPending *pending, const ZUndoSwept *swept)
{
	FullTransactionId next = ReadNextFullTransactionId();
	ZUndoLog   *log = find_locked(pending->log);

	if (log != NULL)
		zundo_log_mark_applied(log, pending, swept, next);
	release_found();
}

void
zundo_pending_back_off(const ZUndoPending *pending, uint32 first, uint32 last, Oid relid)
{
	TimestampTz now = GetCurrentTimestamp();
	ZUndoLog   *log = find_locked(pending->log);

	if (log != NULL)
		zundo_log_back_off(log, pending, first, last, relid, now);
	release_found();
}
