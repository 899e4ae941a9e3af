/*
 * dml_check.c
 *		Whether a row may be changed: HeapTupleSatisfiesUpdate for rows that change in place.
 *
 * On heap a TID names one version.  Here it names the row, so the question is about the version
 * that the caller's snapshot sees: if a transaction that the snapshot does not see has changed
 * the row since, the caller's version was updated.  What became of it then is found out in
 * dml_check_conflict.c.
 *
 * LOCKING: the row's page is locked exclusively on entry and on exit; in between it may be
 * unlocked, and then the row is checked anew (D1).  zcheck_wait() leaves it unlocked.
 */
#include "postgres.h"

#include "access/xact.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/rollback/rollback.h"
#include "zheap/scan/scan.h"

#include "check_conflict.h"

static bool
unseen_own(const ZUnseen *unseen, FullTransactionId fxid)
{
	return TransactionIdIsCurrentTransactionId(zfxid_xid(fxid));
}

/*
 * Find out which command replaced the version that the caller has seen; the newest version is
 * our transaction's, made by this command or a later one (*cid).  A function that the statement
 * calls may have changed the row since.  Return false if another transaction had replaced it
 * before; then *version is that transaction's, and otherwise *cid is the command.  Reads no more
 * undo than B1 allows.
 */
static bool
replaced_by_us(ZPageView *view, const ZCheckQuery *query, ZRowVersion *version, CommandId *cid)
{
	ZUnseen		unseen = {.owner = unseen_own, .curcid = query->cid};

	if (!zcheck_snapshot_decides(query->snapshot) && !query->was_locked)
		return true;
	while (!(version->hdr.flags & ZROW_INSERTED) && !zview_is_spent(view) &&
		   zmvcc_previous_unseen(view, version, &unseen))
	{
		CommandId	made;

		*cid = version->next_cid;
		if (!zmvcc_skip_aborted(view, version) || zmodifier_is_all_visible(&version->modifier))
			break;
		if (!zmodifier_is_exact(&version->modifier) ||
			zmvcc_version_status(view, version) != ZXACT_OWN)
			return query->was_locked ||
				zmvcc_modifier_visible(view, version, query->snapshot);
		if (!zmvcc_command(view, version, &made) || made < query->cid)
			break;
	}
	return true;
}

/*
 * Check a version of our own transaction: was it made before the command, or by it?  TM_Updated:
 * another transaction had replaced the version that the caller saw before ours did, and *version
 * is that one's.
 */
static TM_Result
check_own(ZTarget *target, ZRowVersion *version, const ZCheckQuery *query, ZUpdateCheck *check)
{
	uint8		flags = version->hdr.flags;
	ZUndoRecord rec;
	ZOwner		at;
	bool		later;

	if (!zmvcc_record(&target->view, version, &rec, &at))
		return TM_Ok;
	later = rec.cid >= query->cid;
	check->cmax = rec.cid;
	if (!later)
		return (flags & ZROW_DELETED) != 0 ||
			(query->was_locked && ztid_made_since_locked(target->rel, &check->ctid, rec.cid)) ?
			TM_Invisible : TM_Ok;
	if (!replaced_by_us(&target->view, query, version, &check->cmax))
		return TM_Updated;
	if ((flags & (ZROW_INSERTED | ZROW_DELETED)) == ZROW_INSERTED)
		return TM_Invisible;
	if (rec.has_new_tid)
		check->ctid = rec.new_tid;
	return TM_SelfModified;
}

/*
 * Walk from *version down to the version that decides, and return the result for it; *version is
 * left there.  The view is of the locked page, and then limits the undo records read (B1), or of
 * a copy.
 */
