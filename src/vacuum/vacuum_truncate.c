/*
 * vacuum_truncate.c
 *		Return the empty pages at the table's end to the operating system.
 *
 * LOCKING: AccessExclusiveLock on the table, acquired conditionally; released as soon as the
 * table is truncated, or when another backend waits for it, as heap does.  Sweeps, which hold no
 * lock on the table, are waited for before that.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/storage.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "zheap/base/base.h"
#include "zheap/page/page.h"
#include "zheap/rollback/rollback.h"

#include "vacuum_private.h"

/* Least number and share of empty pages that are worth an exclusive lock: heap's limits. */
#define TRUNCATE_MIN_PAGES		1000
#define TRUNCATE_MIN_FRACTION	16

/* Number of attempts to get that lock, and the pause between them: heap's, too. */
#define LOCK_ATTEMPTS			100
#define LOCK_WAIT				50	/* ms */

/*
 * Number of blocks between two checks whether a backend waits for our lock, and how long we keep
 * it at least.
 */
#define WAITER_CHECK_INTERVAL	32
#define LOCK_MIN_TIME			20	/* ms */

void
vacuum_overflow_page_add(ZVacuum *vac, BlockNumber block, Page page)
{
	ZVacuumOverflowPage *overflow_page;

	if (vac->noverflow_pages == vac->overflow_pages_alloc)
	{
		int			alloc = Max(64, vac->overflow_pages_alloc * 2);
		Size		size = alloc * sizeof(ZVacuumOverflowPage);

		vac->overflow_pages = vac->overflow_pages == NULL ? palloc(size) :
			repalloc_huge(vac->overflow_pages, size);
		vac->overflow_pages_alloc = alloc;
	}
	overflow_page = &vac->overflow_pages[vac->noverflow_pages++];
	overflow_page->block = block;
	overflow_page->table_block = zpage_overflow_body(page)->table_block;
}

/* Return whether the table page's overflow page lists the lock page. */
static bool
is_listed_lock_page(ZVacuum *vac, BlockNumber overflow_block, BlockNumber lock_block)
{
	Buffer		buffer;
	Page		page;
	bool		result = false;

	/* no overflow page, or one newer than the pages found so far */
	if (overflow_block >= vac->npages)
		return false;
	buffer = ReadBufferExtended(vac->rel, MAIN_FORKNUM, overflow_block, RBM_NORMAL,
								vac->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page) && zpage_is_overflow(page))
	{
		const ZOverflowPageBody *body = zpage_overflow_body(page);

		for (uint32 i = 0; i < Min(body->nlock_pages, ZPAGE_MAX_LOCK_PAGES); i++)
			result = result || body->lock_pages[i] == lock_block;
	}
	UnlockReleaseBuffer(buffer);
	return result;
}

/*
 * Return whether the table page uses the overflow page or lock page.  A page that was truncated
 * has lost it.
 */
static bool
overflow_page_is_used(ZVacuum *vac, const ZVacuumOverflowPage *overflow_page)
{
	BlockNumber overflow_block = InvalidBlockNumber;
	Buffer		buffer;
	Page		page;

	buffer = ReadBufferExtended(vac->rel, MAIN_FORKNUM, overflow_page->table_block, RBM_NORMAL,
								vac->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page) && zpage_is_table(page))
		overflow_block = zpage_overflow_block(page);
	UnlockReleaseBuffer(buffer);
	Assert(!zheap_holds_buffer_lock()); /* D2: one page after the other */
	return overflow_block == overflow_page->block ||
		is_listed_lock_page(vac, overflow_block, overflow_page->block);
}

/*
 * Return the end of the table such that no page before "end" loses its overflow page.  Keeping
 * an overflow page keeps all pages before it, whose overflow pages must then be kept, too.
 */
static BlockNumber
end_with_overflow_pages(ZVacuum *vac, BlockNumber end)
{
	BlockNumber before;

	do
	{
		before = end;
		for (int i = 0; i < vac->noverflow_pages; i++)
		{
			ZVacuumOverflowPage *overflow_page = &vac->overflow_pages[i];

			if (overflow_page->block >= end && overflow_page->table_block < end &&
				overflow_page_is_used(vac, overflow_page))
				end = overflow_page->block + 1;
		}
		Assert(end >= before);
	} while (end != before);
	return end;
}

/*
 * Return whether enough pages are empty.  Not if xids are refused: the lock is logged for
 * standbys together with an xid.
 */
static bool
truncation_is_worth_it(ZVacuum *vac)
{
	BlockNumber empty;

	Assert(vac->nonempty <= vac->npages);

	vac->nonempty = end_with_overflow_pages(vac, vac->nonempty);
	empty = vac->npages - vac->nonempty;

	return vac->do_truncate && empty > 0 && !zheap_xids_are_refused() &&
		(empty >= TRUNCATE_MIN_PAGES || empty >= vac->npages / TRUNCATE_MIN_FRACTION);
}

/*
 * Return whether the page may be truncated.  A dead line pointer keeps it, because index entries
 * may name it.  An overflow page may be truncated if its table page is; it is added to those
 * found.
 */
