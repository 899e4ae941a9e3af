/*
 * unit_replay.c
 *		Perform changes as the server does, and again as recovery does.
 *
 * W1: redo of the record on the old page gives the new page, byte for byte; on
 * an old page that lost what lay in its hole, all but the hole.
 * U3: redo encodes the same bytes of the undo record once more (unit_undo.c for the
 * rest).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "unit_model.h"
#include "unit_wal.h"

#include "../../src/record/rec_private.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

/* The pages before a change: the table page, its overflow page and a lock page. */
typedef struct Before
{
	PGAlignedBlock pages[3];
} Before;

/*
 * Which of them a record is about: the one that is block reference ZREC_BLK_TABLE, and the
 * one that is ZREC_BLK_OVERFLOW.
 */
typedef struct Subject
{
	int			table;
	int			slots;
} Subject;

static PGAlignedBlock *
model_block(Model *model, int i)
{
	return i == 0 ? &model->page : &model->overflow[i - 1];
}

static void
remember(Model *model, Before *before)
{
	for (int i = 0; i < 3; i++)
		before->pages[i] = *model_block(model, i);
}

/* What a change by the slot is about. */
static Subject
subject_of(int slotno)
{
	Subject		subject = {0, 1 + zpage_slot_page(slotno)};

	return subject;
}

/* ---- redo ---- */

static void
hole_zero(char *page)
{
	PageHeader	header = (PageHeader) page;

	if (header->pd_upper > header->pd_lower)
		memset(page + header->pd_lower, 0, header->pd_upper - header->pd_lower);
}

static void
pages_compare(const PGAlignedBlock *want, const PGAlignedBlock *got, bool with_hole)
{
	PGAlignedBlock a = *want;
	PGAlignedBlock b = *got;
	int			i;

	if (!with_hole)
	{
		hole_zero(a.data);
		hole_zero(b.data);
	}
	for (i = 0; i < BLCKSZ; i++)
	{
		if (a.data[i] != b.data[i])
			unit_fail("redo gives another page from byte %d on", i);
	}
}

static void
redo_once(Model *model, const Before *before, Subject subject, const ZRecKind *kind,
		  bool with_hole)
{
	XLogReaderState record;
	Before		copy = *before;
	UnitWalBlock *table = &unit_wal.blocks[ZREC_BLK_TABLE];
	UnitWalBlock *slots = &unit_wal.blocks[ZREC_BLK_OVERFLOW];

	memset(&record, 0, sizeof(record));
	record.ReadRecPtr = UNIT_WAL_LSN;
	record.EndRecPtr = UNIT_WAL_LSN;
	for (int i = 0; i < 3 && !with_hole; i++)
		hole_zero(copy.pages[i].data);
	/* a page may have reached the disk after the change */
	table->done = !(table->flags & REGBUF_WILL_INIT) && unit_once_in(model->unit, 10);
	slots->done = !(slots->flags & REGBUF_WILL_INIT) && unit_once_in(model->unit, 4);
	if (table->done || (table->flags & REGBUF_FORCE_IMAGE))
		copy.pages[subject.table] = *model_block(model, subject.table);
	if (slots->done)
		copy.pages[subject.slots] = *model_block(model, subject.slots);
	table->page = (Page) copy.pages[subject.table].data;
	slots->page = (Page) copy.pages[subject.slots].data;

	zrec_redo(kind, &record);

	if (table->used)
		pages_compare(model_block(model, subject.table), &copy.pages[subject.table], with_hole);
	if (slots->used)
		pages_compare(model_block(model, subject.slots), &copy.pages[subject.slots], with_hole);
}

static void
redo_check(Model *model, const Before *before, Subject subject, const ZRecKind *kind)
{
	redo_once(model, before, subject, kind, true);
	redo_once(model, before, subject, kind, false);
}

/*
 * What is no record must have a description, too, which is no error: any backend may ask for it.
 * The record's beginning is none, unless it lacks just what decoding is told; any other bytes may be
 * one.
 */
