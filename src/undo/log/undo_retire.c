/*
 * undo_retire.c
 *		Retire logs that are not written to: empty them, and remove their entries.
 *
 * A log lives on when its owner exits, for the next backend that writes.  After a peak of
 * writers most of them would stay for ever, with an extent each and an entry in shared memory,
 * which all databases share.  So those without an owner, except a few, give away their last
 * extent when the horizon has passed it, and their entry in the directory is empty then.  A log
 * with that number may begin anew at any time.  Sealed logs are of no use to writers: all of
 * them are retired.
 *
 * LOCKING: the database's lock, exclusively, so that no backend becomes the owner meanwhile.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"

#include "zheap/undo/undo_horizon.h"

#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/* number of logs without an owner that are kept for the next backends */
#define LOGS_KEPT	4

/* Return whether there are more logs that the next writers could take than are kept. */
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

/*
 * Return whether "log" is retired before "other".  Sealed ones come first, then the one that
 * writers would take last.
 */
static bool
goes_before(const ZUndoLog *log, const ZUndoLog *other)
{
	if (other == NULL || log->sealed != other->sealed)
		return other == NULL || log->sealed;
	return log->number > other->number;
}

/* Return the next log to retire; NULL if there is none. */
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

/*
 * Retire one log.  Returns false if there is no other one to retire.  The database is locked
 * exclusively.
 */
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
