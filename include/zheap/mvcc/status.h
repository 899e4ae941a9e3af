/*
 * status.h
 *		The status of a transaction (mvcc_status.c).
 */
#ifndef ZHEAP_STATUS_H
#define ZHEAP_STATUS_H

#include "access/transam.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef enum ZXactStatus
{
	ZXACT_UNKNOWN,
	ZXACT_ALL_VISIBLE,			/* committed, visible to all: below the horizon */
	ZXACT_COMMITTED,
	ZXACT_ABORTED,
	ZXACT_OWN,					/* current transaction or a live child of it */
	ZXACT_IN_PROGRESS			/* of another session, in progress or prepared */
} ZXactStatus;

/*
 * Return the status of a transaction.  Finished ones are cached per backend.  May take LWLocks
 * of the process array and the commit log, for the duration of the call.  Raises the server's
 * error if the commit log cannot be read.
 */
extern ZXactStatus zmvcc_xact_status(FullTransactionId fxid);

/*
 * Like zmvcc_xact_status, but return ZXACT_UNKNOWN instead of searching the process array.  In
 * that case the statement's snapshot, if it can tell, does not see the transaction.
 */
extern ZXactStatus zmvcc_known_status(FullTransactionId fxid);

/* Assign hook of zheap.status_cache_size: empty the cache.  Raises no error. */
extern void zmvcc_status_cache_assign(int newval, void *extra);

/*
 * Note that this backend has committed the transaction: the next owners of its slots need not
 * read the commit log.  Raises no error.
 */
extern void zmvcc_note_committed(FullTransactionId fxid);

/*
 * Return whether the transaction has committed and is visible to every snapshot of this
 * database.  False may be out of date (zmvcc_renew_horizon).
 */
extern bool zmvcc_visible_to_all(Relation rel, FullTransactionId fxid);

/*
 * Recompute the removable horizon, so that zmvcc_visible_to_all takes ended snapshots into
 * account.  Without it the cached horizon may stay until a transaction ends that was in progress
 * when it was computed.  For callers that read older versions: toast values of a version that
 * no snapshot sees any more may be removed by VACUUM, which computes the horizon anew.  Locks
 * the process array, shared.
 */
extern void zmvcc_renew_horizon(Relation rel);

/*
 * Return whether the commit record of a committed transaction, or subtransaction, is on disk.
 * Reads the commit log, under XactTruncationLock.
 */
extern bool zmvcc_commit_is_on_disk(FullTransactionId fxid);

/*
 * Return whether the transaction had committed when the snapshot was taken.  False for our own:
 * compare the command id.
 */
extern bool zmvcc_fxid_in_snapshot(FullTransactionId fxid, Snapshot snapshot);

#endif							/* ZHEAP_STATUS_H */
