/*
 * inspect.h
 *		Tables and pages that are looked at from SQL.
 */
#ifndef ZHEAP_INSPECT_H
#define ZHEAP_INSPECT_H

#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/*
 * A zheap table, locked with AccessShareLock, to be closed with zinspect_close().  ERROR, with a
 * hint, if "relid" is anything else, or if its pages cannot be read here.
 */
extern Relation zinspect_open(Oid relid);
extern void zinspect_close(Relation rel);

/* Copy a page as it is.  ERROR if the server cannot read it. */
extern void zinspect_copy(Relation rel, BlockNumber block, Page copy);

/* What the WAL record is that ends there, allocated; NULL if it cannot be read, or is gone. */
extern char *zinspect_record_that_ends(XLogRecPtr end);

#endif							/* ZHEAP_INSPECT_H */
