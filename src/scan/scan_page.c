/*
 * scan_page.c
 *		One page of a scan: copy it, list its rows, hand out their versions.
 *
 * LOCKING: zview_read takes the page's share lock and gives it back before it
 * returns; from then on all work is on the copy, which the slots refer to.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/undo/undo.h"

static inline bool
slot_is_seen(const ZScan *scan, int slotno)
{
	return zpage_slot_in(scan->seen, slotno);
}

/*
 * The slots whose rows need no look at undo: the snapshot sees the owner and so
 * all owners before it (mvcc_snapshot.c).  Other kinds of snapshot than MVCC also
 * ask for deleted rows, or want an answer per row.
 */
static void
look_at_slots(ZScan *scan)
{
	Snapshot	snapshot = scan->base.rs_snapshot;
	ZPageView  *view = &scan->view;
	int			nslots = zpage_nslots(view->page);
	int			i;

	scan->seen = 0;
	if (snapshot == NULL || !IsMVCCSnapshot(snapshot))
		return;
	scan->seen = 1;
	for (i = 1; i <= nslots; i++)
	{
		FullTransactionId fxid = zpage_slot_fxid(zpage_slot(view->page, NULL, i));

		if (zview_is_frozen(view, fxid) || zmvcc_fxid_in_snapshot(fxid, snapshot))
			scan->seen |= (uint32) 1 << i;
	}
}

/*
 * Is the row, of a seen slot, what it should be?  If so, *len becomes its length without
 * padding.  The common kind of row without a call: what zpage_check_row would find.
 */
static inline bool
row_is_sound(Page page, OffsetNumber offnum, const char *row, uint32 *len)
{
	uint8		flags = zrow_flags(row);
	const char *wrong = NULL;

	if (unlikely((flags & (ZROW_PADDED | ZROW_ORIGIN)) != 0))
	{
		wrong = zpage_check_row(page, offnum);
		if (wrong == NULL)
			*len -= zrow_pad_length(row, *len);
	}
	else if (zrow_natts(row) > ZROW_MAX_NATTS ||
			 ((flags & ZROW_HASNULL) != 0 &&
			  *len < (uint32) (ZROW_HDR_SIZE + (zrow_natts(row) + 7) / 8)))
		return false;
	else
		Assert(zpage_check_row(page, offnum) == NULL);
	return wrong == NULL;
}

/* Rows worth a look: not those that are gone for the snapshot. */
static void
list_rows(ZScan *scan)
{
	Page		page = scan->view.page;
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	uint32		lower = header->pd_upper;
	uint32		upper = header->pd_special;
	ZScanRow   *next = scan->rows;

	Assert(maxoff <= ZPAGE_MAX_OFFSET);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= maxoff; offnum++)
	{
		ItemIdData	lp = *PageGetItemId(page, offnum);
		uint32		offset = ItemIdGetOffset(&lp);
		uint32		len = ItemIdGetLength(&lp);
		const char *row = (char *) page + offset;

		if (!ItemIdIsNormal(&lp))
			continue;
		next->offnum = offnum;
		next->offset = (uint16) offset;
		next->len = 0;
		/* what is wrong with a row is reported when its turn comes */
		if (likely(offset >= lower && offset + len <= upper && len >= ZROW_HDR_SIZE) &&
			slot_is_seen(scan, zrow_slotno(row)))
		{
			if ((zrow_flags(row) & ZROW_DELETED) != 0)
				continue;
			if (likely(row_is_sound(page, offnum, row, &len)))
				next->len = (uint16) len;
		}
		next++;
	}
	scan->nrows = next - scan->rows;
}

static void
page_leave(ZScan *scan, BlockNumber next)
{
	/* a scan over nothing but dead rows must be interruptible, too */
	CHECK_FOR_INTERRUPTS();

	scan->block = next;
	ItemPointerSetBlockNumber(&scan->tid, next);
	scan->frozen = false;
	scan->nrows = 0;
}

static void
page_enter(ZScan *scan)
{
	Snapshot	snapshot = scan->base.rs_snapshot;

	look_at_slots(scan);
	if (!scan->view.all_frozen && snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC)
		zmvcc_reconstruct(&scan->view, snapshot, scan->seen,
						  CheckForSerializableConflictOutNeeded(scan->base.rs_rd, snapshot));
	/* nothing is seen by other kinds of snapshot */
	scan->frozen = scan->view.all_frozen && scan->seen != 0;
	list_rows(scan);
}

bool
zscan_page_copy(ZScan *scan, BlockNumber block, BufferAccessStrategy strategy)
{
	scan->copy = zcopy_renew(scan->copy);	/* E1 */
	scan->view.copy = &scan->copy->page;
	if (!zview_read(&scan->view, block, strategy))
		return false;
	scan->copy->horizon = scan->view.horizon;
	return true;
}

void
zscan_page_forget(ZScan *scan)
{
	scan->nrows = 0;
	scan->view.copy = NULL;
	if (scan->copy != NULL)
		zcopy_drop(scan->copy);
	scan->copy = NULL;
}

bool
zscan_page_read(ZScan *scan, BlockNumber block)
{
	page_leave(scan, block);
	if (!zscan_page_copy(scan, block, scan->strategy))
		return false;
	page_enter(scan);
	return true;
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
		return true;
	}
	if (!zmvcc_fetch(view, row->offnum, scan->base.rs_snapshot, &version))
		return false;
	zscan_version_store(view, &version, &scan->tid, slot);
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
