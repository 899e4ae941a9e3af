/*
 * worker_private.h
 *		What launcher and workers share.
 */
#ifndef ZHEAP_WORKER_PRIVATE_H
#define ZHEAP_WORKER_PRIVATE_H

#include "port/atomics.h"
#include "storage/latch.h"

#include "zheap/base/base.h"
#include "zheap/worker/worker.h"

typedef enum ZWorkerEnd
{
	ZWORKER_FAILED,				/* it did not come to its end */
	ZWORKER_DONE,
	ZWORKER_LEFT				/* something is left that could not be done now */
} ZWorkerEnd;

/*
 * One worker.  The launcher fills it in and starts the worker, which is the only
 * one to write it until it has gone.  Others only look.
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
	pg_atomic_uint64 errors;
} ZWorkerSlot;

typedef struct ZWorkerShared
{
	Latch	   *launcher;		/* NULL while it does not run */
	int			launcher_pid;
	bool		starving;		/* databases wait for a worker to end */

	/* what all workers have done since the start of the server */
	pg_atomic_uint64 undo_done;
	pg_atomic_uint64 pages;

	ZWorkerSlot slots[ZHEAP_MAX_UNDO_WORKERS];
} ZWorkerShared;

extern ZWorkerShared *zworker_shared;
extern ZWorkerSlot *zworker_my_slot;	/* a worker's; NULL in other processes */

/*
 * Does somebody drop, copy, rename or move the database, or wait to?  Needs neither a
 * connection to it nor a transaction.
 */
extern bool zworker_database_is_wanted(Oid db);

/* In a worker: what rolling back asks and tells (ZRollbackWorker). */
extern bool zworker_is_to_leave(void);
extern void zworker_progress(Size undo, uint32 pages);
extern void zworker_error(void);

#endif							/* ZHEAP_WORKER_PRIVATE_H */
