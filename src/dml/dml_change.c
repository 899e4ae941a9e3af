/*
 * dml_change.c
 *		Performing a planned change: undo record, page, WAL record.
 *
 * LOCKING: the target's page is locked exclusively, on entry and on exit.  A lock page, undo pages
 * and pages of the visibility map are locked and unlocked within (L1).
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/mvcc/chain.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"

#include "change_map.h"

/*
 * Transaction and page of the last record on the current undo page: the next record omits what
 * is the same.  Only this backend writes to its log, so a variable of the backend suffices.
 */
typedef struct Context
{
	BlockNumber undo_block;
	uint16		generation;
	FullTransactionId fxid;
	RelFileLocator locator;
	BlockNumber block;
} Context;

static Context last;

static Context
context_of(const ZUndoRecord *undo, const ZUndoWrite *write)
{
	Context		context = {
		zundo_ptr_block(write->ptr), write->generation, undo->fxid, undo->locator, undo->block
	};

	return context;
}

/*
 * Fill in transaction and page of the record, as far as they must be stated behind a record with
 * the context "before".
 */
static void
complete_context(ZUndoRecord *undo, Relation rel, BlockNumber block, const Context *before,
				 const ZUndoWrite *write)
{
	RelFileLocator locator = rel->rd_locator;
	bool		same_page = !write->init &&
	before->undo_block == zundo_ptr_block(write->ptr) && before->generation == write->generation;

	undo->locator = locator;
	undo->block = block;
	undo->has_xact = !same_page || !FullTransactionIdEquals(before->fxid, undo->fxid);
	undo->has_page = undo->has_xact || before->block != block ||
		!RelFileLocatorEquals(before->locator, locator);
}

/*
 * Return the newest record of the slot's chain, to which a new one leads; invalid if there is
 * none.
 */
static ZUndoPtr
newest_record(const ZTarget *target, const ZSlotPlan *slot)
{
	if (slot->takeover != ZTAKE_OWN)
		return ZUNDO_INVALID;
	return zpage_slot(target->view.page, target->view.overflow, slot->slotno)->undo;
}

/* Fill in the fields of the record that depend on its place. */
static void
complete_undo(ZTarget *target, ZChange *change, ZUndoPtr page_prev, const Context *before,
			  const ZUndoWrite *write)
{
	ZUndoRecord *undo = &change->undo;
	ZSlotPlan  *slot = &change->slot;

	undo->slotno = slot->slotno;
	undo->takeover = slot->takeover;
	undo->slot_prev = slot->prev;
	undo->page_prev = page_prev;
	undo->fxid = target->fxid;
	complete_context(undo, target->rel, BufferGetBlockNumber(target->buffer), before, write);
	slot->next.fxid = target->fxid;
	slot->next.undo = write->ptr;
}

#ifdef USE_ASSERT_CHECKING

/* Assert that the page has the room that the plan assumes.  (P1 is asserted when it is used.) */
static void
assert_has_room(const ZTarget *target, const ZChange *change)
{
	Page		page = target->view.page;
	const ZRowPlan *row = &change->row;

	if (row->op == ZOP_INSERT && !change->init_page)
	{
		Size		need = change->slot.grow * sizeof(ZPageSlot);

		for (int i = 0; i < row->nrows; i++)
			need += row->rows[i].len +
				(row->rows[i].offnum > PageGetMaxOffsetNumber(page) ? sizeof(ItemIdData) : 0);
		Assert(zpage_has_total(page, need));
	}
	if (row->op == ZOP_UPDATE)
		Assert(zpage_update_fits(page, row->offnum, (uint32) ZROW_HDR_SIZE +
								 row->prefix + row->midlen + row->suffix));
}

/* Assert that plan, locks and page agree, before the critical section (D4). */
static void
assert_may_execute(const ZTarget *target, const ZChange *change)
{
	const ZSlotPlan *slot = &change->slot;
	const ZPageView *view = &target->view;

	Assert(CritSectionCount == 0);
	Assert(target->locked && zheap_buffer_is_exclusive(target->buffer));	/* D1 */
	Assert(change->init_page == target->init_page);
	assert_has_room(target, change);
	if (!change->has_undo)
		return;
	Assert(change->undo.type == change->row.op && zchange_undo_fits(change));
	if (slot->slotno >= ZPAGE_FIRST_OVERFLOW)
		Assert(zheap_buffer_is_exclusive(target->overflow_buf));
	/* the transaction still has the slot that it had when it was reserved (S3) */
	if (slot->takeover == ZTAKE_OWN)
		Assert(FullTransactionIdEquals(target->fxid,
									   zpage_slot_fxid(zpage_slot(view->page, view->overflow,
																  slot->slotno))));
}

