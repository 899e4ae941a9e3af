/*
 * rewrite_row.c
 *		One row of a table that is rewritten, with the versions before it.
 *
 * Each version that some snapshot may not see yet gets an undo record in our own log, the oldest
 * first; the record describes the version before and names its modifier.  The newest version's
 * record is named by the new page's directory; the others are found by the pointer in the record
 * above them.  Updates that complete ZROW_TURNS get far links.  So readers walk as usual, and
 * versions keep the names of their modifiers.
 *
 * A deleted row leaves its body in undo, as it does when a page needs the space
 * (dml_tombstone.c): the old file may have many times more deleted rows than would fit.
 *
 * Our log is not the modifiers', but their records are not needed for longer than ours are kept:
 * they all had committed before we wrote, or are ourselves.  If we abort, the new file is
 * removed, so nothing that names these records has to be rolled back.
 *
 * LOCKING: none on table pages; the pages viewed are private copies.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"

#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/undo/undo_format.h"

#include "rewrite_private.h"

/* for toasting, as in heap's rewrite */
#define COPY_OPTIONS	(HEAP_INSERT_SKIP_FSM | HEAP_INSERT_NO_LOGICAL)

#define MODIFIER_FLAGS2	(ZROW2_MOVED_PART | ZROW2_KEYS_UPDATED)

typedef struct CopyVersion
{
	char	   *row;			/* as the new table will hold it, except for the flags */
	uint32		len;
	ZRowHeader	hdr;			/* complete except for the slot */
	FullTransactionId fxid;		/* modifier; invalid: visible to all */
	uint8		made;			/* ZRowOp */
	CommandId	cid;
} CopyVersion;

void
copy_values(ZCopy *copy, const ZRowVersion *version)
{
	TupleDesc	desc = RelationGetDescr(copy->from);
	ZRowDeform	state = {0};

	ExecClearTuple(copy->slot);
	state.scratch = palloc(ZROW_SCRATCH_SIZE(desc->natts, version->len));
	if (!zrow_deform(desc, version->row, version->len, desc->natts, copy->slot->tts_values,
					 copy->slot->tts_isnull, &state))
		zheap_corrupt(copy->from, copy->view_block, version->offnum,
					  "row of %u bytes cannot be read", version->len);
	ExecStoreVirtualTuple(copy->slot);
}

/*
 * Form a row of the values in copy->slot, without those of dropped columns.  *len is set to its
 * length.
 */
static char *
form_row(ZCopy *copy, uint32 *len)
{
	TupleDesc	desc = RelationGetDescr(copy->to);
	ZFormedRow	row;

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			copy->slot->tts_isnull[i] = true;
	}
	zdml_form_whole(copy->to, copy->slot, COPY_OPTIONS, &row);
	Assert(!row.borrowed);
	*len = row.len;
	return row.bytes;
}

void
copy_row_frozen(ZCopy *copy)
{
	uint32		len;
	char	   *row = form_row(copy, &len);

	copy_page_find(&copy->out, len);
	copy_page_add(&copy->out, row, len, InvalidFullTransactionId);
}

/* ---- the versions of a row ---- */

/* Copy what the version's header says about its modifier's operation. */
static void
version_header(CopyVersion *copied, const ZRowVersion *version)
{
	zrow_header_get(copied->row, &copied->hdr);
	if (!FullTransactionIdIsValid(copied->fxid))
		return;
	copied->hdr.flags |= version->hdr.flags & (ZROW_DELETED | ZROW_MOVED);
	copied->hdr.flags2 |= version->hdr.flags2 & (MODIFIER_FLAGS2 | ZROW2_SEVERAL_KEYS);
	if (copied->made == ZOP_INSERT)
		copied->hdr.flags |= ZROW_INSERTED;
}

/* Form the row of a version for the new table.  Return false if no snapshot sees the version. */
static bool
take_values(ZCopy *copy, const ZRowVersion *version, const CopyVersion *newer,
			CopyVersion *copied)
{
	bool		is_old = newer != NULL || (version->hdr.flags & ZROW_DELETED) != 0;

	/* a deleted row holds the values that it had before */
	if (newer != NULL && newer->made == ZOP_DELETE)
	{
		copied->row = newer->row;
		copied->len = newer->len;
		return true;
	}
	copy_values(copy, version);
	if (is_old && !zdml_toast_present(copy->from, version->hdr.flags, copy->slot, NULL))
		return false;			/* I4 */
	copied->row = form_row(copy, &copied->len);
	return true;
}

