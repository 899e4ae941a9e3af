/*
 * run.h
 *		Planning insertions; shared by single and multi insert.
 */
#ifndef ZHEAP_RUN_H
#define ZHEAP_RUN_H

#include "zheap/dml/target.h"

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

/* The header of a new row: its modifier flags and slot; "token" is 0 or a speculative one's. */
extern void zinsert_set_header(char *row, const ZChange *change, uint32 token);

/* DONE or AGAIN. */
extern ZStep zinsert_plan_slot(ZTarget *target, Size reserve, int options, ZChange *change);
extern void zinsert_plan_undo(ZTarget *target, ZChange *change, CommandId cid,
							  OffsetNumber offnum, int count);

#endif							/* ZHEAP_RUN_H */
