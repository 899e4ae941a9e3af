/*
 * dml_insert.c
 *		Inserting one row.
 *
 * Undo: one small record for all rows that a command adds at the end of a page.  A row inserted
 * by an aborted transaction needs nothing else: its header says that nothing precedes it
 * (ZROW_INSERTED).
 *
 * LOCKING: no page on entry and on exit.  insert_into() and the functions that plan for it:
 * the page is locked exclusively, on exit as well, except after AGAIN (unlocked).
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/btree/table_indexes.h"
#include "zheap/dml/logical.h"
#include "zheap/dml/run.h"
#include "zheap/dml/target.h"
#include "zheap/notes/reap.h"
#include "zheap/scan/tuple_slot.h"

/* ---- one row ---- */

int
zinsert_options(Relation rel, int options)
{
	return rel->trigdesc != NULL ? options & ~HEAP_INSERT_FROZEN : options;
}

/*
 * Plan the slot.  On a page that is still to be initialised it is the first one.  Rows that are
 * frozen from the start get none (COPY FREEZE into a table made in the same transaction, which
 * vanishes with it).
 */
ZStep
zinsert_plan_slot(ZTarget *target, Size reserve, int options, ZChange *change)
{
	memset(change, 0, sizeof(*change));
	change->init_page = target->init_page;
	if (target->init_page)
		change->init_slots = zpage_slots_beside(reserve - sizeof(ItemIdData),
												zheap_initial_slots);
	change->row.op = ZOP_INSERT;
	change->slot.conflict = InvalidFullTransactionId;
	if (options & HEAP_INSERT_FROZEN)
		return ZSTEP_DONE;
	change->has_undo = true;
	if (!target->init_page)
		return ztarget_reserve_slot(target, reserve, &change->slot);
	if (change->init_slots == 0)
		return ztarget_add_overflow_page(target);
	change->slot.slotno = 1;
	change->slot.takeover = ZTAKE_FREE;
	return ZSTEP_DONE;
}

void
zinsert_describe(ZTarget *target, ZChange *change, CommandId cid, OffsetNumber offnum, int count)
{
	OffsetNumber max = target->init_page ? 0 : PageGetMaxOffsetNumber(target->view.page);
	ZUndoRecord *undo = &change->undo;

	Assert(change->has_undo);
	Assert(offnum >= FirstOffsetNumber && count > 0 && offnum + count - 1 <= ZPAGE_MAX_OFFSET);
	undo->type = ZOP_INSERT;
	undo->offnum = offnum;
	undo->count = count;
	undo->cid = cid;
	/* below the last line pointer a run would claim rows of others */
	undo->open_run = offnum > max;
}

/* Plan the undo record of "count" rows from "offnum" on; none if a run continues. */
void
zinsert_plan_undo(ZTarget *target, ZChange *change, CommandId cid, OffsetNumber offnum, int count)
{
	if (!change->has_undo)
		return;
	if (zrun_continues(target, &change->slot, cid, offnum))
		change->has_undo = false;
	else
		zinsert_describe(target, change, cid, offnum, count);
}

bool
zinsert_find_place(ZTarget *target, Size len, int grow, OffsetNumber *offnum)
{
	Page		page = target->view.page;
	Size		need = len + sizeof(ItemIdData);

	*offnum = zpage_free_offset(page, FirstOffsetNumber);
	/* count like zpage_free_for_row, or this page would be chosen forever */
	if (*offnum <= PageGetMaxOffsetNumber(page))
		need = len;
	if (*offnum == InvalidOffsetNumber ||
		!zpage_has_total(page, need + grow * sizeof(ZPageSlot)))
		return false;
	if (zpage_free_contiguous(page) < need)
		ztarget_check_rows(target);
	return true;
}

/*
 * Insert into the target's locked page, and set *tid.  DONE; AGAIN: the page is unlocked;
 * NO_ROOM.
 */
static ZStep
insert_into(ZTarget *target, const ZInsert *insert, ItemPointer tid)
{
	ZChange		change;
	ZNewRow		new;
	Size		need = insert->len + sizeof(ItemIdData);

	Assert(target->locked && insert->len <= ZPAGE_MAX_ROW);
	if (zinsert_plan_slot(target, need, insert->options, &change) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	if (target->init_page)
		new.offnum = FirstOffsetNumber;
	else if (!zinsert_find_place(target, insert->len, change.slot.grow, &new.offnum))
		return ZSTEP_NO_ROOM;
	ztarget_conflict_in_new(target);
	zinsert_set_header(insert->row, &change, insert->token);
	if (insert->token != 0)
	{
		/* it belongs to no run, as the record has the token that others wait for */
		zinsert_describe(target, &change, insert->cid, new.offnum, 1);
		change.undo.open_run = false;
		change.undo.token = insert->token;
	}
	else
		zinsert_plan_undo(target, &change, insert->cid, new.offnum, 1);
	new.len = insert->len;
	new.bytes = insert->row;
	change.row.nrows = 1;
	change.row.rows = &new;
	change.logical = insert->logical;
	zchange_execute(target, &change);
	if (change.has_undo)
		zrun_remember(target, &change);
	ItemPointerSet(tid, BufferGetBlockNumber(target->buffer), new.offnum);
	return ZSTEP_DONE;
}

void
zdml_insert_row(Relation rel, const ZInsert *insert, ItemPointer tid)
{
	ZTarget		target;
	ZStep		step;

	if (zrun_insert(rel, insert, tid))
		return;
	ztarget_open(&target, rel);
	do
	{
		zspace_find(&target, insert->len, insert->options, insert->bistate);
		step = insert_into(&target, insert, tid);
		ztarget_release(&target);
	} while (step != ZSTEP_DONE);
	ztarget_close(&target);
}

void
zinsert_tell_slot(TupleTableSlot *slot, FullTransactionId fxid, CommandId cid,
				  struct BulkInsertStateData *bistate)
{
	/* system columns are not needed of rows that are loaded from heap */
	if (TTS_IS_ZHEAP(slot) || bistate == NULL)
		ztuple_slot_written(slot, fxid, cid, false);
}

void
zdml_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid, ZCompatOptions options,
						struct BulkInsertStateData *bistate, uint32 token)
{
	ZInsert		insert = {.cid = cid, .bistate = bistate, .token = token};
	ZFormedRow	row;
	ZLogical	logical;

	zheap_require_preload();
	insert.options = zinsert_options(rel, options);
	zreap_begin_write(rel);
	(void) ztable_indexes(rel); /* so that insertions into indexes are reported (N6) */
	slot->tts_tableOid = RelationGetRelid(rel);
	zdml_form_whole(rel, slot, insert.options, &row);
	insert.row = row.bytes;
	insert.len = row.len;
	zlogical_open(&logical, rel, insert.options);
	insert.logical = zlogical_insert(&logical, &row, token);
	zdml_insert_row(rel, &insert, &slot->tts_tid);
	zlogical_close(&logical);
	zinsert_tell_slot(slot, GetCurrentFullTransactionId(), cid, bistate);
	zdml_form_release(&row);
	pgstat_count_heap_insert(rel, 1);
}

void
zdml_insert(Relation rel, TupleTableSlot *slot, CommandId cid, ZCompatOptions options,
			struct BulkInsertStateData *bistate)
{
	zdml_insert_speculative(rel, slot, cid, options, bistate, 0);
}