#else
#define assert_may_execute(target, change) ((void) 0)
#endif

/* Count in which way the transaction got the slot. */
static void
count_slot(ZTarget *target, const ZSlotPlan *slot)
{
	zview_count(&target->view, ZTABLE_SLOTS_ADDED, slot->grow);
	zview_count(&target->view, ZTABLE_SLOTS_REUSED,
				slot->takeover == ZTAKE_REUSED && !zpage_is_lock_slot(slot->slotno));
}

/*
 * Perform the change without a directory: one undo record, or none, and one WAL record.  May
 * fail only before its critical section.
 */
static void
execute_one(ZTarget *target, ZChange *change)
{
	Page		page = BufferGetPage(target->buffer);
	Buffer		overflow_buf = change->slot.slotno >= ZPAGE_FIRST_OVERFLOW ?
	target->overflow_buf : InvalidBuffer;
	bool		logged = RelationNeedsWAL(target->rel);
	ZChangeBuffers buffers = {target->buffer, overflow_buf, logged, InvalidBuffer};
	ZUndoWrite	write = {InvalidBuffer};
	char		bytes[BLCKSZ];
	Size		len = 0;
	Size		wal_len = 0;

	assert_may_execute(target, change);
	buffers.map = zchange_map_pin(target->rel, page, change, target->view.block);
	if (change->has_undo)
	{
		zundo_reserve(target->rel, zrec_undo_bound(&change->undo), &write);
		complete_undo(target, change, newest_record(target, &change->slot), &last, &write);
		len = zrec_undo_encode(&change->undo, write.ptr, bytes, &wal_len);
	}
	else
		buffers.slots = overflow_buf = InvalidBuffer;
	zchange_map_lock(buffers.map);

	START_CRIT_SECTION();
	if (change->has_undo)
		zundo_write(&write, bytes, len);
	zchange_apply(page, target->view.overflow, change);
	MarkBufferDirty(target->buffer);
	if (BufferIsValid(overflow_buf))
		MarkBufferDirty(overflow_buf);
	zchange_map_clear(buffers.map, target->view.block);
	/* undo is logged even if the table is not, unless it is a temporary one */
	if (logged || BufferIsValid(write.buffer))
	{
		XLogRecPtr	lsn = zrec_change_emit(change, &buffers, &write, bytes,
											logged ? wal_len : len);

		if (logged)
			PageSetLSN(page, lsn);
		if (logged && BufferIsValid(overflow_buf))
			PageSetLSN(BufferGetPage(overflow_buf), lsn);
		if (logged)
			zchange_map_set_lsn(buffers.map, lsn);
		if (BufferIsValid(write.buffer))
			zundo_logged(&write, lsn);
	}
	END_CRIT_SECTION();
	zchange_map_release(buffers.map);

	if (change->has_undo)
	{
		last = context_of(&change->undo, &write);
		zundo_release(&write);
		zchain_added(&target->view, target->fxid, &change->undo, write.ptr);
		count_slot(target, &change->slot);
	}
	target->init_page = false;
	zview_refresh(&target->view);
}

/*
 * Write a directory before the next record, because with that the chain would have more records
 * above its newest directory than C1 allows.  The directory is a record of ours like any other,
 * so the slot is ours from now on.
 */
static void
add_directory(ZTarget *target, ZSlotPlan *slot)
{
	ZChange		change;
	ZDirectory	directory;
	char		bytes[ZUNDO_MAX_RECORD];

	Assert(slot->takeover == ZTAKE_OWN || slot->takeover == ZTAKE_REUSED);
	zchain_whole_directory(&target->view, slot->slotno, &directory);
	memset(&change, 0, sizeof(change));
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_DIRECTORY;
	change.slot = *slot;
	change.slot.directory = true;
	if (slot->takeover == ZTAKE_REUSED)
		zchain_take_over_directory(&directory, &slot->prev);
	change.undo.mid = bytes;
	change.undo.midlen = zrec_directory_encode(&directory, target->view.horizon,
											   zpage_slot(target->view.page, target->view.overflow,
														  slot->slotno)->undo, bytes);
	execute_one(target, &change);
	Assert(zpage_slot_count(zpage_slot(target->view.page, target->view.overflow,
									   slot->slotno)) == 0);	/* C1 */
	slot->takeover = ZTAKE_OWN;
	slot->prev.fxid = InvalidFullTransactionId;
	slot->conflict = InvalidFullTransactionId;
}

