/*
 * mvcc_state.c
 *		The newest version of a row that is not aborted, and what state it is in.
 *
 * What ANALYZE, VACUUM, pruning and index builds ask, which have no snapshot: whether a row is
 * there, is being changed, or is dead to all.
 *
 * LOCKING: none of its own.  While a page is locked, the undo that is read is limited (B1).
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_horizon.h"

ZXactStatus
zmvcc_version_status(ZPageView *view, const ZRowVersion *version)
{
	FullTransactionId fxid = zmodifier_bound(&version->modifier);
	int			slotno = version->hdr.slotno;
	ZXactStatus	status;

	/* the status of one of the page's own slots is cached for the page's other rows */
	if (slotno > 0 && slotno <= zpage_nslots(view->page) &&
		FullTransactionIdEquals(fxid, zpage_slot_fxid(zpage_slot(view->page, NULL, slotno))))
	{
		status = view->status[slotno];
		if (status == ZXACT_UNKNOWN)
			status = view->status[slotno] = zmvcc_xact_status(fxid);
		return status;
	}
	/*
	 * "Not aborted" and then "not in progress", asked of the same transaction at two moments,
	 * would take it for committed if it aborted in between: so remember that it was in
	 * progress.
	 */
	if (FullTransactionIdEquals(fxid, view->asked) && view->asked_status == ZXACT_IN_PROGRESS)
		return ZXACT_IN_PROGRESS;
	status = view->asked_status = zmvcc_xact_status(fxid);
	view->asked = fxid;
	return status;
}

static bool
unseen_aborted(const ZUnseen *unseen, FullTransactionId fxid)
{
	return zmvcc_xact_status(fxid) == ZXACT_ABORTED;
}

static const ZUnseen aborted = {.owner = unseen_aborted, .curcid = InvalidCommandId};

bool
zmvcc_skip_aborted(ZPageView *view, ZRowVersion *version)
{
	while (!zmodifier_is_all_visible(&version->modifier))
	{
		ZXactStatus status = zmvcc_version_status(view, version);

		if (version->modifier.kind == ZMODIFIER_UPPER_BOUND)
		{
			if (status == ZXACT_COMMITTED || status == ZXACT_ALL_VISIBLE)
				return true;	/* and so have the modifiers of all versions below */
			zmvcc_find_modifier(view, version);
		}
		else if (status != ZXACT_ABORTED)
			return true;
		else if (!zmvcc_previous_unseen(view, version, &aborted))
			return false;
	}
	return true;
}

/*
 * Return whether the newest version, a deletion, is visible to all.  *fxid becomes the deleter,
 * if that had to be found out.
 */
static bool
deletion_is_old(ZPageView *view, ZRowVersion *version, FullTransactionId *fxid)
{
	Assert(zversion_is_deleted(version));
	if (version->modifier.kind == ZMODIFIER_UPPER_BOUND &&
		zmvcc_visible_to_all(view->rel, zmodifier_bound(&version->modifier)))
		return true;
	if (version->modifier.kind == ZMODIFIER_UPPER_BOUND && zview_is_spent(view))
		return false;
	zmvcc_find_modifier(view, version);
	*fxid = zmodifier_fxid(&version->modifier);
	return !FullTransactionIdIsValid(*fxid) || zmvcc_visible_to_all(view->rel, *fxid);
}

/* Return the state of a row, whose newest version is "version": see zmvcc_state. */
static ZRowState
state_of_newest(ZPageView *view, ZRowVersion *version, FullTransactionId *fxid)
{
	if (!zmvcc_skip_aborted(view, version))
		return ZSTATE_NONE;

	*fxid = zmodifier_bound(&version->modifier);
	if (zmodifier_is_exact(&version->modifier))
	{
		ZXactStatus status = zmvcc_version_status(view, version);

		if (status == ZXACT_OWN || status == ZXACT_IN_PROGRESS)
		{
			if (zversion_is_deleted(version))
				return ZSTATE_DELETING;
			return (version->hdr.flags & ZROW_INSERTED) ? ZSTATE_INSERTING : ZSTATE_LIVE;
		}
	}
	if (!zversion_is_deleted(version))
		return ZSTATE_LIVE;
	return deletion_is_old(view, version, fxid) ? ZSTATE_DEAD : ZSTATE_RECENTLY_DEAD;
}

