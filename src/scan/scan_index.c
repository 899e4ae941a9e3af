/*
 * scan_index.c
 *		Rows that an index names.
 *
 * LOCKING: the pin on the last table page is kept from row to row, as rows that are next to each
 * other in an index are often so in the table, too.  The page is locked in share mode only while
 * one row is checked and copied out.  If its undo has to be read, that is done on a copy of the
 * page, without the lock.  The exception is a backend without a snapshot (zscan_may_leave): there
 * the row's undo is read under the lock, in the O(log n) steps of C1 and waypoints.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"

#include "zheap/base/base.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/index_recheck.h"
#include "zheap/btree/stale_entries.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/mvcc/serial.h"
#include "zheap/mvcc/state.h"
#include "zheap/scan/shown.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_relation.h"

#include "index_fetch.h"
#include "row_look.h"

/* Number of consecutive rows of one page that are read in place. */
#define ROWS_IN_PLACE	2

/*
 * If our transaction has more undo records of a page, a view is used to find the command of a
 * version.
 */
#define FEW_RECORDS		4

/* Open a view whose memory lives as long as the fetch. */
static void
view_open(ZIndexFetch *fetch, ZPageView *view)
{
	MemoryContext context = MemoryContextSwitchTo(fetch->context);

	zview_open(view, fetch->base.base.rel);
	MemoryContextSwitchTo(context);
}

/* ---- many rows of one page ---- */

static void
run_begin(ZIndexFetch *fetch, BlockNumber block, Snapshot snapshot)
{
	fetch->run.block = block;
	fetch->run.moment = zmvcc_moment(snapshot);
	fetch->run.leaf = fetch->base.leaf;
	fetch->rows = 0;
	fetch->has_copy = false;
}

/* Return whether the row is on the run's page, and nothing has changed that a copy depends on. */
static inline bool
run_goes_on(const ZIndexFetch *fetch, BlockNumber block, Snapshot snapshot)
{
	return fetch->run.block == block && fetch->run.leaf == fetch->base.leaf &&
		zmvcc_moment_lasts(&fetch->run.moment, snapshot);
}

/*
 * Copy the run's page, if rows may be read from a copy: with an MVCC snapshot, outside of
 * SERIALIZABLE transactions, which report each row read from the page (mvcc_serial.c).
 */
static pg_noinline void
run_copy(ZIndexFetch *fetch, Snapshot snapshot, TupleTableSlot *slot)
{
	ZFetchCopy *copy = fetch->copy;
	Buffer		buffer;

	fetch->rows = 0;
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable() ||
		!zscan_may_leave())
		return;
	if (copy == NULL)
	{
		copy = MemoryContextAlloc(fetch->context, sizeof(ZFetchCopy));
		copy->copy = NULL;
		view_open(fetch, &copy->view);
		fetch->copy = copy;
	}
	ExecClearTuple(slot);		/* otherwise its row would keep the copy of another page */
	zundo_open();
	buffer = ReadBuffer(fetch->base.base.rel, fetch->run.block);
	fetch->has_copy = zcopy_read(&copy->copy, &copy->view, buffer);
	ReleaseBuffer(buffer);
	if (!fetch->has_copy)
		return;
	copy->seen = zscan_seen_slots(&copy->view, snapshot);
}

#ifdef USE_ASSERT_CHECKING
/* Check E3: the page gives the same row. */
static void
assert_still_seen(Relation rel, const ItemPointerData *tid, Snapshot snapshot,
				  ZTupleSlot *zslot)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	ZPageView	now;
	ZRowVersion version;

	if (!zundo_is_open())
		zundo_open();
	zview_open(&now, rel);
	if (!zview_read(&now, ItemPointerGetBlockNumberNoCheck(tid), NULL) ||
		!zmvcc_fetch(&now, offnum, snapshot, &version) ||
		!zrow_same_body(version.row, version.len, zslot->row, zslot->row_len))
		elog(PANIC, "the snapshot does not see what row %u was taken for", offnum);
	memset(now.counts, 0, sizeof(now.counts));
	zview_close(&now);
}
#else
#define assert_still_seen(rel, tid, snapshot, zslot) ((void) 0)
#endif

/*
 * Fetch the row from the copy.  Return false if the page must be looked at: the copy proves only
 * that the snapshot sees a version, never that it sees none (E3).
 */