/* Write a directory if one is due before "records" records are added to the chain. */
static void
add_directory_if_due(ZTarget *target, ZSlotPlan *slot, int records)
{
	if ((slot->takeover == ZTAKE_OWN || slot->takeover == ZTAKE_REUSED) &&
		zpage_slot_count(zpage_slot(target->view.page, target->view.overflow,
									slot->slotno)) + records > ZCHAIN_INTERVAL)
		add_directory(target, slot);
}

static void
execute_with_directory(ZTarget *target, ZChange *change)
{
	if (change->has_undo)
		add_directory_if_due(target, &change->slot, 1);
	execute_one(target, change);
}

/*
 * Perform the change with a slot on a lock page, which takes the place of the overflow page
 * until the change is made: no other slot is read meanwhile.  The lock page is locked and
 * unlocked here.
 */
static void
execute_on_lock_page(ZTarget *target, ZChange *change)
{
	ZPageView  *view = &target->view;
	Page		overflow = view->overflow;
	Buffer		overflow_buf = target->overflow_buf;

	Assert(change->row.op == ZOP_LOCK);
	target->overflow_buf = zview_lock_page(view, zpage_slot_page(change->slot.slotno),
										   BUFFER_LOCK_EXCLUSIVE);
	view->overflow = BufferGetPage(target->overflow_buf);
	execute_with_directory(target, change);
	UnlockReleaseBuffer(target->overflow_buf);
	target->overflow_buf = overflow_buf;
	view->overflow = overflow;
	zslot_own_set(view, change->slot.slotno);
}

void
zchange_execute(ZTarget *target, ZChange *change)
{
	Assert(target->locked && CritSectionCount == 0);	/* D1, D4 */
	Assert(!change->has_undo || FullTransactionIdIsValid(target->fxid));
	zview_own_changes++;
	zview_note_command(change->undo.cid);
	if (change->has_undo && zpage_is_lock_slot(change->slot.slotno))
		execute_on_lock_page(target, change);
	else
		execute_with_directory(target, change);
}

/* ---- a row that moves ---- */

/* The two undo records of a move, the deletion's first. */
typedef struct MoveUndo
{
	ZUndoWrite	write[2];
	char		bytes[2][256];
	Size		len[2];			/* log form */
	ZUndoBytes	wal;			/* WAL form of the deletion's */
} MoveUndo;

/* Reserve undo for both records, find their places, and encode them. */
static void
prepare_move_undo(ZTarget *old, ZTarget *new, ZMove *move, MoveUndo *undo)
{
	ZChange    *deletion = &move->deletion;
	ZChange    *insertion = &move->insertion;
	Size		first = zrec_undo_bound(&deletion->undo);
	Size		second = zrec_undo_bound(&insertion->undo);
	Size		wal_len;
	Context		before;

	Assert(Max(first, second) <= sizeof(undo->bytes[0]));
	zundo_reserve(old->rel, insertion->has_undo ? zundo_size_of_two(first, second) : first,
				  &undo->write[0]);
	complete_undo(old, deletion, newest_record(old, &deletion->slot), &last, &undo->write[0]);
	undo->len[0] = zrec_undo_encode(&deletion->undo, undo->write[0].ptr, undo->bytes[0],
									&undo->wal.len);
	undo->wal.bytes = undo->bytes[0];
	if (!insertion->has_undo)
		return;
	before = context_of(&deletion->undo, &undo->write[0]);
	zundo_place_second(&undo->write[0], undo->len[0], &undo->write[1]);
	complete_undo(new, insertion,
				  old == new ? undo->write[0].ptr : newest_record(new, &insertion->slot),
				  &before, &undo->write[1]);
	undo->len[1] = zrec_undo_encode(&insertion->undo, undo->write[1].ptr, undo->bytes[1],
									&wal_len);
}

/*
 * Write an undo record of a table that is not logged, in a WAL record of its own unless the
 * table is temporary.  In the critical section.
 */
static void
write_undo_alone(const ZChange *change, ZUndoWrite *write, const char *bytes, Size len)
{
	ZChangeBuffers buffers = {InvalidBuffer, InvalidBuffer, false, InvalidBuffer};
	XLogRecPtr	lsn;

	zundo_write(write, bytes, len);
	if (!BufferIsValid(write->buffer))
		return;
	lsn = zrec_change_emit(change, &buffers, write, bytes, len);
	zundo_logged(write, lsn);
}

