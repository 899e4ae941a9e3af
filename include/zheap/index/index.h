/*
 * index.h
 *		What index access methods ask of a table: rows to build from, rows missing
 *		from an index, entries that may go.
 */
#ifndef ZHEAP_INDEX_H
#define ZHEAP_INDEX_H

#include "access/tableam.h"
#include "catalog/index.h"

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

#endif							/* ZHEAP_INDEX_H */
