/*
 * xact.h
 *		What happens at the end of transactions and after it.
 */
#ifndef ZHEAP_XACT_H
#define ZHEAP_XACT_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/rel.h"

/* Register the (sub)transaction callbacks. */
extern void zxact_callbacks_register(void);

/*
 * Put back what aborted transactions of this database left on their pages, as
 * the undo log tells (xact_sweep.c).  Commits transactions of its own on the way
 * when "own_transactions"; otherwise runs in the caller's.  Returns whether
 * anything is left that could not be done now.
 */
extern bool zxact_sweep(bool own_transactions);

/* One page of an open table, if it has that page.  zundo_open() was called. */
extern void zxact_put_back(Relation rel, BlockNumber block);

/* The same for this backend's temporary tables (xact_local.c). */
extern void zxact_local_sweep(void);

/* Launcher and workers (xact_worker.c). */
extern Size zxact_worker_shmem_size(void);
extern void zxact_worker_shmem_init(void);
extern void zxact_launcher_register(void);
extern void zxact_worker_wake(void);

extern PGDLLEXPORT void zheap_launcher_main(Datum arg);
extern PGDLLEXPORT void zheap_worker_main(Datum arg);

#endif							/* ZHEAP_XACT_H */
