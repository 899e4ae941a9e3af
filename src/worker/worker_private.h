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
	pg_atomic_uint32 holder;	/* a worker's pid; or the ticket of one that is being
								 * started; or 0 */
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
	uint32		tickets;		/* the launchers': how many they have given out */
	bool		starving;		/* databases wait for a worker to end */

	/* what all workers have done since the start of the server */
	pg_atomic_uint64 undo_done;
	pg_atomic_uint64 pages;

	ZWorkerSlot slots[ZHEAP_MAX_UNDO_WORKERS];
} ZWorkerShared;

extern ZWorkerShared *zworker_shared;
extern ZWorkerSlot *zworker_my_slot;	/* a worker's; NULL in other processes */

/* The worker in the slot; 0: there is none, or not yet. */
extern int	zworker_pid(ZWorkerSlot *slot);

/*
 * The launcher keeps a free slot for a worker that is to claim it with this ticket.  False: it
 * comes too late, the launcher has taken the ticket back, or another launcher has.
 */
extern uint32 zworker_give_ticket(ZWorkerSlot *slot);
extern bool zworker_claim(ZWorkerSlot *slot, uint32 ticket);
extern void zworker_take_ticket_back(ZWorkerSlot *slot);

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
