/*
 * rec_small.c
 *		WAL records that change a few bytes each; redo and description of any kind of record.
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
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "rec_private.h"

/* ---- any WAL record, and damaged ones ---- */

void
zrec_replay_damaged(XLogReaderState *record)
{
	elog(PANIC, "damaged zheap WAL record at %X/%X", LSN_FORMAT_ARGS(record->ReadRecPtr));
}

void
zrec_redo(const ZRecKind *kind, XLogReaderState *record)
{
	ZRecDecoded d;

	if (!zrec_decode(kind, record, &d))
		zrec_replay_damaged(record);
	kind->redo(record, &d);
}

void
zrec_desc(const ZRecKind *kind, StringInfo buf, XLogReaderState *record)
{
	ZRecDecoded d;

	if (!zrec_decode(kind, record, &d))
	{
		appendStringInfoString(buf, "damaged zheap WAL record");
		return;
	}
	kind->desc(buf, &d);
	zrec_logical_desc(buf, &d.logical);
}

/* ---- the kinds of records ---- */

XLogRecPtr
zrec_overflow_emit(Buffer buffer, bool init, Buffer overflow_buf, BlockNumber table_block)
{
	static char data[sizeof(BlockNumber) + 1];

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

static bool
decode_overflow(XLogReaderState *record, ZRecDecoded *d)
{
	ZRecCursor	cur;

	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	zrec_take_raw(&cur, &d->overflow.table_block, sizeof(d->overflow.table_block));
	d->overflow.init = zrec_take_byte(&cur) != 0;
	return zrec_cursor_done(&cur);
}

/* Lock the page that names the other first, as readers do (L1). */
static void
redo_overflow(XLogReaderState *record, ZRecDecoded *d)
{
	BlockNumber overflow_block;
	Buffer		buffer;
	Buffer		overflow_buf;
	Page		page;
	Page		overflow;

	XLogRecGetBlockTag(record, ZREC_BLK_OVERFLOW, NULL, NULL, &overflow_block);
	if (d->overflow.init)
	{
		page = zredo_new_page(record, ZREC_BLK_TABLE, &buffer);
		zpage_init_apply(page, 0);
	}
	else
		page = zredo_page(record, ZREC_BLK_TABLE, &buffer);
	overflow = zredo_new_page(record, ZREC_BLK_OVERFLOW, &overflow_buf);
	zpage_overflow_init_apply(overflow, d->overflow.table_block);
	if (page != NULL)
		zpage_overflow_apply(page, overflow_block);
	zredo_done(record, overflow, overflow_buf);
	zredo_done(record, page, buffer);
}

static void
desc_overflow(StringInfo buf, const ZRecDecoded *d)
{
	appendStringInfo(buf, "table block: %u%s", d->overflow.table_block,
					 d->overflow.init ? ", new" : "");
}

const ZRecKind zrec_overflow_kind = {decode_overflow, redo_overflow, desc_overflow};

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

static bool
decode_confirm(XLogReaderState *record, ZRecDecoded *d)
{
	ZRecCursor	cur;

	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	zrec_take_raw(&cur, &d->confirmed, sizeof(d->confirmed));
	zrec_logical_take(&cur, &d->logical);
	return zrec_cursor_done(&cur);
}

static void
redo_confirm(XLogReaderState *record, ZRecDecoded *d)
{
	Buffer		buffer;
	Page		page = zredo_page(record, ZREC_BLK_TABLE, &buffer);

	if (page != NULL)
		zpage_confirm_apply(page, d->confirmed);
	zredo_done(record, page, buffer);
}

static void
desc_confirm(StringInfo buf, const ZRecDecoded *d)
{
	appendStringInfo(buf, "off: %u", d->confirmed);
}

const ZRecKind zrec_confirm_kind = {decode_confirm, redo_confirm, desc_confirm};

void
zrec_resolve_conflict(XLogReaderState *record, TransactionId newest)
{
	RelFileLocator locator;

	if (!InHotStandby || !TransactionIdIsValid(newest))
		return;
	XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &locator, NULL, NULL);
	ResolveRecoveryConflictWithSnapshot(newest, false, locator);
}
