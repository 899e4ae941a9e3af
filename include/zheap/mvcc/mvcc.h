/*
 * mvcc.h
 *		Which version of a row a snapshot sees.
 *
 * All functions look at a page "view": a private copy of a table page, or the
 * shared page under its content lock.  Undo pages are read while the view is
 * open; undo buffers rank after table pages (L1).
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
	ZXACT_IN_PROGRESS			/* somebody else's, in progress or prepared */
} ZXactStatus;

/* Cached per backend for finished transactions. */
extern ZXactStatus zmvcc_xact_status(FullTransactionId fxid);

/*
 * The same, or ZXACT_UNKNOWN if the process array would have to be asked: then the statement's
 * snapshot, if it has one that tells, does not see the transaction.
 */
extern ZXactStatus zmvcc_known_status(FullTransactionId fxid);

/* The setting zheap.status_cache_size changes: the cache begins anew. */
extern void zmvcc_status_cache_assign(int newval, void *extra);

/* This backend has committed it: spares the commit log, for the next ones take over its slots. */
extern void zmvcc_note_committed(FullTransactionId fxid);

/* Committed (or frozen) and visible to every snapshot of this database. */
extern bool zmvcc_visible_to_all(Relation rel, FullTransactionId fxid);

/*
 * From now on zmvcc_visible_to_all knows at least of the snapshots that have ended by now.
 * Otherwise it may not for as long as no transaction ends that was in progress when it last
 * looked.  For those who read older versions: the toast values of one that nobody sees any
 * more are VACUUM's, which asks anew.  Locks the process array.
 */
extern void zmvcc_renew_horizon(Relation rel);

/*
 * Of a transaction that has committed, or one of its subtransactions: is its commit record on
 * disk?  Reads the commit log.
 */
extern bool zmvcc_commit_is_on_disk(FullTransactionId fxid);

/* Committed before the snapshot (own transactions: false; ask the cid). */
extern bool zmvcc_fxid_in_snapshot(FullTransactionId fxid, Snapshot snapshot);

/* ---- views (mvcc_view.c) ---- */

typedef struct ZPageView
{
	Relation	rel;			/* NULL: no page, undo alone is read */
	bool		local;			/* of a temporary table */
	BlockNumber block;
	Page		page;
	Page		overflow;		/* or NULL */
	FullTransactionId horizon;	/* zview_horizon() when the view was made */
	bool		all_frozen;		/* every slot is below the horizon: a row is there
								 * unless it says DELETED */
	uint8		status[ZPAGE_MAX_INPAGE + 1]; /* ZXactStatus, filled on demand */
	uint8		asked_status;	/* ... and of the last one that no slot of the page's own has */
	FullTransactionId asked;
	PGAlignedBlock *copy;		/* storage of private copies: what the caller has put here,
								 * and takes away again, or allocated once */
	PGAlignedBlock *overflow_copy;
	struct ZLockPageCopies *lock_copies;	/* zview_slot_page; allocated on demand, kept */
	ZUndoReader reader;
	MemoryContext context;		/* of everything that the view allocates */
	PGAlignedBlock *other_rows; /* of a page that heap functions have changed (zview_attach) */
	char	   *version_buf;	/* buffer for rebuilt rows, BLCKSZ */
	bool		own_columns;	/* rel has the columns that its rows have, though we alter it */
	bool		locked;			/* a page is viewed in place: its lock is held */
	Buffer	   *leave;			/* not NULL: that page and its overflow page, to be left
								 * before much undo is read (zview_leave) */
	int			reads;			/* undo records read since the page was locked */
	int			limit;			/* how many may be (zview_limit); 0: no limit */
	bool		unfinished;		/* the limit was reached */

	/* by zmvcc_reconstruct: some rows' slots do not tell which transaction made them */
	bool		reconstructed;
	Page		original;		/* the page as it was before that, or NULL */
	struct ZReconstruct *reconstruct; /* allocated on demand, kept */

	uint64		counts[ZTABLE_NVIEW_COUNTERS];	/* zview_count */
} ZPageView;

