/*
 * pg_compat_bitmap.h
 *		18: the iterator of a TID bitmap returns a page, from which the offsets are extracted;
 *		before, it returned the offsets themselves.
 */
#ifndef ZHEAP_PG_COMPAT_BITMAP_H
#define ZHEAP_PG_COMPAT_BITMAP_H

#include "nodes/tidbitmap.h"

#if PG_VERSION_NUM >= 180000
typedef TBMPrivateIterator ZCompatTids;
#else
typedef TBMIterator ZCompatTids;
#define tbm_begin_private_iterate(bitmap) tbm_begin_iterate(bitmap)
#define tbm_end_private_iterate(iterator) tbm_end_iterate(iterator)
#define TBM_MAX_TUPLES_PER_PAGE	MaxHeapTuplesPerPage
#endif

typedef struct ZCompatTidBlock
{
	BlockNumber blockno;
	bool		lossy;			/* all rows of the block */
	int			noffsets;
	OffsetNumber offsets[TBM_MAX_TUPLES_PER_PAGE];
} ZCompatTidBlock;

/* Return the next block of the bitmap in *block; false after the last one. */
static inline bool
zcompat_tids_next(ZCompatTids *tids, ZCompatTidBlock *block)
{
#if PG_VERSION_NUM >= 180000
	TBMIterateResult result;

	if (!tbm_private_iterate(tids, &result))
		return false;
	block->lossy = result.lossy;
	block->noffsets = block->lossy ? 0 :
		tbm_extract_page_tuple(&result, block->offsets, TBM_MAX_TUPLES_PER_PAGE);
	block->blockno = result.blockno;
#else
	const TBMIterateResult *result = tbm_iterate(tids);

	if (result == NULL)
		return false;
	block->lossy = result->ntuples < 0;
	block->noffsets = Max(result->ntuples, 0);
	memcpy(block->offsets, result->offsets, block->noffsets * sizeof(OffsetNumber));
	block->blockno = result->blockno;
#endif
	return true;
}

#endif							/* ZHEAP_PG_COMPAT_BITMAP_H */
