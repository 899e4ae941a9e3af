/*
 * undo_horizon.c
 *		The xid below which everything is committed and visible to all.
 *
 * The horizon is the least of: the oldest xid that a snapshot of this database may see as
 * running; the transactions that are writing undo, until their callback has reported how they
 * ended (they leave the process array before that); the aborted ones whose undo is not applied
 * yet; and those whose undo was applied, until no snapshot is left that may go with a page copy
 * from before.
 *
 * Once true, it stays true, so a backend that computes it may publish it at any time later; the
 * shared value only grows (U1).
 *
 * The logged horizon lags behind: the records that recycle or free an extent move it as far as
 * that extent needs, VACUUM moves it all the way.  A standby learns no other one, and cancels
 * readers with an older snapshot, or with one that applied undo had to wait for here
 * (zundo_released).
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/standby.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_wal.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "keep_private.h"

FullTransactionId
zundo_horizon(void)
{
	if (unlikely(MyUndo.db == NULL))
		zundo_open();
	return zundo_db_horizon(MyUndo.db);
}

FullTransactionId
zundo_logged_horizon(void)
{
	if (unlikely(MyUndo.db == NULL))
		zundo_open();
	return FullTransactionIdFromU64(pg_atomic_read_u64(&MyUndo.db->logged_horizon));
}

/*
 * The server takes a relation that this transaction has made for one that other backends do not
 * read; but others may soon write undo to it.
 */
static FullTransactionId
find_oldest_needed(void)
{
	Relation	rel = zundo_relation();

	return zfxid_from_xid(GetOldestNonRemovableTransactionId(RELATION_IS_LOCAL(rel) ? NULL : rel));
}

FullTransactionId
zundo_oldest_needed(void)
{
	zundo_open();
	return find_oldest_needed();
}

/* Set our status flags, in both places.  Takes ProcArrayLock, exclusively. */
static void
set_status_flags(uint8 flags)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags = flags;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = flags;
	LWLockRelease(ProcArrayLock);
}

/*
 * CREATE INDEX CONCURRENTLY must not wait for VACUUM.  So pass for another CREATE INDEX
 * CONCURRENTLY, which it does not wait for either, but whose xmin does count for horizons.
 */
uint8
zundo_hold_back(void)
{
	uint8		flags = MyProc->statusFlags;

	if (flags & PROC_IN_VACUUM)
		set_status_flags((flags & ~PROC_IN_VACUUM) | PROC_IN_SAFE_IC);
	return flags;
}

void
zundo_hold_back_end(uint8 flags)
{
	if (flags & PROC_IN_VACUUM)
		set_status_flags(flags);
	Assert(MyProc->statusFlags == flags);
}

FullTransactionId
zundo_log_oldest(ZUndoDb *db, ZUndoLog *log, FullTransactionId oldest_needed)
{
	FullTransactionId oldest;

	/* a transaction marks its log before it clears "active", so that one of the two is seen */
	oldest = zundo_older(zundo_log_active(log), oldest_needed);
	SpinLockAcquire(&log->mutex);
	zundo_pins_drop(db, log, oldest_needed);
	for (int i = 0; i < ZUNDO_PINS; i++)
		oldest = zundo_older(oldest, log->pins[i].fxid);
	if (log->pending_from != ZUNDO_INVALID)
		oldest = zundo_older(oldest, zundo_older(log->pending_fxid, log->newly_aborted_fxid));
	SpinLockRelease(&log->mutex);
	return oldest;
}

/*
 * Read the process array first, then the logs: a transaction that has left the array by then
 * had noted itself in its log before.
 */
void
zundo_horizon_move(ZUndoDb *db)
{
	ZUndoLog   *log = NULL;
	FullTransactionId oldest_needed;
	FullTransactionId horizon;

	/* H4: the horizon is the database's, and the logs of the former relation are not known now */
	if (zundo_relation_is_new())
		return;
	oldest_needed = horizon = find_oldest_needed();
	LWLockAcquire(zundo_db_lock(db), LW_SHARED);
	while ((log = zundo_log_next(db, log)) != NULL)
	{
		FullTransactionId oldest = zundo_log_oldest(db, log, oldest_needed);

		if (FullTransactionIdPrecedes(oldest, horizon))
			horizon = oldest;
	}
	LWLockRelease(zundo_db_lock(db));
	Assert(FullTransactionIdIsValid(horizon));
	Assert(FullTransactionIdPrecedesOrEquals(horizon, ReadNextFullTransactionId()));
	zundo_horizon_raise(&db->horizon, horizon);
	pg_atomic_write_u64(&db->last_advance, (uint64) GetCurrentTimestamp());
	pg_atomic_write_u64(&db->last_next,
						U64FromFullTransactionId(ReadNextFullTransactionId()));
}

void
zundo_horizon_advance(void)
{
	zundo_horizon_move(zundo_open_loaded());
}

/* Log the horizon.  The meta page and the database are locked exclusively. */
static void
log_horizon(Buffer buffer, FullTransactionId horizon)
{
	ZRecUndoHorizon rec;

	memset(&rec, 0, sizeof(rec));
	rec.horizon = horizon;
	rec.conflict = zundo_released(horizon);
	START_CRIT_SECTION();
	zundo_horizon_apply(BufferGetPage(buffer), horizon);
	(void) zundo_emit(ZREC_UNDO_HORIZON, &rec, sizeof(rec), &buffer, 1, 0);
	END_CRIT_SECTION();
}

void
zundo_horizon_log(void)
{
	FullTransactionId horizon;
	Buffer		buffer;

	zundo_open();
	horizon = zundo_horizon();
	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	buffer = zundo_page_lock(ZUNDO_META_BLOCK, BUFFER_LOCK_EXCLUSIVE, ZUNDO_METAPAGE_MAGIC);
	if (FullTransactionIdPrecedes(zundo_meta(BufferGetPage(buffer))->horizon, horizon))
		log_horizon(buffer, horizon);
	UnlockReleaseBuffer(buffer);
	LWLockRelease(zundo_db_lock(MyUndo.db));
	zundo_horizon_raise(&MyUndo.db->logged_horizon, horizon);
}

/* Return whether some replication slot needs an older xid than "next". */
static bool
slots_need_older(FullTransactionId next)
{
	TransactionId xmins[2];

	ProcArrayGetReplicationSlotXmin(&xmins[0], &xmins[1]);
	for (int i = 0; i < (int) lengthof(xmins); i++)
	{
		if (TransactionIdIsValid(xmins[i]) &&
			FullTransactionIdPrecedes(zfxid_from_xid(xmins[i]), next))
			return true;
	}
	return false;
}

bool
zundo_is_quiet(void)
{
	FullTransactionId next = ReadNextFullTransactionId();
	FullTransactionId oldest = zundo_oldest_needed();
	int			others;

	/* the server subtracts that from what snapshots need, not from what slots need */
	oldest.value += zcompat_defer_cleanup_age();
	if (FullTransactionIdPrecedes(oldest, next) || slots_need_older(next))
		return false;
	pfree(GetCurrentVirtualXIDs(InvalidTransactionId, true, false, PROC_IN_VACUUM, &others));
	return others == 0;
}
