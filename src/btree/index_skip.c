/*
 * index_skip.c
 *		An index scan that skips entries that only older snapshots need.
 *
 * A scan that meets many consecutive entries that are dead for good, for its snapshot, looks for a
 * range that contains its current entry, and continues behind it.  All entries that it walks over
 * or skips without a break are its run, which is noted for other scans at the end (dead_ranges.c).
 *
 * The entries are those that the scan has copied from the leaf, as an index-only scan does, and a
 * scan that tells entries of a TID apart.  For other scans the leaf is copied when the first entry
 * is needed, and only if it has not changed since the scan read it; otherwise there is no run on
 * that leaf.
 *
 * LOCKING: one index page at a time, share: a leaf while it is copied, and the pages from the root
 * to the end of a range.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/pg_compat_index.h"
#include "zheap/base/base.h"
#include "zheap/base/stats.h"
#include "zheap/btree/index_skip.h"

/* A scan's run; allocated with the first one, and kept. */
struct ZSkipRun
{
	MemoryContext context;
	bool		open;
	bool		has_end;		/* run's far bound is set: end of a leaf that has been left, or
								 * of a range */
	bool		in_range;		/* the run has skipped a range, whose end is: */
	ZDeadBound	range_end;
	ZDeadRun	run;
	bool		moved;			/* the last step moved the scan to the end of a range */
	int			last;			/* item of the leaf at which the run is; -1: its last one has
								 * been handled */
	/* for scans without tuples: copy of the leaf that the scan is at, with its LSN when read */
	BlockNumber block;
	XLogRecPtr	lsn;
	char	   *page;
};

/* ---- which scans ---- */

bool
zskip_is_allowed(IndexScanDesc scan)
{
	Snapshot	snapshot = scan->xs_snapshot;

	return snapshot->snapshot_type == SNAPSHOT_MVCC &&
		!snapshot->takenDuringRecovery && !RecoveryInProgress() && !IsolationIsSerializable() &&
		scan->parallel_scan == NULL && RelationNeedsWAL(scan->indexRelation);
}

/*
 * Return whether all entries between two matching ones match, so that the scan has looked at all
 * that exist.  True if each key ends the scan, or begins it, where it is not fulfilled.
 */
static bool
is_contiguous(IndexScanDesc scan)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;

	for (int i = 0; i < so->numberOfKeys; i++)
	{
		int			flags = so->keyData[i].sk_flags;

		if ((flags & SK_ROW_HEADER) || !(flags & (SK_BT_REQFWD | SK_BT_REQBKWD)))
			return false;
	}
	return so->numArrayKeys == 0;
}

/* ---- entries of the leaf ---- */

/*
 * Return whether the entries of the scan's leaf are available.  The server sets the LSN of a leaf
 * only where the scan keeps no pin on it, which excludes index-only scans; those have tuples.
 */
static bool
knows_entries(IndexScanDesc scan, const struct ZSkipRun *skip)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;

	return so->currTuples != NULL ||
		(skip->block == so->currPos.currPage && skip->lsn == so->currPos.lsn);
}

/*
 * Copy the scan's leaf, unless its entries are available.  Return false if it has changed since
 * the scan read it.  The leaf is locked in share mode meanwhile.
 */
static bool
copy_leaf(IndexScanDesc scan, struct ZSkipRun *skip)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	Buffer		buffer;

	Assert(!zheap_holds_buffer_lock());
	if (knows_entries(scan, skip))
		return true;
	skip->block = InvalidBlockNumber;
	if (skip->page == NULL)
		skip->page = MemoryContextAlloc(skip->context, BLCKSZ);
	buffer = ReadBuffer(scan->indexRelation, pos->currPage);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (PageGetLSN(BufferGetPage(buffer)) == pos->lsn)
	{
		memcpy(skip->page, BufferGetPage(buffer), BLCKSZ);
		skip->block = pos->currPage;
		skip->lsn = pos->lsn;
	}
	UnlockReleaseBuffer(buffer);
	return skip->block == pos->currPage;
}

