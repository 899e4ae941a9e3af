/*
 * worker.h
 *		Background processes that roll back and discard undo: one launcher, and workers.
 */
#ifndef ZHEAP_WORKER_H
#define ZHEAP_WORKER_H

#include "utils/timestamp.h"

/* Bytes of shared memory that zworker_shmem_init() needs. */
extern Size zworker_shmem_size(void);

/* Create or attach to the workers' shared memory.  The caller holds AddinShmemInitLock. */
extern void zworker_shmem_init(void);

/* Register the launcher with the postmaster, while the library is preloaded. */
extern void zworker_launcher_register(void);

/*
 * Wake the launcher, because a transaction has aborted or a worker has ended.  Does nothing if no
 * launcher runs.  Takes no lock and raises no error.
 */
extern void zworker_wake(void);

typedef enum ZWorkerState
{
	ZWORKER_NONE,				/* no such worker */
	ZWORKER_STARTING,
	ZWORKER_ROLLING_BACK,		/* rolls back what aborted transactions left */
	ZWORKER_DISCARDING			/* discards undo, truncates */
} ZWorkerState;

typedef struct ZWorkerInfo
{
	int			pid;			/* 0 until the worker has claimed its slot */
	Oid			db;
	ZWorkerState state;
	TimestampTz started;
	uint64		undo_total;		/* bytes of undo to roll back, estimated before the sweep */
	uint64		undo_done;		/* bytes of it that are done */
	uint64		pages;			/* table pages rolled back */
	uint64		errors;			/* errors that did not end the worker */
} ZWorkerInfo;

/*
 * The functions for views read shared memory without a lock, each field by itself, and raise no
 * error.
 */

/*
 * Set *undo and *pages to the bytes of undo and the table pages that all workers have gone through
 * since the start of the server.
 */
extern void zworker_totals(uint64 *undo, uint64 *pages);

/*
 * Set *info to the state of the worker in slot i < ZHEAP_MAX_UNDO_WORKERS.  Return whether there
 * is one.
 */
extern bool zworker_info(int i, ZWorkerInfo *info);

/* Return the launcher's pid, or 0 if it does not run. */
extern int	zworker_launcher_pid(void);

/*
 * Entry point of the launcher.  It ends by SIGTERM or an ERROR; the postmaster then starts another
 * one.
 */
extern PGDLLEXPORT void zheap_launcher_main(Datum arg);

/*
 * Entry point of a worker; "arg" is the number of its slot.  Exits with code 0 when it is done or
 * is to leave, or at once if its ticket is not valid any more.  An ERROR ends it, is counted, and
 * delays the next visit of the database.
 */
extern PGDLLEXPORT void zheap_worker_main(Datum arg);

#endif							/* ZHEAP_WORKER_H */