/*
 * Pin the pages of the visibility map that a move changes, in the order in which they are
 * locked.
 */
static void
pin_maps(ZTarget *old, ZTarget *new, ZMove *move, ZMoveBuffers *buffers)
{
	Buffer		first = zchange_map_pin(old->rel, BufferGetPage(old->buffer), &move->deletion,
								old->view.block);
	Buffer		second = old == new ? InvalidBuffer :
		zchange_map_pin(new->rel, BufferGetPage(new->buffer), &move->insertion, new->view.block);

	if (first == second && BufferIsValid(second))
	{
		ReleaseBuffer(second);
		second = InvalidBuffer;
	}
	if (!BufferIsValid(first) ||
		(BufferIsValid(second) && BufferGetBlockNumber(second) < BufferGetBlockNumber(first)))
	{
		Buffer		swap = first;

		first = second;
		second = swap;
	}
	Assert(!BufferIsValid(second) ||
		   BufferGetBlockNumber(first) < BufferGetBlockNumber(second));	/* L1 */
	buffers->maps[0] = first;
	buffers->maps[1] = second;
}

/* Clear the bits of both pages, as far as their pages of the map are pinned. */
static void
clear_maps(const ZMoveBuffers *buffers)
{
	BlockNumber blocks[] = {
		BufferGetBlockNumber(buffers->old), BufferGetBlockNumber(buffers->new)
	};

	for (int i = 0; i < (int) (lengthof(blocks) * lengthof(buffers->maps)); i++)
	{
		Buffer		map = buffers->maps[i / 2];

		if (BufferIsValid(map) && BufferGetBlockNumber(map) == zmap_page_of(blocks[i % 2]))
			zchange_map_clear(map, blocks[i % 2]);
	}
}

/* Apply a move to undo and both pages, and write WAL.  In the critical section. */
static void
apply_move(ZTarget *old, ZTarget *new, ZMove *move, MoveUndo *undo, ZMoveBuffers *buffers)
{
	Page		old_page = BufferGetPage(old->buffer);
	Page		new_page = BufferGetPage(new->buffer);
	bool		logged = RelationNeedsWAL(old->rel);
	XLogRecPtr	lsn;

	for (int i = 0; i < (move->insertion.has_undo ? 2 : 1); i++)
	{
		if (logged)
			zundo_write(&undo->write[i], undo->bytes[i], undo->len[i]);
		else
			write_undo_alone(i == 0 ? &move->deletion : &move->insertion, &undo->write[i],
							 undo->bytes[i], undo->len[i]);
	}
	zmove_apply(old_page, new_page, move);
	MarkBufferDirty(new->buffer);
	if (old != new)
		MarkBufferDirty(old->buffer);
	clear_maps(buffers);
	if (!logged)
		return;
	lsn = zrec_move_emit(move, buffers, &undo->write[0], &undo->wal);
	PageSetLSN(new_page, lsn);
	PageSetLSN(old_page, lsn);
	zchange_map_set_lsn(buffers->maps[0], lsn);
	zchange_map_set_lsn(buffers->maps[1], lsn);
	zundo_logged(&undo->write[0], lsn);
}

#ifdef USE_ASSERT_CHECKING

/*
 * Assert the same for both changes of a move; if there is one page only, the deletion prepares
 * the slot.
 */
static void
assert_may_move(const ZTarget *old, const ZTarget *new, const ZMove *move)
{
	const ZChange *insertion = &move->insertion;

	assert_may_execute(old, &move->deletion);
	if (old != new)
	{
		Assert(BufferGetBlockNumber(old->buffer) != BufferGetBlockNumber(new->buffer));
		assert_may_execute(new, insertion);
		return;
	}
	Assert(insertion->has_undo && insertion->slot.takeover == ZTAKE_OWN &&
		   insertion->slot.slotno == move->deletion.slot.slotno);
	Assert(zpage_has_total(old->view.page, insertion->row.rows[0].len +
						   move->deletion.slot.grow * sizeof(ZPageSlot) +
						   (insertion->row.rows[0].offnum >
							PageGetMaxOffsetNumber(old->view.page) ? sizeof(ItemIdData) : 0)));
}

#else
#define assert_may_move(old, new, move) ((void) 0)
#endif

