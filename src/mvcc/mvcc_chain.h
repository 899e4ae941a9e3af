/*
 * mvcc_chain.h
 *		Private to mvcc: where in a slot's chain each row's records are.
 */
#ifndef ZHEAP_MVCC_CHAIN_H
#define ZHEAP_MVCC_CHAIN_H

#include "zheap/mvcc/mvcc.h"

/*
 * The records that a slot's chain has from one of its records on: of each row the newest, and
 * from each to the next older one of the same row.
 */
typedef struct ZChainMap ZChainMap;

/*
 * One pass over the chain.  What cannot be read is not in the map.  "across": also
 * the owners before, as long as they are of our own transaction; else the present
 * owner's records alone.
 */
extern ZChainMap *zchain_build(ZPageView *view, const ZPageSlot *newest, bool across,
							   MemoryContext context);
extern void zchain_free(ZChainMap *map);

/*
 * The record of a version without an upper bound: the first one about the row at version->undo
 * or further down its modifier's.  Invalid: the map does not know; walk.
 */
extern ZUndoPtr zchain_find(ZChainMap *map, const ZRowVersion *version);

/* That record's command; false: the map does not know. */
extern bool zchain_command(ZChainMap *map, const ZRowVersion *version, CommandId *cid);

/* Is version->undo known to be a record of the present owner? */
extern bool zchain_has(ZChainMap *map, const ZRowVersion *version);

typedef enum ZChainWhere
{
	ZCHAIN_FOUND,				/* by whom, and where */
	ZCHAIN_BELOW,				/* if anywhere, there: the owner before those of the map */
	ZCHAIN_UNKNOWN				/* walk */
} ZChainWhere;

/* The newest record about the row in the whole map. */
extern ZChainWhere zchain_newest(ZChainMap *map, OffsetNumber offnum, ZPageSlot *where);

/*
 * The backend's own: chains that were walked lately in this transaction.  The map
 * is that of the chain from slot.undo, across owners, or NULL: walked once.
 */
typedef struct ZChainEntry
{
	uint64		epoch;
	int			slotno;
	ZRelLocator locator;
	BlockNumber block;
	ZPageSlot	slot;
	ZChainMap  *map;
} ZChainEntry;

/* Of the slot as it is in the view.  NULL: not walked lately. */
extern ZChainEntry *zchain_entry(ZPageView *view, int slotno);

/* There is none for the slot: make one, without a map. */
extern void zchain_entry_add(ZPageView *view, int slotno);

extern ZChainMap *zchain_entry_build(ZPageView *view, ZChainEntry *entry);

#endif							/* ZHEAP_MVCC_CHAIN_H */
