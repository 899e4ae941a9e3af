/*
 * undo_xact.c
 *		The end of a transaction that has written undo.
 *
 * The transaction has left the process array when its end is reported here, so a log is marked
 * pending before the owner clears "active": one of the two keeps the horizon back at any
 * moment.
 *
 * LOCKING: no LWLock is held.  Since 19, in an abort, pages may still be locked that an ERROR
 * has left locked.  Nothing here can fail.
 */
#include "postgres.h"

#include "access/xact.h"

#include "zheap/undo/undo_xact.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "../keep/keep_private.h"
#include "log_private.h"

/*
 * A sweep that leaves the transaction's records to its own callback decides that under the
 * log's mutex (undo_pending.c): either before the mark, which then is not lost, or not at all.
 */
void
zundo_xact_mark_pending(void)
{
	if (MyUndo.first == ZUNDO_INVALID)
		return;
	Assert(FullTransactionIdIsValid(MyUndo.fxid) && MyUndo.log != NULL);
	zundo_owner_hide_first();
	zundo_log_mark_pending(MyUndo.log, MyUndo.first, MyUndo.first_ordinal, MyUndo.fxid);
	pg_atomic_fetch_add_u32(&MyUndo.db->aborts, 1);
}

static void
end_transaction(bool pending)
{
	if (pending)
		zundo_xact_mark_pending();
	zundo_owner_leave();
}

/*
 * Records may be written even later, if another library's callback or ON COMMIT changes zheap
 * tables.
 */
void
zundo_before_end(void)
{
	Assert(!zheap_holds_buffer_lock());
	zundo_tail_unpin();			/* U8 */
	MyUndo.ending = true;
}

FullTransactionId
zundo_at_commit(void)
{
	FullTransactionId fxid = MyUndo.first != ZUNDO_INVALID ? MyUndo.fxid :
	InvalidFullTransactionId;

	end_transaction(MyUndo.sub_aborted);
	zundo_local_at_end(false);
	zundo_close();
	return fxid;
}

/*
 * Mark all records pending, as the transaction may abort: a sweep finds its status in the
 * commit log.
 */
void
zundo_at_prepare(void)
{
	end_transaction(true);
	/* a transaction that used temporary tables cannot be prepared */
	zundo_local_at_end(false);
	zundo_close();
}

void
zundo_at_abort(void)
{
	end_transaction(true);
	zundo_local_at_end(true);
	zundo_close();
}

/*
 * Nothing is published before the top transaction ends: its xid is older and keeps the horizon
 * back anyway.  Subtransactions that began after this one did so within it.
 */
void
zundo_at_subabort(void)
{
	if (MyUndo.first != ZUNDO_INVALID &&
		MyUndo.last_sub >= GetCurrentSubTransactionId())
		MyUndo.sub_aborted = true;
	zundo_tail_unpin();
	zundo_local_at_subabort();
}
