/*
 * slot_page.c
 *		Add overflow pages and lock pages: more slots for a page that has no room for them.
 *
 * LOCKING: the relation's extension lock is held until another page names the new one, so that of
 * many transactions that find no slot only one adds a page.  Pages are locked under it, never the
 * other way round (L1): table page, overflow page, and the new page, which no other backend can
 * find by a link yet.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"

#include "zheap/page/page.h"
#include "zheap/record/record.h"
#include "zheap/slot/slot.h"

/*
 * Return the number of pages with slots that the table page has now; ZSLOT_NEW_PAGE if it is a
 * page of zeros; -2 if it is neither.  Takes the locks of the page and its overflow page, and
 * releases them.
 */
static int
count_pages(ZPageView *view, Buffer buffer)
{
	Buffer		overflow_buf;
	int			npages;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (zview_attach(view, buffer, BUFFER_LOCK_SHARE, &overflow_buf))
		npages = zview_slot_pages(view);
	else
		npages = PageIsNew(BufferGetPage(buffer)) ? ZSLOT_NEW_PAGE : ZSLOT_NEW_PAGE - 1;
	zview_detach(view, &overflow_buf);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return npages;
}

/*
 * Make the new page a page with slots, named by "parent", in one critical section and WAL record.
 * If "init", the parent is a page of zeros, which becomes a table page.  Both are locked
 * exclusively.
 */
static void
link_new_page(Relation rel, Buffer parent, bool init, Buffer new_buf, BlockNumber table_block)
{
	Page		parent_page = BufferGetPage(parent);
	Page		new_page = BufferGetPage(new_buf);

	Assert(parent != new_buf && PageIsNew(new_page) && init == PageIsNew(parent_page));
	Assert(init || zpage_is_table(parent_page) ? BufferGetBlockNumber(parent) == table_block :
		   zpage_overflow_body(parent_page)->table_block == table_block);
	START_CRIT_SECTION();
	if (init)
		zpage_init_apply(parent_page, 0);
	zpage_overflow_init_apply(new_page, table_block);
	zpage_overflow_apply(parent_page, BufferGetBlockNumber(new_buf));
	MarkBufferDirty(new_buf);
	MarkBufferDirty(parent);
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn = zrec_overflow_emit(parent, init, new_buf, table_block);

		PageSetLSN(parent_page, lsn);
		PageSetLSN(new_page, lsn);
	}
	END_CRIT_SECTION();
}

/*
 * The number of pages is counted under the extension lock, so only one of several backends with
 * the same "npages" adds a page.
 */
void
zslot_add_page(Relation rel, Buffer buffer, int npages)
{
	ZPageView	view;
	Buffer		overflow_buf;

	Assert(npages >= ZSLOT_NEW_PAGE && npages <= ZPAGE_MAX_LOCK_PAGES);
	Assert(!zheap_holds_buffer_lock()); /* L1 */
	zview_open(&view, rel);
	LockRelationForExtension(rel, ExclusiveLock);
	if (count_pages(&view, buffer) == npages)
	{
		Buffer		new_buf = ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW, RBM_NORMAL, NULL);

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		(void) zview_attach(&view, buffer, BUFFER_LOCK_EXCLUSIVE, &overflow_buf);
		LockBuffer(new_buf, BUFFER_LOCK_EXCLUSIVE);

		/*
		 * Another backend may have found the new page at the end of the relation and made it a
		 * table page; or the other one, if that was a page of zeros.
		 */
		if (PageIsNew(BufferGetPage(new_buf)) &&
			PageIsNew(BufferGetPage(buffer)) == (npages == ZSLOT_NEW_PAGE))
		{
			link_new_page(rel, BufferIsValid(overflow_buf) ? overflow_buf : buffer,
						  npages == ZSLOT_NEW_PAGE, new_buf, BufferGetBlockNumber(buffer));
			zview_count(&view, npages > 0 ? ZTABLE_LOCK_PAGES : ZTABLE_OVERFLOW_PAGES, 1);
		}
		UnlockReleaseBuffer(new_buf);
		zview_detach(&view, &overflow_buf);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	Assert(!zheap_holds_buffer_lock());
	UnlockRelationForExtension(rel, ExclusiveLock);
	zview_close(&view);
}
