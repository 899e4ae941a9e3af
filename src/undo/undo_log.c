/*
 * undo_log.c
 *		Becoming the owner of a log; reading the directory after a restart.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "undo_private.h"

/* ---- the directory ---- */

/* Copy the special area, and the end, of an extent's first page. */
static void
read_extent(BlockNumber extent, ZUndoPageSpecial *special, uint16 *end)
{
	Buffer		buffer;

	if (extent < ZUNDO_EXTENT_BLOCKS || extent % ZUNDO_EXTENT_BLOCKS != 0)
		zheap_corrupt(zundo_relation(), extent, InvalidOffsetNumber,
					  "no undo extent begins here");
	buffer = zundo_page_lock(extent, BUFFER_LOCK_SHARE, ZUNDO_PAGE_MAGIC);
	*special = *zundo_special(BufferGetPage(buffer));
	*end = zundo_page_end(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

/*
 * Which of the log's transactions aborted is not known yet, so all that are not
 * below the horizon are to be looked at.  Extents that are wholly below are
 * skipped: they may be recycled before the sweeper comes by.
 */
static void
load_pending(ZUndoLog *log, ZUndoPageSpecial special, uint16 end)
{
	FullTransactionId horizon;
	BlockNumber extent = log->oldest_extent;
	uint32		left = RelationGetNumberOfBlocks(zundo_relation()) / ZUNDO_EXTENT_BLOCKS;

	horizon = FullTransactionIdFromU64(pg_atomic_read_u64(&MyUndo.db->horizon));
	while (FullTransactionIdIsValid(special.closed) &&
		   FullTransactionIdPrecedesOrEquals(special.closed, horizon))
	{
		if (left-- == 0)
			zheap_corrupt(zundo_relation(), extent, InvalidOffsetNumber,
						  "the extents of undo log %u go round in a circle", log->number);
		extent = special.next;
		read_extent(extent, &special, &end);
	}
	if (end > ZUNDO_PAGE_START)
		zundo_log_mark_pending(log,
							   zundo_ptr_make(extent, special.generation, ZUNDO_PAGE_START),
							   0, horizon);
}

/* False if there is no room for it. */
static bool
load_log(uint32 number, const ZUndoDirEntry *entry)
{
	ZUndoLog   *log = zundo_log_add(MyUndo.db, number);
	ZUndoPageSpecial special;
	uint16		end;

	if (log == NULL)
		return false;
	read_extent(entry->oldest_extent, &special, &end);
	log->oldest_extent = entry->oldest_extent;
	log->newest_extent = entry->newest_extent;
	if (log->oldest_extent != log->newest_extent)
	{
		log->oldest_next = special.next;
		log->oldest_closed = special.closed;
		if (!FullTransactionIdIsValid(special.closed))
			zheap_corrupt(zundo_relation(), log->oldest_extent, InvalidOffsetNumber,
						  "undo extent is not closed but not the last of log %u", number);
	}
	load_pending(log, special, end);
	return true;
}

static bool
load_directory(void)
{
	for (int i = 0; i < ZUNDO_DIR_PAGES; i++)
	{
		PGAlignedBlock copy;
		Buffer		buffer = zundo_page_lock(1 + i, BUFFER_LOCK_SHARE, ZUNDO_DIR_MAGIC);

		memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
		UnlockReleaseBuffer(buffer);
		for (int k = 0; k < ZUNDO_DIR_ENTRIES; k++)
		{
			ZUndoDirEntry *entry = zundo_dir_entry(copy.data, k);

			if (BlockNumberIsValid(entry->oldest_extent) &&
				!load_log(i * ZUNDO_DIR_ENTRIES + k, entry))
				return false;
		}
	}
	return true;
}

static bool
load(void)
{
	ZUndoMeta	meta;
	bool		done = true;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	if (!MyUndo.db->loaded)
	{
		/* what an earlier attempt has left when it failed */
		zundo_logs_drop(MyUndo.db);
		zundo_meta_read(&meta);
		/* the first page of each extent is in the WAL, the others may be lost */
		if (meta.nblocks % ZUNDO_EXTENT_BLOCKS != 0 ||
			meta.nblocks / ZUNDO_EXTENT_BLOCKS >
			RelationGetNumberOfBlocks(zundo_relation()) / ZUNDO_EXTENT_BLOCKS + 2)
			zheap_corrupt(zundo_relation(), ZUNDO_META_BLOCK, InvalidOffsetNumber,
						  "undo relation is said to have %u blocks", meta.nblocks);
		zundo_horizon_raise(&MyUndo.db->horizon, meta.horizon);
		zundo_horizon_raise(&MyUndo.db->logged_horizon, meta.horizon);
		/* a crash may have lost pages that nobody had written to */
		zundo_extend_to(meta.nblocks);
		pg_atomic_write_u32(&MyUndo.db->nblocks, meta.nblocks);
		MyUndo.db->free_extents = meta.free_count;
		MyUndo.db->free_hint = 0;
		MyUndo.db->peak = zundo_extents_used(MyUndo.db);
		done = load_directory();
		MyUndo.db->loaded = done;
	}
	LWLockRelease(zundo_db_lock(MyUndo.db));
	return done;
}

static void
report_too_many_logs(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of shared memory for undo logs"),
			 errhint("You might need to increase max_connections.")));
}

