/*
 * dml_update.c
 *		UPDATE: in place, or moved to another line pointer.
 *
 * In place: no indexed column changes, and the page can hold the new version.
 * Otherwise the new version is a row of its own, in all indexes, and the old one
 * says where it went.
 *
 * A move to another page never holds two table pages: the old row is locked
 * first, by a record like that of SELECT FOR NO KEY UPDATE.  The same when the
 * toaster, which writes to other tables, has to run.  KEY SHARE locks of others may
 * be there all the time unless the key changes; a row that is moved says where they
 * are (ZROW_ORIGIN).  If the first of them comes after the new row was made, that one is
 * taken back, and another one made.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"

#include "zheap/dml/run.h"
#include "zheap/scan/tuple_slot.h"

typedef struct ZUpdate
{
	Relation	rel;
	TupleTableSlot *slot;
	CommandId	cid;
	char	   *row;
	uint32		len;
	bool		toasted;		/* the row has been through the toaster, if need be */
	Bitmapset  *indexed;		/* attributes of all indexes */
	Bitmapset  *keys;			/* those that foreign keys may refer to */
	ItemPointerData new_tid;
	bool		moved;
	bool		locked;			/* we hold a row lock that keeps all others out,
								 * except KEY SHARE if the key stays */
	bool		has_origin;		/* the new row names the TID that it had */
	bool		may_be_held;	/* it is to do so */
	bool		origins_known;	/* "ended" has been filled in */
	int			nended;
	ItemPointerData ended[ZROW_MAX_ORIGINS];	/* where nobody has a lock any more */
	bool		made_room;		/* what can be taken back of the page has been */
	bool		was_locked;		/* our transaction had locked the row before */
	bool		key_locked;		/* for UPDATE: then KEY SHARE conflicts with the update, as on
								 * heap, even if the key stays */
	bool		has_events;		/* AFTER ROW triggers will ask for both versions */
	int			ordinal;		/* has_events, in place: number of the old version */
} ZUpdate;

typedef enum UpdateStep
{
	STEP_DONE,
	STEP_AGAIN,					/* the page was unlocked: check the row again */
	STEP_MOVE,					/* does not fit in place */
	STEP_EXCLUSIVE				/* needs the row to itself: check it again so */
} UpdateStep;

/* ---- does the update change indexed columns, or a key? ---- */

typedef enum Changes
{
	CHANGES_NOTHING,			/* that an index has */
	CHANGES_INDEXED,
	CHANGES_KEY
} Changes;

typedef struct Deformed
{
	Datum	   *values;
	bool	   *isnull;
	ZRowDeform	state;
} Deformed;

static void
deform(Relation rel, const char *row, uint32 len, int natts, Deformed *out)
{
	out->values = palloc(natts * sizeof(Datum));
	out->isnull = palloc(natts * sizeof(bool));
	memset(&out->state, 0, sizeof(out->state));
	out->state.scratch = palloc(ZROW_SCRATCH_SIZE(natts, len));
	if (!zrow_deform(RelationGetDescr(rel), row, len, natts, out->values, out->isnull,
					 &out->state))
		zheap_corrupt(rel, InvalidBlockNumber, InvalidOffsetNumber,
					  "row of %u bytes cannot be read", len);
}

static void
deform_free(Deformed *d)
{
	pfree(d->values);
	pfree(d->isnull);
	pfree(d->state.scratch);
}

static bool
attribute_changed(Relation rel, int attno, Deformed *old, Deformed *new)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);

	if (old->isnull[attno - 1] != new->isnull[attno - 1])
		return true;
	if (old->isnull[attno - 1] || att->attisdropped)
		return false;
	return !datumIsEqual(old->values[attno - 1], new->values[attno - 1],
						 att->attbyval, att->attlen);
}