static inline bool
fetch_from_copy(ZFetchCopy *copy, const ItemPointerData *tid, Snapshot snapshot,
				TupleTableSlot *slot)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	ZRowVersion version;
	ZScanRow	row;

	Assert(copy->copy->owner == CurrentResourceOwner);	/* E2: else it may be gone */
	if (offnum == InvalidOffsetNumber || offnum > PageGetMaxOffsetNumber(copy->view.page) ||
		!zrow_look(copy->view.page, offnum, copy->seen, &row))
		return false;
	if (likely(row.len != 0))
	{
		slot->tts_tableOid = RelationGetRelid(copy->view.rel);
		ztuple_slot_refer(slot, copy->copy, copy->copy->page.data + row.offset, row.len, tid);
	}
	else
	{
		zundo_open();
		if (!zmvcc_fetch(&copy->view, offnum, snapshot, &version))
			return false;
		zscan_version_store(&copy->view, &version, tid, slot);
	}
	zshown_note(slot, snapshot);
	assert_still_seen(copy->view.rel, tid, snapshot, (ZTupleSlot *) slot);
	return true;
}

/* ---- single rows ---- */

/*
 * Return whether to tag the TID as that of the last version, for ON CONFLICT.
 *
 * ON CONFLICT looks for conflicting rows with a dirty snapshot.  If the transaction has one
 * snapshot for all commands, it then asks by TID whether that sees the row, and means the version
 * that it found.  Rows that we changed stay untagged: core recognizes the row that it is checking
 * by its TID.  When a command validates a constraint, outside of a query, that may be any row.
 */
static bool
names_last(const ZRowVersion *version, Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_DIRTY && IsolationUsesXactSnapshot() &&
		ztid_query_runs() &&
		/* otherwise the caller waits, reports the row to users, and looks again */
		!TransactionIdIsValid(snapshot->xmin) && !TransactionIdIsValid(snapshot->xmax) &&
		!zmodifier_is_all_visible(&version->modifier) &&
		(version->modifier.kind == ZMODIFIER_UPPER_BOUND ||
		 !TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier))));
}

/*
 * Check and copy the row; return false if the snapshot sees none.  *version is where the search
 * has ended.  The page is locked in share mode and viewed in place.
 */
static bool
fetch_from_page(ZPageView *view, Buffer *page, const ItemPointerData *tid, Snapshot snapshot,
				TupleTableSlot *slot, ZRowVersion *version)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);

	if (zmvcc_fetch_serial(view, page, offnum, snapshot, version))
	{
		zscan_version_store(view, version, tid, slot);
		if (likely(snapshot->snapshot_type == SNAPSHOT_MVCC))
			zshown_note(slot, snapshot);
		else if (unlikely(names_last(version, snapshot)))
			ztid_mark_last(&slot->tts_tid);
		return true;
	}
	return false;
}

/*
 * Return whether the index entry may be marked as dead.  A line pointer past the end: the row and
 * those after it were removed by VACUUM after we read the index.
 */
static bool
is_dead_on_disk(ZPageView *view, OffsetNumber offnum, const ZRowVersion *version)
{
	return (offnum > PageGetMaxOffsetNumber(view->page) || !zmvcc_is_needed(view, version)) &&
		zmvcc_dead_on_disk(view, offnum);
}

/*
 * Return whether the row is a version made by our top transaction, which the snapshot sees because
 * it sees all that the transaction has changed.  Not for rows of slots that were taken over or
 * belong to subtransactions.  After many changes of the page a view is quicker to find the
 * command.
 */
static inline bool
is_own(const char *row, const ZPageSlot *slot, Snapshot snapshot)
{
	return FullTransactionIdEquals(zpage_slot_fxid(slot), GetTopFullTransactionIdIfAny()) &&
		(zrow_flags(row) & ZROW_REUSED) == 0 && zpage_slot_count(slot) <= FEW_RECORDS &&
		zview_own_are_before(snapshot->curcid);
}

static inline FullTransactionId
horizon_of(Relation rel)
{
	return RelationUsesLocalBuffers(rel) ? zundo_local_horizon() : zundo_horizon();
}

/*
 * Fetch a row of a common kind without a view of its page: visible to all, or our own
 * transaction's, undamaged, for an MVCC snapshot, with nothing to be locked or reported.  Return
 * false if it is not known to be one.  The page is locked in share mode.
 */
