/*
 * inspect_result.c
 *		Rows of the functions' results.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/tuplestore.h"

#include "zheap/base/base.h"

#include "inspect_result.h"

/* Set nulls[] for the columns of the row; no column behind the last one may be set. */
static void
nulls_of(const InspectRow *row, TupleDesc desc, bool *nulls)
{
	Assert(desc->natts <= INSPECT_MAX_COLUMNS);
	for (int i = 0; i < INSPECT_MAX_COLUMNS; i++)
	{
		Assert(i < desc->natts || !row->is_set[i]);
		nulls[i] = !row->is_set[i];
	}
}

void
inspect_put(FunctionCallInfo fcinfo, InspectRow *row)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		nulls[INSPECT_MAX_COLUMNS];

	nulls_of(row, rsinfo->setDesc, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, nulls);
}

Datum
inspect_tuple(FunctionCallInfo fcinfo, InspectRow *row)
{
	TupleDesc	desc;
	bool		nulls[INSPECT_MAX_COLUMNS];

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	nulls_of(row, desc, nulls);
	return HeapTupleGetDatum(heap_form_tuple(desc, row->values, nulls));
}