/* Make the version, which an update made, the oldest one that is kept. */
static void
make_oldest(ZCopy *copy, CopyVersion *copied)
{
	Assert(copied->made == ZOP_UPDATE && FullTransactionIdIsValid(copied->fxid));
	copy_note_conflict(copy, copied->fxid);
	copied->fxid = InvalidFullTransactionId;
	zrow_header_get(copied->row, &copied->hdr);
}

/*
 * Describe the version, and step to the one before.  Return false if there is none that a
 * snapshot needs.
 */
static bool
take_version(ZCopy *copy, ZRowVersion *version, CopyVersion *copied)
{
	ZPageView  *view = &copy->view;
	ZUndoRecord rec = {0};
	ZOwner		at;

	copied->fxid = InvalidFullTransactionId;
	if (!copy_all_visible(copy, version) && zmvcc_record(view, version, &rec, &at))
	{
		copied->fxid = at.fxid;
		copied->made = rec.type;
		copied->cid = rec.cid;
	}
	version_header(copied, version);
	if (!FullTransactionIdIsValid(copied->fxid) || copied->made == ZOP_INSERT)
		return false;
	if (!zmvcc_previous(view, version) || !zmvcc_skip_aborted(view, version))
		zheap_corrupt(copy->from, copy->view_block, version->offnum,
					  "row was changed by transaction %u, but there is no version before",
					  zfxid_xid(copied->fxid));
	return true;
}

/*
 * Collect all versions that have to be kept, the newest first.  Returns their number: 0 if the
 * row was deleted and the last snapshot that saw it has ended since we checked.  *versions is
 * allocated in the current context.
 */
static int
take_versions(ZCopy *copy, OffsetNumber offnum, CopyVersion **versions)
{
	int			alloc = 4;
	int			n = 0;
	bool		more = true;
	bool		deleted;
	ZRowVersion	version;
	CopyVersion *newer;
	CopyVersion *copied;

	zmvcc_current(&copy->view, offnum, &version);
	if (!zmvcc_skip_aborted(&copy->view, &version))
		zheap_corrupt(copy->from, copy->view_block, offnum, "row has no version");
	if (!zmvcc_reconstruct_body(&copy->view, &version))
		return 0;
	zmvcc_find_modifier(&copy->view, &version);
	*versions = palloc(alloc * sizeof(CopyVersion));
	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		if (n == alloc)
		{
			alloc *= 2;
			*versions = repalloc_huge(*versions, alloc * sizeof(CopyVersion));
		}
		newer = n > 0 ? &(*versions)[n - 1] : NULL;
		copied = &(*versions)[n];
		memset(copied, 0, sizeof(CopyVersion));
		deleted = (version.hdr.flags & ZROW_DELETED) != 0;
		if (!take_values(copy, &version, newer, copied))
		{
			if (newer != NULL)
				make_oldest(copy, newer);
			else
				copy_note_conflict(copy, zmodifier_fxid(&version.modifier));
			return n;
		}
		more = take_version(copy, &version, copied);
		if (deleted && !FullTransactionIdIsValid(copied->fxid))
			return 0;
		n++;
	}
	return n;
}

/* ---- their undo ---- */

/* Describe the body bytes of "older" that "newer" does not have. */
static void
describe_delta(const CopyVersion *newer, const CopyVersion *older, ZUndoRecord *rec)
{
	zrow_diff(newer->row, newer->len, older->row, older->len, &rec->prefix, &rec->suffix);
	Assert((uint32) ZROW_HDR_SIZE + rec->prefix + rec->suffix <= Min(newer->len, older->len));
	rec->mid = older->row + ZROW_HDR_SIZE + rec->prefix;
	rec->midlen = older->len - ZROW_HDR_SIZE - rec->prefix - rec->suffix;
}

/* Describe the undo record of a version, except for fields that only the newest one has. */
static void
describe_version(const CopyVersion *copied, const ZOwner *before, ZUndoRecord *rec_out)
{
	const CopyVersion *older = copied + 1;
	ZUndoRecord rec = {0};

	/* nothing else makes a version */
	Assert(copied->made == ZOP_INSERT || copied->made == ZOP_UPDATE ||
		   copied->made == ZOP_DELETE);
	rec.type = copied->made;
	rec.cid = copied->cid;
	rec.old_hdr.natts = ZROW_NATTS_KEEP;
	if (copied->made == ZOP_INSERT)
		rec.count = 1;
	else
	{
		rec.old_hdr.flags = older->hdr.flags;
		rec.old_hdr.flags2 = older->hdr.flags2 & ~ZROW2_PLACE_FLAGS;
		rec.row_prev = *before;
	}
	if (copied->made == ZOP_UPDATE)
		describe_delta(copied, older, &rec);
	*rec_out = rec;
}

