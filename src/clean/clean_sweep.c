/*
 * clean_sweep.c
 *		Remove the entries of pruned rows to which no key leads.
 *
 * Earlier keys of a row that has had several are not known.  So, for a number of such rows
 * together, all leaves of the indexes that may have several entries of a row are searched: a
 * sweep, of which each of the writer's batches does a portion.  Rows noted meanwhile wait for
 * the next sweep.  If the rows include one whose keys are all unknown, every index is swept.
 *
 * A paused sweep is begun anew if the indexes have changed meanwhile, and given up, with its
 * rows, if VACUUM has freed line pointers (zreap_check_notes).
 *
 * LOCKING: ShareUpdateExclusiveLock on the table (clean_by_writer.c).  No page is locked on
 * entry; then an index page and table pages below it.
 */
#include "postgres.h"

#include "access/transam.h"

#include "zheap/index/index_leaf.h"
#include "zheap/notes/reap.h"

#include "clean_private.h"

/* Number of leaves that a batch visits. */
#define PORTION			256

/* Number of leaves that each row may cost if there are as many rows as can be swept at once. */
#define LEAVES_A_ROW	8

/* Most leaves of indexes where the walk cannot pause, because a single batch visits them all. */
#define MAX_UNPAUSED	1024

static bool
may_pause(List *indexes)
{
	ListCell   *lc;

	foreach(lc, indexes)
	{
		if (!clean_may_pause(lfirst(lc)))
			return false;
	}
	return list_length(indexes) <= ZREAP_MAX_INDEXES;
}

/*
 * Return whether "nrows" rows are enough for the leaves to search; *leaves is set to their
 * number.
 */
static bool
sweep_pays(ZReapNotes *notes, int nrows, List *indexes, BlockNumber *leaves)
{
	BlockNumber max = (BlockNumber) nrows;
	ListCell   *lc;

	if (!may_pause(indexes))
		max = Min(max, MAX_UNPAUSED);
	else if (nrows == ZREAP_MAX_SWEPT)
		max *= LEAVES_A_ROW;
	*leaves = 0;
	foreach(lc, indexes)
	{
		*leaves += zindex_count_leaves(lfirst(lc), max, &notes->looks);
		if (*leaves > max)
			return false;
	}
	return true;
}

/*
 * Return whether the paused sweep can be continued in these indexes.  They may have been
 * rebuilt, or a column may have got a type whose order is not certain.
 */
static bool
sweep_goes_on(const ZReapNotes *notes, List *indexes)
{
	const ZReapWalk *walk = &notes->lists->walk;

	if (walk->nindexes != list_length(indexes) || !may_pause(indexes))
		return false;
	for (int i = 0; i < walk->nindexes; i++)
	{
		if (!RelFileLocatorEquals(walk->indexes[i], ((Relation) list_nth(indexes, i))->rd_locator))
			return false;
	}
	return true;
}

/* Begin a sweep for the "nrows" rows that have waited longest. */
static void
begin_sweep(ZReapNotes *notes, int nrows, List *indexes, BlockNumber leaves)
{
	ZReapWalk  *walk = &notes->lists->walk;

	Assert(notes->npointers + nrows <= ZREAP_MAX_POINTERS);
	notes->nswept = nrows;
	zreap_sort_rows(notes->lists->waiting, nrows);
	walk->nindexes = list_length(indexes);
	walk->at = 0;
	walk->paused = false;
	walk->leaves = 0;
	walk->expected = leaves;
	for (int i = 0; i < Min(walk->nindexes, ZREAP_MAX_INDEXES); i++)
		walk->indexes[i] = ((Relation) list_nth(indexes, i))->rd_locator;
}

/*
 * End the sweep: note the pointers of rows that no index names any more, and give up the others.
 */