/* No lock is held, the undo relation is open. */
void
zundo_db_load(void)
{
	Assert(!RecoveryInProgress());
	if (load())
		return;
	zundo_state_shrink();
	if (!load())
		report_too_many_logs();
}

/* ---- a log of one's own ---- */

/* Of a loaded database; lowest numbers first, their pages are hot. */
static ZUndoLog *
choose_log(ZUndoDb *db)
{
	ZUndoLog   *log = NULL;
	ZUndoLog   *best = NULL;
	uint32		unused = 0;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->owner == 0 && (best == NULL || log->number < best->number))
			best = log;
	}
	if (best != NULL)
		return best;
	while (zundo_log_find(db, unused) != NULL)
		unused++;
	if (unused >= ZUNDO_MAX_LOGS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("undo relation cannot have more than %d logs", ZUNDO_MAX_LOGS)));
	return zundo_log_add(db, unused);
}

static ZUndoLog *
take_log(void)
{
	ZUndoDb    *db = MyUndo.db;
	ZUndoLog   *log;

	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	log = choose_log(db);
	if (log != NULL)
	{
		log->owner = MyProcPid;
		Assert(pg_atomic_read_u64(&log->active) == 0);
	}
	LWLockRelease(zundo_db_lock(db));
	return log;
}

/*
 * The last page that was written since the newest extent was opened.  Its pages
 * are written in order, so it can be found by bisection.
 */
static void
find_insert_position(BlockNumber newest_extent)
{
	ZUndoPageSpecial first;
	uint16		end;
	int			written = 0;
	int			unwritten = ZUNDO_EXTENT_BLOCKS;

	read_extent(newest_extent, &first, &end);
	while (unwritten - written > 1)
	{
		int			middle = (written + unwritten) / 2;
		Buffer		buffer = zundo_page_lock(newest_extent + middle, BUFFER_LOCK_SHARE, 0);
		ZUndoPageSpecial *special = zundo_special(BufferGetPage(buffer));

		if (special->magic == ZUNDO_PAGE_MAGIC && special->generation == first.generation)
		{
			written = middle;
			end = zundo_page_end(BufferGetPage(buffer));
		}
		else
			unwritten = middle;
		UnlockReleaseBuffer(buffer);
	}
	MyUndo.block = newest_extent + written;
	MyUndo.offset = end;
	MyUndo.generation = first.generation;
}

/* We have entered: the tail that is seen now stays. */
static void
set_insert_position(ZUndoLog *log)
{
	BlockNumber newest_extent = *(volatile BlockNumber *) &log->newest_extent;

	MyUndo.init = false;
	MyUndo.recent = InvalidBuffer;
	MyUndo.block = InvalidBlockNumber;
	if (!BlockNumberIsValid(newest_extent))
		return;
	if (!BlockNumberIsValid(log->insert_block))
		find_insert_position(newest_extent);
	else if (zundo_extent_of(log->insert_block) == newest_extent)
	{
		MyUndo.block = log->insert_block;
		MyUndo.offset = log->insert_offset;
		MyUndo.generation = log->insert_generation;
	}
}

void
zundo_log_attach(void)
{
	ZUndoLog   *log = take_log();

	if (log == NULL)
	{
		zundo_state_shrink();
		log = take_log();
	}
	if (log == NULL)
		report_too_many_logs();

	/*
	 * From here on it is given back when we exit, whatever fails.  Without an
	 * insert position the log goes on in a new extent.
	 */
	MyUndo.log = log;
	MyUndo.block = InvalidBlockNumber;
	zundo_log_enter();
	set_insert_position(log);
}
