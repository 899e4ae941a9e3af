/*
 * undo_log.c
 *		Become the owner of a log; read the directory after a restart.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "keep_private.h"

/* ---- the directory ---- */

/*
 * Copy the special area, and the end, of an extent's first page.  Returns false if the page is
 * damaged, or no extent begins there.
 */
static bool
read_extent(BlockNumber extent, ZUndoPageSpecial *special, uint16 *end)
{
	PGAlignedBlock copy;

	if (extent < ZUNDO_EXTENT_BLOCKS || extent % ZUNDO_EXTENT_BLOCKS != 0 ||
		extent >= pg_atomic_read_u32(&MyUndo.db->nblocks) ||
		!zundo_page_copy(extent, ZUNDO_PAGE_MAGIC, copy.data))
		return false;
	*special = *zundo_special(copy.data);
	*end = zundo_page_end(copy.data);
	return true;
}

static void
report_bad_log(uint32 number, BlockNumber block)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("undo log %u is damaged in relation \"%s\", block %u", number,
					RelationGetRelationName(zundo_relation()), block),
			 errdetail("No session writes to this log any more."),
			 errhint("Run VACUUM on the undo relation to roll back the aborted transactions of this log.")));
}

void
zundo_log_lose(ZUndoLog *log, BlockNumber block)
{
	report_bad_log(log->number, block);
	log->sealed = log->lost = true;
}

/*
 * Lose a log while it is loaded: one end of its chain cannot be found.  It is pending, and a
 * sweep goes as far as it can, from this extent on.
 */
static void
lose_loaded(ZUndoLog *log, BlockNumber from)
{
	ZUndoPageSpecial special;
	uint16		end;

	zundo_log_lose(log, from);
	if (!read_extent(from, &special, &end))
		special.generation = 1;
	if (from < ZUNDO_EXTENT_BLOCKS || from >= pg_atomic_read_u32(&MyUndo.db->nblocks))
		from = ZUNDO_EXTENT_BLOCKS;
	/* no record begins there, so a sweep will find an error */
	zundo_log_mark_pending(log, zundo_ptr_make(from, special.generation, ZUNDO_PAGE_END - 1), 0,
						   zundo_db_horizon(MyUndo.db));
}

/*
 * Load a log.  Which of its transactions aborted is not known yet, so all of it is pending,
 * from its oldest extent on.  Only that extent and the newest one are read: there may be very
 * many.  Returns false if there is no room for the log.
 */
static bool
load_log(uint32 number, const ZUndoDirEntry *entry)
{
	ZUndoLog   *log = zundo_log_add(MyUndo.db, number);
	ZUndoPageSpecial newest;
	ZUndoPageSpecial oldest;
	bool		one = entry->oldest_extent == entry->newest_extent;
	uint16		end;

	if (log == NULL)
		return false;
	log->oldest_extent = entry->oldest_extent;
	log->newest_extent = entry->newest_extent;
	if (!read_extent(entry->newest_extent, &newest, &end) ||
		!read_extent(entry->oldest_extent, &oldest, &end) ||
		FullTransactionIdIsValid(oldest.closed) == one)
	{
		lose_loaded(log, entry->oldest_extent);
		return true;
	}
	if (!one)
	{
		log->oldest_next = oldest.next;
		log->oldest_closed = oldest.closed;
	}
	if (!one || end > ZUNDO_PAGE_START)
	{
		ZUndoPtr	from = zundo_ptr_make(entry->oldest_extent, oldest.generation,
										  ZUNDO_PAGE_START);

		zundo_log_mark_pending(log, from, 0, zundo_db_horizon(MyUndo.db));
	}
	return true;
}

/*
 * Load the logs of a damaged directory page as one lost log; no other log may have one of their
 * numbers.  Returns false if there is no room for it.
 */
static bool
lose_directory(int page)
{
	ZUndoLog   *log = zundo_log_add(MyUndo.db, page * ZUNDO_DIR_ENTRIES);

	if (log == NULL)
		return false;
	MyUndo.db->lost_dirs |= 1 << page;
	lose_loaded(log, 1 + page);
	return true;
}

