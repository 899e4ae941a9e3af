/*
 * rec_change.c
 *		The WAL record of an insert, update, delete or lock.
 *
 * Block 0: table page.  Block 1: undo page (when undo is written, unless replay knows
 * where the log ends, W3).  Block 2: slot page (when the slot lies there).
 *
 * Main data:
 *   C_* flags, 1 byte
 *   C_INIT_PAGE: slots of the new page, 1 byte
 *   C_UNDO: offset and generation of the undo record, 2 bytes each; number of the
 *   undo log, varint
 *   C_GROW: slots added, 1 byte
 *   C_CONFLICT: how much older than this one the transaction is that standby
 *   snapshots must not see as running any more, varint
 *   C_UNDO: undo record, WAL form (C_UNDO_ONLY: log form, and nothing else)
 *   otherwise (INSERT, DELETE that goes on with a run): slotno, first offnum varints
 *   UPDATE, DELETE, LOCK: C_HEADER: new flags, flags2, natts varint; otherwise
 *   the header is the one expected (header_expected)
 *   INSERT with C_MANY: number of rows, varint
 * Data of block 0:
 *   UPDATE: the new bytes between prefix and suffix
 *   INSERT: the row; with C_MANY each with its length, 2 bytes, before it; the
 *   offsets are consecutive
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"

#include "rec_private.h"

#define C_UNDO			0x01
#define C_INIT_PAGE		0x02
#define C_UNDO_INIT		0x04
#define C_UNDO_ONLY		0x08
#define C_GROW			0x10
#define C_MANY			0x20
#define C_HEADER		0x40
#define C_CONFLICT		0x80

/* The kind of WAL record that each operation has; redo reads the list the other way. */
static const uint8 opcodes[] = {
	[ZOP_INSERT] = ZREC_INSERT,
	[ZOP_UPDATE] = ZREC_UPDATE,
	[ZOP_DELETE] = ZREC_DELETE,
	[ZOP_LOCK] = ZREC_LOCK,
	[ZOP_TOMBSTONE] = ZREC_TOMBSTONE,
	[ZOP_DIRECTORY] = ZREC_DIRECTORY
};

StaticAssertDecl(ZOP_INSERT == 1 && lengthof(opcodes) == ZOP_DIRECTORY + 1,
				 "each operation has an opcode");

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
	/* no undo: rows that go on with a run, or are frozen from the start */
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

/* Not aligned in WAL. */
static char *
put_u16(char *out, uint16 value)
{
	memcpy(out, &value, sizeof(value));
	return out + sizeof(value);
}

/*
 * The header that the change of a plain row by a plain statement gives: what it
 * stored before, and no more.
 */
static void
header_expected(const ZChange *change, ZRowHeader *hdr)
{
	/* redo does not know what a run's record stored */
	hdr->flags = change->has_undo ? change->undo.old_hdr.flags & ZROW_VALUE_FLAGS : 0;
	hdr->natts = ZROW_NATTS_KEEP;
	hdr->flags2 = 0;
	if (change->row.op == ZOP_LOCK)
	{
		hdr->flags2 = zrow_lock_bits(change->undo.lockmode);
		hdr->flags = 0;
	}
	if (change->row.op == ZOP_DELETE)
		hdr->flags |= ZROW_DELETED | (change->undo.has_new_tid ? ZROW_MOVED : 0);
	hdr->slotno = change->slot.slotno;
}

/* Then it is left out of WAL. */
static bool
header_is_expected(const ZChange *change)
{
	ZRowHeader	hdr;

	header_expected(change, &hdr);
	return hdr.flags == change->row.hdr.flags && hdr.flags2 == change->row.hdr.flags2 &&
		hdr.natts == change->row.hdr.natts;
}

/* C_* of a change that is going to be logged; redo knows no more of it than these say. */
static uint8
flags_of(const ZChange *change, const ZUndoWrite *write, bool logged)
{
	uint8		flags = 0;

	if (change->has_undo)
		flags |= C_UNDO | (write->init ? C_UNDO_INIT : 0);
	if (!logged)
		return flags | C_UNDO_ONLY;
	if (change->init_page)
		flags |= C_INIT_PAGE;
	if (change->slot.grow > 0)
		flags |= C_GROW;
	if (change->row.op == ZOP_INSERT && change->row.nrows > 1)
		flags |= C_MANY;
	if (FullTransactionIdIsValid(change->slot.conflict))
		flags |= C_CONFLICT;
	if (change->row.op != ZOP_INSERT && change->row.op != ZOP_TOMBSTONE &&
		change->row.op != ZOP_DIRECTORY && !header_is_expected(change))
		flags |= C_HEADER;
	return flags;
}

