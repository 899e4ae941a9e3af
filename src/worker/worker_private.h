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
	ZWORKER_FAILED,				/* ended by an error, or never started */
	ZWORKER_DONE,
	ZWORKER_LEFT				/* left work that could not be done now */
} ZWorkerEnd;

/*
 * One worker.  The launcher fills in the slot and starts the worker.  Once the worker has
 * claimed the slot, only the worker writes to it until it exits.  Others only read (J2).
 */
typedef struct ZWorkerSlot
{
	pg_atomic_uint32 holder;	/* pid of the worker; or ticket of a worker that is being
								 * started; or 0 if the slot is free */
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
	uint32		tickets;		/* number of tickets given out; only launchers use it */
	bool		starving;		/* true if databases wait for a worker to end */

	/* totals of all workers since the start of the server */
	pg_atomic_uint64 undo_done;
	pg_atomic_uint64 pages;

	ZWorkerSlot slots[ZHEAP_MAX_UNDO_WORKERS];
} ZWorkerShared;

extern ZWorkerShared *zworker_shared;
extern ZWorkerSlot *zworker_my_slot;	/* slot of this worker; NULL in other processes */

/* The pid of the worker that has claimed the slot, or 0. */
extern int	zworker_pid(ZWorkerSlot *slot);

/*
 * Tickets (J1): the launcher reserves a free slot by giving out a ticket, and the new worker
 * claims the slot with it.  zworker_claim() returns whether the ticket was still valid: false if
 * this launcher or a later one has taken it back.  zworker_take_ticket_back() frees the slot if
 * it is still reserved, and does nothing otherwise.  All by atomic operations: no locks, no
 * errors.
 */
extern uint32 zworker_give_ticket(ZWorkerSlot *slot);
extern bool zworker_claim(ZWorkerSlot *slot, uint32 ticket);
extern void zworker_take_ticket_back(ZWorkerSlot *slot);

/*
 * Return whether another session drops, copies, renames or moves the database, or waits to do
 * so.  Needs neither a connection to the database nor a transaction.  Takes the lock of
 * LockSharedObject() in RowExclusiveLock mode if it is free, and releases it at once.
 */
extern bool zworker_database_is_wanted(Oid db);

/* The callbacks by which a worker's rollbacks ask and report (ZRollbackWorker). */

/*
 * Return whether this worker is to end: workers are switched off, its database is wanted, or
 * others starve and its turn is over.  Looks every LOOK_INTERVAL, rereads the configuration files
 * if that was requested, and stays true once it has been true.
 */
extern bool zworker_is_to_leave(void);

/* Add "undo" bytes and "pages" table pages to this worker's progress and to the totals. */
extern void zworker_progress(Size undo, uint32 pages);

/* Count an error that does not end this worker. */
extern void zworker_error(void);

#endif							/* ZHEAP_WORKER_PRIVATE_H */
