/*
 * dml_mark_deleted.c
 *		A row is marked deleted: by DELETE, or by an UPDATE that has moved it.
 *
 * LOCKING: the row's page is locked exclusively; on exit as well, except after AGAIN (unlocked).
 */
#include "postgres.h"

#include "zheap/dml/target.h"

ZStep
zdml_mark_deleted(ZTarget *target, const ZDeletion *deletion)
{
	ZChange		change;
	ZRowVersion	newest;
	const ZRowVersion *version = deletion->version ? deletion->version : &newest;
	ZStep		step;

	if (deletion->version)
		step = zchange_begin_known(target, ZOP_DELETE, target->offnum, 0, &change);
	else
		step = zchange_begin(target, ZOP_DELETE, target->offnum, 0, &change, &newest);
	if (step == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	/* once only; and not to a place that is its own */
	Assert(!(version->hdr.flags & ZROW_DELETED));
	Assert(deletion->new_tid == NULL ||
		   ItemPointerGetOffsetNumber(deletion->new_tid) != target->offnum ||
		   ItemPointerGetBlockNumber(deletion->new_tid) != target->view.block);
	ztarget_conflict_in(target);
	change.row.hdr.flags = (version->hdr.flags & ZROW_VALUE_FLAGS) | ZROW_DELETED;
	change.row.hdr.flags2 = deletion->flags2;
	change.undo.cid = deletion->cid;
	if (deletion->new_tid != NULL)
	{
		change.row.hdr.flags |= ZROW_MOVED;
		change.undo.has_new_tid = true;
		change.undo.new_tid = *deletion->new_tid;
	}
	zchange_describe_before(target, version, &change);
	zchange_execute(target, &change);
	return ZSTEP_DONE;
}
