/*
 * xact_private.h
 *		What launcher and workers share.
 */
#ifndef ZHEAP_XACT_PRIVATE_H
#define ZHEAP_XACT_PRIVATE_H

#include "catalog/pg_class.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "zheap/base/base.h"
#include "zheap/xact/xact.h"

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

/* An error that was reported in the server log. */
typedef struct ZErrorNote
{
	Oid			db;				/* invalid: unused */
	Oid			relid;			/* invalid: not about a table */
	int			sqlerrcode;
	int			silence;		/* seconds until it is reported again */
	TimestampTz reported_at;
} ZErrorNote;

#define ZERROR_NOTES	64

typedef struct ZWorkerShared
{
	Latch	   *launcher;		/* NULL while it does not run */
	int			launcher_pid;
	bool		starving;		/* databases wait for a worker to end */

	/* what all workers have done since the start of the server */
	pg_atomic_uint64 undo_done;
	pg_atomic_uint64 pages;

	/* errors since the start of the server; under mutex */
	slock_t		mutex;
	uint64		errors;
	TimestampTz last_error_at;	/* 0: none */
	Oid			last_error_db;
	char		last_error[ZERROR_TEXT];
	ZErrorNote	notes[ZERROR_NOTES];

	ZWorkerSlot slots[ZHEAP_MAX_UNDO_WORKERS];
} ZWorkerShared;

extern ZWorkerShared *zxact_shared;
extern ZWorkerSlot *zxact_my_slot;	/* a worker's; NULL in other processes */

/*
 * Does somebody drop, copy, rename or move the database, or wait to?  Within a
 * transaction; needs no connection to it.
 */
extern bool zxact_database_is_wanted(Oid db);

/* ---- undo that cannot be read (xact_all_tables.c) ---- */

/*
 * Roll back what is aborted on the pages of all tables of this database: then no undo of
 * transactions that ended before is needed, whether it can be read or not.  "skip": pages
 * that cannot be rolled back for damage are reported and given up.  False: something is
 * left.
 */
extern bool zxact_roll_back_tables(bool skip, uint64 *given_up);

/* Around a look into a catalog with a snapshot of one's own; VACUUM's would not do. */
extern uint8 zxact_catalog_begin(void);
extern void zxact_catalog_end(uint8 flags);

/* ERROR if this transaction has written anything (xact_sweep.c). */
extern void zxact_refuse_changed(void);

/*
 * Sleep for 10 ms, as a wait does that has so many naps left, ZXACT_NAPS at first.  False:
 * none is left.  Can be cancelled.
 */
#define ZXACT_NAPS	1000
extern bool zxact_nap(int *naps);

/* Wait for a moment until all transactions with xids before this one have ended. */
extern bool zxact_wait_for_older(FullTransactionId next);

/* ---- errors (xact_errors.c) ---- */

/*
 * Run work(arg) in a subtransaction and a memory context of its own.  NULL, or the
 * error, allocated, after which what it held is released.  A request to cancel is
 * not caught.  Within a transaction; no lock may be held that is not to be lost.
 */
extern ErrorData *zxact_try(void (*work) (void *), void *arg);

/*
 * Count the error, and tell of it: to the log from background processes, seldom of
 * the same; as a warning in VACUUM.  "what" could not be rolled back; "relid" may be
 * invalid.
 */
extern void zxact_error_report(const ErrorData *error, Oid relid, const char *what);

/* Only count it.  Needs no transaction. */
extern void zxact_error_count(const char *message);

/* In a worker: it has met one more error. */
extern void zxact_worker_error(void);

/* ---- tables that a sweep has open (xact_table.c) ---- */

typedef struct ZSweepTable
{
	Relation	rel;			/* &data, or NULL: unused */
	ZRelLocator locator;		/* as the records have it: the tablespace may differ */
	RelationData data;
	FormData_pg_class form;
} ZSweepTable;

typedef enum ZTableState
{
	ZTABLE_OPEN,
	ZTABLE_BUSY,				/* somebody has it locked */
	ZTABLE_GONE					/* the file is not that table's any more */
} ZTableState;

/*
 * The open one with this file, or NULL.  For access to its pages, no more; until the next
 * call of any of these functions but this one.
 */
extern Relation zxact_table_find(ZRelLocator locator);

/* Open table "oid", whose file the catalog says it is; or, with NULL, whatever file it has. */
extern ZTableState zxact_table_open(const ZRelLocator *locator, Oid oid, Relation *found);

/* Close those whose files somebody waits for.  Returns whether there were any. */
extern bool zxact_tables_make_way(void);

/* Close all.  Or forget them, after an abort has released what they held. */
extern void zxact_tables_close(void);
extern void zxact_tables_forget(void);

#endif							/* ZHEAP_XACT_PRIVATE_H */
