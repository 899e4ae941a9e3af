/*
 * slot_reserve.c
 *		Choose the slot that a transaction gets on a page.
 *
 * In order of preference: its own; a free one; one whose owner is all-visible (its rows become
 * frozen); a new one while the page has plenty of room; one whose owner has committed (or is an
 * earlier subtransaction of ours), which stays reachable through our undo; a new one in the last
 * room; one on the overflow page.  No transaction ever waits for a slot.
 *
 * A transaction that only locks rows gets none of the last slots that rows can name
 * (ZPAGE_MAX_SHARED_SLOTNO); where others are scarce it gets one on a lock page (slot_lock.c).
 *
 * On a page that crowded, a subtransaction takes the slot that its own transaction has there: a
 * page has slots for more than 200 sessions, but not for any number of subtransactions of each.
 *
 * LOCKING: the caller holds the exclusive locks of the table page and its overflow page.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"

#include "zheap/mvcc/status.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_horizon.h"

#include "slot_private.h"

/*
 * add a slot rather than reuse one while this many bytes of the page are free, up to this many
 * slots
 */
#define GROW_GENEROUS_SPACE		(BLCKSZ / 8)
#define GROW_GENEROUS_SLOTS		16

/* The kind of slot wanted. */
typedef struct Wanted
{
	FullTransactionId fxid;		/* the transaction */
	int			max;			/* maximum number of a slot that is not its own */
	int			looks;			/* maximum of owners to look up */
	bool		known;			/* look up only owners of known status (zmvcc_known_status) */
} Wanted;

typedef struct Candidates
{
	int			looked;			/* owners looked up */
	int			free;
	int			all_visible;
	uint32		all_visible_mask;	/* slots on the page itself: bit k, slot k */
	FullTransactionId all_visible_fxid; /* newest */
	int			reuse;
	FullTransactionId reuse_fxid;	/* oldest */
	int			ours;			/* slot of another subtransaction of ours */
	bool		aborted;
} Candidates;

static void
note_all_visible(Candidates *cand, int slotno, FullTransactionId owner)
{
	if (cand->all_visible == 0)
		cand->all_visible = slotno;
	if (FullTransactionIdPrecedes(cand->all_visible_fxid, owner))
		cand->all_visible_fxid = owner;
	if (slotno <= ZPAGE_MAX_INPAGE)
		cand->all_visible_mask |= (uint32) 1 << slotno;
}

/* Note a slot that can be reused, if its owner is older than that of the one noted before. */
static void
note_reusable(Candidates *cand, int slotno, FullTransactionId owner)
{
	if (cand->reuse != 0 && !FullTransactionIdPrecedes(owner, cand->reuse_fxid))
		return;
	cand->reuse = slotno;
	cand->reuse_fxid = owner;
}

/*
 * Return whether a committed owner is all-visible.  One that is older than another all-visible
 * one is, and one that is newer than one that is not is not.
 */
static bool
is_all_visible(ZPageView *view, const Candidates *cand, FullTransactionId owner)
{
	if (FullTransactionIdPrecedes(owner, cand->all_visible_fxid))
		return true;
	return (cand->reuse == 0 || FullTransactionIdPrecedes(owner, cand->reuse_fxid)) &&
		zmvcc_visible_to_all(view->rel, owner);
}

/*
 * Find out which kind of candidate the slot is, and note it.  Reads the commit log if the backend
 * does not remember the owner's end.
 */
static void
look_at_slot(ZPageView *view, const Wanted *wanted, int slotno, Candidates *cand)
{
	FullTransactionId owner = zpage_slot_fxid(zpage_slot(view->page, view->overflow, slotno));
	ZXactStatus	status;

	if (!FullTransactionIdIsValid(owner))
	{
		if (cand->free == 0)
			cand->free = slotno;
		return;
	}
	cand->looked++;
	status = wanted->known ? zmvcc_known_status(owner) : zmvcc_xact_status(owner);
	if (status == ZXACT_OWN)
		cand->ours = slotno;
	switch (status)
	{
		case ZXACT_ALL_VISIBLE:
			note_all_visible(cand, slotno, owner);
			break;
		case ZXACT_ABORTED:
			cand->aborted = true;
			break;
		case ZXACT_COMMITTED:
			if (cand->free == 0 && is_all_visible(view, cand, owner))
				note_all_visible(cand, slotno, owner);
			else
				note_reusable(cand, slotno, owner);
			break;
		case ZXACT_OWN:
			note_reusable(cand, slotno, owner);
			break;
		default:
			break;
	}
}

