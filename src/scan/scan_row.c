/*
 * scan_row.c
 *		Single rows by TID, for callers that got the TID from an earlier scan.
 *
 * Old and new versions of a row share their TID, yet core asks again by TID with SnapshotAny ("the
 * version I mean").  ztid_resolve finds out which one that is, from the tag that tuple_lock,
 * tuple_update and tuple_delete left in the TID and from what the query does; fetch_meant below
 * fetches it.
 *
 * LOCKING: one page at a time, share lock, while the row is checked and copied; more than a few
 * undo records are read with a copy of the page, without the lock.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/ordinal.h"
#include "zheap/mvcc/serial.h"
#include "zheap/mvcc/state.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/record/record.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/shown.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"

/*
 * A table page, pinned, locked in share mode and viewed in place.  Once much undo may have to be
 * read, it is unlocked, and the view is of a copy.
 */
typedef struct LockedPage
{
	ZPageView	view;
	Buffer		buffers[2];		/* the page's, and its overflow page's */
	bool		has_rows;
} LockedPage;

/* Return whether the row exists, and not every snapshot sees it as it is. */
static bool
has_undo(ZPageView *view, OffsetNumber offnum)
{
	ZRowVersion version;

	if (!zpage_is_row(view->page, offnum))
		return false;
	zmvcc_current(view, offnum, &version);
	return !zmodifier_is_all_visible(&version.modifier);
}

/*
 * Open a row's page, locked in share mode if it has rows.  With may_leave it is copied and
 * unlocked if the row has undo.  Return whether the page has rows.  page_close must follow in any
 * case.
 */
static bool
page_open(LockedPage *locked, Relation rel, const ItemPointerData *tid, bool may_leave)
{
	zview_open(&locked->view, rel);
	locked->buffers[1] = InvalidBuffer;
	locked->buffers[0] = zscan_read_recent(rel, ItemPointerGetBlockNumber(tid));
	zundo_open();
	LockBuffer(locked->buffers[0], BUFFER_LOCK_SHARE);
	locked->has_rows = zview_attach(&locked->view, locked->buffers[0],
									BUFFER_LOCK_SHARE, &locked->buffers[1]);
	if (!locked->has_rows)
		LockBuffer(locked->buffers[0], BUFFER_LOCK_UNLOCK);
	else if (may_leave && zscan_may_leave() &&
			 has_undo(&locked->view, ItemPointerGetOffsetNumberNoCheck(tid)))
	{
		locked->view.leave = locked->buffers;
		zview_leave(&locked->view);
	}
	return locked->has_rows;
}