static bool
fetch_plain(Relation rel, Page page, const ItemPointerData *tid, Snapshot snapshot,
			 TupleTableSlot *slot)
{
	ZVersionId	id = {.modifier.kind = ZMODIFIER_ALL_VISIBLE};
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	const char *bytes;
	int			slotno;
	ZScanRow	row;

	if (snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable() ||
		PageIsNew(page) || zpage_is_overflow(page) || zpage_check_header(page) != NULL ||
		(((PageHeader) page)->pd_flags & PD_PAGE_FULL) != 0 ||
		offnum == InvalidOffsetNumber || offnum > PageGetMaxOffsetNumber(page) ||
		!zrow_look(page, offnum, ((uint32) 2 << zpage_nslots(page)) - 1, &row) || row.len == 0)
		return false;
	bytes = (char *) page + row.offset;
	slotno = zrow_slotno(bytes);
	if (slotno != 0)
	{
		const ZPageSlot *owner = zpage_slot(page, NULL, slotno);
		FullTransactionId fxid = zpage_slot_fxid(owner);

		if (FullTransactionIdIsValid(fxid) &&
			!FullTransactionIdPrecedes(fxid, horizon_of(rel)))
		{
			if (!is_own(bytes, owner, snapshot))
				return false;
			id.modifier.kind = ZMODIFIER_EXACT;
			id.modifier.place = zpage_slot_owner(owner);
			id.cmin = InvalidCommandId;
		}
	}
	ztuple_slot_store(slot, bytes, row.len, tid, RelationGetRelid(rel), &id);
	zshown_note(slot, snapshot);
	return true;
}

bool
zscan_may_leave(void)
{
	return TransactionIdIsValid(MyProc->xmin) && !(MyProc->statusFlags & PROC_IN_VACUUM);
}

/*
 * Pin the page, which is often the one that the backend had last.  Only a scan of a B-tree reads
 * ahead; a unique check must not, as it has a page of the index locked (I3).
 */
static void
fetch_pin(ZIndexFetch *fetch, BlockNumber block)
{
	IndexScanDesc scan = fetch->base.scan;
	int64		misses = zprefetch_misses();

	if (BufferIsValid(fetch->buffer))
	{
		if (BufferGetBlockNumber(fetch->buffer) == block)
			return;
		ReleaseBuffer(fetch->buffer);
		fetch->buffer = InvalidBuffer;
	}
	if (unlikely(fetch->ahead.prefetch.distance > 0))
		zindex_prefetch(&fetch->ahead, scan);
	fetch->buffer = zscan_read_recent(fetch->base.base.rel, block);
	if (scan != NULL)
		zprefetch_note_read(&fetch->ahead.prefetch, fetch->base.base.rel, misses);
}

/*
 * Return whether no later snapshot will see the row either.  The snapshot does not see it, and the
 * search has ended on *version.  True also if there is no such row.  The view may be of a copy of
 * the page, as the answer does not change.
 */
static bool
is_dead_for_good(ZPageView *view, OffsetNumber offnum, Snapshot snapshot,
				 const ZRowVersion *version)
{
	ZRowVersion newest;
	FullTransactionId deleter;

	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return false;
	/* the deleter is costly to find if others have taken over its slot, and does not matter */
	if (!zpage_is_row(view->page, offnum) || zmvcc_sees_deletion(version, snapshot))
		return true;
	/* dead, too, if its insertion was rolled back */
	return zmvcc_state(view, offnum, &newest, &deleter) == ZSTATE_NONE;
}

/*
 * Fetch any row for any snapshot.  The page is locked in share mode at entry, and unlocked at
 * exit.
 */
static bool
fetch_viewed(ZIndexFetch *fetch, const ItemPointerData *tid, Snapshot snapshot,
			 TupleTableSlot *slot, bool *all_dead)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	Buffer		page[2] = {fetch->buffer, InvalidBuffer};	/* and its overflow page */
	ZRowVersion version = {0};
	bool		found = false;

	if (!fetch->has_view)
		view_open(fetch, &fetch->view);
	fetch->has_view = true;
	if (zview_attach(&fetch->view, fetch->buffer, BUFFER_LOCK_SHARE, &page[1]))
	{
		fetch->view.leave = zscan_may_leave() ? page : NULL;
		found = fetch_from_page(&fetch->view, page, tid, snapshot, slot, &version);
		/* others must not rely on rows that heap functions have damaged */
		if (unlikely(zheap_skip_heap_rows))
			all_dead = NULL;
		if (unlikely(!found) && all_dead != NULL)
			*all_dead = is_dead_on_disk(&fetch->view, offnum, &version);
		if (unlikely(!found) && fetch->base.may_skip && fetch->view.locked &&
			!zheap_skip_heap_rows)
			fetch->dead = is_dead_for_good(&fetch->view, offnum, snapshot, &version);
		if (!fetch->view.locked)
			return found;
		zview_detach(&fetch->view, &page[1]);
	}
	LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
	return found;
}

