/*
 * dml_plan.c
 *		Beginning the plan of a change, and describing the version before in it.
 *
 * LOCKING: the target's page is locked exclusively, on entry and on exit, except after AGAIN
 * (unlocked).
 */
#include "postgres.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/chain.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_horizon.h"

bool
zchange_undo_fits(const ZChange *change)
{
	return zrec_undo_bound(&change->undo) <= ZUNDO_MAX_RECORD;
}

ZStep
zchange_begin_known(ZTarget *target, ZRowOp op, OffsetNumber offnum, Size reserve,
					ZChange *change)
{
	Assert(target->locked);		/* D1 */
	memset(change, 0, sizeof(*change));
	if (ztarget_reserve_slot(target, reserve, &change->slot) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	change->has_undo = true;
	change->row.op = change->undo.type = op;
	change->row.offnum = change->undo.offnum = offnum;
	change->row.hdr.slotno = change->slot.slotno;
	change->row.hdr.natts = ZROW_NATTS_KEEP;
	Assert(target->locked && !zpage_is_lock_slot(change->slot.slotno));
	return ZSTEP_DONE;
}

ZStep
zchange_begin(ZTarget *target, ZRowOp op, OffsetNumber offnum, Size reserve, ZChange *change,
			  ZRowVersion *version)
{
	if (zchange_begin_known(target, op, offnum, reserve, change) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	zmvcc_current(&target->view, offnum, version);
	return ZSTEP_DONE;
}

#ifdef USE_ASSERT_CHECKING
/*
 * Assert that the version is the one on the page, with the modifier as it is named now (D5), and
 * that this modifier is neither aborted nor in progress (D1).
 */
static void
assert_is_newest(ZTarget *target, const ZRowVersion *version)
{
	ZRowVersion newest;
	ZXactStatus status;

	zmvcc_current(&target->view, version->offnum, &newest);
	Assert(newest.row == version->row && newest.len == version->len);
	Assert(newest.modifier.kind == version->modifier.kind &&
		   newest.modifier.place.undo == version->modifier.place.undo &&
		   FullTransactionIdEquals(newest.modifier.place.fxid, version->modifier.place.fxid));
	if (!zmodifier_is_exact(&newest.modifier))
		return;
	status = zmvcc_xact_status(zmodifier_fxid(&newest.modifier));
	Assert(status != ZXACT_ABORTED && status != ZXACT_IN_PROGRESS);
}
#else
#define assert_is_newest(target, version) ((void) 0)
#endif

void
zchange_describe_before(ZTarget *target, const ZRowVersion *version, ZChange *change)
{
	ZUndoRecord *undo = &change->undo;
	const ZSlotPlan *slot = &change->slot;
	ZRowVersion	made = *version;

	Assert(change->has_undo && undo->type == change->row.op);
	Assert(undo->offnum == version->offnum && change->row.offnum == version->offnum);
	assert_is_newest(target, version);
	undo->old_hdr = version->hdr;
	undo->old_hdr.flags &= ~ZROW_PADDED;
	undo->old_hdr.flags2 &= ~ZROW2_PLACE_FLAGS;
	if (undo->old_hdr.natts == change->row.hdr.natts || change->row.hdr.natts == ZROW_NATTS_KEEP)
		undo->old_hdr.natts = ZROW_NATTS_KEEP;
	undo->prev_own = undo->prev_upper_bound = false;
	undo->row_prev.fxid = InvalidFullTransactionId;
	undo->row_prev.undo = ZUNDO_INVALID;

	if (zmodifier_is_all_visible(&version->modifier) ||
		FullTransactionIdPrecedes(zmodifier_bound(&version->modifier), zundo_logged_horizon()))
		return;
	/* the version is about to be frozen along with its slot; the conflict is logged there */
	if (zslot_plan_freezes(slot, version->hdr.slotno))
		return;
	/* saves readers that walk back the way down the slot's chain */
	if (zmvcc_version_status(&target->view, version) == ZXACT_OWN)
	{
		ZOwner		at;

		if (zchain_find(&target->view, version->hdr.slotno, &made.modifier.place,
						zsought(version), NULL, &at, NULL) == ZCHAIN_FOUND)
		{
			made.modifier.kind = ZMODIFIER_EXACT;
			made.modifier.place = at;
		}
	}
	undo->prev_own = slot->takeover == ZTAKE_OWN && zmodifier_is_exact(&version->modifier) &&
		slot->slotno == version->hdr.slotno;
	undo->row_prev = made.modifier.place;
	undo->prev_upper_bound = made.modifier.kind == ZMODIFIER_UPPER_BOUND;
}
