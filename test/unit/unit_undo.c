/*
 * unit_undo.c
 *		The codecs of undo records, of directories and of pointers in few bytes: what is
 *		encoded comes back, and damaged bytes are refused or harmless.
 *
 * U3: decoding an undo record gives what was encoded, in both forms.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "unit_model.h"

#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"

PG_FUNCTION_INFO_V1(zheap_unit_undo);

#define MAX_SINCE	(PG_UINT32_MAX >> 2)	/* all that its varint may hold */

/* ---- damage ---- */

/* The bytes, cut anywhere, often with one of them changed; nothing may be read behind. */
static char *
damaged_copy(Unit *unit, const char *bytes, Size len, Size *left)
{
	char	   *copy;

	*left = unit_int(unit, 0, (int) len);
	if (unit_once_in(unit, 3))
		*left = len;
	copy = unit_guarded(*left);
	memcpy(copy, bytes, *left);
	if (*left > 0 && unit_once_in(unit, 2))
		unit_bytes(unit, copy + unit_int(unit, 0, (int) *left - 1), 1);
	return copy;
}

static char *
guarded_copy(const char *bytes, Size len)
{
	return memcpy(unit_guarded(len), bytes, len);
}

/* ---- undo records ---- */

static void
waypoint_compare(const ZUndoRecord *want, const ZUndoRecord *got)
{
	unit_check(got->waypoint == want->waypoint);
	unit_check(zwaypoint_has_image(got) ==
			   (want->type == ZOP_UPDATE && want->waypoint && want->since == 0));
	if (!want->waypoint)
	{
		unit_check(!got->far_own && !got->far_keys && !FullTransactionIdIsValid(got->far.fxid));
		return;
	}
	unit_check(got->images == want->images && got->since == want->since);
	unit_check(got->far_own == want->far_own && got->far_keys == want->far_keys);
	unit_check(FullTransactionIdEquals(got->far.fxid, want->far.fxid));
	if (FullTransactionIdIsValid(want->far.fxid))
		unit_check(got->far.undo == want->far.undo);
}

static void
mid_compare(const ZUndoRecord *want, const ZUndoRecord *got)
{
	unit_check(got->midlen == want->midlen && memcmp(got->mid, want->mid, want->midlen) == 0);
}

static void
version_before_compare(const ZUndoRecord *want, const ZUndoRecord *got)
{
	unit_check(got->old_hdr.flags == want->old_hdr.flags);
	unit_check(got->old_hdr.flags2 == want->old_hdr.flags2);
	unit_check(got->old_hdr.slotno == want->old_hdr.slotno);
	unit_check(got->old_hdr.natts == want->old_hdr.natts);
	unit_check(got->old_hdr.turn4 == 0);
	unit_check(got->prev_own == want->prev_own && got->prev_upper_bound == want->prev_upper_bound);
	if (want->prev_own)
		unit_check(got->row_prev.undo == want->row_prev.undo);
	else if (FullTransactionIdIsValid(want->row_prev.fxid))
		unit_check(owners_equal(&got->row_prev, &want->row_prev));
	else
		unit_check(!FullTransactionIdIsValid(got->row_prev.fxid));
	unit_check(got->has_new_tid == want->has_new_tid);
	if (want->has_new_tid)
		unit_check(ItemPointerEquals((ItemPointer) &got->new_tid, (ItemPointer) &want->new_tid));
	waypoint_compare(want, got);
	if (want->type != ZOP_UPDATE)
		return;
	unit_check(got->prefix == want->prefix && got->suffix == want->suffix);
	mid_compare(want, got);
}

static void
undo_compare(const ZUndoRecord *want, const ZUndoRecord *got, ZUndoForm form)
{
	unit_check(got->type == want->type && got->slotno == want->slotno);
	unit_check(got->takeover == want->takeover && got->open_run == want->open_run);
	unit_check(got->offnum == want->offnum && got->cid == want->cid);
	unit_check(got->token == want->token);
	if (want->type == ZOP_INSERT && !want->open_run)
		unit_check(got->count == want->count);
	if (want->takeover == ZTAKE_OWN)
		unit_check(got->page_prev == want->page_prev);
	if (want->takeover == ZTAKE_REUSED)
		unit_check(owners_equal(&got->slot_prev, &want->slot_prev));
	unit_check(got->lockmode == want->lockmode);
	if (want->type == ZOP_UPDATE || want->type == ZOP_DELETE)
		version_before_compare(want, got);
	if (want->type == ZOP_TOMBSTONE || want->type == ZOP_DIRECTORY)
		mid_compare(want, got);
	unit_check(got->has_xact == want->has_xact && got->has_page == want->has_page);
	if (form == ZFORM_LOG && want->has_xact)
		unit_check(FullTransactionIdEquals(got->fxid, want->fxid));
	if (form == ZFORM_LOG && want->has_page)
		unit_check(RelFileLocatorEquals(got->locator, want->locator) && got->block == want->block);
}

