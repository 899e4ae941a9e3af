/*
 * mvcc_reconstruct.c
 *		Reconstruct, in one pass, the rows of a private page copy as a snapshot sees them.
 *
 * A scan that meets a page whose rows an unseen transaction has changed, an aborted one above
 * all, would walk to each row's record and rebuild the row.  One pass down the chain of that
 * transaction's slot does it for all: each record takes its row one version back, in the row's
 * own space, so that every undo page is read once, and a record costs little more than its
 * bytes.
 *
 * A row goes back as long as the records are those of the slot's owner.  The resulting version
 * may have been created by a transaction that no slot of this page names any more.  Its id is
 * kept in makers[] next to the page, unless it is visible to all.  The walk from such a row
 * gives what it would give from the row on the page.
 *
 * The copy as it was before is kept meanwhile.  If the pass finds damage, that page is
 * restored, and the rows' walks report the damage.
 *
 * LOCKING: no table page is locked; undo pages one at a time, by zundo_read().
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/status.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_read.h"

#include "mvcc_reconstruct.h"
#include "mvcc_unapply.h"

/* a chain much longer than the number of rows on a page is left to the rows' own walks */
#define MAX_RECORDS		1024

/* The pass over the rows of one slot of the page. */
typedef struct Pass
{
	ZPageView  *view;
	ZReconstruct *reconstruct;
	Page		page;			/* the view's page */
	uint32		unseen;			/* bit per slot that the snapshot does not see */
	int			slotno;
	ZOwner	slot;
	bool		aborted;		/* true if the owner has aborted; else it may be in progress */
	int			pending;		/* rows in ROW_OWNER or ROW_CHAIN */
	bool		left;			/* true if some row still names the slot */
} Pass;

/* ---- rows ---- */

static inline bool
is_pending(const Pass *pass, OffsetNumber offnum)
{
	uint8		state = pass->reconstruct->state[offnum];

	return state == ROW_OWNER || state == ROW_CHAIN;
}

/* Remove the row: an unseen transaction inserted it. */
static void
row_remove(Pass *pass, OffsetNumber offnum)
{
	Assert(pass->pending > 0);
	ItemIdSetUnused(PageGetItemId(pass->page, offnum));
	pass->reconstruct->state[offnum] = ROW_REST;
	pass->pending--;
}

/* Restore the row as it is on the page, to be walked. */
static void
row_leave(Pass *pass, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(pass->page, offnum);

	Assert(is_pending(pass, offnum));
	memcpy((char *) pass->page + ItemIdGetOffset(lp),
		   pass->reconstruct->before.data + ItemIdGetOffset(lp), ItemIdGetLength(lp));
	pass->reconstruct->state[offnum] = ROW_REST;
	pass->pending--;
	pass->left = true;
}

/*
 * Return whether "maker" owns the slot that the version names.  Whatever it has recorded about
 * the row is older than the owner's records, so that the walk from the slot's newest record
 * finds the right one.  Slots with passes of their own do not count: no row goes through two.
 */
static inline bool
slot_tells(const Pass *pass, const ZRowHeader *hdr, const ZOwner *maker)
{
	int			slotno = hdr->slotno;

	return slotno != 0 && slotno <= zpage_nslots(pass->page) &&
		(pass->unseen & (uint32) 1 << slotno) == 0 &&
		FullTransactionIdEquals(maker->fxid,
								zpage_slot_fxid(zpage_slot(pass->page, NULL, slotno)));
}

/*
 * Enter the version's maker, and the version after it, into makers[]: the header cannot tell
 * them.
 */
static pg_noinline void
note_maker(Pass *pass, OffsetNumber offnum, int slotno, const ZOwner *prev,
		   bool upper_bound, CommandId cid)
{
	ZReconstructMaker *maker = &pass->reconstruct->makers[offnum];

	/* a version after an aborted owner's changes has no successor */
	Assert(cid == InvalidCommandId || !pass->aborted);
	memset(maker, 0, sizeof(*maker));
	if (prev)
	{
		maker->slot = *prev;
		maker->upper_bound = upper_bound;
	}
	maker->slotno = slotno;
	if (cid != InvalidCommandId)
		maker->next_fxid = pass->slot.fxid;
	maker->next_cid = cid;
	pass->reconstruct->state[offnum] = ROW_NAMED;
	pass->view->reconstructed = true;
}

