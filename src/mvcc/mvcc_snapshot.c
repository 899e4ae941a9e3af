/*
 * mvcc_snapshot.c
 *		Which version of a row a snapshot sees, for every kind of snapshot.
 *
 *	fetch_mvcc			MVCC and historic: committed before, or ours and older
 *						than the command
 *	fetch_self			committed or ours by now (SELF, TOAST)
 *	(in fetch)			ANY: the newest that is not aborted, deleted or not
 *	fetch_dirty			like self, but reports which transaction is at work on the row
 *	fetch_nonvacuumable	not dead to all
 *
 * One fact is used throughout: when the owner of a slot is visible, so are all earlier owners
 * of the slot, as each had committed when the next one took it, or is an earlier subtransaction
 * of the same transaction.  The proof that the version found is right is in README.md.  Row
 * locks make no versions and are ignored here.
 *
 * LOCKING: none of its own.  A page that is viewed in place is unlocked before much undo is
 * read (zview_leave).
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/chain.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_local.h"

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

static inline bool
version_deleted(const ZRowVersion *version)
{
	return (version->hdr.flags & ZROW_DELETED) != 0;
}

/*
 * Return whether the snapshot sees the modifier of a row whose slot was reused, as far as that
 * follows without knowing which transaction it is.
 */
static bool
bound_visible(ZPageView *view, const ZRowVersion *version, Snapshot snapshot)
{
	FullTransactionId newest = zpage_reused_fxid(view->page);
	TransactionId xid = zfxid_xid(newest);

	Assert(version->modifier.kind == ZMODIFIER_UPPER_BOUND);
	if (zmvcc_fxid_in_snapshot(zmodifier_bound(&version->modifier), snapshot))
		return true;
	/* earlier owners have committed, unless they were rolled back with this one */
	return TransactionIdPrecedes(xid, snapshot->xmin) &&
		zmvcc_version_status(view, version) != ZXACT_ABORTED;
}

bool
zmvcc_modifier_visible(ZPageView *view, ZRowVersion *version, Snapshot snapshot)
{
	if (version->modifier.kind == ZMODIFIER_UPPER_BOUND &&
		(bound_visible(view, version, snapshot) || !zmvcc_resolve(view, version, snapshot)))
		return true;
	return zmodifier_is_all_visible(&version->modifier) ||
		zmvcc_fxid_in_snapshot(zmodifier_fxid(&version->modifier), snapshot);
}

/* Return whether the snapshot does not see the transaction. */
static bool
unseen_by_snapshot(const ZUnseen *unseen, FullTransactionId fxid)
{
	return !zmvcc_fxid_in_snapshot(fxid, unseen->snapshot);
}

static bool
unseen_in_progress(const ZUnseen *unseen, FullTransactionId fxid)
{
	return zmvcc_xact_status(fxid) == ZXACT_IN_PROGRESS;
}

static bool
unseen_aborted(const ZUnseen *unseen, FullTransactionId fxid)
{
	return zmvcc_xact_status(fxid) == ZXACT_ABORTED;
}

static const ZUnseen in_progress = {.owner = unseen_in_progress, .curcid = InvalidCommandId};
static const ZUnseen aborted = {.owner = unseen_aborted, .curcid = InvalidCommandId};

/* Return whether a version of our own transaction was made by a command before the snapshot's. */
static bool
own_visible(ZPageView *view, ZRowVersion *version, Snapshot snapshot)
{
	CommandId	cid;

	if (!zmvcc_command(view, version, &cid))
		return true;
	version->cid = cid;
	return cid < snapshot->curcid;
}

/*
 * Step down to the first version that the snapshot sees (V1).  Return true if it is a row,
 * false if it is a deletion, or if there is none.
 */
static bool
fetch_mvcc(ZPageView *view, Snapshot snapshot, ZRowVersion *version)
{
	ZUnseen		unseen = {
		.owner = unseen_by_snapshot,
		.snapshot = snapshot,
		.curcid = snapshot->curcid
	};

	for (;;)
	{
		if (zmvcc_modifier_visible(view, version, snapshot))
			return !version_deleted(version);
		if (TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier))) &&
			own_visible(view, version, snapshot))
			return !version_deleted(version);
		/* most rows never need the record of their insertion */
		if (version->hdr.flags & ZROW_INSERTED)
			return false;
		if (!zmvcc_previous_unseen(view, version, &unseen))
			return false;
	}
}

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

/* Return whether the version is that of another session's transaction that has not ended. */
static bool
is_in_progress(ZPageView *view, const ZRowVersion *version)
{
	return zmodifier_is_exact(&version->modifier) &&
		zmvcc_version_status(view, version) == ZXACT_IN_PROGRESS;
}

/*
 * Step down to the newest version that is committed, or ours.  The versions below the newest
 * one in progress were committed at the moment when that one was looked at.  If its transaction
 * has ended since, the walk may have skipped some of its versions but not others: then start
 * again, and it is no longer in progress.
 */
