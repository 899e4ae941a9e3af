/*
 * vacuum_scan.c
 *		VACUUM's first pass: every page in order.
 *
 * Roll back rows of aborted transactions, turn rows that are dead to all into dead line
 * pointers, and collect those for vacuum_reap.c.
 *
 * LOCKING: one table page, exclusively.  No cleanup lock is needed, because readers copy a page
 * and never read it under a pin alone: VACUUM waits for no reader, and every page can be pruned.
 */
#include "postgres.h"

#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"

#include "zheap/dml/dml.h"
#include "zheap/mvcc/state.h"
#include "zheap/page/page.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_relation.h"

#include "vacuum_private.h"

/* Blocks between two updates of the free space map's upper levels: 1 GB. */
#define FSM_INTERVAL	((BlockNumber) (((uint64) 1 << 30) / BLCKSZ))

/* Count the row by its state.  May read undo; no page is locked. */
static void
vacuum_count_row(ZVacuum *vac, OffsetNumber offnum)
{
	FullTransactionId fxid;

	switch (zmvcc_state_to_count(&vac->view, offnum, &fxid))
	{
		case ZSTATE_LIVE:
			vac->live++;
			break;
		case ZSTATE_DEAD:		/* the horizon has moved since the page was pruned */
		case ZSTATE_RECENTLY_DEAD:
			vac->recently_dead++;
			break;
		case ZSTATE_INSERTING:

			/*
			 * Not counted as live: when the inserter commits it reports the row to
			 * the statistics itself.
			 */
			vac->in_progress++;
			break;
		case ZSTATE_DELETING:
			vac->live++;
			vac->in_progress++;
			break;
		case ZSTATE_NONE:
			break;
	}
}

static int
list_dead(Page page, OffsetNumber *dead)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	int			ndead = 0;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= maxoff; offnum++)
	{
		if (ItemIdIsDead(PageGetItemId(page, offnum)))
			dead[ndead++] = offnum;
	}
	return ndead;
}

/*
 * Count the page's rows; return whether there are any.  Works on a copy of the page, because the
 * versions of transactions in progress are looked up in undo.
 */
static bool
count_page_rows(ZVacuum *vac)
{
	Page		page = vac->view.page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	bool		has_rows = false;

	Assert(!zheap_holds_buffer_lock()); /* B1: much undo may have to be read */
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= maxoff; offnum++)
	{
		if (ItemIdIsNormal(PageGetItemId(page, offnum)))
		{
			vacuum_count_row(vac, offnum);
			has_rows = true;
		}
	}
	return has_rows;
}

/*
 * Skip a page that holds no rows, and unlock and unpin it.  It is new (the inserter that added
 * it crashed, or has not used it yet), or an overflow page or lock page, which stays as long as
 * its table page.
 */
static void
skip_page(ZVacuum *vac, Buffer buffer, BlockNumber block)
{
	Page		page = BufferGetPage(buffer);
	bool		is_new = PageIsNew(page);

	Assert(is_new || zpage_is_overflow(page));
	if (!is_new)
		vacuum_overflow_page_add(vac, block, page);
	UnlockReleaseBuffer(buffer);

	if (is_new && GetRecordedFreeSpace(vac->rel, block) == 0)
		RecordPageWithFreeSpace(vac->rel, block, ZPAGE_MAP_EMPTY);
}

/*
 * Scan the page in the buffer, and unpin it.  It is locked exclusively while it is pruned and
 * marked; its rows are counted on a copy.
 */
