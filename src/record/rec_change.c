/*
 * rec_change.c
 *		The WAL record of an insert, update, delete or lock, a tombstone or a directory.
 *
 * Block 0: table page.  Block 1: undo page (when undo is written, unless replay knows where the
 * log ends, W3).  Block 2: slot page (when the slot lies there).  Block 3: page of the
 * visibility map (when the table page was all-visible).
 *
 * Main data:
 *   C_* flags, 1 byte
 *   C_UNDO: place of the undo record
 *   head of the part (rec_part.c)
 *   C_UNDO: undo record, WAL form (C_UNDO_ONLY: log form, and nothing else)
 *   tail of the part
 *   the part for logical decoding, if any (rec_logical.c)
 * Data of block 0 (kept beside a page image if it is an insertion that is logically decoded):
 *   UPDATE: the new bytes between prefix and suffix
 *   INSERT: the row; with C_MANY each with its length, 2 bytes, before it; the
 *   offsets are consecutive
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"

#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

#include "rec_private.h"

/*
 * The opcode of each operation.  Redo uses the list in the other direction: where two
 * operations have the same opcode, the undo record says which it is.
 */
static const uint8 opcodes[] = {
	[ZOP_INSERT] = ZREC_INSERT,
	[ZOP_UPDATE] = ZREC_UPDATE,
	[ZOP_DELETE] = ZREC_DELETE,
	[ZOP_LOCK] = ZREC_LOCK,
	[ZOP_TOMBSTONE] = ZREC_NO_VERSION,
	[ZOP_DIRECTORY] = ZREC_NO_VERSION
};

StaticAssertDecl(ZOP_INSERT == 1 && lengthof(opcodes) == ZOP_DIRECTORY + 1,
				 "each operation has an opcode");

/* Return the first operation with this opcode. */
static uint8
op_of(uint8 opcode)
{
	uint8		op = ZOP_INSERT;

	while (op < ZOP_DIRECTORY && opcodes[op] != opcode)
		op++;
	return op;
}

void
zchange_apply(Page page, Page overflow, ZChange *change)
{
	/* no undo: rows that continue a run, or are frozen from the start */
	Assert(change->has_undo || change->row.op == ZOP_INSERT || change->row.op == ZOP_DELETE);
	Assert(!change->has_undo || (FullTransactionIdIsValid(change->slot.next.fxid) &&
								 change->slot.next.undo != ZUNDO_INVALID));
	Assert(!change->has_undo || (change->undo.slotno == change->slot.slotno &&
								 change->undo.takeover == change->slot.takeover &&
								 change->undo.type == change->row.op));
	if (change->init_page)
		zpage_init_apply(page, change->init_slots);
	if (change->has_undo)
		zpage_slot_apply(page, overflow, &change->slot);
	change->row.xid = zfxid_xid(change->slot.next.fxid);
	change->row.body = change->slot.next.undo;
	zpage_row_apply(page, &change->row);
}

/* ---- emit ---- */

/*
 * Register the rows of an insert, or the new bytes of an update.  Several rows are gathered
 * into one piece: the number of pieces of a WAL record is limited.
 */
static void
register_rows(const ZRowPlan *row)
{
	static char many[BLCKSZ + ZPAGE_MAX_OFFSET * sizeof(uint16)];
	char	   *out = many;
	int			i;

	if (row->op == ZOP_UPDATE && row->midlen > 0)
		XLogRegisterBufData(ZREC_BLK_TABLE, (char *) row->mid, row->midlen);
	if (row->op != ZOP_INSERT)
		return;
	if (row->nrows == 1)
	{
		XLogRegisterBufData(ZREC_BLK_TABLE, (char *) row->rows[0].bytes, row->rows[0].len);
		return;
	}
	for (i = 0; i < row->nrows; i++)
	{
		out = zrec_put_u16(out, row->rows[i].len);
		memcpy(out, row->rows[i].bytes, row->rows[i].len);
		out += row->rows[i].len;
	}
	XLogRegisterBufData(ZREC_BLK_TABLE, many, out - many);
}

/* Return whether decoding needs the rows, so that they are kept beside a page image. */
static bool
tells_rows(const ZRecLogical *logical)
{
	return logical != NULL && zrec_logical_has_rows(logical->kind);
}

#ifdef USE_ASSERT_CHECKING

/*
 * Check W2: the change's buffers are locked exclusively, and are there exactly if it needs
 * them.
 */
static void
assert_buffers(const ZChange *change, const ZChangeBuffers *buffers, const ZUndoWrite *write)
{
	Assert(buffers->logged || change->has_undo);
	Assert(!buffers->logged || zheap_buffer_is_exclusive(buffers->table));
	/* the slot's page goes with the change if, and only if, the slot is there */
	Assert(!buffers->logged ||
		   BufferIsValid(buffers->slots) ==
		   (change->has_undo && change->slot.slotno >= ZPAGE_FIRST_OVERFLOW));
	Assert(!BufferIsValid(buffers->slots) || zheap_buffer_is_exclusive(buffers->slots));
	Assert(!change->has_undo || zheap_buffer_is_exclusive(write->buffer));
	Assert(!change->has_undo ||
		   write->ptr == zundo_ptr_make(BufferGetBlockNumber(write->buffer), write->generation,
										write->offset));
}
#else
#define assert_buffers(change, buffers, write) ((void) 0)
#endif

