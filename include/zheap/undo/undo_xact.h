/*
 * undo_xact.h
 *		What the undo log has to know of a transaction's end.
 */
#ifndef ZHEAP_UNDO_XACT_H
#define ZHEAP_UNDO_XACT_H

#include "access/transam.h"

#include "zheap/base/base.h"

/*
 * Tell the undo layer of what becomes of the transaction in progress; no catalog
 * access, no ERROR.  A (sub)transaction that wrote undo and aborted makes its
 * log "pending" from its first record on (for a subtransaction, when its top
 * transaction ends).  To be called at
 *		zundo_before_end	XACT_EVENT_PRE_COMMIT, _PARALLEL_PRE_COMMIT, _PRE_PREPARE
 *		zundo_at_commit		XACT_EVENT_COMMIT, _PARALLEL_COMMIT (not PRE_COMMIT)
 *		zundo_at_abort		XACT_EVENT_ABORT, _PARALLEL_ABORT
 *		zundo_at_prepare	XACT_EVENT_PREPARE (not PRE_PREPARE)
 *		zundo_before_prepare	XACT_EVENT_PRE_PREPARE: may wait for a lock, and fail
 *		zundo_at_subabort	SUBXACT_EVENT_ABORT_SUB
 * in every transaction, whether it wrote undo or not.
 */
extern void zundo_before_end(void);
extern void zundo_at_abort(void);
extern void zundo_at_subabort(void);
extern void zundo_at_prepare(void);
extern void zundo_before_prepare(void);

/* The same; the top transaction if it has written undo, else invalid. */
extern FullTransactionId zundo_at_commit(void);

#endif							/* ZHEAP_UNDO_XACT_H */
