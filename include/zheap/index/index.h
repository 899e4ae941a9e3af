/*
 * index.h
 *		What index access methods ask of a table: rows to build from, rows missing
 *		from an index, entries that may be deleted.
 */
#ifndef ZHEAP_INDEX_H
#define ZHEAP_INDEX_H

#include "access/tableam.h"
#include "catalog/index.h"

#include "zheap/notes/reap.h"

/*
 * Call the callback for each row that a new index must have, as index_build_range_scan of the
 * table access method (index_build.c).  Return the number of live rows.
 *
 * Sets info->ii_BrokenHotChain if old snapshots must not use the index.  The caller has the table
 * locked, and no buffer.  A unique build may wait for other transactions.  ERROR (data_corrupted)
 * if a page is damaged; others are those of the index, and of users' expressions.
 */
extern double zindex_build_range_scan(Relation table, Relation index,
									  struct IndexInfo *info, bool allow_sync,
									  bool anyvisible, bool progress,
									  BlockNumber start_block, BlockNumber numblocks,
									  IndexBuildCallback callback, void *callback_state,
									  TableScanDesc sscan);

/*
 * Insert the rows that the snapshot sees and the index does not have, as index_validate_scan of
 * the table access method (index_validate.c).  state->tuplesort has the index's TIDs, sorted; adds
 * to the counts in *state.  Locks and errors as above, and ERROR (unique_violation).
 */
extern void zindex_validate_scan(Relation table, Relation index, struct IndexInfo *info,
								 Snapshot snapshot, struct ValidateIndexState *state);

/*
 * Find the entries in delstate that may be deleted, as index_delete_tuples of the table access
 * method (index_delete.c).  Return the newest xid that removed one of their rows, for conflicts on
 * standbys; InvalidTransactionId if there is none.
 *
 * Sorts delstate->deltids by table page, and truncates it after the last deletable entry;
 * status[].knowndeletable tells which are.  ndeltids may become 0 in a bottom-up deletion only.
 * The caller has the index page locked exclusively, and has opened undo before (L2); table pages
 * are locked in share mode meanwhile.  ERROR (index_corrupted) if an entry names no row and no
 * dead line pointer.
 */
extern TransactionId zindex_delete_tuples(Relation table, TM_IndexDeleteOp *delstate);

struct ZMarkedRow;

/*
 * Delete all entries in "op" that no snapshot needs, however many pages of the table they lead to.
 * Afterwards op->status, by id, tells which.  The leaf, of a B-tree, is locked exclusively at
 * entry and exit.  "rows" are those of the entries, by their ids, if VACUUM has formed their keys,
 * or NULL.  Errors as above.
 */
extern void zindex_delete_from_leaf(Relation table, Buffer leaf, TM_IndexDeleteOp *op,
									struct ZMarkedRow *const *rows);

/* Register the hooks that mark rebuilt indexes (index_rebuilt.c).  Called once, at preload. */
extern void zindex_rebuilt_register(void);

/* ---- VACUUM's pass over rows with several keys (index_sweep.c) ---- */

#define ZMARKED_SEEN	0x01	/* the current index has an entry of the row */
#define ZMARKED_SEVERAL	0x02	/* some index has an entry of the row that is not the only one of
								 * its newest version */
#define ZMARKED_SETTLED	0x04	/* every snapshot sees the newest version, as of "lsn" */
#define ZMARKED_HAS_KEY	0x08	/* "key" is the hash of that version's key in the current index */
#define ZMARKED_NO_KEY	0x10	/* that version is not under the index's predicate */

typedef struct ZMarkedRow
{
	ItemPointerData tid;
	uint8		flags;
	uint64		key;			/* zkey_hash() */
	XLogRecPtr	lsn;			/* of the row's page */
} ZMarkedRow;

typedef struct ZIndexSweep
{
	Relation	table;
	Relation	index;			/* an index that may have several entries of a row */
	BufferAccessStrategy strategy;	/* for reading pages of the table */
	ZMarkedRow *rows;			/* ascending by TID; at least one */
	int			nrows;
	bool		keys;			/* functions tell the keys of this index: flags of rows say what
								 * the key is, or that it is not known */
	/* results, added up over calls */
	int64		removed;		/* number of entries removed */
	BlockNumber leaves;			/* number of leaves read */
	BlockNumber empty;			/* number of these that have no entry any more */
} ZIndexSweep;

/*
 * Remove the entries of these rows that no snapshot needs, and set the flags of rows that have
 * several left.
 *
 * The table is locked against other VACUUMs, and no buffer is locked.  Locks as zleaf_walk.  ERROR
 * (index_corrupted) if the leaves are not linked properly, or an entry names no row.
 */
extern PGDLLEXPORT void zindex_sweep(ZIndexSweep *sweep);

#endif							/* ZHEAP_INDEX_H */
