/*
 * index_leaf.h
 *		Entries of a B-tree that name one of a given set of rows: on a leaf, and on all leaves.
 */
#ifndef ZHEAP_INDEX_LEAF_H
#define ZHEAP_INDEX_LEAF_H

#include "access/nbtree.h"
#include "access/tableam.h"

/* Such entries of a leaf, in the form that zindex_delete_from_leaf needs. */
typedef struct ZLeafEntries
{
	TM_IndexDeleteOp op;
	void	   *rows[MaxTIDsPerBTreePage];	/* the entry's row, by the entry's id */
	TM_IndexDelete deltids[MaxTIDsPerBTreePage];
	TM_IndexStatus status[MaxTIDsPerBTreePage];
} ZLeafEntries;

/* A filter of TIDs, with one bit for several TIDs: most entries on a leaf are of other rows. */
#define ZLEAF_FILTER_BITS	8192

typedef struct ZLeafFilter
{
	uint64		bits[ZLEAF_FILTER_BITS / 64];
} ZLeafFilter;

/* The bit that stands for the TID, and for others. */
static inline uint32
zleaf_filter_bit(ItemPointer tid)
{
	return (ItemPointerGetBlockNumberNoCheck(tid) * 61 +
			ItemPointerGetOffsetNumberNoCheck(tid)) % ZLEAF_FILTER_BITS;
}

/* Add a TID to the filter. */
static inline void
zleaf_filter_add(ZLeafFilter *filter, ItemPointer tid)
{
	uint32		bit = zleaf_filter_bit(tid);

	filter->bits[bit / 64] |= UINT64CONST(1) << bit % 64;
}

/* Return whether the TID may have been added; false is certain. */
static inline bool
zleaf_filter_has(const ZLeafFilter *filter, ItemPointer tid)
{
	uint32		bit = zleaf_filter_bit(tid);

	return (filter->bits[bit / 64] >> bit % 64 & 1) != 0;
}

/* The rows whose entries are wanted; at least one. */
typedef struct ZLeafRows
{
	void	   *rows;			/* array whose members begin with their TID, in ascending order */
	int			nrows;
	Size		size;			/* of a member, in bytes */
	BlockNumber first;			/* only rows in blocks from here ... */
	BlockNumber last;			/* ... to here, included */
	const ZLeafFilter *filter;	/* has all of the rows; or NULL */
	bool		dead;			/* include entries that scans have marked as dead */
} ZLeafRows;

/*
 * Collect the leaf's entries of the rows, in the order of the leaf, as the server needs them.
 * leaf->op.ndeltids is their number.  The caller has the leaf locked.  No errors.
 */
extern void zleaf_collect(Relation index, Buffer buffer, const ZLeafRows *rows,
						  ZLeafEntries *leaf);

/* Return whether the leaf, which is locked, has no entry, marked as dead or not. */
extern bool zleaf_is_empty(Page page);

/* ---- all leaves (index_walk.c) ---- */

typedef struct ZLeafWalk
{
	Relation	table;
	Relation	index;
	BufferAccessStrategy strategy;	/* for reading pages of the table */
	ZLeafRows	rows;
	bool		keys;			/* the rows are ZMarkedRows, whose keys were formed */
	/*
	 * Called after a leaf with n entries of the rows was cleaned; status[id].knowndeletable tells
	 * which are gone.  The leaf is locked exclusively.
	 */
	void		(*note) (void *arg, const ZLeafEntries *leaf, int n);
	/* Called for a leaf that has become empty, locked exclusively; must unlock and release it. */
	void		(*leave_empty) (void *arg, Buffer buffer);
	void	   *arg;
	BlockNumber max_leaves;		/* number of leaves after which the walk ends, or pauses at the
								 * next leaf where it can */
	BlockNumber leaves;			/* result: number of leaves read */
	IndexTuple	pivot;			/* room for ZREAP_MAX_PIVOT bytes; NULL: the walk cannot pause */
	bool		paused;			/* the walk begins, or has ended, at the leaf with the high key
								 * in "pivot" */
} ZLeafWalk;

/*
 * Visit the leaves of the index for entries of the rows, and delete those that no snapshot needs.
 * Return true after the last leaf.  If false, there are more leaves, and the walk is paused if
 * that is possible ("In portions", README.md).
 *
 * The table is locked against VACUUM, and no buffer is locked.  One leaf at a time is locked,
 * exclusively while its entries are deleted, with table pages below it.  ERROR (index_corrupted)
 * if the leaves are not linked properly, or an entry names no row.
 */
extern bool zleaf_walk(ZLeafWalk *walk);

/*
 * Return the number of leaves of a B-tree, from the pages above them, without those of incomplete
 * splits.  Return a number above "max" if there are more, or if very many pages would have to be
 * read.  *looks grows by the number of pages read.
 *
 * No buffer is locked at entry and exit; one page at a time is locked in share mode.
 */
extern BlockNumber zindex_count_leaves(Relation index, BlockNumber max, int *looks);

#endif							/* ZHEAP_INDEX_LEAF_H */
