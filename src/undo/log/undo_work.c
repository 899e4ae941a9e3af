/*
 * undo_work.c
 *		Find work: which databases have some, and how much this one has.
 *
 * For launcher and workers.  Only shared memory is read, so that the cost does not depend on
 * the amount of undo.
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/procarray.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_space.h"

#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/* Time after which to try again what was in vain, in microseconds. */
#define RETRY_INTERVAL		(10 * USECS_PER_SEC)

typedef struct WorkSearch
{
	ZUndoWork  *work;			/* databases found so far */
	int			nfound;
	int			max;
	FullTransactionId oldest;	/* the oldest xid that a snapshot of any database needs */
	FullTransactionId next;
	TimestampTz now;
} WorkSearch;

/*
 * Return where the database's horizon could be.  Its snapshots are only known to its own
 * backends: use what holds for all databases and, from time to time, if xids have been
 * assigned, the next xid, so that a worker tries.
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

/* Add the database to the list, if it has work. */
static void
search_work(ZUndoDb *db, void *state)
{
	WorkSearch *search = state;
	FullTransactionId horizon = possible_horizon(db, search);
	ZUndoLog   *log = NULL;
	bool		sweep = false;
	bool		discard = zundo_wants_truncation(db, search->now) ||
		zundo_hold_due(db, search->now);

	while (!sweep && (log = zundo_log_next(db, log)) != NULL)
	{
		sweep = zundo_log_sweep_due(log, search->now) != ZSWEEP_NONE;
		discard = discard ||
			(!db->map_lost && zundo_oldest_is_free(log, horizon, log->owner != 0 ? 2 : 1));
	}
	if ((sweep || discard) && search->nfound < search->max)
	{
		ZUndoWork  *work = &search->work[search->nfound++];

		work->db = db->dboid;
		work->urgent = sweep;
		work->aborts = pg_atomic_read_u32(&db->aborts);
	}
}

int
zundo_databases_with_work(ZUndoWork *work, int max)
{
	WorkSearch	search;

	search.work = work;
	search.nfound = 0;
	search.max = max;
	search.oldest = zfxid_from_xid(GetOldestNonRemovableTransactionId(NULL));
	search.next = ReadNextFullTransactionId();
	search.now = GetCurrentTimestamp();
	zundo_db_foreach(search_work, &search);
	return search.nfound;
}

bool
zundo_sweep_is_due(uint64 *bytes)
{
	TimestampTz now = GetCurrentTimestamp();
	ZUndoLog   *log = NULL;
	ZUndoDb    *db = zundo_open_loaded();
	uint64		extents = 0;
	uint32		used;
	bool		result = false;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	used = zundo_extents_used(db);
	while ((bytes != NULL || !result) && (log = zundo_log_next(db, log)) != NULL)
	{
		ZSweepDue	due = zundo_log_sweep_due(log, now);

		if (due == ZSWEEP_NONE)
			continue;
		result = true;
		extents += zundo_log_pending_extents(log, due, used);
	}
	LWLockRelease(zundo_db_lock(db));
	if (bytes != NULL)
		*bytes = Min(extents, used) * ZUNDO_EXTENT_BLOCKS * BLCKSZ;
	return result;
}
