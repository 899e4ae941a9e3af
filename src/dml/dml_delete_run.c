/*
 * dml_delete_run.c
 *		Runs: rows of one page that one command deletes one after the other.
 *
 * The second row that a command deletes on a page begins a run: its undo record describes the
 * version before of all similar rows after it, so that these need no record of their own.  The
 * page shows which rows belong to the run (C3): they are deleted, they name the transaction's
 * slot, and there is no newer record about them.  So when a run begins, no row behind the first
 * one may already satisfy this.
 *
 * A similar row whose version the snapshot sees may be deleted, if no transaction has locked it:
 * so the next row is marked by looking at its page alone (zrun_delete).
 *
 * LOCKING: zrun_delete() locks the page exclusively, and unlocks it.  The other functions are
 * called with the page locked exclusively.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "zheap/dml/logical.h"
#include "zheap/dml/run.h"
#include "zheap/dml/target.h"
#include "zheap/mvcc/serial.h"
#include "zheap/mvcc/status.h"
#include "zheap/notes/reap.h"
#include "zheap/scan/scan.h"
#include "zheap/undo/undo_horizon.h"

/* ---- the run ---- */

/* The last deletion of this backend. */
static ZRun run;
static bool is_open;			/* the record is a run's */
static ZRowHeader old_hdr;		/* of the versions before ... */
static ZOwner row_prev;			/* ... and their modifier */

/*
 * Return whether the command's last deletion was on this page, before this row, and nothing has
 * been done to the page by the slot since.
 */
static bool
is_next(ZTarget *target, const ZChange *change)
{
	return target->offnum > run.first &&
		zrun_is_current(&run, target, &change->slot, change->undo.cid);
}

/*
 * Return the header of the version before as it is in a run's record: a version that is visible
 * to all names no slot, whatever its header says.
 */
static ZRowHeader
header_before(const ZUndoRecord *undo)
{
	ZRowHeader	hdr = undo->old_hdr;

	if (!FullTransactionIdIsValid(undo->row_prev.fxid))
		zrow_header_freeze(&hdr);
	return hdr;
}

/*
 * Return whether a run's record can describe the version before.  Not if our transaction made
 * it, or if it names a slot that others had since: that may be the run's slot, where the row,
 * until it is deleted, is searched for as well.
 */
static bool
is_plain(const ZUndoRecord *undo)
{
	return !undo->prev_own && !undo->prev_upper_bound &&
		!(header_before(undo).flags & ZROW_REUSED);
}

/* Return whether the version before is similar to those that the run's record describes. */
static bool
is_alike(const ZUndoRecord *undo)
{
	ZRowHeader	hdr = header_before(undo);

	return is_plain(undo) &&
		hdr.flags == old_hdr.flags && hdr.flags2 == old_hdr.flags2 &&
		hdr.slotno == old_hdr.slotno && hdr.natts == old_hdr.natts &&
		FullTransactionIdEquals(undo->row_prev.fxid, row_prev.fxid) &&
		undo->row_prev.undo == row_prev.undo;
}

/* Return whether there is a row behind this one that would be taken for one of the run. */
static bool
is_ambiguous(ZTarget *target, int slotno)
{
	Page		page = target->view.page;
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offnum = target->offnum + 1; offnum <= max; offnum++)
	{
		if (zpage_row_deleted_under(page, offnum, slotno))
			return true;
	}
	return false;
}

bool
zrun_deletes_on(ZTarget *target, const ZChange *change)
{
	return is_open && is_next(target, change) && is_alike(&change->undo);
}

void
zrun_open_deletions(ZTarget *target, ZChange *change)
{
	ZUndoRecord *undo = &change->undo;

	if (!is_plain(undo) || !is_next(target, change) ||
		is_ambiguous(target, change->slot.slotno))
		return;
	undo->open_run = true;
	undo->old_hdr = header_before(undo);
}

void
zrun_remember_deletion(ZTarget *target, const ZChange *change)
{
	const ZUndoRecord *undo = &change->undo;

	Assert(undo->type == ZOP_DELETE && change->slot.next.undo != ZUNDO_INVALID);
	zrun_set(&run, target, change);
	is_open = undo->open_run;
	old_hdr = undo->old_hdr;
	row_prev = undo->row_prev;
}

/* ---- one more row ---- */

/* Return whether this row may belong to the run, as far as is known without its page. */
static bool
may_be_next(Relation rel, const ItemPointerData *tid, CommandId cid)
{
	return is_open && ItemPointerGetOffsetNumber(tid) > run.first &&
		!(old_hdr.flags & (ZROW_HASEXTERNAL | ZROW_ORIGIN)) &&
		zrun_may_be_current(&run, rel, ItemPointerGetBlockNumber(tid), cid);
}

