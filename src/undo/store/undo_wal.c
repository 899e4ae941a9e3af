/*
 * undo_wal.c
 *		The undo layer's own WAL records: insertion, replay and description; and replay of an
 *		append, which is part of other layers' records.
 *
 * The structs are in undo_format.h.  Replay changes pages by the same _apply functions as the
 * operations themselves, so it gives the same bytes (W1).
 */
#include "postgres.h"

#include "access/bufmask.h"
#include "access/transam.h"
#include "access/xloginsert.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "zheap/base/redo.h"
#include "zheap/undo/undo_wal.h"
#include "zheap/undo/undo_write.h"

#include "store_private.h"
#include "undo_state.h"

/* ---- inserting them ---- */

XLogRecPtr
zundo_emit(uint8 opcode, const void *rec, Size len, const Buffer *pages, int n, uint32 init)
{
	XLogRecPtr	lsn;

	XLogBeginInsert();
	XLogRegisterData((char *) rec, len);
	for (int i = 0; i < n; i++)
	{
		if (!BufferIsValid(pages[i]))
			continue;
		MarkBufferDirty(pages[i]);
		XLogRegisterBuffer(i, pages[i],
						   REGBUF_STANDARD | (init & (1 << i) ? REGBUF_WILL_INIT : 0));
	}
	lsn = XLogInsert(ZHEAP_RMGR_ID, opcode);
	for (int i = 0; i < n; i++)
	{
		if (BufferIsValid(pages[i]))
			PageSetLSN(BufferGetPage(pages[i]), lsn);
	}
	return lsn;
}

void
zundo_unlock_pages(const Buffer *pages, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (BufferIsValid(pages[i]))
			UnlockReleaseBuffer(pages[i]);
	}
}

/* ---- what replay has in common ---- */

/*
 * Move the horizon: from now on all xids below it are visible to all.  First cancel snapshots
 * that see some of them otherwise, and those with an xmin up to "conflict", which may go with
 * copies of pages from before rows were rolled back; then publish it to readers.  Pages are
 * changed afterwards.
 */
static void
redo_horizon(XLogReaderState *record, FullTransactionId horizon, TransactionId conflict)
{
	RelFileLocator locator;
	BlockNumber block;

	XLogRecGetBlockTag(record, 0, &locator, NULL, &block);
	if (!zundo_redo_horizon_is_new(locator.dbOid, horizon))
		return;
	if (InHotStandby)
	{
		FullTransactionId newest = horizon;

		FullTransactionIdRetreat(&newest);
		if (TransactionIdIsValid(conflict))
			ResolveRecoveryConflictWithSnapshot(conflict, false, locator);
		else
			ResolveRecoveryConflictWithSnapshotFullXid(newest, false, locator);
	}
	zundo_redo_horizon_set(locator.dbOid, horizon);
}

/*
 * Publish the horizon once more, now that the meta page has it, too.  The database's first
 * backend may have dropped what redo_horizon() has published, and learnt the horizon from the
 * page as it was.
 */
static void
tell_horizon_again(XLogReaderState *record, FullTransactionId horizon)
{
	RelFileLocator locator;

	XLogRecGetBlockTag(record, 0, &locator, NULL, NULL);
	zundo_redo_horizon_set(locator.dbOid, horizon);
}

static void
redo_meta(XLogReaderState *record, uint8 block_id, const ZUndoMetaValues *values)
{
	Buffer		buffer;
	Page		page = zredo_page(record, block_id, &buffer);
	RelFileLocator locator;

	if (page != NULL)
		zundo_meta_apply(page, values);
	zredo_done(record, page, buffer);
	tell_horizon_again(record, values->horizon);
	XLogRecGetBlockTag(record, block_id, &locator, NULL, NULL);
	zundo_redo_nblocks_set(locator.dbOid, values->nblocks);
}

static void
redo_map(XLogReaderState *record, uint8 block_id, uint32 first, uint32 count, bool is_free)
{
	Buffer		buffer;
	Page		page = zredo_page(record, block_id, &buffer);
	BlockNumber block;

	XLogRecGetBlockTag(record, block_id, NULL, NULL, &block);
	if (page != NULL)
		zundo_map_apply(page, block, first, count, is_free);
	zredo_done(record, page, buffer);
}

static void
redo_new_map(XLogReaderState *record, uint8 block_id)
{
	Buffer		buffer;
	Page		page = zredo_new_page(record, block_id, &buffer);
	BlockNumber block;

	XLogRecGetBlockTag(record, block_id, NULL, NULL, &block);
	zundo_map_init_apply(page, block);
	zredo_done(record, page, buffer);
}

/* ---- one by one ---- */

