/*
 * unit_model.c
 *		What a page should be, and whether it is.
 */
#include "postgres.h"

#include "unit_model.h"

#include "zheap/undo/undo_ptr.h"

/* The low half wraps around on the way, and skips the xids that are no transaction's. */
#define BEFORE_WRAP		300
#define FIRST_FXID		(UINT64CONST(0x2FFFFFFFF) - BEFORE_WRAP)

/*
 * Undo records are at places that are more or less near to each other, and not always
 * in the order of blocks.
 */
#define UNDO_PER_PAGE	50
#define UNDO_STEP		100
#define UNDO_FIRST_BLOCK 16
#define UNDO_BLOCK_STEP	7
#define UNDO_SHUFFLE	5
#define UNDO_PER_GENERATION	8

FullTransactionId
model_fxid(int txn)
{
	return FullTransactionIdFromU64(FIRST_FXID + txn +
									(txn > BEFORE_WRAP ? FirstNormalTransactionId : 0));
}

int
model_txn(FullTransactionId fxid)
{
	int			txn = (int) (U64FromFullTransactionId(fxid) - FIRST_FXID);

	return txn > BEFORE_WRAP ? txn - (int) FirstNormalTransactionId : txn;
}

int
model_own_slot(const Model *model, int txn)
{
	int			i;

	for (i = 1; i <= MODEL_MAX_SLOTNO; i++)
	{
		if (FullTransactionIdEquals(model->slots[i].owner.fxid, model_fxid(txn)))
			return i;
	}
	return 0;
}

int
model_strongest_lock(const Model *model, OffsetNumber offnum, int except)
{
	int			strongest = -1;
	int			txn;

	for (txn = 0; txn < model->ntxns; txn++)
	{
		const ModelLock *lock;

		if (txn == except || model->statuses[txn] != MODEL_IN_PROGRESS)
			continue;
		for (lock = model->locks[txn]; lock != NULL; lock = lock->prev)
		{
			if (lock->offnum == offnum)
				strongest = Max(strongest, (int) lock->mode);
		}
	}
	return strongest;
}

/* ---- undo ---- */

ZUndoPtr
model_undo_next(const Model *model)
{
	int			page = model->nundo / UNDO_PER_PAGE;

	return zundo_ptr_make(UNDO_FIRST_BLOCK + (page ^ UNDO_SHUFFLE) * UNDO_BLOCK_STEP,
						  3 + page / UNDO_PER_GENERATION,
						  24 + model->nundo % UNDO_PER_PAGE * UNDO_STEP);
}

/* The slot's count after the change. */
static int
count_after(const Model *model, const ZSlotPlan *plan)
{
	if (plan->directory)
		return 0;
	if (plan->takeover == ZTAKE_OWN || plan->takeover == ZTAKE_REUSED)
		return model->slots[plan->slotno].count + 1;
	return 1;
}

/* The record's place in its chain. */
static void
undo_link(const Model *model, const ZSlotPlan *plan, ModelUndo *undo)
{
	const ZOwner none = {InvalidFullTransactionId, ZUNDO_INVALID};

	undo->next = undo->before = none;
	undo->count = count_after(model, plan);
	if (plan->takeover == ZTAKE_OWN)
	{
		undo->next = model->slots[plan->slotno].owner;
		undo->before = model_undo_find(model, undo->next.undo)->before;
	}
	else if (plan->takeover == ZTAKE_REUSED)
		undo->next = undo->before = model->slots[plan->slotno].owner;
}

void
model_undo_append(Model *model, const ZChange *change, int txn, const char *bytes, Size len)
{
	ModelUndo  *undo = &model->undo[model->nundo];

	if (model->nundo >= MODEL_MAX_UNDO)
		elog(ERROR, "too many undo records");
	undo->ptr = change->slot.next.undo;
	undo->len = len;
	undo->bytes = palloc(len);
	memcpy(undo->bytes, bytes, len);
	undo->txn = txn;
	undo_link(model, &change->slot, undo);
	undo->horizon = model->horizon;
	undo->first = 1;
	undo->last = 0;
	if (change->row.op == ZOP_INSERT)
	{
		undo->first = change->row.rows[0].offnum;
		undo->last = change->undo.open_run ? ZPAGE_MAX_OFFSET :
			undo->first + change->row.nrows - 1;
	}
	else if (change->row.op == ZOP_UPDATE || change->row.op == ZOP_DELETE)
		undo->first = undo->last = change->row.offnum;
	model->nundo++;
}

