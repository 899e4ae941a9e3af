/*
 * page_apply.c
 *		Apply inserts, updates, deletes and locks to the bytes of a page.
 *
 * Shared by the forward path and redo; nothing here can fail.
 *
 * LOCKING: the caller holds the exclusive lock of each page that is passed.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

/* The slots that change hands, and where rows may be. */
typedef struct Leaving
{
	int			taken;
	uint32		also;			/* bit k: slot k, on the page */
	bool		visible_to_all;
	uint32		upper;			/* lowest and highest offset that a row header may have */
	uint32		last;
} Leaving;

/*
 * Freeze or mark the row if it names one of these slots.  Returns whether the row names no slot
 * any more.
 */
static bool
row_leaves_slots(Page page, OffsetNumber off, const Leaving *leaving)
{
	ItemId		lp = PageGetItemId(page, off);
	ZRowHeader	hdr;
	char	   *row;
	int			slotno;

	if (!ItemIdIsNormal(lp))
		return true;
	/* skip a line pointer that leads out of the rows: readers report it */
	if (ItemIdGetOffset(lp) < leaving->upper || ItemIdGetOffset(lp) > leaving->last)
		return false;
	row = (char *) page + ItemIdGetOffset(lp);
	slotno = zrow_slotno(row);
	if (slotno == 0)
		return true;
	if (slotno != leaving->taken && !zpage_slot_in(leaving->also, slotno))
		return false;
	if (!leaving->visible_to_all)
	{
		row[0] |= ZROW_REUSED;
		return false;
	}
	zrow_header_get(row, &hdr);
	zrow_header_freeze(&hdr);
	zrow_header_put(row, &hdr);
	return true;
}

/*
 * Freeze or mark the rows of slots that change hands (S3): they must not be taken for the new
 * owner's.  If their owners are all-visible, they become frozen.  Otherwise they are marked, and
 * readers find their modifier through the new owner's undo.
 *
 * One walk handles all slots that "plan" takes or frees.  It visits only the groups of rows that
 * may name slots (P5).
 */
static void
rows_leave_slots(Page page, const ZSlotPlan *plan)
{
	PageHeader	header = (PageHeader) page;
	Leaving		leaving = {plan->slotno, plan->also, plan->takeover == ZTAKE_ALL_VISIBLE,
	header->pd_upper, header->pd_special - ZROW_HDR_SIZE};
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	if (header->pd_special < header->pd_upper + ZROW_HDR_SIZE)
		return;
	for (uint32 rest = zpage_naming(page); rest != 0; rest &= rest - 1)
	{
		int			group = pg_rightmost_one_pos32(rest);
		OffsetNumber first = group * ZPAGE_GROUP_ROWS + FirstOffsetNumber;
		bool		all_left = true;

		for (OffsetNumber off = first; off <= Min(max, first + ZPAGE_GROUP_ROWS - 1); off++)
			all_left &= row_leaves_slots(page, off, &leaving);
		if (all_left)
			zpage_trailer(page)->naming_word &= ~((uint32) 1 << group);
	}
}

/* Free the slots, which no row names any more. */
static void
slots_set_free(Page page, uint32 slots)
{
	ZOwner		nobody = {InvalidFullTransactionId, ZUNDO_INVALID};

	for (int slotno = 1; slots != 0 && slotno <= zpage_nslots(page); slotno++)
	{
		if (!zpage_slot_in(slots, slotno))
			continue;
		Assert(zpage_slot_is_left(page, slotno));	/* S3 */
		zpage_slot_set(zpage_slot(page, NULL, slotno), &nobody, 0);
	}
}

/*
 * The count of records above the newest directory continues with the chain (C1): replay counts as
 * the forward path does, so WAL need not contain it.
 */
void
zpage_slot_take_apply(ZPageSlot *slot, const ZSlotPlan *plan)
{
	bool		goes_on = plan->takeover == ZTAKE_OWN || plan->takeover == ZTAKE_REUSED;
	int			count = goes_on ? zpage_slot_count(slot) : 0;

	Assert(FullTransactionIdIsValid(plan->next.fxid) && plan->next.undo != ZUNDO_INVALID);
	zpage_slot_set(slot, &plan->next, plan->directory ? 0 : count + 1);
}

