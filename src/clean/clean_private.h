/*
 * clean_private.h
 *		What the files of this layer share.
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
	bool		several;		/* it may have several entries of a row */
	TupleTableSlot *slot;		/* of the table */
	ZReapNotes *notes;			/* rows in the order of TIDs; all are dead line pointers */
	BlockNumber max_leaves;		/* of a sweep */
} ZIndexRemoval;

/*
 * These functions add one to row->removed if the index has no entry of the row any more.  Pages
 * that are left without any are deleted, and noted.  The caller has locked the table against
 * VACUUM, and has a snapshot; no page is locked.
 */

/*
 * Remove the entries of the notes' rows, as far as they are found by their keys: not those of
 * rows with several keys, in an index that may have several entries of a row.
 */
extern void clean_remove_dead(ZIndexRemoval *removal);

/*
 * Remove the entries of the notes' rows that are being swept, wherever they are.  False: the walk
 * is paused after max_leaves, and to be gone on with.  If it may not pause, none of the rows
 * counts as removed where there are more leaves.
 */
extern bool clean_sweep_dead(ZIndexRemoval *removal, bool may_pause);

/* May a walk over the index' leaves go on in another transaction, from a key? */
extern bool clean_may_pause(Relation index);

/* Let the index use its noted pages again that no scan can come to any more. */
extern void clean_free_pages(Relation index, ZReapNotes *notes);

/*
 * clean_sweep.c, for writers: go on with a sweep of the table's indexes, or begin one if there
 * are enough rows.  Those of them are named as well that may have several entries of a row.  No
 * page is locked.
 */
extern void clean_sweep(Relation rel, ZReapNotes *notes, List *indexes, List *several);

#endif							/* ZHEAP_CLEAN_PRIVATE_H */