const ModelUndo *
model_undo_find(const Model *model, ZUndoPtr ptr)
{
	int			page = (zundo_ptr_block(ptr) - UNDO_FIRST_BLOCK) / UNDO_BLOCK_STEP;
	int			i = (page ^ UNDO_SHUFFLE) * UNDO_PER_PAGE +
	(zundo_ptr_offset(ptr) - 24) / UNDO_STEP;

	unit_check(i >= 0 && i < model->nundo && model->undo[i].ptr == ptr);
	return &model->undo[i];
}

void
model_directory(const Model *model, const ZOwner *from, ZDirectory *dir)
{
	ZOwner		at = *from;

	memset(dir, 0, sizeof(*dir));
	memset(dir->lock, ZDIRECTORY_NO_LOCK, sizeof(dir->lock));
	if (FullTransactionIdIsValid(at.fxid))
		dir->before = model_undo_find(model, at.undo)->before;
	while (FullTransactionIdIsValid(at.fxid))
	{
		const ModelUndo *undo = model_undo_find(model, at.undo);
		int			i;

		unit_check(FullTransactionIdEquals(at.fxid, model_fxid(undo->txn)));
		for (i = undo->first; i <= undo->last; i++)
		{
			if (!FullTransactionIdIsValid(dir->newest[i].fxid))
				dir->newest[i] = at;
		}
		at = undo->next;
	}
}

/* ---- checking ---- */

static void
row_check(Model *model, OffsetNumber offnum)
{
	Page		page = model_page(model);
	const ModelRow *row = &model->rows[offnum];
	ItemId		lp = PageGetItemId(page, offnum);
	const ModelVersion *version = row->top;
	const char *bytes;
	uint32		len;
	uint32		alloc;

	if (offnum > PageGetMaxOffsetNumber(page))
	{
		unit_check(row->state == ROW_UNUSED);
		return;
	}
	unit_check(row->state == (ItemIdIsNormal(lp) ? ROW_NORMAL :
							  ItemIdIsDead(lp) ? ROW_DEAD : ROW_UNUSED));
	if (row->state != ROW_NORMAL)
		return;
	bytes = zpage_row(page, offnum, &len, &alloc);
	unit_check(len == version->len && len <= alloc);
	unit_check((zrow_flags(bytes) & ~ZROW_PADDED) == zrow_flags(version->bytes));
	unit_check(((uint8) bytes[1] & ZROW2_LOCK_MASK) == row->lock_bits);
	unit_check(((uint8) bytes[1] & ~ZROW2_LOCK_MASK) == (uint8) version->bytes[1]);
	unit_check(zpage_row_lock_bits(page, offnum) == row->lock_bits);
	unit_check(memcmp(bytes + 2, version->bytes + 2, len - 2) == 0);
}

/* The slot's bytes as page_format.h tells them. */
static void
slot_check(const ZPageSlot *slot, const ModelSlot *want)
{
	ZOwner		owner = zpage_slot_owner(slot);

	unit_check(slot->word == (U64FromFullTransactionId(want->owner.fxid) |
							  (uint64) want->count << 56));
	unit_check(slot->undo == want->owner.undo);
	unit_check(owners_equal(&owner, &want->owner));
	unit_check(FullTransactionIdEquals(zpage_slot_fxid(slot), want->owner.fxid));
	unit_check(zpage_slot_count(slot) == want->count && want->count <= ZCHAIN_INTERVAL);
}

