/*
 * undo_relation.h
 *		The undo relation of a database; set-up of the layer.
 */
#ifndef ZHEAP_UNDO_RELATION_H
#define ZHEAP_UNDO_RELATION_H

#include "utils/rel.h"

#include "zheap/base/base.h"

/* name of the LWLock tranche to request, with zundo_lwlock_count() locks */
#define ZUNDO_LWLOCK_TRANCHE	"zheap_undo"

/* Bytes of shared memory, and number of LWLocks, to request. */
extern Size zundo_shmem_size(void);
extern Size zundo_use_shmem_size(void);
extern int	zundo_lwlock_count(void);

/* Return the number of databases that shared memory has room for. */
extern int	zundo_max_databases(void);

/*
 * Initialise or attach to shared memory, in the shmem startup hook; the caller holds
 * AddinShmemInitLock.
 */
extern void zundo_shmem_init(void);
extern void zundo_use_shmem_init(void);

/*
 * Return the OID of this database's undo relation.  May read catalogs: no buffer lock may be
 * held (L2).  ERROR (undefined_table) if the extension does not exist here.
 */
extern Oid	zundo_relation_oid(void);

/*
 * Return whether this database has an undo relation.  For workers, which also visit databases
 * without the extension.  May read catalogs (L2).
 */
extern bool zundo_exists(void);

/*
 * Open the undo relation for use until the end of the transaction: it is not moved or dropped
 * meanwhile.  May be called in a parallel worker.  Cheap if the backend knows the relation.
 * The caller holds no buffer lock and no LWLock (L2: it reads catalogs, and may wait for a
 * heavyweight lock), so DML and scans call it at their start.
 *
 * ERROR (undefined_table) without the extension, (object_not_in_prerequisite_state) if the
 * library is not preloaded or the relation that the transaction has written to was rolled back,
 * (program_limit_exceeded) if too many databases are in use, (data_corrupted) if the relation
 * is of another version, or newer than the counter of transactions.
 */
extern PGDLLEXPORT void zundo_open(void);

/*
 * Open the undo relation as zundo_open() does, to access pages of the table.  If it is
 * temporary, first roll back what an earlier transaction of the session has left there, which
 * may raise any ERROR.
 */
extern void zundo_open_for(Relation rel);

/*
 * Prepare a reader that may need no more than zundo_horizon().  As a rule this does nothing; it
 * calls zundo_open_for() if the table is temporary, in parallel mode, and if the backend has
 * not used undo yet.  The reader calls zundo_open() before it reads undo, unless
 * zundo_is_open() returns true: the relation is open, and its relcache entry known.
 */
extern void zundo_attach_for(Relation rel);
extern bool zundo_is_open(void);

/*
 * Return the relation's entry in the relation cache, after zundo_open() in the same
 * transaction.  It is not to be closed, and not to be kept: it is valid until the server may
 * accept invalidation messages.  The next call then reads the catalog, or, while interrupts are
 * held off (a page is locked), returns a copy that suffices to read and write pages (L2).
 * ERROR (internal_error) if the relation was never opened or is gone.
 */
extern Relation zundo_relation(void);

/* Return whether this transaction has called zundo_open(). */
extern bool zundo_is_used(void);

#endif							/* ZHEAP_UNDO_RELATION_H */
