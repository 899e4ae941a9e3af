/*
 * dml_update.c
 *		UPDATE: in place, or moved to another line pointer.
 *
 * The row is updated in place if no indexed column changes, or the indexes that have it can tell
 * the row's keys apart (src/index/README.md), and if the page can hold the new version.
 * Otherwise the new version is a row of its own, in all indexes, and the old one says where it
 * went.
 *
 * A row that moves is one change of one page or of two (dml_move.c).  If that is not possible it
 * is two changes, and the old row is locked first, by a record like that of SELECT FOR NO KEY
 * UPDATE.  This also happens when the toaster, which writes to other tables, has to run.  KEY
 * SHARE locks of others may exist all the time unless the key changes; a row that is moved names
 * their places (dml_update_origins.c).  If, in a move by two changes, the first such lock is
 * taken after the new row was made, that row is taken back, and another one made.
 *
 * An update goes through the phases of update_phases.h; README.md shows which follows which.
 * Those that move the row are in dml_update_move.c.
 *
 * LOCKING: no page on entry and on exit of the whole update; in between one table page at a
 * time, exclusively, or two (D2).  What each phase expects and leaves is stated at its function.
 */
#include "postgres.h"

#include "access/twophase.h"
#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/dml/run.h"
#include "zheap/dml/update.h"
#include "zheap/mvcc/ordinal.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/tuple_slot.h"

#include "update_phases.h"

/* One of this number of updates moves the row, if an index keeps what the row had before. */
#define UPDATES_PER_MOVE	16

/* ---- check ---- */

/*
 * Find out whether the update changes the key of the version that it has found, when the row
 * cannot be changed at once.  As on heap, this decides what the update waits for, where it
 * queues, and how strongly the next version is locked.  The page is unlocked.
 */
static void
look_for_key(Update *update)
{
	ZTarget    *target = &update->target;
	ZColumnChanges changes = {0};
	ZRowVersion seen;
	ZPageView	view;

	zview_open(&view, update->rel);
	if (zview_read(&view, BufferGetBlockNumber(target->buffer), NULL) &&
		zpage_is_row(view.page, target->offnum) &&
		zmvcc_fetch(&view, target->offnum, update->query.snapshot, &seen))
		zcolumns_changed(update->indexes, update->rel, &seen, &update->row, NULL, &changes);
	zview_close(&view);
	zcolumns_free(&changes);
	if (changes.key)
		zupdate_raise_mode(update);
}

static bool
needs_toaster(const Update *update)
{
	return !zupdate_has_run(update, TOAST) &&
		(zdml_needs_toaster(update->rel, update->row.len, zrow_flags(update->row.bytes)) ||
		 zdml_needs_toaster(update->rel, 0, update->check.version.hdr.flags));
}

static void
columns_changed(Update *update, const ZComparison *comparison)
{
	zcolumns_free(&update->changes);
	zcolumns_changed(update->indexes, update->rel, &update->check.version, &update->row,
					 comparison, &update->changes);
}

/*
 * Return whether chance decides that the row moves, though it could stay.  An index that keeps
 * keys which the row has lost gets rid of them only by that.  Drawn once for an update.
 */
static bool
moves_by_chance(Update *update)
{
	if (!update->has_drawn)
		update->moves_by_chance =
			pg_prng_uint32(&pg_global_prng_state) % UPDATES_PER_MOVE == 0;
	update->has_drawn = true;
	return update->moves_by_chance;
}