/* Change the pages in the order of the block references, after the horizon has been moved. */
void
zundo_extent_redo(XLogReaderState *record)
{
	const ZRecUndoExtent *rec = (const ZRecUndoExtent *) XLogRecGetData(record);
	ZUndoAppend end = {
		.log = rec->log, .offset = ZUNDO_PAGE_START, .generation = rec->generation
	};
	BlockNumber extent;
	BlockNumber closed;
	Buffer		buffer;
	Page		page;

	XLogRecGetBlockTag(record, ZEXTENT_FIRST, &end.locator, NULL, &extent);
	end.block = extent;
	redo_horizon(record, rec->meta.horizon, rec->meta.conflict);

	page = zredo_new_page(record, ZEXTENT_FIRST, &buffer);
	zundo_page_init_apply(page, extent, rec->generation);
	zredo_done(record, page, buffer);
	zundo_replay_end_set(&end);
	if (XLogRecHasBlockRef(record, ZEXTENT_CLOSED))
	{
		XLogRecGetBlockTag(record, ZEXTENT_CLOSED, NULL, NULL, &closed);
		page = zredo_page(record, ZEXTENT_CLOSED, &buffer);
		if (page != NULL)
			zundo_extent_close_apply(page, closed, extent, rec->closed);
		zredo_done(record, page, buffer);
	}
	page = zredo_page(record, ZEXTENT_DIR, &buffer);
	if (page != NULL)
		zundo_dir_apply(page, rec->log, rec->oldest_extent, extent);
	zredo_done(record, page, buffer);
	if (XLogRecHasBlockRef(record, ZEXTENT_META))
		redo_meta(record, ZEXTENT_META, &rec->meta);
	if (rec->map_init)
		redo_new_map(record, ZEXTENT_MAP);
	else if (XLogRecHasBlockRef(record, ZEXTENT_MAP))
		redo_map(record, ZEXTENT_MAP, zundo_map_bit(extent), 1, false);
}

void
zundo_free_redo(XLogReaderState *record)
{
	const ZRecUndoFree *rec = (const ZRecUndoFree *) XLogRecGetData(record);
	Buffer		buffer;
	Page		page;

	redo_horizon(record, rec->meta.horizon, rec->meta.conflict);

	redo_meta(record, ZFREE_META, &rec->meta);
	page = zredo_page(record, ZFREE_DIR, &buffer);
	if (page != NULL)
		zundo_dir_apply(page, rec->log, rec->oldest_extent, rec->newest_extent);
	zredo_done(record, page, buffer);
	redo_map(record, ZFREE_MAP, zundo_map_bit(rec->extent), 1, true);
}

/*
 * The file itself is truncated by the server's record that follows.  By then no reader looks
 * for a page there (zundo_redo_nblocks_set).
 */
void
zundo_truncate_redo(XLogReaderState *record)
{
	const ZRecUndoTruncate *rec = (const ZRecUndoTruncate *) XLogRecGetData(record);

	redo_meta(record, 0, &rec->meta);
	if (XLogRecHasBlockRef(record, 1))
		redo_map(record, 1, zundo_map_bit(rec->meta.nblocks),
				 (rec->old_nblocks - rec->meta.nblocks) / ZUNDO_EXTENT_BLOCKS, false);
}

void
zundo_horizon_redo(XLogReaderState *record)
{
	const ZRecUndoHorizon *rec = (const ZRecUndoHorizon *) XLogRecGetData(record);
	Buffer		buffer;
	Page		page;

	redo_horizon(record, rec->horizon, rec->conflict);
	page = zredo_page(record, 0, &buffer);
	if (page != NULL)
		zundo_horizon_apply(page, rec->horizon);
	zredo_done(record, page, buffer);
	tell_horizon_again(record, rec->horizon);
}

/*
 * Move the horizon if undo was given up.  With a new relation the database's horizon stays: the
 * relation may be about to become a copy of another one (VACUUM FULL).
 */
static void
redo_meta_init(XLogReaderState *record, const ZRecUndoInit *rec)
{
	if (TransactionIdIsValid(rec->conflict))
	{
		FullTransactionId newest = rec->horizon;

		redo_horizon(record, rec->horizon, rec->conflict);
		/* H1: it has passed transactions that were in progress, and may have written no WAL */
		FullTransactionIdRetreat(&newest);
		AdvanceNextFullTransactionIdPastXid(zfxid_xid(newest));
	}
}

/* The numbers of the block references are the pages' block numbers. */
void
zundo_init_redo(XLogReaderState *record)
{
	bool		has_meta = XLogRecHasBlockRef(record, ZUNDO_META_BLOCK);
	const ZRecUndoInit *rec = (const ZRecUndoInit *) XLogRecGetData(record);
	RelFileLocator locator;

	if (has_meta)
		redo_meta_init(record, rec);
	for (int i = 0; i <= ZUNDO_MAP_OFFSET; i++)
	{
		Buffer		buffer;
		Page		page;

		if (!XLogRecHasBlockRef(record, i))
			continue;
		page = zredo_new_page(record, i, &buffer);
		zundo_first_page_apply(page, i, rec);
		zredo_done(record, page, buffer);
	}
	if (!has_meta)
		return;
	XLogRecGetBlockTag(record, ZUNDO_META_BLOCK, &locator, NULL, NULL);
	if (TransactionIdIsValid(rec->conflict))
		zundo_redo_nblocks_set(locator.dbOid, ZUNDO_EXTENT_BLOCKS);
}

