/*
 * tid.h
 *		What core means by a TID: tags, the phase of the query, and what core was
 *		told last.
 *
 * Old and new version of a row share a TID, but core keeps TIDs between calls and
 * asks again, with SnapshotAny, for "the version I mean".  This layer decides which
 * version that is; it reads no page.  src/tid/README.md lists the callers in core.
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
 * The offset of a line pointer needs 11 of its 16 bits at most; the others carry a
 * tag:
 *
 *	NONE		as an index has it.  While a query runs: the version that its
 *				snapshot sees.  In an AFTER ROW event: the row as inserted, or what
 *				the update made of the old version that was fetched just before.
 *	1 .. 29		the k-th version of the row in our own transaction: 1 is the one
 *				that it found or inserted.  What AFTER ROW events keep of an update.
 *	REPLACED	the version that our last update replaced: tuple_update's answer
 *				where no event can keep it.
 *	LAST		the last version of a row that only we can change: after
 *				tuple_lock the newest, after tuple_delete the one deleted.  Also the
 *				newest, of others, that is in the way of ON CONFLICT.
 *
 * Ordinals count versions that are not rolled back.  An event's own rollback
 * takes the event with it, so the versions up to the one it names stay as they
 * are for as long as there is an event to ask for it (T4).
 */
#define ZTID_OFFSET_BITS	11
#define ZTID_OFFSET_MASK	((1 << ZTID_OFFSET_BITS) - 1)
#define ZTID_TAG_NONE		0
#define ZTID_MAX_ORDINAL	29
#define ZTID_TAG_REPLACED	30
#define ZTID_TAG_LAST		31

static inline int
ztid_tag(const ItemPointerData *tid)
{
	return tid->ip_posid >> ZTID_OFFSET_BITS;
}

static inline OffsetNumber
ztid_offset(const ItemPointerData *tid)
{
	return tid->ip_posid & ZTID_OFFSET_MASK;
}

static inline ItemPointerData
ztid_untagged(const ItemPointerData *tid)
{
	ItemPointerData result = *tid;

	result.ip_posid &= ZTID_OFFSET_MASK;
	return result;
}

static inline void
ztid_set_tag(ItemPointer tid, int tag)
{
	Assert(tag >= ZTID_TAG_NONE && tag <= ZTID_TAG_LAST);
	tid->ip_posid = (tid->ip_posid & ZTID_OFFSET_MASK) | (tag << ZTID_OFFSET_BITS);
}

/*
 * Does the caller of tuple_update, tuple_delete or tuple_lock mean the newest version,
 * whatever its snapshot sees?  It has locked the row (T2).
 */
static inline bool
ztid_means_newest(const ItemPointerData *tid)
{
	return ztid_tag(tid) == ZTID_TAG_LAST;
}

/* tuple_delete: done (T3); an index scan has found what is in the way of ON CONFLICT (T6). */
static inline void
ztid_mark_last(ItemPointer tid)
{
	ztid_set_tag(tid, ZTID_TAG_LAST);
}

/*
 * tuple_update: done (T3).  "ordinal": the number of the old version if an event may keep
 * the TID, or 0.
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
 * Is a query being executed, or is it events that outlived theirs?
 *
 *	NONE		no query: deferred events, at commit or by SET CONSTRAINTS; rows written
 *				without a plan, by COPY, logical replication or a command
 *	RUN			ExecutorRun
 *	FINISH		ExecutorFinish, which runs data-modifying WITH clauses to their end,
 *				then fires the query's own events
 */
typedef enum ZTidPhase
{
	ZTID_PHASE_NONE,
	ZTID_PHASE_RUN,
	ZTID_PHASE_FINISH
} ZTidPhase;

/*
 * Of the innermost query, or of a command that is given within a query: each has its
 * own, and the outer one's comes back when it ends, however it ends (T7).  Only
 * src/tid changes this, and the inline functions below.
 */
