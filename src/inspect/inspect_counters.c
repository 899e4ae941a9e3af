/*
 * inspect_counters.c
 *		SQL functions for counters of the whole server.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/tuplestore.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "zheap/base/base.h"
#include "zheap/base/counters.h"

PG_FUNCTION_INFO_V1(zheap_io_stats);
PG_FUNCTION_INFO_V1(zheap_stat_io_reset);
PG_FUNCTION_INFO_V1(zheap_cache_stats);
PG_FUNCTION_INFO_V1(zheap_stat_cache_reset);

/* SQL: zheap_cache_stats(): one row with the look-ups of transactions' statuses. */
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

static const char *const readers[ZREADER_NREADERS] = {
	[ZREADER_INDEX_SCAN] = "index scan",
	[ZREADER_SEQ_SCAN] = "sequential scan",
	[ZREADER_VACUUM] = "vacuum",
	[ZREADER_ROLLBACK] = "rollback"
};

/* SQL: zheap_io_stats(): prefetched blocks, a row for each kind of reader. */
Datum
zheap_io_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		counts[ZCOUNT_NCOUNTERS];

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	zcounters_read(counts);
	for (ZReader reader = 0; reader < ZREADER_NREADERS; reader++)
	{
		const uint64 *io = &counts[ZCOUNT_IO(reader, 0)];
		Datum		values[6];
		bool		nulls[lengthof(values)] = {false};

		values[0] = CStringGetTextDatum(readers[reader]);
		values[1] = Int64GetDatum((int64) io[ZIO_ASKED]);
		values[2] = Int64GetDatum((int64) io[ZIO_CACHED]);
		values[3] = Int64GetDatum((int64) io[ZIO_READS_ASKED]);
		values[4] = Int64GetDatum((int64) io[ZIO_READS_NOT_ASKED]);
		nulls[5] = io[ZIO_ASKED] == 0;
		values[5] = Float8GetDatum((double) io[ZIO_DISTANCES] / Max(io[ZIO_ASKED], 1));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
zheap_stat_io_reset(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	zcounters_reset(ZCOUNT_FIRST_IO, ZCOUNT_NCOUNTERS - 1);
	PG_RETURN_VOID();
}