/* Return the number of overflow pages, 0 or 1, whose slots rows can name. */
static int
named_pages(ZPageView *view)
{
	return view->overflow ? 1 : 0;
}

/* Owners to look up before a slot that is not the best is taken. */
#define ENOUGH		16

static bool
is_good_enough(ZPageView *view, const Candidates *cand)
{
	/* without an overflow page all are looked up, as some may have aborted */
	return view->overflow != NULL &&
		(cand->free || cand->all_visible || cand->ours ||
		 (cand->reuse && cand->looked >= ENOUGH));
}

/* Look up owners in a round that begins at the slot found last. */
static void
look_at_owners(ZPageView *view, const Wanted *wanted, Candidates *cand)
{
	int			nslots = zpage_nslots(view->page);
	int			total = nslots + named_pages(view) * ZPAGE_OVERFLOW_SLOTS;
	int			slotno = slot_hint(view)->slotno;

	if (slotno > nslots && (view->overflow == NULL || slotno < ZPAGE_FIRST_OVERFLOW))
		slotno = zpage_next_slotno(view->page, named_pages(view), 0);
	for (int i = 0; i < total && cand->looked < wanted->looks && !is_good_enough(view, cand); i++)
	{
		if (slotno <= wanted->max)
			look_at_slot(view, wanted, slotno, cand);
		slotno = zpage_next_slotno(view->page, named_pages(view), slotno);
		if (slotno == 0)
			slotno = zpage_next_slotno(view->page, named_pages(view), 0);
	}
}

/*
 * Return the transaction's slot, or 0.  Called for each change after the first, so it must be
 * fast.
 */
static int
find_own(ZPageView *view, FullTransactionId fxid)
{
	int			nslots = zpage_nslots(view->page);

	for (int i = 1; i <= nslots; i++)
	{
		if (FullTransactionIdEquals(zpage_slot_fxid(zpage_slot(view->page, NULL, i)), fxid))
			return i;
	}
	for (int i = ZPAGE_FIRST_OVERFLOW;
		 view->overflow != NULL && i < ZPAGE_FIRST_OVERFLOW + ZPAGE_OVERFLOW_SLOTS; i++)
	{
		if (FullTransactionIdEquals(zpage_slot_fxid(zpage_slot(NULL, view->overflow, i)), fxid))
			return i;
	}
	return 0;
}

/*
 * Find candidates, without changing anything: a free slot of the page, which needs no look-up; if
 * there is none, the statuses of owners until one is good enough.
 */
static void
find_candidates(ZPageView *view, const Wanted *wanted, Candidates *cand)
{
	Wanted		known = *wanted;

	memset(cand, 0, sizeof(*cand));
	/* free slots of the page first: they need no owner's status, and are better than all others */
	for (int i = 1; i <= zpage_nslots(view->page); i++)
	{
		if (!FullTransactionIdIsValid(zpage_slot_fxid(zpage_slot(view->page, NULL, i))))
		{
			cand->free = i;
			return;
		}
	}

	/*
	 * First only owners whose status is known.  The others have not ended for the statement's
	 * snapshot, so they are not all-visible, and are newer than any that may be reused: on a page
	 * that many sessions change, each would ask the process array about all the others.  (If the
	 * snapshot has no room for all subtransactions, the status is known of older transactions
	 * only.)
	 */
	known.known = true;
	look_at_owners(view, &known, cand);
	if (cand->free || cand->aborted || cand->all_visible || cand->reuse || cand->ours)
		return;
	memset(cand, 0, sizeof(*cand));
	look_at_owners(view, wanted, cand);
}

