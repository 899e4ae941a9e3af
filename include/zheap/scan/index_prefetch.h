/*
 * index_prefetch.h
 *		Table blocks that an index scan will read next (see prefetch.h).
 */
#ifndef ZHEAP_INDEX_PREFETCH_H
#define ZHEAP_INDEX_PREFETCH_H

#include "access/genam.h"
#include "access/relscan.h"

#include "zheap/base/prefetch.h"

typedef struct ZIndexPrefetch
{
	ZPrefetch	prefetch;
	BlockNumber last;			/* the block that was asked for last, or is read now */

	/* where the scan is, by the look before */
	BlockNumber leaf;			/* InvalidBlockNumber: not looked yet */
	bool		backward;
	bool		asked_leaf;		/* the next leaf has been asked for */
	int			at;				/* its entry */
	int			item;			/* entries up to this one have been seen to */
} ZIndexPrefetch;

static inline void
zindex_prefetch_init(ZIndexPrefetch *ahead)
{
	zprefetch_init(&ahead->prefetch, ZREADER_INDEX_SCAN);
	ahead->last = ahead->leaf = InvalidBlockNumber;
}

/* A new scan of the index, which may read the same leaf. */
static inline void
zindex_prefetch_reset(ZIndexPrefetch *ahead)
{
	ahead->leaf = InvalidBlockNumber;
}

/*
 * The table's block for the entry that the B-tree scan is at is about to be read: ask for those of
 * the entries after it, as many as the distance says.
 */
extern void zindex_prefetch(ZIndexPrefetch *ahead, IndexScanDesc scan);

#endif							/* ZHEAP_INDEX_PREFETCH_H */
