/*
 * row_diff.c
 *		Find the bytes that differ between two versions of a row.
 */
#include "postgres.h"

#include "zheap/page/row.h"

/* Read a word from any address. */
static inline uint64
word_at(const char *at)
{
	uint64		word;

	memcpy(&word, at, sizeof(word));
	return word;
}

uint32
zrow_same_bytes(const char *a, const char *b, uint32 max)
{
	uint32		same = 0;

	while (same + sizeof(uint64) <= max && word_at(a + same) == word_at(b + same))
		same += sizeof(uint64);
	while (same < max && a[same] == b[same])
		same++;
	return same;
}

/* Return how many of the last "max" bytes before these ends are equal. */
static uint32
same_to(const char *a_end, const char *b_end, uint32 max)
{
	uint32		same = 0;

	while (same + sizeof(uint64) <= max &&
		   word_at(a_end - same - sizeof(uint64)) == word_at(b_end - same - sizeof(uint64)))
		same += sizeof(uint64);
	while (same < max && *(a_end - same - 1) == *(b_end - same - 1))
		same++;
	return same;
}

void
zrow_diff(const char *now, uint32 nowlen, const char *was, uint32 waslen,
		  uint16 *prefix, uint16 *suffix)
{
	uint32		max = Min(nowlen, waslen) - ZROW_HDR_SIZE;

	*prefix = zrow_same_bytes(now + ZROW_HDR_SIZE, was + ZROW_HDR_SIZE, max);
	*suffix = same_to(now + nowlen, was + waslen, max - *prefix);
}

bool
zrow_starts_alike(TupleDesc desc, const char *a, uint32 alen, const char *b, uint32 blen,
				  int natts)
{
	uint32		max = Min(alen, blen);
	uint32		off = ZROW_HDR_SIZE;
	ZRowHeader	a_hdr;
	ZRowHeader	b_hdr;

	Assert(natts <= desc->natts);
	if (max < ZROW_HDR_SIZE)
		return false;
	zrow_header_get(a, &a_hdr);
	zrow_header_get(b, &b_hdr);
	if (((a_hdr.flags | b_hdr.flags) & ZROW_HASNULL) || a_hdr.natts < natts || b_hdr.natts < natts)
		return false;
	for (int i = 0; i < natts; i++)
	{
		int			attlen = TupleDescAttr(desc, i)->attlen;

		if (attlen > 0)
			off += attlen;
		else if (attlen == -1 && off < max && VARATT_IS_1B(a + off) && !VARATT_IS_1B_E(a + off))
			off += VARSIZE_1B(a + off);
		else
			return false;
	}
	return off <= max && memcmp(a + ZROW_HDR_SIZE, b + ZROW_HDR_SIZE, off - ZROW_HDR_SIZE) == 0;
}
