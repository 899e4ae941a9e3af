/*
 * rollback_page.c
 *		Rolling back the rows of aborted transactions on one page.
 *
 * One slot's owner at a time, until no owner of a slot is aborted: each row whose
 * newest version that owner made becomes the version before, found by the same
 * walk that readers use.  Then the slot returns to the owner that it had before,
 * and that owner's records are all that the slot leads to.  If the version before
 * is another aborted transaction's, its slot's turn comes later.
 *
 * A row never goes past a version whose maker a slot still leads to: a row that is
 * marked ZROW_REUSED belongs to the newest owner down its slot's chain that has a
 * record about it, and must not find one that it has left behind.
 *
 * The row must name its old modifier.  That one's slot may have changed hands
 * meanwhile (this row did not count among its rows then): visible to all => slot
 * 0; slot reused before that => the row is marked ZROW_REUSED.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "zheap/page/row.h"
#include "zheap/rollback/rollback.h"

static bool
undo_record(ZPageView *view, ZUndoPtr ptr, ZUndoRecord *rec)
{
	Size		len;
	const char *bytes = zundo_read(&view->reader, ptr, &len);

	return bytes != NULL && zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, rec) != 0;
}

/* The owner before the one of slot "slotno": from the first record of its chain. */
static ZPageSlot
slot_before(ZPageView *view, int slotno)
{
	ZPageSlot	none = {InvalidFullTransactionId, ZUNDO_INVALID};
	ZUndoPtr	ptr = zpage_slot(view->page, view->overflow, slotno)->undo;

	for (;;)
	{
		ZUndoRecord rec;

		if (!undo_record(view, ptr, &rec))
			zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
						  "undo of the aborted transaction in slot %d cannot be read", slotno);
		if (rec.takeover == ZTAKE_REUSED)
			return rec.slot_prev;
		if (rec.takeover != ZTAKE_OWN)
			return none;
		ptr = rec.page_prev;
	}
}

typedef enum Reach
{
	REACH_NOT,
	REACH_OWNER,				/* in the records of the slot's present owner */
	REACH_CHAIN					/* in those of an owner before */
} Reach;

/* Does a slot lead to the record at "at"? */
static Reach
slot_reaches(ZPageView *view, const ZPageSlot *slot, ZUndoPtr at)
{
	ZUndoPtr	ptr = slot->undo;
	Reach		reach = REACH_OWNER;
	ZUndoRecord rec;

	if (!FullTransactionIdIsValid(slot->fxid))
		return REACH_NOT;
	while (ptr != at)
	{
		if (!undo_record(view, ptr, &rec))
			return REACH_NOT;
		if (rec.takeover == ZTAKE_OWN)
		{
			ptr = rec.page_prev;
			continue;
		}
		if (rec.takeover != ZTAKE_REUSED)
			return REACH_NOT;
		ptr = rec.slot_prev.undo;
		reach = REACH_CHAIN;
	}
	return reach;
}

/* Will the slot that the version names, once the plan has been carried out? */
static Reach
reach_of(ZPageView *view, const ZRollbackPlan *plan, const ZRowVersion *version)
{
	if (version->hdr.slotno == plan->slotno)
		return slot_reaches(view, &plan->next, version->undo);
	return slot_reaches(view, zpage_slot(view->page, view->overflow, version->hdr.slotno),
						version->undo);
}

/* Of a version whose maker has not aborted, or none that is known any more. */
static bool
visible_to_all(ZPageView *view, const ZRowVersion *version)
{
	return !FullTransactionIdIsValid(version->fxid) ||
		(zmvcc_xact_status(version->fxid) != ZXACT_ABORTED &&
		 zmvcc_visible_to_all(view->rel, version->fxid));
}

/*
 * The version before those that the slot's owner made.  False: there is none.
 */
