/*
 * rollback_sweep.c
 *		Sweep undo logs for transactions that aborted.
 *
 * A log is read forwards from its first unapplied record.  Records name their transaction and
 * page; for an aborted transaction the page is rolled back, once per run of records about it.
 * A record that cannot be applied now (a transaction in progress, a table that another session
 * has locked, a damaged page) is where a later sweep begins.
 *
 * LOCKING: the undo relation ShareUpdateExclusive, so that one sweep of a database runs at a
 * time; the files of tables as in rollback_table.c.  No buffer lock between two records.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/prefetch.h"
#include "zheap/mvcc/mvcc.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_pending.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_read.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"

#include "rollback_private.h"

/* pages rolled back per transaction of the worker */
#define PAGES_PER_TRANSACTION	10000

/*
 * Milliseconds after which the records left are tried again: because a table was locked, or
 * because of an error.  Doubled each time, up to the limit.
 */
#define FIRST_RETRY_LOCKED	200
#define LAST_RETRY_LOCKED	10000
#define FIRST_RETRY_FAILED	1000
#define LAST_RETRY_FAILED	60000

typedef struct Sweep
{
	int			log;
	ZUndoPtr	at;				/* the next record to read; invalid at the end of the log */

	/* context, set by the records */
	FullTransactionId fxid;
	RelFileLocator locator;
	BlockNumber block;

	ZUndoPtr	context;		/* the record that named both: a sweep may begin there */
	ZXactStatus	status;			/* of fxid */
	bool		page_done;		/* true if the page of this run of records is done */
	ZPrefetch	prefetch;		/* of pages that the following records name */
	ZUndoPtr	asked;			/* last record whose page has been prefetched */

	bool		own_transactions;	/* true in a worker, which makes way for other sessions */
	RelFileLocator files_of;		/* the file that the record names, for which files[] was set */
	bool		files_known;
	int			nfiles;			/* number of files that may have the page: */
	RelFileLocator files[ZROLLBACK_MAX_FILES];
	ZTableState states[ZROLLBACK_MAX_FILES];	/* ZTABLE_OPEN: not tried yet, or it was open */
	int			file;			/* the file being rolled back: */
	Relation	rel;			/* its table, or NULL if not open */
	Oid			rel_oid;
	NameData	rel_name;

	uint32		passed;			/* extents read to their end since the sweep began */
	uint32		context_passed;	/* of these, up to the context */

	ZUndoSwept	swept;			/* upto: the first record that could not be applied, or its
								 * context */
	FullTransactionId last;		/* the transaction of the last such record */
	bool		active;			/* the following records are of the log owner's transaction */
	bool		locked;			/* true if records were left because their table was locked */
	bool		failed;			/* true if records were left because of an error */
	Oid			left_relid;		/* the table of the first such record, or invalid */
	Oid			reported;		/* table whose errors have been reported */
	bool		rolling_back;	/* true while a page is rolled back: an error is about the page
								 * or its table */
	bool		damaged;		/* true if some undo cannot be read */
	bool		jump;			/* go on behind this undo page: */
	BlockNumber jump_block;
	uint16		jump_generation;
	ZUndoPtr	skip;			/* the record whose page failed last; */
	int			skip_files;		/* its first skip_files files are done */
	uint64		pages;
	MemoryContext scratch;		/* memory for one page */
} Sweep;

/* Purpose and findings of a sweep of all logs. */
typedef struct SweepMode
{
	bool		own_transactions;	/* a worker's; else it runs in the caller's transaction */
	bool		skip;			/* give up pages that cannot be rolled back because of damage */
	uint64		given_up;		/* number of pages given up */
	List	   *doubtful;		/* of Doubtful: logs about which the tables' pages have to prove
								 * more */
	FullTransactionId next;		/* all older transactions must have ended before that */
} SweepMode;

/* A log that was swept, except for records that could not be read, or rolled back. */
typedef struct Doubtful
{
	ZUndoPending pending;
	Sweep		sweep;
} Doubtful;

/* Forget the tables: those of the next record are searched for anew. */
static void
leave_files(Sweep *sweep)
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
	leave_files(sweep);
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