static void
scan_page(ZVacuum *vac, Buffer buffer, BlockNumber block)
{
	OffsetNumber dead[ZPAGE_MAX_OFFSET];
	int			ndead;
	Buffer		overflow_buf;
	Size		space;
	bool		has_rows;

	Assert(block < vac->npages);
	vacuum_pin_map(vac, block);
	if (zrollback_page(vac->rel, buffer))
		vac->rolled_back++;
	zundo_open();
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	vac->scanned++;

	if (!zview_attach(&vac->view, buffer, BUFFER_LOCK_EXCLUSIVE, &overflow_buf))
	{
		skip_page(vac, buffer, block);
		return;
	}

	vac->pruned += zdml_prune_page(&vac->view, buffer, NULL);
	ndead = list_dead(vac->view.page, dead);
	Assert(ndead <= ZPAGE_MAX_OFFSET);
	(void) zview_copy_viewed(&vac->view, buffer, &overflow_buf);

	/* without indexes nothing can name the dead pointers */
	if (ndead > 0 && vac->nindexes == 0)
	{
		zdml_reclaim_pointers(vac->rel, buffer, dead, ndead);
		pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, block);
	}
	vacuum_mark_visible(vac, buffer);

	space = zpage_free_for_map(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	has_rows = count_page_rows(vac);
	if (has_rows)
		vacuum_stale_collect(vac);
	RecordPageWithFreeSpace(vac->rel, block, space);

	if (ndead > 0)
	{
		vac->dead_pages++;
		vac->dead_pointers += ndead;
		if (vac->nindexes > 0 && vac->do_indexes)
			vacuum_dead_add(vac, block, dead, ndead);
	}

	/* dead pointers do not keep a page if they are about to be freed: truncation checks again */
	if (has_rows || (ndead > 0 && vac->nindexes > 0 && !vac->do_indexes))
		vac->nonempty = Max(vac->nonempty, block + 1);
}

/*
 * Read stream callback: return the next block that is not skipped.  It may read pages of the
 * visibility map, so there is no batching.
 */
static BlockNumber
block_to_scan(ReadStream *stream, void *private, void *per_buffer)
{
	ZVacuum    *vac = private;

	while (vac->next < vac->npages)
	{
		BlockNumber block = vac->next++;

		if (!vacuum_may_skip(vac, block))
			return block;
		CHECK_FOR_INTERRUPTS();
		/* it has rows (P6) */
		vac->skipped++;
		vac->nonempty = block + 1;
	}
	return InvalidBlockNumber;
}

/* Do rounds over the indexes if there may be no room for the pointers of another page. */
static void
make_rounds(ZVacuum *vac)
{
	bool		dead_full = vacuum_dead_is_full(vac);
	bool		stale_full = vacuum_stale_is_full(vac);

	if (!dead_full && !stale_full)
		return;
	if (dead_full)
	{
		vac->may_bypass = false;
		vacuum_reap(vac);
	}
	if (stale_full)
		vacuum_stale_reap(vac);
	vac->doing = VACUUM_SCANNING;
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_SCAN_HEAP);
}

/*
 * Scan all pages of the stream, with rounds over the indexes as needed, and update the upper
 * levels of the free space map from time to time.
 */
static void
scan_pages(ZVacuum *vac, ReadStream *stream)
{
	BlockNumber fsm_done = 0;
	Buffer		buffer;

	for (;;)
	{
		vacuum_delay_point(false);
		make_rounds(vac);
		vac->block = InvalidBlockNumber;
		buffer = read_stream_next_buffer(stream, NULL);
		if (!BufferIsValid(buffer))
			break;
		vac->block = BufferGetBlockNumber(buffer);
		pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_SCANNED, vac->block);
		scan_page(vac, buffer, vac->block);
		if (vac->block - fsm_done >= FSM_INTERVAL)
		{
			FreeSpaceMapVacuumRange(vac->rel, fsm_done, vac->block);
			fsm_done = vac->block;
		}
	}
	FreeSpaceMapVacuumRange(vac->rel, fsm_done, vac->npages);
}

void
vacuum_scan(ZVacuum *vac)
{
	ReadStream *stream;

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_SCAN_HEAP);
	pgstat_progress_update_param(PROGRESS_VACUUM_TOTAL_HEAP_BLKS, vac->npages);
	zcompat_progress_max_dead(vac->dead_info);

	vac->doing = VACUUM_SCANNING;
	vac->next = 0;
	stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE, vac->strategy, vac->rel,
										MAIN_FORKNUM, block_to_scan, vac, 0);
	scan_pages(vac, stream);
	read_stream_end(stream);
	vac->doing = VACUUM_NO_BLOCK;
	pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_SCANNED, vac->npages);
}
