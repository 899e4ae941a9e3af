/*
 * scan_bitmap.c
 *		The heap half of a bitmap scan: rows of the pages that a bitmap names.
 */
#include "postgres.h"

#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "zheap/scan/scan.h"

/*
 * Keep those rows of the page just read that the bitmap names.  The offsets
 * come in ascending order, as do ours.
 */
static void
keep_named_rows(ZScan *scan, const TBMIterateResult *tbmres)
{
	int			kept = 0;
	int			row = 0;
	int			i;

	for (i = 0; i < tbmres->ntuples && row < scan->nrows; i++)
	{
		Assert(i == 0 || tbmres->offsets[i - 1] < tbmres->offsets[i]);

		while (row < scan->nrows && scan->rows[row] < tbmres->offsets[i])
			row++;
		if (row < scan->nrows && scan->rows[row] == tbmres->offsets[i])
			scan->rows[kept++] = scan->rows[row++];
	}
	scan->nrows = kept;
}

/*
 * Keep the rows that the snapshot sees, and lock their TIDs.  The page is locked.
 * A lossy scan reads all rows of the page, whether they match or not.
 */
static void
keep_visible_rows(ZScan *scan, bool lossy)
{
	Snapshot	snapshot = scan->base.rs_snapshot;
	int			kept = 0;
	int			i;

	for (i = 0; i < scan->nrows; i++)
	{
		OffsetNumber offnum = scan->rows[i];
		ZRowVersion	version;

		if (lossy)
			zmvcc_conflicts_out(&scan->view, offnum, snapshot);
		if (zmvcc_fetch_serial(&scan->view, offnum, snapshot, &version))
			scan->rows[kept++] = offnum;
	}
	scan->nrows = kept;
}

/*
 * The rows of a page, for a transaction that takes part in serializable snapshot
 * isolation: no lock covers them yet, so the page stays locked until they have
 * theirs (see mvcc_serial.c).
 */
static bool
next_block_serial(ZScan *scan, const TBMIterateResult *tbmres)
{
	bool		lossy = tbmres->ntuples < 0;
	Buffer		buffer;

	if (!zscan_page_read_locked(scan, tbmres->blockno, &buffer))
		return false;
	if (!lossy)
		keep_named_rows(scan, tbmres);
	keep_visible_rows(scan, lossy);
	UnlockReleaseBuffer(buffer);
	return scan->nrows > 0;
}

bool
zscan_bitmap_next_block(TableScanDesc sscan, TBMIterateResult *tbmres)
{
	ZScan	   *scan = (ZScan *) sscan;

	scan->index = -1;
	scan->nrows = 0;

	/* pages added since the scan began hold nothing for our snapshot */
	if (tbmres->blockno >= scan->nblocks)
		return false;
	if (CheckForSerializableConflictOutNeeded(sscan->rs_rd, sscan->rs_snapshot))
		return next_block_serial(scan, tbmres);
	if (!zscan_page_read(scan, tbmres->blockno))
		return false;

	/* a lossy entry (ntuples < 0) stands for every row of the page */
	if (tbmres->ntuples >= 0)
		keep_named_rows(scan, tbmres);

	return scan->nrows > 0;
}

bool
zscan_bitmap_next_tuple(TableScanDesc sscan, TBMIterateResult *tbmres,
						TupleTableSlot *slot)
{
	ZScan	   *scan = (ZScan *) sscan;

	while (scan->index + 1 < scan->nrows)
	{
		if (!zscan_row_store(scan, scan->rows[++scan->index], slot))
			continue;
		pgstat_count_heap_fetch(sscan->rs_rd);
		return true;
	}
	return false;
}
