/*
 * undo_reference.c
 *		Whether a WAL record names the place in undo that it appends to.
 *
 * A block reference takes 20 bytes, a quarter of the record of a small change, and the offset
 * and generation there 4.  A log's records come from one backend, in order, so replay can know
 * where the log ends: the record that names the place names the log too, and those that follow in
 * the log name the log alone (W3, record/README.md).
 *
 * LOCKING: the undo page is locked exclusively from before zundo_name() to after
 * zundo_logged(), both in one critical section.  In between the transaction may keep a
 * checkpoint that has begun from writing pages, for as long as it inserts one or two WAL
 * records.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/hsearch.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"

#include "store_private.h"
#include "undo_state.h"

/* ---- the backend ---- */

/* The page that was named last by a WAL record of our log. */
static struct
{
	RelFileLocator locator;
	BlockNumber block;
	uint16		generation;
	XLogRecPtr	lsn;			/* end of that record */
}			named = {.block = InvalidBlockNumber};

void
zundo_reference_set(BlockNumber block, uint16 generation, XLogRecPtr lsn)
{
	named.locator = zundo_relation()->rd_locator;
	named.block = block;
	named.generation = generation;
	named.lsn = lsn;
}

void
zundo_reference_forget(void)
{
	named.block = InvalidBlockNumber;
}

/* Return whether the page is the one that was named last.  A checkpoint may have begun since. */
static bool
is_named(const ZUndoWrite *write)
{
	return !write->init && named.block == MyUndo.block &&
		named.generation == write->generation &&
		RelFileLocatorEquals(named.locator, zundo_relation()->rd_locator);
}

/* Return whether wal_consistency_checking compares our pages: then each record names them. */
static bool
is_compared(void)
{
	return wal_consistency_checking != NULL && wal_consistency_checking[ZHEAP_RMGR_ID];
}

/*
 * Delay checkpoints, and return true, if none has begun since the page was named: replay that
 * comes to our record has then read the one that names it.  A checkpoint that begins now waits
 * for us before it writes pages: our flag is set before we look.
 *
 * GetRedoRecPtr() reports the begin of a checkpoint a little later than records are inserted
 * after it.  Such a record may already have brought an image of our table page, and ours would
 * bring none.  The backend that inserted it has published the redo pointer (zundo_note_redo)
 * before it unlocked the page.
 */
static bool
hold_checkpoint(void)
{
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	/* takes a spinlock: a checkpointer that sets a later one sees the flag afterwards */
	if (GetRedoRecPtr() < named.lsn && pg_atomic_read_u64(zundo_shared_redo()) < named.lsn)
		return true;
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	return false;
}

void
zundo_note_redo(void)
{
	static XLogRecPtr noted = InvalidXLogRecPtr;	/* by this backend; it only grows */
	XLogRecPtr	redo;
	bool		images;

	/* XLogInsert has updated it for our record */
	GetFullPageWriteInfo(&redo, &images);
	if (unlikely(redo != noted))
	{
		pg_atomic_uint64 *newest = zundo_shared_redo();
		uint64		old = pg_atomic_read_u64(newest);

		while (old < redo && !pg_atomic_compare_exchange_u64(newest, &old, redo))
			;
		noted = redo;
	}
}

void
zundo_name(ZUndoWrite *write, bool may_omit)
{
	Assert(CritSectionCount > 0 && zheap_buffer_is_exclusive(write->buffer));
	write->omitted = may_omit && is_named(write) && !is_compared() && hold_checkpoint();
}

void
zundo_register(ZUndoWrite *write, uint8 block_id)
{
	if (!write->omitted)
		XLogRegisterBuffer(block_id, write->buffer,
						   REGBUF_STANDARD | (write->init ? REGBUF_WILL_INIT : 0));
}

/*
 * Log an image of the page, as a checkpoint has begun between our look and our record: replay
 * from there does not know the log.  It need not know it for our record, as the checkpoint
 * writes the change once we let it go on.  But the next record finds a page that is newer than
 * the checkpoint's begin, and would bring no image.
 */
static void
log_image(Buffer buffer)
{
	log_newpage_buffer(buffer, true);
	zundo_reference_forget();
}

/*
 * Note the page if the record named it.  If not, end the delay of checkpoints, with an image if
 * one has begun meanwhile.
 */
void
zundo_logged(ZUndoWrite *write, XLogRecPtr lsn)
{
	XLogRecPtr	redo;
	bool		images;

	Assert(CritSectionCount > 0 && zheap_buffer_is_exclusive(write->buffer));
	PageSetLSN(BufferGetPage(write->buffer), lsn);
	MyUndo.lsn = lsn;
	if (!write->omitted)
	{
		zundo_reference_set(zundo_ptr_block(write->ptr), write->generation, lsn);
		return;
	}
	/* XLogInsert has updated it for our record */
	GetFullPageWriteInfo(&redo, &images);
	if (unlikely(redo >= named.lsn))
		log_image(write->buffer);
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
}

/* ---- replay ---- */

typedef struct LogKey			/* tidy: in memory only */
{
	Oid			dboid;
	uint32		number;
} LogKey;

typedef struct LogEnd			/* tidy: in memory only */
{
	LogKey		key;
	ZUndoAppend end;
} LogEnd;

/* Number of entries from which those of dropped databases are searched for. */
#define MIN_ENDS		256

/*
 * The ends of the logs that records have named since replay began; each record that appends
 * moves its log's.  NULL in other processes.
 */
static HTAB *ends = NULL;

static bool
database_exists(const RelFileLocator *locator)
{
	char	   *path = GetDatabasePath(locator->dbOid, locator->spcOid);
	struct stat st;
	bool		gone = stat(path, &st) != 0 && errno == ENOENT;

	pfree(path);
	return !gone;
}

/*
 * Remove the entries of dropped databases when the table has doubled.  Replay of DROP DATABASE
 * calls no hook, but has removed the directory.  A record that names a page of a database that
 * is made anew, or that comes back into the directory, makes the entry again.
 */
static void
forget_dropped_databases(void)
{
	static long enough = MIN_ENDS;
	HASH_SEQ_STATUS status;
	LogEnd	   *end;

	if (hash_get_num_entries(ends) < enough)
		return;
	hash_seq_init(&status, ends);
	while ((end = hash_seq_search(&status)) != NULL)
	{
		if (!database_exists(&end->end.locator))
			(void) hash_search(ends, &end->key, HASH_REMOVE, NULL);
	}
	enough = Max(2 * hash_get_num_entries(ends), MIN_ENDS);
}

void
zundo_replay_end_set(const ZUndoAppend *end)
{
	LogKey		key = {end->locator.dbOid, end->log};
	LogEnd	   *entry;

	if (ends == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(LogKey), .entrysize = sizeof(LogEnd)};

		ends = hash_create("ends of zheap undo logs", MIN_ENDS, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	forget_dropped_databases();
	entry = hash_search(ends, &key, HASH_ENTER, NULL);
	entry->end = *end;
}

bool
zundo_replay_end(Oid dboid, ZUndoAppend *end)
{
	LogKey		key = {dboid, end->log};
	LogEnd	   *entry = ends ? hash_search(ends, &key, HASH_FIND, NULL) : NULL;

	if (entry == NULL)
		return false;
	end->locator = entry->end.locator;
	end->block = entry->end.block;
	end->offset = entry->end.offset;
	end->generation = entry->end.generation;
	return true;
}