/*
 * Memory comes from the current context; one view serves many pages.  What was counted is added to
 * the table's counters by zview_close; if a page is locked then, only where this backend knows
 * these already.
 */
extern void zview_open(ZPageView *view, Relation rel);
extern void zview_close(ZPageView *view);

/* Count, at any place. */
static inline void
zview_count(ZPageView *view, ZTableCounter counter, uint64 n)
{
	Assert(counter >= ZTABLE_FIRST_OF_VIEW);
	view->counts[counter - ZTABLE_FIRST_OF_VIEW] += n;
}

/*
 * Copy block into the view: takes and releases pin and share lock.  False if the
 * page holds no rows (new page, overflow page or lock page).  ERROR if it is damaged.
 */
extern bool zview_read(ZPageView *view, BlockNumber block, BufferAccessStrategy strategy);

/* The same for a page that the caller has pinned, and not locked.  It stays pinned. */
extern bool zview_read_pinned(ZPageView *view, Buffer buffer);

/*
 * Copy a page that the caller has pinned and not locked, to plan a change of it: the
 * view's horizon is the one that standbys know.
 */
extern bool zview_copy(ZPageView *view, Buffer buffer);

/*
 * A page that is viewed in place (zview_attach, share lock): copy it, and look at the
 * copy from now on.  The overflow page is unlocked; the caller unlocks the page.
 */
extern bool zview_copy_viewed(ZPageView *view, Buffer buffer, Buffer *overflow_buf);

/*
 * Before much undo is read for a row of a page that is viewed in place: if the caller
 * that viewed it allows that (view->leave, an array of the page's buffer and the overflow
 * page's), copy the page, unlock it, and look at the copy; the overflow page's buffer is
 * released, too.  Versions of it must be looked at anew.
 */
extern void zview_leave(ZPageView *view);

/*
 * View a page that the caller has pinned and locked, in place.  *overflow_buf gets the
 * pinned and (same mode) locked overflow page, or InvalidBuffer; the caller releases
 * it with zview_detach before unlocking the page.  False as above.
 */
extern bool zview_attach(ZPageView *view, Buffer buffer, int lockmode, Buffer *overflow_buf);
extern void zview_detach(ZPageView *view, Buffer *overflow_buf);

/*
 * On how many overflow pages the page has slots, its lock pages included: for
 * zpage_next_slotno.  Of these 0 is the overflow page, from 1 on they are lock pages.
 */
static inline int
zview_slot_pages(const ZPageView *view)
{
	return view->overflow ? 1 + zpage_overflow_body(view->overflow)->nlock_pages : 0;
}

/*
 * Number k of them, to look at.  Of a lock page it is a copy: where the page is viewed in
 * place as it is now; of a private copy of the page as it was when asked for the first
 * time.  That may be later than the page was copied, so there may be locks that the rows
 * say nothing of, but none is missing that was there and still is: others leave the slot
 * of a transaction in progress alone, and what it leads to.
 */
extern Page zview_slot_page(ZPageView *view, int k);

/* The same of a private copy of the page, if it was asked for before; else NULL. */
extern Page zview_slot_page_seen(const ZPageView *view, int k);

/* Lock page k, pinned and locked; to change it, the page is viewed in place. */
extern Buffer zview_lock_page(ZPageView *view, int k, int lockmode);

/* What is below is visible to all: zundo_horizon(), or what temporary tables have. */
extern FullTransactionId zview_horizon(const ZPageView *view);

/* Is a modifier below that horizon, or nobody? */
static inline bool
zview_is_frozen(const ZPageView *view, FullTransactionId fxid)
{
	return !FullTransactionIdIsValid(fxid) || FullTransactionIdPrecedes(fxid, view->horizon);
}

/* Are all slots' owners?  "except": bit per slot that does not count. */
extern bool zview_slots_are_frozen(const ZPageView *view, uint32 except);

/*
 * B1	No buffer content lock is held while more than ZVIEW_MAX_READS undo records are
 *		read.  What each operation may read is in src/mvcc/README.md, "Work under a lock".
 */
#define ZVIEW_MAX_READS		256

