/*
 * seen_keys.h
 *		Private to scan: the keys by which an index scan's snapshot sees rows.
 */
#ifndef ZHEAP_SCAN_SEEN_KEYS_H
#define ZHEAP_SCAN_SEEN_KEYS_H

#include "access/relscan.h"
#include "executor/tuptable.h"

typedef struct SeenKeys SeenKeys;

/*
 * The scan has passed by its entry, which is of another version than the one in the slot, which
 * its MVCC snapshot sees.  Now and then, when it is worth it, that one's key is noted.  *keys,
 * NULL at first, is allocated in the context.
 */
extern void seen_keys_note(SeenKeys **keys, MemoryContext context, IndexScanDesc scan,
						   const ItemPointerData *tid, TupleTableSlot *slot);

/* Is the scan's entry, by what has been noted, of another version?  False: not known. */
extern bool seen_keys_pass_by(SeenKeys *keys, IndexScanDesc scan, const ItemPointerData *tid);

extern void seen_keys_free(SeenKeys *keys);

#endif							/* ZHEAP_SCAN_SEEN_KEYS_H */
