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

#include "postgres.h"

#include "access/tableam.h"
#include "storage/buf.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/version_id.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo.h"

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

/* Committed (or frozen) and visible to every snapshot of this database. */
extern bool zmvcc_visible_to_all(Relation rel, FullTransactionId fxid);

/* Committed before the snapshot (own transactions: false; ask the cid). */
extern bool zmvcc_fxid_in_snapshot(FullTransactionId fxid, Snapshot snapshot);

/* ---- views (mvcc_view.c) ---- */

typedef struct ZPageView
{
	Relation	rel;
	BlockNumber block;
	Page		page;
	Page		overflow;		/* or NULL */
	FullTransactionId horizon;	/* zview_horizon() when the view was made */
	bool		all_frozen;		/* every slot is below the horizon: a row is there
								 * unless it says DELETED */
	uint8		status[ZPAGE_MAX_INPAGE + 1]; /* ZXactStatus, filled on demand */
	PGAlignedBlock *copy;		/* storage of private copies, allocated once */
	PGAlignedBlock *overflow_copy;
	ZUndoReader reader;
	MemoryContext context;		/* of everything that the view allocates */
	char	   *version_buf;	/* buffer for rebuilt rows, BLCKSZ */

	/*
	 * One pass over a slot's chain serves all rows that name it: from the second
	 * walk from the slot on, maps[slotno] tells where the rows' records are among
	 * the owner's (mvcc_chain.c).
	 */
	uint32		walked;			/* bit per slot */
	uint32		mapped;
	struct ZChainMap **maps;	/* allocated on demand, kept */

	/* zmvcc_reconstruct's copy of the page; reconstructed: some rows' slots do not
	 * tell which transaction made them */
	bool		reconstructed;
	struct ZReconstruct *reconstruct; /* allocated on demand, kept */
} ZPageView;

/* Memory comes from the current context; one view serves many pages. */
extern void zview_open(ZPageView *view, Relation rel);
extern void zview_close(ZPageView *view);

/*
 * Copy block into the view: takes and releases pin and share lock.  False if the
 * page holds no rows (new page, or an overflow page).  ERROR if it is damaged.
 */
extern bool zview_read(ZPageView *view, BlockNumber block, BufferAccessStrategy strategy);

/*
 * The same, but *buffer gets the page, still pinned and locked, if it holds rows;
 * otherwise InvalidBuffer.
 */
extern bool zview_read_locked(ZPageView *view, BlockNumber block,
							  BufferAccessStrategy strategy, Buffer *buffer);

/*
 * View a page that the caller has pinned and locked, in place.  *overflow_buf gets the
 * pinned and (same mode) locked overflow page, or InvalidBuffer; the caller releases
 * it with zview_detach before unlocking the page.  False as above.
 */
extern bool zview_attach(ZPageView *view, Buffer buffer, int lockmode, Buffer *overflow_buf);
extern void zview_detach(ZPageView *view, Buffer *overflow_buf);

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

/* The page changed under the view (exclusive lock held): forget cached statuses. */
extern void zview_refresh(ZPageView *view);

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
	FullTransactionId fxid;		/* modifier; invalid: visible to all */
	ZUndoPtr	undo;			/* from where to look for its record */
	bool		upper_bound;	/* fxid is an upper bound: the modifier is it or
								 * below in the slot's chain (ZROW_REUSED) */
	/* of its making, once looked up: invalid until then */
	CommandId	cid;
	/* the version that superseded this one, if the walk came from there */
	FullTransactionId next_fxid;
	CommandId	next_cid;
} ZRowVersion;

/* The version on the page.  The line pointer must be LP_NORMAL. */
extern void zmvcc_current(ZPageView *view, OffsetNumber offnum, ZRowVersion *version);

/*
 * The undo record of a version's making; *fxid gets the transaction that wrote it, *at where it
 * is.  False if it has been recycled, so that the version is visible to all.
 */
extern bool zmvcc_record(ZPageView *view, const ZRowVersion *version, ZUndoRecord *rec,
						 FullTransactionId *fxid, ZUndoPtr *at);

/* The command of a version's making; false as above. */
extern bool zmvcc_command(ZPageView *view, const ZRowVersion *version, CommandId *cid);

/*
 * For a version with an upper bound: look for its modifier among the records of one owner.
 * True if found (upper_bound is cleared); otherwise the version names the owner before,
 * or is visible to all.
 */
extern bool zmvcc_chain_step(ZPageView *view, ZRowVersion *version);

/* The same, but past any number of owners that are of our own transaction. */
extern void zmvcc_chain_descend(ZPageView *view, ZRowVersion *version);

