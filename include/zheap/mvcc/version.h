/*
 * version.h
 *		A version of a row, and the way to the version before (mvcc_walk.c).
 *
 * ERROR (data_corrupted) is raised by every function here that looks at a row or reads undo, if
 * the page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 */
#ifndef ZHEAP_VERSION_H
#define ZHEAP_VERSION_H

#include "access/xact.h"
#include "utils/snapshot.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/version_id.h"
#include "zheap/mvcc/view.h"
#include "zheap/page/row_format.h"

struct ZUndoRecord;

/*
 * A version of a row.  "row" points into the page, or into view->version_buf if the version was
 * rebuilt; then it is valid until the next rebuild.
 */
typedef struct ZRowVersion
{
	const char *row;
	uint32		len;			/* without padding */
	OffsetNumber offnum;
	ZRowHeader	hdr;
	ZModifier	modifier;
	/* the command that made it, once looked up; else InvalidCommandId */
	CommandId	cid;
	/* the maker of the next newer version, if the walk came from there */
	FullTransactionId next_fxid;
	CommandId	next_cid;
	bool		same_owner;		/* true if, in addition, the next version's slot was the
								 * modifier's all the time in between */
} ZRowVersion;

/* Return whether the version is a deletion. */
static inline bool
zversion_is_deleted(const ZRowVersion *version)
{
	return (version->hdr.flags & ZROW_DELETED) != 0;
}

/*
 * Get the version on the page.  The line pointer must be LP_NORMAL.  Reads no undo.  ERROR
 * (data_corrupted) if the row is damaged or was changed by heap functions.
 */
extern void zmvcc_current(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/*
 * Get the undo record that made a version; *at is the transaction that wrote it, and its place.
 * Return false if the version is visible to all.  rec->mid is valid until the next read.
 */
extern bool zmvcc_record(ZPageView *view, const ZRowVersion *version, struct ZUndoRecord *rec,
						 ZOwner *at);

/*
 * Return whether the rows at these offsets, which "before" (an older copy of the page) has, are
 * still the same versions.  Row locks do not count.  The page is viewed in place by "view".
 * False also if it takes long to find out.
 */
extern bool zmvcc_same_versions(ZPageView *before, ZPageView *view,
								const OffsetNumber *offsets, int n);

/*
 * Return the present owner of the slot that the version on the page names, even one below the
 * horizon.  The invalid id if the row names no slot, or a free one.
 */
extern FullTransactionId zmvcc_slot_owner(ZPageView *view, const ZRowVersion *version);

/* Get the command that made a version.  Return false if the version is visible to all. */
extern bool zmvcc_command(ZPageView *view, const ZRowVersion *version, CommandId *cid);

/*
 * M1	A modifier is EXACT, an UPPER_BOUND or ALL_VISIBLE; an upper bound is
 *		never compared, reported, or taken for the transaction that made the version.
 *
 * zmvcc_find_modifier replaces an UPPER_BOUND by EXACT or ALL_VISIBLE.  zmvcc_resolve does the
 * same and returns true, unless it finds on the way that the snapshot sees the version,
 * whichever transaction made it: then it returns false, and leaves the bound.
 */
extern void zmvcc_find_modifier(ZPageView *view, ZRowVersion *version);
extern bool zmvcc_resolve(ZPageView *view, ZRowVersion *version, Snapshot snapshot);

/*
 * Give version->row the row's body again if it was moved to undo (ZROW2_TOMBSTONE).  A caller
 * that reads the bytes of a deleted version needs this.  Return false if the body is gone,
 * because the deletion is visible to all.
 */
extern bool zmvcc_reconstruct_body(ZPageView *view, ZRowVersion *version);

/*
 * Step to the version before.  Return false if there is none: the row was inserted.  If it
 * turns out that the version is visible to all, *version stays, becomes ALL_VISIBLE, and the
 * result is true.  The modifier must not be ALL_VISIBLE at entry.
 */
extern bool zmvcc_previous(ZPageView *view, ZRowVersion *version);

/*
 * The versions that a caller does not see, and a walk may skip: changes by transactions for
 * which "owner" returns true, of our own transaction only those by command curcid or later
 * ones.  A caller that does not see a version must not see a newer one.
 */
typedef struct ZUnseen
{
	bool		(*owner) (const struct ZUnseen *unseen, FullTransactionId fxid);
	Snapshot	snapshot;		/* argument of "owner", or NULL */
	FullTransactionId fxid;
	CommandId	curcid;			/* InvalidCommandId: commands do not count */
	bool		same_owner;		/* stay within one owner's possession of its slot */
	bool		no_keys;		/* skip no version that KEY SHARE locks conflict with */
} ZUnseen;

/* An "owner" for a caller that needs none of the versions in between: return true. */
extern bool zunseen_any(const ZUnseen *unseen, FullTransactionId fxid);

/* Return whether the caller does not see the changes of this transaction. */
static inline bool
zunseen_owner(const ZUnseen *unseen, FullTransactionId fxid)
{
	/* a transaction below the horizon is never unseen */
	Assert(FullTransactionIdIsNormal(fxid));
	return unseen->owner(unseen, fxid);
}

/* Return whether command "cid" of an unseen owner is unseen as well. */
static inline bool
zunseen_command(const ZUnseen *unseen, FullTransactionId fxid, CommandId cid)
{
	return unseen->curcid == InvalidCommandId || cid >= unseen->curcid ||
		!TransactionIdIsCurrentTransactionId(zfxid_xid(fxid));
}

/*
 * Like zmvcc_previous, but step to the last version whose successor the caller does not see
 * either, or to a newer one.  A version changed in place n times costs O(log n) steps.
 */
extern bool zmvcc_previous_unseen(ZPageView *view, ZRowVersion *version,
								  const ZUnseen *unseen);

/*
 * Find the newest waypoint among the versions of the row from this one on.  Return false if
 * there is none that matters, or none within the limit of B1.  *own becomes false if any
 * version down to the waypoint's was made by an owner other than this version's, or by one that
 * had lost its slot in between; *keys becomes true if one of these versions is of a kind that
 * KEY SHARE locks conflict with.
 */
extern bool zmvcc_find_waypoint(ZPageView *view, const ZRowVersion *version,
								struct ZUndoRecord *rec, ZOwner *at, bool *own, bool *keys);

#endif							/* ZHEAP_VERSION_H */
