/*
 * heap_writer.c
 *		The server's heap functions, called on any table, as C code does that takes it for heap's.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "unit_compat.h"

PG_FUNCTION_INFO_V1(zheap_unit_heap_write);
PG_FUNCTION_INFO_V1(zheap_unit_heap_read);

/* The values are as in SQL's literals; those that are missing are null. */
static HeapTuple
literals_form(Relation rel, ArrayType *array)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	  **literals = palloc0(desc->natts * sizeof(char *));
	Datum	   *values;
	bool	   *isnull;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &isnull, &n);
	for (int i = 0; i < Min(n, desc->natts); i++)
		literals[i] = isnull[i] ? NULL : TextDatumGetCString(values[i]);
	return BuildTupleFromCStrings(TupleDescGetAttInMetadata(desc), literals);
}

static void
multi_insert(Relation rel, HeapTuple tuple)
{
	TupleTableSlot *slots[3];

	for (int i = 0; i < 3; i++)
	{
		slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
		ExecStoreHeapTuple(heap_copytuple(tuple), slots[i], false);
	}
	heap_multi_insert(rel, slots, 3, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < 3; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
}

static void
lock(Relation rel, HeapTuple tuple)
{
	TM_FailureData failure;
	Buffer		buffer;
	TM_Result	result = heap_lock_tuple(rel, tuple, GetCurrentCommandId(true), LockTupleExclusive,
										 LockWaitError, false, &buffer, &failure);

	ReleaseBuffer(buffer);
	if (result != TM_Ok)
		elog(ERROR, "row was not locked: %d", result);
}

/*
 * zheap_unit_heap_write(function, table, TID, values): the TID is that of the row, or for rows that
 * are inserted, the block on which heap_insert() is to look for room; without an offset it finds
 * one by itself.
 */
Datum
zheap_unit_heap_write(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Relation	rel = table_open(PG_GETARG_OID(1), RowExclusiveLock);
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(2);
	HeapTuple	tuple = literals_form(rel, PG_GETARG_ARRAYTYPE_P(3));
	TU_UpdateIndexes indexes;

	tuple->t_self = *tid;
	/* before 15.7 the free space map could name a block without a question to the access method */
	if (ItemPointerGetOffsetNumberNoCheck(tid) != InvalidOffsetNumber)
		RelationSetTargetBlock(rel, ItemPointerGetBlockNumberNoCheck(tid));
	if (strcmp(what, "heap_insert") == 0)
		heap_insert(rel, tuple, GetCurrentCommandId(true), 0, NULL);
	else if (strcmp(what, "heap_multi_insert") == 0)
		multi_insert(rel, tuple);
	else if (strcmp(what, "CatalogTupleInsert") == 0)
		CatalogTupleInsert(rel, tuple);
	else if (strcmp(what, "simple_heap_update") == 0)
		simple_heap_update(rel, tid, tuple, &indexes);
	else if (strcmp(what, "simple_heap_delete") == 0)
		simple_heap_delete(rel, tid);
	else if (strcmp(what, "heap_lock_tuple") == 0)
		lock(rel, tuple);
	else if (strcmp(what, "heap_inplace_update") == 0)
		heap_inplace_update(rel, tuple);
	else
		elog(ERROR, "unknown function \"%s\"", what);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

static bool
fetch(Relation rel, ItemPointer tid)
{
	HeapTupleData tuple;
	Buffer		buffer;
	bool		found;

	tuple.t_self = *tid;
	found = heap_fetch(rel, GetActiveSnapshot(), &tuple, &buffer, false);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	return found;
}

static bool
hot_search(Relation rel, ItemPointer tid)
{
	HeapTupleData tuple;
	Buffer		buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	bool		found;
	bool		all_dead;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = heap_hot_search_buffer(tid, rel, buffer, GetActiveSnapshot(), &tuple, &all_dead, true);
	UnlockReleaseBuffer(buffer);
	return found;
}

static bool
getnext(Relation rel, bool by_heap)
{
	TableScanDesc scan = by_heap ?
		heap_beginscan(rel, GetActiveSnapshot(), 0, NULL, NULL,
					   SO_TYPE_SEQSCAN | SO_ALLOW_PAGEMODE) :
		table_beginscan(rel, GetActiveSnapshot(), 0, NULL, SO_NONE);
	bool		found = heap_getnext(scan, ForwardScanDirection) != NULL;

	if (by_heap)
		heap_endscan(scan);
	else
		table_endscan(scan);
	return found;
}

static bool
getnextslot(Relation rel)
{
	TableScanDesc scan = heap_beginscan(rel, GetActiveSnapshot(), 0, NULL, NULL,
										SO_TYPE_SEQSCAN | SO_ALLOW_PAGEMODE);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsBufferHeapTuple);
	bool		found = heap_getnextslot(scan, ForwardScanDirection, slot);

	heap_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return found;
}

/* zheap_unit_heap_read(function, table, TID): true if a row is found */
Datum
zheap_unit_heap_read(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Relation	rel = table_open(PG_GETARG_OID(1), AccessShareLock);
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(2);
	bool		found;

	if (strcmp(what, "heap_fetch") == 0)
		found = fetch(rel, tid);
	else if (strcmp(what, "heap_hot_search_buffer") == 0)
		found = hot_search(rel, tid);
	else if (strcmp(what, "heap_getnext") == 0)
		found = getnext(rel, false);
	else if (strcmp(what, "heap_getnext of heap_beginscan") == 0)
		found = getnext(rel, true);
	else if (strcmp(what, "heap_getnextslot") == 0)
		found = getnextslot(rel);
	else
		elog(ERROR, "unknown function \"%s\"", what);
	table_close(rel, NoLock);
	PG_RETURN_BOOL(found);
}
