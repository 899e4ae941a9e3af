/*
 * mvcc_snapshot.c
 *		Which version of a row a snapshot sees, for every kind of snapshot.
 *
 *	fetch_mvcc			MVCC and historic: committed before, or ours and older
 *						than the command
 *	fetch_self			committed or ours by now (SELF, TOAST)
 *	fetch_any			the newest that is not aborted, deleted or not
 *	fetch_dirty			like self, but reports who is at work on the row
 *	fetch_nonvacuumable	not dead to all
 *
 * One fact is used throughout: when the owner of a slot is visible, so are all
 * who had the slot before it, as each had committed when the next one took it.
 * Row locks make no versions and do not matter here.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/mvcc.h"

ZFate
zmvcc_image_fate(ZPageView *view, const ZImage *image)
{
	ZFate		fate;

	/* fates of the page's own slots are remembered for its other rows */
	if (image->hdr.slotno > 0 && image->hdr.slotno <= ZPAGE_MAX_INPAGE &&
		FullTransactionIdEquals(zpage_slot(view->page, NULL, image->hdr.slotno)->fxid, image->fxid))
	{
		fate = view->fate[image->hdr.slotno];
		if (fate == ZFATE_UNKNOWN)
			fate = view->fate[image->hdr.slotno] = zmvcc_fate(image->fxid);
		return fate;
	}
	return zmvcc_fate(image->fxid);
}

static inline bool
image_deleted(const ZImage *image)
{
	return (image->hdr.flags & ZROW_DELETED) != 0;
}

/*
 * A row whose slot was taken over: is its modifier visible to the snapshot
 * without knowing who it was?
 */
static bool
chain_visible(ZPageView *view, const ZImage *image, Snapshot snapshot)
{
	FullTransactionId newest = zpage_trailer(view->page)->reused_fxid;
	TransactionId xid = zfxid_xid(newest);

	if (zmvcc_fxid_in_snapshot(image->fxid, snapshot))
		return true;
	/* pushed owners have committed, unless they go down with this one */
	return TransactionIdPrecedes(xid, snapshot->xmin) &&
		zmvcc_image_fate(view, image) != ZFATE_ABORTED;
}

bool
zmvcc_modifier_visible(ZPageView *view, ZImage *image, Snapshot snapshot)
{
	while (image->chain)
	{
		if (chain_visible(view, image, snapshot))
			return true;
		zmvcc_chain_descend(view, image);
	}
	return !FullTransactionIdIsValid(image->fxid) ||
		zmvcc_fxid_in_snapshot(image->fxid, snapshot);
}

/* Our own version: is it older than the snapshot's command? */
static bool
own_visible(ZPageView *view, ZImage *image, Snapshot snapshot)
{
	CommandId	cid;

	if (!zmvcc_command(view, image, &cid))
		return true;
	image->cid = cid;
	return cid < snapshot->curcid;
}

static bool
fetch_mvcc(ZPageView *view, Snapshot snapshot, ZImage *image)
{
	for (;;)
	{
		if (zmvcc_modifier_visible(view, image, snapshot))
			return !image_deleted(image);
		if (TransactionIdIsCurrentTransactionId(zfxid_xid(image->fxid)) &&
			own_visible(view, image, snapshot))
			return !image_deleted(image);
		/* most rows never need the record of their insertion */
		if (image->hdr.flags & ZROW_INSERTED)
			return false;
		if (!zmvcc_previous(view, image))
			return false;
	}
}

bool
zmvcc_skip_aborted(ZPageView *view, ZImage *image)
{
	while (FullTransactionIdIsValid(image->fxid))
	{
		ZFate		fate = zmvcc_image_fate(view, image);

		if (image->chain)
		{
			if (fate == ZFATE_COMMITTED || fate == ZFATE_FROZEN)
				return true;	/* and so have all below */
			zmvcc_chain_descend(view, image);
		}
		else if (fate != ZFATE_ABORTED)
			return true;
		else if (!zmvcc_previous(view, image))
			return false;
	}
	return true;
}

static bool
fetch_self(ZPageView *view, ZImage *image)
{
	for (;;)
	{
		if (!zmvcc_skip_aborted(view, image))
			return false;
		if (!FullTransactionIdIsValid(image->fxid) || image->chain ||
			zmvcc_image_fate(view, image) != ZFATE_RUNNING)
			return !image_deleted(image);
		if (!zmvcc_previous(view, image))
			return false;
	}
}

static bool
fetch_dirty(ZPageView *view, Snapshot snapshot, ZImage *image)
{
	snapshot->xmin = snapshot->xmax = InvalidTransactionId;
	snapshot->speculativeToken = 0;

	if (!zmvcc_skip_aborted(view, image))
		return false;
	if (!FullTransactionIdIsValid(image->fxid) || image->chain ||
		zmvcc_image_fate(view, image) != ZFATE_RUNNING)
		return !image_deleted(image);

	if (image->hdr.flags & ZROW_INSERTED)
	{
		snapshot->xmin = zfxid_xid(image->fxid);
		if (image->hdr.flags2 & ZROW2_SPECULATIVE)
		{
			ZUndoRecord rec;
			FullTransactionId owner;
			ZUndoPtr	at;

			if (zmvcc_record(view, image, &rec, &owner, &at))
				snapshot->speculativeToken = rec.token;
		}
	}
	else
		snapshot->xmax = zfxid_xid(image->fxid);
	return true;
}

