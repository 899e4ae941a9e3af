/*
 * dml_check_conflict.c
 *		What became of the version that the caller's snapshot sees, if another transaction has
 *		changed the row since, or is changing it.
 *
 * LOCKING: the row's page is locked exclusively, or the view is of a copy of it; none is locked
 * or unlocked here.
 */
#include "postgres.h"

#include "zheap/mvcc/state.h"
#include "zheap/mvcc/status.h"
#include "zheap/mvcc/visibility.h"

#include "check_conflict.h"

/* Number of versions of a transaction in progress that a KEY SHARE lock examines one by one. */
#define MAX_STEPS		64

bool
zcheck_unseen_owner(const ZUnseen *unseen, FullTransactionId fxid)
{
	switch (zmvcc_xact_status(fxid))
	{
		case ZXACT_IN_PROGRESS:
			return true;
		case ZXACT_COMMITTED:
			return unseen->snapshot != NULL && !zmvcc_fxid_in_snapshot(fxid, unseen->snapshot);
		default:
			return false;
	}
}

void
zcheck_skip_compatible(ZTarget *target, const ZRowVersion *version, ZUpdateCheck *check)
{
	ZUndoRecord rec;
	ZOwner		at;

	check->later = true;
	if ((version->hdr.flags & ZROW_DELETED) &&
		zmvcc_record(&target->view, version, &rec, &at) && rec.has_new_tid)
	{
		check->moved_to = rec.new_tid;
		check->mover = at.fxid;
	}
}

TM_Result
zcheck_replaced(ZTarget *target, const ZRowVersion *version, ZUpdateCheck *check)
{
	ZUndoRecord rec;
	ZOwner		at;

	if (!(version->hdr.flags & ZROW_DELETED))
		return TM_Updated;
	if (version->hdr.flags2 & ZROW2_MOVED_PART)
		ItemPointerSetMovedPartitions(&check->ctid);
	if (!(version->hdr.flags & ZROW_MOVED))
		return (version->hdr.flags2 & ZROW2_MOVED_PART) ? TM_Updated : TM_Deleted;
	if (zmvcc_record(&target->view, version, &rec, &at) && rec.has_new_tid)
	{
		check->ctid = rec.new_tid;
		return TM_Updated;
	}
	return TM_Deleted;
}

TM_Result
zcheck_superseded(ZTarget *target, const ZRowVersion *newest, const ZCheckQuery *query,
				  ZUpdateCheck *check)
{
	ZPageView  *view = &target->view;
	ZRowVersion	version = *newest;
	TM_Result	result = zcheck_replaced(target, newest, check);

	check->modified_by_us = false;
	if (!zcheck_snapshot_decides(query->snapshot) ||
		(result != TM_Deleted && !query->counts_superseded))
		return result;
	while (check->superseded < 2 && !zmodifier_is_all_visible(&version.modifier) &&
		   !zmvcc_modifier_visible(view, &version, query->snapshot))
	{
		if (!(version.hdr.flags & ZROW_DELETED))
			check->superseded++;
		if (!zmvcc_previous(view, &version) || !zmvcc_skip_aborted(view, &version))
			break;
	}
	if (result == TM_Deleted && check->superseded > 0 && query->mode != LockTupleKeyShare)
		return TM_Updated;
	return result;
}

TM_Result
zcheck_in_progress(ZTarget *target, const ZRowVersion *newest, const ZCheckQuery *query,
				   ZUpdateCheck *check)
{
	ZPageView  *view = &target->view;
	ZRowVersion	version = *newest;
	ZXactStatus	status = ZXACT_IN_PROGRESS;
	ZUnseen		unseen = zcheck_unseen(query, NULL);
	int			steps = 0;

	while (status == ZXACT_IN_PROGRESS)
	{
		bool		conflict = zcheck_conflicts(query, &version);
		bool		found;

		/*
		 * All these versions belong to one transaction.  If there are very many it suffices to
		 * know that one conflicts, even if not what became of the version asked about first.
		 */
		if (conflict && ++steps > MAX_STEPS)
			unseen.no_keys = false;
		check->later = !conflict;
		if (conflict)
			check->xid = zfxid_xid(zmodifier_fxid(&version.modifier));
		found = zmvcc_previous_unseen(view, &version, &unseen);
		/* the last of those that were skipped at once: what was found for the first one holds */
		if (conflict && found && FullTransactionIdIsValid(version.next_fxid))
			check->xid = zfxid_xid(version.next_fxid);
		if (conflict)
			check->replacer = check->xid;
		found = found && zmvcc_skip_aborted(view, &version);
		check->parity = zcheck_parity(&version);
		if (!found || zmodifier_is_all_visible(&version.modifier))
			return TM_BeingModified;
		status = zmodifier_is_exact(&version.modifier) ?
			zmvcc_version_status(view, &version) : ZXACT_COMMITTED;
	}
	if (status == ZXACT_OWN || !zcheck_snapshot_decides(query->snapshot))
		return TM_BeingModified;
	unseen.snapshot = query->snapshot;
	while (!zmodifier_is_all_visible(&version.modifier) &&
		   !zmvcc_modifier_visible(view, &version, query->snapshot))
	{
		if (zcheck_conflicts(query, &version))
		{
			check->xid = zfxid_xid(zmodifier_fxid(&version.modifier));
			return zcheck_superseded(target, &version, query, check);
		}
		check->later = true;
		if (!zmvcc_previous_unseen(view, &version, &unseen) ||
			!zmvcc_skip_aborted(view, &version))
			break;
	}
	return TM_BeingModified;
}
