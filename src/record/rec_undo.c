/*
 * rec_undo.c
 *		The undo record's bytes.
 *
 *   0   type (3 bits), takeover (2), has_xact (1), has_page (1), open_run (1)
 *   ..  U_* flags (PLAIN_INSERT: none)
 *   ..  slotno, offnum, cid: varints (DIRECTORY: no offnum; PLAIN_INSERT: no cid)
 *   ..  INSERT without open_run: count; with U_TOKEN: token
 *   ..  takeover OWN: page_prev (zundo_ptr_put, relative to the record itself)
 *   ..  takeover REUSED: slot_prev (zrec_put_owner)
 *   ..  LOCK: mode, 1 byte
 *   ..  TOMBSTONE, DIRECTORY: midlen varint, bytes
 *   ..  UPDATE, DELETE: old flags, slotno varint; with U_FLAGS2 flags2; with U_NATTS
 *       natts varint;
 *       with U_ROW_PREV row_prev as slot_prev, but with U_PREV_OWN no fxid and undo as
 *       page_prev (without U_ROW_PREV: undo is page_prev)
 *   ..  UPDATE with U_WAYPOINT: images, (since << 2 | far_keys << 1 | far_own), varints;
 *       far as slot_prev
 *   ..  UPDATE: prefix, suffix, midlen varints, bytes
 *   ..  DELETE with U_NEW_TID: block, offset varints
 *   ..  log form only: has_xact: fxid varint;
 *       has_page: tablespace, relfilenode, block varints
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/lockoptions.h"

#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"

#include "rec_private.h"

/* Type of an INSERT without flags, by the first command of its transaction, as most are. */
#define PLAIN_INSERT	7

StaticAssertDecl(ZOP_DIRECTORY < PLAIN_INSERT, "the type is no operation's");

#define U_PREV_OWN		0x01
#define U_PREV_UPPER_BOUND 0x02
#define U_ROW_PREV		0x04
#define U_NATTS			0x10
#define U_TOKEN			0x20	/* INSERT */
#define U_WAYPOINT		0x20	/* UPDATE */
#define U_NEW_TID		0x40
#define U_FLAGS2		0x80

Size
zrec_undo_bound(const ZUndoRecord *rec)
{
	return 2 + 3 + 4 * 5			/* slotno, offnum, cid, count, token */
		+ ZUNDO_PTR_MAX			/* page_prev */
		+ (ZVARINT_MAX + 8)		/* slot_prev */
		+ 1 + 3 + 1 + 3 + (ZVARINT_MAX + ZUNDO_PTR_MAX) /* version before */
		+ (rec->waypoint ? 2 * 5 + ZVARINT_MAX + 8 : 0)
		+ 3 * 3 + rec->midlen	/* delta */
		+ 5 + 3					/* new tid */
		+ ZVARINT_MAX + 3 * 5;	/* context */
}

/* Return the U_* flags: which parts follow.  A bit may have two meanings, by type. */
static uint8
record_flags(const ZUndoRecord *rec)
{
	uint8		flags = 0;

	if (rec->token != 0)
		flags |= U_TOKEN;
	if (rec->type != ZOP_UPDATE && rec->type != ZOP_DELETE)
		return flags;
	if (rec->prev_own)
		flags |= U_PREV_OWN | (rec->row_prev.undo != rec->page_prev ? U_ROW_PREV : 0);
	else if (FullTransactionIdIsValid(rec->row_prev.fxid))
		flags |= U_ROW_PREV;
	if (rec->prev_upper_bound)
		flags |= U_PREV_UPPER_BOUND;
	if (rec->old_hdr.natts != ZROW_NATTS_KEEP)
		flags |= U_NATTS;
	if (rec->has_new_tid)
		flags |= U_NEW_TID;
	if (rec->old_hdr.flags2 != 0)
		flags |= U_FLAGS2;
	if (rec->waypoint)
		flags |= U_WAYPOINT;
	return flags;
}