/* Return how many slots the page may add, at most "want". */
static int
grow_by(ZPageView *view, Size reserve, Size spare, int want)
{
	int			nslots = zpage_nslots(view->page);
	Size		space = zpage_free_total(view->page);
	int			grow;

	if (space < reserve + spare + sizeof(ZPageSlot))
		return 0;
	grow = (space - reserve - spare) / sizeof(ZPageSlot);
	return Min(Min(grow, want), ZPAGE_MAX_INPAGE - nslots);
}

/* Set slot and takeover.  plan_all_visible() and plan_reuse() add the previous owner's part. */
static void
plan_take(ZSlotPlan *plan, int slotno, ZTakeover takeover)
{
	plan->slotno = slotno;
	plan->takeover = takeover;
}

/* Add slots and take the first; the others will be found free. */
static void
plan_growth(ZPageView *view, ZSlotPlan *plan, int grow)
{
	plan_take(plan, zpage_nslots(view->page) + 1, ZTAKE_FREE);
	plan->grow = grow;
}

/*
 * Add the slot's owner to the plan's conflict, unless the logged horizon has told standbys that it
 * is all-visible.
 */
static void
tell_standbys(ZPageView *view, ZSlotPlan *plan, int slotno)
{
	FullTransactionId fxid = zpage_slot_fxid(zpage_slot(view->page, view->overflow, slotno));

	if (!FullTransactionIdPrecedes(fxid, zundo_logged_horizon()) &&
		FullTransactionIdPrecedes(plan->conflict, fxid))
		plan->conflict = fxid;
}

/* Take the slot of an all-visible owner.  "mask": all such slots on the page itself. */
static void
plan_all_visible(ZPageView *view, ZSlotPlan *plan, int slotno, uint32 mask)
{
	plan_take(plan, slotno, ZTAKE_ALL_VISIBLE);
	tell_standbys(view, plan, slotno);
	if (slotno > ZPAGE_MAX_INPAGE)
		return;
	/* the change walks through all rows anyway: free the other slots in "mask" as well */
	plan->also = mask & ~((uint32) 1 << slotno);
	for (int other = 1; plan->also != 0 && other <= zpage_nslots(view->page); other++)
	{
		if (zpage_slot_in(plan->also, other))
			tell_standbys(view, plan, other);
	}
}

/*
 * Take a slot, with a link to its last record, by which readers find the rows' modifiers from now
 * on (S3).
 */
static void
plan_reuse(ZPageView *view, ZSlotPlan *plan, int slotno)
{
	plan_take(plan, slotno, ZTAKE_REUSED);
	plan->prev = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));
}

/* Return whether no slot is left but on the overflow page. */
static bool
is_crowded(ZPageView *view, const Candidates *cand)
{
	int			best = cand->free ? cand->free : cand->all_visible;

	return view->overflow != NULL && (best == 0 || best >= ZPAGE_FIRST_OVERFLOW);
}

/*
 * Raise ERROR (configuration_limit_exceeded).  Transactions that change rows always find a slot
 * (README); this is a safeguard for them.
 */
static void
report_crowd(ZPageView *view, int nslots)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("too many transactions at work on one page of table \"%s\"",
					RelationGetRelationName(view->rel)),
			 errdetail("All %d transaction slots of block %u belong to transactions in progress.",
					   nslots, view->block),
			 errhint("Retry when some of them have ended.")));
}

#ifdef USE_ASSERT_CHECKING

/* S1: return whether the transaction has none of the slots that rows can name. */
static bool
has_no_slot(ZPageView *view, FullTransactionId fxid)
{
	int			slotno = 0;

	while ((slotno = zpage_next_slotno(view->page, named_pages(view), slotno)) != 0)
	{
		if (FullTransactionIdEquals(zpage_slot_fxid(zpage_slot(view->page, view->overflow,
															   slotno)), fxid))
			return false;
	}
	return true;
}

