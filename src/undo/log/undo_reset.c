/*
 * undo_reset.c
 *		Give up undo that cannot be read.
 *
 * A log that is lost, or all logs of a directory page, are removed when VACUUM has found that
 * the tables need nothing of them (rollback_all_tables.c).  It is not known then which extents
 * they had: these stay in use.  Snapshots may still read there.
 *
 * If that does not help the relation is made anew: meta page, directory and map as in a new
 * one, and the rest is truncated away.  Nothing in it may be needed then.
 *
 * LOCKING: the database's lock, exclusively.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/storage.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/* ---- lost logs ---- */

/* Return a lost log without owner, pending undo and pins; NULL if there is none. */
static ZUndoLog *
find_droppable(ZUndoDb *db)
{
	ZUndoLog   *log = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->lost && log->owner == 0 && !FullTransactionIdIsValid(zundo_log_active(log)) &&
			!zundo_log_is_pending(log) && !zundo_log_has_pins(log))
			return log;
	}
	return NULL;
}

/* Clear the log's entry, or all of its directory page if that could not be read.  WAL-logged. */
static void
strike_out(ZUndoDb *db, uint32 number)
{
	BlockNumber block = zundo_dir_block(number);
	bool		whole = zundo_dir_is_lost(db, number);
	Buffer		buffer = whole ? zundo_page_lock_new(block) : zundo_dir_lock(number);

	START_CRIT_SECTION();
	if (whole)
		zundo_dir_init_apply(BufferGetPage(buffer), block);
	else
		zundo_dir_apply(BufferGetPage(buffer), number, InvalidBlockNumber, InvalidBlockNumber);
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	db->lost_dirs &= ~(1 << number / ZUNDO_DIR_ENTRIES);
}

void
zundo_drop_lost(void)
{
	ZUndoDb    *db;
	ZUndoLog   *log;

	zundo_open();
	db = MyUndo.db;
	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	while (db->loaded && (log = find_droppable(db)) != NULL)
	{
		uint32		number = log->number;

		strike_out(db, number);
		log->oldest_extent = log->newest_extent = InvalidBlockNumber;
		zundo_log_remove(db, log);
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("undo log %u of relation \"%s\" is damaged and was given up", number,
						RelationGetRelationName(zundo_relation())),
				 errdetail("No table needs its undo.  Its space is not reused."),
				 errhint("Call zheap.zheap_undo_skip(true) to rebuild the undo relation without it.")));
	}
	LWLockRelease(zundo_db_lock(db));
}

/* ---- all of them ---- */

/*
 * Set the new values.  The generation is the newest one of the meta page and the first pages of
 * extents, as far as they can be read.  ERROR (query_canceled).
 */
static void
plan_reset(ZRecUndoInit *rec, FullTransactionId horizon)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(zundo_relation());
	bool		known = false;
	ZUndoMeta	meta;
	ZUndoPageSpecial special;

	memset(rec, 0, sizeof(*rec));
	rec->horizon = horizon;
	rec->conflict = zfxid_xid(horizon);
	rec->high_water = Max(nblocks, ZUNDO_EXTENT_BLOCKS);
	if (zundo_meta_try(&meta))
	{
		rec->generation = meta.generation;
		rec->high_water = Max(rec->high_water, meta.high_water);
		known = true;
	}
	for (BlockNumber block = ZUNDO_EXTENT_BLOCKS; block < nblocks; block += ZUNDO_EXTENT_BLOCKS)
	{
		CHECK_FOR_INTERRUPTS();
		if (!zundo_read_special(block, &special))
			continue;
		rec->generation = known ? zundo_newer_generation(rec->generation, special.generation) :
			special.generation;
		known = true;
	}
}

/*
 * Forget all logs.  Other backends notice when they open the relation next: it is locked
 * against them.  After an error before all pages are made anew, the logs that the pages then
 * have are loaded.
 */
static void
forget_logs(ZUndoDb *db)
{
	zundo_logs_drop(db);
	db->incarnation++;
	MyUndo.incarnation = db->incarnation;
	MyUndo.log = NULL;
	MyUndo.block = InvalidBlockNumber;
}

/* Set the database's state to that of an empty relation with this horizon. */
static void
forget_all(ZUndoDb *db, FullTransactionId horizon)
{
	db->truncations++;
	db->free_extents = 0;
	db->free_hint = 0;
	db->peak = 0;
	zundo_horizon_raise(&db->released, horizon);
	zundo_horizon_raise(&db->horizon, horizon);
	zundo_horizon_raise(&db->logged_horizon, horizon);
	MyUndo.truncations = db->truncations;
}

static Buffer
lock_first_page(BlockNumber block, const RelFileLocator *locator)
{
	return zundo_page_lock_new(block);
}

void
zundo_reset(FullTransactionId horizon)
{
	ZUndoDb    *db = MyUndo.db;
	ZRecUndoInit rec;
	XLogRecPtr	lsn;

	Assert(!MyUndo.entered && MyUndo.first == ZUNDO_INVALID);
	plan_reset(&rec, horizon);
	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	zundo_extend_to(ZUNDO_EXTENT_BLOCKS);
	forget_logs(db);
	LWLockAcquire(zundo_truncate_lock(db), LW_EXCLUSIVE);
	lsn = zundo_init_pages(lock_first_page, NULL, &rec);
	pg_atomic_write_u32(&db->nblocks, ZUNDO_EXTENT_BLOCKS);
	LWLockRelease(zundo_truncate_lock(db));
	forget_all(db, horizon);

	/* as in undo_truncate.c */
	XLogFlush(lsn);
	smgrclose(RelationGetSmgr(zundo_relation()));
	RelationTruncate(zundo_relation(), ZUNDO_EXTENT_BLOCKS);
	LWLockRelease(zundo_db_lock(db));
}

bool
zundo_is_writing(void)
{
	return MyUndo.entered;
}
