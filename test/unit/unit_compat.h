/*
 * unit_compat.h
 *		Differences between the supported servers that only tests need: they, too, use the API of
 *		the newest server.
 *
 * The only file of the tests that looks at PG_VERSION_NUM.
 */
#ifndef ZHEAP_UNIT_COMPAT_H
#define ZHEAP_UNIT_COMPAT_H

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"

#include "zheap/base/pg_compat_am.h"
#include "zheap/base/pg_compat_executor.h"
#include "zheap/base/pg_compat_stream.h"

/* ---- 19: scans and updates have options; ANALYZE passes no horizon ---- */

#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) 0)
#define table_beginscan(rel, snapshot, nkeys, key, flags) \
	table_beginscan(rel, snapshot, nkeys, key)
#define table_beginscan_tidrange(rel, snapshot, min, max, flags) \
	table_beginscan_tidrange(rel, snapshot, min, max)
#define table_beginscan_sampling(rel, snapshot, nkeys, key, strat, sync, pagemode, flags) \
	table_beginscan_sampling(rel, snapshot, nkeys, key, strat, sync, pagemode)
#define table_index_fetch_begin(rel, flags) table_index_fetch_begin(rel)
#define table_scan_analyze_next_tuple(scan, live, dead, slot) \
	table_scan_analyze_next_tuple(scan, GetOldestNonRemovableTransactionId((scan)->rs_rd), live, \
								  dead, slot)

static inline TM_Result
unit_tuple_update(Relation rel, ItemPointer tid, TupleTableSlot *slot, CommandId cid,
				  uint32 options, Snapshot snapshot, Snapshot crosscheck, bool wait,
				  TM_FailureData *failure, LockTupleMode *mode, TU_UpdateIndexes *indexes)
{
	ZCompatUpdateIndexes which = 0;
	TM_Result	result = table_tuple_update(rel, tid, slot, cid, snapshot, crosscheck, wait,
											failure, mode, &which);

	*indexes = (TU_UpdateIndexes) which;
	return result;
}
#define table_tuple_update unit_tuple_update
#endif

/* ---- 18: heap_inplace_update() is removed; this is how the server updates catalogs ---- */

#if PG_VERSION_NUM >= 180000
static inline void
unit_buffer_release(void *buffer)
{
	ReleaseBuffer(*(Buffer *) buffer);
}

static inline void
heap_inplace_update(Relation rel, HeapTuple tuple)
{
	Buffer		buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(&tuple->t_self));
	ItemId		lp = PageGetItemId(BufferGetPage(buffer),
								   ItemPointerGetOffsetNumber(&tuple->t_self));
	HeapTupleData old = *tuple;

	old.t_len = ItemIdGetLength(lp);
	old.t_data = (HeapTupleHeader) PageGetItem(BufferGetPage(buffer), lp);
	if (!heap_inplace_lock(rel, &old, buffer, unit_buffer_release, &buffer))
		elog(ERROR, "row was changed");
	heap_inplace_update_and_unlock(rel, &old, tuple, buffer);
	ReleaseBuffer(buffer);
}
#endif

/* ---- 18: extra space in front of a minimal tuple; compact attributes ---- */

#if PG_VERSION_NUM < 180000
#define heap_copy_minimal_tuple(tuple, extra) heap_copy_minimal_tuple(tuple)
#define unit_att_begin(att) ((att)->attcacheoff = -1)
#define populate_compact_attribute(desc, i) ((void) 0)
#else
#define unit_att_begin(att) ((void) 0)
#endif

/* ---- 18: the access method takes a bitmap scan's pages from the bitmap ---- */

typedef struct UnitBitmapScan
{
	TableScanDesc scan;
	TIDBitmap  *bitmap;
#if PG_VERSION_NUM < 180000
	TBMIterator *iterator;
	TBMIterateResult *page;		/* NULL: the next one is to be taken */
#endif
} UnitBitmapScan;

