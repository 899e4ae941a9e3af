/*
 * clean_filled.c
 *		A worker's visit: mark pages all-visible that insertions have filled.
 *
 * This way tables to which rows are only added need no VACUUM for index-only scans.  Each page
 * is visited once, when every snapshot sees the transactions that filled it; a page that was
 * changed since then is left to VACUUM.
 *
 * The WAL record of the mark cancels snapshots of standbys that do not see the page's rows.
 * VACUUM does that now and then, as on heap; a worker would do it all the time.  Therefore, if
 * there is a standby, pages wait until the logged horizon has passed them: its record has
 * cancelled these snapshots anyway.
 *
 * LOCKING: as a sweep.  The lock of the file (rollback_file_lock.c), and, while that is
 * acquired, AccessShareLock on the table, both if they are available at once; one table page,
 * exclusively.  LOCK TABLE ... NOWAIT and DDL with a short lock_timeout therefore succeed
 * beside it.
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "replication/slot.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "zheap/base/pg_compat_vacuum.h"
#include "zheap/base/catalog.h"
#include "zheap/clean/clean.h"
#include "zheap/notes/filled.h"
#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/vacuum/visible.h"

/*
 * Limits after which the lock on the file is released: pages visited, and milliseconds.  With
 * smaller ones the table would be locked more often.
 */
#define PORTION			4096
#define PORTION_TIME	200

/* Least number of free bytes of a page that is recorded in the free space map. */
#define WORTH_RECORDING	(BLCKSZ / 4)

/* Table locks are short: retry this many milliseconds later. */
#define LOCKED_DELAY	10000

/* Extension locks are even shorter. */
#define EXTENDED_DELAY	500

/* Return whether the WAL sender serves a standby, which has no database, and not a subscriber. */
static bool
sends_to_standby(WalSnd *walsnd)
{
	PGPROC	   *proc;
	pid_t		pid;
	WalSndState state;

	SpinLockAcquire(&walsnd->mutex);
	pid = walsnd->pid;
	state = walsnd->state;
	SpinLockRelease(&walsnd->mutex);
	if (pid == 0 || state < WALSNDSTATE_CATCHUP)
		return false;
	proc = BackendPidGetProc(pid);
	return proc != NULL && !OidIsValid(proc->databaseId);
}

/* Return whether a standby is connected, or has a slot for when it comes back. */
static bool
has_standby(void)
{
	bool		found = false;

	for (int i = 0; i < max_wal_senders && !found; i++)
		found = sends_to_standby(&WalSndCtl->walsnds[i]);
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !found; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		SpinLockAcquire(&slot->mutex);
		found = slot->in_use && SlotIsPhysical(slot) &&
			slot->data.restart_lsn != InvalidXLogRecPtr;
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

/* Return the xid below which every snapshot of this server sees all transactions. */
static FullTransactionId
seen_by_all(void)
{
	return zfxid_from_xid(GetOldestNonRemovableTransactionId(NULL));
}

/*
 * None if there is a standby: the logged horizon moves only when there is other work, and the
 * worker that does it marks pages as well.
 */
int
zclean_databases_with_filled(Oid *dbs, int max)
{
	if (!zfilled_any() || has_standby())
		return 0;
	return zfilled_databases(seen_by_all(), dbs, max);
}

/* Limit I/O as autovacuum does. */
static void
begin_cost_limit(void)
{
	vacuum_cost_delay = autovacuum_vac_cost_delay >= 0 ?
		autovacuum_vac_cost_delay : VacuumCostDelay;
	vacuum_cost_limit = autovacuum_vac_cost_limit > 0 ?
		autovacuum_vac_cost_limit : VacuumCostLimit;
	VacuumCostActive = vacuum_cost_delay > 0;
	VacuumCostBalance = 0;
}

static bool
has_map_page(Relation rel, BlockNumber block)
{
	SMgrRelation smgr = RelationGetSmgr(rel);

	return smgrexists(smgr, VISIBILITYMAP_FORKNUM) &&
		smgrnblocks(smgr, VISIBILITYMAP_FORKNUM) > zmap_page_of(block);
}

/*
 * Extend the visibility map for the block if necessary.  Return false if the lock is not
 * available at once.  The lock is the one under which the table is extended; a writer that sees
 * waiters for it extends the table by many pages, so do not wait.
 */
static bool
provide_map(ZVisible *visible, BlockNumber block)
{
	if (has_map_page(visible->rel, block))
		return true;
	if (!ConditionalLockRelationForExtension(visible->rel, ExclusiveLock))
		return false;
	visible_pin(visible, block);
	UnlockRelationForExtension(visible->rel, ExclusiveLock);
	return true;
}

/*
 * Mark the page if that is allowed, and record its free space: VACUUM will skip it from now on.
 * Backends that extend the table at the same time leave nearly empty pages behind that nothing
 * else records.  The remaining space of a full page is not recorded, as using it would clear the
 * mark.
 */
static void
mark_page(ZVisible *visible, BufferAccessStrategy strategy, BlockNumber block)
{
	Buffer		buffer;
	Page		page;
	OffsetNumber off;
	Size		space = 0;

	visible_pin(visible, block);
	if (VM_ALL_VISIBLE(visible->rel, block, &visible->map))
		return;
	buffer = ReadBufferExtended(visible->rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	/* leave it to VACUUM to report damage */
	if (zpage_is_table(page) && zpage_check_quick(page, &off) == NULL &&
		!zpage_may_have_heap_rows(page, block))
	{
		visible_mark(visible, buffer);
		if (PageIsAllVisible(page))
			space = zpage_free_for_map(page);
	}
	UnlockReleaseBuffer(buffer);
	if (space >= WORTH_RECORDING)
		RecordPageWithFreeSpace(visible->rel, block, space);
}

/*
 * Mark pages for at most PORTION_TIME, and until another process waits for the file.  On return
 * pages->first is the page to continue with.  Returns false if the lock for extending the map
 * was not available.
 */
static bool
mark_pages(Relation rel, ZFilledPages *pages, const ZMarkVisit *visit)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_VACUUM);
	TimestampTz start = GetCurrentTimestamp();
	BlockNumber first = pages->first;
	ZVisible	visible;
	ZPageView	view;
	bool		has_map = true;

	zview_open(&view, rel);
	visible_open(&visible, rel, &view, visit->seen);
	visible.no_conflict = visit->for_standby;
	begin_cost_limit();
	while (pages->first <= pages->last && pages->first < nblocks)
	{
		has_map = visibilitymap_pin_ok(pages->first, visible.map) ||
			provide_map(&visible, pages->first);
		if (!has_map)
			break;
		mark_page(&visible, strategy, pages->first++);
		if (zrollback_file_is_wanted(rel->rd_locator))
			break;
		vacuum_delay_point(false);
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PORTION_TIME))
			break;
	}
	VacuumCostActive = false;
	if (pages->first > first)
		FreeSpaceMapVacuumRange(rel, first, pages->first);
	if (pages->first >= nblocks)
		pages->first = pages->last + 1;
	visible_close(&visible);
	zview_close(&view);
	FreeAccessStrategy(strategy);
	return has_map;
}

