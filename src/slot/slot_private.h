/*
 * slot_private.h
 *		Declarations shared by the files of slot/.
 */
#ifndef ZHEAP_SLOT_PRIVATE_H
#define ZHEAP_SLOT_PRIVATE_H

#include "zheap/page/page_plan.h"
#include "zheap/slot/slot.h"

/*
 * How many owners, of either kind of slot, a transaction that only locks looks up before it looks
 * up all of them: on a crowded page most are in progress, which is expensive to find out.
 */
#define FEW_LOOKS	4

/*
 * The slot that the backend last found on a page: it looks there first, and continues from there.
 * On a page where hundreds of transactions are at work it is usually the slot of the backend's own
 * last transaction.  A wrong hint costs a few more look-ups.
 */
typedef struct SlotHint
{
	Oid			rel;
	BlockNumber block;
	int			slotno;
	int			lock_slotno;	/* on a lock page, or 0 */
} SlotHint;

/*
 * slot_hint.c: return the hint for the viewed page, a new one if there was none; never NULL.  It
 * is static memory, valid until the next call.  A backend remembers 256.
 */
extern SlotHint *slot_hint(ZPageView *view);

/*
 * slot_lock.c: plan to use the slot on a lock page that the transaction has.  Returns false if it
 * has none; otherwise *result is the result of the reservation, ZSLOT_OK or ZSLOT_ROLL_BACK.
 * Table page and overflow page are locked exclusively.  ERROR (data_corrupted) if undo cannot be
 * read.
 */
extern bool slot_find_own_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan,
							   ZSlotResult *result);

/*
 * Plan to take a free slot on the lock pages, of which there is at least one.  Returns false if
 * none is free.  Locks and errors as above.
 */
extern bool slot_choose_lock(ZPageView *view, ZSlotPlan *plan);

#endif							/* ZHEAP_SLOT_PRIVATE_H */
