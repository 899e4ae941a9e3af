/*
 * rec_move.c
 *		The WAL record of an update that moves a row: the old one is marked deleted, and the
 *		new one inserted on the same page or on another one.
 *
 * Block 0: the new row's page.  Block 1: undo page, as in rec_change.c.  Block 2: the old row's
 * page, if it is another one.  No slot page: if one is needed, the row is moved by two records.
 *
 * Main data:
 *   C_* flags of the deletion, 1 byte
 *   place of its undo record; head of its part (rec_part.c), the undo record, tail
 *   M_* flags of the insertion, and its takeover, 1 byte
 *   M_GROW: slots added, 1 byte
 *   M_CONFLICT: as C_CONFLICT
 *   two pages: slotno varint; with M_UNDO and takeover OWN: page_prev (zundo_ptr_put, relative
 *   to the deletion's record); REUSED: slot_prev: fxid varint, undo 8 bytes; ALL_VISIBLE: the
 *   other slots that are freed, varint
 *   M_HEADER: flags that describe the row's values, 1 byte, natts varint; otherwise
 *   they are the old row's
 *   one page: number of equal bytes of the bodies, at the begin and at the end, varints
 *   the part for logical decoding, if any (rec_logical.c)
 * Data of block 0:
 *   the new row's body; one page: without those bytes
 *
 * The insertion's undo record is not in the WAL record: the deletion's has the command, and the
 * place of the new row.  On one page both have one slot, and the deletion's record is the one
 * before.
 *
 * Two pages are redone one without the other, so one page's row cannot be used for the other's:
 * the old row may have been pruned from a page that is newer.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"

#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

#include "rec_private.h"

#define M_UNDO			0x01
#define M_OPEN_RUN		0x02
#define M_GROW			0x04
#define M_CONFLICT		0x08
#define M_HEADER		0x10
#define M_ALL			0x1F
#define M_TAKEOVER_SHIFT	5

void
zmove_apply(Page old, Page new, ZMove *move)
{
	Assert(move->deletion.row.op == ZOP_DELETE && move->insertion.row.op == ZOP_INSERT);
	if (old)
		zchange_apply(old, NULL, &move->deletion);
	if (new)
		zchange_apply(new, NULL, &move->insertion);
}

/* ---- emit ---- */

#ifdef USE_ASSERT_CHECKING
/* Check W2, and what redo takes for granted about a move. */
static void
assert_move(const ZMove *move, const ZMoveBuffers *buffers, const ZUndoWrite *write)
{
	const ZChange *deletion = &move->deletion;
	const ZChange *insertion = &move->insertion;
	bool		one_page = buffers->old == buffers->new;

	Assert(deletion->has_undo && deletion->undo.has_new_tid && insertion->row.nrows == 1);
	Assert(deletion->slot.slotno < ZPAGE_FIRST_OVERFLOW);
	Assert(insertion->slot.slotno < ZPAGE_FIRST_OVERFLOW);
	Assert(!deletion->init_page && !insertion->init_page);
	Assert(deletion->slot.next.undo == write->ptr);
	Assert(ItemPointerGetOffsetNumber(&deletion->undo.new_tid) ==
		   insertion->row.rows[0].offnum);
	Assert(zheap_buffer_is_exclusive(buffers->old) && zheap_buffer_is_exclusive(buffers->new));
	Assert(zheap_buffer_is_exclusive(write->buffer));
	Assert(one_page || (move->prefix == 0 && move->suffix == 0));
	Assert(!one_page || (insertion->has_undo && insertion->slot.takeover == ZTAKE_OWN &&
						 insertion->slot.slotno == deletion->slot.slotno &&
						 insertion->undo.page_prev == write->ptr));
	if (!insertion->has_undo)
		return;
	Assert(insertion->undo.cid == deletion->undo.cid && insertion->undo.token == 0);
	Assert(!insertion->undo.has_xact && insertion->undo.has_page == !one_page);
	Assert(insertion->undo.open_run || insertion->undo.count == 1);
}
#else
#define assert_move(move, buffers, write) ((void) 0)
#endif

/* Make the new row's header, as redo does. */
static void
header_of_new(uint8 value_flags, uint16 natts, uint16 slotno, char *row)
{
	ZRowHeader	hdr = {0};

	hdr.flags = (value_flags & ZROW_VALUE_FLAGS) | ZROW_INSERTED;
	hdr.slotno = slotno;
	hdr.natts = natts;
	zrow_header_put(row, &hdr);
}

