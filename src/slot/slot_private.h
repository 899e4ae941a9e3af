/*
 * slot_private.h
 *		What the files of slot/ share.
 */
#ifndef ZHEAP_SLOT_PRIVATE_H
#define ZHEAP_SLOT_PRIVATE_H

#include "zheap/slot/slot.h"

/* Owners in progress that are looked at before a slot that is not the best will do. */
#define ENOUGH		16

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

/* slot_reserve.c; never NULL */
extern SlotHint *slot_hint(ZPageView *view);

/* slot_lock.c: a slot on a lock page, all others being taken */
extern ZSlotResult slot_choose_lock(ZPageView *view, ZSlotPlan *plan);

/* The one that the transaction has already; false: it has none. */
extern bool slot_find_own_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan);

extern void slot_report_crowd(ZPageView *view, int nslots) pg_attribute_noreturn();

#endif							/* ZHEAP_SLOT_PRIVATE_H */