/*
 * Let version->row have the row's body again if it was moved to undo
 * (ZROW2_TOMBSTONE).  A caller that reads the bytes of a deleted version needs this.
 * False: it is gone, so that the deletion is visible to all.
 */
extern bool zmvcc_reconstruct_body(ZPageView *view, ZRowVersion *version);

/* Make fxid the modifier itself, where version->upper_bound says that it is an upper bound. */
extern void zmvcc_find_modifier(ZPageView *view, ZRowVersion *version);

/* Step to the version before; false: there is none (the row was inserted). */
extern bool zmvcc_previous(ZPageView *view, ZRowVersion *version);

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

/* ---- maps of chains (mvcc_walk.c, mvcc_chain.c) ---- */

/* Many rows of the slot are about to be walked. */
extern void zmvcc_map_slot(ZPageView *view, int slotno);

/*
 * Let a version with an upper bound name its modifier, and that one's record, if they are
 * known and of our own transaction.
 */
extern void zmvcc_locate(ZPageView *view, ZRowVersion *version);

/*
 * Is version->undo known to be a record of the present owner of the version's slot?
 * Of a version without an upper bound; false: not known.
 */
extern bool zmvcc_owner_has(ZPageView *view, const ZRowVersion *version);

/* The transaction has added the record at "ptr" to its chain on a page. */
extern void zmvcc_record_added(FullTransactionId fxid, const ZUndoRecord *rec, ZUndoPtr ptr);

/* ---- visibility (mvcc_snapshot.c) ---- */

/*
 * The version of the row at offnum that the snapshot sees: true, with *version, or
 * false.  offnum may name any line pointer.  Every kind of snapshot: MVCC, SELF,
 * ANY (current version whatever it is, deleted rows included), TOAST, DIRTY
 * (fills snapshot->xmin, xmax, speculativeToken as heap does), NON_VACUUMABLE.
 */
extern bool zmvcc_fetch(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version);

/*
 * ERROR if the snapshot, imported from another session, is too old for this
 * session's temporary tables, and "rel" is one.  For a caller that begins to read.
 */
extern void zmvcc_snapshot_too_old(Relation rel) pg_attribute_noreturn();

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
 * Afterwards version->upper_bound means that the modifier, whichever it is, has committed.
 * (A slot's owner in progress may have reused the slot of an earlier subtransaction of its
 * own, so until then it may be in progress too.)
 */
extern bool zmvcc_skip_aborted(ZPageView *view, ZRowVersion *version);

/*
 * Does the snapshot see the modifier of this version, and therefore the version?
 * (Own transactions: no; ask the command id.)  May resolve version->upper_bound.
 */
extern bool zmvcc_modifier_visible(ZPageView *view, ZRowVersion *version, Snapshot snapshot);

/* The modifier's status; where it is an upper bound: of that. */
extern ZXactStatus zmvcc_version_status(ZPageView *view, const ZRowVersion *version);

/*
 * What the system columns of the version say.  Costs an undo lookup only for
 * versions of our own transaction.
 */
extern void zmvcc_version_id(const ZRowVersion *version, ZPageView *view, ZVersionId *id);

/* Is the row at offnum gone for everybody (index entries may be killed)? */
extern bool zmvcc_dead_to_all(ZPageView *view, OffsetNumber offnum);

/*
 * Is the version, on which a fetch for a snapshot has ended, a deletion by a
 * transaction in progress?  Quicker than zmvcc_dead_to_all.  False: not known.
 */
extern bool zmvcc_is_being_deleted(ZPageView *view, const ZRowVersion *version);

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
extern bool zmvcc_has_older(ZPageView *view, const ZRowVersion *version);

/* ---- the versions within our own transaction, by number (mvcc_ordinal.c) ---- */

/*
 * offnum must be a row.  The number of its newest version that is not rolled
 * back.  0: there is no such version.
 */
extern int	zmvcc_ordinal(ZPageView *view, OffsetNumber offnum);

/* That version; false: no such number. */
extern bool zmvcc_fetch_ordinal(ZPageView *view, OffsetNumber offnum, int ordinal, ZRowVersion *version);

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
 * zmvcc_fetch for a caller that reads a single row.  If the transaction takes part in
 * serializable snapshot isolation: lock the row's TID if a version is visible,
 * and report conflicts with others whose changes are not.  The page is locked.
 */
extern bool zmvcc_fetch_serial(ZPageView *view, OffsetNumber offnum, Snapshot snapshot,
							   ZRowVersion *version);

/*
 * The row was passed by in a scan of its page: report conflicts with everyone
 * whose changes of it the snapshot does not see.
 */
extern void zmvcc_conflicts_out(ZPageView *view, OffsetNumber offnum, Snapshot snapshot);

#endif							/* ZHEAP_MVCC_H */