static Changes
indexed_changes(const ZUpdate *update, const ZRowVersion *old)
{
	int			bit = -1;
	int			max = 0;
	Changes		changes = CHANGES_NOTHING;
	Deformed	before;
	Deformed	after;

	while ((bit = bms_next_member(update->indexed, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno == 0)
			changes = CHANGES_INDEXED;	/* a whole-row reference */
		max = Max(max, attno);
	}
	if (max == 0)
		return changes;
	deform(update->rel, old->row, old->len, max, &before);
	deform(update->rel, update->row, update->len, max, &after);
	bit = -1;
	while (changes != CHANGES_KEY && (bit = bms_next_member(update->indexed, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attribute_changed(update->rel, attno, &before, &after))
			changes = bms_is_member(bit, update->keys) ? CHANGES_KEY : CHANGES_INDEXED;
	}
	deform_free(&before);
	deform_free(&after);
	return changes;
}

/* ---- in place ---- */

/* The range of body bytes that changes. */
static void
diff_rows(const ZRowVersion *old, const ZUpdate *update, ZChange *change)
{
	uint16		prefix;
	uint16		suffix;

	zrow_diff(update->row, update->len, old->row, old->len, &prefix, &suffix);
	change->row.prefix = change->undo.prefix = prefix;
	change->row.suffix = change->undo.suffix = suffix;
	change->row.mid = update->row + ZROW_HDR_SIZE + prefix;
	change->row.midlen = update->len - ZROW_HDR_SIZE - prefix - suffix;
	change->undo.mid = old->row + ZROW_HDR_SIZE + prefix;
	change->undo.midlen = old->len - ZROW_HDR_SIZE - prefix - suffix;
}

/* Has the page room for the row as it will be, and for so many new slots? */
static bool
has_room(ZTarget *target, uint32 newlen, int grow)
{
	Page		page = target->view.page;
	uint32		alloc = ItemIdGetLength(PageGetItemId(page, target->offnum));

	return newlen <= alloc ||
		zpage_free_total(page) >= newlen - alloc + grow * sizeof(ZPageSlot);
}

/*
 * Take back space if the row needs it.  False: the page was unlocked, for one of its
 * reasons that much undo had to be read (B1).
 */
static bool
make_room(ZTarget *target, ZUpdate *update)
{
	uint32		newlen = update->len;

	if (newlen <= ItemIdGetLength(PageGetItemId(target->view.page, target->offnum)))
		return true;
	ztarget_check_rows(target);
	if (has_room(target, newlen, 1) || update->made_room)
		return true;
	zdml_prune_page(&target->view, target->buffer);
	if (!has_room(target, newlen, 1) && !zdml_tombstone_page(target))
		return false;
	if (!zview_is_spent(&target->view))
		return true;
	update->made_room = true;
	ztarget_unlock(target);
	return false;
}

static UpdateStep
update_in_place(ZTarget *target, ZUpdate *update, const ZUpdateCheck *check)
{
	ZChange		change;
	ZRowVersion	version;
	ZRowHeader	new;
	uint32		alloc;

	if (!make_room(target, update))
		return STEP_AGAIN;
	alloc = ItemIdGetLength(PageGetItemId(target->view.page, target->offnum));
	memset(&change, 0, sizeof(change));
	if (!ztarget_reserve_slot(target, update->len > alloc ? update->len - alloc : 0,
							  &change.slot))
		return STEP_AGAIN;
	if (!has_room(target, update->len, change.slot.grow))
		return STEP_MOVE;
	if (update->has_events)
	{
		/* more versions than tags: a move begins to count anew */
		update->ordinal = zmvcc_ordinal(&target->view, target->offnum);
		if (update->ordinal >= ZTID_MAX_ORDINAL)
			return STEP_MOVE;
	}

	zmvcc_current(&target->view, target->offnum, &version);
	zrow_header_get(update->row, &new);
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_UPDATE;
	change.row.offnum = change.undo.offnum = target->offnum;
	change.row.hdr.flags = new.flags & ZROW_VALUE_FLAGS;
	change.row.hdr.flags2 = zrow_lock_bits(check->strongest_lock) |
		(update->key_locked ? ZROW2_KEYS_UPDATED : 0);
	change.row.hdr.slotno = change.slot.slotno;
	change.row.hdr.natts = new.natts == version.hdr.natts ? ZROW_NATTS_KEEP : new.natts;
	change.undo.cid = update->cid;
	diff_rows(&version, update, &change);
	zchange_describe_before(target, &version, &change);
	zwaypoint_describe(target, &version, update->row, update->len, &change);
	if (!zchange_undo_fits(&change))
		return STEP_MOVE;
	ztarget_conflict_in(target);
	zchange_execute(target, &change);
	ItemPointerSet(&update->new_tid, BufferGetBlockNumber(target->buffer), target->offnum);
	return STEP_DONE;
}

/* ---- moved ---- */

/* Undo records that looking for holders may take besides the check and the change (B1). */
#define HOLDER_READS	16

/*
 * Has somebody else a lock on the row?  With NO KEY UPDATE: that is, KEY SHARE.  True also
 * where it takes long to find out.
 */
static bool
may_be_held(ZTarget *target)
{
	ZLockHolders holders;

	zview_limit(&target->view, HOLDER_READS);
	zlock_holders(&target->view, NULL, target->offnum, LockTupleExclusive, &holders);
	return !zview_limit_end(&target->view) || TransactionIdIsValid(holders.conflicting);
}

/* Where the row has been, as far as others may have locks there. */
static int
origins_left(ZTarget *target, const ZUpdate *update, ItemPointerData *origins)
{
	ZRowVersion	version;
	int			count;
	int			left = 0;

	zmvcc_current(&target->view, target->offnum, &version);
	count = zrow_origins_get(version.row, version.len, origins);
	for (int i = 0; i < count; i++)
	{
		bool		ended = false;

		for (int k = 0; k < update->nended && !ended; k++)
			ended = ItemPointerEquals(&origins[i], unconstify(ItemPointerData *, &update->ended[k]));
		if (!ended)
			origins[left++] = origins[i];
	}
	return left;
}

/*
 * Look where holders have ended.  No new ones come there that are not on this row,
 * too.  The page is unlocked.
 */
static void
find_ended_origins(ZTarget *target, ZUpdate *update)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	int			count = origins_left(target, update, origins);

	ztarget_unlock(target);
	for (int i = 0; i < count; i++)
	{
		if (!TransactionIdIsValid(zlock_origin_conflict(update->rel, &origins[i])))
			update->ended[update->nended++] = origins[i];
	}
	update->origins_known = true;
}

/*
 * Let the new row name the places where others may have KEY SHARE locks.  Not DONE:
 * these are too many, or the row is too long to name them.
 */
static UpdateStep
choose_origins(ZTarget *target, ZUpdate *update, LockTupleMode mode)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS + 1];
	int			count = 0;

	update->has_origin = update->may_be_held || may_be_held(target);
	/* otherwise nobody has a lock anywhere */
	if (mode != LockTupleExclusive)
		count = origins_left(target, update, origins);
	if (update->has_origin)
	{
		ItemPointerSet(&origins[count], target->view.block, target->offnum);
		count++;
	}
	if (count <= ZROW_MAX_ORIGINS)
	{
		update->row = zrow_origins_set(update->row, &update->len, origins, count);
		if (update->len <= ZPAGE_MAX_ROW)
			return STEP_DONE;
	}
	if (update->origins_known || mode == LockTupleExclusive)
		return STEP_EXCLUSIVE;
	find_ended_origins(target, update);
	return STEP_AGAIN;
}

