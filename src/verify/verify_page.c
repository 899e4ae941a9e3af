/*
 * verify_page.c
 *		Check a page of a zheap table with its transaction slots, overflow and lock pages, and its
 *		bits in the visibility map.
 *
 * Other backends may change the page meanwhile.  So things that must agree are copied at one
 * moment: the page and its overflow page under both locks, the map's bits under the page's.
 * Things that only grow (lock pages, the next xid) are read after that.
 *
 * LOCKING: the table page, shared; then its overflow page (L1).  Lock pages one by one.
 */
#include "postgres.h"

#include "zheap/page/page.h"
#include "zheap/page/page_plan.h"

#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "verify_private.h"

typedef struct PageCopies
{
	PGAlignedBlock table;
	PGAlignedBlock overflow;
	BlockNumber overflow_block; /* invalid if the page names none */
	bool		has_overflow;	/* true if it exists and was copied */
	bool		in_map;			/* true if the page is all-visible in the map */
} PageCopies;

/* Copy the page, its overflow page and its bit of the map at one moment.  No lock is kept. */
static void
copy_together(Verify *verify, PageCopies *copies)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(verify->rel);
	Buffer		buffer = ReadBuffer(verify->rel, verify->block);
	Page		page = copies->table.data;
	Buffer		map = InvalidBuffer;

	/* the map's page is read before the table's is locked */
	(void) VM_ALL_VISIBLE(verify->rel, verify->block, &map);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	copies->in_map = VM_ALL_VISIBLE(verify->rel, verify->block, &map);
	copies->has_overflow = false;
	copies->overflow_block = InvalidBlockNumber;
	if (!PageIsNew(page) && zpage_check_header(page) == NULL)
		copies->overflow_block = zpage_trailer(page)->overflow;
	/* the table may have been extended by this overflow page since we asked for its size */
	if (copies->overflow_block != InvalidBlockNumber &&
		copies->overflow_block != verify->block &&
		(copies->overflow_block < nblocks ||
		 copies->overflow_block < RelationGetNumberOfBlocks(verify->rel)))
	{
		Buffer		overflow = ReadBuffer(verify->rel, copies->overflow_block);

		LockBuffer(overflow, BUFFER_LOCK_SHARE);
		memcpy(copies->overflow.data, BufferGetPage(overflow), BLCKSZ);
		UnlockReleaseBuffer(overflow);
		copies->has_overflow = true;
	}
	UnlockReleaseBuffer(buffer);
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}

/*
 * On a standby, wait until the record that changed the page last has been replayed: replay locks
 * pages one by one, so only then do they agree.  Return whether it has been: false if the server
 * is not in recovery, or after a second.
 */
static bool
wait_for_replay(Page page)
{
	XLogRecPtr	lsn = PageGetLSN(page);

	for (int i = 0; i < 1000 && RecoveryInProgress(); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (GetXLogReplayRecPtr(NULL) >= lsn)
			return true;
		pg_usleep(1000L);
	}
	return false;
}

/* ---- slots ---- */

/*
 * Report what is wrong with a slot; then the page is not usable.  "next" is the next xid, read after
 * the page was copied.
 */
static void
check_slot(Verify *verify, const ZPageSlot *slot, int slotno, FullTransactionId next)
{
	FullTransactionId fxid = zpage_slot_fxid(slot);

	if (U64FromFullTransactionId(fxid) == 0)
	{
		if (zpage_slot_count(slot) == 0)
			return;
		verify_report(verify, "slot", "transaction slot %d is free, but has %d records", slotno,
					  zpage_slot_count(slot));
	}
	else if (!FullTransactionIdIsNormal(fxid) || !TransactionIdIsNormal(zfxid_xid(fxid)) ||
		!FullTransactionIdPrecedes(fxid, next))
		verify_report(verify, "slot",
					  "transaction slot %d belongs to transaction %llu, which has not begun yet",
					  slotno, (unsigned long long) U64FromFullTransactionId(fxid));
	else if (zpage_slot_count(slot) > ZCHAIN_INTERVAL)
		verify_report(verify, "slot",
					  "transaction slot %d has %d records above its newest directory, over %d",
					  slotno, zpage_slot_count(slot), ZCHAIN_INTERVAL);
	else if (slot->undo == ZUNDO_INVALID)
		verify_report(verify, "slot", "transaction slot %d has an owner, but no undo", slotno);
	else
		return;
	verify->usable = false;
}

static void
check_overflow_slots(Verify *verify, Page page, int first, FullTransactionId next)
{
	for (int i = 0; i < ZPAGE_OVERFLOW_SLOTS; i++)
		check_slot(verify, &zpage_overflow_body(page)->slots[i], first + i, next);
}

