/*
 * index_skip.h
 *		An index scan that passes by entries that only older snapshots need.
 *
 * The fetch of rows counts the entries in a row that were dead for good; the functions before the
 * B-tree's (index_entries.c) call zskip_step when there are many, before they go to the next one.
 */
#ifndef ZHEAP_INDEX_SKIP_H
#define ZHEAP_INDEX_SKIP_H

#include "access/relscan.h"

#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/table_indexes.h"

/*
 * So many entries that are dead for good, and it is asked whether there are ranges to pass by.  In
 * an index that has some it is asked at a scan's first such entry, too.
 */
#ifdef USE_ASSERT_CHECKING
#define ZSKIP_MISSES	2
#else
#define ZSKIP_MISSES	8
#endif

/* Whatever the setting: may a scan like this be told of dead ranges? */
extern bool zskip_is_allowed(IndexScanDesc scan);

/* Is the scan to be moved, if there is a range, or are its entries to be noted? */
static inline bool
zskip_is_wanted(IndexScanDesc scan, const ZIndexFetchBase *fetch)
{
	return fetch->misses >= ZSKIP_MISSES ||
		(fetch->misses == 1 && !fetch->asked && zdead_any() &&
		 scan->xs_snapshot->snapshot_type == SNAPSHOT_MVCC &&
		 zdead_may_help(scan->indexRelation, scan->xs_snapshot));
}

/*
 * The scan is about to go on from the entry that it is at.  If it is wanted, and a range has that
 * entry, the scan is moved to the range's end.
 */
extern void zskip_step(IndexScanDesc scan, ZIndexFetchBase *fetch, bool wanted);

/* The scan begins anew, or ends for good: what it has passed by is noted. */
extern void zskip_end(ZIndexFetchBase *fetch);
extern void zskip_free(ZIndexFetchBase *fetch);

#endif							/* ZHEAP_INDEX_SKIP_H */