/*
 * Used when the slot's page needs no replay, or is not part of the record, but the table page
 * does: its change is applied with a slot that is then discarded.  That slot first gets the value
 * that it may have had before.
 */
void
zpage_scratch_init_apply(Page scratch, const ZSlotPlan *plan)
{
	zpage_overflow_init_apply(scratch, 0);
	if (plan->slotno < ZPAGE_FIRST_OVERFLOW)
		return;
	if (plan->takeover == ZTAKE_OWN)
		zpage_slot_set(zpage_slot(NULL, scratch, plan->slotno), &plan->next, 0);
	else if (plan->takeover == ZTAKE_REUSED)
		zpage_slot_set(zpage_slot(NULL, scratch, plan->slotno), &plan->prev, 0);
}

/* New slots are added first: the plan's slot may be one of them. */
void
zpage_slot_apply(Page page, Page overflow, const ZSlotPlan *plan)
{
	ZPageSlot  *slot;

	zpage_grow_apply(page, plan->grow);
	slot = zpage_slot(page, overflow, plan->slotno);
	if (zpage_is_lock_slot(plan->slotno))
	{
		/* no row names it (P2) */
		Assert(plan->takeover != ZTAKE_ALL_VISIBLE);
		zpage_slot_take_apply(slot, plan);
		return;
	}
	switch (plan->takeover)
	{
		case ZTAKE_OWN:
			Assert(FullTransactionIdEquals(zpage_slot_fxid(slot), plan->next.fxid));	/* S1 */
			break;
		case ZTAKE_FREE:
			Assert(!FullTransactionIdIsValid(zpage_slot_fxid(slot)));
			break;
		case ZTAKE_ALL_VISIBLE:
			Assert(plan->also == 0 || plan->slotno <= ZPAGE_MAX_INPAGE);
			rows_leave_slots(page, plan);
			slots_set_free(page, plan->also);
			break;
		case ZTAKE_REUSED:
			/* the link to the previous owner must lead to all that the slot led to */
			Assert(FullTransactionIdEquals(zpage_slot_fxid(slot), plan->prev.fxid) &&
				   slot->undo == plan->prev.undo);
			rows_leave_slots(page, plan);
			zpage_note_reused(page, plan->prev.fxid);
			break;
	}
	/* S3: from now on a row that names the slot and is not marked REUSED is the new owner's */
	Assert(plan->takeover == ZTAKE_OWN || zpage_slot_is_left(page, plan->slotno));
	zpage_slot_take_apply(slot, plan);
}

/* P5: set the bit of the row's group if the row names a slot. */
static void
group_note(Page page, OffsetNumber offnum, int slotno)
{
	if (slotno != 0)
		zpage_trailer(page)->naming_word |= zpage_group_bit(offnum);
}

/* Insert rows, each on a line pointer of its own: the next one, or an unused one. */
static void
insert_apply(Page page, const ZRowPlan *plan)
{
	PageHeader	header = (PageHeader) page;
	int			i;

	for (i = 0; i < plan->nrows; i++)
	{
		const ZNewRow *new = &plan->rows[i];
		ItemId		lp = PageGetItemId(page, new->offnum);
		bool		append = new->offnum > PageGetMaxOffsetNumber(page);
		Size		need = new->len + (append ? sizeof(ItemIdData) : 0);

		if (zpage_free_contiguous(page) < need)
			zpage_compact_apply(page);
		Assert(new->len >= ZROW_HDR_SIZE);
		Assert(zpage_free_contiguous(page) >= need);
		Assert(append ? new->offnum == PageGetMaxOffsetNumber(page) + 1 : !ItemIdIsUsed(lp));

		if (append)
			header->pd_lower += sizeof(ItemIdData);
		header->pd_upper -= new->len;
		memcpy((char *) page + header->pd_upper, new->bytes, new->len);
		ItemIdSetNormal(lp, header->pd_upper, new->len);
		group_note(page, new->offnum, zrow_slotno(new->bytes));
	}
}

