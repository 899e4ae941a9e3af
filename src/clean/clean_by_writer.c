/*
 * clean_by_writer.c
 *		A writer's batch: remove the index entries of rows that this backend has deleted or
 *		pruned, then free their line pointers.
 *
 * There are three steps, each in a batch of its own, because a row must be old enough for each:
 *
 * 1. Prune a page that the backend has noted.  The rows become dead line pointers, and their
 *	  bytes are kept.  (Or the backend has pruned a page anyway, when it needed the space.)
 *
 * 2. When there are enough rows, find and remove their entries in each index by the keys in
 *	  these bytes: entries on one leaf are removed together.  Rows that have had several keys
 *	  may have more entries, anywhere in the indexes that may have several of a row; and of
 *	  some rows the keys are gone.  Such rows wait until their number reaches the number of
 *	  leaves of these indexes, or some 2,000; then all leaves are searched, a portion in each
 *	  batch (clean_sweep.c).
 *
 * 3. When no index has an entry of a row any more, its line pointer becomes unused (G1) as
 *	  soon as all snapshots have ended that existed after step 2.  Earlier, a scan may have the
 *	  TID from an old copy of an index page, and would meet another row.  (VACUUM waits for
 *	  such scans by cleanup locks.)
 *
 * Why this is right, and what is left to VACUUM: README.md, "By writers".
 *
 * LOCKING: ShareUpdateExclusiveLock on the table until the batch is done, if it is available at
 * once: it keeps VACUUM and index builds out (G6).  No page is locked on entry; then one table
 * page, exclusively, or an index page and table pages below it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/base/stats.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/clean/clean.h"
#include "zheap/dml/dml.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_relation.h"

#include "clean_private.h"

/* Limits of a batch, since a statement waits for it: pages pruned, pointers freed. */
#define MAX_PAGES		32
#define MAX_FREED		512

/*
 * Try in one of this many batches whether the entries in an index are still so scattered that
 * they are left to VACUUM.
 */
#define TRIAL_INTERVAL	8

/*
 * Give up a range after this many consecutive pages with nothing to prune: VACUUM or other
 * backends have been there.
 */
#define MAX_CLEAN		8

/*
 * Blocks whose space was recorded in the free space map; its upper levels are updated at the
 * end.
 */
typedef struct MapRange
{
	BlockNumber first;
	BlockNumber end;
} MapRange;

static void
record_space(Relation rel, MapRange *map, BlockNumber block, Size space)
{
	RecordPageWithFreeSpace(rel, block, space);
	map->first = Min(map->first, block);
	map->end = Max(map->end, block + 1);
}

/* ---- step 1 ---- */

/* Prune one page, under its exclusive lock.  Return whether there was anything to prune. */
static bool
prune_page(Relation rel, ZReapNotes *notes, ZPageView *view, MapRange *map, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(rel, block);
	Buffer		overflow_buf;
	Size		space = 0;
	bool		changed = false;

	notes->looks++;
	zundo_open();
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (zview_attach(view, buffer, BUFFER_LOCK_EXCLUSIVE, &overflow_buf))
	{
		if (TransactionIdIsValid(((PageHeader) view->page)->pd_prune_xid))
			changed = zdml_prune_page(view, buffer, notes) > 0;
		space = zpage_free_for_map(view->page);
		zview_detach(view, &overflow_buf);
	}
	UnlockReleaseBuffer(buffer);
	if (changed)
		record_space(rel, map, block, space);
	return changed;
}

/* Take the next block off the ranges.  Return whether there was one that is old enough. */
static bool
take_block(Relation rel, ZReapNotes *notes, BlockNumber *block)
{
	ZReapRange *range = &notes->ranges[0];

	if (notes->nranges == 0 || !zreap_is_past(rel, range->newest))
		return false;
	*block = range->first;
	if (range->first == range->last)
		zreap_forget_ranges(notes, 1);
	else
	{
		/* assume that each block has the same number of rows */
		int			rows = range->rows / (int) (range->last - range->first + 1);

		range->first++;
		range->rows -= rows;
		notes->range_blocks--;
		notes->range_rows -= rows;
	}
	return true;
}