/* The rows that it says to have made versions of. */
static void
covers_check(const ZUndoRecord *record)
{
	int			first = record->offnum;
	int			last = record->offnum;
	int			i;

	if (record->type == ZOP_INSERT)
		last = record->open_run ? ZPAGE_MAX_OFFSET : first + record->count - 1;
	else if (record->type != ZOP_UPDATE && record->type != ZOP_DELETE)
		last = first - 1;
	else if (record->open_run)
		last = ZPAGE_MAX_OFFSET;
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		bool		covers = i >= first && i <= last;

		unit_check(zrec_undo_covers(record, i, true) == covers);
		/* a run of deletions is about deleted rows */
		unit_check(zrec_undo_covers(record, i, false) ==
				   (covers && !(record->type == ZOP_DELETE && record->open_run)));
	}
}

static void
damaged_directory_check(const ZUndoRecord *record)
{
	ZDirectory	dir;
	int			i;
	bool		sound = zrec_directory_decode(record, &dir);

	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		ZOwner		at;
		bool		damaged;
		bool		found = zrec_directory_find(record, i, &at, &damaged);
		int			lock = zrec_directory_lock(record, i, &(bool) {0});

		unit_check(!found || !damaged);
		unit_check(lock >= ZDIRECTORY_NO_LOCK && lock <= 3);
		if (!sound)
			continue;
		unit_check(lock == dir.lock[i]);
		unit_check(!damaged && found == FullTransactionIdIsValid(dir.newest[i].fxid));
		if (found)
			unit_check(owners_equal(&at, &dir.newest[i]));
	}
}

/* Cut or damaged records are refused or misread, but not beyond their end. */
static void
undo_damage_check(Unit *unit, const char *bytes, Size len, ZUndoPtr self)
{
	ZUndoRecord record;
	int			i;

	for (i = 0; i < 4; i++)
	{
		Size		left;
		char	   *copy = damaged_copy(unit, bytes, len, &left);
		Size		used = zrec_undo_decode(copy, left, self, ZFORM_LOG, &record);

		unit_check(used <= left);
		if (used == 0)
			continue;
		unit_check(record.slotno >= 1 && record.slotno <=
				   (record.type == ZOP_LOCK || record.type == ZOP_DIRECTORY ?
					ZPAGE_MAX_LOCK_SLOTNO : ZPAGE_MAX_SLOTNO));
		unit_check(record.offnum <= ZPAGE_MAX_OFFSET);
		unit_check(record.type != ZOP_LOCK || record.lockmode <= LockTupleExclusive);
		if (record.type == ZOP_UPDATE || record.type == ZOP_TOMBSTONE ||
			record.type == ZOP_DIRECTORY)
			unit_check(record.mid >= copy && record.mid + record.midlen <= copy + left);
		if (record.type == ZOP_DIRECTORY)
			damaged_directory_check(&record);
	}
}

