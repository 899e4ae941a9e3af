/*
 * rollback_sweep.c
 *		Going through undo logs for transactions that aborted.
 *
 * A log is read forwards from its first unapplied record.  Records name their
 * transaction and page; for an aborted one the page is rolled back, once per page
 * run.  What cannot be applied now (a transaction in progress, a table that
 * somebody holds locked, a damaged page) is where a later sweep begins.
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
 * When what was left is tried again, in milliseconds: somebody had the table
 * locked; an error.  Both are doubled each time.
 */
#define FIRST_RETRY_LOCKED	200
#define LAST_RETRY_LOCKED	10000
#define FIRST_RETRY_FAILED	1000
#define LAST_RETRY_FAILED	60000

typedef struct Sweep
{
	int			log;
	ZUndoPtr	at;				/* next record to look at; invalid: none */

	/* context given by the records */
	FullTransactionId fxid;
	RelFileLocator locator;
	BlockNumber block;

	ZUndoPtr	context;		/* the record that gave both: a sweep may begin there */
	ZXactStatus	status;			/* of fxid */
	bool		page_done;		/* this page run has been seen to */
	ZPrefetch	prefetch;		/* pages that the records after this one name */
	ZUndoPtr	asked;			/* up to this one they have been asked for */

	bool		own_transactions;	/* a worker's, which makes way for others */
	RelFileLocator files_of;		/* records that name this file */
	bool		files_known;
	int			nfiles;			/* may be about a page of one of these: */
	RelFileLocator files[ZROLLBACK_MAX_FILES];
	ZTableState states[ZROLLBACK_MAX_FILES];	/* ZTABLE_OPEN: not known yet, or it was open */
	int			file;			/* the one in work: */
	Relation	rel;			/* NULL: it is not open */
	Oid			rel_oid;
	NameData	rel_name;

	uint32		passed;			/* extents left behind since the begin */
	uint32		context_passed;	/* up to the context */

	ZUndoSwept	swept;			/* upto: where the first record is that could not be
								 * applied, or its context */
	FullTransactionId last;		/* the one of the last such record */
	bool		active;			/* what follows is of the log's owner's transaction */
	bool		locked;			/* some because their table was locked */
	bool		failed;			/* some because of an error */
	Oid			left_relid;		/* the first such table, or invalid */
	Oid			reported;		/* table whose errors have been reported */
	bool		rolling_back;	/* a page: an error is about that, or its table */
	bool		damaged;		/* some undo cannot be read */
	bool		jump;			/* go on behind this page: */
	BlockNumber jump_block;
	uint16		jump_generation;
	ZUndoPtr	skip;			/* the record of the last page that failed, */
	int			skip_files;		/* in the last of so many of its files */
	uint64		pages;
	MemoryContext scratch;		/* for one page */
} Sweep;

/* What a sweep of all logs is for, and what it has found. */
typedef struct SweepMode
{
	bool		own_transactions;	/* a worker; else within the caller's */
	bool		skip;			/* give up what damage does not let roll back */
	uint64		given_up;		/* number of pages that were */
	List	   *doubtful;		/* Doubtful: what the tables' pages are to tell more about */
	FullTransactionId next;		/* no older transaction may still be in progress then */
} SweepMode;

/* A log that was swept, but for what could not be read, or rolled back. */
typedef struct Doubtful
{
	ZUndoPending pending;
	Sweep		sweep;
} Doubtful;

/* The next record's tables are looked for anew. */
static void
leave_files(Sweep *sweep)
{
	sweep->rel = NULL;
	sweep->rel_oid = InvalidOid;
	sweep->files_known = false;
}

/*
 * The tables of the files that the record's page may be in: one as a rule.  They stay known until
 * one has to be left.
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
 * The table of one of these files, open, as sweep->rel; else why it is not.  One that could not
 * be opened is not tried again for the next records.
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
 * R6: a later sweep begins at or before this record, and the horizon stays at or before its
 * transaction.
 */
static void
check_left(const Sweep *sweep, const ZUndoSwept *swept)
{
	Assert(swept->upto != ZUNDO_INVALID);
	Assert(swept->extents <= sweep->context_passed);
	Assert(!FullTransactionIdFollows(swept->oldest, sweep->fxid));
}

