/*
 * rec_rollback.c
 *		The WAL record of a rollback: the rows of an aborted transaction on one page become
 *		what they were before.
 *
 * Block 0: table page.  Block 2: overflow page, when the slot lies there.
 *
 * Main data: slotno varint; the slot's next owner (zrec_put_owner; 0: it becomes free) and, if
 * there is one, the count of its chain 1 byte; conflict xid varint (0: none); number of rows,
 * varint; the part for logical decoding, if any (rec_logical.c).  Data of block 0, per row:
 * offnum varint, kind 1 byte; unless KILL the header as on the page; with BODY prefix, suffix,
 * midlen varints and bytes.
 *
 * If the transaction rewrote most of the page, a page image is logged instead, and block 0 has
 * no data.
 */
#include "postgres.h"

#include "zheap/page/page.h"

#include "access/xloginsert.h"
#include "storage/bufmgr.h"

#include "rec_private.h"

/* upper limit of row data; more is logged as an image */
#define ROLLBACK_MAX_BYTES	(BLCKSZ / 2)
#define ROLLBACK_ROW_BOUND	(3 + 1 + ZROW_HDR_SIZE + 9)

/* Put a row: at most ROLLBACK_ROW_BOUND bytes and its body bytes. */
static char *
put_row(char *out, const ZRowRollback *row)
{
	out = zvarint_put(out, row->offnum);
	*out++ = (char) row->kind;
	if (row->kind == ZROLLBACK_KILL)
		return out;
	zrow_header_put(out, &row->hdr);
	out += ZROW_HDR_SIZE;
	if (row->kind == ZROLLBACK_BODY)
	{
		out = zvarint_put(out, row->prefix);
		out = zvarint_put(out, row->suffix);
		out = zvarint_put(out, row->midlen);
		out = zrec_put_raw(out, row->mid, row->midlen);
	}
	return out;
}

/*
 * Called in the critical section, so no memory can be allocated: rows are gathered in a static
 * buffer, and if they do not fit, the page is logged as an image.
 */
XLogRecPtr
zrec_rollback_emit(const ZRollbackPlan *plan, Buffer buffer, Buffer overflow_buf,
				   const ZRecLogical *logical)
{
	static char head[32];
	static char rows[ROLLBACK_MAX_BYTES];
	char	   *end = head;
	char	   *at = rows;
	bool		image = false;
	int			i;

	Assert(plan->nrows >= 0 && plan->nrows <= ZPAGE_MAX_OFFSET);
	/* W2 */
	Assert(zheap_buffer_is_exclusive(buffer));
	Assert(!BufferIsValid(overflow_buf) || zheap_buffer_is_exclusive(overflow_buf));
	Assert(!BufferIsValid(overflow_buf) || plan->slotno >= ZPAGE_FIRST_OVERFLOW);
	for (i = 0; i < plan->nrows && !image; i++)
	{
		if (at + ROLLBACK_ROW_BOUND + plan->rows[i].midlen > rows + ROLLBACK_MAX_BYTES)
			image = true;
		else
			at = put_row(at, &plan->rows[i]);
	}
	end = zvarint_put(end, plan->slotno);
	end = zrec_put_owner(end, &plan->next);
	if (FullTransactionIdIsValid(plan->next.fxid))
		*end++ = (char) plan->next_count;
	end = zvarint_put(end, zfxid_xid(plan->conflict));
	end = zvarint_put(end, plan->nrows);
	Assert(end <= head + sizeof(head));

	XLogBeginInsert();
	XLogRegisterData(head, end - head);
	zrec_logical_register(logical);
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffer,
					   image ? REGBUF_STANDARD | REGBUF_FORCE_IMAGE : REGBUF_STANDARD);
	if (!image && at > rows)
		XLogRegisterBufData(ZREC_BLK_TABLE, rows, at - rows);
	if (BufferIsValid(overflow_buf))
		XLogRegisterBuffer(ZREC_BLK_OVERFLOW, overflow_buf, REGBUF_STANDARD);
	return zrec_insert(ZREC_ROLLBACK);
}

