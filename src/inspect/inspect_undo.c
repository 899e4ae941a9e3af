/*
 * inspect_undo.c
 *		SQL functions that show the state of undo: sizes, holders, workers.
 *
 * LOCKING: none of its own; the layers asked take their locks for a moment.
 */
#include "postgres.h"

#include "utils/tuplestore.h"
#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_holders.h"
#include "zheap/worker/worker.h"

PG_FUNCTION_INFO_V1(zheap_undo_pending);
PG_FUNCTION_INFO_V1(zheap_undo_stats);
PG_FUNCTION_INFO_V1(zheap_undo_holders);
PG_FUNCTION_INFO_V1(zheap_undo_workers_info);
PG_FUNCTION_INFO_V1(zheap_undo_skip);

#define EXTENT_BYTES	((int64) ZUNDO_EXTENT_BLOCKS * BLCKSZ)

/*
 * SQL: zheap_undo_pending(): number of logs of this database with undo of aborted transactions
 * that may still have to be applied.
 */
Datum
zheap_undo_pending(PG_FUNCTION_ARGS)
{
	ZUndoStats	stats;

	zheap_require_preload();
	zundo_stats(&stats);
	PG_RETURN_INT32(stats.logs_pending);
}

/*
 * SQL: zheap_undo_skip(reset): give up rolling back what damaged undo prevents, or, with "reset",
 * all undo.  Return the number of pages given up.
 */
Datum
zheap_undo_skip(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to give up undo")));
	PG_RETURN_INT64((int64) (PG_GETARG_BOOL(0) ? zrollback_reset() : zrollback_skip()));
}

/* SQL: zheap_undo_stats(): one row with sizes in bytes, the horizon and the limit. */
Datum
zheap_undo_stats(PG_FUNCTION_ARGS)
{
	ZUndoStats	stats;
	TupleDesc	desc;
	Datum		values[11];
	bool		nulls[lengthof(values)] = {false};
	int			i = 0;

	zheap_require_preload();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	zundo_stats(&stats);
	Assert(FullTransactionIdPrecedesOrEquals(stats.horizon, stats.next));	/* H1 */
	Assert(stats.logs_pending <= stats.logs);
	values[i++] = Int64GetDatum((int64) stats.nblocks * BLCKSZ);
	values[i++] = Int64GetDatum(stats.extents_used * EXTENT_BYTES);
	values[i++] = Int64GetDatum(stats.extents_free * EXTENT_BYTES);
	values[i++] = Int32GetDatum(stats.logs);
	values[i++] = Int32GetDatum(stats.logs_pending);
	values[i++] = FullTransactionIdGetDatum(stats.horizon);
	values[i++] = Int64GetDatum(stats.extents_pending * EXTENT_BYTES);
	values[i++] = Int32GetDatum(stats.transactions_pending);
	values[i++] = Int64GetDatum((int64) stats.high_water * BLCKSZ);
	values[i++] = Int64GetDatum((int64) (U64FromFullTransactionId(stats.next) -
										 U64FromFullTransactionId(stats.horizon)));
	nulls[i] = zheap_undo_max_size <= 0;
	values[i++] = Int64GetDatum((int64) zheap_undo_max_size * 1024 * 1024);
	Assert(i == (int) lengthof(values));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* ---- what keeps undo ---- */

/* Return whether the user may see the activity of all others, by pg_stat_activity's rule. */
static bool
may_see_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* Return whether the user is a member of the role of that process. */
static bool
may_see_process(int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);

	return proc != NULL && OidIsValid(proc->roleId) &&
		has_privs_of_role(GetUserId(), proc->roleId);
}

static const char *const holder_kinds[] = {
	[ZUNDO_HOLDER_BACKEND] = "backend",
	[ZUNDO_HOLDER_PREPARED] = "prepared transaction",
	[ZUNDO_HOLDER_SLOT] = "replication slot",
	[ZUNDO_HOLDER_STANDBY] = "standby feedback",
	[ZUNDO_HOLDER_ABORTED] = "rollback"
};

/*
 * SQL: zheap_undo_holders(): a row for each holder.  Names, xids and amounts are null if the user
 * may not see them.
 */