static UpdateStep
delete_old(ZTarget *target, ZUpdate *update, LockTupleMode mode)
{
	ZChange		change;
	ZRowVersion	version;

	if (!update->has_origin && may_be_held(target))
	{
		/* came while the new row was made; make one that tells of it: nobody waits */
		ztarget_unlock(target);
		zdml_take_back_row(update->rel, &update->new_tid);
		update->moved = false;
		update->may_be_held = true;
		return STEP_AGAIN;
	}
	memset(&change, 0, sizeof(change));
	if (!ztarget_reserve_slot(target, 0, &change.slot))
		return STEP_AGAIN;
	ztarget_conflict_in(target);
	zmvcc_current(&target->view, target->offnum, &version);
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_DELETE;
	change.row.offnum = change.undo.offnum = target->offnum;
	change.row.hdr.flags = (version.hdr.flags & ZROW_VALUE_FLAGS) | ZROW_DELETED | ZROW_MOVED;
	change.row.hdr.flags2 = zpage_row_lock_bits(target->view.page, target->offnum) |
		(mode == LockTupleExclusive || update->key_locked ? ZROW2_KEYS_UPDATED : 0);
	change.row.hdr.slotno = change.slot.slotno;
	change.row.hdr.natts = ZROW_NATTS_KEEP;
	change.undo.cid = update->cid;
	change.undo.has_new_tid = true;
	change.undo.new_tid = update->new_tid;
	zchange_describe_before(target, &version, &change);
	zchange_execute(target, &change);
	return STEP_DONE;
}

