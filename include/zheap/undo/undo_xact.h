/*
 * undo_xact.h
 *		Calls at the end of a transaction.
 */
#ifndef ZHEAP_UNDO_XACT_H
#define ZHEAP_UNDO_XACT_H

#include "access/transam.h"

#include "zheap/base/base.h"

/*
 * Report how the transaction in progress ends to the undo layer.  A transaction or
 * subtransaction that wrote undo and aborted makes its log pending from its first record on
 * (for a subtransaction at the end of its top transaction).  To be called in every transaction,
 * whether it wrote undo or not, at
 *
 *		zundo_before_end	XACT_EVENT_PRE_COMMIT, _PARALLEL_PRE_COMMIT, _PRE_PREPARE
 *		zundo_at_commit		XACT_EVENT_COMMIT, _PARALLEL_COMMIT (not PRE_COMMIT)
 *		zundo_at_abort		XACT_EVENT_ABORT, _PARALLEL_ABORT
 *		zundo_at_prepare	XACT_EVENT_PREPARE (not PRE_PREPARE)
 *		zundo_before_prepare	XACT_EVENT_PRE_PREPARE
 *		zundo_at_subabort	SUBXACT_EVENT_ABORT_SUB
 *
 * No catalog is accessed.  No error is raised, except by zundo_before_prepare(), which may wait
 * for a heavyweight lock.
 */
extern void zundo_before_end(void);
extern void zundo_at_abort(void);
extern void zundo_at_subabort(void);
extern void zundo_at_prepare(void);
extern void zundo_before_prepare(void);

/*
 * Report a commit, see above.  Returns the transaction's top xid if it has written undo, else
 * invalid.
 */
extern FullTransactionId zundo_at_commit(void);

#endif							/* ZHEAP_UNDO_XACT_H */
