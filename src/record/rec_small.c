/*
 * rec_small.c
 *		WAL records that change a few bytes each, and damaged WAL records.
 *
 * OVERFLOW  block 0: table page, block 2: its new overflow page; or block 0: an
 *           overflow page, block 2: its new lock page.  Main data: block number of the
 *           table page, 4 bytes; 1 byte: whether block 0 first becomes a table page without
 *           slots.
 * CONFIRM   block 0: table page.  Main data: offset, 2 bytes; the part for logical decoding,
 *           if any (rec_logical.c).
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "rec_private.h"

/* ---- damaged WAL records ---- */

void
zrec_replay_damaged(XLogReaderState *record)
{
	elog(PANIC, "damaged zheap WAL record at %X/%X", LSN_FORMAT_ARGS(record->ReadRecPtr));
}

void
zrec_desc_damaged(StringInfo buf)
{
	appendStringInfoString(buf, "damaged zheap WAL record");
}

/* Copy the main data.  Return false if its length is not len: it is damaged. */
static bool
main_data(XLogReaderState *record, void *out, Size len)
{
	if (XLogRecGetDataLen(record) != len)
		return false;
	memcpy(out, XLogRecGetData(record), len);
	return true;
}

/* ---- the kinds of records ---- */

#define OVERFLOW_DATA	(sizeof(BlockNumber) + 1)

XLogRecPtr
zrec_overflow_emit(Buffer buffer, bool init, Buffer overflow_buf, BlockNumber table_block)
{
	static char data[OVERFLOW_DATA];

	/* W2, and L1: the page that names the other one is locked */
	Assert(zheap_buffer_is_exclusive(buffer) && zheap_buffer_is_exclusive(overflow_buf));
	memcpy(data, &table_block, sizeof(table_block));
	data[sizeof(table_block)] = (char) init;
	XLogBeginInsert();
	XLogRegisterData(data, sizeof(data));
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer, REGBUF_STANDARD | (init ? REGBUF_WILL_INIT : 0));
	XLogRegisterBuffer(ZREC_BLK_OVERFLOW, overflow_buf, REGBUF_WILL_INIT | REGBUF_STANDARD);
	return zrec_insert(ZREC_OVERFLOW);
}

/* Decode the main data of OVERFLOW.  Return false if it is damaged. */
static bool
overflow_data(XLogReaderState *record, BlockNumber *table_block, bool *init)
{
	char		data[OVERFLOW_DATA];

	if (!main_data(record, data, sizeof(data)))
		return false;
	memcpy(table_block, data, sizeof(*table_block));
	*init = data[sizeof(*table_block)] != 0;
	return true;
}

/* Read and lock the page that is going to name the new one. */
static XLogRedoAction
read_parent(XLogReaderState *record, bool init, Buffer *buffer)
{
	if (!init)
		return XLogReadBufferForRedo(record, ZREC_BLK_TABLE, buffer);
	*buffer = XLogInitBufferForRedo(record, ZREC_BLK_TABLE);
	zpage_init_apply(BufferGetPage(*buffer), 0);
	return BLK_NEEDS_REDO;
}

void
zrec_overflow_redo(XLogReaderState *record)
{
	BlockNumber table_block;
	bool		init;
	BlockNumber overflow_block;
	Buffer		buffer;
	Buffer		overflow_buf;
	XLogRedoAction action;

	if (!overflow_data(record, &table_block, &init))
		zrec_replay_damaged(record);
	XLogRecGetBlockTag(record, ZREC_BLK_OVERFLOW, NULL, NULL, &overflow_block);

	/* the page that names the other first, as readers lock them (L1) */
	action = read_parent(record, init, &buffer);
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
	bool		init;

	if (!overflow_data(record, &table_block, &init))
	{
		zrec_desc_damaged(buf);
		return;
	}
	appendStringInfo(buf, "table block: %u%s", table_block, init ? ", new" : "");
}

/* The insertion's own WAL record has everything else. */
XLogRecPtr
zrec_confirm_emit(Buffer buffer, OffsetNumber offnum, const ZRecLogical *logical)
{
	Assert(zheap_buffer_is_exclusive(buffer));	/* W2 */
	XLogBeginInsert();
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer, REGBUF_STANDARD);
	XLogRegisterData((char *) &offnum, sizeof(offnum));
	zrec_logical_register(logical);
	return zrec_insert(ZREC_CONFIRM);
}

/* Decode the main data of CONFIRM.  Return false if it is damaged. */
static bool
decode_confirm(XLogReaderState *record, OffsetNumber *offnum, ZRecLogical *logical)
{
	ZRecCursor	cur;

	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	zrec_take_raw(&cur, offnum, sizeof(*offnum));
	zrec_logical_take(&cur, logical);
	return zrec_cursor_done(&cur);
}

void
zrec_confirm_redo(XLogReaderState *record)
{
	Buffer		buffer;
	OffsetNumber offnum;
	ZRecLogical logical;

	if (!decode_confirm(record, &offnum, &logical))
		zrec_replay_damaged(record);
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
	ZRecLogical logical;

	if (!decode_confirm(record, &offnum, &logical))
	{
		zrec_desc_damaged(buf);
		return;
	}
	appendStringInfo(buf, "off: %u", offnum);
	zrec_logical_desc(buf, &logical);
}

bool
zrec_confirm_logical(XLogReaderState *record, ZRecLogical *logical)
{
	OffsetNumber offnum;

	return decode_confirm(record, &offnum, logical);
}

void
zrec_resolve_conflict(XLogReaderState *record, TransactionId newest)
{
	RelFileLocator locator;

	if (!InHotStandby || !TransactionIdIsValid(newest))
		return;
	XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &locator, NULL, NULL);
	ResolveRecoveryConflictWithSnapshot(newest, false, locator);
}
