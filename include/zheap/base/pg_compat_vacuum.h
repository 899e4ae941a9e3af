/*
 * pg_compat_vacuum.h
 *		Differences between the supported servers in what VACUUM uses.
 */
#ifndef ZHEAP_PG_COMPAT_VACUUM_H
#define ZHEAP_PG_COMPAT_VACUUM_H

#include "access/genam.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 170000
#include "access/tidstore.h"
#endif

#include "zheap/base/pg_compat.h"
#include "zheap/base/pg_compat_index.h"

/* 18: the delay knows VACUUM from ANALYZE; pg_class has the number of all-frozen pages */
#if PG_VERSION_NUM < 180000
#define vacuum_delay_point(is_analyze) vacuum_delay_point()
#define vac_update_relstats(rel, pages, tuples, visible, frozen, hasindex, fxid, multi, \
							updated_fxid, updated_multi, outer) \
	vac_update_relstats(rel, pages, tuples, visible, hasindex, fxid, multi, \
						updated_fxid, updated_multi, outer)
#endif

/* 16: the delay is computed from variables beside those of the settings */
#if PG_VERSION_NUM < 160000
#define vacuum_cost_delay VacuumCostDelay
#define vacuum_cost_limit VacuumCostLimit
#endif

/* 18: takes the time of the beginning; 19: takes the relation */
#if PG_VERSION_NUM < 180000
#define pgstat_report_vacuum(rel, live, dead, start) \
	((void) (start), \
	 pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead))
#elif PG_VERSION_NUM < 190000
#define pgstat_report_vacuum(rel, live, dead, start) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead, start)
#endif

#if PG_VERSION_NUM < 170000
#define AmAutoVacuumWorkerProcess() IsAutoVacuumWorkerProcess()
#endif

/* 19: CLUSTER and VACUUM FULL are forms of REPACK; ANALYZE has a log_min_duration of its own */
#if PG_VERSION_NUM < 190000
#define PROGRESS_REPACK_PHASE				PROGRESS_CLUSTER_PHASE
#define PROGRESS_REPACK_INDEX_RELID			PROGRESS_CLUSTER_INDEX_RELID
#define PROGRESS_REPACK_HEAP_TUPLES_SCANNED	PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED
#define PROGRESS_REPACK_HEAP_TUPLES_INSERTED PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN
#define PROGRESS_REPACK_TOTAL_HEAP_BLKS		PROGRESS_CLUSTER_TOTAL_HEAP_BLKS
#define PROGRESS_REPACK_HEAP_BLKS_SCANNED	PROGRESS_CLUSTER_HEAP_BLKS_SCANNED
#define PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP	PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP
#define PROGRESS_REPACK_PHASE_INDEX_SCAN_HEAP PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP
#define PROGRESS_REPACK_PHASE_SORT_TUPLES	PROGRESS_CLUSTER_PHASE_SORT_TUPLES
#define PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP

#define log_vacuum_min_duration	log_min_duration

/* ... and parallel VACUUM returns statistics of its workers */
#define zcompat_bulkdel_all_indexes(state, tuples, rounds) \
	parallel_vacuum_bulkdel_all_indexes(state, tuples, rounds)
#define zcompat_cleanup_all_indexes(state, tuples, rounds, estimated) \
	parallel_vacuum_cleanup_all_indexes(state, tuples, rounds, estimated)
#else
static inline void
zcompat_bulkdel_all_indexes(ParallelVacuumState *state, long tuples, int rounds)
{
	PVWorkerStats stats = {0};

	parallel_vacuum_bulkdel_all_indexes(state, tuples, rounds, &stats);
}

static inline void
zcompat_cleanup_all_indexes(ParallelVacuumState *state, long tuples, int rounds, bool estimated)
{
	PVWorkerStats stats = {0};

	parallel_vacuum_cleanup_all_indexes(state, tuples, rounds, estimated, &stats);
}
#endif

/* 19: the parameters of VACUUM are constant */
#if PG_VERSION_NUM < 190000
#define ZCompatVacuumParams	VacuumParams
#else
typedef const VacuumParams ZCompatVacuumParams;
#endif

