/*
 * mvcc_view.c
 *		Views of table pages: a private copy, or the page itself under lock.
 *
 * LOCKING: an overflow page is only ever locked while its table page is (L1: it comes after
 * it), in the same mode.  A lock page comes after both.  It is changed only while they are
 * locked exclusively.  For reading it is locked by itself, so that its contents may be newer
 * than a copy of the table page.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "zheap/mvcc/status.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_read.h"

#include "mvcc_reconstruct.h"

/* A view's copies of lock pages; lock page k is number k - 1. */
typedef struct ZLockPageCopies
{
	bool		seen[ZPAGE_MAX_LOCK_PAGES];
	PGAlignedBlock *pages[ZPAGE_MAX_LOCK_PAGES];
} ZLockPageCopies;

uint64		zview_own_changes = 0;
ZOwnCommand zview_own_command;

void
zview_open(ZPageView *view, Relation rel)
{
	memset(view, 0, sizeof(*view));
	view->rel = rel;
	view->local = rel != NULL && RelationUsesLocalBuffers(rel);
	view->block = InvalidBlockNumber;
	view->context = CurrentMemoryContext;
	zundo_reader_open(&view->reader, CurrentMemoryContext, view->local);
}

static void
add_to_table(Relation rel, ZTableCounter counter, uint64 n)
{
	if (zheap_may_hold_buffer_lock())
		zstats_count_known(rel, counter, n);
	else
		zstats_count(rel, counter, n);
}

/*
 * Add the view's counts to the table's.  Temporary tables are not counted, nor is undo read
 * without a table.
 */
static void
add_counts(ZPageView *view)
{
	if (view->rel == NULL || view->local)
		return;
	for (int i = 0; i < ZTABLE_NVIEW_COUNTERS; i++)
	{
		if (unlikely(view->counts[i] != 0))
			add_to_table(view->rel, ZTABLE_FIRST_OF_VIEW + i, view->counts[i]);
	}
}

void
zview_close(ZPageView *view)
{
	Assert(!view->locked && view->limit == 0);
	add_counts(view);
	zundo_reader_close(&view->reader);
	if (view->copy)
		pfree(view->copy);
	if (view->overflow_copy)
		pfree(view->overflow_copy);
	for (int i = 0; view->lock_copies && i < ZPAGE_MAX_LOCK_PAGES; i++)
	{
		if (view->lock_copies->pages[i])
			pfree(view->lock_copies->pages[i]);
	}
	if (view->lock_copies)
		pfree(view->lock_copies);
	if (view->version_buf)
		pfree(view->version_buf);
	if (view->other_rows)
		pfree(view->other_rows);
	zreconstruct_free(view);
	view->copy = view->overflow_copy = NULL;
	view->lock_copies = NULL;
	view->other_rows = NULL;
	view->version_buf = NULL;
}

void
zview_refresh(ZPageView *view)
{
	memset(view->status, ZXACT_UNKNOWN, sizeof(view->status));
	view->asked = InvalidFullTransactionId;
	view->all_frozen = false;
}

/*
 * Return the descriptor of the rows' columns, or NULL if it is not known: when ALTER TABLE
 * reads a table that it rewrites, the relation's descriptor has the new columns already.
 */
static TupleDesc
columns_of_rows(const ZPageView *view)
{
	if (!view->own_columns && CheckRelationLockedByMe(view->rel, AccessExclusiveLock, true))
		return NULL;
	return RelationGetDescr(view->rel);
}

/*
 * Return whether heap functions have changed the page.  False, too, if the table's columns are
 * not known: such a view only rolls rows back.
 */
static bool
has_heap_rows(ZPageView *view, Page page)
{
	return zpage_may_have_heap_rows(page, view->block) &&
		view->rel != NULL && view->rel->rd_att != NULL &&
		zpage_has_heap_rows(page, view->block, columns_of_rows(view));
}

/*
 * Check the page's header.  Return false if heap functions have changed the page, and their
 * changes are to be skipped.  ERROR (data_corrupted) if it is damaged, or changed and not to be
 * skipped.
 */