/* Choose the phase after a check with the result Ok.  The page is locked. */
static Phase
choose_way(Update *update)
{
	ZColumnChanges *changes = &update->changes;
	bool		key = changes->key;
	bool		identity = changes->identity;
	bool		compared = zcomparison_holds(update, &update->check.version);

	Assert(update->target.checked);	/* D1 */
	columns_changed(update, compared ? &update->comparison : NULL);
	/* COMPARE compares in all of them again: meanwhile others may have come */
	if (changes->unknown != NULL && compared)
		columns_changed(update, NULL);
	if (changes->keeps_entries && !ztable_is_move(changes->way) && moves_by_chance(update))
		changes->way = ZTABLE_MOVED_BUDGET;
	if (zupdate_has_run(update, TOAST))
	{
		/* a key that the toaster has compressed is not changed; the version is the same */
		changes->key = key;
		changes->identity = identity;
	}
	if (changes->key && update->query.mode != LockTupleExclusive)
		return zupdate_exclude_all(update);
	if (needs_toaster(update))
		return update->locked ? TOAST : LOCK_OLD;
	/* the second time with the row locked, so that there is no third */
	if (changes->unknown != NULL && !ztable_is_move(changes->way))
		return update->locked || !zupdate_has_run(update, COMPARE) ? COMPARE : LOCK_OLD;
	if (!zupdate_has_run(update, TOAST))
		zlogical_old_row(&update->logical, update->check.version.row, update->check.version.len,
						 changes->identity);
	update->way = changes->way;
	return ztable_is_move(changes->way) ? MOVE : IN_PLACE;
}

/* CHECK.  The page is locked or not on entry, and locked on exit, or unlocked if CHECK follows. */
static Phase
check(Update *update)
{
	ZUpdateCheck *result = &update->check;

	/* B1: undo read by the phases before counts as long as the page is locked */
	if (update->target.locked && update->target.view.reads > 0)
		ztarget_unlock(&update->target);
	zcheck_row_wait(&update->target, &update->query, &update->queue,
					update->wait && update->has_mode, result);
	if ((result->result == TM_BeingModified || result->result == TM_Updated) && !update->has_mode)
	{
		ztarget_unlock(&update->target);
		look_for_key(update);
		update->has_mode = true;
		return CHECK;
	}
	update->has_mode = true;
	if (result->result != TM_Ok)
		return REFUSED;
	if (result->own_lock >= 0 && !update->locked)
		update->was_locked = true;
	/* not a lock of LOCK_OLD, which only keeps others out until the row is changed */
	update->key_locked = update->key_locked ||
		(result->own_lock == LockTupleExclusive && !update->locked);
	return choose_way(update);
}

/* LOCK_OLD.  Locked on entry; on exit locked, or unlocked: CHECK. */
static Phase
lock_old(Update *update)
{
	Assert(!update->locked && update->check.result == TM_Ok);
	update->locked = zdml_lock_row(&update->target, &update->check, update->query.mode,
								   update->query.cid) == ZSTEP_DONE;
	return CHECK;
}

/* TOAST.  Locked on entry, unlocked on exit. */
static Phase
toast(Update *update)
{
	const ZRowVersion *old = &update->check.version;
	HeapTuple	before = zdml_heap_tuple(update->rel, old->row, old->len);

	Assert(update->locked);		/* D6: the page is left */
	ztarget_unlock(&update->target);
	zlogical_old(&update->logical, before, update->changes.identity);
	zdml_toast(update->rel, update->slot, before, 0, &update->row);
	heap_freetuple(before);
	return CHECK;
}

/* ---- in place ---- */

/* Describe the range of body bytes that changes. */
static void
diff_rows(const ZRowVersion *old, const Update *update, ZChange *change)
{
	uint16		prefix;
	uint16		suffix;

	zrow_diff(update->row.bytes, update->row.len, old->row, old->len, &prefix, &suffix);
	Assert((uint32) ZROW_HDR_SIZE + prefix + suffix <= Min(update->row.len, old->len));
	change->row.prefix = change->undo.prefix = prefix;
	change->row.suffix = change->undo.suffix = suffix;
	change->row.mid = update->row.bytes + ZROW_HDR_SIZE + prefix;
	change->row.midlen = update->row.len - ZROW_HDR_SIZE - prefix - suffix;
	change->undo.mid = old->row + ZROW_HDR_SIZE + prefix;
	change->undo.midlen = old->len - ZROW_HDR_SIZE - prefix - suffix;
}

/* Return whether the page has room for the new version, and for "grow" new slots. */
static bool
has_room(ZTarget *target, uint32 newlen, int grow)
{
	Page		page = target->view.page;
	uint32		alloc = ItemIdGetLength(PageGetItemId(page, target->offnum));

	return newlen <= alloc ||
		zpage_free_total(page) >= newlen - alloc + grow * sizeof(ZPageSlot);
}

/*
 * Free space on the page if the row needs it.  AGAIN, with the page unlocked, also if much undo
 * had to be read (B1).
 */