/* One step: from a chain's newest record to a row's, or a directory built (C1). */
#define ZVIEW_STEP_READS	(ZCHAIN_INTERVAL + 2)

/* Where a step and a directory are to fit, so are as many records besides. */
#define ZVIEW_SPARE_READS	8

static inline void
zview_count_read(ZPageView *view)
{
	view->reads++;
	Assert(!view->locked || view->reads <= ZVIEW_MAX_READS);
}

/*
 * Is a page locked, and might one more step, and a directory for the change that is to
 * follow with a few records more, be more than B1 allows?
 */
static inline bool
zview_is_spent(const ZPageView *view)
{
	return view->locked &&
		view->reads > ZVIEW_MAX_READS - 2 * ZVIEW_STEP_READS - ZVIEW_SPARE_READS;
}

/* So many are read in place before it is worth a copy of the page, to unlock it. */
#define ZVIEW_READS_IN_PLACE	16

/*
 * Until zview_limit_end, read no more than "reads" further undo records: where more
 * would be read, answers are wrong but harmless, mostly that a version is visible to
 * all.  zview_limit_end tells whether the limit was never reached, so that what was
 * found out meanwhile counts.
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

/* The page changed under the view (exclusive lock held): forget cached statuses. */
extern void zview_refresh(ZPageView *view);

/*
 * How many changes of table pages this backend has made, its rollbacks included: a copy that
 * was made at the same count has all of them.
 */
extern uint64 zview_own_changes;

/* The greatest command with a change, of this transaction or one of its subtransactions. */
typedef struct ZOwnCommand
{
	LocalTransactionId lxid;	/* the last one that has changed rows */
	CommandId	latest;
} ZOwnCommand;

extern ZOwnCommand zview_own_command;

static inline void
zview_note_command(CommandId cid)
{
	LocalTransactionId lxid = zcompat_my_lxid();

	if (zview_own_command.lxid != lxid || zview_own_command.latest < cid)
		zview_own_command.latest = cid;
	zview_own_command.lxid = lxid;
}

/* Does a snapshot at this command see all that this transaction has changed? */
static inline bool
zview_own_are_before(CommandId curcid)
{
	return zview_own_command.lxid == zcompat_my_lxid() && zview_own_command.latest < curcid;
}

/* ---- versions (mvcc_walk.c) ---- */

/*
 * A version in hand.  "row" points into the page, or into view->version_buf when it
 * was rebuilt (then valid until the next rebuild).
 */
typedef struct ZRowVersion
{
	const char *row;
	uint32		len;			/* without padding */
	OffsetNumber offnum;
	ZRowHeader	hdr;
	ZModifier	modifier;
	/* of its making, once looked up: invalid until then */
	CommandId	cid;
	/* the version that superseded this one, if the walk came from there */
	FullTransactionId next_fxid;
	CommandId	next_cid;
	bool		same_owner;		/* ... and that one's slot was the modifier's all the time
								 * in between */
} ZRowVersion;

