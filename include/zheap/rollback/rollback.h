/*
 * rollback.h
 *		Rolling back the rows of aborted transactions, one page at a time.
 */
#ifndef ZHEAP_ROLLBACK_H
#define ZHEAP_ROLLBACK_H

#include "postgres.h"

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

#endif							/* ZHEAP_ROLLBACK_H */
