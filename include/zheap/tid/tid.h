/*
 * tid.h
 *		The meaning of TIDs for core: tags, the phase of the query, and notes about the latest
 *		calls.
 *
 * The old and the new version of a row share a TID, but core keeps TIDs between calls and later
 * requests, with SnapshotAny, the version that it means.  This layer decides which version that
 * is; it reads no page.  src/tid/README.md lists the callers in core.  No function here takes a
 * lock or raises an error.
 */
#ifndef ZHEAP_TID_H
#define ZHEAP_TID_H

#include "access/transam.h"
#include "access/xact.h"
#include "replication/logicalworker.h"
#include "storage/itemptr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/pg_compat_executor.h"

struct QueryDesc;
struct TupleTableSlot;

/* ---- tags ---- */

/*
 * The offset of a line pointer needs at most 11 of its 16 bits; the others contain a tag:
 *
 *	NONE		as in an index.  While a query runs: the version that its
 *				snapshot sees.  In an AFTER ROW event: the row as inserted, or the
 *				version that follows the old version fetched just before.
 *	1 .. 29		the k-th version of the row in our own transaction: 1 is the one
 *				that it found or inserted.  AFTER ROW events of an update keep it.
 *	REPLACED	the version that our last update replaced: set by tuple_update
 *				where no event can keep the TID.
 *	LAST		the last version of a row that only we can change: after
 *				tuple_lock the newest, after tuple_delete the one deleted.  Also the
 *				newest version, made by another transaction, that conflicts for ON CONFLICT.
 *
 * Ordinals count versions that are not rolled back.  Rolling back an event's update removes the
 * event as well, so the versions up to the one that an event names do not change as long as the
 * event exists (T4).
 */
#define ZTID_OFFSET_BITS	11
#define ZTID_OFFSET_MASK	((1 << ZTID_OFFSET_BITS) - 1)
#define ZTID_TAG_NONE		0
#define ZTID_MAX_ORDINAL	29
#define ZTID_TAG_REPLACED	30
#define ZTID_TAG_LAST		31

/* Return the tag of a TID. */
static inline int
ztid_tag(const ItemPointerData *tid)
{
	return tid->ip_posid >> ZTID_OFFSET_BITS;
}

/* Return the offset number without the tag. */
static inline OffsetNumber
ztid_offset(const ItemPointerData *tid)
{
	return tid->ip_posid & ZTID_OFFSET_MASK;
}

/* Return the TID without its tag. */
static inline ItemPointerData
ztid_untagged(const ItemPointerData *tid)
{
	ItemPointerData result = *tid;

	result.ip_posid &= ZTID_OFFSET_MASK;
	return result;
}

/* Give the TID this tag in place of the one that it has. */
static inline void
ztid_set_tag(ItemPointer tid, int tag)
{
	Assert(tag >= ZTID_TAG_NONE && tag <= ZTID_TAG_LAST);
	tid->ip_posid = (tid->ip_posid & ZTID_OFFSET_MASK) | (tag << ZTID_OFFSET_BITS);
}

/*
 * Return whether the caller of tuple_update, tuple_delete or tuple_lock means the newest version,
 * whatever its snapshot sees.  Then it has locked the row (T2).
 */
static inline bool
ztid_means_newest(const ItemPointerData *tid)
{
	return ztid_tag(tid) == ZTID_TAG_LAST;
}

/*
 * Tag the TID as LAST: tuple_delete has deleted the row (T3), or an index scan has found a row
 * that conflicts for ON CONFLICT (T6).
 */
static inline void
ztid_mark_last(ItemPointer tid)
{
	ztid_set_tag(tid, ZTID_TAG_LAST);
}

/*
 * Tag the old TID after tuple_update (T3).  "ordinal": the number of the old version if an event
 * may keep the TID, or 0.
 */
static inline void
ztid_mark_updated(ItemPointer tid, bool moved, int ordinal)
{
	Assert(ordinal >= 0 && ordinal <= ZTID_MAX_ORDINAL);
	if (moved)
		ztid_set_tag(tid, ZTID_TAG_LAST);
	else
		ztid_set_tag(tid, ordinal > 0 ? ordinal : ZTID_TAG_REPLACED);
}

