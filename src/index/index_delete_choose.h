/*
 * index_delete_choose.h
 *		Private to index: the order in which a deletion of index entries visits table pages.
 */
#ifndef ZHEAP_INDEX_DELETE_CHOOSE_H
#define ZHEAP_INDEX_DELETE_CHOOSE_H

#include "access/tableam.h"

/* Number of table pages that a bottom-up deletion visits; heap's number. */
#define ZDELETE_BLOCKS			6

/* ... where updates in place have left stale entries, if most of them are in shared buffers */
#define ZDELETE_STALE_BLOCKS	32

/*
 * Sort the entries by table page; for a bottom-up deletion, keep only those of the pages to be
 * visited, the most promising first, unless "all".  "several_keys": the index may have stale
 * entries.  The memory it needs is freed again.
 */
extern void zdelete_choose_entries(TM_IndexDeleteOp *op, bool several_keys, bool all);

#endif							/* ZHEAP_INDEX_DELETE_CHOOSE_H */