static UpdateStep
update_move(ZTarget *target, ZUpdate *update, const ZUpdateCheck *check, LockTupleMode mode)
{
	ZInsert		insert = {NULL, 0, update->cid, 0, NULL, 0};

	if (!update->moved)
	{
		UpdateStep	step = choose_origins(target, update, mode);

		if (step != STEP_DONE)
			return step;
	}
	insert.row = update->row;
	insert.len = update->len;
	if (!update->moved && !update->locked)
	{
		/* on this page, if it has room */
		if (zpage_free_for_row(target->view.page) >= update->len + sizeof(ZPageSlot))
		{
			update->moved = zdml_insert_into(target, &insert, &update->new_tid);
			if (!target->locked)
				return STEP_AGAIN;
		}
	}
	if (!update->moved)
	{
		if (!update->locked)
		{
			/* then once more, with the row ours whatever happens to the page */
			update->locked = zdml_lock_row(target, check, mode, update->cid);
			return STEP_AGAIN;
		}
		ztarget_unlock(target);
		zdml_insert_row(update->rel, &insert, &update->new_tid);
		update->moved = true;
		return STEP_AGAIN;
	}
	return delete_old(target, update, mode);
}

/* ---- the whole ---- */

/*
 * The old row is ours to change.  One step; the page is locked on entry, and on
 * exit unless STEP_AGAIN says to start over.
 */
static UpdateStep
update_step(ZTarget *target, ZUpdate *update, const ZUpdateCheck *check, LockTupleMode mode)
{
	const ZRowVersion *old = &check->version;
	Changes		changes = indexed_changes(update, old);

	if (changes == CHANGES_KEY && mode != LockTupleExclusive)
		return STEP_EXCLUSIVE;
	if (!update->toasted &&
		(zdml_needs_toaster(update->rel, update->len, zrow_flags(update->row)) ||
		 zdml_needs_toaster(update->rel, 0, old->hdr.flags)))
	{
		HeapTuple	before;

		if (!update->locked)
		{
			update->locked = zdml_lock_row(target, check, mode, update->cid);
			return STEP_AGAIN;
		}
		before = zdml_heap_tuple(update->rel, old->row, old->len);
		ztarget_unlock(target);
		pfree(update->row);
		update->row = zdml_form(update->rel, update->slot, before, 0, &update->len);
		update->toasted = true;
		heap_freetuple(before);
		return STEP_AGAIN;
	}
	if (changes == CHANGES_NOTHING)
	{
		UpdateStep	step;
		ItemPointerData origins[ZROW_MAX_ORIGINS];
		int			count = 0;

		if (mode != LockTupleExclusive)
			count = zrow_origins_get(old->row, old->len, origins);
		update->row = zrow_origins_set(update->row, &update->len, origins, count);
		step = update_in_place(target, update, check);
		if (step != STEP_MOVE)
			return step;
	}
	return update_move(target, update, check, mode);
}

static void
update_open(ZUpdate *update, Relation rel, TupleTableSlot *slot, CommandId cid)
{
	memset(update, 0, sizeof(*update));
	update->rel = rel;
	update->slot = slot;
	update->cid = cid;
	update->indexed = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_ALL);
	update->keys = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	update->has_events = rel->trigdesc != NULL && rel->trigdesc->trig_update_after_row;
	slot->tts_tableOid = RelationGetRelid(rel);
	slot_getallattrs(slot);
	update->row = zrow_form(RelationGetDescr(rel), slot->tts_values, slot->tts_isnull,
							&update->len);
	/* rows that the toaster will shorten are checked after it */
	if (!zdml_needs_toaster(rel, update->len, zrow_flags(update->row)))
		zdml_check_length(update->len);
}

