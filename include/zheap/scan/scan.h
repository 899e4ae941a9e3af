/*
 * scan.h
 *		Reading rows: scans of a table, of a bitmap's pages, of a sample, and of
 *		single rows by TID.
 *
 * A scan of pages copies each page once.  Between its calls it holds no lock, and no pins but
 * those of its read stream, and of the page if the statement deletes its rows (page_copy.h); the
 * executor slots that it fills refer to the copy.  A fetch of a single row copies that row while
 * it holds the share lock.  Either way no byte of a shared page is read without the lock.
 *
 * No function here is called with a buffer locked, unless its comment says so, and none returns
 * with one locked.  All that read pages or undo raise ERROR (data_corrupted) if these are damaged.
 * Those that fill a slot raise ERROR (feature_not_supported) if it is not of TTSOpsZheap; the slot
 * then owns what it holds.
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
#include "zheap/mvcc/version.h"
#include "zheap/page/page.h"
#include "zheap/scan/page_copy.h"

/*
 * A row of the current page that the snapshot may see.  If len is set, the snapshot sees it, and
 * its bytes have been checked.  Otherwise that is done when the row is read: the snapshot's answer
 * does not change meanwhile, and a caller that stops early has not paid for it.
 */
typedef struct ZScanRow
{
	OffsetNumber offnum;
	uint16		offset;			/* of the row on the page; undefined if len is 0 */
	uint16		len;			/* in bytes, without padding; 0: not checked yet */
} ZScanRow;

/* Rows of a page that the caller wants, in ascending order. */
typedef struct ZNamedRows
{
	const OffsetNumber *offsets;
	int			n;
} ZNamedRows;

/* The scan descriptor of every kind of page-wise scan. */
typedef struct ZScan
{
	TableScanDescData base;		/* must be first */

	/* range of blocks; the same meaning as in heap's scan descriptor */
	BlockNumber nblocks;		/* size of the relation when the scan started */
	BlockNumber startblock;
	BlockNumber numblocks;		/* blocks from startblock on; InvalidBlockNumber: all */
	bool		inited;			/* the scan has a position */
	BlockNumber block;			/* current block, or InvalidBlockNumber */
	BufferAccessStrategy strategy;
	ParallelBlockTableScanWorkerData *worker;	/* of a parallel scan, or NULL */
	ReadStream *stream;			/* blocks from the current one on; or NULL */
	bool		backward;		/* the stream's direction */
	BlockNumber ahead;			/* last block given to the stream, or InvalidBlockNumber */
	ItemPointerData mintid;		/* of a TID range scan */
	ItemPointerData maxtid;
	uint64		marks;			/* zheap_marks_cleared() before the bitmap was made (N5) */

	/* the current page */
	ZPageView	view;
	ZPageCopy  *copy;			/* the view's copy; NULL if there is no current page */
	ItemPointerData tid;		/* of the current row; the block is set once per page */
	bool		frozen;			/* the owners of all slots are below the horizon */
	uint32		frozen_slots;	/* ANALYZE: bit per slot, set if all snapshots see its owner */
	int			index;			/* current member of "rows" */
	int			nrows;
	bool		has_older;		/* dirty snapshot: the version "dirty" has replaced another one */
	ZRowVersion dirty;			/* ... version of the current row that was stored last */
	ZScanRow	rows[ZPAGE_MAX_OFFSET]; /* ascending by offnum */
} ZScan;

/* ---- the pages that the backend had last (scan_recent.c) ---- */

/*
 * Pin and return the block's buffer, as ReadBuffer does; not locked.  Cheap if the block was one
 * of the last two of its table that were read.
 *
 * zscan_pin_recent does so only then, and otherwise returns InvalidBuffer: it reads nothing and
 * waits for no lock, so another page may be locked.
 */
extern Buffer zscan_read_recent(Relation rel, BlockNumber block);
extern Buffer zscan_pin_recent(Relation rel, BlockNumber block);

