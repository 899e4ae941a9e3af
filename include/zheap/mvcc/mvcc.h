/*
 * mvcc.h
 *		Which version of a row a snapshot sees.
 *
 * All functions look at a page "view": a private copy of a table page, or the shared page under
 * its content lock.  Undo pages are read while the view is open; undo buffers rank after table
 * pages (L1).  None of the functions writes to a page or to undo.
 *
 * ERROR (data_corrupted) is raised by every function that looks at a row or reads undo, if the
 * page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 *
 * V1: what a snapshot sees depends on commit state alone.
 */
#ifndef ZHEAP_MVCC_H
#define ZHEAP_MVCC_H

#include "access/tableam.h"
#include "access/xact.h"
#include "storage/buf.h"
#include "storage/proc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/pg_compat.h"
#include "zheap/base/stats.h"
#include "zheap/mvcc/version_id.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_read.h"

/* ---- status of a transaction (mvcc_status.c) ---- */

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

/* ---- views (mvcc_view.c) ---- */

typedef struct ZPageView
{
	Relation	rel;			/* NULL: no page, only undo is read */
	bool		local;			/* rel is a temporary table */
	BlockNumber block;
	Page		page;
	Page		overflow;		/* or NULL */
	FullTransactionId horizon;	/* zview_horizon() when the page was set */
	bool		all_frozen;		/* every slot is below the horizon: each row is visible unless
								 * it says DELETED */
	uint8		status[ZPAGE_MAX_INPAGE + 1]; /* ZXactStatus, filled on demand */
	uint8		asked_status;	/* status of "asked", the last transaction asked about that is
								 * in no slot of the page itself */
	FullTransactionId asked;
	PGAlignedBlock *copy;		/* storage of private copies: set, and cleared again, by the
								 * caller, or allocated once */
	PGAlignedBlock *overflow_copy;
	struct ZLockPageCopies *lock_copies;	/* zview_slot_page; allocated on demand, kept */
	ZUndoReader reader;
	MemoryContext context;		/* of all allocations of the view */
	PGAlignedBlock *other_rows; /* copy of a page that heap functions have changed
								 * (zview_attach) */
	char	   *version_buf;	/* buffer for rebuilt rows, BLCKSZ */
	bool		own_columns;	/* true if rel's descriptor describes its rows even while we
								 * alter the table */
	bool		locked;			/* true if a page is viewed in place: its lock is held */
	Buffer	   *leave;			/* not NULL: the buffers of the page and its overflow page, to
								 * be unlocked before much undo is read (zview_leave) */
	int			reads;			/* undo records read since the page was locked */
	int			limit;			/* upper limit of "reads" (zview_limit); 0: no limit */
	bool		unfinished;		/* true if the limit was reached */

	/*
	 * set by zmvcc_reconstruct: the slots of some rows do not name the transaction that made
	 * them
	 */
	bool		reconstructed;
	Page		original;		/* the page before the reconstruction, or NULL */
	struct ZReconstruct *reconstruct; /* allocated on demand, kept */

	uint64		counts[ZTABLE_NVIEW_COUNTERS];	/* zview_count */
} ZPageView;

/*
 * Open and close a view.  Its memory comes from the current context, and is freed by
 * zview_close; one view serves many pages.  zview_close adds the counts to the table's
 * counters; if the backend may hold a buffer lock then, only where it already has the table's
 * counters.  The view itself must hold no lock.
 */
extern void zview_open(ZPageView *view, Relation rel);
extern void zview_close(ZPageView *view);

/* Add n to a counter of the view.  Allowed at any place, critical sections included. */
static inline void
zview_count(ZPageView *view, ZTableCounter counter, uint64 n)
{
	Assert(counter >= ZTABLE_FIRST_OF_VIEW);
	view->counts[counter - ZTABLE_FIRST_OF_VIEW] += n;
}

/*
 * Copy the block into the view, holding a pin and a share lock for the duration of the call.
 * Return false if the page holds no rows (a new page, an overflow page or a lock page).  ERROR
 * (data_corrupted) if it is damaged.
 */
extern bool zview_read(ZPageView *view, BlockNumber block, BufferAccessStrategy strategy);

/* Like zview_read, for a page that the caller has pinned and not locked.  It stays pinned. */
extern bool zview_read_pinned(ZPageView *view, Buffer buffer);

/*
 * Like zview_read_pinned, to plan a change of the page: the view's horizon is the one that
 * standbys know (zundo_logged_horizon).
 */
extern bool zview_copy(ZPageView *view, Buffer buffer);

