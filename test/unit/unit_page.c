/*
 * unit_page.c
 *		Random transactions on one page.
 *
 * Several run at a time; they insert, update, delete and lock rows, take slots in
 * every way there is, commit, become visible to all, or abort and are rolled back
 * (R1: rows are then as they were, but for the row locks of others).  In between
 * the page is pruned.  After each step the page is compared with the model.
 */
#include "postgres.h"

#include "unit_model.h"

#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"

PG_FUNCTION_INFO_V1(zheap_unit_page);

#define FEW_NATTS	20

/* The insertions that a run's undo record stands for. */
typedef struct Run
{
	int			txn;
	CommandId	cid;
	OffsetNumber first;
	ZUndoPtr	undo;
} Run;

static Run	run;

/* ---- choosing ---- */

static int
running_txn(Model *model)
{
	int			tries;

	for (tries = 0; tries < 3 && model->ntxns > 0; tries++)
	{
		int			txn = unit_int(model->unit, Max(0, model->ntxns - model->window), model->ntxns - 1);

		if (model->statuses[txn] == MODEL_IN_PROGRESS)
			return txn;
	}
	model->statuses[model->ntxns] = MODEL_IN_PROGRESS;
	return model->ntxns++;
}

/* Mixed lengths; in some rounds tiny or long rows. */
static int
row_length(Unit *unit)
{
	if (unit->round % 4 == 0)
		return unit_int(unit, ZROW_HDR_SIZE, 12);	/* as many as a page may have */
	if (unit_once_in(unit, unit->round % 4 == 1 ? 2 : 20))
		return unit_int(unit, ZROW_HDR_SIZE, 3000);
	if (unit_once_in(unit, 300))
		return ZPAGE_MAX_ROW;
	return unit_int(unit, ZROW_HDR_SIZE, unit_once_in(unit, 3) ? 300 : 60);
}

/* Natts and null flag that suit the length; the rest of the header is zero. */
static ZRowHeader
random_header(Unit *unit, uint32 len)
{
	ZRowHeader	hdr = {0};

	hdr.natts = unit_int(unit, 0, unit_once_in(unit, 8) ? ZROW_MAX_NATTS : FEW_NATTS);
	if (len >= (uint32) ZROW_HDR_SIZE + (hdr.natts + 7) / 8 && unit_once_in(unit, 2))
		hdr.flags |= ZROW_HASNULL;
	if (unit_once_in(unit, 5))
		hdr.flags |= ZROW_HASEXTERNAL;
	return hdr;
}

/*
 * Conflicts of modes are checked above pages (lock_holders.c): here locks of any
 * modes go together, also with an update of another transaction.  But a locked
 * row stays: others do not delete it, and none inserted it who may yet abort.
 */
static bool
row_stays(Model *model, const ModelRow *row, int txn)
{
	const ModelVersion *first = row->top;

	while (first->prev != NULL)
		first = first->prev;
	return first->txn == txn || model_status(model, first->txn) != MODEL_IN_PROGRESS;
}

static bool
row_suits(Model *model, OffsetNumber offnum, ZRowOp op, int txn)
{
	const ModelRow *row = &model->rows[offnum];

	if (row->state != ROW_NORMAL || (zrow_flags(row->top->bytes) & ZROW_DELETED))
		return false;
	if (op == ZOP_LOCK)
		return row_stays(model, row, txn);
	if (op == ZOP_DELETE && model_strongest_lock(model, offnum, txn) >= 0)
		return false;
	return row->top->txn == txn || model_status(model, row->top->txn) != MODEL_IN_PROGRESS;
}

/*
 * A row that the transaction may change, which nobody else is at work on, or
 * lock.  The latter is more often one that has a lock already.
 */
static OffsetNumber
changeable_row(Model *model, ZRowOp op, int txn)
{
	bool		again = op == ZOP_LOCK && unit_once_in(model->unit, 2);
	int			tries;

	for (tries = 0; tries < 30; tries++)
	{
		OffsetNumber max = PageGetMaxOffsetNumber(model_page(model));
		OffsetNumber offnum = unit_int(model->unit, 1, Max(max, 1));

		if (again && tries < 20 && model->rows[offnum].lock_bits == 0)
			continue;
		if (row_suits(model, offnum, op, txn))
			return offnum;
	}
	return InvalidOffsetNumber;
}

/* ---- slots ---- */

static bool
slot_suits(Model *model, int slotno, ZTakeover takeover)
{
	FullTransactionId fxid = model->slots[slotno].owner.fxid;

	if (!FullTransactionIdIsValid(fxid))
		return takeover == ZTAKE_FREE;
	if (zpage_is_lock_slot(slotno))
		return model->statuses[model_txn(fxid)] != MODEL_IN_PROGRESS &&
			(takeover == ZTAKE_FREE || takeover == ZTAKE_REUSED);
	switch (model->statuses[model_txn(fxid)])
	{
		case MODEL_ALL_VISIBLE:
			return takeover == ZTAKE_ALL_VISIBLE;
		case MODEL_COMMITTED:
			return takeover == ZTAKE_REUSED;
		default:
			return false;
	}
}

