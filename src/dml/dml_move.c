/*
 * dml_move.c
 *		An update moves a row: the old one's deletion and the new one's insertion are one change,
 *		of one page or of two.
 *
 * With both pages locked no other change can come in between, so the old row need not be locked
 * first, and one WAL record has everything.  Work that would take long, or needs other pages, is
 * not done here but left to the move in steps: rolling back changes of aborted transactions on
 * the new page, a slot on an overflow page.
 *
 * LOCKING: the row's page is locked exclusively, on exit as well, except after AGAIN (unlocked).
 * The new one is locked and unlocked within (D2).
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/dml/run.h"
#include "zheap/dml/target.h"
#include "zheap/notes/reap.h"

/*
 * Return whether the plan's slot is on the page itself, which the WAL record of a move requires.
 */
static bool
has_near_slot(const ZChange *change)
{
	return change->slot.slotno < ZPAGE_FIRST_OVERFLOW;
}

static void
begin_insertion(ZChange *insertion)
{
	memset(insertion, 0, sizeof(*insertion));
	insertion->has_undo = true;
	insertion->row.op = ZOP_INSERT;
	insertion->slot.conflict = InvalidFullTransactionId;
}

/*
 * Plan the insertion on the old row's page, in the slot that the deletion prepares.  Return
 * whether there is room.
 */
static bool
plan_here(ZTarget *target, const ZInsert *insert, ZMove *move, ZNewRow *row)
{
	ZChange    *insertion = &move->insertion;
	const ZSlotPlan *slot = &move->deletion.slot;
	uint32		len;
	const char *old = zpage_row(target->view.page, target->offnum, &len, NULL);

	if (!zinsert_find_place(target, insert->len, slot->grow, &row->offnum))
		return false;
	begin_insertion(insertion);
	insertion->slot.slotno = slot->slotno;
	insertion->slot.takeover = ZTAKE_OWN;
	zinsert_set_header(insert->row, insertion, 0);
	zinsert_describe(target, insertion, insert->cid, row->offnum, 1);
	move->same_header = ((zrow_flags(insert->row) ^ zrow_flags(old)) & ZROW_VALUE_FLAGS) == 0 &&
		zrow_natts(insert->row) == zrow_natts(old);
	zrow_diff(insert->row, insert->len, old, len, &move->prefix, &move->suffix);
	return true;
}

/*
 * Plan the insertion on another page, which is locked.  Return whether it is possible in one
 * step.
 */
static bool
plan_there(ZTarget *new, const ZInsert *insert, ZMove *move, ZNewRow *row)
{
	ZChange    *insertion = &move->insertion;

	begin_insertion(insertion);
	if (!zspace_suffices(new, insert->len) ||
		zslot_reserve(&new->view, new->fxid, insert->len + sizeof(ItemIdData),
					  &insertion->slot) != ZSLOT_OK ||
		!has_near_slot(insertion) ||
		!zinsert_find_place(new, insert->len, insertion->slot.grow, &row->offnum))
		return false;
	if (insertion->slot.grow > 0)
		ztarget_check_rows(new);
	zinsert_set_header(insert->row, insertion, 0);
	zinsert_plan_undo(new, insertion, insert->cid, row->offnum, 1);
	return true;
}

/*
 * Plan the insertion and perform both changes.  The deletion is planned, and both pages are
 * locked.  Return false if it cannot be done.
 */
static bool
move_between(ZTarget *old, ZTarget *new, const ZInsert *insert, ZMove *move, ItemPointer new_tid)
{
	ZNewRow		row = {.len = insert->len, .bytes = insert->row};

	move->same_header = false;
	move->prefix = move->suffix = 0;
	if (!(old == new ? plan_here(old, insert, move, &row) : plan_there(new, insert, move, &row)))
		return false;
	ztarget_conflict_in_new(new);
	move->insertion.row.nrows = 1;
	move->insertion.row.rows = &row;
	ItemPointerSet(new_tid, new->view.block, row.offnum);
	move->deletion.undo.new_tid = *new_tid;
	zchange_execute_move(old, new, move);
	zrun_remember_deletion(old, &move->deletion);
	zreap_note(old->rel, old->view.block, old->fxid);
	if (move->insertion.has_undo)
		zrun_remember(new, &move->insertion);
	return true;
}

ZStep
zdml_move(ZTarget *target, ZTarget *new, const ZInsert *insert, const ZDeletion *deletion,
		  ItemPointer new_tid)
{
	bool		here = target == new;
	ZMove		move;
	bool		done;

	Assert(target->locked && !(here && target->init_page));
	Assert(deletion->new_tid != NULL && insert->token == 0 && insert->options == 0);
	if (zdml_plan_deletion(target, deletion, here ? insert->len + sizeof(ItemIdData) : 0,
						   &move.deletion) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	if (!has_near_slot(&move.deletion))
		return ZSTEP_NO_ROOM;
	if (here)
		return move_between(target, target, insert, &move, new_tid) ? ZSTEP_DONE : ZSTEP_NO_ROOM;
	if (!ztarget_lock_second(new, target))
		return ZSTEP_NO_ROOM;
	done = move_between(target, new, insert, &move, new_tid);
	ztarget_unlock(new);
	return done ? ZSTEP_DONE : ZSTEP_NO_ROOM;
}
