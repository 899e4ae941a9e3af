/*
 * believer.c
 *		A stand-in for extensions whose C code believes that every table is a heap table.
 *
 * Each function does what the C code of a published extension does with tables of its own: it
 * writes rows with the server's heap functions, whatever the access method of the table is,
 * or makes a table without a statement.  Tables have two integer columns, (a, b), or more, which
 * are null then.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "fmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "unit_compat.h"

PG_FUNCTION_INFO_V1(believer_insert);
PG_FUNCTION_INFO_V1(believer_multi_insert);
PG_FUNCTION_INFO_V1(believer_catalog_insert);
PG_FUNCTION_INFO_V1(believer_update);
PG_FUNCTION_INFO_V1(believer_catalog_update);
PG_FUNCTION_INFO_V1(believer_delete);
PG_FUNCTION_INFO_V1(believer_catalog_delete);
PG_FUNCTION_INFO_V1(believer_count);

static HeapTuple
row_form(Relation rel, int a, int b)
{
	int			natts = RelationGetDescr(rel)->natts;
	Datum	   *values = palloc0(natts * sizeof(Datum));
	bool	   *isnull = palloc(natts * sizeof(bool));

	if (natts < 2)
		elog(ERROR, "table \"%s\" has not two columns", RelationGetRelationName(rel));
	memset(isnull, true, natts * sizeof(bool));
	values[0] = Int32GetDatum(a);
	values[1] = Int32GetDatum(b);
	isnull[0] = isnull[1] = false;
	return heap_form_tuple(RelationGetDescr(rel), values, isnull);
}

/* A copy of the first row with "a", found as in a catalog. */
static HeapTuple
row_find(Relation rel, int a)
{
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, GetActiveSnapshot(), 0, NULL);
	HeapTuple	found = NULL;
	HeapTuple	tuple;

	while (found == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, 1, RelationGetDescr(rel), &isnull);

		if (!isnull && DatumGetInt32(value) == a)
			found = heap_copytuple(tuple);
	}
	systable_endscan(scan);
	if (found == NULL)
		elog(ERROR, "table \"%s\" has no row %d", RelationGetRelationName(rel), a);
	return found;
}

/* heap_insert() of the row (a, b) */
Datum
believer_insert(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);

	heap_insert(rel, row_form(rel, PG_GETARG_INT32(1), PG_GETARG_INT32(2)),
				GetCurrentCommandId(true), 0, NULL);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* heap_multi_insert() of the rows (a, b) to (a + rows - 1, b) */
Datum
believer_multi_insert(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	int			a = PG_GETARG_INT32(1);
	int			b = PG_GETARG_INT32(2);
	int			rows = PG_GETARG_INT32(3);
	TupleTableSlot **slots = palloc(Max(rows, 0) * sizeof(TupleTableSlot *));

	for (int i = 0; i < rows; i++)
	{
		slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
		ExecStoreHeapTuple(row_form(rel, a + i, b), slots[i], false);
	}
	if (rows > 0)
		heap_multi_insert(rel, slots, rows, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < rows; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* CatalogTupleInsert() of the row (a, b) */
Datum
believer_catalog_insert(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);

	CatalogTupleInsert(rel, row_form(rel, PG_GETARG_INT32(1), PG_GETARG_INT32(2)));
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* simple_heap_update() of the row with "a" to (a, b) */
Datum
believer_update(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	HeapTuple	old = row_find(rel, PG_GETARG_INT32(1));
	TU_UpdateIndexes indexes;

	simple_heap_update(rel, &old->t_self,
					   row_form(rel, PG_GETARG_INT32(1), PG_GETARG_INT32(2)), &indexes);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* CatalogTupleUpdate() of the row with "a" to (a, b) */
Datum
believer_catalog_update(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	HeapTuple	old = row_find(rel, PG_GETARG_INT32(1));

	CatalogTupleUpdate(rel, &old->t_self,
					   row_form(rel, PG_GETARG_INT32(1), PG_GETARG_INT32(2)));
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* simple_heap_delete() of the row with "a" */
Datum
believer_delete(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);

	simple_heap_delete(rel, &row_find(rel, PG_GETARG_INT32(1))->t_self);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* CatalogTupleDelete() of the row with "a" */
Datum
believer_catalog_delete(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);

	CatalogTupleDelete(rel, &row_find(rel, PG_GETARG_INT32(1))->t_self);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* How many rows heap_getnext() returns from a scan that is begun by table_ or heap_beginscan(). */
Datum
believer_count(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), AccessShareLock);
	bool		by_heap = PG_GETARG_BOOL(1);
	int64		rows = 0;
	TableScanDesc scan;

	if (by_heap)
		scan = heap_beginscan(rel, GetActiveSnapshot(), 0, NULL, NULL,
							  SO_TYPE_SEQSCAN | SO_ALLOW_PAGEMODE);
	else
		scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL, SO_NONE);
	while (heap_getnext(scan, ForwardScanDirection) != NULL)
		rows++;
	if (by_heap)
		heap_endscan(scan);
	else
		table_endscan(scan);
	table_close(rel, NoLock);
	PG_RETURN_INT64(rows);
}
