/*
 * rollback_log.c
 *		Read an undo log, and roll back the pages of aborted transactions.
 *
 * A log is read forwards from its first unapplied record.  Records name their transaction and
 * page; for an aborted transaction the page is rolled back, once per run of records about it.
 * A record that cannot be applied now (a transaction in progress, a table that another session
 * has locked, a damaged page) is where a later sweep begins.
 *
 * LOCKING: the caller has locked the undo relation; the files of tables as in rollback_table.c.
 * No buffer lock between two records.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/record/record.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"

#include "rollback_sweep.h"

/* pages rolled back per transaction of the worker */
#define PAGES_PER_TRANSACTION	10000

void
zsweep_leave_files(Sweep *sweep)
{
	sweep->rel = NULL;
	sweep->rel_oid = InvalidOid;
	sweep->files_known = false;
}

/*
 * Find the files that the record's page may be in: one as a rule.  They stay known until one
 * has to be left.
 */
static void
find_files(Sweep *sweep)
{
	if (sweep->files_known && RelFileLocatorEquals(sweep->files_of, sweep->locator))
		return;
	zsweep_leave_files(sweep);
	sweep->nfiles = zrollback_find_files(sweep->locator, sweep->files);
	for (int i = 0; i < sweep->nfiles; i++)
		sweep->states[i] = ZTABLE_OPEN;
	sweep->files_of = sweep->locator;
	sweep->files_known = true;
}

/*
 * Open the table of one of these files, as sweep->rel, or return why it is not open.  A table
 * that could not be opened is not tried again for the next records.
 */
static ZTableState
open_recorded(Sweep *sweep, int i)
{
	Oid			oid = InvalidOid;

	sweep->rel = NULL;
	sweep->rel_oid = InvalidOid;
	if (sweep->states[i] != ZTABLE_OPEN)
		return sweep->states[i];
	sweep->states[i] = zrollback_find_table(sweep->files[i], sweep->fxid, &sweep->rel, &oid);
	if (sweep->states[i] == ZTABLE_OPEN)
	{
		sweep->rel_oid = oid;
		sweep->rel_name = sweep->rel->rd_rel->relname;
	}
	else if (sweep->states[i] == ZTABLE_BUSY && !OidIsValid(sweep->left_relid))
		sweep->left_relid = oid;
	return sweep->states[i];
}

/*
 * Check R6: a later sweep begins at or before this record, and the horizon stays at or before
 * its transaction.
 */
static void
check_left(const Sweep *sweep, const ZUndoSwept *swept)
{
	Assert(swept->upto != ZUNDO_INVALID);
	Assert(swept->extents <= sweep->context_passed);
	Assert(!FullTransactionIdFollows(swept->oldest, sweep->fxid));
}

/*
 * Note in *swept that the record is left: the first such record, or its context, and the oldest
 * xid.
 */
static void
note_left(const Sweep *sweep, ZUndoSwept *swept)
{
	Assert(sweep->context != ZUNDO_INVALID);
	Assert(FullTransactionIdIsValid(sweep->fxid));
	if (swept->upto == ZUNDO_INVALID)
	{
		swept->upto = sweep->context;
		swept->extents = sweep->context_passed;
	}
	if (!FullTransactionIdIsValid(swept->oldest) ||
		FullTransactionIdPrecedes(sweep->fxid, swept->oldest))
		swept->oldest = sweep->fxid;
	/* a transaction that alternates with its subtransactions counts more than once */
	if (!sweep->active && !FullTransactionIdEquals(sweep->fxid, sweep->last))
		swept->left++;
	check_left(sweep, swept);
}

void
zsweep_leave_record(Sweep *sweep)
{
	note_left(sweep, &sweep->swept);
	sweep->last = sweep->fxid;
}

/*
 * Prefetch pages that the next records name: records on this undo page, of this transaction and
 * table.
 */
static void
ask_for_pages(Sweep *sweep, ZUndoReader *reader)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(sweep->rel);

	if (zundo_ptr_block(sweep->asked) != zundo_ptr_block(sweep->at) ||
		zundo_ptr_offset(sweep->asked) < zundo_ptr_offset(sweep->at))
		sweep->asked = sweep->at;
	while (zprefetch_wants(&sweep->prefetch))
	{
		ZUndoPtr	next = zundo_next_read(reader, sweep->asked);
		ZUndoRecord rec;
		const char *bytes;
		Size		len;

		if (next == ZUNDO_INVALID)
			break;
		bytes = zundo_read(reader, next, &len);
		if (bytes == NULL || zrec_undo_decode(bytes, len, next, ZFORM_LOG, &rec) == 0 ||
			(rec.has_xact && !FullTransactionIdEquals(rec.fxid, sweep->fxid)) ||
			(rec.has_page && !RelFileLocatorEquals(rec.locator, sweep->files_of)))
			break;
		sweep->asked = next;
		if (rec.has_page && rec.block < nblocks)	/* else the table has become shorter */
			zprefetch_ask(&sweep->prefetch, sweep->rel, rec.block);
	}
}

