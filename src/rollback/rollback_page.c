/*
 * rollback_page.c
 *		Roll back what aborted transactions did to the rows of one page.
 *
 * One slot's owner at a time, until no owner of a slot is aborted: each row whose newest
 * version that owner made becomes the version before, found by the same walk that readers use.
 * Then the slot returns to the owner that it had before, and leads only to that owner's
 * records.  If the version before is another aborted transaction's, its slot's turn comes
 * later.
 *
 * A row never goes past a version whose modifier a slot still leads to (R3): a row with
 * ZROW_REUSED belongs to the newest owner down its slot's chain that has a record about it, and
 * must not find one that it has left behind.
 *
 * The row must name its old modifier.  The slot of that one may have been reused meanwhile
 * (this row did not count among its rows then): if it is visible to all, the row names slot 0;
 * if its record can still be reached, the row gets ZROW_REUSED.
 *
 * The plan is made on a private copy of the page, without any lock, so that a large transaction
 * blocks no other session and can be cancelled.  Then the page is locked, and the plan carried
 * out if all that it concerns is as it was: only another backend that rolls back the same slot
 * changes the rows of an aborted owner.
 *
 * The work is linear: each row's record is found through the slot's directory (C1), and far
 * links skip the other versions of the same owner.
 *
 * LOCKING: the table page exclusively, then its overflow page or the lock page, while a plan is
 * carried out (execute_plan).  Undo pages are read without them, one at a time under a share
 * lock.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "zheap/mvcc/chain.h"
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

/*
 * Return whether the row names the slot.  False for a damaged line pointer, which check_rows()
 * reports before any change.
 */
static bool
row_names(ZPageView *view, OffsetNumber offnum, int slotno)
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

	Assert(row_names(view, offnum, plan->slotno));
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

/*
 * Make the plan for a slot whose owner has aborted: the rows to change, and the owner that the
 * slot returns to.  "view" is a private copy; nothing is locked.
 */
static void
plan_slot(ZPageView *view, int slotno, ZRollbackPlan *plan)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);
	OffsetNumber off;

	Assert(zmvcc_xact_status(slot_owner(view, slotno).fxid) == ZXACT_ABORTED);
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
		if (row_names(view, off, slotno))
			plan_row_back(view, off, plan);
	}
}

/* ---- carrying it out ---- */

static bool
slot_is_unchanged(ZPageView *copy, ZPageView *live, int slotno)
{
	if (slotno >= ZPAGE_FIRST_OVERFLOW && (copy->overflow == NULL || live->overflow == NULL))
		return false;
	return memcmp(zpage_slot(copy->page, copy->overflow, slotno),
				  zpage_slot(live->page, live->overflow, slotno), sizeof(ZPageSlot)) == 0;
}

/* Return whether the row is as the plan was made for it; row locks do not count. */
static bool
row_is_unchanged(ZPageView *copy, ZPageView *live, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(live->page, offnum);
	uint32		alloc;
	uint32		copy_alloc;
	uint32		len;
	uint32		copy_len;
	const char *row;
	const char *copy_row;

	if (offnum > PageGetMaxOffsetNumber(copy->page) || !ItemIdIsNormal(lp) ||
		!ItemIdIsNormal(PageGetItemId(copy->page, offnum)))
		return false;
	row = zpage_row(live->page, offnum, &len, &alloc);
	copy_row = zpage_row(copy->page, offnum, &copy_len, &copy_alloc);
	return alloc == copy_alloc && zrow_equals(row, len, copy_row, copy_len);
}

/*
 * Return whether no transaction that looks old in the copy can be an aborted one
 * (zundo_horizon): this backend's snapshot has kept the horizon from moving, or it has not
 * moved since before the copy was made.
 */
static bool
horizon_is_sound(ZPageView *copy, FullTransactionId horizon)
{
	if (TransactionIdIsValid(MyProc->xmin) && !(MyProc->statusFlags & PROC_IN_VACUUM))
		return true;
	return FullTransactionIdEquals(horizon, zview_horizon(copy));
}

/* Return whether the row names the slot; offnum may lie past the page's last row. */
static bool
row_named(ZPageView *view, OffsetNumber offnum, int slotno)
{
	return offnum <= PageGetMaxOffsetNumber(view->page) && row_names(view, offnum, slotno);
}

/*
 * Return whether the same rows name the slot, and are unchanged.  One may have been added:
 * rolled back, from another slot, to a version of the owner of this one.
 */
static bool
rows_are_unchanged(ZPageView *copy, ZPageView *live, int slotno)
{
	OffsetNumber max = Max(PageGetMaxOffsetNumber(copy->page), PageGetMaxOffsetNumber(live->page));

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		bool		named = row_named(copy, off, slotno);

		if (named != row_named(live, off, slotno) ||
			(named && !row_is_unchanged(copy, live, off)))
			return false;
	}
	return true;
}

