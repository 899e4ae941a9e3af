/*
 * dml.h
 *		Changing rows: the table AM's callbacks, and pruning.
 */
#ifndef ZHEAP_DML_H
#define ZHEAP_DML_H

#include "access/tableam.h"
#include "executor/tuptable.h"

#include "zheap/base/pg_compat_am.h"
#include "zheap/mvcc/view.h"
#include "zheap/notes/reap.h"
#include "zheap/tid/tid.h"

/* ---- the table AM's callbacks, with the server's signatures ---- */

/*
 * All of them: no page is locked on entry and exit.  ERROR (object_not_in_prerequisite_state) if
 * the library is not preloaded, (data_corrupted) for a damaged page or row,
 * (read_only_sql_transaction) during recovery, (t_r_serialization_failure) on a conflict under
 * SERIALIZABLE, and a cancel.
 *
 * zdml_insert() and the like set tts_tid of the slots.  ERROR (program_limit_exceeded) if a row
 * fits no page.
 *
 * zdml_delete(), zdml_update() and zdml_lock() return what heap's do, and fill *tmfd unless the
 * result is TM_Ok.  They wait for transactions that change or lock the row, unless "wait" is
 * false, or as the policy says: ERROR (lock_not_available) with LockWaitError.  ERROR
 * (object_not_in_prerequisite_state) when deleting or updating a row that is invisible.  A
 * transaction that has locked the row before marks the TID (zheap/tid/tid.h).  zdml_update()
 * inserts the index entries of a row that stays in place itself; then errors of the index may be
 * raised, and *update_indexes is TU_None.
 */
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
 * Free the space of dead rows and of padding of committed transactions, on a page that is locked
 * exclusively and viewed in place; WAL-logged.  Returns the number of rows that became dead line
 * pointers; these are handed over to "notes", with their keys, unless it is NULL.  ERROR
 * (data_corrupted) for a damaged page, before anything is changed.
 */
extern int	zdml_prune_page(ZPageView *view, Buffer buffer, ZReapNotes *notes);

/*
 * VACUUM's second pass: free dead line pointers whose index entries are gone, and count that for
 * other backends' notes.  The page is locked exclusively; "offsets" are in ascending order.
 * Pointers of rows on which a transaction may still hold a lock are kept.  ERROR
 * (data_corrupted) for a damaged page.
 */
extern void zdml_reclaim_pointers(Relation rel, Buffer buffer, OffsetNumber *offsets, int n);

/*
 * Clear the mark of several keys on rows that have one entry in each index (N5).  The page is
 * locked exclusively.  "conflict" is the newest of the transactions that made the rows as they
 * are that some snapshot on a standby may not see; invalid if there is none.  ERROR
 * (data_corrupted) for a damaged page.
 */
extern void zdml_clear_marks(Relation rel, Buffer buffer, const OffsetNumber *offsets, int n,
							 FullTransactionId conflict);

/* ---- ends of transactions (dml_full_page.c) ---- */

/* A subtransaction is rolled back, which frees its rows' space: forget the page that was full. */
extern void zdml_at_subabort(void);

#endif							/* ZHEAP_DML_H */