/* Prune noted pages, oldest first, until the lists are full or the limit of a batch is reached. */
static void
prune_noted(Relation rel, ZReapNotes *notes, MapRange *map)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	int			npages = 0;
	int			clean = 0;
	ZPageView	view;
	BlockNumber block;

	zview_open(&view, rel);
	/* keep room for the rows of a whole page */
	while (npages < MAX_PAGES && notes->nrows + ZPAGE_MAX_OFFSET <= ZREAP_MAX_ROWS &&
		   notes->nbytes + BLCKSZ <= ZREAP_MAX_BYTES &&
		   take_block(rel, notes, &block))
	{
		CHECK_FOR_INTERRUPTS();
		npages++;
		if (block < nblocks && prune_page(rel, notes, &view, map, block))
			clean = 0;
		else if (++clean % MAX_CLEAN == 0 && notes->nranges > 0 &&
				 notes->ranges[0].first == block + 1)
			zreap_forget_ranges(notes, 1);
	}
	zview_close(&view);
}

/* ---- step 2 ---- */

static void
close_indexes(List *indexes)
{
	ListCell   *lc;

	foreach(lc, indexes)
		index_close(lfirst(lc), RowExclusiveLock);
}

/*
 * Open all indexes of the table, with RowExclusiveLock.  Return false, with none open, if one of
 * the locks is not available at once.
 */
static bool
open_indexes(Relation rel, List **indexes)
{
	List	   *oids = RelationGetIndexList(rel);
	ListCell   *lc;

	*indexes = NIL;
	foreach(lc, oids)
	{
		if (!ConditionalLockRelationOid(lfirst_oid(lc), RowExclusiveLock))
		{
			close_indexes(*indexes);
			return false;
		}
		*indexes = lappend(*indexes, index_open(lfirst_oid(lc), NoLock));
	}
	return true;
}

static void
note_waiting(ZReapNotes *notes, const ZReapRow *row)
{
	if (notes->nwaiting < ZREAP_MAX_WAITING)
		notes->lists->waiting[notes->nwaiting++] = *row;
	else
		notes->lost++;
}

/*
 * After the entries were removed, move rows that no index names to the pointers, and the others
 * to those that wait for a sweep.  The latter are rows with several keys, named only by indexes
 * that may have several entries of a row; and rows not found by their keys, because the keys are
 * gone, or in the toast table, or lead elsewhere ("anywhere").  VACUUM has to come for those
 * anyway if scattered entries were left to it.
 */
static void
keep_removed(ZReapNotes *notes, int nindexes, int nseveral)
{
	FullTransactionId now = ReadNextFullTransactionId();

	for (int i = 0; i < notes->nrows; i++)
	{
		ZReapRow   *row = &notes->lists->rows[i];

		Assert(row->removed <= nindexes);
		Assert(i == 0 ||
			   ItemPointerCompare((ItemPointer) &row[-1].tid, (ItemPointer) &row->tid) < 0);
		if (!row->several && row->removed == nindexes)
			zreap_note_pointer(notes, row, now);
		else
		{
			row->anywhere = row->anywhere || !row->several || row->removed < nindexes - nseveral;
			if (row->anywhere && notes->scattered != 0)
				notes->lost++;
			else
				note_waiting(notes, row);
		}
	}
	notes->nrows = notes->nbytes = 0;
}

/*
 * Remove the entries that are found by their keys.  "several" has those of the indexes that may
 * have several entries of a row.
 */
static void
remove_by_keys(Relation rel, ZReapNotes *notes, List *indexes, List *several)
{
	ZIndexRemoval removal = {.table = rel,.notes = notes,.may_leave = zreap_vacuum_comes(rel)};
	ListCell   *lc;

	if (notes->removals++ % TRIAL_INTERVAL == 0 || !removal.may_leave)
		notes->scattered = 0;
	zreap_sort_rows(notes->lists->rows, notes->nrows);
	removal.slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), table_slot_callbacks(rel));
	foreach(lc, indexes)
	{
		/* a hint, which an index may share with the 32nd after it */
		uint32		bit = (uint32) 1 << foreach_current_index(lc) % 32;

		if ((notes->scattered & bit) != 0)
			continue;
		removal.index = lfirst(lc);
		removal.several = list_member_ptr(several, removal.index);
		if (clean_remove_dead(&removal))
			notes->scattered |= bit;
		clean_count(&removal);
	}
	ExecDropSingleTupleTableSlot(removal.slot);
	keep_removed(notes, list_length(indexes), list_length(several));
}

static void
remove_entries(Relation rel, ZReapNotes *notes, List *indexes)
{
	List	   *several = NIL;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		if (zindex_may_have_several_keys(rel, lfirst(lc)))
			several = lappend(several, lfirst(lc));
		clean_free_pages(lfirst(lc), notes);
	}
	if (zreap_has_rows(notes))
		remove_by_keys(rel, notes, indexes, several);
	clean_sweep(rel, notes, indexes, several);
}

