/*
 * filled.h
 *		Pages that insertions have filled, so that a worker can mark them all-visible.
 *
 * A backend that extends a table leaves full pages behind.  It notes them in a hash table in
 * shared memory, by relation: one range of blocks that waits, and one of blocks filled since
 * then.  When all snapshots see the transactions that filled the waiting range, a worker visits
 * its pages (clean_filled.c), and the other range takes its place.  So a table that grows all
 * the time is marked all the time, some way behind its end.
 *
 * A range only says where to look.  If a note is lost, because there are too many tables or
 * because the server was restarted, its pages are left to VACUUM.
 *
 * Except for zfilled_any() the functions take an LWLock, and no other lock.  They may be called
 * with a page locked, allocate nothing from memory contexts, and raise no error.
 */
#ifndef ZHEAP_FILLED_H
#define ZHEAP_FILLED_H

#include "access/transam.h"
#include "storage/block.h"
#include "utils/rel.h"

#include "zheap/base/base.h"

typedef struct ZFilledPages
{
	Oid			table;			/* in the current database */
	RelFileLocator locator;		/* its file when the pages were noted */
	BlockNumber first;
	BlockNumber last;			/* included */
	FullTransactionId before;	/* only transactions before this one have filled them */
} ZFilledPages;

#define ZFILLED_LWLOCK_TRANCHE "zheap_filled"

/*
 * Bytes of shared memory, and its initialization in the shmem startup hook (AddinShmemInitLock
 * is held).
 */
extern Size zfilled_shmem_size(void);
extern void zfilled_shmem_init(void);

/* ---- for writers ---- */

/*
 * Note that a row found no room on block "left" and went to block "next", whose page may be
 * locked.
 */
extern void zfilled_note(Relation rel, BlockNumber left, BlockNumber next);

/* Forget the notes of a database that is dropped, or whose OID another database has got. */
extern void zfilled_forget_database(Oid db);

/* ---- for workers ---- */

/* Return whether there are notes.  Takes no lock, so the answer may be out of date. */
extern bool zfilled_any(void);

/*
 * Store the OIDs of at most "max" databases that have waiting pages filled only by transactions
 * before "horizon"; return their number.  Tables that were put back with a delay that has not
 * ended are left out.
 */
extern int	zfilled_databases(FullTransactionId horizon, Oid *dbs, int max);

/*
 * Take up to "max" such pages from the table of this database that has waited longest, and
 * remove them from the notes.  Return whether there were any.
 */
extern bool zfilled_take(FullTransactionId horizon, BlockNumber max, ZFilledPages *pages);

/* Put pages back; no worker is to take pages of the table for "delay" milliseconds. */
extern void zfilled_put_back(const ZFilledPages *pages, int delay);

/* Forget the notes of a table of this database if they are about this file. */
extern void zfilled_forget_file(Oid table, RelFileLocator locator);

#endif							/* ZHEAP_FILLED_H */
