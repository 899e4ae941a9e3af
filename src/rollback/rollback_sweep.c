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
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/prefetch.h"
#include "zheap/mvcc/mvcc.h"
#include "zheap/record/record.h"

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
	ZRelLocator locator;
	BlockNumber block;

	ZUndoPtr	context;		/* the record that gave both: a sweep may begin there */
	ZXactStatus	status;			/* of fxid */
	bool		page_done;		/* this page run has been seen to */
	ZPrefetch	prefetch;		/* pages that the records after this one name */
	ZUndoPtr	asked;			/* up to this one they have been asked for */

	bool		own_transactions;	/* a worker's, which makes way for others */
	Relation	rel;			/* open, of rel_locator */
	Oid			rel_oid;
	NameData	rel_name;
	ZRelLocator rel_locator;
	bool		rel_known;		/* rel (perhaps NULL: gone) is right */
	bool		rel_busy;		/* could not be locked */

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
	ZUndoSwept	waiting;		/* of what is left, that of transactions in progress */
	ZUndoPtr	skip;			/* the record of the last page that failed */
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

/* The next record's table is looked for anew. */
static void
relation_leave(Sweep *sweep)
{
	sweep->rel = NULL;
	sweep->rel_oid = InvalidOid;
	sweep->rel_known = false;
	sweep->rel_busy = false;
}

/*
 * The table that a file belongs to.  The database may have another tablespace
 * than when the record was written (SET TABLESPACE, or it is a copy of another
 * one): what is not where the record says is looked for in its own.  Should that
 * be a different table, whose file has the same number by chance, no harm is done:
 * of any page only what is aborted is rolled back.  It may be a relation of another
 * kind as well, for numbers come round.
 */
static Oid
find_by_file(ZRelLocator locator)
{
	Oid			oid = zcompat_relid_by_file(zloc_spc(locator), zloc_rel(locator));

	if (!OidIsValid(oid) && zloc_spc(locator) != MyDatabaseTableSpace)
		oid = zcompat_relid_by_file(MyDatabaseTableSpace, zloc_rel(locator));
	return oid;
}

static bool
file_has_pages(Oid spc, ZRelLocator locator)
{
	SMgrRelation smgr;
	bool		result;

	zloc_db(locator) = MyDatabaseId;
	zloc_spc(locator) = spc;
	smgr = smgropen(locator, InvalidBackendId);
	result = smgrexists(smgr, MAIN_FORKNUM) && smgrnblocks(smgr, MAIN_FORKNUM) > 0;
	smgrclose(smgr);
	return result;
}

static bool
take_any(HeapTuple tuple, TupleDesc desc, void *arg)
{
	*(bool *) arg = true;
	return false;
}

/*
 * Does any table have the file?  Looked up in pg_class itself: what the caches say
 * may be older than the end of the transaction that committed the file, which
 * leaves the process array before it sends its invalidations.
 */
static bool
file_has_table(Oid spc, ZRelLocator locator)
{
	ScanKeyData key[2];
	bool		found = false;

	/* as pg_class has it: 0 is the database's own tablespace */
	ScanKeyInit(&key[0], Anum_pg_class_reltablespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(spc == MyDatabaseTableSpace ? InvalidOid : spc));
	ScanKeyInit(&key[1], Anum_pg_class_relfilenode, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(zloc_rel(locator)));
	zrollback_class_scan(ClassTblspcRelfilenodeIndexId, key, 2, take_any, &found);
	return found;
}

/*
 * A file that belongs to no table: is it gone for good (R8)?  It may be one that a
 * transaction still running has made, a subtransaction of which aborted; then it has
 * pages.  That of a table that was dropped or rewritten has none from the moment on
 * when this has committed, whatever older snapshots there are.
 *
 * The horizon is asked for before the catalog.  In the other order the transaction
 * that made the file could commit in between: the catalog would not know the file
 * yet, the horizon not hold for the transaction any more, and what it did
 * would never be rolled back on its pages.  If it has ended before the horizon was
 * asked for, the catalog that is read after that knows the file.
 */
