/*
 * inspect_tables.c
 *		SQL functions for counters of each table.
 */
#include "postgres.h"

#include "fmgr.h"

#include "zheap/base/base.h"
#include "zheap/base/stats.h"

#include "inspect_result.h"

StaticAssertDecl(1 + ZTABLE_NCOUNTERS <= INSPECT_MAX_COLUMNS, "room for all counters");

PG_FUNCTION_INFO_V1(zheap_table_stats);
PG_FUNCTION_INFO_V1(zheap_stat_tables_reset);

/* SQL: zheap_table_stats(): the OID and all counters of each table that has any. */
Datum
zheap_table_stats(PG_FUNCTION_ARGS)
{
	ZTableCounts *tables;
	int			n;

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	tables = zstats_tables(&n);
	for (int i = 0; i < n; i++)
	{
		InspectRow	row = {0};

		inspect_set(&row, 0, ObjectIdGetDatum(tables[i].table));
		for (int j = 0; j < ZTABLE_NCOUNTERS; j++)
			inspect_set_int8(&row, 1 + j, (int64) tables[i].counts[j]);
		inspect_put(fcinfo, &row);
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
