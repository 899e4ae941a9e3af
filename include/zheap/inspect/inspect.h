/*
 * inspect.h
 *		Access to tables and pages for SQL functions that show or check them.
 */
#ifndef ZHEAP_INSPECT_H
#define ZHEAP_INSPECT_H

#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/*
 * Open a zheap table and its undo relation, and lock the table with AccessShareLock until
 * zinspect_close().  No buffer may be locked.  ERROR (undefined_table, wrong_object_type) if there
 * is no such zheap table; (feature_not_supported) if it is another session's temporary table, or
 * not permanent and the server is in recovery; (object_not_in_prerequisite_state) if the library
 * was not preloaded.
 */
extern Relation zinspect_open(Oid relid);

/* Close the table and release its lock. */
extern void zinspect_close(Relation rel);

/*
 * Copy a page into "copy", of BLCKSZ bytes.  Holds pin and share lock of the buffer meanwhile.
 * ERROR (data_corrupted) if the server cannot read it.
 */
extern void zinspect_copy(Relation rel, BlockNumber block, Page copy);

/*
 * Describe the WAL record that ends at "end", for a message.  The result is allocated in the
 * current context; NULL if the record cannot be read, or is gone.  Reads up to two segments of
 * WAL, in a subtransaction, and takes no locks.
 */
extern char *zinspect_record_that_ends(XLogRecPtr end);

#endif							/* ZHEAP_INSPECT_H */
