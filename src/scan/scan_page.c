/*
 * scan_page.c
 *		One page of a scan: copy it, list its rows, store their versions in slots.
 *
 * LOCKING: zview_read_pinned takes and releases the page's share lock; from then on all work is
 * done on the copy, to which the slots refer.  zscan_page_read_seen keeps the lock while it copies
 * single rows.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "zheap/mvcc/serial.h"
#include "zheap/mvcc/status.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/shown.h"
#include "zheap/scan/tuple_slot.h"

#include "row_look.h"

uint32
zscan_seen_slots(ZPageView *view, Snapshot snapshot)
{
	int			nslots = zpage_nslots(view->page);
	uint32		seen = 1;

	if (snapshot == NULL || !IsMVCCSnapshot(snapshot))
		return 0;
	for (int i = 1; i <= nslots; i++)
	{
		FullTransactionId fxid = zpage_slot_fxid(zpage_slot(view->page, NULL, i));

		if (zview_is_frozen(view, fxid) || zmvcc_fxid_in_snapshot(fxid, snapshot))
			seen |= (uint32) 1 << i;
	}
	return seen;
}

/* List the rows that need a look: all except those that are gone for the snapshot. */
static void
list_rows(ZScan *scan, uint32 seen)
{
	Page		page = scan->view.page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	ZScanRow   *next = scan->rows;

	Assert(maxoff <= ZPAGE_MAX_OFFSET);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= maxoff; offnum++)
	{
		if (zrow_look(page, offnum, seen, next))
			next++;
	}
	scan->nrows = next - scan->rows;
}

/*
 * List only the rows that the bitmap names.  Some may have been removed, or replaced by others,
 * since it was built.
 */
static void
list_named_rows(ZScan *scan, uint32 seen, const ZNamedRows *named)
{
	Page		page = scan->view.page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	ZScanRow   *next = scan->rows;

	for (int i = 0; i < named->n && named->offsets[i] <= maxoff; i++)
	{
		Assert(named->offsets[i] > (i > 0 ? named->offsets[i - 1] : InvalidOffsetNumber));
		if (zrow_look(page, named->offsets[i], seen, next))
			next++;
	}
	scan->nrows = next - scan->rows;
}

/* Move the scan to the next block, with no rows yet. */
static void
page_leave(ZScan *scan, BlockNumber next)
{
	/* a scan over nothing but dead rows must be interruptible, too */
	CHECK_FOR_INTERRUPTS();

	scan->block = next;
	ItemPointerSetBlockNumber(&scan->tid, next);
	scan->frozen = false;
	scan->has_older = false;
	scan->nrows = 0;
}

/* Rebuild rows that the snapshot does not see as they are, and list the page's rows. */
static void
page_enter(ZScan *scan, const ZNamedRows *named)
{
	Snapshot	snapshot = scan->base.rs_snapshot;
	uint32		seen = zscan_seen_slots(&scan->view, snapshot);

	if (!scan->view.all_frozen && snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC)
		zmvcc_reconstruct(&scan->view, snapshot, seen,
						  CheckForSerializableConflictOutNeeded(scan->base.rs_rd, snapshot));
	/* other kinds of snapshot have no seen slots */
	scan->frozen = scan->view.all_frozen && seen != 0;
	if (named)
		list_named_rows(scan, seen, named);
	else
		list_rows(scan, seen);
}

void
zscan_page_forget(ZScan *scan)
{
	scan->nrows = 0;
	scan->has_older = false;
	zcopy_forget(&scan->copy, &scan->view);
}

bool
zscan_page_read(ZScan *scan, Buffer buffer, const ZNamedRows *named)
{
	page_leave(scan, BufferGetBlockNumber(buffer));
	if (!zcopy_read(&scan->copy, &scan->view, buffer))
		return false;
	page_enter(scan, named);
	return true;
}

/*
 * Copy the named rows of a page that is viewed in place.  Return false if one of them is not as
 * the snapshot sees it.
 */
