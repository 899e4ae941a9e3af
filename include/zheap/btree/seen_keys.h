/*
 * seen_keys.h
 *		The keys by which an index scan's snapshot sees rows.
 */
#ifndef ZHEAP_BTREE_SEEN_KEYS_H
#define ZHEAP_BTREE_SEEN_KEYS_H

#include "access/relscan.h"
#include "executor/tuptable.h"

typedef struct SeenKeys SeenKeys;

/*
 * Count an entry that does not have the key of the version that the snapshot sees, and note that
 * key.
 *
 * The slot has the version that the scan's snapshot sees.  A key is noted only for an MVCC
 * snapshot outside of SERIALIZABLE transactions, after FEW_ENTRIES such entries, and as long as
 * work_mem has room.  *keys, NULL at first, is allocated in the context; free it with
 * seen_keys_free.  The caller has locked no buffer: the key may have to be read from the toast
 * table, and errors are those of that.
 */
extern void seen_keys_note(SeenKeys **keys, MemoryContext context, IndexScanDesc scan,
						   const ItemPointerData *tid, TupleTableSlot *slot);

/*
 * Return whether the scan's entry is known, from what has been noted, to have another key than the
 * version that the snapshot sees, so that the scan can skip it.  If false, fetch the row.  No
 * locks, no errors.
 */
extern bool seen_keys_skip(SeenKeys *keys, IndexScanDesc scan, const ItemPointerData *tid);

/* Free what seen_keys_note has allocated; keys is not NULL. */
extern void seen_keys_free(SeenKeys *keys);

#endif							/* ZHEAP_BTREE_SEEN_KEYS_H */
