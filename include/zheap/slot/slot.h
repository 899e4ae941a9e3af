/*
 * slot.h
 *		A transaction slot on a page for the current transaction.
 *
 * A transaction that changes rows has one of the slots that rows can name, those of the
 * table page and its overflow page.  One that only locks rows gets such a slot while
 * there are plenty, else one on a lock page (page_format.h), of which there can be as
 * many as there are transactions.
 *
 * A slot on a lock page leads to the lock records of its owner, and is of use only while
 * that transaction is in progress.  Then it is free, whatever became of the transaction:
 * nothing is rolled back, nothing kept for old snapshots, nobody told.  Only a transaction
 * that goes on after a savepoint was rolled back puts its own slot back first.
 */
#ifndef ZHEAP_SLOT_H
#define ZHEAP_SLOT_H

#include "storage/buf.h"

#include "zheap/mvcc/mvcc.h"

typedef enum ZSlotResult
{
	ZSLOT_OK,
	ZSLOT_ROLL_BACK,			/* an aborted transaction's rows are to be rolled back
								 * first (zrollback_page); or, if plan->slotno is set, what
								 * it did by that slot (zrollback_lock_slot) */
	ZSLOT_NEED_PAGE				/* every slot is taken by a running transaction and
								 * the page is full: it needs one more page for slots */
} ZSlotResult;

/*
 * Plan which slot "fxid" (the current transaction) gets on the page to change rows: its
 * own, a free one, one whose owner is visible to all, a new one, or one whose owner has
 * committed.  Only plans.  The page and its overflow page are locked exclusively.
 * "reserve" bytes of the page's free space are not to be used for new slots.
 */
extern ZSlotResult zslot_reserve(ZPageView *view, FullTransactionId fxid, Size reserve,
								 ZSlotPlan *plan);

/* The same to lock a row: the slot may be on a lock page. */
extern ZSlotResult zslot_reserve_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan);

/*
 * Give the page an overflow page or one more lock page, after ZSLOT_NEED_PAGE, when it had
 * "npages" of them (zview_slot_pages).  The caller holds a pin on the table page and no
 * lock; it starts its operation again afterwards.  Harmless if somebody else was faster.
 * ZSLOT_NEW_PAGE: the page is a page of zeros, and becomes a table page without slots of its own.
 */
#define ZSLOT_NEW_PAGE	(-1)
extern void zslot_add_page(Relation rel, Buffer buffer, int npages);

/* ---- slot_own.c ---- */

/* The current transaction has used the slot, which is on a lock page of the viewed page. */
extern void zslot_own_set(ZPageView *view, int slotno);

/* The one that it used last, and may still have; or 0. */
extern int	zslot_own_get(ZPageView *view);

#endif							/* ZHEAP_SLOT_H */
