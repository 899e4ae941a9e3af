/*
 * zheap.c
 *		_PG_init: the only file that knows everybody.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/lock/lock.h"
#include "zheap/redo/redo.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo.h"
#include "zheap/undo/undo_am.h"
#include "zheap/xact/xact.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static shmem_request_hook_type previous_shmem_request = NULL;
static shmem_startup_hook_type previous_shmem_startup = NULL;

static void
shmem_request(void)
{
	if (previous_shmem_request)
		previous_shmem_request();
	RequestAddinShmemSpace(zundo_shmem_size());
	RequestAddinShmemSpace(zxact_worker_shmem_size());
	RequestNamedLWLockTranche("zheap_undo", zundo_lwlock_count());
}

static void
shmem_startup(void)
{
	if (previous_shmem_startup)
		previous_shmem_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	zundo_shmem_init();
	zxact_worker_shmem_init();
	LWLockRelease(AddinShmemInitLock);
}

void
_PG_init(void)
{
	/* loaded later, the library only tells that it must be preloaded */
	if (!process_shared_preload_libraries_in_progress)
		return;
	zheap_guc_define();
	zredo_register();
	previous_shmem_request = shmem_request_hook;
	shmem_request_hook = shmem_request;
	previous_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
	zundo_vacuum_hook = zxact_vacuum;
	zundo_local_hook = zxact_local_sweep;
	ztid_register();
	zlock_wait_register();
	zxact_callbacks_register();
	zam_drop_register();
	zam_options_register();
	zxact_launcher_register();
	zheap_mark_preloaded();
}