static void
slots_check(Model *model)
{
	Page		page = model_page(model);
	const ZPageTrailer *trailer = zpage_trailer(page);
	int			i = 0;

	unit_check(zpage_nslots(page) == model->nslots);
	unit_check(((PageHeader) page)->pd_special == BLCKSZ - 16 - 16 * model->nslots);
	unit_check(zpage_is_table(page) && !zpage_is_overflow(page));
	unit_check(trailer->reused_word == (U64FromFullTransactionId(model->reused_fxid) |
										(uint64) ZPAGE_VERSION << 56));
	unit_check(trailer->naming_word == (zpage_naming(page) | (uint32) ZPAGE_MAGIC << 24));
	unit_check(FullTransactionIdEquals(zpage_reused_fxid(page), model->reused_fxid));
	unit_check((zpage_overflow_block(page) != InvalidBlockNumber) == (model->noverflow > 0));
	if (model->noverflow > 0)
		unit_check((int) zpage_overflow_body(model_overflow(model, 0))->nlock_pages ==
				   model->noverflow - 1);
	while ((i = zpage_next_slotno(page, model->noverflow, i)) != 0)
		slot_check(zpage_slot(page, model_overflow(model, i), i), &model->slots[i]);
}

/* ---- chains ---- */

static void
undo_decode(const ModelUndo *undo, ZUndoRecord *rec)
{
	unit_check(zrec_undo_decode(undo->bytes, undo->len, undo->ptr, ZFORM_LOG, rec) == undo->len);
}

/*
 * What the bytes say of each row, from the newest record down to a directory, if
 * there is one, and nothing below it.  Returns the number of records above it;
 * *horizon is the directory's.
 */
static int
chain_read(Model *model, const ZOwner *from, ZDirectory *dir, FullTransactionId *horizon)
{
	ZOwner		at = *from;
	ZDirectory	older;
	ZUndoRecord rec;
	int			count;
	int			i;

	memset(dir, 0, sizeof(*dir));
	memset(&older, 0, sizeof(older));
	*horizon = InvalidFullTransactionId;
	for (count = 0; FullTransactionIdIsValid(at.fxid); count++)
	{
		const ModelUndo *undo = model_undo_find(model, at.undo);

		undo_decode(undo, &rec);
		if (rec.type == ZOP_DIRECTORY)
		{
			unit_check(zrec_directory_decode(&rec, &older));
			unit_check(owners_equal(&older.before, &undo->before));
			*horizon = undo->horizon;
			break;
		}
		for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
		{
			if (zrec_undo_covers(&rec, i, true) && !FullTransactionIdIsValid(dir->newest[i].fxid))
				dir->newest[i] = at;
		}
		if (rec.takeover == ZTAKE_OWN)
			at.undo = rec.page_prev;
		else
			at = rec.slot_prev;
	}
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		if (!FullTransactionIdIsValid(dir->newest[i].fxid))
			dir->newest[i] = older.newest[i];
	}
	return count;
}

/* The slot that a row names leads to the record of its version. */
static void
chain_row_check(Model *model, OffsetNumber offnum, const ZOwner *newest)
{
	const ModelVersion *version = model->rows[offnum].top;

	if (!FullTransactionIdIsValid(newest->fxid))
	{
		unit_check(model_status(model, version->txn) == MODEL_ALL_VISIBLE);
		return;
	}
	unit_check(FullTransactionIdEquals(newest->fxid, model_fxid(version->txn)));
	unit_check(newest->undo == version->undo);
}

/*
 * C1: down to its newest directory the chain tells of every row its newest record, but
 * for those that are visible to all.
 */
static void
chain_check(Model *model, int slotno)
{
	const ModelSlot *slot = &model->slots[slotno];
	FullTransactionId horizon;
	ZDirectory	want;
	ZDirectory	got;
	int			i;

	unit_check(chain_read(model, &slot->owner, &got, &horizon) == slot->count);
	model_directory(model, &slot->owner, &want);
	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		const ModelRow *row = &model->rows[i];

		if (FullTransactionIdIsValid(got.newest[i].fxid))
			unit_check(owners_equal(&got.newest[i], &want.newest[i]));
		else
			unit_check(!FullTransactionIdIsValid(want.newest[i].fxid) ||
					   FullTransactionIdPrecedes(want.newest[i].fxid, horizon));
		if (row->state == ROW_NORMAL && zrow_slotno(row->top->bytes) == slotno)
			chain_row_check(model, i, &got.newest[i]);
	}
}

