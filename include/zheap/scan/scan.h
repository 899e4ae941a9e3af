/*
 * scan.h
 *		Reading rows: scans of a table, of a bitmap's pages, of a sample, and of
 *		single rows by TID.
 *
 * A scan of pages copies each page once.  Between its calls it holds no lock, and no pins but
 * those of its read stream; the slots that it fills refer to the copy.  A fetch of a single row
 * copies that row while it holds the share lock.  Either way no byte of a shared page is read
 * without the lock.
 */
#ifndef ZHEAP_SCAN_H
#define ZHEAP_SCAN_H

#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"

#include "zheap/base/pg_compat_stream.h"
#include "zheap/mvcc/mvcc.h"
#include "zheap/page/page.h"
#include "zheap/scan/page_copy.h"

/*
 * A row of the current page that the snapshot may see.  With a length it is there, and its
 * bytes have been checked.  Otherwise that is done when its turn comes: a snapshot's
 * answer does not change meanwhile, and a caller that stops early has not paid for it.
 */
typedef struct ZScanRow
{
	OffsetNumber offnum;
	uint16		offset;			/* on the page; meaningless without a length */
	uint16		len;			/* without padding; or 0 */
} ZScanRow;

/* Rows of a page that are asked for, in ascending order. */
typedef struct ZNamedRows
{
	const OffsetNumber *offsets;
	int			n;
} ZNamedRows;

/* The scan descriptor of every kind of page-wise scan. */
typedef struct ZScan
{
	TableScanDescData base;		/* must be first */

	/* which blocks; the same meaning as in heap's scan descriptor */
	BlockNumber nblocks;		/* size of the relation when the scan started */
	BlockNumber startblock;
	BlockNumber numblocks;		/* blocks from there on, or InvalidBlockNumber: all */
	bool		inited;			/* has the scan got a position? */
	BlockNumber block;			/* current block, or InvalidBlockNumber */
	BufferAccessStrategy strategy;
	ParallelBlockTableScanWorkerData *worker;	/* of a parallel scan, or NULL */
	ReadStream *stream;			/* of the blocks from the current one on; or NULL */
	bool		backward;		/* the stream's direction */
	BlockNumber ahead;			/* the last one given to the stream, or InvalidBlockNumber */
	ItemPointerData mintid;		/* of a TID range scan */
	ItemPointerData maxtid;
	uint64		marks;			/* zheap_marks_cleared before a bitmap was made (N5) */

	/* the current page */
	ZPageView	view;
	ZPageCopy  *copy;			/* the view's, or NULL: there is no page */
	ItemPointerData tid;		/* of the row in hand; the block is set once */
	bool		frozen;			/* every slot is below the horizon */
	uint32		frozen_slots;	/* ANALYZE: bit per slot whose owner all see */
	int			index;			/* current member of "rows" */
	int			nrows;
	bool		has_older;		/* dirty snapshot: "dirty" has replaced another version */
	ZRowVersion dirty;			/* ... of the current row; the last that was stored */
	ZScanRow	rows[ZPAGE_MAX_OFFSET]; /* in the order of offnum */
} ZScan;

/* ---- the page that the backend had last (scan_recent.c) ---- */

/* As ReadBuffer: pinned.  Cheap if it is the page that was read or noted last. */
extern Buffer zscan_read_recent(Relation rel, BlockNumber block);

/* The block is pinned in this buffer: it is likely to be asked for next. */
extern void zscan_note_recent(Relation rel, BlockNumber block, Buffer buffer);

/* ---- begin, end (scan_begin.c) ---- */

/*
 * Begin the scan's stream, which must have none.  The callback gets the scan as private data.  The
 * stream lives in the scan's memory context, and must end before scan->strategy is freed.
 */
extern void zscan_stream_begin(ZScan *scan, int flags, ReadStreamBlockNumberCB callback,
							   size_t per_buffer_size);
extern void zscan_stream_end(ZScan *scan);

extern TableScanDesc zscan_begin(Relation rel, Snapshot snapshot, int nkeys,
								 struct ScanKeyData *key,
								 ParallelTableScanDesc parallel, uint32 flags);
extern void zscan_rescan(TableScanDesc sscan, struct ScanKeyData *key, bool set_params,
						 bool allow_strat, bool allow_sync, bool allow_pagemode);
extern void zscan_end(TableScanDesc sscan);

/*
 * Restrict a scan that has not begun to numblocks (InvalidBlockNumber: to the
 * end) blocks from startblock on.
 */
extern void zscan_set_limits(ZScan *scan, BlockNumber startblock, BlockNumber numblocks);

/* ---- one page (scan_page.c) ---- */

/*
 * Of a page in a view: bit per slot (0: none), set if the snapshot sees its owner and so all
 * owners before it (mvcc_snapshot.c).  Then a row that names the slot is there unless it
 * says DELETED, and undo need not be looked at.  No slot for other kinds of snapshot than
 * MVCC: they also ask for deleted rows, or want an answer per row.
 */
extern uint32 zscan_seen_slots(ZPageView *view, Snapshot snapshot);

/* No page is current any more. */
extern void zscan_page_forget(ZScan *scan);