/* Put the version before: its header, its modifier, and its bytes. */
static char *
put_version_before(char *out, const ZUndoRecord *rec, ZUndoPtr self, uint8 flags)
{
	*out++ = (char) rec->old_hdr.flags;
	out = zvarint_put(out, rec->old_hdr.slotno);
	if (flags & U_FLAGS2)
		*out++ = (char) rec->old_hdr.flags2;
	if (flags & U_NATTS)
		out = zvarint_put(out, rec->old_hdr.natts);
	if ((flags & U_ROW_PREV) && (flags & U_PREV_OWN))
		out = zundo_ptr_put(out, rec->row_prev.undo, self);
	else if (flags & U_ROW_PREV)
		out = zrec_put_owner(out, &rec->row_prev);
	if (rec->waypoint)
	{
		out = zvarint_put(out, rec->images);
		out = zvarint_put(out, (uint64) rec->since << 2 | rec->far_keys << 1 | rec->far_own);
		out = zrec_put_owner(out, &rec->far);
	}
	if (rec->type == ZOP_UPDATE)
	{
		out = zvarint_put(out, rec->prefix);
		out = zvarint_put(out, rec->suffix);
		out = zvarint_put(out, rec->midlen);
		out = zrec_put_raw(out, rec->mid, rec->midlen);
	}
	if (flags & U_NEW_TID)
	{
		out = zvarint_put(out, ItemPointerGetBlockNumberNoCheck(&rec->new_tid));
		out = zvarint_put(out, ItemPointerGetOffsetNumberNoCheck(&rec->new_tid));
	}
	return out;
}

#ifdef USE_ASSERT_CHECKING

/* Check that the record makes sense, before it is encoded. */
static void
assert_record(const ZUndoRecord *rec)
{
	Assert(rec->type >= ZOP_INSERT && rec->type <= ZOP_DIRECTORY);
	Assert(rec->slotno >= 1 && rec->slotno <= ZPAGE_MAX_LOCK_SLOTNO);
	/* P2: no row names a slot on a lock page */
	Assert(!zpage_is_lock_slot(rec->slotno) ||
		   rec->type == ZOP_LOCK || rec->type == ZOP_DIRECTORY);
	Assert((rec->offnum == InvalidOffsetNumber) == (rec->type == ZOP_DIRECTORY));
	Assert(rec->offnum <= ZPAGE_MAX_OFFSET);
	/* only updates are waypoints, only a moved row has a new place */
	Assert(!rec->waypoint || rec->type == ZOP_UPDATE);
	Assert(!rec->has_new_tid || rec->type == ZOP_DELETE);
	Assert(rec->token == 0 || rec->type == ZOP_INSERT);
	/* a run: everything that the record says must be true of all its rows */
	Assert(!rec->open_run || rec->type == ZOP_INSERT ||
		   (rec->type == ZOP_DELETE && !rec->has_new_tid &&
			!rec->prev_own && !rec->prev_upper_bound &&
			!(rec->old_hdr.flags & ZROW_REUSED)));
}

/* Return whether two owners are equal; their places are compared only if there is an owner. */
static bool
owners_equal(const ZOwner *a, const ZOwner *b)
{
	return FullTransactionIdEquals(a->fxid, b->fxid) &&
		(!FullTransactionIdIsValid(a->fxid) || a->undo == b->undo);
}

static void
assert_same_version_before(const ZUndoRecord *rec, const ZUndoRecord *got)
{
	Assert(got->old_hdr.flags == rec->old_hdr.flags);
	Assert(got->old_hdr.flags2 == rec->old_hdr.flags2);
	Assert(got->old_hdr.slotno == rec->old_hdr.slotno);
	Assert(got->old_hdr.natts == rec->old_hdr.natts);
	Assert(got->prev_own == rec->prev_own);
	Assert(got->prev_upper_bound == rec->prev_upper_bound);
	Assert(rec->prev_own ? got->row_prev.undo == rec->row_prev.undo :
		   owners_equal(&got->row_prev, &rec->row_prev));
	Assert(got->waypoint == rec->waypoint);
	Assert(!rec->waypoint || owners_equal(&got->far, &rec->far));
	Assert(got->has_new_tid == rec->has_new_tid);
}

