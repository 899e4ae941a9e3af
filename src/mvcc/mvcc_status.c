/*
 * mvcc_status.c
 *		The status of a transaction.
 *
 * A small cache of finished transactions per backend spares the commit log and
 * the proc array when rows of one transaction come in a row (the idea of the
 * hint-bit cache thread of 2011); reading never dirties a page.
 *
 * LOCKING: none of its own; the server's for the process array and the commit log come after all
 * buffers.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/mvcc.h"

#define CACHE_SIZE	1024		/* a power of two */

typedef struct CacheEntry
{
	uint64		fxid;
	ZXactStatus	status;			/* COMMITTED or ABORTED */
} CacheEntry;

static CacheEntry cache[CACHE_SIZE];

static ZXactStatus
cache_get(FullTransactionId fxid)
{
	uint64		value = U64FromFullTransactionId(fxid);
	CacheEntry *entry = &cache[value % CACHE_SIZE];

	return entry->fxid == value ? entry->status : ZXACT_UNKNOWN;
}

static ZXactStatus
cache_put(FullTransactionId fxid, ZXactStatus status)
{
	uint64		value = U64FromFullTransactionId(fxid);
	CacheEntry *entry = &cache[value % CACHE_SIZE];

	/* what does not change any more */
	Assert(status == ZXACT_COMMITTED || status == ZXACT_ABORTED);
	Assert(FullTransactionIdIsNormal(fxid));
	entry->fxid = value;
	entry->status = status;
	return status;
}

/* For a transaction known not to be in progress. */
static ZXactStatus
finished_status(FullTransactionId fxid)
{
	ZXactStatus	status = cache_get(fxid);

	if (status != ZXACT_UNKNOWN)
		return status;
	return cache_put(fxid, TransactionIdDidCommit(zfxid_xid(fxid)) ?
					 ZXACT_COMMITTED : ZXACT_ABORTED);
}

/* While rows are rolled back that an earlier transaction has left in temporary tables. */
static ZXactStatus
local_status(FullTransactionId fxid)
{
	if (FullTransactionIdPrecedes(fxid, zundo_local_owner()))
		return ZXACT_ALL_VISIBLE;
	return zundo_local_has_committed(fxid) ? ZXACT_COMMITTED : ZXACT_ABORTED;
}

ZXactStatus
zmvcc_xact_status(FullTransactionId fxid)
{
	TransactionId xid = zfxid_xid(fxid);
	ZXactStatus	status;

	if (unlikely(zundo_local_rolling_back))
		return local_status(fxid);
	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return ZXACT_ALL_VISIBLE;
	status = cache_get(fxid);
	if (status != ZXACT_UNKNOWN)
		return status;
	if (TransactionIdIsCurrentTransactionId(xid))
		return ZXACT_OWN;
	/* in this order: a commit is in the commit log before it leaves the array */
	if (TransactionIdIsInProgress(xid))
		return ZXACT_IN_PROGRESS;
	return finished_status(fxid);
}

void
zmvcc_note_committed(FullTransactionId fxid)
{
	(void) cache_put(fxid, ZXACT_COMMITTED);
}

bool
zmvcc_visible_to_all(Relation rel, FullTransactionId fxid)
{
	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return true;
	return zmvcc_xact_status(fxid) == ZXACT_COMMITTED &&
		GlobalVisTestIsRemovableFullXid(GlobalVisTestFor(rel), fxid);
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

	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return true;
	if (XidInMVCCSnapshot(xid, snapshot))
		return false;
	/* our own transaction is never in our snapshot's array */
	if (cache_get(fxid) == ZXACT_UNKNOWN && TransactionIdIsCurrentTransactionId(xid))
		return false;
	return finished_status(fxid) == ZXACT_COMMITTED;
}