/* ---- step 3 ---- */

static int
pointer_compare(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) &((const ZReapPointer *) a)->tid,
							  (ItemPointer) &((const ZReapPointer *) b)->tid);
}

/*
 * Free the pointers of one page, from *pos on; *pos moves past them.  Returns how many were
 * freed.
 */
static int
free_page(Relation rel, MapRange *map, const ZReapPointer *pointers, int n, int *pos)
{
	BlockNumber block = ItemPointerGetBlockNumber(&pointers[*pos].tid);
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	Buffer		buffer = ReadBuffer(rel, block);
	Size		space;
	int			noffsets = 0;
	int			freed;

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, false));	/* G6 */
	while (*pos < n && ItemPointerGetBlockNumber(&pointers[*pos].tid) == block)
	{
		offsets[noffsets++] = ItemPointerGetOffsetNumber(&pointers[*pos].tid);
		(*pos)++;
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	freed = zreap_free_pointers(rel, buffer, offsets, noffsets);
	space = zpage_free_for_map(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	record_space(rel, map, block, space);
	return freed;
}

/*
 * Free the oldest noted pointers, at most MAX_FREED, that no scan can remember any more.  Locks
 * one page at a time.
 */
static void
free_pointers(Relation rel, ZReapNotes *notes, MapRange *map)
{
	ZReapPointer *noted = notes->lists->pointers;
	ZReapPointer pointers[MAX_FREED];
	int			n = 0;
	int			pos = 0;
	int			freed = 0;

	while (n < Min(notes->npointers, MAX_FREED) && zreap_is_past(rel, noted[n].since))
		n++;
	if (n == 0)
		return;
	memcpy(pointers, noted, n * sizeof(ZReapPointer));
	notes->npointers -= n;
	memmove(noted, noted + n, notes->npointers * sizeof(ZReapPointer));
	qsort(pointers, n, sizeof(ZReapPointer), pointer_compare);
	while (pos < n)
	{
		notes->looks++;
		freed += free_page(rel, map, pointers, n, &pos);
	}
	notes->lost += n - freed;
	pgstat_update_heap_dead_tuples(rel, freed);
	zstats_count(rel, ZTABLE_DEAD_REMOVED, freed);
}

/* ---- a batch ---- */

/* Do a batch: free pointers first, which makes room for the rows that are pruned next. */
static void
work_on_notes(Relation rel, ZReapNotes *notes)
{
	MapRange	map = {MaxBlockNumber, 0};
	List	   *indexes;

	zreap_check_notes(rel, notes);
	free_pointers(rel, notes, &map);
	/* room for the pointers of the rows */
	if (zreap_has_room(notes) && open_indexes(rel, &indexes))
	{
		/* a sweep takes many batches: do not prune pages for single rows meanwhile */
		if (notes->nswept == 0 || zreap_has_rows(notes) || zreap_has_pages(rel, notes))
			prune_noted(rel, notes, &map);
		if (zreap_has_rows(notes) || notes->nswept > 0)
			remove_entries(rel, notes, indexes);
		close_indexes(indexes);
	}
	if (map.first < map.end)
		FreeSpaceMapVacuumRange(rel, map.first, map.end);
	if (notes->lost > 0)
		zstats_count(rel, ZTABLE_DEAD_LEFT, notes->lost);
	notes->lost = 0;
}

/*
 * The statement that fails may have nothing to do with the index in which the error is: name the
 * table.
 */
static void
error_context(void *arg)
{
	errcontext("while removing index entries of deleted rows of table \"%s\" (zheap.remove_dead_entries)",
			   RelationGetRelationName((Relation) arg));
}

void
zclean_by_writer(Relation rel, ZReapNotes *notes)
{
	ErrorContextCallback callback = {.callback = error_context,.arg = rel};
	MemoryContext context;
	MemoryContext old;

	/*
	 * If this backend holds the lock already, VACUUM or the like is at work: do not disturb it.
	 * As long as our snapshot exists, no page that is deleted from an index meanwhile is reused.
	 */
	if (!HaveRegisteredOrActiveSnapshot() ||
		CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true) ||
		!ConditionalLockRelation(rel, ShareUpdateExclusiveLock))
		return;
	zundo_open_for(rel);
	context = AllocSetContextCreate(CurrentMemoryContext, "zheap writer's vacuum",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	/* an index may have been added since the notes were opened */
	if (ztable_indexes(rel)->btrees)
		work_on_notes(rel, notes);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	UnlockRelation(rel, ShareUpdateExclusiveLock);
}