static bool
version_before(ZPageView *view, const ZRollbackPlan *plan, ZRowVersion *version)
{
	ZPageSlot  *slot = zpage_slot(view->page, view->overflow, plan->slotno);

	for (;;)
	{
		if (!zmvcc_previous(view, version))
			return false;
		/* whose exactly? */
		zmvcc_find_modifier(view, version);
		if (visible_to_all(view, version))
			return true;
		/* the owner's own once more */
		if (version->hdr.slotno == plan->slotno &&
			(zmvcc_owner_has(view, version) ||
			 slot_reaches(view, slot, version->undo) == REACH_OWNER))
			continue;
		/* rolled back already, so that no slot leads to it any more */
		if (zmvcc_xact_status(version->fxid) == ZXACT_ABORTED &&
			reach_of(view, plan, version) == REACH_NOT)
			continue;
		return true;
	}
}

/* As of now, fxid needs no name: standbys that see it as running must know. */
static void
note_conflict(ZRollbackPlan *plan, FullTransactionId fxid)
{
	if (FullTransactionIdIsValid(fxid) &&
		!FullTransactionIdPrecedes(fxid, zundo_logged_horizon()) &&
		FullTransactionIdPrecedes(plan->conflict, fxid))
		plan->conflict = fxid;
}

static void
forget_modifier(ZRollbackPlan *plan, const ZRowVersion *version, ZRowHeader *hdr)
{
	note_conflict(plan, version->fxid);
	zrow_header_freeze(hdr);
}

/*
 * Let the row's header name the modifier of the version it is rolled back to.
 *
 * Backends do not learn at the same time that a transaction is visible to all: the
 * one that gave the modifier's slot away without a link to it (ZTAKE_ALL_VISIBLE) may
 * have known what this one does not know yet.  So a committed modifier that no slot
 * leads to is visible to all.
 */
static void
name_modifier(ZPageView *view, ZRollbackPlan *plan, const ZRowVersion *version, ZRowHeader *hdr)
{
	*hdr = version->hdr;
	hdr->flags2 &= ~ZROW2_LOCK_MASK;
	if (visible_to_all(view, version))
	{
		forget_modifier(plan, version, hdr);
		return;
	}
	switch (reach_of(view, plan, version))
	{
		case REACH_OWNER:
			hdr->flags &= ~ZROW_REUSED;
			break;
		case REACH_CHAIN:
			hdr->flags |= ZROW_REUSED;
			break;
		case REACH_NOT:
			if (zmvcc_xact_status(version->fxid) != ZXACT_COMMITTED &&
				zmvcc_xact_status(version->fxid) != ZXACT_ALL_VISIBLE)
				zheap_corrupt(view->rel, view->block, version->offnum,
							  "transaction slot %d does not lead to transaction %u",
							  hdr->slotno, zfxid_xid(version->fxid));
			forget_modifier(plan, version, hdr);
			break;
	}
}

/* Body bytes that differ between the row on the page and what it was. */
static void
diff_body(const char *now, uint32 nowlen, const char *was, uint32 waslen, ZRowRollback *out)
{
	char	   *mid;

	zrow_diff(now, nowlen, was, waslen, &out->prefix, &out->suffix);
	out->midlen = waslen - ZROW_HDR_SIZE - out->prefix - out->suffix;
	mid = palloc(out->midlen + 1);
	memcpy(mid, was + ZROW_HDR_SIZE + out->prefix, out->midlen);
	out->mid = mid;
}

/* The row names the slot: is its newest version its present owner's? */
static void
plan_row(ZPageView *view, OffsetNumber offnum, ZRollbackPlan *plan)
{
	ZRowRollback *rollback = &plan->rows[plan->nrows];
	ZRowVersion	version;
	const char *row;
	uint32		len;

	zmvcc_current(view, offnum, &version);
	row = version.row;
	len = version.len;
	if (version.upper_bound && !zmvcc_chain_step(view, &version))
		return;					/* an earlier owner's */

	plan->nrows++;
	memset(rollback, 0, sizeof(*rollback));
	rollback->offnum = offnum;
	if (!version_before(view, plan, &version))
	{
		rollback->kind = ZROLLBACK_KILL;
		return;
	}
	name_modifier(view, plan, &version, &rollback->hdr);
	if (version.row == row)
		rollback->kind = ZROLLBACK_HEADER;
	else
	{
		rollback->kind = ZROLLBACK_BODY;
		diff_body(row, len, version.row, version.len, rollback);
	}
}

