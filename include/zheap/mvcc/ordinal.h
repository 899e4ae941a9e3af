/*
 * ordinal.h
 *		The versions of a row within our own transaction, by number (mvcc_ordinal.c).
 *
 * ERROR (data_corrupted) is raised by every function here that looks at a row or reads undo, if
 * the page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 */
#ifndef ZHEAP_ORDINAL_H
#define ZHEAP_ORDINAL_H

#include "zheap/mvcc/version.h"

/*
 * Return the number of the newest version of the row that is not rolled back, or 0 if there is
 * none. offnum must be a row.
 */
extern int	zmvcc_ordinal(ZPageView *view, OffsetNumber offnum);

/* Get the version with that number.  Return false if there is none. */
extern bool zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal,
								ZRowVersion *version);

/*
 * Get the version that our last update or delete of the row replaced.  Return false if there is
 * none.
 */
extern bool zmvcc_fetch_replaced(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/* Get the row as our transaction inserted it.  Return false if it did not insert it. */
extern bool zmvcc_fetch_inserted(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

#endif							/* ZHEAP_ORDINAL_H */