typedef struct ZTidState
{
	ZTidPhase	phase;
	struct QueryDesc *query;	/* in FINISH */
	uint64		marks;			/* zheap_marks_cleared() when the level began; 0: no level has */

	/* The row that an index scan with a dirty snapshot found last; or InvalidOid. */
	Oid			conflict_rel;
	ItemPointerData conflict_tid;
	SubTransactionId conflict_sub;	/* noted within this one */

	/* In NONE: the row that tuple_lock has locked last, and the current command then (T2). */
	Oid			locked_rel;
	ItemPointerData locked_tid;
	CommandId	locked_cid;

	/*
	 * The new version of an event whose old version has just been fetched by number;
	 * ordinal 0: none.
	 */
	int			next_ordinal;
	Oid			next_rel;
	ItemPointerData next_tid;
	CommandId	next_cid;		/* the current command then */

	/* The deleted row that was fetched last, and into which slot first. */
	Oid			deleted_rel;
	ItemPointerData deleted_tid;
	FullTransactionId deleter;
	CommandId	deleter_cid;
	struct TupleTableSlot *deleted_slot;
} ZTidState;

extern ZTidState ztid_state;

/* The hooks that keep it. */
extern void ztid_register(void);

/* False in phase NONE. */
static inline bool
ztid_query_runs(void)
{
	return ztid_state.phase != ZTID_PHASE_NONE;
}

/*
 * Return whether it is the apply worker's own code that reads xmin.  It does so to report
 * conflicts (18), and needs the transaction (T10).  Users' code in an apply worker runs within a
 * query.
 */
static inline bool
ztid_worker_asks(void)
{
	return unlikely(IsLogicalWorker()) && !ztid_query_runs();
}

/*
 * Return whether the scan is the apply worker's search for a deleted row (19), by SnapshotAny.
 * The worker would read what it finds as a tuple on a heap page, so the scan must return no row
 * (T10).
 */
static inline bool
ztid_seeks_deleted(Snapshot snapshot)
{
	return unlikely(snapshot == SnapshotAny) && IsLogicalWorker();
}

/* May AFTER ROW events fire now? */
extern bool ztid_events_fire(void);

/* ---- what was locked ---- */

/* tuple_lock: done (T2).  "tid" may have a tag. */
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
 * No query runs, and our transaction has made a version of the row by this command: since
 * tuple_lock locked the row?  A BEFORE trigger has, then.  "tid": without a tag.
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
 * Return whether the row, which is to be locked or fetched, is the one noted.  Then it is ON
 * CONFLICT that asks for it, which has no other way to say so (T6).  Ends the note.
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
	ZTID_INSERTED,				/* what our transaction inserted; else SEEN */
	ZTID_NUMBERED,				/* the version with this number in our transaction */
	ZTID_REPLACED,				/* the version before our newest */
	ZTID_LAST					/* the newest that is ours or committed; of a deleted row
								 * the one that was deleted */
} ZTidVersion;

typedef struct ZTidMeaning
{
	ZTidVersion version;
	int			ordinal;		/* NUMBERED */
} ZTidMeaning;

/* ztid_resolve of a TID that has a tag, or outside of ExecutorRun. */
extern ZTidMeaning ztid_resolve_event(Relation rel, const ItemPointerData *tid);

/*
 * What tuple_fetch_row_version is asked for with SnapshotAny.  To be called once: what was
 * expected to come next is not any more.
 */
static inline ZTidMeaning
ztid_resolve(Relation rel, const ItemPointerData *tid)
{
	ZTidMeaning meaning = {ZTID_SEEN, 0};

	/* DO SELECT, or DO NOTHING, which is treated alike; the note ends here */
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
 * The version that a TID with a tag means goes into the slot: the tag that stays with it
 * there, from where it gets into AFTER ROW events.  One that names the version for
 * good does.  "deletion": LAST, and events may keep the TID of this row, which our
 * transaction has deleted; or NULL.
 */
extern int	ztid_tag_kept(Relation rel, const ItemPointerData *tid,
						  const ZTidDeletion *deletion, struct TupleTableSlot *slot);

#endif							/* ZHEAP_TID_H */