/* ---- begin, end (scan_begin.c) ---- */

/*
 * Begin and end the scan's stream.  There is none at zscan_stream_begin; there may be none at
 * zscan_stream_end.  The callback gets the scan as private data.  The stream lives in the scan's
 * memory context, and must end before scan->strategy is freed.
 */
extern void zscan_stream_begin(ZScan *scan, int flags, ReadStreamBlockNumberCB callback,
							   size_t per_buffer_size);
extern void zscan_stream_end(ZScan *scan);

/*
 * scan_begin, scan_rescan and scan_end of the table access method.  zscan_begin opens the undo
 * relation, which may read catalogs; its result is freed by zscan_end.  ERROR
 * (object_not_in_prerequisite_state) if the library is not preloaded, ERROR
 * (feature_not_supported) if an imported snapshot is too old for a temporary table.
 */
extern TableScanDesc zscan_begin(Relation rel, Snapshot snapshot, int nkeys,
								 struct ScanKeyData *key,
								 ParallelTableScanDesc parallel, uint32 flags);
extern void zscan_rescan(TableScanDesc sscan, struct ScanKeyData *key, bool set_params,
						 bool allow_strat, bool allow_sync, bool allow_pagemode);
extern void zscan_end(TableScanDesc sscan);

/*
 * Restrict a scan that has not begun to numblocks blocks from startblock on; InvalidBlockNumber
 * means to the end.
 */
extern void zscan_set_limits(ZScan *scan, BlockNumber startblock, BlockNumber numblocks);

/* ---- one page (scan_page.c) ---- */

/*
 * Return a bit per slot of the view's page (bit 0: rows without a slot), set if the snapshot sees
 * the slot's owner and so all owners before it (mvcc_snapshot.c).  A row that names such a slot is
 * visible unless it is flagged DELETED, and undo need not be read.  Return 0 for other than MVCC
 * snapshots: they also want deleted rows, or an answer per row.
 */
extern uint32 zscan_seen_slots(ZPageView *view, Snapshot snapshot);

/* Drop the current page's copy; no page is current any more. */
extern void zscan_page_forget(ZScan *scan);

/*
 * Copy a page, which the caller has pinned and not locked, into the scan's view, and list its
 * rows; only the named ones, if "named" is not NULL.  Return false, with nrows 0, if the page is
 * new or an overflow page.  Takes and releases the page's share lock.
 */
extern bool zscan_page_read(ZScan *scan, Buffer buffer, const ZNamedRows *named);

/*
 * List the named rows of a page as zscan_page_read does.  If the snapshot sees each of them as it
 * is on the page, copy only these rows; the scan then has no view of the page.  Not for a
 * SERIALIZABLE scan, which reports what it has read.
 */
extern bool zscan_page_read_seen(ZScan *scan, Buffer buffer, const ZNamedRows *named);

/*
 * Report conflicts of a SERIALIZABLE scan with the changes of all rows of the current page that
 * its snapshot does not see: see zmvcc_conflicts_out.  ERROR (serialization_failure) if the
 * transaction must fail.
 */
extern void zscan_page_conflicts(ZScan *scan);

/*
 * Return whether the scan counts as reading all rows of each page that it visits.  Heap's rule: a
 * small sample reads only those that it picks.
 */
static inline bool
zscan_reads_pages(ZScan *scan)
{
	return !(scan->base.rs_flags & SO_TYPE_SAMPLESCAN) ||
		(scan->base.rs_flags & SO_ALLOW_PAGEMODE);
}

/*
 * Put the version of the row that the scan's snapshot sees into the slot.  Return false, with the
 * slot unchanged, if it sees none.
 */
extern bool zscan_row_store(ZScan *scan, const ZScanRow *row, TupleTableSlot *slot);

/*
 * Put the version before scan->dirty into the slot.  A dirty snapshot has just been given a
 * version in progress that has replaced it (scan->has_older); on heap it is a tuple of its own.
 * Return false if there is none.
 */
