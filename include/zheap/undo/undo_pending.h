/*
 * undo_pending.h
 *		Pending logs, which have undo of aborted transactions, and their sweeps.
 *
 * Unless said otherwise functions raise no error and take the database's lock, shared; they do
 * nothing, or return false, if the log does not exist any more.
 */
#ifndef ZHEAP_UNDO_PENDING_H
#define ZHEAP_UNDO_PENDING_H

#include "access/transam.h"

#include "zheap/undo/undo_ptr.h"

/*
 * A sweep of a pending log, one that has undo of transactions which aborted (or whose status is
 * not known after a restart).  The sweep goes through [from, end of log) and reports how far it
 * got.
 */
typedef struct ZUndoPending
{
	int			log;
	uint32		sweep_id;		/* private to the undo layer */
	ZUndoPtr	from;			/* first record to look at */
	bool		newly_aborted;	/* look only at what aborted since the last sweep: what that one
								 * has left is not to be tried yet */
	/* private to the undo layer */
	uint32		aborts;			/* number of newly aborted transactions; after it is marked: of
								 * those left */
	uint32		ordinal;		/* ordinal of the extent of "from"; 0: not known */
	FullTransactionId left_before;	/* oldest xid that an earlier sweep has left */
	TimestampTz retry_before;	/* when that is to be tried again */
	Oid			relid_before;	/* a table that the earlier sweep could not roll back */
} ZUndoPending;

/*
 * Begin a sweep of the next pending log after number "log" (-1 to start).  Returns false if
 * there is none.  "all": include logs that back off (zundo_pending_back_off).  If two sweeps
 * take the same log, what the earlier one reports is ignored.  Ends zundo_hold_sweeps().  No
 * lock may be held.  ERROR as zundo_horizon_advance().
 */
extern bool zundo_pending_next(int log, bool all, ZUndoPending *pending);

/*
 * How far a sweep has come.  Everything before "upto" is applied: its transaction committed, or
 * it was applied to the pages.  Invalid: the whole log is, up to where zundo_next() saw its
 * end.  "upto" may not lie beyond a record of a transaction that was in progress when it was
 * looked at: the sweep notes the first such record, and goes on to apply what lies behind it.
 */
typedef struct ZUndoSwept
{
	ZUndoPtr	upto;
	uint32		extents;		/* number of extents from pending->from to "upto", that of
								 * "upto" not counted */
	FullTransactionId oldest;	/* oldest xid (of a transaction or a subtransaction) of the
								 * unapplied records from "upto" to the end; invalid if there is
								 * none, or if the sweep did not look at them all */
	uint32		left;			/* number of their transactions, without that of the log's owner */
} ZUndoSwept;

/*
 * Return whether no other sweep of the log has begun.  If one has, the rest of the log may be
 * gone before this sweep reads it.
 */
extern bool zundo_pending_is_newest(const ZUndoPending *pending);

/* Return whether the log is sealed: its last pages are damaged, so that its end is not known. */
extern bool zundo_log_is_sealed(int log);

/*
 * Report the progress of a sweep.  Concurrent aborts are safe.  May be called again, with the
 * same *pending, when less is left.
 */
extern void zundo_pending_mark_applied(ZUndoPending *pending, const ZUndoSwept *swept);

/*
 * Have writers not wait for sweeps until this is called with false, or until the next sweep
 * begins: the process that keeps others from sweeping (VACUUM) will take long.  Takes no lock.
 * zundo_open() must have been called.
 */
extern void zundo_hold_sweeps(bool hold);

/* Return whether "ptr" is the first record of the transaction that the log's owner is in. */
extern bool zundo_is_first_active(int log, ZUndoPtr ptr);

/*
 * Back off, after zundo_pending_mark_applied(): what is left of the log could not be applied
 * now.  Do not try it again for "first" milliseconds; twice as long each further time, up to
 * "last".  Later aborts are swept meanwhile.  "relid": a table that could not be rolled back,
 * for zundo_holders(); or invalid.
 */
extern void zundo_pending_back_off(const ZUndoPending *pending, uint32 first, uint32 last,
								   Oid relid);

#endif							/* ZHEAP_UNDO_PENDING_H */
