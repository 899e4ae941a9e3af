/*
 * rec_part.c
 *		The bytes of one page's change, in the WAL records of rec_change.c and rec_move.c.
 *
 * Place of the undo record; in a move, of the first of two:
 *   number of the undo log, varint; if the record names the undo page: offset and generation, 2
 *   bytes each
 * Head of a part:
 *   C_INIT_PAGE: slots of the new page, 1 byte
 *   C_GROW: slots added, 1 byte
 *   C_CONFLICT: the transaction that standby snapshots must not see as running any more, as
 *   the distance before the record's own, varint
 * Then, with C_UNDO, the undo record, WAL form.  Tail:
 *   without C_UNDO (INSERT, DELETE that continues a run): slotno, first offnum varints
 *   if a slot on the page is taken as visible to all: the others that are freed, varint
 *   UPDATE, DELETE, LOCK: C_HEADER: new flags, flags2, natts varint; otherwise
 *   the header is the one expected (header_expected)
 *   INSERT with C_MANY: number of rows, varint; with C_HEADER: rec_change.c
 */
#include "postgres.h"

#include "access/xlogutils.h"

#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

#include "rec_private.h"

/* Longest undo record, in bytes of its WAL form, that is copied into main data. */
#define SHORT_UNDO	64

/* ---- contents of a part ---- */

/*
 * Compute the header that a plain statement gives a plain row: what the row stored before, and
 * nothing else.
 */
