/*
 * inspect_counters.c
 *		What has been counted of the whole server, for SQL.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

#include "zheap/base/base.h"
#include "zheap/base/counters.h"

PG_FUNCTION_INFO_V1(zheap_cache_stats);
PG_FUNCTION_INFO_V1(zheap_stat_cache_reset);

Datum
zheap_cache_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	uint64		counts[ZCOUNT_NCOUNTERS];
	uint64		hits;
	Datum		values[4];
	bool		nulls[lengthof(values)] = {false};

	zheap_require_preload();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	zcounters_read(counts);
	hits = counts[ZCOUNT_STATUS_HITS] + counts[ZCOUNT_OUTCOME_HITS];
	values[0] = Int64GetDatum((int64) counts[ZCOUNT_COMMIT_LOG]);
	values[1] = Int64GetDatum((int64) hits);
	values[2] = Int64GetDatum((int64) counts[ZCOUNT_PROC_ARRAY]);
	values[3] = Int64GetDatum((int64) (counts[ZCOUNT_STATUS_HITS] + counts[ZCOUNT_ENDED_HITS]));
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
zheap_stat_cache_reset(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	zcounters_reset(ZCOUNT_STATUS_HITS, ZCOUNT_COMMIT_LOG);
	PG_RETURN_VOID();
}