/*
 * Give the row at offnum room for newlen bytes and copy its len present bytes there.  Returns the
 * row's new address.
 */
static char *
row_grow(Page page, OffsetNumber offnum, uint32 len, uint32 newlen)
{
	PageHeader	header = (PageHeader) page;
	ItemId		lp = PageGetItemId(page, offnum);
	PGAlignedBlock old;

	memcpy(old.data, (char *) page + ItemIdGetOffset(lp), len);
	if (zpage_free_contiguous(page) < newlen)
	{
		/* let compaction remove the old bytes, too */
		ItemIdSetUnused(lp);
		zpage_compact_apply(page);
	}
	Assert(zpage_free_contiguous(page) >= newlen);
	header->pd_upper -= newlen;
	memcpy((char *) page + header->pd_upper, old.data, len);
	ItemIdSetNormal(lp, header->pd_upper, newlen);
	return (char *) page + header->pd_upper;
}

/*
 * Replace body bytes [prefix, len - suffix) of a row, and its header.  Rolling back an update uses
 * this, too (page_rollback.c).
 */
void
zpage_row_replace_apply(Page page, const ZRowPlan *plan)
{
	uint32		len;
	uint32		alloc;
	char	   *row = zpage_row(page, plan->offnum, &len, &alloc);
	uint32		newlen = ZROW_HDR_SIZE + plan->prefix + plan->midlen + plan->suffix;
	ZRowHeader	hdr = plan->hdr;
	char	   *body;

	Assert((uint32) ZROW_HDR_SIZE + plan->prefix + plan->suffix <= len);
	if (newlen > alloc)
	{
		row = row_grow(page, plan->offnum, len, newlen);
		alloc = newlen;
	}
	body = row + ZROW_HDR_SIZE;
	if (newlen != len)
		memmove(body + plan->prefix + plan->midlen,
				row + len - plan->suffix, plan->suffix);
	memcpy(body + plan->prefix, plan->mid, plan->midlen);

	/* bytes that the row no longer needs stay its own until commit */
	hdr.flags &= ~ZROW_PADDED;
	if (hdr.natts == ZROW_NATTS_KEEP)
		hdr.natts = zrow_natts(row);
	if (newlen < alloc)
	{
		hdr.flags |= ZROW_PADDED;
		zrow_pad_put(row, alloc, alloc - newlen);
	}
	hdr.flags2 |= row[1] & ZROW2_SEVERAL_KEYS;
	zrow_header_put(row, &hdr);
	group_note(page, plan->offnum, hdr.slotno);
}

/* Replace the header; the body and its padding stay. */
void
zpage_row_header_apply(Page page, OffsetNumber offnum, const ZRowHeader *header)
{
	char	   *row = (char *) page + ItemIdGetOffset(PageGetItemId(page, offnum));
	ZRowHeader	hdr = *header;

	Assert(ItemIdIsNormal(PageGetItemId(page, offnum)));
	hdr.flags &= ~ZROW_PADDED;
	hdr.flags |= zrow_flags(row) & ZROW_PADDED;
	if (hdr.natts == ZROW_NATTS_KEEP)
		hdr.natts = zrow_natts(row);
	hdr.flags2 |= row[1] & ZROW2_SEVERAL_KEYS;
	zrow_header_put(row, &hdr);
	group_note(page, offnum, hdr.slotno);
}

/*
 * Keep the oldest deletion in pd_prune_xid, as heap does: once it is below the horizon, pruning
 * will find something.
 */
void
zpage_set_prunable(Page page, TransactionId xid)
{
	TransactionId prunable = ((PageHeader) page)->pd_prune_xid;

	if (!TransactionIdIsValid(prunable) || TransactionIdPrecedes(xid, prunable))
		((PageHeader) page)->pd_prune_xid = xid;
}

/* The hint of locks, as bits of flags2.  The line pointer may be any that has storage. */
uint8
zpage_row_lock_bits(Page page, OffsetNumber offnum)
{
	const char *row = (const char *) page + ItemIdGetOffset(PageGetItemId(page, offnum));

	return (uint8) row[1] & ZROW2_LOCK_MASK;
}

