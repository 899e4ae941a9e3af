/*
 * visibility.h
 *		Which version of a row a snapshot sees (mvcc_snapshot.c, mvcc_reconstruct.c).
 *
 * V1: what a snapshot sees depends on commit state alone.
 *
 * ERROR (data_corrupted) is raised by every function here that looks at a row or reads undo, if
 * the page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 */
#ifndef ZHEAP_VISIBILITY_H
#define ZHEAP_VISIBILITY_H

#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/version.h"
#include "zheap/undo/undo_local.h"

/*
 * Get the version of the row at offnum that the snapshot sees: return true, with *version, or
 * false. offnum may name any line pointer.  Every kind of snapshot: MVCC, SELF, ANY (current
 * version whatever it is, deleted rows included), TOAST, DIRTY (fills snapshot->xmin, xmax,
 * speculativeToken as heap does), NON_VACUUMABLE.  If view->leave was set, the page may be
 * unlocked on exit (view->locked).
 */
extern bool zmvcc_fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot,
						ZRowVersion *version);

/*
 * Step from a version fetched by a dirty snapshot with xmax set, or by this function with xmin
 * set, to the version that it has replaced.  Return true with xmin set if that is in progress,
 * else with xmax set; false if there is none, or it is a deletion.
 */
extern bool zmvcc_dirty_older(ZPageView *view, Snapshot snapshot, ZRowVersion *version);

/*
 * Raise ERROR (feature_not_supported) if the snapshot, imported from another session, is too
 * old for this session's temporary tables, of which "rel" is one.
 */
pg_noreturn extern void zmvcc_snapshot_too_old(Relation rel);

/* Raise that error if it applies.  To be called before a read begins. */
static inline void
zmvcc_check_snapshot(Relation rel, Snapshot snapshot)
{
	if (unlikely(RelationUsesLocalBuffers(rel)) &&
		snapshot != InvalidSnapshot && IsMVCCSnapshot(snapshot) &&
		!zundo_local_sees(snapshot))
		zmvcc_snapshot_too_old(rel);
}

/* A snapshot at a command, and what this backend has changed by then. */
typedef struct ZSnapshotMoment
{
	Snapshot	snapshot;
	CommandId	curcid;
	uint64		own_changes;	/* zview_own_changes */
} ZSnapshotMoment;

/* Return the present moment of a snapshot. */
static inline ZSnapshotMoment
zmvcc_moment(Snapshot snapshot)
{
	return (ZSnapshotMoment) {snapshot, snapshot->curcid, zview_own_changes};
}

/*
 * Return whether the snapshot stands where it did at that moment, and so sees the same versions
 * (V1).  The caller knows that it has not been freed meanwhile.
 */
static inline bool
zmvcc_sees_same(const ZSnapshotMoment *moment, Snapshot snapshot)
{
	return moment->snapshot == snapshot && moment->curcid == snapshot->curcid;
}

/* Likewise, and whether this backend has changed no page since: a copy has all its changes. */
static inline bool
zmvcc_moment_lasts(const ZSnapshotMoment *moment, Snapshot snapshot)
{
	return zmvcc_sees_same(moment, snapshot) && moment->own_changes == zview_own_changes;
}

/*
 * Return whether the snapshot sees the modifier of this version, and therefore the version.
 * False for our own transaction: compare the command id.  May resolve an UPPER_BOUND.
 */
extern bool zmvcc_modifier_visible(ZPageView *view, ZRowVersion *version, Snapshot snapshot);

/*
 * Return whether the version, on which a fetch for an MVCC snapshot has ended without a row, is
 * a deletion that the snapshot sees.  Then every snapshot that sees what this one sees does so
 * too.  Reads no undo.
 */
extern bool zmvcc_sees_deletion(const ZRowVersion *version, Snapshot snapshot);

/*
 * Fill in the version's system columns; the modifier may stay an UPPER_BOUND.  Reads undo only
 * for versions of our own transaction.
 */
extern void zmvcc_version_id(const ZRowVersion *version, ZPageView *view, ZVersionId *id);

/*
 * Reconstruct, in a private copy, the versions that an MVCC snapshot sees, for a caller that is
 * about to read all rows: where several rows were last changed by a transaction that the
 * snapshot does not see, replace them by their versions before.  Every answer for this snapshot
 * stays the same, except that the system columns no longer show what aborted transactions did.
 * If nothing is left to be checked, the view becomes all_frozen.  "seen": bit per slot whose
 * owner the snapshot sees, or that has none.  "only_aborted": leave changes alone unless their
 * transaction has aborted.  A damaged chain raises no error here: the copy becomes what it was.
 */
extern void zmvcc_reconstruct(ZPageView *view, Snapshot snapshot, uint32 seen, bool only_aborted);

#endif							/* ZHEAP_VISIBILITY_H */
