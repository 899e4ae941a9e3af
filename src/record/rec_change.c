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
#include "storage/bufmgr.h"

#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

#include "rec_private.h"

/* The opcode of each operation.  Redo uses the list in the other direction. */
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

/* Check U2 of the undo record, and W2 of its page. */
static void
assert_undo(const ZUndoRecord *rec, const ZUndoWrite *write)
{
	zrec_part_assert_links(rec, write->ptr);
	Assert(zheap_buffer_is_exclusive(write->buffer));
	Assert(write->ptr == zundo_ptr_make(BufferGetBlockNumber(write->buffer), write->generation,
										write->offset));
}

/*
 * Check W2: the change's buffers are locked exclusively, and are there exactly if it needs
 * them.
 */
static void
assert_buffers(const ZChange *change, const ZChangeBuffers *buffers, const ZUndoWrite *write)
{
	Assert(zheap_buffer_is_exclusive(buffers->table));
	/* the slot's page goes with the change if, and only if, the slot is there */
	Assert(BufferIsValid(buffers->slots) ==
		   (change->has_undo && change->slot.slotno >= ZPAGE_FIRST_OVERFLOW));
	Assert(!BufferIsValid(buffers->slots) || zheap_buffer_is_exclusive(buffers->slots));
	if (change->has_undo)
		assert_undo(&change->undo, write);
}
#else
#define assert_undo(rec, write) ((void) 0)
#define assert_buffers(change, buffers, write) ((void) 0)
#endif

XLogRecPtr
zrec_undo_emit(const ZUndoRecord *rec, ZUndoWrite *write, const ZUndoBytes *undo)
{
	assert_undo(rec, write);
	zrec_part_end(zrec_part_begin(NULL, C_UNDO | C_UNDO_ONLY, write, undo));
	zundo_register(write, ZREC_BLK_UNDO, false);
	return zrec_insert(opcodes[rec->type]);
}

XLogRecPtr
zrec_change_emit(const ZChange *change, const ZChangeBuffers *buffers, ZUndoWrite *write,
				 const ZUndoBytes *undo)
{
	uint8		flags = zrec_part_flags(change);
	char	   *end;

	Assert(opcodes[op_of(opcodes[change->row.op])] == opcodes[change->row.op]);
	assert_buffers(change, buffers, write);
	end = zrec_part_begin(change, flags, write, undo);
	/* replay initializes a new page whatever it contains: it must know the pointer (W3) */
	if (change->has_undo)
		zundo_register(write, ZREC_BLK_UNDO, !change->init_page);
	zrec_part_end(zrec_part_put_tail(end, change, flags));
	zrec_logical_register(change->logical);
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffers->table,
					   REGBUF_STANDARD | (change->init_page ? REGBUF_WILL_INIT : 0) |
					   (tells_rows(change->logical) ? REGBUF_KEEP_DATA : 0));
	register_rows(&change->row);
	if (BufferIsValid(buffers->slots))
		XLogRegisterBuffer(ZREC_BLK_OVERFLOW, buffers->slots, REGBUF_STANDARD);
	zrec_map_register(ZREC_BLK_MAP, buffers->map);
	return zrec_insert(opcodes[change->row.op]);
}

/* ---- decode ---- */

/* Find the rows to which the part for logical decoding refers. */
static bool
find_rows(XLogReaderState *record, const ZRecPart *part, ZRecLogical *logical)
{
	if (!zrec_logical_has_rows(logical->kind))
		return true;
	logical->rows = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &logical->rows_len);
	logical->many = (part->flags & C_MANY) != 0;
	return logical->rows != NULL && logical->nrows == part->change.row.nrows;
}

