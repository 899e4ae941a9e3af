/*
 * scan_seq.c
 *		Blocks one after the other, and the rows on them: sequential scans,
 *		serial and parallel, and scans of a range of TIDs.
 *
 * The order of blocks is heap's in every detail (start in the middle, wrap
 * around, backward, reports to synchronized scans), since results without ORDER
 * BY and the company of other scans depend on it.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/skey.h"
#include "access/syncscan.h"
#include "fmgr.h"
#include "pgstat.h"

#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"

static BlockNumber
block_first(ZScan *scan, bool backward)
{
	if (scan->nblocks == 0 || scan->numblocks == 0)
		return InvalidBlockNumber;

	if (scan->base.rs_parallel != NULL)
	{
		ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->base.rs_parallel;

		Assert(!backward);
		table_block_parallelscan_startblock_init(scan->base.rs_rd, scan->worker, shared);
		return table_block_parallelscan_nextpage(scan->base.rs_rd, scan->worker, shared);
	}
	if (!backward)
		return scan->startblock;

	/* nobody else is likely to go backward: do not confuse those in company */
	scan->base.rs_flags &= ~SO_ALLOW_SYNC;

	if (scan->numblocks != InvalidBlockNumber)
		return (scan->startblock + scan->numblocks - 1) % scan->nblocks;
	if (scan->startblock > 0)
		return scan->startblock - 1;
	return scan->nblocks - 1;
}

/* Count one block of a limited scan; true when it was the last. */
static bool
limit_reached(ZScan *scan)
{
	return scan->numblocks != InvalidBlockNumber && --scan->numblocks == 0;
}

static BlockNumber
block_following(ZScan *scan, bool backward)
{
	BlockNumber block = scan->block;

	if (scan->base.rs_parallel != NULL)
	{
		ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->base.rs_parallel;

		Assert(!backward);
		return table_block_parallelscan_nextpage(scan->base.rs_rd, scan->worker, shared);
	}

	if (backward)
	{
		if (block == scan->startblock || limit_reached(scan))
			return InvalidBlockNumber;
		return block == 0 ? scan->nblocks - 1 : block - 1;
	}

	if (++block >= scan->nblocks)
		block = 0;

	/*
	 * Reported before the test for the end, so that a finished scan leaves its
	 * starting point behind and the next one starts there again.
	 */
	if (scan->base.rs_flags & SO_ALLOW_SYNC)
		ss_report_location(scan->base.rs_rd, block);

	if (block == scan->startblock || limit_reached(scan))
		return InvalidBlockNumber;
	return block;
}

/* So many blocks the scan will read after the current one, one after the other. */
static BlockNumber
blocks_after(const ZScan *scan, bool backward)
{
	BlockNumber past;

	if (scan->base.rs_parallel != NULL)
		return scan->worker->phsw_chunk_remaining;
	if (scan->numblocks != InvalidBlockNumber)
		return scan->numblocks - 1;
	past = (scan->block + scan->nblocks - scan->startblock) % scan->nblocks;
	return backward ? past : scan->nblocks - 1 - past;
}

/*
 * Ask for blocks after the current one, which has been read.  Not where the kernel reads ahead by
 * itself: one process that reads block after block, forward.
 */
static void
ask_for_blocks_after(ZScan *scan, bool backward)
{
	BlockNumber after;

	if (!backward && scan->base.rs_parallel == NULL)
		return;
	after = blocks_after(scan, backward);
	if (scan->backward != backward)
		zprefetch_turn(&scan->prefetch);
	scan->backward = backward;
	while (zprefetch_wants(&scan->prefetch) && (BlockNumber) scan->prefetch.ahead < after)
	{
		uint64		step = scan->prefetch.ahead + 1;
		uint64		block = (uint64) scan->block + (backward ? scan->nblocks - step : step);

		zprefetch_ask(&scan->prefetch, scan->base.rs_rd, block % scan->nblocks);
	}
}

bool
zscan_block_next(ZScan *scan, bool backward)
{
	int64		misses = zprefetch_misses();
	BlockNumber block;

	if (scan->inited)
		block = block_following(scan, backward);
	else
		block = block_first(scan, backward);

	if (!BlockNumberIsValid(block))
	{
		scan->inited = false;
		scan->block = InvalidBlockNumber;
		zscan_page_forget(scan);
		return false;
	}

	scan->inited = true;
	if (zscan_page_read(scan, block, NULL))
		zcompat_check_snapshot_age(scan->base.rs_snapshot, scan->base.rs_rd, scan->view.page);
	zprefetch_note_read(&scan->prefetch, scan->base.rs_rd, misses);
	if (unlikely(scan->prefetch.distance > 0))
		ask_for_blocks_after(scan, backward);
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

/* Scan keys are rare (the executor tests its quals itself), so no special path. */
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

/* The next row in the given direction into the slot; false at the end. */
static bool
row_advance(ZScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	bool		backward = ScanDirectionIsBackward(direction);

	if (direction == NoMovementScanDirection)
		return scan->inited && scan->index >= 0 && scan->index < scan->nrows &&
			zscan_row_store(scan, &scan->rows[scan->index], slot);

	/* without a position, this puts us just before the first page's rows */
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
			/* or the copy of the page would have to be kept for it */
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

static pg_noinline bool
getnextslot_anyhow(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	ztuple_slot_check_kind(sscan->rs_rd, slot);
	if (!row_advance((ZScan *) sscan, direction, slot))
	{
		ExecClearTuple(slot);
		return false;
	}

	pgstat_count_heap_getnext(sscan->rs_rd);
	return true;
}

/*
 * The inner loop of sequential scans: the page in hand has a next row that needs no look, and the
 * slot refers to the one before.  A slot of another kind has something else than our copy in that
 * place.
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

	/* no pages, no rows outside of the range */
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
	sscan->rs_mintid = lowest;
	sscan->rs_maxtid = highest;
}

bool
zscan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction,
						   TupleTableSlot *slot)
{
	ztuple_slot_check_kind(sscan->rs_rd, slot);
	while (row_advance((ZScan *) sscan, direction, slot))
	{
		/* the first and the last page may hold rows outside of the range */
		if (ItemPointerCompare(&slot->tts_tid, &sscan->rs_mintid) < 0)
		{
			if (ScanDirectionIsBackward(direction))
				break;
			continue;
		}
		if (ItemPointerCompare(&slot->tts_tid, &sscan->rs_maxtid) > 0)
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
