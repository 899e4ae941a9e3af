/*
 * dml_mark_deleted.c
 *		Marking a row deleted, for DELETE, or for an UPDATE that has moved it.
 *
 * LOCKING: the row's page is locked exclusively; on exit as well, except after AGAIN (unlocked).
 */
#include "postgres.h"

#include "zheap/dml/run.h"
#include "zheap/dml/target.h"
#include "zheap/notes/reap.h"

#ifdef USE_ASSERT_CHECKING
/*
 * Assert that the run's record is found for a row without one of its own, and has the same
 * contents (C3).
 */
static void
assert_in_run(ZTarget *target, const ZChange *change)
{
	ZRowVersion version;
	ZUndoRecord rec;
	ZOwner		at;

	zmvcc_current(&target->view, target->offnum, &version);
	if (!zmvcc_record(&target->view, &version, &rec, &at))
		elog(PANIC, "row %u has no record", target->offnum);
	Assert(zrec_is_delete_run(&rec) && rec.cid == change->undo.cid);
	Assert(FullTransactionIdEquals(at.fxid, target->fxid));
	Assert(FullTransactionIdEquals(rec.row_prev.fxid, change->undo.row_prev.fxid));
}
#else
#define assert_in_run(target, change) ((void) 0)
#endif

/* Perform the deletion, with an undo record unless it continues a run. */
static void
execute(ZTarget *target, ZChange *change)
{
	if (!change->undo.has_new_tid)
	{
		if (zrun_deletes_on(target, change))
		{
			change->has_undo = false;
			change->slot.next.fxid = target->fxid;
		}
		else
			zrun_open_deletions(target, change);
	}
	zchange_execute(target, change);
	zreap_note(target->rel, target->view.block, target->fxid);
	if (change->has_undo)
		zrun_remember_deletion(target, change);
	else
		assert_in_run(target, change);
}

ZStep
zdml_plan_deletion(ZTarget *target, const ZDeletion *deletion, Size reserve, ZChange *change)
{
	ZRowVersion	newest;
	const ZRowVersion *version = deletion->version ? deletion->version : &newest;
	ZStep		step;

	if (deletion->version)
		step = zchange_begin_known(target, ZOP_DELETE, target->offnum, reserve, change);
	else
		step = zchange_begin(target, ZOP_DELETE, target->offnum, reserve, change, &newest);
	if (step == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	Assert(!(version->hdr.flags & ZROW_DELETED));	/* not deleted twice */
	ztarget_conflict_in(target);
	change->row.hdr.flags = (version->hdr.flags & ZROW_VALUE_FLAGS) | ZROW_DELETED;
	change->row.hdr.flags2 = deletion->flags2;
	change->undo.cid = deletion->cid;
	change->logical = deletion->logical;
	if (deletion->new_tid != NULL)
	{
		change->row.hdr.flags |= ZROW_MOVED;
		change->undo.has_new_tid = true;
	}
	zchange_describe_before(target, version, change);
	return ZSTEP_DONE;
}

ZStep
zdml_mark_deleted(ZTarget *target, const ZDeletion *deletion)
{
	ZChange		change;

	if (zdml_plan_deletion(target, deletion, 0, &change) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	if (deletion->new_tid != NULL)
	{
		/* not to its own place */
		Assert(ItemPointerGetOffsetNumber(deletion->new_tid) != target->offnum ||
			   ItemPointerGetBlockNumber(deletion->new_tid) != target->view.block);
		change.undo.new_tid = *deletion->new_tid;
	}
	execute(target, &change);
	return ZSTEP_DONE;
}
