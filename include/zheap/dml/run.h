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

/* DONE or AGAIN. */
extern ZStep zinsert_plan_slot(ZTarget *target, Size reserve, int options, ZChange *change);
extern void zinsert_plan_undo(ZTarget *target, ZChange *change, CommandId cid,
							  OffsetNumber offnum, int count);
extern void zinsert_set_header(char *row, const ZChange *change, uint32 token);

#endif							/* ZHEAP_RUN_H */