/* Return whether the slots and rows that the plan concerns are unchanged. */
static bool
plan_is_unchanged(ZPageView *copy, ZPageView *live, const ZRollbackPlan *plan)
{
	if (!slot_is_unchanged(copy, live, plan->slotno) ||
		!rows_are_unchanged(copy, live, plan->slotno))
		return false;
	for (int i = 0; i < plan->nrows; i++)
	{
		const ZRowRollback *row = &plan->rows[i];

		/* the slot that the row is going to name */
		if (row->kind != ZROLLBACK_KILL && row->hdr.slotno != 0 &&
			row->hdr.slotno != plan->slotno &&
			!slot_is_unchanged(copy, live, row->hdr.slotno))
			return false;
	}
	return true;
}

/*
 * Return whether the page is unchanged by its LSN: each change of a logged page gives it
 * another one.
 */
static bool
page_is_unchanged(ZPageView *copy, ZPageView *live)
{
	return RelationNeedsWAL(live->rel) && copy->overflow == NULL && live->overflow == NULL &&
		PageGetLSN(copy->page) == PageGetLSN(live->page);
}

/* R2: return whether all that the plan concerns is as it was.  The page is locked exclusively. */
static bool
plan_holds(ZPageView *copy, ZPageView *live, const ZRollbackPlan *plan,
		   FullTransactionId horizon)
{
	if (!horizon_is_sound(copy, horizon))
		return false;
	if (!page_is_unchanged(copy, live))
		return plan_is_unchanged(copy, live, plan);
	Assert(plan_is_unchanged(copy, live, plan));
	return true;
}

/*
 * Carry out the plan, in a critical section: page and slots are locked exclusively, and all
 * checks are done.
 */
static void
apply(ZPageView *live, Buffer buffer, Buffer overflow_buf, const ZRollbackPlan *plan)
{
	bool		on_overflow = plan->slotno >= ZPAGE_FIRST_OVERFLOW;
	OffsetNumber offnum PG_USED_FOR_ASSERTS_ONLY;

	zview_own_changes++;
	START_CRIT_SECTION();
	zpage_rollback_apply(live->page, live->overflow, plan);
	MarkBufferDirty(buffer);
	if (on_overflow)
		MarkBufferDirty(overflow_buf);
	if (RelationNeedsWAL(live->rel))
	{
		XLogRecPtr	lsn = zrec_rollback_emit(plan, buffer,
											 on_overflow ? overflow_buf : InvalidBuffer, NULL);

		PageSetLSN(live->page, lsn);
		if (on_overflow)
			PageSetLSN(live->overflow, lsn);
	}
	END_CRIT_SECTION();
	/* as execute_plan() found it before (P1, P3) */
	Assert(zpage_check_quick(live->page, &offnum) == NULL);
	/* R1: none of the rows names the owner that the slot had */
	Assert(FullTransactionIdEquals(plan->next.fxid,
								   zpage_slot_fxid(zpage_slot(live->page, live->overflow,
															  plan->slotno))));
}

/*
 * If the slot is on a lock page, lock that exclusively, return its buffer, and view it in place
 * of the overflow page: no other slot is used.  Else return InvalidBuffer.
 */
static Buffer
view_lock_page(ZPageView *live, int slotno)
{
	Buffer		buffer;

	if (!zpage_is_lock_slot(slotno))
		return InvalidBuffer;
	buffer = zview_lock_page(live, zpage_slot_page(slotno), BUFFER_LOCK_EXCLUSIVE);
	live->overflow = BufferGetPage(buffer);
	return buffer;
}

/*
 * Return a slot whose owner has aborted, or 0.  Lock pages are ignored: no row names their
 * slots, which need no rolling back.
 */
static int
find_aborted(ZPageView *view)
{
	int			noverflow = view->overflow ? 1 : 0;
	int			i = 0;

	while ((i = zpage_next_slotno(view->page, noverflow, i)) != 0)
	{
		FullTransactionId fxid = zpage_slot_fxid(zpage_slot(view->page, view->overflow, i));

		if (FullTransactionIdIsValid(fxid) && zmvcc_xact_status(fxid) == ZXACT_ABORTED)
			break;
	}
	return i;
}

/* Check all rows of the page, as a damaged one might overlap those that are to be changed. */
static void
check_rows(ZPageView *live)
{
	OffsetNumber offnum;
	const char *wrong = zpage_check_quick(live->page, &offnum);

	if (wrong)
		zheap_corrupt(live->rel, live->block, offnum, "%s", wrong);
}