static bool
is_empty(ZVacuum *vac, BlockNumber block)
{
	Buffer		buffer;
	Page		page;
	OffsetNumber offnum;
	bool		empty;

	buffer = ReadBufferExtended(vac->rel, MAIN_FORKNUM, block, RBM_NORMAL, vac->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);

	empty = PageIsNew(page) || zpage_is_overflow(page) || zpage_is_table(page);
	if (!PageIsNew(page) && zpage_is_overflow(page))
		vacuum_overflow_page_add(vac, block, page);
	else if (empty && !PageIsNew(page))
	{
		for (offnum = PageGetMaxOffsetNumber(page);
			 offnum >= FirstOffsetNumber && empty;
			 offnum--)
			empty = !ItemIdIsUsed(PageGetItemId(page, offnum));
	}

	UnlockReleaseBuffer(buffer);
	return empty;
}

/* Return whether a backend waits for our lock, and we have held it for LOCK_MIN_TIME. */
static bool
is_lock_wanted(ZVacuum *vac, TimestampTz since)
{
	return TimestampDifferenceExceeds(since, GetCurrentTimestamp(), LOCK_MIN_TIME) &&
		LockHasWaitersRelation(vac->rel, AccessExclusiveLock);
}

/*
 * Return the end of the last page in use, under the exclusive lock: other backends may have
 * filled pages since the scan.  A transaction that owns a slot on a page without rows has ended,
 * or it would hold a lock on the table, and nothing is left to be rolled back.  *wanted is set
 * if a backend waits for the lock, so that more pages may be empty.
 */
static BlockNumber
find_end(ZVacuum *vac, bool *wanted)
{
	TimestampTz since = GetCurrentTimestamp();
	BlockNumber end = vac->npages;

	Assert(CheckRelationLockedByMe(vac->rel, AccessExclusiveLock, true));	/* G3 */
	vac->noverflow_pages = 0;
	*wanted = false;
	while (end > vac->nonempty)
	{
		CHECK_FOR_INTERRUPTS();

		if (end % WAITER_CHECK_INTERVAL == 0 && is_lock_wanted(vac, since))
		{
			*wanted = true;
			break;
		}

		vac->block = end - 1;
		if (!is_empty(vac, end - 1))
			break;
		end--;
	}
	return end_with_overflow_pages(vac, end);
}

/*
 * Acquire AccessExclusiveLock on the table, with no sweep active on its file.  Return false if
 * it is not available at once.  A sweep is waited for until the end of its page, which may take
 * long, but no backend waits for us meanwhile.
 */
static bool
lock_for_truncation(ZVacuum *vac)
{
	RelFileLocator file = vac->rel->rd_locator;
	bool		locked;

	Assert(!zheap_holds_buffer_lock()); /* L1 */
	if (RelationUsesLocalBuffers(vac->rel))
		return ConditionalLockRelation(vac->rel, AccessExclusiveLock);
	zrollback_file_keep_out(file);
	locked = ConditionalLockRelation(vac->rel, AccessExclusiveLock);
	zrollback_file_let_in(file);
	return locked;
}

/*
 * Acquire the lock by repeated attempts, since a waiting request would block other backends.
 * Return false after LOCK_ATTEMPTS.
 */
static bool
lock_patiently(ZVacuum *vac)
{
	for (int i = 0; !lock_for_truncation(vac); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i == LOCK_ATTEMPTS)
		{
			ereport(vac->verbose ? INFO : DEBUG2,
					(errmsg("\"%s\": stopping truncate due to conflicting lock request",
							RelationGetRelationName(vac->rel))));
			return false;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOCK_WAIT,
						 WAIT_EVENT_VACUUM_TRUNCATE);
		ResetLatch(MyLatch);
	}
	return true;
}

/*
 * Truncate the table under the lock, and release it.  Return true if another backend waited for
 * it and more pages may be empty: try again for the rest.
 */
static bool
cut_off(ZVacuum *vac)
{
	const char *name = RelationGetRelationName(vac->rel);
	BlockNumber before = vac->npages;
	BlockNumber end = before;
	bool		wanted = false;

	/* if pages were added meanwhile, they are in use, and the end is not empty */
	if (RelationGetNumberOfBlocks(vac->rel) == before)
	{
		vac->doing = VACUUM_TRUNCATING;
		end = find_end(vac, &wanted);
		Assert(end >= vac->nonempty && end <= before);	/* G3 */
		vac->block = end;
		if (end < before)
			RelationTruncate(vac->rel, end);
		vac->removed += before - end;
		vac->npages = end;
		vac->doing = VACUUM_NO_BLOCK;
	}
	UnlockRelation(vac->rel, AccessExclusiveLock);

	if (wanted)
		ereport(vac->verbose ? INFO : DEBUG2,
				(errmsg("table \"%s\": suspending truncate due to conflicting lock request", name)));
	if (end < before)
		ereport(vac->verbose ? INFO : DEBUG2,
				(errmsg("table \"%s\": truncated %u to %u pages", name, before, end)));
	return wanted && end < before && end > vac->nonempty;
}

void
vacuum_cut_end(ZVacuum *vac)
{
	bool		more = truncation_is_worth_it(vac);

	if (more)
		pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_TRUNCATE);
	while (more && lock_patiently(vac))
		more = cut_off(vac);
}
