/*
 * check_conflict.h
 *		Private to dml: parts of the check of a row that other transactions have changed.
 *
 * The view is of the row's locked page, and then limits the undo records read (B1), or of a copy.
 * No function takes or releases a lock.  ERROR (data_corrupted) if undo cannot be read.
 */
#ifndef ZHEAP_DML_CHECK_CONFLICT_H
#define ZHEAP_DML_CHECK_CONFLICT_H

#include "utils/snapmgr.h"

#include "zheap/dml/target.h"

/* Return whether the snapshot says which version the caller means; otherwise it is the newest. */
static inline bool
zcheck_snapshot_decides(Snapshot snapshot)
{
	return snapshot != InvalidSnapshot && IsMVCCSnapshot(snapshot);
}

/*
 * Return whether the version's modifier conflicts with the query.  A KEY SHARE lock does not
 * conflict with an update that leaves the key as it is: the lock is about the version that the
 * caller saw.
 */
static inline bool
zcheck_conflicts(const ZCheckQuery *query, const ZRowVersion *version)
{
	if (query->mode != LockTupleKeyShare)
		return true;
	if (version->hdr.flags2 & ZROW2_KEYS_UPDATED)
		return true;
	return (version->hdr.flags & ZROW_DELETED) && !(version->hdr.flags & ZROW_MOVED);
}

/* The parity of the row's turn when it was this version: 0 or 1. */
static inline uint16
zcheck_parity(const ZRowVersion *version)
{
	return (version->hdr.flags2 & ZROW2_PARITY) ? 1 : 0;
}

/*
 * Return whether versions of the transaction are skipped: those of transactions in progress, and
 * those that the snapshot does not see.  For KEY SHARE, versions that conflict with the lock are
 * not skipped (no_keys).
 */
extern bool zcheck_unseen_owner(const ZUnseen *unseen, FullTransactionId fxid);

/* The versions that the walk to what the snapshot sees skips: see zcheck_unseen_owner. */
static inline ZUnseen
zcheck_unseen(const ZCheckQuery *query, Snapshot snapshot)
{
	ZUnseen		unseen = {.owner = zcheck_unseen_owner, .curcid = InvalidCommandId};

	unseen.snapshot = snapshot;
	unseen.no_keys = query->mode == LockTupleKeyShare;
	return unseen;
}

/* Note an update that the lock does not conflict with, before it is skipped. */
extern void zcheck_skip_compatible(ZTarget *target, const ZRowVersion *version,
								   ZUpdateCheck *check);

/*
 * Check a version by which a committed transaction deleted or replaced the one that the caller
 * saw.  Returns Updated or Deleted, and sets check->ctid.
 */
extern TM_Result zcheck_replaced(ZTarget *target, const ZRowVersion *version, ZUpdateCheck *check);

/*
 * Check a version of a committed transaction that deletes the row, or that the snapshot does not
 * see.  The result is, as on heap, what became of the version that the caller saw: if there was
 * another one in between, it was updated, not deleted.
 */
extern TM_Result zcheck_superseded(ZTarget *target, const ZRowVersion *newest,
								   const ZCheckQuery *query, ZUpdateCheck *check);

/*
 * Check a row that a transaction in progress is changing.  If the version that the snapshot sees
 * was replaced before, by a transaction that committed, that is the result, and REPEATABLE READ
 * fails without waiting.  Otherwise the result is BeingModified, and check->xid the
 * subtransaction that replaced that version, not one that has changed the row again since.
 */
extern TM_Result zcheck_in_progress(ZTarget *target, const ZRowVersion *newest,
									const ZCheckQuery *query, ZUpdateCheck *check);

#endif							/* ZHEAP_DML_CHECK_CONFLICT_H */
