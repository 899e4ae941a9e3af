/*
 * mvcc_walk.c
 *		From a version of a row to the versions before.
 *
 * A version's record is found through the chain of its modifier's slot (chain.h), or directly
 * where the record of the version after it names it.  The change is undone in a private buffer
 * (mvcc_unapply.h).
 *
 * A row that has been changed very often has waypoints: every ZROW_TURNS updates in place the
 * record also holds a far link, to a record with a full image (record.h).  A caller that does
 * not see the transaction at a far link's end goes there at once.  That skips no version that
 * it could see: the versions before an unseen version of a row were committed before, or are
 * unseen, too.
 *
 * LOCKING: none of its own; undo pages come after table pages (L1).
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"

#include "mvcc_reconstruct.h"
#include "mvcc_unapply.h"

/* Return a slot of the page; it may lie on the overflow page. */
static ZPageSlot *
slot_of(ZPageView *view, OffsetNumber offnum, int slotno)
{
	if (slotno >= ZPAGE_FIRST_OVERFLOW && view->overflow == NULL)
		zheap_corrupt(view->rel, view->block, offnum,
					  "row names transaction slot %d, but the page has no overflow page", slotno);
	return zpage_slot(view->page, view->overflow, slotno);
}

/* Set the modifier; a transaction below the horizon need not be known (S2). */
static void
set_modifier(const ZPageView *view, ZRowVersion *version, ZOwner place, bool upper_bound)
{
	if (zview_is_frozen(view, place.fxid))
		zmodifier_set_all_visible(&version->modifier);
	else
	{
		version->modifier.kind = upper_bound ? ZMODIFIER_UPPER_BOUND : ZMODIFIER_EXACT;
		version->modifier.place = place;
	}
}

/*
 * Raise an error if heap functions have changed the row.  Called for a row that names itself,
 * as a heap tuple does, before any other damage is reported.
 */
static void
check_changed_by_heap(ZPageView *view, OffsetNumber offnum)
{
	if (view->rel != NULL && view->rel->rd_att != NULL && !zheap_skip_heap_rows &&
		zpage_is_changed_by_heap(view->page, view->block, offnum, RelationGetDescr(view->rel)))
		zheap_corrupt_by_heap(view->rel, view->block, PageGetLSN(view->page));
}

void
zmvcc_current(ZPageView *view, OffsetNumber offnum, ZRowVersion *version)
{
	const char *wrong = zpage_check_row(view->page, offnum);

	Assert(offnum >= FirstOffsetNumber && offnum <= PageGetMaxOffsetNumber(view->page));
	/* a damaged line pointer may lead out of the page */
	if (ItemIdGetOffset(PageGetItemId(view->page, offnum)) <= BLCKSZ - SizeofHeapTupleHeader &&
		zpage_row_names_itself(view->page, offnum))
		check_changed_by_heap(view, offnum);
	if (wrong)
		zheap_corrupt(view->rel, view->block, offnum, "%s", wrong);
	version->row = zpage_row(view->page, offnum, &version->len, NULL);
	version->offnum = offnum;
	zrow_header_get(version->row, &version->hdr);
	version->cid = InvalidCommandId;
	version->next_fxid = InvalidFullTransactionId;
	version->next_cid = InvalidCommandId;
	version->same_owner = false;
	if (unlikely(view->reconstructed) && zreconstruct_name(view, version))
		return;
	if (version->hdr.slotno == 0)
		zmodifier_set_all_visible(&version->modifier);
	else
		set_modifier(view, version,
					 zpage_slot_owner(slot_of(view, offnum, version->hdr.slotno)),
					 (version->hdr.flags & ZROW_REUSED) != 0);
}

FullTransactionId
zmvcc_slot_owner(ZPageView *view, const ZRowVersion *version)
{
	if (version->hdr.slotno == 0)
		return InvalidFullTransactionId;
	return zpage_slot_fxid(slot_of(view, version->offnum, version->hdr.slotno));
}

/* ---- the record of a version ---- */

/* Report that an owner's record about the row is missing. */
static void
report_no_record(ZPageView *view, const ZRowVersion *version)
{
	zheap_corrupt(view->rel, view->block, version->offnum,
				  "undo chain of transaction %u has no record of the row",
				  zfxid_xid(version->modifier.place.fxid));
}

bool
zmvcc_record(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec, ZOwner *at)
{
	const ZModifier *modifier = &version->modifier;

	if (modifier->kind == ZMODIFIER_ALL_VISIBLE)
		return false;
	if (zchain_find(view, version->hdr.slotno, &modifier->place, zsought(version), NULL,
					at, rec) != ZCHAIN_FOUND)
	{
		if (modifier->kind == ZMODIFIER_EXACT && !view->unfinished &&
			!FullTransactionIdPrecedes(modifier->place.fxid, zview_horizon(view)))
			report_no_record(view, version);
		return false;
	}
	if (modifier->kind == ZMODIFIER_EXACT &&
		!FullTransactionIdEquals(at->fxid, modifier->place.fxid))
		report_no_record(view, version);
	return true;
}