/* The version on the page.  The line pointer must be LP_NORMAL. */
extern void zmvcc_current(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/*
 * The undo record of a version's making; *at gets the transaction that wrote it, and
 * where it is.  False if the version is visible to all.
 */
extern bool zmvcc_record(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
						 ZOwner *at);

/*
 * Are the rows at these offsets, which "before" (an older copy of the page) has, the same
 * versions still?  Row locks do not matter.  False also where it takes long to find out.
 */
extern bool zmvcc_same_versions(ZPageView *before, ZPageView *view,
								const OffsetNumber *offsets, int n);

/*
 * The present owner of the slot that the version on the page names, however long ago; invalid:
 * it names none, or one that is free.
 */
extern FullTransactionId zmvcc_slot_owner(ZPageView *view, const ZRowVersion *version);

/* The command of a version's making; false as above. */
extern bool zmvcc_command(ZPageView *view, const ZRowVersion *version, CommandId *cid);

/*
 * M1	A modifier is EXACT, an UPPER_BOUND or ALL_VISIBLE; what is only a bound is
 *		never compared, reported, or taken for the transaction that made the version.
 *
 * zmvcc_find_modifier makes an UPPER_BOUND one of the others.  zmvcc_resolve does the
 * same unless it finds on the way that the snapshot sees the version whoever made it:
 * then false.
 */
extern void zmvcc_find_modifier(ZPageView *view, ZRowVersion *version);
extern bool zmvcc_resolve(ZPageView *view, ZRowVersion *version, Snapshot snapshot);

/*
 * Let version->row have the row's body again if it was moved to undo
 * (ZROW2_TOMBSTONE).  A caller that reads the bytes of a deleted version needs this.
 * False: it is gone, so that the deletion is visible to all.
 */
extern bool zmvcc_reconstruct_body(ZPageView *view, ZRowVersion *version);

/*
 * Step to the version before; false: there is none (the row was inserted).  If it turns
 * out that the version is visible to all, it stays, and says so.  The modifier must not
 * be ALL_VISIBLE.
 */
extern bool zmvcc_previous(ZPageView *view, ZRowVersion *version);

/*
 * What a caller does not see, so that it may be passed by at once: changes by
 * transactions of which "owner" is true and, where there is a limit, by commands of our
 * own transaction from that one on.  If it does not see a version it must see none after
 * it.
 */
typedef struct ZUnseen
{
	bool		(*owner) (const struct ZUnseen *unseen, FullTransactionId fxid);
	Snapshot	snapshot;		/* of use to "owner", or NULL */
	FullTransactionId fxid;
	CommandId	curcid;			/* InvalidCommandId: commands do not matter */
	bool		same_owner;		/* go no further than one owner's possession of its slot */
	bool		no_keys;		/* pass by no version that KEY SHARE locks conflict with */
} ZUnseen;

/* An "owner" for a caller that wants none of the versions by the way. */
extern bool zunseen_any(const ZUnseen *unseen, FullTransactionId fxid);

/* Does the caller not see what this transaction did? */
static inline bool
zunseen_owner(const ZUnseen *unseen, FullTransactionId fxid)
{
	/* what is below the horizon everybody sees */
	Assert(FullTransactionIdIsNormal(fxid));
	return unseen->owner(unseen, fxid);
}

/* Of an unseen owner: is its command unseen as well? */
static inline bool
zunseen_command(const ZUnseen *unseen, FullTransactionId fxid, CommandId cid)
{
	return unseen->curcid == InvalidCommandId || cid >= unseen->curcid ||
		!TransactionIdIsCurrentTransactionId(zfxid_xid(fxid));
}

/*
 * As zmvcc_previous, to the last version whose successor the caller does not see either, or a
 * newer one.  A version changed in place n times costs O(log n) steps.
 */
extern bool zmvcc_previous_unseen(ZPageView *view, ZRowVersion *version,
								  const ZUnseen *unseen);

/*
 * The newest waypoint among the versions of the row from this one on.  False: there is
 * none that matters, or not within what B1 allows.  *own becomes
 * false if an owner other than this version's, or one that had lost its slot in between,
 * made any version down to the waypoint's; *keys true if one of them is of a kind that
 * KEY SHARE locks conflict with.
 */
extern bool zmvcc_find_waypoint(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
								ZOwner *at, bool *own, bool *keys);

/* ---- many rows at once (mvcc_reconstruct.c) ---- */

/*
 * For a caller that is about to read the rows of a private copy with an MVCC snapshot:
 * where several were last changed by a transaction that it does not see, reconstruct
 * the versions before in the copy.  Every answer for this snapshot stays the same, except that
 * what aborted transactions have done is gone from what the system columns say.  If
 * nothing is left to be checked, the view becomes all_frozen.  "seen": bit per slot,
 * of those whose owners the snapshot sees, or that have none.  only_aborted: leave
 * alone what others than aborted transactions have changed.
 */
extern void zmvcc_reconstruct(ZPageView *view, Snapshot snapshot, uint32 seen, bool only_aborted);

/* ---- visibility (mvcc_snapshot.c) ---- */

/*
 * The version of the row at offnum that the snapshot sees: true, with *version, or
 * false.  offnum may name any line pointer.  Every kind of snapshot: MVCC, SELF,
 * ANY (current version whatever it is, deleted rows included), TOAST, DIRTY
 * (fills snapshot->xmin, xmax, speculativeToken as heap does), NON_VACUUMABLE.
 */
extern bool zmvcc_fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot,
						ZRowVersion *version);

