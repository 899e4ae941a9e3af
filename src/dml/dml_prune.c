/*
 * dml_prune.c
 *		Freeing space on one page: rows dead to all, padding of committed rows, line pointers
 *		without index entries.
 *
 * LOCKING: the caller has the page locked exclusively, throughout.  Readers work on copies, so
 * no cleanup lock is needed.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/dml/dml.h"
#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/notes/reap.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_horizon.h"

/* Number of pointers that are looked up in undo while the page is locked. */
#define MAX_LOOKS	3

StaticAssertDecl(MAX_LOOKS * ZLOCK_LOOK_READS <= ZVIEW_MAX_READS, "B1: pointers to take back");

static void
prune_conflict(ZPrunePlan *plan, FullTransactionId fxid)
{
	if (FullTransactionIdIsValid(fxid) && FullTransactionIdPrecedes(plan->conflict, fxid))
		plan->conflict = fxid;
}

/*
 * Return whether the row's padding can be freed: only when the change that shrank it cannot be
 * undone.
 */
static bool
padding_is_free(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion	version;
	ZXactStatus	status;

	zmvcc_current(view, offnum, &version);
	if (zmodifier_is_all_visible(&version.modifier))
		return true;
	status = zmvcc_version_status(view, &version);
	return status == ZXACT_COMMITTED || status == ZXACT_ALL_VISIBLE;
}

/*
 * Return whether the row must keep its line pointer, because a transaction may hold a lock on
 * it.  An update that moved it may have ended while KEY SHARE locks at this place still count.
 */
static bool
prune_keeps_locked(ZPageView *view, const ZRowVersion *version)
{
	return (version->hdr.flags & ZROW_MOVED) &&
		!(version->hdr.flags2 & ZROW2_KEYS_UPDATED) &&
		zpage_row_lock_bits(view->page, version->offnum) != 0 &&
		zlock_may_be_held(view, version->offnum);
}

/*
 * Return the slot of the page itself that the row names as its deleter's.  0 if the row is not
 * deleted, or was moved, if the deleter is a former owner of the slot, or if the slot is
 * elsewhere.  The row has been checked.
 */
static int
slot_of_deleter(Page page, const char *row)
{
	ZRowHeader	hdr;

	zrow_header_get(row, &hdr);
	if ((hdr.flags & (ZROW_DELETED | ZROW_MOVED | ZROW_REUSED)) != ZROW_DELETED ||
		hdr.slotno > zpage_nslots(page))
		return 0;
	return hdr.slotno;
}

/*
 * Return whether a dead row is dead because its slot's owner has deleted it, and that is visible
 * to all.
 */
static bool
owner_is_deleter(ZPageView *view, int slotno, const ZRowVersion *version)
{
	FullTransactionId owner = zpage_slot_fxid(zpage_slot(view->page, NULL, slotno));

	/* if the owner has aborted, the version is another transaction's */
	if (zmodifier_is_all_visible(&version->modifier))
		return zview_is_frozen(view, owner);
	return zmodifier_is_exact(&version->modifier) &&
		FullTransactionIdEquals(zmodifier_fxid(&version->modifier), owner);
}

/*
 * Plan what to prune of one row.  *dead_slot is a slot such that all rows that name it as their
 * deleter's are dead, as an earlier row has shown; 0 if none is known.  Often one deletion has
 * removed most rows of a page.
 */
static void
plan_prune_row(ZPageView *view, OffsetNumber offnum, ZReapNotes *notes, int *dead_slot,
			   ZPrunePlan *plan)
{
	ZRowVersion	version;
	FullTransactionId fxid;
	const char *row;
	int			slotno;

	/* a version that is too far away must not be taken for one that is visible to all */
	Assert(view->locked && view->limit == 0);
	row = (const char *) view->page + ItemIdGetOffset(PageGetItemId(view->page, offnum));
	slotno = slot_of_deleter(view->page, row);
	if (notes == NULL && slotno != 0 && slotno == *dead_slot)
	{
		Assert(zmvcc_state(view, offnum, &version, &fxid) == ZSTATE_DEAD);
		plan->dead[plan->ndead++] = offnum;
		return;
	}
	/* no version follows a deletion, unless it has aborted: so the newest version decides */
	if ((zrow_flags(row) & ZROW_DELETED) &&
		zmvcc_state(view, offnum, &version, &fxid) == ZSTATE_DEAD &&
		!prune_keeps_locked(view, &version))
	{
		plan->dead[plan->ndead++] = offnum;
		prune_conflict(plan, fxid);
		if (slotno != 0 && owner_is_deleter(view, slotno, &version))
			*dead_slot = slotno;
		if (notes != NULL)
			zreap_take_row(notes, view, &version);
		return;
	}
	if ((zrow_flags(row) & ZROW_PADDED) && padding_is_free(view, offnum))
		plan->trim[plan->ntrim++] = offnum;
}

static void
execute_prune(Relation rel, Buffer buffer, const ZPrunePlan *plan)
{
	Page		page = BufferGetPage(buffer);

	Assert(zheap_buffer_is_exclusive(buffer) && CritSectionCount == 0);	/* D4 */
	START_CRIT_SECTION();
	if (plan->nsingle > 0)
		zheap_note_marks_cleared(); /* N5 */
	zpage_prune_apply(page, plan);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn = zrec_prune_emit(plan, buffer);

		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
}