#ifdef USE_ASSERT_CHECKING
static void
assert_header(const ZChange *insertion)
{
	const char *row = insertion->row.rows[0].bytes;
	char		hdr[ZROW_HDR_SIZE];

	header_of_new(zrow_flags(row), zrow_natts(row), insertion->slot.slotno, hdr);
	Assert(memcmp(hdr, row, ZROW_HDR_SIZE) == 0);
}
#else
#define assert_header(insertion) ((void) 0)
#endif

static uint8
insertion_flags(const ZMove *move)
{
	const ZChange *insertion = &move->insertion;
	uint8		flags = insertion->slot.takeover << M_TAKEOVER_SHIFT;

	if (insertion->has_undo)
		flags |= M_UNDO | (insertion->undo.open_run ? M_OPEN_RUN : 0);
	if (insertion->slot.grow > 0)
		flags |= M_GROW;
	if (FullTransactionIdIsValid(insertion->slot.conflict))
		flags |= M_CONFLICT;
	if (!move->same_header)
		flags |= M_HEADER;
	return flags;
}

/*
 * Put the insertion's slot, if the new row is on another page: its number, and what its
 * takeover needs.
 */
static char *
put_slot_there(char *out, const ZMove *move)
{
	const ZChange *insertion = &move->insertion;
	const ZSlotPlan *slot = &insertion->slot;

	out = zvarint_put(out, slot->slotno);
	if (!insertion->has_undo)
		return out;
	if (slot->takeover == ZTAKE_OWN)
		out = zundo_ptr_put(out, insertion->undo.page_prev, move->deletion.slot.next.undo);
	else if (slot->takeover == ZTAKE_REUSED)
	{
		out = zvarint_put(out, U64FromFullTransactionId(slot->prev.fxid));
		memcpy(out, &slot->prev.undo, sizeof(ZUndoPtr));
		out += sizeof(ZUndoPtr);
	}
	else if (slot->takeover == ZTAKE_ALL_VISIBLE)
		out = zvarint_put(out, slot->also);
	return out;
}

#define INSERTION_MAX	(2 + 5 * ZVARINT_MAX + ZUNDO_PTR_MAX)

/*
 * Put the insertion's part: what redo cannot take from the deletion, whose undo record has the
 * rest.
 */
static char *
put_insertion(char *out, const ZMove *move, bool one_page)
{
	const ZChange *insertion = &move->insertion;
	const char *row = insertion->row.rows[0].bytes;
	uint8		flags = insertion_flags(move);

	*out++ = (char) flags;
	if (flags & M_GROW)
		*out++ = (char) insertion->slot.grow;
	if (flags & M_CONFLICT)
		out = zvarint_put(out, U64FromFullTransactionId(insertion->slot.next.fxid) -
						  U64FromFullTransactionId(insertion->slot.conflict));
	if (!one_page)
		out = put_slot_there(out, move);
	if (flags & M_HEADER)
	{
		*out++ = (char) (zrow_flags(row) & ZROW_VALUE_FLAGS);
		out = zvarint_put(out, zrow_natts(row));
	}
	if (one_page)
	{
		out = zvarint_put(out, move->prefix);
		out = zvarint_put(out, move->suffix);
	}
	return out;
}

/* Register the new row's body, without the bytes that it has in common with the old one's. */
static void
register_body(const ZMove *move)
{
	const ZNewRow *row = &move->insertion.row.rows[0];
	uint32		from = ZROW_HDR_SIZE + move->prefix;

	Assert(from + move->suffix <= row->len);
	if (from + move->suffix < row->len)
		XLogRegisterBufData(ZREC_BLK_TABLE, (char *) row->bytes + from,
							row->len - from - move->suffix);
}

