/*
 * pg_compat_am.h
 *		Callbacks of a table access method.  Those of zheap have the newest server's parameters;
 *		the macros here define the functions that older servers call instead.
 *
 * ZCOMPAT_x(f), before a TableAmRoutine, defines the function that an older server calls, if one
 * is needed; zcompat_x(f), as the member of the routine, is that function.
 */
#ifndef ZHEAP_PG_COMPAT_AM_H
#define ZHEAP_PG_COMPAT_AM_H

#include "access/relscan.h"
#include "access/tableam.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"

#include "zheap/base/pg_compat.h"
#include "zheap/base/pg_compat_stream.h"

/* ---- 16: an update tells which indexes need entries; before, whether any does ---- */

#if PG_VERSION_NUM < 160000
typedef enum TU_UpdateIndexes
{
	TU_None,
	TU_All,
	TU_Summarizing
} TU_UpdateIndexes;
typedef bool ZCompatUpdateIndexes;
#else
typedef TU_UpdateIndexes ZCompatUpdateIndexes;
#endif

/* ---- 19: options are unsigned, and more callbacks have them ---- */

#if PG_VERSION_NUM >= 190000
typedef uint32 ZCompatOptions;

#define ZCOMPAT_INDEX_FETCH_BEGIN(f)
#define zcompat_index_fetch_begin(f) f
#define ZCOMPAT_DELETE(f)
#define zcompat_delete(f) f
#define ZCOMPAT_UPDATE(f)
#define zcompat_update(f) f
#define ZCOMPAT_COPY_FOR_CLUSTER(f)
#define zcompat_copy_for_cluster(f) f
#define ZCOMPAT_ANALYZE_TUPLE(f)
#define zcompat_analyze_tuple(f) f

#else
typedef int ZCompatOptions;

#define TABLE_DELETE_CHANGING_PARTITION		(1 << 0)
#define TABLE_DELETE_NO_LOGICAL				(1 << 1)
#define TABLE_UPDATE_NO_LOGICAL				(1 << 0)

#define ZCOMPAT_INDEX_FETCH_BEGIN(f) \
static IndexFetchTableData * \
f##_compat(Relation rel) \
{ \
	return f(rel, SO_NONE); \
}
#define zcompat_index_fetch_begin(f) f##_compat

#define ZCOMPAT_DELETE(f) \
static TM_Result \
f##_compat(Relation rel, ItemPointer tid, CommandId cid, Snapshot snapshot, Snapshot crosscheck, \
		   bool wait, TM_FailureData *tmfd, bool changing_part) \
{ \
	return f(rel, tid, cid, changing_part ? TABLE_DELETE_CHANGING_PARTITION : 0, snapshot, \
			 crosscheck, wait, tmfd); \
}
#define zcompat_delete(f) f##_compat

#define ZCOMPAT_UPDATE(f) \
static TM_Result \
f##_compat(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid, \
		   Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *tmfd, \
		   LockTupleMode *lockmode, ZCompatUpdateIndexes *update_indexes) \
{ \
	TU_UpdateIndexes indexes = TU_None; \
	TM_Result	result = f(rel, otid, slot, cid, 0, snapshot, crosscheck, wait, tmfd, lockmode, \
						   &indexes); \
\
	*update_indexes = (ZCompatUpdateIndexes) indexes; \
	return result; \
}
#define zcompat_update(f) f##_compat

#define ZCOMPAT_COPY_FOR_CLUSTER(f) \
static void \
f##_compat(Relation from, Relation to, Relation index, bool use_sort, TransactionId oldest_xmin, \
		   TransactionId *xid_cutoff, MultiXactId *multi_cutoff, double *num_tuples, \
		   double *tups_vacuumed, double *tups_recently_dead) \
{ \
	f(from, to, index, use_sort, oldest_xmin, NULL, xid_cutoff, multi_cutoff, num_tuples, \
	  tups_vacuumed, tups_recently_dead); \
}
#define zcompat_copy_for_cluster(f) f##_compat

#define ZCOMPAT_ANALYZE_TUPLE(f) \
static bool \
f##_compat(TableScanDesc scan, TransactionId oldest_xmin, double *liverows, double *deadrows, \
		   TupleTableSlot *slot) \
{ \
	return f(scan, liverows, deadrows, slot); \
}
#define zcompat_analyze_tuple(f) f##_compat

#endif

/* ---- 19: the blocks of a parallel scan may be limited ---- */

#if PG_VERSION_NUM < 190000
#define table_block_parallelscan_startblock_init(rel, worker, shared, start, nblocks) \
	((void) (start), (void) (nblocks), \
	 table_block_parallelscan_startblock_init(rel, worker, shared))
#endif

/* ---- 17: ANALYZE's blocks come from a stream of buffers ---- */

#if PG_VERSION_NUM >= 170000
#define ZCOMPAT_ANALYZE_BLOCK(f)
#define zcompat_analyze_block(f) f
#else
#define ZCOMPAT_ANALYZE_BLOCK(f) \
static bool \
f##_compat(TableScanDesc scan, BlockNumber block, BufferAccessStrategy strategy) \
{ \
	ReadStream	stream = {.rel = scan->rs_rd,.strategy = strategy, \
		.callback = zstream_single_block,.private = &block}; \
\
	return f(scan, &stream); \
}
#define zcompat_analyze_block(f) f##_compat
#endif

/* ---- 18: a bitmap scan takes its pages from the bitmap by itself ---- */

/*
 * page(scan, block, offsets, noffsets, *recheck) reads a page; if offsets is NULL, all its rows.
 * row(scan, slot) stores the next of its rows.  next is the newest callback, which uses these two.
 */
#if PG_VERSION_NUM >= 180000
#define ZCOMPAT_BITMAP(page, row, next)
#define zcompat_bitmap(page, row, next) \
	.scan_bitmap_next_tuple = next
#else
#define ZCOMPAT_BITMAP(page, row, next) \
static bool \
page##_compat(TableScanDesc scan, TBMIterateResult *tbmres) \
{ \
	return page(scan, tbmres->blockno, tbmres->ntuples < 0 ? NULL : tbmres->offsets, \
				tbmres->ntuples, &tbmres->recheck); \
} \
\
static bool \
row##_compat(TableScanDesc scan, TBMIterateResult *tbmres, TupleTableSlot *slot) \
{ \
	return row(scan, slot); \
}
#define zcompat_bitmap(page, row, next) \
	.scan_bitmap_next_block = page##_compat, \
	.scan_bitmap_next_tuple = row##_compat
#endif

#endif							/* ZHEAP_PG_COMPAT_AM_H */
