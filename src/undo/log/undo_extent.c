/*
 * undo_extent.c
 *		Open and recycle extents.
 *
 * A log that needs an extent takes its own oldest one, if that is not needed any more, or a
 * free one, whichever comes first in the relation.  The relation grows only when all extents
 * that are not needed have been freed.  Each step is one WAL record; if a crash comes in
 * between, what the file has beyond ZUndoMeta.nblocks is used for the next extent.
 *
 * LOCKING: the database's lock, exclusively, then up to five buffers: the extent's first page,
 * the first page of the log's last extent, directory, meta, map.  All of them may be taken by a
 * caller that holds table pages.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_wal.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/*
 * Number of extents that a writer frees when it needs one.  A few more than one save
 * computations of the horizon.  The rest is left to workers, VACUUM and the next writers: one
 * writer does not pay for all that a snapshot has kept.
 */
#define FREE_AT_A_TIME		4

/* The changes of opening an extent. */
typedef struct ExtentPlan		/* tidy: in memory only */
{
	ZRecUndoExtent rec;
	bool		meta_changes;
	bool		from_map;		/* the extent was free */
	BlockNumber block;			/* first block of the extent */
	BlockNumber old_newest;		/* invalid if the log had no extent */

	/* the new values of the log's fields */
	BlockNumber oldest_next;
	FullTransactionId oldest_closed;
} ExtentPlan;

/* ---- opening ---- */

/*
 * Make the next extent, which may be the present newest, the log's oldest one.  ERROR
 * (data_corrupted) if its first page is damaged.
 */
static void
plan_oldest_leaves(const ZUndoLog *log, ExtentPlan *plan)
{
	ZUndoPageSpecial special;

	plan->rec.oldest_extent = log->oldest_next;
	if (log->oldest_next == log->newest_extent)
	{
		plan->oldest_next = plan->block;
		plan->oldest_closed = plan->rec.closed;
		return;
	}
	if (!zundo_read_special(log->oldest_next, &special))
		zheap_corrupt(zundo_relation(), log->oldest_next, InvalidOffsetNumber,
					  "first page of undo extent is damaged");
	plan->oldest_next = special.next;
	plan->oldest_closed = special.closed;
}

static void
plan_recycled(const ZUndoLog *log, ExtentPlan *plan)
{
	plan->block = log->oldest_extent;
	plan->rec.generation =
		zundo_next_generation(zundo_extent_generation(log->oldest_extent,
													  plan->rec.meta.generation));
	plan->rec.recycled = true;
	plan_oldest_leaves(log, plan);
	if (zundo_pass_extent(&plan->rec.meta, log->oldest_closed))
		plan->meta_changes = true;
}

/*
 * Return where the relation will end when it gets one more extent, and that extent's first
 * block.
 */
static BlockNumber
grown(BlockNumber nblocks, BlockNumber *extent)
{
	*extent = nblocks;
	if (zundo_map_bit(nblocks) == 0)
		*extent += ZUNDO_EXTENT_BLOCKS;
	return *extent + ZUNDO_EXTENT_BLOCKS;
}

static void
plan_free(ExtentPlan *plan, BlockNumber lowest)
{
	ZUndoMetaValues *meta = &plan->rec.meta;

	plan->block = lowest;
	plan->from_map = true;
	plan->rec.generation =
		zundo_next_generation(zundo_extent_generation(lowest, meta->generation));
	if (meta->free_count == 0)
		zheap_corrupt(zundo_relation(), ZUNDO_META_BLOCK, InvalidOffsetNumber,
					  "block %u is marked as a free undo extent, but the meta page counts none",
					  lowest);
	meta->free_count--;
}

/*
 * The generation is newer than that of pages that were there before the relation was truncated
 * (U4).
 */