/* Return the turn of the row on the page, which plans do not contain (ZROW2_PARITY). */
static int
row_turn(Page page, OffsetNumber offnum)
{
	ZRowHeader	hdr;

	zrow_header_get((const char *) page + ItemIdGetOffset(PageGetItemId(page, offnum)), &hdr);
	return zrow_turn(&hdr);
}

/* Set the hint of locks; version and modifier stay. */
static void
set_lock_bits(Page page, const ZRowPlan *plan)
{
	char	   *row = (char *) page + ItemIdGetOffset(PageGetItemId(page, plan->offnum));

	Assert(ItemIdIsNormal(PageGetItemId(page, plan->offnum)));
	row[1] = (row[1] & ~ZROW2_LOCK_MASK) | (plan->hdr.flags2 & ZROW2_LOCK_MASK);
}

/*
 * Make a deleted row a tombstone: readers find the body by the undo pointer.  The space is free at
 * once.
 */
static void
tombstone_apply(Page page, const ZRowPlan *plan)
{
	ItemId		lp = PageGetItemId(page, plan->offnum);
	char	   *row = (char *) page + ItemIdGetOffset(lp);

	Assert((zrow_flags(row) & ZROW_DELETED) && ItemIdGetLength(lp) >= ZROW_TOMBSTONE_SIZE);
	row[0] &= ~ZROW_PADDED;
	row[1] |= ZROW2_TOMBSTONE;
	memcpy(row + ZROW_HDR_SIZE, &plan->body, sizeof(plan->body));
	ItemIdSetNormal(lp, ItemIdGetOffset(lp), ZROW_TOMBSTONE_SIZE);
}

/* The slot has been prepared, so the slot that the new header names exists (P2). */
void
zpage_row_apply(Page page, const ZRowPlan *plan)
{
	ZRowPlan	turned;

	if (zrow_op_makes_version(plan->op))
		PageClearAllVisible(page);	/* P6 */
	switch (plan->op)
	{
		case ZOP_INSERT:
			insert_apply(page, plan);
			break;
		case ZOP_UPDATE:
			turned = *plan;
			zrow_set_turn(&turned.hdr, row_turn(page, plan->offnum) + 1);
			zpage_row_replace_apply(page, &turned);
			break;
		case ZOP_DELETE:
			turned.hdr = plan->hdr;
			zrow_set_turn(&turned.hdr, row_turn(page, plan->offnum));
			zpage_row_header_apply(page, plan->offnum, &turned.hdr);
			zpage_set_prunable(page, plan->xid);
			break;
		case ZOP_LOCK:
			set_lock_bits(page, plan);
			break;
		case ZOP_TOMBSTONE:
			tombstone_apply(page, plan);
			break;
		case ZOP_DIRECTORY:
			break;
	}
	zpage_assert_valid(page);
}

/* Only the bit changes: version and modifier stay, so there is no undo record. */
void
zpage_confirm_apply(Page page, OffsetNumber offnum)
{
	char	   *row = (char *) page + ItemIdGetOffset(PageGetItemId(page, offnum));

	/* in a deleted row the bit has another meaning */
	Assert(!(zrow_flags(row) & ZROW_DELETED) && (row[1] & ZROW2_SPECULATIVE));
	row[1] &= ~ZROW2_SPECULATIVE;
}

/* The name of a page never changes: readers may follow it as soon as the lock is released. */
void
zpage_overflow_apply(Page page, BlockNumber overflow_block)
{
	if (zpage_is_table(page))
	{
		Assert(zpage_overflow_block(page) == InvalidBlockNumber);
		zpage_trailer(page)->overflow = overflow_block;
	}
	else
	{
		ZOverflowPageBody *body = zpage_overflow_body(page);

		Assert(body->nlock_pages < ZPAGE_MAX_LOCK_PAGES);
		body->lock_pages[body->nlock_pages++] = overflow_block;
	}
}
