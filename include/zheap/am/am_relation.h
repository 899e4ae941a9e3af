/*
 * am_relation.h
 *		Callbacks of the table AM that deal with a table as a whole: its files,
 *		its toast table, its size.  Signatures are the server's.
 *
 * The functions zam_..._register() add hooks of the server.  Each is called once, while the
 * library is preloaded, and raises no error.
 */
#ifndef ZHEAP_AM_RELATION_H
#define ZHEAP_AM_RELATION_H

#include "access/tableam.h"

#include "zheap/base/pg_compat.h"

#define ZHEAP_AM_NAME	"zheap"

/* ---- files (am_relation.c) ---- */

/*
 * Create the main fork of a new table, or a new file of an existing one, which the caller then
 * holds locked with AccessExclusiveLock (A1).  Sets *freezeXid and *minmulti to invalid: there is
 * nothing to freeze.  The server removes the file if the transaction aborts.  ERROR
 * (object_not_in_prerequisite_state) if the library was not preloaded.
 */
extern void zam_relation_set_new_file(Relation rel, const RelFileLocator *locator,
									  char persistence, TransactionId *freezeXid,
									  MultiXactId *minmulti);

/* Truncate a table that this transaction has created.  AccessExclusiveLock is held (A1). */
extern void zam_relation_nontransactional_truncate(Relation rel);

/*
 * SET TABLESPACE: roll back all aborted rows, then copy all forks block by block.
 * AccessExclusiveLock is held (A1), no buffer is locked (L1).  ERROR (data_corrupted) if a page or
 * undo is damaged.
 */
extern void zam_relation_copy_data(Relation rel, const RelFileLocator *locator);

/* ---- toast (am_relation.c): toast tables are heap tables ---- */

/* Return whether a row may become so long that values have to be stored in a toast table. */
extern bool zam_relation_needs_toast_table(Relation rel);

/* Return heap's OID. */
extern Oid	zam_relation_toast_am(Relation rel);

/* Fetch a slice of a value by heap's function (A4).  Errors are heap's. */
extern void zam_relation_fetch_toast_slice(Relation toastrel, Oid valueid,
										   int32 attrsize, int32 sliceoffset,
										   int32 slicelength,
										   struct varlena *result);

/* ---- size (am_size.c) ---- */

/*
 * Return the size of a fork in bytes.  ERROR (feature_not_supported) if a function that would take
 * the table's pages for heap's asks for the size (am_heap_checks.c).
 */
extern uint64 zam_relation_size(Relation rel, ForkNumber fork);

/*
 * Estimate pages, rows and the fraction of pages that are all-visible, for the planner.  *pages
 * may be more than the table has, so that small tables get index scans.
 */
extern void zam_relation_estimate_size(Relation rel, int32 *attr_widths,
									   BlockNumber *pages, double *tuples,
									   double *allvisfrac);

/* ---- dropping (am_drop.c) ---- */

/*
 * Register the hook and the callback that wait for sweeps before a table is dropped, and that
 * raise ERROR (dependent_objects_still_exist) before the commit of a transaction that drops the
 * undo relation and leaves zheap tables (A3).
 */
extern void zam_drop_register(void);

/* ---- the undo relation (am_undo_ddl.c) ---- */

/*
 * Register the hook that refuses statements that would give the undo relation columns, triggers
 * and the like, with ERROR (feature_not_supported).
 */
extern void zam_undo_ddl_register(void);

/* ---- databases (am_database.c) ---- */

/*
 * Register the hook that forgets what shared memory knows of a dropped database, so that it is not
 * taken for knowledge of a new database with the same OID.
 */
extern void zam_database_register(void);

/* ---- storage parameters (am_options.c) ---- */

/*
 * Register the hook that refuses parameters that zheap tables cannot have, with ERROR
 * (feature_not_supported).
 */
extern void zam_options_register(void);

/* ---- other extensions' functions that take any page for heap's (am_heap_checks.c) ---- */

/*
 * Raise ERROR (feature_not_supported) if pg_check_visible() or pg_check_frozen() is running: it
 * would take the table's rows for heap's, and write into them.
 */
extern void zam_refuse_heap_checks(Relation rel);

/*
 * Raise ERROR (feature_not_supported) if heap_insert() is calling, as far as the stack shows it.
 * At that moment heap_insert() has not locked or changed a page.
 */
extern void zam_refuse_heap_insert(Relation rel);

/* Register the hooks that report these functions. */
extern void zam_heap_checks_register(void);

/* ---- background workers that take any slot for heap's (am_workers.c) ---- */

/*
 * Raise ERROR (feature_not_supported) if this process is a worker of a library that is known to
 * take any slot for heap's, and is about to write to the table.  MyBgworkerEntry is set.
 */
extern void zam_refuse_heap_workers(Relation rel);

/* ---- tables that name no access method (am_default.c) ---- */

/* Note that the current statement has made its table: later ones are not the statement's. */
extern void zam_default_note_made(void);

/* Register the hooks that restrict default_table_access_method = zheap to statements' tables. */
extern void zam_default_register(void);

/* ---- pg_repack (am_repack.c) ---- */

/*
 * Register the hook that refuses, with ERROR (feature_not_supported), tables of pg_repack by which
 * a table would get a file of another access method.
 */
extern void zam_repack_register(void);

#endif							/* ZHEAP_AM_RELATION_H */
