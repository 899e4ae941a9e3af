/*
 * rollback_plan.c
 *		Plan how the rows of an aborted transaction on one page are rolled back.
 *
 * A plan concerns one slot, whose owner has aborted: each row whose newest version that owner
 * made becomes the version before, found by the same walk that readers use.  Then the slot
 * returns to the owner that it had before, and leads only to that owner's records.
 *
 * A row never goes past a version whose modifier a slot still leads to (R3): a row with
 * ZROW_REUSED belongs to the newest owner down its slot's chain that has a record about it, and
 * must not find one that it has left behind.
 *
 * The row must name its old modifier.  The slot of that one may have been reused meanwhile
 * (this row did not count among its rows then): if it is visible to all, the row names slot 0;
 * if its record can still be reached, the row gets ZROW_REUSED.
 *
 * The work is linear: each row's record is found through the slot's directory (C1), and far
 * links skip the other versions of the same owner.
 *
 * LOCKING: none on the page, of which the plan has a private copy.  Undo pages are read one at
 * a time under a share lock.
 */
#include "postgres.h"

#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"
#include "zheap/undo/undo_horizon.h"

#include "rollback_private.h"

typedef enum Reach
{
	REACH_NOT,
	REACH_OWNER,				/* the slot leads to the record, which its present owner made */
	REACH_CHAIN					/* the slot leads to the record, which an earlier owner made */
} Reach;

static ZOwner
slot_owner(ZPageView *view, int slotno)
{
	return zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));
}

/*
 * Return whether the row's newest record "at" is from before the slot's owner got the slot.  An
 * owner may have had it before, and a subtransaction of it in between.
 */
static bool
is_before(ZPageView *view, const ZOwner *before, const ZRowVersion *version, const ZOwner *at)
{
	ZOwner		found;

	return FullTransactionIdIsValid(before->fxid) &&
		zchain_find(view, 0, before, zsought(version), NULL, &found, NULL) == ZCHAIN_FOUND &&
		found.undo == at->undo;
}

/*
 * Return whether, and how, the slot that the version names will lead to its record once the
 * plan has been carried out.
 */
static Reach
reach_of(ZPageView *view, const ZRollbackPlan *plan, const ZRowVersion *version)
{
	int			slotno = version->hdr.slotno;
	ZOwner		from;
	ZUndoRecord rec;
	ZOwner		made;
	ZOwner		found;
	ZOwner		before;

	/* the slot is unknown: only a damaged record says so of a version that is rolled back to */
	if (slotno == 0)
		return REACH_NOT;
	from = slotno == plan->slotno ? plan->next : slot_owner(view, slotno);
	if (!FullTransactionIdIsValid(from.fxid) || !zmvcc_record(view, version, &rec, &made) ||
		zchain_find(view, slotno, &from, zsought(version), NULL, &found, NULL) != ZCHAIN_FOUND ||
		found.undo != made.undo)
		return REACH_NOT;
	if (!FullTransactionIdEquals(from.fxid, made.fxid))
		return REACH_CHAIN;
	before = slotno == plan->slotno ? plan->next_before : zchain_directory(view, slotno)->before;
	return is_before(view, &before, version, &made) ? REACH_CHAIN : REACH_OWNER;
}

/*
 * Return whether the version is visible to all: its modifier is not known any more, or has
 * committed early enough.
 */
static bool
visible_to_all(ZPageView *view, const ZRowVersion *version)
{
	FullTransactionId fxid = zmodifier_fxid(&version->modifier);

	return !FullTransactionIdIsValid(fxid) ||
		(zmvcc_xact_status(fxid) != ZXACT_ABORTED && zmvcc_visible_to_all(view->rel, fxid));
}

/*
 * Check a version before it gets into the plan: bytes of a damaged undo record must not reach
 * the page, where they would overwrite other rows.  Space that an aborted change has left stays
 * the row's, so the versions before it fit.
 */
static void
check_version_before(ZPageView *view, const ZRowVersion *version)
{
	const char *wrong = zpage_check_version(view->page, version->offnum, &version->hdr,
											version->row, version->len);

	if (wrong)
		zheap_corrupt(view->rel, view->block, version->offnum, "undo of the row is wrong: %s", wrong);
}