/*
 * Finish a row that has gone back as far as the owner's records lead: its maker is "prev".  If
 * the owner has aborted, its changes never existed; otherwise the version has a successor, made
 * by command "cid".
 *
 * This function and those below are called once per record; they are inline so that the header
 * stays in registers.
 */
static pg_attribute_always_inline void
row_finish(Pass *pass, OffsetNumber offnum, ZRowHeader *hdr, const ZOwner *prev,
		   bool upper_bound, CommandId cid)
{
	bool		known = !zview_is_frozen(pass->view, prev->fxid);

	Assert(is_pending(pass, offnum) && pass->pending > 0);
	if (pass->aborted)
		cid = InvalidCommandId;
	pass->pending--;
	pass->reconstruct->state[offnum] = ROW_REST;
	if (!known && cid == InvalidCommandId)
		zrow_header_freeze(hdr);
	else if (cid == InvalidCommandId && !upper_bound && slot_tells(pass, hdr, prev))
		hdr->flags &= ~ZROW_REUSED;
	else
	{
		note_maker(pass, offnum, hdr->slotno, known ? prev : NULL, upper_bound, cid);
		hdr->slotno = pass->slotno;
	}
}

/* ---- records ---- */

/* Return whether the version before was made by a record of the owner, from rec->page_prev on. */
static inline bool
goes_on(const Pass *pass, const ZUndoRecord *rec)
{
	return rec->prev_own ||
		(rec->takeover == ZTAKE_OWN && FullTransactionIdIsValid(rec->row_prev.fxid) &&
		 rec->row_prev.undo == rec->page_prev &&
		 FullTransactionIdEquals(rec->row_prev.fxid, pass->slot.fxid));
}

/* Undo an update or a delete of a row.  Return false if the chain is damaged. */
static pg_attribute_always_inline bool
reconstruct_change(Pass *pass, const ZUndoRecord *rec, OffsetNumber offnum)
{
	ItemId		lp = PageGetItemId(pass->page, offnum);
	char	   *row = (char *) pass->page + ItemIdGetOffset(lp);
	uint32		alloc = ItemIdGetLength(lp);
	ZRowHeader	was;
	ZRowHeader	hdr;

	if (!is_pending(pass, offnum))
		return true;
	if (rec->type == ZOP_UPDATE &&
		!zunapply_fits(rec, alloc - zrow_pad_length(row, alloc), BLCKSZ))
		return false;
	zview_count(pass->view, ZTABLE_VERSIONS_WALKED, 1);
	zrow_header_get(row, &was);
	zunapply_header(rec, &was, &hdr);
	if (rec->type == ZOP_DELETE)
		hdr.flags |= was.flags & ZROW_PADDED;
	else if (!zunapply_in_place(rec, row, alloc, &hdr))
	{
		row_leave(pass, offnum);
		return true;
	}

	if (!goes_on(pass, rec))
		row_finish(pass, offnum, &hdr, &rec->row_prev, rec->prev_upper_bound, rec->cid);
	else
	{
		hdr.slotno = pass->slotno;
		if (rec->prev_upper_bound)
		{
			pass->reconstruct->state[offnum] = ROW_CHAIN;
			/* in case no record of the owner made the version before */
			pass->reconstruct->makers[offnum].next_cid = rec->cid;
		}
		else if (rec->old_hdr.flags & ZROW_INSERTED)
			row_remove(pass, offnum);
		else
			pass->reconstruct->state[offnum] = ROW_OWNER;
	}
	zrow_header_put(row, &hdr);
	return true;
}

/*
 * Undo a plain update of an aborted owner in a row that is as long as the version before, and has
 * no padding.  Return false for other rows, with nothing done.  The result is that of
 * reconstruct_change(), with fewer instructions: the version before is visible to all, so that its
 * header names no slot.
 */
static pg_attribute_always_inline bool
reconstruct_plain(Pass *pass, const ZUndoRecord *rec)
{
	ItemIdData	lp = *PageGetItemId(pass->page, rec->offnum);
	char	   *row = (char *) pass->page + ItemIdGetOffset(&lp);

	if (pass->reconstruct->state[rec->offnum] != ROW_OWNER || !pass->aborted ||
		(zrow_flags(row) & ZROW_PADDED) || zunapply_length(rec) != ItemIdGetLength(&lp))
		return false;
	zunapply_copy(row + ZROW_HDR_SIZE + rec->prefix, rec->mid, rec->midlen);
	zunapply_plain_header(rec, row);
	pass->reconstruct->state[rec->offnum] = ROW_REST;
	pass->pending--;
	return true;
}