/* Decode the main data.  Rows come with block 0, and are decoded only if that needs replay. */
static bool
decode_rollback(XLogReaderState *record, ZRecDecoded *d)
{
	ZRollbackPlan *plan = &d->rollback;
	ZRecCursor	cur;

	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	plan->slotno = zrec_take_varint(&cur, ZPAGE_MAX_LOCK_SLOTNO);
	zrec_take_owner(&cur, &plan->next);
	if (FullTransactionIdIsValid(plan->next.fxid))
		plan->next_count = zrec_take_byte(&cur);
	plan->conflict = FullTransactionIdFromEpochAndXid(0, zrec_take_varint(&cur, PG_UINT32_MAX));
	plan->nrows = zrec_take_varint(&cur, ZPAGE_MAX_OFFSET);
	zrec_logical_take(&cur, &d->logical);
	return zrec_cursor_done(&cur);
}

/* Take a row.  row->mid points into the WAL record. */
static void
take_row(ZRecCursor *cur, ZRowRollback *row)
{
	char		header[ZROW_HDR_SIZE];

	memset(row, 0, sizeof(*row));
	row->offnum = zrec_take_varint(cur, ZPAGE_MAX_OFFSET);
	row->kind = zrec_take_byte(cur);
	if (row->kind == ZROLLBACK_KILL)
		return;
	zrec_take_raw(cur, header, ZROW_HDR_SIZE);
	zrow_header_get(header, &row->hdr);
	if (row->kind == ZROLLBACK_BODY)
	{
		row->prefix = zrec_take_varint(cur, BLCKSZ);
		row->suffix = zrec_take_varint(cur, BLCKSZ);
		row->midlen = zrec_take_varint(cur, BLCKSZ);
		row->mid = zrec_take_bytes(cur, row->midlen);
	}
}

/* Decode the rows.  plan->rows is palloc'd; the caller frees it. */
static void
decode_rolled_back(XLogReaderState *record, ZRollbackPlan *plan)
{
	ZRecCursor	cur;
	Size		len;
	const char *data = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &len);

	plan->rows = palloc(sizeof(ZRowRollback) * Max(plan->nrows, 1));
	zrec_cursor_init(&cur, data, data ? len : 0);
	for (int i = 0; i < plan->nrows; i++)
		take_row(&cur, &plan->rows[i]);
	if (!zrec_cursor_done(&cur))
		zrec_replay_damaged(record);
}

/* Lock the table page first, as readers do (L1). */
static void
redo_rollback(XLogReaderState *record, ZRecDecoded *d)
{
	ZRollbackPlan *plan = &d->rollback;
	Buffer		buffer;
	Buffer		slots_buf = InvalidBuffer;
	Page		page;
	Page		slots = NULL;
	PGAlignedBlock scratch;

	zrec_resolve_conflict(record, zfxid_xid(plan->conflict));
	page = zredo_page(record, ZREC_BLK_TABLE, &buffer);
	if (XLogRecHasBlockRef(record, ZREC_BLK_OVERFLOW))
		slots = zredo_page(record, ZREC_BLK_OVERFLOW, &slots_buf);
	if (page != NULL)
	{
		decode_rolled_back(record, plan);
		zpage_rollback_apply(page, slots ? slots : (Page) scratch.data, plan);
		pfree(plan->rows);
	}
	else if (slots != NULL)
		zpage_slot_rollback_apply(zpage_slot(NULL, slots, plan->slotno), plan);
	zredo_done(record, slots, slots_buf);
	zredo_done(record, page, buffer);
}

static void
desc_rollback(StringInfo buf, const ZRecDecoded *d)
{
	appendStringInfo(buf, "slot: %u, rows: %d", d->rollback.slotno, d->rollback.nrows);
}

const ZRecKind zrec_rollback_kind = {decode_rollback, redo_rollback, desc_rollback};
