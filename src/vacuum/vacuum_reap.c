/*
 * vacuum_reap.c
 *		Dead line pointers: first the index entries that name them, then they.
 *
 * The order is the whole point.  A pointer becomes reusable only when no index
 * names it any more; a crash in between leaves dead pointers without entries,
 * which the next VACUUM finds again.
 *
 * LOCKING: none while indexes are worked on; then one table page, exclusively.
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

#include "zheap/base/prefetch.h"
#include "zheap/dml/dml.h"
#include "zheap/page/page.h"
#include "zheap/scan/dead_ranges.h"
#include "zheap/scan/table_indexes.h"

#include "vacuum_private.h"

/* Fewer dead pointers than this can wait for the next VACUUM: heap's limit. */
#define BYPASS_MAX_BYTES	(32L * 1024L * 1024L)

static int
dead_capacity(ZVacuum *vac)
{
	int64		max_items;

	/* nothing is collected without indexes, or when they are left alone */
	if (vac->nindexes == 0 || !vac->do_indexes)
		return ZPAGE_MAX_OFFSET;

	max_items = (int64) MAXDEADITEMS(vacuum_memory());
	max_items = Min(max_items, (int64) MAXDEADITEMS(MaxAllocSize));
	max_items = Min(max_items, (int64) vac->npages * ZPAGE_MAX_OFFSET);

	return (int) Max(max_items, ZPAGE_MAX_OFFSET);
}

static VacDeadItems *
dead_alloc(int max_items)
{
	VacDeadItems *dead = palloc(vac_max_items_to_alloc_size(max_items));

	dead->max_items = max_items;
	dead->num_items = 0;
	return dead;
}

void
vacuum_dead_open(ZVacuum *vac)
{
	int			max_items = dead_capacity(vac);

	/* one process per index at most, so two indexes are the least to share */
	if (vac->params->nworkers >= 0 && vac->nindexes > 1 && vac->do_indexes)
	{
		if (!RelationUsesLocalBuffers(vac->rel))
			vac->parallel = parallel_vacuum_init(vac->rel, vac->indexes, vac->nindexes,
												 vac->params->nworkers, max_items,
												 vac->verbose ? INFO : DEBUG2,
												 vac->strategy);
		else if (vac->params->nworkers > 0)
			ereport(WARNING,
					(errmsg("disabling parallel option of vacuum on \"%s\" --- cannot vacuum temporary tables in parallel",
							RelationGetRelationName(vac->rel))));
	}

	if (vac->parallel != NULL)
		vac->dead = parallel_vacuum_get_dead_items(vac->parallel);
	else
		vac->dead = dead_alloc(max_items);
}

void
vacuum_dead_close(ZVacuum *vac)
{
	if (vac->parallel != NULL)
		parallel_vacuum_end(vac->parallel, vac->results);
	else
		pfree(vac->dead);
	vac->parallel = NULL;
	vac->dead = NULL;
	Assert(!IsInParallelMode());
}

void
vacuum_dead_add(ZVacuum *vac, BlockNumber block, const OffsetNumber *offsets, int n)
{
	VacDeadItems *dead = vac->dead;
	int			i;

	Assert(dead->num_items + n <= dead->max_items);
	Assert(vac->nindexes > 0 && vac->do_indexes);
	/* G2 */
	Assert(dead->num_items == 0 ||
		   ItemPointerGetBlockNumber(&dead->items[dead->num_items - 1]) < block);

	for (i = 0; i < n; i++)
	{
		Assert(i == 0 || offsets[i] > offsets[i - 1]);	/* G2 */
		ItemPointerSet(&dead->items[dead->num_items + i], block, offsets[i]);
	}
	dead->num_items += n;
	pgstat_progress_update_param(PROGRESS_VACUUM_NUM_DEAD_TUPLES, dead->num_items);
}

static void
index_info_init(ZVacuum *vac, int i, bool estimated, IndexVacuumInfo *info)
{
	info->index = vac->indexes[i];
	info->analyze_only = false;
	info->report_progress = false;
	info->estimated_count = estimated;
	info->message_level = DEBUG2;
	info->num_heap_tuples = estimated ? vac->old_reltuples : vacuum_all_rows(vac);
	info->strategy = vac->strategy;
}