/*
 * Fetch the version that the snapshot sees of the row, whatever entry led to it.
 *
 * It is taken from the run's copy, from the page without a view, or with one, whichever is
 * possible first.  The page's share lock is taken and released.
 */
static pg_attribute_always_inline bool
fetch_row(ZIndexFetch *fetch, const ItemPointerData *tid, Snapshot snapshot,
		  TupleTableSlot *slot, bool *all_dead)
{
	Relation	rel = fetch->base.base.rel;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	bool		found;

	if (!run_goes_on(fetch, block, snapshot))
		run_begin(fetch, block, snapshot);
	else if (!fetch->has_copy && ++fetch->rows >= ROWS_IN_PLACE)
		run_copy(fetch, snapshot, slot);
	if (fetch->has_copy && fetch_from_copy(fetch->copy, tid, snapshot, slot))
		return true;

	/* a deferred unique check, which inserts into the index next (others have its page locked) */
	if (unlikely(snapshot->snapshot_type == SNAPSHOT_SELF) && !fetch->scan &&
		!zheap_may_hold_buffer_lock())
		(void) ztable_indexes(rel);
	zmvcc_check_snapshot(rel, snapshot);
	fetch_pin(fetch, block);
	LockBuffer(fetch->buffer, BUFFER_LOCK_SHARE);
	if (likely(fetch_plain(rel, BufferGetPage(fetch->buffer), tid, snapshot, slot)))
	{
		LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
		if (zundo_is_open())
			assert_still_seen(rel, tid, snapshot, (ZTupleSlot *) slot);
		return true;
	}
	if (unlikely(!zundo_is_open()))
	{
		/* a unique check has a page of the index locked, but undo is open then (L2) */
		LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
		if (!zheap_may_hold_buffer_lock())
			zundo_open();
		LockBuffer(fetch->buffer, BUFFER_LOCK_SHARE);
	}
	found = fetch_viewed(fetch, tid, snapshot, slot, all_dead);
	if (unlikely(snapshot->snapshot_type == SNAPSHOT_DIRTY) && found && fetch->scan)
		ztid_note_conflict(rel, tid);

	return found;
}

/*
 * Return whether indexes may have entries of the row with other keys than the version's.  The mark
 * may have been removed since the entry was read (N5), so the row has been looked at before.
 */
static inline bool
may_have_several_keys(const ZIndexFetch *fetch, TupleTableSlot *slot)
{
	return zrow_has_several_keys(((ZTupleSlot *) slot)->row) ||
		unlikely(fetch->base.marks != zheap_marks_cleared());
}

/*
 * Return whether the entry has the key of another version (N2): the row is returned for that
 * version's own entry.  It is alive, so nothing is said of the entry.  A dirty snapshot must see
 * changes in progress, which may give the row this key again.  The planner, which looks for the
 * ends of an index, takes any entry that cannot be removed.
 */
static pg_noinline bool
has_other_key(const ZIndexFetch *fetch, Snapshot snapshot, TupleTableSlot *slot)
{
	return snapshot->snapshot_type != SNAPSHOT_DIRTY &&
		snapshot->snapshot_type != SNAPSHOT_NON_VACUUMABLE &&
		!zindex_entry_is_of(fetch->base.entries, slot);
}

/*
 * Return whether the snapshot sees the row's newest version, given that the entry has another key
 * than the version that it sees.  Then no later snapshot needs the entry, unless an update gives
 * the row its key again.  If every snapshot sees that version the entry is noted, to be marked as
 * dead.  Locks the page in share mode meanwhile.
 */