/* The record as a plain update, if it is an update, is decoded as any record is. */
static void
undo_plain_check(Unit *unit, const ZUndoRecord *want, ZUndoPtr self)
{
	char	   *copy;
	ZUndoRecord plain = *want;
	ZUndoRecord record;
	Size		len;

	if (want->type != ZOP_UPDATE || want->takeover != ZTAKE_OWN)
		return;
	plain.prev_own = plain.prev_upper_bound = plain.waypoint = false;
	plain.has_xact = plain.has_page = false;
	plain.row_prev.fxid = InvalidFullTransactionId;
	plain.old_hdr.flags2 = 0;
	plain.old_hdr.natts = ZROW_NATTS_KEEP;
	copy = palloc0(zrec_undo_bound(&plain) + ZUNDO_READABLE);
	(void) zrec_undo_encode(&plain, self, copy, &len);
	unit_bytes(unit, &plain, sizeof(plain));
	if (zrec_undo_decode_plain(copy, len, self, &plain))
	{
		unit_check(zrec_undo_decode(copy, len, self, ZFORM_LOG, &record) == len);
		unit_check(plain.type == record.type && plain.takeover == record.takeover);
		unit_check(plain.slotno == record.slotno && plain.offnum == record.offnum);
		unit_check(plain.cid == record.cid && plain.page_prev == record.page_prev);
		unit_check(plain.old_hdr.flags == record.old_hdr.flags &&
				   plain.old_hdr.flags2 == record.old_hdr.flags2 &&
				   plain.old_hdr.slotno == record.old_hdr.slotno &&
				   plain.old_hdr.natts == record.old_hdr.natts);
		unit_check(!record.prev_own && !record.prev_upper_bound && !record.waypoint &&
				   !record.open_run && !record.has_new_tid && !record.has_page &&
				   !FullTransactionIdIsValid(record.row_prev.fxid));
		unit_check(plain.prefix == record.prefix && plain.suffix == record.suffix);
		unit_check(plain.midlen == record.midlen && plain.mid == record.mid);
	}
	pfree(copy);
}

Size
undo_encode(Unit *unit, const ZUndoRecord *record, ZUndoPtr self, char *bytes, Size *wal_len)
{
	Size		log_len = zrec_undo_encode(record, self, bytes, wal_len);
	ZUndoRecord decoded;
	int			form;

	unit_check(*wal_len <= log_len && log_len <= zrec_undo_bound(record));
	for (form = ZFORM_WAL; form >= (int) ZFORM_LOG; form--)
	{
		Size		len = form == ZFORM_WAL ? *wal_len : log_len;
		char	   *guarded;

		guarded = guarded_copy(bytes, len);
		unit_bytes(unit, &decoded, sizeof(decoded));	/* nothing may stay */
		unit_check(zrec_undo_decode(guarded, len, self, form, &decoded) == len);
		undo_compare(record, &decoded, form);
		covers_check(&decoded);
	}
	undo_plain_check(unit, record, self);
	undo_damage_check(unit, bytes, log_len, self);
	return log_len;
}

/* ---- directories ---- */

static void
directory_compare(const ZDirectory *want, FullTransactionId horizon, const ZUndoRecord *record)
{
	ZDirectory	got;
	int			i;

	memset(&got, 0x7f, sizeof(got));
	unit_check(zrec_directory_decode(record, &got));
	unit_check(owners_equal(&got.before, &want->before));
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		const ZOwner *entry = &want->newest[i];
		bool		named = FullTransactionIdIsValid(entry->fxid) &&
			FullTransactionIdFollowsOrEquals(entry->fxid, horizon);
		ZOwner		at;
		bool		damaged;

		unit_check(FullTransactionIdIsValid(got.newest[i].fxid) == named);
		unit_check(zrec_directory_find(record, i, &at, &damaged) == named && !damaged);
		if (named)
			unit_check(owners_equal(&got.newest[i], entry) && owners_equal(&at, entry));
		unit_check(got.lock[i] == want->lock[i]);
		unit_check(zrec_directory_lock(record, i, &damaged) == want->lock[i] && !damaged);
	}
}

/* Bytes that cannot follow, whatever the entries before. */
static void
directory_tail_check(Unit *unit, ZUndoRecord *record, const char *bytes, Size len)
{
	static const struct
	{
		int			len;
		char		bytes[12];
	}			tails[] = {
		{1, {0}},				/* the same offset once more */
		{1, {0x03}},
		{1, {(char) 0x87}},		/* a varint without an end */
		{2, {(char) 0x80, 0}},
		{3, {(char) 0xFF, 0x7F, 5}},	/* an offset that no page has */
		{3, {4, 0, 0}},			/* no owner, or no place */
		{2, {4, 7}},
		{4, {4, 7, 0, 1}},		/* a place that is cut */
		{11, {(char) 0xFC, -1, -1, -1, -1, -1, -1, -1, -1, 1, 7}}	/* a gap that wraps */
	};
	int			i = unit_int(unit, 0, lengthof(tails) - 1);
	Size		all = len + tails[i].len;
	char	   *copy = unit_guarded(all);
	ZDirectory	dir;

	memcpy(copy, bytes, len);
	memcpy(copy + len, tails[i].bytes, tails[i].len);
	record->mid = copy;
	record->midlen = all;
	unit_check(!zrec_directory_decode(record, &dir));
	damaged_directory_check(record);
}

