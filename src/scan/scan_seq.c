/*
 * scan_seq.c
 *		Sequential scans, serial and parallel, and scans of a range of TIDs.
 *
 * The order of blocks is heap's in every detail (start in the middle, wrap around, backward,
 * reports to synchronized scans), since results without ORDER BY and other synchronized scans
 * depend on it.
 *
 * LOCKING: a page, share, while it is copied.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/skey.h"
#include "access/syncscan.h"
#include "fmgr.h"
#include "pgstat.h"

#include "zheap/base/pg_compat_am.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/tid/tid.h"

/* ---- the stream's blocks, in the order of the scan ---- */

/* Return the stream's first block; InvalidBlockNumber if there is none. */
static BlockNumber
block_first(ZScan *scan)
{
	if (scan->nblocks == 0 || scan->numblocks == 0)
		return InvalidBlockNumber;

	if (scan->base.rs_parallel != NULL)
	{
		ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->base.rs_parallel;
		BlockNumber start = InvalidBlockNumber;

		if (scan->numblocks != InvalidBlockNumber)
			start = scan->startblock;
		table_block_parallelscan_startblock_init(scan->base.rs_rd, scan->worker, shared,
												 start, scan->numblocks);
		return table_block_parallelscan_nextpage(scan->base.rs_rd, scan->worker, shared);
	}
	if (!scan->backward)
		return scan->startblock;

	/* other scans do not go backward: keep this one out of synchronization */
	scan->base.rs_flags &= ~SO_ALLOW_SYNC;

	if (scan->numblocks != InvalidBlockNumber)
		return (scan->startblock + scan->numblocks - 1) % scan->nblocks;
	if (scan->startblock > 0)
		return scan->startblock - 1;
	return scan->nblocks - 1;
}

/* Return whether the block is behind the last one of a limited scan. */
static bool
is_past_limit(const ZScan *scan, BlockNumber block)
{
	return scan->numblocks != InvalidBlockNumber &&
		((uint64) block + scan->nblocks - scan->startblock) % scan->nblocks >= scan->numblocks;
}

/* Return the block after scan->ahead; InvalidBlockNumber at the end. */
static BlockNumber
block_following(ZScan *scan)
{
	BlockNumber block = scan->ahead;

	if (scan->base.rs_parallel != NULL)
	{
		ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->base.rs_parallel;

		return table_block_parallelscan_nextpage(scan->base.rs_rd, scan->worker, shared);
	}
	if (scan->backward)
	{
		if (block == scan->startblock)
			return InvalidBlockNumber;
		return block == 0 ? scan->nblocks - 1 : block - 1;
	}

	if (++block >= scan->nblocks)
		block = 0;

	/*
	 * Report before the test for the end, so that a finished scan reports its starting point and
	 * the next scan starts there again.
	 */
	if (scan->base.rs_flags & SO_ALLOW_SYNC)
		ss_report_location(scan->base.rs_rd, block);

	if (block == scan->startblock || is_past_limit(scan, block))
		return InvalidBlockNumber;
	return block;
}

/*
 * The stream's callback.  READ_STREAM_USE_BATCHING requires that it waits for no lock that another
 * backend may hold while it waits for I/O: it takes only that of synchronized scans.
 */
static BlockNumber
scan_block(ReadStream *stream, void *private, void *per_buffer)
{
	ZScan	   *scan = private;

	Assert(scan->base.rs_parallel == NULL || !scan->backward);
	scan->ahead = BlockNumberIsValid(scan->ahead) ? block_following(scan) : block_first(scan);
	return scan->ahead;
}

/* ---- pages ---- */

/*
 * Begin a stream from the current block on.  Before 17 no prefetch advice is given for blocks that
 * one process reads forward, as the kernel reads those ahead by itself.
 */
static void
stream_turn(ZScan *scan, bool backward)
{
	int			flags = READ_STREAM_USE_BATCHING;

	if (!backward)
		flags |= READ_STREAM_SEQUENTIAL;
	if (backward || scan->base.rs_parallel != NULL)
		flags |= ZCOMPAT_STREAM_ADVISE;
	zscan_stream_end(scan);
	scan->backward = backward;
	scan->ahead = scan->block;
	zscan_stream_begin(scan, flags, scan_block, 0);
}

bool
zscan_block_next(ZScan *scan, bool backward)
{
	Buffer		buffer;

	if (unlikely(scan->stream == NULL || scan->backward != backward))
		stream_turn(scan, backward);
	buffer = read_stream_next_buffer(scan->stream, NULL);
	if (!BufferIsValid(buffer))
	{
		read_stream_reset(scan->stream);
		scan->inited = false;
		scan->block = scan->ahead = InvalidBlockNumber;
		zscan_page_forget(scan);
		return false;
	}

	scan->inited = true;
	if (zscan_page_read(scan, buffer, NULL))
		zcompat_check_snapshot_age(scan->base.rs_snapshot, scan->base.rs_rd, scan->view.page);
	ReleaseBuffer(buffer);
	if (zscan_reads_pages(scan))
		zscan_page_conflicts(scan);
	return true;
}

