/*
 * zheap.c
 *		_PG_init, and callbacks at the end of transactions.  The only file that uses all layers.
 *
 * An abort takes constant time: no row is rolled back then, because no error may be raised and no
 * catalog can be read.  The log is marked as pending; readers, writers and the worker roll the
 * rows back.
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "zheap/am/am.h"
#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/base/catalog.h"
#include "zheap/base/counters.h"
#include "zheap/base/stats.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/clean/clean.h"
#include "zheap/dml/dml.h"
#include "zheap/index/index.h"
#include "zheap/lock/lock.h"
#include "zheap/mvcc/status.h"
#include "zheap/notes/reap.h"
#include "zheap/page/page_format.h"
#include "zheap/record/record.h"
#include "zheap/rollback/rollback.h"
#include "zheap/scan/page_copy.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_write.h"
#include "zheap/undo/undo_xact.h"
#include "zheap/worker/worker.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static shmem_request_hook_type previous_shmem_request = NULL;
static shmem_startup_hook_type previous_shmem_startup = NULL;

static void
shmem_request(void)
{
	if (previous_shmem_request)
		previous_shmem_request();
	RequestAddinShmemSpace(zheap_marks_shmem_size());
	RequestAddinShmemSpace(zcounters_shmem_size());
	RequestAddinShmemSpace(zheap_freed_shmem_size());
	zstats_shmem_request();
	RequestAddinShmemSpace(zundo_shmem_size());
	RequestAddinShmemSpace(zundo_use_shmem_size());
	RequestAddinShmemSpace(zrollback_shmem_size());
	RequestAddinShmemSpace(zworker_shmem_size());
	RequestAddinShmemSpace(zdead_shmem_size());
	RequestNamedLWLockTranche("zheap_undo", zundo_lwlock_count());
	RequestNamedLWLockTranche(ZDEAD_LWLOCK_TRANCHE, zdead_lwlock_count());
}

static void
shmem_startup(void)
{
	if (previous_shmem_startup)
		previous_shmem_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	zheap_marks_shmem_init();
	zcounters_shmem_init();
	zheap_freed_shmem_init();
	zstats_shmem_init();
	zundo_shmem_init();
	zundo_use_shmem_init();
	zrollback_shmem_init();
	zworker_shmem_init();
	zdead_shmem_init();
	LWLockRelease(AddinShmemInitLock);
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	FullTransactionId fxid;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			zundo_local_before_commit();
			zundo_before_end();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			zundo_before_end();
			break;
		case XACT_EVENT_PRE_PREPARE:
			zundo_before_prepare();
			zundo_before_end();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			fxid = zundo_at_commit();
			if (FullTransactionIdIsValid(fxid))
				zmvcc_note_committed(fxid);
			zindex_entries_at_end_of_transaction();
			zkey_at_end_of_transaction();
			/* with wal_level = minimal the server has logged images of new files */
			zundo_note_redo();
			break;
		case XACT_EVENT_PREPARE:
			zundo_note_redo();
			zundo_at_prepare();
			zindex_entries_at_end_of_transaction();
			zkey_at_end_of_transaction();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			zheap_forget_buffer_locks();
			zundo_at_abort();
			zindex_entries_at_end_of_transaction();
			zkey_at_end_of_transaction();
			zheap_watch_at_abort();
			zworker_wake();
			break;
		default:
			break;
	}
}

static void
end_of_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		zheap_forget_buffer_locks();
		zundo_at_subabort();
		zdml_at_subabort();
		zheap_watch_at_abort();
	}
}

void
_PG_init(void)
{
	/*
	 * Loaded later, the library only tells that it must be preloaded; to pg_upgrade at once, which
	 * loads libraries to see whether the upgrade can be begun.
	 */
	if (!process_shared_preload_libraries_in_progress)
	{
		if (IsBinaryUpgrade)
			zheap_require_preload();
		return;
	}
	zheap_guc_define(ZPAGE_INITIAL_SLOTS, ZPAGE_MAX_INPAGE, zmvcc_status_cache_assign);
	zrec_rmgr_register();
	zstats_register();
	previous_shmem_request = shmem_request_hook;
	shmem_request_hook = shmem_request;
	previous_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
	zheap_table_routine = zam_routine();
	zreap_hook = zclean_by_writer;
	zundo_vacuum_hook = zrollback_vacuum;
	zundo_local_hook = zrollback_local_sweep;
	ztid_register();
	zlock_wait_register();
	zcopy_register();
	zindex_rebuilt_register();
	RegisterXactCallback(end_of_transaction, NULL);
	RegisterSubXactCallback(end_of_subtransaction, NULL);
	zam_default_register();
	zam_drop_register();
	zam_database_register();
	zam_options_register();
	zam_heap_checks_register();
	zam_repack_register();
	zam_undo_ddl_register();
	zworker_launcher_register();
	zheap_mark_preloaded();
}
