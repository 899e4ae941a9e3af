/*
 * dml_judge.c
 *		May the row be changed?  HeapTupleSatisfiesUpdate for rows that change in
 *		place.
 *
 * On heap a TID names one version.  Here it names the row, so the question is
 * put as "the version that my snapshot sees": if a transaction that the snapshot
 * does not see has changed the row since, the caller's version has been updated.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "zheap/dml/target.h"
#include "zheap/rollback/rollback.h"

static bool
snapshot_decides(Snapshot snapshot)
{
	return snapshot != InvalidSnapshot && IsMVCCSnapshot(snapshot);
}

/* The record of a version's making, or false if the version is visible to all. */
static bool
making_of(ZTarget *target, const ZImage *image, ZUndoRecord *rec)
{
	FullTransactionId owner;
	ZUndoPtr	at;

	return FullTransactionIdIsValid(image->fxid) &&
		zmvcc_record(&target->view, image, rec, &owner, &at);
}

/* A version of our own transaction: made before the command, or by it? */
static TM_Result
judge_own(ZTarget *target, const ZImage *image, const ZJudgeQuery *query, ZJudgement *j)
{
	ZUndoRecord rec;
	bool		later;

	if (!making_of(target, image, &rec))
		return TM_Ok;
	later = rec.cid >= query->cid;
	if (image->hdr.flags & ZROW_DELETED)
	{
		j->cmax = rec.cid;
		return later ? TM_SelfModified : TM_Invisible;
	}
	if (!later)
		return TM_Ok;
	j->cmax = rec.cid;
	return (image->hdr.flags & ZROW_INSERTED) ? TM_Invisible : TM_SelfModified;
}

/* A version of a committed transaction that deleted or replaced what we saw. */
static TM_Result
judge_gone(ZTarget *target, const ZImage *image, ZJudgement *j)
{
	ZUndoRecord rec;

	if (!(image->hdr.flags & ZROW_DELETED))
		return TM_Updated;
	if (image->hdr.flags2 & ZROW2_MOVED_PART)
		ItemPointerSetMovedPartitions(&j->ctid);
	if (!(image->hdr.flags & ZROW_MOVED))
		return (image->hdr.flags2 & ZROW2_MOVED_PART) ? TM_Updated : TM_Deleted;
	if (making_of(target, image, &rec) && rec.has_new_tid)
	{
		j->ctid = rec.new_tid;
		return TM_Updated;
	}
	return TM_Deleted;
}

/*
 * A KEY SHARE lock does not mind an update that leaves the key as it is: it is
 * about whatever version the caller saw.
 */
static bool
minds(const ZJudgeQuery *query, const ZImage *image)
{
	if (query->mode != LockTupleKeyShare)
		return true;
	if (image->hdr.flags2 & ZROW2_KEYS_UPDATED)
		return true;
	return (image->hdr.flags & ZROW_DELETED) && !(image->hdr.flags & ZROW_MOVED);
}

/* Pass by an update that is not minded. */
static void
pass_by(ZTarget *target, const ZImage *image, ZJudgement *j)
{
	ZUndoRecord rec;

	j->later = true;
	if ((image->hdr.flags & ZROW_DELETED) && making_of(target, image, &rec) &&
		rec.has_new_tid)
		j->moved_to = rec.new_tid;
}

/*
 * The version is of a transaction that committed, and it deletes the row or is not
 * the one that the snapshot sees.  What heap says is what became of the version seen:
 * if there was another one in between, then it was updated, not deleted.
 */
static TM_Result
judge_missed(ZTarget *target, const ZImage *newest, const ZJudgeQuery *query, ZJudgement *j)
{
	ZPageView  *view = &target->view;
	ZImage		image = *newest;
	TM_Result	result = judge_gone(target, newest, j);

	if (!snapshot_decides(query->snapshot))
		return result;
	while (j->missed < 2 && FullTransactionIdIsValid(image.fxid) &&
		   !zmvcc_modifier_visible(view, &image, query->snapshot))
	{
		if (!(image.hdr.flags & ZROW_DELETED))
			j->missed++;
		if (!zmvcc_previous(view, &image) || !zmvcc_skip_aborted(view, &image))
			break;
	}
	if (result == TM_Deleted && j->missed > 0 && query->mode != LockTupleKeyShare)
		return TM_Updated;
	return result;
}

