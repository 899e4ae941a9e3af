/*
 * rec_visible.c
 *		The visibility map in WAL: a page becomes all-visible, or ceases to be.
 *
 * VISIBLE   block 0: table page, block 3: page of the map.  Main data: the newest xid that
 *           was not visible to all on standbys before, or invalid, 4 bytes.
 *           Or no blocks: a rewritten table takes all transactions up to one as visible to
 *           all.  Main data: the table's file, 12 bytes; fxid, 8 bytes.
 *
 * A change that makes a version names the map's page in its own record (blocks 3 and 4), if the
 * table page was all-visible.  So the map's bits change with the page, whatever image of either
 * page is restored, and incremental backups, which count the blocks that records name, see the
 * map's change.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "rec_private.h"

StaticAssertDecl(sizeof(RelFileLocator) == 12 && sizeof(FullTransactionId) == 8,
				 "both are in WAL");

/* ---- bits that a change clears ---- */

/* A page of the map has its bits where other pages have the hole: not REGBUF_STANDARD. */
void
zrec_map_register(uint8 block_id, Buffer map)
{
	if (!BufferIsValid(map))
		return;
	Assert(zheap_buffer_is_exclusive(map)); /* W2 */
	XLogRegisterBuffer(block_id, map, 0);
}

/* Clear, on a page of the map, the bits of those table pages of the record that it covers. */
static void
clear_bits(XLogReaderState *record, uint8 block_id, Page map)
{
	static const uint8 tables[] = {ZREC_BLK_TABLE, ZREC_BLK_OLD};
	BlockNumber map_block;
	BlockNumber block;

	XLogRecGetBlockTag(record, block_id, NULL, NULL, &map_block);
	for (int i = 0; i < (int) lengthof(tables); i++)
	{
		/* block OLD may be an overflow page, which never has bits */
		if (!XLogRecHasBlockRef(record, tables[i]))
			continue;
		XLogRecGetBlockTag(record, tables[i], NULL, NULL, &block);
		if (zmap_page_of(block) == map_block)
			zmap_clear_apply(map, block);
	}
}

void
zrec_map_redo(XLogReaderState *record)
{
	for (uint8 id = ZREC_BLK_MAP; id <= ZREC_BLK_OTHER_MAP; id++)
	{
		Buffer		buffer;
		Page		map;

		if (!XLogRecHasBlockRef(record, id))
			continue;
		map = zredo_map_page(record, id, &buffer);
		if (map != NULL)
			clear_bits(record, id, map);
		zredo_done(record, map, buffer);
	}
}

/* ---- a page that is all-visible ---- */

/*
 * Return whether the mark needs an image of the table page.  Only the mark changes there, in
 * the sector with the page's LSN.  So as on heap no image is needed, unless pages have
 * checksums; and without one the LSN stays, as the next change needs an image all the same.
 * The page may then reach the disk before the record: that is why the caller has flushed the
 * commits on which the mark relies.
 */
static bool
mark_needs_image(void)
{
	return XLogHintBitIsNeeded();
}

static XLogRecPtr
visible_emit(Buffer buffer, Buffer map, FullTransactionId newest)
{
	TransactionId conflict = FullTransactionIdIsValid(newest) ? zfxid_xid(newest) :
		InvalidTransactionId;

	Assert(zheap_buffer_is_exclusive(buffer) && zheap_buffer_is_exclusive(map));	/* W2 */
	XLogBeginInsert();
	XLogRegisterData((char *) &conflict, sizeof(conflict));
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer,
					   REGBUF_STANDARD | (mark_needs_image() ? 0 : REGBUF_NO_IMAGE));
	XLogRegisterBuffer(ZREC_BLK_MAP, map, 0);
	return zrec_insert(ZREC_VISIBLE);
}

void
zrec_mark_visible(Relation rel, Buffer buffer, Buffer map, FullTransactionId newest)
{
	Page		page = BufferGetPage(buffer);
	Page		map_page = BufferGetPage(map);

	Assert(zpage_may_be_visible(page)); /* P6 */
	Assert(CritSectionCount == 0);	/* D4 */
	START_CRIT_SECTION();
	PageSetAllVisible(page);
	zmap_set_apply(map_page, BufferGetBlockNumber(buffer));
	MarkBufferDirty(buffer);
	MarkBufferDirty(map);
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn = visible_emit(buffer, map, newest);

		if (mark_needs_image())
			PageSetLSN(page, lsn);
		PageSetLSN(map_page, lsn);
	}
	END_CRIT_SECTION();
}

/* Redo a mark: the table page before the map, which is all that an index-only scan looks at. */
static void
redo_mark(XLogReaderState *record, TransactionId conflict)
{
	BlockNumber block;
	Buffer		buffer;
	Page		map;

	zrec_resolve_conflict(record, conflict);
	XLogRecGetBlockTag(record, ZREC_BLK_TABLE, NULL, NULL, &block);
	if (XLogReadBufferForRedo(record, ZREC_BLK_TABLE, &buffer) == BLK_NEEDS_REDO)
	{
		PageSetAllVisible(BufferGetPage(buffer));
		if (mark_needs_image())
			PageSetLSN(BufferGetPage(buffer), record->EndRecPtr);
		MarkBufferDirty(buffer);
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);

	map = zredo_map_page(record, ZREC_BLK_MAP, &buffer);
	if (map != NULL)
		zmap_set_apply(map, block);
	zredo_done(record, map, buffer);
}

/* ---- a rewritten table ---- */

XLogRecPtr
zrec_conflict_emit(Relation rel, FullTransactionId newest)
{
	RelFileLocator locator = rel->rd_locator;

	Assert(FullTransactionIdIsNormal(newest));
	XLogBeginInsert();
	XLogRegisterData((char *) &locator, sizeof(locator));
	XLogRegisterData((char *) &newest, sizeof(newest));
	return XLogInsert(ZHEAP_RMGR_ID, ZREC_VISIBLE);
}

/* ---- both ---- */

/* The blocks show which of the two kinds the record is. */
static bool
decode_visible(XLogReaderState *record, ZRecDecoded *d)
{
	ZRecVisible *visible = &d->visible;
	ZRecCursor	cur;

	visible->has_page = XLogRecHasBlockRef(record, ZREC_BLK_TABLE);
	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	if (visible->has_page)
		zrec_take_raw(&cur, &visible->conflict, sizeof(visible->conflict));
	else
	{
		zrec_take_raw(&cur, &visible->locator, sizeof(visible->locator));
		zrec_take_raw(&cur, &visible->newest, sizeof(visible->newest));
	}
	return zrec_cursor_done(&cur);
}

static void
redo_visible(XLogReaderState *record, ZRecDecoded *d)
{
	const ZRecVisible *visible = &d->visible;

	if (visible->has_page)
		redo_mark(record, visible->conflict);
	else if (InHotStandby)
		ResolveRecoveryConflictWithSnapshotFullXid(visible->newest, false, visible->locator);
}

static void
desc_visible(StringInfo buf, const ZRecDecoded *d)
{
	const ZRecVisible *visible = &d->visible;

	if (visible->has_page)
		appendStringInfo(buf, "conflict: %u", visible->conflict);
	else
		appendStringInfo(buf, "rel: %u/%u/%u, newest: %u", visible->locator.spcOid,
						 visible->locator.dbOid, visible->locator.relNumber,
						 zfxid_xid(visible->newest));
}

const ZRecKind zrec_visible_kind = {decode_visible, redo_visible, desc_visible};
