/*
 * scan_index_begin.c
 *		Begin, rescan and end of an index fetch.
 *
 * LOCKING: no page of the table is locked here.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/base/base.h"
#include "zheap/btree/index_skip.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/undo/undo_relation.h"

#include "index_fetch.h"

/* Allocate the fetch.  Only the fields that are read before they are set are initialized. */
IndexFetchTableData *
zscan_index_begin(Relation rel, uint32 flags)
{
	ZIndexFetch *fetch;

	zheap_require_preload();
	zundo_attach_for(rel);

	fetch = (ZIndexFetch *) palloc(sizeof(ZIndexFetch));
	fetch->base.base.rel = rel;
	fetch->base.entries = NULL;
	fetch->base.leaf = 0;
	fetch->base.marks = fetch->base.first_marks = 0;
	fetch->base.may_skip = fetch->base.skips = fetch->base.looked = fetch->base.began = false;
	fetch->base.asked = false;
	fetch->base.misses = 0;
	fetch->base.clock = fetch->base.first_clock = 0;
	fetch->base.scan = NULL;
	fetch->base.skip = NULL;
	zindex_prefetch_init(&fetch->ahead);
	fetch->dead = false;
	fetch->buffer = InvalidBuffer;
	fetch->scan = false;
	fetch->context = CurrentMemoryContext;
	fetch->has_view = false;
	fetch->run.block = InvalidBlockNumber;
	fetch->rows = 0;
	fetch->has_copy = false;
	fetch->copy = NULL;
	fetch->seen = NULL;

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
	zindex_prefetch_reset(&fetch->ahead);
	forget_buffer(fetch);
}

void
zscan_index_end(IndexFetchTableData *sfetch)
{
	ZIndexFetch *fetch = (ZIndexFetch *) sfetch;

	if (unlikely(fetch->base.skip != NULL))
		zskip_free(&fetch->base);
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