/* Add slots, if the page has room for them and "reserve" bytes besides. */
static bool
slot_grow(Model *model, Size reserve, ZSlotPlan *plan)
{
	int			grow = unit_int(model->unit, 1, 3);

	if (model->nslots + grow > ZPAGE_MAX_INPAGE ||
		zpage_free_total(model_page(model)) < reserve + grow * sizeof(ZPageSlot))
		return false;
	plan->takeover = ZTAKE_FREE;
	plan->grow = grow;
	plan->slotno = model->nslots + unit_int(model->unit, 1, grow);
	return true;
}

/* Any number of a slot that the page has; on the lock page only to lock a row. */
static int
slot_any(Model *model, bool lock)
{
	int			kind = unit_int(model->unit, 0, lock ? 3 : 7);

	if (kind == 0 && lock && model->noverflow > 1)
		return unit_int(model->unit, ZPAGE_FIRST_LOCK, MODEL_MAX_SLOTNO);
	if ((kind <= 1 || model->nslots == 0) && model->noverflow > 0)
		return unit_int(model->unit, ZPAGE_FIRST_OVERFLOW, ZPAGE_MAX_SLOTNO);
	return unit_int(model->unit, 1, model->nslots);
}

/* Some of the others whose owners are visible to all. */
static uint32
slots_also(Model *model, int slotno)
{
	uint32		also = 0;

	for (int other = 1; other <= model->nslots; other++)
	{
		if (other != slotno && slot_suits(model, other, ZTAKE_ALL_VISIBLE) &&
			unit_once_in(model->unit, 2))
			also |= (uint32) 1 << other;
	}
	return also;
}

/* Any slot that the transaction may have, in any way.  False: none, this time. */
static bool
slot_choose(Model *model, int txn, bool lock, Size reserve, ZSlotPlan *plan)
{
	ZTakeover	takeover = unit_int(model->unit, ZTAKE_FREE, ZTAKE_REUSED);
	int			tries;

	memset(plan, 0, sizeof(*plan));
	plan->slotno = model_own_slot(model, txn);
	plan->takeover = ZTAKE_OWN;
	if (plan->slotno != 0)
		return lock || !zpage_is_lock_slot(plan->slotno);
	if (model->long_chains && !unit_once_in(model->unit, 8))
		takeover = ZTAKE_REUSED;
	else if (unit_once_in(model->unit, 15) && slot_grow(model, reserve, plan))
		return true;
	if (model->noverflow < 2 &&
		(model->nslots + model->noverflow == 0 || unit_once_in(model->unit, 30)))
		replay_overflow(model);

	for (tries = 0; tries < 60; tries++)
	{
		int			slotno = slot_any(model, lock);

		if (!slot_suits(model, slotno, takeover))
			continue;
		plan->slotno = slotno;
		plan->takeover = takeover;
		plan->prev = model->slots[slotno].owner;
		if (takeover == ZTAKE_ALL_VISIBLE && unit_once_in(model->unit, 2))
			plan->conflict = plan->prev.fxid;
		if (takeover == ZTAKE_ALL_VISIBLE && slotno <= ZPAGE_MAX_INPAGE)
			plan->also = slots_also(model, slotno);
		return true;
	}
	return slot_grow(model, reserve, plan);
}

/*
 * The slot's chain gets a directory.  Like any record it is its transaction's, so the
 * slot is from now on.
 */
static void
add_directory(Model *model, int txn, ZSlotPlan *plan)
{
	ZChange		change = {0};
	static char bytes[ZUNDO_MAX_RECORD];
	ZDirectory	dir;
	ZOwner		none = {InvalidFullTransactionId, ZUNDO_INVALID};
	ZOwner		last = none;
	bool		goes_on = plan->takeover == ZTAKE_OWN || plan->takeover == ZTAKE_REUSED;

	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_DIRECTORY;
	change.undo.cid = unit_int(model->unit, 0, 300);
	change.slot = *plan;
	change.slot.directory = true;
	if (goes_on)
		last = model->slots[plan->slotno].owner;
	model_directory(model, &last, &dir);
	if (plan->takeover == ZTAKE_REUSED)
		dir.before = plan->prev;
	change.undo.mid = bytes;
	change.undo.midlen = undo_directory_encode(model->unit, &dir, model->horizon, last.undo, bytes);
	replay_change(model, &change, txn);

	plan->takeover = ZTAKE_OWN;
	plan->grow = 0;
	plan->prev = none;
	plan->conflict = InvalidFullTransactionId;
	plan->also = 0;
}

/*
 * As slot_choose.  C1: a directory comes when the chain is long enough; at times one
 * comes early, and even where there is nothing to tell of.
 */
static bool
slot_plan(Model *model, int txn, bool lock, Size reserve, ZSlotPlan *plan)
{
	bool		goes_on;

	if (!slot_choose(model, txn, lock, reserve, plan))
		return false;
	goes_on = plan->takeover == ZTAKE_OWN || plan->takeover == ZTAKE_REUSED;
	if ((goes_on && model->slots[plan->slotno].count >= ZCHAIN_INTERVAL) ||
		unit_once_in(model->unit, model->long_chains ? 500 : goes_on ? 50 : 200))
		add_directory(model, txn, plan);
	return true;
}

/* ---- insert ---- */

