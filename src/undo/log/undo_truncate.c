/*
 * undo_truncate.c
 *		Truncate the undo relation.
 *
 * Free extents are used lowest first, so the end gets free by itself, except for the last
 * extents of logs that are not written to any more: those are taken away from them first, when
 * the horizon has passed all that is in them.
 *
 * The relation is not locked, nor are the transactions that use it waited for (undo_use.c): a
 * busy server is never without one.  Instead ZREC_UNDO_TRUNCATE moves the end that all
 * processes go by (ZUndoDb.nblocks) under the truncate lock.  After that no page behind it is
 * read; a reader that has pinned one before, with a pointer that was recycled meanwhile, is
 * waited for when the buffers are dropped.
 *
 * LOCKING: the database's lock, exclusively, throughout; the truncate lock for the moment of
 * ZREC_UNDO_TRUNCATE.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/storage.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"
#include "zheap/undo/undo_wal.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/*
 * Numbers of extents: the least reserve of free ones, and the least that is worth a truncation.
 * A worker also keeps as many as were in use lately.
 */
#define RESERVE_WORKER	64
#define RESERVE_VACUUM	8
#define LEAST_WORKER	64
#define LEAST_VACUUM	1

/* Time until the next look, in milliseconds; doubled after each look without a result. */
#define FIRST_WAIT		5000
#define LONGEST_WAIT	300000

/* ---- how much ---- */

static uint32
extents_to_keep(ZUndoDb *db, bool all)
{
	if (all)
		return zundo_extents_used(db) + RESERVE_VACUUM;
	return Max(db->peak, zundo_extents_used(db)) + RESERVE_WORKER;
}

static bool
file_is_worth_truncating(ZUndoDb *db, bool all)
{
	uint32		have = zundo_extents_in(pg_atomic_read_u32(&db->nblocks));

	return have >= extents_to_keep(db, all) + (all ? LEAST_VACUUM : LEAST_WORKER);
}

/* The peak does not count here: it comes down from visit to visit. */
bool
zundo_wants_truncation(ZUndoDb *db, TimestampTz now)
{
	uint32		have = zundo_extents_in(pg_atomic_read_u32(&db->nblocks));

	return now >= db->truncate_at && !db->map_lost &&
		(have >= zundo_extents_used(db) + RESERVE_WORKER + LEAST_WORKER ||
		 zundo_wants_retirement(db));
}

/* Lower the peak by a quarter of what is beyond the extents in use. */
static void
lower_peak(ZUndoDb *db)
{
	uint32		used = zundo_extents_used(db);

	if (db->peak > used)
		db->peak -= (db->peak - used + 3) / 4;
	db->peak = Max(db->peak, used);
}

/* ---- truncating ---- */

/*
 * Return the new end when at most "max" free extents at the end are removed, all of one group;
 * *freed is their number.
 */
static BlockNumber
new_end(BlockNumber nblocks, uint32 max, uint32 *freed)
{
	*freed = 0;
	/* nothing of the last group is left but its map */
	if (nblocks > ZUNDO_EXTENT_BLOCKS &&
		zundo_map_bit(nblocks - ZUNDO_EXTENT_BLOCKS) == 0)
		return nblocks - ZUNDO_EXTENT_BLOCKS;
	if (nblocks > ZUNDO_EXTENT_BLOCKS && !zundo_map_is_lost(nblocks - ZUNDO_EXTENT_BLOCKS))
		*freed = zundo_map_free_before(nblocks, max);
	return nblocks - *freed * ZUNDO_EXTENT_BLOCKS;
}

/*
 * Change and WAL-log the meta page, and the map page if it is valid.  Returns the end of the
 * record.
 */
static XLogRecPtr
execute_truncate(ZRecUndoTruncate *rec, const Buffer pages[2])
{
	XLogRecPtr	lsn;

	START_CRIT_SECTION();
	zundo_meta_apply(BufferGetPage(pages[0]), &rec->meta);
	if (BufferIsValid(pages[1]))
		zundo_map_apply(BufferGetPage(pages[1]), zundo_map_block(rec->meta.nblocks),
						zundo_map_bit(rec->meta.nblocks),
						(rec->old_nblocks - rec->meta.nblocks) / ZUNDO_EXTENT_BLOCKS, false);
	lsn = zundo_emit(ZREC_UNDO_TRUNCATE, rec, sizeof(*rec), pages, 2, 0);
	END_CRIT_SECTION();
	return lsn;
}

