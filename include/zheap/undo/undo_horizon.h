/*
 * undo_horizon.h
 *		The horizon: the oldest transaction whose undo may still be needed.
 */
#ifndef ZHEAP_UNDO_HORIZON_H
#define ZHEAP_UNDO_HORIZON_H

#include "access/transam.h"

#include "zheap/base/base.h"

/*
 * The order of xids in a database, at any moment (H1 to H3 in the layer's README):
 *
 *   relfrozenxid of the undo relation <= logged horizon <= horizon
 *   horizon <= the oldest xid that a snapshot needs
 *   horizon <= the active, pending, newly aborted and pinned xids of each log
 *   all of these <= the next xid
 *   an extent's "closed" <= the horizon when it is freed, <= the logged horizon when it is
 *   opened again
 */

/*
 * Return the horizon: every transaction below it is committed and visible to all snapshots of
 * this database, and its undo is not needed.  It only grows.  One atomic read, and no error, if
 * the backend is attached to the database; otherwise it calls zundo_open().
 *
 * Compare the horizon with a private copy of a page only in a backend that has held a snapshot
 * since before the copy was made (one that the server's removable horizon respects: not
 * VACUUM's).  All others read the horizon first, then copy the page.  Otherwise the page may be
 * rolled back after the copy was made, and a slot of an aborted transaction in the copy be
 * taken for an old committed one.
 */
extern FullTransactionId zundo_horizon(void);

/*
 * Return the horizon as WAL has it, at most zundo_horizon(): a standby that has replayed up to
 * now has resolved its conflicts with all xids below.  Locks and errors as for zundo_horizon().
 */
extern FullTransactionId zundo_logged_horizon(void);

/*
 * Return the oldest xid that some snapshot of this database may see as running, as 64 bits;
 * what committed before is visible to all.  Reads the process array.  No buffer lock may be
 * held; ERROR as zundo_open().
 */
extern FullTransactionId zundo_oldest_needed(void);

/*
 * Make VACUUM's snapshot keep horizons back, as any other snapshot does, so that what VACUUM
 * reads keeps its meaning.  zundo_hold_back_end() ends that; it gets what zundo_hold_back() has
 * returned.  After an error the end of the transaction does.  Both do nothing outside VACUUM.
 * They take ProcArrayLock, exclusively, and raise no error.
 */
extern uint8 zundo_hold_back(void);
extern void zundo_hold_back_end(uint8 flags);

/*
 * Move the horizon past pins in a server that assigns no xids any more: no snapshot will ever
 * be newer than those that may go with a page copy from before undo was applied.
 *
 * zundo_is_quiet() returns whether no transaction with an xid runs, and no other backend of
 * this database has a snapshot (VACUUM's aside).  zundo_pins_waive() then drops the pins of all
 * logs.  Between the two calls the caller has standbys cancel the snapshots up to the next xid,
 * and keeps other processes from sweeping.  zundo_is_quiet() raises ERROR as zundo_open();
 * zundo_pins_waive() takes the database's lock, shared, and raises none.
 */
extern bool zundo_is_quiet(void);
extern void zundo_pins_waive(void);

/*
 * Move the horizon as far as snapshots and pending aborts allow.  Does nothing while the undo
 * relation is new in this transaction (H4).  Not in recovery.  No buffer lock may be held;
 * takes the database's lock, shared.  ERROR as zundo_open(), or (data_corrupted) if the logs
 * cannot be loaded.
 */
extern void zundo_horizon_advance(void);

/*
 * Write the horizon to WAL: afterwards zundo_logged_horizon() is at least what zundo_horizon()
 * was at the call.  No buffer lock may be held; takes the database's lock, exclusively.  ERROR
 * (data_corrupted) if the meta page is damaged.
 */
extern void zundo_horizon_log(void);

#endif							/* ZHEAP_UNDO_HORIZON_H */