/*
 * Lock the page and carry out the plan.  Return false if the page has changed, so that the plan
 * is to be made anew.  *more: whether the page may have slots of other aborted owners.
 * *changed: the page's LSN after our own last change, whose rows were checked.  All locks are
 * released on exit.
 */
static bool
execute_plan(ZPageView *copy, ZPageView *live, Buffer buffer, const ZRollbackPlan *plan,
			 FullTransactionId horizon, XLogRecPtr *changed, bool *more)	/* tidy: all of an attempt */
{
	Buffer		overflow_buf;
	Buffer		slots_buf;
	bool		holds;

	*more = true;
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	holds = zview_attach(live, buffer, BUFFER_LOCK_EXCLUSIVE, &overflow_buf);
	if (holds)
	{
		/* a page from before the table's changes were logged has no LSN either */
		if (!RelationNeedsWAL(live->rel) || XLogRecPtrIsInvalid(*changed) ||
			PageGetLSN(live->page) != *changed)
			check_rows(live);
		slots_buf = view_lock_page(live, plan->slotno);
		holds = plan_holds(copy, live, plan, horizon);
		if (holds)
			apply(live, buffer, BufferIsValid(slots_buf) ? slots_buf : overflow_buf, plan);
		if (BufferIsValid(slots_buf))
			UnlockReleaseBuffer(slots_buf);
		else
			*more = find_aborted(live) != 0;
		if (holds)
			*changed = PageGetLSN(live->page);
	}
	zview_detach(live, &overflow_buf);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return holds;
}

/* ---- the page ---- */

/*
 * Return whether the owner of a slot on a lock page has aborted; the copy then shows that lock
 * page in place of its overflow page, as above.
 */
static bool
lock_slot_is_aborted(ZPageView *copy, int slotno)
{
	int			k = zpage_slot_page(slotno);
	FullTransactionId fxid;

	if (k >= zview_slot_pages(copy))
		return false;
	copy->overflow = zview_slot_page(copy, k);
	fxid = zpage_slot_fxid(zpage_slot(NULL, copy->overflow, slotno));
	return FullTransactionIdIsValid(fxid) && zmvcc_xact_status(fxid) == ZXACT_ABORTED;
}

/* Roll back the slot on a lock page or, if that is 0, all slots that rows can name. */
static bool
roll_back_slots(Relation rel, Buffer buffer, int lock_slot)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zheap rollback",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext rows = AllocSetContextCreate(context, "zheap rollback rows",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ZRollbackPlan plan;
	ZPageView	copy;
	ZPageView	live;
	XLogRecPtr	changed = InvalidXLogRecPtr;
	bool		done = false;
	bool		more = true;
	int			slotno;

	Assert(CritSectionCount == 0);
	Assert(zrollback_file_is_held(rel));	/* R4 */
	plan.rows = palloc(sizeof(ZRowRollback) * (ZPAGE_MAX_OFFSET + 1));
	zview_open(&copy, rel);
	zview_open(&live, rel);
	/* the owner before, or that of a slot that was looked at, may be aborted too */
	while (more)
	{
		FullTransactionId horizon = zview_horizon(&copy);

		if (!zview_copy(&copy, buffer))
			break;
		if (lock_slot != 0)
			slotno = lock_slot_is_aborted(&copy, lock_slot) ? lock_slot : 0;
		else
			slotno = find_aborted(&copy);
		if (slotno == 0)
			break;
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(rows);
		MemoryContextSwitchTo(rows);
		plan_slot(&copy, slotno, &plan);
		MemoryContextSwitchTo(context);
		if (execute_plan(&copy, &live, buffer, &plan, horizon, &changed, &more))
		{
			done = true;
			zview_count(&live, ZTABLE_PAGES_ROLLED_BACK, plan.nrows > 0);
			zview_count(&live, ZTABLE_ROWS_ROLLED_BACK, plan.nrows);
		}
	}
	/* no reader has waited for the versions that were walked */
	memset(copy.counts, 0, sizeof(copy.counts));
	zview_close(&copy);
	zview_close(&live);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return done;
}

bool
zrollback_page(Relation rel, Buffer buffer)
{
	return roll_back_slots(rel, buffer, 0);
}

bool
zrollback_lock_slot(Relation rel, Buffer buffer, int slotno)
{
	return roll_back_slots(rel, buffer, slotno);
}

void
zrollback_block(Relation rel, BlockNumber block)
{
	Buffer		buffer;

	if (block >= RelationGetNumberOfBlocks(rel))
		return;					/* truncated, or an unlogged table after a crash */
	buffer = ReadBuffer(rel, block);
	zrollback_page(rel, buffer);
	ReleaseBuffer(buffer);
}
