/*
 * mvcc_chain.h
 *		Private to mvcc: where in a slot's chain each row's records are.
 */
#ifndef ZHEAP_MVCC_CHAIN_H
#define ZHEAP_MVCC_CHAIN_H

#include "zheap/mvcc/mvcc.h"

/*
 * The records that one owner of a slot has on a page, from a head on: of each row
 * the newest, and from each to the next older one of the same row.
 */
typedef struct ZChainMap ZChainMap;

/* One pass over the chain.  What cannot be read is not in the map. */
extern ZChainMap *zchain_build(ZPageView *view, ZUndoPtr head, MemoryContext context);
extern void zchain_free(ZChainMap *map);

/*
 * The first record about the row at "from" or further down the owner's chain.
 * Invalid: the map does not know; walk.
 */
extern ZUndoPtr zchain_find(ZChainMap *map, OffsetNumber offnum, ZUndoPtr from);

/* Is "from" the head, or what follows a record about the row? */
extern bool zchain_has(ZChainMap *map, OffsetNumber offnum, ZUndoPtr from);

/*
 * The backend's own: chains that were walked lately in this transaction.  The map
 * is that of the chain from slot.undo, or NULL: walked once.
 */
typedef struct ZChainEntry
{
	ZPageSlot	slot;
	ZChainMap  *map;
} ZChainEntry;

/* NULL: not walked lately. */
extern ZChainEntry *zchain_entry(const ZPageSlot *slot);

/* There is none for the slot: make one, without a map. */
extern void zchain_entry_add(const ZPageSlot *slot);

extern ZChainMap *zchain_entry_build(ZPageView *view, ZChainEntry *entry);

#endif							/* ZHEAP_MVCC_CHAIN_H */