/*
 * Undo a run of deletions in all rows that are still deleted: newer records about them have
 * been undone already.  Return false if the chain is damaged.
 */
static pg_noinline bool
reconstruct_deletions(Pass *pass, const ZUndoRecord *rec)
{
	OffsetNumber max = PageGetMaxOffsetNumber(pass->page);

	for (OffsetNumber offnum = rec->offnum; offnum <= max; offnum++)
	{
		ItemId		lp = PageGetItemId(pass->page, offnum);

		if (is_pending(pass, offnum) &&
			(zrow_flags((char *) pass->page + ItemIdGetOffset(lp)) & ZROW_DELETED) &&
			!reconstruct_change(pass, rec, offnum))
			return false;
	}
	return true;
}

static void
reconstruct_insert(Pass *pass, const ZUndoRecord *rec)
{
	int			max = PageGetMaxOffsetNumber(pass->page);
	int			last = rec->open_run ? max : Min(max, rec->offnum + rec->count - 1);

	for (int i = rec->offnum; i <= last; i++)
	{
		if (is_pending(pass, i))
			row_remove(pass, i);
	}
}

/*
 * Finish the rows that the owner has not changed: this is its first record, so the owners
 * before it, or none, made them.
 */
static void
reach_owner_before(Pass *pass, const ZUndoRecord *rec)
{
	ZOwner	prev = {InvalidFullTransactionId, ZUNDO_INVALID};
	int			max = PageGetMaxOffsetNumber(pass->page);

	/* all that are pending are ROW_CHAIN */
	if (pass->pending == 0)
		return;
	if (rec->takeover == ZTAKE_REUSED)
		prev = rec->slot_prev;
	for (int i = FirstOffsetNumber; i <= max; i++)
	{
		if (pass->reconstruct->state[i] == ROW_CHAIN)
		{
			char	   *row = (char *) pass->page + ItemIdGetOffset(PageGetItemId(pass->page, i));
			ZRowHeader	hdr;

			zrow_header_get(row, &hdr);
			row_finish(pass, i, &hdr, &prev, true, pass->reconstruct->makers[i].next_cid);
			zrow_header_put(row, &hdr);
		}
	}
}

/*
 * Undo a record of any kind.  Return the owner's record before it; invalid if there is none, or
 * if the chain is damaged: then rows are pending.
 */
static pg_noinline ZUndoPtr
reconstruct_record(Pass *pass, const char *bytes, Size len, ZUndoPtr ptr)
{
	ZUndoRecord rec;
	bool		sound = true;

	Assert(pass->pending > 0);
	if (zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, &rec) == 0)
		return ZUNDO_INVALID;
	if (zrec_is_delete_run(&rec))
		sound = reconstruct_deletions(pass, &rec);
	else if (rec.type == ZOP_UPDATE || rec.type == ZOP_DELETE)
		sound = reconstruct_change(pass, &rec, rec.offnum);
	else if (rec.type == ZOP_INSERT)
		reconstruct_insert(pass, &rec);
	Assert(sound || pass->pending > 0);
	if (sound && rec.takeover == ZTAKE_OWN)
		return rec.page_prev;
	if (sound)
		reach_owner_before(pass, &rec);
	return ZUNDO_INVALID;
}

/* Go down the chain.  Return false if it is damaged or too long. */
static pg_noinline bool
go_down(Pass *pass)
{
	ZUndoPtr	ptr = pass->slot.undo;
	int			others = 0;		/* records that are not plain */
	int			n;

	for (n = 0; pass->pending > 0 && n < MAX_RECORDS; n++)
	{
		ZUndoRecord rec;
		Size		len;
		const char *bytes = zundo_read_copied(&pass->view->reader, ptr, &len);

		if (unlikely(bytes == NULL))
			bytes = zundo_read(&pass->view->reader, ptr, &len);
		if (unlikely(bytes == NULL))
			break;
		if (likely(zrec_undo_decode_plain(bytes, len, ptr, &rec) &&
				   reconstruct_plain(pass, &rec)))
			ptr = rec.page_prev;
		else
		{
			ptr = reconstruct_record(pass, bytes, len, ptr);
			if (ptr == ZUNDO_INVALID)
				break;
			others++;
		}
	}
	zview_count(pass->view, ZTABLE_VERSIONS_WALKED, n - others);
	return pass->pending == 0;
}