/*
 * Set a flag in "touched", per offset, for each row that the slot's records since "before" are
 * about.  Return false if more records have come than there are from one directory to the next.
 */
static bool
mark_touched(ZPageView *before, ZPageView *view, OffsetNumber offnum, int slotno, bool *touched)
{
	ZOwner		newest = zpage_slot_owner(slot_of(view, offnum, slotno));
	ZUndoPtr	known = slot_of(before, offnum, slotno)->undo;
	ZChainCursor cursor;

	zchain_open(&cursor, view, offnum, &newest);
	while (cursor.next.undo != known && zchain_next(&cursor))
	{
		if (cursor.rec.type == ZOP_DIRECTORY)
			return false;
		for (int off = FirstOffsetNumber; off <= ZPAGE_MAX_OFFSET; off++)
			touched[off] = touched[off] || zrec_undo_covers(&cursor.rec, off, true);
	}
	return cursor.next.undo == known;
}

bool
zmvcc_same_versions(ZPageView *before, ZPageView *view, const OffsetNumber *offsets, int n)
{
	bool		touched[ZPAGE_MAX_OFFSET + 1] = {0};
	bool		looked[ZPAGE_MAX_SLOTNO + 1] = {0};

	/* "before" is a copy; "view" is the page under its lock, so the answer stays right */
	Assert(view->locked && !before->locked && before->block == view->block);
	for (int i = 0; i < n; i++)
	{
		OffsetNumber offnum = offsets[i];
		ZRowVersion old;
		ZRowVersion new;
		int			slotno;

		if (!zpage_is_row(view->page, offnum))
			return false;
		zmvcc_current(before, offnum, &old);
		zmvcc_current(view, offnum, &new);
		if (!zrow_equals(old.row, old.len, new.row, new.len))
			return false;
		/* it may have been changed, and back to the same bytes */
		slotno = new.hdr.slotno;
		if (slotno > 0 && !looked[slotno] &&
			!mark_touched(before, view, offnum, slotno, touched))
			return false;
		looked[slotno] = true;
		if (touched[offnum])
			return false;
	}
	return true;
}

bool
zmvcc_command(ZPageView *view, const ZRowVersion *version, CommandId *cid)
{
	return version->modifier.kind != ZMODIFIER_ALL_VISIBLE &&
		zchain_command(view, version->hdr.slotno, &version->modifier.place,
					   zsought(version), cid);
}

bool
zmvcc_resolve(ZPageView *view, ZRowVersion *version, Snapshot snapshot)
{
	ZModifier  *modifier = &version->modifier;
	ZOwner		at;

	if (modifier->kind != ZMODIFIER_UPPER_BOUND)
		return true;
	switch (zchain_find(view, version->hdr.slotno, &modifier->place, zsought(version),
						snapshot, &at, NULL))
	{
		case ZCHAIN_FOUND:
			modifier->kind = ZMODIFIER_EXACT;
			modifier->place = at;
			return true;
		case ZCHAIN_VISIBLE:
			return false;
		case ZCHAIN_GONE:
			break;
	}
	zmodifier_set_all_visible(modifier);
	return true;
}

void
zmvcc_find_modifier(ZPageView *view, ZRowVersion *version)
{
	(void) zmvcc_resolve(view, version, NULL);
	Assert(version->modifier.kind != ZMODIFIER_UPPER_BOUND);	/* M1 */
}

/* ---- the bytes ---- */

static char *
version_buffer(ZPageView *view)
{
	if (view->version_buf == NULL)
		view->version_buf = MemoryContextAlloc(view->context, BLCKSZ);
	return view->version_buf;
}

bool
zmvcc_reconstruct_body(ZPageView *view, ZRowVersion *version)
{
	ZUndoRecord rec;
	ZOwner		at;
	char	   *row;

	if (!zrow_is_tombstone(&version->hdr))
		return true;
	zmvcc_find_modifier(view, version);
	if (version->modifier.kind == ZMODIFIER_ALL_VISIBLE)
		return false;
	at.fxid = version->modifier.place.fxid;
	memcpy(&at.undo, version->row + ZROW_HDR_SIZE, sizeof(ZUndoPtr));
	if (!zchain_read(view, version->offnum, &at, &rec))
		return false;
	if (rec.type != ZOP_TOMBSTONE || rec.offnum != version->offnum ||
		rec.midlen > BLCKSZ - ZROW_HDR_SIZE)
		zheap_corrupt(view->rel, view->block, version->offnum,
					  "undo record at block %u, offset %u is not the body of the row",
					  zundo_ptr_block(at.undo), zundo_ptr_offset(at.undo));
	row = version_buffer(view);
	version->hdr.flags2 &= ~ZROW2_TOMBSTONE;
	zrow_header_put(row, &version->hdr);
	memcpy(row + ZROW_HDR_SIZE, rec.mid, rec.midlen);
	version->row = row;
	version->len = ZROW_HDR_SIZE + rec.midlen;
	Assert(version->len <= BLCKSZ && !zrow_is_tombstone(&version->hdr));
	return true;
}