extern bool zscan_row_store_older(ZScan *scan, TupleTableSlot *slot);

/*
 * Put a version of a row into the slot, without asking a snapshot.  The view's page may be locked.
 */
extern void zscan_version_store(ZPageView *view, const ZRowVersion *version,
								const ItemPointerData *tid, TupleTableSlot *slot);

/*
 * Return whether a page may be unlocked, and a copy of it read, while undo is read.  False if this
 * backend has no snapshot that the server's horizon respects, or is a VACUUM: then a copy may not
 * be compared with our horizon (zundo_horizon).
 */
extern bool zscan_may_leave(void);

/* ---- blocks in order, and rows of them (scan_seq.c) ---- */

/*
 * Read the scan's next page in the given direction, or the first one if it has no position.
 * Return false at the end, with the position reset.
 */
extern bool zscan_block_next(ZScan *scan, bool backward);

/* Return the number of blocks read so far, for progress reports. */
extern BlockNumber zscan_blocks_done(ZScan *scan);

/*
 * scan_getnextslot, scan_set_tidrange and scan_getnextslot_tidrange of the table access method.
 * They return true with the next row in the slot, false with an empty slot at the end.
 */
extern bool zscan_getnextslot(TableScanDesc sscan, ScanDirection direction,
							  TupleTableSlot *slot);
extern void zscan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid);
extern bool zscan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction,
									   TupleTableSlot *slot);

/* ---- pages that others choose (scan_bitmap.c, scan_sample.c, scan_analyze.c) ---- */

/*
 * Read a page that a bitmap names, and list the rows at the offsets, or all rows if "offsets" is
 * NULL.  Set *recheck if one of them may not match.  Return false if there are none to return.
 *
 * zscan_bitmap_row stores the next of them; zscan_bitmap_next_tuple does both (from 18 on).  The
 * sample and ANALYZE functions are callbacks of the table access method of the same names.  They
 * return false when the page, or the scan, has no more.
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

/* ---- rows that an index names (scan_index_begin.c, scan_index.c) ---- */

/*
 * index_fetch_begin, _reset, _end and index_fetch_tuple of the table access method.
 *
 * zscan_index_begin allocates the result in the current context; zscan_index_end frees it, with
 * the pin that it keeps.  zscan_index_fetch returns true with the version that the snapshot sees
 * in the slot.  *all_dead is true if the index entry may be marked as dead.  It may be called by a
 * unique check with a page of the index locked, if the undo relation is open (L2).  Errors as
 * zscan_begin.
 */
extern IndexFetchTableData *zscan_index_begin(Relation rel, uint32 flags);
extern void zscan_index_reset(IndexFetchTableData *sfetch);
extern void zscan_index_end(IndexFetchTableData *sfetch);
extern bool zscan_index_fetch(IndexFetchTableData *sfetch, ItemPointer tid,
							  Snapshot snapshot, TupleTableSlot *slot,
							  bool *call_again, bool *all_dead);

/* ---- single rows by TID (scan_row.c) ---- */

/*
 * Put the version of the row at "tid" that the snapshot sees into the slot; for SnapshotAny, the
 * version that the TID's tag and the query's state mean (tid/).  Return false if there is none.
 */
extern bool zscan_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
									TupleTableSlot *slot);
/* Return whether the TID is valid and names a block that the scan may read. */
extern bool zscan_tid_valid(TableScanDesc sscan, ItemPointer tid);
/*
 * Remove the TID's tag, and set it to the last place to which updates have moved the row and where
 * the scan's snapshot sees a version, if there is one.  A TID with a tag other than a cursor's, or
 * without an offset, stays as it is.
 */
extern void zscan_latest_tid(TableScanDesc sscan, ItemPointer tid);
/*
 * Return whether the snapshot sees the very version in the slot.  ERROR
 * (object_not_in_prerequisite_state) if the slot holds no version of a table's row.
 */
extern bool zscan_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot);

#endif							/* ZHEAP_SCAN_H */
