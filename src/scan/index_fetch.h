/*
 * index_fetch.h
 *		Private to scan: the state of an index fetch.
 */
#ifndef ZHEAP_SCAN_INDEX_FETCH_H
#define ZHEAP_SCAN_INDEX_FETCH_H

#include "zheap/btree/seen_keys.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/index_prefetch.h"
#include "zheap/scan/scan.h"

/* A run of fetches from one page, for one snapshot and command. */
typedef struct ZFetchRun
{
	BlockNumber block;
	ZSnapshotMoment moment;		/* when it began */
	uint32		leaf;			/* ZIndexFetchBase.leaf: an entry that is read later may belong
								 * to a change that a copy of the page does not have */
} ZFetchRun;

/* A copy of the run's page. */
typedef struct ZFetchCopy
{
	ZPageView	view;
	ZPageCopy  *copy;
	uint32		seen;			/* slots whose owners the snapshot sees (zscan_seen_slots) */
} ZFetchCopy;

typedef struct ZIndexFetch
{
	ZIndexFetchBase base;		/* must be first */
	Buffer		buffer;			/* of the last row's page, pinned; or invalid */
	ZIndexPrefetch ahead;
	bool		scan;			/* used by an index scan, not by a unique check */
	bool		dead;			/* the last row was not found, and is dead for good */
	MemoryContext context;
	bool		has_view;		/* "view" is open */
	ZFetchRun	run;
	int			rows;			/* number of rows fetched in this run, until there is a copy */
	bool		has_copy;		/* "copy" is of this run's page */
	ZFetchCopy *copy;			/* allocated on demand, kept to the end */
	SeenKeys   *seen;			/* likewise */
	ZPageView	view;			/* last: not zeroed when the fetch begins */
} ZIndexFetch;

#endif							/* ZHEAP_SCAN_INDEX_FETCH_H */
