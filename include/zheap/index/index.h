/*
 * index.h
 *		What index access methods ask of a table: rows to build from, rows missing
 *		from an index, entries that may go.
 */
#ifndef ZHEAP_INDEX_H
#define ZHEAP_INDEX_H

#include "access/tableam.h"
#include "catalog/index.h"

#include "zheap/notes/reap.h"

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

#endif							/* ZHEAP_INDEX_H */
