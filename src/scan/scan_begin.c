/*
 * scan_begin.c
 *		Begin, restart and end a scan of a table's pages.
 *
 * LOCKING: none here.  The undo relation is opened at the start, because that may read catalogs,
 * which is not possible once a page is locked (L1).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "access/syncscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "zheap/base/pg_compat_stream.h"
#include "zheap/base/base.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/scan.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo_relation.h"

/*
 * Return whether the table is read through a ring and synchronized with other scans: heap's rule,
 * and that of table_block_parallelscan_initialize, is a quarter of the buffers.
 */
static bool
is_large(ZScan *scan)
{
	return !RelationUsesLocalBuffers(scan->base.rs_rd) &&
		scan->nblocks > (BlockNumber) NBuffers / 4;
}

void
zscan_stream_begin(ZScan *scan, int flags, ReadStreamBlockNumberCB callback,
				   size_t per_buffer_size)
{
	/* the stream must live as long as the scan, whatever the current context */
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));

	Assert(scan->stream == NULL);
	scan->stream = read_stream_begin_relation(flags, scan->strategy, scan->base.rs_rd,
											  MAIN_FORKNUM, callback, scan, per_buffer_size);
	zcompat_stream_counts(&scan->base, scan->stream);
	MemoryContextSwitchTo(old);
}

void
zscan_stream_end(ZScan *scan)
{
	if (scan->stream != NULL)
		read_stream_end(scan->stream);
	scan->stream = NULL;
}

/* Take or free the ring.  The stream is ended before the ring through which it reads changes. */
static void
choose_strategy(ZScan *scan, bool large)
{
	if (large && (scan->base.rs_flags & SO_ALLOW_STRAT) != 0)
	{
		/* a rescan continues with its ring */
		if (scan->strategy == NULL)
		{
			zscan_stream_end(scan);
			scan->strategy = GetAccessStrategy(BAS_BULKREAD);
		}
	}
	else if (scan->strategy != NULL)
	{
		zscan_stream_end(scan);
		FreeAccessStrategy(scan->strategy);
		scan->strategy = NULL;
	}
}

/* Choose the first block.  A rescan keeps it, so that rewinding a cursor repeats the order. */
static void
choose_start(ZScan *scan, bool large, bool keep_startblock)
{
	bool		sync;

	if (scan->base.rs_parallel != NULL)
		sync = scan->base.rs_parallel->phs_syncscan;
	else
	{
		sync = large && synchronize_seqscans &&
			(scan->base.rs_flags & SO_ALLOW_SYNC) != 0;
		if (!keep_startblock)
			scan->startblock = sync ?
				ss_get_location(scan->base.rs_rd, scan->nblocks) : 0;
	}

	if (sync)
		scan->base.rs_flags |= SO_ALLOW_SYNC;
	else
		scan->base.rs_flags &= ~SO_ALLOW_SYNC;
}

/* Put the scan before its first block, with its limits removed. */
static void
scan_reset(ZScan *scan, ScanKey key, bool keep_startblock)
{
	Relation	rel = scan->base.rs_rd;
	bool		large;

	/* before the fields that its callback reads change */
	if (scan->stream != NULL)
		read_stream_reset(scan->stream);

	/* Pages added from now on hold no rows for this snapshot. */
	if (scan->base.rs_parallel != NULL)
		scan->nblocks = ((ParallelBlockTableScanDesc) scan->base.rs_parallel)->phs_nblocks;
	else
		scan->nblocks = RelationGetNumberOfBlocks(rel);

	large = is_large(scan);
	choose_strategy(scan, large);
	choose_start(scan, large, keep_startblock);

	scan->numblocks = InvalidBlockNumber;
	scan->inited = false;
	scan->block = scan->ahead = InvalidBlockNumber;
	scan->frozen = false;
	zscan_page_forget(scan);
	scan->index = -1;

	ItemPointerSetInvalid(&scan->mintid);
	ItemPointerSetInvalid(&scan->maxtid);

	if (key != NULL && scan->base.rs_nkeys > 0)
		memcpy(scan->base.rs_key, key, scan->base.rs_nkeys * sizeof(ScanKeyData));

	/* other kinds are counted by their index scans, or by row */
	if (scan->base.rs_flags & SO_TYPE_SEQSCAN)
		pgstat_count_heap_scan(rel);
}

