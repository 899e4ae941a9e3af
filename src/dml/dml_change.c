/*
 * dml_change.c
 *		Performing a planned change: undo record, page, WAL record.
 *
 * LOCKING: the target's page is locked exclusively, on entry and on exit, except after
 * zchange_execute_last() (unlocked).  A lock page, undo pages and pages of the visibility map are
 * locked and unlocked within (L1).
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

/* An undo record on its way to the log. */
typedef struct Undo
{
	ZUndoWrite	write;			/* buffer is invalid: of a temporary table, or no record */
	ZUndoBytes	log;			/* log form */
	ZUndoBytes	wal;			/* WAL form: its beginning */
	char		bytes[BLCKSZ];
} Undo;

/* Encode the record, whose place is reserved. */
static void
encode(const ZUndoRecord *rec, Undo *undo)
{
	undo->log.bytes = undo->wal.bytes = undo->bytes;
	undo->log.len = zrec_undo_encode(rec, undo->write.ptr, undo->bytes, &undo->wal.len);
}

/*
 * Fill in the fields of the change's record that depend on its place, which is reserved, and
 * encode it.
 */
static void
complete_undo(ZTarget *target, ZChange *change, ZUndoPtr page_prev, const Context *before,
			  Undo *undo)
{
	ZUndoRecord *rec = &change->undo;
	ZSlotPlan  *slot = &change->slot;

	rec->slotno = slot->slotno;
	rec->takeover = slot->takeover;
	rec->slot_prev = slot->prev;
	rec->page_prev = page_prev;
	rec->fxid = target->fxid;
	complete_context(rec, target->rel, BufferGetBlockNumber(target->buffer), before,
					 &undo->write);
	slot->next.fxid = target->fxid;
	slot->next.undo = undo->write.ptr;
	encode(rec, undo);
}

/*
 * Log the undo record by itself, unless it is of a temporary table.  In the critical section,
 * after it was written.
 */
static void
log_undo(const ZUndoRecord *rec, Undo *undo)
{
	if (BufferIsValid(undo->write.buffer))
		zundo_logged(&undo->write, zrec_undo_emit(rec, &undo->write, &undo->log));
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

/* Note what has become of the undo and the view when the change has been made. */
static void
change_done(ZTarget *target, const ZChange *change, const ZUndoWrite *write)
{
	if (change->has_undo)
	{
		last = context_of(&change->undo, write);
		zchain_added(&target->view, target->fxid, &change->undo, write->ptr);
		count_slot(target, &change->slot);
	}
	target->init_page = false;
	zview_refresh(&target->view);
}

/* ---- one change ---- */

/*
 * Change undo and pages, and write WAL, in a critical section.  All that may fail has been done,
 * but for locking the page of the visibility map.  Inline: every change calls it.
 */
static pg_attribute_always_inline void
apply_change(Relation rel, ZChange *change, ZChangeBuffers *buffers, Page overflow, Undo *undo)
{
	Page		page = BufferGetPage(buffers->table);
	BlockNumber block = BufferGetBlockNumber(buffers->table);

	zchange_map_lock(buffers->map);
	START_CRIT_SECTION();
	if (change->has_undo)
		zundo_write(&undo->write, undo->bytes, undo->log.len);
	zchange_apply(page, overflow, change);
	MarkBufferDirty(buffers->table);
	if (BufferIsValid(buffers->slots))
		MarkBufferDirty(buffers->slots);
	zchange_map_clear(buffers->map, block);
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn = zrec_change_emit(change, buffers, &undo->write, &undo->wal);

		PageSetLSN(page, lsn);
		if (BufferIsValid(buffers->slots))
			PageSetLSN(overflow, lsn);
		zchange_map_set_lsn(buffers->map, lsn);
		if (change->has_undo)
			zundo_logged(&undo->write, lsn);
	}
	else if (change->has_undo)
		log_undo(&change->undo, undo);
	END_CRIT_SECTION();
	zchange_map_release(buffers->map);
}

/*
 * Perform the change without a directory: one undo record, or none, and one WAL record.  If it is
 * the last of the target, unlock the table page before the undo page, and before anything that
 * concerns this backend alone; readers that follow the new pointer wait for the undo page.
 */
