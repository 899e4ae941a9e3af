/*
 * xact_private.h
 *		What launcher and workers share.
 */
#ifndef ZHEAP_XACT_PRIVATE_H
#define ZHEAP_XACT_PRIVATE_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "zheap/xact/xact.h"

typedef enum ZWorkerEnd
{
	ZWORKER_FAILED,				/* it did not come to its end */
	ZWORKER_DONE,
	ZWORKER_LEFT				/* something is left that could not be done now */
} ZWorkerEnd;

/*
 * One worker.  The launcher fills it in and starts the worker, who is the only
 * one to write it until he has gone.  Others only look.
 */
typedef struct ZWorkerSlot
{
	int			pid;
	Oid			db;
	ZWorkerState state;
	ZWorkerEnd	end;
	TimestampTz started;
	pg_atomic_uint64 undo_total;
	pg_atomic_uint64 undo_done;
	pg_atomic_uint64 pages;
} ZWorkerSlot;

typedef struct ZWorkerShared
{
	Latch	   *launcher;		/* NULL while it does not run */
	int			launcher_pid;
	bool		starving;		/* databases wait for a worker to end */
	ZWorkerSlot slots[ZHEAP_MAX_UNDO_WORKERS];
} ZWorkerShared;

extern ZWorkerShared *zxact_shared;

/*
 * Does somebody drop, copy, rename or move the database, or wait to?  Within a
 * transaction; needs no connection to it.
 */
extern bool zxact_database_is_wanted(Oid db);

#endif							/* ZHEAP_XACT_PRIVATE_H */