XLogRecPtr
zrec_change_emit(const ZChange *change, const ZChangeBuffers *buffers, ZUndoWrite *write,
				 const char *undo, Size undo_len)
{
	/* static: the data must live until XLogInsert, and palloc is forbidden here */
	static char head[1 + ZREC_PLACE_MAX + ZREC_HEAD_MAX];
	static char tail[ZREC_TAIL_MAX];
	bool		logged = buffers->logged;
	uint8		flags = logged ? zrec_part_flags(change) : C_UNDO | C_UNDO_ONLY;
	char	   *end = head;

	Assert(opcodes[op_of(opcodes[change->row.op])] == opcodes[change->row.op]);
	zrec_part_assert_links(change, write->ptr);
	assert_buffers(change, buffers, write);
	XLogBeginInsert();
	if (change->has_undo && write->init)
		flags |= C_UNDO_INIT;
	*end++ = (char) flags;
	if (change->has_undo)
		end = zrec_place_put(end, write);
	end = zrec_part_put_head(end, change, flags);
	Assert(end <= head + sizeof(head));
	XLogRegisterData(head, end - head);
	if (change->has_undo)
	{
		XLogRegisterData((char *) undo, undo_len);
		/* replay initializes a new page whatever it contains: it must know the pointer (W3) */
		zundo_register(write, ZREC_BLK_UNDO, logged && !change->init_page);
	}
	if (logged)
	{
		end = zrec_part_put_tail(tail, change, flags);
		Assert(end <= tail + sizeof(tail));
		if (end > tail)
			XLogRegisterData(tail, end - tail);
		zrec_logical_register(change->logical);
		XLogRegisterBuffer(ZREC_BLK_TABLE, buffers->table,
						   REGBUF_STANDARD | (change->init_page ? REGBUF_WILL_INIT : 0) |
						   (tells_rows(change->logical) ? REGBUF_KEEP_DATA : 0));
		register_rows(&change->row);
		if (BufferIsValid(buffers->slots))
			XLogRegisterBuffer(ZREC_BLK_OVERFLOW, buffers->slots, REGBUF_STANDARD);
		if (BufferIsValid(buffers->map))
			zrec_map_register(ZREC_BLK_MAP, buffers->map);
	}
	return zrec_insert(opcodes[change->row.op]);
}

/* ---- decode ---- */

typedef struct Decoded			/* tidy: in memory only */
{
	ZRecPart	part;
	ZRecPlace	place;
	ZNewRow    *rows;
	ZRecLogical logical;
} Decoded;

/* Take the undo record, which must be of a kind that the WAL record's opcode has. */
static void
take_undo(ZRecCursor *cur, uint8 opcode, Decoded *d)
{
	ZUndoForm	form = (d->part.flags & C_UNDO_ONLY) ? ZFORM_LOG : ZFORM_WAL;
	ZChange    *change = &d->part.change;

	zrec_part_take_undo(cur, d->place.ptr, form, &d->part);
	if (cur->bad)
		return;
	if (opcodes[change->undo.type] != opcode)
		zrec_cursor_fail(cur);
	change->row.op = change->undo.type;
}

/* Decode the main data.  Return false if it is damaged. */
static bool
decode_main(XLogReaderState *record, Decoded *d)
{
	uint8		opcode = XLogRecGetInfo(record) & ~XLR_INFO_MASK;
	ZRecPart   *part = &d->part;
	ZRecCursor	cur;

	memset(d, 0, sizeof(*d));
	part->change.row.op = op_of(opcode);
	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	part->flags = zrec_take_byte(&cur);
	d->place.append.init = (part->flags & C_UNDO_INIT) != 0;
	if (part->flags & C_UNDO)
		zrec_place_take(record, &cur, &d->place);
	zrec_part_take_head(&cur, part);
	if (part->flags & C_UNDO)
		take_undo(&cur, opcode, d);
	if (!(part->flags & C_UNDO_ONLY))
	{
		zrec_part_take_tail(&cur, part);
		zrec_logical_take(&cur, &d->logical);
	}
	return zrec_cursor_done(&cur);
}

/* Decode the rows or bytes that came with block 0.  d->rows is palloc'd. */
static void
decode_rows(XLogReaderState *record, Decoded *d)
{
	ZRowPlan   *row = &d->part.change.row;
	Size		len;
	char	   *data = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &len);
	ZRecCursor	cur;

	if (row->op == ZOP_UPDATE)
	{
		row->mid = data ? data : "";
		row->midlen = data ? len : 0;
	}
	if (row->op != ZOP_INSERT)
		return;
	d->rows = palloc(sizeof(ZNewRow) * Max(row->nrows, 1));
	zrec_cursor_init(&cur, data, data ? len : 0);
	for (int i = 0; i < row->nrows; i++)
	{
		uint16		rowlen = len;

		if (d->part.flags & C_MANY)
			zrec_take_raw(&cur, &rowlen, sizeof(rowlen));
		d->rows[i].offnum = d->part.first + i;
		d->rows[i].len = rowlen;
		d->rows[i].bytes = zrec_take_bytes(&cur, rowlen);
	}
	if (!zrec_cursor_done(&cur))
		zrec_replay_damaged(record);
	row->rows = d->rows;
}

