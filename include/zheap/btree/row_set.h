/*
 * row_set.h
 *		A set of rows, by their TIDs.
 */
#ifndef ZHEAP_BTREE_ROW_SET_H
#define ZHEAP_BTREE_ROW_SET_H

#include "storage/itemptr.h"

typedef struct zrowset_hash ZRowSet;

/*
 * Add the row to *set.  Return false if it was in it already.
 *
 * A set that is NULL is created in the context.  64 neighbours of a page share 16 bytes, which is
 * also what a row of its own needs.  No locks; ERROR if memory is exhausted.
 */
extern bool zrow_set_add(ZRowSet **set, MemoryContext context, const ItemPointerData *tid);

/* Return whether the row is in the set, which may be NULL.  No locks, no errors. */
extern bool zrow_set_has(ZRowSet *set, const ItemPointerData *tid);

/* Empty the set, if there is one. */
extern void zrow_set_clear(ZRowSet **set);

#endif							/* ZHEAP_BTREE_ROW_SET_H */
