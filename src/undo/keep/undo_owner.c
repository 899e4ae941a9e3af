/*
 * undo_owner.c
 *		The owner of a log, and what other backends may know of it.
 *
 * Appending takes no lock that others take, unless its extent is just being taken away.  What
 * others must know of the owner it publishes in two values of the log.  This file has both
 * sides of each:
 *
 *   uses	counts up when the owner enters a transaction that may append, and when it leaves
 *			that, so it is odd in between.  A backend that takes the log's only extent away
 *			(zundo_free_only) first makes newest_extent invalid, then looks whether
 *			"uses" is still what it was; the owner first makes it odd, then looks whether
 *			newest_extent is still its own.  So one of them sees the other, or both do: then it
 *			stays the owner's, which learns that from zundo_owner_newest_extent().
 *   active	the transaction's top xid, from its first record to its end.  It keeps the
 *			horizon back when the transaction has left the process array, until its log
 *			is marked pending, if it is to be.  active_first is where that record is, until then.
 *
 * The states of a backend (MyUndo):
 *
 *              zundo_log_attach()             prepare()            zundo_owner_begin()
 *   +--------+ -----------------> +---------+ --------> +-------+ ---------------> +---------+
 *   | NO LOG |                    | ENTERED |           | READY |                  | WRITING |
 *   +--------+ <----------------- +---------+           +-------+                  +---------+
 *       ^      zundo_log_seal()      ^    |                 |                           |
 *       |                            |    +-----------------+---------------------------+
 *       |         zundo_log_enter()  |    |  zundo_owner_leave(): the transaction has ended
 *       |  park_log(),               |    v
 *       |  zundo_log_leave()       +--------+
 *       +------------------------- |  IDLE  |
 *                                  +--------+
 *
 *   NO LOG -> ENTERED   zundo_log_attach(): a log without an owner, or a new one
 *   ENTERED -> NO LOG   zundo_log_attach() again, if the log's end cannot be found
 *   IDLE -> ENTERED     zundo_log_enter(), at the transaction's first prepare()
 *   ENTERED -> READY    prepare(): there is an extent with room
 *   READY -> ENTERED    zundo_moved(): the relation has to be looked at again, by prepare().
 *                       A backend that is WRITING stays so, but has to prepare() as well
 *   READY -> WRITING    zundo_owner_begin(), with the first record
 *   ENTERED, READY, WRITING -> NO LOG   zundo_log_seal(), by prepare(): the newest extent
 *                       cannot be left.  What was written is marked pending; the transaction
 *                       goes on in another log, by zundo_log_attach(), as if it began there
 *   ENTERED, READY, WRITING -> IDLE     zundo_owner_leave()
 *   IDLE -> NO LOG      park_log(): the backend exits; zundo_log_leave(): the log was sealed;
 *                       zundo_db_attach(), zundo_reset(): the undo relation was made anew
 *
 * LOCKING: the database's lock, shared, while the log's only extent is being taken away; no
 * page is locked then.  Nothing here can fail.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "keep_private.h"

/* ---- the owner ---- */

/*
 * Called after each transition.  The log of a backend that is IDLE cannot be checked: another
 * backend may have made the undo relation anew.
 */
void
zundo_owner_check(void)
{
	const ZUndoLog *log PG_USED_FOR_ASSERTS_ONLY = MyUndo.log;
	bool		writing PG_USED_FOR_ASSERTS_ONLY = MyUndo.first != ZUNDO_INVALID;

	Assert(writing == FullTransactionIdIsValid(MyUndo.fxid));
	if (!MyUndo.entered)
	{
		/* NO LOG, IDLE */
		Assert(!MyUndo.ready && !writing && !BufferIsValid(MyUndo.tail));
		return;
	}
	/* ENTERED, READY, WRITING */
	Assert(log != NULL && log->owner == MyProcPid && zundo_log_uses(log) % 2 == 1);
	Assert(!MyUndo.ready || BlockNumberIsValid(MyUndo.block));
	Assert(writing ? FullTransactionIdEquals(zundo_log_active(log), MyUndo.fxid) :
		   !FullTransactionIdIsValid(zundo_log_active(log)));
}

/*
 * Another backend that takes the extent away makes it invalid under the database's lock, until
 * it finds that we have entered.  So what we read under the lock is final.
 */
