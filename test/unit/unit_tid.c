/*
 * unit_tid.c
 *		Which version a TID means: the tables of src/tid/README.md, row by row.
 *
 * Queries nest in SQL only: tid_queries.sql has that.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/execdesc.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "unit.h"
#include "zheap/tid/tid.h"

PG_FUNCTION_INFO_V1(zheap_unit_tid);

#define FIRST_OID	16384

/* As much of a relation as this layer looks at. */
static Relation
relation_make(Oid oid)
{
	Relation	rel = palloc0(sizeof(RelationData));

	rel->rd_id = oid;
	return rel;
}

static ItemPointerData
tid_make(Unit *unit, int tag)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, unit_int(unit, 0, 3), unit_int(unit, 1, ZTID_OFFSET_MASK));
	ztid_set_tag(&tid, tag);
	return tid;
}

/* A query in the phase; in FINISH with WITH clauses that are done, or one that is not. */
static void
phase_set(Unit *unit, ZTidPhase phase, bool unfinished)
{
	int			nclauses = unit_int(unit, 0, 3);

	memset(&ztid_state, 0, sizeof(ztid_state));
	ztid_state.phase = phase;
	if (phase != ZTID_PHASE_FINISH)
		return;
	ztid_state.query = palloc0(sizeof(QueryDesc));
	ztid_state.query->estate = makeNode(EState);
	for (int i = 0; i < nclauses + unfinished; i++)
	{
		ModifyTableState *clause = makeNode(ModifyTableState);

		clause->mt_done = i > 0 || !unfinished;
		ztid_state.query->estate->es_auxmodifytables =
			lappend(ztid_state.query->estate->es_auxmodifytables, clause);
	}
}

static void
codec_check(Unit *unit)
{
	int			tag = unit_int(unit, 0, ZTID_TAG_LAST);
	ItemPointerData plain = tid_make(unit, ZTID_TAG_NONE);
	ItemPointerData tid = plain;
	ItemPointerData untagged;

	ztid_set_tag(&tid, tag);
	untagged = ztid_untagged(&tid);
	unit_check(ztid_tag(&tid) == tag);
	unit_check(ItemPointerEquals(&untagged, &plain));
	unit_check(ztid_offset(&tid) == ItemPointerGetOffsetNumber(&plain));
	unit_check(ztid_means_newest(&tid) == (tag == ZTID_TAG_LAST));
	ztid_mark_updated(&tid, true, 1);
	unit_check(ztid_tag(&tid) == ZTID_TAG_LAST);
	ztid_mark_updated(&tid, false, 0);
	unit_check(ztid_tag(&tid) == ZTID_TAG_REPLACED);
	ztid_mark_updated(&tid, false, 7);
	unit_check(ztid_tag(&tid) == 7);
}

/* Fetch the row that ON CONFLICT has found, and again, without the note. */
static void
meaning_check(Unit *unit, ZTidPhase phase, int tag)
{
	Relation	rel = relation_make(FIRST_OID);
	ItemPointerData tid = tid_make(unit, tag);
	ZTidMeaning meaning;

	phase_set(unit, phase, unit_int(unit, 0, 1) == 1);
	ztid_note_conflict(rel, &tid);
	meaning = ztid_resolve(rel, &tid);
	unit_check(!ztid_take_conflict(rel, &tid));
	if (tag == ZTID_TAG_NONE && phase != ZTID_PHASE_NONE && ZCOMPAT_CONFLICT_IS_FETCHED)
	{
		unit_check(meaning.version == ZTID_LAST);
		meaning = ztid_resolve(rel, &tid);
	}
	if (tag == ZTID_TAG_NONE)
		unit_check(meaning.version == (phase == ZTID_PHASE_NONE ? ZTID_INSERTED : ZTID_SEEN));
	else if (tag == ZTID_TAG_REPLACED)
		unit_check(meaning.version == ZTID_REPLACED);
	else if (tag == ZTID_TAG_LAST)
		unit_check(meaning.version == ZTID_LAST);
	else
		unit_check(meaning.version == ZTID_NUMBERED && meaning.ordinal == tag);
}