/* Step to the version before those that the slot's owner made.  Return false if there is none. */
static bool
version_before(ZPageView *view, const ZRollbackPlan *plan, ZRowVersion *version)
{
	static const ZUnseen own = {
		.owner = zunseen_any,
		.curcid = InvalidCommandId,
		.same_owner = true
	};

	for (;;)
	{
		if (!zmvcc_previous_unseen(view, version, &own))
			return false;
		check_version_before(view, version);
		/* another version of the same owner */
		if (version->same_owner)
			continue;
		zmvcc_find_modifier(view, version);
		Assert(version->modifier.kind != ZMODIFIER_UPPER_BOUND);	/* M1 */
		if (visible_to_all(view, version))
			return true;
		/* aborted and rolled back already, so that no slot leads to it any more (R3) */
		if (zmvcc_xact_status(zmodifier_fxid(&version->modifier)) == ZXACT_ABORTED &&
			reach_of(view, plan, version) == REACH_NOT)
			continue;
		return true;
	}
}

/*
 * Add fxid to the record's conflict xid: the row stops naming it, and standbys where it is
 * still running must know that.
 */
static void
add_conflict(ZRollbackPlan *plan, FullTransactionId fxid)
{
	if (FullTransactionIdIsValid(fxid) &&
		!FullTransactionIdPrecedes(fxid, zundo_logged_horizon()) &&
		FullTransactionIdPrecedes(plan->conflict, fxid))
		plan->conflict = fxid;
}

/* Make the row name no modifier: the version is visible to all. */
static void
forget_modifier(ZRollbackPlan *plan, const ZRowVersion *version, ZRowHeader *hdr)
{
	add_conflict(plan, zmodifier_fxid(&version->modifier));
	zrow_header_freeze(hdr);
}

/*
 * Make the row's header name the modifier of the version that it becomes.
 *
 * Backends do not notice at the same time that a transaction is visible to all: the one that
 * gave the modifier's slot away without a link to it (ZTAKE_ALL_VISIBLE) may have known it
 * earlier than this one.  So a committed modifier that no slot leads to is visible to all.
 */
static void
name_modifier(ZPageView *view, ZRollbackPlan *plan, const ZRowVersion *version, ZRowHeader *hdr)
{
	FullTransactionId fxid = zmodifier_fxid(&version->modifier);
	ZXactStatus status;

	*hdr = version->hdr;
	hdr->flags2 &= ~(ZROW2_LOCK_MASK | ZROW2_SEVERAL_KEYS);
	if (visible_to_all(view, version))
	{
		forget_modifier(plan, version, hdr);
		return;
	}
	switch (reach_of(view, plan, version))
	{
		case REACH_OWNER:
			hdr->flags &= ~ZROW_REUSED;
			break;
		case REACH_CHAIN:
			hdr->flags |= ZROW_REUSED;
			break;
		case REACH_NOT:
			status = zmvcc_xact_status(fxid);
			if (status != ZXACT_COMMITTED && status != ZXACT_ALL_VISIBLE)
				zheap_corrupt(view->rel, view->block, version->offnum,
							  "transaction slot %d does not lead to transaction %u",
							  hdr->slotno, zfxid_xid(fxid));
			forget_modifier(plan, version, hdr);
			break;
	}
	/* P2: the slot that the row is going to name, unless it is 0 */
	Assert(hdr->slotno == 0 || zpage_has_slot(view->page, hdr->slotno));
}

/* Set in *out the body bytes that differ between the row on the page and the version before. */
static void
diff_body(const char *now, uint32 nowlen, const char *was, uint32 waslen, ZRowRollback *out)
{
	char	   *mid;

	zrow_diff(now, nowlen, was, waslen, &out->prefix, &out->suffix);
	Assert((uint32) (ZROW_HDR_SIZE + out->prefix + out->suffix) <= Min(nowlen, waslen));
	out->midlen = waslen - ZROW_HDR_SIZE - out->prefix - out->suffix;
	mid = palloc(out->midlen + 1);
	memcpy(mid, was + ZROW_HDR_SIZE + out->prefix, out->midlen);
	out->mid = mid;
}

/*
 * Return whether the newest version of a row with ZROW_REUSED is nevertheless the slot's
 * present owner's: it is if the owners that came after have been rolled back.
 */
static bool
is_owners_again(ZPageView *view, const ZRollbackPlan *plan, ZRowVersion *version)
{
	FullTransactionId owner = zmodifier_bound(&version->modifier);
	ZOwner		before;

	zmvcc_find_modifier(view, version);
	if (!FullTransactionIdEquals(zmodifier_fxid(&version->modifier), owner))
		return false;
	before = zchain_directory(view, plan->slotno)->before;
	return !is_before(view, &before, version, &version->modifier.place);
}