/* Roll back the page that the records are about, in the file that is open. */
static void
sweep_page(Sweep *sweep, ZUndoReader *reader)
{
	MemoryContext outer = MemoryContextSwitchTo(sweep->scratch);
	int64		misses = zprefetch_misses();

	Assert(sweep->status == ZXACT_ABORTED && !sweep->page_done);
	Assert(RelationGetRelid(sweep->rel) == sweep->rel_oid);
	if (sweep->prefetch.distance > 0)
		ask_for_pages(sweep, reader);
	zrollback_block(sweep->rel, sweep->block);
	zprefetch_note_read(&sweep->prefetch, sweep->rel, misses);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(sweep->scratch);
	sweep->pages++;
	zrollback_worker_progress(0, 1);
}

/*
 * Roll back the page in each of the files that it may be in, from number "first" on.  Return
 * false if a table is locked by other sessions.
 */
static bool
sweep_files(Sweep *sweep, ZUndoReader *reader, int first)
{
	bool		done = true;

	find_files(sweep);
	for (int i = first; i < sweep->nfiles; i++)
	{
		sweep->file = i;
		switch (open_recorded(sweep, i))
		{
			case ZTABLE_OPEN:
				sweep_page(sweep, reader);
				break;
			case ZTABLE_BUSY:
				done = false;
				break;
			case ZTABLE_OTHER:
			case ZTABLE_GONE:
				break;
		}
	}
	return done;
}

/*
 * Handle one record: update the context, and roll back the page unless it is done, or leave the
 * record.  ERROR (data_corrupted) if the first record of an undo page does not name its
 * transaction and page.
 */
static void
sweep_record(Sweep *sweep, ZUndoReader *reader, ZUndoPtr ptr, const ZUndoRecord *rec)
{
	bool		busy;

	if (rec->has_xact && rec->has_page)
	{
		sweep->context = ptr;
		sweep->context_passed = sweep->passed;
	}
	if (sweep->context == ZUNDO_INVALID)
		zheap_corrupt(zundo_relation(), zundo_ptr_block(ptr), InvalidOffsetNumber,
					  "undo record at offset %u does not name its transaction and page",
					  zundo_ptr_offset(ptr));
	if (rec->has_xact)
	{
		sweep->fxid = rec->fxid;
		sweep->status = zmvcc_xact_status(rec->fxid);
		sweep->page_done = false;
	}
	if (rec->has_page)
	{
		sweep->locator = rec->locator;
		sweep->block = rec->block;
		sweep->page_done = false;
	}
	if (sweep->status == ZXACT_IN_PROGRESS || sweep->status == ZXACT_OWN)
	{
		if (rec->has_xact && !sweep->active)
			sweep->active = zundo_is_first_active(sweep->log, ptr);
		zsweep_leave_record(sweep);
	}
	if (sweep->status != ZXACT_ABORTED || sweep->page_done)
		return;
	sweep->rolling_back = true;
	busy = !sweep_files(sweep, reader, ptr == sweep->skip ? sweep->skip_files : 0);
	sweep->rolling_back = false;
	if (busy)
	{
		zsweep_leave_record(sweep);
		sweep->locked = true;
		return;					/* page_done stays false: its other records are left as well */
	}
	sweep->page_done = true;
}

/*
 * Leave the tables that other backends wait for: to drop, truncate or move them, in a statement
 * that may have a short lock_timeout.
 */
static void
make_way(Sweep *sweep)
{
	if (zrollback_tables_make_way())
		zsweep_leave_files(sweep);
}

/*
 * Return whether the sweep's transaction is to end, which releases the locks on the undo
 * relation, too.  VACUUM's cannot.
 */
static bool
is_to_pause(const Sweep *sweep)
{
	if (sweep->pages >= PAGES_PER_TRANSACTION || zrollback_worker_is_to_leave())
		return true;
	return sweep->own_transactions &&
		LockHasWaitersRelation(zundo_relation(), ShareUpdateExclusiveLock);
}

void
zsweep_read(Sweep *sweep, ZUndoReader *reader)
{
	bool		new_page = true;

	if (sweep->jump)
	{
		sweep->at = zundo_skip_page(reader, &sweep->jump_block, sweep->jump_generation);
		sweep->jump = false;
		sweep->context = ZUNDO_INVALID;
	}
	while (sweep->at != ZUNDO_INVALID)
	{
		ZUndoPtr	ptr = sweep->at;
		ZUndoRecord rec;
		Size		len;
		const char *bytes;

		CHECK_FOR_INTERRUPTS();
		bytes = zundo_read(reader, ptr, &len);
		if (bytes == NULL || zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, &rec) == 0)
			zheap_corrupt(zundo_relation(), zundo_ptr_block(ptr), InvalidOffsetNumber,
						  "undo record at offset %u cannot be read", zundo_ptr_offset(ptr));
		if (rec.has_xact && rec.has_page && is_to_pause(sweep))
			break;
		if (new_page || rec.has_page)
			make_way(sweep);
		sweep_record(sweep, reader, ptr, &rec);
		sweep->at = zundo_next(reader, ptr, &new_page);
		if (new_page && zundo_ptr_block(sweep->at) % ZUNDO_EXTENT_BLOCKS == 0)
			sweep->passed++;
		zrollback_worker_progress(new_page ? BLCKSZ : 0, 0);
	}
}
