/*
 * scan_page.c
 *		One page of a scan: copy it, list its rows, hand out their versions.
 *
 * LOCKING: zview_read takes the page's share lock and gives it back before it
 * returns; from then on all work is on the copy.
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
	memset(scan->ids, 0, (nslots + 1) * sizeof(ZVersionId));
	memset(scan->reused_ids, 0, (nslots + 1) * sizeof(ZVersionId));
	scan->seen = 1;
	for (i = 1; i <= nslots; i++)
	{
		ZOwner		owner = zpage_slot_owner(zpage_slot(view->page, NULL, i));

		if (!zview_is_frozen(view, owner.fxid))
		{
			if (!zmvcc_fxid_in_snapshot(owner.fxid, snapshot))
				continue;
			scan->ids[i].modifier.kind = ZMODIFIER_EXACT;
			scan->ids[i].modifier.place = owner;
			scan->reused_ids[i].modifier.kind = ZMODIFIER_UPPER_BOUND;
			scan->reused_ids[i].modifier.place = owner;
		}
		scan->seen |= (uint32) 1 << i;
	}
}

/* Offsets worth a look: not those that are gone for the snapshot. */
static void
list_rows(ZScan *scan)
{
	Page		page = scan->view.page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	OffsetNumber offnum;
	int			n = 0;

	Assert(maxoff <= ZPAGE_MAX_OFFSET);

	for (offnum = FirstOffsetNumber; offnum <= maxoff; offnum++)
	{
		ItemId		lp = PageGetItemId(page, offnum);
		const char *row = (char *) page + ItemIdGetOffset(lp);

		if (!ItemIdIsNormal(lp))
			continue;
		if (ItemIdGetOffset(lp) < BLCKSZ - ZROW_HDR_SIZE &&
			(zrow_flags(row) & ZROW_DELETED) != 0 &&
			slot_is_seen(scan, zrow_slotno(row)))
			continue;
		scan->rows[n++] = offnum;
	}
	scan->nrows = n;
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
zscan_page_read(ZScan *scan, BlockNumber block)
{
	page_leave(scan, block);
	if (!zview_read(&scan->view, block, scan->strategy))
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
		zmvcc_conflicts_out(&scan->view, scan->rows[i], snapshot);
}

bool
zscan_row_store(ZScan *scan, OffsetNumber offnum, TupleTableSlot *slot)
{
	ZPageView  *view = &scan->view;
	ZRowVersion	version;

	ItemPointerSetOffsetNumber(&scan->tid, offnum);

	if (likely(zscan_is_row(view, offnum)))
	{
		const char *wrong = zpage_check_row(view->page, offnum);
		uint32		len;
		char	   *row;

		if (unlikely(wrong != NULL))
			zheap_corrupt(view->rel, scan->block, offnum, "%s", wrong);
		row = zpage_row(view->page, offnum, &len, NULL);
		if (slot_is_seen(scan, zrow_slotno(row)))
		{
			if (zrow_flags(row) & ZROW_DELETED)
				return false;
			ztuple_slot_store(slot, row, len, &scan->tid, RelationGetRelid(view->rel),
							  (zrow_flags(row) & ZROW_REUSED) ?
							  &scan->reused_ids[zrow_slotno(row)] :
							  &scan->ids[zrow_slotno(row)]);
			return true;
		}
	}

	if (!zmvcc_fetch(view, offnum, scan->base.rs_snapshot, &version))
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
