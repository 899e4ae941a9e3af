/*
 * run.h
 *		Rows that one command adds to a page, or deletes on it, recorded in undo once; and
 *		planning insertions, for single and multi insert.
 */
#ifndef ZHEAP_RUN_H
#define ZHEAP_RUN_H

#include "zheap/dml/target.h"

/*
 * Has the page, which is locked, the run's record as the newest of the transaction's slot?  The
 * slot is one on the page itself.
 */
static inline bool
zrun_is_newest(Page page, int slotno, FullTransactionId fxid, ZUndoPtr undo)
{
	const ZPageSlot *slot;

	if (PageIsNew(page) || zpage_check_header(page) != NULL || slotno > zpage_nslots(page))
		return false;
	slot = zpage_slot(page, NULL, slotno);
	return slot->undo == undo && FullTransactionIdEquals(zpage_slot_fxid(slot), fxid);
}

/* ---- insertions (dml_run.c) ---- */

/*
 * A run is what one command adds at the end of a page: recorded in undo once.
 * Does a row at offnum belong to the run whose record is the slot's newest?
 */
extern bool zrun_continues(ZTarget *target, const ZSlotPlan *plan, CommandId cid,
						   OffsetNumber offnum);
extern void zrun_remember(ZTarget *target, const ZChange *change);

/*
 * Insert the formed row if it goes on with a run, and if its page has room for it beyond doubt;
 * false: it has to be inserted like a first one.  No page is locked on entry and on return.
 */
extern bool zrun_insert(Relation rel, const ZInsert *insert, ItemPointer tid);

/* ---- deletions (dml_delete_run.c) ---- */

/*
 * Planned is the deletion of the target's row, with the version before described.  Does it go on
 * with the run whose record is the slot's newest?  Then it has no record of its own.
 */
extern bool zrun_deletes_on(ZTarget *target, const ZChange *change);

/* Else: let its record begin a run, if the command has deleted the row before on this page. */
extern void zrun_open_deletions(ZTarget *target, ZChange *change);

/* The deletion has been carried out, with a record. */
extern void zrun_remember_deletion(ZTarget *target, const ZChange *change);

/*
 * Delete the row if it goes on with a run, and the snapshot sees its newest version; false: it has
 * to be deleted like a first one.  The TID has no tag.  No page is locked on entry and on return.
 */
extern bool zrun_delete(Relation rel, const ItemPointerData *tid, CommandId cid,
						Snapshot snapshot);

/* ---- planning insertions (dml_insert.c, dml_run.c) ---- */

/* The header of a new row: its modifier flags and slot; "token" is 0 or a speculative one's. */
extern void zinsert_set_header(char *row, const ZChange *change, uint32 token);

/*
 * The server's options of an insertion, as far as they are followed.  Rows that are frozen from
 * the start have nobody's name, so none are made where triggers may ask for them as inserted.
 */
extern int	zinsert_options(Relation rel, int options);

/*
 * The slot's row has been inserted; its TID stands in the slot.  No page is locked, as the row may
 * have to be read.
 */
extern void zinsert_tell_slot(TupleTableSlot *slot, FullTransactionId fxid, CommandId cid,
							  struct BulkInsertStateData *bistate);

/* DONE or AGAIN. */
extern ZStep zinsert_plan_slot(ZTarget *target, Size reserve, int options, ZChange *change);
extern void zinsert_plan_undo(ZTarget *target, ZChange *change, CommandId cid,
							  OffsetNumber offnum, int count);

/* The same, but even if it goes on with a run it gets a record. */
extern void zinsert_describe(ZTarget *target, ZChange *change, CommandId cid,
							 OffsetNumber offnum, int count);

/* The line pointer for a row of "len" bytes, if the page, with "grow" slots more, has room. */
extern bool zinsert_find_place(ZTarget *target, Size len, int grow, OffsetNumber *offnum);

#endif							/* ZHEAP_RUN_H */
