/*
 * state.h
 *		The newest version of a row that is not aborted, and what state it is in
 *		(mvcc_state.c).
 *
 * ERROR (data_corrupted) is raised by every function here that looks at a row or reads undo, if
 * the page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 */
#ifndef ZHEAP_STATE_H
#define ZHEAP_STATE_H

#include "zheap/mvcc/status.h"
#include "zheap/mvcc/version.h"

/* Return the status of the modifier, or of the upper bound. */
extern ZXactStatus zmvcc_version_status(ZPageView *view, const ZRowVersion *version);

/*
 * Step over the versions of aborted transactions.  Return false if the row was never there.
 * Afterwards an UPPER_BOUND means that the modifier, whichever it is, has committed.  (A slot's
 * owner in progress may have reused the slot of an earlier subtransaction of its own, so before
 * this call an upper bound may also be in progress.)
 */
extern bool zmvcc_skip_aborted(ZPageView *view, ZRowVersion *version);

/* The state of a row's newest version, for ANALYZE, VACUUM and index builds. */
typedef enum ZRowState
{
	ZSTATE_NONE,				/* unused or dead line pointer */
	ZSTATE_LIVE,				/* committed */
	ZSTATE_DEAD,				/* deleted, no snapshot sees it any more */
	ZSTATE_RECENTLY_DEAD,		/* deleted, some snapshot may still see it */
	ZSTATE_INSERTING,			/* inserted by a transaction in progress (ours too) */
	ZSTATE_DELETING				/* being deleted by one in progress (ours too) */
} ZRowState;

/*
 * Return the state of the newest version that is not aborted.  *version is that version (of
 * INSERTING and LIVE rows the one to index); an update in progress is LIVE, an aborted
 * insertion NONE.  *fxid gets the transaction concerned (inserter or deleter).  While a page is
 * locked, B1 limits the undo that is read: beyond that, rows are reported as LIVE or DELETING,
 * so that none is removed.
 */
extern ZRowState zmvcc_state(ZPageView *view, OffsetNumber offnum, ZRowVersion *version,
							 FullTransactionId *fxid);

/*
 * Like zmvcc_state, for callers that count rows: a row inserted by a transaction in progress is
 * INSERTING, even if that transaction has updated it since, or, being another's, deleted it.
 * Walks that transaction's versions of the row, so no page may be locked.
 */
extern ZRowState zmvcc_state_to_count(ZPageView *view, OffsetNumber offnum,
									  FullTransactionId *fxid);

/*
 * Return whether the row, as zmvcc_state reported it, has an older version that some snapshot
 * may still see.  For CREATE INDEX (broken chains).
 */
extern bool zmvcc_has_older(ZPageView *view, ZRowVersion *version);

typedef bool (*ZVersionTest) (const ZRowVersion *version, void *arg);

/*
 * Return whether the test returns true for some version of the row that a snapshot may see, the
 * newest one that is not aborted included.  True also if finding out would take too much undo
 * under the page's lock (B1).  If false, *oldest is the oldest of these versions.
 */
extern bool zmvcc_some_version(ZPageView *view, OffsetNumber offnum, ZVersionTest test, void *arg,
							   ZRowVersion *oldest);

/*
 * Return whether no snapshot sees the row at offnum, or any version of it, so that its index
 * entries may be killed.  False also if B1 does not allow reading enough undo under the page's
 * lock.
 */
extern bool zmvcc_dead_to_all(ZPageView *view, OffsetNumber offnum);

/*
 * Return whether that is so after a crash as well.  False if the deletion is committed in
 * memory only (synchronous_commit = off): a mark on an index page might reach the disk before
 * the commit record.  If the row has several keys its deleter is noted (zmvcc_note_killer).
 */
extern bool zmvcc_dead_on_disk(ZPageView *view, OffsetNumber offnum);

/*
 * Note the transaction that made the version, which every snapshot sees, before an entry of its
 * row is marked as dead for it (zheap_note_killer).  Return false if finding that transaction
 * would take too much undo under the page's lock (B1): then nothing may be marked.  One below the
 * horizon is not noted, as it stays visible to all.
 */
extern bool zmvcc_note_killer(ZPageView *view, const ZRowVersion *version);

/*
 * Return whether every snapshot sees the row's newest version, and so it will be after a crash:
 * the commit is on disk.  Reads no undo; false where undo would have to tell.
 */
extern bool zmvcc_settled_on_disk(ZPageView *view, OffsetNumber offnum);

/*
 * Return whether the version, on which a fetch for a snapshot has ended, is a deletion that is
 * in progress or that some snapshot does not see.  Reads no undo, so it is cheaper than
 * zmvcc_dead_to_all; false may mean that it is not known.  Rarely true for a deletion that all
 * see: where pruning has left deletions older than the page says.
 */
extern bool zmvcc_is_needed(ZPageView *view, const ZRowVersion *version);

#endif							/* ZHEAP_STATE_H */