/* Number of undo records that one hold of a page's lock may read here: a directory may follow. */
#define STATE_READS		(ZVIEW_MAX_READS - ZVIEW_STEP_READS - ZVIEW_SPARE_READS)

ZRowState
zmvcc_state(ZPageView *view, OffsetNumber offnum, ZRowVersion *version, FullTransactionId *fxid)
{
	bool		limited = view->locked && view->limit == 0;
	ZRowState	state;

	*fxid = InvalidFullTransactionId;
	if (!zpage_is_row(view->page, offnum))
		return ZSTATE_NONE;
	if (limited)
		zview_limit(view, Max(STATE_READS - view->reads, 0));
	zmvcc_current(view, offnum, version);
	state = state_of_newest(view, version, fxid);
	if (!limited || zview_limit_end(view))
		return state;

	/*
	 * It would take too long under the page's lock to find the state (B1): a row may have any
	 * number of aborted versions, and a page many such rows.  Answer so that the row and its
	 * body are not taken away: the deletion may still be rolled back.
	 */
	zmvcc_current(view, offnum, version);
	*fxid = InvalidFullTransactionId;
	return zversion_is_deleted(version) ? ZSTATE_DELETING : ZSTATE_LIVE;
}

/*
 * Return whether the transaction in progress that made the row's newest version inserted the
 * row as well.  "version", not aborted, is the newest; it changes.
 */
static bool
is_unborn(ZPageView *view, ZRowVersion *version)
{
	Assert(!view->locked);		/* B1: any number of versions may be walked */
	while (zmodifier_is_exact(&version->modifier))
	{
		ZXactStatus status = zmvcc_version_status(view, version);

		if (status != ZXACT_OWN && status != ZXACT_IN_PROGRESS)
			return false;
		if ((version->hdr.flags & ZROW_INSERTED) || !zmvcc_previous(view, version))
			return true;
		if (!zmvcc_skip_aborted(view, version))
			return false;
	}
	return false;
}

ZRowState
zmvcc_state_to_count(ZPageView *view, OffsetNumber offnum, FullTransactionId *fxid)
{
	ZRowVersion	version;
	ZRowState	state = zmvcc_state(view, offnum, &version, fxid);

	switch (state)
	{
		case ZSTATE_LIVE:
			return is_unborn(view, &version) ? ZSTATE_INSERTING : ZSTATE_LIVE;
		case ZSTATE_DELETING:
			if (!TransactionIdIsCurrentTransactionId(zfxid_xid(*fxid)) &&
				is_unborn(view, &version))
				return ZSTATE_INSERTING;
			return ZSTATE_DELETING;
		default:
			return state;
	}
}

bool
zmvcc_dead_to_all(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion	version;
	FullTransactionId fxid;

	Assert(view->limit == 0);	/* beyond a limit, versions count as visible to all */
	switch (zmvcc_state(view, offnum, &version, &fxid))
	{
		case ZSTATE_NONE:		/* no row, or one inserted by an aborted transaction */
		case ZSTATE_DEAD:
			return true;
		default:
			return false;
	}
}

/*
 * Return whether the commit of a deletion is on disk whose transaction has lost the row's slot
 * to "owner" (invalid: the row is gone, or names no owner).  If "owner" is another transaction,
 * the deletion was committed before the page was changed for that one.  If it is a later part
 * of the same transaction, the deletion has committed with it, unless that part was rolled
 * back: then nothing names the deletion's transaction, and the answer is false.
 */
static bool
commit_of_lost_is_on_disk(ZPageView *view, FullTransactionId owner)
{
	if (XLogNeedsFlush(PageGetLSN(view->page)))
		return false;
	if (!FullTransactionIdIsValid(owner))
		return true;
	switch (zmvcc_xact_status(owner))
	{
		case ZXACT_ALL_VISIBLE:
		case ZXACT_COMMITTED:
			return zmvcc_commit_is_on_disk(owner);
		case ZXACT_OWN:
		case ZXACT_IN_PROGRESS:
			return true;
		default:
			return false;
	}
}

/*
 * Return whether the commit is on disk of the transaction that made the newest version, or deleted
 * the row, and that every snapshot sees.
 */
