/*
 * unit_model.c
 *		What a page should be, and whether it is.
 */
#include "postgres.h"

#include "unit_model.h"

/* The low half wraps around on the way. */
#define FIRST_FXID		(UINT64CONST(0x2FFFFFFFF) - 300)

#define UNDO_PER_PAGE	50
#define UNDO_STEP		100
#define UNDO_FIRST_BLOCK 16

FullTransactionId
model_fxid(int txn)
{
	return FullTransactionIdFromU64(FIRST_FXID + txn);
}

int
model_txn(FullTransactionId fxid)
{
	return (int) (U64FromFullTransactionId(fxid) - FIRST_FXID);
}

int
model_own_slot(const Model *model, int txn)
{
	int			i;

	for (i = 1; i <= ZPAGE_MAX_SLOTNO; i++)
	{
		if (FullTransactionIdEquals(model->slots[i].fxid, model_fxid(txn)))
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

/* ---- undo: pointers that grow, several to a page ---- */

ZUndoPtr
model_undo_next(const Model *model)
{
	return zundo_ptr_make(UNDO_FIRST_BLOCK + model->nundo / UNDO_PER_PAGE, 3,
						  24 + model->nundo % UNDO_PER_PAGE * UNDO_STEP);
}

void
model_undo_append(Model *model, ZUndoPtr ptr, const char *bytes, Size len)
{
	ModelUndo  *undo = &model->undo[model->nundo++];

	undo->ptr = ptr;
	undo->len = len;
	undo->bytes = palloc(len);
	memcpy(undo->bytes, bytes, len);
}

const ModelUndo *
model_undo_find(const Model *model, ZUndoPtr ptr)
{
	int			i = (zundo_ptr_block(ptr) - UNDO_FIRST_BLOCK) * UNDO_PER_PAGE +
	(zundo_ptr_offset(ptr) - 24) / UNDO_STEP;

	unit_check(i >= 0 && i < model->nundo && model->undo[i].ptr == ptr);
	return &model->undo[i];
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

static void
slots_check(Model *model)
{
	Page		page = model_page(model);
	ZPageTrailer *trailer = zpage_trailer(page);
	int			i;

	unit_check(trailer->nslots == model->nslots);
	unit_check(FullTransactionIdEquals(trailer->reused_fxid, model->reused_fxid));
	unit_check((trailer->overflow != InvalidBlockNumber) == model->have_overflow);
	for (i = 1; i <= ZPAGE_MAX_SLOTNO; i++)
	{
		if (i > model->nslots && (i < ZPAGE_FIRST_OVERFLOW || !model->have_overflow))
			continue;
		unit_check(memcmp(zpage_slot(page, model_overflow(model), i),
						  &model->slots[i], sizeof(ZPageSlot)) == 0);
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
	ZUndoPtr	ptr = model->slots[slotno].undo;
	ZUndoRecord rec = {0};

	for (; slotno != 0; ptr = rec.page_prev)
	{
		const ModelUndo *undo = model_undo_find(model, ptr);

		unit_check(zrec_undo_decode(undo->bytes, undo->len, ptr, ZFORM_LOG, &rec) == undo->len);
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
	for (txn = 0; txn < model->ntxns; txn++)
	{
		if (model->statuses[txn] == MODEL_IN_PROGRESS)
			locks_check(model, txn);
	}
	free_check(model);
}

/* ---- changing ---- */

static ModelVersion *
version_make(ModelVersion *prev, int txn, const char *bytes, uint32 len)
{
	ModelVersion *version = palloc(sizeof(ModelVersion));

	version->prev = prev;
	version->txn = txn;
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
	model->nslots += plan->grow;
	if (plan->takeover == ZTAKE_ALL_VISIBLE)
		rows_leave_slot(model, plan->slotno, true);
	if (plan->takeover == ZTAKE_REUSED)
	{
		rows_leave_slot(model, plan->slotno, false);
		if (FullTransactionIdPrecedes(model->reused_fxid, plan->prev.fxid))
			model->reused_fxid = plan->prev.fxid;
	}
	model->slots[plan->slotno] = plan->next;
}

/*
 * "before" is the row's header before its slot changed hands along with it: that
 * is what undo knows.
 */
static void
row_change(Model *model, const ZRowPlan *plan, int txn, const ZRowHeader *before)
{
	ModelRow   *row = &model->rows[plan->offnum];
	ModelVersion *old = row->top;
	ModelVersion *new;
	ZRowHeader	hdr = plan->hdr;
	uint32		body = ZROW_HDR_SIZE;

	if (hdr.natts == ZROW_NATTS_KEEP)
		memcpy(&hdr.natts, old->bytes + 3, sizeof(hdr.natts));
	if (plan->op == ZOP_UPDATE)
	{
		new = version_make(old, txn, old->bytes, body + plan->prefix);
		new->len = body + plan->prefix + plan->midlen + plan->suffix;
		new->bytes = repalloc(new->bytes, new->len);
		memcpy(new->bytes + body + plan->prefix, plan->mid, plan->midlen);
		memcpy(new->bytes + new->len - plan->suffix,
			   old->bytes + old->len - plan->suffix, plan->suffix);
	}
	else
		new = version_make(old, txn, old->bytes, old->len);
	hdr.flags2 &= ~(ZROW2_LOCK_MASK | ZROW2_PARITY);
	hdr.flags2 |= (old->bytes[1] & ZROW2_PARITY) ^ (plan->op == ZOP_UPDATE ? ZROW2_PARITY : 0);
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
	int			i;

	if (change->row.op != ZOP_INSERT)
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
	if (change->row.op == ZOP_LOCK)
	{
		lock_add(model, &change->undo, txn);
		return;
	}
	if (change->row.op != ZOP_INSERT)
	{
		row_change(model, &change->row, txn, &before);
		return;
	}
	for (i = 0; i < change->row.nrows; i++)
	{
		const ZNewRow *new = &change->row.rows[i];

		model->rows[new->offnum].state = ROW_NORMAL;
		model->rows[new->offnum].lock_bits = 0;
		model->rows[new->offnum].top = version_make(NULL, txn, new->bytes, new->len);
	}
}