/* ---- a slot ---- */

/* Return whether the row's padding is sound.  The row lies within the page. */
static inline bool
padding_is_sound(const char *row, uint32 alloc)
{
	if (!(zrow_flags(row) & ZROW_PADDED))
		return true;
	return ((uint8) row[alloc - 1] < 255 || alloc >= ZROW_HDR_SIZE + 3) &&
		zrow_pad_length(row, alloc) <= alloc - ZROW_HDR_SIZE;
}

/*
 * Give a row that names the slot its state at the begin of the pass.  Leave two kinds alone: a
 * row without a body, which is in another record, and one that is visible without a record, as
 * the owner, in progress, has reused the slot of its maker.
 */
static inline void
row_begin(Pass *pass, OffsetNumber offnum, const char *row)
{
	uint8		flags = zrow_flags(row);

	if ((flags & ZROW_DELETED) && ((uint8) row[1] & ZROW2_TOMBSTONE))
		pass->left = true;
	else if ((flags & ZROW_REUSED) && !pass->aborted)
		pass->left = true;
	else
	{
		pass->pending++;
		if (flags & ZROW_REUSED)
			pass->reconstruct->state[offnum] = ROW_CHAIN;
		else if (flags & ZROW_INSERTED)
			row_remove(pass, offnum);
		else
			pass->reconstruct->state[offnum] = ROW_OWNER;
	}
}

/* Reconstruct all rows of one slot.  Return false if the page or the chain is damaged. */
static bool
reconstruct_slot(Pass *pass)
{
	PageHeader	header = (PageHeader) pass->page;
	OffsetNumber max = PageGetMaxOffsetNumber(pass->page);
	int			slotno = pass->slotno;

	Assert(pass->pending == 0 && slotno <= zpage_nslots(pass->page));
	pass->slot = zpage_slot_owner(zpage_slot(pass->page, NULL, slotno));
	pass->pending = 0;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= max; offnum++)
	{
		ItemIdData	lp = *PageGetItemId(pass->page, offnum);
		const char *row = (char *) pass->page + ItemIdGetOffset(&lp);
		uint32		alloc = ItemIdGetLength(&lp);

		if (!ItemIdIsNormal(&lp))
			continue;
		if (alloc < ZROW_HDR_SIZE || ItemIdGetOffset(&lp) < header->pd_upper ||
			ItemIdGetOffset(&lp) + alloc > header->pd_special)
			return false;
		/* a row with a state came here from another slot */
		if (!zrow_names_slot(row, slotno) || pass->reconstruct->state[offnum] != ROW_REST)
			continue;
		if (likely((zrow_flags(row) & (ZROW_PADDED | ZROW_MODIFIER_FLAGS)) == 0))
		{
			pass->reconstruct->state[offnum] = ROW_OWNER;
			pass->pending++;
		}
		else if (padding_is_sound(row, alloc))
			row_begin(pass, offnum, row);
		else
			return false;
	}
	return go_down(pass);
}

/* ---- the page ---- */

/*
 * Return the slots of the page except those in "seen", and those of our own transaction: bit
 * per slot.
 */
static uint32
unseen_slots(ZPageView *view, uint32 seen)
{
	int			nslots = zpage_nslots(view->page);
	uint32		unseen = 0;

	for (int i = 1; i <= nslots; i++)
	{
		FullTransactionId fxid = zpage_slot_fxid(zpage_slot(view->page, NULL, i));

		if ((seen & (uint32) 1 << i) == 0 &&
			!TransactionIdIsCurrentTransactionId(zfxid_xid(fxid)))
			unseen |= (uint32) 1 << i;
	}
	return unseen;
}

/*
 * Return those of the slots that more than one row names whose undo would have to be read.  For
 * a single row the walk is as good.
 */
static uint32
worthwhile_slots(Page page, uint32 slots)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	uint32		once = 0;
	uint32		twice = 0;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= max && twice != slots; offnum++)
	{
		ItemId		lp = PageGetItemId(page, offnum);
		const char *row = (char *) page + ItemIdGetOffset(lp);
		uint32		bit;

		if (!zpage_leads_to_row(lp) || zrow_slotno(row) > ZPAGE_MAX_INPAGE ||
			(zrow_flags(row) & (ZROW_INSERTED | ZROW_REUSED)) == ZROW_INSERTED)
			continue;
		bit = slots & (uint32) 1 << zrow_slotno(row);
		twice |= once & bit;
		once |= bit;
	}
	return twice;
}