/* Undo an update in view->version_buf (which may already hold the newer bytes). */
static void
take_back_body(ZPageView *view, ZRowVersion *version, const ZUndoRecord *rec)
{
	char	   *buf = version_buffer(view);

	if (!zunapply_fits(rec, version->len, BLCKSZ))
		zheap_corrupt(view->rel, view->block, version->offnum,
					  "undo record does not fit the row");
	if (version->row != buf)
		memcpy(buf, version->row, version->len);
	version->len = zunapply_body(rec, buf, version->len);
	version->row = buf;
}

/* Set the modifier of the version before the one that the record at "at" made. */
static void
set_version_before(const ZPageView *view, ZRowVersion *version, const ZUndoRecord *rec,
				   const ZOwner *at)
{
	ZOwner		prev = rec->row_prev;

	version->same_owner = rec->prev_own;
	if (rec->prev_own)
		prev.fxid = at->fxid;
	set_modifier(view, version, prev, rec->prev_upper_bound);
}

/* ---- far links ---- */

bool
zunseen_any(const ZUnseen *unseen, FullTransactionId fxid)
{
	return true;
}

/*
 * Go from the record at *at, which has a far link, to the furthest record that still made a
 * version that the caller does not see, and leave that in *rec and *at.  Return false if there
 * is no such jump.
 */
static bool
follow_far(ZPageView *view, const ZRowVersion *version, const ZUnseen *unseen,
		   ZUndoRecord *rec, ZOwner *at)
{
	ZOwner		here = *at;
	ZOwner		far = rec->far;
	bool		moved = false;

	bool		own = rec->far_own;
	bool		keys = rec->far_keys;

	Assert(rec->waypoint);
	while (!zview_is_frozen(view, far.fxid) && (own || !unseen->same_owner) &&
		   !(keys && unseen->no_keys) && zunseen_owner(unseen, far.fxid))
	{
		ZUndoRecord next;

		if (!zchain_read(view, version->offnum, &far, &next))
			break;
		if (!zwaypoint_has_image(&next) || next.offnum != version->offnum)
			zheap_corrupt(view->rel, view->block, version->offnum,
						  "undo record at block %u, offset %u is no waypoint of the row",
						  zundo_ptr_block(far.undo), zundo_ptr_offset(far.undo));
		if (!zunseen_command(unseen, far.fxid, next.cid))
			break;
		here = far;
		far = next.far;
		own = next.far_own;
		keys = next.far_keys;
		moved = true;
	}
	/* the last read may have overwritten the record's bytes */
	if (!zchain_read(view, version->offnum, &here, rec))
		return false;
	*at = here;
	/* the bytes of the version come from the image alone */
	Assert(!moved || zwaypoint_has_image(rec));
	return moved;
}

bool
zmvcc_find_waypoint(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
					ZOwner *at, bool *own, bool *keys)
{
	ZRowVersion here = *version;

	for (int i = 0; i < ZROW_TURNS && !zview_is_spent(view); i++)
	{
		if (!zmvcc_record(view, &here, rec, at) || rec->type == ZOP_INSERT)
			return false;
		if (rec->waypoint)
			return true;
		*own = *own && rec->prev_own;
		*keys = *keys || (rec->old_hdr.flags2 & ZROW2_KEYS_UPDATED);
		here.hdr.slotno = rec->old_hdr.slotno;
		set_version_before(view, &here, rec, at);
	}
	return false;
}

/* ---- stepping back ---- */

bool
zmvcc_previous_unseen(ZPageView *view, ZRowVersion *version, const ZUnseen *unseen)
{
	ZUndoRecord rec;
	ZOwner		at;
	ZRowHeader	hdr;

	Assert(version->modifier.kind != ZMODIFIER_ALL_VISIBLE);
	if (!zmvcc_reconstruct_body(view, version) || !zmvcc_record(view, version, &rec, &at))
	{
		/* the same version, now known to be visible to all */
		zmodifier_set_all_visible(&version->modifier);
		return true;
	}
	if (rec.type == ZOP_INSERT)
		return false;
	/* no other record makes a version */
	Assert(rec.type == ZOP_UPDATE || rec.type == ZOP_DELETE);

	zview_count(view, ZTABLE_VERSIONS_WALKED, 1);
	hdr = version->hdr;
	if (unseen && FullTransactionIdIsValid(rec.far.fxid) &&
		follow_far(view, version, unseen, &rec, &at))
		zrow_set_turn(&hdr, 0);
	version->cid = InvalidCommandId;
	version->next_fxid = at.fxid;
	version->next_cid = rec.cid;
	zunapply_header(&rec, &hdr, &version->hdr);
	if (rec.type == ZOP_UPDATE)
	{
		take_back_body(view, version, &rec);
		zrow_header_put(view->version_buf, &version->hdr);
	}
	set_version_before(view, version, &rec, &at);
	return true;
}

bool
zmvcc_previous(ZPageView *view, ZRowVersion *version)
{
	return zmvcc_previous_unseen(view, version, NULL);
}