/* The new version of an event is what is fetched next, by its TID, where events fire (T5). */
static void
event_check(Unit *unit)
{
	ZTidPhase	phase = unit_int(unit, ZTID_PHASE_NONE, ZTID_PHASE_FINISH);
	bool		unfinished = unit_int(unit, 0, 1) == 1;
	bool		fire = phase == ZTID_PHASE_NONE || (phase == ZTID_PHASE_FINISH && !unfinished);
	int			number = unit_int(unit, 1, ZTID_MAX_ORDINAL);
	Relation	rel = relation_make(FIRST_OID);
	ItemPointerData old = tid_make(unit, number);
	ItemPointerData new = ztid_untagged(&old);
	ItemPointerData other = tid_make(unit, unit_int(unit, 0, ZTID_TAG_LAST));
	ZTidMeaning meaning;

	phase_set(unit, phase, unfinished);
	(void) ztid_resolve(rel, &old);
	unit_check(ztid_events_fire() == fire);
	unit_check(ztid_tag_kept(rel, &old, NULL, NULL) == number);
	switch (unit_int(unit, 0, 3))
	{
		case 0:
			meaning = ztid_resolve(relation_make(FIRST_OID + 1), &new);
			unit_check(meaning.version != ZTID_NUMBERED);
			break;
		case 1:
			(void) ztid_resolve(rel, &other);
			break;
		case 2:
			ztid_state.next_cid++;
			break;
		default:
			meaning = ztid_resolve(rel, &new);
			unit_check((meaning.version == ZTID_NUMBERED) == fire);
			if (fire)
				unit_check(meaning.ordinal == number + 1);
			break;
	}
	/* whatever it was, it is not expected any more */
	meaning = ztid_resolve(rel, &new);
	unit_check(meaning.version != ZTID_NUMBERED);
}

/* The first slot that a deleted row gets into keeps the tag, for its event (T3). */
static void
deletion_check(Unit *unit)
{
	Relation	rel = relation_make(FIRST_OID);
	ItemPointerData tid = tid_make(unit, ZTID_TAG_LAST);
	ZTidDeletion deletion = {FullTransactionIdFromU64(unit_int(unit, 3, 1000)), 5};
	ZTidDeletion later = {deletion.fxid, 6};
	TupleTableSlot event = {0};
	TupleTableSlot returning = {0};

	phase_set(unit, ZTID_PHASE_RUN, false);
	unit_check(ztid_tag_kept(rel, &tid, NULL, &event) == ZTID_TAG_NONE);
	unit_check(ztid_tag_kept(rel, &tid, &deletion, &event) == ZTID_TAG_LAST);
	unit_check(ztid_tag_kept(rel, &tid, &deletion, &returning) == ZTID_TAG_NONE);
	unit_check(ztid_tag_kept(rel, &tid, &deletion, &event) == ZTID_TAG_LAST);
	unit_check(ztid_tag_kept(rel, &tid, &later, &returning) == ZTID_TAG_LAST);
	unit_check(ztid_tag_kept(rel, &tid, &later, &event) == ZTID_TAG_NONE);
	ztid_set_tag(&tid, ZTID_TAG_REPLACED);
	unit_check(ztid_tag_kept(rel, &tid, NULL, &event) == ZTID_TAG_NONE);
}

/* ON CONFLICT locks what was found just before (T6). */
static void
conflict_check(Unit *unit)
{
	Relation	rel = relation_make(FIRST_OID);
	Relation	other_rel = relation_make(FIRST_OID + 1);
	ItemPointerData tid = tid_make(unit, ZTID_TAG_NONE);
	ItemPointerData other = tid_make(unit, ZTID_TAG_NONE);

	phase_set(unit, ZTID_PHASE_RUN, false);
	unit_check(!ztid_take_conflict(rel, &tid));
	ztid_note_conflict(rel, &tid);
	unit_check(ztid_take_conflict(rel, &tid));
	unit_check(!ztid_take_conflict(rel, &tid));
	ztid_note_conflict(rel, &tid);
	unit_check(!ztid_take_conflict(other_rel, &tid));
	unit_check(!ztid_take_conflict(rel, &tid));
	ztid_note_conflict(rel, &tid);
	unit_check(ztid_take_conflict(rel, &other) == ItemPointerEquals(&tid, &other));
	ztid_note_conflict(rel, &tid);
	ztid_forget_conflict();
	unit_check(!ztid_take_conflict(rel, &tid));
}

static void
tid_round(Unit *unit)
{
	codec_check(unit);
	for (int phase = ZTID_PHASE_NONE; phase <= ZTID_PHASE_FINISH; phase++)
		for (int tag = ZTID_TAG_NONE; tag <= ZTID_TAG_LAST; tag++)
			meaning_check(unit, phase, tag);
	event_check(unit);
	deletion_check(unit);
	conflict_check(unit);
	memset(&ztid_state, 0, sizeof(ztid_state));
}

/* zheap_unit_tid(seed bigint, rounds integer) returns void */
Datum
zheap_unit_tid(PG_FUNCTION_ARGS)
{
	return unit_repeat(fcinfo, tid_round);
}