/* Check U3: decoding gives the record that was encoded. */
static void
assert_decodes(const ZUndoRecord *rec, ZUndoPtr self, ZUndoForm form, const char *bytes, Size len)
{
	ZUndoRecord got;

	Assert(zrec_undo_decode(bytes, len, self, form, &got) == len);
	Assert(got.type == rec->type && got.slotno == rec->slotno);
	Assert(got.takeover == rec->takeover && got.open_run == rec->open_run);
	Assert(got.offnum == rec->offnum && got.cid == rec->cid && got.token == rec->token);
	Assert(rec->takeover != ZTAKE_OWN || got.page_prev == rec->page_prev);
	Assert(rec->takeover != ZTAKE_REUSED || owners_equal(&got.slot_prev, &rec->slot_prev));
	Assert(rec->type != ZOP_LOCK || got.lockmode == rec->lockmode);
	if (rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE)
		assert_same_version_before(rec, &got);
	if (rec->type == ZOP_UPDATE)
		Assert(got.prefix == rec->prefix && got.suffix == rec->suffix);
	if (rec->type == ZOP_UPDATE || rec->type == ZOP_TOMBSTONE || rec->type == ZOP_DIRECTORY)
		Assert(got.midlen == rec->midlen && memcmp(got.mid, rec->mid, rec->midlen) == 0);
	Assert(form == ZFORM_WAL || !rec->has_xact || FullTransactionIdEquals(got.fxid, rec->fxid));
	Assert(form == ZFORM_WAL || !rec->has_page || got.block == rec->block);
}

#else
#define assert_record(rec) ((void) 0)
#define assert_decodes(rec, self, form, bytes, len) ((void) 0)
#endif

Size
zrec_undo_encode(const ZUndoRecord *rec, ZUndoPtr self, char *out, Size *wal_len)
{
	char	   *start = out;
	uint8		flags = record_flags(rec);
	bool		plain = rec->type == ZOP_INSERT && flags == 0 && rec->cid == 0;

	assert_record(rec);
	*out++ = (char) ((plain ? PLAIN_INSERT : rec->type) | rec->takeover << 3 | rec->has_xact << 5 |
					 rec->has_page << 6 | rec->open_run << 7);
	if (!plain)
		*out++ = (char) flags;
	out = zvarint_put(out, rec->slotno);
	if (rec->type != ZOP_DIRECTORY)
		out = zvarint_put(out, rec->offnum);
	if (!plain)
		out = zvarint_put(out, rec->cid);
	if (rec->type == ZOP_INSERT && !rec->open_run)
		out = zvarint_put(out, rec->count);
	if (rec->token != 0)
		out = zvarint_put(out, rec->token);

	if (rec->takeover == ZTAKE_OWN)
		out = zundo_ptr_put(out, rec->page_prev, self);
	else if (rec->takeover == ZTAKE_REUSED)
		out = zrec_put_owner(out, &rec->slot_prev);

	if (rec->type == ZOP_LOCK)
		*out++ = (char) rec->lockmode;
	else if (rec->type == ZOP_TOMBSTONE || rec->type == ZOP_DIRECTORY)
	{
		out = zvarint_put(out, rec->midlen);
		out = zrec_put_raw(out, rec->mid, rec->midlen);
	}
	else if (rec->type != ZOP_INSERT)
		out = put_version_before(out, rec, self, flags);

	*wal_len = out - start;
	assert_decodes(rec, self, ZFORM_WAL, start, *wal_len);
	if (rec->has_xact)
		out = zvarint_put(out, U64FromFullTransactionId(rec->fxid));
	if (rec->has_page)
	{
		out = zvarint_put(out, rec->locator.spcOid);
		out = zvarint_put(out, rec->locator.relNumber);
		out = zvarint_put(out, rec->block);
	}
	Assert((Size) (out - start) <= zrec_undo_bound(rec));
	assert_decodes(rec, self, ZFORM_LOG, start, out - start);
	return out - start;
}

/* ---- decoding ---- */