/*
 * Make an update's record a waypoint, as if the update had been made in this file
 * (dml_waypoint.c).
 */
static void
describe_waypoint(ZCopy *copy, const ZWaypointBelow *below, const CopyVersion *older,
				  ZUndoRecord *rec)
{
	ZPageView	view;

	zview_open(&view, copy->to);
	view.block = copy->out.block;
	view.horizon = zview_horizon(&view);
	if (zwaypoint_link(&view, below, older->len, rec))
	{
		rec->prefix = rec->suffix = 0;
		rec->mid = older->row + ZROW_HDR_SIZE;
		rec->midlen = older->len - ZROW_HDR_SIZE;
		rec->old_hdr.natts = older->hdr.natts;
	}
	zview_close(&view);
}

/*
 * Write the undo records of all versions, the oldest first; each names the modifier before.
 * *newest is set to the newest version's record.  Returns its turn, where the oldest version has
 * turn 0.
 */
static int
write_undo(ZCopy *copy, const CopyVersion *versions, int n, const ItemPointerData *moved_to,
		   ZOwner *newest)
{
	ZOwner		before = {InvalidFullTransactionId, ZUNDO_INVALID};
	ZWaypointBelow below = {0};
	int			turn = 0;

	for (int i = n - 1; i >= 0; i--)
	{
		ZUndoRecord rec;

		/* only the oldest copied version needs no modifier and no version before it */
		Assert(i == n - 1 || (FullTransactionIdIsValid(versions[i].fxid) &&
							  versions[i].made != ZOP_INSERT));
		if (!FullTransactionIdIsValid(versions[i].fxid))
			continue;
		describe_version(&versions[i], &before, &rec);
		if (i == 0 && moved_to != NULL)
		{
			rec.has_new_tid = true;
			rec.new_tid = *moved_to;
		}
		if (rec.type == ZOP_UPDATE)
			turn = (turn + 1) % ZROW_TURNS;
		below.keys = below.keys || (rec.old_hdr.flags2 & ZROW2_KEYS_UPDATED);
		if (rec.type == ZOP_UPDATE && turn == 0 && FullTransactionIdIsValid(before.fxid))
			describe_waypoint(copy, &below, &versions[i + 1], &rec);
		before.fxid = versions[i].fxid;
		before.undo = copy_page_undo(&copy->out, &rec);
		if (rec.waypoint)
		{
			below.found = true;
			below.rec = rec;
			below.at = before;
			below.keys = false;
		}
	}
	Assert(FullTransactionIdEquals(before.fxid, versions[0].fxid));
	*newest = before;
	return turn;
}

/*
 * Return whether the row may be written without its body.  Other code relies on the body of a
 * row whose deletion is in progress, so our own deletions keep it; temporary tables thus have no
 * rows without a body.
 */
static bool
describe_tombstone(const CopyVersion *version, ZUndoRecord *rec)
{
	memset(rec, 0, sizeof(*rec));
	if (version->made != ZOP_DELETE || version->len <= ZROW_TOMBSTONE_SIZE ||
		TransactionIdIsCurrentTransactionId(zfxid_xid(version->fxid)))
		return false;
	rec->type = ZOP_TOMBSTONE;
	rec->mid = version->row + ZROW_HDR_SIZE;
	rec->midlen = version->len - ZROW_HDR_SIZE;
	return zrec_undo_bound(rec) <= ZUNDO_MAX_RECORD;
}

/* Move the body to undo, and replace it by a pointer. */
static void
leave_body(ZCopy *copy, CopyVersion *version, ZUndoRecord *rec)
{
	ZUndoPtr	body = copy_page_undo(&copy->out, rec);

	version->row = palloc(ZROW_TOMBSTONE_SIZE);
	version->len = ZROW_TOMBSTONE_SIZE;
	version->hdr.flags2 |= ZROW2_TOMBSTONE;
	memcpy(version->row + ZROW_HDR_SIZE, &body, sizeof(body));
}

/* ---- the row ---- */