static void
desc_check_damaged(const ZRecKind *kind)
{
	XLogReaderState record;
	StringInfoData text;
	Size		len = unit_wal.len;
	char		byte;

	memset(&record, 0, sizeof(record));
	initStringInfo(&text);
	for (unit_wal.len = 0; unit_wal.len < len; unit_wal.len++)
	{
		resetStringInfo(&text);
		zrec_desc(kind, &text, &record);
		unit_check((strstr(text.data, "damaged") != NULL) ==
				   (unit_wal.optional == 0 || unit_wal.len != len - unit_wal.optional));
	}
	for (Size i = 0; i < len; i++)
	{
		byte = unit_wal.data[i];
		unit_wal.data[i] ^= 1 << i % 8;
		resetStringInfo(&text);
		zrec_desc(kind, &text, &record);
		unit_check(text.len > 0);
		unit_wal.data[i] = byte;
	}
	pfree(text.data);
}

/* A description of the record must be possible. */
static void
desc_check(const ZRecKind *kind)
{
	XLogReaderState record;
	StringInfoData text;

	memset(&record, 0, sizeof(record));
	initStringInfo(&text);
	zrec_desc(kind, &text, &record);
	unit_check(text.len > 0);
	unit_check(strstr(text.data, "damaged") == NULL);
	pfree(text.data);
	desc_check_damaged(kind);
}

/* The buffers carry the record's LSN, as after the critical section. */
static void
set_lsn(Model *model, Subject subject)
{
	if (unit_wal.blocks[ZREC_BLK_TABLE].used)
		PageSetLSN((Page) model_block(model, subject.table)->data, UNIT_WAL_LSN);
	if (unit_wal.blocks[ZREC_BLK_OVERFLOW].used)
		PageSetLSN((Page) model_block(model, subject.slots)->data, UNIT_WAL_LSN);
}

/* ---- changes ---- */

/*
 * A lock prepares its slot and sets three bits, a directory does the former alone: every
 * other byte of the pages is what it was.
 */
static void
exact_check(Model *model, const Before *before, const ZChange *change)
{
	Before		want = *before;
	Page		page = (Page) want.pages[0].data;
	uint32		len;
	char	   *row;

	zpage_slot_apply(page, (Page) want.pages[subject_of(change->slot.slotno).slots].data,
					 &change->slot);
	if (change->row.op == ZOP_LOCK)
	{
		row = zpage_row(page, change->row.offnum, &len, NULL);
		row[1] = (row[1] & ~ZROW2_LOCK_MASK) | (change->row.hdr.flags2 & ZROW2_LOCK_MASK);
	}
	for (int i = 0; i < 3; i++)
		unit_check(memcmp(&want.pages[i], model_block(model, i), BLCKSZ) == 0);
}

void
unit_complete_undo(Model *model, ZChange *change, int txn, ZUndoWrite *write)
{
	ZUndoRecord *undo = &change->undo;

	write->buffer = UNIT_BUFFER(ZREC_BLK_UNDO);
	write->ptr = model_undo_next(model);
	write->offset = zundo_ptr_offset(write->ptr);
	write->generation = zundo_ptr_generation(write->ptr);
	write->init = unit_once_in(model->unit, 5);
	write->log = unit_int(model->unit, 0, 2000);

	undo->slotno = change->slot.slotno;
	undo->takeover = change->slot.takeover;
	undo->slot_prev = change->slot.prev;
	if (undo->takeover == ZTAKE_OWN)
		undo->page_prev = model->slots[undo->slotno].owner.undo;
	undo->fxid = model_fxid(txn);
	undo->has_xact = unit_once_in(model->unit, 2);
	undo->has_page = undo->has_xact || unit_once_in(model->unit, 2);
	change->slot.next.fxid = undo->fxid;
	change->slot.next.undo = write->ptr;
}

static void
redo_undo_check(const ZUndoWrite *write, const char *bytes, Size len)
{
	unit_check(unit_wal.undo_at == write->ptr && unit_wal.undo_init == write->init);
	unit_check(unit_wal.undo_len == len && memcmp(unit_wal.undo, bytes, len) == 0);
}