static bool
check_page(ZPageView *view, Page page)
{
	const char *wrong = zpage_check_header(page);

	if (unlikely(wrong != NULL))
	{
		if (view->rel == NULL || !zpage_is_of_heap(page))
			zheap_corrupt(view->rel, view->block, InvalidOffsetNumber, "%s", wrong);
	}
	else if (likely(!has_heap_rows(view, page)))
		return true;
	if (!zheap_skip_heap_rows)
		zheap_corrupt_by_heap(view->rel, view->block, PageGetLSN(page));
	return false;
}

bool
zview_slots_are_frozen(const ZPageView *view, uint32 except)
{
	int			nslots = zpage_nslots(view->page);

	if (view->overflow)
		return false;
	for (int i = 1; i <= nslots; i++)
	{
		if ((except & (uint32) 1 << i) == 0 &&
			!zview_is_frozen(view, zpage_slot_fxid(zpage_slot(view->page, NULL, i))))
			return false;
	}
	return true;
}

/*
 * Return the overflow page, or a lock page, pinned and locked.  Its kind and its table page
 * never change while it is named, so they are checked before it is locked: a damaged block
 * number may lead to a page that we have locked, or to another table page (L1).
 */
static Buffer
overflow_page_lock(ZPageView *view, BlockNumber block, int lockmode)
{
	const char *wrong;
	Buffer		buffer;
	Page		page;

	if (block >= RelationGetNumberOfBlocks(view->rel))
		zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
					  "overflow page %u does not exist", block);
	buffer = ReadBuffer(view->rel, block);
	page = BufferGetPage(buffer);
	if (!zpage_is_overflow(page))
		zheap_corrupt(view->rel, block, InvalidOffsetNumber, "page is no overflow page");
	if (zpage_overflow_body(page)->table_block != view->block)
		zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
					  "overflow page %u belongs to block %u", block,
					  zpage_overflow_body(page)->table_block);
	LockBuffer(buffer, lockmode);
	/* the part that is copied depends on its header */
	wrong = zpage_check_overflow(page);
	if (wrong)
		zheap_corrupt(view->rel, block, InvalidOffsetNumber, "%s", wrong);
	return buffer;
}

FullTransactionId
zview_horizon(const ZPageView *view)
{
	return view->local ? zundo_local_horizon() : zundo_horizon();
}

/*
 * Raise an error if a slot's owner has not been assigned yet: the commit log knows nothing of
 * such a transaction.  The next xid is read only if the owner is not below the last one known.
 */
static inline void
check_owner(ZPageView *view, const ZPageSlot *slot, int slotno)
{
	static FullTransactionId known_next = {0};
	FullTransactionId fxid = zpage_slot_fxid(slot);

	if (likely(FullTransactionIdPrecedes(fxid, known_next)))
		return;
	known_next = ReadNextFullTransactionId();
	if (!FullTransactionIdPrecedes(fxid, known_next))
		zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
					  "transaction slot %d belongs to transaction %llu, which has not begun yet",
					  slotno, (unsigned long long) U64FromFullTransactionId(fxid));
}

static void
check_owners(ZPageView *view)
{
	int			nslots = zpage_nslots(view->page);

	for (int i = 1; i <= nslots; i++)
		check_owner(view, zpage_slot(view->page, NULL, i), i);
	for (int i = 0; view->overflow != NULL && i < ZPAGE_OVERFLOW_SLOTS; i++)
		check_owner(view, zpage_slot(NULL, view->overflow, ZPAGE_FIRST_OVERFLOW + i),
					ZPAGE_FIRST_OVERFLOW + i);
}

/* Set the page that the view shows, with its overflow page or NULL. */
static void
set_page(ZPageView *view, Page page, Page overflow)
{
	view->page = page;
	view->overflow = overflow;
	if (view->lock_copies)
		memset(view->lock_copies->seen, 0, sizeof(view->lock_copies->seen));
	check_owners(view);
	view->horizon = zview_horizon(view);
	view->reconstructed = false;
	view->original = NULL;
	zview_refresh(view);
}

