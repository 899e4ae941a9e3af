/*
 * rec_directory.c
 *		The bytes of a directory (C1, chain.h).
 *
 *   ..  the owner before the one that wrote the directory (zrec_put_owner)
 *   ..  locks: their length in bytes, varint; per locked row, in the order of offsets:
 *       varint (gap << 2 | mode), gap being the distance from the offset before
 *   ..  if no record is before the directory in the chain: the base of the places below,
 *       8 bytes; otherwise that record's place is the base
 *   ..  per row, in the order of offsets: varint (gap << 2 | D_SAME_OWNER |
 *       D_SAME_RECORD), gap being the distance from the offset before; unless
 *       D_SAME_OWNER fxid - fxid of the entry before, zigzag varint; unless D_SAME_RECORD
 *       the record's place, relative to the base (zundo_ptr_put)
 *
 * "Same" means: the same as in the entry before.
 */
#include "postgres.h"

#include "nodes/lockoptions.h"

#include "zheap/undo/undo_format.h"

#include "rec_private.h"

#define D_SAME_RECORD	0x01
#define D_SAME_OWNER	0x02
#define D_SHIFT			2

#define LOCK_SHIFT		2

StaticAssertDecl(ZUNDO_MAX_DIRECTORY <= ZUNDO_MAX_RECORD - 128,
				 "a directory of all rows fits an undo record");

/*
 * Put the locks, with their length before them, so that readers that search for versions skip
 * them.
 */
static char *
put_locks(char *out, const ZDirectory *dir)
{
	char		locks[2 * ZPAGE_MAX_OFFSET];
	char	   *end = locks;
	OffsetNumber last_offnum = 0;

	for (int i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		Assert(dir->lock[i] >= ZDIRECTORY_NO_LOCK && dir->lock[i] <= LockTupleExclusive);
		if (dir->lock[i] == ZDIRECTORY_NO_LOCK)
			continue;
		end = zvarint_put(end, (uint64) (i - last_offnum) << LOCK_SHIFT | dir->lock[i]);
		last_offnum = i;
	}
	out = zvarint_put(out, end - locks);
	return zrec_put_raw(out, locks, end - locks);
}

/* Put the difference of two fxids: a small one takes few bytes, whatever its sign. */
static char *
put_fxid(char *out, FullTransactionId fxid, FullTransactionId last)
{
	uint64		diff = U64FromFullTransactionId(fxid) - U64FromFullTransactionId(last);

	return zvarint_put(out, (int64) diff < 0 ? ~(diff << 1) : diff << 1);
}

/*
 * Return a base for the places, which are stored as distances before it: one with the highest
 * block number.
 */
static ZUndoPtr
find_base(const ZDirectory *dir)
{
	ZUndoPtr	base = ZUNDO_INVALID;

	for (int i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		ZUndoPtr	ptr = dir->newest[i].undo;

		if (FullTransactionIdIsValid(dir->newest[i].fxid) &&
			(base == ZUNDO_INVALID || zundo_ptr_block(ptr) > zundo_ptr_block(base)))
			base = ptr;
	}
	return base;
}

Size
zrec_directory_encode(const ZDirectory *dir, FullTransactionId horizon, ZUndoPtr base, char *out)
{
	char	   *start = out;
	ZOwner		last = {InvalidFullTransactionId, ZUNDO_INVALID};
	OffsetNumber last_offnum = 0;

	out = zrec_put_owner(out, &dir->before);
	out = put_locks(out, dir);
	if (base == ZUNDO_INVALID)
	{
		base = find_base(dir);
		out = zrec_put_raw(out, &base, sizeof(base));
	}
	for (int i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		const ZOwner *entry = &dir->newest[i];
		uint64		head = (uint64) (i - last_offnum) << D_SHIFT;

		if (!FullTransactionIdIsValid(entry->fxid) ||
			FullTransactionIdPrecedes(entry->fxid, horizon))
			continue;
		if (FullTransactionIdEquals(entry->fxid, last.fxid))
			head |= D_SAME_OWNER;
		if ((head & D_SAME_OWNER) && entry->undo == last.undo)
			head |= D_SAME_RECORD;
		out = zvarint_put(out, head);
		if (!(head & D_SAME_OWNER))
			out = put_fxid(out, entry->fxid, last.fxid);
		if (!(head & D_SAME_RECORD))
			out = zundo_ptr_put(out, entry->undo, base);
		last = *entry;
		last_offnum = i;
	}
	Assert(out - start <= ZUNDO_MAX_DIRECTORY);
	return out - start;
}

/* ---- decoding ---- */