/*
 * Copy a pinned page into the scan's view and list its rows, or those that are named.  False if
 * the page has none (new, or an overflow page); then nrows is 0.
 */
extern bool zscan_page_read(ZScan *scan, Buffer buffer, const ZNamedRows *named);

/*
 * The same for named rows, of which only they are copied if the snapshot sees them as they
 * are on the page: there is no view of the page then.  Not for a SERIALIZABLE scan, which
 * reports what it has read.
 */
extern bool zscan_page_read_seen(ZScan *scan, Buffer buffer, const ZNamedRows *named);

/* A SERIALIZABLE scan passes by all rows of its page: see zmvcc_conflicts_out. */
extern void zscan_page_conflicts(ZScan *scan);

/*
 * Does the scan count as reading all rows of a page it comes to?  Heap's rule: a
 * small sample reads those it picks.
 */
static inline bool
zscan_reads_pages(ZScan *scan)
{
	return !(scan->base.rs_flags & SO_TYPE_SAMPLESCAN) ||
		(scan->base.rs_flags & SO_ALLOW_PAGEMODE);
}

/*
 * Put the version of the row that the scan's snapshot sees into the slot; false, with the
 * slot unchanged, if it sees none.
 */
extern bool zscan_row_store(ZScan *scan, const ZScanRow *row, TupleTableSlot *slot);

/*
 * A dirty snapshot was just given a version in progress that has replaced another one
 * (scan->has_older): the version before it, which on heap is a tuple of its own.
 */
extern bool zscan_row_store_older(ZScan *scan, TupleTableSlot *slot);

/* Put a version of a row into the slot, whatever any snapshot says of it. */
extern void zscan_version_store(ZPageView *view, const ZRowVersion *version,
								const ItemPointerData *tid, TupleTableSlot *slot);

/* Is offnum a row (not an unused or dead line pointer) of the view's page? */
static inline bool
zscan_is_row(ZPageView *view, OffsetNumber offnum)
{
	return offnum >= FirstOffsetNumber &&
		offnum <= PageGetMaxOffsetNumber(view->page) &&
		ItemIdIsNormal(PageGetItemId(view->page, offnum));
}

/*
 * May a page be unlocked, and its copy be looked at, while undo is read?  Without a
 * snapshot that the server's horizon respects a copy may not be compared with ours
 * (zundo_horizon).
 */
extern bool zscan_may_leave(void);

/* ---- blocks in order, and rows of them (scan_seq.c) ---- */

/*
 * Read the scan's next page in the given direction; the first if it has no
 * position yet.  False at the end, and the scan is back where it began.
 */
extern bool zscan_block_next(ZScan *scan, bool backward);

/* Blocks done so far, for progress reports. */
extern BlockNumber zscan_blocks_done(ZScan *scan);

extern bool zscan_getnextslot(TableScanDesc sscan, ScanDirection direction,
							  TupleTableSlot *slot);
extern void zscan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid);
extern bool zscan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction,
									   TupleTableSlot *slot);

/* ---- pages that others choose (scan_bitmap.c, scan_sample.c, scan_analyze.c) ---- */

/*
 * Read a page that a bitmap names, and list the rows at the offsets, or all rows if "offsets" is
 * NULL.  Sets *recheck where a row may not match.  Returns false if no row is wanted.
 */
extern bool zscan_bitmap_page(TableScanDesc sscan, BlockNumber block, const OffsetNumber *offsets,
							  int noffsets, bool *recheck);
extern bool zscan_bitmap_row(TableScanDesc sscan, TupleTableSlot *slot);
extern bool zscan_bitmap_next_tuple(TableScanDesc sscan, TupleTableSlot *slot, bool *recheck,
									uint64 *lossy_pages, uint64 *exact_pages);
extern bool zscan_sample_next_block(TableScanDesc sscan, struct SampleScanState *state);
extern bool zscan_sample_next_tuple(TableScanDesc sscan, struct SampleScanState *state,
									TupleTableSlot *slot);
extern bool zscan_analyze_next_block(TableScanDesc sscan, ReadStream *stream);
extern bool zscan_analyze_next_tuple(TableScanDesc sscan, double *liverows, double *deadrows,
									 TupleTableSlot *slot);

/* ---- rows that an index names (scan_index.c) ---- */

extern IndexFetchTableData *zscan_index_begin(Relation rel, uint32 flags);
extern void zscan_index_reset(IndexFetchTableData *sfetch);
extern void zscan_index_end(IndexFetchTableData *sfetch);
extern bool zscan_index_fetch(IndexFetchTableData *sfetch, ItemPointer tid,
							  Snapshot snapshot, TupleTableSlot *slot,
							  bool *call_again, bool *all_dead);

/* ---- single rows by TID (scan_row.c) ---- */

extern bool zscan_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
									TupleTableSlot *slot);
extern bool zscan_tid_valid(TableScanDesc sscan, ItemPointer tid);
extern void zscan_latest_tid(TableScanDesc sscan, ItemPointer tid);
extern bool zscan_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot);

#endif							/* ZHEAP_SCAN_H */