static void
chains_check(Model *model)
{
	int			i;

	for (i = 1; i <= MODEL_MAX_SLOTNO; i++)
	{
		if (FullTransactionIdIsValid(model->slots[i].owner.fxid) && unit_once_in(model->unit, 8))
			chain_check(model, i);
	}
}

/*
 * The undo of a running transaction tells of its locks, all of them and no other,
 * and the hint of a locked row is at least as strong.
 */
static void
locks_check(Model *model, int txn)
{
	const ModelLock *lock = model->locks[txn];
	int			slotno = model_own_slot(model, txn);
	ZUndoPtr	ptr = model->slots[slotno].owner.undo;
	ZUndoRecord rec = {0};

	for (; slotno != 0; ptr = rec.page_prev)
	{
		undo_decode(model_undo_find(model, ptr), &rec);
		if (rec.type == ZOP_LOCK)
		{
			unit_check(lock != NULL && rec.offnum == lock->offnum);
			unit_check(rec.lockmode == lock->mode && rec.cid == lock->cid);
			unit_check(model->rows[rec.offnum].state == ROW_NORMAL);
			unit_check(zrow_lock_hint(zpage_row_lock_bits(model_page(model), rec.offnum)) >=
					   (int) rec.lockmode);
			lock = lock->prev;
		}
		if (rec.takeover != ZTAKE_OWN)
			break;
	}
	unit_check(lock == NULL);
}

/* What the page says of its room for new rows. */
static void
free_check(Model *model)
{
	Page		page = model_page(model);
	OffsetNumber offnum = zpage_free_offset(page, FirstOffsetNumber);
	Size		pointer = offnum > PageGetMaxOffsetNumber(page) ? sizeof(ItemIdData) : 0;
	Size		total = zpage_free_total(page);
	OffsetNumber i;

	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		if (model->rows[i].state == ROW_UNUSED)
			break;
	}
	unit_check(offnum == (i <= ZPAGE_MAX_OFFSET ? i : InvalidOffsetNumber));

	unit_check(zpage_free_contiguous(page) <= total);
	if (offnum == InvalidOffsetNumber)
		unit_check(zpage_free_for_row(page) == 0);
	else
		unit_check(zpage_free_for_row(page) == total - Min(total, pointer));
}

void
model_check(Model *model)
{
	Page		page = model_page(model);
	OffsetNumber offnum;
	const char *wrong = zpage_check(page, &offnum);
	int			txn;

	if (wrong)
		unit_fail("offset %u: %s", offnum, wrong);
	for (offnum = FirstOffsetNumber; offnum <= ZPAGE_MAX_OFFSET; offnum++)
		row_check(model, offnum);
	slots_check(model);
	chains_check(model);
	for (txn = 0; txn < model->ntxns; txn++)
	{
		if (model->statuses[txn] == MODEL_IN_PROGRESS)
			locks_check(model, txn);
	}
	free_check(model);
}

/* ---- changing ---- */

static ModelVersion *
version_make(ModelVersion *prev, int txn, ZUndoPtr undo, const char *bytes, uint32 len)
{
	ModelVersion *version = palloc(sizeof(ModelVersion));

	version->prev = prev;
	version->txn = txn;
	version->undo = undo;
	version->len = len;
	version->bytes = palloc(len);
	memcpy(version->bytes, bytes, len);
	return version;
}