static void
execute_one(ZTarget *target, ZChange *change, bool last_of_target)
{
	ZChangeBuffers buffers = {.table = target->buffer};
	Undo		undo;

	assert_may_execute(target, change);
	buffers.map = zchange_map_pin(target->rel, BufferGetPage(target->buffer), change,
								  target->view.block);
	if (change->has_undo)
	{
		if (change->slot.slotno >= ZPAGE_FIRST_OVERFLOW)
			buffers.slots = target->overflow_buf;
		zundo_reserve(target->rel, zrec_undo_bound(&change->undo), &undo.write);
		complete_undo(target, change, newest_record(target, &change->slot), &last, &undo);
	}
	apply_change(target->rel, change, &buffers, target->view.overflow, &undo);
	if (last_of_target)
		ztarget_unlock(target);
	if (change->has_undo)
		zundo_release(&undo.write);
	change_done(target, change, &undo.write);
}

void
zchange_without_undo(Relation rel, Buffer buffer, ZChange *change)
{
	ZChangeBuffers buffers = {.table = buffer};
	static Undo none;

	Assert(CritSectionCount == 0 && zheap_buffer_is_exclusive(buffer)); /* D1, D4 */
	Assert(!change->has_undo &&
		   (change->row.op == ZOP_INSERT || change->row.op == ZOP_DELETE));
	zview_own_changes++;
	buffers.map = zchange_map_pin(rel, BufferGetPage(buffer), change,
								  BufferGetBlockNumber(buffer));
	apply_change(rel, change, &buffers, NULL, &none);
}

ZUndoPtr
zchange_undo_alone(Relation rel, BlockNumber block, ZUndoRecord *rec)
{
	Undo		undo;

	Assert(!zheap_holds_buffer_lock() && CritSectionCount == 0);	/* D4 */
	Assert(zrec_undo_bound(rec) <= ZUNDO_MAX_RECORD);
	rec->fxid = GetCurrentFullTransactionId();
	if (RelationUsesLocalBuffers(rel))
		zundo_open_for(rel);
	else
		zundo_prepare();
	zundo_reserve(rel, zrec_undo_bound(rec), &undo.write);
	complete_context(rec, rel, block, &last, &undo.write);
	encode(rec, &undo);

	START_CRIT_SECTION();
	zundo_write(&undo.write, undo.bytes, undo.log.len);
	log_undo(rec, &undo);
	END_CRIT_SECTION();

	zundo_release(&undo.write);
	last = context_of(rec, &undo.write);
	return undo.write.ptr;
}

/* ---- with a directory ---- */

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
	execute_one(target, &change, false);
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
execute_with_directory(ZTarget *target, ZChange *change, bool last_of_target)
{
	if (change->has_undo)
		add_directory_if_due(target, &change->slot, 1);
	execute_one(target, change, last_of_target);
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
	execute_with_directory(target, change, false);
	UnlockReleaseBuffer(target->overflow_buf);
	target->overflow_buf = overflow_buf;
	view->overflow = overflow;
	zslot_own_set(view, change->slot.slotno);
}

static void
begin_execute(ZTarget *target, ZChange *change)
{
	Assert(target->locked && CritSectionCount == 0);	/* D1, D4 */
	Assert(!change->has_undo || FullTransactionIdIsValid(target->fxid));
	zview_own_changes++;
	zview_note_command(change->undo.cid);
}

void
zchange_execute(ZTarget *target, ZChange *change)
{
	begin_execute(target, change);
	if (change->has_undo && zpage_is_lock_slot(change->slot.slotno))
		execute_on_lock_page(target, change);
	else
		execute_with_directory(target, change, false);
}

void
zchange_execute_last(ZTarget *target, ZChange *change)
{
	begin_execute(target, change);
	Assert(!change->has_undo || !zpage_is_lock_slot(change->slot.slotno));
	execute_with_directory(target, change, true);
}

/* ---- a row that moves ---- */