/* Scan the rows that the bitmap names; the bitmap is freed at the end. */
static inline void
unit_bitmap_begin(UnitBitmapScan *scan, Relation rel, Snapshot snapshot, TIDBitmap *bitmap)
{
	scan->bitmap = bitmap;
#if PG_VERSION_NUM >= 190000
	scan->scan = table_beginscan_bm(rel, snapshot, 0, NULL, SO_NONE);
#elif PG_VERSION_NUM >= 180000 || PG_VERSION_NUM < 170000
	scan->scan = table_beginscan_bm(rel, snapshot, 0, NULL);
#else
	scan->scan = table_beginscan_bm(rel, snapshot, 0, NULL, true);
#endif
#if PG_VERSION_NUM >= 180000
	scan->scan->st.rs_tbmiterator = tbm_begin_iterate(bitmap, NULL, InvalidDsaPointer);
#else
	scan->iterator = tbm_begin_iterate(bitmap);
	scan->page = NULL;
#endif
}

static inline bool
unit_bitmap_next(UnitBitmapScan *scan, TupleTableSlot *slot)
{
#if PG_VERSION_NUM >= 180000
	bool		recheck;
	uint64		lossy = 0;
	uint64		exact = 0;

	return table_scan_bitmap_next_tuple(scan->scan, slot, &recheck, &lossy, &exact);
#else
	for (;;)
	{
		if (scan->page != NULL && table_scan_bitmap_next_tuple(scan->scan, scan->page, slot))
			return true;
		do
		{
			scan->page = tbm_iterate(scan->iterator);
			if (scan->page == NULL)
				return false;
		} while (!table_scan_bitmap_next_block(scan->scan, scan->page));
	}
#endif
}

static inline void
unit_bitmap_end(UnitBitmapScan *scan)
{
#if PG_VERSION_NUM >= 180000
	tbm_end_iterate(&scan->scan->st.rs_tbmiterator);
#else
	tbm_end_iterate(scan->iterator);
#endif
	table_endscan(scan->scan);
	tbm_free(scan->bitmap);
}

/* ---- 17: ANALYZE's blocks come from a stream of buffers: one of a single block ---- */

#if PG_VERSION_NUM >= 170000
static inline BlockNumber
unit_stream_block(ReadStream *stream, void *private, void *per_buffer)
{
	BlockNumber *next = private;
	BlockNumber block = *next;

	*next = InvalidBlockNumber;
	return block;
}

/* Begin a stream of the block *next. */
static inline ReadStream *
unit_stream_begin(Relation rel, BlockNumber *next)
{
	return read_stream_begin_relation(READ_STREAM_MAINTENANCE, NULL, rel, MAIN_FORKNUM,
									  unit_stream_block, next, 0);
}
#define unit_stream_end(stream) read_stream_end(stream)
#else
static inline ReadStream *
unit_stream_begin(Relation rel, BlockNumber *next)
{
	ReadStream *stream = palloc0(sizeof(ReadStream));

	stream->rel = rel;
	stream->private = next;
	return stream;
}
#define unit_stream_end(stream) pfree(stream)
#define table_scan_analyze_next_block(scan, stream) \
	(*(BlockNumber *) (stream)->private != InvalidBlockNumber && \
	 table_scan_analyze_next_block(scan, unit_stream_take(stream), NULL))

static inline BlockNumber
unit_stream_take(ReadStream *stream)
{
	BlockNumber *next = stream->private;
	BlockNumber block = *next;

	*next = InvalidBlockNumber;
	return block;
}

#endif

/* ---- 17: a slot says whether the current transaction has made its row ---- */

#if PG_VERSION_NUM >= 170000
#define unit_slot_is_current(slot, expected) (slot_is_current_xact_tuple(slot) == (expected))
#else
#define unit_slot_is_current(slot, expected) true
#endif

/* ---- 16: an update tells which indexes need entries ---- */

#if PG_VERSION_NUM < 160000
#define simple_heap_update(rel, tid, tuple, indexes) \
	((void) (indexes), simple_heap_update(rel, tid, tuple))
#endif

#endif							/* ZHEAP_UNIT_COMPAT_H */
