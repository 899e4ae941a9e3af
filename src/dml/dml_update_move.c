/*
 * dml_update_move.c
 *		The phases of an UPDATE that move the row to another line pointer.
 *
 * LOCKING: the old row's page as update_phases.h says; a second table page only by D2.
 */
#include "postgres.h"

#include "zheap/page/page.h"

#include "storage/bufmgr.h"

#include "update_phases.h"

/*
 * Pin the page where the table's last new row went, while the row's page is locked.  A statement
 * that moves many rows puts most of them there, and FIND_PAGE, which unlocks the row's page, would
 * begin with it as well.  Return whether it is pinned.
 */
static bool
pin_last_page(Update *update)
{
	if (update->has_new)
		ztarget_release(&update->new);
	else
		ztarget_open_second(&update->new, &update->target);
	update->has_new = true;
	return zspace_pin_last(&update->new, update->target.buffer);
}

Phase
zupdate_move(Update *update)
{
	ZTarget    *target = &update->target;
	const ZRowVersion *version = &update->check.version;
	Size		need;

	switch (zorigins_name(target, version, &update->origins, update->query.mode, &update->row))
	{
		case ZSTEP_DONE:
			break;
		case ZSTEP_AGAIN:
			return CHECK;
		case ZSTEP_NO_ROOM:
			return zupdate_exclude_all(update);
	}
	/* the row stays locked, whatever happens to the page */
	if (update->locked)
		return INSERT_ELSEWHERE;
	update->place = target;
	need = update->row.len + sizeof(ZPageSlot);
	if (!zfull_page_lacks(target, need) && zpage_has_for_row(target->view.page, need))
		return MOVE_AT_ONCE;
	if (!zupdate_has_run(update, FIND_PAGE) && !pin_last_page(update))
		return FIND_PAGE;
	update->place = &update->new;
	return BufferIsValid(update->new.buffer) ? MOVE_AT_ONCE : LOCK_OLD;
}

/*
 * Describe the insertion of the new row.  The update is logged for decoding when the old row is
 * marked.
 */
static ZInsert
insertion(const Update *update)
{
	return (ZInsert) {
		.row = update->row.bytes, .len = update->row.len, .cid = update->query.cid
	};
}

/* Describe the deletion of the old row, whose page is locked. */
static ZDeletion
deletion(Update *update)
{
	const ZTarget *target = &update->target;
	ZDeletion	deletion = {.cid = update->query.cid, .new_tid = &update->new_tid};

	deletion.flags2 = zpage_row_lock_bits(target->view.page, target->offnum);
	if (update->changes.key || update->key_locked)
		deletion.flags2 |= ZROW2_KEYS_UPDATED;
	deletion.logical = zlogical_update(&update->logical, &update->row);
	return deletion;
}

Phase
zupdate_move_at_once(Update *update)
{
	ZInsert		insert = insertion(update);
	ZDeletion	delete = deletion(update);

	Assert(!update->locked && update->target.checked);	/* D1 */
	delete.version = &update->check.version;
	switch (zdml_move(&update->target, update->place, &insert, &delete, &update->new_tid))
	{
		case ZSTEP_DONE:
			return DONE;
		case ZSTEP_NO_ROOM:
			/* the page of pin_last_page() is full, or locked */
			return update->place != &update->target && !zupdate_has_run(update, FIND_PAGE) ?
				FIND_PAGE : LOCK_OLD;
		case ZSTEP_AGAIN:
			break;
	}
	return CHECK;
}

Phase
zupdate_find_page(Update *update)
{
	ZTarget    *new = &update->new;

	ztarget_unlock(&update->target);
	if (update->has_new)
		ztarget_close(new);
	ztarget_open(new, update->rel);
	update->has_new = true;
	zspace_find(new, update->row.len, 0, NULL);
	ztarget_unlock(new);
	if (new->init_page || new->buffer == update->target.buffer)
		ztarget_release(new);
	return CHECK;
}

Phase
zupdate_insert_elsewhere(Update *update)
{
	ZInsert		insert = insertion(update);

	Assert(update->locked);		/* D6 */
	ztarget_unlock(&update->target);
	zdml_insert_row(update->rel, &insert, &update->new_tid);
	return DELETE_OLD;
}

Phase
zupdate_delete_old(Update *update)
{
	ZTarget    *target = &update->target;
	ZDeletion	delete;

	Assert(update->locked);		/* D1, D6 */
	Assert(ItemPointerIsValid(&update->new_tid));
	ztarget_lock_row_page(target);
	if (update->query.mode != LockTupleExclusive && !update->origins.named &&
		zorigins_row_may_be_held(target))
	{
		/*
		 * a lock was taken while the new row was made: make a row that names its place.  No
		 * transaction waits for this
		 */
		ztarget_unlock(target);
		zdml_take_back_row(update->rel, &update->new_tid);
		update->origins.must_name = true;
		return CHECK;
	}
	delete = deletion(update);
	return zdml_mark_deleted(target, &delete) == ZSTEP_AGAIN ? DELETE_OLD : DONE;
}
