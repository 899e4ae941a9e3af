/*
 * index_leaf.h
 *		The entries in a B-tree that name one of some rows: on a leaf, and on all leaves.
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

/* Most entries on a leaf are of other rows: a bit for some TIDs each tells them apart quickly. */
#define ZLEAF_FILTER_BITS	8192

typedef struct ZLeafFilter
{
	uint64		bits[ZLEAF_FILTER_BITS / 64];
} ZLeafFilter;

static inline uint32
zleaf_filter_bit(ItemPointer tid)
{
	return (ItemPointerGetBlockNumberNoCheck(tid) * 61 +
			ItemPointerGetOffsetNumberNoCheck(tid)) % ZLEAF_FILTER_BITS;
}

static inline void
zleaf_filter_add(ZLeafFilter *filter, ItemPointer tid)
{
	uint32		bit = zleaf_filter_bit(tid);

	filter->bits[bit / 64] |= UINT64CONST(1) << bit % 64;
}

static inline bool
zleaf_filter_has(const ZLeafFilter *filter, ItemPointer tid)
{
	uint32		bit = zleaf_filter_bit(tid);

	return (filter->bits[bit / 64] >> bit % 64 & 1) != 0;
}

/* The rows that are looked for; at least one. */
typedef struct ZLeafRows
{
	void	   *rows;			/* an array; each begins with its TID, and these ascend */
	int			nrows;
	Size		size;			/* of each */
	BlockNumber first;			/* only of these blocks */
	BlockNumber last;			/* included */
	const ZLeafFilter *filter;	/* has all of them; or NULL */
	bool		dead;			/* by entries, too, that scans have marked as dead */
} ZLeafRows;

/* In the order of the leaf, as the server wants them.  The leaf is locked. */
extern void zleaf_collect(Relation index, Buffer buffer, const ZLeafRows *rows,
						  ZLeafEntries *leaf);

extern bool zleaf_is_empty(Page page);

/* ---- all leaves (index_walk.c) ---- */

typedef struct ZLeafWalk
{
	Relation	table;
	Relation	index;
	BufferAccessStrategy strategy;	/* for pages of the table */
	ZLeafRows	rows;
	/* n entries of rows were on the leaf; which of them are gone tells their status, by id */
	void		(*note) (void *arg, const ZLeafEntries *leaf, int n);
	/* a leaf that has none any more; to be unlocked and released */
	void		(*leave_empty) (void *arg, Buffer buffer);
	void	   *arg;
	BlockNumber max_leaves;		/* no more are looked at, if that can be helped */
	BlockNumber leaves;			/* result: so many were */
	IndexTuple	pivot;			/* room for ZREAP_MAX_PIVOT bytes; NULL: the walk is one piece */
	bool		paused;			/* it begins, or has ended, at the leaf with this high key */
} ZLeafWalk;

/*
 * Look through all leaves for entries of the rows, and remove those that nobody needs.  False:
 * there are more leaves, and the walk is paused if that is possible ("In portions", README.md).
 * The table is locked against VACUUM; no page is locked.
 */
extern bool zleaf_walk(ZLeafWalk *walk);

/*
 * How many leaves a B-tree has, by the pages above them: those of splits that were not completed
 * are left out.  Any number above "max" if there are more, or if pages above them are very many.
 * *looks grows by the pages that were read.  No page is locked.
 */
extern BlockNumber zindex_count_leaves(Relation index, BlockNumber max, int *looks);

#endif							/* ZHEAP_INDEX_LEAF_H */
