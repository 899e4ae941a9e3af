/*
 * unit_slot.c
 *		The tuple slot: rows stored, copied to and from slots of every kind, and
 *		values put there by core.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"

#include "zheap/base/base.h"
#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"
#include "zheap/page/row.h"
#include "zheap/scan/tuple_slot.h"

#include "unit.h"
#include "unit_compat.h"

PG_FUNCTION_INFO_V1(zheap_unit_slot);
PG_FUNCTION_INFO_V1(zheap_unit_slot_damage);

#define TABLE_OID	12345
#define TID_BLOCK	7
#define TID_OFFSET	11

static const TupleTableSlotOps *const others[] = {
	&TTSOpsVirtual, &TTSOpsHeapTuple, &TTSOpsMinimalTuple, &TTSOpsBufferHeapTuple, &TTSOpsZheap
};

/*
 * Instead of the one that reads undo: an upper bound is of the transaction whose number
 * stands in the place of the record.
 */
void
zmvcc_resolve_id(ZVersionId *id, OffsetNumber offnum)
{
	unit_check(offnum == TID_OFFSET);
	if (id->modifier.kind != ZMODIFIER_UPPER_BOUND)
		return;
	if (id->modifier.place.undo == ZUNDO_INVALID)
		zmodifier_set_all_visible(&id->modifier);
	else
	{
		id->modifier.kind = ZMODIFIER_EXACT;
		id->modifier.place.fxid = FullTransactionIdFromU64(id->modifier.place.undo);
	}
}

/* What a copy is made of, instead of a page of a table. */
static PGAlignedBlock page_to_read;

bool
zview_read_pinned(ZPageView *view, Buffer buffer)
{
	memcpy(view->copy->data, page_to_read.data, BLCKSZ);
	view->horizon = InvalidFullTransactionId;
	return true;
}

/* The xmin to be shown. */
static TransactionId
id_xmin(const ZVersionId *id)
{
	ZVersionId	resolved = *id;

	zmvcc_resolve_id(&resolved, TID_OFFSET);
	if (zmodifier_is_all_visible(&resolved.modifier))
		return FrozenTransactionId;
	return XidFromFullTransactionId(zmodifier_fxid(&resolved.modifier));
}

static void
modifier_make(Unit *unit, ZModifier *modifier)
{
	modifier->kind = unit_once_in(unit, 2) ? ZMODIFIER_EXACT : ZMODIFIER_UPPER_BOUND;
	modifier->place.fxid = FullTransactionIdFromEpochAndXid(unit_int(unit, 0, 2),
															unit_int(unit, 3, 1000));
	modifier->place.undo = ZUNDO_INVALID;
	if (!unit_once_in(unit, 3))
		modifier->place.undo = unit_int(unit, 3, 1000);
}

static void
id_make(Unit *unit, ZVersionId *id)
{
	memset(id, 0, sizeof(*id));
	zmodifier_set_all_visible(&id->modifier);
	if (unit_once_in(unit, 3))
		return;
	modifier_make(unit, &id->modifier);
	id->cmin = unit_int(unit, 0, 9);
	if (unit_once_in(unit, 2))
	{
		id->xmax = unit_int(unit, 3, 1000);
		id->cmax = unit_int(unit, 0, 9);
	}
}

static void
row_store(Unit *unit, TupleTableSlot *slot, const UnitRow *row, const ZVersionId *id)
{
	ItemPointerData tid;
	uint32		len;
	char	   *bytes = zrow_form(row->stored_desc, row->values, row->isnull, &len);

	ItemPointerSet(&tid, TID_BLOCK, TID_OFFSET);
	ztuple_slot_store(slot, bytes, len, &tid, TABLE_OID, id);
	memset(bytes, 0x7f, len);	/* the slot must not look there again */
	pfree(bytes);
}