static void
header_expected(const ZChange *change, ZRowHeader *hdr)
{
	/* redo does not know the header in a run's record */
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

/* Return whether the new header is the expected one, so that it is left out of WAL. */
static bool
header_is_expected(const ZChange *change)
{
	ZRowHeader	hdr;

	header_expected(change, &hdr);
	return hdr.flags == change->row.hdr.flags && hdr.flags2 == change->row.hdr.flags2 &&
		hdr.natts == change->row.hdr.natts;
}

/*
 * Return the C_* flags of a change that is going to be logged; redo knows no more of it than
 * these say.
 */
uint8
zrec_part_flags(const ZChange *change)
{
	uint8		flags = 0;

	if (change->has_undo)
		flags |= C_UNDO;
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

/* Return whether the WAL record names other slots that are freed. */
static bool
has_also(const ZChange *change)
{
	return change->has_undo && change->slot.takeover == ZTAKE_ALL_VISIBLE &&
		change->slot.slotno <= ZPAGE_MAX_INPAGE;
}

/* ---- emit ---- */

char *
zrec_part_put_head(char *out, const ZChange *change, uint8 flags)
{
	if (flags & C_INIT_PAGE)
		*out++ = (char) change->init_slots;
	if (flags & C_GROW)
		*out++ = (char) change->slot.grow;
	if (flags & C_CONFLICT)
		out = zvarint_put(out, U64FromFullTransactionId(change->slot.next.fxid) -
						  U64FromFullTransactionId(change->slot.conflict));
	return out;
}

/*
 * Main data that is being put together; static, as it must live until XLogInsert, and palloc is
 * forbidden here.  Short undo records are copied: one piece of data costs the server less than
 * three.
 */
static struct
{
	char		bytes[1 + 2 * sizeof(uint16) + ZVARINT_MAX + ZREC_HEAD_MAX + SHORT_UNDO +
			  ZREC_TAIL_MAX + ZREC_MORE_MAX];
	char	   *from;			/* first byte that is not registered yet */
}			data;

static void
register_data(char *end)
{
	XLogRegisterData(data.from, end - data.from);
	data.from = end;
}

static char *
put_undo(char *end, const ZUndoBytes *undo)
{
	if (undo->len <= SHORT_UNDO)
	{
		memcpy(end, undo->bytes, undo->len);
		return end + undo->len;
	}
	register_data(end);
	XLogRegisterData((char *) undo->bytes, undo->len);
	return end;
}

char *
zrec_part_begin(const ZChange *change, uint8 flags, ZUndoWrite *write, const ZUndoBytes *undo)
{
	char	   *end = data.from = data.bytes;

	/* replay initialises a new page whatever it contains: it must know the pointer (W3) */
	if (flags & C_UNDO)
		zundo_name(write, change != NULL && !change->init_page);
	XLogBeginInsert();
	*end++ = (char) (flags | ((flags & C_UNDO) && write->init ? C_UNDO_INIT : 0));
	if (flags & C_UNDO)
	{
		end = zvarint_put(end, write->log);
		if (!write->omitted)
		{
			end = zrec_put_u16(end, write->offset);
			end = zrec_put_u16(end, write->generation);
		}
	}
	end = zrec_part_put_head(end, change, flags);
	return (flags & C_UNDO) ? put_undo(end, undo) : end;
}

void
zrec_part_end(char *end)
{
	Assert(end <= data.bytes + sizeof(data.bytes));
	if (end > data.from)
		register_data(end);
}

/* Put what follows the undo record.  A change without one has its slot and its place here. */
char *
zrec_part_put_tail(char *out, const ZChange *change, uint8 flags)
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

#ifdef USE_ASSERT_CHECKING

/*
 * Return whether "before" can be older than the record at "self", as far as the two places
 * show.  Within a generation of a block they do; the order of blocks means nothing.
 */
static bool
is_older(ZUndoPtr before, ZUndoPtr self)
{
	return before != self &&
		(zundo_ptr_block(before) != zundo_ptr_block(self) ||
		 zundo_ptr_generation(before) != zundo_ptr_generation(self) ||
		 zundo_ptr_offset(before) < zundo_ptr_offset(self));
}

void
zrec_part_assert_links(const ZUndoRecord *rec, ZUndoPtr self)
{
	bool		has_before = rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE;

	Assert(rec->takeover != ZTAKE_OWN || is_older(rec->page_prev, self));
	Assert(rec->takeover != ZTAKE_REUSED || is_older(rec->slot_prev.undo, self));
	Assert(!has_before || !FullTransactionIdIsValid(rec->row_prev.fxid) ||
		   is_older(rec->row_prev.undo, self));
	Assert(!FullTransactionIdIsValid(rec->far.fxid) || is_older(rec->far.undo, self));
	/* a version of the owner itself is known exactly */
	Assert(!rec->prev_own || (rec->takeover == ZTAKE_OWN && !rec->prev_upper_bound));
}

#endif

/* ---- decode ---- */

/* Take the place: it is named by the record, or is where the log ends that it names (W3). */
static void
take_place(XLogReaderState *record, ZRecCursor *cur, ZRecPlace *place)
{
	ZUndoAppend *append = &place->append;
	RelFileLocator table;

	append->log = zrec_take_varint(cur, PG_UINT32_MAX);
	append->named = XLogRecHasBlockRef(record, ZREC_BLK_UNDO);
	append->block_id = ZREC_BLK_UNDO;
	/* what stands for the place where it is not known, so that links can be taken */
	append->block = InvalidBlockNumber;
	append->generation = 1;
	append->offset = ZUNDO_PAGE_START;
	if (append->named)
	{
		zrec_take_raw(cur, &append->offset, sizeof(uint16));
		zrec_take_raw(cur, &append->generation, sizeof(uint16));
		XLogRecGetBlockTag(record, ZREC_BLK_UNDO, &append->locator, NULL, &append->block);
		place->known = true;
	}
	else if (append->init || !XLogRecHasBlockRef(record, ZREC_BLK_TABLE))
		zrec_cursor_fail(cur);
	else
	{
		XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &table, NULL, NULL);
		place->known = zundo_replay_end(table.dbOid, append);
	}
	place->ptr = zundo_ptr_make(append->block, append->generation, append->offset);
}

void
zrec_part_take_head(ZRecCursor *cur, ZRecPart *part)
{
	if (part->flags & C_INIT_PAGE)
	{
		part->change.init_page = true;
		part->change.init_slots = zrec_take_byte(cur);
	}
	if (part->flags & C_GROW)
		part->change.slot.grow = zrec_take_byte(cur);
	if (part->flags & C_CONFLICT)
		part->conflict_distance = zrec_take_varint(cur, PG_UINT64_MAX);
}

/*
 * Take the undo record, and set operation and slot's plan from it.  Links to other records are
 * right only if the undo page is known.
 */
static void
take_undo(ZRecCursor *cur, ZUndoPtr self, ZRecPart *part)
{
	ZUndoForm	form = (part->flags & C_UNDO_ONLY) ? ZFORM_LOG : ZFORM_WAL;
	ZUndoRecord *undo = &part->change.undo;
	Size		used = zrec_undo_decode(cur->at, cur->end - cur->at, self, form, undo);

	if (used == 0)
	{
		zrec_cursor_fail(cur);
		return;
	}
	cur->at += used;
	part->change.has_undo = true;
	part->change.row.op = undo->type;
	part->change.slot.slotno = undo->slotno;
	part->change.slot.takeover = undo->takeover;
	part->change.slot.prev = undo->slot_prev;
	part->change.slot.directory = undo->type == ZOP_DIRECTORY;
	part->first = undo->offnum;
}

/* Take what zrec_part_put_tail wrote. */
static void
take_tail(ZRecCursor *cur, ZRecPart *part)
{
	ZRowPlan   *row = &part->change.row;

	if (!(part->flags & C_UNDO))
	{
		part->change.slot.slotno = zrec_take_varint(cur, ZPAGE_MAX_LOCK_SLOTNO);
		part->first = zrec_take_varint(cur, ZPAGE_MAX_OFFSET);
	}
	if (has_also(&part->change))
		part->change.slot.also = zrec_take_varint(cur, PG_UINT32_MAX);
	row->nrows = 1;
	if (row->op == ZOP_INSERT)
	{
		if (part->flags & C_MANY)
			row->nrows = zrec_take_varint(cur, ZPAGE_MAX_OFFSET);
		return;
	}
	row->offnum = part->first;
	row->prefix = part->change.undo.prefix;
	row->suffix = part->change.undo.suffix;
	header_expected(&part->change, &row->hdr);
	if (part->flags & C_HEADER)
	{
		row->hdr.flags = zrec_take_byte(cur);
		row->hdr.flags2 = zrec_take_byte(cur);
		row->hdr.natts = zrec_take_varint(cur, PG_UINT16_MAX);
	}
}

void
zrec_part_take_first(XLogReaderState *record, ZRecCursor *cur, ZRecChanges *changes)
{
	ZRecPart   *part = &changes->parts[0];

	part->flags = zrec_take_byte(cur);
	changes->place.append.init = (part->flags & C_UNDO_INIT) != 0;
	if (part->flags & C_UNDO)
		take_place(record, cur, &changes->place);
	zrec_part_take_head(cur, part);
	if (part->flags & C_UNDO)
		take_undo(cur, changes->place.ptr, part);
	if (!(part->flags & C_UNDO_ONLY))
		take_tail(cur, part);
}

/* ---- redo ---- */

/*
 * Resolve the part's conflict: a slot's owner is taken as visible to all here, so snapshots
 * that see it as running must go.
 */
static void
redo_conflict(XLogReaderState *record, const ZRecPart *part)
{
	FullTransactionId fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));

	if (part->flags & C_CONFLICT)
		zrec_resolve_conflict(record, zfxid_xid(fxid) - (TransactionId) part->conflict_distance);
}