/*
 * Get an item of the leaf, whose entries are available, as a bound.  Return false if the entry is
 * too long, or is of a posting list in a backward scan: that returns the TIDs of a posting list in
 * the order of a forward scan, so they are no bounds.  All entries between two other items have
 * been looked at.
 */
static bool
entry_at(IndexScanDesc scan, const ZIndexFetchBase *fetch, int item, ZDeadBound *entry)
{
	const struct ZSkipRun *skip = fetch->skip;
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	const BTScanPosItem *it = &so->currPos.items[item];
	IndexTuple	tuple;
	IndexTuple	single;
	bool		fits;

	Assert(knows_entries(scan, skip));
	Assert(item >= so->currPos.firstItem && item <= so->currPos.lastItem);
	/* the scan's tuple of a posting list is the list's without the TIDs */
	if (so->currTuples != NULL)
		tuple = (IndexTuple) (so->currTuples + it->tupleOffset);
	else
		tuple = (IndexTuple) PageGetItem(skip->page, PageGetItemId(skip->page, it->indexOffset));
	if (!BTreeTupleIsPosting(tuple))
		return zdead_bound(tuple, entry);
	if (fetch->backward || BTreeTupleGetPostingOffset(tuple) > ZDEAD_MAX_ENTRY)
		return false;
	single = _bt_form_posting(tuple, (ItemPointer) &it->heapTid, 1);
	fits = zdead_bound(single, entry);
	pfree(single);
	return fits;
}

/* ---- the run ---- */

/* Return the scan's run; allocate it first, in the context of the fetch, if need be. */
static struct ZSkipRun *
skip_of(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	if (fetch->skip == NULL)
	{
		MemoryContext context = GetMemoryChunkContext(fetch);

		fetch->skip = MemoryContextAllocZero(context, sizeof(struct ZSkipRun));
		fetch->skip->context = context;
		fetch->skip->block = InvalidBlockNumber;
	}
	return fetch->skip;
}

/* Return the bound where the run begins, and the one that it has reached. */
static ZDeadBound *
run_rear(ZIndexFetchBase *fetch)
{
	return fetch->backward ? &fetch->skip->run.high : &fetch->skip->run.low;
}

static ZDeadBound *
run_front(ZIndexFetchBase *fetch)
{
	return fetch->backward ? &fetch->skip->run.low : &fetch->skip->run.high;
}

/* Return the last matching item of the leaf, in the direction of the scan. */
static int
last_match(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;

	return fetch->backward ? pos->firstItem : pos->lastItem;
}

/* Begin a run at the first of the consecutive dead entries on this leaf. */
static void
run_open(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	int			before = (int) fetch->misses - 1;
	int			first = fetch->backward ? Min(pos->itemIndex + before, pos->lastItem) :
		Max(pos->itemIndex - before, pos->firstItem);

	Assert(!skip->open && fetch->misses > 0);
	skip->open = is_contiguous(scan) && entry_at(scan, fetch, first, run_rear(fetch));
	skip->run.began = fetch->clock;
	skip->run.snapshot = scan->xs_snapshot;
	skip->run.entries = 0;
	skip->run.holes = false;
	skip->run.visited = abs(pos->itemIndex - first) + 1;
	skip->has_end = skip->in_range = false;
	skip->last = pos->itemIndex;
}

/* End the run with its last entry, and note it if it is long enough. */
static void
run_close(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;

	if (!skip->open)
		return;
	skip->open = false;
	if (skip->run.visited < ZDEAD_MIN_VISITED && !skip->run.holes)
		return;
	if (skip->last >= 0 && BTScanPosIsValid(*pos) && knows_entries(scan, skip))
		skip->has_end = entry_at(scan, fetch, skip->last, run_front(fetch)) || skip->has_end;
	if (!skip->has_end)
		return;
	skip->run.entries += skip->run.visited;
	Assert(zskip_is_allowed(scan));
	/* the server may have no active snapshot when a scan ends, and keys' functions may be SQL */
	PushActiveSnapshot(skip->run.snapshot);
	zdead_note_run(scan->indexRelation, &skip->run);
	PopActiveSnapshot();
}

