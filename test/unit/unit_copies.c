/*
 * unit_copies.c
 *		What C code may do with slots of a table, whatever its access method: copy them to slots of
 *		every kind, and have heap tuples and minimal tuples of them.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "unit_callbacks.h"
#include "unit_compat.h"

PG_FUNCTION_INFO_V1(zheap_unit_copies);
PG_FUNCTION_INFO_V1(zheap_unit_few_columns);
PG_FUNCTION_INFO_V1(zheap_unit_system_columns);
PG_FUNCTION_INFO_V1(zheap_unit_taken_for_heap);

#define MAX_SOURCES		20

typedef struct Source
{
	const char *name;
	TupleTableSlot *slot;
	TableScanDesc scan;			/* still open, or NULL */
	char	   *row;
	ItemPointerData tid;
	Oid			table;
} Source;

typedef struct Copies
{
	Relation	rel;
	int			n;
	Source		sources[MAX_SOURCES];
	int			done;
	const char *where;			/* for errors */
} Copies;

static Source *
source_add(Copies *copies, const char *name, TupleTableSlot *slot)
{
	Source	   *source = &copies->sources[copies->n++];

	Assert(copies->n <= MAX_SOURCES);
	source->name = name;
	source->slot = slot;
	source->scan = NULL;
	/* not from the slot itself, which is to be read later */
	slot = MakeSingleTupleTableSlot(source->slot->tts_tupleDescriptor, &TTSOpsVirtual);
	ExecCopySlot(slot, source->slot);
	source->row = unit_row_text(slot);
	ExecDropSingleTupleTableSlot(slot);
	source->tid = source->slot->tts_tid;
	source->table = source->slot->tts_tableOid;
	return source;
}

static TupleTableSlot *
first_row(Relation rel, TableScanDesc *scan)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	*scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL, SO_NONE);
	if (!table_scan_getnextslot(*scan, ForwardScanDirection, slot))
		elog(ERROR, "table \"%s\" is empty", RelationGetRelationName(rel));
	return slot;
}

static TupleTableSlot *
copied(const TupleTableSlotOps *ops, TupleTableSlot *from)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(from->tts_tupleDescriptor, ops);

	ExecCopySlot(slot, from);
	return slot;
}

/* Slots as C code may come by them. */
static void
sources_make(Copies *copies, Relation heap)
{
	Relation	rel = copies->rel;
	const TupleTableSlotOps *own = table_slot_callbacks(rel);
	TupleTableSlot *row;
	TupleTableSlot *slot;
	TableScanDesc scan;

	row = first_row(heap, &scan);
	source_add(copies, "buffer", row)->scan = scan;
	source_add(copies, "heap", copied(&TTSOpsHeapTuple, row));
	row = first_row(rel, &scan);
	source_add(copies, "scan", row)->scan = scan;
	source_add(copies, "virtual", copied(&TTSOpsVirtual, row));
	source_add(copies, "minimal", copied(&TTSOpsMinimalTuple, row));
	source_add(copies, "copy", copied(own, row));
	slot = first_row(rel, &scan);
	table_endscan(scan);
	source_add(copies, "scan that has ended", slot);
	slot = first_row(rel, &scan);
	table_endscan(scan);
	ExecMaterializeSlot(slot);
	source_add(copies, "materialized", slot);
	slot = table_slot_create(rel, NULL);
	if (!table_tuple_fetch_row_version(rel, &row->tts_tid, GetActiveSnapshot(), slot))
		elog(ERROR, "row is not there");
	source_add(copies, "fetched", slot);
	slot = table_slot_create(rel, NULL);
	ExecForceStoreHeapTuple(ExecCopySlotHeapTuple(row), slot, false);
	source_add(copies, "values", slot);
	slot = table_slot_create(rel, NULL);
	ExecForceStoreHeapTuple(ExecCopySlotHeapTuple(row), slot, true);
	source_add(copies, "values materialized", slot);
	slot = table_slot_create(rel, NULL);
	ExecForceStoreMinimalTuple(ExecCopySlotMinimalTuple(row), slot, true);
	table_tuple_insert(rel, slot, GetCurrentCommandId(true), 0, NULL);
	source_add(copies, "inserted", slot);
}