static void
plan_new(ExtentPlan *plan)
{
	ZUndoMetaValues *meta = &plan->rec.meta;

	plan->rec.map_init = zundo_map_bit(meta->nblocks) == 0;
	meta->nblocks = grown(meta->nblocks, &plan->block);
	plan->rec.generation = zundo_next_generation((uint16) meta->generation);
	/* from there on pointers are local ones (undo_local.c) */
	if (meta->nblocks >= (BlockNumber) 1 << 31)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("undo relation has reached its greatest size")));
	zundo_extend_to(meta->nblocks);
}

static void
plan_free_or_new(const ZUndoLog *log, ExtentPlan *plan, BlockNumber lowest)
{
	if (BlockNumberIsValid(lowest))
		plan_free(plan, lowest);
	else
		plan_new(plan);
	plan->meta_changes = true;

	/* the oldest extent stays, but it may be left now, or be the log's first */
	plan->rec.oldest_extent =
		BlockNumberIsValid(log->oldest_extent) ? log->oldest_extent : plan->block;
	plan->oldest_next = log->oldest_next;
	plan->oldest_closed = log->oldest_closed;
	if (log->oldest_extent == log->newest_extent && BlockNumberIsValid(log->oldest_extent))
	{
		plan->oldest_next = plan->block;
		plan->oldest_closed = plan->rec.closed;
	}
}

/* Plan the extent.  May do I/O and fail; changes nothing but the length of the file. */
static void
plan_extent(ZUndoLog *log, ExtentPlan *plan, BlockNumber lowest)
{
	ZUndoMeta	meta;

	zundo_meta_read(&meta);
	memset(plan, 0, sizeof(*plan));
	zundo_meta_values(&meta, &plan->rec.meta);
	plan->rec.log = log->number;
	plan->rec.closed = ReadNextFullTransactionId();
	plan->old_newest = log->newest_extent;
	/* InvalidBlockNumber is greater than all others */
	if (zundo_oldest_is_free(log, zundo_horizon(), 1) && log->oldest_extent < lowest)
		plan_recycled(log, plan);
	else
		plan_free_or_new(log, plan, lowest);
}

/* Lock the pages to change exclusively; those that do not change are invalid. */
static void
lock_pages(const ExtentPlan *plan, Buffer *pages)
{
	memset(pages, 0, ZEXTENT_PAGES * sizeof(Buffer));
	pages[ZEXTENT_FIRST] = zundo_page_lock_new(plan->block);
	if (BlockNumberIsValid(plan->old_newest))
		pages[ZEXTENT_CLOSED] = zundo_page_lock(plan->old_newest, BUFFER_LOCK_EXCLUSIVE,
												ZUNDO_PAGE_MAGIC);
	pages[ZEXTENT_DIR] = zundo_dir_lock(plan->rec.log);
	if (plan->meta_changes)
		pages[ZEXTENT_META] = zundo_page_lock(ZUNDO_META_BLOCK, BUFFER_LOCK_EXCLUSIVE,
											  ZUNDO_METAPAGE_MAGIC);
	if (plan->rec.map_init)
		pages[ZEXTENT_MAP] = zundo_page_lock_new(zundo_map_block(plan->block));
	else if (plan->from_map)
		pages[ZEXTENT_MAP] = zundo_page_lock(zundo_map_block(plan->block), BUFFER_LOCK_EXCLUSIVE,
											 ZUNDO_MAP_MAGIC);
}

/* Change the map page, in the critical section. */
static void
execute_map(const ExtentPlan *plan, Buffer map)
{
	if (plan->rec.map_init)
		zundo_map_init_apply(BufferGetPage(map), zundo_map_block(plan->block));
	else
		zundo_map_apply(BufferGetPage(map), zundo_map_block(plan->block),
						zundo_map_bit(plan->block), 1, false);
}

