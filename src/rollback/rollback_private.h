/*
 * rollback_private.h
 *		What the files of this layer share.
 */
#ifndef ZHEAP_ROLLBACK_PRIVATE_H
#define ZHEAP_ROLLBACK_PRIVATE_H

#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/catalog.h"
#include "zheap/rollback/rollback.h"

/* ---- the worker that rolls back; nothing in other processes (rollback_worker.c) ---- */

extern bool zrollback_worker_is_to_leave(void);
extern void zrollback_worker_progress(Size undo, uint32 pages);
extern void zrollback_worker_error(void);

/* ---- undo that cannot be read (rollback_all_tables.c) ---- */

/*
 * Roll back what is aborted on the pages of all tables of this database: then no undo of
 * transactions that ended before is needed, whether it can be read or not.  "skip": pages
 * that cannot be rolled back for damage are reported and given up.  False: something is
 * left.
 */
extern bool zrollback_all_tables(bool skip, uint64 *given_up);

/* ERROR if this transaction has written anything (rollback_sweep.c). */
extern void zrollback_refuse_changed(void);

/* ---- tables in the catalog (rollback_class.c) ---- */

/* zheap_class_scan() with a snapshot of its own, taken now; VACUUM's would not do. */
extern void zrollback_class_scan(Oid index, ScanKey keys, int nkeys, ZClassVisitor visit,
								 void *arg);

/* ---- waiting (rollback_wait.c) ---- */

/*
 * Sleep for 10 ms, as a wait does that has so many naps left, ZROLLBACK_NAPS at first.  False:
 * none is left.  Can be cancelled.
 */
#define ZROLLBACK_NAPS	1000
extern bool zrollback_nap(int *naps);

/* Wait for a moment until all transactions with xids before this one have ended. */
extern bool zrollback_wait_for_older(FullTransactionId next);

/* ---- errors (rollback_errors.c) ---- */

/*
 * Count the error, and tell of it: to the log from background processes, seldom of
 * the same; as a warning in VACUUM.  "message" says what could not be rolled back, and
 * why, in the language of messages; "relid" may be invalid.
 */
extern void zrollback_error_report(const ErrorData *error, Oid relid,
								   const char *message);

/* ---- the lock on a file (rollback_file_lock.c) ---- */

#ifdef USE_ASSERT_CHECKING
/* Is there a lock on the table, or on its file, that keeps the file where it is (R4)? */
extern bool zrollback_file_is_held(Relation rel);
#endif

/* ---- a file as a relation (rollback_file.c) ---- */

/* Static, because the storage manager remembers who uses a file, after an error as well. */
typedef struct ZFileRelation
{
	RelationData data;
	FormData_pg_class form;
} ZFileRelation;

/*
 * What the file's pages need of a relation; the caller fills in "form".  The file was
 * closed before.
 */
extern Relation zrollback_file_describe(ZFileRelation *file, RelFileLocator locator,
										ProcNumber backend, Oid relid,
										const struct TableAmRoutine *tableam);

/* The storage manager may forget about it. */
extern void zrollback_file_close(ZFileRelation *file);

/* ---- tables that a sweep has open (rollback_table.c), see rollback.h, too ---- */

/* The open one with this file, or NULL. */
extern Relation zrollback_table_find(RelFileLocator locator);

/* Close those whose files somebody waits for.  Returns whether there were any. */
extern bool zrollback_tables_make_way(void);

/* ---- the tables that a record may be about (rollback_find.c) ---- */

/*
 * The files that may have the page of a record that names the file "recorded", in files[].
 * Returns how many they are.  No errors.
 */
#define ZROLLBACK_MAX_FILES	2
extern int	zrollback_find_files(RelFileLocator recorded, RelFileLocator *files);

/*
 * The table that has the file, opened as by zrollback_table_open(); *oid is the relation's, or
 * invalid.  ZTABLE_BUSY also if it cannot be told yet whether any table has it, and ZTABLE_GONE
 * only if none of transaction "fxid" or older can (R8).  Reads catalogs, with errors as these
 * have them: no buffer may be locked.
 */
extern ZTableState zrollback_find_table(RelFileLocator file, FullTransactionId fxid,
										Relation *rel, Oid *oid);

#endif							/* ZHEAP_ROLLBACK_PRIVATE_H */
