/*
 * vacuum_reap.c
 *		Remove the index entries that name dead line pointers, then free the pointers.
 *
 * The order is essential.  A pointer becomes reusable only when no index names it any more (G1).
 * A crash in between leaves dead pointers without entries, which the next VACUUM finds again.
 *
 * LOCKING: no page while indexes are processed; then one table page, exclusively.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_am.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "utils/memutils.h"

#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/dml.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_relation.h"

#include "vacuum_private.h"

/* Fewer dead pointers than this can wait for the next VACUUM: heap's limit. */
#define BYPASS_MAX_BYTES	(32L * 1024L * 1024L)

static void
dead_alloc(ZVacuum *vac)
{
	vac->dead_info = palloc0(sizeof(VacDeadItemsInfo));
	vac->dead_info->max_bytes = vacuum_memory();
	vac->dead = TidStoreCreateLocal(vac->dead_info->max_bytes, true);
}

void
vacuum_dead_open(ZVacuum *vac)
{
	/* at most one process works on an index, so it takes two indexes to share */
	if (vac->params->nworkers >= 0 && vac->nindexes > 1 && vac->do_indexes)
	{
		if (!RelationUsesLocalBuffers(vac->rel))
			vac->parallel = parallel_vacuum_init(vac->rel, vac->indexes, vac->nindexes,
												 vac->params->nworkers,
												 (int) (vacuum_memory() / 1024),
												 vac->verbose ? INFO : DEBUG2,
												 vac->strategy);
		else if (vac->params->nworkers > 0)
			ereport(WARNING,
					(errmsg("disabling parallel option of vacuum on \"%s\" --- cannot vacuum temporary tables in parallel",
							RelationGetRelationName(vac->rel))));
	}

	if (vac->parallel != NULL)
		vac->dead = parallel_vacuum_get_dead_items(vac->parallel, &vac->dead_info);
	else
		dead_alloc(vac);
}

static void
dead_free(ZVacuum *vac)
{
	TidStoreDestroy(vac->dead);
	pfree(vac->dead_info);
}

void
vacuum_dead_close(ZVacuum *vac)
{
	if (vac->parallel != NULL)
		parallel_vacuum_end(vac->parallel, vac->results);
	else
		dead_free(vac);
	vac->parallel = NULL;
	vac->dead = NULL;
	vac->dead_info = NULL;
	Assert(!IsInParallelMode());
}

/*
 * Return whether the collected pointers exceed the memory, so that a round over the indexes is
 * due.
 */
bool
vacuum_dead_is_full(const ZVacuum *vac)
{
	return vac->dead_info->num_items > 0 &&
		TidStoreMemoryUsage(vac->dead) > vac->dead_info->max_bytes;
}

/* Empty the store of dead pointers. */
static void
dead_forget(ZVacuum *vac)
{
	vac->dead_info->num_items = 0;
	if (vac->parallel != NULL)
	{
		parallel_vacuum_reset_dead_items(vac->parallel);
		vac->dead = parallel_vacuum_get_dead_items(vac->parallel, &vac->dead_info);
	}
	else
	{
		dead_free(vac);
		dead_alloc(vac);
	}
}

void
vacuum_dead_add(ZVacuum *vac, BlockNumber block, const OffsetNumber *offsets, int n)
{
	Assert(vac->nindexes > 0 && vac->do_indexes);
	for (int i = 1; i < n; i++)
		Assert(offsets[i] > offsets[i - 1]);	/* G2 */
	TidStoreSetBlockOffsets(vac->dead, block, (OffsetNumber *) offsets, n);
	vac->dead_info->num_items += n;
	zcompat_progress_dead(vac->dead, vac->dead_info);
}

static void
index_info_init(ZVacuum *vac, int i, bool estimated, IndexVacuumInfo *info)
{
	info->index = vac->indexes[i];
	zcompat_info_set_table(info, vac->rel);
	info->analyze_only = false;
	info->report_progress = false;
	info->estimated_count = estimated;
	info->message_level = DEBUG2;
	info->num_heap_tuples = estimated ? vac->old_reltuples : vacuum_all_rows(vac);
	info->strategy = vac->strategy;
}