/*
 * Return whether the row's version is similar to those that the run deleted, is seen by the
 * snapshot, and is not locked by any transaction.  *hdr is set to its header.  The page is
 * locked exclusively.
 */
static bool
is_deletable_alike(Page page, OffsetNumber offnum, Snapshot snapshot, ZRowHeader *hdr)
{
	ZRowHeader	before;
	ZOwner		prev = {InvalidFullTransactionId, ZUNDO_INVALID};
	uint32		len;

	if (!zpage_is_row(page, offnum) ||
		!(zpage_row_is_plain(page, offnum) || zpage_check_row(page, offnum) == NULL))
		return false;
	zrow_header_get(zpage_row(page, offnum, &len, NULL), hdr);
	if (hdr->slotno > zpage_nslots(page))
		return false;
	if (hdr->slotno != 0)
		prev = zpage_slot_owner(zpage_slot(page, NULL, hdr->slotno));
	before = *hdr;
	before.flags &= ~ZROW_PADDED;
	before.flags2 &= ~(ZROW2_PARITY | ZROW2_SEVERAL_KEYS);
	/* visible to all as standbys know it, as in any change */
	if (FullTransactionIdPrecedes(prev.fxid, zundo_logged_horizon()))
	{
		zrow_header_freeze(&before);
		prev.fxid = InvalidFullTransactionId;
	}
	else if ((hdr->flags & ZROW_REUSED) || !zmvcc_fxid_in_snapshot(prev.fxid, snapshot))
		return false;
	return before.slotno == old_hdr.slotno && before.flags == old_hdr.flags &&
		before.flags2 == old_hdr.flags2 &&
		FullTransactionIdEquals(prev.fxid, row_prev.fxid) &&
		(!FullTransactionIdIsValid(prev.fxid) || prev.undo == row_prev.undo);
}

/* Mark the row deleted, without an undo record.  The page is locked exclusively. */
static void
mark(ZLogical *logical, Relation rel, Buffer buffer, OffsetNumber offnum, const ZRowHeader *hdr)
{
	static ZChange change;		/* what is not set here stays zero */

	change.logical = NULL;
	if (logical->wanted)
	{
		uint32		len;
		const char *row = zpage_row(BufferGetPage(buffer), offnum, &len, NULL);

		zlogical_old_row(logical, row, len, true);
		change.logical = zlogical_delete(logical);
	}
	change.slot.slotno = run.slotno;
	change.slot.next.fxid = run.fxid;
	change.slot.conflict = InvalidFullTransactionId;
	change.row.op = ZOP_DELETE;
	change.row.offnum = offnum;
	change.row.hdr.slotno = run.slotno;
	change.row.hdr.natts = ZROW_NATTS_KEEP;
	change.row.hdr.flags = (hdr->flags & ZROW_VALUE_FLAGS) | ZROW_DELETED;
	zchange_without_undo(rel, buffer, &change);
}

bool
zrun_delete(Relation rel, const ItemPointerData *tid, CommandId cid, Snapshot snapshot)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	OffsetNumber offnum = ItemPointerGetOffsetNumber(tid);
	ItemPointerData version_tid;
	ZRowHeader	hdr;
	ZLogical	logical;
	Buffer		buffer;
	Page		page;
	bool		pinned;
	bool		done = false;

	if (!may_be_next(rel, tid, cid) || snapshot == InvalidSnapshot || !IsMVCCSnapshot(snapshot))
		return false;
	Assert(!zheap_holds_buffer_lock()); /* D2 */
	CHECK_FOR_INTERRUPTS();
	ztid_forget_conflict();
	zlogical_open(&logical, rel, 0);
	buffer = zcopy_pinned(rel, block);
	pinned = BufferIsValid(buffer);
	if (!pinned)
	{
		/* the first row of the run: the scan's copy of the page keeps the pin for the others */
		buffer = zscan_read_recent(rel, block);
		pinned = zcopy_take_pin(rel, block, buffer);
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (zrun_is_newest(&run, page) && is_deletable_alike(page, offnum, snapshot, &hdr))
	{
		zmvcc_version_tid(&version_tid, block, offnum, hdr.flags2);
		CheckForSerializableConflictIn(rel, &version_tid, block);
		mark(&logical, rel, buffer, offnum, &hdr);
		zreap_note(rel, block, run.fxid);
		done = true;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (!pinned)
		ReleaseBuffer(buffer);
	zlogical_close(&logical);
	return done;
}
