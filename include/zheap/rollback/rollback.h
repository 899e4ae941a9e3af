/*
 * rollback.h
 *		Rolling back the rows of aborted transactions, one page at a time.
 */
#ifndef ZHEAP_ROLLBACK_H
#define ZHEAP_ROLLBACK_H

#include "storage/buf.h"
#include "utils/rel.h"

/*
 * Roll back every row of the page that names an aborted transaction's slot, and give
 * the slots back.  "buffer" is pinned and not locked; the page is locked exclusively
 * (as is its overflow page) while a slot's rows, which have been worked out before, are
 * changed.  One WAL record per slot.  Reads undo; may be cancelled.  Must not be called in a
 * critical section.  Returns whether the page changed.
 */
extern bool zrollback_page(Relation rel, Buffer buffer);

/*
 * The same of one slot on a lock page: no row names it, but it is given back to the owner
 * before.  Only where that is a transaction in progress there is need for it.
 */
extern bool zrollback_lock_slot(Relation rel, Buffer buffer, int slotno);

#endif							/* ZHEAP_ROLLBACK_H */
