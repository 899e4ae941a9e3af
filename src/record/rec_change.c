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
 *   INSERT of one row without C_HEADER: what stands for its header, varint
 *   the part for logical decoding, if any (rec_logical.c)
 * Data of block 0 (kept beside a page image if it is an insertion that is logically decoded):
 *   UPDATE: the new bytes between prefix and suffix
 *   INSERT: the row; with C_MANY each with its length, 2 bytes, before it; the
 *   offsets are consecutive.  Without C_HEADER what stands for its header is in its place, varint,
 *   or, of one row, in main data
 * What stands for a header: natts << 2 | flags that describe the values.
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

/* Flags of an inserted row that stand in WAL: ORIGIN comes with the whole header. */
#define ROW_FLAGS		(ZROW_HASNULL | ZROW_HASEXTERNAL)
#define ROW_FLAGS_BITS	2

StaticAssertDecl(ROW_FLAGS == (1 << ROW_FLAGS_BITS) - 1, "these flags are the lowest bits");

static inline uint32
header_value(const char *row)
{
	return (uint32) zrow_natts(row) << ROW_FLAGS_BITS | (zrow_flags(row) & ROW_FLAGS);
}

/* Make the header of a row that the slot's owner inserts, or that is frozen from the start. */
static void
header_of_inserted(uint32 value, uint16 slotno, char *row)
{
	ZRowHeader	hdr = {0};

	hdr.flags = (value & ROW_FLAGS) | (slotno != 0 ? ZROW_INSERTED : 0);
	hdr.slotno = slotno;
	hdr.natts = value >> ROW_FLAGS_BITS;
	zrow_header_put(row, &hdr);
}

/* Return whether header_of_inserted() makes the row's header. */
static inline bool
is_header_of_inserted(const char *row, uint16 slotno)
{
	ZRowHeader	hdr;

	zrow_header_get(row, &hdr);
	return (hdr.flags & ~ROW_FLAGS) == (slotno != 0 ? ZROW_INSERTED : 0) &&
		hdr.flags2 == 0 && hdr.turn4 == 0 && hdr.slotno == slotno;
}

/*
 * Return whether the inserted rows' headers are in WAL: logical decoding reads the rows as they
 * are, and redo can make one kind of header only.
 */
static bool
has_headers(const ZChange *change)
{
	if (change->logical != NULL)
		return true;
	for (int i = 0; i < change->row.nrows; i++)
	{
		if (!is_header_of_inserted(change->row.rows[i].bytes, change->slot.slotno))
			return true;
	}
	return false;
}

/*
 * Register the rows of an insert, or the new bytes of an update.  Several rows are gathered
 * into one piece: the number of pieces of a WAL record is limited.
 */
static void
register_rows(const ZRowPlan *row, uint8 flags)
{
	static char many[BLCKSZ + ZPAGE_MAX_OFFSET * sizeof(uint16)];
	char	   *out = many;
	Size		skip = (flags & C_HEADER) ? 0 : ZROW_HDR_SIZE;

	if (row->op == ZOP_UPDATE && row->midlen > 0)
		XLogRegisterBufData(ZREC_BLK_TABLE, (char *) row->mid, row->midlen);
	if (row->op != ZOP_INSERT)
		return;
	if (row->nrows == 1)
	{
		if (row->rows[0].len > skip)
			XLogRegisterBufData(ZREC_BLK_TABLE, (char *) row->rows[0].bytes + skip,
								row->rows[0].len - skip);
		return;
	}
	for (int i = 0; i < row->nrows; i++)
	{
		const ZNewRow *new = &row->rows[i];

		out = zrec_put_u16(out, new->len);
		if (!(flags & C_HEADER))
			out = zvarint_put(out, header_value(new->bytes));
		out = zrec_put_raw(out, new->bytes + skip, new->len - skip);
	}
	XLogRegisterBufData(ZREC_BLK_TABLE, many, out - many);
}

/* Return whether what stands for the row's header is in main data. */
static inline bool
has_short_header(ZRowOp op, uint8 flags)
{
	return op == ZOP_INSERT && (flags & (C_HEADER | C_MANY | C_UNDO_ONLY)) == 0;
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
	zundo_register(write, ZREC_BLK_UNDO);
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
	if (change->row.op == ZOP_INSERT && has_headers(change))
		flags |= C_HEADER;
	end = zrec_part_begin(change, flags, write, undo);
	if (change->has_undo)
		zundo_register(write, ZREC_BLK_UNDO);
	end = zrec_part_put_tail(end, change, flags);
	if (has_short_header(change->row.op, flags))
		end = zvarint_put(end, header_value(change->row.rows[0].bytes));
	zrec_part_end(end);
	zrec_logical_register(change->logical);
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffers->table,
					   REGBUF_STANDARD | (change->init_page ? REGBUF_WILL_INIT : 0) |
					   (tells_rows(change->logical) ? REGBUF_KEEP_DATA : 0));
	register_rows(&change->row, flags);
	if (BufferIsValid(buffers->slots))
		XLogRegisterBuffer(ZREC_BLK_OVERFLOW, buffers->slots, REGBUF_STANDARD);
	zrec_map_register(ZREC_BLK_MAP, buffers->map);
	return zrec_insert(opcodes[change->row.op]);
}

/* ---- decode ---- */

/* The greatest value that stands for a header. */
#define HEADER_MAX		(ZROW_MAX_NATTS << ROW_FLAGS_BITS | ROW_FLAGS)

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
	if (has_short_header(part->change.row.op, part->flags))
		part->header = zrec_take_varint(&cur, HEADER_MAX);
	if (!(part->flags & C_UNDO_ONLY))
		zrec_logical_take(&cur, &d->logical);
	return zrec_cursor_done(&cur) && opcodes[part->change.row.op] == opcode &&
		find_rows(record, part, &d->logical);
}

/*
 * Take the next row, without its length.  A header that is not in WAL is made, and the row put
 * together at "out", where "room" bytes are.  The cursor becomes bad if it does not fit there.
 */
static void
take_new_row(ZRecCursor *cur, const ZRecPart *part, ZNewRow *row, char *out, Size room)
{
	uint32		value = part->header;

	if (part->flags & C_HEADER)
	{
		row->bytes = zrec_take_bytes(cur, row->len);
		return;
	}
	if (part->flags & C_MANY)
		value = zrec_take_varint(cur, HEADER_MAX);
	else
		row->len += ZROW_HDR_SIZE;
	row->bytes = out;
	if (row->len < ZROW_HDR_SIZE || row->len > room)
	{
		zrec_cursor_fail(cur);
		return;
	}
	header_of_inserted(value, part->change.slot.slotno, out);
	zrec_take_raw(cur, out + ZROW_HDR_SIZE, row->len - ZROW_HDR_SIZE);
}

/* Decode the rows or bytes that came with block 0.  The rows are in static arrays. */
static void
decode_rows(XLogReaderState *record, ZRecPart *part)
{
	static ZNewRow rows[ZPAGE_MAX_OFFSET];
	static char made[BLCKSZ];
	char	   *out = made;
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
		take_new_row(&cur, part, &rows[i], out, made + sizeof(made) - out);
		if (cur.bad)
			break;
		out += rows[i].len;
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