/*
 * Delete the entries of the collected pointers from all indexes, with workers if there are any.
 * No page is locked.
 */
static void
delete_entries(ZVacuum *vac)
{
	int			i;

	Assert(!zheap_holds_buffer_lock()); /* L1: index pages come first */
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_INDEX);

	if (vac->parallel != NULL)
		zcompat_bulkdel_all_indexes(vac->parallel, (long) vac->old_reltuples,
											vac->rounds);
	else
	{
		for (i = 0; i < vac->nindexes; i++)
		{
			IndexVacuumInfo info;

			index_info_init(vac, i, true, &info);
			vacuum_begin_index(vac, i, VACUUM_VACUUMING_INDEX);
			vac->results[i] = vac_bulkdel_one_index(&info, vac->results[i], vac->dead,
													 vac->dead_info);
		}
		vac->doing = VACUUM_NO_BLOCK;
	}

	vac->rounds++;
	pgstat_progress_update_param(PROGRESS_VACUUM_NUM_INDEX_VACUUMS, vac->rounds);
}

static bool
is_no_dead_row(ItemPointer tid, void *state)
{
	return false;
}

/* Leave parallel mode; the leader does the rest alone. */
static void
end_parallel(ZVacuum *vac)
{
	Assert(vac->dead_info->num_items == 0);
	if (vac->parallel == NULL)
		return;
	vacuum_dead_close(vac);
	dead_alloc(vac);
}

/*
 * Let the indexes reclaim leaves from which the removal of stale entries has taken the last
 * entry.  The results must be passed to the indexes' cleanup.  The leader does both from now on,
 * because parallel workers only know results of workers.
 */
static void
delete_empty_pages(ZVacuum *vac)
{
	end_parallel(vac);
	vac->doing = VACUUM_NO_BLOCK;
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_INDEX);
	for (int i = 0; i < vac->nindexes; i++)
	{
		IndexVacuumInfo info;

		if (!zindex_may_have_several_keys(vac->rel, vac->indexes[i]))
			continue;
		index_info_init(vac, i, true, &info);
		vacuum_begin_index(vac, i, VACUUM_VACUUMING_INDEX);
		vac->results[i] = index_bulk_delete(&info, vac->results[i], is_no_dead_row, NULL);
	}
	vac->doing = VACUUM_NO_BLOCK;
}

static bool
has_summaries(const ZVacuum *vac)
{
	for (int i = 0; i < vac->nindexes; i++)
	{
		if (vac->indexes[i]->rd_rel->relam == BRIN_AM_OID)
			return true;
	}
	return false;
}

/*
 * Reclaim the collected pointers of the page in the buffer, under its exclusive lock, mark it
 * all-visible if possible, and unpin it.
 */
static void
reclaim_page(ZVacuum *vac, Buffer buffer, TidStoreIterResult *dead)
{
	BlockNumber block = dead->blkno;
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	int			n = TidStoreGetBlockOffsets(dead, offsets, ZPAGE_MAX_OFFSET);
	Size		space;

	Assert(block < vac->npages && block == BufferGetBlockNumber(buffer));
	vac->block = block;
	pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, block);
	vacuum_pin_map(vac, block);
	/*
	 * undo may be read, and work on an index may have accepted an invalidation of the undo
	 * relation
	 */
	zundo_open();
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	zdml_reclaim_pointers(vac->rel, buffer, offsets, n);
	vacuum_mark_visible(vac, buffer);
	space = zpage_free_for_map(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);

	RecordPageWithFreeSpace(vac->rel, block, space);
}

/* Read stream callback: return the next block with collected pointers. */
static BlockNumber
block_to_reclaim(ReadStream *stream, void *private, void *per_buffer)
{
	TidStoreIterResult *page = TidStoreIterateNext((TidStoreIter *) private);

	return page != NULL ? page->blkno : InvalidBlockNumber;
}