/* Change and WAL-log the pages.  Returns the end of the record. */
static XLogRecPtr
execute_extent(ExtentPlan *plan, const Buffer *pages)
{
	uint32		init = 1 << ZEXTENT_FIRST | plan->rec.map_init << ZEXTENT_MAP;
	XLogRecPtr	lsn;

	START_CRIT_SECTION();
	zundo_page_init_apply(BufferGetPage(pages[ZEXTENT_FIRST]), plan->block, plan->rec.generation);
	if (BufferIsValid(pages[ZEXTENT_CLOSED]))
		zundo_extent_close_apply(BufferGetPage(pages[ZEXTENT_CLOSED]), plan->old_newest,
								 plan->block, plan->rec.closed);
	zundo_dir_apply(BufferGetPage(pages[ZEXTENT_DIR]), plan->rec.log, plan->rec.oldest_extent,
					plan->block);
	if (BufferIsValid(pages[ZEXTENT_META]))
		zundo_meta_apply(BufferGetPage(pages[ZEXTENT_META]), &plan->rec.meta);
	if (BufferIsValid(pages[ZEXTENT_MAP]))
		execute_map(plan, pages[ZEXTENT_MAP]);
	lsn = zundo_emit(ZREC_UNDO_EXTENT, &plan->rec, sizeof(plan->rec), pages, ZEXTENT_PAGES, init);
	END_CRIT_SECTION();
	return lsn;
}

/* Update the database and the log in shared memory, and MyUndo. */
static void
adopt_extent(ZUndoLog *log, const ExtentPlan *plan, Buffer first)
{
	ZUndoDb    *db = MyUndo.db;

	Assert(log->newest_extent == plan->old_newest && log->newest_extent != plan->block);
	Assert(FullTransactionIdPrecedesOrEquals(zundo_logged_horizon(), zundo_horizon()));

	log->oldest_extent = plan->rec.oldest_extent;
	log->newest_extent = plan->block;
	log->ordinal++;
	log->oldest_next = plan->oldest_next;
	log->oldest_closed = plan->oldest_closed;
	if (log->oldest_extent == log->newest_extent)
		log->oldest_next = InvalidBlockNumber;
	log->insert_block = InvalidBlockNumber;
	db->free_extents = plan->rec.meta.free_count;
	pg_atomic_write_u32(&db->nblocks, plan->rec.meta.nblocks);
	db->peak = Max(db->peak, zundo_extents_used(db));
	zundo_count_opened(db, plan->rec.closed);

	MyUndo.extents++;
	MyUndo.block = plan->block;
	MyUndo.offset = ZUNDO_PAGE_START;
	MyUndo.generation = plan->rec.generation;
	MyUndo.init = false;
	MyUndo.recent = first;
}

/* ---- growing ---- */

/*
 * Return whether the relation may grow by an extent: neither the undo in use nor the file may
 * exceed the limit.
 */
static bool
may_grow(BlockNumber nblocks)
{
	BlockNumber extent;

	return zundo_limit_excess(1) == 0 &&
		(uint64) grown(nblocks, &extent) * BLCKSZ <= zundo_limit_bytes();
}

/*
 * Return whether there is an extent for the log without growing.  The limit may be less than
 * the length of the file, and than what is in use: then the log's own oldest extent is to be
 * freed as well, and not to be used again.  The database is locked exclusively.
 */
static bool
has_extent_for(ZUndoLog *log)
{
	return (MyUndo.db->free_extents > 0 && !MyUndo.db->map_lost &&
			zundo_limit_excess(1) == 0) ||
		(zundo_oldest_is_free(log, zundo_horizon(), 1) && zundo_limit_excess(0) == 0);
}

/*
 * Free some extents before the relation grows: a horizon that is a moment old may keep extents,
 * and other logs may have some that their owners have not freed yet.  If the limit is less than
 * what is in use, free all extents beyond it.
 */
static void
free_some(void)
{
	uint32		excess = zundo_limit_excess(1);

	/* with a page locked the operation rather fails at the limit, and the next one goes on */
	if (InterruptHoldoffCount > 0)
		excess = Min(excess, FREE_AT_A_TIME);
	zundo_horizon_move(MyUndo.db);
	(void) zundo_discard_keeping(1, excess + FREE_AT_A_TIME);
}

