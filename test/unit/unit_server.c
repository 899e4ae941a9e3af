/*
 * unit_server.c
 *		What TAP tests cannot do from SQL: take a sweep's lock, damage a page of a running server, have
 *		the server's messages about catalogs come at a chosen moment.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "zheap/btree/table_indexes.h"
#include "zheap/index/index.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_relation.h"

PG_FUNCTION_INFO_V1(zheap_unit_sweep_file);
PG_FUNCTION_INFO_V1(zheap_unit_damage);
PG_FUNCTION_INFO_V1(zheap_unit_sweep_index);
PG_FUNCTION_INFO_V1(zheap_unit_compare);

Datum
zheap_unit_sweep_file(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	bool		result = zrollback_file_acquire(rel->rd_locator);

	relation_close(rel, AccessShareLock);
	PG_RETURN_BOOL(result);
}

Datum
zheap_unit_damage(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	int			at = PG_GETARG_INT32(2);
	bytea	   *bytes = PG_GETARG_BYTEA_PP(3);
	Buffer		buffer = ReadBuffer(rel, (BlockNumber) PG_GETARG_INT64(1));

	if (at < 0 || at + VARSIZE_ANY_EXHDR(bytes) > BLCKSZ)
		elog(ERROR, "bytes are not on the page");
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	memcpy((char *) BufferGetPage(buffer) + at, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
	relation_close(rel, AccessShareLock);
	PG_RETURN_VOID();
}

/*
 * The test holds the lock until it has changed catalogs, and locked them.  The server calls a
 * comparison function with a leaf locked, so the name must not be server_calls.h's.
 */
static void
pass_gate(void)
{
	(void) DirectFunctionCall1(pg_advisory_xact_lock_shared_int8, Int64GetDatum(115));
	(AcceptInvalidationMessages) ();
}

/* One for each line pointer that the table may have. */
static void
name_all_rows(ZIndexSweep *sweep)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(sweep->table);

	sweep->rows = palloc0(nblocks * MaxOffsetNumber * sizeof(ZMarkedRow));
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		for (OffsetNumber offnum = 1; offnum <= MaxOffsetNumber; offnum++, sweep->nrows++)
			ItemPointerSet(&sweep->rows[sweep->nrows].tid, block, offnum);
	}
}

Datum
zheap_unit_sweep_index(PG_FUNCTION_ARGS)
{
	ZIndexSweep sweep = {0};

	sweep.table = relation_open(IndexGetRelation(PG_GETARG_OID(0), false), ShareUpdateExclusiveLock);
	sweep.index = relation_open(PG_GETARG_OID(0), RowExclusiveLock);
	name_all_rows(&sweep);
	/* as VACUUM does, before it takes locks */
	(void) ztable_indexes(sweep.table);
	zundo_open();
	pass_gate();
	zindex_sweep(&sweep);
	relation_close(sweep.index, RowExclusiveLock);
	relation_close(sweep.table, ShareUpdateExclusiveLock);
	PG_RETURN_INT64(sweep.removed);
}

Datum
zheap_unit_compare(PG_FUNCTION_ARGS)
{
	int32		a = PG_GETARG_INT32(0);
	int32		b = PG_GETARG_INT32(1);

	pass_gate();
	PG_RETURN_INT32(a < b ? -1 : a > b);
}
