/*
 * rec_small.c
 *		WAL records that change a few bytes each, or none.
 *
 * OVERFLOW  block 0: table page, block 2: its new overflow page; or block 0: an
 *           overflow page, block 2: its new lock page.  Main data: block number of the
 *           table page, 4 bytes.
 * CONFIRM   block 0: table page.  Main data: offset, 2 bytes.
 * CONFLICT  no blocks.  Main data: the table's file, 12 bytes; fxid, 8 bytes.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "zheap/record/record.h"

typedef struct ConflictData
{
	ZRelLocator locator;
	FullTransactionId newest;
} ConflictData;

#define CONFLICT_SIZE	(sizeof(ZRelLocator) + sizeof(FullTransactionId))

XLogRecPtr
zrec_overflow_emit(Buffer buffer, Buffer overflow_buf, BlockNumber table_block)
{
	/* W2, and L1: the page that names the other one is locked */
	Assert(zheap_buffer_is_exclusive(buffer) && zheap_buffer_is_exclusive(overflow_buf));
	XLogBeginInsert();
	XLogRegisterData((char *) &table_block, sizeof(table_block));
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer, REGBUF_STANDARD);
	XLogRegisterBuffer(ZREC_BLK_OVERFLOW, overflow_buf, REGBUF_WILL_INIT | REGBUF_STANDARD);
	return XLogInsert(ZHEAP_RMGR_ID, ZREC_OVERFLOW);
}

void
zrec_overflow_redo(XLogReaderState *record)
{
	BlockNumber table_block;
	BlockNumber overflow_block;
	Buffer		buffer;
	Buffer		overflow_buf;
	XLogRedoAction action;

	memcpy(&table_block, XLogRecGetData(record), sizeof(table_block));
	XLogRecGetBlockTag(record, ZREC_BLK_OVERFLOW, NULL, NULL, &overflow_block);

	/* the page that names the other first, as readers lock them (L1) */
	action = XLogReadBufferForRedo(record, ZREC_BLK_TABLE, &buffer);
	overflow_buf = XLogInitBufferForRedo(record, ZREC_BLK_OVERFLOW);
	zpage_overflow_init_apply(BufferGetPage(overflow_buf), table_block);
	PageSetLSN(BufferGetPage(overflow_buf), record->EndRecPtr);
	MarkBufferDirty(overflow_buf);
	if (action == BLK_NEEDS_REDO)
	{
		zpage_overflow_apply(BufferGetPage(buffer), overflow_block);
		PageSetLSN(BufferGetPage(buffer), record->EndRecPtr);
		MarkBufferDirty(buffer);
	}
	UnlockReleaseBuffer(overflow_buf);
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

void
zrec_overflow_desc(StringInfo buf, XLogReaderState *record)
{
	BlockNumber table_block;

	memcpy(&table_block, XLogRecGetData(record), sizeof(table_block));
	appendStringInfo(buf, "table block: %u", table_block);
}

/* In the critical section.  The insertion's own WAL record has all the rest. */
XLogRecPtr
zrec_confirm_emit(Buffer buffer, OffsetNumber offnum)
{
	Assert(zheap_buffer_is_exclusive(buffer));	/* W2 */
	XLogBeginInsert();
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer, REGBUF_STANDARD);
	XLogRegisterData((char *) &offnum, sizeof(offnum));
	return XLogInsert(ZHEAP_RMGR_ID, ZREC_CONFIRM);
}

void
zrec_confirm_redo(XLogReaderState *record)
{
	Buffer		buffer;
	OffsetNumber offnum;

	memcpy(&offnum, XLogRecGetData(record), sizeof(offnum));
	if (XLogReadBufferForRedo(record, ZREC_BLK_TABLE, &buffer) == BLK_NEEDS_REDO)
	{
		zpage_confirm_apply(BufferGetPage(buffer), offnum);
		PageSetLSN(BufferGetPage(buffer), record->EndRecPtr);
		MarkBufferDirty(buffer);
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

void
zrec_confirm_desc(StringInfo buf, XLogReaderState *record)
{
	OffsetNumber offnum;

	memcpy(&offnum, XLogRecGetData(record), sizeof(offnum));
	appendStringInfo(buf, "off: %u", offnum);
}

XLogRecPtr
zrec_conflict_emit(Relation rel, FullTransactionId newest)
{
	ZRelLocator locator = zrel_locator(rel);

	Assert(FullTransactionIdIsNormal(newest));
	XLogBeginInsert();
	XLogRegisterData((char *) &locator, sizeof(locator));
	XLogRegisterData((char *) &newest, sizeof(newest));
	return XLogInsert(ZHEAP_RMGR_ID, ZREC_CONFLICT);
}

/* The struct has padding, its bytes in WAL have none. */
static void
conflict_decode(XLogReaderState *record, ConflictData *data)
{
	const char *in = XLogRecGetData(record);

	if (XLogRecGetDataLen(record) != CONFLICT_SIZE)
		elog(PANIC, "damaged zheap WAL record at %X/%X",
			 LSN_FORMAT_ARGS(record->ReadRecPtr));
	memcpy(&data->locator, in, sizeof(ZRelLocator));
	memcpy(&data->newest, in + sizeof(ZRelLocator), sizeof(FullTransactionId));
}

void
zrec_resolve_conflict(XLogReaderState *record, TransactionId newest)
{
	ZRelLocator locator;

	if (!InHotStandby || !TransactionIdIsValid(newest))
		return;
	XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &locator, NULL, NULL);
	ResolveRecoveryConflictWithSnapshot(newest, locator);
}

void
zrec_conflict_redo(XLogReaderState *record)
{
	ConflictData data;

	conflict_decode(record, &data);
	if (InHotStandby)
		ResolveRecoveryConflictWithSnapshotFullXid(data.newest, data.locator);
}

void
zrec_conflict_desc(StringInfo buf, XLogReaderState *record)
{
	ConflictData data;

	conflict_decode(record, &data);
	appendStringInfo(buf, "rel: %u/%u/%u, newest: %u", zloc_spc(data.locator),
					 zloc_db(data.locator), zloc_rel(data.locator), zfxid_xid(data.newest));
}
