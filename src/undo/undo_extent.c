/*
 * undo_extent.c
 *		Where extents come from and where they go.
 *
 * A log that needs an extent takes, in this order, its own oldest one if nobody
 * needs that any more, one of the database's free list, or new blocks at the end
 * of the relation.  One WAL record each; what the file has beyond
 * ZUndoMeta.nblocks when a crash comes in between is used by the next one.
 *
 * LOCKING: the database's lock, exclusively, then up to four buffers: the
 * extent's first page, the first page of the log's last extent, directory, meta.
 * All of them may be taken by a caller that holds table pages.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "undo_private.h"

/* What opening an extent is going to change. */
typedef struct ExtentPlan
{
	ZRecUndoExtent rec;
	bool		meta_changes;
	BlockNumber block;			/* of the extent */
	BlockNumber old_tail;		/* invalid if the log had no extent */

	/* of the log */
	BlockNumber head_next;
	FullTransactionId head_closed;
} ExtentPlan;

/* ---- who needs it? ---- */

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
 * The horizon tells all: it is kept back by transactions that run, by aborted
 * ones that are not applied everywhere yet, and by snapshots.  An extent that
 * was left before the horizon's xid was even assigned holds nothing else.  (That
 * it holds nothing pending follows; it is asked for callers who only guess the
 * horizon.)
 */
bool
zundo_head_is_free(ZUndoLog *log, FullTransactionId horizon, int keep)
{
	if (log->head == log->tail)
		return false;
	if (keep > 1 && log->head_next == log->tail)
		return false;
	if (FullTransactionIdFollows(log->head_closed, horizon))
		return false;
	return !has_pending_in(log, log->head); /* S2 */
}

