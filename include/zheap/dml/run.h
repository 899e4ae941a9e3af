/*
 * run.h
 *		Runs: rows that one command adds to a page, or deletes on it, with a single undo record;
 *		and planning insertions, for single and multi insert.
 */
#ifndef ZHEAP_RUN_H
#define ZHEAP_RUN_H

#include "access/xact.h"

#include "zheap/dml/target.h"
#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"
#include "zheap/record/record.h"

/* A record of this backend to which a run's next row may belong. */
typedef struct ZRun
{
	RelFileLocator locator;
	BlockNumber block;
	FullTransactionId fxid;		/* invalid: no run can be continued */
	ZUndoPtr	undo;			/* the record, and the slot's newest */
	CommandId	cid;
	OffsetNumber first;
	uint16		slotno;
} ZRun;

/* Note the record of a change that was made. */
static inline void
zrun_set(ZRun *run, const ZTarget *target, const ZChange *change)
{
	run->locator = target->rel->rd_locator;
	run->block = target->view.block;
	run->fxid = target->fxid;
	run->undo = change->slot.next.undo;
	run->cid = change->undo.cid;
	run->first = change->undo.offnum;
	run->slotno = change->slot.slotno;
}

/*
 * Return whether the record is the newest of the planned slot, and the command's.  The target's
 * page is locked.
 */
static inline bool
zrun_is_current(const ZRun *run, const ZTarget *target, const ZSlotPlan *slot, CommandId cid)
{
	return slot->takeover == ZTAKE_OWN && slot->slotno == run->slotno &&
		FullTransactionIdEquals(run->fxid, target->fxid) &&
		run->cid == cid && run->block == target->view.block &&
		RelFileLocatorEquals(run->locator, target->rel->rd_locator) &&
		zpage_slot(target->view.page, target->view.overflow, slot->slotno)->undo == run->undo;
}

/* Return whether it may be so, as far as is known without the page, and the page is logged. */
static inline bool
zrun_may_be_current(const ZRun *run, Relation rel, BlockNumber block, CommandId cid)
{
	return FullTransactionIdIsValid(run->fxid) && run->cid == cid && run->block == block &&
		run->slotno <= ZPAGE_MAX_INPAGE &&
		RelFileLocatorEquals(run->locator, rel->rd_locator) && !RelationUsesLocalBuffers(rel) &&
		FullTransactionIdEquals(run->fxid, GetCurrentFullTransactionIdIfAny());
}

/*
 * Return whether the slot is the transaction's and the record is its newest.  The page is
 * locked; the slot is one on the page itself.
 */
static inline bool
zrun_is_newest(const ZRun *run, Page page)
{
	const ZPageSlot *slot;

	if (PageIsNew(page) || zpage_check_header(page) != NULL || run->slotno > zpage_nslots(page))
		return false;
	slot = zpage_slot(page, NULL, run->slotno);
	return slot->undo == run->undo && FullTransactionIdEquals(zpage_slot_fxid(slot), run->fxid);
}

/* ---- insertions (dml_run.c) ---- */

/*
 * A run consists of the rows that one command adds at the end of a page; it has one undo record.
 * zrun_continues() returns whether a row at "offnum" belongs to the run whose record is the
 * slot's newest.  zrun_remember() notes an insertion that was made with a record.  The page is
 * locked exclusively.
 */
extern bool zrun_continues(ZTarget *target, const ZSlotPlan *plan, CommandId cid,
						   OffsetNumber offnum);
extern void zrun_remember(ZTarget *target, const ZChange *change);

/*
 * Insert the formed row if it continues a run, and if its page certainly has room for it; *tid
 * is set then.  Return false if not: it has to be inserted like a first one.  No page is locked
 * on entry and exit.  ERROR (t_r_serialization_failure) under SERIALIZABLE, or a cancel.
 */
extern bool zrun_insert(Relation rel, const ZInsert *insert, ItemPointer tid);

/* ---- deletions (dml_delete_run.c) ---- */

/*
 * The deletion of the target's row is planned, with the version before described; the page is
 * locked exclusively.  Return whether it continues the run whose record is the slot's newest:
 * then it needs no record of its own.
 */
extern bool zrun_deletes_on(ZTarget *target, const ZChange *change);

/* Otherwise let its record begin a run, if the command has deleted the row before on this page. */
extern void zrun_open_deletions(ZTarget *target, ZChange *change);

/* Note a deletion that was made with a record. */
extern void zrun_remember_deletion(ZTarget *target, const ZChange *change);

/*
 * Delete the row if it continues a run, and the snapshot sees its newest version.  Return false
 * if not: it has to be deleted like a first one.  The TID has no tag.  No page is locked on
 * entry and exit.  Errors: see zrun_insert().
 */
extern bool zrun_delete(Relation rel, const ItemPointerData *tid, CommandId cid,
						Snapshot snapshot);

/* ---- planning insertions (dml_insert.c, dml_run.c) ---- */

/*
 * Set the modifier flags and the slot in the header of a new row; "token" is 0 unless the row is
 * speculative.
 */
extern void zinsert_set_header(char *row, const ZChange *change, uint32 token);

/*
 * Return the server's options of an insertion without those that are not followed.  Frozen rows
 * do not name their inserter, so none are made in a table with triggers, which may ask for the
 * rows as inserted.
 */
extern int	zinsert_options(Relation rel, int options);

/*
 * Let the executor slot know that its row was inserted; its TID is in the slot.  No page is
 * locked, because the row may have to be read.
 */
extern void zinsert_tell_slot(TupleTableSlot *slot, FullTransactionId fxid, CommandId cid,
							  struct BulkInsertStateData *bistate);

/*
 * Begin the plan of an insertion on the target's locked page, with a slot ("reserve" as in
 * zslot_reserve); and plan the undo record of "count" rows from "offnum" on, none if they
 * continue a run.  DONE; AGAIN: the page is unlocked.
 */
extern ZStep zinsert_plan_slot(ZTarget *target, Size reserve, int options, ZChange *change);
extern void zinsert_plan_undo(ZTarget *target, ZChange *change, CommandId cid,
							  OffsetNumber offnum, int count);

/* Plan the undo record even if the rows continue a run. */
extern void zinsert_describe(ZTarget *target, ZChange *change, CommandId cid,
							 OffsetNumber offnum, int count);

/*
 * Find a line pointer for a row of "len" bytes.  Return whether the page, with "grow" slots
 * more, has room.  ERROR (data_corrupted) if the page must be compacted and is damaged.
 */
extern bool zinsert_find_place(ZTarget *target, Size len, int grow, OffsetNumber *offnum);

#endif							/* ZHEAP_RUN_H */