/*
 * Copy a page that is viewed in place (zview_attach, share lock), and view the copy from now
 * on.  Unlocks and releases the overflow page; the caller unlocks the page.  Return false as
 * zview_read.
 */
extern bool zview_copy_viewed(ZPageView *view, Buffer buffer, Buffer *overflow_buf);

/*
 * Leave the page before much undo is read, if the caller allows that (view->leave, an array of
 * the page's buffer and the overflow page's): copy the page, unlock it, keeping the pin, and
 * view the copy; the overflow page's buffer is unlocked and released.  Versions of the page
 * must be looked up anew.  Does nothing if view->leave is NULL.
 */
extern void zview_leave(ZPageView *view);

/*
 * View in place a page that the caller has pinned, and locked with "lockmode".  *overflow_buf
 * gets the pinned overflow page, locked in the same mode, or InvalidBuffer; zview_detach
 * unlocks and releases it, and is to be called before the page is unlocked.  Return false, with
 * nothing locked, as zview_read.  ERROR (data_corrupted) if the page is damaged, or was changed
 * by heap functions.
 */
extern bool zview_attach(ZPageView *view, Buffer buffer, int lockmode, Buffer *overflow_buf);
extern void zview_detach(ZPageView *view, Buffer *overflow_buf);

/*
 * Return the number of overflow pages on which the page has slots, lock pages included, for
 * zpage_next_slotno.  Number 0 is the overflow page itself; lock pages begin with 1.
 */
static inline int
zview_slot_pages(const ZPageView *view)
{
	return view->overflow ? 1 + zpage_overflow_body(view->overflow)->nlock_pages : 0;
}

/*
 * Return overflow page k, for reading.  A lock page is copied, under a share lock: as it is now
 * if the page is viewed in place; of a private copy of the page, as it was when first asked
 * for.  That may be later than the page was copied, so it may have locks that the rows do not
 * show yet; but none is missing that existed then and still does, since other transactions
 * leave the slot of a transaction in progress alone, and the records that it leads to.  The
 * result belongs to the view.
 */
extern Page zview_slot_page(ZPageView *view, int k);

/* Like zview_slot_page, but return NULL for a lock page that was not copied before. */
extern Page zview_slot_page_seen(const ZPageView *view, int k);

/*
 * Return lock page k, pinned and locked with "lockmode"; the caller unlocks and releases it.
 * To change it, the page must be viewed in place (L1).
 */
extern Buffer zview_lock_page(ZPageView *view, int k, int lockmode);

/*
 * Return the horizon of the view's table: zundo_horizon(), or that of temporary tables.
 * Transactions below it are visible to all.
 */
extern FullTransactionId zview_horizon(const ZPageView *view);

/* Return whether a modifier is invalid or below the view's horizon, that is, visible to all. */
static inline bool
zview_is_frozen(const ZPageView *view, FullTransactionId fxid)
{
	return !FullTransactionIdIsValid(fxid) || FullTransactionIdPrecedes(fxid, view->horizon);
}

/*
 * Return whether the owners of all slots are visible to all, ignoring slots whose bit is set in
 * "except".  False if there is an overflow page.
 */
extern bool zview_slots_are_frozen(const ZPageView *view, uint32 except);

/*
 * B1	No buffer content lock is held while more than ZVIEW_MAX_READS undo records are
 *		read.  What each operation may read is in src/mvcc/README.md, "Work under a lock".
 */
#define ZVIEW_MAX_READS		256

/*
 * Records read by one step, from a chain's newest record to a row's, or to build a directory
 * (C1).
 */
#define ZVIEW_STEP_READS	(ZCHAIN_INTERVAL + 2)

/* Records left free besides a step and a directory (zview_is_spent). */
#define ZVIEW_SPARE_READS	8

/* Count an undo record read under the page's lock. */
static inline void
zview_count_read(ZPageView *view)
{
	view->reads++;
	Assert(!view->locked || view->reads <= ZVIEW_MAX_READS);
}

/*
 * Return whether a page is locked and B1 allows no further step: one step, a directory for the
 * change that is to follow, and a few more records might not fit.
 */
static inline bool
zview_is_spent(const ZPageView *view)
{
	return view->locked &&
		view->reads > ZVIEW_MAX_READS - 2 * ZVIEW_STEP_READS - ZVIEW_SPARE_READS;
}

/* Number of records that are read in place before the page is copied, to unlock it. */
#define ZVIEW_READS_IN_PLACE	16

/*
 * Limit the undo records read until zview_limit_end to "reads" more.  Where more would be read,
 * answers are wrong but harmless: mostly that a version is visible to all.  zview_limit_end
 * returns true if the limit was not reached, so that the answers meanwhile can be used.
 */