/* ---- overflow pages and lock pages ---- */

/*
 * Check an overflow page or lock page ("name") that the current page names: it must be sound, and
 * belong to the current page.  Return whether it is right; otherwise the page is not usable.
 */
static bool
check_belongs(Verify *verify, Page page, BlockNumber block, const char *name)
{
	const char *wrong = zpage_check_overflow(page);

	if (wrong)
		verify_report(verify, "overflow", "%s page %u: %s", name, block, wrong);
	else if (zpage_overflow_body(page)->table_block != verify->block)
		verify_report(verify, "overflow", "%s page %u says that it belongs to block %u", name,
					  block, zpage_overflow_body(page)->table_block);
	else
		return true;
	verify->usable = false;
	return false;
}

/* Check the lock pages that the overflow page names, and their slots. */
static void
check_lock_pages(Verify *verify, Page overflow)
{
	const ZOverflowPageBody *body = zpage_overflow_body(overflow);
	PGAlignedBlock copy;

	for (uint32 i = 0; i < body->nlock_pages; i++)
	{
		BlockNumber block = body->lock_pages[i];
		int			first = ZPAGE_FIRST_LOCK + (int) i * ZPAGE_OVERFLOW_SLOTS;

		CHECK_FOR_INTERRUPTS();
		if (block >= RelationGetNumberOfBlocks(verify->rel))
		{
			verify_report(verify, "overflow", "lock page %u does not exist", block);
			verify->usable = false;
			continue;
		}
		zinspect_copy(verify->rel, block, copy.data);
		if (check_belongs(verify, copy.data, block, "lock"))
			check_overflow_slots(verify, copy.data, first, ReadNextFullTransactionId());
	}
}

/*
 * Return whether the table page, or its overflow page, names the current block, which is an
 * overflow page or lock page.  The table page is copied now, later than the current block.
 */
static bool
overflow_is_known(Verify *verify, BlockNumber table_block)
{
	BlockNumber overflow;
	PGAlignedBlock copy;

	zinspect_copy(verify->rel, table_block, copy.data);
	if (PageIsNew(copy.data) || zpage_check_header(copy.data) != NULL)
		return false;
	overflow = zpage_trailer(copy.data)->overflow;
	if (overflow == verify->block)
		return true;
	if (overflow >= RelationGetNumberOfBlocks(verify->rel))
		return false;
	zinspect_copy(verify->rel, overflow, copy.data);
	if (zpage_check_overflow(copy.data) != NULL)
		return false;
	for (uint32 i = 0; i < zpage_overflow_body(copy.data)->nlock_pages; i++)
	{
		if (zpage_overflow_body(copy.data)->lock_pages[i] == verify->block)
			return true;
	}
	return false;
}

/* Check an overflow page or lock page by itself, and that the page it belongs to names it. */
static void
check_is_known(Verify *verify, Page page)
{
	const char *wrong = zpage_check_overflow(page);
	BlockNumber table_block = zpage_overflow_body(page)->table_block;

	verify->usable = false;
	if (wrong)
	{
		verify_report(verify, "overflow", "%s", wrong);
		return;
	}
	if (table_block >= RelationGetNumberOfBlocks(verify->rel))
	{
		verify_report(verify, "overflow", "it belongs to block %u, which does not exist",
					  table_block);
		return;
	}
	if (overflow_is_known(verify, table_block) ||
		(wait_for_replay(page) && overflow_is_known(verify, table_block)))
		return;
	verify_report(verify, "overflow", "it belongs to block %u, which does not name it",
				  table_block);
}

/* ---- rows that heap functions have written ---- */

/* Limit of searches, each of which reads up to two segments of WAL. */
#define MAX_RECORDS_NAMED	16

/*
 * Return whether heap functions have written to the page.  It has a sound header of a zheap table,
 * or is a page of heap's.
 */
static bool
page_has_heap_rows(Verify *verify, Page page)
{
	return zpage_is_of_heap(page) ||
		(zpage_may_have_heap_rows(page, verify->block) &&
		 zpage_has_heap_rows(page, verify->block, RelationGetDescr(verify->rel))) ||
		zpage_has_changed_rows(page, verify->block, RelationGetDescr(verify->rel));
}