static const char *
row_on_page(Model *model, OffsetNumber offnum)
{
	uint32		len;

	return zpage_row(model_page(model), offnum, &len, NULL);
}

/* The tuple of a row: its values, with zeros here and there. */
static void
make_inserted(Unit *unit, const ZNewRow *row, HeapTuple tuple)
{
	char	   *out = (char *) tuple->t_data + SizeofHeapTupleHeader;
	uint32		at = zrow_values_offset(row->bytes);

	tuple->t_data->t_hoff = SizeofHeapTupleHeader + unit_int(unit, 0, 8);
	for (int i = SizeofHeapTupleHeader; i < tuple->t_data->t_hoff; i++)
		*out++ = (char) unit_int(unit, 0, 255);
	while (at < row->len)
	{
		if (unit_once_in(unit, 20))
			*out++ = 0;
		else
			*out++ = row->bytes[at++];
	}
	tuple->t_len = out - (char *) tuple->t_data;
}

/*
 * What decoding might be told of the change: of an insertion its rows, of others what other rows
 * there are.  Redo must not care, and what was told must come out.
 */
static void
make_logical(Model *model, const ZRowPlan *row, ZRecLogical *logical, StringInfo tuples)
{
	static char data[4 * BLCKSZ];
	HeapTupleData tuple = {.t_data = (HeapTupleHeader) data};
	int			ntuples;

	memset(logical, 0, sizeof(*logical));
	initStringInfo(tuples);
	logical->nrows = 1;
	if (row->op == ZOP_INSERT)
	{
		logical->kind = row->nrows == 1 && unit_once_in(model->unit, 2) ?
			ZLOGICAL_SPECULATIVE : ZLOGICAL_INSERT;
		logical->nrows = row->nrows;
	}
	else
		logical->kind = unit_once_in(model->unit, 2) ? ZLOGICAL_UPDATE : ZLOGICAL_DELETE;
	logical->more = logical->kind == ZLOGICAL_INSERT && unit_once_in(model->unit, 2);
	logical->has_old = (logical->kind == ZLOGICAL_UPDATE || logical->kind == ZLOGICAL_DELETE) &&
		unit_once_in(model->unit, 2);
	for (int i = 0; row->op == ZOP_INSERT && i < row->nrows; i++)
	{
		make_inserted(model->unit, &row->rows[i], &tuple);
		zrec_logical_put_row(tuples, &tuple, row->rows[i].bytes, row->rows[i].len);
	}
	ntuples = (logical->kind == ZLOGICAL_UPDATE ? 1 : 0) + (logical->has_old ? 1 : 0);
	for (int i = 0; i < ntuples; i++)
	{
		tuple.t_len = SizeofHeapTupleHeader + unit_int(model->unit, 0, 300);
		data[SizeofHeapTupleHeader] = (char) i;
		zrec_logical_put_tuple(tuples, &tuple);
	}
	logical->tuples = tuples->data;
	logical->len = tuples->len;
}

/* Decoding makes the tuples of the record's rows, and of no fewer bytes. */
static void
inserted_check(Unit *unit, const ZRecLogical *logical, const ZRowPlan *row)
{
	ZRecCursor	cur;
	ZRecCursor	rows;
	ZRecTuple	tuple;

	zrec_cursor_init(&cur, logical->tuples, logical->len);
	zrec_cursor_init(&rows, logical->rows, logical->rows_len);
	for (int i = 0; i < row->nrows; i++)
	{
		char	   *values = palloc(4 * BLCKSZ);
		char	   *from;
		char	   *at = values;

		unit_check(zrec_logical_take_head(&cur, &tuple));
		unit_check(tuple.len <= 4 * BLCKSZ);
		unit_check(zrec_logical_take_values(&cur, &tuple, &rows, logical->many, values));
		/* without zeros it is the row, without its own */
		at += tuple.nbytes;
		from = (char *) row->rows[i].bytes + zrow_values_offset(row->rows[i].bytes);
		for (; from < row->rows[i].bytes + row->rows[i].len; from++)
		{
			while (*at == 0 && *from != 0)
				at++;
			unit_check(*at++ == *from);
		}
		for (; at < values + tuple.len; at++)
			unit_check(*at == 0);
		pfree(values);
	}
	unit_check(zrec_cursor_done(&cur) && zrec_cursor_done(&rows));
	/* rows that are cut off */
	if (row->rows[0].len > ZROW_HDR_SIZE)
	{
		char	   *values = palloc(4 * BLCKSZ);

		zrec_cursor_init(&cur, logical->tuples, logical->len);
		zrec_cursor_init(&rows, logical->rows, unit_int(unit, 0, row->rows[0].len - 1));
		unit_check(zrec_logical_take_head(&cur, &tuple));
		unit_check(!zrec_logical_take_values(&cur, &tuple, &rows, logical->many, values));
		pfree(values);
	}
}

