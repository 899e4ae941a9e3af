/*
 * vacuum_stale.c
 *		Rows with several keys: remove their stale entries, and the mark.
 *
 * The first pass over the table collects the rows that have the mark.  Then the B-trees that may
 * have several entries of a row are searched for entries of these rows that no snapshot needs
 * (index_sweep.c).  A row that is left with one entry in each index has one key again, provided
 * that it was visible to all when it was collected and that its page has not changed since: then
 * no further entry of it will be inserted (N5), and the mark is removed, except where rows keep
 * their marks (marks_stay).
 *
 * LOCKING: no page while indexes are processed; then one table page, exclusively.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "zheap/base/stats.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/dml.h"
#include "zheap/index/index.h"
#include "zheap/mvcc/status.h"
#include "zheap/page/page.h"
#include "zheap/scan/scan.h"
#include "zheap/undo/undo_horizon.h"

#include "vacuum_private.h"

/* If a larger share of the leaves is empty, a pass that deletes them pays. */
#define EMPTY_MAX_LEAVES	0.02

/* Usual share of a leaf that is filled after random insertions. */
#define USUAL_FILL			0.7

/* An index of more than this many times the pages that its rows need is searched. */
#define OVERGROWN			2

typedef struct StalePage
{
	BlockNumber block;
	XLogRecPtr	lsn;
	int			nrows;
	FullTransactionId newest;	/* newest modifier of its settled rows */
} StalePage;

/* Rows collected since the last pass over the indexes. */
struct ZVacuumStale
{
	int			max_rows;
	int			nrows;
	int			rows_alloc;
	ZMarkedRow *rows;
	int			npages;
	int			pages_alloc;
	StalePage  *pages;
};

static int
max_rows(void)
{
	int64		bytes = Min(vacuum_memory(), (int64) MaxAllocSize);

	/* in the worst case each row is on a page of its own */
	return (int) Max(bytes / (int64) (sizeof(ZMarkedRow) + sizeof(StalePage)), ZPAGE_MAX_OFFSET);
}

static void
stale_open(ZVacuum *vac)
{
	vac->stale = palloc0(sizeof(ZVacuumStale));
	vac->stale->max_rows = max_rows();
	vac->stale->rows_alloc = ZPAGE_MAX_OFFSET;
	vac->stale->rows = palloc(vac->stale->rows_alloc * sizeof(ZMarkedRow));
	vac->stale->pages_alloc = 64;
	vac->stale->pages = palloc(vac->stale->pages_alloc * sizeof(StalePage));
}

static void
make_space(ZVacuumStale *stale)
{
	if (stale->rows_alloc - stale->nrows < ZPAGE_MAX_OFFSET)
	{
		stale->rows_alloc = Min(stale->rows_alloc * 2, stale->max_rows) + ZPAGE_MAX_OFFSET;
		stale->rows = repalloc_huge(stale->rows, stale->rows_alloc * sizeof(ZMarkedRow));
	}
	if (stale->npages == stale->pages_alloc)
	{
		stale->pages_alloc *= 2;
		stale->pages = repalloc_huge(stale->pages, stale->pages_alloc * sizeof(StalePage));
	}
}

/* ---- collecting ---- */

/*
 * Return whether no snapshot of this server needs a version before the one on the page, and no
 * entry will be inserted for it.  *newest is advanced to the version's modifier if that is
 * newer.
 */
static bool
is_settled(ZVacuum *vac, OffsetNumber offnum, FullTransactionId *newest)
{
	ZRowVersion version;
	FullTransactionId maker;

	zmvcc_current(&vac->view, offnum, &version);
	if (version.hdr.flags & ZROW_DELETED)
		return false;
	zmvcc_find_modifier(&vac->view, &version);
	maker = zmodifier_fxid(&version.modifier);
	if (!zmvcc_visible_to_all(vac->rel, maker))
		return false;
	if (!FullTransactionIdIsValid(maker))
	{
		/* below the horizon the modifier is not known: take the newest possible */
		maker = vac->view.horizon;
		FullTransactionIdRetreat(&maker);
	}
	if (FullTransactionIdPrecedes(*newest, maker))
		*newest = maker;
	return true;
}

/*
 * Collect the page's rows with several keys.  The view is of a copy that was made after VACUUM's
 * last change of the page.
 */