static inline void
take_waypoint(ZRecCursor *cur, ZUndoRecord *rec)
{
	uint32		since;

	rec->waypoint = true;
	rec->images = zrec_take_varint(cur, PG_UINT32_MAX);
	since = zrec_take_varint(cur, PG_UINT32_MAX);
	rec->since = since >> 2;
	rec->far_keys = (since & 2) != 0;
	rec->far_own = (since & 1) != 0;
	zrec_take_owner(cur, &rec->far);
}

/*
 * Take what put_version_before wrote.  Lengths are checked against the bytes that there are,
 * not against the row (zpage_check_version).
 */
static inline void
take_version_before(ZRecCursor *cur, ZUndoRecord *rec, ZUndoPtr self, uint8 flags)
{
	zrec_take_raw(cur, &rec->old_hdr.flags, 1);
	rec->old_hdr.slotno = zrec_take_varint(cur, ZPAGE_MAX_SLOTNO);
	if (flags & U_FLAGS2)
		zrec_take_raw(cur, &rec->old_hdr.flags2, 1);
	rec->old_hdr.natts = (flags & U_NATTS) ?
		zrec_take_varint(cur, ZROW_MAX_NATTS) : ZROW_NATTS_KEEP;
	rec->prev_own = (flags & U_PREV_OWN) != 0;
	rec->prev_upper_bound = (flags & U_PREV_UPPER_BOUND) != 0;
	if (rec->prev_own)
	{
		rec->row_prev.undo = rec->page_prev;
		if (flags & U_ROW_PREV)
			rec->row_prev.undo = zrec_take_ptr(cur, self);
	}
	else if (flags & U_ROW_PREV)
		zrec_take_owner(cur, &rec->row_prev);
	if (rec->type == ZOP_UPDATE && (flags & U_WAYPOINT))
		take_waypoint(cur, rec);
	if (rec->type == ZOP_UPDATE)
	{
		rec->prefix = zrec_take_varint(cur, BLCKSZ);
		rec->suffix = zrec_take_varint(cur, BLCKSZ);
		rec->midlen = zrec_take_varint(cur, BLCKSZ);
		rec->mid = zrec_take_bytes(cur, rec->midlen);
	}
	if (flags & U_NEW_TID)
	{
		BlockNumber block = zrec_take_varint(cur, MaxBlockNumber);
		OffsetNumber offnum = zrec_take_varint(cur, ZPAGE_MAX_OFFSET);

		rec->has_new_tid = true;
		ItemPointerSet(&rec->new_tid, block, offnum);
	}
}

/*
 * Clear the fields that decoding does not always set.  Readers decode a record per row, and
 * clearing the whole struct would take as long as all the rest.
 */
static inline void
record_clear(ZUndoRecord *rec)
{
	rec->count = 0;
	rec->page_prev = ZUNDO_INVALID;
	rec->slot_prev.fxid = InvalidFullTransactionId;
	rec->slot_prev.undo = ZUNDO_INVALID;
	rec->lockmode = 0;
	rec->old_hdr.flags = 0;
	rec->old_hdr.flags2 = 0;
	rec->old_hdr.turn4 = 0;
	rec->old_hdr.slotno = 0;
	rec->old_hdr.natts = 0;
	rec->prev_own = false;
	rec->prev_upper_bound = false;
	rec->row_prev.fxid = InvalidFullTransactionId;
	rec->row_prev.undo = ZUNDO_INVALID;
	rec->waypoint = false;
	rec->images = 0;
	rec->since = 0;
	rec->far_own = false;
	rec->far_keys = false;
	rec->far.fxid = InvalidFullTransactionId;
	rec->far.undo = ZUNDO_INVALID;
	rec->prefix = 0;
	rec->suffix = 0;
	rec->midlen = 0;
	rec->mid = NULL;
	rec->has_new_tid = false;
	rec->token = 0;
	rec->fxid = InvalidFullTransactionId;
	rec->locator.spcOid = InvalidOid;
	rec->locator.dbOid = InvalidOid;
	rec->locator.relNumber = InvalidOid;
	rec->block = 0;
}