XLogRecPtr
zrec_move_emit(const ZMove *move, const ZMoveBuffers *buffers, ZUndoWrite *write,
			   const ZUndoBytes *undo)
{
	/* static: the data must live until XLogInsert, and palloc is forbidden here */
	static char head[1 + ZREC_PLACE_MAX + ZREC_HEAD_MAX];
	static char tail[ZREC_TAIL_MAX + INSERTION_MAX];
	bool		one_page = buffers->old == buffers->new;
	uint8		flags = zrec_part_flags(&move->deletion);
	char	   *end = head;

	assert_move(move, buffers, write);
	assert_header(&move->insertion);
	zrec_part_assert_links(&move->deletion, move->deletion.slot.next.undo);
	zrec_part_assert_links(&move->insertion, move->insertion.slot.next.undo);
	XLogBeginInsert();
	*end++ = (char) (flags | (write->init ? C_UNDO_INIT : 0));
	end = zrec_place_put(end, write);
	end = zrec_part_put_head(end, &move->deletion, flags);
	Assert(end <= head + sizeof(head));
	XLogRegisterData(head, end - head);
	XLogRegisterData((char *) undo->bytes, undo->len);
	end = zrec_part_put_tail(tail, &move->deletion, flags);
	end = put_insertion(end, move, one_page);
	Assert(end <= tail + sizeof(tail));
	XLogRegisterData(tail, end - tail);
	zrec_logical_register(move->deletion.logical);
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffers->new, REGBUF_STANDARD);
	register_body(move);
	zundo_register(write, ZREC_BLK_UNDO, true);
	if (!one_page)
		XLogRegisterBuffer(ZREC_BLK_OLD, buffers->old, REGBUF_STANDARD);
	for (int i = 0; i < 2 && BufferIsValid(buffers->maps[i]); i++)
		zrec_map_register(i == 0 ? ZREC_BLK_MAP : ZREC_BLK_OLD_MAP, buffers->maps[i]);
	return zrec_insert(ZREC_MOVE);
}

/* ---- decode ---- */

typedef struct DecodedMove		/* tidy: in memory only */
{
	ZRecPart	deletion;
	ZRecPart	insertion;		/* its flags as C_*, where there is one */
	ZRecPlace	place;
	bool		one_page;
	bool		same_header;
	uint8		value_flags;
	uint16		natts;
	uint16		prefix;
	uint16		suffix;
	ZRecLogical logical;
} DecodedMove;

static void
take_deletion(XLogReaderState *record, ZRecCursor *cur, DecodedMove *d)
{
	ZRecPart   *part = &d->deletion;

	part->change.row.op = ZOP_DELETE;
	part->flags = zrec_take_byte(cur);
	if ((part->flags & ~C_UNDO_INIT & ~C_GROW & ~C_HEADER & ~C_CONFLICT) != C_UNDO)
		zrec_cursor_fail(cur);
	d->place.append.init = (part->flags & C_UNDO_INIT) != 0;
	zrec_place_take(record, cur, &d->place);
	zrec_part_take_head(cur, part);
	zrec_part_take_undo(cur, d->place.ptr, ZFORM_WAL, part);
	if (!cur->bad && (part->change.undo.type != ZOP_DELETE || !part->change.undo.has_new_tid))
		zrec_cursor_fail(cur);
	zrec_part_take_tail(cur, part);
}

/* Take what put_slot_there wrote. */
static void
take_slot_there(ZRecCursor *cur, DecodedMove *d)
{
	ZChange    *change = &d->insertion.change;
	ZSlotPlan  *slot = &change->slot;
	const char *next;

	slot->slotno = zrec_take_varint(cur, ZPAGE_FIRST_OVERFLOW - 1);
	if (!change->has_undo)
		return;
	if (slot->takeover == ZTAKE_OWN)
	{
		next = zundo_ptr_get(cur->at, cur->end, d->place.ptr, &change->undo.page_prev);
		if (next == NULL)
			zrec_cursor_fail(cur);
		else
			cur->at = next;
	}
	else if (slot->takeover == ZTAKE_REUSED)
	{
		slot->prev.fxid = FullTransactionIdFromU64(zrec_take_varint(cur, PG_UINT64_MAX));
		zrec_take_raw(cur, &slot->prev.undo, sizeof(ZUndoPtr));
	}
	else if (slot->takeover == ZTAKE_ALL_VISIBLE)
		slot->also = zrec_take_varint(cur, PG_UINT32_MAX);
}