Datum
zheap_undo_holders(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());
	bool		all = may_see_all();
	ZUndoHolder *holders;
	int			n;

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	holders = zundo_holders(&n);
	zundo_holders_weigh(holders, n);
	for (int i = 0; i < n; i++)
	{
		const ZUndoHolder *holder = &holders[i];
		Datum		values[7];
		bool		nulls[lengthof(values)] = {false};

		Assert((int) holder->kind < (int) lengthof(holder_kinds) && holder_kinds[holder->kind]);
		values[0] = CStringGetTextDatum(holder_kinds[holder->kind]);
		values[1] = Int32GetDatum(holder->pid);
		nulls[1] = holder->pid == 0;
		values[2] = CStringGetTextDatum(holder->name);
		nulls[2] = holder->name[0] == '\0' || !all;
		values[3] = FullTransactionIdGetDatum(holder->xid);
		values[4] = Int64GetDatum((int64) (next - U64FromFullTransactionId(holder->xid)));
		values[5] = Int64GetDatum((int64) holder->bytes);
		nulls[3] = nulls[4] = nulls[5] =
			!all && (holder->pid == 0 || !may_see_process(holder->pid));
		values[6] = ObjectIdGetDatum(holder->relid);
		nulls[6] = !OidIsValid(holder->relid);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- workers ---- */

#define WORKER_COLUMNS	11

static const char *const worker_states[] = {
	[ZWORKER_NONE] = "none",
	[ZWORKER_STARTING] = "starting",
	[ZWORKER_ROLLING_BACK] = "rolling back",
	[ZWORKER_DISCARDING] = "discarding",
	[ZWORKER_MARKING] = "marking pages"
};

/* Fill in the launcher's columns with the totals of all workers, including ended ones. */
static void
put_totals(Datum *values, bool *nulls)
{
	uint64		undo;
	uint64		pages;

	zworker_totals(&undo, &pages);
	values[6] = Int64GetDatum((int64) undo);
	values[7] = Int64GetDatum((int64) pages);
	nulls[6] = nulls[7] = false;
}

/* Fill in the launcher's columns with the number of errors and the last one. */
static void
put_errors(Datum *values, bool *nulls)
{
	ZErrorInfo	errors;
	char	   *database;

	zrollback_error_info(&errors);
	values[8] = Int64GetDatum((int64) errors.errors);
	nulls[8] = false;
	if (errors.last_at == 0)
		return;
	database = get_database_name(errors.last_db);
	values[9] = TimestampTzGetDatum(errors.last_at);
	values[10] = CStringGetTextDatum(psprintf("database \"%s\": %s",
											  database ? database : "?", errors.last));
	nulls[9] = nulls[10] = false;
}

static void
put_launcher(ReturnSetInfo *rsinfo)
{
	Datum		values[WORKER_COLUMNS] = {0};
	bool		nulls[lengthof(values)];

	if (zworker_launcher_pid() == 0)
		return;
	memset(nulls, true, sizeof(nulls));
	values[0] = Int32GetDatum(zworker_launcher_pid());
	values[1] = CStringGetTextDatum("launcher");
	values[3] = CStringGetTextDatum("running");
	nulls[0] = nulls[1] = nulls[3] = false;
	put_totals(values, nulls);
	put_errors(values, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* SQL: a row for the launcher, if it runs, and one for each worker. */
Datum
zheap_undo_workers_info(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	put_launcher(rsinfo);
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		ZWorkerInfo info;
		Datum		values[WORKER_COLUMNS] = {0};
		bool		nulls[lengthof(values)] = {false};

		if (!zworker_info(i, &info))
			continue;
		Assert((int) info.state < (int) lengthof(worker_states));
		values[0] = Int32GetDatum(info.pid);
		nulls[0] = info.pid == 0;
		values[1] = CStringGetTextDatum("worker");
		values[2] = ObjectIdGetDatum(info.db);
		values[3] = CStringGetTextDatum(worker_states[info.state]);
		values[4] = TimestampTzGetDatum(info.started);
		values[5] = Int64GetDatum((int64) info.undo_total);
		values[6] = Int64GetDatum((int64) info.undo_done);
		values[7] = Int64GetDatum((int64) info.pages);
		values[8] = Int64GetDatum((int64) info.errors);
		nulls[9] = nulls[10] = true;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