BlockNumber
zundo_owner_newest_extent(const ZUndoLog *log)
{
	BlockNumber newest = *(volatile BlockNumber *) &log->newest_extent;

	Assert(MyUndo.entered);
	if (likely(BlockNumberIsValid(newest)))
		return newest;
	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_SHARED);
	newest = log->newest_extent;
	LWLockRelease(zundo_db_lock(MyUndo.db));
	return newest;
}

/*
 * A backend that is about to take our only extent away now sees us, or we see that it is gone
 * (zundo_free_only).  If it is gone we begin with a new one.
 */
void
zundo_log_enter(void)
{
	ZUndoLog   *log = MyUndo.log;

	Assert(!MyUndo.entered);
	pg_atomic_write_u32(&log->uses, pg_atomic_read_u32(&log->uses) + 1);
	MyUndo.entered = true;
	pg_memory_barrier();
	if (BlockNumberIsValid(MyUndo.block) &&
		zundo_owner_newest_extent(log) != zundo_extent_of(MyUndo.block))
		MyUndo.block = InvalidBlockNumber;
	zundo_owner_check();
}

/*
 * "active" keeps the horizon back from here on, also between the moment when the transaction
 * leaves the process array and our callback that reports its end.  The record's place must be
 * known before (zundo_pending_mark_applied).
 */
void
zundo_owner_begin(ZUndoPtr first)
{
	ZUndoLog   *log = MyUndo.log;

	MyUndo.first = first;
	MyUndo.first_ordinal = log->ordinal;
	MyUndo.fxid = GetTopFullTransactionIdIfAny();
	Assert(FullTransactionIdIsValid(MyUndo.fxid));
	/* H1: it has been in the process array since it got its xid, which was the next one before */
	Assert(FullTransactionIdFollowsOrEquals(MyUndo.fxid, zundo_db_horizon(MyUndo.db)));

	pg_atomic_write_u64(&log->active_first, first);
	pg_write_barrier();
	pg_atomic_write_u64(&log->active, U64FromFullTransactionId(MyUndo.fxid));
	zundo_owner_check();
}

/*
 * From now on sweeps must not rely on our callback to report the end of these records: it is
 * just about to, or never will.  "active" still keeps the horizon back.
 */
void
zundo_owner_hide_first(void)
{
	pg_atomic_write_u64(&MyUndo.log->active_first, ZUNDO_INVALID);
}

/* The caller has published before what keeps the horizon back after "active". */
void
zundo_owner_leave(void)
{
	ZUndoLog   *log = MyUndo.log;

	zundo_tail_unpin();
	MyUndo.ending = false;
	MyUndo.ready = false;
	if (MyUndo.first != ZUNDO_INVALID)
	{
		Assert(log->owner == MyProcPid);
		pg_write_barrier();
		pg_atomic_write_u64(&log->active, 0);
	}
	if (MyUndo.entered)
	{
		pg_write_barrier();
		pg_atomic_write_u32(&log->uses, pg_atomic_read_u32(&log->uses) + 1);
	}
	MyUndo.entered = false;
	MyUndo.extents = 0;
	MyUndo.first = ZUNDO_INVALID;
	MyUndo.fxid = InvalidFullTransactionId;
	MyUndo.sub_aborted = false;
	if (MyUndo.records > 0)
		MyUndo.several_before = MyUndo.records > 1;
	MyUndo.records = 0;
	zundo_owner_check();
}

/* ---- others ---- */

uint32
zundo_log_uses(const ZUndoLog *log)
{
	uint32		uses = pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &log->uses));

	/* other fields of the log are read at that moment or later */
	pg_read_barrier();
	return uses;
}

bool
zundo_log_is_unused_since(const ZUndoLog *log, uint32 uses)
{
	return uses % 2 == 0 && zundo_log_uses(log) == uses;
}

FullTransactionId
zundo_log_active(const ZUndoLog *log)
{
	uint64		active = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &log->active));

	pg_read_barrier();
	return FullTransactionIdFromU64(active);
}

bool
zundo_log_is_active_from(const ZUndoLog *log, ZUndoPtr first)
{
	return pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &log->active_first)) == first &&
		FullTransactionIdIsValid(zundo_log_active(log));
}