/* Main data up to the undo record, and what follows it. */
static char *
put_head(char *out, const ZChange *change, const ZUndoWrite *write, uint8 flags)
{
	*out++ = (char) flags;
	if (flags & C_INIT_PAGE)
		*out++ = (char) change->init_slots;
	if (flags & C_UNDO)
	{
		out = put_u16(out, write->offset);
		out = put_u16(out, write->generation);
		out = zvarint_put(out, write->log);
	}
	if (flags & C_GROW)
		*out++ = (char) change->slot.grow;
	if (flags & C_CONFLICT)
		out = zvarint_put(out, U64FromFullTransactionId(change->slot.next.fxid) -
						  U64FromFullTransactionId(change->slot.conflict));
	return out;
}

/* Does WAL tell which other slots are set free? */
static bool
has_also(const ZChange *change)
{
	return change->has_undo && change->slot.takeover == ZTAKE_ALL_VISIBLE &&
		change->slot.slotno <= ZPAGE_MAX_INPAGE;
}

/* What follows the undo record.  A change without one names its slot and its place here. */
static char *
put_tail(char *out, const ZChange *change, uint8 flags)
{
	const ZRowPlan *row = &change->row;

	if (!(flags & C_UNDO))
	{
		out = zvarint_put(out, change->slot.slotno);
		out = zvarint_put(out, row->op == ZOP_INSERT ? row->rows[0].offnum : row->offnum);
	}
	if (has_also(change))
		out = zvarint_put(out, change->slot.also);
	if (row->op == ZOP_INSERT)
	{
		if (flags & C_MANY)
			out = zvarint_put(out, row->nrows);
		return out;
	}
	if (flags & C_HEADER)
	{
		*out++ = (char) row->hdr.flags;
		*out++ = (char) row->hdr.flags2;
		out = zvarint_put(out, row->hdr.natts);
	}
	return out;
}

/*
 * Several rows are gathered into one piece: the number of pieces that a WAL
 * record may have is limited.
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
		out = put_u16(out, row->rows[i].len);
		memcpy(out, row->rows[i].bytes, row->rows[i].len);
		out += row->rows[i].len;
	}
	XLogRegisterBufData(ZREC_BLK_TABLE, many, out - many);
}

#ifdef USE_ASSERT_CHECKING

/*
 * Is "before" older than the record at "self", as far as the two places tell?  Within a
 * life of a block they do; the order of blocks says nothing.
 */
static bool
is_older(ZUndoPtr before, ZUndoPtr self)
{
	return before != self &&
		(zundo_ptr_block(before) != zundo_ptr_block(self) ||
		 zundo_ptr_generation(before) != zundo_ptr_generation(self) ||
		 zundo_ptr_offset(before) < zundo_ptr_offset(self));
}

/* Where a new record leads: to older ones (U2), whose owners it names as it should (M1). */
static void
assert_links(const ZChange *change, const ZUndoWrite *write)
{
	const ZUndoRecord *rec = &change->undo;
	ZUndoPtr	self = write->ptr;
	bool		has_before = rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE;

	if (!change->has_undo)
		return;

	Assert(rec->takeover != ZTAKE_OWN || is_older(rec->page_prev, self));
	Assert(rec->takeover != ZTAKE_REUSED || is_older(rec->slot_prev.undo, self));
	Assert(!has_before || !FullTransactionIdIsValid(rec->row_prev.fxid) ||
		   is_older(rec->row_prev.undo, self));
	Assert(!FullTransactionIdIsValid(rec->far.fxid) || is_older(rec->far.undo, self));
	/* what the owner itself made is known exactly */
	Assert(!rec->prev_own || (rec->takeover == ZTAKE_OWN && !rec->prev_upper_bound));
}

/* W2: the buffers of the change are ours to change, and there are those that it needs. */
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
#define assert_links(change, write) ((void) 0)
#define assert_buffers(change, buffers, write) ((void) 0)
#endif

