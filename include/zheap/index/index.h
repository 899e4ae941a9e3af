/*
 * index.h
 *		What index access methods ask of a table: rows to build from, rows missing
 *		from an index, entries that may go.
 */
#ifndef ZHEAP_INDEX_H
#define ZHEAP_INDEX_H

#include "access/tableam.h"
#include "catalog/index.h"

#include "zheap/dml/reap.h"

/* index_build.c */
extern double zindex_build_range_scan(Relation table, Relation index,
									  struct IndexInfo *info, bool allow_sync,
									  bool anyvisible, bool progress,
									  BlockNumber start_block, BlockNumber numblocks,
									  IndexBuildCallback callback, void *callback_state,
									  TableScanDesc sscan);

/* index_validate.c */
extern void zindex_validate_scan(Relation table, Relation index, struct IndexInfo *info,
								 Snapshot snapshot, struct ValidateIndexState *state);

/* index_delete.c */
extern TransactionId zindex_delete_tuples(Relation table, TM_IndexDeleteOp *delstate);

/*
 * Remove all entries of those in "op" that nobody needs, however many pages of the table they lead
 * to; op->status tells which, by id.  The leaf, of a B-tree, is locked exclusively.
 */
extern void zindex_delete_from_leaf(Relation table, Buffer leaf, TM_IndexDeleteOp *op);

/* ---- VACUUM's pass over rows with several keys (index_sweep.c) ---- */

#define ZMARKED_SEEN	0x01	/* the index that is being looked through has an entry of it */
#define ZMARKED_SEVERAL	0x02	/* some index has several */
#define ZMARKED_SETTLED	0x04	/* for the caller */

typedef struct ZMarkedRow
{
	ItemPointerData tid;
	uint8		flags;
} ZMarkedRow;

typedef struct ZIndexSweep
{
	Relation	table;
	Relation	index;			/* one that may have several entries of a row */
	BufferAccessStrategy strategy;	/* for pages of the table */
	ZMarkedRow *rows;			/* in the order of TIDs; at least one */
	int			nrows;
	/* results, added up */
	int64		removed;		/* entries */
	BlockNumber leaves;			/* looked at */
	BlockNumber empty;			/* of these without any entry afterwards */
} ZIndexSweep;

/*
 * Remove the entries of these rows that nobody needs, and note which rows have several left.  The
 * table is locked against other VACUUMs; no page is locked.
 */
extern PGDLLEXPORT void zindex_sweep(ZIndexSweep *sweep);

/* ---- entries of rows that writers have pruned (index_remove.c) ---- */

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
extern void zindex_remove_dead(ZIndexRemoval *removal);

/*
 * Remove the entries of the notes' rows that are being swept, wherever they are.  False: the walk
 * is paused after max_leaves, and to be gone on with.  If it may not pause, none of the rows
 * counts as removed where there are more leaves.
 */
extern bool zindex_sweep_dead(ZIndexRemoval *removal, bool may_pause);

/* May a walk over the index' leaves go on in another transaction, from a key? */
extern bool zindex_may_pause(Relation index);

/*
 * How many leaves a B-tree has, by the pages above them: those of splits that were not completed
 * are left out.  Any number above "max" if there are more, or if pages above them are very many.
 * *looks grows by the pages that were read.  No page is locked.
 */
extern BlockNumber zindex_count_leaves(Relation index, BlockNumber max, int *looks);

/* Let the index use its noted pages again that no scan can come to any more. */
extern void zindex_free_pages(Relation index, ZReapNotes *notes);

#endif							/* ZHEAP_INDEX_H */
