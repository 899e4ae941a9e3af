/*
 * rollback.h
 *		Rolling back the rows of aborted transactions, one page at a time.
 */
#ifndef ZHEAP_ROLLBACK_H
#define ZHEAP_ROLLBACK_H

#include "postgres.h"

#include "storage/buf.h"

#include "zheap/mvcc/mvcc.h"

/*
 * Roll back every row that names an aborted transaction's slot on this page, and
 * give the slots back.  "view" is attached to the page, which is locked
 * exclusively (as is its overflow page).  One WAL record per slot.  May read undo;
 * must not be called in a critical section.  Returns whether the page changed.
 */
extern bool zrollback_page(ZPageView *view, Buffer buffer, Buffer overflow_buf);

#endif							/* ZHEAP_ROLLBACK_H */