/*
 * "version" was fetched by a dirty snapshot that has xmax set, or by this with xmin set: step to
 * the version that it has replaced, in progress (xmin is set) or not (xmax is).  False: there is
 * none, or it was deleted.
 */
extern bool zmvcc_dirty_older(ZPageView *view, Snapshot snapshot, ZRowVersion *version);

/*
 * ERROR if the snapshot, imported from another session, is too old for this
 * session's temporary tables, and "rel" is one.  For a caller that begins to read.
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
 * Take away what aborted transactions did to the row.  False: it was never there.
 * Afterwards an UPPER_BOUND means that the modifier, whichever it is, has committed.
 * (A slot's owner in progress may have reused the slot of an earlier subtransaction of its
 * own, so until then it may be in progress too.)
 */
extern bool zmvcc_skip_aborted(ZPageView *view, ZRowVersion *version);

/*
 * Does the snapshot see the modifier of this version, and therefore the version?
 * (Own transactions: no; ask the command id.)  May resolve an UPPER_BOUND.
 */
extern bool zmvcc_modifier_visible(ZPageView *view, ZRowVersion *version, Snapshot snapshot);

/* The modifier's status; where it is an upper bound: of that. */
extern ZXactStatus zmvcc_version_status(ZPageView *view, const ZRowVersion *version);

/*
 * What the system columns of the version say; its modifier may be an UPPER_BOUND.
 * Costs an undo lookup only for versions of our own transaction.
 */
extern void zmvcc_version_id(const ZRowVersion *version, ZPageView *view, ZVersionId *id);

/* Is the row at offnum gone for everybody (index entries may be killed)? */
extern bool zmvcc_dead_to_all(ZPageView *view, OffsetNumber offnum);

/*
 * And will it be after a crash?  Not if what the deletion needs to be one is in memory only
 * (synchronous_commit = off), and a mark on an index page might get to the disk before it.
 */
extern bool zmvcc_dead_on_disk(ZPageView *view, OffsetNumber offnum);

/*
 * Is the version, on which a fetch for a snapshot has ended, a deletion that is in progress, or
 * that some snapshot does not see?  Quicker than zmvcc_dead_to_all: undo is not read.  False:
 * not known.  True, too, now and then where pruning has left older deletions than the page says.
 */
extern bool zmvcc_is_needed(ZPageView *view, const ZRowVersion *version);

/*
 * Is the version, on which a fetch for an MVCC snapshot has ended without a row, a deletion that
 * the snapshot sees?  Then so does every snapshot that sees what this one sees.  Undo is not read.
 */
extern bool zmvcc_sees_deletion(const ZRowVersion *version, Snapshot snapshot);

/* For ANALYZE, VACUUM, index builds: the state of the newest version. */
typedef enum ZRowState
{
	ZSTATE_NONE,				/* unused or dead line pointer */
	ZSTATE_LIVE,				/* committed */
	ZSTATE_DEAD,				/* deleted, nobody sees it any more */
	ZSTATE_RECENTLY_DEAD,		/* deleted, somebody may see it */
	ZSTATE_INSERTING,			/* inserted by a transaction in progress (ours too) */
	ZSTATE_DELETING				/* being deleted by one in progress (ours too) */
} ZRowState;

/*
 * Check the newest version that is not aborted; *version is that version (for
 * INSERTING and LIVE rows the one to index).  An update in progress is LIVE.
 * *fxid gets the transaction concerned (inserter or deleter).  ABORTED
 * insertions are ZSTATE_NONE.
 */
extern ZRowState zmvcc_state(ZPageView *view, OffsetNumber offnum, ZRowVersion *version,
							 FullTransactionId *fxid);

/*
 * The same for those who count rows: what a transaction in progress has inserted is
 * INSERTING, even if it has updated the row since, or, being another's, deleted it.
 * Costs a walk over that transaction's versions of the row.
 */