static bool
fetch_self(ZPageView *view, ZRowVersion *version)
{
	ZRowVersion	newest = *version;
	FullTransactionId passed = InvalidFullTransactionId;

	while (zmvcc_skip_aborted(view, version))
	{
		if (is_in_progress(view, version))
		{
			if (!FullTransactionIdIsValid(passed))
				passed = zmodifier_fxid(&version->modifier);
			if (!zmvcc_previous_unseen(view, version, &in_progress))
				return false;
		}
		else if (!FullTransactionIdIsValid(passed) ||
				 zmvcc_xact_status(passed) == ZXACT_IN_PROGRESS)
			return !version_deleted(version);
		else
		{
			passed = InvalidFullTransactionId;
			zview_refresh(view);
			*version = newest;
		}
	}
	return false;
}

/*
 * Step down to the newest version that is not aborted, and report a transaction in progress in
 * the snapshot: the inserter in xmin, with its speculative token, or the updater or deleter in
 * xmax.
 */
static bool
fetch_dirty(ZPageView *view, Snapshot snapshot, ZRowVersion *version)
{
	snapshot->xmin = snapshot->xmax = InvalidTransactionId;
	snapshot->speculativeToken = 0;

	if (!zmvcc_skip_aborted(view, version))
		return false;
	if (!is_in_progress(view, version))
		return !version_deleted(version);

	if (version->hdr.flags & ZROW_INSERTED)
	{
		snapshot->xmin = zfxid_xid(zmodifier_fxid(&version->modifier));
		if (version->hdr.flags2 & ZROW2_SPECULATIVE)
		{
			ZUndoRecord rec;
			ZOwner		at;

			if (zmvcc_record(view, version, &rec, &at))
				snapshot->speculativeToken = rec.token;
		}
	}
	else
		snapshot->xmax = zfxid_xid(zmodifier_fxid(&version->modifier));
	return true;
}

bool
zmvcc_dirty_older(ZPageView *view, Snapshot snapshot, ZRowVersion *version)
{
	FullTransactionId replacer = zmodifier_fxid(&version->modifier);

	Assert(zmodifier_is_exact(&version->modifier));
	snapshot->xmin = snapshot->xmax = InvalidTransactionId;
	snapshot->speculativeToken = 0;

	if (!zmvcc_previous(view, version) || !zmvcc_skip_aborted(view, version))
		return false;
	if (is_in_progress(view, version))
		snapshot->xmin = zfxid_xid(zmodifier_fxid(&version->modifier));
	else
		snapshot->xmax = zfxid_xid(replacer);
	return !version_deleted(version);
}

static bool
fetch_nonvacuumable(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version)
{
	FullTransactionId fxid;

	switch (zmvcc_state(view, offnum, version, &fxid))
	{
		case ZSTATE_NONE:
		case ZSTATE_DEAD:
			return false;
		case ZSTATE_RECENTLY_DEAD:
			return !GlobalVisTestIsRemovableFullXid(snapshot->vistest, fxid, true) &&
				zmvcc_reconstruct_body(view, version);
		default:
			return true;
	}
}

void
zmvcc_snapshot_too_old(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot read temporary table \"%s\" with an imported snapshot that is older than its rows",
					RelationGetRelationName(rel)),
			 errdetail("Transactions of this session that have ended since have changed temporary tables, and what was before is not kept."),
			 errhint("Import a newer snapshot, or use the access method heap for temporary tables.")));
}

/*
 * Get the version that the snapshot sees, reading undo under the page's lock if it is viewed in
 * place.  Return false if there is none, or offnum leads to no row.
 */
static bool
fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version)
{
	if (offnum < FirstOffsetNumber || offnum > PageGetMaxOffsetNumber(view->page) ||
		!ItemIdIsNormal(PageGetItemId(view->page, offnum)))
	{
		if (snapshot->snapshot_type == SNAPSHOT_DIRTY)
		{
			snapshot->xmin = snapshot->xmax = InvalidTransactionId;
			snapshot->speculativeToken = 0;
		}
		return false;
	}
	if (snapshot->snapshot_type == SNAPSHOT_NON_VACUUMABLE)
		return fetch_nonvacuumable(view, offnum, snapshot, version);

	zmvcc_current(view, offnum, version);
	switch (snapshot->snapshot_type)
	{
		case SNAPSHOT_MVCC:
		case SNAPSHOT_HISTORIC_MVCC:
			return fetch_mvcc(view, snapshot, version);
		case SNAPSHOT_SELF:
		case SNAPSHOT_TOAST:
			return fetch_self(view, version);
		case SNAPSHOT_ANY:
			return zmvcc_skip_aborted(view, version) && zmvcc_reconstruct_body(view, version);
		case SNAPSHOT_DIRTY:
			return fetch_dirty(view, snapshot, version);
		default:
			elog(ERROR, "unexpected snapshot type: %d", snapshot->snapshot_type);
	}
	return false;
}