void
zchange_execute_move(ZTarget *old, ZTarget *new, ZMove *move)
{
	MoveUndo	undo;
	ZMoveBuffers buffers = {old->buffer, new->buffer, {InvalidBuffer, InvalidBuffer}};

	Assert(old->locked && new->locked && CritSectionCount == 0);	/* D1, D4 */
	zview_own_changes++;
	zview_note_command(move->deletion.undo.cid);
	add_directory_if_due(old, &move->deletion.slot, old == new ? 2 : 1);
	if (old != new && move->insertion.has_undo)
		add_directory_if_due(new, &move->insertion.slot, 1);
	assert_may_move(old, new, move);
	pin_maps(old, new, move, &buffers);
	prepare_move_undo(old, new, move, &undo);
	zchange_map_lock(buffers.maps[0]);
	zchange_map_lock(buffers.maps[1]);

	START_CRIT_SECTION();
	apply_move(old, new, move, &undo, &buffers);
	END_CRIT_SECTION();
	zchange_map_release(buffers.maps[0]);
	zchange_map_release(buffers.maps[1]);

	last = context_of(&move->deletion.undo, &undo.write[0]);
	if (move->insertion.has_undo)
		last = context_of(&move->insertion.undo, &undo.write[1]);
	zundo_release(&undo.write[0]);
	zchain_added(&old->view, old->fxid, &move->deletion.undo, undo.write[0].ptr);
	count_slot(old, &move->deletion.slot);
	if (move->insertion.has_undo)
	{
		zchain_added(&new->view, new->fxid, &move->insertion.undo, undo.write[1].ptr);
		count_slot(new, &move->insertion.slot);
	}
	zview_refresh(&old->view);
	zview_refresh(&new->view);
}

/* ---- other changes ---- */

void
zchange_without_undo(Relation rel, Buffer buffer, ZChange *change)
{
	Page		page = BufferGetPage(buffer);
	ZChangeBuffers buffers = {buffer, InvalidBuffer, RelationNeedsWAL(rel), InvalidBuffer};
	ZUndoWrite	write = {InvalidBuffer};

	Assert(CritSectionCount == 0 && zheap_buffer_is_exclusive(buffer)); /* D1, D4 */
	Assert(!change->has_undo &&
		   (change->row.op == ZOP_INSERT || change->row.op == ZOP_DELETE));
	zview_own_changes++;
	buffers.map = zchange_map_pin(rel, page, change, BufferGetBlockNumber(buffer));
	zchange_map_lock(buffers.map);

	START_CRIT_SECTION();
	zchange_apply(page, NULL, change);
	MarkBufferDirty(buffer);
	zchange_map_clear(buffers.map, BufferGetBlockNumber(buffer));
	if (buffers.logged)
	{
		XLogRecPtr	lsn = zrec_change_emit(change, &buffers, &write, NULL, 0);

		/* PageSetLSN is a macro that would evaluate this twice */
		PageSetLSN(page, lsn);
		zchange_map_set_lsn(buffers.map, lsn);
	}
	END_CRIT_SECTION();
	zchange_map_release(buffers.map);
}

ZUndoPtr
zchange_undo_alone(Relation rel, BlockNumber block, ZUndoRecord *undo)
{
	ZChangeBuffers buffers = {InvalidBuffer, InvalidBuffer, false, InvalidBuffer};
	ZUndoWrite	write = {InvalidBuffer};
	ZChange		change = {0};
	FullTransactionId fxid = GetCurrentFullTransactionId();
	char		bytes[BLCKSZ];
	Size		wal_len;
	Size		len;

	Assert(!zheap_holds_buffer_lock() && CritSectionCount == 0);	/* D4 */
	Assert(zrec_undo_bound(undo) <= ZUNDO_MAX_RECORD);
	if (RelationUsesLocalBuffers(rel))
		zundo_open_for(rel);
	else
		zundo_prepare();
	zundo_reserve(rel, zrec_undo_bound(undo), &write);
	undo->fxid = fxid;
	complete_context(undo, rel, block, &last, &write);
	len = zrec_undo_encode(undo, write.ptr, bytes, &wal_len);
	/* the row operation only gives the WAL record its name */
	change.has_undo = true;
	change.row.op = undo->type;

	START_CRIT_SECTION();
	zundo_write(&write, bytes, len);
	if (BufferIsValid(write.buffer))
	{
		XLogRecPtr	lsn = zrec_change_emit(&change, &buffers, &write, bytes, len);

		zundo_logged(&write, lsn);
	}
	END_CRIT_SECTION();

	last = context_of(undo, &write);
	zundo_release(&write);
	return write.ptr;
}
