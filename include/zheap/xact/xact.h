/*
 * xact.h
 *		What happens at the end of transactions and after it.
 */
#ifndef ZHEAP_XACT_H
#define ZHEAP_XACT_H

#include "storage/block.h"
#include "utils/timestamp.h"
#include "utils/rel.h"

/* Register the (sub)transaction callbacks. */
extern void zxact_callbacks_register(void);

/*
 * Roll back what aborted transactions of this database left on their pages, as
 * the undo log tells (xact_sweep.c).  Commits transactions of its own on the way
 * when "own_transactions"; otherwise runs in the caller's.  Errors on the way are
 * reported and counted; what they are about is left for later, as is what somebody
 * holds locked.  Returns whether it was broken off.
 */
extern bool zxact_sweep(bool own_transactions);

/*
 * The same for VACUUM of the undo relation, which holds its lock.  Also lets the
 * horizon go on where no more xids are assigned.
 */
extern void zxact_vacuum(void);

/*
 * As VACUUM of the undo relation, but undo that cannot be read, and pages that cannot be
 * rolled back for that, are given up: each is told of.  Returns the number of the pages.
 */
extern uint64 zxact_skip(void);

/*
 * The same, without undo: it is given up as a whole, and the undo relation made anew
 * (xact_reset.c).  Nobody else may use zheap tables of this database meanwhile.
 */
extern uint64 zxact_reset(void);

/* One page of an open table, if it has that page.  zundo_open() was called. */
extern void zxact_roll_back_page(Relation rel, BlockNumber block);

/* The same for this backend's temporary tables (xact_local.c). */
extern void zxact_local_sweep(void);

/* ---- launcher and workers (xact_launcher.c, xact_worker.c, xact_worker_state.c) ---- */

extern Size zxact_worker_shmem_size(void);
extern void zxact_worker_shmem_init(void);
extern void zxact_launcher_register(void);

/* Somebody aborted: the launcher need not wait for the next round. */
extern void zxact_worker_wake(void);

/*
 * In a worker: a backend wants the database for itself (DROP DATABASE, CREATE
 * DATABASE ... TEMPLATE, ALTER DATABASE), or other databases wait for their turn.
 * False in other processes.  Within a transaction; cheap.
 */
extern bool zxact_worker_is_to_leave(void);

/* In a worker: so many bytes of undo more were read, pages rolled back. */
extern void zxact_worker_progress(Size undo, uint32 pages);

typedef enum ZWorkerState
{
	ZWORKER_NONE,				/* no such worker */
	ZWORKER_STARTING,
	ZWORKER_ROLLING_BACK,		/* rolls back what aborted transactions left */
	ZWORKER_DISCARDING			/* discards undo, truncates */
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

#define ZERROR_TEXT		512

/* Errors of workers and VACUUM, in all databases, since the start of the server. */
typedef struct ZErrorInfo
{
	uint64		errors;
	TimestampTz last_at;		/* 0: none */
	Oid			last_db;
	char		last[ZERROR_TEXT];
} ZErrorInfo;

extern void zxact_error_info(ZErrorInfo *info);

/* Bytes of undo and table pages that all workers have gone through since the start. */
extern void zxact_worker_totals(uint64 *undo, uint64 *pages);

/* The "i"th worker's state, i < ZHEAP_MAX_UNDO_WORKERS; false: there is none. */
extern bool zxact_worker_info(int i, ZWorkerInfo *info);

/* The launcher's pid, 0 if it does not run. */
extern int	zxact_launcher_pid(void);

extern PGDLLEXPORT void zheap_launcher_main(Datum arg);
extern PGDLLEXPORT void zheap_worker_main(Datum arg);

#endif							/* ZHEAP_XACT_H */