/* Fill in the insertion's undo record, most of which follows from the deletion's. */
static void
complete_insertion(uint8 flags, DecodedMove *d)
{
	const ZUndoRecord *deletion = &d->deletion.change.undo;
	const ZSlotPlan *slot = &d->insertion.change.slot;
	ZUndoRecord *undo = &d->insertion.change.undo;

	undo->type = ZOP_INSERT;
	undo->slotno = slot->slotno;
	undo->takeover = slot->takeover;
	undo->open_run = (flags & M_OPEN_RUN) != 0;
	undo->offnum = d->insertion.first;
	undo->count = 1;
	undo->cid = deletion->cid;
	undo->slot_prev = slot->prev;
	undo->has_page = !d->one_page;
	if (d->one_page)
		undo->page_prev = d->place.ptr;
}

/* Take what put_insertion wrote. */
static void
take_insertion(ZRecCursor *cur, DecodedMove *d)
{
	ZRecPart   *part = &d->insertion;
	ZSlotPlan  *slot = &part->change.slot;
	uint8		flags = zrec_take_byte(cur);

	part->change.row.op = ZOP_INSERT;
	part->change.has_undo = (flags & M_UNDO) != 0;
	part->first = ItemPointerGetOffsetNumberNoCheck(&d->deletion.change.undo.new_tid);
	slot->takeover = flags >> M_TAKEOVER_SHIFT;
	if ((flags & ~M_ALL) >> M_TAKEOVER_SHIFT > ZTAKE_REUSED)
		zrec_cursor_fail(cur);
	if (flags & M_GROW)
		slot->grow = zrec_take_byte(cur);
	if (flags & M_CONFLICT)
	{
		part->flags |= C_CONFLICT;
		part->conflict_distance = zrec_take_varint(cur, PG_UINT64_MAX);
	}
	if (d->one_page)
		slot->slotno = d->deletion.change.slot.slotno;
	else
		take_slot_there(cur, d);
	complete_insertion(flags, d);
	d->same_header = (flags & M_HEADER) == 0;
	if (!d->same_header)
	{
		d->value_flags = zrec_take_byte(cur);
		d->natts = zrec_take_varint(cur, ZROW_MAX_NATTS);
	}
	if (d->one_page)
	{
		d->prefix = zrec_take_varint(cur, BLCKSZ);
		d->suffix = zrec_take_varint(cur, BLCKSZ);
	}
	else if (d->same_header)
		zrec_cursor_fail(cur);
}

/* Decode the main data.  Return false if it is damaged. */
static bool
decode_move(XLogReaderState *record, DecodedMove *d)
{
	ZRecCursor	cur;

	memset(d, 0, sizeof(*d));
	d->one_page = !XLogRecHasBlockRef(record, ZREC_BLK_OLD);
	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	take_deletion(record, &cur, d);
	take_insertion(&cur, d);
	zrec_logical_take(&cur, &d->logical);
	return zrec_cursor_done(&cur);
}

/* ---- redo ---- */

/* Redo the undo page: write both records, byte for byte as the forward path did. */
static void
redo_undo_of_both(XLogReaderState *record, DecodedMove *d)
{
	static char bytes[2][BLCKSZ];
	ZUndoBytes	undo[2] = {{bytes[0], 0}, {bytes[1], 0}};
	ZUndoPtr	second;
	Size		wal_len;

	if (!d->place.known)
		return;
	zrec_part_complete(record, d->one_page ? ZREC_BLK_TABLE : ZREC_BLK_OLD, d->place.ptr,
					   &d->deletion);
	undo[0].len = zrec_undo_encode(&d->deletion.change.undo, d->place.ptr, bytes[0], &wal_len);
	second = zundo_ptr_make(d->place.append.block, d->place.append.generation,
							d->place.append.offset + zundo_size_of_two(undo[0].len, 0));
	zrec_part_complete(record, ZREC_BLK_TABLE, second, &d->insertion);
	if (d->insertion.change.has_undo)
		undo[1].len = zrec_undo_encode(&d->insertion.change.undo, second, bytes[1], &wal_len);
	zundo_redo_write(record, &d->place.append, undo, d->insertion.change.has_undo ? 2 : 1);
}