static uint16
version_of(const ZImage *image)
{
	return (image->hdr.flags2 & ZROW2_PARITY) ? 1 : 0;
}

/*
 * Somebody is changing the row.  If the version that the snapshot sees has been
 * replaced before, by a transaction that committed, then that is the answer, and
 * REPEATABLE READ fails without waiting.  Otherwise the one to wait for is the
 * subtransaction that replaced it, not one that has changed the row again since.
 */
static TM_Result
judge_running(ZTarget *target, const ZImage *newest, const ZJudgeQuery *query, ZJudgement *j)
{
	ZPageView  *view = &target->view;
	ZImage		image = *newest;
	ZFate		fate = ZFATE_RUNNING;

	while (fate == ZFATE_RUNNING)
	{
		bool		found;

		j->later = !minds(query, &image);
		if (!j->later)
			j->xid = j->replacer = zfxid_xid(image.fxid);
		found = zmvcc_previous(view, &image) && zmvcc_skip_aborted(view, &image);
		j->version = version_of(&image);
		if (!found || !FullTransactionIdIsValid(image.fxid))
			return TM_BeingModified;
		fate = image.chain ? ZFATE_COMMITTED : zmvcc_image_fate(view, &image);
	}
	if (fate == ZFATE_OWN || !snapshot_decides(query->snapshot))
		return TM_BeingModified;
	while (FullTransactionIdIsValid(image.fxid) &&
		   !zmvcc_modifier_visible(view, &image, query->snapshot))
	{
		if (minds(query, &image))
		{
			j->xid = zfxid_xid(image.fxid);
			return judge_missed(target, &image, query, j);
		}
		j->later = true;
		if (!zmvcc_previous(view, &image) || !zmvcc_skip_aborted(view, &image))
			break;
	}
	return TM_BeingModified;
}

static TM_Result
judge_image(ZTarget *target, ZImage *image, const ZJudgeQuery *query, ZJudgement *j)
{
	ZPageView  *view = &target->view;

	while (zmvcc_skip_aborted(view, image))
	{
		bool		deleted = (image->hdr.flags & ZROW_DELETED) != 0;
		ZFate		fate;

		if (!FullTransactionIdIsValid(image->fxid))
			return deleted ? TM_Deleted : TM_Ok;
		fate = image->chain ? ZFATE_COMMITTED : zmvcc_image_fate(view, image);
		j->xid = zfxid_xid(image->fxid);
		if (fate == ZFATE_OWN)
		{
			j->modified_by_us = true;
			return judge_own(target, image, query, j);
		}
		if (fate == ZFATE_RUNNING)
		{
			if (image->hdr.flags & ZROW_INSERTED)
				return TM_Invisible;
			if (minds(query, image))
				return judge_running(target, image, query, j);
		}
		else
		{
			if (!snapshot_decides(query->snapshot) ||
				zmvcc_modifier_visible(view, image, query->snapshot))
				return deleted ? judge_gone(target, image, j) : TM_Ok;
			if (minds(query, image))
				return judge_missed(target, image, query, j);
		}
		pass_by(target, image, j);
		if (!zmvcc_previous(view, image))
			break;
	}
	return TM_Invisible;
}

/*
 * Under REPEATABLE READ, referential actions must not touch rows that the
 * transaction's own snapshot does not see.
 */
