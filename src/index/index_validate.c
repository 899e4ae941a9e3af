/*
 * index_validate.c
 *		CREATE INDEX CONCURRENTLY, second scan: find the rows that the index being
 *		built does not have yet.
 *
 * A merge of two sorted lists of TIDs: the index's, which the caller has sorted, and the table's
 * rows that the reference snapshot sees, in the order of the pages.  All versions of a row share
 * one TID, so no chain has to be followed.
 *
 * LOCKING: as a sequential scan.  No page is locked during index insertions.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "zheap/index/index.h"
#include "zheap/scan/scan.h"
#include "zheap/undo/undo_relation.h"

/* The index's side of the merge. */
typedef struct IndexCursor
{
	Tuplesortstate *sort;
	ItemPointerData tid;		/* the current one, unless done; invalid at the start */
	ItemPointerData asked;		/* last TID of the table's side, for an assertion */
	bool		done;
} IndexCursor;

typedef struct Validation
{
	Relation	table;
	Relation	index;
	IndexInfo  *info;
	ValidateIndexState *state;
	IndexCursor cursor;
	ZScan	   *scan;
	EState	   *estate;
	ExprContext *econtext;
	ExprState  *predicate;
	TupleTableSlot *slot;
} Validation;

static void
cursor_next(IndexCursor *cursor)
{
	Datum		value;
	bool		isnull;

	cursor->done = !tuplesort_getdatum(cursor->sort, true, false, &value, &isnull, NULL);
	if (cursor->done)
		return;

	Assert(!isnull);
	itemptr_decode(&cursor->tid, DatumGetInt64(value));
#ifndef USE_FLOAT8_BYVAL
	pfree(DatumGetPointer(value));
#endif
}

/* Return whether the index has an entry for tid.  Must be called in ascending order. */
static bool
cursor_has(IndexCursor *cursor, ItemPointer tid)
{
	/* the lists are merged, so neither may go back */
	Assert(!ItemPointerIsValid(&cursor->asked) || ItemPointerCompare(&cursor->asked, tid) < 0);
	cursor->asked = *tid;
	while (!cursor->done &&
		   (!ItemPointerIsValid(&cursor->tid) ||
			ItemPointerCompare(&cursor->tid, tid) < 0))
		cursor_next(cursor);

	return !cursor->done && ItemPointerCompare(&cursor->tid, tid) == 0;
}

/* Insert an entry for the row in the slot, if it satisfies the predicate. */
static void
insert_missing(Validation *val)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	Assert(!zheap_holds_buffer_lock()); /* I3: the index locks its own pages */
	MemoryContextReset(val->econtext->ecxt_per_tuple_memory);
	if (val->predicate != NULL && !ExecQual(val->predicate, val->econtext))
		return;

	FormIndexDatum(val->info, val->slot, val->estate, values, isnull);

	/*
	 * the index may look at rows of entries with their page locked, and expressions may have run
	 */
	zundo_open();

	/*
	 * Check uniqueness even if the row has been deleted since: the check looks at the row by its
	 * TID and will see that.
	 */
	index_insert(val->index, values, isnull, &val->slot->tts_tid, val->table,
				 val->info->ii_Unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
				 false, val->info);
	val->state->tups_inserted += 1;
}

static void
validate_page(Validation *val)
{
	ZScan	   *scan = val->scan;
	int			i;

	for (i = 0; i < scan->nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();

		if (!zscan_row_store(scan, &scan->rows[i], val->slot))
			continue;
		val->state->htups += 1;
		if (!cursor_has(&val->cursor, &val->slot->tts_tid))
			insert_missing(val);
	}
}

void
zindex_validate_scan(Relation table, Relation index, IndexInfo *info,
					 Snapshot snapshot, ValidateIndexState *state)
{
	Validation	val = {0};

	Assert(IsMVCCSnapshot(snapshot));
	val.table = table;
	val.index = index;
	val.info = info;
	val.state = state;
	val.cursor.sort = state->tuplesort;
	ItemPointerSetInvalid(&val.cursor.tid);
	ItemPointerSetInvalid(&val.cursor.asked);

	val.estate = CreateExecutorState();
	val.econtext = GetPerTupleExprContext(val.estate);
	val.slot = table_slot_create(table, NULL);
	val.econtext->ecxt_scantuple = val.slot;
	val.predicate = ExecPrepareQual(info->ii_Predicate, val.estate);

	/* from block 0 on, not synchronized: the sorted TIDs begin there, too */
	val.scan = (ZScan *) table_beginscan_strat(table, snapshot, 0, NULL, true, false);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, val.scan->nblocks);

	while (zscan_block_next(val.scan, false))
	{
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, val.scan->block);
		validate_page(&val);
	}

	table_endscan(&val.scan->base);
	ExecDropSingleTupleTableSlot(val.slot);
	FreeExecutorState(val.estate);

	/* these pointed into the executor state */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
}