/* Does the slot's newest undo record cover these rows as well? */
static bool
run_continues(Model *model, int txn, const ZChange *change, OffsetNumber first)
{
	return change->slot.takeover == ZTAKE_OWN && run.txn == txn &&
		change->undo.cid == run.cid && first >= run.first &&
		model->slots[change->slot.slotno].owner.undo == run.undo;
}

/* Slots that the page will have. */
static int
model_nslots(const Model *model, const ZChange *change)
{
	return change->init_page ? change->init_slots : model->nslots + change->slot.grow;
}

/* Rows at consecutive free offsets, as many as fit. */
static int
new_rows(Model *model, const ZChange *change, uint32 token, ZNewRow *rows)
{
	Unit	   *unit = model->unit;
	Page		page = model_page(model);
	Size		space = zpage_free_total(page) - change->slot.grow * sizeof(ZPageSlot);
	int			want = token != 0 ? 1 : unit_int(unit, 1, unit_once_in(unit, 3) ? 30 : 1);
	OffsetNumber first = zpage_free_offset(page, FirstOffsetNumber);
	int			n;

	for (n = 0; n < want && first != InvalidOffsetNumber; n++)
	{
		int			len = row_length(unit);
		ZRowHeader	hdr;
		char	   *bytes;

		/* about the longest that the page has room for */
		if (n == 0 && first == FirstOffsetNumber && unit_once_in(unit, 6))
			len = ZPAGE_ROOM(model_nslots(model, change)) - unit_int(unit, 0, 20);
		hdr = random_header(unit, len);
		bytes = palloc(len);
		if (first + n > ZPAGE_MAX_OFFSET || model->rows[first + n].state != ROW_UNUSED ||
			len + sizeof(ItemIdData) > space)
			break;
		space -= len + sizeof(ItemIdData);
		hdr.slotno = change->slot.slotno;
		if (hdr.slotno != 0)
			hdr.flags |= ZROW_INSERTED;
		if (token != 0)
			hdr.flags2 |= ZROW2_SPECULATIVE;
		if (unit_once_in(unit, 2))
			zrow_set_turn(&hdr, unit_int(unit, 0, ZROW_TURNS - 1));
		unit_bytes(unit, bytes, len);
		zrow_header_put(bytes, &hdr);
		rows[n].offnum = first + n;
		rows[n].len = len;
		rows[n].bytes = bytes;
	}
	return n;
}

/* The undo record of an insertion; none where a run goes on. */
static void
insert_undo(Model *model, int txn, ZChange *change, uint32 token)
{
	ZUndoRecord *undo = &change->undo;

	undo->cid = unit_int(model->unit, 0, 3);
	undo->offnum = change->row.rows[0].offnum;
	if (token == 0 && run_continues(model, txn, change, undo->offnum))
	{
		change->has_undo = false;
		return;
	}
	undo->type = ZOP_INSERT;
	undo->count = change->row.nrows;
	undo->token = token;
	undo->open_run = token == 0 && undo->offnum > PageGetMaxOffsetNumber(model_page(model));
}

static void
step_insert(Model *model, bool init)
{
	Unit	   *unit = model->unit;
	int			init_slots = unit_int(unit, 0, model->long_chains ? 2 : 8);
	bool		frozen = init ? init_slots == 0 : unit_once_in(unit, 15);
	uint32		token = !init && !frozen && unit_once_in(unit, 10) ? unit_int(unit, 1, 1000) : 0;
	int			txn = frozen ? MODEL_NOBODY : running_txn(model);
	ZNewRow		rows[ZPAGE_MAX_OFFSET];
	ZChange		change = {0};

	change.row.op = ZOP_INSERT;
	change.row.rows = rows;
	change.init_page = init;
	change.has_undo = !frozen;
	if (init)
	{
		change.init_slots = init_slots;
		zpage_init_apply(model_page(model), init_slots);	/* to look at; again below */
		if (!frozen)
		{
			change.slot.slotno = 1;
			change.slot.takeover = ZTAKE_FREE;
		}
	}
	else if (!frozen && !slot_plan(model, txn, false, 0, &change.slot))
		return;
	change.row.nrows = new_rows(model, &change, token, rows);
	if (change.row.nrows == 0)
		return;
	if (!frozen)
		insert_undo(model, txn, &change, token);
	replay_change(model, &change, txn);

	if (change.has_undo)
	{
		run.txn = change.undo.open_run ? txn : MODEL_NOBODY - 1;
		run.cid = change.undo.cid;
		run.first = change.undo.offnum;
		run.undo = change.slot.next.undo;
	}
}

/* ---- update, delete, lock ---- */

