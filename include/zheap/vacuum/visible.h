/*
 * visible.h
 *		Pages that are marked all-visible: by VACUUM, or by a worker (vacuum_visible.c).
 */
#ifndef ZHEAP_VISIBLE_H
#define ZHEAP_VISIBLE_H

#include "utils/rel.h"

#include "zheap/mvcc/mvcc.h"

/* What marks pages all-visible: VACUUM, or a worker. */
typedef struct ZVisible
{
	Relation	rel;
	const ZPageView *view;
	Buffer		map;			/* of the visibility map, pinned; or invalid */
	FullTransactionId before;	/* older ones have ended, and all see the outcome, whose records
								 * are on disk */
	bool		no_conflict;		/* mark only what cancels no snapshot of a standby */
} ZVisible;

/*
 * vacuum_visible.c: a table page is looked at while it is locked exclusively, and its place in the
 * map pinned, which must have been done before.  The view is of the table; no page need be in it.
 * "before" is the oldest transaction that a snapshot may not see; visible_flush() comes after it was
 * asked for.
 */
extern void visible_flush(void);
extern void visible_open(ZVisible *visible, Relation rel, const ZPageView *view,
						 FullTransactionId before);
extern void visible_close(ZVisible *visible);
extern void visible_pin(ZVisible *visible, BlockNumber block);
extern void visible_mark(ZVisible *visible, Buffer buffer);

#endif							/* ZHEAP_VISIBLE_H */