/* ---- redo ---- */

/*
 * Redo the undo page: write the undo record in log form, byte for byte as the forward path did.
 * has_xact and has_page, which say what it left out, are in the WAL form, too.
 */
static void
redo_undo(XLogReaderState *record, Decoded *d)
{
	static char bytes[BLCKSZ];
	ZUndoBytes	undo = {bytes, 0};
	Size		wal_len;

	if (!(d->part.flags & C_UNDO_ONLY))
		zrec_part_complete(record, ZREC_BLK_TABLE, d->place.ptr, &d->part);
	if (!d->place.known)
		return;
	undo.len = zrec_undo_encode(&d->part.change.undo, d->place.ptr, bytes, &wal_len);
	zundo_redo_write(record, &d->place.append, &undo, 1);
}

/* Redo the table page, then the slot's page (L1).  Each may need replay without the other. */
static void
redo_table(XLogReaderState *record, Decoded *d)
{
	ZChange    *change = &d->part.change;
	Buffer		buffer;
	Buffer		overflow_buf = InvalidBuffer;
	XLogRedoAction action;
	XLogRedoAction slot_action = BLK_DONE;
	PGAlignedBlock scratch;
	Page		overflow = (Page) scratch.data;

	if (change->init_page)
	{
		buffer = XLogInitBufferForRedo(record, ZREC_BLK_TABLE);
		action = BLK_NEEDS_REDO;
	}
	else
		action = XLogReadBufferForRedo(record, ZREC_BLK_TABLE, &buffer);
	if (XLogRecHasBlockRef(record, ZREC_BLK_OVERFLOW))
	{
		slot_action = XLogReadBufferForRedo(record, ZREC_BLK_OVERFLOW, &overflow_buf);
		if (slot_action == BLK_NEEDS_REDO)
			overflow = BufferGetPage(overflow_buf);
	}
	if (change->has_undo && (action == BLK_NEEDS_REDO || slot_action == BLK_NEEDS_REDO))
		zrec_place_check(record, &d->place);
	if (slot_action == BLK_NEEDS_REDO)
	{
		/* else the table page's replay changes the slot, too */
		if (action != BLK_NEEDS_REDO)
			zpage_slot_take_apply(zpage_slot(NULL, overflow, change->slot.slotno),
								  &change->slot);
		PageSetLSN(overflow, record->EndRecPtr);
		MarkBufferDirty(overflow_buf);
	}
	if (action == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buffer);

		decode_rows(record, d);
		if (overflow == (Page) scratch.data)
			zpage_scratch_init_apply(overflow, &change->slot);
		/* for the page's pruning hint */
		if (!change->has_undo && change->row.op == ZOP_DELETE)
			change->slot.next.fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));
		zchange_apply(page, overflow, change);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buffer);
		if (d->rows)
			pfree(d->rows);
	}
	if (BufferIsValid(overflow_buf))
		UnlockReleaseBuffer(overflow_buf);
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

/*
 * LOCKING: the undo page by itself, before the table page: a reader on a standby that sees the
 * row changed finds the undo record.
 */
void
zrec_change_redo(XLogReaderState *record)
{
	Decoded		d;

	if (!decode_main(record, &d))
		zrec_replay_damaged(record);
	/* before any page: a snapshot that is to be cancelled must not see the change */
	zrec_part_redo_conflict(record, &d.part);
	if (d.part.flags & C_UNDO)
		redo_undo(record, &d);
	if (!(d.part.flags & C_UNDO_ONLY))
	{
		redo_table(record, &d);
		zrec_map_redo(record);
	}
}

void
zrec_change_desc(StringInfo buf, XLogReaderState *record)
{
	Decoded		d;
	const ZRecPart *part = &d.part;

	if (!decode_main(record, &d))
	{
		zrec_desc_damaged(buf);
		return;
	}
	appendStringInfo(buf, "off: %u, slot: %u", part->first, part->change.slot.slotno);
	zrec_part_desc_flags(buf, part->flags);
	if (part->flags & C_UNDO)
	{
		zrec_place_desc(buf, &d.place);
		zrec_part_desc_undo(buf, part, d.place.append.offset);
	}
	if (part->change.row.op == ZOP_INSERT)
		appendStringInfo(buf, ", rows: %d", part->change.row.nrows);
	zrec_logical_desc(buf, &d.logical);
}

bool
zrec_change_logical(XLogReaderState *record, ZRecLogical *logical)
{
	Decoded		d;

	if (!decode_main(record, &d))
		return false;
	*logical = d.logical;
	if (zrec_logical_has_rows(logical->kind))
	{
		logical->rows = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &logical->rows_len);
		logical->many = (d.part.flags & C_MANY) != 0;
		return logical->rows != NULL && logical->nrows == d.part.change.row.nrows;
	}
	return true;
}