static bool
fetch_nonvacuumable(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZImage *image)
{
	FullTransactionId fxid;

	switch (zmvcc_state(view, offnum, image, &fxid))
	{
		case ZSTATE_NONE:
		case ZSTATE_DEAD:
			return false;
		case ZSTATE_RECENTLY_DEAD:
			return !GlobalVisTestIsRemovableFullXid(snapshot->vistest, fxid) &&
				zmvcc_restore_body(view, image);
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

bool
zmvcc_fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZImage *image)
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
		return fetch_nonvacuumable(view, offnum, snapshot, image);

	zmvcc_current(view, offnum, image);
	switch (snapshot->snapshot_type)
	{
		case SNAPSHOT_MVCC:
		case SNAPSHOT_HISTORIC_MVCC:
			return fetch_mvcc(view, snapshot, image);
		case SNAPSHOT_SELF:
		case SNAPSHOT_TOAST:
			return fetch_self(view, image);
		case SNAPSHOT_ANY:
			return zmvcc_skip_aborted(view, image) && zmvcc_restore_body(view, image);
		case SNAPSHOT_DIRTY:
			return fetch_dirty(view, snapshot, image);
		default:
			elog(ERROR, "unexpected snapshot type: %d", snapshot->snapshot_type);
	}
	return false;
}

void
zmvcc_version_of(const ZImage *image, ZPageView *view, ZVersion *version)
{
	memset(version, 0, sizeof(*version));
	if (!FullTransactionIdIsValid(image->fxid) && !FullTransactionIdIsValid(image->next_fxid))
		return;
	version->fxid = image->fxid;
	version->undo = image->undo;
	if (image->cid != InvalidCommandId)
		version->cmin = image->cid;
	else if (FullTransactionIdIsValid(image->fxid) &&
		TransactionIdIsCurrentTransactionId(zfxid_xid(image->fxid)))
	{
		ZUndoRecord rec;
		FullTransactionId owner;
		ZUndoPtr	at;

		if (zmvcc_record(view, image, &rec, &owner, &at))
		{
			version->cmin = rec.cid;
			version->undo = at;
			version->fxid = owner;
		}
	}
	if (FullTransactionIdIsValid(image->next_fxid))
	{
		version->xmax = zfxid_xid(image->next_fxid);
		version->cmax = image->next_cid;
	}
}

ZRowState
zmvcc_state(ZPageView *view, OffsetNumber offnum, ZImage *image, FullTransactionId *fxid)
{
	ZFate		fate;

	*fxid = InvalidFullTransactionId;
	if (offnum > PageGetMaxOffsetNumber(view->page) ||
		!ItemIdIsNormal(PageGetItemId(view->page, offnum)))
		return ZSTATE_NONE;
	zmvcc_current(view, offnum, image);
	if (!zmvcc_skip_aborted(view, image))
		return ZSTATE_NONE;

	*fxid = image->fxid;
	if (!FullTransactionIdIsValid(image->fxid))
		return image_deleted(image) ? ZSTATE_DEAD : ZSTATE_LIVE;
	fate = image->chain ? ZFATE_COMMITTED : zmvcc_image_fate(view, image);
	if (fate == ZFATE_OWN || fate == ZFATE_RUNNING)
	{
		if (image_deleted(image))
			return ZSTATE_DELETING;
		return (image->hdr.flags & ZROW_INSERTED) ? ZSTATE_INSERTING : ZSTATE_LIVE;
	}
	if (!image_deleted(image))
		return ZSTATE_LIVE;
	return zmvcc_visible_to_all(view->rel, image->fxid) ? ZSTATE_DEAD : ZSTATE_RECENTLY_DEAD;
}

/*
 * Of a row that a transaction in progress has made as it is: did that one insert
 * it, too?
 */
static bool
is_unborn(ZPageView *view, OffsetNumber offnum)
{
	ZImage		image;

	zmvcc_current(view, offnum, &image);
	while (zmvcc_skip_aborted(view, &image) &&
		   FullTransactionIdIsValid(image.fxid) && !image.chain)
	{
		ZFate		fate = zmvcc_image_fate(view, &image);

		if (fate != ZFATE_OWN && fate != ZFATE_RUNNING)
			return false;
		if ((image.hdr.flags & ZROW_INSERTED) || !zmvcc_previous(view, &image))
			return true;
	}
	return false;
}

ZRowState
zmvcc_state_to_count(ZPageView *view, OffsetNumber offnum, FullTransactionId *fxid)
{
	ZImage		image;
	ZRowState	state = zmvcc_state(view, offnum, &image, fxid);

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
	ZImage		image;
	FullTransactionId fxid;

	switch (zmvcc_state(view, offnum, &image, &fxid))
	{
		case ZSTATE_NONE:		/* no row, or inserted by an aborted transaction */
		case ZSTATE_DEAD:
			return true;
		default:
			return false;
	}
}

bool
zmvcc_is_being_deleted(ZPageView *view, const ZImage *image)
{
	ZFate		fate;

	if (!image_deleted(image) || image->chain || !FullTransactionIdIsValid(image->fxid))
		return false;
	if (image->cid != InvalidCommandId)
		return true;
	fate = zmvcc_image_fate(view, image);
	return fate == ZFATE_OWN || fate == ZFATE_RUNNING;
}

bool
zmvcc_has_older(ZPageView *view, const ZImage *image)
{
	return FullTransactionIdIsValid(image->fxid) &&
		!(image->hdr.flags & ZROW_INSERTED) &&
		!zmvcc_visible_to_all(view->rel, image->fxid);
}