Size
zrec_undo_decode(const char *bytes, Size len, ZUndoPtr self, ZUndoForm form,
				 ZUndoRecord *rec)
{
	ZRecCursor	cur;
	const uint8 *head;
	uint8		flags;
	bool		plain;

	zrec_cursor_init(&cur, bytes, len);
	head = (const uint8 *) zrec_take_bytes(&cur, 1);
	record_clear(rec);
	if (head == NULL)
		return 0;
	plain = (head[0] & 0x07) == PLAIN_INSERT;
	rec->type = plain ? ZOP_INSERT : head[0] & 0x07;
	rec->takeover = (head[0] >> 3) & 0x03;
	rec->has_xact = (head[0] & 0x20) != 0;
	rec->has_page = (head[0] & 0x40) != 0;
	rec->open_run = (head[0] & 0x80) != 0;
	flags = plain ? 0 : zrec_take_byte(&cur);
	rec->slotno = zrec_take_varint(&cur, ZPAGE_MAX_LOCK_SLOTNO);
	if (rec->type < ZOP_INSERT || rec->type > ZOP_DIRECTORY || rec->slotno == 0)
		return 0;
	if (zpage_is_lock_slot(rec->slotno) && rec->type != ZOP_LOCK && rec->type != ZOP_DIRECTORY)
		return 0;
	rec->offnum = rec->type != ZOP_DIRECTORY ? zrec_take_varint(&cur, ZPAGE_MAX_OFFSET) :
		InvalidOffsetNumber;
	rec->cid = plain ? 0 : zrec_take_varint(&cur, PG_UINT32_MAX);
	if (rec->type == ZOP_INSERT && !rec->open_run)
		rec->count = zrec_take_varint(&cur, ZPAGE_MAX_OFFSET);
	if (rec->type == ZOP_INSERT && (flags & U_TOKEN))
		rec->token = zrec_take_varint(&cur, PG_UINT32_MAX);

	if (rec->takeover == ZTAKE_OWN)
		rec->page_prev = zrec_take_ptr(&cur, self);
	else if (rec->takeover == ZTAKE_REUSED)
		zrec_take_owner(&cur, &rec->slot_prev);

	if (rec->type == ZOP_LOCK)
	{
		zrec_take_raw(&cur, &rec->lockmode, 1);
		if (rec->lockmode > LockTupleExclusive)
			return 0;
	}
	else if (rec->type == ZOP_TOMBSTONE || rec->type == ZOP_DIRECTORY)
	{
		rec->midlen = zrec_take_varint(&cur, BLCKSZ);
		rec->mid = zrec_take_bytes(&cur, rec->midlen);
	}
	else if (rec->type != ZOP_INSERT)
		take_version_before(&cur, rec, self, flags);

	if (form == ZFORM_LOG && rec->has_xact)
		rec->fxid = FullTransactionIdFromU64(zrec_take_varint(&cur, PG_UINT64_MAX));
	if (form == ZFORM_LOG && rec->has_page)
	{
		rec->locator.spcOid = zrec_take_varint(&cur, PG_UINT32_MAX);
		rec->locator.dbOid = MyDatabaseId;
		rec->locator.relNumber = zrec_take_varint(&cur, PG_UINT32_MAX);
		rec->block = zrec_take_varint(&cur, MaxBlockNumber);
	}
	if (cur.bad || (rec->offnum == InvalidOffsetNumber) != (rec->type == ZOP_DIRECTORY))
		return 0;
	return cur.at - bytes;
}

bool
zrec_undo_covers(const ZUndoRecord *rec, OffsetNumber offnum, bool deleted)
{
	if (rec->type == ZOP_LOCK || rec->type == ZOP_TOMBSTONE || rec->type == ZOP_DIRECTORY)
		return false;
	if (zrec_is_delete_run(rec))
		return deleted && offnum >= rec->offnum;
	if (rec->type != ZOP_INSERT)
		return rec->offnum == offnum;
	return offnum >= rec->offnum &&
		(rec->open_run || offnum < rec->offnum + rec->count);
}