static void
directory_damage_check(Unit *unit, ZUndoRecord *record, const char *bytes, Size len)
{
	ZDirectory	dir;
	int			i;

	for (i = 0; i < 4; i++)
	{
		Size		left;

		record->mid = damaged_copy(unit, bytes, len, &left);
		record->midlen = left;
		damaged_directory_check(record);
	}
	directory_tail_check(unit, record, bytes, len);
	record->mid = unit_guarded(0);
	record->midlen = 0;
	unit_check(!zrec_directory_decode(record, &dir));
	damaged_directory_check(record);
}

Size
undo_directory_encode(Unit *unit, const ZDirectory *dir, FullTransactionId horizon,
					  ZUndoPtr base, char *bytes)
{
	ZUndoRecord record = {0};
	Size		len = zrec_directory_encode(dir, horizon, base, bytes);

	unit_check(len <= ZUNDO_MAX_DIRECTORY);
	record.type = ZOP_DIRECTORY;
	record.page_prev = base;
	record.mid = guarded_copy(bytes, len);
	record.midlen = len;
	directory_compare(dir, horizon, &record);
	directory_damage_check(unit, &record, bytes, len);
	return len;
}

/* ---- random pointers ---- */

static ZUndoPtr
random_ptr(Unit *unit)
{
	if (unit_once_in(unit, 10))
		return pg_prng_uint64(&unit->rng);
	return zundo_ptr_make(unit_int(unit, 1, unit_once_in(unit, 2) ? 100 : PG_INT32_MAX),
						  unit_int(unit, 0, 3),
						  unit_int(unit, SizeOfPageHeaderData, ZUNDO_PAGE_END - 1));
}

/* A pointer that may be near "base", in every way there is. */
static ZUndoPtr
random_ptr_near(Unit *unit, ZUndoPtr base)
{
	BlockNumber block = zundo_ptr_block(base);
	uint16		generation = zundo_ptr_generation(base);
	int			offset = unit_int(unit, SizeOfPageHeaderData, ZUNDO_PAGE_END - 1);

	if (unit_once_in(unit, 8))
		return ZUNDO_INVALID;
	if (unit_once_in(unit, 8))
		return random_ptr(unit);
	if (unit_once_in(unit, 8))
		generation++;
	if (unit_once_in(unit, 8))
		offset = unit_once_in(unit, 2) ? unit_int(unit, 0, 2) :
			unit_int(unit, ZUNDO_PAGE_END - 2, ZUNDO_PAGE_END + 2);
	if (unit_once_in(unit, 2))
		block -= unit_int(unit, -2, ZUNDO_EXTENT_BLOCKS + 2);	/* may wrap around */
	return zundo_ptr_make(block, generation, offset);
}

static FullTransactionId
random_fxid(Unit *unit)
{
	uint64		max = unit_once_in(unit, 2) ? 0xFF : ZPAGE_SLOT_FXID_MASK;

	return FullTransactionIdFromU64(pg_prng_uint64_range(&unit->rng,
														 FirstNormalTransactionId, max));
}

static ZOwner
random_owner(Unit *unit)
{
	ZOwner		owner = {random_fxid(unit), random_ptr(unit)};

	return owner;
}

/* A number of which the limits are as likely as all the rest. */
static uint32
random_limit(Unit *unit, uint32 max)
{
	if (unit_once_in(unit, 3))
		return unit_once_in(unit, 2) ? 0 : max;
	if (unit_once_in(unit, 2))
		max = Min(max, 200);
	return (uint32) pg_prng_uint64_range(&unit->rng, 0, max);
}