/* What the undo record of an update or delete says of the version before. */
static void
describe_before(Model *model, int txn, ZChange *change)
{
	ModelVersion *old = model->rows[change->row.offnum].top;
	ZUndoRecord *undo = &change->undo;
	ZRowHeader	hdr;

	zrow_header_get(old->bytes, &hdr);
	undo->type = change->row.op;
	undo->offnum = change->row.offnum;
	undo->cid = unit_int(model->unit, 0, 300);
	undo->old_hdr = hdr;
	undo->old_hdr.flags2 &= ~ZROW2_PARITY;
	if ((hdr.natts == change->row.hdr.natts || change->row.hdr.natts == ZROW_NATTS_KEEP) &&
		!zwaypoint_has_image(undo))
		undo->old_hdr.natts = ZROW_NATTS_KEEP;
	if (old->txn == txn && change->slot.takeover == ZTAKE_OWN && !(hdr.flags & ZROW_REUSED))
	{
		/* its own record, or one that it is below */
		undo->prev_own = true;
		undo->row_prev.undo = unit_once_in(model->unit, 2) ? old->undo :
			model->slots[change->slot.slotno].owner.undo;
	}
	else if (model_status(model, old->txn) != MODEL_ALL_VISIBLE)
	{
		undo->row_prev.fxid = model_fxid(old->txn);
		undo->row_prev.undo = pg_prng_uint64(&model->unit->rng);
		undo->prev_upper_bound = (hdr.flags & ZROW_REUSED) != 0;
	}
}

/*
 * Lock bits for a row: those of the strongest lock, those that it has, or more
 * than need be.  "mode" is what is taken now, or -1.
 */
static uint8
lock_bits(Model *model, OffsetNumber offnum, int mode)
{
	int			strongest = Max(mode, model_strongest_lock(model, offnum, MODEL_NOBODY));
	int			present = zrow_lock_hint(model->rows[offnum].lock_bits);

	if (unit_once_in(model->unit, 3))
		strongest = Max(strongest, present);
	if (unit_once_in(model->unit, 10))
		strongest = unit_int(model->unit, strongest, LockTupleExclusive);
	return zrow_lock_bits(strongest);
}

/* Bytes for an updated row: something of the old one stays, usually. */
static char *
updated_bytes(Unit *unit, const ModelVersion *old, uint32 *len)
{
	uint32		from = unit_int(unit, ZROW_HDR_SIZE, old->len);
	uint32		most = unit_once_in(unit, 3) ? 400 : 8;
	uint32		to = unit_int(unit, from, Min(old->len, from + most));
	uint32		mid = to - from;
	char	   *bytes;

	if (unit_once_in(unit, 3))
		mid = row_length(unit);
	if (unit_once_in(unit, 10) && from + 260 < old->len)
	{
		/* what it gives up is near where the form of padding changes */
		to = from + unit_int(unit, 253, 257);
		mid = 0;
	}
	*len = from + mid + (old->len - to);
	bytes = palloc(*len);
	memcpy(bytes, old->bytes, from);
	unit_bytes(unit, bytes + from, mid);
	memcpy(bytes + from + mid, old->bytes + to, old->len - to);
	return bytes;
}

/* Prefix, suffix and what is between, in both directions. */
static void
plan_update(Model *model, ZChange *change, const char *new, uint32 newlen)
{
	const ModelVersion *old = model->rows[change->row.offnum].top;
	uint32		max = Min(old->len, newlen) - ZROW_HDR_SIZE;
	uint32		prefix = 0;
	uint32		suffix = 0;

	while (prefix < max && old->bytes[ZROW_HDR_SIZE + prefix] == new[ZROW_HDR_SIZE + prefix])
		prefix++;
	while (suffix < max - prefix &&
		   old->bytes[old->len - 1 - suffix] == new[newlen - 1 - suffix])
		suffix++;
	if (unit_once_in(model->unit, 10) || zwaypoint_has_image(&change->undo))
		prefix = suffix = 0;	/* longer than need be is allowed */
	change->row.prefix = change->undo.prefix = prefix;
	change->row.suffix = change->undo.suffix = suffix;
	change->row.mid = new + ZROW_HDR_SIZE + prefix;
	change->row.midlen = newlen - ZROW_HDR_SIZE - prefix - suffix;
	change->undo.mid = old->bytes + ZROW_HDR_SIZE + prefix;
	change->undo.midlen = old->len - ZROW_HDR_SIZE - prefix - suffix;
}

/* Waypoints anywhere: this is about their bytes, not about who follows them. */
static void
maybe_waypoint(Unit *unit, ZUndoRecord *undo)
{
	undo->type = ZOP_UPDATE;
	if (!unit_once_in(unit, 8))
		return;
	undo->waypoint = true;
	undo->images = unit_int(unit, 0, 1000);
	undo->since = unit_once_in(unit, 2) ? 0 : unit_int(unit, 1, 1000);
	undo->far_own = unit_once_in(unit, 2);
	undo->far_keys = unit_once_in(unit, 2);
	if (unit_once_in(unit, 2))
	{
		undo->far.fxid = model_fxid(0);
		undo->far.undo = pg_prng_uint64(&unit->rng);
	}
}

static void
header_after_update(Unit *unit, const ModelVersion *old, uint32 newlen, ZRowHeader *hdr)
{
	uint16		natts = zrow_natts(old->bytes);

	*hdr = random_header(unit, newlen);
	if (unit_once_in(unit, 2))
	{
		hdr->natts = ZROW_NATTS_KEEP;
		hdr->flags &= ~ZROW_HASNULL;
		if ((zrow_flags(old->bytes) & ZROW_HASNULL) &&
			newlen >= (uint32) ZROW_HDR_SIZE + (natts + 7) / 8)
			hdr->flags |= ZROW_HASNULL;
	}
	if (unit_once_in(unit, 4))
		hdr->flags2 |= ZROW2_KEYS_UPDATED;
}