XLogRecPtr
zrec_change_emit(const ZChange *change, const ZChangeBuffers *buffers, ZUndoWrite *write,
				 const char *undo, Size undo_len)
{
	/* static: the data must live until XLogInsert, and palloc is forbidden here */
	static char head[32];
	static char tail[32];
	bool		logged = buffers->logged;
	uint8		flags = flags_of(change, write, logged);
	char	   *end;

	Assert(op_of(opcodes[change->row.op]) == change->row.op);
	assert_links(change, write);
	assert_buffers(change, buffers, write);
	XLogBeginInsert();
	end = put_head(head, change, write, flags);
	Assert(end <= head + sizeof(head));
	XLogRegisterData(head, end - head);
	if (change->has_undo)
	{
		XLogRegisterData((char *) undo, undo_len);
		/* replay makes a new page anew, whatever it is like: it must know the pointer (W3) */
		zundo_register(write, ZREC_BLK_UNDO, logged && !change->init_page);
	}
	if (logged)
	{
		end = put_tail(tail, change, flags);
		Assert(end <= tail + sizeof(tail));
		if (end > tail)
			XLogRegisterData(tail, end - tail);
		XLogRegisterBuffer(ZREC_BLK_TABLE, buffers->table,
						   REGBUF_STANDARD | (change->init_page ? REGBUF_WILL_INIT : 0));
		register_rows(&change->row);
		if (BufferIsValid(buffers->slots))
			XLogRegisterBuffer(ZREC_BLK_OVERFLOW, buffers->slots, REGBUF_STANDARD);
	}
	return XLogInsert(ZHEAP_RMGR_ID, opcodes[change->row.op]);
}

/* ---- decode ---- */

typedef struct Decoded			/* tidy: in memory only */
{
	uint8		flags;
	ZChange		change;
	ZUndoAppend append;
	bool		placed;			/* the undo page is known */
	ZUndoPtr	undo_ptr;
	uint64		conflict_distance;
	OffsetNumber first;			/* INSERT */
	ZNewRow    *rows;
} Decoded;

/* The other side of put_head. */
static void
take_head(ZRecCursor *cur, Decoded *d)
{
	d->flags = zrec_take_byte(cur);
	if (d->flags & C_INIT_PAGE)
	{
		d->change.init_page = true;
		d->change.init_slots = zrec_take_byte(cur);
	}
	if (d->flags & C_UNDO)
	{
		d->change.has_undo = true;
		d->append.init = (d->flags & C_UNDO_INIT) != 0;
		zrec_take_raw(cur, &d->append.offset, sizeof(uint16));
		zrec_take_raw(cur, &d->append.generation, sizeof(uint16));
		d->append.log = zrec_take_varint(cur, PG_UINT32_MAX);
	}
	if (d->flags & C_GROW)
		d->change.slot.grow = zrec_take_byte(cur);
	if (d->flags & C_CONFLICT)
		d->conflict_distance = zrec_take_varint(cur, PG_UINT64_MAX);
}

/* The undo page: named by the record, or where the log ends that it names (W3). */
static void
take_place(XLogReaderState *record, ZRecCursor *cur, Decoded *d)
{
	ZUndoAppend *append = &d->append;
	ZRelLocator table;

	append->named = XLogRecHasBlockRef(record, ZREC_BLK_UNDO);
	append->block_id = ZREC_BLK_UNDO;
	append->block = InvalidBlockNumber;
	if (append->named)
	{
		XLogRecGetBlockTag(record, ZREC_BLK_UNDO, &append->locator, NULL, &append->block);
		d->placed = true;
	}
	else if (append->init || !XLogRecHasBlockRef(record, ZREC_BLK_TABLE))
		zrec_cursor_fail(cur);
	else
	{
		XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &table, NULL, NULL);
		d->placed = zundo_replay_end(zloc_db(table), append->log, &append->locator,
									 &append->block);
	}
	d->undo_ptr = zundo_ptr_make(append->block, append->generation, append->offset);
}

/*
 * The undo record, and what the plan of the slot takes from it.  Links to other records are
 * right only if the undo page is known.
 */