/* ---- 17: dead line pointers are in a TidStore; before, in an array ---- */

#if PG_VERSION_NUM < 180000
#if PG_VERSION_NUM >= 170000
static inline int
TidStoreGetBlockOffsets(TidStoreIterResult *result, OffsetNumber *offsets, int max_offsets)
{
	Assert(result->num_offsets <= max_offsets);
	memcpy(offsets, result->offsets, result->num_offsets * sizeof(OffsetNumber));
	return result->num_offsets;
}
#endif
#endif

#if PG_VERSION_NUM < 170000

typedef struct TidStore
{
	VacDeadItems *array;
	bool		shared;			/* it cannot grow */
	size_t		max_bytes;
} TidStore;

typedef struct VacDeadItemsInfo
{
	size_t		max_bytes;
	int64		num_items;
} VacDeadItemsInfo;

typedef struct TidStoreIterResult
{
	BlockNumber blkno;
	const ItemPointerData *tids;
	int			ntids;
} TidStoreIterResult;

typedef struct TidStoreIter
{
	const VacDeadItems *array;
	int			pos;
	TidStoreIterResult result;
} TidStoreIter;

#define ZCOMPAT_FEW_ITEMS	MaxHeapTuplesPerPage	/* maximum of one page */

static inline TidStore *
TidStoreCreateLocal(size_t max_bytes, bool insert_only)
{
	TidStore   *store = palloc(sizeof(TidStore));

	store->array = palloc(vac_max_items_to_alloc_size(ZCOMPAT_FEW_ITEMS));
	store->array->max_items = ZCOMPAT_FEW_ITEMS;
	store->array->num_items = 0;
	store->shared = false;
	store->max_bytes = Min(max_bytes, MaxAllocSize);
	return store;
}

static inline void
TidStoreDestroy(TidStore *store)
{
	if (!store->shared)
		pfree(store->array);
	pfree(store);
}

/* Return SIZE_MAX, more than any limit, as soon as the pointers of another page may not fit. */
static inline size_t
TidStoreMemoryUsage(TidStore *store)
{
	int64		max = store->shared ? store->array->max_items :
		(int64) MAXDEADITEMS(store->max_bytes);

	max = Max(max, ZCOMPAT_FEW_ITEMS);
	return store->array->num_items + ZCOMPAT_FEW_ITEMS > max ? SIZE_MAX :
		store->array->num_items * sizeof(ItemPointerData);
}

static inline void
TidStoreSetBlockOffsets(TidStore *store, BlockNumber blkno, OffsetNumber *offsets, int num_offsets)
{
	VacDeadItems *array = store->array;

	/* index vacuuming searches for TIDs by bisection */
	Assert(array->num_items == 0 ||
		   ItemPointerGetBlockNumber(&array->items[array->num_items - 1]) < blkno);
	if (array->num_items + num_offsets > array->max_items)
	{
		int64		limit = Max((int64) MAXDEADITEMS(store->max_bytes), ZCOMPAT_FEW_ITEMS);

		/* there is room for one more page's: TidStoreMemoryUsage() */
		Assert(!store->shared && array->num_items + num_offsets <= limit);
		array->max_items = (int) Min((int64) array->max_items * 2, limit);
		store->array = array = repalloc_huge(array, vac_max_items_to_alloc_size(array->max_items));
	}
	for (int i = 0; i < num_offsets; i++)
		ItemPointerSet(&array->items[array->num_items + i], blkno, offsets[i]);	/* 15: a macro */
	array->num_items += num_offsets;
}

static inline TidStoreIter *
TidStoreBeginIterate(TidStore *store)
{
	TidStoreIter *iter = palloc0(sizeof(TidStoreIter));

	iter->array = store->array;
	return iter;
}

static inline TidStoreIterResult *
TidStoreIterateNext(TidStoreIter *iter)
{
	const VacDeadItems *array = iter->array;
	TidStoreIterResult *result = &iter->result;
	int			low = iter->pos + 1;
	int			high = Min(array->num_items, iter->pos + ZCOMPAT_FEW_ITEMS);

	if (iter->pos >= array->num_items)
		return NULL;
	result->tids = &array->items[iter->pos];
	result->blkno = ItemPointerGetBlockNumber(result->tids);
	/* find the first pointer of another block: they are in the order of their TIDs */
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (ItemPointerGetBlockNumber(&array->items[middle]) == result->blkno)
			low = middle + 1;
		else
			high = middle;
	}
	result->ntids = low - iter->pos;
	iter->pos = low;
	return result;
}