static bool
plan_row(Model *model, ZChange *change, Size *reserve)
{
	Unit	   *unit = model->unit;
	const ModelVersion *old = model->rows[change->row.offnum].top;
	ZRowHeader *hdr = &change->row.hdr;
	char	   *bytes;
	uint32		len;
	uint32		alloc = ItemIdGetLength(PageGetItemId(model_page(model), change->row.offnum));

	zrow_header_get(old->bytes, hdr);
	hdr->flags &= ZROW_HASNULL | ZROW_HASEXTERNAL;
	hdr->flags2 = 0;
	hdr->natts = ZROW_NATTS_KEEP;
	switch (change->row.op)
	{
		case ZOP_UPDATE:
			bytes = updated_bytes(unit, old, &len);
			if (len > ZPAGE_MAX_ROW || !zpage_update_fits(model_page(model), change->row.offnum, len))
				return false;
			*reserve = len > alloc ? len - alloc : 0;
			maybe_waypoint(unit, &change->undo);
			header_after_update(unit, old, len, hdr);
			plan_update(model, change, bytes, len);
			break;
		default:
			hdr->flags |= ZROW_DELETED;
			if (unit_once_in(unit, 10))
				hdr->flags2 |= ZROW2_MOVED_PART;
			if (unit_once_in(unit, 3))
			{
				hdr->flags |= ZROW_MOVED;
				change->undo.has_new_tid = true;
				ItemPointerSet(&change->undo.new_tid, unit_int(unit, 0, 100000),
							   unit_int(unit, 1, ZPAGE_MAX_OFFSET));
			}
	}
	hdr->flags2 |= lock_bits(model, change->row.offnum, -1);
	/* what the plan says of the turn does not count */
	if (unit_once_in(unit, 4))
		zrow_set_turn(hdr, unit_int(unit, 0, ZROW_TURNS - 1));
	return true;
}

static void
step_change(Model *model)
{
	int			txn = running_txn(model);
	ZChange		change = {0};
	Size		reserve = 0;

	change.row.op = unit_once_in(model->unit, 5) ? ZOP_DELETE : ZOP_UPDATE;
	change.row.offnum = changeable_row(model, change.row.op, txn);
	if (change.row.offnum == InvalidOffsetNumber || !plan_row(model, &change, &reserve))
		return;
	change.has_undo = true;
	if (!slot_plan(model, txn, false, reserve, &change.slot))
		return;
	change.row.hdr.slotno = change.slot.slotno;
	describe_before(model, txn, &change);
	/* else the engine moves the row */
	if (zrec_undo_bound(&change.undo) <= ZUNDO_MAX_RECORD)
		replay_change(model, &change, txn);
}

/* ---- moves ---- */

/* A page of its own for the new row, and a slot that the transaction gets there in any way. */
static void
other_page(Model *model, int txn, PGAlignedBlock *other, ZChange *insertion)
{
	Unit	   *unit = model->unit;
	ZSlotPlan  *slot = &insertion->slot;
	ZOwner		owner = {model_fxid(txn), zundo_ptr_make(1, unit_int(unit, 1, 100), 24)};

	memset(other->data, 0, BLCKSZ);
	zpage_init_apply((Page) other->data, 2);
	slot->slotno = unit_int(unit, 1, 2);
	slot->takeover = unit_int(unit, ZTAKE_OWN, ZTAKE_REUSED);
	if (slot->takeover == ZTAKE_FREE && unit_once_in(unit, 3))
	{
		slot->grow = unit_int(unit, 1, 3);
		slot->slotno = 3;
	}
	if (slot->takeover == ZTAKE_FREE)
		return;
	if (slot->takeover != ZTAKE_OWN)
		owner.fxid = model_fxid(unit_int(unit, 0, txn));
	zpage_slot_set(zpage_slot((Page) other->data, NULL, slot->slotno), &owner, 1);
	if (slot->takeover == ZTAKE_OWN)
		insertion->undo.page_prev = owner.undo;
	if (slot->takeover == ZTAKE_REUSED)
		slot->prev = owner;
	if (slot->takeover == ZTAKE_ALL_VISIBLE && unit_once_in(unit, 2))
		slot->conflict = owner.fxid;
	if (slot->takeover == ZTAKE_ALL_VISIBLE && unit_once_in(unit, 2))
		slot->also = (uint32) 1 << (3 - slot->slotno);
	/* a run may go on */
	insertion->has_undo = slot->takeover != ZTAKE_OWN || unit_once_in(unit, 2);
}

