/*
 * slot_private.h
 *		What the files of slot/ share.
 */
#ifndef ZHEAP_SLOT_PRIVATE_H
#define ZHEAP_SLOT_PRIVATE_H

#include "zheap/slot/slot.h"

/*
 * Owners that a transaction which only locks looks at, of either kind of slot, before it
 * looks at all: in a crowd most are in progress, which takes a while to find out.
 */
#define FEW_LOOKS	4

/*
 * Where the backend last found a slot on a page: it looks there first, and from there
 * on.  On a page where hundreds of transactions are at work the slot is as a rule that of
 * its own last transaction.  A wrong hint costs a few more looks.
 */
typedef struct SlotHint
{
	Oid			rel;
	BlockNumber block;
	int			slotno;
	int			lock_slotno;	/* on a lock page, or 0 */
} SlotHint;

/* slot_hint.c; never NULL */
extern SlotHint *slot_hint(ZPageView *view);

/*
 * slot_lock.c: the slot on a lock page that the transaction has.  False: it has none;
 * otherwise *result is that of the reservation.
 */
extern bool slot_find_own_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan,
							   ZSlotResult *result);

/* One that is free, on a page that has lock pages; false: there is none. */
extern bool slot_choose_lock(ZPageView *view, ZSlotPlan *plan);

#endif							/* ZHEAP_SLOT_PRIVATE_H */