static void
read_special(BlockNumber block, ZUndoPageSpecial *special)
{
	Buffer		buffer = zundo_page_lock(block, BUFFER_LOCK_SHARE, ZUNDO_PAGE_MAGIC);

	*special = *zundo_special(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

static void
meta_values(const ZUndoMeta *meta, ZUndoMetaValues *values)
{
	values->horizon = meta->horizon;
	values->nblocks = meta->nblocks;
	values->free_head = meta->free_head;
	values->free_count = meta->free_count;
	values->unused = 0;
}

/* ---- opening ---- */

static uint16
next_generation(uint16 generation)
{
	generation++;
	return generation == 0 ? 1 : generation;
}

/* The log's head moves to its next extent, which may be the present tail. */
static void
plan_head_leaves(const ZUndoLog *log, ExtentPlan *plan)
{
	ZUndoPageSpecial special;

	plan->rec.head = log->head_next;
	if (log->head_next == log->tail)
	{
		plan->head_next = plan->block;
		plan->head_closed = plan->rec.closed;
		return;
	}
	read_special(log->head_next, &special);
	plan->head_next = special.next;
	plan->head_closed = special.closed;
}

static void
plan_recycled(const ZUndoLog *log, ExtentPlan *plan)
{
	ZUndoPageSpecial special;

	plan->block = log->head;
	read_special(log->head, &special);
	plan->rec.generation = next_generation(special.generation);
	plan->rec.recycled = true;
	plan_head_leaves(log, plan);
	if (FullTransactionIdPrecedes(plan->rec.meta.horizon, log->head_closed))
	{
		plan->rec.meta.horizon = log->head_closed;
		plan->meta_changes = true;
	}
}

static void
plan_free_or_new(const ZUndoLog *log, ExtentPlan *plan)
{
	ZUndoMetaValues *meta = &plan->rec.meta;
	ZUndoPageSpecial special;

	if (BlockNumberIsValid(meta->free_head))
	{
		plan->block = meta->free_head;
		if (plan->block % ZUNDO_EXTENT_BLOCKS != 0 || meta->free_count == 0)
			zheap_corrupt(zundo_relation(), ZUNDO_META_BLOCK, InvalidOffsetNumber,
						  "list of %u free undo extents begins at block %u",
						  meta->free_count, plan->block);
		read_special(plan->block, &special);
		plan->rec.generation = next_generation(special.generation);
		meta->free_head = special.next;
		meta->free_count--;
	}
	else
	{
		plan->block = meta->nblocks;
		plan->rec.generation = 1;
		meta->nblocks += ZUNDO_EXTENT_BLOCKS;
		if (meta->nblocks > MaxBlockNumber - ZUNDO_EXTENT_BLOCKS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("undo relation has reached its greatest size")));
		zundo_extend_to(meta->nblocks);
	}
	plan->meta_changes = true;

	/* the head stays, but it may be left now, or be the log's first */
	plan->rec.head = BlockNumberIsValid(log->head) ? log->head : plan->block;
	plan->head_next = log->head_next;
	plan->head_closed = log->head_closed;
	if (log->head == log->tail && BlockNumberIsValid(log->head))
	{
		plan->head_next = plan->block;
		plan->head_closed = plan->rec.closed;
	}
}

/* May do I/O and fail; changes nothing but the length of the file. */
static void
plan_extent(ZUndoLog *log, ExtentPlan *plan)
{
	FullTransactionId horizon = zundo_horizon();
	ZUndoMeta	meta;

	zundo_meta_read(&meta);
	memset(plan, 0, sizeof(*plan));
	meta_values(&meta, &plan->rec.meta);
	plan->rec.log = log->number;
	plan->rec.closed = ReadNextFullTransactionId();
	plan->old_tail = log->tail;
	if (zundo_head_is_free(log, horizon, 1))
		plan_recycled(log, plan);
	else
		plan_free_or_new(log, plan);
}

/* Pages are locked; those that do not change are invalid. */
static void
execute_extent(ExtentPlan *plan, Buffer first, Buffer tail, Buffer dir, Buffer meta)
{
	XLogRecPtr	lsn;

	START_CRIT_SECTION();
	zundo_page_init_apply(BufferGetPage(first), plan->rec.generation);
	MarkBufferDirty(first);
	XLogBeginInsert();
	XLogRegisterData((char *) &plan->rec, sizeof(plan->rec));
	XLogRegisterBuffer(0, first, REGBUF_STANDARD | REGBUF_WILL_INIT);
	if (BufferIsValid(tail))
	{
		zundo_extent_close_apply(BufferGetPage(tail), plan->block, plan->rec.closed);
		MarkBufferDirty(tail);
		XLogRegisterBuffer(1, tail, REGBUF_STANDARD);
	}
	zundo_dir_apply(BufferGetPage(dir), plan->rec.log, plan->rec.head, plan->block);
	MarkBufferDirty(dir);
	XLogRegisterBuffer(2, dir, REGBUF_STANDARD);
	if (BufferIsValid(meta))
	{
		zundo_meta_apply(BufferGetPage(meta), &plan->rec.meta);
		MarkBufferDirty(meta);
		XLogRegisterBuffer(3, meta, REGBUF_STANDARD);
	}
	lsn = XLogInsert(ZHEAP_RMGR_ID, ZREC_UNDO_EXTENT);
	PageSetLSN(BufferGetPage(first), lsn);
	if (BufferIsValid(tail))
		PageSetLSN(BufferGetPage(tail), lsn);
	PageSetLSN(BufferGetPage(dir), lsn);
	if (BufferIsValid(meta))
		PageSetLSN(BufferGetPage(meta), lsn);
	END_CRIT_SECTION();
}

/* The log in shared memory, and where we go on. */
static void
adopt_extent(ZUndoLog *log, const ExtentPlan *plan, Buffer first)
{
	Assert(log->tail == plan->old_tail && log->tail != plan->block);
	Assert(FullTransactionIdPrecedesOrEquals(zundo_logged_horizon(), zundo_horizon()));

	log->head = plan->rec.head;
	log->tail = plan->block;
	log->head_next = plan->head_next;
	log->head_closed = plan->head_closed;
	if (log->head == log->tail)
		log->head_next = InvalidBlockNumber;
	log->insert_block = InvalidBlockNumber;

	zundo_my.block = plan->block;
	zundo_my.offset = ZUNDO_PAGE_START;
	zundo_my.generation = plan->rec.generation;
	zundo_my.init = false;
	zundo_my.recent = first;
}

/*
 * A horizon that is a moment old may keep our own oldest extent, where a fresh
 * one would let us have it back.
 */
static void
refresh_horizon(const ZUndoLog *log)
{
	if (log->head != log->tail &&
		FullTransactionIdFollows(log->head_closed, zundo_horizon()))
		zundo_horizon_advance();
}

void
zundo_extent_open(void)
{
	ZUndoDb    *db = zundo_my.db;
	ZUndoLog   *log = zundo_my.log;
	ExtentPlan	plan;
	Buffer		first;
	Buffer		tail = InvalidBuffer;
	Buffer		dir;
	Buffer		meta = InvalidBuffer;

	Assert(CritSectionCount == 0);
	refresh_horizon(log);

	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	Assert(log->owner == MyProcPid);
	plan_extent(log, &plan);
	first = zundo_page_lock(plan.block, BUFFER_LOCK_EXCLUSIVE, 0);
	if (BlockNumberIsValid(plan.old_tail))
		tail = zundo_page_lock(plan.old_tail, BUFFER_LOCK_EXCLUSIVE, ZUNDO_PAGE_MAGIC);
	dir = zundo_page_lock(zundo_dir_block(log->number), BUFFER_LOCK_EXCLUSIVE, ZUNDO_DIR_MAGIC);
	if (plan.meta_changes)
		meta = zundo_page_lock(ZUNDO_META_BLOCK, BUFFER_LOCK_EXCLUSIVE, ZUNDO_METAPAGE_MAGIC);

	execute_extent(&plan, first, tail, dir, meta);
	zundo_horizon_raise(&db->logged_horizon, plan.rec.meta.horizon);
	adopt_extent(log, &plan, first);

	UnlockReleaseBuffer(first);
	if (BufferIsValid(tail))
		UnlockReleaseBuffer(tail);
	UnlockReleaseBuffer(dir);
	if (BufferIsValid(meta))
		UnlockReleaseBuffer(meta);
	LWLockRelease(zundo_db_lock(db));
}

/* ---- giving away ---- */

/* The database is locked exclusively; the head is free. */
static void
free_head(ZUndoLog *log)
{
	ZUndoMeta	old;
	ZUndoPageSpecial next;
	ZRecUndoFree rec;
	Buffer		first;
	Buffer		dir;
	Buffer		meta;
	XLogRecPtr	lsn;

	Assert(log->head != log->tail);
	Assert(FullTransactionIdPrecedesOrEquals(log->head_closed, zundo_horizon()));
	zundo_meta_read(&old);
	read_special(log->head_next, &next);
	memset(&rec, 0, sizeof(rec));
	meta_values(&old, &rec.meta);
	rec.meta.horizon = FullTransactionIdFollows(log->head_closed, old.horizon) ?
		log->head_closed : old.horizon;
	rec.meta.free_head = log->head;
	rec.meta.free_count = old.free_count + 1;
	rec.next_free = old.free_head;
	rec.head = log->head_next;
	rec.tail = log->tail;
	rec.log = log->number;

	first = zundo_page_lock(log->head, BUFFER_LOCK_EXCLUSIVE, ZUNDO_PAGE_MAGIC);
	dir = zundo_page_lock(zundo_dir_block(log->number), BUFFER_LOCK_EXCLUSIVE, ZUNDO_DIR_MAGIC);
	meta = zundo_page_lock(ZUNDO_META_BLOCK, BUFFER_LOCK_EXCLUSIVE, ZUNDO_METAPAGE_MAGIC);

	START_CRIT_SECTION();
	zundo_extent_close_apply(BufferGetPage(first), rec.next_free, InvalidFullTransactionId);
	zundo_dir_apply(BufferGetPage(dir), rec.log, rec.head, rec.tail);
	zundo_meta_apply(BufferGetPage(meta), &rec.meta);
	MarkBufferDirty(first);
	MarkBufferDirty(dir);
	MarkBufferDirty(meta);
	XLogBeginInsert();
	XLogRegisterData((char *) &rec, sizeof(rec));
	XLogRegisterBuffer(0, first, REGBUF_STANDARD);
	XLogRegisterBuffer(1, dir, REGBUF_STANDARD);
	XLogRegisterBuffer(2, meta, REGBUF_STANDARD);
	lsn = XLogInsert(ZHEAP_RMGR_ID, ZREC_UNDO_FREE);
	PageSetLSN(BufferGetPage(first), lsn);
	PageSetLSN(BufferGetPage(dir), lsn);
	PageSetLSN(BufferGetPage(meta), lsn);
	END_CRIT_SECTION();

	log->head = rec.head;
	log->head_next = log->head == log->tail ? InvalidBlockNumber : next.next;
	log->head_closed = next.closed;
	zundo_horizon_raise(&zundo_my.db->logged_horizon, rec.meta.horizon);
	UnlockReleaseBuffer(first);
	UnlockReleaseBuffer(dir);
	UnlockReleaseBuffer(meta);
}

/*
 * Free one extent of a log with this number or a greater one; the log's number,
 * or -1 if there is none.  A log in use keeps one free extent for its owner.
 */
static int
free_one(int from)
{
	FullTransactionId horizon = zundo_horizon();
	ZUndoLog   *log = NULL;
	ZUndoLog   *found = NULL;
	int			result = -1;

	LWLockAcquire(zundo_db_lock(zundo_my.db), LW_EXCLUSIVE);
	while ((log = zundo_log_next(zundo_my.db, log)) != NULL)
	{
		if ((int) log->number >= from && (found == NULL || log->number < found->number) &&
			zundo_head_is_free(log, horizon, log->owner != 0 ? 2 : 1))
			found = log;
	}
	if (found != NULL)
	{
		result = (int) found->number;
		free_head(found);
	}
	LWLockRelease(zundo_db_lock(zundo_my.db));
	return result;
}

uint32
zundo_discard(void)
{
	uint32		freed = 0;
	int			log = 0;

	zundo_open();
	if (!zundo_my.db->loaded)
		zundo_db_load();
	while ((log = free_one(log)) >= 0)
	{
		freed++;
		CHECK_FOR_INTERRUPTS();
	}
	return freed;
}

void
zundo_stats(ZUndoStats *stats)
{
	ZUndoMeta	meta;
	ZUndoLog   *log = NULL;

	memset(stats, 0, sizeof(*stats));
	zundo_open();
	if (!zundo_my.db->loaded && !RecoveryInProgress())
		zundo_db_load();
	zundo_meta_read(&meta);
	stats->nblocks = RelationGetNumberOfBlocks(zundo_relation());
	stats->extents_free = meta.free_count;
	stats->extents_used = meta.nblocks / ZUNDO_EXTENT_BLOCKS - 1 - meta.free_count;
	stats->horizon = zundo_horizon();

	LWLockAcquire(zundo_db_lock(zundo_my.db), LW_SHARED);
	while ((log = zundo_log_next(zundo_my.db, log)) != NULL)
	{
		stats->logs++;
		SpinLockAcquire(&log->mutex);
		if (log->pending_from != ZUNDO_INVALID)
			stats->logs_pending++;
		SpinLockRelease(&log->mutex);
	}
	LWLockRelease(zundo_db_lock(zundo_my.db));
}
