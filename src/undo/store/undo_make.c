/*
 * undo_make.c
 *		Make an undo relation's first pages, and copy its file.
 *
 * What is made here is not in use yet, or its undo is given up: no other backend reads or
 * writes it.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"

#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_wal.h"

#include "store_private.h"
#include "undo_state.h"

/*
 * Initialise some of the first pages, which are locked exclusively, with one WAL record.
 * Returns its end.
 */
static XLogRecPtr
init_pages(const Buffer *buffers, int n, const ZRecUndoInit *rec)
{
	XLogRecPtr	lsn;

	XLogEnsureRecordSpace(ZUNDO_MAP_OFFSET, 0);

	START_CRIT_SECTION();
	XLogBeginInsert();
	XLogRegisterData((char *) rec, sizeof(*rec));
	for (int i = 0; i < n; i++)
	{
		zundo_first_page_apply(BufferGetPage(buffers[i]), BufferGetBlockNumber(buffers[i]), rec);
		MarkBufferDirty(buffers[i]);
		XLogRegisterBuffer((uint8) BufferGetBlockNumber(buffers[i]), buffers[i],
						   REGBUF_STANDARD | REGBUF_WILL_INIT);
	}
	lsn = XLogInsert(ZHEAP_RMGR_ID, ZREC_UNDO_INIT);
	for (int i = 0; i < n; i++)
		PageSetLSN(BufferGetPage(buffers[i]), lsn);
	END_CRIT_SECTION();
	return lsn;
}

/*
 * The directory's pages are logged one by one, as all together are more than the smallest
 * server has buffers.  After an error or crash between them there are fewer logs than before.
 * The last record makes the extents free, and moves the horizon.
 */
XLogRecPtr
zundo_init_pages(Buffer (*lock_page) (BlockNumber block, const RelFileLocator *locator),
				 const RelFileLocator *locator, const ZRecUndoInit *rec)
{
	Buffer		last[2];
	XLogRecPtr	lsn;

	/* a new file grows in the order of its blocks */
	last[0] = lock_page(ZUNDO_META_BLOCK, locator);
	for (BlockNumber block = 1; block <= ZUNDO_DIR_PAGES; block++)
	{
		Buffer		buffer = lock_page(block, locator);

		(void) init_pages(&buffer, 1, rec);
		UnlockReleaseBuffer(buffer);
	}
	last[1] = lock_page(ZUNDO_MAP_OFFSET, locator);
	lsn = init_pages(last, lengthof(last), rec);
	for (int i = 0; i < (int) lengthof(last); i++)
		UnlockReleaseBuffer(last[i]);
	return lsn;
}

/*
 * Horizon of the relation that this transaction, or a subtransaction of it, has dropped;
 * invalid: none.
 */
static FullTransactionId dropped_horizon;

/* Read the horizon from the relation's meta page. */
void
zundo_note_dropped(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	Buffer		buffer;
	Page		page;

	/* if it is damaged the oldest possible horizon */
	dropped_horizon = FullTransactionIdFromEpochAndXid(0, FirstNormalTransactionId);
	if (RelationGetNumberOfBlocks(rel) > ZUNDO_META_BLOCK)
	{
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, ZUNDO_META_BLOCK, RBM_ZERO_ON_ERROR, NULL);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		if (zundo_page_is_sound(page, ZUNDO_META_BLOCK, ZUNDO_METAPAGE_MAGIC))
			dropped_horizon = zundo_meta(page)->horizon;
		UnlockReleaseBuffer(buffer);
	}
	relation_close(rel, NoLock);
}

void
zundo_forget_dropped(void)
{
	dropped_horizon = InvalidFullTransactionId;
}

/* Extend the file by one page, which becomes "block", and return it locked exclusively. */
static Buffer
add_first_page(BlockNumber block, const RelFileLocator *locator)
{
	Buffer		buffer = zcompat_extend_locked(*locator);

	Assert(BufferGetBlockNumber(buffer) == block);
	return buffer;
}

/*
 * The first horizon is the oldest xid that runs now: zheap pages of this database have not been
 * written yet, or only by that xid or later ones.  But if another undo relation was dropped
 * just now its horizon must not have moved if the drop is rolled back (H4).
 */
void
zundo_storage_create(RelFileLocator locator)
{
	ZRecUndoInit rec;

	memset(&rec, 0, sizeof(rec));
	rec.horizon = zfxid_from_xid(GetOldestTransactionIdConsideredRunning());
	if (FullTransactionIdIsValid(dropped_horizon))
		rec.horizon = zundo_older(rec.horizon, dropped_horizon);
	rec.high_water = ZUNDO_EXTENT_BLOCKS;
	(void) zundo_init_pages(add_first_page, &locator, &rec);
}

/*
 * Log all pages even if wal_level = minimal would allow to skip it: the replay of
 * zundo_storage_create() wipes the first pages.
 */
void
zundo_storage_copy(Relation from, Relation to)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(from);
	BlockNumber have = RelationGetNumberOfBlocks(to);

	for (BlockNumber block = 0; block < nblocks; block++)
	{
		Buffer		source = ReadBuffer(from, block);
		Buffer		target = ReadBuffer(to, block < have ? block : P_NEW);

		CHECK_FOR_INTERRUPTS();
		Assert(BufferGetBlockNumber(target) == block);
		LockBuffer(source, BUFFER_LOCK_SHARE);
		LockBuffer(target, BUFFER_LOCK_EXCLUSIVE);
		/* a page that was never written has no records */
		if (!PageIsNew(BufferGetPage(source)))
		{
			START_CRIT_SECTION();
			memcpy(BufferGetPage(target), BufferGetPage(source), BLCKSZ);
			MarkBufferDirty(target);
			log_newpage_buffer(target, true);
			END_CRIT_SECTION();
		}
		UnlockReleaseBuffer(target);
		UnlockReleaseBuffer(source);
	}
}