/* Reserve undo for both records, find their places, and encode them: the deletion's first. */
static void
prepare_move_undo(ZTarget *old, ZTarget *new, ZMove *move, Undo undo[2])
{
	ZChange    *deletion = &move->deletion;
	ZChange    *insertion = &move->insertion;
	Size		size = zrec_undo_bound(&deletion->undo);
	Context		before;

	if (insertion->has_undo)
		size = zundo_size_of_two(size, zrec_undo_bound(&insertion->undo));
	zundo_reserve(old->rel, size, &undo[0].write);
	complete_undo(old, deletion, newest_record(old, &deletion->slot), &last, &undo[0]);
	if (!insertion->has_undo)
		return;
	before = context_of(&deletion->undo, &undo[0].write);
	zundo_place_second(&undo[0].write, undo[0].log.len, &undo[1].write);
	complete_undo(new, insertion,
				  old == new ? undo[0].write.ptr : newest_record(new, &insertion->slot),
				  &before, &undo[1]);
}

/*
 * Pin the pages of the visibility map that a move changes, in the order in which they are
 * locked.
 */
static void
pin_maps(ZTarget *old, ZTarget *new, ZMove *move, Buffer maps[2])
{
	bool		old_first = old->view.block < new->view.block;

	maps[!old_first] = zchange_map_pin(old->rel, old->view.page, &move->deletion,
									   old->view.block);
	if (old != new)
		maps[old_first] = zchange_map_pin(new->rel, new->view.page, &move->insertion,
										  new->view.block);
	if (BufferIsValid(maps[0]) && maps[0] == maps[1])
	{
		ReleaseBuffer(maps[1]);
		maps[1] = InvalidBuffer;
	}
	Assert(!BufferIsValid(maps[0]) || !BufferIsValid(maps[1]) ||
		   BufferGetBlockNumber(maps[0]) < BufferGetBlockNumber(maps[1]));	/* L1 */
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

/* Change undo and both pages, and write WAL.  In the critical section. */
static void
apply_move(Page old, Page new, ZMove *move, const ZMoveBuffers *buffers, Undo undo[2])
{
	XLogRecPtr	lsn;

	zundo_write(&undo[0].write, undo[0].bytes, undo[0].log.len);
	if (move->insertion.has_undo)
		zundo_write(&undo[1].write, undo[1].bytes, undo[1].log.len);
	zmove_apply(old, new, move);
	MarkBufferDirty(buffers->new);
	if (old != new)
		MarkBufferDirty(buffers->old);
	clear_maps(buffers);
	lsn = zrec_move_emit(move, buffers, &undo[0].write, &undo[0].wal);
	PageSetLSN(new, lsn);
	PageSetLSN(old, lsn);
	zchange_map_set_lsn(buffers->maps[0], lsn);
	zchange_map_set_lsn(buffers->maps[1], lsn);
	zundo_logged(&undo[0].write, lsn);
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

/* Perform both changes of a logged table, with one WAL record. */
static void
execute_logged_move(ZTarget *old, ZTarget *new, ZMove *move)
{
	ZMoveBuffers buffers = {old->buffer, new->buffer, {InvalidBuffer, InvalidBuffer}};
	Undo		undo[2];

	assert_may_move(old, new, move);
	pin_maps(old, new, move, buffers.maps);
	prepare_move_undo(old, new, move, undo);
	zchange_map_lock(buffers.maps[0]);
	zchange_map_lock(buffers.maps[1]);

	START_CRIT_SECTION();
	apply_move(old->view.page, new->view.page, move, &buffers, undo);
	END_CRIT_SECTION();
	zchange_map_release(buffers.maps[0]);
	zchange_map_release(buffers.maps[1]);

	zundo_release(&undo[0].write);
	change_done(old, &move->deletion, &undo[0].write);
	change_done(new, &move->insertion, &undo[1].write);
}

/*
 * If the table is not logged the two changes need not be one: both pages stay locked, and after
 * a crash the table is empty or gone.
 */
void
zchange_execute_move(ZTarget *old, ZTarget *new, ZMove *move)
{
	Assert(old->locked && new->locked && CritSectionCount == 0);	/* D1, D4 */
	zview_own_changes++;
	zview_note_command(move->deletion.undo.cid);
	add_directory_if_due(old, &move->deletion.slot, old == new ? 2 : 1);
	if (old != new && move->insertion.has_undo)
		add_directory_if_due(new, &move->insertion.slot, 1);
	if (RelationNeedsWAL(old->rel))
		execute_logged_move(old, new, move);
	else
	{
		execute_one(old, &move->deletion, false);
		execute_one(new, &move->insertion, false);
	}
}