/*
 * Check the page: it may have been read from disk since it was checked last.  ERROR
 * (data_corrupted).
 */
static void
check_prunable(Relation rel, Buffer buffer)
{
	OffsetNumber off;
	const char *wrong = zpage_check_quick(BufferGetPage(buffer), &off);

	Assert(zheap_buffer_is_exclusive(buffer));
	if (wrong)
		zheap_corrupt(rel, BufferGetBlockNumber(buffer), off, "%s", wrong);
}

static void
plan_init(ZPrunePlan *plan)
{
	plan->ndead = plan->ntrim = plan->nunused = plan->nsingle = 0;
	plan->conflict = plan->remembered = InvalidFullTransactionId;
}

/* The plan is made first: nothing is changed if a row cannot be read. */
int
zdml_prune_page(ZPageView *view, Buffer buffer, ZReapNotes *notes)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);
	ZPrunePlan	plan;
	OffsetNumber off;
	int			dead_slot = 0;

	Assert(view->block == BufferGetBlockNumber(buffer));
	plan_init(&plan);
	check_prunable(view->rel, buffer);
	if (notes != NULL)
		zreap_begin_page(notes, view->rel);
	for (off = FirstOffsetNumber; off <= max; off++)
	{
		if (ItemIdIsNormal(PageGetItemId(view->page, off)))
			plan_prune_row(view, off, notes, &dead_slot, &plan);
	}
	if (plan.ndead == 0 && plan.ntrim == 0)
		return 0;
	/* deleters below the horizon are not named any more; standbys may not know the horizon */
	if (plan.ndead > 0 &&
		FullTransactionIdPrecedes(zundo_logged_horizon(), zundo_horizon()))
	{
		FullTransactionId last = zundo_horizon();

		FullTransactionIdRetreat(&last);
		prune_conflict(&plan, last);
	}
	execute_prune(view->rel, buffer, &plan);
	if (notes != NULL)
		zreap_end_page(notes);
	zview_refresh(view);
	return plan.ndead;
}

/*
 * Return whether the line pointer of a row that a move made, and that was rolled back, must
 * stay: a transaction may hold a KEY SHARE lock there, which would then be a lock on another
 * row.
 */
static bool
pointer_is_locked(Relation rel, Buffer buffer, OffsetNumber offnum)
{
	Buffer		overflow_buf;
	ZPageView	view;
	bool		locked;

	zview_open(&view, rel);
	locked = zview_attach(&view, buffer, BUFFER_LOCK_EXCLUSIVE, &overflow_buf) &&
		zlock_may_be_held(&view, offnum);
	zview_detach(&view, &overflow_buf);
	zview_close(&view);
	return locked;
}

/*
 * Some of the entries may have been removed without waiting for scans: by writers, or by
 * deletion before a page split.  On this server such a scan finds the free line pointers; but an
 * index-only scan would not if the page were marked all-visible ("remembered" prevents that).
 */
int
zreap_free_pointers(Relation rel, Buffer buffer, OffsetNumber *offsets, int n)
{
	Page		page = BufferGetPage(buffer);
	ZPrunePlan	plan;
	int			looks = 0;
	int			i;

	Assert(n <= ZPAGE_MAX_OFFSET);
	check_prunable(rel, buffer);
	plan_init(&plan);
	for (i = 0; i < n; i++)
	{
		ItemId		lp = PageGetItemId(page, offsets[i]);

		Assert(i == 0 || offsets[i] > offsets[i - 1]);
		if (offsets[i] > PageGetMaxOffsetNumber(page) || !ItemIdIsDead(lp))
			continue;
		/* B1: the others are left to the next VACUUM */
		if (ItemIdGetOffset(lp) == ZPAGE_DEAD_LOCKED &&
			(looks++ >= MAX_LOOKS || pointer_is_locked(rel, buffer, offsets[i])))
			continue;
		plan.unused[plan.nunused++] = offsets[i];
	}
	if (plan.nunused > 0)
	{
		plan.remembered = ReadNextFullTransactionId();
		execute_prune(rel, buffer, &plan);
	}
	return plan.nunused;
}

void
zdml_reclaim_pointers(Relation rel, Buffer buffer, OffsetNumber *offsets, int n)
{
	zheap_note_pointers_freed(rel);
	(void) zreap_free_pointers(rel, buffer, offsets, n);
}

void
zdml_clear_marks(Relation rel, Buffer buffer, const OffsetNumber *offsets, int n,
				 FullTransactionId conflict)
{
	ZPrunePlan	plan;

	Assert(n > 0 && n <= ZPAGE_MAX_OFFSET);
	check_prunable(rel, buffer);
	plan_init(&plan);
	plan.nsingle = n;
	plan.conflict = conflict;
	plan.remembered = ReadNextFullTransactionId();
	memcpy(plan.single, offsets, n * sizeof(OffsetNumber));
	execute_prune(rel, buffer, &plan);
}