/* The new row, and what it has in common with the old one. */
static bool
plan_new_row(Model *model, ZMove *move, Page page, ZNewRow *new)
{
	ZChange    *insertion = &move->insertion;
	const ModelVersion *old = model->rows[move->deletion.row.offnum].top;
	bool		one_page = page == model_page(model);
	ZRowHeader	hdr;
	uint32		len;
	char	   *bytes = updated_bytes(model->unit, old, &len);
	ZChange		diff = {0};

	new->offnum = zpage_free_offset(page, FirstOffsetNumber);
	if (len > ZPAGE_MAX_ROW || new->offnum == InvalidOffsetNumber ||
		len + sizeof(ItemIdData) +
		(insertion->slot.grow + move->deletion.slot.grow) * sizeof(ZPageSlot) >
		zpage_free_total(page))
		return false;
	hdr = random_header(model->unit, len);
	move->same_header = one_page && unit_once_in(model->unit, 2);
	if (move->same_header)
	{
		hdr.flags = zrow_flags(old->bytes) & ZROW_VALUE_FLAGS;
		hdr.natts = zrow_natts(old->bytes);
		if ((hdr.flags & ZROW_HASNULL) && len < (uint32) ZROW_HDR_SIZE + (hdr.natts + 7) / 8)
			return false;
	}
	hdr.flags |= ZROW_INSERTED;
	hdr.slotno = insertion->slot.slotno;
	zrow_header_put(bytes, &hdr);
	new->len = len;
	new->bytes = bytes;
	insertion->row.op = ZOP_INSERT;
	insertion->row.nrows = 1;
	insertion->row.rows = new;
	insertion->undo.open_run = new->offnum > PageGetMaxOffsetNumber(page);
	if (one_page)
	{
		diff.row.offnum = move->deletion.row.offnum;
		plan_update(model, &diff, bytes, len);
		move->prefix = diff.row.prefix;
		move->suffix = diff.row.suffix;
	}
	return true;
}

static void
step_move(Model *model)
{
	bool		one_page = unit_once_in(model->unit, 2);
	int			txn = running_txn(model);
	PGAlignedBlock other;
	ZMove		move = {0};
	ZChange    *deletion = &move.deletion;
	ZNewRow		new;
	Size		reserve = 0;

	deletion->row.op = ZOP_DELETE;
	deletion->row.offnum = changeable_row(model, ZOP_DELETE, txn);
	if (deletion->row.offnum == InvalidOffsetNumber || !plan_row(model, deletion, &reserve))
		return;
	deletion->has_undo = move.insertion.has_undo = true;
	if (!slot_plan(model, txn, false, BLCKSZ / 2, &deletion->slot) ||
		deletion->slot.slotno >= ZPAGE_FIRST_OVERFLOW ||
		model->slots[deletion->slot.slotno].count + 2 > ZCHAIN_INTERVAL)
		return;
	deletion->row.hdr.slotno = deletion->slot.slotno;
	describe_before(model, txn, deletion);
	if (one_page)
	{
		move.insertion.slot.slotno = deletion->slot.slotno;
		move.insertion.slot.takeover = ZTAKE_OWN;
	}
	else
		other_page(model, txn, &other, &move.insertion);
	if (!plan_new_row(model, &move, one_page ? model_page(model) : (Page) other.data, &new))
		return;
	if (one_page && model->rows[new.offnum].state != ROW_UNUSED)
		return;
	deletion->row.hdr.flags |= ZROW_MOVED;
	deletion->undo.has_new_tid = true;
	ItemPointerSet(&deletion->undo.new_tid, unit_int(model->unit, 0, 100000), new.offnum);
	(void) replay_move(model, &move, txn, one_page ? NULL : &other);
}

/* Of the plan's header only the lock bits count. */
static void
step_lock(Model *model)
{
	Unit	   *unit = model->unit;
	int			txn = running_txn(model);
	ZChange		change = {0};
	ZRowHeader *hdr = &change.row.hdr;

	change.row.op = change.undo.type = ZOP_LOCK;
	change.row.offnum = change.undo.offnum = changeable_row(model, ZOP_LOCK, txn);
	if (change.row.offnum == InvalidOffsetNumber)
		return;
	change.has_undo = true;
	change.undo.cid = unit_int(unit, 0, 300);
	change.undo.lockmode = unit_int(unit, LockTupleKeyShare, LockTupleExclusive);
	hdr->natts = ZROW_NATTS_KEEP;
	if (unit_once_in(unit, 4))
		unit_bytes(unit, hdr, sizeof(*hdr));
	hdr->flags2 &= ~ZROW2_LOCK_MASK;
	hdr->flags2 |= lock_bits(model, change.row.offnum, change.undo.lockmode);
	if (slot_plan(model, txn, true, 0, &change.slot))
		replay_change(model, &change, txn);
}

/* ---- the end of transactions ---- */

static void
step_commit(Model *model)
{
	int			txn = running_txn(model);

	model->statuses[txn] = MODEL_COMMITTED;
	model->committed[model->ncommitted++] = txn;
}

/* In the order of commits: whoever sees one sees those before. */
static void
step_freeze(Model *model)
{
	int			n = unit_int(model->unit, 0, model->ncommitted - model->nfrozen);

	for (; n > 0; n--)
		model->statuses[model->committed[model->nfrozen++]] = MODEL_ALL_VISIBLE;

	/* not everybody learns of it at once */
	if (unit_once_in(model->unit, 2))
		return;
	for (n = 0; n < model->ntxns; n++)
	{
		if (model->statuses[n] != MODEL_ALL_VISIBLE && model->statuses[n] != MODEL_ABORTED)
			break;
	}
	model->horizon = model_fxid(n);
}

/*
 * The row as the transaction found it, rebuilt from what is on the page and the
 * transaction's undo records, newest first.  Returns its length, 0 if there was
 * none.
 */
