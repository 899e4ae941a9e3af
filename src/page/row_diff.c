/*
 * row_diff.c
 *		Which bytes differ between two versions of a row.
 */
#include "postgres.h"

#include "zheap/page/row.h"

void
zrow_diff(const char *now, uint32 nowlen, const char *was, uint32 waslen,
		  uint16 *prefix, uint16 *suffix)
{
	uint32		max = Min(nowlen, waslen) - ZROW_HDR_SIZE;
	uint32		same = 0;

	while (same < max && now[ZROW_HDR_SIZE + same] == was[ZROW_HDR_SIZE + same])
		same++;
	*prefix = same;
	max -= same;
	same = 0;
	while (same < max && now[nowlen - 1 - same] == was[waslen - 1 - same])
		same++;
	*suffix = same;
}
