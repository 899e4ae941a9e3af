/*
 * mvcc_status.c
 *		The status of a transaction.
 *
 * A small cache of finished transactions per backend spares the commit log and the process
 * array when rows of one transaction come one after another (the idea of the hint-bit cache
 * thread of 2011); reading never dirties a page.  An entry is right for ever: a transaction
 * that has ended does not change, and its 64-bit id is never used again.  So there is no rule
 * for when an entry may be used, only one for when it may be made: when the transaction has
 * left the process array, or the caller's snapshot proves that it has (tells_who_ended).
 *
 * LOCKING: none of its own; the server's for the process array and the commit log come after
 * all buffers.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "port/pg_bitutils.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/base/counters.h"
#include "zheap/mvcc/status.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_local.h"

/*
 * An entry has eight bytes: the transaction's id, which leaves the upper bit free, and whether
 * it has committed.  Each transaction has one possible place.
 */
typedef uint64 CacheEntry;

#define COMMITTED	(UINT64CONST(1) << 63)

/* A cache of one entry before the first is made, so that a search need not check the size. */
static CacheEntry no_cache = 0;
static CacheEntry *cache = &no_cache;
static uint64 cache_mask = 0;	/* number of entries, a power of two, minus 1 */

void
zmvcc_status_cache_assign(int newval, void *extra)
{
	if (cache != &no_cache)
		pfree(cache);
	cache = &no_cache;
	cache_mask = 0;
}

/*
 * Allocate the cache.  Called while a transaction is being committed, too, so it must not fail:
 * without memory there is no cache.
 */