/* Assert what holds for the plan of a slot that rows can name (S1, S3). */
static void
assert_named_plan(ZPageView *view, const Wanted *wanted, const ZSlotPlan *plan)
{
	FullTransactionId owner;

	Assert(plan->slotno >= 1 && plan->slotno <= ZPAGE_MAX_SLOTNO);
	Assert(plan->takeover == ZTAKE_OWN ||
		   (plan->slotno <= wanted->max && has_no_slot(view, wanted->fxid)));	/* S1 */
	if (plan->grow > 0)
	{
		Assert(plan->takeover == ZTAKE_FREE && plan->slotno == zpage_nslots(view->page) + 1);
		Assert(zpage_nslots(view->page) + plan->grow <= ZPAGE_MAX_INPAGE);
		Assert(zpage_free_total(view->page) >= plan->grow * sizeof(ZPageSlot));
		return;
	}
	Assert(zpage_has_slot(view->page, plan->slotno));
	owner = zpage_slot_fxid(zpage_slot(view->page, view->overflow, plan->slotno));
	/* S3 */
	switch ((ZTakeover) plan->takeover)
	{
		case ZTAKE_OWN:
			Assert(FullTransactionIdEquals(owner, wanted->fxid));
			break;
		case ZTAKE_FREE:
			Assert(!FullTransactionIdIsValid(owner));
			Assert(zpage_slot_is_left(view->page, plan->slotno));
			break;
		case ZTAKE_ALL_VISIBLE:
			/* not that it is all-visible: a standby's feedback may have moved that back since */
			Assert(FullTransactionIdIsValid(owner));
			Assert(zmvcc_xact_status(owner) == ZXACT_COMMITTED ||
				   zmvcc_xact_status(owner) == ZXACT_ALL_VISIBLE);
			Assert(FullTransactionIdPrecedesOrEquals(owner, plan->conflict) ||
				   FullTransactionIdPrecedes(owner, zundo_logged_horizon()));
			break;
		case ZTAKE_REUSED:
			Assert(FullTransactionIdEquals(plan->prev.fxid, owner));
			Assert(zmvcc_xact_status(owner) == ZXACT_COMMITTED ||
				   zmvcc_xact_status(owner) == ZXACT_ALL_VISIBLE ||
				   zmvcc_xact_status(owner) == ZXACT_OWN);
			break;
	}
}

/*
 * Assert what holds for the plan of a slot on a lock page; the records that it led to before are
 * not needed any more (slot_lock.c).
 */
static void
assert_lock_plan(ZPageView *view, FullTransactionId fxid, const ZSlotPlan *plan)
{
	Page		slots;
	FullTransactionId owner;

	Assert(zpage_is_lock_slot(plan->slotno) && plan->grow == 0);
	Assert(zpage_slot_page(plan->slotno) < zview_slot_pages(view));
	Assert(plan->takeover != ZTAKE_ALL_VISIBLE);
	slots = zview_slot_page(view, zpage_slot_page(plan->slotno));
	owner = zpage_slot_fxid(zpage_slot(NULL, slots, plan->slotno));
	Assert(plan->takeover != ZTAKE_OWN || FullTransactionIdEquals(owner, fxid));
	Assert(plan->takeover != ZTAKE_REUSED || zmvcc_xact_status(owner) == ZXACT_OWN);
}

/* Assert what holds at entry: the page is viewed in place, for a transaction of this backend. */
static void
assert_may_reserve(ZPageView *view, FullTransactionId fxid)
{
	Assert(view->locked && zpage_is_table(view->page));
	Assert(view->limit == 0);	/* the search of a chain must be complete */
	Assert(TransactionIdIsCurrentTransactionId(zfxid_xid(fxid)));
	Assert(CritSectionCount == 0);
}

#else
#define assert_named_plan(view, wanted, plan) ((void) 0)
#define assert_lock_plan(view, fxid, plan) ((void) 0)
#define assert_may_reserve(view, fxid) ((void) 0)
#endif