static void
reconstruct_open(ZPageView *view)
{
	if (view->reconstruct == NULL)
		view->reconstruct = MemoryContextAllocZero(view->context, sizeof(ZReconstruct));
	zpage_copy_used(view->reconstruct->before.data, (PageHeader) view->page);
	view->original = (Page) view->reconstruct->before.data;
	memset(view->reconstruct->state, ROW_REST, sizeof(view->reconstruct->state));
}

#ifdef USE_ASSERT_CHECKING
/* Check that the reconstructed rows are those that the walks find. */
static void
assert_reconstructed(ZPageView *view, Page before, Snapshot snapshot)
{
	Page		after = view->page;
	bool		reconstructed = view->reconstructed;
	OffsetNumber max = PageGetMaxOffsetNumber(before);
	char	   *body = palloc(BLCKSZ);
	uint64		counts[ZTABLE_NVIEW_COUNTERS];

	memcpy(counts, view->counts, sizeof(counts));
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= max; offnum++)
	{
		ZRowVersion	walked;
		ZRowVersion	version;
		bool		found;

		view->page = before;
		view->reconstructed = false;
		found = zmvcc_fetch(view, offnum, snapshot, &walked);
		if (found)
		{
			Assert(walked.len <= BLCKSZ);
			memcpy(body, walked.row, walked.len);
		}
		view->page = after;
		view->reconstructed = reconstructed;
		if (zmvcc_fetch(view, offnum, snapshot, &version) != found)
			elog(PANIC, "row %u is %s", offnum, found ? "missing" : "too much");
		if (!found)
			continue;
		Assert(version.len == walked.len && version.hdr.natts == walked.hdr.natts);
		Assert(memcmp(version.row + ZROW_HDR_SIZE, body + ZROW_HDR_SIZE,
					  version.len - ZROW_HDR_SIZE) == 0);
		Assert(((version.hdr.flags ^ walked.hdr.flags) & (ZROW_VALUE_FLAGS | ZROW_DELETED)) == 0);
		Assert(((version.hdr.flags2 ^ walked.hdr.flags2) & ZROW2_PARITY) == 0);
		Assert(!zmodifier_is_exact(&walked.modifier) || !zmodifier_is_exact(&version.modifier) ||
			   FullTransactionIdEquals(zmodifier_fxid(&walked.modifier),
									   zmodifier_fxid(&version.modifier)));
	}
	memcpy(view->counts, counts, sizeof(counts));
	pfree(body);
}
#endif

void
zmvcc_reconstruct(ZPageView *view, Snapshot snapshot, uint32 seen, bool only_aborted)
{
	Pass		pass = {.view = view};
	uint32		slots = 0;

	/* a private copy, which has not been reconstructed yet */
	Assert(!view->locked && view->page == (Page) view->copy->data && !view->reconstructed);
	Assert(IsMVCCSnapshot(snapshot) && view->limit == 0);
	pass.unseen = unseen_slots(view, seen);
	if (pass.unseen != 0)
		slots = worthwhile_slots(view->page, pass.unseen);
	if (slots == 0)
		return;
	reconstruct_open(view);
	pass.reconstruct = view->reconstruct;
	pass.page = view->page;
	for (pass.slotno = 1; pass.slotno <= ZPAGE_MAX_INPAGE; pass.slotno++)
	{
		FullTransactionId fxid;

		if ((slots & (uint32) 1 << pass.slotno) == 0)
			continue;
		/*
		 * neither in progress for the snapshot nor seen by it, so it has aborted; but with a
		 * snapshot from elsewhere it may still be in progress
		 */
		fxid = zpage_slot_fxid(zpage_slot(view->page, NULL, pass.slotno));
		pass.aborted = !XidInMVCCSnapshot(zfxid_xid(fxid), snapshot) &&
			zmvcc_xact_status(fxid) == ZXACT_ABORTED;
		if (only_aborted && !pass.aborted)
			pass.left = true;
		else if (!reconstruct_slot(&pass))
		{
			zpage_copy_used(view->page, (PageHeader) view->reconstruct->before.data);
			view->reconstructed = false;
			return;
		}
	}
#ifdef USE_ASSERT_CHECKING
	assert_reconstructed(view, (Page) view->reconstruct->before.data, snapshot);
#endif
	view->all_frozen = !pass.left && !view->reconstructed && zview_slots_are_frozen(view, slots);
}
