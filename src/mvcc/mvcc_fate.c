/*
 * mvcc_fate.c
 *		What became of a transaction.
 *
 * A small cache of finished transactions per backend spares the commit log and
 * the proc array when rows of one transaction come in a row (the idea of the
 * hint-bit cache thread of 2011); reading never dirties a page.
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
	ZFate		fate;			/* COMMITTED or ABORTED */
} CacheEntry;

static CacheEntry cache[CACHE_SIZE];

static ZFate
cache_get(FullTransactionId fxid)
{
	uint64		value = U64FromFullTransactionId(fxid);
	CacheEntry *entry = &cache[value % CACHE_SIZE];

	return entry->fxid == value ? entry->fate : ZFATE_UNKNOWN;
}

static ZFate
cache_put(FullTransactionId fxid, ZFate fate)
{
	uint64		value = U64FromFullTransactionId(fxid);
	CacheEntry *entry = &cache[value % CACHE_SIZE];

	entry->fxid = value;
	entry->fate = fate;
	return fate;
}

/* For a transaction known not to be in progress. */
static ZFate
finished_fate(FullTransactionId fxid)
{
	ZFate		fate = cache_get(fxid);

	if (fate != ZFATE_UNKNOWN)
		return fate;
	return cache_put(fxid, TransactionIdDidCommit(zfxid_xid(fxid)) ?
					 ZFATE_COMMITTED : ZFATE_ABORTED);
}

/*
 * While rows are put back that an earlier transaction has left in temporary
 * tables.  The commit log may have forgotten it by now, if it has aborted.
 */
static ZFate
local_fate(FullTransactionId fxid)
{
	bool		aborted;

	if (FullTransactionIdPrecedes(fxid, zundo_local_owner(&aborted)))
		return ZFATE_FROZEN;
	return aborted ? ZFATE_ABORTED : finished_fate(fxid);
}

ZFate
zmvcc_fate(FullTransactionId fxid)
{
	TransactionId xid = zfxid_xid(fxid);
	ZFate		fate;

	if (unlikely(zundo_local_settling))
		return local_fate(fxid);
	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return ZFATE_FROZEN;
	fate = cache_get(fxid);
	if (fate != ZFATE_UNKNOWN)
		return fate;
	if (TransactionIdIsCurrentTransactionId(xid))
		return ZFATE_OWN;
	/* in this order: a commit is in the commit log before it leaves the array */
	if (TransactionIdIsInProgress(xid))
		return ZFATE_RUNNING;
	return finished_fate(fxid);
}

bool
zmvcc_visible_to_all(Relation rel, FullTransactionId fxid)
{
	if (FullTransactionIdPrecedes(fxid, zundo_horizon()))
		return true;
	return zmvcc_fate(fxid) == ZFATE_COMMITTED &&
		GlobalVisTestIsRemovableFullXid(GlobalVisTestFor(rel), fxid);
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
	if (cache_get(fxid) == ZFATE_UNKNOWN && TransactionIdIsCurrentTransactionId(xid))
		return false;
	return finished_fate(fxid) == ZFATE_COMMITTED;
}
