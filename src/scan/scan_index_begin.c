/*
 * scan_index_begin.c
 *		Begin, rescan and end of an index fetch.
 *
 * LOCKING: no page of the table is locked here.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/base/base.h"
#include "zheap/btree/index_recheck.h"
#include "zheap/btree/index_skip.h"
#include "zheap/btree/stale_entries.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/undo/undo_relation.h"

#include "index_fetch.h"

IndexFetchTableData *
zscan_index_begin(Relation rel, uint32 flags)
{
	ZIndexFetch *fetch;

	zheap_require_preload();
	zundo_attach_for(rel);

	fetch = (ZIndexFetch *) palloc(sizeof(ZIndexFetch));
	memset(fetch, 0, offsetof(ZIndexFetch, view));
	fetch->base.base.rel = rel;
	fetch->context = CurrentMemoryContext;
	fetch->run.block = InvalidBlockNumber;
	fetch->ahead.last = fetch->ahead.leaf = InvalidBlockNumber;
	zprefetch_init(&fetch->ahead.prefetch, ZREADER_INDEX_SCAN);

	return &fetch->base.base;
}

static void
forget_buffer(ZIndexFetch *fetch)
{
	if (BufferIsValid(fetch->buffer))
	{
		ReleaseBuffer(fetch->buffer);
		fetch->buffer = InvalidBuffer;
	}
}

/*
 * index_rescan calls this before the first row, and before it calls the index.  A unique check,
 * which has a page of the index locked, never does.  The run goes on, as the next key of a join
 * often leads to the same page.
 */
void
zscan_index_reset(IndexFetchTableData *sfetch)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;

	/* makes the index's scans report their entries */
	if (!fetch->scan)
		(void) ztable_indexes(sfetch->rel);
	fetch->scan = true;
	if (unlikely(fetch->base.skip != NULL))
		zskip_end(&fetch->base);
	if (unlikely(fetch->base.stale != NULL))
		zstale_mark(fetch->base.stale, fetch->base.entries);
	fetch->ahead.leaf = InvalidBlockNumber; /* it may read the same leaf again */
	forget_buffer(fetch);
}

void
zscan_index_end(IndexFetchTableData *sfetch)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;

	if (unlikely(fetch->base.skip != NULL))
		zskip_free(&fetch->base);
	if (unlikely(fetch->base.stale != NULL))
	{
		zstale_mark(fetch->base.stale, fetch->base.entries);
		pfree(fetch->base.stale);
	}
	if (fetch->base.recheck != NULL)
		zrecheck_free(&fetch->base);
	forget_buffer(fetch);
	if (unlikely(fetch->seen != NULL))
		seen_keys_free(fetch->seen);
	if (fetch->has_view)
		zview_close(&fetch->view);
	if (fetch->copy != NULL)
	{
		zcopy_forget(&fetch->copy->copy, &fetch->copy->view);
		zview_close(&fetch->copy->view);
		pfree(fetch->copy);
	}
	pfree(fetch);
}