/* The record is left: the first of such, or its context, and the oldest xid are noted. */
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
	/* in turns with its subtransactions one counts more than once */
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

/* Ask for pages that the next records name: on this undo page, of this transaction and table. */
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
		if (rec.has_page && rec.block < nblocks)	/* or the table has become shorter */
			zprefetch_ask(&sweep->prefetch, sweep->rel, rec.block);
	}
}

/* The page that the records tell of, in one of its files. */
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
 * The page in each of the files that it may be in, from the "first" one on.  False: a table
 * is locked by others.
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
		return;					/* its other records are not applied either */
	}
	sweep->page_done = true;
}

/*
 * Backends that drop, truncate or move a table wait for us, in a statement that may
 * have a short lock_timeout.
 */
static void
make_way(Sweep *sweep)
{
	if (zrollback_tables_make_way())
		leave_files(sweep);
}

/*
 * The transaction is to end, which gives up the locks on the undo relation, too.  VACUUM's
 * cannot.
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
 * One log, from sweep->at on.  Stops after PAGES_PER_TRANSACTION pages, or when a
 * worker is to leave, or somebody waits for the undo relation.
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
 * False if another sweep is under way: a worker's and one of VACUUM would only
 * do each other's work once more.
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

/* Some of the log's undo, from here on if not before, is not known. */
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
 * Undo that cannot be read: the sweep goes on at the next page, which begins with all that
 * records need to know.  None of what is passed is older than the horizon.  Behind
 * an extent whose first page is lost nothing can be found any more.
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

/* A page that cannot be rolled back: the sweep goes on behind it. */
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

/* Memory or locks were short: it is tried again as a whole, and no undo is lost for that. */
static bool
is_about_undo(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES;
}

/* One subtransaction for many pages, but for an error a new one: they are rare. */
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

/* The end has not been reached. */
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

/* The log's end has been reached. */
static void
finish(const Sweep *sweep, ZUndoPending *pending)
{
	/* R6: what was left is before what is marked */
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
 * The log has backed off, and stays so if we are cancelled.  When all logs were swept the tables
 * may tell that less of it is left.  "next": of the sweep's begin, or when it last told how far it
 * had come; no earlier log's is newer.
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
 * Some undo of these logs could not be read.  If the tables themselves show that nothing of
 * transactions older than mode->next is left, then nothing that these sweeps came by, or passed,
 * is needed: those transactions have ended, and the others began after the sweeps last told how
 * far they had come, so that each makes its log pending from its own first record when it aborts
 * or is prepared, and that mark is kept apart.  Which of them the sweep has seen says nothing
 * about where they begin: that may be on what could not be read (R10).  One look at the tables is
 * for all logs.  Meanwhile no other process sweeps, because this one has the lock.
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
 * One log to its end, within a transaction on entry and exit.  What was done is
 * marked applied each time a transaction ends, so that the next sweep goes on there.
 * False: to be gone on with another time.
 */
static bool
sweep_pending(ZUndoPending *pending, SweepMode *mode)
{
	Sweep		sweep = {.log = pending->log, .at = pending->from,
	.own_transactions = mode->own_transactions};
	FullTransactionId next = ReadNextFullTransactionId();

	zprefetch_init(&sweep.prefetch, ZREADER_ROLLBACK);
	/* of one that was cancelled */
	zrollback_tables_forget();
	for (;;)
	{
		sweep_some(&sweep);
		if (sweep.at == ZUNDO_INVALID)
			break;
		mark_so_far(&sweep, pending);
		/* what was newly aborted by now is this sweep's from here on (R10) */
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
	/* nobody knows where it ends: records may lie behind what was taken for that */
	if (zundo_log_is_sealed(pending->log))
		note_damage(&sweep, pending->from, 0);
	finish(&sweep, pending);
	if (!mode->own_transactions && (sweep.damaged || (mode->skip && sweep.failed)))
		note_doubtful(mode, &sweep, pending, next);
	return true;
}

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
 * Where no xids are assigned, no snapshot will be newer than those that the horizon
 * waits for: see that there are none.
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