static pg_noinline void
cache_make(void)
{
	Size		n = (Size) zheap_status_cache_size * 1024 / sizeof(CacheEntry);
	CacheEntry *made;

	zcounters_attach();
	if (n == 0)
		return;
	n = pg_prevpower2_size_t(n);
	made = MemoryContextAllocExtended(TopMemoryContext, n * sizeof(CacheEntry),
									  MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (made == NULL)
		return;
	cache = made;
	cache_mask = n - 1;
}

static inline ZXactStatus
cache_get(FullTransactionId fxid)
{
	uint64		value = U64FromFullTransactionId(fxid);
	CacheEntry	entry = cache[value & cache_mask];

	Assert(value != 0);			/* 0 is an empty entry */
	if ((entry & ~COMMITTED) != value)
		return ZXACT_UNKNOWN;
	return (entry & COMMITTED) != 0 ? ZXACT_COMMITTED : ZXACT_ABORTED;
}

static ZXactStatus
cache_put(FullTransactionId fxid, ZXactStatus status)
{
	uint64		value = U64FromFullTransactionId(fxid);

	/* only a status that does not change any more */
	Assert(status == ZXACT_COMMITTED || status == ZXACT_ABORTED);
	Assert(FullTransactionIdIsNormal(fxid) && (value & COMMITTED) == 0);
	if (unlikely(cache_mask == 0))
		cache_make();
	if (cache_mask != 0)
		cache[value & cache_mask] = value | (status == ZXACT_COMMITTED ? COMMITTED : 0);
	return status;
}

/* Look a transaction up in the commit log.  It is known to have ended, and is not in the cache. */
static ZXactStatus
look_up(FullTransactionId fxid)
{
	zcount(ZCOUNT_COMMIT_LOG);
	return cache_put(fxid, TransactionIdDidCommit(zfxid_xid(fxid)) ?
					 ZXACT_COMMITTED : ZXACT_ABORTED);
}

/*
 * Return whether the transactions that the snapshot sees, or treats as aborted, have left the
 * process array.  Not if the snapshot comes from elsewhere, as a transaction's only snapshot
 * may: logical decoding knows of a commit as soon as it is in the WAL, while the transaction
 * may still have to write the commit log, or to wait for a synchronous standby.
 */
static inline bool
tells_who_ended(Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_MVCC && !IsolationUsesXactSnapshot();
}

/*
 * Return whether the transaction is known to have ended when the statement's snapshot was
 * taken.  Then the process array need not be searched.
 */
static bool
had_ended(TransactionId xid)
{
	Snapshot	snapshot;

	if (!ActiveSnapshotSet())
		return false;
	snapshot = GetActiveSnapshot();
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return false;
	if (TransactionIdPrecedes(xid, snapshot->xmin))
		return true;
	/* with overflowed subtransactions XidInMVCCSnapshot would have to look for the parent */
	return tells_who_ended(snapshot) && !snapshot->suboverflowed &&
		!XidInMVCCSnapshot(xid, snapshot);
}

/*
 * Return the status of a transaction while rows are rolled back that an earlier transaction has
 * left in temporary tables.
 */
static ZXactStatus
local_status(FullTransactionId fxid)
{
	if (FullTransactionIdPrecedes(fxid, zundo_local_owner()))
		return ZXACT_ALL_VISIBLE;
	return zundo_local_has_committed(fxid) ? ZXACT_COMMITTED : ZXACT_ABORTED;
}

ZXactStatus
zmvcc_known_status(FullTransactionId fxid)
{
	TransactionId xid = zfxid_xid(fxid);
	ZXactStatus	status;

	if (unlikely(zundo_local_rolling_back))
		return local_status(fxid);
	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return ZXACT_ALL_VISIBLE;
	status = cache_get(fxid);
	if (status != ZXACT_UNKNOWN)
	{
		zcount(ZCOUNT_STATUS_HITS);
		return status;
	}
	if (TransactionIdIsCurrentTransactionId(xid))
		return ZXACT_OWN;
	if (had_ended(xid))
	{
		zcount(ZCOUNT_ENDED_HITS);
		return look_up(fxid);
	}
	return ZXACT_UNKNOWN;
}

ZXactStatus
zmvcc_xact_status(FullTransactionId fxid)
{
	ZXactStatus	status = zmvcc_known_status(fxid);

	if (status != ZXACT_UNKNOWN)
		return status;
	/* in this order, because a commit is in the commit log before it leaves the array */
	zcount(ZCOUNT_PROC_ARRAY);
	if (TransactionIdIsInProgress(zfxid_xid(fxid)))
		return ZXACT_IN_PROGRESS;
	return look_up(fxid);
}

void
zmvcc_note_committed(FullTransactionId fxid)
{
	(void) cache_put(fxid, ZXACT_COMMITTED);
}

bool
zmvcc_visible_to_all(Relation rel, FullTransactionId fxid)
{
	ZXactStatus status;

	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return true;
	status = zmvcc_xact_status(fxid);
	/* the horizon may have passed it since the check above */
	return status == ZXACT_ALL_VISIBLE ||
		(status == ZXACT_COMMITTED &&
		 GlobalVisTestIsRemovableFullXid(GlobalVisTestFor(rel), fxid, true));
}

bool
zmvcc_commit_is_on_disk(FullTransactionId fxid)
{
	TransactionId xid = zfxid_xid(fxid);
	uint64		age = U64FromFullTransactionId(ReadNextFullTransactionId()) -
	U64FromFullTransactionId(fxid);
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	/* a transaction that the commit log has forgotten was on disk before that */
	if (age > MaxTransactionId / 2)
		return true;
	LWLockAcquire(XactTruncationLock, LW_SHARED);
	if (!TransactionIdPrecedes(xid, TransamVariables->oldestClogXid))
		lsn = TransactionIdGetCommitLSN(xid);
	LWLockRelease(XactTruncationLock);
	return !XLogNeedsFlush(lsn);
}

void
zmvcc_renew_horizon(Relation rel)
{
	(void) GetOldestNonRemovableTransactionId(rel);
}

bool
zmvcc_fxid_in_snapshot(FullTransactionId fxid, Snapshot snapshot)
{
	TransactionId xid = zfxid_xid(fxid);
	ZXactStatus	status;

	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return true;
	if (XidInMVCCSnapshot(xid, snapshot))
		return false;
	status = cache_get(fxid);
	if (status != ZXACT_UNKNOWN)
	{
		zcount(ZCOUNT_OUTCOME_HITS);
		return status == ZXACT_COMMITTED;
	}
	/* our own transaction is never in our snapshot's array */
	if (TransactionIdIsCurrentTransactionId(xid))
		return false;
	if (unlikely(!tells_who_ended(snapshot)) && TransactionIdIsInProgress(xid))
		return TransactionIdDidCommit(xid);
	return look_up(fxid) == ZXACT_COMMITTED;
}