/*
 * Free the collected pointers, page by page.  The stream reads pages ahead, so its callback has
 * an iterator of its own: on 17 the result of an iterator is valid only until the next one.
 */
static void
reclaim_pointers(ZVacuum *vac)
{
	TidStoreIter *pages = TidStoreBeginIterate(vac->dead);
	TidStoreIter *ahead = TidStoreBeginIterate(vac->dead);
	ReadStream *stream;

	Assert(vac->rounds > 0);	/* G1 */
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_HEAP);

	stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE | READ_STREAM_USE_BATCHING |
										ZCOMPAT_STREAM_ADVISE, vac->strategy, vac->rel,
										MAIN_FORKNUM, block_to_reclaim, ahead, 0);
	vac->doing = VACUUM_VACUUMING;
	for (;;)
	{
		Buffer		buffer;

		vac->block = InvalidBlockNumber;
		vacuum_delay_point(false);
		buffer = read_stream_next_buffer(stream, NULL);
		if (!BufferIsValid(buffer))
			break;
		reclaim_page(vac, buffer, TidStoreIterateNext(pages));
	}
	vac->doing = VACUUM_NO_BLOCK;
	read_stream_end(stream);
	TidStoreEndIterate(ahead);
	TidStoreEndIterate(pages);
}

/* Do one round: remove the entries of the pointers collected so far, and free the pointers. */
void
vacuum_reap(ZVacuum *vac)
{
	Assert(vac->do_indexes && vac->nindexes > 0);

	if (vac->dead_info->num_items == 0)
		return;

	vac->doing = VACUUM_NO_BLOCK;
	delete_entries(vac);
	reclaim_pointers(vac);
	dead_forget(vac);
	zcompat_progress_dead(vac->dead, vac->dead_info);
}

/*
 * Do the last round, unless there are so few pointers that reading all indexes does not pay:
 * they then stay dead, and the next VACUUM finds them again.
 */
void
vacuum_reap_last(ZVacuum *vac)
{
	if (vac->nindexes == 0 || !vac->do_indexes)
		return;

	if (vac->may_bypass &&
		vac->dead_pages < vac->npages * VACUUM_BYPASS_PAGES &&
		vac->dead_pointers < (int64) (BYPASS_MAX_BYTES / sizeof(ItemPointerData)))
		dead_forget(vac);

	if (vac->dead_info->num_items == 0 && vacuum_has_empty_leaves(vac))
		delete_empty_pages(vac);
	vacuum_reap(vac);
	FreeSpaceMapVacuum(vac->rel);
}

/*
 * Call the indexes' cleanup, even if nothing was deleted.  BRIN summarizes there, during which
 * the process is not flagged as VACUUM's (zundo_hold_back).  Parallel workers that are just
 * starting would copy these flags from the leader, so there are none then.
 */
void
vacuum_index_cleanup(ZVacuum *vac)
{
	int			i;

	if (vac->nindexes == 0 || !vac->do_indexes)
		return;

	Assert(vac->dead_info->num_items == 0);	/* G1: the last round is over, or not made */
	for (i = 0; i < vac->nindexes && (vac->rounds > 0 || vac->dead_pointers == 0) &&
		 !vac->stale_left; i++)
		zdead_vacuumed(vac->indexes[i], vac->horizon);
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_INDEX_CLEANUP);

	if (has_summaries(vac))
		end_parallel(vac);
	if (vac->parallel != NULL)
	{
		zcompat_cleanup_all_indexes(vac->parallel, (long) vacuum_all_rows(vac),
											vac->rounds, vac->skipped > 0);
		return;
	}
	for (i = 0; i < vac->nindexes; i++)
	{
		IndexVacuumInfo info;

		index_info_init(vac, i, false, &info);
		info.estimated_count = vac->skipped > 0;
		vacuum_begin_index(vac, i, VACUUM_CLEANING_INDEX);
		vac->results[i] = vac_cleanup_one_index(&info, vac->results[i]);
	}
	vac->doing = VACUUM_NO_BLOCK;
}