static ZStep
make_room_in_place(ZTarget *target, Update *update)
{
	uint32		newlen = update->row.len;

	if (newlen <= ItemIdGetLength(PageGetItemId(target->view.page, target->offnum)))
		return ZSTEP_DONE;
	if (!has_room(target, newlen, 1) && zfull_page_is(target))
		return ZSTEP_DONE;
	ztarget_check_rows(target);
	if (has_room(target, newlen, 1) || update->made_room)
		return ZSTEP_DONE;
	zdml_prune_page(&target->view, target->buffer, zreap_taker(target->rel));
	if (!has_room(target, newlen, 1) && zdml_tombstone_page(target) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	zmvcc_current(&target->view, target->offnum, &update->check.version);
	if (!has_room(target, newlen, 1))
		zfull_page_note(target);
	if (!zview_is_spent(&target->view))
		return ZSTEP_DONE;
	update->made_room = true;
	ztarget_unlock(target);
	return ZSTEP_AGAIN;
}

/*
 * Fill in the new version's header and the undo record, as far as they are specific to an update
 * in place.
 */
static void
describe(Update *update, const ZRowVersion *version, ZChange *change)
{
	ZTarget    *target = &update->target;
	ZRowHeader	new;

	zrow_header_get(update->row.bytes, &new);
	change->row.hdr.flags = new.flags & ZROW_VALUE_FLAGS;
	change->row.hdr.flags2 = zrow_lock_bits(update->check.strongest_lock) |
		(update->key_locked ? ZROW2_KEYS_UPDATED : 0) |
		(update->way == ZTABLE_UPDATED_SEVERAL_KEYS && !update->had_several_keys ?
		 ZROW2_SEVERAL_KEYS : 0);
	if (new.natts != version->hdr.natts)
		change->row.hdr.natts = new.natts;
	change->undo.cid = update->query.cid;
	diff_rows(version, update, change);
	zchange_describe_before(target, version, change);
	zwaypoint_describe(target, version, update->row.bytes, update->row.len, change);
}

StaticAssertDecl(ZTID_MAX_ORDINAL + 2 <= ZTARGET_CHANGE_READS, "B1: the old version's number");

/*
 * Determine the old version's ordinal number if triggers need it.  Return false if a tag cannot
 * express it.
 */
static bool
number_old(Update *update)
{
	TriggerDesc *triggers = update->rel->trigdesc;
	int			ordinal;

	if (triggers == NULL || !triggers->trig_update_after_row)
		return true;
	ordinal = zmvcc_ordinal(&update->target.view, update->target.offnum);
	Assert(ordinal > 0);		/* T4 */
	if (ordinal >= ZTID_MAX_ORDINAL)
		return false;
	update->ordinal = ordinal;
	return true;
}

static Phase
move_because(Update *update, ZTableCounter why)
{
	Assert(ztable_is_move(why));
	update->way = why;
	return MOVE;
}

/* IN_PLACE.  Locked on entry; on exit locked: MOVE; or unlocked: CHECK, DONE. */
static Phase
in_place(Update *update)
{
	ZTarget    *target = &update->target;
	ZChange		change;
	uint32		alloc = ItemIdGetLength(PageGetItemId(target->view.page, target->offnum));

	zorigins_keep(&update->check.version, update->query.mode, &update->row);
	if (update->row.len > alloc && zfull_page_lacks(target, update->row.len - alloc))
		return move_because(update, ZTABLE_MOVED_ROOM);
	if (make_room_in_place(target, update) == ZSTEP_AGAIN)
		return CHECK;
	alloc = ItemIdGetLength(PageGetItemId(target->view.page, target->offnum));
	if (zchange_begin_known(target, ZOP_UPDATE, target->offnum,
							update->row.len > alloc ? update->row.len - alloc : 0,
							&change) == ZSTEP_AGAIN)
		return CHECK;
	/* the versions of a row that moves are counted from its new place */
	if (!has_room(target, update->row.len, change.slot.grow))
	{
		/* rows that became longer since then may have taken what was left */
		if (zfull_page_is(target))
			zfull_page_note(target);
		return move_because(update, ZTABLE_MOVED_ROOM);
	}
	if (!number_old(update))
		return move_because(update, ZTABLE_MOVED_HISTORY);
	update->had_several_keys = zrow_has_several_keys(update->check.version.row);
	describe(update, &update->check.version, &change);
	if (!zchange_undo_fits(&change))
		return move_because(update, ZTABLE_MOVED_HISTORY);
	ztarget_conflict_in(target);
	if (update->changes.keeps_entries)
		update->old = zdml_heap_tuple(update->rel, update->check.version.row,
									  update->check.version.len);
	change.logical = zlogical_update(&update->logical, &update->row);
	zchange_execute_last(target, &change);
	ItemPointerSet(&update->new_tid, BufferGetBlockNumber(target->buffer), target->offnum);
	return DONE;
}

/* ---- the whole update ---- */

static void
update_open(Update *update, Relation rel, TupleTableSlot *slot, uint32 options)
{
	/*
	 * not the whole struct: the target, which contains a page view, and the check are filled in
	 * elsewhere
	 */
	memset(&update->origins, 0, sizeof(*update) - offsetof(Update, origins));
	update->rel = rel;
	update->slot = slot;
	slot->tts_tableOid = RelationGetRelid(rel);
	zlogical_open(&update->logical, rel,
				  options & TABLE_UPDATE_NO_LOGICAL ? TABLE_INSERT_NO_LOGICAL : 0);
	zdml_form(rel, slot, &update->row);
	/* rows that the toaster will shorten are checked afterwards */
	if (!zdml_needs_toaster(rel, update->row.len, zrow_flags(update->row.bytes)))
		zdml_check_length(update->row.len);
	/* after all calls that may rebuild them */
	update->indexes = ztable_indexes(rel);
}

static void
update_close(Update *update)
{
	ztarget_close(&update->target);
	if (update->has_new)
		ztarget_close(&update->new);
	zdml_form_release(&update->row);
	zlogical_close(&update->logical);
}

/*
 * Correct the statistics for an update in place that adds no index entry: it leaves nothing for
 * VACUUM, so it is subtracted from the dead rows.  There are two exceptions.  If this
 * transaction has truncated the table, core forgets at commit what was dead before, including
 * this; and if the transaction may be prepared, its updates are counted by another backend
 * later, but this would be counted at once.  In both cases core must not see an update.  (Then a
 * change that is rolled back is counted as one for ANALYZE.)
 */
static void
count_nothing_dead(PgStat_TableStatus *stats)
{
	PgStat_TableXactStatus *trans = stats->trans;

	while (trans != NULL && !trans->truncdropped)
		trans = trans->upper;
	if (trans == NULL && max_prepared_xacts == 0)
	{
		zcompat_counts(stats, delta_dead_tuples)--;
		return;
	}
	stats->trans->tuples_updated--;
	zcompat_counts(stats, tuples_updated)++;
	zcompat_counts(stats, changed_tuples)++;
}

/*
 * Report a completed update to the server.  The old TID says which version it was (a transition
 * table, perhaps only the parent's, needs it even if there are no triggers).  The new TID gets
 * no tag, because it is shown, and may get into indexes.  No page is locked, because the slot
 * may have to read the row.
 */
static void
update_report(const Update *update, ItemPointer otid)
{
	Relation	rel = update->rel;
	TupleTableSlot *slot = update->slot;

	Assert(ztid_tag(&update->new_tid) == ZTID_TAG_NONE);	/* T9 */
	slot->tts_tid = update->new_tid;
	ztid_mark_updated(otid, ztable_is_move(update->way), update->ordinal);
	ztuple_slot_written(slot, update->target.fxid, update->query.cid, update->was_locked);
	pgstat_count_heap_update(rel, update->way == ZTABLE_UPDATED_IN_PLACE,
							 ItemPointerGetBlockNumber(&update->new_tid) !=
							 ItemPointerGetBlockNumber(otid));
	if (update->way == ZTABLE_UPDATED_IN_PLACE && rel->pgstat_info)
		count_nothing_dead(rel->pgstat_info);
}

/* Each phase's function, and the phases that may follow: the edges of the diagram in README.md. */
static const struct
{
	Phase		(*run) (Update *update);
	int			next;			/* a bit each */
}			phases[] = {
	[CHECK] = {check, TO(CHECK) | TO(LOCK_OLD) | TO(COMPARE) | TO(TOAST) | TO(IN_PLACE) |
	TO(MOVE) | TO(REFUSED)},
	[LOCK_OLD] = {lock_old, TO(CHECK)},
	[COMPARE] = {zupdate_compare, TO(CHECK)},
	[TOAST] = {toast, TO(CHECK)},
	[IN_PLACE] = {in_place, TO(CHECK) | TO(MOVE) | TO(DONE)},
	[MOVE] = {zupdate_move, TO(CHECK) | TO(LOCK_OLD) | TO(FIND_PAGE) | TO(MOVE_AT_ONCE) |
	TO(INSERT_ELSEWHERE)},
	[FIND_PAGE] = {zupdate_find_page, TO(CHECK)},
	[MOVE_AT_ONCE] = {zupdate_move_at_once, TO(CHECK) | TO(LOCK_OLD) | TO(FIND_PAGE) | TO(DONE)},
	[INSERT_ELSEWHERE] = {zupdate_insert_elsewhere, TO(DELETE_OLD)},
	[DELETE_OLD] = {zupdate_delete_old, TO(CHECK) | TO(DELETE_OLD) | TO(DONE)}
};

/*
 * Run all phases; return DONE or REFUSED.  The page is locked on entry to all phases but CHECK and
 * DELETE_OLD, which lock it.
 */
static Phase
run_phases(Update *update)
{
	Phase		phase = CHECK;

	while (phase != DONE && phase != REFUSED)
	{
		Phase		next;

		Assert(phase == CHECK || phase == DELETE_OLD ||
			   (update->target.locked && update->target.checked));	/* D1 */
		next = phases[phase].run(update);
		Assert((phases[phase].next & TO(next)) != 0);
		update->done |= TO(phase);
		phase = next;
	}
	return phase;
}

TM_Result
zdml_update(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,	/* tidy: the server's signature */
			uint32 options, Snapshot snapshot, Snapshot crosscheck, bool wait,
			TM_FailureData *tmfd, LockTupleMode *lockmode, TU_UpdateIndexes *update_indexes)
{
	ItemPointerData tid = ztid_untagged(otid);
	Update		update;
	bool		done;
	bool		moved;

	zheap_require_preload();
	zreap_begin_write(rel);
	update_open(&update, rel, slot, options);
	update.query = (ZCheckQuery) {
		.snapshot = snapshot, .crosscheck = crosscheck, .cid = cid, .mode = LockTupleNoKeyExclusive
	};
	update.wait = wait;
	update.was_locked = update.query.was_locked = ztid_means_newest(otid);
	if (update.was_locked)
		update.query.snapshot = snapshot = InvalidSnapshot;	/* T2: we locked the newest */
	update.has_mode = update.indexes->keys == NULL || snapshot == InvalidSnapshot ||
		!IsMVCCSnapshot(snapshot);
	ztarget_open(&update.target, rel);
	ztarget_pin(&update.target, &tid);
	zlock_queue_init(&update.queue, rel, &tid, update.query.mode, LockWaitBlock, XLTW_Update);
	done = run_phases(&update) == DONE;
	moved = done && ztable_is_move(update.way);
	zlock_queue_leave(&update.queue);
	if (!done)
		zcheck_report(&update.target, &update.check, tmfd);
	*lockmode = update.query.mode;
	/* an update in place inserts its index entries itself, those of BRIN too */
	*update_indexes = moved ? TU_All : TU_None;
	update_close(&update);
	if (done)
	{
		update_report(&update, otid);
		zstats_count(rel, update.way, 1);
	}
	if (done && !moved && update.changes.indexes != NULL)
		zentries_insert(rel, update.indexes, &update.changes, slot,
						&(ZBefore) {update.old, update.had_several_keys, &update.comparison});
	if (update.old != NULL)
		heap_freetuple(update.old);
	if (update.scratch != NULL)
		MemoryContextDelete(update.scratch);
	zcolumns_free(&update.changes);
	if (update.check.result == TM_Invisible)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("attempted to update invisible tuple")));
	return update.check.result;
}
