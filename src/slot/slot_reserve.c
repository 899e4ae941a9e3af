/*
 * slot_reserve.c
 *		Which slot a transaction gets on a page.
 *
 * In order of preference: its own; a free one; one whose owner is visible to all
 * (its rows freeze); a new one while the page has plenty of room; one whose owner
 * has committed (or is an earlier subtransaction of ours), which stays reachable
 * through our undo; a new one in the last room; one on the overflow page.  No
 * transaction ever waits for a slot.
 *
 * On a page that is so crowded, a subtransaction takes the slot that its own
 * transaction has there: a page has slots for more than 200 sessions, but not for
 * any number of subtransactions of each.
 */
#include "postgres.h"

#include "access/transam.h"
#include "common/hashfn.h"

#include "zheap/slot/slot.h"

/* grow rather than reuse a slot while so much of the page is free */
#define GROW_GENEROUS_SPACE		(BLCKSZ / 8)
#define GROW_GENEROUS_SLOTS		16

typedef struct Candidates
{
	int			own;
	int			free;
	int			all_visible;
	int			reuse;
	FullTransactionId reuse_fxid;	/* oldest */
	int			ours;			/* of another subtransaction of ours */
	bool		aborted;
} Candidates;

static void
look_at_slot(ZPageView *view, int slotno, FullTransactionId fxid, Candidates *cand)
{
	FullTransactionId owner = zpage_slot_fxid(zpage_slot(view->page, view->overflow, slotno));
	ZXactStatus	status;

	if (FullTransactionIdEquals(owner, fxid))
	{
		cand->own = slotno;
		return;
	}
	if (!FullTransactionIdIsValid(owner))
	{
		if (cand->free == 0)
			cand->free = slotno;
		return;
	}
	status = zmvcc_xact_status(owner);
	if (status == ZXACT_OWN)
		cand->ours = slotno;
	switch (status)
	{
		case ZXACT_ALL_VISIBLE:
			if (cand->all_visible == 0)
				cand->all_visible = slotno;
			break;
		case ZXACT_ABORTED:
			cand->aborted = true;
			break;
		case ZXACT_COMMITTED:
			if (cand->all_visible == 0 && cand->free == 0 &&
				zmvcc_visible_to_all(view->rel, owner))
			{
				cand->all_visible = slotno;
				break;
			}
			/* fall through */
		case ZXACT_OWN:
			if (cand->reuse == 0 || FullTransactionIdPrecedes(owner, cand->reuse_fxid))
			{
				cand->reuse = slotno;
				cand->reuse_fxid = owner;
			}
			break;
		default:
			break;
	}
}

/*
 * Where the backend last found a slot on a page: it looks there first, and from there
 * on.  On a page where hundreds of transactions are at work the slot is as a rule that of
 * its own last transaction.  A wrong hint costs a few more looks.
 */
#define HINTS		256			/* a power of two */

typedef struct SlotHint
{
	Oid			rel;
	BlockNumber block;
	int			slotno;
} SlotHint;

static SlotHint hints[HINTS];

static SlotHint *
hint_of(ZPageView *view)
{
	Oid			rel = zloc_rel(zrel_locator(view->rel));

	return &hints[hash_combine(murmurhash32(rel), murmurhash32(view->block)) & (HINTS - 1)];
}

static int
hint_get(ZPageView *view)
{
	const SlotHint *hint = hint_of(view);

	return hint->rel == zloc_rel(zrel_locator(view->rel)) && hint->block == view->block ?
		hint->slotno : 1;
}

static void
hint_set(ZPageView *view, int slotno)
{
	SlotHint   *hint = hint_of(view);

	hint->rel = zloc_rel(zrel_locator(view->rel));
	hint->block = view->block;
	hint->slotno = slotno;
}

/* Numbers of slots go round: on the page, on its overflow page, on the page. */
static int
next_slot(ZPageView *view, int slotno)
{
	int			nslots = zpage_nslots(view->page);

	if (slotno < nslots)
		return slotno + 1;
	if (view->overflow == NULL || slotno >= ZPAGE_MAX_SLOTNO)
		return 1;
	return Max(slotno + 1, ZPAGE_FIRST_OVERFLOW);
}

/* Owners in progress that are looked at before a slot that is not the best will do. */
#define ENOUGH		16

static bool
is_good_enough(ZPageView *view, const Candidates *cand, int looked)
{
	/* where there are few, all of them are looked at: some may be aborted */
	return view->overflow != NULL &&
		(cand->free || cand->all_visible || cand->ours || (cand->reuse && looked >= ENOUGH));
}