static TM_Result
check_version(ZTarget *target, ZRowVersion *version, const ZCheckQuery *query, ZUpdateCheck *check)
{
	ZPageView  *view = &target->view;
	Snapshot	snapshot = zcheck_snapshot_decides(query->snapshot) ? query->snapshot : NULL;
	ZUnseen		unseen = zcheck_unseen(query, snapshot);

	while (zmvcc_skip_aborted(view, version))
	{
		bool		deleted = (version->hdr.flags & ZROW_DELETED) != 0;
		ZXactStatus	status;

		if (zmodifier_is_all_visible(&version->modifier))
			return deleted ? TM_Deleted : TM_Ok;
		status = zmodifier_is_exact(&version->modifier) ?
			zmvcc_version_status(view, version) : ZXACT_COMMITTED;
		if (status != ZXACT_COMMITTED)
			check->xid = zfxid_xid(zmodifier_fxid(&version->modifier));
		if (status == ZXACT_OWN)
		{
			TM_Result	result = check_own(target, version, query, check);

			check->modified_by_us = result != TM_Updated || query->mode == LockTupleKeyShare;
			if (result != TM_Updated || query->mode != LockTupleKeyShare)
				return result;
			/* heap skips our version then, and checks the other transaction's */
			continue;
		}
		if (status == ZXACT_IN_PROGRESS)
		{
			if (version->hdr.flags & ZROW_INSERTED)
				return TM_Invisible;
			if (zcheck_conflicts(query, version))
				return zcheck_in_progress(target, version, query, check);
		}
		else
		{
			bool		seen = snapshot == NULL || zmvcc_modifier_visible(view, version, snapshot);

			if (seen && !deleted)
				return TM_Ok;
			zmvcc_find_modifier(view, version);
			check->xid = zfxid_xid(zmodifier_fxid(&version->modifier));
			if (seen)
				return zcheck_replaced(target, version, check);
			if (zcheck_conflicts(query, version))
				return zcheck_superseded(target, version, query, check);
		}
		zcheck_skip_compatible(target, version, check);
		if (!zmvcc_previous_unseen(view, version, &unseen))
			break;
	}
	return TM_Invisible;
}

/*
 * Return whether the version is our own, or the crosscheck snapshot sees it.  Under REPEATABLE
 * READ, referential actions must not change rows that the transaction's own snapshot does not
 * see.
 */
static bool
passes_crosscheck(ZTarget *target, const ZCheckQuery *query, const ZUpdateCheck *check)
{
	ZRowVersion	version = check->version;

	return !zmvcc_skip_aborted(&target->view, &version) ||
		zmodifier_is_all_visible(&version.modifier) ||
		zmvcc_version_status(&target->view, &version) == ZXACT_OWN ||
		zmvcc_modifier_visible(&target->view, &version, query->crosscheck);
}

/*
 * Take a conflicting lock of "xid" into account.  Of several transactions wait for the oldest
 * first, as on heap, where they are sorted in a multixact.
 */
static void
wait_for_lock(ZUpdateCheck *check, TransactionId xid, uint16 parity)
{
	if (!TransactionIdIsValid(xid))
		return;
	if (check->result == TM_Ok)
	{
		check->result = TM_BeingModified;
		check->xid = xid;
		check->parity = parity;
	}
	else if (!check->later)
		check->xid = zlock_oldest(check->xid, xid);
}

/* Take locks on the row into account.  "parity" is the checked version's. */
static void
note_holders(ZUpdateCheck *check, const ZLockHolders *holders, uint16 parity)
{
	check->own_lock = Max(check->own_lock, holders->own);
	check->strongest_lock = Max(check->strongest_lock, holders->strongest);
	wait_for_lock(check, holders->conflicting, parity);
}

static bool
locks_matter(const ZUpdateCheck *check)
{
	return check->result == TM_Ok || check->result == TM_BeingModified;
}

/*
 * Return whether the row's newest version is an aborted transaction's.  A change must not be
 * made on top of it, because its modifier counts as visible to all once the horizon has passed
 * it.  To be called after the row was checked: the check may have skipped a version as aborted
 * whose modifier was in progress a moment before.  That a transaction is in progress is not
 * taken from the view, which caches it.
 */
static bool
is_of_aborted(ZTarget *target, const ZRowVersion *newest)
{
	ZXactStatus status;

	if (zmodifier_is_all_visible(&newest->modifier))
		return false;
	status = zmvcc_version_status(&target->view, newest);
	if (status == ZXACT_IN_PROGRESS)
		status = zmvcc_xact_status(zmodifier_bound(&newest->modifier));
	return status == ZXACT_ABORTED;
}

/* Return whether the row's newest version is aborted, after the page was locked again. */
static bool
row_of_aborted(ZTarget *target)
{
	ZRowVersion	version;

	if (!zpage_is_row(target->view.page, target->offnum))
		return false;
	zmvcc_current(&target->view, target->offnum, &version);
	return is_of_aborted(target, &version);
}