static void
end_sweep(ZReapNotes *notes)
{
	FullTransactionId now = ReadNextFullTransactionId();
	ZReapRow   *rows = notes->lists->waiting;

	for (int i = 0; i < notes->nswept; i++)
	{
		if (rows[i].removed == notes->lists->walk.nindexes)
			zreap_note_pointer(notes, &rows[i], now);
		else
			notes->lost++;
	}
	notes->nwaiting -= notes->nswept;
	memmove(rows, rows + notes->nswept, notes->nwaiting * sizeof(ZReapRow));
	notes->nswept = 0;
}

/*
 * Return whether the walk has visited far more leaves than there were: others add them as fast
 * as it walks.
 */
static bool
is_hopeless(const ZReapWalk *walk)
{
	return walk->leaves > 2 * walk->expected + 2 * MAX_UNPAUSED;
}

/* Sweep a portion of the leaves, or all if the walk cannot pause. */
static void
go_on_with_sweep(Relation rel, ZReapNotes *notes, List *indexes)
{
	ZReapWalk  *walk = &notes->lists->walk;
	ZIndexRemoval removal = {.table = rel,.notes = notes};
	bool		pause = may_pause(indexes);
	BlockNumber begun = walk->leaves;
	bool		complete = true;

	while (walk->at < walk->nindexes && complete)
	{
		removal.index = list_nth(indexes, walk->at);
		removal.max_leaves = pause ?
			PORTION - Min(walk->leaves - begun, PORTION - 1) : 2 * MAX_UNPAUSED;
		complete = clean_sweep_dead(&removal, pause);
		walk->at += complete;
	}
	clean_count(&removal);
	elog(DEBUG2, "zheap: sweep of table \"%s\" for %d rows %s after %u leaves of %u",
		 RelationGetRelationName(rel), notes->nswept, complete ? "ended" : "paused",
		 walk->leaves, walk->expected);
	if (complete || is_hopeless(walk))
		end_sweep(notes);
}

static bool
some_are_anywhere(const ZReapNotes *notes, int nrows)
{
	for (int i = 0; i < nrows; i++)
	{
		if (notes->lists->waiting[i].anywhere)
			return true;
	}
	return false;
}

/* Give up waiting rows, which are left to VACUUM: those that may be anywhere, or all. */
static void
give_up_waiting(ZReapNotes *notes, bool all)
{
	ZReapRow   *rows = notes->lists->waiting;
	int			kept = 0;

	for (int i = 0; i < notes->nwaiting; i++)
	{
		if (!all && !rows[i].anywhere)
			rows[kept++] = rows[i];
	}
	notes->lost += notes->nwaiting - kept;
	notes->nwaiting = kept;
}

/*
 * Begin a sweep if it pays.  If it does not pay for as many rows as can be swept at once it
 * never will: give them up.
 */
static void
begin_if_it_pays(ZReapNotes *notes, List *indexes, List *several)
{
	int			nrows = Min(notes->nwaiting, ZREAP_MAX_SWEPT);
	bool		all = some_are_anywhere(notes, nrows);
	BlockNumber leaves;

	if (nrows == 0 || notes->npointers + nrows > ZREAP_MAX_POINTERS)
		return;
	if (sweep_pays(notes, nrows, all ? indexes : several, &leaves))
	{
		notes->lists->walk.all = all;
		begin_sweep(notes, nrows, all ? indexes : several, leaves);
	}
	else if (nrows == ZREAP_MAX_SWEPT)
		give_up_waiting(notes, !all);
}

void
clean_sweep(Relation rel, ZReapNotes *notes, List *indexes, List *several)
{
	ZReapWalk  *walk = &notes->lists->walk;

	if (notes->nswept > 0 && !sweep_goes_on(notes, walk->all ? indexes : several))
		notes->nswept = 0;
	if (notes->nswept == 0)
		begin_if_it_pays(notes, indexes, several);
	if (notes->nswept > 0)
		go_on_with_sweep(rel, notes, walk->all ? indexes : several);
}
