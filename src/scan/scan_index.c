/*
 * scan_index.c
 *		Rows that an index names.
 *
 * LOCKING: the pin on the last table page is kept from row to row, as rows that
 * are next to each other in an index often are in the table, too.  The page is
 * locked in share mode only while one row is checked and copied out.  If its undo has to
 * be read, that is done with a copy of the page; with one exception (zscan_may_leave),
 * where the row's undo is read under the lock, in the O(log n) steps of C1 and waypoints.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"

#include "zheap/base/base.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo.h"

typedef struct ZIndexFetch
{
	IndexFetchTableData base;	/* must be first */
	Buffer		buffer;			/* of the last row, pinned; or invalid */
	bool		scan;			/* of an index scan; a unique check begins none */
	ZPageView	view;
} ZIndexFetch;

IndexFetchTableData *
zscan_index_begin(Relation rel)
{
	ZIndexFetch *fetch;

	zheap_require_preload();
	zundo_open_for(rel);

	fetch = (ZIndexFetch *) palloc(sizeof(ZIndexFetch));
	fetch->base.rel = rel;
	fetch->buffer = InvalidBuffer;
	fetch->scan = false;
	zview_open(&fetch->view, rel);

	return &fetch->base;
}

void
zscan_index_reset(IndexFetchTableData *sfetch)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;

	/* index_rescan comes here before the first row; table_index_fetch_tuple_check never */
	fetch->scan = true;
	if (BufferIsValid(fetch->buffer))
	{
		ReleaseBuffer(fetch->buffer);
		fetch->buffer = InvalidBuffer;
	}
}

void
zscan_index_end(IndexFetchTableData *sfetch)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;

	zscan_index_reset(sfetch);
	zview_close(&fetch->view);
	pfree(fetch);
}

/*
 * ON CONFLICT looks for what is in its way with a dirty snapshot and then, where
 * the transaction has one snapshot for all, asks by TID whether that sees it.  It
 * means the version that was in its way.  Rows that we changed stay untagged: core
 * knows the row that it is checking by its TID.  That may be anybody's row where a
 * command validates a constraint, which is no query.
 */
static bool
names_last(const ZRowVersion *version, Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_DIRTY && IsolationUsesXactSnapshot() &&
		ztid_query_runs() &&
		!zmodifier_is_all_visible(&version->modifier) &&
		(version->modifier.kind == ZMODIFIER_UPPER_BOUND ||
		 !TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier))));
}

/*
 * Check and copy the row.  The page is locked in share mode and viewed in place.
 */
static bool
fetch_from_page(ZPageView *view, Buffer *page, const ItemPointerData *tid, Snapshot snapshot,
			 TupleTableSlot *slot, bool *all_dead)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	ZRowVersion	version = {0};

	if (zmvcc_fetch_serial(view, page, offnum, snapshot, &version))
	{
		zscan_version_store(view, &version, tid, slot);
		if (unlikely(names_last(&version, snapshot)))
			ztid_mark_last(&slot->tts_tid);
		return true;
	}

	/*
	 * A line pointer past the end: the row and its neighbours were vacuumed away
	 * between our reading the index and now.
	 */
	if (all_dead != NULL)
		*all_dead = offnum > PageGetMaxOffsetNumber(view->page) ||
			(!zmvcc_is_being_deleted(view, &version) && zmvcc_dead_to_all(view, offnum));
	return false;
}

bool
zscan_may_leave(void)
{
	return TransactionIdIsValid(MyProc->xmin) && !(MyProc->statusFlags & PROC_IN_VACUUM);
}

bool
zscan_index_fetch(IndexFetchTableData *sfetch, ItemPointer tid, Snapshot snapshot,
				  TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;
	ItemPointerData rowtid = ztid_untagged(tid);
	Buffer		before;
	Buffer		page[2];		/* and its overflow page */
	bool		found = false;

	Assert(TTS_IS_ZHEAP(slot));

	/* one version per TID, for every kind of snapshot */
	*call_again = false;
	if (all_dead != NULL)
		*all_dead = false;

	zmvcc_check_snapshot(fetch->base.rel, snapshot);
	before = fetch->buffer;
	fetch->buffer = ReleaseAndReadBuffer(before, fetch->base.rel,
										 ItemPointerGetBlockNumber(&rowtid));
	if (fetch->buffer != before)
		zscan_note_recent(fetch->base.rel, ItemPointerGetBlockNumber(&rowtid), fetch->buffer);
	zundo_open();
	LockBuffer(fetch->buffer, BUFFER_LOCK_SHARE);
	if (zview_attach(&fetch->view, fetch->buffer, BUFFER_LOCK_SHARE, &page[1]))
	{
		page[0] = fetch->buffer;
		fetch->view.leave = zscan_may_leave() ? page : NULL;
		found = fetch_from_page(&fetch->view, page, &rowtid, snapshot, slot, all_dead);
		if (fetch->view.locked)
		{
			zview_detach(&fetch->view, &page[1]);
			LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
		}
	}
	else
		LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
	if (unlikely(snapshot->snapshot_type == SNAPSHOT_DIRTY) && found && fetch->scan)
		ztid_note_conflict(fetch->base.rel, &rowtid);

	return found;
}
