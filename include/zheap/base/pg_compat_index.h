/*
 * pg_compat_index.h
 *		Differences between the supported servers in index access methods.
 */
#ifndef ZHEAP_PG_COMPAT_INDEX_H
#define ZHEAP_PG_COMPAT_INDEX_H

#include "access/brin_revmap.h"
#include "access/genam.h"
#include "access/nbtree.h"
#include "utils/pg_locale.h"

#include "zheap/base/pg_compat.h"

/*
 * Descend to the leaf that the key leads to, which is returned in *leaf, pinned and locked in mode
 * "access"; InvalidBuffer if the index is empty.  16: needs the table, to finish incomplete splits
 * (access BT_WRITE); 17: takes no snapshot; 19: a parameter says whether to return the stack.
 */
static inline void
zcompat_bt_descend(Relation index, Relation table, BTScanInsert key, Buffer *leaf, int access)
{
#if PG_VERSION_NUM >= 190000
	(void) _bt_search(index, table, key, leaf, access, false);
#elif PG_VERSION_NUM >= 170000
	_bt_freestack(_bt_search(index, table, key, leaf, access));
#elif PG_VERSION_NUM >= 160000
	_bt_freestack(_bt_search(index, table, key, leaf, access, NULL));
#else
	_bt_freestack(_bt_search(index, key, leaf, access, NULL));
#endif
}

/* Make a descent with a pivot as the key go to the page on its left.  17: a more general name. */
static inline void
zcompat_bt_key_is_pivot(BTScanInsert key)
{
#if PG_VERSION_NUM >= 170000
	key->backward = true;
#else
	key->pivotsearch = true;
#endif
}

/* 19: to set hint bits is announced, and may be refused */
#if PG_VERSION_NUM < 190000
#define BufferBeginSetHintBits(buffer)	true

static inline void
BufferFinishSetHintBits(Buffer buffer, bool mark_dirty, bool buffer_std)
{
	if (mark_dirty)
		MarkBufferDirtyHint(buffer, buffer_std);
}
#endif

/*
 * Let a backward scan, which has no pin any more, go on with the leaf "block" as if it came from
 * that one's right sibling.  18: the left link of the sibling is not read again.
 */
static inline void
zcompat_bt_go_left(BTScanPos pos, BlockNumber block, BlockNumber right)
{
	pos->currPage = right;
#if PG_VERSION_NUM >= 180000
	pos->prevPage = block;
#endif
}

/*
 * Return whether a scan knows which LSN its leaf had when it was read.  18: not if the leaf is
 * still pinned, as it is for an index-only scan.
 */
static inline bool
zcompat_bt_knows_lsn(const BTScanPosData *pos)
{
#if PG_VERSION_NUM >= 180000
	return !BTScanPosIsPinned(*pos);
#else
	return true;
#endif
}

/* 17: takes no snapshot */
#if PG_VERSION_NUM < 170000
static inline Buffer
zcompat_bt_get_endpoint(Relation index, uint32 level, bool rightmost)
{
	return _bt_get_endpoint(index, level, rightmost, NULL);
}
#undef _bt_get_endpoint
#define _bt_get_endpoint zcompat_bt_get_endpoint
#endif

/* 16: index access methods need the table */
static inline void
zcompat_info_set_table(IndexVacuumInfo *info, Relation table)
{
#if PG_VERSION_NUM >= 160000
	info->heaprel = table;
#endif
}

/* 17: the state that insertions keep in the IndexInfo has to be released */
#if PG_VERSION_NUM < 170000
#define index_insert_cleanup(index, info) ((void) 0)
#endif

/* 18: takes counters for EXPLAIN; 19: takes the flags of table scans */
#if PG_VERSION_NUM < 190000
struct IndexScanInstrumentation;

static inline IndexScanDesc
zcompat_index_beginscan(Relation table, Relation index, Snapshot snapshot,
						struct IndexScanInstrumentation *instrument, int nkeys, int norderbys,
						uint32 flags)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan(table, index, snapshot, instrument, nkeys, norderbys);
#else
	return index_beginscan(table, index, snapshot, nkeys, norderbys);
#endif
}
#undef index_beginscan
#define index_beginscan zcompat_index_beginscan
#endif

#if PG_VERSION_NUM < 180000
static inline IndexScanDesc
zcompat_index_beginscan_bitmap(Relation index, Snapshot snapshot,
							   struct IndexScanInstrumentation *instrument, int nkeys)
{
	return index_beginscan_bitmap(index, snapshot, nkeys);
}
#undef index_beginscan_bitmap
#define index_beginscan_bitmap zcompat_index_beginscan_bitmap
#endif

/* 17: take no snapshot */
#if PG_VERSION_NUM < 170000
#define brinRevmapInitialize(index, pages) brinRevmapInitialize(index, pages, NULL)
#define brinGetTupleForHeapBlock(revmap, block, buf, off, size, mode) \
	brinGetTupleForHeapBlock(revmap, block, buf, off, size, mode, NULL)
#endif

static inline bool
zcompat_collate_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

#endif							/* ZHEAP_PG_COMPAT_INDEX_H */