/* Copy the used part of a page; the hole keeps whatever the copy had. */
static void
copy_used(PGAlignedBlock **copy, MemoryContext context, Page page)
{
	PageHeader	header = (PageHeader) page;

	if (*copy == NULL)
		*copy = MemoryContextAlloc(context, sizeof(PGAlignedBlock));
	if (header->pd_lower > header->pd_upper || header->pd_upper > BLCKSZ)
	{
		memcpy((*copy)->data, page, BLCKSZ);	/* damaged: the check of the copy reports it */
		return;
	}
	zpage_copy_used((*copy)->data, header);
}

/*
 * Return whether heap functions have changed rows of the page.  Too expensive for every reader:
 * called only while such rows are to be skipped.
 */
static bool
has_changed_rows(ZPageView *view, Page page)
{
	return view->rel != NULL && view->rel->rd_att != NULL &&
		zpage_has_changed_rows(page, view->block, RelationGetDescr(view->rel));
}

/*
 * Copy the page and check the copy; changes by heap functions are removed if they are to be
 * skipped.  Return NULL if the copy holds no rows.
 */
static Page
copy_checked(ZPageView *view, PGAlignedBlock **copy, Page page)
{
	copy_used(copy, view->context, page);
	page = (Page) (*copy)->data;
	if (check_page(view, page) && (!zheap_skip_heap_rows || !has_changed_rows(view, page)))
		return page;
	if (zpage_is_of_heap(page))
		return NULL;
	zpage_forget_heap_rows(page, view->block, RelationGetDescr(view->rel));
	return page;
}

/*
 * Copy the page, which is locked in any mode, and its overflow page, locking that in shared
 * mode meanwhile.  Return false if it holds no rows.
 */
static bool
copy_locked(ZPageView *view, Page page)
{
	Page		overflow = NULL;
	BlockNumber block;

	view->locked = false;
	if (PageIsNew(page) || zpage_is_overflow(page))
		return false;
	page = copy_checked(view, &view->copy, page);
	if (page == NULL)
		return false;
	block = zpage_overflow_block(page);
	if (block != InvalidBlockNumber)
	{
		Buffer		overflow_buf = overflow_page_lock(view, block, BUFFER_LOCK_SHARE);

		copy_used(&view->overflow_copy, view->context, BufferGetPage(overflow_buf));
		overflow = (Page) view->overflow_copy->data;
		UnlockReleaseBuffer(overflow_buf);
	}
	set_page(view, page, overflow);
	view->all_frozen = zview_slots_are_frozen(view, 0);
	return true;
}

Buffer
zview_lock_page(ZPageView *view, int k, int lockmode)
{
	BlockNumber block;

	Assert(k >= 1 && k < zview_slot_pages(view));
	Assert(lockmode == BUFFER_LOCK_SHARE || view->locked);	/* L1 */
	block = zpage_overflow_body(view->overflow)->lock_pages[k - 1];
	/* that page has the right table page, too, but may be locked by us */
	if (block == zpage_overflow_block(view->page))
		zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
					  "overflow page %u is named as a lock page", block);
	return overflow_page_lock(view, block, lockmode);
}

Page
zview_slot_page_seen(const ZPageView *view, int k)
{
	Assert(k >= 0 && k <= ZPAGE_MAX_LOCK_PAGES);
	if (k == 0)
		return view->overflow;
	if (view->lock_copies == NULL || !view->lock_copies->seen[k - 1])
		return NULL;
	return (Page) view->lock_copies->pages[k - 1]->data;
}

