/*
 * scan_bitmap.c
 *		The heap half of a bitmap scan: rows of the pages that a bitmap names.
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/undo/undo.h"

/* The page is not copied as a whole for so many of its rows. */
#define FEW_ROWS		16

/*
 * Keep the rows that the snapshot sees.  A lossy scan reads all rows of the page, whether
 * they match or not.
 */
static void
keep_visible_rows(ZScan *scan, bool lossy, ZSerialReads *reads)
{
	int			kept = 0;
	int			i;

	zserial_begin(reads);
	for (i = 0; i < scan->nrows; i++)
	{
		ZScanRow	row = scan->rows[i];
		ZRowVersion	version;

		if (zserial_read(reads, &scan->view, row.offnum, scan->base.rs_snapshot, lossy, &version))
			scan->rows[kept++] = row;
	}
	scan->nrows = kept;
}

/* Lock the page and report what has been read of it; false: it has changed. */
static bool
report_reads(ZScan *scan, const ZSerialReads *reads, ZPageView *before)
{
	Buffer		buffer = ReadBuffer(scan->base.rs_rd, scan->block);
	Buffer		overflow_buf;
	ZPageView	live;
	bool		done = false;

	zview_open(&live, scan->base.rs_rd);
	zundo_open();
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (zview_attach(&live, buffer, BUFFER_LOCK_SHARE, &overflow_buf))
	{
		done = zserial_report(reads, before, &live, scan->base.rs_snapshot);
		zview_detach(&live, &overflow_buf);
	}
	UnlockReleaseBuffer(buffer);
	zview_close(&live);
	return done;
}

/*
 * The rows of a page, for a transaction that takes part in serializable snapshot
 * isolation: no lock covers them yet, so they must be as they were read when they get
 * theirs (see mvcc_serial.c).
 */
static void
read_block_serial(ZScan *scan, BlockNumber block, const ZNamedRows *named)
{
	ZSerialReads reads = {0};
	ZPageView	before;			/* what aborted transactions did is still in it */
	bool		done = false;

	zview_open(&before, scan->base.rs_rd);
	while (!done && zview_read(&before, block, NULL) && zscan_page_read(scan, block, named))
	{
		keep_visible_rows(scan, named == NULL, &reads);
		done = report_reads(scan, &reads, &before);
	}
	zserial_end(&reads);
	zview_close(&before);
}

/* What the snapshot may see of a page that the bitmap names. */
static void
read_block(ZScan *scan, const TBMIterateResult *tbmres)
{
	ZNamedRows	offsets = {tbmres->offsets, tbmres->ntuples};
	/* a lossy entry stands for all rows of the page */
	ZNamedRows *named = tbmres->ntuples < 0 ? NULL : &offsets;

	if (CheckForSerializableConflictOutNeeded(scan->base.rs_rd, scan->base.rs_snapshot))
		read_block_serial(scan, tbmres->blockno, named);
	else if (named != NULL && named->n <= FEW_ROWS)
		(void) zscan_page_read_seen(scan, tbmres->blockno, named);
	else
		(void) zscan_page_read(scan, tbmres->blockno, named);
}

/*
 * Is there a row that an index may have named for a key of another of its versions?  The page has
 * been read.
 */
static bool
is_doubtful(const ZScan *scan)
{
	if (scan->marks != zheap_marks_cleared())
		return true;			/* N5 */
	for (int i = 0; i < scan->nrows; i++)
	{
		const ZScanRow *row = &scan->rows[i];

		if (row->len == 0 || zrow_has_several_keys(scan->copy->page.data + row->offset))
			return true;
	}
	return false;
}

bool
zscan_bitmap_next_block(TableScanDesc sscan, TBMIterateResult *tbmres)
{
	ZScan	   *scan = (ZScan *) sscan;

	scan->index = -1;
	scan->nrows = 0;

	/*
	 * Pages added since the scan began hold nothing for our snapshot.  A SERIALIZABLE transaction
	 * has to hear of their rows, for it had no lock in the index when they were added.
	 */
	if (tbmres->blockno >= scan->nblocks && !IsolationIsSerializable())
		return false;
	read_block(scan, tbmres);
	if (scan->nrows == 0)
		return false;
	if (!tbmres->recheck && is_doubtful(scan))
		tbmres->recheck = true;
	return true;
}

bool
zscan_bitmap_next_tuple(TableScanDesc sscan, TBMIterateResult *tbmres,
						TupleTableSlot *slot)
{
	ZScan	   *scan = (ZScan *) sscan;

	ztuple_slot_check_kind(sscan->rs_rd, slot);
	while (scan->index + 1 < scan->nrows)
	{
		if (!zscan_row_store(scan, &scan->rows[++scan->index], slot))
			continue;
		pgstat_count_heap_fetch(sscan->rs_rd);
		return true;
	}
	return false;
}
