/*
 * rollback_page.c
 *		Roll back what aborted transactions did to the rows of one page.
 *
 * One slot's owner at a time, until no owner of a slot is aborted.  If the version before is
 * another aborted transaction's, its slot's turn comes later.
 *
 * The plan (rollback_plan.c) is made on a private copy of the page, without any lock, so that a
 * large transaction blocks no other session and can be cancelled.  Then the page is locked, and
 * the plan carried out if all that it concerns is as it was: only another backend that rolls
 * back the same slot changes the rows of an aborted owner.
 *
 * LOCKING: the table page exclusively, then its overflow page or the lock page, while a plan is
 * carried out (execute_plan).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"

#include "rollback_private.h"

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

	if (!zpage_is_row(copy->page, offnum) || !ItemIdIsNormal(lp))
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
	return offnum <= PageGetMaxOffsetNumber(view->page) &&
		zrollback_row_names(view, offnum, slotno);
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

void
zrollback_execute(ZPageView *live, Buffer buffer, Buffer overflow_buf, const ZRollbackPlan *plan,
				  const ZRecLogical *logical)
{
	bool		on_overflow = plan->slotno >= ZPAGE_FIRST_OVERFLOW;
	OffsetNumber offnum PG_USED_FOR_ASSERTS_ONLY;

	Assert(live->locked);	/* R2 */
	zview_own_changes++;
	START_CRIT_SECTION();
	zpage_rollback_apply(live->page, live->overflow, plan);
	MarkBufferDirty(buffer);
	if (on_overflow)
		MarkBufferDirty(overflow_buf);
	if (RelationNeedsWAL(live->rel))
	{
		XLogRecPtr	lsn = zrec_rollback_emit(plan, buffer,
											 on_overflow ? overflow_buf : InvalidBuffer, logical);

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
			zrollback_execute(live, buffer, BufferIsValid(slots_buf) ? slots_buf : overflow_buf,
							  plan, NULL);
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
		zrollback_plan_slot(&copy, slotno, &plan);
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