/* Plan a slot that rows can name, in the order of preference at the head of this file. */
static ZSlotResult
reserve_named(ZPageView *view, const Wanted *wanted, Size reserve, ZSlotPlan *plan)
{
	int			own = find_own(view, wanted->fxid);
	Candidates	cand;
	bool		crowded;
	int			grow;

	if (own != 0)
	{
		plan_take(plan, own, ZTAKE_OWN);
		assert_named_plan(view, wanted, plan);
		return ZSLOT_OK;
	}
	find_candidates(view, wanted, &cand);
	if (cand.aborted)
		return ZSLOT_ROLL_BACK;
	crowded = is_crowded(view, &cand);
	if (cand.ours && crowded)
		plan_reuse(view, plan, cand.ours);
	/* the page was made for a long row, which is no longer there */
	else if (crowded && zpage_nslots(view->page) < ZPAGE_INITIAL_SLOTS &&
			 (grow = grow_by(view, reserve, GROW_GENEROUS_SPACE, ZPAGE_INITIAL_SLOTS)) > 0)
		plan_growth(view, plan, grow);
	else if (cand.free)
		plan_take(plan, cand.free, ZTAKE_FREE);
	else if (cand.all_visible)
		plan_all_visible(view, plan, cand.all_visible, cand.all_visible_mask);
	else if (zpage_nslots(view->page) < GROW_GENEROUS_SLOTS &&
			 (grow = grow_by(view, reserve, GROW_GENEROUS_SPACE, 4)) > 0)
		plan_growth(view, plan, grow);
	else if (cand.reuse)
		plan_reuse(view, plan, cand.reuse);
	else if ((grow = grow_by(view, reserve, 0, 1)) > 0)
		plan_growth(view, plan, grow);
	else
		return ZSLOT_NEED_PAGE;
	slot_hint(view)->slotno = plan->slotno;
	assert_named_plan(view, wanted, plan);
	return ZSLOT_OK;
}

/* Initialize a plan: no growth, no link, no conflict. */
static void
slot_plan_init(ZSlotPlan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->conflict = InvalidFullTransactionId;
}

ZSlotResult
zslot_reserve(ZPageView *view, FullTransactionId fxid, Size reserve, ZSlotPlan *plan)
{
	Wanted		wanted = {fxid, ZPAGE_MAX_SLOTNO, INT_MAX, false};
	ZSlotResult result;

	assert_may_reserve(view, fxid);
	slot_plan_init(plan);
	result = reserve_named(view, &wanted, reserve, plan);
	if (result == ZSLOT_NEED_PAGE && view->overflow != NULL)
		report_crowd(view, zpage_nslots(view->page) + ZPAGE_OVERFLOW_SLOTS);
	return result;
}

/*
 * On a page with lock pages few owners are looked up first, then a slot on a lock page is tried;
 * all owners are looked up only before a page would be added.
 */
ZSlotResult
zslot_reserve_lock(ZPageView *view, FullTransactionId fxid, ZSlotPlan *plan)
{
	Wanted		wanted = {fxid, ZPAGE_MAX_SHARED_SLOTNO, FEW_LOOKS, false};
	ZSlotResult result;

	assert_may_reserve(view, fxid);
	slot_plan_init(plan);
	if (slot_find_own_lock(view, fxid, plan, &result))
	{
		if (result == ZSLOT_OK)
			assert_lock_plan(view, fxid, plan);
		return result;
	}
	if (zview_slot_pages(view) > 1)
	{
		result = reserve_named(view, &wanted, 0, plan);
		if (result != ZSLOT_NEED_PAGE)
			return result;
		if (slot_choose_lock(view, plan))
		{
			assert_lock_plan(view, fxid, plan);
			return ZSLOT_OK;
		}
	}
	/* look up all owners before a page is added */
	wanted.looks = INT_MAX;
	result = reserve_named(view, &wanted, 0, plan);
	if (result == ZSLOT_NEED_PAGE && zview_slot_pages(view) > ZPAGE_MAX_LOCK_PAGES)
		report_crowd(view, ZPAGE_MAX_LOCK_SLOTNO);
	return result;
}