/* ---- skipping ---- */

/*
 * Return the last item of the leaf, in the direction of the scan, that is in the range; the scan's
 * current item is.  Items that are no bounds (entry_at) count as outside.
 */
static int
item_in_range(IndexScanDesc scan, ZIndexFetchBase *fetch, const ZDeadBound *end)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	int			in = pos->itemIndex;
	int			out = fetch->backward ? pos->firstItem - 1 : pos->lastItem + 1;

	while (abs(out - in) > 1)
	{
		int			middle = in + (out - in) / 2;
		ZDeadBound	entry;

		if (entry_at(scan, fetch, middle, &entry) &&
			!zdead_is_beyond(scan->indexRelation, (IndexTuple) entry.entry.bytes, end,
							 fetch->backward))
			in = middle;
		else
			out = middle;
	}
	Assert(in >= pos->firstItem && in <= pos->lastItem);
	return in;
}

/*
 * Get the leaf's first entry in the direction of the scan.  Return false if it has none, or if
 * that is too long.  The leaf is locked.
 */
static bool
nearest_entry(Page page, bool backward, ZDeadBound *nearest)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber off = backward ? PageGetMaxOffsetNumber(page) : P_FIRSTDATAKEY(opaque);
	IndexTuple	tuple;
	IndexTuple	single;
	bool		fits;

	if (P_IGNORE(opaque) || off < P_FIRSTDATAKEY(opaque) || off > PageGetMaxOffsetNumber(page))
		return false;
	tuple = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));
	if (!BTreeTupleIsPosting(tuple))
		return zdead_bound(tuple, nearest);
	if (BTreeTupleGetPostingOffset(tuple) > ZDEAD_MAX_ENTRY)
		return false;
	single = _bt_form_posting(tuple, backward ? BTreeTupleGetMaxHeapTID(tuple) :
							  BTreeTupleGetHeapTID(tuple), 1);
	fits = zdead_bound(single, nearest);
	pfree(single);
	return fits;
}

/*
 * Find the leaf where the range ends, and its right sibling.  No page is locked at exit.
 *
 * Return false if that leaf is not wholly beyond the part that the scan has read: the scan's own
 * leaf may have been split since, and entries that it has returned may now be on the page where
 * the range ends; the scan would return them again.
 */
static bool
find_leaf(IndexScanDesc scan, ZIndexFetchBase *fetch, const ZDeadBound *end, BlockNumber *block,
		  BlockNumber *right)
{
	Relation	index = scan->indexRelation;
	BTScanInsert key = _bt_mkscankey(index, (IndexTuple) end->entry.bytes);
	ZDeadBound	edge;
	ZDeadBound	nearest;
	Buffer		leaf = InvalidBuffer;
	bool		found = false;

	if (key->heapkeyspace && entry_at(scan, fetch, last_match(scan, fetch), &edge))
	{
		key->scantid = (ItemPointer) &end->entry.tuple.t_tid;
		zcompat_bt_descend(index, NULL, key, &leaf, BT_READ);
	}
	if (BufferIsValid(leaf))
	{
		found = nearest_entry(BufferGetPage(leaf), fetch->backward, &nearest);
		*block = BufferGetBlockNumber(leaf);
		*right = BTPageGetOpaque(BufferGetPage(leaf))->btpo_next;
		_bt_relbuf(index, leaf);
	}
	pfree(key);
	return found && zdead_is_beyond(index, (IndexTuple) nearest.entry.bytes, &edge,
									fetch->backward);
}

/*
 * Move the scan to the leaf where the range ends, as the rest of its leaf is in the range.
 *
 * Entries on that leaf that precede the end are skipped when the scan gets there.  Entries that a
 * split has moved off it since are to its right; a backward scan arrives from the page that was
 * its right sibling, so it reads those as well.
 */
