/*
 * rollback_private.h
 *		Declarations shared by the files of this layer.
 */
#ifndef ZHEAP_ROLLBACK_PRIVATE_H
#define ZHEAP_ROLLBACK_PRIVATE_H

#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/catalog.h"
#include "zheap/mvcc/view.h"
#include "zheap/page/page_plan.h"
#include "zheap/rollback/rollback.h"

/* ---- the worker that rolls back; nothing in other processes (rollback_worker.c) ---- */

/* Call the worker's callback (ZRollbackWorker); in other processes return false, or do nothing. */
extern bool zrollback_worker_is_to_leave(void);
extern void zrollback_worker_progress(Size undo, uint32 pages);
extern void zrollback_worker_error(void);

/* ---- undo that cannot be read (rollback_all_tables.c) ---- */

/*
 * Roll back what is aborted on the pages of all tables of this database: afterwards no undo of
 * transactions that ended before is needed, whether it can be read or not.  Return true if
 * nothing is left.  "skip": report and give up the pages that damage does not let roll back;
 * *given_up is increased by their number.  Runs in the caller's transaction; locks tables as a
 * sweep does.
 */
extern bool zrollback_all_tables(bool skip, uint64 *given_up);

/*
 * Raise ERROR (active_sql_transaction) if this transaction has changed anything
 * (rollback_sweep.c).
 */
extern void zrollback_refuse_changed(void);

/* ---- tables in the catalog (rollback_class.c) ---- */

/*
 * Call zheap_class_scan() with a snapshot of its own, taken now, as VACUUM's does not keep
 * catalog rows from being pruned.
 */
extern void zrollback_class_scan(Oid index, ScanKey keys, int nkeys, ZClassVisitor visit,
								 void *arg);

/* ---- waiting (rollback_wait.c) ---- */

/*
 * Sleep for 10 ms and decrement *naps, which is ZROLLBACK_NAPS at the start of a wait (10
 * seconds in all).  Return false, without sleeping, if none is left.  Interruptible.
 */
#define ZROLLBACK_NAPS	1000
extern bool zrollback_nap(int *naps);

/*
 * Wait until all transactions with xids before this one have ended, for 10 seconds at most.
 * Return whether they have.  Interruptible.
 */
extern bool zrollback_wait_for_older(FullTransactionId next);

/* ---- errors (rollback_errors.c) ---- */

/*
 * Count the error and report it: background processes to the log, the same error ever more
 * rarely; VACUUM as a warning.  "message" says what could not be rolled back, and why,
 * translated; "relid" may be invalid.
 */
extern void zrollback_error_report(const ErrorData *error, Oid relid,
								   const char *message);

/* ---- the lock on a file (rollback_file_lock.c), see rollback.h, too ---- */

/* Return whether another process waits until this process has left the file. */
extern bool zrollback_file_is_wanted(RelFileLocator locator);

#ifdef USE_ASSERT_CHECKING
/* Return whether a lock on the table, or on its file, keeps the file where it is (R4). */
extern bool zrollback_file_is_held(Relation rel);
#endif

/* ---- the plan for one slot of a page (rollback_plan.c) ---- */

/*
 * Make the plan for a slot whose owner has aborted: the rows to change, in plan->rows, which has
 * room for all rows of a page, and the owner that the slot returns to.  "view" is a private
 * copy; no page is locked.  The bytes of versions are allocated in the current context.  ERROR
 * (data_corrupted) if the page or its undo is damaged.
 */
extern void zrollback_plan_slot(ZPageView *view, int slotno, ZRollbackPlan *plan);

/*
 * Return whether the row names the slot.  False for a damaged line pointer, which is reported
 * before any change (check_rows).
 */
extern bool zrollback_row_names(ZPageView *view, OffsetNumber offnum, int slotno);

/* ---- a file as a relation (rollback_file.c) ---- */

/*
 * A relation made up for a file.  Static, as the storage manager keeps its address, after an
 * error too.
 */
typedef struct ZFileRelation
{
	RelationData data;
	FormData_pg_class form;
} ZFileRelation;

/*
 * Initialize *file as far as access to the file's pages needs; the caller fills in "form".
 * Return the relation, which is part of *file.  The file must have been closed before (R5).
 */
extern Relation zrollback_file_describe(ZFileRelation *file, RelFileLocator locator,
										ProcNumber backend, Oid relid,
										const struct TableAmRoutine *tableam);

/* Make the storage manager forget the relation's address. */
extern void zrollback_file_close(ZFileRelation *file);

/* ---- tables that are not locked while their pages are changed (rollback_table.c) ---- */

typedef enum ZTableState
{
	ZTABLE_OPEN,
	ZTABLE_BUSY,				/* another transaction has it locked */
	ZTABLE_OTHER,				/* the file belongs to a relation of another kind */
	ZTABLE_GONE					/* the file does not belong to that relation any more */
} ZTableState;

/*
 * Open table "oid" if it has this file or, if locator is NULL, whatever file it has.  Reads
 * catalogs: no buffer may be locked.  If the result is ZTABLE_OPEN, *found can be used to
 * access the table's pages, map and free space map, nothing else, until the next call of any of
 * these functions.  On exit the file is locked, RowExclusive, and the table is not: it is
 * locked during the call, if that is possible without waiting.
 */
extern ZTableState zrollback_table_open(const RelFileLocator *locator, Oid oid, Relation *found);

/*
 * Close all open tables and release their files' locks; or forget them, after an abort has
 * released the locks.
 */
extern void zrollback_tables_close(void);
extern void zrollback_tables_forget(void);

/* Return the open table with this file, or NULL. */
extern Relation zrollback_table_find(RelFileLocator locator);

/* Close the tables whose files other processes wait for.  Return whether there were any. */
extern bool zrollback_tables_make_way(void);

/* ---- the tables that a record may be about (rollback_find.c) ---- */

/*
 * Set files[] to the files that may have the page of a record that names the file "recorded".
 * Return their number, 1 or 2.  Raises no error.
 */
#define ZROLLBACK_MAX_FILES	2
extern int	zrollback_find_files(RelFileLocator recorded, RelFileLocator *files);

/*
 * Open the table that has the file, like zrollback_table_open(); *oid is the relation's, or
 * invalid.  Return ZTABLE_BUSY also if it is not known yet whether any table has the file, and
 * ZTABLE_GONE only if no transaction up to "fxid" can give it to a table (R8).  Reads catalogs,
 * and raises their errors: no buffer may be locked.
 */
extern ZTableState zrollback_find_table(RelFileLocator file, FullTransactionId fxid,
										Relation *rel, Oid *oid);

#endif							/* ZHEAP_ROLLBACK_PRIVATE_H */
