/*
 * undo_retire.c
 *		Logs that nobody writes to: noticed, emptied, and forgotten.
 *
 * A log lives on when its owner exits, for the next backend that writes.  After a peak
 * of writers most of them would lie there for ever, with an extent each and an entry in
 * shared memory, which all databases share.  So those without an owner, but for
 * a few, give away their last extent when the horizon has passed it, and their entry
 * in the directory is empty then.  A log with that number may begin anew at any time.
 * One that is sealed is of no use to writers: all of these go.
 *
 * LOCKING: the database's lock, exclusively: nobody can become the owner meanwhile.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"

#include "zheap/undo/undo_horizon.h"

#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/* logs without an owner that are kept for the next backends */
#define LOGS_KEPT	4

/* Of those that the next writers could take. */
static bool
has_more_than_kept(const ZUndoDb *db)
{
	ZUndoLog   *log = NULL;
	int			n = 0;

	while ((log = zundo_log_next(db, log)) != NULL)
		n += log->owner == 0 && !log->sealed;
	return n > LOGS_KEPT;
}

bool
zundo_wants_retirement(const ZUndoDb *db)
{
	ZUndoLog   *log = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->sealed && log->owner == 0 && zundo_could_be_emptied(log))
			return true;
	}
	return has_more_than_kept(db);
}

/* Is it rather "log" that goes?  Sealed ones first, then the one that writers would take last. */
static bool
goes_before(const ZUndoLog *log, const ZUndoLog *other)
{
	if (other == NULL || log->sealed != other->sealed)
		return other == NULL || log->sealed;
	return log->number > other->number;
}

/* NULL: there is none that may go. */
static ZUndoLog *
choose_to_retire(ZUndoDb *db, FullTransactionId horizon)
{
	bool		sealed_only = !has_more_than_kept(db);
	ZUndoLog   *log = NULL;
	ZUndoLog   *chosen = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->owner == 0 && (log->sealed || !sealed_only) && goes_before(log, chosen) &&
			!zundo_log_has_pins(log) && zundo_is_idle(log, horizon))
			chosen = log;
	}
	return chosen;
}

/* The database is locked exclusively.  False: no more are to go, or may. */
static bool
retire_one(ZUndoDb *db, FullTransactionId horizon)
{
	ZUndoLog   *log = choose_to_retire(db, horizon);

	if (log == NULL ||
		(BlockNumberIsValid(log->newest_extent) && !zundo_free_only(log, log->idle_uses)))
		return false;
	zundo_log_remove(db, log);
	return true;
}

int
zundo_logs_retire(ZUndoDb *db)
{
	FullTransactionId horizon = zundo_horizon();
	int			retired = 0;
	bool		more = true;

	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
		more = retire_one(db, horizon);
		LWLockRelease(zundo_db_lock(db));
		retired += more;
	}
	return retired;
}
