/*
 * dml_lock_row.c
 *		The lock record of a row, an undo record of our transaction; see lock.h.
 *
 * LOCKING: the row's page is locked exclusively; on exit as well, except after AGAIN (unlocked).
 */
#include "postgres.h"

#include "zheap/dml/target.h"

ZStep
zdml_lock_row(ZTarget *target, const ZUpdateCheck *check, LockTupleMode mode, CommandId cid)
{
	ZChange		change;

	Assert(target->checked);	/* D1 */
	memset(&change, 0, sizeof(change));
	if (ztarget_reserve_lock_slot(target, &change.slot) == ZSTEP_AGAIN)
		return ZSTEP_AGAIN;
	change.has_undo = true;
	change.row.op = change.undo.type = ZOP_LOCK;
	change.row.offnum = change.undo.offnum = target->offnum;
	change.row.hdr.flags2 = zrow_lock_bits(Max(check->strongest_lock, (int) mode));
	change.row.hdr.natts = ZROW_NATTS_KEEP;
	change.undo.lockmode = mode;
	change.undo.cid = cid;
	zchange_execute(target, &change);
	Assert(zrow_lock_hint(zpage_row_lock_bits(target->view.page, target->offnum)) >=
		   (int) mode);			/* K1 */
	zlock_own_add(target->rel, target->view.block, target->offnum, mode, target->fxid);
	return ZSTEP_DONE;
}
