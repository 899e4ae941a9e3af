/*
 * inspect_undo.c
 *		The undo log's state, for SQL.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/xid8.h"

#include "zheap/undo/undo.h"

PG_FUNCTION_INFO_V1(zheap_undo_pending);
PG_FUNCTION_INFO_V1(zheap_undo_stats);

/*
 * Logs of this database with undo of aborted transactions that may still have to
 * be applied.  0: everything is settled.
 */
Datum
zheap_undo_pending(PG_FUNCTION_ARGS)
{
	ZUndoStats	stats;

	zheap_require_preload();
	zundo_open();
	zundo_stats(&stats);
	PG_RETURN_INT32(stats.logs_pending);
}

Datum
zheap_undo_stats(PG_FUNCTION_ARGS)
{
	ZUndoStats	stats;
	TupleDesc	desc;
	Datum		values[6];
	bool		nulls[6] = {false};

	zheap_require_preload();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	zundo_open();
	zundo_stats(&stats);
	values[0] = Int64GetDatum((int64) stats.nblocks * BLCKSZ);
	values[1] = Int64GetDatum((int64) stats.extents_used * ZUNDO_EXTENT_BLOCKS * BLCKSZ);
	values[2] = Int64GetDatum((int64) stats.extents_free * ZUNDO_EXTENT_BLOCKS * BLCKSZ);
	values[3] = Int32GetDatum(stats.logs);
	values[4] = Int32GetDatum(stats.logs_pending);
	values[5] = FullTransactionIdGetDatum(stats.horizon);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
