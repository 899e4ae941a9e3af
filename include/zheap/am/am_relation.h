/*
 * am_relation.h
 *		Callbacks of the table AM that deal with a table as a whole: its files,
 *		its toast table, its size.  Signatures are the server's.
 */
#ifndef ZHEAP_AM_RELATION_H
#define ZHEAP_AM_RELATION_H

#include "access/tableam.h"

#include "zheap/base/pg_compat.h"

#define ZHEAP_AM_NAME	"zheap"

/* ---- files (am_relation.c) ---- */

/* Create the main fork of a new table, or of a new version of one. */
extern void zam_relation_set_new_file(Relation rel, const RelFileLocator *locator,
									  char persistence, TransactionId *freezeXid,
									  MultiXactId *minmulti);
extern void zam_relation_nontransactional_truncate(Relation rel);

/* SET TABLESPACE: copy all forks block by block.  AccessExclusiveLock is held. */
extern void zam_relation_copy_data(Relation rel, const RelFileLocator *locator);

/* ---- toast (am_relation.c): toast tables are heap tables ---- */

extern bool zam_relation_needs_toast_table(Relation rel);
extern Oid	zam_relation_toast_am(Relation rel);
extern void zam_relation_fetch_toast_slice(Relation toastrel, Oid valueid,
										   int32 attrsize, int32 sliceoffset,
										   int32 slicelength,
										   struct varlena *result);

/* ---- size (am_size.c) ---- */

extern uint64 zam_relation_size(Relation rel, ForkNumber fork);
extern void zam_relation_estimate_size(Relation rel, int32 *attr_widths,
									   BlockNumber *pages, double *tuples,
									   double *allvisfrac);

/* ---- dropping (am_drop.c) ---- */

/*
 * A transaction that drops the undo relation and leaves zheap tables is to fail:
 * register the hook and the callback that see to it.
 */
extern void zam_drop_register(void);

/* ---- the undo relation (am_undo_ddl.c) ---- */

/* It gets no columns, triggers and the like: register the hook that refuses such statements. */
extern void zam_undo_ddl_register(void);

/* ---- databases (am_database.c) ---- */

/* What is known of one is not taken for another's that gets its OID: register the hook for it. */
extern void zam_database_register(void);

/* ---- storage parameters (am_options.c) ---- */

/* Those that zheap tables cannot have are refused: register the hook that does so. */
extern void zam_options_register(void);

/* ---- other extensions' functions that take any page for heap's (am_heap_checks.c) ---- */

/* An error if such a function asks for the table: it would write into its rows. */
extern void zam_refuse_heap_checks(Relation rel);

/*
 * The same if heap_insert() asks, as far as that can be told here; no page is locked or changed
 * yet then.
 */
extern void zam_refuse_heap_insert(Relation rel);

/* Register the hooks that tell of them. */
extern void zam_heap_checks_register(void);

/* ---- background workers that take any slot for heap's (am_workers.c) ---- */

/*
 * An error if this background worker, which is about to write to the table, is one of those
 * that are known for that.  MyBgworkerEntry is set.
 */
extern void zam_refuse_heap_workers(Relation rel);

/* ---- tables that name no access method (am_default.c) ---- */

/* A file of a table is being made: tables that come later are not the statement's. */
extern void zam_default_note_made(void);

/*
 * default_table_access_method = zheap is for tables that statements make: register the hooks that
 * see to it.  Once, while the library is preloaded.
 */
extern void zam_default_register(void);

/* ---- pg_repack (am_repack.c) ---- */

/* A table gets no file of another access method: register the hook that sees to it. */
extern void zam_repack_register(void);

#endif							/* ZHEAP_AM_RELATION_H */