/*
 * Return a count of cleared marks taken before the scan's bitmap was made, if it has one (N5).
 * From 17 on the executor makes the bitmap before the scan begins, but in the same run of the
 * query.  A parallel worker's bitmap may have been made by another process at any time.
 */
static uint64
marks_before_bitmap(void)
{
	if (IsParallelWorker())
		return 0;
	return ZCOMPAT_BITMAP_IS_OLDER ? ztid_state.marks : zheap_marks_cleared();
}

TableScanDesc
zscan_begin(Relation rel, Snapshot snapshot, int nkeys, ScanKey key,
			ParallelTableScanDesc parallel, uint32 flags)
{
	ZScan	   *scan;

	zheap_require_preload();
	zundo_open_for(rel);

	/* a missing snapshot must not go unnoticed */
	Assert(snapshot != NULL ||
		   (flags & (SO_TYPE_SEQSCAN | SO_TYPE_SAMPLESCAN)) == 0);

	zmvcc_check_snapshot(rel, snapshot);

	RelationIncrementReferenceCount(rel);

	/*
	 * Such a scan also reads the absence of rows, for which there is nothing smaller to lock.
	 * Before any page is read: see mvcc_serial.c.
	 */
	if (flags & (SO_TYPE_SEQSCAN | SO_TYPE_SAMPLESCAN))
		PredicateLockRelation(rel, snapshot);

	scan = (ZScan *) palloc(sizeof(ZScan));
	memset(scan, 0, offsetof(ZScan, rows));
	scan->base.rs_rd = rel;
	scan->base.rs_snapshot = snapshot;
	scan->base.rs_nkeys = nkeys;
	scan->base.rs_flags = flags;
	scan->base.rs_parallel = parallel;
	if (nkeys > 0)
		scan->base.rs_key = (ScanKey) palloc(sizeof(ScanKeyData) * nkeys);
	if (parallel != NULL)
		scan->worker = palloc0(sizeof(ParallelBlockTableScanWorkerData));
	zcompat_scan_counts(&scan->base);
	scan->marks = marks_before_bitmap();
	zview_open(&scan->view, rel);

	scan_reset(scan, key, false);

	return &scan->base;
}

void
zscan_rescan(TableScanDesc sscan, ScanKey key, bool set_params,
			 bool allow_strat, bool allow_sync, bool allow_pagemode)
{
	ZScan	   *scan = (ZScan *) sscan;

	if (set_params)
	{
		sscan->rs_flags &= ~(SO_ALLOW_STRAT | SO_ALLOW_SYNC | SO_ALLOW_PAGEMODE);
		if (allow_strat)
			sscan->rs_flags |= SO_ALLOW_STRAT;
		if (allow_sync)
			sscan->rs_flags |= SO_ALLOW_SYNC;
		if (allow_pagemode)
			sscan->rs_flags |= SO_ALLOW_PAGEMODE;
	}

	scan_reset(scan, key, true);
}

void
zscan_end(TableScanDesc sscan)
{
	ZScan	   *scan = (ZScan *) sscan;

	zscan_stream_end(scan);
	zscan_page_forget(scan);
	zview_close(&scan->view);
	RelationDecrementReferenceCount(sscan->rs_rd);

	if (sscan->rs_key != NULL)
		pfree(sscan->rs_key);
	if (scan->strategy != NULL)
		FreeAccessStrategy(scan->strategy);
	if (scan->worker != NULL)
		pfree(scan->worker);
	if (sscan->rs_flags & SO_TEMP_SNAPSHOT)
		UnregisterSnapshot(sscan->rs_snapshot);

	pfree(scan);
}

void
zscan_set_limits(ZScan *scan, BlockNumber startblock, BlockNumber numblocks)
{
	Assert(!scan->inited);		/* too late otherwise */
	Assert(!(scan->base.rs_flags & SO_ALLOW_SYNC));
	Assert(startblock == 0 || startblock < scan->nblocks);

	scan->startblock = startblock;
	scan->numblocks = numblocks;
}