BlockNumber
zscan_blocks_done(ZScan *scan)
{
	ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->base.rs_parallel;
	BlockNumber start = shared ? shared->phs_startblock : scan->startblock;
	BlockNumber nblocks = shared ? shared->phs_nblocks : scan->nblocks;

	/* the scan may have wrapped around the end of the relation */
	if (scan->block > start)
		return scan->block - start;
	return nblocks - start + scan->block;
}

/*
 * Return whether the row matches the scan keys.  These are rare (the executor tests its quals
 * itself), so there is no special path.
 */
static bool
keys_match(ZScan *scan, TupleTableSlot *slot)
{
	int			i;

	for (i = 0; i < scan->base.rs_nkeys; i++)
	{
		ScanKey		key = &scan->base.rs_key[i];
		Datum		value;
		bool		isnull;

		if (key->sk_flags & SK_ISNULL)
			return false;
		value = slot_getattr(slot, key->sk_attno, &isnull);
		if (isnull)
			return false;
		if (!DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
											value, key->sk_argument)))
			return false;
	}
	return true;
}

/* Store the next row in the given direction in the slot.  Return false at the end. */
static bool
row_advance(ZScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	bool		backward = ScanDirectionIsBackward(direction);

	if (direction == NoMovementScanDirection)
		return scan->inited && scan->index >= 0 && scan->index < scan->nrows &&
			zscan_row_store(scan, &scan->rows[scan->index], slot);

	/* without a position, this is just before the first page's rows */
	if (!scan->inited)
		scan->nrows = scan->index = 0;

	for (;;)
	{
		while (unlikely(scan->has_older))
		{
			if (zscan_row_store_older(scan, slot) && keys_match(scan, slot))
				return true;
		}
		scan->index += backward ? -1 : 1;
		while (!scan->inited || scan->index < 0 || scan->index >= scan->nrows)
		{
			/* otherwise its row would keep the copy of the page */
			ExecClearTuple(slot);
			if (!zscan_block_next(scan, backward))
				return false;
			scan->index = backward ? scan->nrows - 1 : 0;
		}

		if (zscan_row_store(scan, &scan->rows[scan->index], slot) &&
			keys_match(scan, slot))
			return true;
	}
}

/* The general case of zscan_getnextslot. */
static pg_noinline bool
getnextslot_anyhow(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	ztuple_slot_check_kind(sscan->rs_rd, slot);
	if (ztid_seeks_deleted(sscan->rs_snapshot) ||
		!row_advance((ZScan *) sscan, direction, slot))
	{
		ExecClearTuple(slot);
		return false;
	}

	pgstat_count_heap_getnext(sscan->rs_rd);
	return true;
}

/*
 * Return the next row of the current page, if it needs no look and the slot refers to the row
 * before it; this is the inner loop of sequential scans.  A slot of another kind does not have our
 * copy in that field.
 */
bool
zscan_getnextslot(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	ZScan	   *scan = (ZScan *) sscan;
	int			index = scan->index + 1;
	const ZScanRow *row = &scan->rows[index];

	if (unlikely(direction != ForwardScanDirection || index >= scan->nrows || row->len == 0 ||
				 scan->base.rs_nkeys != 0 || ((ZTupleSlot *) slot)->copy != scan->copy))
		return getnextslot_anyhow(sscan, direction, slot);

	scan->index = index;
	ItemPointerSetOffsetNumber(&scan->tid, row->offnum);
	ztuple_slot_refer_next(slot, scan->copy->page.data + row->offset, row->len, &scan->tid);
	pgstat_count_heap_getnext(sscan->rs_rd);
	return true;
}

void
zscan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid)
{
	ZScan	   *scan = (ZScan *) sscan;
	ItemPointerData lowest;
	ItemPointerData highest;
	BlockNumber first;

	/* no pages, so no rows outside of the range */
	if (scan->nblocks == 0)
		return;

	ItemPointerSet(&lowest, 0, FirstOffsetNumber);
	ItemPointerSet(&highest, scan->nblocks - 1, MaxOffsetNumber);
	if (ItemPointerCompare(maxtid, &highest) < 0)
		highest = *maxtid;
	if (ItemPointerCompare(mintid, &lowest) > 0)
		lowest = *mintid;

	if (ItemPointerCompare(&highest, &lowest) < 0)
	{
		zscan_set_limits(scan, 0, 0);
		return;
	}

	first = ItemPointerGetBlockNumberNoCheck(&lowest);
	zscan_set_limits(scan, first,
					 ItemPointerGetBlockNumberNoCheck(&highest) - first + 1);
	((ZScan *) sscan)->mintid = lowest;
	((ZScan *) sscan)->maxtid = highest;
}

bool
zscan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction,
						   TupleTableSlot *slot)
{
	ztuple_slot_check_kind(sscan->rs_rd, slot);
	while (row_advance((ZScan *) sscan, direction, slot))
	{
		/* the first and the last page may have rows outside of the range */
		if (ItemPointerCompare(&slot->tts_tid, &((ZScan *) sscan)->mintid) < 0)
		{
			if (ScanDirectionIsBackward(direction))
				break;
			continue;
		}
		if (ItemPointerCompare(&slot->tts_tid, &((ZScan *) sscan)->maxtid) > 0)
		{
			if (ScanDirectionIsForward(direction))
				break;
			continue;
		}

		pgstat_count_heap_getnext(sscan->rs_rd);
		return true;
	}

	ExecClearTuple(slot);
	return false;
}