static bool
is_gone(ZRelLocator locator, FullTransactionId fxid)
{
	FullTransactionId oldest = zundo_oldest_needed();

	if (FullTransactionIdPrecedes(fxid, oldest))
		return !file_has_table(zloc_spc(locator), locator) &&
			!file_has_table(MyDatabaseTableSpace, locator);
	return !file_has_pages(zloc_spc(locator), locator) &&
		(zloc_spc(locator) == MyDatabaseTableSpace ||
		 !file_has_pages(MyDatabaseTableSpace, locator));
}

static void
relation_set(Sweep *sweep, Relation rel)
{
	sweep->rel = rel;
	sweep->rel_oid = RelationGetRelid(rel);
	sweep->rel_name = rel->rd_rel->relname;
}

/*
 * The table that a record is about, open; or it is gone, or busy.
 */
static void
relation_find(Sweep *sweep)
{
	Relation	rel;
	Oid			oid;

	if (sweep->rel_known && zloc_equals(sweep->rel_locator, sweep->locator))
		return;
	relation_leave(sweep);
	sweep->rel_locator = sweep->locator;
	sweep->rel_known = true;
	rel = zrollback_table_find(sweep->locator);
	if (rel != NULL)
	{
		relation_set(sweep, rel);
		return;
	}
	oid = find_by_file(sweep->locator);
	if (!OidIsValid(oid))
	{
		sweep->rel_busy = !is_gone(sweep->locator, sweep->fxid);
		return;
	}
	switch (zrollback_table_open(&sweep->locator, oid, &rel))
	{
		case ZTABLE_OPEN:
			relation_set(sweep, rel);
			break;
		case ZTABLE_BUSY:
			sweep->rel_busy = true;
			if (!OidIsValid(sweep->left_relid))
				sweep->left_relid = oid;
			break;
		case ZTABLE_GONE:
			break;
	}
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
	if (sweep->status == ZXACT_IN_PROGRESS || sweep->status == ZXACT_OWN)
		note_left(sweep, &sweep->waiting);
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
			(rec.has_page && !zloc_equals(rec.locator, sweep->rel_locator)))
			break;
		sweep->asked = next;
		if (rec.has_page && rec.block < nblocks)	/* or the table has become shorter */
			zprefetch_ask(&sweep->prefetch, sweep->rel, rec.block);
	}
}

/* The page that the records tell of. */
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

static void
sweep_record(Sweep *sweep, ZUndoReader *reader, ZUndoPtr ptr, const ZUndoRecord *rec)
{
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
	if (ptr == sweep->skip)
	{
		sweep->page_done = true;
		return;
	}
	sweep->rolling_back = true;
	relation_find(sweep);
	Assert(sweep->rel == NULL || !sweep->rel_busy);
	if (sweep->rel)
		sweep_page(sweep, reader);
	sweep->rolling_back = false;
	if (sweep->rel == NULL && sweep->rel_busy)
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
		relation_leave(sweep);
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
	relation_leave(sweep);
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
	if (!OidIsValid(sweep->left_relid))
		sweep->left_relid = sweep->rel_oid;
	if (!OidIsValid(sweep->rel_oid))
		zrollback_error_report(error, InvalidOid,
						   psprintf(_("could not roll back rows in block %u of the table with file %u: %s"),
									sweep->block, zloc_rel(sweep->locator), error->message));
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
		relation_leave(sweep);
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
 * may tell that less of it is left.  "next": of the sweep's begin; no earlier log's is newer.
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
					   GetOldestActiveTransactionId()),
			 errhint("Repeat it when that has ended.")));
	return false;
}

/*
 * Some undo of these logs could not be read.  If the tables themselves show that nothing is
 * left, then only what transactions in progress may still need.  One look at the tables
 * is for all logs.  Meanwhile nobody sweeps: we have the lock.
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
		sweep->swept = sweep->waiting;
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
