/*
 * dml_space.c
 *		Finding a page for a new row.
 *
 * The order is heap's: the page used last, the free space map, the last page, a new page;
 * several new pages at once if other backends wait to extend the table as well.
 *
 * LOCKING: no page on entry, one on exit, exclusively.  The relation's extension lock is waited
 * for while none is locked (D3).
 */
#include "postgres.h"

#include "access/hio.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/snapmgr.h"

#include "zheap/dml/target.h"
#include "zheap/notes/reap.h"
#include "zheap/scan/scan.h"

/* room for one more slot of the transaction, besides the row */
#define SLOT_MARGIN		sizeof(ZPageSlot)

/*
 * A page with this much space counts as empty: a small row or some dead line
 * pointers must not make a large row extend the table.  Heap's number.
 */
#define NEARLY_EMPTY \
	(ZPAGE_ROOM(ZPAGE_INITIAL_SLOTS) - ZPAGE_MAX_OFFSET / 8 * sizeof(ItemIdData))

/*
 * Return whether the locked page may be initialised again, with fewer slots, so that it has room
 * for the row.  The present and former owners of its slots must be below the horizon: then no
 * reader follows the slots (S2), and no scan may know an index entry that was removed.
 */
static bool
may_be_made_anew(const ZTarget *target, Size need)
{
	const ZPageView *view = &target->view;

	return zpage_is_blank(view->page) && zpage_slots_beside(need, 1) > 0 &&
		zview_slots_are_frozen(view, 0) && zview_is_frozen(view, zpage_reused_fxid(view->page));
}

/*
 * Return how many bytes a page must have for a row of "len" bytes.  No margin for the longest rows:
 * a page without rows has slots, or an overflow page.
 */
static Size
space_wanted(Relation rel, Size len)
{
	Size		spare = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	Size		need = Max(len, Min(len + SLOT_MARGIN, ZPAGE_ROOM(ZPAGE_INITIAL_SLOTS)));

	return Max(need, Min(need + spare, NEARLY_EMPTY));
}

/* Neither fillfactor nor the margin applies to a page without rows. */
static bool
has_space(Page page, Size len, Size wanted)
{
	return zpage_has_for_row(page, PageGetMaxOffsetNumber(page) == 0 ? len : wanted);
}

/*
 * Lock the page, and free space on it if necessary.  Return whether the row fits; the page is
 * locked then.  If not, it may be locked or not.
 */
static bool
try_page(ZTarget *target, Size need, Size wanted)
{
	Page		page;
	bool		fits;

	target->init_page = false;
	if (!ztarget_lock(target))
	{
		page = BufferGetPage(target->buffer);
		target->init_page = PageIsNew(page);
		return target->init_page;
	}
	page = target->view.page;
	if (!zpage_has_for_row(page, wanted))
	{
		TransactionId prunable = ((PageHeader) page)->pd_prune_xid;

		if (TransactionIdIsValid(prunable) &&
			GlobalVisTestIsRemovableXid(GlobalVisTestFor(target->rel), prunable, true))
			zdml_prune_page(&target->view, target->buffer, zreap_taker(target->rel));
		if (TransactionIdIsValid(prunable) && !zpage_has_for_row(page, wanted) &&
			zdml_tombstone_page(target) == ZSTEP_AGAIN)
			return false;
	}
	fits = has_space(page, need, wanted);
	target->init_page = !fits && may_be_made_anew(target, need);
	return fits || target->init_page;
}

static Buffer
extend_by_one(Relation rel, BulkInsertState bistate)
{
	return ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW, RBM_NORMAL,
							  bistate ? bistate->strategy : NULL);
}

/* Add pages for the backends that wait, and record them in the free space map (as heap does). */
static void
extend_for_waiters(Relation rel, BulkInsertState bistate, int waiters)
{
	int			extra = Min(512, waiters * 20);
	BlockNumber first = InvalidBlockNumber;
	BlockNumber block = InvalidBlockNumber;

	while (extra-- >= 0)
	{
		Buffer		buffer = extend_by_one(rel, bistate);

		block = BufferGetBlockNumber(buffer);
		if (first == InvalidBlockNumber)
			first = block;
		ReleaseBuffer(buffer);
		RecordPageWithFreeSpace(rel, block, ZPAGE_MAP_EMPTY);
	}
	FreeSpaceMapVacuumRange(rel, first, block + 1);
}