/* The only row of a page; returns its place. */
static char *
page_make(const char *bytes, uint32 len, const ZModifier *modifier)
{
	Page		page = (Page) page_to_read.data;
	uint32		offset;
	char	   *row;
	ZRowHeader	hdr;

	memset(page, 0, BLCKSZ);
	zpage_init_apply(page, 2);
	offset = ((PageHeader) page)->pd_special - len;
	row = (char *) page + offset;
	((PageHeader) page)->pd_upper = offset;
	memcpy(row, bytes, len);
	zrow_header_get(row, &hdr);
	if (!zmodifier_is_all_visible(modifier))
	{
		hdr.slotno = 2;
		if (modifier->kind == ZMODIFIER_UPPER_BOUND)
			hdr.flags |= ZROW_REUSED;
		zpage_slot_set(zpage_slot(page, NULL, 2), &modifier->place, 0);
	}
	zrow_header_put(row, &hdr);
	return row;
}

/*
 * A row that stays on a copy of its page; the scan that has made the copy goes on to other pages,
 * or ends.
 */
static void
row_refer(Unit *unit, TupleTableSlot *slot, const UnitRow *row, ZVersionId *id)
{
	static RelationData rel;
	static ZPageView view = {.rel = &rel};
	ZPageCopy  *copy = NULL;
	ItemPointerData tid;
	uint32		len;
	char	   *bytes = zrow_form(row->stored_desc, row->values, row->isnull, &len);
	const char *place;

	if (len > BLCKSZ - 500)
	{
		row_store(unit, slot, row, id);
		return;
	}
	id->cmin = id->xmax = id->cmax = 0;
	ItemPointerSet(&tid, TID_BLOCK, TID_OFFSET);
	place = page_make(bytes, len, &id->modifier);
	unit_check(zcopy_read(&copy, &view, InvalidBuffer));
	ztuple_slot_refer(slot, copy, copy->page.data + (place - page_to_read.data), len, &tid);
	slot->tts_tableOid = TABLE_OID;
	unit_check(copy->references == 2);
	if (unit_once_in(unit, 2))
	{
		ZPageCopy  *had = copy;

		memset(page_to_read.data, 0x7f, BLCKSZ);
		unit_check(zcopy_read(&copy, &view, InvalidBuffer));
		unit_check(copy != had && had->references == 1 && copy->references == 1);
		had = copy;
		unit_check(zcopy_read(&copy, &view, InvalidBuffer) && copy == had);
	}
	zcopy_forget(&copy, &view);
	unit_check(copy == NULL && ((ZTupleSlot *) slot)->copy->references == 1);
}

static void
content_check(Unit *unit, TupleTableSlot *slot, const UnitRow *row)
{
	int			natts = row->desc->natts;

	unit_check(!TTS_EMPTY(slot));
	if (natts > 0 && unit_once_in(unit, 2))
		slot_getsomeattrs(slot, unit_int(unit, 1, natts));
	if (unit_once_in(unit, 3))
		ExecMaterializeSlot(slot);
	slot_getallattrs(slot);
	unit_check(slot->tts_nvalid == natts);
	unit_values_compare(row, natts, slot->tts_values, slot->tts_isnull);
	unit_values_touch(row->desc, natts, slot->tts_values, slot->tts_isnull);
}

static uint32
sysattr(TupleTableSlot *slot, int attnum)
{
	bool		isnull;

	return DatumGetUInt32(slot_getsysattr(slot, attnum, &isnull));
}

