/*
 * slot.h
 *		A transaction slot on a page for the current transaction.
 */
#ifndef ZHEAP_SLOT_H
#define ZHEAP_SLOT_H

#include "postgres.h"

#include "storage/buf.h"

#include "zheap/mvcc/mvcc.h"

typedef enum ZSlotResult
{
	ZSLOT_OK,
	ZSLOT_ROLL_BACK,			/* an aborted transaction's rows are to be rolled back
								 * first (zrollback_page) */
	ZSLOT_NEED_PAGE				/* every slot is taken by a running transaction and
								 * the page is full: it needs an overflow page */
} ZSlotResult;

/*
 * Plan which slot "fxid" (the current transaction) gets on the page: its own, a
 * free one, one whose owner is visible to all, a new one, or one whose owner has
 * committed.  Only plans.  The page and its overflow page are locked exclusively.
 * "reserve" bytes of the page's free space are not to be used for new slots.
 */
extern ZSlotResult zslot_reserve(ZPageView *view, FullTransactionId fxid, Size reserve,
								 ZSlotPlan *plan);

/*
 * Give the page an overflow page, after ZSLOT_NEED_PAGE.  The caller holds a pin on
 * the table page and no lock; it starts its operation again afterwards.  Harmless
 * if somebody else was faster.
 */
extern void zslot_add_overflow_page(Relation rel, Buffer buffer);

#endif							/* ZHEAP_SLOT_H */