static void
take_undo(XLogReaderState *record, ZRecCursor *cur, Decoded *d)
{
	ZUndoForm	form = (d->flags & C_UNDO_ONLY) ? ZFORM_LOG : ZFORM_WAL;
	ZUndoRecord *undo = &d->change.undo;
	Size		used;

	take_place(record, cur, d);
	if (cur->bad)
		return;
	used = zrec_undo_decode(cur->at, cur->end - cur->at, d->undo_ptr, form, undo);
	if (used == 0 || undo->type != d->change.row.op)
	{
		zrec_cursor_fail(cur);
		return;
	}
	cur->at += used;
	d->change.slot.slotno = undo->slotno;
	d->change.slot.takeover = undo->takeover;
	d->change.slot.prev = undo->slot_prev;
	d->change.slot.directory = undo->type == ZOP_DIRECTORY;
	d->first = undo->offnum;
}

/* The other side of put_tail. */
static void
take_tail(ZRecCursor *cur, Decoded *d)
{
	ZRowPlan   *row = &d->change.row;

	if (!(d->flags & C_UNDO))
	{
		d->change.slot.slotno = zrec_take_varint(cur, ZPAGE_MAX_LOCK_SLOTNO);
		d->first = zrec_take_varint(cur, ZPAGE_MAX_OFFSET);
	}
	if (has_also(&d->change))
		d->change.slot.also = zrec_take_varint(cur, PG_UINT32_MAX);
	row->nrows = 1;
	if (row->op == ZOP_INSERT)
	{
		if (d->flags & C_MANY)
			row->nrows = zrec_take_varint(cur, ZPAGE_MAX_OFFSET);
		return;
	}
	row->offnum = d->first;
	row->prefix = d->change.undo.prefix;
	row->suffix = d->change.undo.suffix;
	header_expected(&d->change, &row->hdr);
	if (d->flags & C_HEADER)
	{
		row->hdr.flags = zrec_take_byte(cur);
		row->hdr.flags2 = zrec_take_byte(cur);
		row->hdr.natts = zrec_take_varint(cur, PG_UINT16_MAX);
	}
}

/* The main data; false: damaged. */
static bool
decode_main(XLogReaderState *record, Decoded *d)
{
	ZRecCursor	cur;

	memset(d, 0, sizeof(*d));
	d->change.row.op = op_of(XLogRecGetInfo(record) & ~XLR_INFO_MASK);
	zrec_cursor_init(&cur, XLogRecGetData(record), XLogRecGetDataLen(record));
	take_head(&cur, d);
	if (!cur.bad && (d->flags & C_UNDO))
		take_undo(record, &cur, d);
	if (!(d->flags & C_UNDO_ONLY))
		take_tail(&cur, d);
	return zrec_cursor_done(&cur);
}

/* The rows or bytes that came with block 0. */
static void
decode_rows(XLogReaderState *record, Decoded *d)
{
	ZRowPlan   *row = &d->change.row;
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

		if (d->flags & C_MANY)
			zrec_take_raw(&cur, &rowlen, sizeof(rowlen));
		d->rows[i].offnum = d->first + i;
		d->rows[i].len = rowlen;
		d->rows[i].bytes = zrec_take_bytes(&cur, rowlen);
	}
	if (!zrec_cursor_done(&cur))
		zrec_replay_damaged(record);
	row->rows = d->rows;
}

/* ---- redo ---- */

/* A slot's owner froze here: snapshots that take it for running must go. */
static void
redo_conflict(XLogReaderState *record, Decoded *d)
{
	FullTransactionId fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));

	if (d->flags & C_CONFLICT)
		zrec_resolve_conflict(record, zfxid_xid(fxid) - (TransactionId) d->conflict_distance);
}

/*
 * The undo record in log form, byte for byte as the forward path wrote it: has_xact and
 * has_page say what it left out, and are in the WAL form, too.
 */
static void
redo_undo(XLogReaderState *record, Decoded *d)
{
	ZUndoRecord *undo = &d->change.undo;
	static char bytes[BLCKSZ];
	Size		wal_len;
	Size		len;

	if (!(d->flags & C_UNDO_ONLY))
	{
		undo->fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));
		XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &undo->locator, NULL, &undo->block);
		d->change.slot.next.fxid = undo->fxid;
		d->change.slot.next.undo = d->undo_ptr;
	}
	if (!d->placed)
		return;
	len = zrec_undo_encode(undo, d->undo_ptr, bytes, &wal_len);
	zundo_redo_write(record, &d->append, bytes, len);
}

