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

/*
 * Offsets worth a look.  On a page whose every slot is below the horizon a row
 * is there unless it says that it was deleted, and that is all there is to say.
 */
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

		if (!ItemIdIsNormal(lp))
			continue;
		if (scan->frozen && ItemIdGetOffset(lp) < BLCKSZ &&
			(zrow_flags((char *) page + ItemIdGetOffset(lp)) & ZROW_DELETED) != 0)
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

	zundo_reader_unpin(&scan->view.reader);
	scan->block = next;
	ItemPointerSetBlockNumber(&scan->tid, next);
	scan->frozen = false;
	scan->nrows = 0;
}

static void
page_enter(ZScan *scan)
{
	Snapshot	snapshot = scan->base.rs_snapshot;

	if (!scan->view.all_frozen && snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC)
		zmvcc_rewind(&scan->view, snapshot,
					 CheckForSerializableConflictOutNeeded(scan->base.rs_rd, snapshot));

	/* other kinds of snapshot also ask for deleted rows, or want an answer per row */
	scan->frozen = scan->view.all_frozen &&
		snapshot != NULL && IsMVCCSnapshot(snapshot);
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

bool
zscan_page_read_locked(ZScan *scan, BlockNumber block, Buffer *buffer)
{
	page_leave(scan, block);
	if (!zview_read_locked(&scan->view, block, scan->strategy, buffer))
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
	static const ZVersion visible_to_all;
	ZPageView  *view = &scan->view;
	ZImage		image;

	ItemPointerSetOffsetNumber(&scan->tid, offnum);

	if (scan->frozen)
	{
		const char *wrong = zpage_check_row(view->page, offnum);
		uint32		len;
		char	   *row;

		if (wrong)
			zheap_corrupt(view->rel, scan->block, offnum, "%s", wrong);
		row = zpage_row(view->page, offnum, &len, NULL);
		ztuple_slot_store(slot, row, len, &scan->tid,
						  RelationGetRelid(scan->base.rs_rd), &visible_to_all);
		return true;
	}

	if (!zmvcc_fetch(view, offnum, scan->base.rs_snapshot, &image))
		return false;
	zscan_image_store(view, &image, &scan->tid, slot);
	return true;
}

void
zscan_image_store(ZPageView *view, const ZImage *image,
				  const ItemPointerData *tid, TupleTableSlot *slot)
{
	ZVersion	version;

	Assert(TTS_IS_ZHEAP(slot));

	zmvcc_version_of(image, view, &version);
	ztuple_slot_store(slot, image->row, image->len, tid,
					  RelationGetRelid(view->rel), &version);
}
