/*
 * index_skip.h
 *		An index scan that skips entries that only older snapshots need.
 *
 * The fetch of rows counts consecutive entries that are dead for good.  When there are many, the
 * functions that wrap the B-tree's (index_entries.c) call zskip_step before they go to the next
 * entry.
 */
#ifndef ZHEAP_INDEX_SKIP_H
#define ZHEAP_INDEX_SKIP_H

#include "access/relscan.h"

#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/table_indexes.h"

/*
 * Number of consecutive dead entries after which the scan looks for a range to skip.  In an index
 * that has ranges it also looks at its first such entry.
 */
#ifdef USE_ASSERT_CHECKING
#define ZSKIP_MISSES	2
#else
#define ZSKIP_MISSES	8
#endif

/*
 * Return whether a scan of this kind may use and publish dead ranges; zheap.skip_dead_entries is
 * not considered.  No locks, no errors.
 */
extern bool zskip_is_allowed(IndexScanDesc scan);

/* Return whether to look for a range at the scan's entry, and to make its dead entries a run. */
static inline bool
zskip_is_wanted(IndexScanDesc scan, const ZIndexFetchBase *fetch)
{
	return fetch->misses >= ZSKIP_MISSES ||
		(fetch->misses == 1 && !fetch->asked && zdead_any() &&
		 scan->xs_snapshot->snapshot_type == SNAPSHOT_MVCC &&
		 zdead_may_help(scan->indexRelation, scan->xs_snapshot));
}

/*
 * Extend, begin or end the scan's run at its current entry, which it is about to leave, and skip a
 * range.
 *
 * If "wanted" (zskip_is_wanted), or if the scan has a run, and the entry is in a range that the
 * snapshot may use, the scan's position moves to the end of that range, or to the last entry of
 * its leaf that is in it.
 *
 * No buffer is locked at entry and exit; index pages are locked in share mode and released.
 * Errors are those of the keys' comparison functions and of ReadBuffer.
 */
extern void zskip_step(IndexScanDesc scan, ZIndexFetchBase *fetch, bool wanted);

/*
 * End the scan's run, and note it for other scans (zdead_note_run).  zskip_end: the scan begins
 * anew; nothing happens if fetch->skip is NULL. zskip_free: the scan ends; frees fetch->skip,
 * which is not NULL.  No buffer is locked; errors as above.
 */
extern void zskip_end(ZIndexFetchBase *fetch);
extern void zskip_free(ZIndexFetchBase *fetch);

#endif							/* ZHEAP_INDEX_SKIP_H */