static uint32
rebuild(Model *model, OffsetNumber offnum, ZUndoPtr ptr, char *version)
{
	uint32		len;
	const char *row = zpage_row(model_page(model), offnum, &len, NULL);
	const ModelUndo *last = NULL;

	memcpy(version, row, len);
	for (;;)
	{
		const ModelUndo *undo = model_undo_find(model, ptr);
		ZUndoRecord rec;

		unit_check(last == NULL || undo < last);	/* U2 */
		last = undo;

		unit_check(zrec_undo_decode(undo->bytes, undo->len, ptr, ZFORM_LOG, &rec) == undo->len);
		if (zrec_undo_covers(&rec, offnum, true))
		{
			ZRowHeader	hdr = rec.old_hdr;
			ZRowHeader	now;

			unit_check((hdr.flags2 & (ZROW2_LOCK_MASK | ZROW2_PARITY)) == 0);
			if (rec.type == ZOP_INSERT)
				return 0;
			if (hdr.natts == ZROW_NATTS_KEEP)
				hdr.natts = zrow_natts(version);
			zrow_header_get(version, &now);
			zrow_set_turn(&hdr, zrow_turn(&now) - (rec.type == ZOP_UPDATE ? 1 : 0));
			if (rec.type == ZOP_UPDATE)
			{
				unit_check(!zwaypoint_has_image(&rec) || rec.prefix + rec.suffix == 0);
				memmove(version + ZROW_HDR_SIZE + rec.prefix + rec.midlen,
						version + len - rec.suffix, rec.suffix);
				memcpy(version + ZROW_HDR_SIZE + rec.prefix, rec.mid, rec.midlen);
				len = ZROW_HDR_SIZE + rec.prefix + rec.midlen + rec.suffix;
			}
			zrow_header_put(version, &hdr);
			if (!rec.prev_own)
				return len;
			ptr = rec.row_prev.undo;
			continue;
		}
		unit_check(rec.takeover == ZTAKE_OWN);
		ptr = rec.page_prev;
	}
}

/* Let the header of a version rolled back name its modifier as things are now. */
static void
name_modifier(Model *model, ModelVersion *version)
{
	ZRowHeader	hdr;

	zrow_header_get(version->bytes, &hdr);
	if (model_status(model, version->txn) == MODEL_ALL_VISIBLE)
	{
		hdr.slotno = 0;
		hdr.flags &= ~(ZROW_INSERTED | ZROW_REUSED);
		hdr.flags2 &= ~ZROW2_SPECULATIVE;
		version->txn = MODEL_NOBODY;
	}
	else if (!FullTransactionIdEquals(model->slots[hdr.slotno].owner.fxid,
									  model_fxid(version->txn)))
		hdr.flags |= ZROW_REUSED;
	zrow_header_put(version->bytes, &hdr);
}

static void
rollback_row(Model *model, OffsetNumber offnum, ZUndoPtr ptr, ZRowRollback *rollback)
{
	ModelRow   *row = &model->rows[offnum];
	int			txn = row->top->txn;
	const ModelVersion *now = row->top;
	ModelVersion *was = row->top;
	ZChange		diff = {0};
	PGAlignedBlock version;
	uint32		len = rebuild(model, offnum, ptr, version.data);

	while (was != NULL && was->txn == txn)
		was = was->prev;
	unit_check(len == (was ? was->len : 0));
	unit_check(len == 0 || memcmp(version.data, was->bytes, len) == 0);

	rollback->offnum = offnum;
	if (was == NULL)
	{
		rollback->kind = ZROLLBACK_KILL;
		row->state = ROW_DEAD;
		return;
	}
	name_modifier(model, was);
	zrow_header_get(was->bytes, &rollback->hdr);
	if (now->len == was->len &&
		memcmp(now->bytes + ZROW_HDR_SIZE, was->bytes + ZROW_HDR_SIZE, len - ZROW_HDR_SIZE) == 0)
		rollback->kind = ZROLLBACK_HEADER;
	else
	{
		diff.row.offnum = offnum;
		plan_update(model, &diff, was->bytes, was->len);
		rollback->kind = ZROLLBACK_BODY;
		rollback->prefix = diff.row.prefix;
		rollback->suffix = diff.row.suffix;
		rollback->midlen = diff.row.midlen;
		rollback->mid = diff.row.mid;
	}
	row->top = was;
}

/* Who had the slot before: the owner's first record knows, and its directories do. */
static ZOwner
slot_before(Model *model, ZUndoPtr ptr)
{
	ZOwner		before = {InvalidFullTransactionId, ZUNDO_INVALID};

	for (;;)
	{
		const ModelUndo *undo = model_undo_find(model, ptr);
		ZUndoRecord rec;

		zrec_undo_decode(undo->bytes, undo->len, ptr, ZFORM_LOG, &rec);
		if (rec.takeover == ZTAKE_REUSED &&
			model->statuses[model_txn(rec.slot_prev.fxid)] != MODEL_ALL_VISIBLE)
			before = rec.slot_prev;
		if (rec.takeover != ZTAKE_OWN)
			return before;
		ptr = rec.page_prev;
	}
}

