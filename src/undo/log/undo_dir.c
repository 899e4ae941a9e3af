/*
 * undo_dir.c
 *		Pages of the log directory: lock them to be changed; make damaged ones anew.
 *
 * What a page has of a log, its oldest and its newest extent, shared memory has as well once
 * the logs are loaded: both are changed under the same lock.  So a page that is found damaged
 * after that is written again, without an error.  This is not possible for one that was damaged
 * when the logs were loaded (lose_directory): its contents are known nowhere.
 *
 * LOCKING: the database's lock, exclusively.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/* Write the page again from shared memory, WAL-logged.  It is locked exclusively. */
static void
make_anew(Buffer buffer, BlockNumber block)
{
	Page		page = BufferGetPage(buffer);
	ZUndoLog   *log = NULL;

	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("directory of undo relation \"%s\" is damaged in block %u and is written again",
					RelationGetRelationName(zundo_relation()), block),
			 errdetail("No undo is lost.")));
	START_CRIT_SECTION();
	zundo_dir_init_apply(page, block);
	while ((log = zundo_log_next(MyUndo.db, log)) != NULL)
	{
		if (zundo_dir_block(log->number) == block)
			zundo_dir_apply(page, log->number, log->oldest_extent, log->newest_extent);
	}
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
}

/* A page that fails the server's verification is one of zeros here. */
Buffer
zundo_dir_lock(uint32 number)
{
	BlockNumber block = zundo_dir_block(number);
	Buffer		buffer = ReadBufferExtended(zundo_relation(), MAIN_FORKNUM, block,
											RBM_ZERO_ON_ERROR, NULL);

	Assert(LWLockHeldByMeInMode(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE));
	Assert(MyUndo.db->loaded && !zundo_dir_is_lost(MyUndo.db, number));
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (unlikely(!zundo_page_is_sound(BufferGetPage(buffer), block, ZUNDO_DIR_MAGIC) ||
				 !zundo_page_lsn_is_sound(BufferGetPage(buffer))))
		make_anew(buffer, block);
	return buffer;
}

void
zundo_dir_check(void)
{
	ZUndoDb    *db = zundo_open_loaded();

	for (uint32 number = 0; number < ZUNDO_MAX_LOGS; number += ZUNDO_DIR_ENTRIES)
	{
		LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
		if (!zundo_dir_is_lost(db, number))
			UnlockReleaseBuffer(zundo_dir_lock(number));
		LWLockRelease(zundo_db_lock(db));
	}
}
