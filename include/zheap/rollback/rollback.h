/*
 * rollback.h
 *		Roll back the rows of aborted transactions: one page at a time, or everything that
 *		the undo log, or the tables themselves, show to be aborted.
 */
#ifndef ZHEAP_ROLLBACK_H
#define ZHEAP_ROLLBACK_H

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "zheap/base/pg_compat.h"

/* ---- one page (rollback_page.c) ---- */

/*
 * Roll back every row of the page that names an aborted transaction's slot, and give the slots
 * back.  Return whether the page changed.
 *
 * "buffer" is pinned and not locked at entry and exit.  The page (and its overflow page) is
 * locked exclusively while the rows of one slot are changed; what they become has been computed
 * before.  One WAL record per slot.  The caller keeps the file where it is (R4), and is not in
 * a critical section.  Reads undo; interruptible.  ERROR (data_corrupted) if the page or its
 * undo is damaged.
 */
extern bool zrollback_page(Relation rel, Buffer buffer);

/*
 * Like zrollback_page, for one slot on a lock page: no row names it, but it is given back to
 * the owner before.  Needed only if that is a transaction in progress.
 */
extern bool zrollback_lock_slot(Relation rel, Buffer buffer, int slotno);

/*
 * Roll back one page of an open table; does nothing if the table is shorter.  zundo_open() was
 * called.  Errors as zrollback_page.
 */
extern void zrollback_block(Relation rel, BlockNumber block);

struct ZPageView;
struct ZRollbackPlan;
struct ZRecLogical;

/*
 * Carry out a plan, in a critical section.  Page and slots are viewed and locked exclusively,
 * and all checks are done.  "logical": as for zrec_rollback_emit().
 */
extern void zrollback_execute(struct ZPageView *live, Buffer buffer, Buffer overflow_buf,
							  const struct ZRollbackPlan *plan,
							  const struct ZRecLogical *logical);

/* ---- all of a database (rollback_sweep.c, rollback_reset.c) ---- */

/*
 * Roll back what aborted transactions of this database left on their pages, according to the
 * undo log.  Return true if the sweep was broken off: another one is under way, or a worker has
 * to leave.
 *
 * With "own_transactions" the caller is in no transaction, and the sweep runs, and commits, its
 * own; otherwise it runs in the caller's.  Errors about a page or undo are reported and
 * counted, and their records left for later, as are those of tables that are locked by others.
 * Other errors end the sweep: a cancellation, or lack of memory or locks while undo is read.
 */
extern bool zrollback_sweep(bool own_transactions);

/*
 * Like zrollback_sweep, for VACUUM of the undo relation, which holds ShareUpdateExclusiveLock
 * on it.  Undo that cannot be read is settled by a look at all tables.  Also lets the horizon
 * advance where no more xids are assigned.
 */
extern void zrollback_vacuum(void);

/*
 * Like VACUUM of the undo relation, but give up undo that cannot be read, and pages that cannot
 * be rolled back because of damage: each is reported by a WARNING and in the log.  Return the
 * number of these pages.  Locks the undo relation, ShareUpdateExclusive, until the end of the
 * transaction.  ERROR (active_sql_transaction) if the transaction has changed anything.
 */
extern uint64 zrollback_skip(void);

/*
 * Like zrollback_skip, without undo: all of it is given up, and the undo relation made anew
 * (rollback_reset.c).  Locks the undo relation, AccessExclusive, so that no other session can
 * use zheap tables of this database meanwhile.  ERROR (active_sql_transaction) in a transaction
 * block; (object_in_use) if an older snapshot stays open, or a table locked.
 */
extern uint64 zrollback_reset(void);

/* ---- this backend's temporary tables (rollback_local.c) ---- */

/*
 * Roll back what is aborted in this backend's temporary tables, in the caller's transaction.
 * ERROR (internal_error) if a local undo record cannot be read.
 */
extern void zrollback_local_sweep(void);

/* ---- files, for sweeps (rollback_file_lock.c) ---- */

/*
 * Lock the file, RowExclusive, for a sweep that changes pages without a lock on the table.  The
 * caller holds a lock on the table meanwhile.  Return false, having done nothing, if the lock
 * is not available at once.
 */
extern bool zrollback_file_acquire(RelFileLocator locator);
extern void zrollback_file_release(RelFileLocator locator);

/*
 * Wait until no sweep is at work on the file.  The caller holds AccessExclusiveLock on its
 * table, which keeps sweeps out until that is released, and no buffer lock.  lock_timeout does
 * not apply; the wait is for one page of work.
 */
extern void zrollback_file_wait(RelFileLocator locator);

/*
 * Do the same in two steps, for callers that lock the table as briefly as possible: keep_out
 * waits for sweeps and keeps them out without a lock on the table, until the caller has
 * AccessExclusiveLock on it, or gives up, and calls let_in.
 */
extern void zrollback_file_keep_out(RelFileLocator locator);
extern void zrollback_file_let_in(RelFileLocator locator);

/* ---- errors (rollback_errors.c) ---- */

/* Size and initialization of the shared memory for errors. */
extern Size zrollback_shmem_size(void);
extern void zrollback_shmem_init(void);

#define ZERROR_TEXT		512

/* Errors of workers and VACUUM, in all databases, since the start of the server. */
typedef struct ZErrorInfo
{
	uint64		errors;
	TimestampTz last_at;		/* 0: none */
	Oid			last_db;
	char		last[ZERROR_TEXT];
} ZErrorInfo;

/* Copy the counters of errors. */
extern void zrollback_error_info(ZErrorInfo *info);

/* Count an error without reporting it.  Needs no transaction. */
extern void zrollback_error_count(const char *message);

/* ---- the worker that rolls back (rollback_worker.c) ---- */

/* Callbacks of a worker, which belongs to a higher layer, for the time that it rolls back. */
typedef struct ZRollbackWorker
{
	/*
	 * Return whether to stop: a backend needs the database alone, or other databases wait for
	 * their turn.
	 */
	bool		(*is_to_leave) (void);

	/* Report progress: bytes of undo read, and pages rolled back, since the last call. */
	void		(*progress) (Size undo, uint32 pages);

	/* Report one more error. */
	void		(*error) (void);
} ZRollbackWorker;

/* Register the callbacks of this process, which is a worker. */
extern void zrollback_worker_register(const ZRollbackWorker *worker);

/* ---- errors that do not end the whole ---- */

/*
 * Run work(arg) in a subtransaction and a memory context of its own.  Return NULL or, if it
 * raised an error, that error, allocated in the caller's context, to be freed by
 * FreeErrorData(); locks, buffers and memory of work() are released then.  Cancellations, and
 * the other errors of class operator_intervention, are raised again.  To be called within a
 * transaction, without a lock that must not be lost.
 */
extern ErrorData *zrollback_try(void (*work) (void *), void *arg);

#endif							/* ZHEAP_ROLLBACK_H */