/* Roll back aborted transactions on the page, which is unlocked meanwhile. */
static void
roll_back_and_relock(ZTarget *target)
{
	do
	{
		ztarget_unlock(target);
		zrollback_page(target->rel, target->buffer);
		ztarget_lock_row_page(target);
	} while (row_of_aborted(target));
}

/*
 * Return the mode with which to look for conflicting locks.  While an update or deletion is in
 * progress, other transactions hold no locks but KEY SHARE, which conflict with FOR UPDATE's
 * mode only.
 */
static LockTupleMode
mode_to_look_for(const ZCheckQuery *query, const ZUpdateCheck *check)
{
	if (check->result == TM_BeingModified && query->mode != LockTupleExclusive)
		return LockTupleKeyShare;
	return query->mode;
}

/*
 * Check the row, whose newest version is in check->version.  Returns the parity of the version
 * that decided.
 */
static uint16
look_at_row(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check)
{
	ZLockHolders holders;
	ZRowVersion version;

	version = check->version;
	check->result = check_version(target, &version, query, check);
	if (locks_matter(check))
	{
		zlock_holders(&target->view, NULL, target->offnum, mode_to_look_for(query, check),
					  &holders);
		note_holders(check, &holders, zcheck_parity(&version));
	}
	if (check->result == TM_Ok && query->crosscheck != InvalidSnapshot)
		check->not_crosschecked = !passes_crosscheck(target, query, check);
	return zcheck_parity(&version);
}

static void
check_init(ZTarget *target, ZUpdateCheck *check)
{
	memset(check, 0, sizeof(*check));
	check->own_lock = check->strongest_lock = -1;
	ItemPointerSetInvalid(&check->moved_to);
	check->result = TM_Deleted;
	ItemPointerSet(&check->ctid, target->view.block, target->offnum);
}

/*
 * Check the row with a copy of the page, since that takes more undo records than may be read
 * while the page is locked (B1).  Return false if the row has changed meanwhile.  The page is
 * locked on entry and exit.
 */
static bool
check_copy(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check)
{
	ZLockHolders since;
	ZTarget		copy;
	uint16		parity;

	ztarget_look_at_copy(target, &copy);
	check_init(&copy, check);
	zmvcc_current(&copy.view, copy.offnum, &check->version);
	parity = look_at_row(&copy, query, check);
	if (!ztarget_confirm(target, &copy, query->mode, &since))
		return false;
	zmvcc_current(&target->view, target->offnum, &check->version);
	if (locks_matter(check))
		note_holders(check, &since, parity);
	return !is_of_aborted(target, &check->version);
}

#ifdef USE_ASSERT_CHECKING
/* Assert that the parts of a result are consistent. */
static void
assert_answer(const ZTarget *target, const ZCheckQuery *query, const ZUpdateCheck *check)
{
	const char *page = (const char *) target->view.page;

	Assert(target->locked && target->view.limit == 0);
	Assert(check->own_lock <= check->strongest_lock);	/* K1 */
	Assert(!check->later || query->mode == LockTupleKeyShare);
	Assert(!ItemPointerIsValid(&check->moved_to) ||
		   (query->mode == LockTupleKeyShare && FullTransactionIdIsValid(check->mover)));
	switch (check->result)
	{
		case TM_Ok:
			/* the version is the one on the page */
			Assert(check->version.offnum == target->offnum);
			Assert(check->version.row > page && check->version.row < page + BLCKSZ);
			break;
		case TM_BeingModified:
			Assert(TransactionIdIsNormal(check->xid) &&
				   !TransactionIdIsCurrentTransactionId(check->xid));
			Assert(check->parity <= 1);
			break;
		case TM_SelfModified:
			Assert(check->modified_by_us && check->cmax >= query->cid);
			break;
		case TM_Updated:
		case TM_Deleted:
			Assert(!check->modified_by_us);
			break;
		default:
			Assert(check->result == TM_Invisible);
			break;
	}
}
#else
#define assert_answer(target, query, check) ((void) 0)
#endif

/*
 * Check the row like zcheck_row(), but without locks at the row's origins, and without applying
 * the crosscheck's result.
 */
