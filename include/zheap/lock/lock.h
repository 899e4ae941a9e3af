/*
 * lock.h
 *		Row locks: find their holders, and wait for them.
 *
 * Modes and conflicts are heap's:
 *
 *						KEY SHARE	SHARE	NO KEY UPDATE	UPDATE
 *		KEY SHARE											  X
 *		SHARE								   X			  X
 *		NO KEY UPDATE				  X		   X			  X
 *		UPDATE			   X		  X		   X			  X
 *
 * A lock is an undo record of its holder about the row (ZOP_LOCK); it makes no version and leaves
 * the row's modifier as it is.  So it ends by itself with the (sub)transaction, survives updates
 * of the row by holders of compatible locks, and any number of transactions may hold one.  The row
 * has only a hint of the strongest mode (ZROW2_LOCK_MASK).
 *
 * The row's modifier holds a lock without such a record: NO KEY UPDATE after an update; UPDATE
 * after a delete, or an update of a key.  An update of a row that its transaction has locked FOR
 * UPDATE counts as one of a key, as on heap, and remains one (ZROW2_KEYS_UPDATED).
 *
 * An update that moves the row leaves the KEY SHARE locks of others at the old TID.  They count
 * for the new row as well: it has the old TID (ZROW_ORIGIN), and a transaction that wants UPDATE
 * searches there, too (zlock_origin_conflict).  When there are too many such TIDs, those where all
 * holders have ended are dropped.  A KEY SHARE lock that is taken after the move, by a transaction
 * that still sees the version before, is put on both rows, the new one first
 * (dml_lock_successors.c).
 */
#ifndef ZHEAP_LOCK_H
#define ZHEAP_LOCK_H

#include "access/tableam.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"

#include "zheap/mvcc/view.h"

/* ---- lock_holders.c ---- */

/* Return the older xid.  Either may be invalid: then the other; both: invalid. */
extern TransactionId zlock_oldest(TransactionId a, TransactionId b);

typedef struct ZLockHolders
{
	TransactionId conflicting;	/* the oldest other transaction in progress whose lock
								 * conflicts with the requested mode; or invalid */
	int			own;			/* strongest mode that we hold, or -1 */
	int			strongest;		/* at least as strong as any that is held, or -1 */
} ZLockHolders;

/*
 * Find the transactions that hold locks on the row.  "view": the page, locked (any mode) and
 * viewed in place, or a copy.  Reads undo of the transactions in progress on the page, at most
 * ZVIEW_STEP_READS records of each, if the row's hint conflicts with "mode".  The caller may set a
 * limit (zview_limit); if it is reached, "conflicting" may have missed some.  "before": an older
 * copy of the page whose locks are known, so that only later ones count; or NULL.  Keeps the
 * caller's locks; lock pages are locked in shared mode meanwhile.  ERROR (data_corrupted) if undo
 * cannot be read.
 */
extern void zlock_holders(ZPageView *view, ZPageView *before, OffsetNumber offnum,
						  LockTupleMode mode, ZLockHolders *holders);

/*
 * Return whether some transaction may hold a lock on the row.  Returns true also if it takes more
 * than ZLOCK_LOOK_READS undo records to find out.  Locks and errors as zlock_holders().
 */
#define ZLOCK_LOOK_READS	64
extern bool zlock_may_be_held(ZPageView *view, OffsetNumber offnum);

/* ---- lock_own.c ---- */

/*
 * Remember that "fxid", the current (sub)transaction, has taken the lock.  Called after the
 * change.  ERROR (out_of_memory) is possible.
 */
extern void zlock_own_add(Relation rel, BlockNumber block, OffsetNumber offnum,
						  LockTupleMode mode, FullTransactionId fxid);

/*
 * Return the strongest mode that our transaction holds on the row, or -1.  *exact is set to
 * whether that is all: false if it may hold a lock, or a stronger one, that is not remembered.  No
 * locks; no errors.
 */
extern int	zlock_own_strongest(Relation rel, BlockNumber block, OffsetNumber offnum,
								bool *exact);

/* Forget the locks on all rows of the table, whose file is being truncated in place. */
extern void zlock_own_forget(Relation rel);

/*
 * Return the oldest other transaction in progress that holds a lock on what was the row at
 * "origin" and conflicts with UPDATE; invalid if none.  No content lock may be held.  The row
 * there may be gone, but not its page: a holder keeps its slot there.  ERROR (data_corrupted) if
 * page or undo cannot be read.
 */
extern TransactionId zlock_origin_conflict(Relation rel, const ItemPointerData *origin);

/*
 * Return whether the place, which a row names as its former one, is still that.  If no transaction
 * has a lock there any more, another row may have it.  No content lock may be held.
 */
extern bool zlock_is_place_of_moved(Relation rel, const ItemPointerData *place);

/* ---- lock_wait.c ---- */

/*
 * The place in the queue for one version of a row.  As on heap, waiters queue for a heavyweight
 * lock on the TID, so that they are served in the order in which they came.
 *
 * On heap each version has a TID, hence a queue.  That matters: waiters for a version that has
 * been replaced must all get ahead, to fail or to queue for the newest one in the same order.  So
 * the version's parity (ZROW2_PARITY) is in the lock's tag, as one of the server's two lock
 * methods.  Versions of the same parity share a queue.  That does no harm, because a waiter that
 * finds its version replaced leaves the queue.
 */
typedef struct ZRowQueue
{
	Relation	rel;
	ItemPointerData tid;
	LockTupleMode mode;
	LockWaitPolicy policy;
	XLTW_Oper	oper;			/* for the error context of the wait */
	bool		queued;
	uint16		parity;			/* parity of the version queued for: 0, 1 */
} ZRowQueue;

/*
 * Initialize: not in a queue.  Nothing is to be freed; leave the queue with zlock_queue_leave().
 */
extern void zlock_queue_init(ZRowQueue *queue, Relation rel, const ItemPointerData *tid,
							 LockTupleMode mode, LockWaitPolicy policy, XLTW_Oper oper);

/*
 * Queue for the version, and wait until xid has ended.  Returns whether it has ended: false only
 * if the policy is LockWaitSkip.  With LockWaitError raises ERROR (lock_not_available), as heap
 * does.  A deadlock, or a cancel request, raises the server's errors.  No content lock may be
 * held.  On return the backend may have a place in the queue.
 *
 * If "is_holder", wait without entering a queue: the transaction holds a lock on the row, or made
 * its newest version, and those in front may be waiting for it.
 */
extern bool zlock_queue_wait(ZRowQueue *queue, uint16 parity, TransactionId xid,
							 bool is_holder);

/* Leave the queue, if in one.  After an ERROR a callback of the resource owner does that. */
extern void zlock_queue_leave(ZRowQueue *queue);

/* Register that callback, while the library is being preloaded. */
extern void zlock_wait_register(void);

#endif							/* ZHEAP_LOCK_H */
