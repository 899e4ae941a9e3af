/*
 * undo_pending.h
 *		Logs with undo of aborted transactions, and sweeps of these.
 */
#ifndef ZHEAP_UNDO_PENDING_H
#define ZHEAP_UNDO_PENDING_H

#include "access/transam.h"

#include "zheap/undo/undo_ptr.h"

/*
 * Pending work: the logs of this database that hold undo of transactions which
 * aborted (or whose status is not known after a restart).  The sweeper goes
 * through [from, end of log) and tells how far it got.
 */
typedef struct ZUndoPending
{
	int			log;
	uint32		sweep_id;		/* the undo layer's own */
	ZUndoPtr	from;			/* first record to look at */
	bool		newly_aborted;	/* only what aborted since the last sweep: what
								 * that one has left is not to be tried yet */
	/* the undo layer's own */
	uint32		aborts;			/* of these; when it is marked: of what is left */
	uint32		ordinal;		/* of the extent that "from" is in */
	FullTransactionId left_before;	/* oldest of what an earlier sweep has left */
	TimestampTz retry_before;	/* when that was to be tried again */
	Oid			relid_before;	/* a table that was in its way */
} ZUndoPending;

/*
 * The next log with pending work after "log" (start with -1); false at the end.
 * "all": also what was in vain a moment ago (zundo_pending_back_off).
 * If two sweepers take the same log, the work of the one that took it first is
 * in vain: what it marks applied is ignored.
 */
extern bool zundo_pending_next(int log, bool all, ZUndoPending *pending);

/*
 * How far a sweep has come: everything before "upto" is applied (committed, or applied to
 * the pages); invalid: the whole log, up to where zundo_next() saw its end.  "upto" may
 * not lie beyond a record of a transaction that was in progress when it was
 * looked at: the sweeper notes the first such record, and goes on to apply what
 * lies behind.
 */
typedef struct ZUndoSwept
{
	ZUndoPtr	upto;
	uint32		extents;		/* from pending->from to it, its own not counted */
	FullTransactionId oldest;	/* oldest xid (top level or not) of the unapplied
								 * records from "upto" to the end; invalid if there is
								 * none or the sweeper did not look at them all */
	uint32		left;			/* number of their transactions, without the one that
								 * the log's owner is in */
} ZUndoSwept;

/*
 * Has no other sweep of the log begun?  Else what this one has not read yet may be gone.
 */
extern bool zundo_pending_is_newest(const ZUndoPending *pending);

/* Are the log's last pages damaged, so that nobody knows where it ends? */
extern bool zundo_log_is_sealed(int log);

/*
 * Tell so.  Safe against an abort that happened meanwhile.  May be called once more, with
 * the same *pending, when less is left.
 */
extern void zundo_pending_mark_applied(ZUndoPending *pending, const ZUndoSwept *swept);

/*
 * Somebody who keeps others from sweeping is busy with something else for long: nobody is to
 * wait for sweeps until that ends, or until the next one begins.
 */
extern void zundo_hold_sweeps(bool hold);

/* Is this the first record of the transaction that the log's owner is in? */
extern bool zundo_is_first_active(int log, ZUndoPtr ptr);

/*
 * After it: what is left of the log could not be done now, so it is not to be
 * tried again before so many milliseconds, at first; twice as many each time, up
 * to "last".  Later aborts are seen to meanwhile.  "relid": a table that is in the way,
 * for zundo_holders(); or invalid.
 */
extern void zundo_pending_back_off(const ZUndoPending *pending, uint32 first, uint32 last,
								   Oid relid);

#endif							/* ZHEAP_UNDO_PENDING_H */