static void
check_row(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check)
{
	bool		done = false;

	while (!done)
	{
		check_init(target, check);
		if (!zpage_is_row(target->view.page, target->offnum))
			break;
		zmvcc_current(&target->view, target->offnum, &check->version);
		/* the look would be for nothing; is_of_aborted() asks once more after it */
		if (!zmodifier_is_all_visible(&check->version.modifier) &&
			zmvcc_version_status(&target->view, &check->version) == ZXACT_ABORTED)
		{
			roll_back_and_relock(target);
			continue;
		}
		zview_limit(&target->view, ZTARGET_CHECK_READS);
		(void) look_at_row(target, query, check);
		done = zview_limit_end(&target->view);
		if (is_of_aborted(target, &check->version))
		{
			roll_back_and_relock(target);
			done = false;
		}
		else if (!done)
			done = check_copy(target, query, check);
	}
	assert_answer(target, query, check);
	ztarget_set_checked(target);
}

/*
 * Take locks into account that the row left behind at its former places.  A new lock there is
 * also on this row, so one look is enough.  The page is unlocked meanwhile, and the row is
 * checked again.
 */
static void
look_at_origins(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	TransactionId xid = InvalidTransactionId;
	int			count = zrow_origins_get(check->version.row, check->version.len, origins);

	if (count == 0)
		return;
	ztarget_unlock(target);
	while (count > 0)
		xid = zlock_oldest(xid, zlock_origin_conflict(target->rel, &origins[--count]));
	ztarget_lock_row_page(target);
	check_row(target, query, check);
	if (locks_matter(check))
		wait_for_lock(check, xid, zcheck_parity(&check->version));
}

void
zcheck_row(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check)
{
	check_row(target, query, check);
	if (query->mode == LockTupleExclusive && locks_matter(check))
		look_at_origins(target, query, check);
	/* as heap does, after all conflicting locks have been waited for */
	if (check->result == TM_Ok && unlikely(check->not_crosschecked))
		check->result = TM_Updated;
}

/* Collect the row's former places at which our transaction has a lock; return their number. */
static int
own_origins(const ZTarget *target, const ZUpdateCheck *check, ItemPointerData *places)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	int			count = zrow_origins_get(check->version.row, check->version.len, origins);
	int			n = 0;
	bool		exact;

	Assert(target->locked);
	for (int i = 0; i < count; i++)
	{
		if (zlock_own_strongest(target->rel, ItemPointerGetBlockNumberNoCheck(&origins[i]),
								ItemPointerGetOffsetNumberNoCheck(&origins[i]), &exact) >= 0)
			places[n++] = origins[i];
	}
	return n;
}

bool
zcheck_wait(ZTarget *target, ZRowQueue *queue, const ZUpdateCheck *check)
{
	ItemPointerData places[ZROW_MAX_ORIGINS];
	bool		is_holder = check->own_lock >= 0 || check->modified_by_us;
	int			n = 0;

	Assert(check->result == TM_BeingModified && !check->later);
	if (!is_holder && (check->version.hdr.flags & ZROW_ORIGIN))
		n = own_origins(target, check, places);
	ztarget_unlock(target);
	/* the place may belong to another row by now */
	while (!is_holder && n > 0)
		is_holder = zlock_is_place_of_moved(target->rel, &places[--n]);
	return zlock_queue_wait(queue, check->parity, check->xid, is_holder);
}

void
zcheck_row_wait(ZTarget *target, const ZCheckQuery *query, ZRowQueue *queue, bool wait,
				ZUpdateCheck *check)
{
	for (;;)
	{
		if (!target->locked)
			ztarget_lock_row_page(target);
		zcheck_row(target, query, check);
		if (check->result != TM_BeingModified || !wait)
			break;
		(void) zcheck_wait(target, queue, check);
	}
	Assert(target->locked && target->checked);	/* D1 */
}

void
zcheck_report(const ZTarget *target, const ZUpdateCheck *check, TM_FailureData *tmfd)
{
	Assert(check->result != TM_Updated || ItemPointerIsValid(&check->ctid));
	tmfd->ctid = check->ctid;
	tmfd->xmax = check->xid;
	tmfd->cmax = check->result == TM_SelfModified ? check->cmax : InvalidCommandId;
	tmfd->traversed = false;
}
