/*
 * row_diff.c
 *		Which bytes differ between two versions of a row.
 */
#include "postgres.h"

#include "zheap/page/row.h"

/* From any address. */
static inline uint64
word_at(const char *at)
{
	uint64		word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* How many of the first "max" bytes are the same? */
static uint32
same_from(const char *a, const char *b, uint32 max)
{
	uint32		same = 0;

	while (same + sizeof(uint64) <= max && word_at(a + same) == word_at(b + same))
		same += sizeof(uint64);
	while (same < max && a[same] == b[same])
		same++;
	return same;
}

/* How many of the last "max" bytes before these ends? */
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

	*prefix = same_from(now + ZROW_HDR_SIZE, was + ZROW_HDR_SIZE, max);
	*suffix = same_to(now + nowlen, was + waslen, max - *prefix);
}
