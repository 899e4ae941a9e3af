/*
 * undo_free.c
 *		Free extents; and what opening one has in common with that.
 *
 * An extent that is not needed any more becomes a free one, in one WAL record.
 *
 * LOCKING: the database's lock, exclusively, then up to three buffers: directory, meta, map.
 * All of them may be taken by a caller that holds table pages.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_space.h"
#include "zheap/undo/undo_wal.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/* ---- is it still needed? ---- */

/* Return whether the log is pending from a position in the extent. */
static bool
has_pending_in(ZUndoLog *log, BlockNumber extent)
{
	ZUndoPtr	from;

	SpinLockAcquire(&log->mutex);
	from = log->pending_from;
	SpinLockRelease(&log->mutex);
	return from != ZUNDO_INVALID && zundo_extent_of(zundo_ptr_block(from)) == extent;
}

/*
 * The horizon suffices: it is kept back by transactions that run, by aborted ones that are not
 * applied everywhere yet, and by snapshots.  An extent that was left before the horizon's xid
 * was even assigned holds nothing else.  (That it holds nothing pending follows; it is checked
 * for callers that only guess the horizon.)
 */
bool
zundo_oldest_is_free(ZUndoLog *log, FullTransactionId horizon, int keep)
{
	if (log->lost || log->oldest_extent == log->newest_extent)
		return false;
	if (keep > 1 && log->oldest_next == log->newest_extent)
		return false;
	if (FullTransactionIdFollows(log->oldest_closed, horizon))
		return false;
	return !has_pending_in(log, log->oldest_extent); /* H1 */
}

bool
zundo_read_special(BlockNumber block, ZUndoPageSpecial *special)
{
	PGAlignedBlock copy;

	if (!zundo_page_copy(block, ZUNDO_PAGE_MAGIC, copy.data))
		return false;
	*special = *zundo_special(copy.data);
	return true;
}

void
zundo_meta_values(const ZUndoMeta *meta, ZUndoMetaValues *values)
{
	values->horizon = meta->horizon;
	values->nblocks = meta->nblocks;
	values->free_count = meta->free_count;
	values->generation = meta->generation;
	values->conflict = InvalidTransactionId;
}

bool
zundo_pass_extent(ZUndoMetaValues *values, FullTransactionId closed)
{
	if (!FullTransactionIdFollows(closed, values->horizon))
		return false;
	values->horizon = closed;
	values->conflict = zundo_released(closed);
	return true;
}

/* ---- generations ---- */

uint16
zundo_next_generation(uint16 generation)
{
	generation++;
	return generation == 0 ? 1 : generation;
}

/* generations are compared modulo 2^16 */
uint32
zundo_newer_generation(uint32 known, uint16 generation)
{
	return (int16) (generation - (uint16) known) > 0 ? generation : known;
}

/*
 * If the first page is damaged use the others: they have the same generation or, if they have
 * not been reached since, older ones.  (One so old that it passes for newer does no harm.)
 */
uint16
zundo_extent_generation(BlockNumber extent, uint32 freed)
{
	ZUndoPageSpecial special;
	uint32		newest = freed;

	if (zundo_read_special(extent, &special))
		return special.generation;
	for (int i = 1; i < ZUNDO_EXTENT_BLOCKS; i++)
	{
		if (zundo_read_special(extent + i, &special))
			newest = zundo_newer_generation(newest, special.generation);
	}
	return zundo_next_generation((uint16) newest);
}

/* ---- giving away ---- */

/*
 * Do everything that may fail; pages[] is locked exclusively.  rec->extent, oldest_extent,
 * newest_extent and log are given.
 */
static void
plan_to_free(ZRecUndoFree *rec, FullTransactionId closed, Buffer *pages)
{
	ZUndoMeta	old;

	zundo_meta_read(&old);
	zundo_meta_values(&old, &rec->meta);
	(void) zundo_pass_extent(&rec->meta, closed);
	rec->meta.free_count++;
	rec->meta.generation =
		zundo_newer_generation(old.generation,
							   zundo_extent_generation(rec->extent, old.generation));

	pages[ZFREE_DIR] = zundo_dir_lock(rec->log);
	pages[ZFREE_META] = zundo_page_lock(ZUNDO_META_BLOCK, BUFFER_LOCK_EXCLUSIVE,
										ZUNDO_METAPAGE_MAGIC);
	pages[ZFREE_MAP] = zundo_page_lock(zundo_map_block(rec->extent), BUFFER_LOCK_EXCLUSIVE,
									   ZUNDO_MAP_MAGIC);
}

