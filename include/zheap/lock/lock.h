/*
 * lock.h
 *		Row locks: their holders, and waiting for them.
 *
 * Modes and conflicts are heap's:
 *
 *						KEY SHARE	SHARE	NO KEY UPDATE	UPDATE
 *		KEY SHARE											  X
 *		SHARE								   X			  X
 *		NO KEY UPDATE				  X		   X			  X
 *		UPDATE			   X		  X		   X			  X
 *
 * A lock is an undo record of its holder about the row (ZOP_LOCK); it makes no
 * version and leaves the row's modifier alone.  So it ends by itself with the
 * (sub)transaction, survives updates of the row by holders of compatible locks,
 * and any number of transactions may hold one.  The row only carries a hint of
 * the strongest mode (ZROW2_LOCK_MASK).
 *
 * An update holds NO KEY UPDATE and a delete, or an update of a key, UPDATE, by
 * being the row's modifier.  An update of a row that its transaction has locked FOR
 * UPDATE counts as one of a key, as on heap, and stays one (ZROW2_KEYS_UPDATED).
 *
 * An update that moves the row leaves the KEY SHARE locks of others behind, at the
 * old TID.  They count for the new row as well: it carries the old TID
 * (ZROW_ORIGIN), and a transaction that wants UPDATE asks there, too
 * (zlock_origin_conflict).  When the places become too many, those where all holders
 * have ended are left out.
 * KEY SHARE locks that are taken after the move, by those who still see the version
 * before, are put on both rows, the new one first (dml_lock_successors.c).
 */
#ifndef ZHEAP_LOCK_H
#define ZHEAP_LOCK_H

#include "access/tableam.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"

#include "zheap/mvcc/mvcc.h"

/* ---- lock_holders.c ---- */

extern bool zlock_modes_conflict(LockTupleMode a, LockTupleMode b);

/* The older one; either may be invalid. */
extern TransactionId zlock_oldest(TransactionId a, TransactionId b);

typedef struct ZLockHolders
{
	TransactionId conflicting;	/* the oldest of others', in progress, whose lock
								 * conflicts with the mode asked for; or invalid */
	int			own;			/* strongest mode that we hold, or -1 */
	int			strongest;		/* at least the strongest that anybody holds, or -1 */
} ZLockHolders;

/*
 * Which transactions hold locks on the row?  "view": the page, locked (any mode) and
 * viewed in place, or a copy.  Reads undo of the transactions in progress on the page, if
 * the row's hint says that there may be a lock in the way: of each at most
 * ZVIEW_STEP_READS records.  The caller may set a limit (zview_limit); if it is reached,
 * "conflicting" may have missed some.  "before": an older copy of the page, whose locks
 * are known: only what came after that counts; or NULL.
 */
extern void zlock_holders(ZPageView *view, ZPageView *before, OffsetNumber offnum,
						  LockTupleMode mode, ZLockHolders *holders);

/*
 * May anybody hold a lock on the row?  True also where that would take long to find out: so many
 * undo records at most.
 */
#define ZLOCK_LOOK_READS	64
extern bool zlock_may_be_held(ZPageView *view, OffsetNumber offnum);

/* ---- lock_own.c ---- */

/* The (sub)transaction "fxid", which is ours, has taken the lock. */
extern void zlock_own_add(Relation rel, BlockNumber block, OffsetNumber offnum,
						  LockTupleMode mode, FullTransactionId fxid);

/*
 * The strongest lock that our transaction holds on the row, or -1.  *exact: false if it
 * may hold one, or a stronger one, that is not remembered.
 */
extern int	zlock_own_strongest(Relation rel, BlockNumber block, OffsetNumber offnum,
								bool *exact);

/* The file is truncated in place: its rows are gone, with all locks that we had on them. */
extern void zlock_own_forget(Relation rel);

/*
 * The oldest transaction of others, in progress, that holds a lock on what was the row
 * at "origin"; or invalid.  No page may be locked.  The row may be gone, its page not:
 * a holder keeps its slot there.
 */
extern TransactionId zlock_origin_conflict(Relation rel, const ItemPointerData *origin);

/*
 * Is the place, which a row names as one that it was at, still that?  Another row may have it by
 * now, if nobody has had a lock there since.  No page may be locked.
 */
extern bool zlock_is_place_of_moved(Relation rel, const ItemPointerData *place);

/* ---- lock_wait.c ---- */

/*
 * The place in the queue for one version of a row.  Like heap, waiters line up on
 * a heavyweight lock on the TID, so that they are served in the order they came.
 *
 * On heap each version has a TID, hence a queue.  It matters: waiters for a version
 * that has been replaced must all get ahead, to fail or to line up for the newest
 * one in the same order.  So the version's parity (ZROW2_PARITY) is in the lock's tag,
 * as one of the server's two lock methods.  Versions of the same parity share a queue;
 * that does no harm, because a waiter that hears that its version was replaced leaves the
 * queue.
 */
typedef struct ZRowQueue
{
	Relation	rel;
	ItemPointerData tid;
	LockTupleMode mode;
	LockWaitPolicy policy;
	XLTW_Oper	oper;			/* for the error context */
	bool		queued;
	uint16		parity;			/* parity of the version queued for: 0, 1 */
} ZRowQueue;

extern void zlock_queue_init(ZRowQueue *queue, Relation rel, const ItemPointerData *tid,
							 LockTupleMode mode, LockWaitPolicy policy, XLTW_Oper oper);

/*
 * Wait for the version until xid has ended.  No buffer may be locked.  False: the policy is
 * LockWaitSkip and it has not; LockWaitError raises the error that heap does.
 * A transaction that holds a lock on the row already does not queue: those in front may be
 * waiting for that lock.  Nor does the one that made the newest version: nobody else can be
 * waiting for that.
 */
extern bool zlock_queue_wait(ZRowQueue *queue, uint16 parity, TransactionId xid,
							 bool is_holder);

/* Leave the queue, if in it.  After an ERROR that is done by itself. */
extern void zlock_queue_leave(ZRowQueue *queue);

/* At server start. */
extern void zlock_wait_register(void);

#endif							/* ZHEAP_LOCK_H */
