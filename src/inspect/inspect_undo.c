/*
 * inspect_undo.c
 *		SQL functions that show the state of undo: sizes, holders, workers.
 *
 * LOCKING: none of its own; the layers asked take their locks for a moment.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_holders.h"
#include "zheap/worker/worker.h"

#include "inspect_result.h"

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
	InspectRow	row = {0};

	zheap_require_preload();
	zundo_stats(&stats);
	Assert(FullTransactionIdPrecedesOrEquals(stats.horizon, stats.next));	/* H1 */
	Assert(stats.logs_pending <= stats.logs);
	inspect_set_int8(&row, 0, (int64) stats.nblocks * BLCKSZ);
	inspect_set_int8(&row, 1, stats.extents_used * EXTENT_BYTES);
	inspect_set_int8(&row, 2, stats.extents_free * EXTENT_BYTES);
	inspect_set_int4(&row, 3, stats.logs);
	inspect_set_int4(&row, 4, stats.logs_pending);
	inspect_set(&row, 5, FullTransactionIdGetDatum(stats.horizon));
	inspect_set_int8(&row, 6, stats.extents_pending * EXTENT_BYTES);
	inspect_set_int4(&row, 7, stats.transactions_pending);
	inspect_set_int8(&row, 8, (int64) stats.high_water * BLCKSZ);
	inspect_set_int8(&row, 9, (int64) (U64FromFullTransactionId(stats.next) -
									   U64FromFullTransactionId(stats.horizon)));
	if (zheap_undo_max_size > 0)
		inspect_set_int8(&row, 10, (int64) zheap_undo_max_size * 1024 * 1024);
	return inspect_tuple(fcinfo, &row);
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
		InspectRow	row = {0};

		Assert((int) holder->kind < (int) lengthof(holder_kinds) && holder_kinds[holder->kind]);
		inspect_set_text(&row, 0, holder_kinds[holder->kind]);
		if (holder->pid != 0)
			inspect_set_int4(&row, 1, holder->pid);
		if (all && holder->name[0] != '\0')
			inspect_set_text(&row, 2, holder->name);
		if (all || (holder->pid != 0 && may_see_process(holder->pid)))
		{
			inspect_set(&row, 3, FullTransactionIdGetDatum(holder->xid));
			inspect_set_int8(&row, 4, (int64) (next - U64FromFullTransactionId(holder->xid)));
			inspect_set_int8(&row, 5, (int64) holder->bytes);
		}
		inspect_set_oid(&row, 6, holder->relid);
		inspect_put(fcinfo, &row);
	}
	return (Datum) 0;
}

/* ---- workers ---- */

static const char *const worker_states[] = {
	[ZWORKER_NONE] = "none",
	[ZWORKER_STARTING] = "starting",
	[ZWORKER_ROLLING_BACK] = "rolling back",
	[ZWORKER_DISCARDING] = "discarding"
};

/* Fill in the launcher's columns with the totals of all workers, including ended ones. */
static void
put_totals(InspectRow *row)
{
	uint64		undo;
	uint64		pages;

	zworker_totals(&undo, &pages);
	inspect_set_int8(row, 6, (int64) undo);
	inspect_set_int8(row, 7, (int64) pages);
}

/* Fill in the launcher's columns with the number of errors and the last one. */
static void
put_errors(InspectRow *row)
{
	ZErrorInfo	errors;
	char	   *database;

	zrollback_error_info(&errors);
	inspect_set_int8(row, 8, (int64) errors.errors);
	if (errors.last_at == 0)
		return;
	database = get_database_name(errors.last_db);
	inspect_set(row, 9, TimestampTzGetDatum(errors.last_at));
	inspect_set_text(row, 10, psprintf("database \"%s\": %s", database ? database : "?",
									   errors.last));
}

static void
put_launcher(FunctionCallInfo fcinfo)
{
	InspectRow	row = {0};

	if (zworker_launcher_pid() == 0)
		return;
	inspect_set_int4(&row, 0, zworker_launcher_pid());
	inspect_set_text(&row, 1, "launcher");
	inspect_set_text(&row, 3, "running");
	put_totals(&row);
	put_errors(&row);
	inspect_put(fcinfo, &row);
}

/* SQL: a row for the launcher, if it runs, and one for each worker. */
Datum
zheap_undo_workers_info(PG_FUNCTION_ARGS)
{
	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	put_launcher(fcinfo);
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		ZWorkerInfo info;
		InspectRow	row = {0};

		if (!zworker_info(i, &info))
			continue;
		Assert((int) info.state < (int) lengthof(worker_states));
		if (info.pid != 0)
			inspect_set_int4(&row, 0, info.pid);
		inspect_set_text(&row, 1, "worker");
		inspect_set(&row, 2, ObjectIdGetDatum(info.db));
		inspect_set_text(&row, 3, worker_states[info.state]);
		inspect_set(&row, 4, TimestampTzGetDatum(info.started));
		inspect_set_int8(&row, 5, (int64) info.undo_total);
		inspect_set_int8(&row, 6, (int64) info.undo_done);
		inspect_set_int8(&row, 7, (int64) info.pages);
		inspect_set_int8(&row, 8, (int64) info.errors);
		inspect_put(fcinfo, &row);
	}
	return (Datum) 0;
}