/* Change and WAL-log the pages, then update shared memory. */
static void
execute_free(ZRecUndoFree *rec, const Buffer *pages)
{
	START_CRIT_SECTION();
	zundo_meta_apply(BufferGetPage(pages[ZFREE_META]), &rec->meta);
	zundo_dir_apply(BufferGetPage(pages[ZFREE_DIR]), rec->log, rec->oldest_extent,
					rec->newest_extent);
	zundo_map_apply(BufferGetPage(pages[ZFREE_MAP]), zundo_map_block(rec->extent),
					zundo_map_bit(rec->extent), 1, true);
	(void) zundo_emit(ZREC_UNDO_FREE, rec, sizeof(*rec), pages, ZFREE_PAGES, 0);
	END_CRIT_SECTION();

	MyUndo.db->free_extents = rec->meta.free_count;
	MyUndo.db->free_hint = Min(MyUndo.db->free_hint, rec->extent / ZUNDO_EXTENT_BLOCKS);
	zundo_horizon_raise(&MyUndo.db->logged_horizon, rec->meta.horizon);
}

/*
 * The oldest extent is not the newest one.  Returns false if the next one, or the map, is
 * damaged.
 */
bool
zundo_free_oldest(ZUndoLog *log)
{
	ZUndoPageSpecial next;
	ZRecUndoFree rec;
	Buffer		pages[ZFREE_PAGES];

	Assert(log->oldest_extent != log->newest_extent);
	Assert(FullTransactionIdPrecedesOrEquals(log->oldest_closed, zundo_horizon()));	/* H1 */
	if (zundo_map_is_lost(log->oldest_extent))
		return false;
	if (!zundo_read_special(log->oldest_next, &next))
	{
		zundo_log_lose(log, log->oldest_next);
		return false;
	}
	memset(&rec, 0, sizeof(rec));
	rec.log = log->number;
	rec.extent = log->oldest_extent;
	rec.oldest_extent = log->oldest_next;
	rec.newest_extent = log->newest_extent;
	plan_to_free(&rec, log->oldest_closed, pages);
	execute_free(&rec, pages);
	zundo_unlock_pages(pages, ZFREE_PAGES);

	log->oldest_extent = rec.oldest_extent;
	log->oldest_next = log->oldest_extent == log->newest_extent ? InvalidBlockNumber : next.next;
	log->oldest_closed = next.closed;
	return true;
}

/*
 * Nothing in the extent is as new as log->idle_next, which is not beyond the horizon.  The
 * owner either sees that newest_extent is invalid, or has changed "uses" (zundo_log_enter).
 */
bool
zundo_free_only(ZUndoLog *log, uint32 uses)
{
	ZRecUndoFree rec;
	Buffer		pages[ZFREE_PAGES];
	bool		taken;

	Assert(log->oldest_extent == log->newest_extent && BlockNumberIsValid(log->newest_extent));
	Assert(FullTransactionIdPrecedesOrEquals(log->idle_next, zundo_horizon()));
	if (zundo_map_is_lost(log->newest_extent))
		return false;
	memset(&rec, 0, sizeof(rec));
	rec.log = log->number;
	rec.extent = log->newest_extent;
	rec.oldest_extent = rec.newest_extent = InvalidBlockNumber;
	plan_to_free(&rec, log->idle_next, pages);

	log->newest_extent = InvalidBlockNumber;
	pg_memory_barrier();
	taken = zundo_log_is_unused_since(log, uses);
	if (taken)
	{
		execute_free(&rec, pages);
		log->oldest_extent = log->insert_block = InvalidBlockNumber;
	}
	else
		log->newest_extent = rec.extent;
	zundo_unlock_pages(pages, ZFREE_PAGES);
	return taken;
}

void
zundo_empty_idle(ZUndoDb *db, BlockNumber from)
{
	FullTransactionId horizon = zundo_horizon();
	ZUndoLog   *log = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (BlockNumberIsValid(log->newest_extent) && log->newest_extent >= from &&
			zundo_is_idle(log, horizon))
			(void) zundo_free_only(log, log->idle_uses);
	}
}

/*
 * Free one extent of a log with number "from" or a greater one.  Returns the log's number, or
 * -1 if there is none.  A log with an owner keeps "keep" extents, its tail included.  Skips
 * logs whose extents turn out to be damaged.  Takes the database's lock, exclusively.
 */
static int
free_one(int from, int keep)
{
	FullTransactionId horizon = zundo_horizon();
	ZUndoLog   *found;
	int			result = -1;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	do
	{
		ZUndoLog   *log = NULL;

		found = NULL;
		while ((log = zundo_log_next(MyUndo.db, log)) != NULL)
		{
			if ((int) log->number >= from && (found == NULL || log->number < found->number) &&
				zundo_oldest_is_free(log, horizon, log->owner != 0 ? keep : 1))
				found = log;
		}
		if (found != NULL && zundo_free_oldest(found))
			result = (int) found->number;
	} while (result < 0 && found != NULL && found->lost);
	LWLockRelease(zundo_db_lock(MyUndo.db));
	return result;
}

uint32
zundo_discard_keeping(int keep, uint32 max)
{
	uint32		freed = 0;
	int			log = 0;

	while (freed < max && (log = free_one(log, keep)) >= 0)
	{
		freed++;
		CHECK_FOR_INTERRUPTS();
	}
	return freed;
}

uint32
zundo_discard(uint32 max)
{
	(void) zundo_open_loaded();
	return zundo_discard_keeping(2, max);
}