static inline void
zview_limit(ZPageView *view, int reads)
{
	Assert(view->limit == 0 && !view->unfinished);
	view->limit = view->reads + reads;
	view->unfinished = false;
}

static inline bool
zview_limit_end(ZPageView *view)
{
	bool		finished = !view->unfinished;

	Assert(view->limit > 0 && view->reads <= view->limit);
	view->limit = 0;
	view->unfinished = false;
	return finished;
}

/* Forget cached statuses: the page has changed under the view (exclusive lock held). */
extern void zview_refresh(ZPageView *view);

/*
 * Number of changes of table pages that this backend has made, its rollbacks included: a copy
 * made at the same count has all of them.
 */
extern uint64 zview_own_changes;

/* The highest command that changed rows, in this transaction and its subtransactions. */
typedef struct ZOwnCommand
{
	LocalTransactionId lxid;	/* the last transaction that has changed rows */
	CommandId	latest;
} ZOwnCommand;

extern ZOwnCommand zview_own_command;

/* Note that command "cid" of this transaction changes rows. */
static inline void
zview_note_command(CommandId cid)
{
	LocalTransactionId lxid = zcompat_my_lxid();

	if (zview_own_command.lxid != lxid || zview_own_command.latest < cid)
		zview_own_command.latest = cid;
	zview_own_command.lxid = lxid;
}

/* Return whether a snapshot at this command sees everything that this transaction has changed. */
static inline bool
zview_own_are_before(CommandId curcid)
{
	return zview_own_command.lxid == zcompat_my_lxid() && zview_own_command.latest < curcid;
}

/* ---- versions (mvcc_walk.c) ---- */

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
extern bool zmvcc_record(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
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
extern bool zmvcc_find_waypoint(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
								ZOwner *at, bool *own, bool *keys);

/* ---- many rows at once (mvcc_reconstruct.c) ---- */

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

/* ---- visibility (mvcc_snapshot.c) ---- */

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
 * old for this session's temporary tables, and "rel" is one.  zmvcc_check_snapshot is to be
 * called before a read begins; zmvcc_snapshot_too_old only raises the error.
 */
pg_noreturn extern void zmvcc_snapshot_too_old(Relation rel);

static inline void
zmvcc_check_snapshot(Relation rel, Snapshot snapshot)
{
	if (unlikely(RelationUsesLocalBuffers(rel)) &&
		snapshot != InvalidSnapshot && IsMVCCSnapshot(snapshot) &&
		!zundo_local_sees(snapshot))
		zmvcc_snapshot_too_old(rel);
}

/*
 * Step over the versions of aborted transactions.  Return false if the row was never there.
 * Afterwards an UPPER_BOUND means that the modifier, whichever it is, has committed.  (A slot's
 * owner in progress may have reused the slot of an earlier subtransaction of its own, so before
 * this call an upper bound may also be in progress.)
 */
extern bool zmvcc_skip_aborted(ZPageView *view, ZRowVersion *version);

/*
 * Return whether the snapshot sees the modifier of this version, and therefore the version.
 * False for our own transaction: compare the command id.  May resolve an UPPER_BOUND.
 */
extern bool zmvcc_modifier_visible(ZPageView *view, ZRowVersion *version, Snapshot snapshot);

/* Return the status of the modifier, or of the upper bound. */
extern ZXactStatus zmvcc_version_status(ZPageView *view, const ZRowVersion *version);

/*
 * Fill in the version's system columns; the modifier may stay an UPPER_BOUND.  Reads undo only
 * for versions of our own transaction.
 */
extern void zmvcc_version_id(const ZRowVersion *version, ZPageView *view, ZVersionId *id);

/*
 * Return whether no snapshot sees the row at offnum, or any version of it, so that its index
 * entries may be killed.  False also if B1 does not allow reading enough undo under the page's
 * lock.
 */
extern bool zmvcc_dead_to_all(ZPageView *view, OffsetNumber offnum);

/*
 * Return whether that is so after a crash as well.  False if the deletion is committed in
 * memory only (synchronous_commit = off): a mark on an index page might reach the disk before
 * the commit record.
 */
extern bool zmvcc_dead_on_disk(ZPageView *view, OffsetNumber offnum);

/*
 * Return whether the version, on which a fetch for a snapshot has ended, is a deletion that is
 * in progress or that some snapshot does not see.  Reads no undo, so it is cheaper than
 * zmvcc_dead_to_all; false may mean that it is not known.  Rarely true for a deletion that all
 * see: where pruning has left deletions older than the page says.
 */
extern bool zmvcc_is_needed(ZPageView *view, const ZRowVersion *version);

/*
 * Return whether the version, on which a fetch for an MVCC snapshot has ended without a row, is
 * a deletion that the snapshot sees.  Then every snapshot that sees what this one sees does so
 * too.  Reads no undo.
 */
extern bool zmvcc_sees_deletion(const ZRowVersion *version, Snapshot snapshot);

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

/*
 * Return whether the test returns true for some version of the row that a snapshot may see, the
 * newest one that is not aborted included.  True also if finding out would take too much undo
 * under the page's lock (B1).  If false, *oldest is the oldest of these versions.
 */
typedef bool (*ZVersionTest) (const ZRowVersion *version, void *arg);

extern bool zmvcc_some_version(ZPageView *view, OffsetNumber offnum, ZVersionTest test, void *arg,
							   ZRowVersion *oldest);

/* ---- the versions within our own transaction, by number (mvcc_ordinal.c) ---- */

/*
 * Return the number of the newest version of the row that is not rolled back, or 0 if there is
 * none. offnum must be a row.
 */
extern int	zmvcc_ordinal(ZPageView *view, OffsetNumber offnum);

/* Get the version with that number.  Return false if there is none. */
extern bool zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal,
								ZRowVersion *version);

