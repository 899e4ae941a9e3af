/*
 * rec_directory.c
 *		The bytes of a directory (C1, chain.h).
 *
 *   ..  the owner before the one that wrote the directory: fxid varint (0: none);
 *       undo 8 bytes
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

#include "zheap/record/record.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"

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
	memcpy(out, locks, end - locks);
	return out + (end - locks);
}

/* Put the difference of two fxids: a small one takes few bytes, whatever its sign. */
static char *
put_fxid(char *out, FullTransactionId fxid, FullTransactionId last)
{
	uint64		diff = U64FromFullTransactionId(fxid) - U64FromFullTransactionId(last);

	return zvarint_put(out, (int64) diff < 0 ? ~(diff << 1) : diff << 1);
}

/*
 * Get the next fxid from the difference; *fxid is the entry before's at entry, this one's on
 * return.  Return NULL if the bytes end.
 */
static const char *
get_fxid(const char *in, const char *end, FullTransactionId *fxid)
{
	uint64		value;
	uint64		diff;

	in = zvarint_get(in, end, &value);
	if (in == NULL)
		return NULL;
	diff = value & 1 ? ~(value >> 1) : value >> 1;
	*fxid = FullTransactionIdFromU64(U64FromFullTransactionId(*fxid) + diff);
	return in;
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

	out = zvarint_put(out, U64FromFullTransactionId(dir->before.fxid));
	if (FullTransactionIdIsValid(dir->before.fxid))
	{
		memcpy(out, &dir->before.undo, sizeof(ZUndoPtr));
		out += sizeof(ZUndoPtr);
	}
	out = put_locks(out, dir);
	if (base == ZUNDO_INVALID)
	{
		base = find_base(dir);
		memcpy(out, &base, sizeof(base));
		out += sizeof(base);
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

typedef struct Reader
{
	const char *at;
	const char *end;
	const char *locks;
	const char *locks_end;
	ZUndoPtr	base;
	OffsetNumber offnum;		/* of the entry read last */
	ZOwner		entry;
} Reader;

/* Skip the locks, and read the base.  Return false if the bytes are damaged. */
static bool
skip_locks(Reader *reader)
{
	uint64		len;

	reader->at = zvarint_get(reader->at, reader->end, &len);
	if (reader->at == NULL || len > (uint64) (reader->end - reader->at))
		return false;
	reader->locks = reader->at;
	reader->at += len;
	reader->locks_end = reader->at;
	if (reader->base != ZUNDO_INVALID)
		return true;
	if (reader->end - reader->at < (ptrdiff_t) sizeof(ZUndoPtr))
		return false;
	memcpy(&reader->base, reader->at, sizeof(ZUndoPtr));
	reader->at += sizeof(ZUndoPtr);
	return true;
}

/* Begin to read a directory; get the owner before.  Return false if the bytes are damaged. */
static bool
read_before(Reader *reader, const ZUndoRecord *rec, ZOwner *before)
{
	uint64		value;

	Assert(rec->type == ZOP_DIRECTORY);
	reader->at = rec->mid;
	reader->end = rec->mid + rec->midlen;
	reader->base = rec->takeover == ZTAKE_OWN ? rec->page_prev : rec->slot_prev.undo;
	reader->offnum = 0;
	reader->entry.fxid = InvalidFullTransactionId;
	reader->entry.undo = ZUNDO_INVALID;
	before->undo = ZUNDO_INVALID;
	reader->at = zvarint_get(reader->at, reader->end, &value);
	if (reader->at == NULL)
		return false;
	before->fxid = FullTransactionIdFromU64(value);
	if (value == 0)
		return skip_locks(reader);
	if (reader->end - reader->at < (ptrdiff_t) sizeof(ZUndoPtr))
		return false;
	memcpy(&before->undo, reader->at, sizeof(ZUndoPtr));
	reader->at += sizeof(ZUndoPtr);
	return skip_locks(reader);
}

/*
 * Read the next lock.  Return false if there is none or, with *damaged set to true, if the
 * bytes are damaged.
 */
static bool
read_lock(const char **at, const char *end, OffsetNumber *offnum, int *mode, bool *damaged)
{
	uint64		value;

	if (*at >= end)
		return false;
	*at = zvarint_get(*at, end, &value);
	*damaged = *at == NULL || value >> LOCK_SHIFT == 0 ||
		(value >> LOCK_SHIFT) + *offnum > (uint64) ZPAGE_MAX_OFFSET;
	if (*damaged)
		return false;
	*offnum += value >> LOCK_SHIFT;
	*mode = value & ((1 << LOCK_SHIFT) - 1);
	return true;
}

/* Read the next row's entry.  Return false if the bytes are damaged. */
static bool
read_entry(Reader *reader)
{
	uint64		head;

	reader->at = zvarint_get(reader->at, reader->end, &head);
	if (reader->at == NULL || head >> D_SHIFT == 0 ||
		(head >> D_SHIFT) + reader->offnum > (uint64) ZPAGE_MAX_OFFSET)
		return false;
	reader->offnum += head >> D_SHIFT;
	if (!(head & D_SAME_OWNER))
	{
		reader->at = get_fxid(reader->at, reader->end, &reader->entry.fxid);
		if (reader->at == NULL)
			return false;
	}
	if (!(head & D_SAME_RECORD))
	{
		reader->at = zundo_ptr_get(reader->at, reader->end, reader->base, &reader->entry.undo);
		if (reader->at == NULL)
			return false;
	}
	return FullTransactionIdIsValid(reader->entry.fxid);
}

bool
zrec_directory_decode(const ZUndoRecord *rec, ZDirectory *dir)
{
	Reader		reader;
	const char *locks;
	const char *locks_end;
	OffsetNumber offnum = 0;
	int			mode;
	bool		damaged = false;

	memset(dir->newest, 0, sizeof(dir->newest));
	memset(dir->lock, ZDIRECTORY_NO_LOCK, sizeof(dir->lock));
	if (!read_before(&reader, rec, &dir->before))
		return false;
	locks = reader.locks;
	locks_end = reader.locks_end;
	while (read_lock(&locks, locks_end, &offnum, &mode, &damaged))
		dir->lock[offnum] = mode;
	if (damaged)
		return false;
	while (reader.at < reader.end)
	{
		if (!read_entry(&reader))
			return false;
		dir->newest[reader.offnum] = reader.entry;
	}
	return true;
}

/* Entries are in the order of offsets: reading stops at the row's. */
bool
zrec_directory_find(const ZUndoRecord *rec, OffsetNumber offnum, ZOwner *at, bool *damaged)
{
	Reader		reader;
	ZOwner		before;

	*damaged = !read_before(&reader, rec, &before);
	while (!*damaged && reader.at < reader.end && reader.offnum < offnum)
		*damaged = !read_entry(&reader);
	*at = reader.entry;
	return !*damaged && reader.offnum == offnum;
}

int
zrec_directory_lock(const ZUndoRecord *rec, OffsetNumber offnum, bool *damaged)
{
	Reader		reader;
	ZOwner		before;
	const char *locks;
	OffsetNumber at = 0;
	int			mode = ZDIRECTORY_NO_LOCK;

	*damaged = !read_before(&reader, rec, &before);
	if (*damaged)
		return ZDIRECTORY_NO_LOCK;
	locks = reader.locks;
	while (at < offnum && read_lock(&locks, reader.locks_end, &at, &mode, damaged))
		;
	return !*damaged && at == offnum ? mode : ZDIRECTORY_NO_LOCK;
}
