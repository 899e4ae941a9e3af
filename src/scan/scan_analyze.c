/*
 * scan_analyze.c
 *		ANALYZE: sample rows of chosen blocks, and count live and dead ones.
 *
 * The rules of what is live are heap's: transactions in progress count as not having happened yet,
 * except our own.  An update in place leaves one live row and nothing dead; the version before it
 * is sampled until the update is committed.
 *
 * LOCKING: a page, share, while it is copied.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/state.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/scan.h"
#include "zheap/scan/tuple_slot.h"

#include "row_look.h"

/* Return a bit per slot (bit 0: rows without a slot), set if all snapshots see its owner. */
static uint32
frozen_slots(const ZPageView *view)
{
	int			nslots = zpage_nslots(view->page);
	uint32		frozen = 1;

	for (int i = 1; i <= nslots; i++)
	{
		if (zview_is_frozen(view, zpage_slot_fxid(zpage_slot(view->page, NULL, i))))
			frozen |= (uint32) 1 << i;
	}
	return frozen;
}

bool
zscan_analyze_next_block(TableScanDesc sscan, ReadStream *stream)
{
	ZScan	   *scan = (ZScan *) sscan;
	Buffer		buffer = read_stream_next_buffer(stream, NULL);

	if (!BufferIsValid(buffer))
		return false;
	scan->block = BufferGetBlockNumber(buffer);
	ItemPointerSetBlockNumber(&scan->tid, scan->block);
	scan->nrows = 0;
	scan->index = 0;

	/* look at all line pointers, as dead ones are counted */
	if (zcopy_read(&scan->copy, &scan->view, buffer))
	{
		scan->nrows = PageGetMaxOffsetNumber(scan->view.page);
		scan->frozen_slots = frozen_slots(&scan->view);
		/* the sample is of values: core's copies of rows need not show what made them */
		scan->copy->nameless = true;
	}
	ReleaseBuffer(buffer);

	return true;
}

/* Count the row.  Return whether it is live, and so in the sample. */
static bool
count_sampled(ZRowState state, FullTransactionId fxid, double *liverows, double *deadrows)
{
	bool		live = false;
	bool		ours;

	ours = TransactionIdIsCurrentTransactionId(zfxid_xid(fxid));

	switch (state)
	{
		case ZSTATE_LIVE:
			live = true;
			break;
		case ZSTATE_NONE:		/* its insertion was aborted */
		case ZSTATE_DEAD:
		case ZSTATE_RECENTLY_DEAD:
			break;
		case ZSTATE_INSERTING:
			/* the inserter reports its rows to the statistics when it ends */
			if (!ours)
				return false;
			live = true;
			break;
		case ZSTATE_DELETING:
			live = !ours;
			break;
	}

	if (live)
		*liverows += 1;
	else
		*deadrows += 1;
	return live;
}

/*
 * Count a row that is not visible to all as it is.  Return whether it is sampled, and then in the
 * slot, without the version's modifier.
 */
static bool
recent_row_store(ZScan *scan, OffsetNumber offnum, double *liverows, double *deadrows,
				 TupleTableSlot *slot)
{
	ZPageView  *view = &scan->view;
	FullTransactionId fxid;
	ZRowState	state = zmvcc_state_to_count(view, offnum, &fxid);
	ZRowVersion version;

	if (!count_sampled(state, fxid, liverows, deadrows))
		return false;
	/* no version is visible: its deleter has committed just now */
	if (!zmvcc_fetch(view, offnum, SnapshotSelf, &version))
		return false;
	ztuple_slot_store(slot, version.row, version.len, &scan->tid, RelationGetRelid(view->rel),
					  NULL);
	return true;
}

/* Make the slot refer to a row on the page's copy.  Often it refers to the row before. */
static inline void
sampled_row_refer(ZScan *scan, const ZScanRow *row, TupleTableSlot *slot)
{
	const char *bytes = scan->copy->page.data + row->offset;

	if (likely(((ZTupleSlot *) slot)->copy == scan->copy))
		ztuple_slot_refer_next(slot, bytes, row->len, &scan->tid);
	else
	{
		slot->tts_tableOid = RelationGetRelid(scan->base.rs_rd);
		ztuple_slot_refer(slot, scan->copy, bytes, row->len, &scan->tid);
	}
}

bool
zscan_analyze_next_tuple(TableScanDesc sscan, double *liverows, double *deadrows,
						 TupleTableSlot *slot)
{
	ZScan	   *scan = (ZScan *) sscan;
	Page		page = scan->view.page;

	ztuple_slot_check_kind(sscan->rs_rd, slot);
	while (scan->index < scan->nrows)
	{
		OffsetNumber offnum = (OffsetNumber) ++scan->index;
		ZScanRow	row;

		if (!zrow_look(page, offnum, scan->frozen_slots, &row))
		{
			/* a dead line pointer, or every snapshot sees its deletion */
			if (ItemIdIsUsed(PageGetItemId(page, offnum)))
				*deadrows += 1;
			continue;
		}
		ItemPointerSetOffsetNumber(&scan->tid, offnum);
		if (likely(row.len != 0))
		{
			*liverows += 1;
			sampled_row_refer(scan, &row, slot);
			return true;
		}
		if (recent_row_store(scan, offnum, liverows, deadrows, slot))
			return true;
	}

	ExecClearTuple(slot);
	return false;
}