/*
 * Remove at most *max free extents from the end, and subtract them from it.  Returns false if
 * there is none.  Takes the truncate lock, exclusively.
 */
static bool
truncate_once(ZUndoDb *db, uint32 *max, XLogRecPtr *lsn)
{
	BlockNumber nblocks = pg_atomic_read_u32(&db->nblocks);
	uint32		freed;
	BlockNumber end = new_end(nblocks, *max, &freed);
	ZUndoMeta	old;
	ZRecUndoTruncate rec;
	Buffer		pages[2] = {InvalidBuffer, InvalidBuffer};	/* meta page, map page */

	if (end == nblocks)
		return false;
	memset(&rec, 0, sizeof(rec));
	zundo_meta_read(&old);
	zundo_meta_values(&old, &rec.meta);
	rec.old_nblocks = nblocks;
	rec.meta.nblocks = end;
	rec.meta.free_count -= freed;

	LWLockAcquire(zundo_truncate_lock(db), LW_EXCLUSIVE);
	pages[0] = zundo_page_lock(ZUNDO_META_BLOCK, BUFFER_LOCK_EXCLUSIVE, ZUNDO_METAPAGE_MAGIC);
	if (freed > 0)
		pages[1] = zundo_page_lock(zundo_map_block(end), BUFFER_LOCK_EXCLUSIVE, ZUNDO_MAP_MAGIC);
	*lsn = execute_truncate(&rec, pages);
	pg_atomic_write_u32(&db->nblocks, end);
	db->free_extents = rec.meta.free_count;
	zundo_unlock_pages(pages, lengthof(pages));
	LWLockRelease(zundo_truncate_lock(db));
	*max -= freed;
	return true;
}

/*
 * Truncate the relation and the file.  Returns the number of blocks given back.  The database
 * is locked exclusively.
 */
static BlockNumber
truncate_file(ZUndoDb *db, bool all)
{
	BlockNumber nblocks = pg_atomic_read_u32(&db->nblocks);
	uint32		have = zundo_extents_in(nblocks);
	uint32		max = have - Min(have, extents_to_keep(db, all));
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	BlockNumber end;

	while (max > 0 && truncate_once(db, &max, &lsn))
		;						/* group by group */
	end = pg_atomic_read_u32(&db->nblocks);
	if (end < nblocks)
	{
		/*
		 * A file that is shorter than its meta page says is refused.  RelationTruncate()
		 * flushes WAL before it cuts the file only in some of the server's versions.
		 */
		XLogFlush(lsn);
		zundo_refresh_file();
		db->truncations++;
		RelationTruncate(zundo_relation(), end);
	}
	return nblocks - end;
}

/* Return whether at least "wanted" extents at the end are free, or all of the last group. */
static bool
end_is_free(BlockNumber nblocks, uint32 wanted)
{
	uint32		freed;

	return nblocks > ZUNDO_EXTENT_BLOCKS &&
		(zundo_map_bit(nblocks - ZUNDO_EXTENT_BLOCKS) == 0 ||
		 (new_end(nblocks, wanted, &freed) != nblocks &&
		  (freed == wanted || zundo_map_bit(nblocks - freed * ZUNDO_EXTENT_BLOCKS) == 1)));
}

BlockNumber
zundo_truncate(bool all)
{
	ZUndoDb    *db = zundo_open_loaded();
	BlockNumber result = 0;
	int			idle;

	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	idle = zundo_note_idle(db);
	LWLockRelease(zundo_db_lock(db));
	zundo_horizon_advance();
	idle += zundo_logs_retire(db);

	if (db->map_lost)
		return 0;
	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	lower_peak(db);
	if (file_is_worth_truncating(db, all))
	{
		uint32		groups = pg_atomic_read_u32(&db->nblocks) / ZUNDO_EXTENT_BLOCKS -
		zundo_extents_in(pg_atomic_read_u32(&db->nblocks));

		zundo_empty_idle(db, (extents_to_keep(db, all) + groups) * ZUNDO_EXTENT_BLOCKS);
		if (end_is_free(pg_atomic_read_u32(&db->nblocks), all ? LEAST_VACUUM : LEAST_WORKER))
			result = truncate_file(db, all);
	}
	db->truncate_wait = result > 0 || idle > 0 || db->peak > zundo_extents_used(db) ? FIRST_WAIT :
		Min(Max(db->truncate_wait, FIRST_WAIT) * 2, LONGEST_WAIT);
	db->truncate_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), db->truncate_wait);
	LWLockRelease(zundo_db_lock(db));
	return result;
}
