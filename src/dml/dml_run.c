/*
 * dml_run.c
 *		Runs: rows that one command adds one after the other at the end of a page.
 *
 * A run has one undo record, the first row's, and the other rows need no search for a slot
 * either: while that record is the slot's newest, the slot is the transaction's, and it has not
 * been used for anything else on the page since.  So the next row is put behind the last one, if
 * there is certainly room, without the first one's preparations.
 *
 * LOCKING: zrun_insert() locks the page exclusively, and unlocks it.  The other functions are
 * called with the page locked exclusively.
 */
#include "postgres.h"

#include "access/hio.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "zheap/dml/run.h"
#include "zheap/scan/scan.h"

/* ---- the run ---- */

static ZRun run;

bool
zrun_continues(ZTarget *target, const ZSlotPlan *plan, CommandId cid, OffsetNumber offnum)
{
	return !target->init_page && offnum >= run.first && zrun_is_current(&run, target, plan, cid);
}

void
zrun_remember(ZTarget *target, const ZChange *change)
{
	Assert(change->undo.type == ZOP_INSERT &&
		   FullTransactionIdEquals(change->slot.next.fxid, target->fxid));
	zrun_set(&run, target, change);
	if (!change->undo.open_run)
		run.fxid = InvalidFullTransactionId;
}

/* ---- one more row ---- */

void
zinsert_set_header(char *row, const ZChange *change, uint32 token)
{
	ZRowHeader	hdr;

	/* only frozen rows have no slot, and rows name none on a lock page (P2) */
	Assert(change->has_undo == (change->slot.slotno != 0));
	Assert(change->slot.slotno <= ZPAGE_MAX_SLOTNO);
	zrow_header_get(row, &hdr);
	hdr.flags &= ~ZROW_MODIFIER_FLAGS;
	hdr.flags2 = token != 0 ? ZROW2_SPECULATIVE : 0;
	hdr.slotno = change->slot.slotno;
	if (hdr.slotno != 0)
		hdr.flags |= ZROW_INSERTED;
	zrow_header_put(row, &hdr);
}

/*
 * Return whether this row, if there is room, belongs to the run, as far as is known without the
 * page.
 */
static bool
may_continue(Relation rel, const ZInsert *insert)
{
	return insert->bistate == NULL && insert->token == 0 &&
		(insert->options & HEAP_INSERT_FROZEN) == 0 &&
		zrun_may_be_current(&run, rel, zheap_target_get(rel), insert->cid);
}

/*
 * Return whether the locked page has the run's record as the slot's newest, and room at its end.
 * If rows of the run were taken back the page may end before them now; a row put there needs a
 * record.
 */
static bool
has_place(Relation rel, Page page, Size len)
{
	Size		spare = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);

	/* viewing the page would report rows that heap functions have put there */
	return zrun_is_newest(&run, page) &&
		!zpage_may_have_heap_rows(page, run.block) &&
		!PageHasFreeLinePointers(page) && PageGetMaxOffsetNumber(page) >= run.first &&
		PageGetMaxOffsetNumber(page) < ZPAGE_MAX_OFFSET &&
		zpage_free_contiguous(page) >= len + sizeof(ItemIdData) + spare;
}

/*
 * Append the row, which continues the run and needs no undo record.  The page is locked
 * exclusively.
 */
static void
append(Relation rel, Buffer buffer, const ZInsert *insert, OffsetNumber offnum)
{
	ZNewRow		new = {.offnum = offnum, .len = insert->len, .bytes = insert->row};
	static ZChange change;		/* what is not set here stays zero */

	change.has_undo = true;
	change.slot.slotno = run.slotno;
	change.slot.conflict = InvalidFullTransactionId;
	zinsert_set_header(insert->row, &change, 0);
	change.has_undo = false;
	change.row.op = ZOP_INSERT;
	change.row.nrows = 1;
	change.row.rows = &new;
	change.logical = insert->logical;
	zchange_without_undo(rel, buffer, &change);
}

bool
zrun_insert(Relation rel, const ZInsert *insert, ItemPointer tid)
{
	Buffer		buffer;
	Page		page;
	OffsetNumber offnum;
	bool		done = false;

	if (!may_continue(rel, insert))
		return false;
	Assert(!zheap_holds_buffer_lock()); /* D2 */
	CHECK_FOR_INTERRUPTS();
	ztid_forget_conflict();
	buffer = zscan_read_recent(rel, run.block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (has_place(rel, page, insert->len))
	{
		/*
		 * no transaction has read the row, and a predicate lock on a page covers rows that were
		 * read
		 */
		CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
		offnum = PageGetMaxOffsetNumber(page) + 1;
		Assert(offnum > run.first);
		append(rel, buffer, insert, offnum);
		ItemPointerSet(tid, run.block, offnum);
		done = true;
	}
	UnlockReleaseBuffer(buffer);
	return done;
}
