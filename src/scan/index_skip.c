/*
 * index_skip.c
 *		An index scan that passes by entries that only older snapshots need.
 *
 * A scan that meets many entries in a row which are dead for good, for its snapshot, asks for a
 * range that has the one that it is at, and goes on behind it.  What it passes by without a break,
 * one by one or by ranges, is its run, which in the end is noted for others (dead_ranges.c).
 *
 * The entries are taken from a copy of the leaf, made when the first one is asked for and only if
 * the leaf has not changed since the scan read it; otherwise there is no run on that leaf.
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

#include "zheap/base/base.h"
#include "zheap/base/stats.h"
#include "zheap/scan/index_skip.h"

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
	bool		has_high;		/* of a leaf that has been left, or of a range */
	ZDeadRun	run;
	bool		moved;			/* to the end of a range, just before */
	int			last;			/* item of the leaf that the run has come to */
	/* the leaf that the scan is at, when it had been read */
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

/* False: it has changed. */
static bool
copy_leaf(IndexScanDesc scan, struct ZSkipRun *skip)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	Buffer		buffer;

	if (skip->block == pos->currPage && skip->lsn == pos->lsn)
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

/* The leaf has been copied.  False: the entry is too long. */
static bool
entry_at(IndexScanDesc scan, const struct ZSkipRun *skip, int item, ZDeadBound *entry)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	const BTScanPosItem *it = &pos->items[item];
	IndexTuple	tuple;
	IndexTuple	single;
	bool		fits;

	Assert(skip->block == pos->currPage && item >= pos->firstItem && item <= pos->lastItem);
	tuple = (IndexTuple) PageGetItem(skip->page, PageGetItemId(skip->page, it->indexOffset));
	if (!BTreeTupleIsPosting(tuple))
		return zdead_bound(tuple, entry);
	if (BTreeTupleGetPostingOffset(tuple) > ZDEAD_MAX_ENTRY)
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

/* From the first of the entries on this leaf that were dead for good. */
static void
run_open(IndexScanDesc scan, ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	int			first = Max(pos->itemIndex - (int) fetch->misses + 1, pos->firstItem);

	skip->open = is_contiguous(scan) && entry_at(scan, skip, first, &skip->run.low);
	skip->run.began = fetch->clock;
	skip->run.snapshot = scan->xs_snapshot;
	skip->run.entries = 0;
	skip->run.visited = pos->itemIndex - first + 1;
	skip->has_high = false;
	skip->last = pos->itemIndex;
}

/* The run ends with the last entry that it came to. */
static void
run_close(IndexScanDesc scan, struct ZSkipRun *skip)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;

	if (!skip->open)
		return;
	skip->open = false;
	if (skip->run.visited < MIN_VISITED)
		return;
	if (skip->last >= 0 && BTScanPosIsValid(*pos) && skip->block == pos->currPage &&
		skip->lsn == pos->lsn)
		skip->has_high = entry_at(scan, skip, skip->last, &skip->run.high) || skip->has_high;
	if (!skip->has_high)
		return;
	skip->run.entries += skip->run.visited;
	/* a scan may end when the server has none active any more, and keys' functions may be SQL */
	PushActiveSnapshot(skip->run.snapshot);
	zdead_note_run(scan->indexRelation, &skip->run);
	PopActiveSnapshot();
}

/* ---- passing by ---- */

/* The last item of the leaf that the range has; the one that the scan is at is one of them. */
static int
last_item(IndexScanDesc scan, const struct ZSkipRun *skip, const ZDeadBound *high)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	int			low = pos->itemIndex;
	int			end = pos->lastItem + 1;

	while (end - low > 1)
	{
		int			middle = low + (end - low) / 2;
		ZDeadBound	entry;

		if (entry_at(scan, skip, middle, &entry) &&
			!zdead_is_behind(scan->indexRelation, (IndexTuple) entry.entry.bytes, high))
			low = middle;
		else
			end = middle;
	}
	return low;
}

/*
 * The rest of the leaf is in the range: go on where the range ends.  What is on that leaf before
 * the end is passed by when the scan is there; what has moved from it since is to its right.
 */
static void
skip_leaves(IndexScanDesc scan, const ZDeadBound *high)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	BTScanInsert key = _bt_mkscankey(scan->indexRelation, (IndexTuple) high->entry.bytes);
	Buffer		leaf;

	if (key->heapkeyspace)
	{
		key->scantid = (ItemPointer) &high->entry.tuple.t_tid;
		_bt_freestack(_bt_search(scan->indexRelation, key, &leaf, BT_READ, NULL));
		if (BufferIsValid(leaf))
		{
			if (BufferGetBlockNumber(leaf) != pos->currPage)
				pos->nextPage = BufferGetBlockNumber(leaf);
			_bt_relbuf(scan->indexRelation, leaf);
		}
	}
	pfree(key);
}

static void
try_to_move(IndexScanDesc scan, struct ZSkipRun *skip)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	ZDeadBound	entry;
	ZDeadBound	high;
	uint32		entries;

	if (!entry_at(scan, skip, pos->itemIndex, &entry) ||
		!zdead_find(scan->indexRelation, (IndexTuple) entry.entry.bytes, scan->xs_snapshot, &high,
					&entries))
		return;
	skip->moved = true;
	/* on the leaf where it ends the scan meets the same range again */
	if (!skip->has_high || memcmp(&high, &skip->run.high, sizeof(high)) != 0)
	{
		skip->run.entries += entries;
		zstats_count(scan->heapRelation, ZTABLE_DEAD_PASSED, entries);
	}
	/* the server would take the item that the scan is moved to for the dead one */
	scan->kill_prior_tuple = false;
	pos->itemIndex = last_item(scan, skip, &high);
	if (pos->itemIndex < pos->lastItem || !pos->moreRight)
		return;
	skip_leaves(scan, &high);
	skip->run.high = high;
	skip->has_high = true;
}

void
zskip_step(IndexScanDesc scan, ZIndexFetchBase *fetch, ScanDirection direction)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	struct ZSkipRun *skip = skip_of(scan, fetch);
	bool		moved = skip->moved;

	skip->moved = false;
	if (fetch->misses < ZSKIP_MISSES || !ScanDirectionIsForward(direction) ||
		!BTScanPosIsValid(*pos) || !copy_leaf(scan, skip))
	{
		run_close(scan, skip);
		return;
	}
	if (!skip->open)
		run_open(scan, fetch);
	else
		skip->run.visited++;
	if (moved || fetch->misses % ZSKIP_MISSES == 0)
		try_to_move(scan, skip);
	skip->last = pos->itemIndex;
	if (skip->open && !skip->moved && pos->itemIndex >= pos->lastItem)
	{
		/* the leaf is left */
		skip->has_high = entry_at(scan, skip, pos->itemIndex, &skip->run.high);
		skip->open = skip->has_high;
	}
	if (pos->itemIndex >= pos->lastItem)
		skip->last = -1;
}

void
zskip_end(ZIndexFetchBase *fetch)
{
	struct ZSkipRun *skip = fetch->skip;

	if (skip == NULL)
		return;
	run_close(fetch->scan, skip);
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
