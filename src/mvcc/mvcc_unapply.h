/*
 * mvcc_unapply.h
 *		Private to mvcc: undo the change of one undo record in a row's bytes.
 *
 * Pure functions of record, bytes and header.  They are inline, as the pass over a page calls
 * them once per record.
 */
#ifndef ZHEAP_MVCC_UNAPPLY_H
#define ZHEAP_MVCC_UNAPPLY_H

#include "zheap/record/record.h"

/* Return the length of the row before an update, its header included. */
static inline uint32
zunapply_length(const ZUndoRecord *rec)
{
	return (uint32) ZROW_HDR_SIZE + rec->prefix + rec->midlen + rec->suffix;
}

/*
 * Return whether the record can be about a row of "len" bytes, and the row before fits in
 * "space" bytes.
 */
static inline bool
zunapply_fits(const ZUndoRecord *rec, uint32 len, uint32 space)
{
	uint32		kept = (uint32) ZROW_HDR_SIZE + rec->prefix + rec->suffix;

	return (zwaypoint_has_image(rec) || kept <= len) && zunapply_length(rec) <= space;
}

/*
 * Copy len bytes.  Most updates change a few bytes, for which a call of memcpy is too
 * expensive.
 */
static pg_attribute_always_inline void
zunapply_copy(char *to, const char *from, Size len)
{
	if (len > 8)
		memcpy(to, from, len);
	else if (len >= 4)
	{
		uint32		first;
		uint32		last;

		memcpy(&first, from, sizeof(first));
		memcpy(&last, from + len - sizeof(last), sizeof(last));
		memcpy(to, &first, sizeof(first));
		memcpy(to + len - sizeof(last), &last, sizeof(last));
	}
	else if (len > 0)
	{
		to[0] = from[0];
		to[len / 2] = from[len / 2];
		to[len - 1] = from[len - 1];
	}
}

/*
 * Undo an update: the row of "len" bytes becomes the one before.  Return its length.
 * zunapply_fits() must have returned true.
 */
static pg_attribute_always_inline uint32
zunapply_body(const ZUndoRecord *rec, char *row, uint32 len)
{
	uint32		newlen = zunapply_length(rec);
	char	   *body = row + ZROW_HDR_SIZE;

	Assert(rec->type == ZOP_UPDATE && zunapply_fits(rec, len, BLCKSZ));
	if (newlen != len && rec->suffix > 0)
		memmove(body + rec->prefix + rec->midlen, row + len - rec->suffix, rec->suffix);
	zunapply_copy(body + rec->prefix, rec->mid, rec->midlen);
	return newlen;
}

/*
 * Undo an update in the row's own space, "alloc" bytes; "hdr" gets ZROW_PADDED if some are left.
 * Return false if the space is too small by now, as it may be if the update was committed long
 * ago.
 */
static pg_attribute_always_inline bool
zunapply_in_place(const ZUndoRecord *rec, char *row, uint32 alloc, ZRowHeader *hdr)
{
	uint32		len = alloc - zrow_pad_length(row, alloc);
	uint32		newlen = zunapply_length(rec);

	if (newlen > alloc)
		return false;
	zunapply_body(rec, row, len);
	if (newlen != len)
		zrow_pad_put(row, alloc, alloc - newlen);
	if (newlen < alloc)
		hdr->flags |= ZROW_PADDED;
	return true;
}

/*
 * Compute the header before an update or a delete.  "newer" is the header after it.
 * ZROW_PADDED is not set.
 */
static pg_attribute_always_inline void
zunapply_header(const ZUndoRecord *rec, const ZRowHeader *newer, ZRowHeader *older)
{
	uint16		natts = newer->natts;
	int			turn = zrow_turn(newer);

	Assert(rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE);
	*older = rec->old_hdr;
	older->flags &= ~ZROW_PADDED;
	if (rec->old_hdr.natts == ZROW_NATTS_KEEP)
		older->natts = natts;
	older->flags2 |= newer->flags2 & ZROW2_SEVERAL_KEYS;
	zrow_set_turn(older, rec->type == ZOP_UPDATE ? turn - 1 : turn);
}

/*
 * Undo a plain update of a version that was visible to all in the row's header: what
 * zunapply_header() and zrow_header_freeze() give, without unpacking it.
 */
static inline void
zunapply_plain_header(const ZUndoRecord *rec, char *row)
{
	uint8		flags2 = (uint8) row[1];

	row[0] = rec->old_hdr.flags & ~(ZROW_PADDED | ZROW_INSERTED | ZROW_REUSED);
	/* the turn before: the lowest bit is PARITY, the others are above the slot's bit 8 */
	row[1] = (flags2 & (ZROW2_SEVERAL_KEYS | ZROW2_PARITY)) ^ ZROW2_PARITY;
	row[2] = 0;
	row[4] = ((uint8) row[4] & ~0x08) - ((flags2 & ZROW2_PARITY) ? 0 : 0x10);
}

#endif							/* ZHEAP_MVCC_UNAPPLY_H */