static bool
has_extent_or_may_grow(ZUndoLog *log)
{
	return has_extent_for(log) || may_grow(pg_atomic_read_u32(&MyUndo.db->nblocks));
}

/*
 * Lock the database exclusively, with an extent for the log available.  At the limit the last
 * extents of idle sessions are freed, too; those noted as idle now can be freed by the next
 * call.  ERROR (configuration_limit_exceeded) otherwise.
 */
static void
lock_with_extent(ZUndoLog *log)
{
	LWLock	   *lock = zundo_db_lock(MyUndo.db);

	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (has_extent_for(log))
		return;
	LWLockRelease(lock);
	free_some();
	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (has_extent_or_may_grow(log))
		return;
	zundo_empty_idle(MyUndo.db, 0);
	(void) zundo_note_idle(MyUndo.db);
	if (has_extent_or_may_grow(log))
		return;
	LWLockRelease(lock);
	zundo_limit_report();
}

/*
 * Count an extent that was not the log's own as ZUNDO_EXTENT_BLOCKS dead rows, so that
 * autovacuum sweeps, discards and truncates where no worker does.
 */
static void
count_for_autovacuum(void)
{
	pgstat_update_heap_dead_tuples(zundo_relation(), -ZUNDO_EXTENT_BLOCKS);
}

bool
zundo_extent_can_be_left(BlockNumber newest)
{
	ZUndoPageSpecial special;

	return !BlockNumberIsValid(newest) || zundo_read_special(newest, &special);
}

/*
 * Check the first pages that will be read.  If that of the oldest extent's successor is damaged
 * the rest of the chain is lost, and we go on behind it to the end of the transaction.  If that
 * of our newest one is, and was not yet when zundo_prepare() looked, ERROR (data_corrupted):
 * the transaction would have to become the owner of another log while its caller has pages
 * locked.
 */
static void
check_chain(ZUndoLog *log)
{
	ZUndoPageSpecial special;

	if (!zundo_extent_can_be_left(log->newest_extent))
	{
		log->sealed = true;
		zheap_corrupt(zundo_relation(), log->newest_extent, InvalidOffsetNumber,
					  "first page of the last extent of undo log %u is damaged", log->number);
	}
	if (zundo_oldest_is_free(log, zundo_horizon(), 1) &&
		!zundo_read_special(log->oldest_next, &special))
		zundo_log_lose(log, log->oldest_next);
}

void
zundo_extent_open(void)
{
	ZUndoDb    *db = MyUndo.db;
	ZUndoLog   *log = MyUndo.log;
	ExtentPlan	plan;
	Buffer		pages[ZEXTENT_PAGES];
	BlockNumber lowest;
	XLogRecPtr	lsn;

	Assert(CritSectionCount == 0);

	zundo_tail_unpin();
	lock_with_extent(log);
	Assert(log->owner == MyProcPid);
	check_chain(log);
	lowest = zundo_map_lowest();
	/* towards the begin of the relation, so that its end gets free */
	if (lowest < log->oldest_extent && zundo_oldest_is_free(log, zundo_horizon(), 1))
		(void) zundo_free_oldest(log);
	plan_extent(log, &plan, lowest);
	lock_pages(&plan, pages);
	lsn = execute_extent(&plan, pages);
	zundo_horizon_raise(&db->logged_horizon, plan.rec.meta.horizon);
	adopt_extent(log, &plan, pages[ZEXTENT_FIRST]);
	zundo_reference_set(plan.block, plan.rec.generation, lsn);
	zundo_unlock_pages(pages, ZEXTENT_PAGES);
	LWLockRelease(zundo_db_lock(db));
	if (!plan.rec.recycled)
		count_for_autovacuum();
}
