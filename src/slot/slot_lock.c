/*
 * slot_lock.c
 *		Slots on lock pages, for transactions that only lock rows.
 *
 * A slot is free if no transaction in progress holds a lock that it leads to.  If any owner down
 * its chain is in progress, all of them are (sub)transactions of one transaction: a slot whose
 * owner has ended is taken without a link (ZTAKE_FREE).  So if an owner has committed, or is
 * all-visible, all owners below it have ended too; below one that has aborted alone, its
 * transaction may still hold locks.
 *
 * LOCKING: the caller holds the exclusive locks of the table page and its overflow page.  They
 * keep lock pages unchanged; each of these is locked in shared mode only while it is read.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"

#include "slot_private.h"

/*
 * Return whether no transaction in progress holds a lock that the slot leads to.  Returns false
 * also if the search would be long (B1).
 */
static bool
locks_have_ended(ZPageView *view, const ZOwner *newest)
{
	ZChainCursor cursor;

	zchain_open(&cursor, view, InvalidOffsetNumber, newest);
	while (FullTransactionIdIsValid(cursor.next.fxid))
	{
		switch (zmvcc_xact_status(cursor.next.fxid))
		{
			case ZXACT_ALL_VISIBLE:
			case ZXACT_COMMITTED:
				return true;
			case ZXACT_ABORTED:
				break;
			default:
				return false;
		}
		if (zview_is_spent(view))
			return false;
		(void) zchain_next(&cursor);
	}
	return true;
}

/*
 * Records that our own savepoints have rolled back must not lie between records that count (C2):
 * so a slot whose owner has aborted is to be rolled back first.
 */
bool
slot_find_own_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan,
				   ZSlotResult *result)
{
	int			slotno = zslot_own_get(view);
	ZOwner		owner;

	if (slotno == 0 || zpage_slot_page(slotno) >= zview_slot_pages(view))
		return false;
	owner = zpage_slot_owner(zpage_slot(NULL, zview_slot_page(view, zpage_slot_page(slotno)),
										slotno));
	*result = ZSLOT_OK;
	if (!FullTransactionIdIsValid(owner.fxid) || locks_have_ended(view, &owner))
		plan->takeover = ZTAKE_FREE;
	else if (FullTransactionIdEquals(owner.fxid, fxid))
		plan->takeover = ZTAKE_OWN;
	else
	{
		switch (zmvcc_xact_status(owner.fxid))
		{
			case ZXACT_OWN:
				plan->takeover = ZTAKE_REUSED;
				plan->prev = owner;
				break;
			case ZXACT_ABORTED:
				*result = ZSLOT_ROLL_BACK;
				break;
			default:
				return false;	/* another transaction's by now */
		}
	}
	plan->slotno = slotno;
	return true;
}

/*
 * Return the number of the first slot, in a round that begins at "slotno", that is free or whose
 * owner is found to have ended; 0 if there is none.  The status of at most "looks" owners is
 * looked up.
 */
static int
find_slot(ZPageView *view, int slotno, int looks)
{
	int			end = ZPAGE_FIRST_OVERFLOW + zview_slot_pages(view) * ZPAGE_OVERFLOW_SLOTS;
	Page		slots = NULL;
	int			k = 0;

	Assert(slotno >= ZPAGE_FIRST_LOCK && slotno < end);
	for (int i = ZPAGE_FIRST_LOCK; i < end; i++)
	{
		ZOwner		owner;

		if (zpage_slot_page(slotno) != k)
			slots = zview_slot_page(view, k = zpage_slot_page(slotno));
		owner = zpage_slot_owner(zpage_slot(NULL, slots, slotno));
		if (!FullTransactionIdIsValid(owner.fxid) ||
			(looks-- > 0 && locks_have_ended(view, &owner)))
			return slotno;
		if (++slotno == end)
			slotno = ZPAGE_FIRST_LOCK;
	}
	return 0;
}

/*
 * The first round looks up few owners: as long as there are slots that were never used, it finds
 * one of these, which needs no look-up.
 */
bool
slot_choose_lock(ZPageView *view, ZSlotPlan *plan)
{
	SlotHint   *hint = slot_hint(view);
	int			nslots = (zview_slot_pages(view) - 1) * ZPAGE_OVERFLOW_SLOTS;
	int			from = hint->lock_slotno;
	int			slotno;

	Assert(nslots > 0);
	if (from == 0 || from >= ZPAGE_FIRST_LOCK + nslots)
		from = ZPAGE_FIRST_LOCK + murmurhash32(MyProcPid) % nslots;
	slotno = find_slot(view, from, FEW_LOOKS);
	if (slotno == 0)
		slotno = find_slot(view, from, nslots);
	if (slotno == 0)
		return false;
	plan->slotno = hint->lock_slotno = slotno;
	plan->takeover = ZTAKE_FREE;
	return true;
}
