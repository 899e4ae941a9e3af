/*
 * undo_hold.c
 *		Undo that is kept for longer than zheap.undo_hold_warning.
 *
 * If an extent was opened that long ago (undo_marks.c), and what was closed then is still beyond
 * the horizon, then undo is kept for longer than that.
 *
 * LOCKING: the database's lock, shared.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_holders.h"

#include "../store/undo_state.h"
#include "keep_private.h"

/* Least interval between messages about a database, in milliseconds. */
#define WARN_INTERVAL	60000

#define EXTENT_KB		(ZUNDO_EXTENT_BLOCKS * BLCKSZ / 1024)

/*
 * Return whether undo from before zheap.undo_hold_warning ago is still beyond the horizon.  The
 * database is locked.
 */
static bool
is_held(const ZUndoDb *db, TimestampTz now, uint64 horizon)
{
	TimestampTz before = now - zheap_undo_hold_warning * INT64CONST(1000);

	for (int i = 0; i < db->nmarks && db->marks[i].at <= before; i++)
	{
		if (U64FromFullTransactionId(db->marks[i].next) > horizon)
			return true;
	}
	return false;
}

/* Return whether some log has an extent that could be freed but for the horizon. */
static bool
has_something_to_hold(const ZUndoDb *db, uint64 horizon)
{
	ZUndoLog   *log = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->oldest_extent != log->newest_extent &&
			U64FromFullTransactionId(log->oldest_closed) > horizon)
			return true;
	}
	return false;
}

bool
zundo_hold_due(const ZUndoDb *db, TimestampTz now)
{
	ZUndoLog   *log = NULL;

	if (zheap_undo_hold_warning <= 0 || now < db->hold_at)
		return false;
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->oldest_extent != log->newest_extent)
			return true;
	}
	return false;
}

/*
 * Return whether to report the holder: another one than last time, or the same one again after
 * some time.
 */
static bool
is_news(ZUndoDb *db, const ZUndoHolder *holder, TimestampTz now)
{
	uint32		hash = hash_bytes((const unsigned char *) holder->name, strlen(holder->name)) ^
	hash_uint32(holder->pid) ^ holder->kind;

	if (db->warned_of == hash &&
		now - db->warned_at < Max(zheap_undo_hold_warning, WARN_INTERVAL) * INT64CONST(1000))
		return false;
	db->warned_of = hash;
	db->warned_at = now;
	return true;
}

static void
report_hold(ZUndoDb *db, TimestampTz now)
{
	char	   *database = get_database_name(MyDatabaseId);
	int			n;
	ZUndoHolder *holders = zundo_holders(&n);

	if (n == 0 || database == NULL || !is_news(db, &holders[0], now))
		return;
	ereport(LOG,
			(errmsg("undo of database \"%s\" is kept for longer than \"zheap.undo_hold_warning\" (%d ms)",
					database, zheap_undo_hold_warning),
			 /* translator: %s is a whole sentence */
			 errdetail("There are %llu kB of undo.  %s",
					   (unsigned long long) zundo_extents_used(db) * EXTENT_KB,
					   zundo_holder_text(&holders[0])),
			 errhint("End the transaction or drop the replication slot that keeps undo.  "
					 "Query the view zheap.zheap_undo_holders for all holders.")));
}

void
zundo_hold_warn(void)
{
	ZUndoDb    *db = MyUndo.db;
	TimestampTz now = GetCurrentTimestamp();
	uint64		horizon = pg_atomic_read_u64(&db->horizon);
	bool		held;

	if (zheap_undo_hold_warning <= 0 || now < db->hold_at || RecoveryInProgress())
		return;
	db->hold_at = now + Max(zheap_undo_hold_warning / 2, 1000) * INT64CONST(1000);
	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	held = is_held(db, now, horizon) && has_something_to_hold(db, horizon);
	LWLockRelease(zundo_db_lock(db));
	if (held)
		report_hold(db, now);
}
