/*
 * unit_server.c
 *		What TAP tests cannot do from SQL: take a sweep's lock, damage a page of a running server.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zheap/rollback/rollback.h"

PG_FUNCTION_INFO_V1(zheap_unit_sweep_file);
PG_FUNCTION_INFO_V1(zheap_unit_damage);

Datum
zheap_unit_sweep_file(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	bool		result = zrollback_file_acquire(zrel_locator(rel));

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