static void
plan_slot(ZPageView *view, int slotno, ZRollbackPlan *plan)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);
	OffsetNumber off;

	plan->slotno = slotno;
	plan->nrows = 0;
	plan->conflict = InvalidFullTransactionId;
	plan->next = slot_before(view, slotno);
	if (FullTransactionIdIsValid(plan->next.fxid) &&
		zmvcc_xact_status(plan->next.fxid) == ZXACT_ALL_VISIBLE)
	{
		note_conflict(plan, plan->next.fxid);
		plan->next.fxid = InvalidFullTransactionId;
		plan->next.undo = ZUNDO_INVALID;
	}
	zmvcc_map_slot(view, slotno);

	for (off = FirstOffsetNumber; off <= max; off++)
	{
		const char *row;

		if (!ItemIdIsNormal(PageGetItemId(view->page, off)))
			continue;
		row = (const char *) view->page + ItemIdGetOffset(PageGetItemId(view->page, off));
		if (zrow_slotno(row) == slotno)
			plan_row(view, off, plan);
	}
}

static void
execute(ZPageView *view, Buffer buffer, Buffer overflow_buf, const ZRollbackPlan *plan)
{
	bool		on_overflow = plan->slotno >= ZPAGE_FIRST_OVERFLOW;

	START_CRIT_SECTION();
	zpage_rollback_apply(view->page, view->overflow, plan);
	MarkBufferDirty(buffer);
	if (on_overflow)
		MarkBufferDirty(overflow_buf);
	if (RelationNeedsWAL(view->rel))
	{
		XLogRecPtr	lsn = zrec_rollback_emit(plan, buffer, on_overflow ? overflow_buf : InvalidBuffer);

		PageSetLSN(view->page, lsn);
		if (on_overflow)
			PageSetLSN(view->overflow, lsn);
	}
	END_CRIT_SECTION();
	zview_refresh(view);
}

static int
find_aborted(ZPageView *view)
{
	int			nslots = zpage_nslots(view->page);
	int			i;

	for (i = 1; i <= ZPAGE_MAX_SLOTNO; i++)
	{
		ZPageSlot  *slot;

		if (i > nslots && i < ZPAGE_FIRST_OVERFLOW)
			i = ZPAGE_FIRST_OVERFLOW;
		if (i >= ZPAGE_FIRST_OVERFLOW && view->overflow == NULL)
			break;
		slot = zpage_slot(view->page, view->overflow, i);
		if (FullTransactionIdIsValid(slot->fxid) && zmvcc_xact_status(slot->fxid) == ZXACT_ABORTED)
			return i;
	}
	return 0;
}

bool
zrollback_page(ZPageView *view, Buffer buffer, Buffer overflow_buf)
{
	int			slotno = find_aborted(view);
	MemoryContext context;
	MemoryContext old;
	ZRollbackPlan plan;
	OffsetNumber offnum;
	const char *wrong;

	if (slotno == 0)
		return false;
	wrong = zpage_check_quick(view->page, &offnum);
	if (wrong)
		zheap_corrupt(view->rel, view->block, offnum, "%s", wrong);
	context = AllocSetContextCreate(CurrentMemoryContext, "zheap rollback",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	plan.rows = palloc(sizeof(ZRowRollback) * (ZPAGE_MAX_OFFSET + 1));
	while (slotno != 0)
	{
		plan_slot(view, slotno, &plan);
		execute(view, buffer, overflow_buf, &plan);
		/* the owner before, or of a slot that was passed, may be aborted too */
		slotno = find_aborted(view);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return true;
}