static void
delete_entries(ZVacuum *vac)
{
	int			i;

	Assert(!zheap_holds_buffer_lock()); /* L1: index pages come first */
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_INDEX);

	if (vac->parallel != NULL)
		parallel_vacuum_bulkdel_all_indexes(vac->parallel, (long) vac->old_reltuples,
											vac->rounds);
	else
	{
		for (i = 0; i < vac->nindexes; i++)
		{
			IndexVacuumInfo info;

			index_info_init(vac, i, true, &info);
			vacuum_begin_index(vac, i, VACUUM_VACUUMING_INDEX);
			vac->results[i] = vac_bulkdel_one_index(&info, vac->results[i], vac->dead);
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

/* The leader does the rest. */
static void
end_parallel(ZVacuum *vac)
{
	Assert(vac->dead->num_items == 0);
	if (vac->parallel == NULL)
		return;
	vacuum_dead_close(vac);
	vac->dead = dead_alloc(ZPAGE_MAX_OFFSET);
}

/*
 * The removal of stale entries has left leaves without any: the index makes these reusable.
 * What it then knows of itself must get to its cleanup, so that is the leader's work from now
 * on: workers hear of what workers have done only.
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

/* Reclaim the pointers items[*pos ..] of one page; *pos moves past them. */
static void
reclaim_page(ZVacuum *vac, int *pos)
{
	VacDeadItems *dead = vac->dead;
	BlockNumber block = ItemPointerGetBlockNumber(&dead->items[*pos]);
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	Buffer		buffer;
	Size		space;
	int			n = 0;

	Assert(block < vac->npages);
	while (*pos < dead->num_items &&
		   ItemPointerGetBlockNumber(&dead->items[*pos]) == block)
	{
		Assert(n < ZPAGE_MAX_OFFSET);
		offsets[n++] = ItemPointerGetOffsetNumber(&dead->items[*pos]);
		(*pos)++;
	}

	vac->block = block;
	pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, block);
	visible_pin(&vac->visible, block);
	buffer = ReadBufferExtended(vac->rel, MAIN_FORKNUM, block, RBM_NORMAL, vac->strategy);
	/* undo may be read, and an index may have accepted a message about its relation */
	zundo_open();
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	zdml_reclaim_pointers(vac->rel, buffer, offsets, n);
	visible_mark(&vac->visible, buffer);
	space = zpage_free_for_map(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);

	RecordPageWithFreeSpace(vac->rel, block, space);
}

/* Ask for the pages of the next items, those before *asked left out. */
static void
ask_for_blocks(ZVacuum *vac, ZPrefetch *prefetch, int pos, int *asked)
{
	const VacDeadItems *dead = vac->dead;

	*asked = Max(*asked, pos);
	while (zprefetch_wants(prefetch) && *asked < dead->num_items)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&dead->items[*asked]);

		zprefetch_ask(prefetch, vac->rel, block);
		while (*asked < dead->num_items &&
			   ItemPointerGetBlockNumber(&dead->items[*asked]) == block)
			(*asked)++;
	}
}

static void
reclaim_pointers(ZVacuum *vac)
{
	int			pos = 0;
	int			asked = 0;
	ZPrefetch	ahead;

	Assert(vac->rounds > 0);	/* G1 */
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_HEAP);

	zprefetch_init(&ahead, ZREADER_VACUUM);
	vac->doing = VACUUM_VACUUMING;
	while (pos < vac->dead->num_items)
	{
		int64		misses;

		vacuum_delay_point();
		ask_for_blocks(vac, &ahead, pos, &asked);
		misses = zprefetch_misses();
		reclaim_page(vac, &pos);
		zprefetch_note_read(&ahead, vac->rel, misses);
	}
	vac->doing = VACUUM_NO_BLOCK;
}

/* One round: what has been collected so far. */
void
vacuum_reap(ZVacuum *vac)
{
	Assert(vac->do_indexes && vac->nindexes > 0);

	if (vac->dead->num_items == 0)
		return;

	vac->doing = VACUUM_NO_BLOCK;
	delete_entries(vac);
	reclaim_pointers(vac);
	vac->dead->num_items = 0;
	pgstat_progress_update_param(PROGRESS_VACUUM_NUM_DEAD_TUPLES, 0);
}

/*
 * The last round, unless there is so little that reading all indexes for it does
 * not pay: the pointers then stay dead and are found again next time.
 */
void
vacuum_reap_last(ZVacuum *vac)
{
	if (vac->nindexes == 0 || !vac->do_indexes)
		return;

	if (vac->may_bypass &&
		vac->dead_pages < vac->npages * VACUUM_BYPASS_PAGES &&
		vac->dead_pointers < (int64) MAXDEADITEMS(BYPASS_MAX_BYTES))
		vac->dead->num_items = 0;

	if (vac->dead->num_items == 0 && vacuum_has_empty_leaves(vac))
		delete_empty_pages(vac);
	vacuum_reap(vac);
	FreeSpaceMapVacuum(vac->rel);
}

/*
 * Indexes may want a last word even if nothing was deleted from them.  BRIN's is to summarize, for
 * which the process is not known as VACUUM's (zundo_hold_back): workers that are about to begin
 * must not take that over from the leader.
 */
void
vacuum_index_cleanup(ZVacuum *vac)
{
	int			i;

	if (vac->nindexes == 0 || !vac->do_indexes)
		return;

	Assert(vac->dead->num_items == 0);	/* G1: the last round is over, or not made */
	for (i = 0; i < vac->nindexes && (vac->rounds > 0 || vac->dead_pointers == 0) &&
		 !vac->stale_left; i++)
		zdead_vacuumed(vac->indexes[i], vac->horizon);
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_INDEX_CLEANUP);

	if (has_summaries(vac))
		end_parallel(vac);
	if (vac->parallel != NULL)
	{
		parallel_vacuum_cleanup_all_indexes(vac->parallel, (long) vacuum_all_rows(vac),
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
