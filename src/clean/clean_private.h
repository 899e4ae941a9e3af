/*
 * clean_private.h
 *		Declarations shared by the files of this layer.
 */
#ifndef ZHEAP_CLEAN_PRIVATE_H
#define ZHEAP_CLEAN_PRIVATE_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "zheap/notes/reap.h"

/* ---- entries of rows that writers have pruned (clean_index.c) ---- */

typedef struct ZIndexRemoval
{
	Relation	table;
	Relation	index;			/* a B-tree on columns */
	bool		several;		/* it may have several entries of one row */
	TupleTableSlot *slot;		/* an executor slot of the table */
	ZReapNotes *notes;			/* rows in the order of TIDs; all are dead line pointers */
	bool		may_leave;		/* entries may be left if they are scattered: VACUUM comes */
	BlockNumber max_leaves;		/* leaves that a sweep visits before it pauses, or is given up */
	uint64		leaves;			/* number of leaves visited so far, and of entries removed there */
	uint64		entries;
} ZIndexRemoval;

/*
 * These functions add one to row->removed for each row of which the index has no entry any more.
 * Leaf pages that become empty are deleted, and noted.  The caller holds
 * ShareUpdateExclusiveLock on the table (G6), RowExclusiveLock on the index, and a snapshot; no
 * page is locked.  Errors: those of reading table and index pages, and a cancel.
 */

/*
 * Remove the entries of the notes' rows that are found by their keys.  Rows with several keys
 * are left out in an index that may have several entries of a row.  Returns whether entries were
 * left because they are scattered over the leaves.
 */
extern bool clean_remove_dead(ZIndexRemoval *removal);

/*
 * Remove the entries of the rows being swept, wherever they are in the index.  Returns whether
 * the walk has ended; false if it is paused after max_leaves, to be continued.  If it may not
 * pause and there are more leaves, it ends, and no row counts as removed.
 */
extern bool clean_sweep_dead(ZIndexRemoval *removal, bool may_pause);

/*
 * Add the leaves visited and entries removed to the table's counters, and reset them.  No locks;
 * ERROR (out_of_memory).
 */
extern void clean_count(ZIndexRemoval *removal);

/*
 * Return whether a walk over the index's leaves can be continued in another transaction, from a
 * key.
 */
extern bool clean_may_pause(Relation index);

/*
 * Record the noted pages of the index in its free space map when no scan can reach them any
 * more.
 */
extern void clean_free_pages(Relation index, ZReapNotes *notes);

/*
 * Continue a sweep of the table's indexes, or begin one if there are enough rows
 * (clean_sweep.c).  "several" has those of the indexes that may have several entries of a row.
 * Locks and errors: as above.
 */
extern void clean_sweep(Relation rel, ZReapNotes *notes, List *indexes, List *several);

#endif							/* ZHEAP_CLEAN_PRIVATE_H */