/* Report heap rows, with the WAL record that has changed the page last if it can be found. */
static void
report_heap_rows(Verify *verify, Page page)
{
	XLogRecPtr	lsn = PageGetLSN(page);
	char	   *record = NULL;

	verify->usable = false;
	if (!RelationNeedsWAL(verify->rel))
	{
		verify_report(verify, "heap", "an extension wrote heap rows here");
		return;
	}
	if (verify->nrecords++ < MAX_RECORDS_NAMED)
		record = zinspect_record_that_ends(lsn);
	if (record != NULL)
		verify_report(verify, "heap",
					  "an extension wrote heap rows here: the WAL record that ends at %X/%X is %s",
					  LSN_FORMAT_ARGS(lsn), record);
	else
		verify_report(verify, "heap",
					  "an extension wrote heap rows here: the WAL record that ends at %X/%X was not searched for, or is gone",
					  LSN_FORMAT_ARGS(lsn));
}

/* ---- the page ---- */

/* Check line pointers and rows, first each by itself, then all together. */
static void
check_items(Verify *verify, Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	const char *wrong;
	OffsetNumber offnum;

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		wrong = zpage_check_row(page, off);
		if (wrong == NULL)
			continue;
		verify->offnum = off;
		verify_report(verify, "row", "%s", wrong);
		verify->usable = false;
	}
	verify->offnum = InvalidOffsetNumber;
	if (!verify->usable)
		return;
	wrong = zpage_check(page, &offnum);
	if (wrong == NULL)
		return;
	verify->offnum = offnum;
	/* zpage_check() checks the mark first */
	verify_report(verify, PageIsAllVisible(page) && !zpage_may_be_visible(page) ? "map" : "row",
				  "%s", wrong);
	verify->offnum = InvalidOffsetNumber;
}

/* Check that rows without REUSED name slots that have an owner (S3). */
static void
check_named_slots(Verify *verify, Page page, Page overflow)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		ZRowHeader	hdr;

		if (!ItemIdIsNormal(lp))
			continue;
		zrow_header_get((const char *) page + ItemIdGetOffset(lp), &hdr);
		if (hdr.slotno == 0 || (hdr.flags & ZROW_REUSED) ||
			FullTransactionIdIsValid(zpage_slot_fxid(zpage_slot(page, overflow, hdr.slotno))))
			continue;
		verify->offnum = off;
		verify_report(verify, "slot", "row names transaction slot %d, which is free", hdr.slotno);
	}
	verify->offnum = InvalidOffsetNumber;
}

/* Check the slots of the page, and its overflow page and lock pages with theirs. */
static void
check_slots(Verify *verify, PageCopies *copies)
{
	FullTransactionId next = ReadNextFullTransactionId();
	Page		page = copies->table.data;
	int			nslots = zpage_nslots(page);

	for (int i = 1; i <= nslots; i++)
		check_slot(verify, zpage_slot(page, NULL, i), i, next);
	if (copies->overflow_block == InvalidBlockNumber)
		return;
	if (!copies->has_overflow)
	{
		verify_report(verify, "overflow", "overflow page %u does not exist",
					  copies->overflow_block);
		verify->usable = false;
		return;
	}
	if (!check_belongs(verify, copies->overflow.data, copies->overflow_block, "overflow"))
		return;
	check_overflow_slots(verify, copies->overflow.data, ZPAGE_FIRST_OVERFLOW, next);
	check_lock_pages(verify, copies->overflow.data);
}

static bool
is_marked_in_map_only(const PageCopies *copies)
{
	Page		page = (Page) copies->table.data;

	return copies->in_map && (PageIsNew(page) || !PageIsAllVisible(page));
}

void
verify_page(Verify *verify)
{
	PageCopies	copies;
	Page		page = copies.table.data;
	const char *wrong;

	verify->usable = false;
	copy_together(verify, &copies);
	/* the page may be changed again each time */
	for (int i = 0; i < 100 && is_marked_in_map_only(&copies) && wait_for_replay(page); i++)
	{
		XLogRecPtr	lsn = PageGetLSN(page);

		copy_together(verify, &copies);
		if (PageGetLSN(page) == lsn)
			break;
	}
	if (is_marked_in_map_only(&copies))
		verify_report(verify, "map",
					  "page is not marked all-visible, but its bit in the visibility map is set");
	if (PageIsNew(page))
		return;
	if (zpage_is_overflow(page))
	{
		check_is_known(verify, page);
		return;
	}
	wrong = zpage_check_header(page);
	if (wrong != NULL && !zpage_is_of_heap(page))
	{
		verify_report(verify, "page", "%s", wrong);
		return;
	}
	if (page_has_heap_rows(verify, page))
	{
		report_heap_rows(verify, page);
		return;
	}
	verify->usable = true;
	check_slots(verify, &copies);
	if (verify->usable)
		check_items(verify, page);
	if (verify->usable)
		check_named_slots(verify, page, copies.has_overflow ? copies.overflow.data : NULL);
}