/* The rows that name the slot, when it changes hands. */
static void
rows_leave_slot(Model *model, int slotno, bool visible_to_all)
{
	OffsetNumber i;

	for (i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
	{
		ModelRow   *row = &model->rows[i];
		ZRowHeader	hdr;

		if (row->state != ROW_NORMAL)
			continue;
		zrow_header_get(row->top->bytes, &hdr);
		if (hdr.slotno != slotno)
			continue;
		if (visible_to_all)
		{
			hdr.flags &= ~(ZROW_INSERTED | ZROW_REUSED);
			hdr.flags2 &= ~ZROW2_SPECULATIVE;
			hdr.slotno = 0;
			row->top->txn = MODEL_NOBODY;
		}
		else
			hdr.flags |= ZROW_REUSED;
		zrow_header_put(row->top->bytes, &hdr);
	}
}

static void
slot_change(Model *model, const ZSlotPlan *plan)
{
	ModelSlot  *slot = &model->slots[plan->slotno];

	model->nslots += plan->grow;
	if (plan->takeover == ZTAKE_ALL_VISIBLE)
		rows_leave_slot(model, plan->slotno, true);
	for (int other = 1; other <= model->nslots; other++)
	{
		if ((plan->also & (uint32) 1 << other) == 0)
			continue;
		rows_leave_slot(model, other, true);
		model->slots[other].owner.fxid = InvalidFullTransactionId;
		model->slots[other].owner.undo = ZUNDO_INVALID;
		model->slots[other].count = 0;
	}
	if (plan->takeover == ZTAKE_REUSED && !zpage_is_lock_slot(plan->slotno))
	{
		rows_leave_slot(model, plan->slotno, false);
		if (FullTransactionIdPrecedes(model->reused_fxid, plan->prev.fxid))
			model->reused_fxid = plan->prev.fxid;
	}
	slot->count = count_after(model, plan);
	slot->owner = plan->next;
}

/*
 * "before" is the row's header before its slot changed hands along with it: that
 * is what undo knows.
 */
static void
row_change(Model *model, const ZRowPlan *plan, int txn, ZUndoPtr undo, const ZRowHeader *before)
{
	ModelRow   *row = &model->rows[plan->offnum];
	ModelVersion *old = row->top;
	ModelVersion *new;
	ZRowHeader	hdr = plan->hdr;
	uint32		body = ZROW_HDR_SIZE;
	int			turn = zrow_turn(before);

	if (hdr.natts == ZROW_NATTS_KEEP)
		hdr.natts = before->natts;
	if (plan->op == ZOP_UPDATE)
	{
		new = version_make(old, txn, undo, old->bytes, body + plan->prefix);
		turn = (turn + 1) % ZROW_TURNS;
		new->len = body + plan->prefix + plan->midlen + plan->suffix;
		new->bytes = repalloc(new->bytes, new->len);
		memcpy(new->bytes + body + plan->prefix, plan->mid, plan->midlen);
		memcpy(new->bytes + new->len - plan->suffix,
			   old->bytes + old->len - plan->suffix, plan->suffix);
	}
	else
		new = version_make(old, txn, undo, old->bytes, old->len);
	hdr.flags2 &= ~ZROW2_LOCK_MASK;
	zrow_set_turn(&hdr, turn);
	zrow_header_put(new->bytes, &hdr);
	zrow_header_put(old->bytes, before);
	row->top = new;
}

/* No version: the row is its modifier's as before. */
static void
lock_add(Model *model, const ZUndoRecord *undo, int txn)
{
	ModelLock  *lock = palloc(sizeof(ModelLock));

	lock->prev = model->locks[txn];
	lock->offnum = undo->offnum;
	lock->mode = undo->lockmode;
	lock->cid = undo->cid;
	model->locks[txn] = lock;
}

void
model_change(Model *model, const ZChange *change, int txn)
{
	ModelRow   *row = &model->rows[change->row.offnum];
	ZRowHeader	before = {0};
	bool		one_row = change->row.op != ZOP_INSERT && change->row.op != ZOP_DIRECTORY;
	ZUndoPtr	undo;
	int			i;

	if (one_row)
	{
		zrow_header_get(row->top->bytes, &before);
		row->lock_bits = change->row.hdr.flags2 & ZROW2_LOCK_MASK;
	}
	if (change->init_page)
	{
		model->initialised = true;
		model->nslots = change->init_slots;
	}
	if (change->has_undo)
		slot_change(model, &change->slot);
	undo = model->slots[change->slot.slotno].owner.undo;
	if (change->row.op == ZOP_LOCK)
		lock_add(model, &change->undo, txn);
	else if (one_row)
		row_change(model, &change->row, txn, undo, &before);
	for (i = 0; i < change->row.nrows; i++)
	{
		const ZNewRow *new = &change->row.rows[i];

		model->rows[new->offnum].state = ROW_NORMAL;
		model->rows[new->offnum].lock_bits = 0;
		model->rows[new->offnum].top = version_make(NULL, txn, undo, new->bytes, new->len);
	}
}
