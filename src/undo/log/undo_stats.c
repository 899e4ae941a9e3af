/*
 * undo_stats.c
 *		Sizes for views: how much undo there is, what is pending, what each holder keeps.
 *
 * What holders keep is not looked up in the extents, which may be very many: it is computed
 * from marks (undo_marks.c).
 *
 * LOCKING: the database's lock, shared.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"

#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"

/* ---- what holders keep ---- */

/* Return whether all records of the log's tail are older than the xid. */
static bool
tail_is_older(ZUndoLog *log, FullTransactionId xid)
{
	return zundo_log_is_unused_since(log, log->idle_uses) &&
		FullTransactionIdPrecedesOrEquals(log->idle_next, xid);
}

/*
 * Return an upper bound of the extents kept from this xid on: those that were opened since, and
 * of each log the one that was its tail then.  Those between two marks count as opened since;
 * if there is no mark as old as the xid, all do.
 */
static uint32
extents_kept(ZUndoDb *db, FullTransactionId xid)
{
	uint32		used = zundo_extents_used(db);
	ZUndoLog   *log = NULL;
	uint64		kept;
	int			i = db->nmarks;

	while (i > 0 && FullTransactionIdFollows(db->marks[i - 1].next, xid))
		i--;
	if (i == 0)
		return used;
	kept = db->opened - db->marks[i - 1].opened;
	while ((log = zundo_log_next(db, log)) != NULL)
		kept += BlockNumberIsValid(log->newest_extent) && !tail_is_older(log, xid);
	return Min(kept, used);
}

void
zundo_holders_weigh(ZUndoHolder *holders, int n)
{
	ZUndoDb    *db = MyUndo.db;

	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	for (int i = 0; i < n; i++)
		holders[i].bytes = !db->loaded ? 0 :
			(uint64) extents_kept(db, holders[i].xid) * ZUNDO_EXTENT_BLOCKS * BLCKSZ;
	LWLockRelease(zundo_db_lock(db));
}

/* ---- sizes ---- */

/* Count logs, pending logs, and their transactions and extents. */
static void
count_pending(ZUndoStats *stats)
{
	ZUndoLog   *log = NULL;
	uint64		extents = 0;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_SHARED);
	while ((log = zundo_log_next(MyUndo.db, log)) != NULL)
	{
		FullTransactionId oldest;
		ZUndoPtr	from;

		stats->logs++;
		stats->transactions_pending += zundo_log_aborted(log, &oldest, &from);
		if (from == ZUNDO_INVALID)
			continue;
		stats->logs_pending++;
		extents += zundo_log_pending_extents(log, ZSWEEP_WHOLE, stats->extents_used);
	}
	stats->extents_pending = Min(extents, stats->extents_used);
	LWLockRelease(zundo_db_lock(MyUndo.db));
}

void
zundo_stats(ZUndoStats *stats)
{
	ZUndoMeta	meta;

	memset(stats, 0, sizeof(*stats));
	if (RecoveryInProgress())
		zundo_open();
	else
	{
		/* without writers the horizon has not moved for long, and its age would alarm */
		(void) zundo_open_loaded();
		zundo_horizon_advance();
	}
	zundo_meta_read(&meta);
	stats->nblocks = meta.nblocks;
	stats->high_water = meta.high_water;
	stats->extents_free = meta.free_count;
	stats->extents_used = zundo_extents_in(meta.nblocks) - meta.free_count;
	stats->horizon = zundo_horizon();
	stats->next = ReadNextFullTransactionId();
	count_pending(stats);
}