static void
skip_leaves(IndexScanDesc scan, ZIndexFetchBase *fetch, const ZDeadBound *end)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	BTScanPos	pos = &so->currPos;
	BlockNumber block;
	BlockNumber right;

	/* entries of the leaf are still to be marked, which finds it by its block number */
	if (fetch->backward && so->numKilled > 0)
		return;
	/*
	 * If a scan returns to a mark on this leaf, it leaves the leaf the same way as now.  By then
	 * entries may have come and gone behind the leaf, at which it would have to look for its run.
	 */
	if (so->markItemIndex >= 0)
		return;
	if (!find_leaf(scan, fetch, end, &block, &right) || block == pos->currPage)
		return;
	if (!fetch->backward)
		pos->nextPage = block;
	else if (right != P_NONE && right != pos->currPage)
	{
		BTScanPosUnpinIfPinned(*pos);
		zcompat_bt_go_left(pos, block, right);
	}
}

/*
 * Skip the range, if there is one, that has the scan's entry: move the scan to the last item of
 * the leaf in it, and beyond the leaf if that is the last match.
 */
static void
try_to_move(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	ZDeadBound	entry;
	ZDeadFound	found;
	int			from = pos->itemIndex;
	bool		leaves;

	if (!entry_at(scan, fetch, pos->itemIndex, &entry) ||
		!zdead_find(scan->indexRelation, (IndexTuple) entry.entry.bytes, scan->xs_snapshot,
					fetch->backward, &found))
		return;
	skip->moved = true;
	skip->run.holes |= found.hole;
	/* behind a hole, and on the leaf where it ends, the scan meets the same range again */
	if (!skip->in_range || memcmp(&found.range_end, &skip->range_end, sizeof(ZDeadBound)) != 0)
	{
		skip->run.entries += found.entries;
		zstats_count(scan->heapRelation, ZTABLE_DEAD_SKIPPED, found.entries);
	}
	skip->in_range = true;
	skip->range_end = found.range_end;
	pos->itemIndex = item_in_range(scan, fetch, &found.end);
	leaves = pos->itemIndex == last_match(scan, fetch) &&
		(fetch->backward ? pos->moreLeft : pos->moreRight);
	/* the server would mark the item that the scan is moved to instead of the dead one */
	if (pos->itemIndex != from || leaves)
		scan->kill_prior_tuple = false;
	if (!leaves)
		return;
	*run_front(fetch) = found.end;
	skip->has_end = true;
	skip_leaves(scan, fetch, &found.end);
}

void
zskip_step(IndexScanDesc scan, ZIndexFetchBase *fetch, bool wanted)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	struct ZSkipRun *skip = skip_of(scan, fetch);
	bool		moved = skip->moved;
	bool		goes_on = (skip->open || moved) && fetch->misses > 0;

	skip->moved = false;
	if (!(wanted || goes_on) || !BTScanPosIsValid(*pos) || !copy_leaf(scan, skip))
	{
		run_close(scan, fetch);
		return;
	}
	if (!skip->open)
		run_open(scan, fetch);
	else
		skip->run.visited++;
	if (moved || fetch->misses == 1 || fetch->misses % ZSKIP_MISSES == 0)
		try_to_move(scan, fetch);
	/* one entry is no run, if there is no range */
	skip->open = skip->open && (skip->moved || fetch->misses > 1);
	skip->last = pos->itemIndex;
	if (skip->open && !skip->moved && pos->itemIndex == last_match(scan, fetch))
	{
		/* the scan is about to leave the leaf */
		skip->has_end = entry_at(scan, fetch, pos->itemIndex, run_front(fetch));
		skip->open = skip->has_end;
	}
	if (pos->itemIndex == last_match(scan, fetch))
		skip->last = -1;
}

void
zskip_end(ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;

	if (skip == NULL)
		return;
	run_close(fetch->scan, fetch);
	/* a leaf that the scan returns to may have changed since it was read */
	skip->block = InvalidBlockNumber;
	skip->moved = false;
}

void
zskip_free(ZIndexFetchBase *fetch)
{
	zskip_end(fetch);
	if (fetch->skip->page != NULL)
		pfree(fetch->skip->page);
	pfree(fetch->skip);
	fetch->skip = NULL;
}