static void
ptr_check(Unit *unit)
{
	ZUndoPtr	base = random_ptr(unit);
	ZUndoPtr	ptr = random_ptr_near(unit, base);
	ZUndoPtr	got;
	char		bytes[ZUNDO_PTR_MAX];
	Size		len = zundo_ptr_put(bytes, ptr, base) - bytes;
	uint32		distance = zundo_ptr_block(base) - zundo_ptr_block(ptr);
	char	   *copy;
	Size		cut;

	unit_check(len <= ZUNDO_PTR_MAX);
	if (zundo_ptr_generation(ptr) == zundo_ptr_generation(base) &&
		zundo_ptr_block(ptr) <= zundo_ptr_block(base) && distance < ZUNDO_EXTENT_BLOCKS &&
		zundo_ptr_offset(ptr) > 0 && zundo_ptr_offset(ptr) < ZUNDO_PAGE_END)
		unit_check(len <= (distance == 0 ? 2 : 3));
	for (cut = 0; cut < len; cut++)
	{
		copy = guarded_copy(bytes, cut);
		unit_check(zundo_ptr_get(copy, copy + cut, base, &got) == NULL);
	}
	copy = guarded_copy(bytes, len);
	unit_check(zundo_ptr_get(copy, copy + len, base, &got) == copy + len && got == ptr);
}

/* Any bytes are a pointer, or none, or too short. */
static void
ptr_damage_check(Unit *unit)
{
	int			len = unit_int(unit, 0, 12);
	char	   *bytes = unit_guarded(len);
	const char *next;
	ZUndoPtr	ptr;

	unit_bytes(unit, bytes, len);
	if (len > 0 && unit_once_in(unit, 2))
		bytes[0] = 0;
	next = zundo_ptr_get(bytes, bytes + len, random_ptr(unit), &ptr);
	unit_check(next == NULL || (next > bytes && next <= bytes + len));
}

/* ---- random records ---- */

/* How the record goes on from the chain's newest one. */
static void
random_link(Unit *unit, ZUndoRecord *record, ZUndoPtr self)
{
	bool		may_be_lock = record->type == ZOP_LOCK || record->type == ZOP_DIRECTORY;

	record->slotno = unit_once_in(unit, 2) ? unit_int(unit, 1, ZPAGE_MAX_INPAGE) :
		unit_int(unit, ZPAGE_FIRST_OVERFLOW,
				 may_be_lock ? ZPAGE_MAX_LOCK_SLOTNO : ZPAGE_MAX_SLOTNO);
	record->takeover = unit_once_in(unit, 2) ? ZTAKE_OWN :
		unit_int(unit, ZTAKE_FREE, ZTAKE_REUSED);
	record->cid = random_limit(unit, PG_UINT32_MAX);
	if (record->takeover == ZTAKE_OWN)
		record->page_prev = random_ptr_near(unit, self);
	else if (record->takeover == ZTAKE_REUSED)
		record->slot_prev = random_owner(unit);
}

static void
random_context(Unit *unit, ZUndoRecord *record)
{
	record->has_xact = unit_once_in(unit, 2);
	record->has_page = unit_once_in(unit, 2);
	record->fxid = random_fxid(unit);
	record->locator.spcOid = random_limit(unit, PG_UINT32_MAX);
	record->locator.dbOid = MyDatabaseId;
	record->locator.relNumber = random_limit(unit, PG_UINT32_MAX);
	record->block = random_limit(unit, MaxBlockNumber);
}

static void
random_mid(Unit *unit, ZUndoRecord *record)
{
	char	   *mid;

	record->midlen = random_limit(unit, 4000);
	mid = palloc(record->midlen + 1);
	unit_bytes(unit, mid, record->midlen);
	record->mid = mid;
}

static void
random_waypoint(Unit *unit, ZUndoRecord *record)
{
	record->waypoint = true;
	record->images = random_limit(unit, PG_UINT32_MAX);
	record->since = random_limit(unit, MAX_SINCE);
	record->far_own = unit_once_in(unit, 2);
	record->far_keys = unit_once_in(unit, 2);
	if (!unit_once_in(unit, 3))
		record->far = random_owner(unit);
}

