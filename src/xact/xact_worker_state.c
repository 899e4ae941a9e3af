/*
 * xact_worker_state.c
 *		What launcher, workers and views know of each other, in shared memory.
 *
 * Also when a worker is to leave.  Those who want its database for themselves hold a
 * lock on that: while a worker is busy it tries that lock ten times a second, and leaves
 * when it does not get it.
 *
 * LOCKING: none but ZWorkerShared.mutex for what is told of errors.
 */
#include "postgres.h"

#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "xact_private.h"

/* in milliseconds: between looks, and how long before others have their turn */
#define LOOK_INTERVAL	100
#define TURN			5000

ZWorkerShared *zxact_shared;
ZWorkerSlot *zxact_my_slot;

Size
zxact_worker_shmem_size(void)
{
	return sizeof(ZWorkerShared);
}

void
zxact_worker_shmem_init(void)
{
	bool		found;

	zxact_shared = ShmemInitStruct("zheap workers", sizeof(ZWorkerShared), &found);
	if (found)
		return;
	memset(zxact_shared, 0, sizeof(ZWorkerShared));
	SpinLockInit(&zxact_shared->mutex);
	pg_atomic_init_u64(&zxact_shared->undo_done, 0);
	pg_atomic_init_u64(&zxact_shared->pages, 0);
	for (int i = 0; i < ZHEAP_MAX_UNDO_WORKERS; i++)
	{
		ZWorkerSlot *slot = &zxact_shared->slots[i];

		pg_atomic_init_u64(&slot->undo_total, 0);
		pg_atomic_init_u64(&slot->undo_done, 0);
		pg_atomic_init_u64(&slot->pages, 0);
		pg_atomic_init_u64(&slot->errors, 0);
	}
}

/* ---- for views ---- */

bool
zxact_worker_info(int i, ZWorkerInfo *info)
{
	ZWorkerSlot *slot = &zxact_shared->slots[i];

	info->pid = slot->pid;
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
zxact_worker_totals(uint64 *undo, uint64 *pages)
{
	*undo = pg_atomic_read_u64(&zxact_shared->undo_done);
	*pages = pg_atomic_read_u64(&zxact_shared->pages);
}

void
zxact_error_info(ZErrorInfo *info)
{
	SpinLockAcquire(&zxact_shared->mutex);
	info->errors = zxact_shared->errors;
	info->last_at = zxact_shared->last_error_at;
	info->last_db = zxact_shared->last_error_db;
	memcpy(info->last, zxact_shared->last_error, sizeof(info->last));
	SpinLockRelease(&zxact_shared->mutex);
}

int
zxact_launcher_pid(void)
{
	return zxact_shared->launcher_pid;
}

/* ---- of a worker ---- */

void
zxact_worker_progress(Size undo, uint32 pages)
{
	if (zxact_my_slot == NULL)
		return;
	if (undo > 0)
	{
		pg_atomic_write_u64(&zxact_my_slot->undo_done,
							pg_atomic_read_u64(&zxact_my_slot->undo_done) + undo);
		pg_atomic_fetch_add_u64(&zxact_shared->undo_done, undo);
	}
	if (pages > 0)
	{
		pg_atomic_write_u64(&zxact_my_slot->pages,
							pg_atomic_read_u64(&zxact_my_slot->pages) + pages);
		pg_atomic_fetch_add_u64(&zxact_shared->pages, pages);
	}
}

void
zxact_worker_error(void)
{
	if (zxact_my_slot != NULL)
		pg_atomic_write_u64(&zxact_my_slot->errors, pg_atomic_read_u64(&zxact_my_slot->errors) + 1);
}

void
zxact_worker_wake(void)
{
	Latch	   *latch = zxact_shared ? zxact_shared->launcher : NULL;

	if (latch)
		SetLatch(latch);
}

/* ---- when to go ---- */

bool
zxact_database_is_wanted(Oid db)
{
	LOCKTAG		tag;

	/* as LockSharedObject() */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, db, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

bool
zxact_worker_is_to_leave(void)
{
	static TimestampTz looked_at = 0;
	static bool leave = false;
	TimestampTz now;

	if (zxact_my_slot == NULL || leave)
		return leave;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(looked_at, now, LOOK_INTERVAL))
		return false;
	looked_at = now;
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	leave = zheap_undo_workers == 0 || zxact_database_is_wanted(MyDatabaseId) ||
		(zxact_shared->starving && TimestampDifferenceExceeds(zxact_my_slot->started, now, TURN));
	return leave;
}