/*
 * An update in place leaves nothing for VACUUM, so it is taken off the dead rows.
 * Where this transaction has truncated the table, core forgets at commit what was
 * dead before, this as well; there it must not see the update as such.
 */
static void
count_nothing_dead(PgStat_TableStatus *stats)
{
	PgStat_TableXactStatus *trans = stats->trans;

	while (trans != NULL && !trans->truncdropped)
		trans = trans->upper;
	if (trans == NULL)
	{
		stats->t_counts.t_delta_dead_tuples--;
		return;
	}
	stats->trans->tuples_updated--;
	stats->t_counts.t_tuples_updated++;
	stats->t_counts.t_changed_tuples++;
}

/*
 * Done: what core is told.  The old TID says which version it was (a transition
 * table, perhaps only the parent's, wants it even if there are no triggers).  The
 * new one stays as it is: it is shown, and may get into indexes.
 */
static void
update_report(const ZTarget *target, const ZUpdate *update, ItemPointer otid)
{
	Relation	rel = update->rel;
	TupleTableSlot *slot = update->slot;

	slot->tts_tid = update->new_tid;
	if (update->moved)
		ztid_set_tag(otid, ZTID_TAG_LAST);
	else if (update->has_events)
		ztid_set_tag(otid, update->ordinal);
	else
		ztid_set_tag(otid, ZTID_TAG_REPLACED);
	ztuple_slot_written(slot, target->fxid, update->cid, update->was_locked);
	pgstat_count_heap_update(rel, !update->moved);
	if (!update->moved && rel->pgstat_info)
		count_nothing_dead(rel->pgstat_info);
}

TM_Result
zdml_update(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,	/* tidy: the server's signature */
			Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
			LockTupleMode *lockmode, bool *update_indexes)
{
	ItemPointerData tid = ztid_untagged(otid);
	ZCheckQuery query = {snapshot, crosscheck, cid, LockTupleNoKeyExclusive};
	ZUpdateCheck check;
	ZRowQueue	queue;
	ZTarget		target;
	ZUpdate		update;
	UpdateStep	step = STEP_AGAIN;

	zheap_require_preload();
	if (ztid_tag(otid) == ZTID_TAG_LAST)
		query.snapshot = InvalidSnapshot;	/* our lock has kept it the newest version */
	*lockmode = LockTupleNoKeyExclusive;
	*update_indexes = false;

	update_open(&update, rel, slot, cid);
	update.was_locked = ztid_tag(otid) == ZTID_TAG_LAST;
	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	zlock_queue_init(&queue, rel, &tid, LockTupleNoKeyExclusive, LockWaitBlock, XLTW_Update);
	for (;;)
	{
		if (!target.locked)
			ztarget_lock_row_page(&target);
		if (update.moved)
		{
			/* the new version exists: nobody else can have touched the old one */
			step = delete_old(&target, &update, query.mode);
			if (step == STEP_DONE)
				break;
			continue;
		}
		zcheck_row(&target, &query, &check);
		if (check.result == TM_BeingModified && wait)
		{
			ztarget_unlock(&target);
			zlock_queue_wait(&queue, check.parity, check.xid,
							 check.own_lock >= 0 || check.modified_by_us);
			continue;
		}
		if (check.result != TM_Ok)
			break;
		if (check.own_lock >= 0 && !update.locked)
			update.was_locked = true;
		update.key_locked = update.key_locked || check.own_lock == LockTupleExclusive;
		step = update_step(&target, &update, &check, query.mode);
		if (step == STEP_DONE)
			break;
		if (step == STEP_EXCLUSIVE)
		{
			/* the row lock, if we have one, was too weak */
			update.locked = false;
			query.mode = *lockmode = LockTupleExclusive;
		}
	}
	zlock_queue_leave(&queue);
	if (check.result != TM_Ok)
		zcheck_report(&target, &check, tmfd);
	else
	{
		update_report(&target, &update, otid);
		*update_indexes = update.moved;
	}
	ztarget_close(&target);
	bms_free(update.indexed);
	bms_free(update.keys);
	pfree(update.row);
	return check.result;
}
