/*
 * slot.h
 *		Reserve a transaction slot on a page for the current transaction.
 *
 * A transaction that changes rows has one of the slots that rows can name: those of the table page
 * and its overflow page.  One that only locks rows gets such a slot while there are plenty, else
 * one on a lock page (page_format.h), of which there can be as many as there are transactions.
 *
 * A slot on a lock page leads to the lock records of its owner, and is used only while that
 * transaction is in progress.  Then it is free, however the transaction ended: nothing is rolled
 * back, nothing kept for old snapshots, nothing reported.  Only a transaction that continues after
 * the rollback of a savepoint returns its slot first.
 */
#ifndef ZHEAP_SLOT_H
#define ZHEAP_SLOT_H

#include "storage/buf.h"

#include "zheap/mvcc/view.h"
#include "zheap/page/page_plan.h"

typedef enum ZSlotResult
{
	ZSLOT_OK,
	ZSLOT_ROLL_BACK,			/* first roll back an aborted transaction's rows on the page
								 * (zrollback_page); or, if plan->slotno is set, the records
								 * of that slot (zrollback_lock_slot) */
	ZSLOT_NEED_PAGE				/* all slots belong to transactions in progress, and the page is
								 * full: add a page for slots (zslot_add_page) */
} ZSlotResult;

/*
 * Plan the slot that "fxid" (the current transaction) gets on the page to change rows: its own, a
 * free one, one whose owner is all-visible, a new one, or one whose owner has committed.  Changes
 * nothing; zpage_slot_apply() carries the plan out.  "reserve" is the number of bytes of free
 * space that new slots must leave.  The caller holds the exclusive locks of the table page and its
 * overflow page, at entry and exit, and keeps them until the plan is carried out; after
 * ZSLOT_ROLL_BACK and ZSLOT_NEED_PAGE it unlocks the page and starts again.  ERROR
 * (configuration_limit_exceeded) if all slots belong to transactions in progress and the page has
 * its overflow page.
 */
extern ZSlotResult zslot_reserve(ZPageView *view, FullTransactionId fxid, Size reserve,
								 ZSlotPlan *plan);

/*
 * Do the same to lock a row: the slot may be on a lock page.  Reads lock pages, and perhaps undo:
 * also ERROR (data_corrupted).  ERROR (configuration_limit_exceeded) if all lock pages are full,
 * too.
 */
extern ZSlotResult zslot_reserve_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan);

/*
 * Add an overflow page or one more lock page, after ZSLOT_NEED_PAGE, to a page that had "npages"
 * of them (zview_slot_pages); if it is ZSLOT_NEW_PAGE, the page is a page of zeros, and becomes a
 * table page without slots of its own.  Does nothing if another backend has added one meanwhile.
 * The caller has a pin on the table page and no content lock, at entry and exit; it starts its
 * operation again afterwards.  Takes the relation's extension lock meanwhile.
 */
#define ZSLOT_NEW_PAGE	(-1)
extern void zslot_add_page(Relation rel, Buffer buffer, int npages);

/* ---- slot_own.c ---- */

/*
 * Remember that the current transaction has the slot, which is on a lock page of the viewed page.
 * Called after the change that took or used the slot.  ERROR (out_of_memory) is possible.
 */
extern void zslot_own_set(ZPageView *view, int slotno);

/*
 * Return the slot on the lock pages of the viewed page that the transaction used last, or 0.  The
 * transaction may have lost it, so the caller compares the owner.
 */
extern int	zslot_own_get(ZPageView *view);

#endif							/* ZHEAP_SLOT_H */