static void
logical_check(Unit *unit, const ZRecLogical *told, const ZRowPlan *row)
{
	XLogReaderState record;
	ZRecDecoded d;
	const ZRecLogical *logical = &d.logical;

	memset(&record, 0, sizeof(record));
	unit_check(zrec_decode(&zrec_change_kind, &record, &d));
	unit_check(logical->kind == told->kind && logical->nrows == told->nrows &&
			   logical->has_old == told->has_old && logical->more == told->more);
	unit_check(logical->len == told->len &&
			   memcmp(logical->tuples, told->tuples, told->len) == 0);
	if (row->op == ZOP_INSERT)
		inserted_check(unit, logical, row);
}

/* Return the length of the part for logical decoding. */
static Size
logical_size(const ZRecLogical *logical)
{
	char		nrows[ZVARINT_MAX];

	return 1 + logical->len + (logical->kind != ZLOGICAL_INSERT ? 0 :
							   zvarint_put(nrows, logical->nrows) - nrows);
}

/* The last record once more, with what decoding is told. */
static void
logical_replay_check(Model *model, ZChange *change, const ZChangeBuffers *buffers,
					 ZUndoWrite *write, const ZUndoBytes *undo)
{
	Size		len = unit_wal.len;
	ZRecLogical logical;
	StringInfoData tuples;

	make_logical(model, &change->row, &logical, &tuples);
	change->logical = &logical;
	zrec_change_emit(change, buffers, write, undo);
	change->logical = NULL;
	unit_check(unit_wal.len > len);
	unit_wal.optional = logical_size(&logical);
	logical_check(model->unit, &logical, &change->row);
	desc_check(&zrec_change_kind);
	unit_wal.optional = 0;
	pfree(tuples.data);
}

void
replay_change(Model *model, ZChange *change, int txn)
{
	ZUndoWrite	write = {InvalidBuffer};
	bool		on_overflow = change->has_undo && change->slot.slotno >= ZPAGE_FIRST_OVERFLOW;
	Subject		subject = subject_of(change->slot.slotno);
	bool		logged = !change->has_undo || !unit_once_in(model->unit, 10);
	ZChangeBuffers buffers = {UNIT_BUFFER(ZREC_BLK_TABLE), InvalidBuffer, InvalidBuffer};
	char		bytes[2 * BLCKSZ];
	Size		len = 0;
	ZUndoBytes	undo = {bytes, 0};
	Before		before;

	remember(model, &before);
	if (on_overflow)
		buffers.slots = UNIT_BUFFER(ZREC_BLK_OVERFLOW);
	/* as in the engine, the old bytes lie on the page that is about to change */
	if (change->row.op == ZOP_UPDATE)
		change->undo.mid = row_on_page(model, change->row.offnum) + ZROW_HDR_SIZE +
			change->undo.prefix;
	if (change->has_undo)
	{
		unit_complete_undo(model, change, txn, &write);
		unit_wal.blocks[ZREC_BLK_TABLE].used = true;
		unit_wal_tag(ZREC_BLK_TABLE, &change->undo.locator, &change->undo.block);
		len = undo_encode(model->unit, &change->undo, write.ptr, bytes, &undo.len);
		unit_wal.undo_ptr = write.ptr;
		unit_wal.undo_len = 0;
	}
	unit_wal.fxid = model_fxid(Max(txn, 0));

	zchange_apply(model_page(model), model_overflow(model, change->slot.slotno), change);
	if (change->row.op == ZOP_LOCK || change->row.op == ZOP_DIRECTORY)
		exact_check(model, &before, change);
	if (logged)
		zrec_change_emit(change, &buffers, &write, &undo);
	else
	{
		ZUndoBytes	log = {bytes, len};

		zrec_undo_emit(&change->undo, &write, &log);
	}
	set_lsn(model, subject);
	redo_check(model, &before, subject, &zrec_change_kind);
	desc_check(&zrec_change_kind);
	if (change->has_undo)
	{
		redo_undo_check(&write, bytes, len);
		model_undo_append(model, change, txn, bytes, len);
	}
	if (logged && unit_once_in(model->unit, 8))
		logical_replay_check(model, change, &buffers, &write, &undo);
	model_change(model, change, txn);
	model_check(model);
}

