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
	BlockNumber last;			/* last block that was asked for, or is read now */

	/* position of the scan at the previous look */
	BlockNumber leaf;			/* InvalidBlockNumber: no look yet */
	bool		backward;
	bool		asked_leaf;		/* the next leaf has been asked for */
	int			at;				/* its entry */
	int			item;			/* last entry whose block has been considered */
} ZIndexPrefetch;

/*
 * Prefetch the table blocks of the entries that follow the B-tree scan's current one, as many as
 * the distance says.  Call it before the current entry's block is read, with no buffer locked.
 * Locks nothing.
 */
extern void zindex_prefetch(ZIndexPrefetch *ahead, IndexScanDesc scan);

#endif							/* ZHEAP_INDEX_PREFETCH_H */
