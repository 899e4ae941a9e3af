/*
 * undo_idle.c
 *		Idle logs, whose owners are not in a transaction that may append.
 *
 * An idle log's only extent can be taken away when the horizon has passed what it holds, by
 * zundo_free_only(), which notices an owner that comes back meanwhile (undo_owner.c).
 *
 * LOCKING: the database's lock, exclusively, to note which logs are idle.
 */
#include "postgres.h"

#include "access/transam.h"

#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

bool
zundo_could_be_emptied(ZUndoLog *log)
{
	return !log->lost && !zundo_log_is_pending(log) && log->oldest_extent == log->newest_extent &&
		!FullTransactionIdIsValid(zundo_log_active(log));
}

/*
 * All records of a log that is idle now have older xids than the next one.  So they are not
 * needed when the horizon has reached that, if the log is still idle.
 */
int
zundo_note_idle(ZUndoDb *db)
{
	ZUndoLog   *log = NULL;
	int			noted = 0;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		uint32		uses = zundo_log_uses(log);

		if (uses % 2 == 0 && log->idle_uses != uses && zundo_could_be_emptied(log))
		{
			log->idle_uses = uses;
			log->idle_next = ReadNextFullTransactionId();
			noted += log->owner == 0;
		}
	}
	return noted;
}

bool
zundo_is_idle(ZUndoLog *log, FullTransactionId horizon)
{
	return zundo_could_be_emptied(log) && zundo_log_is_unused_since(log, log->idle_uses) &&
		FullTransactionIdPrecedesOrEquals(log->idle_next, horizon);
}
