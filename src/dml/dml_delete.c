/*
 * dml_delete.c
 *		DELETE: the row stays in place, marked as deleted, until no snapshot needs it.
 *
 * LOCKING: no page on entry and on exit; the row's page, exclusively, from the check to the
 * change (D1).
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/dml/logical.h"
#include "zheap/dml/run.h"
#include "zheap/dml/target.h"
#include "zheap/notes/reap.h"

/* The deleted row, as a heap tuple where that is needed. */
typedef struct Deleted
{
	HeapTuple	toasted;		/* the version, if some of its values are toasted */
	HeapTuple	told;			/* the version formed for decoding, if toasted values were read
								 * for that */
	ZLogical	logical;
} Deleted;

static void
replace(HeapTuple *tuple, HeapTuple by)
{
	if (*tuple)
		heap_freetuple(*tuple);
	*tuple = by;
}

static bool
is_same_tuple(HeapTuple a, HeapTuple b)
{
	return a != NULL && a->t_len == b->t_len && memcmp(a->t_data, b->t_data, a->t_len) == 0;
}

/*
 * Form the checked version for decoding.  AGAIN: the page was unlocked to read toasted values.
 * They are the row's if it is the same version when it is checked again.  They cannot be removed
 * before, because our snapshot is older than any transaction that may change the row meanwhile.
 */
static ZStep
tell_version(ZTarget *target, const ZRowVersion *version, Deleted *deleted)
{
	if (!(version->hdr.flags & ZROW_HASEXTERNAL))
	{
		zlogical_old_row(&deleted->logical, version->row, version->len, true);
		return ZSTEP_DONE;
	}
	replace(&deleted->toasted, zdml_heap_tuple(target->rel, version->row, version->len));
	if (is_same_tuple(deleted->told, deleted->toasted))
		return ZSTEP_DONE;
	if (!zlogical_old_reads_toast(&deleted->logical, deleted->toasted))
	{
		zlogical_old(&deleted->logical, deleted->toasted, true);
		return ZSTEP_DONE;
	}
	ztarget_unlock(target);
	zlogical_old(&deleted->logical, deleted->toasted, true);
	replace(&deleted->told, heap_copytuple(deleted->toasted));
	return ZSTEP_AGAIN;
}

static void
release(Deleted *deleted)
{
	replace(&deleted->toasted, NULL);
	replace(&deleted->told, NULL);
	zlogical_close(&deleted->logical);
}

/* Delete the row as the query has checked it; it continues no run.  See zdml_delete(). */
static pg_noinline TM_Result
delete_checked(Relation rel, ItemPointer otid, uint32 options, const ZCheckQuery *query, bool wait,
			   TM_FailureData *tmfd)
{
	ItemPointerData tid = ztid_untagged(otid);
	bool		changing_part = (options & TABLE_DELETE_CHANGING_PARTITION) != 0;
	bool		silent = (options & TABLE_DELETE_NO_LOGICAL) != 0;
	ZUpdateCheck check;
	ZDeletion	deletion = {.cid = query->cid, .version = &check.version};
	ZRowQueue	queue;
	ZTarget		target;
	Deleted		deleted;
	ZStep		step;

	deleted.toasted = deleted.told = NULL;
	zlogical_open(&deleted.logical, rel, silent ? TABLE_INSERT_NO_LOGICAL : 0);
	ztarget_open(&target, rel);
	ztarget_pin(&target, &tid);
	zlock_queue_init(&queue, rel, &tid, LockTupleExclusive, LockWaitBlock, XLTW_Delete);
	do
	{
		zcheck_row_wait(&target, query, &queue, wait, &check);
		if (check.result != TM_Ok)
			break;
		Assert(target.checked);	/* D1 */
		step = tell_version(&target, &check.version, &deleted);
		if (step == ZSTEP_AGAIN)
			continue;
		deletion.flags2 = (changing_part ? ZROW2_MOVED_PART : 0) |
			zrow_lock_bits(check.strongest_lock);
		deletion.logical = zlogical_delete(&deleted.logical);
		step = zdml_mark_deleted(&target, &deletion);
	} while (step == ZSTEP_AGAIN);
	zlock_queue_leave(&queue);
	if (check.result != TM_Ok)
		zcheck_report(&target, &check, tmfd);
	ztarget_close(&target);
	if (check.result == TM_Ok)
	{
		/* RETURNING and AFTER ROW triggers need the deleted version */
		ztid_mark_last(otid);
		if (deleted.toasted)
			heap_toast_delete(rel, deleted.toasted, false);
		pgstat_count_heap_delete(rel);
	}
	release(&deleted);
	if (check.result == TM_Invisible)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("attempted to delete invisible tuple")));
	return check.result;
}

TM_Result
zdml_delete(Relation rel, ItemPointer otid, CommandId cid, uint32 options,	/* tidy: the server's signature */
			Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *tmfd)
{
	ZCheckQuery query = {snapshot, crosscheck, cid, LockTupleExclusive, false, false};
	ItemPointerData tid = ztid_untagged(otid);

	zheap_require_preload();
	zreap_begin_write(rel);
	query.was_locked = ztid_means_newest(otid);
	if (query.was_locked)
		query.snapshot = InvalidSnapshot;
	else if (crosscheck == InvalidSnapshot &&
			 (options & (TABLE_DELETE_CHANGING_PARTITION | TABLE_DELETE_NO_LOGICAL)) == 0 &&
			 zrun_delete(rel, &tid, cid, snapshot))
	{
		ztid_mark_last(otid);
		pgstat_count_heap_delete(rel);
		return TM_Ok;
	}
	return delete_checked(rel, otid, options, &query, wait, tmfd);
}
