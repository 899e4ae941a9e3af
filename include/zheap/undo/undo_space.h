/*
 * undo_space.h
 *		Free extents, give space back, and find databases with such work.
 *
 * Callers hold no buffer lock and no LWLock.  Unless said otherwise a function takes the
 * database's lock, exclusively, and raises ERROR as zundo_open(), or (data_corrupted) if the meta
 * page or a page of the log directory or free map is damaged.
 */
#ifndef ZHEAP_UNDO_SPACE_H
#define ZHEAP_UNDO_SPACE_H

#include "access/transam.h"

#include "zheap/base/base.h"

/*
 * Free at most "max" extents that are not needed, for workers and VACUUM.  Returns the number
 * of extents freed.
 */
extern uint32 zundo_discard(uint32 max);

/*
 * Rewrite directory pages that were damaged since the logs were loaded.  Writers that need one
 * do that as well; but after a restart its contents are not known any more.
 */
extern void zundo_dir_check(void);

/*
 * Remove lost logs that are not pending any more from the directory.  Does nothing if the
 * database's logs are not loaded.
 */
extern void zundo_drop_lost(void);

/*
 * Make the undo relation anew, with this horizon.  The caller has locked it with
 * AccessExclusiveLock, has called zundo_wait_for_users(), and knows that nothing in it is
 * needed; its transaction is not about to append.  zundo_is_writing() returns whether it is; it
 * takes no lock.
 */
extern void zundo_reset(FullTransactionId horizon);
extern bool zundo_is_writing(void);

/*
 * Forget a dropped database, unless a backend is attached to it.  Takes the map lock,
 * exclusively; raises no error.  May be called without a database.
 */
extern void zundo_forget_database(Oid dboid);

/*
 * Truncate the undo relation if enough of its end is free (undo_truncate.c).  For workers,
 * which leave as much as was in use lately, and with "all" for VACUUM, which leaves a small
 * reserve.  Returns the number of blocks given back.
 */
extern BlockNumber zundo_truncate(bool all);

/* A database in which a worker has something to do. */
typedef struct ZUndoWork
{
	Oid			db;
	bool		urgent;			/* true: aborted transactions are to be rolled back; false:
								 * extents to be freed, no more */
	uint32		aborts;			/* number of aborts there so far, modulo 2^32 */
} ZUndoWork;

/*
 * Find at most "max" databases with work.  Returns their number.  Needs no database connection;
 * takes the databases' locks and the map lock, shared, one database at a time.  Raises no
 * error.
 */
extern int	zundo_databases_with_work(ZUndoWork *work, int max);

/*
 * Return whether some log of this database is due for a sweep now; logs that back off, or wait
 * for the end of a transaction, are not.  *bytes, unless NULL, is an estimate of the undo to
 * sweep.  Takes the database's lock, shared.
 */
extern bool zundo_sweep_is_due(uint64 *bytes);

#endif							/* ZHEAP_UNDO_SPACE_H */