void
vacuum_stale_collect(ZVacuum *vac)
{
	Page		page = vac->view.page;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	ZVacuumStale *stale;
	StalePage  *to;

	if (!vac->do_indexes)
		return;
	if (vac->stale == NULL)
		stale_open(vac);
	stale = vac->stale;
	make_space(stale);
	to = &stale->pages[stale->npages];
	*to = (StalePage) {vac->view.block, PageGetLSN(page), 0, InvalidFullTransactionId};
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= max; offnum++)
	{
		ItemId		lp = PageGetItemId(page, offnum);
		ZMarkedRow *row = &stale->rows[stale->nrows];

		if (!zpage_leads_to_row(lp) || !zrow_has_several_keys((char *) page + ItemIdGetOffset(lp)))
			continue;
		ItemPointerSet(&row->tid, to->block, offnum);
		row->flags = is_settled(vac, offnum, &to->newest) ? ZMARKED_SETTLED : 0;
		stale->nrows++;
		to->nrows++;
	}
	if (to->nrows > 0)
	{
		stale->npages++;
		vac->stale_pages++;
	}
}

bool
vacuum_stale_is_full(const ZVacuum *vac)
{
	return vac->stale != NULL && vac->stale->nrows + ZPAGE_MAX_OFFSET > vac->stale->max_rows;
}

/* ---- keys ---- */

/* Form the keys of the page's settled rows.  The view is of a copy of the page. */
static void
form_keys_of_page(ZPageView *view, const StalePage *page, ZMarkedRow *rows, Relation index,
				  TupleTableSlot *slot)
{
	for (int i = 0; i < page->nrows; i++)
	{
		ZMarkedRow *row = &rows[i];
		ZRowVersion version;
		IndexTuple	key;

		if (!(row->flags & ZMARKED_SETTLED))
			continue;
		zmvcc_current(view, ItemPointerGetOffsetNumber(&row->tid), &version);
		zscan_version_store(view, &version, &row->tid, slot);
		key = zkey_form(index, slot);
		row->lsn = page->lsn;
		row->flags |= key == NULL ? ZMARKED_NO_KEY : ZMARKED_HAS_KEY;
		if (key != NULL)
		{
			row->key = zkey_hash(index, key);
			pfree(key);
		}
		ExecClearTuple(slot);
	}
}

/*
 * Form the keys that the collected rows have in an index with expressions or a predicate, where
 * they will be compared with its leaf locked (I3).  Only of the newest version, and only if every
 * snapshot sees it: other versions may be older than the index, and expressions fail for them.
 * A page that has changed since its rows were collected is left for the next VACUUM.  None is
 * formed if the index is not valid, as after a concurrent build that failed: expressions may fail
 * for rows that it lacks.
 */