/* ---- the state of this backend ---- */

/*
 * The phase of the query:
 *
 *	NONE		no query: deferred events, at commit or by SET CONSTRAINTS; rows written
 *				without a plan, by COPY, logical replication or a command
 *	RUN			ExecutorRun
 *	FINISH		ExecutorFinish, which completes data-modifying WITH clauses, then
 *				fires the query's own events
 */
typedef enum ZTidPhase
{
	ZTID_PHASE_NONE,
	ZTID_PHASE_RUN,
	ZTID_PHASE_FINISH
} ZTidPhase;

/*
 * The state of the innermost query, or of a command that is given within a query: each has its
 * own, and the outer one's is restored when it ends, also by an error (T7).  Only src/tid and the
 * inline functions below change it.
 */
typedef struct ZTidState
{
	ZTidPhase	phase;
	struct QueryDesc *query;	/* in FINISH */
	uint64		marks;			/* zheap_marks_cleared() when the level began; 0: outermost */

	/* The row that an index scan with a dirty snapshot found last; InvalidOid: none (T6). */
	Oid			conflict_rel;
	ItemPointerData conflict_tid;
	SubTransactionId conflict_sub;	/* the subtransaction that noted it */

	/* In phase NONE: the row that tuple_lock locked last, and the current command then (T2). */
	Oid			locked_rel;
	ItemPointerData locked_tid;
	CommandId	locked_cid;

	/*
	 * The new version of an event whose old version has just been fetched by number; ordinal 0:
	 * none (T5).
	 */
	int			next_ordinal;
	Oid			next_rel;
	ItemPointerData next_tid;
	CommandId	next_cid;		/* the current command then */

	/* The deleted row that was fetched last, and the slot that got it first (T3). */
	Oid			deleted_rel;
	ItemPointerData deleted_tid;
	FullTransactionId deleter;
	CommandId	deleter_cid;
	struct TupleTableSlot *deleted_slot;
} ZTidState;

extern ZTidState ztid_state;

/* Install the hooks and callbacks that keep the state, while the library is being preloaded. */
extern void ztid_register(void);

/* Return whether a query runs, in phase RUN or FINISH. */
static inline bool
ztid_query_runs(void)
{
	return ztid_state.phase != ZTID_PHASE_NONE;
}

/*
 * Return whether the apply worker's own code reads xmin.  It does so to report conflicts (18), and
 * needs the transaction (T10).  Users' code in an apply worker runs within a query.
 */
static inline bool
ztid_worker_asks(void)
{
	return unlikely(IsLogicalWorker()) && !ztid_query_runs();
}

/*
 * Return whether the scan, by SnapshotAny, is the apply worker's search for a deleted row (19).
 * The worker would read the result as a tuple on a heap page, so the scan must return no row
 * (T10).
 */
static inline bool
ztid_seeks_deleted(Snapshot snapshot)
{
	return unlikely(snapshot == SnapshotAny) && IsLogicalWorker();
}

/*
 * Return whether AFTER ROW events may fire now: always in phase NONE; in FINISH when all WITH
 * clauses are complete.
 */
extern bool ztid_events_fire(void);

/* ---- what was locked ---- */

/*
 * Tag the TID as LAST after tuple_lock, and note the row in phase NONE (T2).  "tid" may have a
 * tag.
 */
static inline void
ztid_note_locked(Relation rel, ItemPointer tid)
{
	ztid_mark_last(tid);
	if (likely(ztid_state.phase != ZTID_PHASE_NONE))
		return;
	ztid_state.locked_rel = RelationGetRelid(rel);
	ztid_state.locked_tid = ztid_untagged(tid);
	ztid_state.locked_cid = GetCurrentCommandId(false);
}

/*
 * Return whether no query runs and command "cid", in which our transaction made a version of the
 * row, is not older than the tuple_lock of the row: then a BEFORE trigger has made the version.
 * "tid": without a tag.
 */
