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
 *   C_* and M_* flags of the insertion, and its takeover, 1 byte; head of its part
 *   two pages: slotno varint; with C_UNDO and takeover OWN: page_prev (zundo_ptr_put, relative
 *   to the deletion's record); REUSED: slot_prev (zrec_put_owner); ALL_VISIBLE: the other slots
 *   that are freed, varint
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
#include "storage/bufmgr.h"

#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

#include "rec_private.h"

/* Flags of the insertion, beside C_UNDO, C_GROW and C_CONFLICT. */
#define M_TAKEOVER		0x0C	/* two bits */
#define M_TAKEOVER_SHIFT	2
#define M_OPEN_RUN		0x20
#define M_HEADER		0x40

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
	zrec_part_assert_links(&deletion->undo, deletion->slot.next.undo);
	if (!insertion->has_undo)
		return;
	zrec_part_assert_links(&insertion->undo, insertion->slot.next.undo);
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

	return zrec_part_flags(insertion) | insertion->slot.takeover << M_TAKEOVER_SHIFT |
		(insertion->has_undo && insertion->undo.open_run ? M_OPEN_RUN : 0) |
		(move->same_header ? 0 : M_HEADER);
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
		out = zrec_put_owner(out, &slot->prev);
	else if (slot->takeover == ZTAKE_ALL_VISIBLE)
		out = zvarint_put(out, slot->also);
	return out;
}

/*
 * Put the insertion's part: what redo cannot take from the deletion, whose undo record has the
 * rest.  At most ZREC_MORE_MAX bytes.
 */
static char *
put_insertion(char *out, const ZMove *move, bool one_page)
{
	const ZChange *insertion = &move->insertion;
	const char *row = insertion->row.rows[0].bytes;
	uint8		flags = insertion_flags(move);

	*out++ = (char) flags;
	out = zrec_part_put_head(out, insertion, flags);
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
	bool		one_page = buffers->old == buffers->new;
	uint8		flags = zrec_part_flags(&move->deletion);
	char	   *end;

	assert_move(move, buffers, write);
	assert_header(&move->insertion);
	end = zrec_part_begin(&move->deletion, flags, write, undo);
	end = zrec_part_put_tail(end, &move->deletion, flags);
	zrec_part_end(put_insertion(end, move, one_page));
	zrec_logical_register(move->deletion.logical);
	XLogRegisterBuffer(ZREC_BLK_TABLE, buffers->new, REGBUF_STANDARD);
	register_body(move);
	zundo_register(write, ZREC_BLK_UNDO);
	if (!one_page)
		XLogRegisterBuffer(ZREC_BLK_OLD, buffers->old, REGBUF_STANDARD);
	zrec_map_register(ZREC_BLK_MAP, buffers->maps[0]);
	zrec_map_register(ZREC_BLK_OTHER_MAP, buffers->maps[1]);
	return zrec_insert(ZREC_MOVE);
}

/* ---- decode ---- */

/* Take the deletion's part, which the record begins with.  Return whether it is one. */
static bool
take_deletion(XLogReaderState *record, ZRecCursor *cur, ZRecChanges *d)
{
	ZRecPart   *part = &d->parts[0];

	d->nparts = 2;
	part->block_id = d->one_page ? ZREC_BLK_TABLE : ZREC_BLK_OLD;
	zrec_part_take_first(record, cur, d);
	return (part->flags & ~C_UNDO_INIT & ~C_GROW & ~C_HEADER & ~C_CONFLICT) == C_UNDO &&
		part->change.undo.type == ZOP_DELETE && part->change.undo.has_new_tid;
}

/* Take what put_slot_there wrote. */
static void
take_slot_there(ZRecCursor *cur, ZRecChanges *d)
{
	ZChange    *change = &d->parts[1].change;
	ZSlotPlan  *slot = &change->slot;

	slot->slotno = zrec_take_varint(cur, ZPAGE_FIRST_OVERFLOW - 1);
	if (!change->has_undo)
		return;
	if (slot->takeover == ZTAKE_OWN)
		change->undo.page_prev = zrec_take_ptr(cur, d->place.ptr);
	else if (slot->takeover == ZTAKE_REUSED)
		zrec_take_owner(cur, &slot->prev);
	else if (slot->takeover == ZTAKE_ALL_VISIBLE)
		slot->also = zrec_take_varint(cur, PG_UINT32_MAX);
}