static Page
copy_lock_page(ZPageView *view, int k)
{
	Buffer		buffer = zview_lock_page(view, k, BUFFER_LOCK_SHARE);
	ZLockPageCopies *copies = view->lock_copies;
	Page		page;

	copy_used(&copies->pages[k - 1], view->context, BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	page = (Page) copies->pages[k - 1]->data;
	for (int i = 0; i < ZPAGE_OVERFLOW_SLOTS; i++)
		check_owner(view, &zpage_overflow_body(page)->slots[i],
					ZPAGE_FIRST_OVERFLOW + k * ZPAGE_OVERFLOW_SLOTS + i);
	copies->seen[k - 1] = !view->locked;
	return page;
}

Page
zview_slot_page(ZPageView *view, int k)
{
	Page		seen = zview_slot_page_seen(view, k);

	if (seen)
		return seen;
	if (view->lock_copies == NULL)
		view->lock_copies = MemoryContextAllocZero(view->context, sizeof(ZLockPageCopies));
	return copy_lock_page(view, k);
}

bool
zview_read_pinned(ZPageView *view, Buffer buffer)
{
	bool		usable;

	Assert(!view->locked);
	view->block = BufferGetBlockNumber(buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	usable = copy_locked(view, BufferGetPage(buffer));
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	zview_count(view, ZTABLE_PAGES_COPIED, usable);
	return usable;
}

bool
zview_read(ZPageView *view, BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(view->rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	bool		usable = zview_read_pinned(view, buffer);

	ReleaseBuffer(buffer);
	return usable;
}

bool
zview_copy(ZPageView *view, Buffer buffer)
{
	bool		usable;

	Assert(!view->locked && view->limit == 0);
	Assert(BufferIsLocal(buffer) || !zheap_buffer_is_exclusive(buffer));
	view->block = BufferGetBlockNumber(buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	usable = copy_locked(view, BufferGetPage(buffer));
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (usable && !view->local)
		view->horizon = zundo_logged_horizon();
	return usable;
}

bool
zview_copy_viewed(ZPageView *view, Buffer buffer, Buffer *overflow_buf)
{
	FullTransactionId horizon = view->horizon;

	Assert(view->locked && view->block == BufferGetBlockNumber(buffer));
	zview_detach(view, overflow_buf);
	if (!copy_locked(view, BufferGetPage(buffer)))
		return false;
	view->horizon = horizon;
	return true;
}

void
zview_leave(ZPageView *view)
{
	Buffer	   *leave = view->leave;

	if (leave == NULL)
		return;
	Assert(view->limit == 0);	/* results found under a limit may be wrong */
	view->leave = NULL;
	(void) zview_copy_viewed(view, leave[0], &leave[1]);
	LockBuffer(leave[0], BUFFER_LOCK_UNLOCK);
	zview_count(view, ZTABLE_PAGES_COPIED, 1);
}

bool
zview_attach(ZPageView *view, Buffer buffer, int lockmode, Buffer *overflow_buf)
{
	Page		page = BufferGetPage(buffer);
	Page		overflow = NULL;
	BlockNumber overflow_block;

	Assert(!view->locked && view->limit == 0);
	/* L1: the table page comes before its overflow page */
	Assert(lockmode == BUFFER_LOCK_SHARE || zheap_buffer_is_exclusive(buffer));
	*overflow_buf = InvalidBuffer;
	view->block = BufferGetBlockNumber(buffer);
	if (PageIsNew(page) || zpage_is_overflow(page))
		return false;
	/* a page with rows that are to be skipped must not be changed */
	if (unlikely(!check_page(view, page) ||
				 (zheap_skip_heap_rows && lockmode != BUFFER_LOCK_SHARE &&
				  has_changed_rows(view, page))) && lockmode != BUFFER_LOCK_SHARE)
		zheap_corrupt_by_heap(view->rel, view->block, PageGetLSN(page));
	if (unlikely(zheap_skip_heap_rows) && lockmode == BUFFER_LOCK_SHARE)
	{
		/* view->copy may still be referred to */
		page = copy_checked(view, &view->other_rows, page);
		if (page == NULL)
			return false;
	}
	overflow_block = zpage_overflow_block(page);
	if (overflow_block != InvalidBlockNumber)
	{
		*overflow_buf = overflow_page_lock(view, overflow_block, lockmode);
		overflow = BufferGetPage(*overflow_buf);
	}
	set_page(view, page, overflow);
	view->locked = true;
	view->reads = 0;

	/*
	 * A writer must keep what a standby may still need: a transaction below the horizon but not
	 * below the logged one keeps its name.
	 */
	if (lockmode == BUFFER_LOCK_EXCLUSIVE && !RelationUsesLocalBuffers(view->rel))
		view->horizon = zundo_logged_horizon();
	return true;
}

void
zview_detach(ZPageView *view, Buffer *overflow_buf)
{
	if (BufferIsValid(*overflow_buf))
		UnlockReleaseBuffer(*overflow_buf);
	*overflow_buf = InvalidBuffer;
	view->leave = NULL;
	view->locked = false;
	view->page = view->overflow = NULL;
}