extern ZRowState zmvcc_state_to_count(ZPageView *view, OffsetNumber offnum,
									  FullTransactionId *fxid);

/*
 * Has the row (as zmvcc_state gave it) an older version that some snapshot may
 * still see?  For CREATE INDEX (broken chains).
 */
extern bool zmvcc_has_older(ZPageView *view, ZRowVersion *version);

/*
 * Is the test true of some version of the row that a snapshot may see, the newest that is not
 * aborted among them?  True also if that would take too much undo to find out under the page's
 * lock (B1).  If not, *oldest is the oldest of these versions.
 */
typedef bool (*ZVersionTest) (const ZRowVersion *version, void *arg);

extern bool zmvcc_some_version(ZPageView *view, OffsetNumber offnum, ZVersionTest test, void *arg,
							   ZRowVersion *oldest);

/* ---- the versions within our own transaction, by number (mvcc_ordinal.c) ---- */

/*
 * offnum must be a row.  The number of its newest version that is not rolled
 * back.  0: there is no such version.
 */
extern int	zmvcc_ordinal(ZPageView *view, OffsetNumber offnum);

/* That version; false: no such number. */
extern bool zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal,
								ZRowVersion *version);

/* What our last update or delete of the row replaced; false: there is none. */
extern bool zmvcc_fetch_replaced(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/* The row as our transaction inserted it; false: it did not. */
extern bool zmvcc_fetch_inserted(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/* ---- SERIALIZABLE (mvcc_serial.c) ---- */

/*
 * What names a version in predicate locks: its TID, tagged with its parity.  Who
 * has read the version before the one that is replaced has no conflict with that.
 */
extern void zmvcc_version_tid(ItemPointer tid, BlockNumber block, OffsetNumber offnum,
							  uint8 flags2);

/*
 * The row was passed by in a scan of its page: report conflicts with all transactions
 * whose changes of it the snapshot does not see.
 */
extern void zmvcc_conflicts_out(ZPageView *view, OffsetNumber offnum, Snapshot snapshot);

/* What a reader has read of one page, to be reported at once. */
typedef struct ZSerialRow
{
	bool		seen;			/* the snapshot sees a version, to be locked */
	uint8		flags2;			/* its parity */
	TransactionId writer;		/* of that version, if it might be us */
} ZSerialRow;

typedef struct ZSerialReads
{
	int			nrows;
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	ZSerialRow	rows[ZPAGE_MAX_OFFSET];
	FullTransactionId *unseen;	/* transactions that the reader is in conflict with */
	int			nunseen;
	int			alloc;
} ZSerialReads;

/* Forget all; "reads" is zero the first time, and freed by zserial_end. */
extern void zserial_begin(ZSerialReads *reads);
extern void zserial_end(ZSerialReads *reads);

/*
 * zmvcc_fetch, noting what is to be reported.  "whole": a scan that does not know which
 * versions match: all that the snapshot does not see count.
 */
extern bool zserial_read(ZSerialReads *reads, ZPageView *view, OffsetNumber offnum,
						 Snapshot snapshot, bool whole, ZRowVersion *version);

/*
 * Report it and take the predicate locks.  "view": the page, locked and viewed in place.
 * The reads were of this view ("before" NULL), or of a copy that was not older than
 * "before".  False, and nothing is done: a row has changed since.
 */
extern bool zserial_report(const ZSerialReads *reads, ZPageView *before, ZPageView *view,
						   Snapshot snapshot);

/*
 * zmvcc_fetch for a caller that reads a single row of a page that is viewed in place
 * (share lock): page[0] is its buffer, page[1] its overflow page's.  If the transaction
 * takes part in serializable snapshot isolation: lock the row's TID if a version is
 * visible, and report conflicts with others whose changes are not.  On exit the view may
 * be of a copy and the page unlocked, the overflow page released (view->locked tells).
 */
extern bool zmvcc_fetch_serial(ZPageView *view, Buffer *page, OffsetNumber offnum,
							   Snapshot snapshot, ZRowVersion *version);

#endif							/* ZHEAP_MVCC_H */
