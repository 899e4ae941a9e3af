/*
 * scan_sample.c
 *		TABLESAMPLE: blocks and rows as the sampling method picks them.
 *
 * LOCKING: a page, share, while it is copied.
 */
#include "postgres.h"

#include "access/tsmapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"

#include "zheap/mvcc/serial.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"

bool
zscan_sample_next_block(TableScanDesc sscan, SampleScanState *state)
{
	ZScan	   *scan = (ZScan *) sscan;
	TsmRoutine *tsm = state->tsmroutine;
	BlockNumber block;
	Buffer		buffer;

	if (scan->nblocks == 0)
		return false;

	/* a method that does not choose blocks gets them all in order */
	if (tsm->NextSampleBlock == NULL)
		return zscan_block_next(scan, false);

	block = tsm->NextSampleBlock(state, scan->nblocks);
	if (!BlockNumberIsValid(block))
	{
		scan->inited = false;
		scan->block = InvalidBlockNumber;
		zscan_page_forget(scan);
		return false;
	}
	scan->inited = true;
	buffer = ReadBufferExtended(sscan->rs_rd, MAIN_FORKNUM, block, RBM_NORMAL, scan->strategy);
	if (zscan_page_read(scan, buffer, NULL))
		zcompat_check_snapshot_age(scan->base.rs_snapshot, scan->base.rs_rd, scan->view.page);
	ReleaseBuffer(buffer);
	if (zscan_reads_pages(scan))
		zscan_page_conflicts(scan);
	return true;
}

/* Return the row in the scan's list, which is sorted; NULL if the snapshot cannot see it. */
static const ZScanRow *
find_candidate(ZScan *scan, OffsetNumber offnum)
{
	int			low = 0;
	int			high = scan->nrows - 1;

	while (low <= high)
	{
		int			mid = (low + high) / 2;

		if (scan->rows[mid].offnum == offnum)
			return &scan->rows[mid];
		if (scan->rows[mid].offnum < offnum)
			low = mid + 1;
		else
			high = mid - 1;
	}
	return NULL;
}

bool
zscan_sample_next_tuple(TableScanDesc sscan, SampleScanState *state, TupleTableSlot *slot)
{
	ZScan	   *scan = (ZScan *) sscan;
	TsmRoutine *tsm = state->tsmroutine;
	OffsetNumber maxoff = 0;

	ztuple_slot_check_kind(sscan->rs_rd, slot);
	/* call the method even for a page without rows, as it counts pages */
	if (scan->nrows > 0)
		maxoff = PageGetMaxOffsetNumber(scan->view.page);

	for (;;)
	{
		OffsetNumber offnum;
		const ZScanRow *row;

		CHECK_FOR_INTERRUPTS();

		offnum = tsm->NextSampleTuple(state, scan->block, maxoff);
		if (!OffsetNumberIsValid(offnum))
			break;
		row = find_candidate(scan, offnum);
		if (row == NULL)
			continue;
		if (!zscan_reads_pages(scan) && !scan->frozen)
			zmvcc_conflicts_out(&scan->view, offnum, sscan->rs_snapshot);
		if (!zscan_row_store(scan, row, slot))
			continue;

		pgstat_count_heap_getnext(sscan->rs_rd);
		return true;
	}

	ExecClearTuple(slot);
	return false;
}