static void
check_text(Copies *copies, const Source *source, TupleTableSlot *slot, const char *what)
{
	char	   *row = unit_row_text(slot);

	if (strcmp(row, source->row) != 0)
		elog(ERROR, "%s, slot \"%s\", %s: %s instead of %s", copies->where, source->name, what, row,
			 source->row);
	pfree(row);
	copies->done++;
}

/* A tuple of the source's, in a slot of the kind; what it is a part of may go. */
static void
check_heap_tuple(Copies *copies, const Source *source, HeapTuple tuple, TupleTableSlot *to,
				 const char *what)
{
	ExecForceStoreHeapTuple(heap_copytuple(tuple), to, true);
	check_text(copies, source, to, what);
	ExecClearTuple(to);
	/* values alone have been in no table */
	if (!ItemPointerIsValid(&source->tid) || TTS_IS_VIRTUAL(source->slot) ||
		TTS_IS_MINIMALTUPLE(source->slot))
		return;
	if (tuple->t_tableOid != source->table ||
		!ItemPointerEquals(&tuple->t_self, unconstify(ItemPointerData *, &source->tid)))
		elog(ERROR, "%s, slot \"%s\", %s: wrong TID or table", copies->where, source->name, what);
}

static void
check_tuples(Copies *copies, const Source *source, TupleTableSlot *to, bool materialize)
{
	TupleTableSlot *slot = source->slot;
	HeapTuple	tuple;
	MinimalTuple minimal;
	HeapTupleData composite;
	bool		should_free;

	tuple = ExecFetchSlotHeapTuple(slot, materialize, &should_free);
	check_heap_tuple(copies, source, tuple, to, "heap tuple");
	if (should_free)
		heap_freetuple(tuple);
	tuple = ExecCopySlotHeapTuple(slot);
	check_heap_tuple(copies, source, tuple, to, "copied heap tuple");
	heap_freetuple(tuple);
	minimal = ExecFetchSlotMinimalTuple(slot, &should_free);
	ExecForceStoreMinimalTuple(heap_copy_minimal_tuple(minimal, 0), to, true);
	check_text(copies, source, to, "minimal tuple");
	if (should_free)
		heap_free_minimal_tuple(minimal);
	ExecForceStoreMinimalTuple(ExecCopySlotMinimalTuple(slot), to, true);
	check_text(copies, source, to, "copied minimal tuple");
	composite.t_data = DatumGetHeapTupleHeader(ExecFetchSlotHeapTupleDatum(slot));
	composite.t_len = HeapTupleHeaderGetDatumLength(composite.t_data);
	ItemPointerSetInvalid(&composite.t_self);
	composite.t_tableOid = InvalidOid;
	ExecForceStoreHeapTuple(heap_copytuple(&composite), to, true);
	check_text(copies, source, to, "composite");
	ExecClearTuple(to);
}

/* In every direction: to a slot of that kind, and on to one of the table's. */
static void
check_copies(Copies *copies, const Source *source, TupleTableSlot *to)
{
	TupleTableSlot *back = table_slot_create(copies->rel, NULL);

	ExecCopySlot(to, source->slot);
	check_text(copies, source, to, "copied");
	ExecCopySlot(back, to);
	ExecMaterializeSlot(to);
	check_text(copies, source, to, "copied and materialized");
	ExecClearTuple(to);
	check_text(copies, source, back, "copied on");
	ExecMaterializeSlot(back);
	check_text(copies, source, back, "copied on and materialized");
	ExecDropSingleTupleTableSlot(back);
	/* neither has changed the source */
	check_text(copies, source, source->slot, "itself");
}

static void
check_source(Copies *copies, const Source *source, bool materialize)
{
	const TupleTableSlotOps *kinds[] = {
		&TTSOpsVirtual, &TTSOpsHeapTuple, &TTSOpsMinimalTuple, &TTSOpsBufferHeapTuple,
		table_slot_callbacks(copies->rel)
	};

	for (int i = 0; i < (int) lengthof(kinds); i++)
	{
		TupleTableSlot *to;

		to = MakeSingleTupleTableSlot(RelationGetDescr(copies->rel), kinds[i]);
		check_copies(copies, source, to);
		check_tuples(copies, source, to, materialize);
		ExecDropSingleTupleTableSlot(to);
	}
}