bool
zmvcc_fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version)
{
	Buffer	   *leave = view->leave;
	bool		found;

	Assert(view->page != NULL && (leave == NULL || view->locked));
	if (leave == NULL)
		return fetch(view, offnum, snapshot, version);
	zview_limit(view, ZVIEW_READS_IN_PLACE);
	found = fetch(view, offnum, snapshot, version);
	if (zview_limit_end(view))
		return found;
	zview_leave(view);
	Assert(!view->locked);		/* B1 */
	return fetch(view, offnum, snapshot, version);
}

void
zmvcc_version_id(const ZRowVersion *version, ZPageView *view, ZVersionId *id)
{
	memset(id, 0, sizeof(*id));
	id->modifier = version->modifier;
	if (version->cid != InvalidCommandId)
		id->cmin = version->cid;
	else if (zmodifier_is_exact(&version->modifier) &&
			 TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier))))
		(void) zmvcc_command(view, version, &id->cmin);
	if (FullTransactionIdIsValid(version->next_fxid))
	{
		id->xmax = zfxid_xid(version->next_fxid);
		id->cmax = version->next_cid;
	}
}

void
zmvcc_resolve_id(ZVersionId *id, OffsetNumber offnum)
{
	/* no snapshot sees a deletion, so the version is none */
	ZSought		sought = {offnum, false};
	ZPageView	view;
	ZOwner		at;

	if (id->modifier.kind != ZMODIFIER_UPPER_BOUND && id->cmin != InvalidCommandId)
		return;
	zview_open(&view, NULL);
	view.local = view.reader.local = zundo_ptr_is_local(id->modifier.place.undo);
	view.horizon = zview_horizon(&view);
	if (id->modifier.kind == ZMODIFIER_EXACT)
	{
		if (!zchain_command(&view, 0, &id->modifier.place, sought, &id->cmin))
			id->cmin = FirstCommandId;
	}
	else if (zchain_find(&view, 0, &id->modifier.place, sought, NULL, &at, NULL) == ZCHAIN_FOUND)
	{
		id->modifier.kind = ZMODIFIER_EXACT;
		id->modifier.place = at;
	}
	else
		zmodifier_set_all_visible(&id->modifier);
	zview_close(&view);
}

/*
 * Return whether the newest version, a deletion, is visible to all.  *fxid becomes the deleter,
 * if that had to be found out.
 */
static bool
deletion_is_old(ZPageView *view, ZRowVersion *version, FullTransactionId *fxid)
{
	Assert(version_deleted(version));
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
			if (version_deleted(version))
				return ZSTATE_DELETING;
			return (version->hdr.flags & ZROW_INSERTED) ? ZSTATE_INSERTING : ZSTATE_LIVE;
		}
	}
	if (!version_deleted(version))
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
	if (offnum > PageGetMaxOffsetNumber(view->page) ||
		!ItemIdIsNormal(PageGetItemId(view->page, offnum)))
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
	return version_deleted(version) ? ZSTATE_DELETING : ZSTATE_LIVE;
}

/*
 * Return whether the transaction in progress that made the row's newest version inserted the
 * row as well.
 */
static bool
is_unborn(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion	version;

	Assert(!view->locked);		/* B1: any number of versions may be walked */
	zmvcc_current(view, offnum, &version);
	while (zmvcc_skip_aborted(view, &version) && zmodifier_is_exact(&version.modifier))
	{
		ZXactStatus	status = zmvcc_version_status(view, &version);

		if (status != ZXACT_OWN && status != ZXACT_IN_PROGRESS)
			return false;
		if ((version.hdr.flags & ZROW_INSERTED) || !zmvcc_previous(view, &version))
			return true;
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
			return is_unborn(view, offnum) ? ZSTATE_INSERTING : ZSTATE_LIVE;
		case ZSTATE_DELETING:
			if (!TransactionIdIsCurrentTransactionId(zfxid_xid(*fxid)) &&
				is_unborn(view, offnum))
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

bool
zmvcc_dead_on_disk(ZPageView *view, OffsetNumber offnum)
{
	FullTransactionId owner = InvalidFullTransactionId;
	ZRowVersion version;

	if (offnum <= PageGetMaxOffsetNumber(view->page) &&
		ItemIdIsNormal(PageGetItemId(view->page, offnum)))
	{
		if (!zmvcc_dead_to_all(view, offnum))
			return false;
		zmvcc_current(view, offnum, &version);
		if (!version_deleted(&version))
			return true;		/* inserted by an aborted transaction */
		owner = zmvcc_slot_owner(view, &version);
		if (!view->local && FullTransactionIdIsValid(owner) &&
			!(version.hdr.flags & ZROW_REUSED))
			return zmvcc_commit_is_on_disk(owner);
	}
	return view->local || commit_of_lost_is_on_disk(view, owner);
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

	if (!version_deleted(version))
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

bool
zmvcc_sees_deletion(const ZRowVersion *version, Snapshot snapshot)
{
	/* the transaction of a deletion that the snapshot does not see is known */
	return version_deleted(version) &&
		(!zmodifier_is_exact(&version->modifier) ||
		 zmvcc_fxid_in_snapshot(zmodifier_fxid(&version->modifier), snapshot));
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