static void
id_check(TupleTableSlot *slot, const ZVersionId *id)
{
	TransactionId xmin = id_xmin(id);
	bool		frozen = xmin == FrozenTransactionId;
	HeapTuple	tuple = ExecCopySlotHeapTuple(slot);
	bool		isnull;

	unit_check(sysattr(slot, MinTransactionIdAttributeNumber) == xmin);
	unit_check(sysattr(slot, MaxTransactionIdAttributeNumber) == id->xmax);
	unit_check(sysattr(slot, MinCommandIdAttributeNumber) == (frozen ? 0 : id->cmin));
	unit_check(sysattr(slot, MaxCommandIdAttributeNumber) == id->cmax);
	unit_check(sysattr(slot, TableOidAttributeNumber) == TABLE_OID);
	unit_check(ItemPointerGetBlockNumber(&slot->tts_tid) == TID_BLOCK);

	unit_check(tuple->t_tableOid == TABLE_OID);
	unit_check(ItemPointerEquals(&tuple->t_self, &slot->tts_tid));
#ifdef HEAP_IS_DATUM
	unit_check(!HeapTupleHeaderIsDatum(tuple->t_data)); /* or the server trusts its header */
#endif
	unit_check(xmin == DatumGetTransactionId(
				   heap_getsysattr(tuple, MinTransactionIdAttributeNumber, NULL, &isnull)));
	unit_check(id->xmax == DatumGetTransactionId(
				   heap_getsysattr(tuple, MaxTransactionIdAttributeNumber, NULL, &isnull)));
	heap_freetuple(tuple);
}

/*
 * To a slot whose descriptor does not know the values of missing columns: they
 * must have been copied.
 */
static void
plain_copy_check(Unit *unit, TupleTableSlot *slot, const UnitRow *row,
				 const ZVersionId *id)
{
	TupleTableSlot *copy = MakeSingleTupleTableSlot(CreateTupleDescCopy(row->desc),
													&TTSOpsZheap);

	ExecCopySlot(copy, slot);
	content_check(unit, copy, row);
	id_check(copy, id);
	ExecDropSingleTupleTableSlot(copy);
}

/* There and back through a slot of another kind. */
static void
copies_check(Unit *unit, TupleTableSlot *slot, const UnitRow *row, const ZVersionId *id)
{
	int			i;

	for (i = 0; i < (int) lengthof(others); i++)
	{
		TupleTableSlot *other = MakeSingleTupleTableSlot(row->desc, others[i]);
		TupleTableSlot *back = MakeSingleTupleTableSlot(row->desc, &TTSOpsZheap);

		ExecCopySlot(other, slot);
		content_check(unit, other, row);
		ExecCopySlot(back, other);
		if (TTS_IS_ZHEAP(other))
			id_check(other, id);
		ExecDropSingleTupleTableSlot(other);
		content_check(unit, back, row);
		if (others[i] == &TTSOpsZheap)
			id_check(back, id);
		ExecDropSingleTupleTableSlot(back);
	}
	plain_copy_check(unit, slot, row, id);
}

/* A materialised slot holds the row that its values make, unless the toaster is to see them. */
static void
formed_check(TupleTableSlot *slot, const UnitRow *row)
{
	uint32		len;
	uint32		formed_len = 0;
	char	   *bytes = zrow_form(row->desc, row->values, row->isnull, &len);
	char	   *formed = ztuple_slot_formed(slot, row->desc, &formed_len);
	TupleDesc	other = CreateTupleDescCopy(row->desc);

	if (len > ZROW_TOAST_THRESHOLD || (zrow_flags(bytes) & ZROW_HASEXTERNAL) != 0)
		unit_check(formed == NULL);
	else
		unit_check(formed != NULL && formed_len == len && memcmp(formed, bytes, len) == 0);
	unit_check(ztuple_slot_formed(slot, other, &formed_len) == NULL);
	pfree(bytes);
}