/* Fill in what an undo record in WAL form leaves out: the record's transaction, and the page. */
static void
complete_part(XLogReaderState *record, ZUndoPtr self, ZRecPart *part)
{
	ZUndoRecord *undo = &part->change.undo;

	undo->fxid = zfxid_from_xid_in_redo(XLogRecGetXid(record));
	XLogRecGetBlockTag(record, part->block_id, &undo->locator, NULL, &undo->block);
	part->change.slot.next.fxid = undo->fxid;
	part->change.slot.next.undo = self;
}

/*
 * Conflicts come before any page: a snapshot that is to be cancelled must not see the change.
 * The undo page gets its records in log form, byte for byte as the forward path did; has_xact
 * and has_page, which say what was left out, are in the WAL form, too.
 */
void
zrec_part_redo_undo(XLogReaderState *record, ZRecChanges *changes)
{
	static char bytes[lengthof(changes->parts)][BLCKSZ];
	ZUndoBytes	undo[lengthof(changes->parts)];
	ZUndoPtr	ptr = changes->place.ptr;
	Size		wal_len;
	int			n = 0;

	for (int i = 0; i < changes->nparts; i++)
		redo_conflict(record, &changes->parts[i]);
	if (!changes->place.known)
		return;
	for (int i = 0; i < changes->nparts; i++)
	{
		ZRecPart   *part = &changes->parts[i];

		if (!(part->flags & C_UNDO_ONLY))
			complete_part(record, ptr, part);
		if (!part->change.has_undo)
			continue;
		undo[n].bytes = bytes[n];
		undo[n].len = zrec_undo_encode(&part->change.undo, ptr, bytes[n], &wal_len);
		ptr = zundo_ptr_make(zundo_ptr_block(ptr), zundo_ptr_generation(ptr),
							 zundo_ptr_offset(ptr) + zundo_size_of_two(undo[n].len, 0));
		n++;
	}
	zundo_redo_write(record, &changes->place.append, undo, n);
}

/*
 * The page is unknown if no record since replay began names the log's page; then the checkpoint
 * at which replay began has written all pages of this record (W3).
 */
void
zrec_place_check(XLogReaderState *record, const ZRecPlace *place)
{
	if (!place->known)
		elog(PANIC, "zheap record at %X/%X appends to undo log %u, whose page no earlier record names",
			 LSN_FORMAT_ARGS(record->ReadRecPtr), place->append.log);
}

/* ---- description ---- */

/* Describe the flags, in brackets like the server's own records. */
static void
desc_flags(StringInfo buf, uint8 flags)
{
	static const char *const names[] = {
		"UNDO", "INIT_PAGE", "UNDO_INIT", "UNDO_ONLY", "GROW", "MANY", "HEADER", "CONFLICT"
	};
	const char *separator = "";

	StaticAssertStmt(C_UNDO == 1 && C_CONFLICT == 1 << (lengthof(names) - 1), "each flag has a name");
	appendStringInfo(buf, ", flags: [");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if ((flags & (1 << i)) == 0)
			continue;
		appendStringInfo(buf, "%s%s", separator, names[i]);
		separator = ", ";
	}
	appendStringInfoChar(buf, ']');
}

const char *
zrec_takeover_name(ZTakeover takeover)
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
zrec_part_desc(StringInfo buf, const ZRecChanges *changes)
{
	const ZRecPart *part = &changes->parts[0];
	const ZUndoAppend *append = &changes->place.append;

	appendStringInfo(buf, "off: %u, slot: %u", part->first, part->change.slot.slotno);
	desc_flags(buf, part->flags);
	if (!(part->flags & C_UNDO))
		return;
	appendStringInfo(buf, ", log: %u", append->log);
	if (changes->place.known)
		appendStringInfo(buf, ", block: %u, at: %u", append->block, append->offset);
	appendStringInfo(buf, ", takeover: %s, cid: %u",
					 zrec_takeover_name(part->change.slot.takeover), part->change.undo.cid);
}
