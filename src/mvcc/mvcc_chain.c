/*
 * mvcc_chain.c
 *		Going down the undo records of one transaction slot about one page.
 *
 * The one place that steps from record to record: readers, writers, rollback, index builds and
 * VACUUM all use the cursor, or zchain_find.
 *
 * LOCKING: none of its own; undo pages come after table pages (L1).
 */
#include "postgres.h"

#include "miscadmin.h"

#include "zheap/mvcc/chain.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_read.h"

/*
 * Raise an error unless the record may be gone: it was recycled since the view was made, and
 * then the horizon has passed its transaction (U4).
 */
static void
check_recycled(ZPageView *view, OffsetNumber offnum, const ZOwner *at)
{
	if (!FullTransactionIdPrecedes(at->fxid, zview_horizon(view)))
		zheap_corrupt(view->rel, view->block, offnum,
					  "undo record at block %u, offset %u of transaction %u is gone",
					  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo),
					  zfxid_xid(at->fxid));
}

bool
zchain_read(ZPageView *view, OffsetNumber offnum, const ZOwner *at, ZUndoRecord *rec)
{
	Size		len;
	const char *bytes;

	Assert(CritSectionCount == 0);	/* D4 */
	/* a hot row has many versions; no interrupt is served while a page is locked */
	CHECK_FOR_INTERRUPTS();
	if (unlikely(view->limit > 0 && view->reads >= view->limit))
	{
		view->unfinished = true;
		return false;
	}
	zview_count_read(view);		/* B1 */
	bytes = zundo_read(&view->reader, at->undo, &len);
	if (unlikely(bytes == NULL))
	{
		check_recycled(view, offnum, at);
		return false;
	}
	if (unlikely(zrec_undo_decode(bytes, len, at->undo, ZFORM_LOG, rec) == 0))
		zheap_corrupt(view->rel, view->block, offnum,
					  "undo record at block %u, offset %u cannot be read",
					  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo));
	return true;
}

void
zchain_open(ZChainCursor *cursor, ZPageView *view, OffsetNumber offnum, const ZOwner *from)
{
	cursor->view = view;
	cursor->offnum = offnum;
	cursor->next = *from;
	cursor->at.fxid = InvalidFullTransactionId;
	cursor->past_horizon = false;
#ifdef USE_ASSERT_CHECKING
	cursor->count = 0;
#endif
}

#ifdef USE_ASSERT_CHECKING
/* Check C1 for the record just read; cursor->next is already set. */
static void
assert_directory_is_near(ZChainCursor *cursor)
{
	cursor->count = cursor->rec.type == ZOP_DIRECTORY ? 0 : cursor->count + 1;
	Assert(cursor->count <= ZCHAIN_INTERVAL ||
		   !FullTransactionIdIsValid(cursor->next.fxid));
}
#else
#define assert_directory_is_near(cursor) ((void) 0)
#endif

bool
zchain_next(ZChainCursor *cursor)
{
	ZUndoRecord *rec = &cursor->rec;

	if (!FullTransactionIdIsValid(cursor->next.fxid) ||
		!zchain_read(cursor->view, cursor->offnum, &cursor->next, rec))
	{
		cursor->next.fxid = InvalidFullTransactionId;
		return false;
	}
	cursor->at = cursor->next;
	if (rec->takeover == ZTAKE_OWN)
		cursor->next.undo = rec->page_prev;
	else if (rec->takeover == ZTAKE_REUSED &&
			 (cursor->past_horizon || !zview_is_frozen(cursor->view, rec->slot_prev.fxid)))
		cursor->next = rec->slot_prev;
	else
		cursor->next.fxid = InvalidFullTransactionId;
	assert_directory_is_near(cursor);
	return true;
}