typedef struct Portion
{
	ZFilledPages pages;
	const ZMarkVisit *visit;
	int			delay;			/* milliseconds to wait because a lock was not available; 0 if
								 * all were */
} Portion;

/*
 * Lock the file, mark a portion of the pages, unlock.  Called by zrollback_try(), so that an
 * error is returned to zclean_mark_filled().
 */
static void
mark_portion(void *arg)
{
	Portion    *portion = arg;
	ZFilledPages *pages = &portion->pages;
	Relation	rel;
	ZTableState state;

	portion->delay = LOCKED_DELAY;
	state = zrollback_table_open(&pages->locator, pages->table, &rel);
	if (state == ZTABLE_BUSY)
		return;
	portion->delay = 0;
	if (state != ZTABLE_OPEN)
	{
		pages->first = pages->last + 1;
		zfilled_forget_file(pages->table, pages->locator);
	}
	else if (!mark_pages(rel, pages, portion->visit))
		portion->delay = EXTENDED_DELAY;
	else if (zrollback_file_is_wanted(rel->rd_locator))
		portion->delay = LOCKED_DELAY;
	zrollback_tables_close();
}

void
zclean_begin_marking(ZMarkVisit *visit)
{
	/* our own catalog snapshot would keep "seen" back */
	InvalidateCatalogSnapshot();
	visit->for_standby = has_standby();
	visit->seen = seen_by_all();
	visit->flushed = false;
}

bool
zclean_mark_filled(ZMarkVisit *visit)
{
	Portion		portion = {.visit = visit};
	ZFilledPages *pages = &portion.pages;
	ErrorData  *error;

	if (!zfilled_take(visit->for_standby ? zundo_logged_horizon() : visit->seen, PORTION, pages))
		return false;
	if (!visit->flushed)
		visible_flush();
	visit->flushed = true;
	error = zrollback_try(mark_portion, &portion);
	if (error != NULL)
	{
		zrollback_tables_forget();
		VacuumCostActive = false;
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("could not mark pages of the relation with OID %u all-visible: %s",
						pages->table, error->message),
				 errdetail("The next VACUUM of the table will retry.")));
		zfilled_forget_file(pages->table, pages->locator);
		FreeErrorData(error);
	}
	else if (pages->first <= pages->last)
		zfilled_put_back(pages, portion.delay);
	return true;
}
