/*
 * index_skip.c
 *		An index scan that passes by entries that only older snapshots need.
 *
 * A scan that meets many entries in a row which are dead for good, for its snapshot, asks for a
 * range that has the one that it is at, and goes on behind it.  What it passes by without a break,
 * one by one or by ranges, is its run, which in the end is noted for others (dead_ranges.c).
 *
 * The entries are those that the scan has copied from the leaf, as an index-only scan does and one
 * that tells entries of a TID apart.  For other scans the leaf is copied when the first entry is
 * asked for, and only if it has not changed since the scan read it; otherwise there is no run on
 * that leaf.
 *
 * LOCKING: a leaf, share, while it is copied, and those on the way to the end of a range.
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

/* A shorter run is not worth a note. */
#ifdef USE_ASSERT_CHECKING
#define MIN_VISITED		2
#else
#define MIN_VISITED		32
#endif

/* A scan's run; allocated with the first one, kept. */
struct ZSkipRun
{
	MemoryContext context;
	bool		open;
	bool		has_end;		/* of a leaf that has been left, or of a range */
	ZDeadRun	run;
	bool		moved;			/* to the end of a range, just before */
	int			last;			/* item of the leaf that the run has come to */
	/* a copy of the leaf that the scan is at, when it had been read, if the scan has no tuples */
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
 * Do all entries between two that match also match?  Then the scan has looked at all that there
 * are: each key says that the scan ends where it is not fulfilled any more, or begins there.
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
 * Are the entries of the leaf that the scan is at known?  The server tells the LSN of a leaf only
 * where the scan keeps no pin on it: not of an index-only scan's, which has its tuples.
 */
static bool
knows_entries(IndexScanDesc scan, const struct ZSkipRun *skip)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;

	return so->currTuples != NULL ||
		(skip->block == so->currPos.currPage && skip->lsn == so->currPos.lsn);
}

/* False: it has changed. */
static bool
copy_leaf(IndexScanDesc scan, struct ZSkipRun *skip)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	Buffer		buffer;

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
 * The leaf's entries are known.  False: the entry is too long, or one of a posting list in a
 * backward scan, which comes to those in the order of a forward one.  So they bound nothing there,
 * and what is between two others has been looked at.
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

/* Where the run begins, and where it has come to. */
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

/* The leaf's last item that matches, in the direction of the scan. */
static int
last_match(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;

	return fetch->backward ? pos->firstItem : pos->lastItem;
}

/* From the first of the entries on this leaf that were dead for good. */
static void
run_open(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	int			before = (int) fetch->misses - 1;
	int			first = fetch->backward ? Min(pos->itemIndex + before, pos->lastItem) :
		Max(pos->itemIndex - before, pos->firstItem);

	skip->open = is_contiguous(scan) && entry_at(scan, fetch, first, run_rear(fetch));
	skip->run.began = fetch->clock;
	skip->run.snapshot = scan->xs_snapshot;
	skip->run.entries = 0;
	skip->run.visited = abs(pos->itemIndex - first) + 1;
	skip->has_end = false;
	skip->last = pos->itemIndex;
}

/* The run ends with the last entry that it came to. */
static void
run_close(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;

	if (!skip->open)
		return;
	skip->open = false;
	if (skip->run.visited < MIN_VISITED)
		return;
	if (skip->last >= 0 && BTScanPosIsValid(*pos) && knows_entries(scan, skip))
		skip->has_end = entry_at(scan, fetch, skip->last, run_front(fetch)) || skip->has_end;
	if (!skip->has_end)
		return;
	skip->run.entries += skip->run.visited;
	/* a scan may end when the server has none active any more, and keys' functions may be SQL */
	PushActiveSnapshot(skip->run.snapshot);
	zdead_note_run(scan->indexRelation, &skip->run);
	PopActiveSnapshot();
}

/* ---- passing by ---- */

/*
 * The last item of the leaf, in the direction of the scan, that the range has; the one that the
 * scan is at is one of them.
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
	return in;
}

/*
 * The leaf's entry that is nearest to where the scan comes from.  False: there is none, or it is
 * too long.  The leaf is locked.
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
 * Where does the range end: the leaf, and its right sibling.  False: not beyond what the scan has
 * read.  For the leaf that the scan is at may have been split since, and what it has returned may
 * be on the page where the range ends; it would return that again.
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
 * The rest of the leaf is in the range: go on where the range ends.  What is on that leaf before
 * the end is passed by when the scan is there.  What has moved from it since is to its right; a
 * scan that goes backward comes from what was its right sibling, so that it reads that as well.
 */
static void
skip_leaves(IndexScanDesc scan, ZIndexFetchBase *fetch, const ZDeadBound *end)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;
	BTScanPos	pos = &so->currPos;
	BlockNumber block;
	BlockNumber right;

	/* what is still to be done with the leaf is done by the number of its page */
	if (fetch->backward && so->numKilled > 0)
		return;
	/*
	 * A scan that goes back to a mark on this leaf goes on from there as it does now.  By then
	 * entries may have come and gone behind the leaf that it would have to look at for its run.
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

static void
try_to_move(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	ZDeadBound	entry;
	ZDeadBound	end;
	uint32		entries;
	int			from = pos->itemIndex;
	bool		leaves;

	if (!entry_at(scan, fetch, pos->itemIndex, &entry) ||
		!zdead_find(scan->indexRelation, (IndexTuple) entry.entry.bytes, scan->xs_snapshot,
					fetch->backward, &end, &entries))
		return;
	skip->moved = true;
	/* on the leaf where it ends the scan meets the same range again */
	if (!skip->has_end || memcmp(&end, run_front(fetch), sizeof(end)) != 0)
	{
		skip->run.entries += entries;
		zstats_count(scan->heapRelation, ZTABLE_DEAD_PASSED, entries);
	}
	pos->itemIndex = item_in_range(scan, fetch, &end);
	leaves = pos->itemIndex == last_match(scan, fetch) &&
		(fetch->backward ? pos->moreLeft : pos->moreRight);
	/* the server would take what the scan is moved to for the place of the dead one */
	if (pos->itemIndex != from || leaves)
		scan->kill_prior_tuple = false;
	if (!leaves)
		return;
	*run_front(fetch) = end;
	skip->has_end = true;
	skip_leaves(scan, fetch, &end);
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
		/* the leaf is left */
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
	/* a leaf that the scan comes back to may have changed since it was read */
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
