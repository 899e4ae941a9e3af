/*
 * visible.h
 *		Marking pages all-visible, for VACUUM and for a worker (vacuum_visible.c).
 */
#ifndef ZHEAP_VISIBLE_H
#define ZHEAP_VISIBLE_H

#include "utils/rel.h"

#include "zheap/mvcc/view.h"

/* State of a pass that marks pages of a table. */
typedef struct ZVisible
{
	Relation	rel;
	const ZPageView *view;
	Buffer		map;			/* page of the visibility map, pinned; or invalid */
	FullTransactionId before;	/* transactions before this one have ended, every snapshot sees
								 * their outcome, and their WAL is flushed */
	bool		no_conflict;		/* do not mark a page if that cancels snapshots of a standby */
} ZVisible;

/*
 * Flush WAL up to its end, so that what marks rely on is durable.  To be called after "before"
 * was determined.
 *
 * Begin and end a pass.  The view is of the table; no page need be in it.  "before" is the
 * oldest transaction that a snapshot may not see.
 *
 * visible_pin() pins the page of the visibility map for a block, extending the map if necessary;
 * no page is locked.  It must precede visible_mark(), which marks the page in the buffer, locked
 * exclusively by the caller, if that is allowed.  visible_mark() raises no ERROR for wrong
 * marks: it clears them with a WARNING (data_corrupted).  Both may raise errors of reading the
 * map.
 */
extern void visible_flush(void);
extern void visible_open(ZVisible *visible, Relation rel, const ZPageView *view,
						 FullTransactionId before);
extern void visible_close(ZVisible *visible);
extern void visible_pin(ZVisible *visible, BlockNumber block);
extern void visible_mark(ZVisible *visible, Buffer buffer);

#endif							/* ZHEAP_VISIBLE_H */