static void
step_abort(Model *model)
{
	int			txn = running_txn(model);
	int			slotno = model_own_slot(model, txn);
	ZRowRollback rows[ZPAGE_MAX_OFFSET];
	ZRollbackPlan plan = {0};
	OffsetNumber i;

	model->statuses[txn] = MODEL_ABORTED;
	/* a slot on a lock page may stay as it is */
	if (slotno == 0 || (zpage_is_lock_slot(slotno) && unit_once_in(model->unit, 2)))
		return;
	memset(rows, 0, sizeof(rows));
	plan.slotno = slotno;
	plan.next = slot_before(model, model->slots[slotno].owner.undo);
	if (FullTransactionIdIsValid(plan.next.fxid))
		plan.next_count = model_undo_find(model, plan.next.undo)->count;
	plan.rows = rows;
	if (unit_once_in(model->unit, 2))
		plan.conflict = model_fxid(0);
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		if (model->rows[i].state == ROW_NORMAL && model->rows[i].top->txn == txn)
			rollback_row(model, i, model->slots[slotno].owner.undo, &rows[plan.nrows++]);
	}
	model->slots[slotno].owner = plan.next;
	model->slots[slotno].count = plan.next_count;
	replay_rollback(model, &plan);
	model_check(model);
}

/* ---- pruning and the like ---- */

static void
prune_row(Model *model, OffsetNumber offnum, ZPrunePlan *plan)
{
	ModelRow   *row = &model->rows[offnum];

	if (row->state == ROW_DEAD)
	{
		plan->unused[plan->nunused++] = offnum;
		row->state = ROW_UNUSED;
		return;
	}
	if (row->state == ROW_UNUSED || model_status(model, row->top->txn) == MODEL_IN_PROGRESS)
		return;
	if ((zrow_flags(row->top->bytes) & ZROW_DELETED) &&
		model_status(model, row->top->txn) == MODEL_ALL_VISIBLE)
	{
		plan->dead[plan->ndead++] = offnum;
		row->state = ROW_DEAD;
	}
	else
		plan->trim[plan->ntrim++] = offnum;
}

static void
step_prune(Model *model)
{
	Page		page = model_page(model);
	ZPrunePlan *plan = palloc0(sizeof(ZPrunePlan));
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	int			one_in = unit_int(model->unit, 1, 5);
	OffsetNumber i;
	LocationIndex at;

	if (unit_once_in(model->unit, 2))
		plan->conflict = model_fxid(0);
	for (i = FirstOffsetNumber; i <= max; i++)
	{
		if (unit_once_in(model->unit, one_in))
			prune_row(model, i, plan);
	}
	if (plan->ndead + plan->ntrim + plan->nunused == 0)
		return;
	replay_prune(model, plan);
	model_check(model);
	unit_check(zpage_free_contiguous(page) == zpage_free_total(page));
	for (at = ((PageHeader) page)->pd_lower; at < ((PageHeader) page)->pd_upper; at++)
		unit_check(page[at] == 0);
}

static void
step_confirm(Model *model)
{
	OffsetNumber offnum = unit_int(model->unit, 1, Max(PageGetMaxOffsetNumber(model_page(model)), 1));
	ModelRow   *row = &model->rows[offnum];

	/* the next in doubt, if any */
	while (offnum <= ZPAGE_MAX_OFFSET &&
		   (row->state != ROW_NORMAL || !(row->top->bytes[1] & ZROW2_SPECULATIVE)))
		row = &model->rows[++offnum];
	if (offnum > ZPAGE_MAX_OFFSET)
		return;
	row->top->bytes[1] &= ~ZROW2_SPECULATIVE;
	replay_confirm(model, offnum);
	model_check(model);
}

static void
step(Model *model)
{
	int			dice = unit_int(model->unit, 1, 100);

	if (dice <= 25)
		step_insert(model, false);
	else if (dice <= 52)
		step_change(model);
	else if (dice <= 60)
		step_move(model);
	else if (dice <= 70)
		step_lock(model);
	else if (dice <= 80)
		step_commit(model);
	else if (dice <= 88)
		step_abort(model);
	else if (dice <= 93 && !(model->long_chains && !unit_once_in(model->unit, 50)))
		step_freeze(model);
	else if (dice <= 96)
		step_prune(model);
	else
		step_confirm(model);
}

static void
page_round(Unit *unit)
{
	Model	   *model = palloc0(sizeof(Model));
	int			n = unit_int(unit, 20, 600);

	model->unit = unit;
	model->window = unit_int(unit, 1, 40);
	if (unit_once_in(unit, 5))
	{
		model->long_chains = true;
		model->window = unit_int(unit, 1, 3);
		n = unit_int(unit, 600, 1500);
	}
	memset(&run, 0, sizeof(run));
	unit_bytes(unit, model->page.data, BLCKSZ);
	if (unit_once_in(unit, 8))
		replay_overflow_init(model);
	while (!model->initialised)
		step_insert(model, true);
	for (; n > 0; n--)
		step(model);
}

/* zheap_unit_page(seed bigint, rounds integer) returns void */
Datum
zheap_unit_page(PG_FUNCTION_ARGS)
{
	return unit_repeat(fcinfo, page_round);
}
