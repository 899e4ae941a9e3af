/*
 * undo_relation.h
 *		The undo relation of a database, and set-up of the layer.
 */
#ifndef ZHEAP_UNDO_RELATION_H
#define ZHEAP_UNDO_RELATION_H

#include "utils/rel.h"

#include "zheap/base/base.h"

/* name of the LWLock tranche to request, with zundo_lwlock_count() locks */
#define ZUNDO_LWLOCK_TRANCHE	"zheap_undo"

extern Size zundo_shmem_size(void);
extern Size zundo_use_shmem_size(void);
extern int	zundo_lwlock_count(void);

/* Of so many databases something is known at the same time. */
extern int	zundo_max_databases(void);

/* In the shmem startup hook; AddinShmemInitLock is held by the caller. */
extern void zundo_shmem_init(void);
extern void zundo_use_shmem_init(void);

/*
 * OID of this database's undo relation; ERROR with a hint if the extension does
 * not exist here.
 */
extern Oid	zundo_relation_oid(void);

/* Has this database an undo relation?  For workers that come by unasked. */
extern bool zundo_exists(void);

/*
 * The undo relation, for use until the end of the transaction: nobody moves or drops it
 * meanwhile.  The caller holds no buffer lock (L2: it reads catalogs, and may wait for a
 * heavyweight lock), so DML and scans call zundo_open() at their
 * start; cheap if the backend knows the relation.  It may be called in a parallel worker.
 */
extern PGDLLEXPORT void zundo_open(void);

/*
 * The same, for a caller that is about to look at the table's pages.  Of a temporary
 * table what an earlier transaction of the session has left there is rolled back first.
 */
extern void zundo_open_for(Relation rel);

/*
 * The same, for a reader that may get by with zundo_horizon(): as a rule it does nothing, and
 * zundo_open() is called when undo is to be read, unless zundo_is_open().
 */
extern void zundo_attach_for(Relation rel);
extern bool zundo_is_open(void);

/*
 * After zundo_open() in the same transaction.  Nobody closes it; it is good until the server may
 * accept invalidation messages: not to be kept.  The next call then reads the catalog, or, where a
 * page is locked, returns a copy that is good for reading and writing pages (L2).
 */
extern Relation zundo_relation(void);

/* Has this transaction called zundo_open()? */
extern bool zundo_is_used(void);

#endif							/* ZHEAP_UNDO_RELATION_H */
