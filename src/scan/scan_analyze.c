/*
 * scan_analyze.c
 *		ANALYZE: sample rows of chosen blocks, count the live and the dead.
 *
 * The rules of what counts as live are heap's: act as though transactions in
 * progress had not happened yet, except our own.  An update in place leaves one
 * live row and nothing dead; the version before it is sampled until it is committed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/scan/scan.h"

bool
zscan_analyze_next_block(TableScanDesc sscan, BlockNumber block,
						 BufferAccessStrategy strategy)
{
	ZScan	   *scan = (ZScan *) sscan;

	scan->block = block;
	scan->nrows = 0;
	scan->index = 0;

	/* all line pointers are looked at, dead ones counted */
	if (zscan_page_copy(scan, block, strategy))
		scan->nrows = PageGetMaxOffsetNumber(scan->view.page);

	return true;
}

/* Live (and so in the sample) or not; counts the row. */
static bool
count_sampled(ZRowState state, FullTransactionId fxid, double *liverows, double *deadrows)
{
	bool		live = false;
	bool		ours;

	ours = TransactionIdIsCurrentTransactionId(zfxid_xid(fxid));

	switch (state)
	{
		case ZSTATE_NONE:
			return false;
		case ZSTATE_LIVE:
			live = true;
			break;
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

bool
zscan_analyze_next_tuple(TableScanDesc sscan, TransactionId oldest_xmin,
						 double *liverows, double *deadrows, TupleTableSlot *slot)
{
	ZScan	   *scan = (ZScan *) sscan;
	ZPageView  *view = &scan->view;

	while (scan->index < scan->nrows)
	{
		OffsetNumber offnum = (OffsetNumber) ++scan->index;
		ItemId		lp = PageGetItemId(view->page, offnum);
		FullTransactionId fxid;
		ItemPointerData tid;
		ZRowState	state;
		ZRowVersion	version;

		if (ItemIdIsDead(lp))
			*deadrows += 1;
		if (!ItemIdIsNormal(lp))
			continue;
		state = zmvcc_state_to_count(view, offnum, &fxid);
		if (!count_sampled(state, fxid, liverows, deadrows))
			continue;
		/* not there: its deleter has committed just now */
		if (!zmvcc_fetch(view, offnum, SnapshotSelf, &version))
			continue;

		ItemPointerSet(&tid, scan->block, offnum);
		zscan_version_store(view, &version, &tid, slot);
		return true;
	}

	ExecClearTuple(slot);
	return false;
}