/* ---- an append, as part of another layer's record ---- */

/* PANIC if the page does not end where the record was appended. */
static void
check_end(XLogReaderState *record, Page page, BlockNumber block,
		  uint16 offset, uint16 generation)
{
	if (zundo_page_end(page) != offset || zundo_special(page)->generation != generation)
		elog(PANIC, "zheap record at %X/%X appends at %u of generation %u to undo block %u, which ends at %u of generation %u",
			 LSN_FORMAT_ARGS(record->ReadRecPtr), offset, generation, block,
			 zundo_page_end(page), zundo_special(page)->generation);
}

/* Return the page, which the record does not name, locked; or NULL if it needs no redo. */
static Page
redo_end(XLogReaderState *record, const ZUndoAppend *append, Buffer *buffer)
{
	*buffer = XLogReadBufferExtended(append->locator, MAIN_FORKNUM, append->block, RBM_NORMAL,
									 InvalidBuffer);
	/* truncated away by a later record: noted as for pages that are named */
	if (!BufferIsValid(*buffer))
		return NULL;
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	return PageGetLSN(BufferGetPage(*buffer)) < record->EndRecPtr ? BufferGetPage(*buffer) : NULL;
}

void
zundo_redo_write(XLogReaderState *record, const ZUndoAppend *append,
				 const ZUndoBytes *records, int n)
{
	ZUndoAppend end = *append;
	Buffer		buffer;
	Page		page;

	if (append->init)
	{
		page = zredo_new_page(record, append->block_id, &buffer);
		zundo_page_init_apply(page, append->block, append->generation);
	}
	else if (append->named)
		page = zredo_page(record, append->block_id, &buffer);
	else
		page = redo_end(record, append, &buffer);
	if (page != NULL)
	{
		check_end(record, page, append->block, append->offset, append->generation);
		for (int i = 0; i < n; i++)
			zundo_page_append_apply(page, append->block, records[i].bytes, records[i].len);
	}
	zredo_done(record, page, buffer);
	for (int i = 0; i < n; i++)
		end.offset += zundo_framed(records[i].len);
	zundo_replay_end_set(&end);
}

/* ---- description ---- */

static void
desc_meta(StringInfo buf, const ZUndoMetaValues *meta)
{
	appendStringInfo(buf, ", horizon: " UINT64_FORMAT ", conflict: %u, nblocks: %u, free: %u",
					 U64FromFullTransactionId(meta->horizon), meta->conflict, meta->nblocks,
					 meta->free_count);
}

void
zundo_extent_desc(StringInfo buf, XLogReaderState *record)
{
	const ZRecUndoExtent *rec = (const ZRecUndoExtent *) XLogRecGetData(record);

	appendStringInfo(buf, "log: %u, generation: %u, recycled: %s, oldest: %u, closed: " UINT64_FORMAT,
					 rec->log, rec->generation, rec->recycled ? "true" : "false",
					 rec->oldest_extent, U64FromFullTransactionId(rec->closed));
	desc_meta(buf, &rec->meta);
}

void
zundo_free_desc(StringInfo buf, XLogReaderState *record)
{
	const ZRecUndoFree *rec = (const ZRecUndoFree *) XLogRecGetData(record);

	appendStringInfo(buf, "log: %u, extent: %u", rec->log, rec->extent);
	if (BlockNumberIsValid(rec->oldest_extent))
		appendStringInfo(buf, ", oldest: %u, newest: %u", rec->oldest_extent, rec->newest_extent);
	desc_meta(buf, &rec->meta);
}

void
zundo_truncate_desc(StringInfo buf, XLogReaderState *record)
{
	const ZRecUndoTruncate *rec = (const ZRecUndoTruncate *) XLogRecGetData(record);

	appendStringInfo(buf, "from: %u", rec->old_nblocks);
	desc_meta(buf, &rec->meta);
}

void
zundo_horizon_desc(StringInfo buf, XLogReaderState *record)
{
	const ZRecUndoHorizon *rec = (const ZRecUndoHorizon *) XLogRecGetData(record);

	appendStringInfo(buf, "horizon: " UINT64_FORMAT ", conflict: %u",
					 U64FromFullTransactionId(rec->horizon), rec->conflict);
}

void
zundo_init_desc(StringInfo buf, XLogReaderState *record)
{
	const ZRecUndoInit *rec = (const ZRecUndoInit *) XLogRecGetData(record);

	appendStringInfo(buf, "horizon: " UINT64_FORMAT ", conflict: %u, generation: %u",
					 U64FromFullTransactionId(rec->horizon), rec->conflict, rec->generation);
}

/* Replay is exact: mask only what the server masks on every page. */
void
zundo_mask(char *page, BlockNumber block)
{
	mask_page_lsn_and_checksum(page);
	mask_unused_space(page);
}
