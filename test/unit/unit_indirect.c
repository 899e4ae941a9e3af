/*
 * unit_indirect.c
 *		Values that are only pointers to memory, as C code may hand them over.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "fmgr.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(zheap_unit_indirect);

/* A pointer to a copy of the value that lasts as long as the transaction. */
static Datum
indirect(Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	varatt_indirect target;
	struct varlena *result = palloc0(VARHDRSZ_EXTERNAL + sizeof(target));

	target.pointer = (struct varlena *) DatumGetPointer(datumCopy(value, false, -1));
	SET_VARTAG_EXTERNAL(result, VARTAG_INDIRECT);
	memcpy(VARDATA_EXTERNAL(result), &target, sizeof(target));
	MemoryContextSwitchTo(old);
	return PointerGetDatum(result);
}

Datum
zheap_unit_indirect(PG_FUNCTION_ARGS)
{
	HeapTupleHeader header = PG_GETARG_HEAPTUPLEHEADER(0);
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
											  HeapTupleHeaderGetTypMod(header));
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	HeapTuple	result;

	heap_deform_tuple(&tuple, desc, values, isnull);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!isnull[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			!VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			values[i] = indirect(values[i]);
	}
	result = heap_form_tuple(desc, values, isnull);
	ReleaseTupleDesc(desc);

	/* PG_RETURN_HEAPTUPLEHEADER would fetch the values again */
	PG_RETURN_POINTER(result->t_data);
}
