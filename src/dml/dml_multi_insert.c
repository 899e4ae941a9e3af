/*
 * dml_multi_insert.c
 *		Inserting many rows (COPY): as many per page and WAL record as fit.
 *
 * LOCKING: no page on entry and on exit; one table page at a time, exclusively.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "zheap/btree/table_indexes.h"
#include "zheap/dml/logical.h"
#include "zheap/dml/run.h"
#include "zheap/notes/reap.h"
#include "zheap/scan/tuple_slot.h"

/* Place rows from rows[] while they fit the page, at consecutive offsets.  Return their number. */
static int
take_rows(ZTarget *target, const ZChange *change, ZNewRow *rows, int nrows, Size spare)
{
	Page		page = target->view.page;
	Size		space;
	OffsetNumber offnum;
	OffsetNumber max;
	int			n = 0;

	if (target->init_page)
	{
		space = BLCKSZ - SizeOfPageHeaderData - ZPAGE_SPECIAL_SIZE(change->init_slots);
		offnum = FirstOffsetNumber;
		max = 0;
	}
	else
	{
		Size		grow = change->slot.grow * sizeof(ZPageSlot);

		space = zpage_free_total(page);
		if (space < grow)
			return 0;
		space -= grow;
		offnum = zpage_free_offset(page, FirstOffsetNumber);
		max = PageGetMaxOffsetNumber(page);
	}
	while (n < nrows && offnum != InvalidOffsetNumber && offnum <= ZPAGE_MAX_OFFSET)
	{
		Size		need = rows[n].len + (offnum > max ? sizeof(ItemIdData) : 0);

		/* the page was chosen for the first row: fillfactor applies to the others */
		if (need + (n > 0 ? spare : 0) > space)
			break;
		if (offnum <= max && ItemIdIsUsed(PageGetItemId(page, offnum)))
			break;
		rows[n++].offnum = offnum++;
		space -= need;
	}
	/* at consecutive offsets, since one undo record covers them all */
	Assert(n == 0 || rows[n - 1].offnum == rows[0].offnum + n - 1);
	return n;
}

typedef struct MultiInsert
{
	CommandId	cid;
	int			options;
	int			nrows;
	int			done;			/* number of rows that are on pages */
	ZNewRow    *rows;
	ZLogical	logical;
	int		   *told;			/* offsets in "logical" where each row begins, and where the
								 * last one ends */
} MultiInsert;

/*
 * Insert the next rows on the target's page; return their number.  The page is locked on entry;
 * on exit it may not be if the result is 0.
 */
static int
insert_batch(ZTarget *target, MultiInsert *insert)
{
	ZNewRow    *rows = insert->rows + insert->done;
	Size		spare = RelationGetTargetPageFreeSpace(target->rel, HEAP_DEFAULT_FILLFACTOR);
	ZChange		change;
	int			n;
	int			i;

	if (zinsert_plan_slot(target, rows[0].len + sizeof(ItemIdData), insert->options,
						  &change) == ZSTEP_AGAIN)
		return 0;
	n = take_rows(target, &change, rows, insert->nrows - insert->done, spare);
	if (n == 0)
		return 0;
	if (!target->init_page)
		ztarget_check_rows(target);
	ztarget_conflict_in_new(target);
	for (i = 0; i < n; i++)
		zinsert_set_header((char *) rows[i].bytes, &change, 0);
	zinsert_plan_undo(target, &change, insert->cid, rows[0].offnum, n);
	change.row.nrows = n;
	change.row.rows = rows;
	change.logical = zlogical_rows(&insert->logical, insert->told[insert->done],
								   insert->told[insert->done + n], n);
	zchange_execute(target, &change);
	if (change.has_undo)
		zrun_remember(target, &change);
	return n;
}

/* Form all rows, and their data for decoding, in the current memory context. */
static void
form_rows(Relation rel, TupleTableSlot **slots, MultiInsert *insert)
{
	insert->rows = palloc(insert->nrows * sizeof(ZNewRow));
	insert->told = palloc((insert->nrows + 1) * sizeof(int));
	zlogical_open(&insert->logical, rel, insert->options);
	for (int i = 0; i < insert->nrows; i++)
	{
		ZFormedRow	row;

		slots[i]->tts_tableOid = RelationGetRelid(rel);
		zdml_form_whole(rel, slots[i], insert->options, &row);
		insert->rows[i].bytes = row.bytes;
		insert->rows[i].len = row.len;
		insert->told[i] = insert->logical.tuples.len;
		zlogical_add_row(&insert->logical, &row);
	}
	insert->told[insert->nrows] = insert->logical.tuples.len;
}

void
zdml_multi_insert(Relation rel, TupleTableSlot **slots, int nslots, CommandId cid,
				  ZCompatOptions options, struct BulkInsertStateData *bistate)
{
	MultiInsert insert = {.cid = cid, .nrows = nslots};
	ZTarget		target;
	MemoryContext context;
	MemoryContext old;

	zheap_require_preload();
	options = insert.options = zinsert_options(rel, options);
	zreap_begin_write(rel);
	(void) ztable_indexes(rel); /* so that insertions into indexes are reported (N6) */
	context = AllocSetContextCreate(CurrentMemoryContext, "zheap multi insert",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	form_rows(rel, slots, &insert);

	ztarget_open(&target, rel);
	while (insert.done < nslots)
	{
		BlockNumber block;
		int			first = insert.done;
		int			n;

		CHECK_FOR_INTERRUPTS();
		zspace_find(&target, insert.rows[insert.done].len, options, bistate);
		block = BufferGetBlockNumber(target.buffer);
		/* a gap among the free line pointers ends a batch, not the page */
		do
		{
			n = insert_batch(&target, &insert);
			for (int i = insert.done; i < insert.done + n; i++)
				ItemPointerSet(&slots[i]->tts_tid, block, insert.rows[i].offnum);
			insert.done += n;
		} while (n > 0 && insert.done < nslots && target.locked &&
				 zpage_free_for_row(BufferGetPage(target.buffer)) >=
				 insert.rows[insert.done].len + sizeof(ZPageSlot) +
				 RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR));
		ztarget_release(&target);
		for (int i = first; i < insert.done; i++)
			zinsert_tell_slot(slots[i], target.fxid, cid, bistate);
	}
	ztarget_close(&target);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	pgstat_count_heap_insert(rel, nslots);
}
