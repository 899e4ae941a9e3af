/*
 * unit_replay_move.c
 *		Move rows as the server does, and again as recovery does.
 *
 * On one page both changes are the model's.  Of two pages the old one is the model's, the new one
 * is made for the move and forgotten: it is there to be compared.
 */
#include "postgres.h"

#include "unit_model.h"
#include "unit_wal.h"

#include "../../src/record/rec_private.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

/* What lies in the holes is not the same after a crash. */
static void
zero_hole(char *page)
{
	PageHeader	header = (PageHeader) page;

	memset(page + header->pd_lower, 0, header->pd_upper - header->pd_lower);
}

static void
compare(const PGAlignedBlock *want, const PGAlignedBlock *got)
{
	PGAlignedBlock a = *want;
	PGAlignedBlock b = *got;

	zero_hole(a.data);
	zero_hole(b.data);
	unit_check(memcmp(a.data, b.data, BLCKSZ) == 0);
}

/*
 * Redo on pages as they were, or on pages that have reached the disk since, each by itself.
 */
static void
redo_move(Unit *unit, const PGAlignedBlock *old_before, const PGAlignedBlock *old,
		  const PGAlignedBlock *new_before, const PGAlignedBlock *new)
{
	bool		one_page = old == new;
	UnitWalBlock *table = &unit_wal.blocks[ZREC_BLK_TABLE];
	UnitWalBlock *left = &unit_wal.blocks[ZREC_BLK_OLD];
	PGAlignedBlock new_copy;
	PGAlignedBlock old_copy;
	XLogReaderState record;

	memset(&record, 0, sizeof(record));
	record.ReadRecPtr = record.EndRecPtr = UNIT_WAL_LSN;
	table->done = unit_once_in(unit, 4);
	left->done = unit_once_in(unit, 4);
	new_copy = table->done ? *new : *new_before;
	old_copy = left->done ? *old : *old_before;
	zero_hole(new_copy.data);
	zero_hole(old_copy.data);
	table->page = (Page) new_copy.data;
	left->page = (Page) old_copy.data;
	zrec_redo(&zrec_move_kind, &record);
	compare(new, &new_copy);
	if (!one_page)
		compare(old, &old_copy);
}

/* Whatever the bytes are, they have a description; the record's beginning is none. */
static void
describe_move(void)
{
	XLogReaderState record;
	StringInfoData text;
	Size		len = unit_wal.len;

	memset(&record, 0, sizeof(record));
	initStringInfo(&text);
	zrec_desc(&zrec_move_kind, &text, &record);
	unit_check(text.len > 0 && strstr(text.data, "damaged") == NULL);
	for (unit_wal.len = 0; unit_wal.len < len; unit_wal.len++)
	{
		resetStringInfo(&text);
		zrec_desc(&zrec_move_kind, &text, &record);
		unit_check(strstr(text.data, "damaged") != NULL);
	}
	for (Size i = 0; i < len; i++)
	{
		char		byte = unit_wal.data[i];

		unit_wal.data[i] ^= 1 << i % 8;
		resetStringInfo(&text);
		zrec_desc(&zrec_move_kind, &text, &record);
		unit_check(text.len > 0);
		unit_wal.data[i] = byte;
	}
	pfree(text.data);
}

/* What the deletion and the places of the undo records decide. */
static void
complete_insertion(ZMove *move, bool one_page, ZUndoPtr ptr)
{
	ZChange    *insertion = &move->insertion;
	ZUndoRecord *undo = &insertion->undo;

	undo->type = ZOP_INSERT;
	undo->slotno = insertion->slot.slotno;
	undo->takeover = insertion->slot.takeover;
	undo->slot_prev = insertion->slot.prev;
	undo->offnum = insertion->row.rows[0].offnum;
	undo->count = 1;
	undo->cid = move->deletion.undo.cid;
	undo->fxid = move->deletion.undo.fxid;
	undo->has_page = !one_page;
	if (one_page)
		undo->page_prev = move->deletion.slot.next.undo;
	insertion->slot.next.fxid = undo->fxid;
	insertion->slot.next.undo = ptr;
}

/* The pages that the two undo records are about, as redo will have them. */
static void
set_places(ZMove *move, bool one_page)
{
	ZUndoRecord *deletion = &move->deletion.undo;
	ZUndoRecord *insertion = &move->insertion.undo;

	unit_wal.blocks[ZREC_BLK_TABLE].used = unit_wal.blocks[ZREC_BLK_OLD].used = true;
	unit_wal_tag(ZREC_BLK_TABLE, &insertion->locator, &insertion->block);
	unit_wal_tag(one_page ? ZREC_BLK_TABLE : ZREC_BLK_OLD, &deletion->locator,
				 &deletion->block);
}

/* False: the two undo records would lie on two pages. */
bool
replay_move(Model *model, ZMove *move, int txn, PGAlignedBlock *other)
{
	bool		one_page = other == NULL;
	PGAlignedBlock *new = one_page ? &model->page : other;
	PGAlignedBlock old_before = model->page;
	PGAlignedBlock new_before = *new;
	ZMoveBuffers buffers = {UNIT_BUFFER(one_page ? ZREC_BLK_TABLE : ZREC_BLK_OLD),
	UNIT_BUFFER(ZREC_BLK_TABLE), {InvalidBuffer, InvalidBuffer}};
	bool		has_second = move->insertion.has_undo;
	ZUndoWrite	write = {InvalidBuffer};
	ZUndoPtr	second;
	char		bytes[2][BLCKSZ];
	Size		len[2] = {0, 0};
	Size		wal_len;
	ZUndoBytes	undo = {bytes[0], 0};

	unit_complete_undo(model, &move->deletion, txn, &write);
	model->nundo++;
	second = model_undo_next(model);
	model->nundo--;
	if (zundo_ptr_block(second) != zundo_ptr_block(write.ptr))
		return false;
	unit_wal.undo_distance = zundo_ptr_offset(second) - zundo_ptr_offset(write.ptr);
	complete_insertion(move, one_page, second);
	set_places(move, one_page);
	unit_wal.undo_ptr = write.ptr;
	unit_wal.undo_len = 0;
	unit_wal.fxid = model_fxid(txn);
	len[0] = undo_encode(model->unit, &move->deletion.undo, write.ptr, bytes[0], &undo.len);
	if (has_second)
		len[1] = undo_encode(model->unit, &move->insertion.undo, second, bytes[1], &wal_len);

	zmove_apply((Page) model->page.data, (Page) new->data, move);
	(void) zrec_move_emit(move, &buffers, &write, &undo);
	PageSetLSN((Page) model->page.data, UNIT_WAL_LSN);
	PageSetLSN((Page) new->data, UNIT_WAL_LSN);
	for (int i = 0; i < 3; i++)
		redo_move(model->unit, &old_before, &model->page, &new_before, new);
	describe_move();
	unit_check(unit_wal.undo_at == write.ptr && unit_wal.undo_init == write.init);
	unit_check(unit_wal.undo_len == len[0] + len[1]);
	unit_check(memcmp(unit_wal.undo, bytes[0], len[0]) == 0 &&
			   memcmp(unit_wal.undo + len[0], bytes[1], len[1]) == 0);

	model_undo_append(model, &move->deletion, txn, bytes[0], len[0]);
	model_change(model, &move->deletion, txn);
	if (one_page)
	{
		model_undo_append(model, &move->insertion, txn, bytes[1], len[1]);
		model_change(model, &move->insertion, txn);
	}
	model_check(model);
	return true;
}
