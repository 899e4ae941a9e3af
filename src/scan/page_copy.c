/*
 * page_copy.c
 *		Copies of table pages, with reference counts like pins of buffers.
 *
 * The copies live as long as the backend, so slots and scans need not know each other's memory
 * contexts.  A few without references are kept for the next scan.
 *
 * LOCKING: none, all is private to the backend.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "zheap/scan/page_copy.h"
#include "zheap/scan/shown.h"

/* Number of unused copies that are kept: enough for a join of small tables. */
#define MAX_SPARE		8

static dlist_head in_use = DLIST_STATIC_INIT(in_use);
static dlist_head spare = DLIST_STATIC_INIT(spare);
static int	nspare = 0;

ZPageCopy  *zcopy_last = NULL;

/* ---- the page itself ---- */

bool
zcopy_take_pin(Relation rel, BlockNumber block, Buffer buffer)
{
	if (!zcopy_last_is_of(rel, block) || BufferIsValid(zcopy_last->pinned) ||
		zcopy_last->owner != CurrentResourceOwner)
		return false;
	zcopy_last->pinned = buffer;
	return true;
}

/*
 * Forget which page the copy is of, and release its pin, if it has one.  The last reference may be
 * another resource owner's, so the pin's is named.
 */
static inline void
page_forget(ZPageCopy *copy)
{
	ResourceOwner current = CurrentResourceOwner;

	copy->block = InvalidBlockNumber;
	if (zcopy_last == copy)
		zcopy_last = NULL;
	if (likely(!BufferIsValid(copy->pinned)))
		return;
	CurrentResourceOwner = copy->owner;
	ReleaseBuffer(copy->pinned);
	CurrentResourceOwner = current;
	copy->pinned = InvalidBuffer;
}

/* ---- copies ---- */

ZPageCopy *
zcopy_renew(ZPageCopy *had)
{
	ZPageCopy  *copy;

	if (had != NULL && had->references == 1)
	{
		page_forget(had);
		had->owner = CurrentResourceOwner;
		had->nameless = false;
		return had;
	}
	if (dlist_is_empty(&spare))
		copy = MemoryContextAlloc(TopMemoryContext, sizeof(ZPageCopy));
	else
	{
		copy = dlist_container(ZPageCopy, node, dlist_pop_head_node(&spare));
		nspare--;
		Assert(copy->references == 0);
	}
	copy->references = 1;
	copy->nameless = false;
	copy->owner = CurrentResourceOwner;
	copy->block = InvalidBlockNumber;
	copy->pinned = InvalidBuffer;
	dlist_push_head(&in_use, &copy->node);
	if (had != NULL)
		zcopy_drop(had);
	return copy;
}

bool
zcopy_read(ZPageCopy **copy, ZPageView *view, Buffer buffer)
{
	*copy = zcopy_renew(*copy);
	Assert((*copy)->references == 1);	/* E1 */
	view->copy = &(*copy)->page;
	if (!zview_read_pinned(view, buffer))
		return false;
	(*copy)->horizon = view->horizon;
	(*copy)->file = view->rel->rd_locator;
	(*copy)->block = view->block;
	zcopy_last = *copy;
	return true;
}

void
zcopy_forget(ZPageCopy **copy, ZPageView *view)
{
	view->copy = NULL;
	if (*copy != NULL)
		zcopy_drop(*copy);
	*copy = NULL;
}

void
zcopy_give_back(ZPageCopy *copy)
{
	Assert(copy->references == 0);
	page_forget(copy);
	dlist_delete(&copy->node);
#ifdef USE_ASSERT_CHECKING
	/* make accesses without a reference fail */
	memset(copy->page.data, 0x7f, BLCKSZ);
#endif
	if (nspare >= MAX_SPARE)
		pfree(copy);
	else
	{
		dlist_push_head(&spare, &copy->node);
		nspare++;
	}
}

/*
 * Release the copies of the current resource owner.  After an error its scans and slots are gone,
 * or will not be used again.  At a successful end all have been closed and cleared.
 */
static void
release_copies(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	dlist_mutable_iter iter;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	/* its slot may refer to one of the copies, or be gone */
	zshown.slot = NULL;
	if (dlist_is_empty(&in_use))
		return;
	dlist_foreach_modify(iter, &in_use)
	{
		ZPageCopy  *copy = dlist_container(ZPageCopy, node, iter.cur);

		if (copy->owner != CurrentResourceOwner)
			continue;
		if (is_commit)
			elog(WARNING, "page copy reference leak: %d references", copy->references);
		copy->references = 0;
		/* the server has released the owner's pins before it calls this */
		copy->pinned = InvalidBuffer;
		zcopy_give_back(copy);
	}
}

void
zcopy_register(void)
{
	RegisterResourceReleaseCallback(release_copies, NULL);
}