/* Where two operations have the same opcode, the undo record says which it is. */
static bool
decode_change(XLogReaderState *record, ZRecDecoded *d)
{
	uint8		opcode = XLogRecGetInfo(record) & ~XLR_INFO_MASK;
	ZRecPart   *part = &d->changes.parts[0];
	ZRecCursor	cur;

	d->changes.nparts = 1;
	part->block_id = ZREC_BLK_TABLE;
	part->change.row.op = op_of(opcode);
	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	zrec_part_take_first(record, &cur, &d->changes);
	if (!(part->flags & C_UNDO_ONLY))
		zrec_logical_take(&cur, &d->logical);
	return zrec_cursor_done(&cur) && opcodes[part->change.row.op] == opcode &&
		find_rows(record, part, &d->logical);
}

/* Decode the rows or bytes that came with block 0.  The rows are in a static array. */
static void
decode_rows(XLogReaderState *record, ZRecPart *part)
{
	static ZNewRow rows[ZPAGE_MAX_OFFSET];
	ZRowPlan   *row = &part->change.row;
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
	row->rows = rows;
	zrec_cursor_init(&cur, data, data ? len : 0);
	for (int i = 0; i < row->nrows; i++)
	{
		uint16		rowlen = len;

		if (part->flags & C_MANY)
			zrec_take_raw(&cur, &rowlen, sizeof(rowlen));
		rows[i].offnum = part->first + i;
		rows[i].len = rowlen;
		rows[i].bytes = zrec_take_bytes(&cur, rowlen);
	}
	if (!zrec_cursor_done(&cur))
		zrec_replay_damaged(record);
}

/* ---- redo ---- */

/*
 * Redo the table page, and the slot's page (L1), of which NULL is not to be changed.  A slot of
 * a page that is not is changed on a scratch page.
 */
static void
redo_pages(XLogReaderState *record, Page page, Page slots, ZRecPart *part)
{
	ZChange    *change = &part->change;
	PGAlignedBlock scratch;

	if (page == NULL)
	{
		if (slots != NULL)
			zpage_slot_take_apply(zpage_slot(NULL, slots, change->slot.slotno), &change->slot);
		return;
	}
	decode_rows(record, part);
	if (slots == NULL)
	{
		slots = (Page) scratch.data;
		zpage_scratch_init_apply(slots, &change->slot);
	}
	/* for the page's pruning hint */
	if (!change->has_undo && change->row.op == ZOP_DELETE)
		change->slot.next.fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));
	zchange_apply(page, slots, change);
}

/*
 * LOCKING: the undo page by itself, before the table page: a reader on a standby that sees the
 * row changed finds the undo record.  Then the table page, and the slot's page.  Each may need
 * replay without the other.
 */
static void
redo_change(XLogReaderState *record, ZRecDecoded *d)
{
	ZRecPart   *part = &d->changes.parts[0];
	Buffer		buffer;
	Buffer		slots_buf = InvalidBuffer;
	Page		page;
	Page		slots = NULL;

	zrec_part_redo_undo(record, &d->changes);
	if (part->flags & C_UNDO_ONLY)
		return;
	if (part->change.init_page)
		page = zredo_new_page(record, ZREC_BLK_TABLE, &buffer);
	else
		page = zredo_page(record, ZREC_BLK_TABLE, &buffer);
	if (XLogRecHasBlockRef(record, ZREC_BLK_OVERFLOW))
		slots = zredo_page(record, ZREC_BLK_OVERFLOW, &slots_buf);
	if (part->change.has_undo && (page != NULL || slots != NULL))
		zrec_place_check(record, &d->changes.place);
	redo_pages(record, page, slots, part);
	zredo_done(record, slots, slots_buf);
	zredo_done(record, page, buffer);
	zrec_map_redo(record);
}

static void
desc_change(StringInfo buf, const ZRecDecoded *d)
{
	const ZRowPlan *row = &d->changes.parts[0].change.row;

	zrec_part_desc(buf, &d->changes);
	if (row->op == ZOP_INSERT)
		appendStringInfo(buf, ", rows: %d", row->nrows);
}

const ZRecKind zrec_change_kind = {decode_change, redo_change, desc_change};
