/*
 * scan_bitmap.c
 *		The table's part of a bitmap scan: rows of the pages that a bitmap names.
 *
 * LOCKING: one page, share, while it or some of its rows are copied; and while reads of a
 * SERIALIZABLE transaction are reported.  Undo under it (L1).
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "zheap/mvcc/serial.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/undo/undo_relation.h"

/* Up to this many named rows are copied without the rest of their page. */
#define FEW_ROWS		16

/*
 * Keep the rows that the snapshot sees, and record the reads.  A lossy scan reads all rows of the
 * page, whether they match or not.
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

/* Lock the page and report the reads.  Return false if it has changed since they were made. */
static bool
report_reads(ZScan *scan, Buffer buffer, const ZSerialReads *reads, ZPageView *before)
{
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
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	zview_close(&live);
	return done;
}

/*
 * Read a page for a SERIALIZABLE transaction.  No predicate lock covers its rows yet, so they must
 * be as they were read when they get theirs; otherwise repeat (see mvcc_serial.c).
 */
static void
read_page_serial(ZScan *scan, Buffer buffer, const ZNamedRows *named)
{
	ZSerialReads reads = {0};
	ZPageView	before;			/* still has the changes of aborted transactions */
	bool		done = false;

	zview_open(&before, scan->base.rs_rd);
	while (!done && zview_read_pinned(&before, buffer) && zscan_page_read(scan, buffer, named))
	{
		keep_visible_rows(scan, named == NULL, &reads);
		done = report_reads(scan, buffer, &reads, &before);
	}
	zserial_end(&reads);
	zview_close(&before);
}

/* List the rows of a bitmap's page that the snapshot may see. */
static void
read_rows(ZScan *scan, Buffer buffer, const ZNamedRows *named)
{
	if (CheckForSerializableConflictOutNeeded(scan->base.rs_rd, scan->base.rs_snapshot))
		read_page_serial(scan, buffer, named);
	else if (named != NULL && named->n <= FEW_ROWS)
		(void) zscan_page_read_seen(scan, buffer, named);
	else
		(void) zscan_page_read(scan, buffer, named);
}

/*
 * Return whether an index may have named one of the rows for a key of another of its versions.
 * The page has been read.
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

/* Read the page in the buffer, and unpin it.  Return false if it has no row to return. */
static bool
bitmap_read(ZScan *scan, Buffer buffer, const ZNamedRows *named, bool *recheck)
{
	scan->index = -1;
	scan->nrows = 0;
	read_rows(scan, buffer, named);
	ReleaseBuffer(buffer);
	if (scan->nrows == 0)
		return false;
	if (!*recheck && is_doubtful(scan))
		*recheck = true;
	return true;
}

/*
 * Return whether to read the block.  Pages added since the scan began hold nothing for the
 * snapshot.  But a SERIALIZABLE transaction has to check their rows for conflicts, as it had no
 * lock in the index when they were added.
 */
static bool
bitmap_wants(const ZScan *scan, BlockNumber block)
{
	return block < scan->nblocks || IsolationIsSerializable();
}

bool
zscan_bitmap_row(TableScanDesc sscan, TupleTableSlot *slot)
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

/* ---- pages that the scan itself takes from the bitmap ---- */

#ifdef ZCOMPAT_BITMAP_STREAMS

/* The stream's callback: the next block of the bitmap. */
static BlockNumber
bitmap_block(ReadStream *stream, void *private, void *per_buffer)
{
	ZScan	   *scan = private;
	TBMIterateResult *page = per_buffer;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tbm_iterate(&scan->base.st.rs_tbmiterator, page))
			return InvalidBlockNumber;
		if (bitmap_wants(scan, page->blockno))
			return page->blockno;
	}
}

/* Read the stream's next page.  Return false if there are no more. */
static bool
stream_page(ZScan *scan, bool *recheck, uint64 *lossy_pages, uint64 *exact_pages)
{
	OffsetNumber offsets[TBM_MAX_TUPLES_PER_PAGE];
	ZNamedRows	named = {offsets, 0};
	TBMIterateResult *page;
	Buffer		buffer;
	void	   *per_buffer;

	if (scan->stream == NULL)
		zscan_stream_begin(scan, READ_STREAM_DEFAULT | READ_STREAM_USE_BATCHING, bitmap_block,
						   sizeof(TBMIterateResult));
	buffer = read_stream_next_buffer(scan->stream, &per_buffer);
	if (!BufferIsValid(buffer))
		return false;
	page = per_buffer;
	if (!page->lossy)
		named.n = tbm_extract_page_tuple(page, offsets, TBM_MAX_TUPLES_PER_PAGE);
	*recheck = page->recheck;
	(*(page->lossy ? lossy_pages : exact_pages))++;
	(void) bitmap_read(scan, buffer, page->lossy ? NULL : &named, recheck);
	return true;
}

bool
zscan_bitmap_next_tuple(TableScanDesc sscan, TupleTableSlot *slot, bool *recheck,
						uint64 *lossy_pages, uint64 *exact_pages)
{
	while (!zscan_bitmap_row(sscan, slot))
	{
		if (!stream_page((ZScan *) sscan, recheck, lossy_pages, exact_pages))
			return false;
	}
	return true;
}

#else

bool
zscan_bitmap_page(TableScanDesc sscan, BlockNumber block, const OffsetNumber *offsets,
				  int noffsets, bool *recheck)
{
	ZScan	   *scan = (ZScan *) sscan;
	ZNamedRows	named = {offsets, noffsets};
	Buffer		buffer;

	scan->nrows = 0;
	if (!bitmap_wants(scan, block))
		return false;
	buffer = ReadBufferExtended(sscan->rs_rd, MAIN_FORKNUM, block, RBM_NORMAL, scan->strategy);
	return bitmap_read(scan, buffer, offsets != NULL ? &named : NULL, recheck);
}

#endif