static inline int
TidStoreGetBlockOffsets(TidStoreIterResult *result, OffsetNumber *offsets, int max_offsets)
{
	Assert(result->ntids <= max_offsets);
	for (int i = 0; i < result->ntids; i++)
		offsets[i] = ItemPointerGetOffsetNumber(&result->tids[i]);
	return result->ntids;
}

static inline void
TidStoreEndIterate(TidStoreIter *iter)
{
	pfree(iter);
}

/* ---- ... and the functions that take them ---- */

static inline ParallelVacuumState *
zcompat_parallel_vacuum_init(Relation rel, Relation *indexes, int nindexes, int nworkers,
							 int work_mem_kb, int elevel, BufferAccessStrategy strategy)
{
	int64		max = Min((int64) MAXDEADITEMS((int64) work_mem_kb * 1024),
						  (int64) MAXDEADITEMS(MaxAllocSize));

	max = Min(max, (int64) RelationGetNumberOfBlocks(rel) * ZCOMPAT_FEW_ITEMS);
	return parallel_vacuum_init(rel, indexes, nindexes, nworkers,
								(int) Max(max, ZCOMPAT_FEW_ITEMS), elevel, strategy);
}
#define parallel_vacuum_init zcompat_parallel_vacuum_init

static inline TidStore *
zcompat_parallel_vacuum_dead(ParallelVacuumState *state, VacDeadItemsInfo **info)
{
	TidStore   *store = palloc(sizeof(TidStore));

	store->array = parallel_vacuum_get_dead_items(state);
	store->shared = true;
	store->max_bytes = store->array->max_items * sizeof(ItemPointerData);
	*info = palloc0(sizeof(VacDeadItemsInfo));
	(*info)->max_bytes = store->max_bytes;
	return store;
}

/* Empty the array, which cannot grow; the caller calls zcompat_parallel_vacuum_dead() again. */
static inline void
zcompat_parallel_vacuum_reset(ParallelVacuumState *state)
{
	parallel_vacuum_get_dead_items(state)->num_items = 0;
}
#define parallel_vacuum_get_dead_items zcompat_parallel_vacuum_dead
#define parallel_vacuum_reset_dead_items zcompat_parallel_vacuum_reset

static inline IndexBulkDeleteResult *
zcompat_bulkdel_one_index(IndexVacuumInfo *ivinfo, IndexBulkDeleteResult *istat, TidStore *store,
						  VacDeadItemsInfo *info)
{
	return vac_bulkdel_one_index(ivinfo, istat, store->array);
}
#undef vac_bulkdel_one_index
#define vac_bulkdel_one_index zcompat_bulkdel_one_index

#define zcompat_progress_max_dead(info) \
	pgstat_progress_update_param(PROGRESS_VACUUM_MAX_DEAD_TUPLES, \
								 (info)->max_bytes / sizeof(ItemPointerData))
#define zcompat_progress_dead(store, info) \
	pgstat_progress_update_param(PROGRESS_VACUUM_NUM_DEAD_TUPLES, (info)->num_items)

#else							/* PG_VERSION_NUM >= 170000 */

#define zcompat_progress_max_dead(info) \
	pgstat_progress_update_param(PROGRESS_VACUUM_MAX_DEAD_TUPLE_BYTES, (info)->max_bytes)

static inline void
zcompat_progress_dead(TidStore *store, const VacDeadItemsInfo *info)
{
	const int	params[] = {PROGRESS_VACUUM_NUM_DEAD_ITEM_IDS, PROGRESS_VACUUM_DEAD_TUPLE_BYTES};
	const int64 values[] = {info->num_items, (int64) TidStoreMemoryUsage(store)};

	pgstat_progress_update_multi_param(2, params, values);
}

#endif

#endif							/* ZHEAP_PG_COMPAT_VACUUM_H */
