/*
 * filled.h
 *		Pages that insertions have filled, so that a worker can mark them all-visible.
 *
 * A backend that extends a table leaves full pages behind.  It notes them in a table that all
 * backends share, by the relation: a range that is waiting, and one of what was filled since.
 * When all snapshots see what was done by then, a worker looks at the pages that wait
 * (clean_filled.c), and the other range takes their place.  So a table that grows all the time is
 * marked all the time, some way behind its end.
 *
 * A range only says where to look.  A note that is lost, as there are too many tables or the
 * server has been restarted, leaves the pages to VACUUM.
 */
#ifndef ZHEAP_FILLED_H
#define ZHEAP_FILLED_H

#include "access/transam.h"
#include "storage/block.h"
#include "utils/rel.h"

#include "zheap/base/base.h"

typedef struct ZFilledPages
{
	Oid			table;			/* of this database */
	RelFileLocator locator;		/* its file then */
	BlockNumber first;
	BlockNumber last;			/* included */
	FullTransactionId before;	/* which have filled them */
} ZFilledPages;

#define ZFILLED_LWLOCK_TRANCHE "zheap_filled"

extern Size zfilled_shmem_size(void);
extern void zfilled_shmem_init(void);

/* ---- for writers ---- */

/*
 * The table grows: a row found no room on block "left", and has come to block "next", whose page
 * may be locked.  Nothing is allocated, nothing fails.
 */
extern void zfilled_note(Relation rel, BlockNumber left, BlockNumber next);

/* The database is dropped, or another one has its OID now. */
extern void zfilled_forget_database(Oid db);

/* ---- for workers ---- */

/* Is anything noted?  A guess: nothing is locked. */
extern bool zfilled_any(void);

/*
 * The databases that have pages which only transactions before "horizon" have filled: returns how
 * many, at most "max".  Not those that are to be looked at later.
 */
extern int	zfilled_databases(FullTransactionId horizon, Oid *dbs, int max);

/*
 * Take up to "max" such pages of one table of this database, the one that has waited longest, which
 * are not noted any more then.  False: there are none.
 */
extern bool zfilled_take(FullTransactionId horizon, BlockNumber max, ZFilledPages *pages);

/* Put them back; the table is to be looked at after so many milliseconds. */
extern void zfilled_put_back(const ZFilledPages *pages, int delay);

/* Forget what is noted of a table of this database, if it is of this file. */
extern void zfilled_forget_file(Oid table, RelFileLocator locator);

#endif							/* ZHEAP_FILLED_H */