static inline bool
ztid_made_since_locked(Relation rel, const ItemPointerData *tid, CommandId cid)
{
	return ztid_state.phase == ZTID_PHASE_NONE &&
		ztid_state.locked_rel == RelationGetRelid(rel) && cid >= ztid_state.locked_cid &&
		ItemPointerEquals(&ztid_state.locked_tid, unconstify(ItemPointerData *, tid));
}

/* ---- rows that conflict, for ON CONFLICT ---- */

/* Note that an index scan with a dirty snapshot has found this row. */
static inline void
ztid_note_conflict(Relation rel, const ItemPointerData *tid)
{
	ztid_state.conflict_rel = RelationGetRelid(rel);
	ztid_state.conflict_tid = *tid;
	ztid_state.conflict_sub = GetCurrentSubTransactionId();
}

/* Forget the note, as rows are about to change. */
static inline void
ztid_forget_conflict(void)
{
	ztid_state.conflict_rel = InvalidOid;
}

/*
 * Return whether the row, which is about to be locked or fetched, is the one noted.  Then the
 * caller is ON CONFLICT, which has no other way to say so (T6).  Forgets the note.
 */
static inline bool
ztid_take_conflict(Relation rel, const ItemPointerData *tid)
{
	bool		same = ztid_state.conflict_rel == RelationGetRelid(rel) &&
	ItemPointerEquals(&ztid_state.conflict_tid, unconstify(ItemPointerData *, tid));

	ztid_state.conflict_rel = InvalidOid;
	return same;
}

/* ---- which version a TID means ---- */

typedef enum ZTidVersion
{
	ZTID_SEEN,					/* what the active snapshot sees; else INSERTED, else LAST */
	ZTID_INSERTED,				/* the version that our transaction inserted; else SEEN */
	ZTID_NUMBERED,				/* the version with this number in our transaction */
	ZTID_REPLACED,				/* the version before our newest */
	ZTID_LAST					/* the newest that is ours or committed; for a deleted row
								 * the one that was deleted */
} ZTidVersion;

typedef struct ZTidMeaning
{
	ZTidVersion version;
	int			ordinal;		/* NUMBERED */
} ZTidMeaning;

/* ztid_resolve() for a TID that has a tag, or outside of ExecutorRun. */
extern ZTidMeaning ztid_resolve_event(Relation rel, const ItemPointerData *tid);

/*
 * Return which version tuple_fetch_row_version, with SnapshotAny, is to fetch.  Called once for
 * each fetch, as it clears the notes about the next fetch.
 */
static inline ZTidMeaning
ztid_resolve(Relation rel, const ItemPointerData *tid)
{
	ZTidMeaning meaning = {ZTID_SEEN, 0};

	/* DO SELECT, or DO NOTHING, which is treated alike; this ends the note */
	if (unlikely(OidIsValid(ztid_state.conflict_rel)) && ztid_take_conflict(rel, tid) &&
		ZCOMPAT_CONFLICT_IS_FETCHED && ztid_query_runs() && ztid_tag(tid) == ZTID_TAG_NONE)
	{
		ztid_state.next_ordinal = 0;
		meaning.version = ZTID_LAST;
		return meaning;
	}
	if (unlikely(ztid_tag(tid) != ZTID_TAG_NONE || ztid_state.phase != ZTID_PHASE_RUN))
		return ztid_resolve_event(rel, tid);
	ztid_state.next_ordinal = 0;
	return meaning;
}

/* The transaction and command that deleted the row. */
typedef struct ZTidDeletion
{
	FullTransactionId fxid;
	CommandId	cid;
} ZTidDeletion;

/*
 * Return the tag that the TID keeps in the slot that gets the version which the tagged TID means.
 * AFTER ROW events take their TIDs from there.  A tag that names the version permanently is kept.
 * "deletion": given if the tag is LAST, our transaction has deleted the row, and events may keep
 * its TID; else NULL.
 */
extern int	ztid_tag_kept(Relation rel, const ItemPointerData *tid,
						  const ZTidDeletion *deletion, struct TupleTableSlot *slot);

#endif							/* ZHEAP_TID_H */
