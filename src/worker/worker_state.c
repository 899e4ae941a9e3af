/*
 * worker_state.c
 *		Shared memory of launcher, workers and views; when a worker is to leave.
 *
 * A session that wants a database for itself holds a lock on the database.  A busy worker tries
 * that lock ten times a second, and leaves if it does not get it.
 *
 * LOCKING: shared memory is read and written without locks (J2).  The database's lock is never
 * waited for.
 */
#include "postgres.h"

#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "worker_private.h"

/* in milliseconds: interval between looks; length of a turn while other databases starve */
#define LOOK_INTERVAL	100
#define TURN			5000

/* bit that is set in a ticket and in no pid */
#define TICKET			((uint32) 1 << 31)

ZWorkerShared *zworker_shared;
ZWorkerSlot *zworker_my_slot;

Size
zworker_shmem_size(void)
{
	return sizeof(ZWorkerShared);
}

void
zworker_shmem_init(void)
{
	bool		found;

	zworker_shared = ShmemInitStruct("zheap workers", sizeof(ZWorkerShared), &found);
	if (found)
		return;
	memset(zworker_shared, 0, sizeof(ZWorkerShared));
	pg_atomic_init_u64(&zworker_shared->undo_done, 0);
	pg_atomic_init_u64(&zworker_shared->pages, 0);
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		ZWorkerSlot *slot = &zworker_shared->slots[i];

		pg_atomic_init_u32(&slot->holder, 0);
		pg_atomic_init_u64(&slot->undo_total, 0);
		pg_atomic_init_u64(&slot->undo_done, 0);
		pg_atomic_init_u64(&slot->pages, 0);
		pg_atomic_init_u64(&slot->errors, 0);
	}
}

/* ---- holder of a slot (J2) ---- */

int
zworker_pid(ZWorkerSlot *slot)
{
	uint32		holder = pg_atomic_read_u32(&slot->holder);

	return (holder & TICKET) != 0 ? 0 : (int) holder;
}

uint32
zworker_give_ticket(ZWorkerSlot *slot)
{
	uint32		ticket = TICKET | ++zworker_shared->tickets;

	Assert(pg_atomic_read_u32(&slot->holder) == 0);
	pg_atomic_write_u32(&slot->holder, ticket);
	return ticket;
}

bool
zworker_claim(ZWorkerSlot *slot, uint32 ticket)
{
	Assert((ticket & TICKET) != 0 && (MyProcPid & TICKET) == 0);
	return pg_atomic_compare_exchange_u32(&slot->holder, &ticket, (uint32) MyProcPid);
}

void
zworker_take_ticket_back(ZWorkerSlot *slot)
{
	uint32		holder = pg_atomic_read_u32(&slot->holder);

	if ((holder & TICKET) != 0 && pg_atomic_compare_exchange_u32(&slot->holder, &holder, 0))
		slot->state = ZWORKER_NONE;
}

/* ---- for views ---- */

bool
zworker_info(int i, ZWorkerInfo *info)
{
	ZWorkerSlot *slot = &zworker_shared->slots[i];

	info->pid = zworker_pid(slot);
	info->db = slot->db;
	info->state = slot->state;
	info->started = slot->started;
	info->undo_total = pg_atomic_read_u64(&slot->undo_total);
	info->undo_done = pg_atomic_read_u64(&slot->undo_done);
	info->pages = pg_atomic_read_u64(&slot->pages);
	info->errors = pg_atomic_read_u64(&slot->errors);
	return info->state != ZWORKER_NONE;
}

void
zworker_totals(uint64 *undo, uint64 *pages)
{
	*undo = pg_atomic_read_u64(&zworker_shared->undo_done);
	*pages = pg_atomic_read_u64(&zworker_shared->pages);
}

int
zworker_launcher_pid(void)
{
	return zworker_shared->launcher_pid;
}

/* ---- reports of a worker ---- */

void
zworker_progress(Size undo, uint32 pages)
{
	Assert(zworker_pid(zworker_my_slot) == MyProcPid);	/* J2 */
	if (undo > 0)
	{
		pg_atomic_write_u64(&zworker_my_slot->undo_done,
							pg_atomic_read_u64(&zworker_my_slot->undo_done) + undo);
		pg_atomic_fetch_add_u64(&zworker_shared->undo_done, undo);
	}
	if (pages > 0)
	{
		pg_atomic_write_u64(&zworker_my_slot->pages,
							pg_atomic_read_u64(&zworker_my_slot->pages) + pages);
		pg_atomic_fetch_add_u64(&zworker_shared->pages, pages);
	}
}

void
zworker_error(void)
{
	Assert(zworker_pid(zworker_my_slot) == MyProcPid);	/* J2 */
	pg_atomic_write_u64(&zworker_my_slot->errors,
						pg_atomic_read_u64(&zworker_my_slot->errors) + 1);
}

void
zworker_wake(void)
{
	Latch	   *latch = zworker_shared ? zworker_shared->launcher : NULL;

	if (latch)
		SetLatch(latch);
}

/* ---- when to leave ---- */

bool
zworker_database_is_wanted(Oid db)
{
	LOCKTAG		tag;

	/* the tag that LockSharedObject() uses */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, db, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

/* J4: the interval between looks keeps calls cheap, as rollback asks at each undo page. */
bool
zworker_is_to_leave(void)
{
	static TimestampTz looked_at = 0;
	static bool leave = false;
	TimestampTz now;

	if (leave)
		return true;
	Assert(zworker_pid(zworker_my_slot) == MyProcPid);	/* J2 */
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(looked_at, now, LOOK_INTERVAL))
		return false;
	looked_at = now;
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	leave = zheap_undo_workers == 0 || zworker_database_is_wanted(MyDatabaseId) ||
		(zworker_shared->starving &&
		 TimestampDifferenceExceeds(zworker_my_slot->started, now, TURN));
	return leave;
}
