/*
 * stale_entries.c
 *		Mark index entries of live rows as dead that no snapshot needs.
 *
 * A scan has met them and found that the row's version, which every snapshot sees, has another
 * key.  An update that gives the row this key again changes the row first, and looks for the entry
 * then.  Here the leaf is locked exclusively before it is found that the row's page has not
 * changed.  So either the change is seen here, or the updater finds the mark, and replaces the
 * entry (dml_update_entries.c).
 *
 * The mark is no change that is logged.  It may get to the disk at any time, and the commit of the
 * transaction that gave the row its key is there before (zmvcc_settled_on_disk).
 *
 * LOCKING: a leaf, exclusively if it is free; pages of the table are pinned only, if they are in
 * their buffers still.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/pg_compat_index.h"
#include "zheap/btree/stale_entries.h"

typedef struct StaleEntry
{
	int			item;			/* in currPos.items */
	Buffer		buffer;			/* had the row's page */
	XLogRecPtr	lsn;			/* of that page */
} StaleEntry;

struct ZStaleEntries
{
	BlockNumber leaf;
	XLogRecPtr	lsn;			/* of the leaf, when the scan read it */
	int			n;
	StaleEntry	entries[MaxTIDsPerBTreePage];
};

/*
 * Mark the items of the leaf all of whose TIDs are dead, by their places in currPos.items.  Return
 * whether any was marked.
 */
static bool
mark_items(const BTScanPosData *pos, const bool *dead, Page page)
{
	bool		marked = false;
	int			i = pos->firstItem;

	while (i <= pos->lastItem)
	{
		OffsetNumber offset = pos->items[i].indexOffset;
		ItemId		item = PageGetItemId(page, offset);
		IndexTuple	tuple = (IndexTuple) PageGetItem(page, item);
		int			ntids = BTreeTupleIsPosting(tuple) ? BTreeTupleGetNPosting(tuple) : 1;
		int			ndead = 0;

		Assert(offset >= P_FIRSTDATAKEY(BTPageGetOpaque(page)) && ntids > 0);
		/* the TIDs of a posting list are in items one behind the other, in any direction */
		for (; i <= pos->lastItem && pos->items[i].indexOffset == offset; i++)
			ndead += dead[i] ? 1 : 0;
		Assert(ndead <= ntids);
		if (ndead == ntids && !ItemIdIsDead(item))
		{
			ItemIdMarkDead(item);
			marked = true;
		}
	}
	return marked;
}

void
zstale_mark_leaf(const BTScanPosData *pos, const bool *dead, Buffer leaf)
{
	bool		marked = mark_items(pos, dead, BufferGetPage(leaf));

	if (marked)
		BTPageGetOpaque(BufferGetPage(leaf))->btpo_flags |= BTP_HAS_GARBAGE;
	BufferFinishSetHintBits(leaf, marked, true);
}

bool
zstale_may_mark(IndexScanDesc scan)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;

	return BTScanPosIsValid(*pos) && zcompat_bt_knows_lsn(pos) &&
		RelationNeedsWAL(scan->indexRelation) && !RecoveryInProgress();
}

void
zstale_note(ZStaleEntries **noted, MemoryContext context, IndexScanDesc scan, Buffer buffer,
			XLogRecPtr lsn)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	ZStaleEntries *stale = *noted;

	if (stale == NULL)
	{
		*noted = stale = MemoryContextAlloc(context, sizeof(ZStaleEntries));
		stale->n = 0;
	}
	if (stale->n == 0 || stale->leaf != pos->currPage || stale->lsn != pos->lsn)
	{
		stale->leaf = pos->currPage;
		stale->lsn = pos->lsn;
		stale->n = 0;
	}
	/* a scan may go back and forth on its leaf */
	if (stale->n < MaxTIDsPerBTreePage)
		stale->entries[stale->n++] = (StaleEntry) {pos->itemIndex, buffer, lsn};
}

/* Return whether the page with the row of this TID has not changed since the entry was noted. */
static bool
row_page_is_unchanged(Relation table, ItemPointer tid, const StaleEntry *entry)
{
	bool		unchanged;

	if (!ReadRecentBuffer(table->rd_locator, MAIN_FORKNUM, ItemPointerGetBlockNumber(tid),
						  entry->buffer))
		return false;
	unchanged = BufferGetLSNAtomic(entry->buffer) == entry->lsn;
	ReleaseBuffer(entry->buffer);
	return unchanged;
}

void
zstale_mark(ZStaleEntries *noted, IndexScanDesc scan)
{
	BTScanPos	pos = &((BTScanOpaque) scan->opaque)->currPos;
	bool		dead[MaxTIDsPerBTreePage] = {false};
	int			n = noted->n;
	Buffer		buffer;

	noted->n = 0;
	if (n == 0 || !BTScanPosIsValid(*pos) || pos->currPage != noted->leaf ||
		pos->lsn != noted->lsn)
		return;
	Assert(!zheap_holds_buffer_lock());
	buffer = ReadBuffer(scan->indexRelation, noted->leaf);
	if (!ConditionalLockBuffer(buffer))
	{
		ReleaseBuffer(buffer);
		return;
	}
	if (BufferGetLSNAtomic(buffer) == noted->lsn && BufferBeginSetHintBits(buffer))
	{
		for (int i = 0; i < n; i++)
		{
			int			item = noted->entries[i].item;

			dead[item] = row_page_is_unchanged(scan->heapRelation, &pos->items[item].heapTid,
											   &noted->entries[i]);
		}
		zstale_mark_leaf(pos, dead, buffer);
	}
	UnlockReleaseBuffer(buffer);
}
