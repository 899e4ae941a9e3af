/*
 * dml.h
 *		Changing rows.
 */
#ifndef ZHEAP_DML_H
#define ZHEAP_DML_H

#include "access/tableam.h"
#include "executor/tuptable.h"

#include "zheap/base/pg_compat_am.h"
#include "zheap/mvcc/mvcc.h"
#include "zheap/notes/reap.h"
#include "zheap/tid/tid.h"

/* ---- the table AM's callbacks, with the server's signatures ---- */

extern void zdml_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
						ZCompatOptions options, struct BulkInsertStateData *bistate);
extern void zdml_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
									ZCompatOptions options, struct BulkInsertStateData *bistate,
									uint32 token);
extern void zdml_complete_speculative(Relation rel, TupleTableSlot *slot,
									  uint32 token, bool succeeded);
extern void zdml_multi_insert(Relation rel, TupleTableSlot **slots, int nslots,
							  CommandId cid, ZCompatOptions options,
							  struct BulkInsertStateData *bistate);
extern TM_Result zdml_delete(Relation rel, ItemPointer tid, CommandId cid,
							 uint32 options, Snapshot snapshot, Snapshot crosscheck,
							 bool wait, TM_FailureData *tmfd);
extern TM_Result zdml_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
							 CommandId cid, uint32 options, Snapshot snapshot,
							 Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
							 LockTupleMode *lockmode, TU_UpdateIndexes *update_indexes);
extern TM_Result zdml_lock(Relation rel, ItemPointer tid, Snapshot snapshot,
						   TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
						   LockWaitPolicy wait_policy, uint8 flags,
						   TM_FailureData *tmfd);

/* ---- pruning (dml_prune.c) ---- */

/*
 * Free what dead rows and committed transactions' padding hold on a page that is
 * locked exclusively and viewed in place.  WAL-logged.  Returns rows that became
 * dead line pointers; these are handed over to "notes", if not NULL, with their keys.
 */
extern int	zdml_prune_page(ZPageView *view, Buffer buffer, ZReapNotes *notes);

/*
 * VACUUM's second pass: dead line pointers whose index entries are gone.  The
 * page is locked exclusively.  Those of rows that somebody may still hold a lock on stay.
 */
extern void zdml_reclaim_pointers(Relation rel, Buffer buffer, OffsetNumber *offsets, int n);

/*
 * These rows have the mark of several keys, and lose it, as each has one entry in each index (N5).
 * The page is locked exclusively.  "conflict": of the transactions that made the rows as they are,
 * the newest that some snapshot on a standby may not see; invalid: none.
 */
extern void zdml_clear_marks(Relation rel, Buffer buffer, const OffsetNumber *offsets, int n,
							 FullTransactionId conflict);

/* ---- ends of transactions (dml_full_page.c) ---- */

/* A subtransaction is rolled back: its rows give back their space. */
extern void zdml_at_subabort(void);

#endif							/* ZHEAP_DML_H */
