/*
 * vacuum_truncate.c
 *		Give the empty pages at the table's end back to the operating system.
 *
 * LOCKING: AccessExclusiveLock on the table, if it is to be had at once; released
 * as soon as the table is truncated, as heap does.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/storage.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"

#include "zheap/base/base.h"
#include "zheap/page/page.h"

#include "vacuum_private.h"

/* Worth a lock that stops everybody: heap's limits. */
#define TRUNCATE_MIN_PAGES		1000
#define TRUNCATE_MIN_FRACTION	16

/* Blocks between two looks at who is waiting for our lock. */
#define WAITER_CHECK_INTERVAL	32

/* Standbys hear of the lock together with an xid, which the server may refuse. */
static bool
is_worth_it(ZVacuum *vac)
{
	BlockNumber empty = vac->npages - vac->nonempty;

	Assert(vac->nonempty <= vac->npages);

	return vac->do_truncate && empty > 0 && !zheap_xids_are_refused() &&
		(empty >= TRUNCATE_MIN_PAGES || empty >= vac->npages / TRUNCATE_MIN_FRACTION);
}

/*
 * Could the page go?  A dead line pointer keeps it, for index entries may name
 * it; so does being the slot page of a table page further down.
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

	empty = PageIsNew(page) || zpage_is_table(page);
	if (empty && !PageIsNew(page))
	{
		for (offnum = PageGetMaxOffsetNumber(page);
			 offnum >= FirstOffsetNumber && empty;
			 offnum--)
			empty = !ItemIdIsUsed(PageGetItemId(page, offnum));
	}

	UnlockReleaseBuffer(buffer);
	return empty;
}

/*
 * The end of the last page in use, seen under the exclusive lock: others may have
 * filled pages since we scanned them.
 */
static BlockNumber
find_end(ZVacuum *vac)
{
	BlockNumber end = vac->npages;

	while (end > vac->nonempty)
	{
		CHECK_FOR_INTERRUPTS();

		if (end % WAITER_CHECK_INTERVAL == 0 &&
			LockHasWaitersRelation(vac->rel, AccessExclusiveLock))
			break;

		vac->block = end - 1;
		if (!is_empty(vac, end - 1))
			break;
		end--;
	}
	return end;
}

void
vacuum_truncate(ZVacuum *vac)
{
	BlockNumber before = vac->npages;

	if (!is_worth_it(vac))
		return;

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_TRUNCATE);

	if (!ConditionalLockRelation(vac->rel, AccessExclusiveLock))
	{
		ereport(vac->verbose ? INFO : DEBUG2,
				(errmsg("\"%s\": stopping truncate due to conflicting lock request",
						RelationGetRelationName(vac->rel))));
		return;
	}

	/* pages added meanwhile are in use, so the tail is not at the end any more */
	if (RelationGetNumberOfBlocks(vac->rel) == before)
	{
		BlockNumber end;

		vac->doing = "truncating";
		end = find_end(vac);
		if (end < before)
		{
			RelationTruncate(vac->rel, end);
			vac->removed = before - end;
			vac->npages = end;
		}
		vac->doing = NULL;
	}
	UnlockRelation(vac->rel, AccessExclusiveLock);

	if (vac->removed > 0)
		ereport(vac->verbose ? INFO : DEBUG2,
				(errmsg("table \"%s\": truncated %u to %u pages",
						RelationGetRelationName(vac->rel), before, vac->npages)));
}
