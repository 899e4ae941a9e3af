/*
 * undo_space.h
 *		Free extents, and give space back.
 */
#ifndef ZHEAP_UNDO_SPACE_H
#define ZHEAP_UNDO_SPACE_H

#include "access/transam.h"

#include "zheap/base/base.h"

/*
 * Free extents that nobody needs, at most so many.  For workers and VACUUM.
 * Returns their number.
 */
extern uint32 zundo_discard(uint32 max);

/*
 * Directory pages that were damaged since the logs were loaded are made anew.  Who needs one sees
 * to that, too; but when the server has been restarted nobody knows any more what they told.
 */
extern void zundo_dir_check(void);

/*
 * Logs that are lost and not pending any more are struck out of the directory.  The
 * database is loaded.
 */
extern void zundo_drop_lost(void);

/*
 * Make the undo relation anew, with this horizon.  It is locked against everybody else, and
 * nothing that it holds is needed.  zundo_is_writing(): this transaction is about to append.
 */
extern void zundo_reset(FullTransactionId horizon);
extern bool zundo_is_writing(void);

/*
 * A database that is no more: nothing is to be done for it.  Only if nobody is
 * connected to it.
 */
extern void zundo_forget_database(Oid dboid);

/*
 * Truncate the undo relation if enough of its end is free (undo_truncate.c).  For
 * workers, who leave what was in use a moment ago; "all": for VACUUM, which
 * leaves a small reserve.  Returns the number of blocks given back.
 */
extern BlockNumber zundo_truncate(bool all);

/* A database in which a worker has something to do. */
typedef struct ZUndoWork
{
	Oid			db;
	bool		urgent;			/* aborted transactions are to be rolled back, not only
								 * extents to be freed */
	uint32		aborts;			/* a count of all aborts there, which goes round */
} ZUndoWork;

/* All of them, at most "max"; needs no database.  Returns their number. */
extern int	zundo_databases_with_work(ZUndoWork *work, int max);

/*
 * Has a sweep anything to look at in this database, now: not what waits for its time or for
 * the end of a transaction.  *bytes, unless that is NULL: about how much undo.
 */
extern bool zundo_sweep_is_due(uint64 *bytes);

#endif							/* ZHEAP_UNDO_SPACE_H */