/* Make the new row from the record and, on one page, the old row.  It is in a static buffer. */
static void
make_row(XLogReaderState *record, DecodedMove *d, Page page, ZNewRow *new)
{
	static char row[BLCKSZ];
	char	   *body = row + ZROW_HDR_SIZE;
	Size		given = 0;
	char	   *data = XLogRecGetBlockData(record, ZREC_BLK_TABLE, &given);
	Size		same = (Size) d->prefix + d->suffix;
	uint32		len;
	const char *old;

	if (data == NULL)
		given = 0;
	if (ZROW_HDR_SIZE + given + same > sizeof(row))
		zrec_replay_damaged(record);
	if (d->one_page)
	{
		old = zpage_row(page, d->deletion.first, &len, NULL);
		if (ZROW_HDR_SIZE + same > len)
			zrec_replay_damaged(record);
		if (d->same_header)
		{
			d->value_flags = zrow_flags(old);
			d->natts = zrow_natts(old);
		}
		memcpy(body, old + ZROW_HDR_SIZE, d->prefix);
		memcpy(body + d->prefix + given, old + len - d->suffix, d->suffix);
	}
	header_of_new(d->value_flags, d->natts, d->insertion.change.slot.slotno, row);
	if (given > 0)
		memcpy(body + d->prefix, data, given);
	new->offnum = d->insertion.first;
	new->len = ZROW_HDR_SIZE + given + same;
	new->bytes = row;
	d->insertion.change.row.nrows = 1;
	d->insertion.change.row.rows = new;
}

static void
move_redo_done(XLogReaderState *record, Buffer buffer)
{
	PageSetLSN(BufferGetPage(buffer), record->EndRecPtr);
	MarkBufferDirty(buffer);
}

/*
 * LOCKING: the undo page by itself, before the table pages.  These are locked together, as in
 * the forward path: readers must not see one page changed without the other.  In replay only
 * this process locks two, so the order is free.
 */
void
zrec_move_redo(XLogReaderState *record)
{
	DecodedMove d;
	ZMove		move;
	ZNewRow		new_row;
	Buffer		new_buf;
	Buffer		old_buf = InvalidBuffer;
	Page		new = NULL;
	Page		old = NULL;

	if (!decode_move(record, &d))
		zrec_replay_damaged(record);
	/* before any page: a snapshot that is to be cancelled must not see the change */
	zrec_part_redo_conflict(record, &d.deletion);
	zrec_part_redo_conflict(record, &d.insertion);
	redo_undo_of_both(record, &d);

	if (XLogReadBufferForRedo(record, ZREC_BLK_TABLE, &new_buf) == BLK_NEEDS_REDO)
		new = BufferGetPage(new_buf);
	if (d.one_page)
		old = new;
	else if (XLogReadBufferForRedo(record, ZREC_BLK_OLD, &old_buf) == BLK_NEEDS_REDO)
		old = BufferGetPage(old_buf);
	if (new || old)
		zrec_place_check(record, &d.place);
	if (new)
		make_row(record, &d, new, &new_row);
	move.deletion = d.deletion.change;
	move.insertion = d.insertion.change;
	zmove_apply(old, new, &move);
	if (new)
		move_redo_done(record, new_buf);
	if (old && !d.one_page)
		move_redo_done(record, old_buf);
	if (BufferIsValid(old_buf))
		UnlockReleaseBuffer(old_buf);
	if (BufferIsValid(new_buf))
		UnlockReleaseBuffer(new_buf);
	zrec_map_redo(record);
}

void
zrec_move_desc(StringInfo buf, XLogReaderState *record)
{
	DecodedMove d;

	if (!decode_move(record, &d))
	{
		zrec_desc_damaged(buf);
		return;
	}
	appendStringInfo(buf, "off: %u, slot: %u", d.deletion.first, d.deletion.change.slot.slotno);
	zrec_part_desc_flags(buf, d.deletion.flags);
	zrec_place_desc(buf, &d.place);
	zrec_part_desc_undo(buf, &d.deletion, d.place.append.offset);
	appendStringInfo(buf, ", new off: %u, slot: %u", d.insertion.first,
					 d.insertion.change.slot.slotno);
	if (d.insertion.change.has_undo)
		appendStringInfo(buf, ", takeover: %s", zrec_takeover_name(d.insertion.change.slot.takeover));
	if (d.one_page)
		appendStringInfo(buf, ", prefix: %u, suffix: %u", d.prefix, d.suffix);
	zrec_logical_desc(buf, &d.logical);
}

bool
zrec_move_logical(XLogReaderState *record, ZRecLogical *logical)
{
	DecodedMove d;

	if (!decode_move(record, &d))
		return false;
	*logical = d.logical;
	return true;
}