static bool
copy_seen_rows(ZScan *scan, const ZNamedRows *named)
{
	Page		page = scan->view.page;
	char	   *copy;

	list_named_rows(scan, zscan_seen_slots(&scan->view, scan->base.rs_snapshot), named);
	for (int i = 0; i < scan->nrows; i++)
	{
		if (scan->rows[i].len == 0)
			return false;
	}
	scan->copy = zcopy_renew(scan->copy);
	scan->copy->horizon = scan->view.horizon;
	copy = scan->copy->page.data;
	/* with the slots, which name a row's modifier (ztuple_slot_id) */
	memcpy(copy, page, SizeOfPageHeaderData);
	memcpy(copy + ((PageHeader) page)->pd_special, PageGetSpecialPointer(page),
		   PageGetSpecialSize(page));
	for (int i = 0; i < scan->nrows; i++)
	{
		const ZScanRow *row = &scan->rows[i];

		memcpy(copy + row->offset, page + row->offset, row->len);
	}
	return true;
}

bool
zscan_page_read_seen(ZScan *scan, Buffer buffer, const ZNamedRows *named)
{
	ZPageView  *view = &scan->view;
	Buffer		overflow_buf;
	bool		has_rows;
	bool		copied = false;

	page_leave(scan, BufferGetBlockNumber(buffer));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	has_rows = zview_attach(view, buffer, BUFFER_LOCK_SHARE, &overflow_buf);
	if (has_rows)
	{
		copied = copy_seen_rows(scan, named);
		zview_detach(view, &overflow_buf);
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (!has_rows || copied)
		return has_rows;
	return zscan_page_read(scan, buffer, named);
}

void
zscan_page_conflicts(ZScan *scan)
{
	Snapshot	snapshot = scan->base.rs_snapshot;
	int			i;

	if (snapshot == NULL || scan->nrows == 0 ||
		!CheckForSerializableConflictOutNeeded(scan->base.rs_rd, snapshot) ||
		scan->frozen)
		return;
	for (i = 0; i < scan->nrows; i++)
		zmvcc_conflicts_out(&scan->view, scan->rows[i].offnum, snapshot);
}

bool
zscan_row_store(ZScan *scan, const ZScanRow *row, TupleTableSlot *slot)
{
	ZPageView  *view = &scan->view;
	ZRowVersion version;

	ItemPointerSetOffsetNumber(&scan->tid, row->offnum);
	if (likely(row->len != 0))
	{
		slot->tts_tableOid = RelationGetRelid(view->rel);
		ztuple_slot_refer(slot, scan->copy, scan->copy->page.data + row->offset, row->len,
						  &scan->tid);
		/* this holds for the next rows on the page, too (zscan_getnextslot) */
		if (scan->base.rs_snapshot->snapshot_type == SNAPSHOT_MVCC)
			zshown_note(slot, scan->base.rs_snapshot);
		return true;
	}
	if (!zmvcc_fetch(view, row->offnum, scan->base.rs_snapshot, &version))
		return false;
	zscan_version_store(view, &version, &scan->tid, slot);
	if (unlikely(scan->base.rs_snapshot->snapshot_type == SNAPSHOT_DIRTY))
	{
		scan->dirty = version;
		scan->has_older = TransactionIdIsValid(scan->base.rs_snapshot->xmax);
	}
	return true;
}

bool
zscan_row_store_older(ZScan *scan, TupleTableSlot *slot)
{
	Snapshot	snapshot = scan->base.rs_snapshot;

	scan->has_older = false;
	if (!zmvcc_dirty_older(&scan->view, snapshot, &scan->dirty))
		return false;
	zscan_version_store(&scan->view, &scan->dirty, &scan->tid, slot);
	/* in progress as well, so there is one before it */
	scan->has_older = TransactionIdIsValid(snapshot->xmin) &&
		(scan->dirty.hdr.flags & ZROW_INSERTED) == 0;
	return true;
}

void
zscan_version_store(ZPageView *view, const ZRowVersion *version,
					const ItemPointerData *tid, TupleTableSlot *slot)
{
	ZVersionId	id;

	Assert(TTS_IS_ZHEAP(slot));

	zmvcc_version_id(version, view, &id);
	ztuple_slot_store(slot, version->row, version->len, tid,
					  RelationGetRelid(view->rel), &id);
}