/*
 * Get the version that our last update or delete of the row replaced.  Return false if there is
 * none.
 */
extern bool zmvcc_fetch_replaced(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/* Get the row as our transaction inserted it.  Return false if it did not insert it. */
extern bool zmvcc_fetch_inserted(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/* ---- SERIALIZABLE (mvcc_serial.c) ---- */

/*
 * Set *tid to the name of a version in predicate locks: its TID, tagged with its parity.  A
 * reader of the version before the one that is replaced therefore has no conflict with the
 * replacement.
 */
extern void zmvcc_version_tid(ItemPointer tid, BlockNumber block, OffsetNumber offnum,
							  uint8 flags2);

/*
 * Report conflicts with all transactions whose changes of the row the snapshot does not see: a
 * scan of its page has skipped the row.  ERROR (serialization_failure) as
 * CheckForSerializableConflictOut.
 */
extern void zmvcc_conflicts_out(ZPageView *view, OffsetNumber offnum, Snapshot snapshot);

/* What a reader has read of one page, to be reported together. */
typedef struct ZSerialRow
{
	bool		seen;			/* true if the snapshot sees a version, which is to be locked */
	uint8		flags2;			/* its parity */
	TransactionId writer;		/* that made the version, if it may be our transaction */
} ZSerialRow;

typedef struct ZSerialReads
{
	int			nrows;
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	ZSerialRow	rows[ZPAGE_MAX_OFFSET];
	FullTransactionId *unseen;	/* transactions with which the reader has a conflict */
	int			nunseen;
	int			alloc;
} ZSerialReads;

/*
 * Make "reads" empty; it must be zeroed the first time.  zserial_begin allocates in the current
 * context, zserial_end frees.
 */
extern void zserial_begin(ZSerialReads *reads);
extern void zserial_end(ZSerialReads *reads);

/*
 * Like zmvcc_fetch, but add to "reads" what is to be reported.  "whole": the scan does not know
 * which versions match, so that all that the snapshot does not see count.
 */
extern bool zserial_read(ZSerialReads *reads, ZPageView *view, OffsetNumber offnum,
						 Snapshot snapshot, bool whole, ZRowVersion *version);

/*
 * Report the reads and take the predicate locks.  "view": the page, locked and viewed in place.
 * The reads were of this view ("before" is NULL), or of a copy not older than "before".  Return
 * false, having done nothing, if a row has changed since, or if it takes long to find out.
 * ERROR (serialization_failure) on a dangerous conflict; PredicateLockTID's errors.
 */
extern bool zserial_report(const ZSerialReads *reads, ZPageView *before, ZPageView *view,
						   Snapshot snapshot);

/*
 * Like zmvcc_fetch, for a caller that reads a single row of a page that is viewed in place (share
 * lock): page[0] is its buffer, page[1] its overflow page's.  If the transaction takes part in
 * serializable snapshot isolation, lock the row's TID if a version is visible, and report
 * conflicts with transactions whose changes are not.  On exit the view may be of a copy, the
 * page unlocked and the overflow page released (view->locked is false then).  ERROR
 * (serialization_failure) as zserial_report.
 */
extern bool zmvcc_fetch_serial(ZPageView *view, Buffer *page, OffsetNumber offnum,
							   Snapshot snapshot, ZRowVersion *version);

#endif							/* ZHEAP_MVCC_H */