/*
 * No record since replay began names the log: then the checkpoint that replay began at has
 * written all pages of this one (W3).
 */
static void
check_placed(XLogReaderState *record, const Decoded *d)
{
	if ((d->flags & C_UNDO) && !d->placed)
		elog(PANIC, "zheap record at %X/%X appends to undo log %u, of which no record before it tells the page",
			 LSN_FORMAT_ARGS(record->ReadRecPtr), d->append.log);
}

/* Table page, then the slot's page (L1).  Each may need replay without the other. */
static void
redo_table(XLogReaderState *record, Decoded *d)
{
	Buffer		buffer;
	Buffer		overflow_buf = InvalidBuffer;
	XLogRedoAction action;
	XLogRedoAction slot_action = BLK_DONE;
	PGAlignedBlock scratch;
	Page		overflow = (Page) scratch.data;

	if (d->change.init_page)
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
	if (action == BLK_NEEDS_REDO || slot_action == BLK_NEEDS_REDO)
		check_placed(record, d);
	if (slot_action == BLK_NEEDS_REDO)
	{
		/* else the table page's replay sees to it, too */
		if (action != BLK_NEEDS_REDO)
			zpage_slot_take_apply(zpage_slot(NULL, overflow, d->change.slot.slotno),
								  &d->change.slot);
		PageSetLSN(overflow, record->EndRecPtr);
		MarkBufferDirty(overflow_buf);
	}
	if (action == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buffer);

		decode_rows(record, d);
		if (overflow == (Page) scratch.data)
			zpage_scratch_init_apply(overflow, &d->change.slot);
		/* for the page's hint to prune it */
		if (!d->change.has_undo && d->change.row.op == ZOP_DELETE)
			d->change.slot.next.fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));
		zchange_apply(page, overflow, &d->change);
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
 * row changed finds the record.
 */
void
zrec_change_redo(XLogReaderState *record)
{
	Decoded		d;

	if (!decode_main(record, &d))
		zrec_replay_damaged(record);
	/* before any page: a snapshot that must go may not see the change */
	redo_conflict(record, &d);
	if (d.flags & C_UNDO)
		redo_undo(record, &d);
	if (!(d.flags & C_UNDO_ONLY))
		redo_table(record, &d);
}

/* In brackets, as the server's own records have theirs. */
static void
desc_flags(StringInfo buf, uint8 flags)
{
	static const char *const names[] = {
		"UNDO", "INIT_PAGE", "UNDO_INIT", "UNDO_ONLY", "GROW", "MANY", "HEADER", "CONFLICT"
	};
	const char *separator = "";

	StaticAssertStmt(C_UNDO == 1 && C_CONFLICT == 1 << (lengthof(names) - 1), "each flag has a name");
	appendStringInfoString(buf, ", flags: [");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if ((flags & (1 << i)) == 0)
			continue;
		appendStringInfo(buf, "%s%s", separator, names[i]);
		separator = ", ";
	}
	appendStringInfoChar(buf, ']');
}

static const char *
takeover_name(ZTakeover takeover)
{
	switch (takeover)
	{
		case ZTAKE_OWN:
			return "own";
		case ZTAKE_FREE:
			return "free";
		case ZTAKE_ALL_VISIBLE:
			return "all visible";
		case ZTAKE_REUSED:
			return "reused";
	}
	return "unknown";
}

void
zrec_change_desc(StringInfo buf, XLogReaderState *record)
{
	Decoded		d;

	if (!decode_main(record, &d))
	{
		zrec_desc_damaged(buf);
		return;
	}
	appendStringInfo(buf, "off: %u, slot: %u", d.first, d.change.slot.slotno);
	desc_flags(buf, d.flags);
	if (d.flags & C_UNDO)
	{
		appendStringInfo(buf, ", log: %u", d.append.log);
		if (d.placed)
			appendStringInfo(buf, ", block: %u", d.append.block);
		appendStringInfo(buf, ", at: %u, takeover: %s, cid: %u", d.append.offset,
						 takeover_name(d.change.slot.takeover), d.change.undo.cid);
	}
	if (d.change.row.op == ZOP_INSERT)
		appendStringInfo(buf, ", rows: %d", d.change.row.nrows);
}
