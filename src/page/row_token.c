/*
 * row_token.c
 *		A number that distinguishes versions of a row.
 *
 * The row names the transaction that made it only as long as snapshots need that.  Permanent are
 * its bytes, and how often it was updated in place, modulo ZROW_TURNS: so any two of up to
 * ZROW_TURNS versions that follow each other in place have different numbers, even with the same
 * values.  Other versions have the same one by chance, with a probability of 2^-25, or if updates
 * that moved the row have given it the same values again.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "zheap/page/row.h"

StaticAssertDecl(ZROW_TURNS == 32, "a turn has 5 bits");

uint32
zrow_token(const char *row, uint32 len)
{
	ZRowHeader	hdr;
	uint32		hash;

	zrow_header_get(row, &hdr);
	/* former TIDs are not part of its values */
	len -= zrow_origins_length(row, len);
	hash = hash_bytes((const unsigned char *) row + ZROW_HDR_SIZE, (int) (len - ZROW_HDR_SIZE));
	hash = hash_combine(hash, murmurhash32(hdr.natts << 1 | (hdr.flags & ZROW_HASNULL)));
	return (uint32) zrow_turn(&hdr) << 25 | (hash & ((1 << 25) - 1));
}