/* (table, heap table, statement that changes both): returns how many comparisons were right. */
Datum
zheap_unit_copies(PG_FUNCTION_ARGS)
{
	Relation	heap = table_open(PG_GETARG_OID(1), AccessShareLock);
	char	   *change = text_to_cstring(PG_GETARG_TEXT_PP(2));
	Copies		copies = {.rel = table_open(PG_GETARG_OID(0), RowExclusiveLock)};

	sources_make(&copies, heap);
	copies.where = "before";
	for (int i = 0; i < copies.n; i++)
	{
		/* half of them are looked at before the change as well */
		if (i % 2 == 0)
			check_source(&copies, &copies.sources[i], false);
	}
	SPI_connect();
	if (SPI_execute(change, false, 0) < 0)
		elog(ERROR, "cannot execute the statement");
	SPI_finish();
	for (int i = 0; i < copies.n; i++)
	{
		Source	   *source = &copies.sources[i];

		copies.where = "changed";
		check_source(&copies, source, false);
		/* a heap slot's tuple is a part of the scan */
		if (TTS_IS_BUFFERTUPLE(source->slot))
			ExecMaterializeSlot(source->slot);
		if (source->scan != NULL)
			table_endscan(source->scan);
		copies.where = "scan has ended";
		check_source(&copies, source, false);
		copies.where = "materialized by fetching";
		check_source(&copies, source, true);
		ExecMaterializeSlot(source->slot);
		copies.where = "materialized";
		check_source(&copies, source, false);
		ExecDropSingleTupleTableSlot(source->slot);
	}
	table_close(copies.rel, NoLock);
	table_close(heap, NoLock);
	PG_RETURN_INT32(copies.done);
}

/*
 * Insert the first columns of the table's first row, (table, number of columns), by a slot that
 * knows no more of them.
 */
Datum
zheap_unit_few_columns(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	int			natts = PG_GETARG_INT32(1);
	TupleDesc	desc = CreateTemplateTupleDesc(natts);
	TableScanDesc scan;
	TupleTableSlot *row = first_row(rel, &scan);
	TupleTableSlot *slot;

	for (int i = 1; i <= natts; i++)
		TupleDescCopyEntry(desc, i, RelationGetDescr(rel), i);
	TupleDescFinalize(desc);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	table_tuple_insert(rel, slot, GetCurrentCommandId(true), 0, NULL);
	table_multi_insert(rel, &slot, 1, GetCurrentCommandId(true), 0, NULL);
	ExecDropSingleTupleTableSlot(slot);
	ExecDropSingleTupleTableSlot(row);
	table_endscan(scan);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/*
 * (table, relation without rows of its own) Values that say that they are of that relation have no
 * system columns.  A row that was inserted has some, when nothing locks the table any more.
 */
Datum
zheap_unit_system_columns(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan;
	TupleTableSlot *row = first_row(rel, &scan);

	ExecForceStoreHeapTuple(ExecCopySlotHeapTuple(row), slot, true);
	slot->tts_tableOid = PG_GETARG_OID(1);
	ItemPointerSet(&slot->tts_tid, 0, 1);
	if (unit_system_text(slot) != NULL)
		elog(ERROR, "a row of \"%s\" has system columns", get_rel_name(PG_GETARG_OID(1)));
	table_tuple_insert(rel, slot, GetCurrentCommandId(true), 0, NULL);
	ExecDropSingleTupleTableSlot(row);
	table_endscan(scan);
	table_close(rel, RowExclusiveLock);
	if (unit_system_text(slot) == NULL)
		elog(ERROR, "an inserted row has no system columns");
	ExecDropSingleTupleTableSlot(slot);
	PG_RETURN_VOID();
}

/*
 * Delete the table's first row, in a slot that is taken for heap's, as code does that knows no
 * other table access method.
 */
Datum
zheap_unit_taken_for_heap(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	TableScanDesc scan;
	TupleTableSlot *slot = first_row(rel, &scan);
	HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;

	if (BufferIsValid(((BufferHeapTupleTableSlot *) slot)->buffer) || tuple->t_data != NULL)
		elog(ERROR, "slot has a buffer, or a tuple");
	simple_heap_delete(rel, &tuple->t_self);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}
