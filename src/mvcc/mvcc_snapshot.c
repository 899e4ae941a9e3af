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
#include "utils/snapmgr.h"

#include "zheap/mvcc/state.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"

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

static const ZUnseen in_progress = {.owner = unseen_in_progress, .curcid = InvalidCommandId};

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
			return !zversion_is_deleted(version);
		if (TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier))) &&
			own_visible(view, version, snapshot))
			return !zversion_is_deleted(version);
		/* most rows never need the record of their insertion */
		if (version->hdr.flags & ZROW_INSERTED)
			return false;
		if (!zmvcc_previous_unseen(view, version, &unseen))
			return false;
	}
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
			return !zversion_is_deleted(version);
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
		return !zversion_is_deleted(version);

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
	return !zversion_is_deleted(version);
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
			 errdetail("Transactions of this session that have ended since have changed temporary tables, and older versions of rows are not kept."),
			 errhint("Import a newer snapshot, or use the access method heap for temporary tables.")));
}

/*
 * Get the version that the snapshot sees, reading undo under the page's lock if it is viewed in
 * place.  Return false if there is none, or offnum leads to no row.
 */
static bool
fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version)
{
	if (!zpage_is_row(view->page, offnum))
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

bool
zmvcc_sees_deletion(const ZRowVersion *version, Snapshot snapshot)
{
	/* the transaction of a deletion that the snapshot does not see is known */
	return zversion_is_deleted(version) &&
		(!zmodifier_is_exact(&version->modifier) ||
		 zmvcc_fxid_in_snapshot(zmodifier_fxid(&version->modifier), snapshot));
}