bool
zrollback_row_names(ZPageView *view, OffsetNumber offnum, int slotno)
{
	ItemId		lp = PageGetItemId(view->page, offnum);

	return zpage_leads_to_row(lp) &&
		zrow_slotno((const char *) view->page + ItemIdGetOffset(lp)) == slotno;
}

/* Add the row, which names the slot, to the plan, if its newest version is the present owner's. */
static void
plan_row_back(ZPageView *view, OffsetNumber offnum, ZRollbackPlan *plan)
{
	ZRowRollback *rollback = &plan->rows[plan->nrows];
	ZRowVersion version;
	const char *row;
	uint32		len;

	Assert(zrollback_row_names(view, offnum, plan->slotno));
	zmvcc_current(view, offnum, &version);
	row = version.row;
	len = version.len;
	if (version.modifier.kind == ZMODIFIER_UPPER_BOUND &&
		!is_owners_again(view, plan, &version))
		return;

	plan->nrows++;
	memset(rollback, 0, sizeof(*rollback));
	rollback->offnum = offnum;
	if (!version_before(view, plan, &version))
	{
		rollback->kind = ZROLLBACK_KILL;
		return;
	}
	name_modifier(view, plan, &version, &rollback->hdr);
	if (version.row == row)
		rollback->kind = ZROLLBACK_HEADER;
	else
	{
		rollback->kind = ZROLLBACK_BODY;
		diff_body(row, len, version.row, version.len, rollback);
	}
}

/*
 * Return the number of records that a chain has above its newest directory.  *before gets the
 * owner before that of its newest record, or an invalid one.
 */
static int
chain_count(ZPageView *view, const ZOwner *newest, ZOwner *before)
{
	ZChainCursor cursor;
	bool		own = true;
	int			count = 0;

	before->fxid = InvalidFullTransactionId;
	zchain_open(&cursor, view, InvalidOffsetNumber, newest);
	cursor.past_horizon = true;
	while (zchain_next(&cursor))
	{
		if (cursor.rec.type == ZOP_DIRECTORY)
		{
			ZDirectory	dir;

			if (own && zrec_directory_decode(&cursor.rec, &dir))
				*before = dir.before;
			break;
		}
		count++;
		if (own && cursor.rec.takeover == ZTAKE_REUSED)
			*before = cursor.rec.slot_prev;
		own = own && cursor.rec.takeover == ZTAKE_OWN;
	}
	return count;
}

/*
 * Return the owner that the slot had before this one; an invalid one if there is none that
 * counts.
 */
static ZOwner
owner_before(ZPageView *view, int slotno)
{
	ZOwner		none = {InvalidFullTransactionId, ZUNDO_INVALID};
	ZOwner		newest = slot_owner(view, slotno);
	ZUndoRecord rec;

	/* as a rule the owner has made one change here, so its newest record is its only one */
	if (zchain_read(view, InvalidOffsetNumber, &newest, &rec) && rec.takeover != ZTAKE_OWN)
		return rec.takeover == ZTAKE_REUSED ? rec.slot_prev : none;
	return zchain_directory(view, slotno)->before;
}

void
zrollback_plan_slot(ZPageView *view, int slotno, ZRollbackPlan *plan)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);
	OffsetNumber off;

	Assert(zmvcc_xact_status(slot_owner(view, slotno).fxid) == ZXACT_ABORTED);
	Assert(!view->locked);		/* B1 */
	plan->slotno = slotno;
	plan->nrows = 0;
	plan->conflict = InvalidFullTransactionId;
	plan->next = owner_before(view, slotno);
	plan->next_count = 0;
	plan->next_before.fxid = InvalidFullTransactionId;
	if (FullTransactionIdIsValid(plan->next.fxid))
	{
		if (zmvcc_xact_status(plan->next.fxid) == ZXACT_ALL_VISIBLE)
		{
			add_conflict(plan, plan->next.fxid);
			plan->next.fxid = InvalidFullTransactionId;
			plan->next.undo = ZUNDO_INVALID;
		}
		else
			plan->next_count = chain_count(view, &plan->next, &plan->next_before);
	}

	for (off = FirstOffsetNumber; off <= max; off++)
	{
		if (zrollback_row_names(view, off, slotno))
			plan_row_back(view, off, plan);
	}
}