/* ---- the others; their effect on the model is the caller's ---- */

void
replay_rollback(Model *model, const ZRollbackPlan *plan)
{
	bool		on_overflow = plan->slotno >= ZPAGE_FIRST_OVERFLOW;
	Subject		subject = subject_of(plan->slotno);
	Before		before;

	remember(model, &before);
	zpage_rollback_apply(model_page(model), model_overflow(model, plan->slotno), plan);
	zrec_rollback_emit(plan, UNIT_BUFFER(ZREC_BLK_TABLE),
					   on_overflow ? UNIT_BUFFER(ZREC_BLK_OVERFLOW) : InvalidBuffer, NULL);
	set_lsn(model, subject);
	redo_check(model, &before, subject, &zrec_rollback_kind);
	desc_check(&zrec_rollback_kind);
}

void
replay_prune(Model *model, const ZPrunePlan *plan)
{
	Before		before;

	remember(model, &before);
	zpage_prune_apply(model_page(model), plan);
	zrec_prune_emit(plan, UNIT_BUFFER(ZREC_BLK_TABLE));
	set_lsn(model, subject_of(1));
	redo_check(model, &before, subject_of(1), &zrec_prune_kind);
	desc_check(&zrec_prune_kind);
}

static void
overflow_page(Model *model, bool init)
{
	Subject		subject = {model->noverflow, model->noverflow + 1};
	Page		parent = (Page) model_block(model, subject.table)->data;
	Before		before;

	remember(model, &before);
	if (init)
		zpage_init_apply(parent, 0);
	zpage_overflow_init_apply((Page) model_block(model, subject.slots)->data, UNIT_WAL_TABLE);
	zpage_overflow_apply(parent, UNIT_WAL_OVERFLOW);
	zrec_overflow_emit(UNIT_BUFFER(ZREC_BLK_TABLE), init, UNIT_BUFFER(ZREC_BLK_OVERFLOW),
					   UNIT_WAL_TABLE);
	set_lsn(model, subject);
	redo_check(model, &before, subject, &zrec_overflow_kind);
	desc_check(&zrec_overflow_kind);
	model->noverflow++;
	model_check(model);
}

/* The overflow page; where there is one: the lock page. */
void
replay_overflow(Model *model)
{
	overflow_page(model, false);
}

/* The table page, without slots, and its overflow page. */
void
replay_overflow_init(Model *model)
{
	memset(model_page(model), 0, BLCKSZ);
	model->initialised = true;
	model->nslots = 0;
	overflow_page(model, true);
}

void
replay_confirm(Model *model, OffsetNumber offnum)
{
	Before		before;

	remember(model, &before);
	zpage_confirm_apply(model_page(model), offnum);
	zrec_confirm_emit(UNIT_BUFFER(ZREC_BLK_TABLE), offnum, NULL);
	set_lsn(model, subject_of(1));
	redo_check(model, &before, subject_of(1), &zrec_confirm_kind);
	desc_check(&zrec_confirm_kind);
	/* a record of an all-visible page is longer, so this is the beginning of none */
	desc_check_damaged(&zrec_visible_kind);
}
