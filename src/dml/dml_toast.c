/*
 * dml_toast.c
 *		Forming the row to be stored from the values of an executor slot.
 *
 * Long values are stored by core's heap toaster in an ordinary heap toast table.  It works on
 * heap tuples, so long rows are converted to one and back.
 *
 * LOCKING: zdml_form_whole() and zdml_toast() may run the toaster, so no page is locked (D3).
 * The others take no lock, and may be called with a page locked.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "executor/tuptable.h"

#include "zheap/dml/target.h"
#include "zheap/scan/tuple_slot.h"

bool
zdml_needs_toaster(Relation rel, uint32 len, uint8 flags)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW)
		return false;
	return zrow_is_for_toaster(len, flags);
}

/*
 * Form a row from an executor slot that lacks the last columns: as on heap, their values are the
 * missing values of the table.
 */
static pg_noinline void
form_from_fewer_columns(Relation rel, TupleTableSlot *slot, ZFormedRow *row)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			natts = slot->tts_tupleDescriptor->natts;
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));

	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, natts * sizeof(Datum));
	memcpy(isnull, slot->tts_isnull, natts * sizeof(bool));
	for (int i = natts; i < desc->natts; i++)
		values[i] = getmissingattr(desc, i + 1, &isnull[i]);
	row->bytes = zrow_form(desc, values, isnull, &row->len);
	pfree(values);
	pfree(isnull);
}

void
zdml_form(Relation rel, TupleTableSlot *slot, ZFormedRow *row)
{
	TupleDesc	desc = RelationGetDescr(rel);

	row->bytes = ztuple_slot_formed(slot, desc, &row->len);
	row->borrowed = row->bytes != NULL;
	if (row->borrowed)
		return;
	if (unlikely(slot->tts_tupleDescriptor->natts < desc->natts))
	{
		form_from_fewer_columns(rel, slot, row);
		return;
	}
	slot_getallattrs(slot);
	row->bytes = zrow_form(desc, slot->tts_values, slot->tts_isnull, &row->len);
}

void
zdml_form_release(ZFormedRow *row)
{
	if (!row->borrowed)
		pfree(row->bytes);
	row->bytes = NULL;
}

static void
form_from_heap_tuple(Relation rel, HeapTuple tuple, ZFormedRow *row)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));

	heap_deform_tuple(tuple, desc, values, isnull);
	row->bytes = zrow_form(desc, values, isnull, &row->len);
	row->borrowed = false;
	pfree(values);
	pfree(isnull);
}

StaticAssertDecl(ZROW_MAX_FORMED <= ZPAGE_MAX_ROW, "a page has room for any row");

void
zdml_check_length(uint32 len)
{
	if (len > ZROW_MAX_FORMED)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %zu, maximum size %zu",
						(Size) len, (Size) ZROW_MAX_FORMED)));
}

void
zdml_toast(Relation rel, TupleTableSlot *slot, HeapTuple old, int options, ZFormedRow *row)
{
	bool		free_tuple;
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, true, &free_tuple);
	HeapTuple	toasted;

	Assert(!zheap_holds_buffer_lock()); /* D3 */
	toasted = heap_toast_insert_or_update(rel, tuple, old, options);
	zdml_form_release(row);
	form_from_heap_tuple(rel, toasted, row);
	if (toasted != tuple)
		heap_freetuple(toasted);
	if (free_tuple)
		heap_freetuple(tuple);
	zdml_check_length(row->len);
}

void
zdml_form_whole(Relation rel, TupleTableSlot *slot, int options, ZFormedRow *row)
{
	zdml_form(rel, slot, row);
	/* a row borrowed from the slot is neither too long nor for the toaster */
	if (row->borrowed)
		return;
	if (zdml_needs_toaster(rel, row->len, zrow_flags(row->bytes)))
		zdml_toast(rel, slot, NULL, options, row);
	else
		zdml_check_length(row->len);
}

HeapTuple
zdml_heap_tuple(Relation rel, const char *row, uint32 len)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	char	   *scratch = palloc(ZROW_SCRATCH_SIZE(desc->natts, len));
	ZRowDeform	state = {0};
	HeapTuple	tuple;

	state.scratch = scratch;
	if (!zrow_deform(desc, row, len, desc->natts, values, isnull, &state))
		zheap_corrupt(rel, InvalidBlockNumber, InvalidOffsetNumber,
					  "row of %u bytes cannot be read", len);
	tuple = heap_form_tuple(desc, values, isnull);
	tuple->t_tableOid = RelationGetRelid(rel);
	pfree(values);
	pfree(isnull);
	pfree(scratch);
	return tuple;
}