static bool
newest_is_on_disk(ZPageView *view, const ZRowVersion *version)
{
	FullTransactionId owner = zmvcc_slot_owner(view, version);

	if (view->local)
		return true;
	if (FullTransactionIdIsValid(owner) && !(version->hdr.flags & ZROW_REUSED))
		return zmvcc_commit_is_on_disk(owner);
	return commit_of_lost_is_on_disk(view, owner);
}

bool
zmvcc_note_killer(ZPageView *view, const ZRowVersion *version)
{
	ZRowVersion exact = *version;
	bool		limited = view->locked;

	if (limited)
		zview_limit(view, Max(ZVIEW_MAX_READS - ZVIEW_SPARE_READS - view->reads, 0));
	zmvcc_find_modifier(view, &exact);
	if (limited && !zview_limit_end(view))
		return false;
	if (zmodifier_is_exact(&exact.modifier))
		zheap_note_killer(zmodifier_fxid(&exact.modifier));
	return true;
}

bool
zmvcc_dead_on_disk(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion version;

	if (!zpage_is_row(view->page, offnum))
		return view->local || commit_of_lost_is_on_disk(view, InvalidFullTransactionId);
	if (!zmvcc_dead_to_all(view, offnum))
		return false;
	zmvcc_current(view, offnum, &version);
	if (!zversion_is_deleted(&version))
		return true;			/* inserted by an aborted transaction */
	return newest_is_on_disk(view, &version) &&
		((version.hdr.flags2 & ZROW2_SEVERAL_KEYS) == 0 || zmvcc_note_killer(view, &version));
}

bool
zmvcc_settled_on_disk(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion version;

	zmvcc_current(view, offnum, &version);
	/* finding the modifier may take long, and in vain while an old snapshot is held */
	return !zversion_is_deleted(&version) &&
		(zmodifier_is_all_visible(&version.modifier) ||
		 zmvcc_visible_to_all(view->rel, zmodifier_bound(&version.modifier))) &&
		newest_is_on_disk(view, &version);
}

/* Return whether, as far as the page says, no deletion on it is visible to all. */
static bool
is_deleted_too_late(ZPageView *view)
{
	TransactionId oldest = ((PageHeader) view->page)->pd_prune_xid;

	/* a transaction below the horizon may be too old for the server's test */
	return TransactionIdIsValid(oldest) &&
		!TransactionIdPrecedes(oldest, zfxid_xid(zundo_horizon())) &&
		!GlobalVisTestIsRemovableXid(GlobalVisTestFor(view->rel), oldest, true);
}

bool
zmvcc_is_needed(ZPageView *view, const ZRowVersion *version)
{
	ZXactStatus	status;

	if (!zversion_is_deleted(version))
		return false;
	/* finding the deletion itself may take long, and in vain while an old snapshot is held */
	if (version->modifier.kind == ZMODIFIER_UPPER_BOUND)
		return is_deleted_too_late(view);
	if (!zmodifier_is_exact(&version->modifier))
		return false;
	if (version->cid != InvalidCommandId)
		return true;
	status = zmvcc_version_status(view, version);
	return status == ZXACT_OWN || status == ZXACT_IN_PROGRESS;
}

/* Return whether the version has an older one that some snapshot may still see. */
static bool
has_older(ZPageView *view, ZRowVersion *version)
{
	zmvcc_find_modifier(view, version);
	return zmodifier_is_exact(&version->modifier) &&
		!(version->hdr.flags & ZROW_INSERTED) &&
		!zmvcc_visible_to_all(view->rel, zmodifier_fxid(&version->modifier));
}

bool
zmvcc_has_older(ZPageView *view, ZRowVersion *version)
{
	Assert(view->limit == 0);	/* see zmvcc_dead_to_all */
	return has_older(view, version);
}

bool
zmvcc_some_version(ZPageView *view, OffsetNumber offnum, ZVersionTest test, void *arg,
				   ZRowVersion *oldest)
{
	bool		limited = view->locked;
	bool		found = false;

	if (limited)
		zview_limit(view, Max(STATE_READS - view->reads, 0));
	zmvcc_current(view, offnum, oldest);
	if (zmvcc_skip_aborted(view, oldest))
	{
		do
		{
			found = test(oldest, arg);
		} while (!found && has_older(view, oldest) && zmvcc_previous(view, oldest));
	}
	return (limited && !zview_limit_end(view)) || found;
}
