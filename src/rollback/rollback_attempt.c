/*
 * rollback_attempt.c
 *		Read an undo log on, whatever on the way cannot be read or rolled back.
 *
 * An attempt runs in a subtransaction, which serves many pages.  After an error, which is rare,
 * another one goes on behind the page of the table, or of undo, that the error is about (R7).
 *
 * LOCKING: as rollback_log.c; the undo relation ShareUpdateExclusive.
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"

#include "rollback_sweep.h"

static void
read_some(void *arg)
{
	Sweep	   *sweep = arg;
	ZUndoReader reader;

	sweep->scratch = AllocSetContextCreate(CurrentMemoryContext, "zheap page", ALLOCSET_SMALL_SIZES);
	zundo_reader_open(&reader, CurrentMemoryContext, false);
	zsweep_read(sweep, &reader);
	zsweep_leave_files(sweep);
	zrollback_tables_close();
	zundo_reader_close(&reader);
}

void
zsweep_note_damage(Sweep *sweep, ZUndoPtr from, uint32 extents)
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
	zsweep_note_damage(sweep, sweep->context != ZUNDO_INVALID ? sweep->context : sweep->at,
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
	zsweep_leave_record(sweep);
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

void
zsweep_attempt(Sweep *sweep)
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
		zsweep_leave_files(sweep);
		sweep->rolling_back = false;
		FreeErrorData(error);
	}
	sweep->pages = 0;
}
