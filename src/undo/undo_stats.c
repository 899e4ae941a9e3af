/*
 * undo_stats.c
 *		Sizes, for views: how much undo there is, what is pending, what each
 *		holder keeps.
 *
 * For the last of these, logs are walked from extent to extent: nobody but the view asks.
 * The database's lock is given up now
 * and then: what was seen of a log then counts only if its oldest extent has not changed
 * since; else that log is begun anew.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "undo_private.h"

/* extents looked at in one go, and attempts for a log whose oldest extent changes */
#define EXTENTS_AT_A_TIME	64
#define ATTEMPTS			10

/* of one log or all */
typedef struct Walk
{
	ZUndoHolder *holders;
	int			nholders;
	uint64	   *kept;			/* extents, for each holder */
} Walk;

/*
 * The extent that was left when "closed" was next, or that is the tail.  In the
 * tail of a log that is idle nothing is as new as idle_next.
 */
static void
count_extent(Walk *walk, FullTransactionId closed)
{
	for (int i = 0; i < walk->nholders; i++)
	{
		if (!FullTransactionIdIsValid(closed) ||
			FullTransactionIdFollows(closed, walk->holders[i].xid))
			walk->kept[i]++;
	}
}

static FullTransactionId
tail_closed(const ZUndoLog *log)
{
	if (log->idle_uses % 2 == 0 &&
		log->idle_uses == pg_atomic_read_u32(&((ZUndoLog *) log)->uses))
		return log->idle_next;
	return InvalidFullTransactionId;
}

/*
 * Some extents from *extent on, under the database's lock.  *extent becomes
 * invalid at the end.
 */
static void
walk_extents(Walk *walk, ZUndoLog *log, BlockNumber *extent)
{
	for (int i = 0; i < EXTENTS_AT_A_TIME && BlockNumberIsValid(*extent); i++)
	{
		if (*extent == log->newest_extent)
		{
			count_extent(walk, tail_closed(log));
			*extent = InvalidBlockNumber;
		}
		else
		{
			ZUndoPageSpecial special;

			if (!zundo_read_special(*extent, &special))
				special.next = InvalidBlockNumber;
			else
				count_extent(walk, special.closed);
			*extent = special.next;
		}
	}
}

/* Once through the log; false: it has moved on meanwhile. */
static bool
walk_log(Walk *walk, uint32 number)
{
	BlockNumber oldest_extent = InvalidBlockNumber;
	BlockNumber extent = InvalidBlockNumber;
	bool		begun = false;

	memset(walk->kept, 0, walk->nholders * sizeof(uint64));
	do
	{
		ZUndoLog   *log;

		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(zundo_db_lock(MyUndo.db), LW_SHARED);
		log = zundo_log_find(MyUndo.db, number);
		if (log == NULL || (begun && log->oldest_extent != oldest_extent))
		{
			LWLockRelease(zundo_db_lock(MyUndo.db));
			return false;
		}
		if (!begun)
			oldest_extent = extent = log->oldest_extent;
		begun = true;
		walk_extents(walk, log, &extent);
		LWLockRelease(zundo_db_lock(MyUndo.db));
	} while (BlockNumberIsValid(extent));
	return true;
}

/* The number of the next log after "number" (start with -1); -1: none. */
static int
next_log(int number)
{
	ZUndoLog   *log = NULL;
	int			result = -1;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_SHARED);
	while ((log = zundo_log_next(MyUndo.db, log)) != NULL)
	{
		if ((int) log->number > number && (result < 0 || (int) log->number < result))
			result = log->number;
	}
	LWLockRelease(zundo_db_lock(MyUndo.db));
	return result;
}

void
zundo_holders_weigh(ZUndoHolder *holders, int n)
{
	Walk		walk = {.holders = holders, .nholders = n};
	int			log = -1;

	walk.kept = palloc0(Max(n, 1) * sizeof(uint64));
	for (int i = 0; i < n; i++)
		holders[i].bytes = 0;
	while ((log = next_log(log)) >= 0)
	{
		for (int i = 0; i < ATTEMPTS && !walk_log(&walk, log); i++)
			;					/* again */
		for (int i = 0; i < n; i++)
			holders[i].bytes += walk.kept[i] * ZUNDO_EXTENT_BLOCKS * BLCKSZ;
	}
	pfree(walk.kept);
}

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
	zundo_open();
	if (!MyUndo.db->loaded && !RecoveryInProgress())
		zundo_db_load();
	zundo_meta_read(&meta);
	stats->nblocks = meta.nblocks;
	stats->high_water = meta.high_water;
	stats->extents_free = meta.free_count;
	stats->extents_used = zundo_extents_in(meta.nblocks) - meta.free_count;
	stats->horizon = zundo_horizon();
	stats->next = ReadNextFullTransactionId();
	count_pending(stats);
}
