/*
 * inspect_counters.c
 *		SQL functions for counters of the whole server.
 */
#include "postgres.h"

#include "fmgr.h"

#include "zheap/base/base.h"
#include "zheap/base/counters.h"

#include "inspect_result.h"

PG_FUNCTION_INFO_V1(zheap_io_stats);
PG_FUNCTION_INFO_V1(zheap_stat_io_reset);
PG_FUNCTION_INFO_V1(zheap_cache_stats);
PG_FUNCTION_INFO_V1(zheap_stat_cache_reset);

/* SQL: zheap_cache_stats(): one row with the look-ups of transactions' statuses. */
Datum
zheap_cache_stats(PG_FUNCTION_ARGS)
{
	InspectRow	row = {0};
	uint64		counts[ZCOUNT_NCOUNTERS];

	zheap_require_preload();
	zcounters_read(counts);
	inspect_set_int8(&row, 0, (int64) counts[ZCOUNT_COMMIT_LOG]);
	inspect_set_int8(&row, 1,
					 (int64) (counts[ZCOUNT_STATUS_HITS] + counts[ZCOUNT_OUTCOME_HITS]));
	inspect_set_int8(&row, 2, (int64) counts[ZCOUNT_PROC_ARRAY]);
	inspect_set_int8(&row, 3, (int64) (counts[ZCOUNT_STATUS_HITS] + counts[ZCOUNT_ENDED_HITS]));
	return inspect_tuple(fcinfo, &row);
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
	uint64		counts[ZCOUNT_NCOUNTERS];

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	zcounters_read(counts);
	for (ZReader reader = 0; reader < ZREADER_NREADERS; reader++)
	{
		const uint64 *io = &counts[ZCOUNT_IO(reader, 0)];
		InspectRow	row = {0};

		inspect_set_text(&row, 0, readers[reader]);
		inspect_set_int8(&row, 1, (int64) io[ZIO_ASKED]);
		inspect_set_int8(&row, 2, (int64) io[ZIO_CACHED]);
		inspect_set_int8(&row, 3, (int64) io[ZIO_READS_ASKED]);
		inspect_set_int8(&row, 4, (int64) io[ZIO_READS_NOT_ASKED]);
		if (io[ZIO_ASKED] > 0)
			inspect_set(&row, 5,
						Float8GetDatum((double) io[ZIO_DISTANCES] / (double) io[ZIO_ASKED]));
		inspect_put(fcinfo, &row);
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
