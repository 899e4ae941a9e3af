/*
 * index_sweep.c
 *		VACUUM's pass over the entries of rows with several keys in one B-tree.
 *
 * Visit all leaves for entries of the rows that VACUUM names (index_walk.c).  Entries that no
 * snapshot needs are removed (N4).  The others are counted, because a row with one entry in each
 * index has a single key again (N5).
 *
 * LOCKING: as in index_walk.c.
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "zheap/index/index.h"

#include "zheap/index/index_leaf.h"

StaticAssertDecl(offsetof(ZMarkedRow, tid) == 0, "ZLeafRows");

/*
 * Count the entries that stay.  Where functions tell the key, an entry may stay of a row that has
 * none (its page has changed since); so the row keeps its mark unless it has a key.
 */
static void
count_entries(void *arg, const ZLeafEntries *leaf, int n)
{
	ZIndexSweep *sweep = arg;

	for (int id = 0; id < n; id++)
	{
		ZMarkedRow *row = leaf->rows[id];

		if (leaf->status[id].knowndeletable)
			sweep->removed++;
		else if ((row->flags & ZMARKED_SEEN) ||
				 (sweep->keys && !(row->flags & ZMARKED_HAS_KEY)))
			row->flags |= ZMARKED_SEVERAL;
		else
			row->flags |= ZMARKED_SEEN;
	}
}

/* Count an empty leaf.  VACUUM's own pass over the index will delete it. */
static void
count_empty(void *arg, Buffer buffer)
{
	ZIndexSweep *sweep = arg;

	sweep->empty++;
	_bt_relbuf(sweep->index, buffer);
}

/* Entries that scans have marked as dead are visited, too: the row may be alive. */
void
zindex_sweep(ZIndexSweep *sweep)
{
	ZLeafWalk	walk = {
		.table = sweep->table,.index = sweep->index,.strategy = sweep->strategy,
		.rows = {
			.rows = sweep->rows,.nrows = sweep->nrows,.size = sizeof(ZMarkedRow),
			.last = MaxBlockNumber,.dead = true
		},
		.keys = sweep->keys,.note = count_entries,.leave_empty = count_empty,.arg = sweep,
		.max_leaves = MaxBlockNumber
	};

	Assert(sweep->nrows > 0);
	for (int i = 0; i < sweep->nrows; i++)
		sweep->rows[i].flags &= ~ZMARKED_SEEN;
	(void) zleaf_walk(&walk);
	sweep->leaves += walk.leaves;
}
