/*
 * index_leaf.h
 *		The entries on a leaf of a B-tree that name one of some rows.
 */
#ifndef ZHEAP_INDEX_LEAF_H
#define ZHEAP_INDEX_LEAF_H

#include "access/nbtree.h"
#include "access/tableam.h"

/* As zindex_delete_from_leaf wants them. */
typedef struct ZLeafEntries
{
	TM_IndexDeleteOp op;
	void	   *rows[MaxTIDsPerBTreePage];	/* by the id of the entry */
	TM_IndexDelete deltids[MaxTIDsPerBTreePage];
	TM_IndexStatus status[MaxTIDsPerBTreePage];
} ZLeafEntries;

/* Which of the rows has the TID?  NULL: none. */
typedef void *(*ZLeafFindRow) (const void *rows, ItemPointer tid);

/*
 * In the order of the leaf, as the server wants them; entries that scans have marked as dead only
 * with "dead".  The leaf is locked.
 */
extern void zleaf_collect(Relation index, Buffer buffer, bool dead, ZLeafFindRow find,
						  const void *rows, ZLeafEntries *leaf);

#endif							/* ZHEAP_INDEX_LEAF_H */