/* A directory that is read; the cursors become bad if it is damaged. */
typedef struct Reader
{
	ZRecCursor	cur;			/* the entries */
	ZRecCursor	locks;
	ZUndoPtr	base;
	OffsetNumber offnum;		/* of the entry read last */
	ZOwner		entry;
} Reader;

/* Begin to read a directory; get the owner before. */
static void
reader_init(Reader *reader, const ZUndoRecord *rec, ZOwner *before)
{
	ZRecCursor *cur = &reader->cur;
	const char *locks;
	Size		len;

	Assert(rec->type == ZOP_DIRECTORY);
	zrec_cursor_init(cur, rec->mid, rec->midlen);
	before->undo = ZUNDO_INVALID;
	zrec_take_owner(cur, before);
	len = zrec_take_varint(cur, BLCKSZ);
	locks = zrec_take_bytes(cur, len);
	zrec_cursor_init(&reader->locks, locks, locks ? len : 0);
	reader->base = rec->takeover == ZTAKE_OWN ? rec->page_prev : rec->slot_prev.undo;
	if (reader->base == ZUNDO_INVALID)
		zrec_take_raw(cur, &reader->base, sizeof(ZUndoPtr));
	reader->offnum = 0;
	reader->entry.fxid = InvalidFullTransactionId;
	reader->entry.undo = ZUNDO_INVALID;
}

/* Go on to the row that is at this distance from the one before. */
static inline void
advance(ZRecCursor *cur, uint64 distance, OffsetNumber *offnum)
{
	if (distance == 0 || distance + *offnum > (uint64) ZPAGE_MAX_OFFSET)
		zrec_cursor_fail(cur);
	else
		*offnum += distance;
}

/* Read the next lock.  Return false if there is none, or if the bytes are damaged. */
static bool
read_lock(ZRecCursor *locks, OffsetNumber *offnum, int *mode)
{
	uint64		value;

	if (locks->at >= locks->end)
		return false;
	value = zrec_take_varint(locks, PG_UINT64_MAX);
	advance(locks, value >> LOCK_SHIFT, offnum);
	*mode = value & ((1 << LOCK_SHIFT) - 1);
	return !locks->bad;
}

/* Read the next row's entry.  Return false if there is none, or if the bytes are damaged. */
static bool
read_entry(Reader *reader)
{
	ZRecCursor *cur = &reader->cur;
	uint64		head;
	uint64		diff;

	if (cur->at >= cur->end)
		return false;
	head = zrec_take_varint(cur, PG_UINT64_MAX);
	advance(cur, head >> D_SHIFT, &reader->offnum);
	if (!(head & D_SAME_OWNER))
	{
		diff = zrec_take_varint(cur, PG_UINT64_MAX);
		diff = diff & 1 ? ~(diff >> 1) : diff >> 1;
		reader->entry.fxid =
			FullTransactionIdFromU64(U64FromFullTransactionId(reader->entry.fxid) + diff);
	}
	if (!(head & D_SAME_RECORD))
		reader->entry.undo = zrec_take_ptr(cur, reader->base);
	if (!FullTransactionIdIsValid(reader->entry.fxid))
		zrec_cursor_fail(cur);
	return !cur->bad;
}

bool
zrec_directory_decode(const ZUndoRecord *rec, ZDirectory *dir)
{
	Reader		reader;
	OffsetNumber offnum = 0;
	int			mode;

	memset(dir->newest, 0, sizeof(dir->newest));
	memset(dir->lock, ZDIRECTORY_NO_LOCK, sizeof(dir->lock));
	reader_init(&reader, rec, &dir->before);
	while (read_lock(&reader.locks, &offnum, &mode))
		dir->lock[offnum] = mode;
	while (read_entry(&reader))
		dir->newest[reader.offnum] = reader.entry;
	return !reader.cur.bad && !reader.locks.bad;
}

/* Entries are in the order of offsets: reading stops at the row's. */
bool
zrec_directory_find(const ZUndoRecord *rec, OffsetNumber offnum, ZOwner *at, bool *damaged)
{
	Reader		reader;
	ZOwner		before;

	reader_init(&reader, rec, &before);
	while (reader.offnum < offnum && read_entry(&reader))
		;
	*at = reader.entry;
	*damaged = reader.cur.bad;
	return !*damaged && reader.offnum == offnum;
}

int
zrec_directory_lock(const ZUndoRecord *rec, OffsetNumber offnum, bool *damaged)
{
	Reader		reader;
	ZOwner		before;
	OffsetNumber at = 0;
	int			mode = ZDIRECTORY_NO_LOCK;

	reader_init(&reader, rec, &before);
	while (at < offnum && read_lock(&reader.locks, &at, &mode))
		;
	*damaged = reader.cur.bad || reader.locks.bad;
	return !*damaged && at == offnum ? mode : ZDIRECTORY_NO_LOCK;
}