static void
leave_unapplied(Sweep *sweep)
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
					  "undo record at offset %u does not tell its transaction",
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
		leave_unapplied(sweep);
	}
	if (sweep->status != ZXACT_ABORTED || sweep->page_done)
		return;
	sweep->rolling_back = true;
	busy = !sweep_files(sweep, reader, ptr == sweep->skip ? sweep->skip_files : 0);
	sweep->rolling_back = false;
	if (busy)
	{
		leave_unapplied(sweep);
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
		leave_files(sweep);
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

/*
 * Read one log from sweep->at on.  Stop after PAGES_PER_TRANSACTION pages, or when a worker has
 * to leave, or another backend waits for the undo relation.
 */
static void
sweep_log(Sweep *sweep, ZUndoReader *reader)
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

/*
 * Begin a part of the sweep.  Return false if another sweep is under way: a worker's and
 * VACUUM's would only do each other's work again.  The undo relation is locked,
 * ShareUpdateExclusive, if the result is true; VACUUM has that lock already.
 */
static bool
begin(bool own_transactions)
{
	if (!own_transactions)
	{
		zundo_open();
		return true;
	}
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	zundo_open();
	return ConditionalLockRelation(zundo_relation(), ShareUpdateExclusiveLock);
}

static void
end(bool own_transactions)
{
	if (own_transactions)
	{
		PopActiveSnapshot();
		CommitTransactionCommand();
		pgstat_report_stat(false);
	}
}

/* Read a part of the log; called by zrollback_try(). */
static void
read_some(void *arg)
{
	Sweep	   *sweep = arg;
	ZUndoReader reader;

	sweep->scratch = AllocSetContextCreate(CurrentMemoryContext, "zheap page", ALLOCSET_SMALL_SIZES);
	zundo_reader_open(&reader, CurrentMemoryContext, false);
	sweep_log(sweep, &reader);
	leave_files(sweep);
	zrollback_tables_close();
	zundo_reader_close(&reader);
}

/* Note that some of the log's undo is unknown, from here on or from an earlier place. */
static void
note_damage(Sweep *sweep, ZUndoPtr from, uint32 extents)
{
	if (sweep->swept.upto == ZUNDO_INVALID)
	{
		sweep->swept.upto = from;
		sweep->swept.extents = extents;
	}
	sweep->swept.oldest = zundo_horizon();
	if (!sweep->damaged)
		sweep->swept.left++;
	sweep->damaged = sweep->failed = true;
	Assert(sweep->swept.upto != ZUNDO_INVALID);
}

/*
 * Skip undo that cannot be read: go on at the next page, which begins with a full context.  No
 * transaction in the undo that is skipped is older than the horizon.  Behind an extent whose
 * first page is lost nothing can be found.
 */
static void
pass_undo(Sweep *sweep, const ErrorData *error)
{
	Assert(!sweep->rolling_back);
	if (sweep->damaged)
		zrollback_error_count(error->message);
	else
		zrollback_error_report(error, InvalidOid,
						   psprintf(_("could not roll back rows of undo log %d: %s"),
									sweep->log, error->message));
	note_damage(sweep, sweep->context != ZUNDO_INVALID ? sweep->context : sweep->at,
				sweep->context_passed);
	if (!sweep->jump)
	{
		sweep->jump = true;
		sweep->jump_block = zundo_ptr_block(sweep->at);
		sweep->jump_generation = zundo_ptr_generation(sweep->at);
	}
	else if (zundo_is_last_of_extent(sweep->jump_block))
	{
		sweep->jump = false;
		sweep->at = ZUNDO_INVALID;
	}
}

/* Leave a page that cannot be rolled back, and go on behind it. */
static void
pass_page(Sweep *sweep, const ErrorData *error)
{
	Assert(sweep->rolling_back && sweep->status == ZXACT_ABORTED);
	leave_unapplied(sweep);
	sweep->failed = true;
	sweep->skip = sweep->at;
	sweep->skip_files = sweep->file + 1;
	if (!OidIsValid(sweep->left_relid))
		sweep->left_relid = sweep->rel_oid;
	if (!OidIsValid(sweep->rel_oid))
		zrollback_error_report(error, InvalidOid,
						   psprintf(_("could not roll back rows in block %u of the table with file %u: %s"),
									sweep->block, sweep->locator.relNumber, error->message));
	else if (sweep->reported != sweep->rel_oid)
		zrollback_error_report(error, sweep->rel_oid,
						   psprintf(_("could not roll back rows in block %u of table \"%s\": %s"),
									sweep->block, NameStr(sweep->rel_name), error->message));
	else
		zrollback_error_count(error->message);
	sweep->reported = sweep->rel_oid;
}

/*
 * Return whether the error says something about the undo.  A lack of memory or locks does not:
 * the sweep is repeated as a whole, and no undo is given up for it.
 */
static bool
is_about_undo(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES;
}

/* Read the log in a subtransaction for many pages; in a new one after an error, which is rare. */
static void
sweep_some(Sweep *sweep)
{
	ErrorData  *error;

	Assert(CheckRelationLockedByMe(zundo_relation(), ShareUpdateExclusiveLock, true));
	while ((error = zrollback_try(read_some, sweep)) != NULL)
	{
		if (sweep->rolling_back)
			pass_page(sweep, error);
		else if (is_about_undo(error))
			pass_undo(sweep, error);
		else
			ReThrowError(error);
		zrollback_tables_forget();
		leave_files(sweep);
		sweep->rolling_back = false;
		FreeErrorData(error);
	}
	sweep->pages = 0;
}

/* Mark as applied what the sweep has done: the log's end has not been reached. */
static void
mark_so_far(const Sweep *sweep, ZUndoPending *pending)
{
	ZUndoSwept	swept = {.upto = sweep->at, .extents = sweep->passed};

	Assert(swept.upto != ZUNDO_INVALID);
	if (sweep->swept.upto != ZUNDO_INVALID)
	{
		swept.upto = sweep->swept.upto;
		swept.extents = sweep->swept.extents;
	}
	zundo_pending_mark_applied(pending, &swept);
}

/* Mark the log as swept: its end has been reached.  Back off if records were left. */
static void
finish(const Sweep *sweep, ZUndoPending *pending)
{
	/* R6: if any record was left, upto is at or before it */
	Assert(sweep->at == ZUNDO_INVALID && !sweep->jump);
	Assert(sweep->swept.upto != ZUNDO_INVALID || !(sweep->failed || sweep->locked));
	zundo_pending_mark_applied(pending, &sweep->swept);
	if (sweep->failed)
		zundo_pending_back_off(pending, FIRST_RETRY_FAILED, LAST_RETRY_FAILED,
							   sweep->left_relid);
	else if (sweep->locked)
		zundo_pending_back_off(pending, FIRST_RETRY_LOCKED, LAST_RETRY_LOCKED,
							   sweep->left_relid);
}

/*
 * Remember that the log's sweep was incomplete.  The log has backed off, and stays so if we are
 * cancelled.  When all logs were swept, the tables may prove that less of it is left.  "next":
 * the next xid at the sweep's begin, or when it last reported its progress; no earlier log's is
 * newer.
 */
static void
note_doubtful(SweepMode *mode, const Sweep *sweep, const ZUndoPending *pending,
			  FullTransactionId next)
{
	Doubtful   *doubtful = palloc(sizeof(Doubtful));

	doubtful->sweep = *sweep;
	doubtful->pending = *pending;
	mode->doubtful = lappend(mode->doubtful, doubtful);
	mode->next = next;
}

/*
 * Look through all tables, after all older transactions have ended.  Return whether no aborted
 * change is left.
 */
static bool
tables_are_clean(SweepMode *mode)
{
	if (zrollback_wait_for_older(mode->next))
		return zrollback_all_tables(mode->skip, &mode->given_up);
	ereport(WARNING,
			(errmsg("tables were not looked through for rows to roll back"),
			 errdetail("Transaction %u, or an older one, is still in progress, perhaps prepared.",
					   GetOldestActiveTransactionId(false, true)),
			 errhint("Repeat it when that has ended.")));
	return false;
}

/*
 * Look through all tables because some undo of these logs could not be read.  If nothing of
 * transactions older than mode->next is left, then no undo that these sweeps read, or skipped,
 * is needed: those transactions have ended, and the others began after the sweeps last reported
 * their progress, so that each makes its log pending from its own first record when it aborts
 * or is prepared, and that mark is kept apart.  The records that a sweep has seen of them do
 * not prove where they begin: that may be on an unreadable page (R10).  One look at the tables
 * serves all logs.  Meanwhile no other process sweeps, because this one has the lock.
 */
static void
settle_doubtful(SweepMode *mode)
{
	ListCell   *cell;
	bool		clean;

	if (mode->doubtful == NIL)
		return;
	zundo_hold_sweeps(true);
	clean = tables_are_clean(mode);
	zundo_hold_sweeps(false);
	foreach(cell, mode->doubtful)
	{
		Doubtful   *doubtful = lfirst(cell);
		Sweep	   *sweep = &doubtful->sweep;

		if (!clean)
			break;
		sweep->swept = (ZUndoSwept) {.upto = ZUNDO_INVALID};
		sweep->failed = sweep->locked = false;
		finish(sweep, &doubtful->pending);
	}
	list_free_deep(mode->doubtful);
	mode->doubtful = NIL;
}

/*
 * Sweep one log to its end, within a transaction on entry and exit.  The progress is marked
 * each time a transaction ends, so that the next sweep goes on there.  Return false if the log
 * is to be continued another time.
 */
static bool
sweep_pending(ZUndoPending *pending, SweepMode *mode)
{
	Sweep		sweep = {.log = pending->log, .at = pending->from,
	.own_transactions = mode->own_transactions};
	FullTransactionId next = ReadNextFullTransactionId();

	zprefetch_init(&sweep.prefetch, ZREADER_ROLLBACK);
	/* tables of a sweep that was cancelled */
	zrollback_tables_forget();
	for (;;)
	{
		sweep_some(&sweep);
		if (sweep.at == ZUNDO_INVALID)
			break;
		mark_so_far(&sweep, pending);
		/* this sweep takes over the transactions newly aborted by now (R10) */
		next = ReadNextFullTransactionId();
		if (zrollback_worker_is_to_leave())
			return false;
		if (mode->own_transactions)
		{
			end(true);
			if (!begin(true) || !zundo_pending_is_newest(pending))
				return false;
		}
	}
	/* the end of a sealed log is unknown: records may lie behind the end that was found */
	if (zundo_log_is_sealed(pending->log))
		note_damage(&sweep, pending->from, 0);
	finish(&sweep, pending);
	if (!mode->own_transactions && (sweep.damaged || (mode->skip && sweep.failed)))
		note_doubtful(mode, &sweep, pending, next);
	return true;
}

/* Sweep all pending logs, each once.  Return true if the sweep was broken off. */
static bool
sweep_all(SweepMode *mode)
{
	ZUndoPending pending = {.log = -1};
	bool		left = false;
	bool		more = true;

	Assert(IsTransactionState() == !mode->own_transactions);
	while (more)
	{
		if (!begin(mode->own_transactions))
		{
			left = true;
			more = false;
		}
		else if (!zundo_pending_next(pending.log, !mode->own_transactions, &pending))
			more = false;
		else if (!sweep_pending(&pending, mode))
		{
			left = true;
			more = false;
		}
		end(mode->own_transactions);
	}
	settle_doubtful(mode);
	return left;
}

bool
zrollback_sweep(bool own_transactions)
{
	SweepMode	mode = {.own_transactions = own_transactions};

	return sweep_all(&mode);
}

void
zrollback_refuse_changed(void)
{
	if (zundo_is_writing() || TransactionIdIsValid(GetTopTransactionIdIfAny()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("undo cannot be given up by a transaction that has changed something")));
}

uint64
zrollback_skip(void)
{
	SweepMode	mode = {.skip = true};

	zrollback_refuse_changed();
	zundo_open();
	LockRelation(zundo_relation(), ShareUpdateExclusiveLock);
	(void) sweep_all(&mode);
	return mode.given_up;
}

/*
 * Where no xids are assigned, no snapshot will be newer than those for which the horizon waits:
 * check that there are none, and let the horizon advance.
 */
void
zrollback_vacuum(void)
{
	(void) zrollback_sweep(false);
	if (IsUnderPostmaster && !zheap_xids_are_refused())
		return;
	if (!zundo_is_quiet())
		return;
	if (XLogStandbyInfoActive())
		(void) zrec_conflict_emit(zundo_relation(), ReadNextFullTransactionId());
	zundo_pins_waive();
}