static void
page_close(LockedPage *locked)
{
	if (locked->view.locked)
	{
		zview_detach(&locked->view, &locked->buffers[1]);
		LockBuffer(locked->buffers[0], BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(locked->buffers[0]);
	zview_close(&locked->view);
}

/*
 * Fetch the newest version that is ours or committed; of a row that we deleted, the one that we
 * deleted.  Return false if there is none.
 */
static bool
fetch_last(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	FullTransactionId deleter;

	if (zmvcc_fetch(view, offnum, SnapshotSelf, version))
		return true;
	switch (zmvcc_state(view, offnum, version, &deleter))
	{
		case ZSTATE_DEAD:
		case ZSTATE_RECENTLY_DEAD:
			return zmvcc_reconstruct_body(view, version);
		case ZSTATE_DELETING:
			return TransactionIdIsCurrentTransactionId(zfxid_xid(deleter)) &&
				zmvcc_fetch_replaced(view, offnum, version);
		default:
			return false;
	}
}

/* ---- what core means ---- */

/* Return whether AFTER ROW events keep the TID of this row, which our transaction has deleted. */
static bool
deletion_has_events(ZPageView *view, OffsetNumber offnum)
{
	TriggerDesc *triggers = view->rel->trigdesc;
	ZRowVersion	version;

	if (triggers == NULL)
		return false;
	if (triggers->trig_delete_after_row)
		return true;
	zmvcc_current(view, offnum, &version);
	/* an update that moved the row within the table; a move to another partition is a deletion */
	return triggers->trig_update_after_row && (version.hdr.flags & ZROW_MOVED) &&
		!(version.hdr.flags2 & ZROW2_MOVED_PART);
}

/*
 * Fetch the version that an untagged TID means with SnapshotAny.
 *
 * While a query runs that is the version that its snapshot sees.  Core builds a new row from it,
 * so it must never be another transaction's uncommitted version, which would then survive that
 * transaction's rollback (T1).  But AFTER INSERT events cannot carry a tag, and mean the row as
 * inserted.  Those that fire at the end of their query look with its snapshot, which is older than
 * the insertion and sees nothing; later ones are recognized by there being no query ("inserted").
 */
static bool
fetch_untagged(ZPageView *view, OffsetNumber offnum, bool inserted, ZRowVersion *version)
{
	if (inserted && zmvcc_fetch_inserted(view, offnum, version))
		return true;
	if (ActiveSnapshotSet() && zmvcc_fetch(view, offnum, GetActiveSnapshot(), version))
		return true;
	return zmvcc_fetch_inserted(view, offnum, version) || fetch_last(view, offnum, version);
}

/* Fetch the version that core means with SnapshotAny.  May be called again for the same row. */
static bool
fetch_meant(ZPageView *view, OffsetNumber offnum, const ZTidMeaning *meaning, ZRowVersion *version)
{
	if (!zpage_is_row(view->page, offnum))
		return false;
	switch (meaning->version)
	{
		case ZTID_SEEN:
		case ZTID_INSERTED:
			return fetch_untagged(view, offnum, meaning->version == ZTID_INSERTED, version);
		case ZTID_NUMBERED:
			return zmvcc_fetch_ordinal(view, offnum, meaning->ordinal, version);
		case ZTID_REPLACED:
			return zmvcc_fetch_replaced(view, offnum, version);
		case ZTID_LAST:
			break;
	}
	return fetch_last(view, offnum, version);
}

/* Return the tag to be kept in the slot, which gets the version that the tagged TID means. */
static int
kept_tag(ZPageView *view, const ItemPointerData *tid, const ZRowVersion *version,
		 TupleTableSlot *slot)
{
	OffsetNumber offnum = ztid_offset(tid);
	ZTidDeletion deletion = {version->next_fxid, version->next_cid};
	bool		deleted = ztid_tag(tid) == ZTID_TAG_LAST &&
	FullTransactionIdIsValid(deletion.fxid) &&
	TransactionIdIsCurrentTransactionId(zfxid_xid(deletion.fxid)) &&
	deletion_has_events(view, offnum);

	return ztid_tag_kept(view->rel, tid, deleted ? &deletion : NULL, slot);
}

/*
 * Limit the reads of undo for a row of a page that is viewed in place.  Return false if the page
 * may not be left.
 */
static bool
limit_begin(LockedPage *locked)
{
	if (!zscan_may_leave())
		return false;
	zview_limit(&locked->view, ZVIEW_READS_IN_PLACE);
	return true;
}

/*
 * Return whether what was found since limit_begin counts.  If false, too much undo was needed: the
 * view is now of a copy, without the lock; look again.
 */
static bool
limit_end(LockedPage *locked)
{
	if (zview_limit_end(&locked->view))
		return true;
	locked->view.leave = locked->buffers;
	zview_leave(&locked->view);
	return false;
}

/* fetch_meant for a page that has just been opened: in place if that takes little undo. */
static bool
fetch_any(LockedPage *locked, OffsetNumber offnum, const ZTidMeaning *meaning,
		  ZRowVersion *version)
{
	ZPageView  *view = &locked->view;
	bool		found;

	if (limit_begin(locked))
	{
		found = fetch_meant(view, offnum, meaning, version);
		if (found)
			zmvcc_find_modifier(view, version);
		if (limit_end(locked))
			return found;
	}
	return fetch_meant(view, offnum, meaning, version);
}

#ifdef USE_ASSERT_CHECKING
/* Check E4: the page gives the same version. */
static void
assert_meant(Relation rel, const ItemPointerData *tid, const ZTidMeaning *meaning,
			 ZTupleSlot *zslot)
{
	LockedPage	locked;
	ZRowVersion version;

	if (!page_open(&locked, rel, tid, false) ||
		!fetch_any(&locked, ItemPointerGetOffsetNumberNoCheck(tid), meaning, &version) ||
		!zrow_same_body(version.row, version.len, zslot->row, zslot->row_len))
		elog(PANIC, "row %u that a scan has shown is another one by now", ztid_offset(tid));
	memset(locked.view.counts, 0, sizeof(locked.view.counts));
	page_close(&locked);
}
#else
#define assert_meant(rel, tid, meaning, zslot) ((void) 0)
#endif

/*
 * Return whether, with SnapshotAny, the server's own code may ask whether we have made the
 * version: it does so for events and after a conflict.  While a query runs it fetches rows that
 * the query has found, and rechecks users' conditions on them (EvalPlanQual): these must see the
 * same xmin as before.
 */
static bool
is_for_core(int tag)
{
	return tag != ZTID_TAG_NONE || ztid_state.phase != ZTID_PHASE_RUN;
}

/*
 * Copy the version meant by SnapshotAny from the slot of the scan that has just found the row
 * (E4).  Return false if it is not known to be there.
 */
static bool
fetch_shown(Relation rel, const ItemPointerData *tid, const ZTidMeaning *meaning,
			TupleTableSlot *slot)
{
	ZTupleSlot *shown;

	if (meaning->version != ZTID_SEEN || zshown.slot == NULL || !ActiveSnapshotSet())
		return false;
	shown = (ZTupleSlot *) zshown_find(RelationGetRelid(rel), tid, GetActiveSnapshot());
	if (shown == NULL || &shown->base == slot)
		return false;
	ztuple_slot_store(slot, shown->row, shown->row_len, tid, RelationGetRelid(rel),
					  ztuple_slot_id(&shown->base));
	assert_meant(rel, tid, meaning, (ZTupleSlot *) slot);
	return true;
}

bool
zscan_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
						TupleTableSlot *slot)
{
	ItemPointerData asked = *tid;	/* tid may point into the slot */
	ItemPointerData rowtid = ztid_untagged(&asked);
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(&rowtid);
	int			tag = ztid_tag(&asked);
	ZTidMeaning meaning = {ZTID_SEEN, 0};
	LockedPage	locked;
	bool		found = false;
	ZRowVersion	version;

	zheap_require_preload();
	ztuple_slot_check_kind(rel, slot);
	zundo_open_for(rel);

	if (snapshot == SnapshotAny)
	{
		meaning = ztid_resolve(rel, &asked);
		if (fetch_shown(rel, &asked, &meaning, slot))
			return true;
	}
	else
	{
		/* made up by a user (T8): a cursor's TID has been through zscan_latest_tid */
		if (tag != ZTID_TAG_NONE)
			return false;
		zmvcc_check_snapshot(rel, snapshot);
	}

	if (page_open(&locked, rel, &rowtid, false))
	{
		zcompat_check_snapshot_age(snapshot, rel, locked.view.page);
		if (snapshot == SnapshotAny)
			found = fetch_any(&locked, offnum, &meaning, &version);
		else
		{
			locked.view.leave = zscan_may_leave() ? locked.buffers : NULL;
			found = zmvcc_fetch_serial(&locked.view, locked.buffers, offnum, snapshot, &version);
		}
		if (found)
		{
			/* a caller that fetches by TID may ask whether it is this very version */
			zmvcc_find_modifier(&locked.view, &version);
			zscan_version_store(&locked.view, &version, &rowtid, slot);
			ztuple_slot_id(slot)->for_core = snapshot == SnapshotAny && is_for_core(tag);
			if (tag != ZTID_TAG_NONE)
				ztid_set_tag(&slot->tts_tid, kept_tag(&locked.view, &asked, &version, slot));
		}
	}
	page_close(&locked);

	return found;
}

/* Accept TIDs with a tag: core also asks for a cursor's TID, right before zscan_latest_tid. */
bool
zscan_tid_valid(TableScanDesc sscan, ItemPointer tid)
{
	return ItemPointerIsValid(tid) && ItemPointerGetBlockNumber(tid) < ((ZScan *) sscan)->nblocks;
}

/*
 * Return whether the row's first version was made by "inserter".  The row may have been updated in
 * place since, or its line pointer may belong to another row by now.
 */
static bool
inserted_by(ZPageView *view, OffsetNumber offnum, FullTransactionId inserter)
{
	static const ZUnseen all = {.owner = zunseen_any, .curcid = InvalidCommandId};
	ZRowVersion version;

	zmvcc_current(view, offnum, &version);
	while (!zmodifier_is_all_visible(&version.modifier) &&
		   zmvcc_previous_unseen(view, &version, &all))
		;
	zmvcc_find_modifier(view, &version);
	return FullTransactionIdEquals(zmodifier_fxid(&version.modifier), inserter);
}

/*
 * Return whether an update that is not rolled back has moved the row; if so, get the new TID, and
 * the transaction that moved it.
 */
static bool
moved_to(ZPageView *view, OffsetNumber offnum, ItemPointer tid, FullTransactionId *mover)
{
	FullTransactionId fxid;
	ZUndoRecord rec;
	ZOwner		at;
	ZRowVersion	version;

	switch (zmvcc_state(view, offnum, &version, &fxid))
	{
		case ZSTATE_DEAD:
		case ZSTATE_RECENTLY_DEAD:
		case ZSTATE_DELETING:
			break;
		default:
			return false;
	}
	if (!(version.hdr.flags & ZROW_MOVED) || (version.hdr.flags2 & ZROW2_MOVED_PART))
		return false;
	/* an update that is visible to all has left no record of the new place */
	if (!zmvcc_record(view, &version, &rec, &at) || !rec.has_new_tid)
		return false;

	*mover = at.fxid;
	*tid = rec.new_tid;
	return true;
}

/*
 * Follow a row that updates have moved from page to page, to the last TID where the scan's
 * snapshot sees a version.
 *
 * WHERE CURRENT OF calls this first, which removes the tag that tuple_lock left in the cursor's
 * row.  A TID with another tag, or without an offset, was made up by a user (currtid2): it names
 * no row, and stays as it is.
 */
void
zscan_latest_tid(TableScanDesc sscan, ItemPointer tid)
{
	Relation	rel = sscan->rs_rd;
	FullTransactionId mover = InvalidFullTransactionId;
	ItemPointerData next = ztid_untagged(tid);
	bool		more = true;

	if ((ztid_tag(tid) != ZTID_TAG_NONE && ztid_tag(tid) != ZTID_TAG_LAST) ||
		!ItemPointerIsValid(&next))
		return;
	*tid = next;
	while (more)
	{
		ItemPointerData here = next;
		OffsetNumber offnum = ItemPointerGetOffsetNumber(&here);
		LockedPage	locked;
		ZRowVersion	version;

		CHECK_FOR_INTERRUPTS();

		more = page_open(&locked, rel, &here, true) && zpage_is_row(locked.view.page, offnum);
		if (more && FullTransactionIdIsValid(mover))
			more = inserted_by(&locked.view, offnum, mover);
		if (more)
		{
			zmvcc_conflicts_out(&locked.view, offnum, sscan->rs_snapshot);
			if (zmvcc_fetch(&locked.view, offnum, sscan->rs_snapshot, &version))
				*tid = here;
			more = moved_to(&locked.view, offnum, &next, &mover);
		}
		page_close(&locked);
	}
}

/*
 * Compare the modifiers of two versions of one row.  Return whether they are the same.
 *
 * A version that has become visible to all since the slot was filled may have lost its modifier's
 * name before the horizon passes it: then *by_row is set, and the rows must be compared.  Our own
 * versions differ in their command: no command changes a row twice.
 */
static bool
same_id(const ZVersionId *a, const ZVersionId *b, bool *by_row)
{
	FullTransactionId a_fxid = zmodifier_fxid(&a->modifier);
	FullTransactionId b_fxid = zmodifier_fxid(&b->modifier);
	FullTransactionId horizon = zundo_horizon();
	bool		a_old = FullTransactionIdPrecedes(a_fxid, horizon);
	bool		b_old = FullTransactionIdPrecedes(b_fxid, horizon);

	*by_row = !b_old && !FullTransactionIdIsValid(a_fxid);
	if (!a_old && !FullTransactionIdIsValid(b_fxid))
	{
		ZXactStatus status = zmvcc_xact_status(a_fxid);

		/* the horizon may pass it just now */
		*by_row = status == ZXACT_COMMITTED || status == ZXACT_ALL_VISIBLE;
	}
	if (a_old || b_old)
		return a_old && b_old;
	if (!FullTransactionIdEquals(a_fxid, b_fxid))
		return false;
	return !TransactionIdIsCurrentTransactionId(zfxid_xid(a_fxid)) ||
		a->cmin == b->cmin;
}

/*
 * Return whether the slot's row is the version's: each change of a row increments a counter in its
 * header.
 */
static bool
has_same_bytes(const ZTupleSlot *slot, const ZRowVersion *version)
{
	ZRowHeader	hdr;

	if (slot->row == NULL)
		return false;
	zrow_header_get(slot->row, &hdr);
	return zrow_turn(&hdr) == zrow_turn(&version->hdr) &&
		zrow_same_body(slot->row, slot->row_len, version->row, version->len);
}

/*
 * Get the version that the snapshot sees of the row, and its modifier.  Return false if there is
 * none.
 */
static bool
seen_id(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version,
		ZVersionId *id)
{
	if (!zmvcc_fetch(view, offnum, snapshot, version))
		return false;
	zmvcc_find_modifier(view, version);
	zmvcc_version_id(version, view, id);
	return true;
}

/* Compare versions, not TIDs: the snapshot may see another version of the row. */
bool
zscan_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
	ItemPointerData tid = ztid_untagged(&slot->tts_tid);
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(&tid);
	LockedPage	locked;
	ZRowVersion version;
	ZVersionId *id;
	ZVersionId	seen;
	bool		found = false;
	bool		by_row;

	ztuple_slot_check_kind(rel, slot);

	id = TTS_EMPTY(slot) ? NULL : ztuple_slot_id(slot);
	if (id == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("slot holds no version of a row of table \"%s\"",
						RelationGetRelationName(rel))));

	zundo_open_for(rel);
	zmvcc_resolve_id(id, offnum);
	if (page_open(&locked, rel, &tid, false))
	{
		bool		limited = limit_begin(&locked);

		found = seen_id(&locked.view, offnum, snapshot, &version, &seen);
		if (limited && !limit_end(&locked))
			found = seen_id(&locked.view, offnum, snapshot, &version, &seen);
		if (found && !same_id(id, &seen, &by_row))
			found = by_row && has_same_bytes((ZTupleSlot *) slot, &version);
	}
	page_close(&locked);

	/* the server then asks whether we have made it */
	id->for_core = !found;
	return found;
}
