/*
 * index_recheck.h
 *		Scans of GiST and SP-GiST indexes that may have several entries of a row.
 *
 * Whether an entry has the key of a version cannot be told, so the scan lets the executor recheck
 * its conditions, and returns each row once: see "Rechecking" in src/index/README.md.
 */
#ifndef ZHEAP_INDEX_RECHECK_H
#define ZHEAP_INDEX_RECHECK_H

#include "zheap/btree/table_indexes.h"

/*
 * Return whether scans of the GiST or SP-GiST index that are ordered by distances can tell at
 * which of several entries to return a row.  True if there are no such distances.  Reads catalogs.
 */
extern bool zrecheck_knows_order(Relation index);

/*
 * Put our routine into the relation cache entry of a GiST or SP-GiST index: its scans then report
 * themselves to the fetch of the table's rows.  Idempotent; no locks, no errors.
 */
extern void zrecheck_wrap(Relation index);

/*
 * Return whether the scan returns the row at its current entry.
 *
 * The slot has the version that the snapshot sees; "marked": it may have several entries.  If so,
 * the scan's description (xs_recheck and others) is changed for the executor to check that
 * version.  The caller has locked no buffer, as values may have to be read from the toast table
 * and functions of types are called; errors are those of that.
 */
extern bool zrecheck_returns(ZIndexFetchBase *fetch, const ItemPointerData *tid, Snapshot snapshot,
							 TupleTableSlot *slot, bool marked);

/* Free fetch->recheck, which is not NULL. */
extern void zrecheck_free(ZIndexFetchBase *fetch);

#endif							/* ZHEAP_INDEX_RECHECK_H */