/* Load all logs of the directory.  Returns false if there is no room for one of them. */
static bool
load_directory(void)
{
	for (int i = 0; i < ZUNDO_DIR_PAGES; i++)
	{
		PGAlignedBlock copy;

		if (!zundo_page_copy(1 + i, ZUNDO_DIR_MAGIC, copy.data))
		{
			if (!lose_directory(i))
				return false;
			continue;
		}
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

/*
 * Load the database's state, unless that is done.  Returns false if there is no room for all
 * logs.  Takes the database's lock, exclusively.
 */
static bool
load(void)
{
	ZUndoMeta	meta;
	bool		done = true;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	if (!MyUndo.db->loaded)
	{
		/* left by an earlier attempt that failed */
		zundo_logs_drop(MyUndo.db);
		zundo_meta_read(&meta);
		/* the first page of each extent is in the WAL, the others may be lost */
		if (meta.nblocks % ZUNDO_EXTENT_BLOCKS != 0 ||
			meta.nblocks / ZUNDO_EXTENT_BLOCKS >
			RelationGetNumberOfBlocks(zundo_relation()) / ZUNDO_EXTENT_BLOCKS + 2)
			zheap_corrupt(zundo_relation(), ZUNDO_META_BLOCK, InvalidOffsetNumber,
						  "undo relation cannot have %u blocks", meta.nblocks);
		zundo_horizon_raise(&MyUndo.db->horizon, meta.horizon);
		zundo_horizon_raise(&MyUndo.db->logged_horizon, meta.horizon);
		/* a crash may have lost pages that were not written yet */
		zundo_extend_to(meta.nblocks);
		pg_atomic_write_u32(&MyUndo.db->nblocks, meta.nblocks);
		MyUndo.db->free_extents = meta.free_count;
		MyUndo.db->free_hint = 0;
		MyUndo.db->peak = zundo_extents_used(MyUndo.db);
		zundo_marks_begin(MyUndo.db);
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

ZUndoDb *
zundo_open_loaded(void)
{
	Assert(!RecoveryInProgress());
	zundo_open();
	if (MyUndo.db->loaded || load())
		return MyUndo.db;
	zundo_state_shrink();
	if (!load())
		report_too_many_logs();
	return MyUndo.db;
}

/* ---- a log of one's own ---- */

/*
 * Add a log with the lowest unused number; NULL if the pool is empty.  The database is locked
 * exclusively.  ERROR (program_limit_exceeded) if all numbers are used.
 */
static ZUndoLog *
new_log(ZUndoDb *db)
{
	static bool used[ZUNDO_MAX_LOGS];
	ZUndoLog   *log = NULL;
	uint32		number = 0;

	memset(used, 0, sizeof(used));
	while ((log = zundo_log_next(db, log)) != NULL)
		used[log->number] = true;
	while (number < ZUNDO_MAX_LOGS &&
		   (used[number] || zundo_dir_is_lost(db, number)))
		number++;
	if (number >= ZUNDO_MAX_LOGS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("undo relation cannot have more than %d logs", ZUNDO_MAX_LOGS)));
	return zundo_log_add(db, number);
}

/*
 * Choose a log without an owner, or add one; NULL if there is no room.  The lowest number comes
 * first: its pages are hot.
 */
static ZUndoLog *
choose_log(ZUndoDb *db)
{
	ZUndoLog   *log = NULL;
	ZUndoLog   *best = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->owner == 0 && !log->sealed && (best == NULL || log->number < best->number))
			best = log;
	}
	return best != NULL ? best : new_log(db);
}

/*
 * Become the owner of a log; NULL if there is no room.  Takes the database's lock, exclusively.
 */
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

typedef enum TailPage
{
	TAIL_WRITTEN,				/* since the extent was opened */
	TAIL_UNWRITTEN,
	TAIL_DAMAGED
} TailPage;

/* Return the state of a page of the newest extent, and the end of a written one. */
static TailPage
look_at_tail(BlockNumber block, uint16 generation, uint16 *end)
{
	PGAlignedBlock copy;
	ZUndoPageSpecial *special = zundo_special(copy.data);

	if (!zundo_page_copy(block, ZUNDO_PAGE_MAGIC, copy.data))
		return PageIsNew(copy.data) && !zundo_is_unreadable(block) ? TAIL_UNWRITTEN : TAIL_DAMAGED;
	/* older, however old: pages that were not reached keep their generation (U6) */
	if (special->generation != generation)
		return TAIL_UNWRITTEN;
	*end = zundo_page_end(copy.data);
	return TAIL_WRITTEN;
}

/*
 * Find the last page that was written since the newest extent was opened; its pages are written
 * in order.  Returns false if one of them is damaged: records that others have pointers to
 * could be overwritten.
 */
static bool
find_insert_position(BlockNumber newest_extent)
{
	ZUndoPageSpecial first;
	TailPage	before = TAIL_WRITTEN;
	uint16		end;

	if (!read_extent(newest_extent, &first, &end))
		return false;
	for (int i = 0; i < ZUNDO_EXTENT_BLOCKS; i++)
	{
		TailPage	state = look_at_tail(newest_extent + i, first.generation, &end);

		if (state == TAIL_DAMAGED || (state == TAIL_WRITTEN && before != TAIL_WRITTEN))
			return false;
		if (state == TAIL_WRITTEN)
			MyUndo.block = newest_extent + i;
		before = state;
	}
	MyUndo.offset = end;
	MyUndo.generation = first.generation;
	return true;
}

/*
 * Set the insert position from the log's entry, or find it.  We have entered, so the tail stays
 * ours.  Returns false if the tail is damaged.
 */
static bool
set_insert_position(ZUndoLog *log)
{
	BlockNumber newest_extent = zundo_owner_newest_extent(log);

	MyUndo.init = false;
	MyUndo.recent = InvalidBuffer;
	MyUndo.block = InvalidBlockNumber;
	if (!BlockNumberIsValid(newest_extent))
		return true;
	if (!BlockNumberIsValid(log->insert_block))
		return find_insert_position(newest_extent);
	if (zundo_extent_of(log->insert_block) == newest_extent)
	{
		MyUndo.block = log->insert_block;
		MyUndo.offset = log->insert_offset;
		MyUndo.generation = log->insert_generation;
	}
	return true;
}

/* The log was sealed while we were its owner. */
void
zundo_log_leave(void)
{
	ZUndoLog   *log = MyUndo.log;

	Assert(!MyUndo.entered);
	MyUndo.log = NULL;
	MyUndo.block = InvalidBlockNumber;
	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	log->insert_block = InvalidBlockNumber;
	log->owner = 0;
	LWLockRelease(zundo_db_lock(MyUndo.db));
}

/*
 * Disown our log, and seal it if its end could not be found: then nothing may be appended, for
 * its last extent must not be left before its end is known, as readers would take that for the
 * end of the log.  What it holds is freed as that of any log without an owner.
 */
static void
disown_log(bool seal)
{
	ZUndoLog   *log = MyUndo.log;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	if (seal)
		log->sealed = true;
	log->insert_block = InvalidBlockNumber;
	zundo_owner_leave();
	log->owner = 0;
	LWLockRelease(zundo_db_lock(MyUndo.db));
	MyUndo.log = NULL;
	MyUndo.block = InvalidBlockNumber;
}

void
zundo_log_seal(void)
{
	Assert(MyUndo.entered);
	report_bad_log(MyUndo.log->number, MyUndo.log->newest_extent);
	disown_log(true);
}

/* Become the owner of a log and enter.  ERROR (out_of_memory) if there is no room. */
static void
own_log(void)
{
	ZUndoLog   *log = take_log();

	if (log == NULL)
	{
		zundo_state_shrink();
		log = take_log();
	}
	if (log == NULL)
		report_too_many_logs();

	/* from here on it is given back when we exit, even after an error */
	MyUndo.log = log;
	MyUndo.block = InvalidBlockNumber;
	zundo_reference_forget();
	zundo_log_enter();
}

void
zundo_log_attach(void)
{
	bool		found = false;

	while (!found)
	{
		own_log();
		PG_TRY();
		{
			found = set_insert_position(MyUndo.log);
			if (!found)
				report_bad_log(MyUndo.log->number, MyUndo.log->newest_extent);
		}
		PG_CATCH();
		{
			/* this may be a cancelled statement, which says nothing about the log */
			disown_log(false);
			PG_RE_THROW();
		}
		PG_END_TRY();
		if (!found)
			disown_log(true);
	}
}