/* Fill in the insertion's undo record, most of which follows from the deletion's. */
static void
complete_insertion(uint8 flags, ZRecChanges *d)
{
	const ZSlotPlan *slot = &d->parts[1].change.slot;
	ZUndoRecord *undo = &d->parts[1].change.undo;

	undo->type = ZOP_INSERT;
	undo->slotno = slot->slotno;
	undo->takeover = slot->takeover;
	undo->open_run = (flags & M_OPEN_RUN) != 0;
	undo->offnum = d->parts[1].first;
	undo->count = 1;
	undo->cid = d->parts[0].change.undo.cid;
	undo->slot_prev = slot->prev;
	undo->has_page = !d->one_page;
	if (d->one_page)
		undo->page_prev = d->place.ptr;
}

/* Take what put_insertion wrote.  Return false if its flags make no sense. */
static bool
take_insertion(ZRecCursor *cur, ZRecChanges *d)
{
	const ZChange *deletion = &d->parts[0].change;
	ZRecPart   *part = &d->parts[1];
	ZSlotPlan  *slot = &part->change.slot;
	uint8		flags = zrec_take_byte(cur);

	part->block_id = ZREC_BLK_TABLE;
	part->flags = flags & (C_UNDO | C_GROW | C_CONFLICT);
	part->change.row.op = ZOP_INSERT;
	part->change.has_undo = (flags & C_UNDO) != 0;
	part->first = ItemPointerGetOffsetNumberNoCheck(&deletion->undo.new_tid);
	slot->takeover = (flags & M_TAKEOVER) >> M_TAKEOVER_SHIFT;
	zrec_part_take_head(cur, part);
	if (d->one_page)
		slot->slotno = deletion->slot.slotno;
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
	return (flags & C_INIT_PAGE) == 0 && (d->one_page || !d->same_header);
}

static bool
decode_move(XLogReaderState *record, ZRecDecoded *d)
{
	ZRecCursor	cur;

	d->changes.one_page = !XLogRecHasBlockRef(record, ZREC_BLK_OLD);
	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	if (!take_deletion(record, &cur, &d->changes) || !take_insertion(&cur, &d->changes))
		return false;
	zrec_logical_take(&cur, &d->logical);
	return zrec_cursor_done(&cur);
}

/* ---- redo ---- */

/* Make the new row from the record and, on one page, the old row.  It is in a static buffer. */
static void
make_row(XLogReaderState *record, ZRecChanges *d, Page page, ZNewRow *new)
{
	static char row[BLCKSZ];
	ZRecPart   *insertion = &d->parts[1];
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
		old = zpage_row(page, d->parts[0].first, &len, NULL);
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
	header_of_new(d->value_flags, d->natts, insertion->change.slot.slotno, row);
	if (given > 0)
		memcpy(body + d->prefix, data, given);
	new->offnum = insertion->first;
	new->len = ZROW_HDR_SIZE + given + same;
	new->bytes = row;
	insertion->change.row.nrows = 1;
	insertion->change.row.rows = new;
}

/*
 * LOCKING: the undo page by itself, before the table pages.  These are locked together, as in
 * the forward path: readers must not see one page changed without the other.  In replay only
 * this process locks two, so the order is free.
 */
static void
redo_move(XLogReaderState *record, ZRecDecoded *decoded)
{
	ZRecChanges *d = &decoded->changes;
	ZMove		move;
	ZNewRow		new_row;
	Buffer		new_buf;
	Buffer		old_buf = InvalidBuffer;
	Page		new;
	Page		old;

	zrec_part_redo_undo(record, d);
	new = zredo_page(record, ZREC_BLK_TABLE, &new_buf);
	old = d->one_page ? new : zredo_page(record, ZREC_BLK_OLD, &old_buf);
	if (new || old)
		zrec_place_check(record, &d->place);
	if (new)
		make_row(record, d, new, &new_row);
	move.deletion = d->parts[0].change;
	move.insertion = d->parts[1].change;
	zmove_apply(old, new, &move);
	zredo_done(record, new, new_buf);
	if (!d->one_page)
		zredo_done(record, old, old_buf);
	zrec_map_redo(record);
}

static void
desc_move(StringInfo buf, const ZRecDecoded *decoded)
{
	const ZRecChanges *d = &decoded->changes;
	const ZRecPart *insertion = &d->parts[1];

	zrec_part_desc(buf, d);
	appendStringInfo(buf, ", new off: %u, slot: %u", insertion->first,
					 insertion->change.slot.slotno);
	if (insertion->change.has_undo)
		appendStringInfo(buf, ", takeover: %s",
						 zrec_takeover_name(insertion->change.slot.takeover));
	if (d->one_page)
		appendStringInfo(buf, ", prefix: %u, suffix: %u", d->prefix, d->suffix);
}

const ZRecKind zrec_move_kind = {decode_move, redo_move, desc_move};
