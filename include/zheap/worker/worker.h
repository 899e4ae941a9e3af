/*
 * worker.h
 *		Background processes that roll back and discard undo: one launcher, and workers.
 */
#ifndef ZHEAP_WORKER_H
#define ZHEAP_WORKER_H

#include "utils/timestamp.h"

extern Size zworker_shmem_size(void);
extern void zworker_shmem_init(void);
extern void zworker_launcher_register(void);

/* Somebody aborted: the launcher need not wait for the next round. */
extern void zworker_wake(void);

typedef enum ZWorkerState
{
	ZWORKER_NONE,				/* no such worker */
	ZWORKER_STARTING,
	ZWORKER_ROLLING_BACK,		/* rolls back what aborted transactions left */
	ZWORKER_DISCARDING,			/* discards undo, truncates */
	ZWORKER_MARKING				/* marks pages all-visible */
} ZWorkerState;

typedef struct ZWorkerInfo
{
	int			pid;			/* 0: not yet */
	Oid			db;
	ZWorkerState state;
	TimestampTz started;
	uint64		undo_total;		/* bytes to go through */
	uint64		undo_done;
	uint64		pages;			/* rolled back */
	uint64		errors;			/* met */
} ZWorkerInfo;

/* Bytes of undo and table pages that all workers have gone through since the start. */
extern void zworker_totals(uint64 *undo, uint64 *pages);

/* The "i"th worker's state, i < ZHEAP_MAX_UNDO_WORKERS; false: there is none. */
extern bool zworker_info(int i, ZWorkerInfo *info);

/* The launcher's pid, 0 if it does not run. */
extern int	zworker_launcher_pid(void);

extern PGDLLEXPORT void zheap_launcher_main(Datum arg);
extern PGDLLEXPORT void zheap_worker_main(Datum arg);

#endif							/* ZHEAP_WORKER_H */