static TM_Result
crosscheck(ZTarget *target, const ZJudgeQuery *query, ZJudgement *j)
{
	ZImage		image = j->image;

	if (!zmvcc_skip_aborted(&target->view, &image) ||
		!FullTransactionIdIsValid(image.fxid) ||
		zmvcc_image_fate(&target->view, &image) == ZFATE_OWN ||
		zmvcc_modifier_visible(&target->view, &image, query->crosscheck))
		return TM_Ok;
	return TM_Updated;
}

/*
 * Somebody's lock is in the way, too.  Of several transactions heap waits for the
 * oldest first: so they are sorted in a multixact.
 */
static void
wait_for_lock(ZJudgement *j, TransactionId xid, uint16 version)
{
	if (!TransactionIdIsValid(xid))
		return;
	if (j->result == TM_Ok)
	{
		j->result = TM_BeingModified;
		j->xid = xid;
		j->version = version;
	}
	else if (!j->later)
		j->xid = zlock_oldest(j->xid, xid);
}

static void
judge_locks(ZTarget *target, const ZImage *judged, const ZJudgeQuery *query, ZJudgement *j)
{
	ZLockHolders holders;

	zlock_holders(&target->view, target->offnum, query->mode,
				  j->result == TM_BeingModified, &holders);
	j->own_lock = holders.own;
	j->strongest_lock = holders.strongest;
	wait_for_lock(j, holders.conflicting, version_of(judged));
}

static bool
locks_matter(const ZJudgement *j)
{
	return j->result == TM_Ok || j->result == TM_BeingModified;
}

static bool
row_of_aborted(ZTarget *target)
{
	ZImage		image;

	zmvcc_current(&target->view, target->offnum, &image);
	return FullTransactionIdIsValid(image.fxid) &&
		zmvcc_image_fate(&target->view, &image) == ZFATE_ABORTED;
}

static void
judge_once(ZTarget *target, const ZJudgeQuery *query, ZJudgement *j)
{
	Page		page = target->view.page;
	ZImage		image;

	memset(j, 0, sizeof(*j));
	j->own_lock = j->strongest_lock = -1;
	ItemPointerSetInvalid(&j->moved_to);
	j->result = TM_Deleted;
	ItemPointerSet(&j->ctid, target->view.block, target->offnum);
	if (target->offnum > PageGetMaxOffsetNumber(page) ||
		!ItemIdIsNormal(PageGetItemId(page, target->offnum)))
		return;
	if (row_of_aborted(target))
	{
		zrollback_page(&target->view, target->buffer, target->slotbuf);
		if (!ItemIdIsNormal(PageGetItemId(page, target->offnum)))
			return;
	}
	zmvcc_current(&target->view, target->offnum, &j->image);
	image = j->image;

	j->result = judge_image(target, &image, query, j);
	if (j->result == TM_Ok && query->crosscheck != InvalidSnapshot)
		j->result = crosscheck(target, query, j);
	if (locks_matter(j))
		judge_locks(target, &image, query, j);
}

/*
 * Locks that the row left behind where it was moved from.  No new ones come there
 * that are not on this row, too, so it is enough to have looked once.
 */
void
zjudge_row(ZTarget *target, const ZJudgeQuery *query, ZJudgement *j)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	TransactionId xid = InvalidTransactionId;
	int			count;

	judge_once(target, query, j);
	if (query->mode != LockTupleExclusive || !locks_matter(j))
		return;
	count = zrow_origins_get(j->image.row, j->image.len, origins);
	if (count == 0)
		return;
	ztarget_unlock(target);
	while (count > 0)
		xid = zlock_oldest(xid, zlock_origin_conflict(target->rel, &origins[--count]));
	ztarget_lock_row_page(target);
	judge_once(target, query, j);
	if (locks_matter(j))
		wait_for_lock(j, xid, version_of(&j->image));
}

void
zjudge_report(const ZTarget *target, const ZJudgement *j, TM_FailureData *tmfd)
{
	tmfd->ctid = j->ctid;
	tmfd->xmax = j->xid;
	tmfd->cmax = j->result == TM_SelfModified ? j->cmax : InvalidCommandId;
	tmfd->traversed = false;
}