/* Write a row of these versions.  *moved_to and *tid are those of copy_row_history. */
static void
write_row(ZCopy *copy, CopyVersion *versions, int n, const ItemPointerData *moved_to,
		  ItemPointer tid)
{
	CopyVersion *newest = &versions[0];
	FullTransactionId deleter = InvalidFullTransactionId;
	ZUndoRecord body;
	bool		tombstone = describe_tombstone(newest, &body);

	Assert(n > 0 && (moved_to == NULL || newest->made == ZOP_DELETE));
	copy_page_find(&copy->out, tombstone ? ZROW_TOMBSTONE_SIZE : newest->len);
	copy_page_tid(&copy->out, tid);
	if (moved_to == NULL)
		newest->hdr.flags &= ~ZROW_MOVED;
	if (!FullTransactionIdIsValid(newest->fxid))
		newest->hdr.slotno = 0;
	else if (newest->made == ZOP_INSERT)
		copy_page_inserted(&copy->out, newest->fxid, newest->cid, &newest->hdr);
	else
	{
		ZOwner		at;

		zrow_set_turn(&newest->hdr, write_undo(copy, versions, n, moved_to, &at));
		copy_page_changed(&copy->out, &at, &newest->hdr);
		if (newest->made == ZOP_DELETE)
			deleter = newest->fxid;
		if (tombstone)
			leave_body(copy, newest, &body);
	}
	zrow_header_put(newest->row, &newest->hdr);
	copy_page_add(&copy->out, newest->row, newest->len, deleter);
}

/*
 * Return whether the version's undo record fits.  Toasting may have other results now, so that
 * two versions may differ by more bytes than before.
 */
static bool
fits_undo(const CopyVersion *version)
{
	ZOwner		before = {InvalidFullTransactionId, ZUNDO_INVALID};
	ZUndoRecord rec;

	if (version->made != ZOP_UPDATE || !FullTransactionIdIsValid(version->fxid))
		return true;
	describe_version(version, &before, &rec);
	rec.waypoint = true;		/* it may get one */
	return zrec_undo_bound(&rec) <= ZUNDO_MAX_RECORD;
}

/*
 * Return the deletion to write if the undo record does not fit.  The update is then written as
 * one that moved the row: the version begins a row of its own, and the one before is deleted.
 */
static CopyVersion
deletion_by_move(const CopyVersion *version, const CopyVersion *older)
{
	CopyVersion deletion = *version;

	Assert(version->made == ZOP_UPDATE && FullTransactionIdIsValid(version->fxid));
	deletion.row = older->row;
	deletion.len = older->len;
	deletion.made = ZOP_DELETE;
	deletion.hdr = older->hdr;
	deletion.hdr.flags &= ~ZROW_INSERTED;
	deletion.hdr.flags |= ZROW_DELETED | ZROW_MOVED;
	deletion.hdr.flags2 = version->hdr.flags2 & (ZROW2_KEYS_UPDATED | ZROW2_SEVERAL_KEYS);
	return deletion;
}

static void
begin_as_inserted(CopyVersion *version)
{
	version->made = ZOP_INSERT;
	version->hdr.flags |= ZROW_INSERTED;
	version->hdr.flags2 &= ~ZROW2_KEYS_UPDATED;
}

FullTransactionId
copy_row_history(ZCopy *copy, OffsetNumber offnum, const ItemPointerData *moved_to,
				 ItemPointer tid)
{
	CopyVersion *versions;
	int			n = take_versions(copy, offnum, &versions);
	CopyVersion *oldest;
	int			first = 0;
	ItemPointerData to;
	ItemPointerData next;

	ItemPointerSetInvalid(tid);
	if (n == 0)
		return InvalidFullTransactionId;
	for (int i = 0; i < n; i++)
	{
		CopyVersion deletion;

		if (fits_undo(&versions[i]))
			continue;
		deletion = deletion_by_move(&versions[i], &versions[i + 1]);
		begin_as_inserted(&versions[i]);
		/* "to" and "next" differ: moved_to may point to "next" */
		write_row(copy, &versions[first], i + 1 - first, moved_to, &to);
		copy->num_tuples += 1;
		copy->tups_recently_dead += 1;
		versions[i] = deletion;
		first = i;
		next = to;
		moved_to = &next;
	}
	write_row(copy, &versions[first], n - first, moved_to, tid);
	oldest = &versions[n - 1];
	return oldest->made == ZOP_INSERT ? oldest->fxid : InvalidFullTransactionId;
}