/* What core puts into slots of a table without asking the table. */
static void
virtual_check(Unit *unit, TupleTableSlot *slot, const UnitRow *row)
{
	int			natts = row->desc->natts;
	ZVersionId	id;
	HeapTuple	tuple = heap_form_tuple(row->desc, row->values, row->isnull);
	int			i;

	ExecForceStoreHeapTuple(tuple, slot, false);
	ExecMaterializeSlot(slot);
	memset(tuple->t_data, 0x7f, tuple->t_len);
	content_check(unit, slot, row);
	heap_freetuple(tuple);

	ExecForceStoreMinimalTuple(heap_form_minimal_tuple(row->desc, row->values, row->isnull, 0),
							   slot, true);
	content_check(unit, slot, row);

	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->isnull, natts);
	ExecStoreVirtualTuple(slot);
	ExecMaterializeSlot(slot);
	formed_check(slot, row);
	content_check(unit, slot, row);
	tuple = ExecFetchSlotHeapTuple(slot, unit_once_in(unit, 2), NULL);
	unit_check((int) HeapTupleHeaderGetNatts(tuple->t_data) == natts);

	do
		id_make(unit, &id);
	while (!zmodifier_is_exact(&id.modifier));
	id.xmax = id.cmax = 0;
	ItemPointerSet(&slot->tts_tid, TID_BLOCK, TID_OFFSET);
	slot->tts_tableOid = TABLE_OID;
	ztuple_slot_written(slot, zmodifier_fxid(&id.modifier), id.cmin, false);
	id_check(slot, &id);

	ExecStoreAllNullTuple(slot);
	slot_getallattrs(slot);
	for (i = 0; i < natts; i++)
		unit_check(slot->tts_isnull[i]);
	unit_check(ztuple_slot_id(slot) == NULL);
}

/* One slot, several rows of its table. */
static void
slot_round(Unit *unit)
{
	UnitRow		row;
	TupleTableSlot *slot;
	int			n;

	unit_desc_make(unit, unit_natts(unit), false, &row);
	slot = MakeSingleTupleTableSlot(row.desc, &TTSOpsZheap);
	for (n = unit_int(unit, 1, 6); n > 0; n--)
	{
		ZVersionId	id;
		uint8		flags;

		unit_values_make(unit, &row);
		if (zrow_form_length(row.stored_desc, row.values, row.isnull, &flags) > BLCKSZ)
		{
			virtual_check(unit, slot, &row);	/* no such row comes from a page */
			continue;
		}
		id_make(unit, &id);
		if (unit_once_in(unit, 2))
			row_refer(unit, slot, &row, &id);
		else
			row_store(unit, slot, &row, &id);
		if (unit_once_in(unit, 2))
			content_check(unit, slot, &row);
		id_check(slot, &id);
		if (unit_once_in(unit, 3))
			copies_check(unit, slot, &row, &id);
		content_check(unit, slot, &row);
		if (unit_once_in(unit, 4))
			virtual_check(unit, slot, &row);
		if (unit_once_in(unit, 4))
			ExecClearTuple(slot);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/* zheap_unit_slot(seed bigint, rounds integer) returns void */
Datum
zheap_unit_slot(PG_FUNCTION_ARGS)
{
	/* this library has its own */
	zheap_xmin = ZXMIN_TRANSACTION;
	return unit_repeat(fcinfo, slot_round);
}

/*
 * zheap_unit_slot_damage(what text) returns void: raise the slot's errors.
 *
 * "bytes": a row cut short; "length": a length that no row has; "system": a
 * system column of a row that came from no table
 */
Datum
zheap_unit_slot_damage(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(0));
	TupleDesc	desc = CreateTemplateTupleDesc(2);
	TupleTableSlot *slot;
	Datum		values[2];
	bool		isnull[2] = {false, false};
	ItemPointerData tid;
	uint32		len;
	char	   *bytes;

	TupleDescInitEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 2, "b", TEXTOID, -1, 0);
	TupleDescFinalize(desc);
	values[0] = Int32GetDatum(1);
	values[1] = CStringGetTextDatum("some text");
	bytes = zrow_form(desc, values, isnull, &len);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsZheap);
	ItemPointerSet(&tid, TID_BLOCK, TID_OFFSET);

	if (strcmp(what, "length") == 0)
		ztuple_slot_store(slot, bytes, (uint32) -3, &tid, TABLE_OID, NULL);
	ztuple_slot_store(slot, bytes, strcmp(what, "bytes") == 0 ? len - 1 : len,
					  &tid, TABLE_OID, NULL);
	if (strcmp(what, "system") == 0)
		(void) sysattr(slot, MinTransactionIdAttributeNumber);
	slot_getallattrs(slot);
	ExecDropSingleTupleTableSlot(slot);
	PG_RETURN_VOID();
}