static void
random_version_before(Unit *unit, ZUndoRecord *record, ZUndoPtr self)
{
	ZRowHeader *hdr = &record->old_hdr;

	hdr->flags = random_limit(unit, 0xFF);
	hdr->flags2 = random_limit(unit, 0xFF);
	hdr->turn4 = unit_int(unit, 0, ZROW_TURNS / 2 - 1);
	hdr->slotno = random_limit(unit, ZPAGE_MAX_SLOTNO);
	hdr->natts = unit_once_in(unit, 2) ? ZROW_NATTS_KEEP : random_limit(unit, ZROW_MAX_NATTS);
	record->prev_own = record->takeover == ZTAKE_OWN && unit_once_in(unit, 2);
	record->prev_upper_bound = unit_once_in(unit, 3);
	if (record->prev_own)
		record->row_prev.undo = unit_once_in(unit, 2) ? record->page_prev :
			random_ptr_near(unit, self);
	else if (unit_once_in(unit, 2))
		record->row_prev = random_owner(unit);
	if (record->type == ZOP_DELETE && unit_once_in(unit, 2))
	{
		record->has_new_tid = true;
		ItemPointerSet(&record->new_tid, random_limit(unit, MaxBlockNumber),
					   unit_int(unit, 1, ZPAGE_MAX_OFFSET));
	}
	if (record->type == ZOP_DELETE)
		return;
	if (unit_once_in(unit, 2))
		random_waypoint(unit, record);
	record->prefix = random_limit(unit, BLCKSZ);
	record->suffix = random_limit(unit, BLCKSZ);
	random_mid(unit, record);
}

static void
random_directory(Unit *unit, ZDirectory *dir)
{
	int			one_in = unit_once_in(unit, 2) ? 1 : unit_int(unit, 1, 100);
	ZOwner		entry = random_owner(unit);
	int			i;

	memset(dir, 0, sizeof(*dir));
	if (unit_once_in(unit, 2))
		dir->before = random_owner(unit);
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		if (!unit_once_in(unit, one_in))
			continue;
		/* anew, of the same owner, or the same record once more */
		if (unit_once_in(unit, 2))
			entry = random_owner(unit);
		else if (unit_once_in(unit, 2))
			entry.undo = random_ptr_near(unit, entry.undo);
		dir->newest[i] = entry;
	}
	one_in = unit_once_in(unit, 2) ? 1 : unit_int(unit, 1, 100);
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
		dir->lock[i] = unit_once_in(unit, one_in) ? unit_int(unit, 0, 3) : ZDIRECTORY_NO_LOCK;
}

static ZUndoRecord
random_record(Unit *unit, ZUndoPtr self)
{
	ZUndoRecord record = {0};
	char	   *bytes;

	record.type = unit_int(unit, ZOP_INSERT, ZOP_DIRECTORY);
	random_link(unit, &record, self);
	random_context(unit, &record);
	if (record.type != ZOP_DIRECTORY)
		record.offnum = unit_int(unit, 1, ZPAGE_MAX_OFFSET);
	switch (record.type)
	{
		case ZOP_INSERT:
			record.open_run = unit_once_in(unit, 2);
			record.count = record.open_run ? 0 : random_limit(unit, ZPAGE_MAX_OFFSET);
			record.token = unit_once_in(unit, 2) ? 0 : random_limit(unit, PG_UINT32_MAX);
			break;
		case ZOP_UPDATE:
		case ZOP_DELETE:
			random_version_before(unit, &record, self);
			record.open_run = record.type == ZOP_DELETE && !record.has_new_tid &&
				!record.prev_own && !record.prev_upper_bound &&
				!(record.old_hdr.flags & ZROW_REUSED) && unit_once_in(unit, 2);
			break;
		case ZOP_LOCK:
			record.lockmode = unit_int(unit, LockTupleKeyShare, LockTupleExclusive);
			break;
		case ZOP_TOMBSTONE:
			random_mid(unit, &record);
			break;
		case ZOP_DIRECTORY:
			{
				ZDirectory	dir;

				random_directory(unit, &dir);
				bytes = palloc(ZUNDO_MAX_DIRECTORY);
				record.midlen = undo_directory_encode(unit, &dir, random_fxid(unit),
													  record.page_prev, bytes);
				record.mid = bytes;
				break;
			}
	}
	return record;
}

static void
undo_round(Unit *unit)
{
	ZUndoPtr	self = random_ptr(unit);
	ZUndoRecord record = random_record(unit, self);
	char		bytes[2 * BLCKSZ];
	Size		wal_len;
	int			i;

	(void) undo_encode(unit, &record, self, bytes, &wal_len);
	for (i = 0; i < 20; i++)
	{
		ptr_check(unit);
		ptr_damage_check(unit);
	}
}

/* zheap_unit_undo(seed bigint, rounds integer) returns void */
Datum
zheap_unit_undo(PG_FUNCTION_ARGS)
{
	return unit_repeat(fcinfo, undo_round);
}
