/*
 * believer_worker.c
 *		A background worker that writes rows as the apply workers of pglogical do.
 *
 * The worker is registered as one of any library, which has to be a copy of this one.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "unit_compat.h"

PG_FUNCTION_INFO_V1(believer_worker);

extern PGDLLEXPORT void believer_worker_main(Datum arg);

typedef struct Task
{
	Oid			database;
	Oid			user;
	Oid			rel;
	char		how[16];
} Task;

/* The row (1, 1), in the table's own slot, which is taken for heap's. */
static void
row_apply(Oid relid)
{
	Relation	rel = table_open(relid, RowExclusiveLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	if (!TTS_IS_BUFFERTUPLE(slot))
		elog(PANIC, "takes any slot for heap's");
	slot->tts_values[0] = slot->tts_values[1] = Int32GetDatum(1);
	slot->tts_isnull[0] = slot->tts_isnull[1] = false;
	ExecStoreVirtualTuple(slot);
	table_tuple_insert(rel, slot, GetCurrentCommandId(true), 0, NULL);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, NoLock);
}

/* The same row by a statement, as with pglogical.use_spi, or in a trigger. */
static void
row_by_spi(Oid relid)
{
	char	   *name = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relid)));

	SPI_connect();
	if (SPI_execute(psprintf("insert into %s values (1, 1)", name), false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not insert");
	SPI_finish();
}

/* All rows are read in the table's own slot. */
static void
rows_read(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL, SO_NONE);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		slot_getallattrs(slot);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, AccessShareLock);
}

void
believer_worker_main(Datum arg)
{
	Task		task;

	memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(task.database, task.user, 0);
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (strcmp(task.how, "apply") == 0)
		row_apply(task.rel);
	else if (strcmp(task.how, "spi") == 0)
		row_by_spi(task.rel);
	else
		rows_read(task.rel);
	PopActiveSnapshot();
	CommitTransactionCommand();
	elog(LOG, "worker of %s is done: %s", MyBgworkerEntry->bgw_library_name, task.how);
}

/*
 * Have a worker of a library insert the row (1, 1) ("apply", "spi"), or read the table ("read"),
 * and wait for its end.  Its errors are in the server's log.
 */
Datum
believer_worker(PG_FUNCTION_ARGS)
{
	Task		task = {.database = MyDatabaseId, .user = GetUserId()};
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;

	task.rel = PG_GETARG_OID(1);
	strlcpy(task.how, text_to_cstring(PG_GETARG_TEXT_PP(2)), sizeof(task.how));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_name, "believer", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "believer", sizeof(worker.bgw_type));
	strlcpy(worker.bgw_library_name, text_to_cstring(PG_GETARG_TEXT_PP(0)),
			sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "believer_worker_main", sizeof(worker.bgw_function_name));
	memcpy(worker.bgw_extra, &task, sizeof(task));
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		elog(ERROR, "could not register a background worker");
	if (WaitForBackgroundWorkerShutdown(handle) != BGWH_STOPPED)
		elog(ERROR, "background worker has not stopped");
	PG_RETURN_VOID();
}
