/*
 * inspect_tables.c
 *		SQL functions for counters of each table.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/tuplestore.h"
#include "fmgr.h"
#include "funcapi.h"
#include "zheap/base/base.h"
#include "zheap/base/stats.h"

PG_FUNCTION_INFO_V1(zheap_table_stats);
PG_FUNCTION_INFO_V1(zheap_stat_tables_reset);

/* SQL: zheap_table_stats(): the OID and all counters of each table that has any. */
Datum
zheap_table_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ZTableCounts *tables;
	int			n;

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	tables = zstats_tables(&n);
	for (int i = 0; i < n; i++)
	{
		Datum		values[1 + ZTABLE_NCOUNTERS];
		bool		nulls[lengthof(values)] = {false};

		values[0] = ObjectIdGetDatum(tables[i].table);
		for (int j = 0; j < ZTABLE_NCOUNTERS; j++)
			values[1 + j] = Int64GetDatum((int64) tables[i].counts[j]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* SQL: zheap_stat_tables_reset(table): reset one table's counters, or all if null. */
Datum
zheap_stat_tables_reset(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	if (PG_ARGISNULL(0))
		zstats_reset_all();
	else
		zstats_reset(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}