static void
form_keys(ZVacuum *vac, Relation index)
{
	ZVacuumStale *stale = vac->stale;
	ZMarkedRow *rows = stale->rows;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "zheap keys of rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	TupleTableSlot *slot = table_slot_create(vac->rel, NULL);
	ZPageView	view;
	bool		form = RelationNeedsWAL(vac->rel) && index->rd_index->indisvalid;

	for (int i = 0; i < stale->nrows; i++)
		rows[i].flags &= ~(ZMARKED_HAS_KEY | ZMARKED_NO_KEY);
	zview_open(&view, vac->rel);
	for (int i = 0; i < stale->npages && form; i++)
	{
		const StalePage *page = &stale->pages[i];

		vacuum_delay_point(false);
		if (zview_read(&view, page->block, vac->strategy) && PageGetLSN(view.page) == page->lsn)
			form_keys_of_page(&view, page, rows, index, slot);
		rows += page->nrows;
	}
	zview_close(&view);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

/* ---- entries ---- */

/*
 * Remove the stale entries of the collected rows from all B-trees that may have several entries
 * of a row.  No page is locked.
 */
static void
sweep_indexes(ZVacuum *vac)
{
	ZIndexSweep sweep = {
		.table = vac->rel,.strategy = vac->strategy,.rows = vac->stale->rows,
		.nrows = vac->stale->nrows
	};

	Assert(!zheap_holds_buffer_lock()); /* L1: index pages come first */
	zstats_count(vac->rel, ZTABLE_STALE_REMOVED, 0);	/* let the counter exist, with 0 */
	for (int i = 0; i < vac->nindexes; i++)
	{
		if (!zindex_may_have_several_keys(vac->rel, vac->indexes[i]))
			continue;
		vacuum_begin_index(vac, i, VACUUM_VACUUMING_INDEX);
		zindex_watch(vac->rel, vac->indexes[i]);
		sweep.index = vac->indexes[i];
		sweep.keys = zindex_compares(sweep.index) && !zindex_has_plain_columns(sweep.index);
		if (sweep.keys)
			form_keys(vac, sweep.index);
		zindex_sweep(&sweep);
	}
	vac->stale_removed += sweep.removed;
	vac->leaves += sweep.leaves;
	vac->empty_leaves += sweep.empty;
}

/* ---- marks ---- */

/*
 * Return the xid with which standbys resolve conflicts, or none.  A standby's snapshot that does
 * not see the row as it is may see a version with another key, whose entry is gone: it was
 * removed by a record that cancels such a snapshot, or its index was rebuilt, which the standby
 * was not informed of.
 */
static FullTransactionId
conflict_of(const StalePage *page)
{
	return FullTransactionIdPrecedes(page->newest, zundo_logged_horizon()) ?
		InvalidFullTransactionId : page->newest;
}

/*
 * Remove the marks of rows that have one key again, if the page has not changed since its rows
 * were collected.  Locks the page exclusively.
 */
static void
clear_marks(ZVacuum *vac, const StalePage *page, const ZMarkedRow *rows)
{
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	int			n = 0;
	Buffer		buffer;

	for (int i = 0; i < page->nrows; i++)
	{
		Assert(ItemPointerGetBlockNumber(&rows[i].tid) == page->block);
		if ((rows[i].flags & (ZMARKED_SETTLED | ZMARKED_SEVERAL)) == ZMARKED_SETTLED)
			offsets[n++] = ItemPointerGetOffsetNumber(&rows[i].tid);
	}
	if (n == 0)
		return;
	vac->block = page->block;
	buffer = ReadBufferExtended(vac->rel, MAIN_FORKNUM, page->block, RBM_NORMAL, vac->strategy);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (PageGetLSN(BufferGetPage(buffer)) == page->lsn)
	{
		zdml_clear_marks(vac->rel, buffer, offsets, n, conflict_of(page));
		vac->single += n;
	}
	UnlockReleaseBuffer(buffer);
}

/*
 * Return whether rows keep their marks: some index may have entries of theirs that no sweep finds.
 * Also if it is not valid any more, as scans that began before may still use it.
 */
static bool
marks_stay(const ZVacuum *vac)
{
	/* a page whose changes are not logged does not show whether it has changed */
	if (!RelationNeedsWAL(vac->rel))
		return true;
	for (int i = 0; i < vac->nindexes; i++)
	{
		if (zindex_merges(vac->indexes[i]) || zindex_rechecks(vac->indexes[i]))
			return true;
	}
	return false;
}

/* Do one round: remove the stale entries of the rows collected so far, then their marks. */
void
vacuum_stale_reap(ZVacuum *vac)
{
	ZVacuumStale *stale = vac->stale;
	const ZMarkedRow *rows;
	bool		stay;

	if (stale == NULL || stale->nrows == 0)
		return;
	stay = marks_stay(vac);
	rows = stale->rows;
	vac->doing = VACUUM_NO_BLOCK;
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_INDEX);
	sweep_indexes(vac);
	vac->doing = VACUUM_VACUUMING;
	for (int i = 0; i < stale->npages && !stay; i++)
	{
		vacuum_delay_point(false);
		clear_marks(vac, &stale->pages[i], rows);
		rows += stale->pages[i].nrows;
	}
	vac->doing = VACUUM_NO_BLOCK;
	stale->nrows = stale->npages = 0;
}

/*
 * Estimate the pages of an index with one entry for each row, filled as after random insertions.
 */
static double
pages_needed(ZVacuum *vac, Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);
	Size		entry = sizeof(IndexTupleData);

	for (int i = 0; i < desc->natts; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		int32		width = get_attavgwidth(RelationGetRelid(vac->rel), attno);
		Form_pg_attribute att = TupleDescAttr(desc, i);

		entry += width > 0 ? width : get_typavgwidth(att->atttypid, att->atttypmod);
	}
	return vacuum_all_rows(vac) * (MAXALIGN(entry) + sizeof(ItemIdData)) / (BLCKSZ * USUAL_FILL);
}

/*
 * Return whether there may be many stale entries although few pages have rows with several keys.
 * A single row may have any number.  Until the next ANALYZE the statistics count updates; after
 * that the size of the indexes shows it.
 */
static bool
may_have_many(ZVacuum *vac)
{
	PgStat_StatTabEntry *counted = pgstat_fetch_stat_tabentry(RelationGetRelid(vac->rel));

	if (counted != NULL && counted->dead_tuples > vacuum_all_rows(vac) * VACUUM_BYPASS_PAGES)
		return true;
	for (int i = 0; i < vac->nindexes; i++)
	{
		Relation	index = vac->indexes[i];

		if (zindex_may_have_several_keys(vac->rel, index) &&
			RelationGetNumberOfBlocks(index) > pages_needed(vac, index) * OVERGROWN)
			return true;
	}
	return false;
}

/* Do the last round, unless there are so few rows that reading all B-trees does not pay. */
void
vacuum_stale_reap_last(ZVacuum *vac)
{
	if (vac->stale == NULL || vac->stale->nrows == 0)
		return;
	if (vac->may_bypass && vac->stale_pages < vac->npages * VACUUM_BYPASS_PAGES &&
		!may_have_many(vac))
		vac->stale_left = true;
	else
		vacuum_stale_reap(vac);
}

bool
vacuum_has_empty_leaves(const ZVacuum *vac)
{
	return vac->empty_leaves > vac->leaves * EMPTY_MAX_LEAVES;
}