static void
look_at_slots(ZPageView *view, FullTransactionId fxid, Candidates *cand)
{
	int			nslots = zpage_nslots(view->page);
	int			total = nslots + (view->overflow ? ZPAGE_OVERFLOW_SLOTS : 0);
	int			slotno = 1;

	memset(cand, 0, sizeof(*cand));
	/* our own, or a free one, first: the others' statuses need not be known then */
	for (int i = 0; i < total; i++)
	{
		FullTransactionId owner = zpage_slot_fxid(zpage_slot(view->page, view->overflow, slotno));

		if (FullTransactionIdEquals(owner, fxid))
		{
			cand->own = slotno;
			return;
		}
		if (cand->free == 0 && !FullTransactionIdIsValid(owner))
			cand->free = slotno;
		slotno = next_slot(view, slotno);
	}
	slotno = hint_get(view);
	if (slotno > nslots && (view->overflow == NULL || slotno < ZPAGE_FIRST_OVERFLOW))
		slotno = 1;
	if (cand->free > nslots)
		cand->free = 0;			/* one on the page itself is better, if there is one */
	for (int i = 0; i < total && !is_good_enough(view, cand, i); i++)
	{
		look_at_slot(view, slotno, fxid, cand);
		slotno = next_slot(view, slotno);
	}
}

/* How many slots the page may add, at most "want". */
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

static void
plan_slot(ZSlotPlan *plan, int slotno, ZTakeover takeover)
{
	plan->slotno = slotno;
	plan->takeover = takeover;
}

static void
plan_growth(ZPageView *view, ZSlotPlan *plan, int grow)
{
	plan_slot(plan, zpage_nslots(view->page) + 1, ZTAKE_FREE);
	plan->grow = grow;
}

/* A frozen owner that standbys may still have to be told of. */
static void
plan_all_visible(ZPageView *view, ZSlotPlan *plan, int slotno)
{
	FullTransactionId fxid = zpage_slot_fxid(zpage_slot(view->page, view->overflow, slotno));

	plan_slot(plan, slotno, ZTAKE_ALL_VISIBLE);
	if (!FullTransactionIdPrecedes(fxid, zundo_logged_horizon()))
		plan->conflict = fxid;
}

static void
plan_reuse(ZPageView *view, ZSlotPlan *plan, int slotno)
{
	plan_slot(plan, slotno, ZTAKE_REUSED);
	plan->prev = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));
}

/* Is there no slot left but on the overflow page? */
static bool
is_crowded(ZPageView *view, const Candidates *cand)
{
	int			best = cand->free ? cand->free : cand->all_visible;

	return view->overflow != NULL && (best == 0 || best >= ZPAGE_FIRST_OVERFLOW);
}

ZSlotResult
zslot_reserve(ZPageView *view, FullTransactionId fxid, Size reserve, ZSlotPlan *plan)
{
	Candidates	cand;
	int			grow;

	memset(plan, 0, sizeof(*plan));
	plan->conflict = InvalidFullTransactionId;
	look_at_slots(view, fxid, &cand);
	if (cand.aborted && cand.own == 0)
		return ZSLOT_ROLL_BACK;
	if (cand.own)
		plan_slot(plan, cand.own, ZTAKE_OWN);
	else if (cand.ours && is_crowded(view, &cand))
		plan_reuse(view, plan, cand.ours);
	else if (cand.free)
		plan_slot(plan, cand.free, ZTAKE_FREE);
	else if (cand.all_visible)
		plan_all_visible(view, plan, cand.all_visible);
	else if (zpage_nslots(view->page) < GROW_GENEROUS_SLOTS &&
			 (grow = grow_by(view, reserve, GROW_GENEROUS_SPACE, 4)) > 0)
		plan_growth(view, plan, grow);
	else if (cand.reuse)
		plan_reuse(view, plan, cand.reuse);
	else if ((grow = grow_by(view, reserve, 0, 1)) > 0)
		plan_growth(view, plan, grow);
	else if (view->overflow == NULL)
		return ZSLOT_NEED_PAGE;
	else
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many transactions at work on one page of table \"%s\"",
						RelationGetRelationName(view->rel)),
				 errdetail("All %d transaction slots of block %u belong to transactions in progress.",
						   zpage_nslots(view->page) + ZPAGE_OVERFLOW_SLOTS, view->block),
				 errhint("Retry when some of them have ended.")));
	hint_set(view, plan->slotno);
	return ZSLOT_OK;
}
