/*
 * undo_horizon.h
 *		Up to which transaction undo is not needed any more.
 */
#ifndef ZHEAP_UNDO_HORIZON_H
#define ZHEAP_UNDO_HORIZON_H

#include "access/transam.h"

#include "zheap/base/base.h"

/*
 * The order of xids in one database, at any moment (H1 to H3 in the layer's README):
 *
 *   relfrozenxid of the undo relation <= logged horizon <= horizon
 *   horizon <= the oldest xid that a snapshot needs
 *   horizon <= of each log, what is active, pending, newly aborted and pinned
 *   all of these <= the next xid
 *   an extent's "closed" <= the horizon when it is freed, <= the logged horizon when it is
 *   opened again
 */

/*
 * Every transaction below is committed and visible to all snapshots of this
 * database, and nobody needs its undo.  One atomic read; monotonic.
 *
 * It may be compared with a private copy of a page only by a caller that has held a
 * snapshot (one that the server's removable horizon respects: not VACUUM's)
 * since before the copy was made; anybody else reads the horizon first, then
 * copies the page.  Else a slot of an aborted transaction in the copy may pass
 * for an old committed one, after its page was rolled back.
 */
extern FullTransactionId zundo_horizon(void);

/*
 * The horizon as the WAL knows it: a standby that has replayed up to now has
 * resolved its conflicts with everything below.  At most zundo_horizon().
 */
extern FullTransactionId zundo_logged_horizon(void);

/*
 * Oldest xid some snapshot of this database may see as running, 64 bits: what
 * committed before is visible to all.  Looks through the process array.
 */
extern FullTransactionId zundo_oldest_needed(void);

/*
 * VACUUM's snapshot keeps nothing back, so that what it looks at may change its meaning meanwhile.
 * From now on it does, like any other's; until zundo_hold_back_end() gets what the first has
 * returned, or to the end of the transaction where an error comes first.  Elsewhere they do
 * nothing.
 */
extern uint8 zundo_hold_back(void);
extern void zundo_hold_back_end(uint8 flags);

/*
 * For a server that assigns no xids any more, so that no snapshot will ever be
 * newer than the ones that may go with a page copy from before undo was applied.
 *
 * zundo_is_quiet(): no transaction runs that has an xid, and nobody else in this
 * database has a snapshot (VACUUM's aside).  zundo_pins_waive(): then the horizon
 * need not wait.  In between standbys must have been told of a conflict with the
 * next xid.  Nobody may sweep meanwhile.
 */
extern bool zundo_is_quiet(void);
extern void zundo_pins_waive(void);

/* Move the horizon as far as snapshots and pending aborts let it. */
extern void zundo_horizon_advance(void);

/*
 * Write the horizon to WAL.  zundo_logged_horizon() is then at least what
 * zundo_horizon() was at the call.
 */
extern void zundo_horizon_log(void);

#endif							/* ZHEAP_UNDO_HORIZON_H */