/*
 * Return a new page, pinned in target->buffer; or a page from the map, if other backends added
 * some while we waited for the extension lock.
 */
static BlockNumber
extend(ZTarget *target, Size need, BulkInsertState bistate)
{
	Relation	rel = target->rel;
	bool		contended = false;

	Assert(!zheap_holds_buffer_lock()); /* D3: the lock for extension may be waited for */
	if (!RELATION_IS_LOCAL(rel) && !ConditionalLockRelationForExtension(rel, ExclusiveLock))
	{
		BlockNumber block;
		int			waiters;

		LockRelationForExtension(rel, ExclusiveLock);
		contended = true;
		block = GetPageWithFreeSpace(rel, need);
		if (block != InvalidBlockNumber)
		{
			UnlockRelationForExtension(rel, ExclusiveLock);
			return block;
		}
		waiters = RelationExtensionLockWaiterCount(rel);
		if (waiters > 0)
			extend_for_waiters(rel, bistate, waiters);
	}
	else
		contended = !RELATION_IS_LOCAL(rel);

	target->buffer = extend_by_one(rel, bistate);
	if (contended)
		UnlockRelationForExtension(rel, ExclusiveLock);
	return BufferGetBlockNumber(target->buffer);
}

static BlockNumber
first_choice(Relation rel, Size wanted, BulkInsertState bistate)
{
	BlockNumber block;

	if (bistate && BufferIsValid(bistate->current_buf))
		return BufferGetBlockNumber(bistate->current_buf);
	block = zheap_target_get(rel);
	if (block == InvalidBlockNumber)
		block = GetPageWithFreeSpace(rel, wanted);
	if (block == InvalidBlockNumber)
	{
		BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

		if (nblocks > 0)
			block = nblocks - 1;
	}
	return block;
}

/* Remember the page for the next row.  Bulk inserts keep a pin on the page that they fill. */
static void
remember_page(ZTarget *target, BulkInsertState bistate)
{
	zheap_target_set(target->rel, BufferGetBlockNumber(target->buffer));
	if (bistate == NULL || bistate->current_buf == target->buffer)
		return;
	if (BufferIsValid(bistate->current_buf))
		ReleaseBuffer(bistate->current_buf);
	IncrBufferRefCount(target->buffer);
	bistate->current_buf = target->buffer;
}

void
zspace_find(ZTarget *target, Size len, int options, BulkInsertState bistate)
{
	Relation	rel = target->rel;
	Size		wanted = space_wanted(rel, len);
	BlockNumber block = first_choice(rel, wanted, bistate);

	Assert(!BufferIsValid(target->buffer));
	for (;;)
	{
		Size		space;

		CHECK_FOR_INTERRUPTS();
		if (block == InvalidBlockNumber)
			block = extend(target, wanted, bistate);
		if (!BufferIsValid(target->buffer) && bistate == NULL)
			target->buffer = zscan_read_recent(rel, block);
		else if (!BufferIsValid(target->buffer))
			target->buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL,
												bistate->strategy);
		if (try_page(target, len, wanted))
			break;
		space = (target->locked && target->view.page) ?
			zpage_free_for_row(target->view.page) : 0;
		ztarget_release(target);
		if (bistate && BufferIsValid(bistate->current_buf))
		{
			ReleaseBuffer(bistate->current_buf);
			bistate->current_buf = InvalidBuffer;
		}
		block = RecordAndGetPageWithFreeSpace(rel, block, space, wanted);
	}
	Assert(target->locked);
	Assert(target->init_page || zpage_has_for_row(target->view.page, len));
	remember_page(target, bistate);
}

bool
zspace_pin_last(ZTarget *target, Buffer beside)
{
	BlockNumber block = zheap_target_get(target->rel);

	Assert(!BufferIsValid(target->buffer));
	if (block != InvalidBlockNumber && block != BufferGetBlockNumber(beside))
		target->buffer = zscan_pin_recent(target->rel, block);
	return BufferIsValid(target->buffer);
}

bool
zspace_suffices(const ZTarget *target, Size len)
{
	return has_space(target->view.page, len, space_wanted(target->rel, len));
}