static bool
sees_newest(ZIndexFetch *fetch, const ItemPointerData *tid, Snapshot snapshot)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	Buffer		overflow_buf;
	FullTransactionId fxid;
	ZRowVersion version;
	bool		sees = false;
	bool		settled = false;

	if (!fetch->has_view)
		view_open(fetch, &fetch->view);
	fetch->has_view = true;
	zundo_open();
	fetch_pin(fetch, ItemPointerGetBlockNumberNoCheck(tid));
	LockBuffer(fetch->buffer, BUFFER_LOCK_SHARE);
	if (zview_attach(&fetch->view, fetch->buffer, BUFFER_LOCK_SHARE, &overflow_buf))
	{
		if (zpage_is_row(fetch->view.page, offnum) &&
			zmvcc_state(&fetch->view, offnum, &version, &fxid) == ZSTATE_LIVE)
		{
			zview_limit(&fetch->view, ZVIEW_STEP_READS);
			sees = zmvcc_modifier_visible(&fetch->view, &version, snapshot);
			settled = sees && zstale_may_mark(fetch->base.entries) &&
				zmvcc_settled_on_disk(&fetch->view, offnum);
			sees = zview_limit_end(&fetch->view) && sees;
			if (sees && settled && zmvcc_note_killer(&fetch->view, &version))
				zstale_note(&fetch->base.stale, fetch->context, fetch->base.entries,
							fetch->buffer, PageGetLSN(fetch->view.page));
		}
		zview_detach(&fetch->view, &overflow_buf);
	}
	LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
	return sees;
}

/*
 * Count an entry by which the scan's snapshot sees no row.  The first one makes the scan count its
 * steps.
 */
static pg_noinline void
count_miss(ZIndexFetch *fetch, bool dead_for_good)
{
	fetch->base.misses = dead_for_good ? fetch->base.misses + 1 : 0;
	fetch->base.skips = fetch->base.may_skip;
	fetch->dead = false;
}

/*
 * Skip an entry with another key than the version in the slot: note that key, or count the entry
 * as dead for good.
 */
static pg_noinline void
skip_entry(ZIndexFetch *fetch, const ItemPointerData *tid, Snapshot snapshot, TupleTableSlot *slot)
{
	bool		newest = snapshot->snapshot_type == SNAPSHOT_MVCC &&
		(fetch->base.may_skip || zstale_may_mark(fetch->base.entries)) &&
		sees_newest(fetch, tid, snapshot);

	if (!newest)
		seen_keys_note(&fetch->seen, fetch->context, fetch->base.entries, tid, slot);
	ExecClearTuple(slot);
	count_miss(fetch, newest);
}

/*
 * Return whether it is known from noted keys that the entry has another key than the version that
 * the snapshot sees.
 */
static inline bool
is_skipped(ZIndexFetch *fetch, const ItemPointerData *tid, Snapshot snapshot, TupleTableSlot *slot)
{
	if (likely(fetch->seen == NULL) || !seen_keys_skip(fetch->seen, fetch->base.entries, tid))
		return false;
#ifdef USE_ASSERT_CHECKING
	/* the page says the same */
	if (!fetch_row(fetch, tid, snapshot, slot, NULL) ||
		zindex_entry_is_of(fetch->base.entries, slot))
		elog(PANIC, "the snapshot does not see row %u by the key that was noted",
			 ItemPointerGetOffsetNumberNoCheck(tid));
	ExecClearTuple(slot);
#endif
	return true;
}

bool
zscan_index_fetch(IndexFetchTableData *sfetch, ItemPointer tid, Snapshot snapshot,
				  TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;
	ItemPointerData rowtid = ztid_untagged(tid);

	ztuple_slot_check_kind(sfetch->rel, slot);

	/* there is one version per TID, for every kind of snapshot */
	*call_again = false;
	if (all_dead != NULL)
		*all_dead = false;
	fetch->base.looked = true;
	if (ztid_seeks_deleted(snapshot))
		return false;
	if (is_skipped(fetch, &rowtid, snapshot, slot))
	{
		count_miss(fetch, false);
		return false;
	}
	if (!fetch_row(fetch, &rowtid, snapshot, slot, all_dead))
	{
		count_miss(fetch, fetch->dead);
		return false;
	}
	if (fetch->base.entries != NULL && may_have_several_keys(fetch, slot) &&
		has_other_key(fetch, snapshot, slot))
	{
		skip_entry(fetch, &rowtid, snapshot, slot);
		return false;
	}
	if (unlikely(fetch->base.recheck != NULL) &&
		!zrecheck_returns(&fetch->base, &rowtid, snapshot, slot,
						  zrow_has_several_keys(((ZTupleSlot *) slot)->row)))
	{
		ExecClearTuple(slot);
		return false;
	}
	fetch->base.misses = 0;
	return true;
}
