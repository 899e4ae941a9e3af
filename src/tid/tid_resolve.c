/*
 * tid_resolve.c
 *		Which version a TID means that has a tag, or that comes from an AFTER ROW event.
 *
 * LOCKING: none.  This reads no page: the caller (scan_row.c) finds the version.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/tuptable.h"

#include "zheap/page/page_format.h"
#include "zheap/tid/tid.h"

StaticAssertDecl(ZPAGE_MAX_OFFSET <= ZTID_OFFSET_MASK, "offset numbers leave no room for tags");
StaticAssertDecl(ZTID_MAX_ORDINAL < ZTID_TAG_REPLACED &&
				 ZTID_TAG_LAST < 1 << (16 - ZTID_OFFSET_BITS),
				 "tags do not fit");

/* Return whether two TIDs, without tags, and their tables are the same. */
static inline bool
same_row(Oid rel, const ItemPointerData *tid, Relation other, const ItemPointerData *other_tid)
{
	return rel == RelationGetRelid(other) &&
		ItemPointerEquals(unconstify(ItemPointerData *, tid),
						  unconstify(ItemPointerData *, other_tid));
}

/*
 * Note that the next version may be fetched now.  An event about an update in place has two TIDs.
 * The new one has no tag, as RETURNING shows it.  But a caller that fires an event fetches its old
 * version, by number, and immediately after that the new one (T5).
 */
static void
expect_next(Relation rel, const ItemPointerData *tid, int ordinal)
{
	ztid_state.next_rel = RelationGetRelid(rel);
	ztid_state.next_tid = *tid;
	ztid_state.next_ordinal = ordinal + 1;
	ztid_state.next_cid = GetCurrentCommandId(false);
}

/*
 * Return the number of the version that is fetched by this TID; 0 if it is not the new version of
 * an event.  The command distinguishes an event from what logical replication fetches when it
 * queues one: after that it begins another command.  Clears the note.
 */
static int
take_next(Relation rel, const ItemPointerData *tid)
{
	int			ordinal = ztid_state.next_ordinal;

	Assert(ordinal >= 0 && ordinal <= ZTID_MAX_ORDINAL + 1);
	ztid_state.next_ordinal = 0;
	if (ordinal > 0 &&
		same_row(ztid_state.next_rel, &ztid_state.next_tid, rel, tid) &&
		ztid_state.next_cid == GetCurrentCommandId(false) && ztid_events_fire())
		return ordinal;
	return 0;
}

ZTidMeaning
ztid_resolve_event(Relation rel, const ItemPointerData *tid)
{
	ZTidMeaning meaning = {ZTID_SEEN, 0};
	int			tag = ztid_tag(tid);
	int			next = take_next(rel, tid);

	switch (tag)
	{
		case ZTID_TAG_NONE:
			if (next > 0)
			{
				meaning.version = ZTID_NUMBERED;
				meaning.ordinal = next;
			}
			else if (ztid_state.phase == ZTID_PHASE_NONE)
				meaning.version = ZTID_INSERTED;
			break;
		case ZTID_TAG_REPLACED:
			meaning.version = ZTID_REPLACED;
			break;
		case ZTID_TAG_LAST:
			meaning.version = ZTID_LAST;
			break;
		default:
			meaning.version = ZTID_NUMBERED;
			meaning.ordinal = tag;
			break;
	}
	Assert(ztid_state.next_ordinal == 0);	/* T5 */
	return meaning;
}

/*
 * Return whether the slot is the first that gets the deleted row.  The row is fetched for its
 * AFTER ROW events, if there are any, and after that, into another slot, for RETURNING, which
 * shows the TID as it is (T3).
 */
static bool
is_first_slot(Relation rel, const ItemPointerData *tid, const ZTidDeletion *deletion,
			  TupleTableSlot *slot)
{
	if (!same_row(ztid_state.deleted_rel, &ztid_state.deleted_tid, rel, tid) ||
		!FullTransactionIdEquals(ztid_state.deleter, deletion->fxid) ||
		ztid_state.deleter_cid != deletion->cid)
	{
		ztid_state.deleted_rel = RelationGetRelid(rel);
		ztid_state.deleted_tid = *tid;
		ztid_state.deleter = deletion->fxid;
		ztid_state.deleter_cid = deletion->cid;
		ztid_state.deleted_slot = slot;
	}
	return ztid_state.deleted_slot == slot;
}

int
ztid_tag_kept(Relation rel, const ItemPointerData *tid, const ZTidDeletion *deletion,
			  TupleTableSlot *slot)
{
	ItemPointerData row = ztid_untagged(tid);
	int			tag = ztid_tag(tid);

	Assert(tag != ZTID_TAG_NONE);
	Assert(deletion == NULL || tag == ZTID_TAG_LAST);
	if (tag <= ZTID_MAX_ORDINAL)
	{
		if (ztid_events_fire())
			expect_next(rel, &row, tag);
		return tag;
	}
	/* after a deletion there is no later version; a locked row may get more */
	if (deletion && is_first_slot(rel, &row, deletion, slot))
		return ZTID_TAG_LAST;
	return ZTID_TAG_NONE;
}
