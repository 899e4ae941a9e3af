/*
 * rollback.h
 *		Rolling back the rows of aborted transactions: one page at a time, and all that the
 *		undo log or the tables themselves tell of.
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
 * Roll back every row of the page that names an aborted transaction's slot, and give
 * the slots back.  "buffer" is pinned and not locked; the page is locked exclusively
 * (as is its overflow page) while a slot's rows, which have been worked out before, are
 * changed.  One WAL record per slot.  Reads undo; may be cancelled.  Must not be called in a
 * critical section.  Returns whether the page changed.
 */
extern bool zrollback_page(Relation rel, Buffer buffer);

/*
 * The same of one slot on a lock page: no row names it, but it is given back to the owner
 * before.  Only where that is a transaction in progress there is need for it.
 */
extern bool zrollback_lock_slot(Relation rel, Buffer buffer, int slotno);

/* One page of an open table, if it has that page.  zundo_open() was called. */
extern void zrollback_block(Relation rel, BlockNumber block);

/* ---- all of a database (rollback_sweep.c, rollback_reset.c) ---- */

/*
 * Roll back what aborted transactions of this database left on their pages, as
 * the undo log tells.  Commits transactions of its own on the way
 * when "own_transactions"; otherwise runs in the caller's.  Errors on the way are
 * reported and counted; what they are about is left for later, as is what somebody
 * holds locked.  Returns whether it was broken off.
 */
extern bool zrollback_sweep(bool own_transactions);

/*
 * The same for VACUUM of the undo relation, which holds its lock.  Also lets the
 * horizon go on where no more xids are assigned.
 */
extern void zrollback_vacuum(void);

/*
 * As VACUUM of the undo relation, but undo that cannot be read, and pages that cannot be
 * rolled back for that, are given up: each is told of.  Returns the number of the pages.
 */
extern uint64 zrollback_skip(void);

/*
 * The same, without undo: it is given up as a whole, and the undo relation made anew
 * (rollback_reset.c).  Nobody else may use zheap tables of this database meanwhile.
 */
extern uint64 zrollback_reset(void);

/* ---- this backend's temporary tables (rollback_local.c) ---- */

extern void zrollback_local_sweep(void);

/* ---- files, for sweeps (rollback_file_lock.c) ---- */

/*
 * For a sweep that changes pages without a lock on the table; it has one while it
 * calls this.  False: not to be had at once.
 */
extern bool zrollback_file_acquire(RelFileLocator locator);
extern void zrollback_file_release(RelFileLocator locator);

/* Does somebody wait for a sweep, this one, to leave the file? */
extern bool zrollback_file_is_wanted(RelFileLocator locator);

/*
 * Wait until no sweep is at work on the file.  The caller holds AccessExclusiveLock on
 * its table, which keeps others out until the end of the transaction, or until it is
 * released.
 */
extern void zrollback_file_wait(RelFileLocator locator);

/*
 * The same in two steps, for those who keep others from the table no longer than they must:
 * sweeps are waited for and kept out without a lock on the table, until the caller has
 * AccessExclusiveLock on that, or gives up.
 */
extern void zrollback_file_keep_out(RelFileLocator locator);
extern void zrollback_file_let_in(RelFileLocator locator);

/* ---- tables that are not locked while their pages are changed (rollback_table.c) ---- */

typedef enum ZTableState
{
	ZTABLE_OPEN,
	ZTABLE_BUSY,				/* somebody has it locked */
	ZTABLE_OTHER,				/* the file is that of a relation of another kind */
	ZTABLE_GONE					/* the file is not that relation's any more */
} ZTableState;

/*
 * Open table "oid" if it has this file; or, with NULL, whatever file it has.  Reads catalogs: no
 * buffer may be locked.  If it is open *found is for access to its pages, map and free space map,
 * no more, until the next call of any of these functions.  The file is locked, the table is not,
 * on exit: it was for a moment, if that was to be had at once.
 */
extern ZTableState zrollback_table_open(const RelFileLocator *locator, Oid oid, Relation *found);

/* Close all.  Or forget them, after an abort has released what they held. */
extern void zrollback_tables_close(void);
extern void zrollback_tables_forget(void);

/* ---- errors (rollback_errors.c) ---- */

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

extern void zrollback_error_info(ZErrorInfo *info);

/* Only count an error.  Needs no transaction. */
extern void zrollback_error_count(const char *message);

/* ---- the worker that rolls back (rollback_worker.c) ---- */

/* What a worker, which is of a higher layer, is asked and told while it rolls back. */
typedef struct ZRollbackWorker
{
	/* A backend wants the database for itself, or other databases wait for their turn. */
	bool		(*is_to_leave) (void);

	/* So many bytes of undo more were read, pages rolled back. */
	void		(*progress) (Size undo, uint32 pages);

	/* One more error was met. */
	void		(*error) (void);
} ZRollbackWorker;

/* This process is a worker. */
extern void zrollback_worker_register(const ZRollbackWorker *worker);

/* ---- errors that do not end the whole ---- */

/*
 * Run work(arg) in a subtransaction and a memory context of its own.  NULL, or the
 * error, allocated, after which what it held is released.  A request to cancel is
 * not caught.  Within a transaction; no lock may be held that is not to be lost.
 */
extern ErrorData *zrollback_try(void (*work) (void *), void *arg);

#endif							/* ZHEAP_ROLLBACK_H */
