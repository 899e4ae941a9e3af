/*
 * pg_compat.h
 *		Differences between the supported servers. Only the pg_compat*.h headers look at
 *		PG_VERSION_NUM.
 *
 * The sources use the API of the newest server.  These headers, pg_compat.h for what all files
 * need and pg_compat_TOPIC.h for the rest, provide it on an older server, one block for each
 * difference.  The major that introduced the newest form heads each block.
 *
 * A name that an older server lacks is defined before server_calls.h is included.  A function that
 * has other parameters there is defined after it, as an inline function that calls the checked
 * name and then takes its place; or as a macro, if server_calls.h does not list the function.
 */
#ifndef ZHEAP_PG_COMPAT_H
#define ZHEAP_PG_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "this version of zheap supports PostgreSQL 15 to 19"
#endif

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "commands/dbcommands.h"	/* get_database_name: moved by 19 */
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "storage/sinvaladt.h"
#include "storage/smgr.h"
#include "storage/standby.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

/* ---- 16: RelFileNode is renamed to RelFileLocator, with fields, headers and functions ---- */

#if PG_VERSION_NUM >= 160000
#include "storage/relfilelocator.h"
#include "utils/relfilenumbermap.h"
#define zsmgr_locator(smgr)		((smgr)->smgr_rlocator.locator)
#else
#include "storage/relfilenode.h"
#include "utils/relfilenodemap.h"
#define RelFileLocator			RelFileNode
#define RelFileLocatorEquals	RelFileNodeEquals
#define spcOid					spcNode
#define dbOid					dbNode
#define relNumber				relNode
#define rlocator				relnode
#define rd_locator				rd_node
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define relation_set_new_filelocator relation_set_new_filenode
#define zsmgr_locator(smgr)		((smgr)->smgr_rnode.node)

static inline Oid
RelidByRelfilenumber(Oid tablespace, Oid number)
{
	return RelidByRelfilenode(tablespace, number);
}
#endif

/* ---- 16: one function checks the ownership of objects of all kinds ---- */

#if PG_VERSION_NUM < 160000
static inline bool
object_ownercheck(Oid classid, Oid objectid, Oid roleid)
{
	Assert(classid == RelationRelationId);
	return pg_class_ownercheck(objectid, roleid);
}
#endif

#include "zheap/base/server_calls.h"

/* ---- 18: pg_noreturn, which precedes the declaration ---- */

#if PG_VERSION_NUM < 180000
#define pg_noreturn				pg_attribute_noreturn()
#endif

/* ---- 17: ShmemVariableCache is renamed to TransamVariables ---- */

#if PG_VERSION_NUM < 170000
#define TransamVariables		ShmemVariableCache
#endif

/* ---- 17: ProcNumber numbers backends from 0 on, -1 is none; BackendId did so from 1 on ---- */

#if PG_VERSION_NUM >= 170000
#include "storage/procnumber.h"
#define zcompat_proc_backend(proc)	((proc)->vxid.procNumber)
#define zcompat_backend_proc(number) ProcNumberGetProc(number)
#define zcompat_proc_lxid(proc)		((proc)->vxid.lxid)
#define zcompat_vxid_backend(vxid)	((vxid).procNumber)
#else
#include "storage/backendid.h"
typedef int ProcNumber;
#define INVALID_PROC_NUMBER		InvalidBackendId
#define ProcNumberForTempRelations() BackendIdForTempRelations()
#define zcompat_proc_backend(proc)	((proc)->backendId > 0 ? (proc)->backendId - 1 : -1)
#define zcompat_backend_proc(number) BackendIdGetProc((number) + 1)
#define zcompat_proc_lxid(proc)		((proc)->lxid)
#define zcompat_vxid_backend(vxid)	((vxid).backendId > 0 ? (vxid).backendId - 1 : -1)
#endif
#define zcompat_my_lxid()			zcompat_proc_lxid(MyProc)

static inline VirtualTransactionId
zcompat_vxid(ProcNumber number, LocalTransactionId lxid)
{
#if PG_VERSION_NUM >= 170000
	VirtualTransactionId vxid = {number, lxid};
#else
	VirtualTransactionId vxid = {number + 1, lxid};
#endif

	return vxid;
}

/* ---- 17 removes old_snapshot_threshold, 16 vacuum_defer_cleanup_age ---- */

/*
 * Raise an error if the snapshot is older than old_snapshot_threshold allows, and the page has
 * changed since it was taken.
 */
#if PG_VERSION_NUM >= 170000
#define zcompat_check_snapshot_age(snapshot, rel, page) ((void) 0)
#else
#define zcompat_check_snapshot_age(snapshot, rel, page) TestForOldSnapshot(snapshot, rel, page)
#endif

#if PG_VERSION_NUM >= 160000
#define zcompat_defer_cleanup_age() 0
#else
#define zcompat_defer_cleanup_age() vacuum_defer_cleanup_age
#endif

/* ---- 16: a table's counters have shorter names ---- */

#if PG_VERSION_NUM < 160000
#define live_tuples				n_live_tuples
#define dead_tuples				n_dead_tuples
#endif

/* ... and so have those of the entry in which a backend counts */

#if PG_VERSION_NUM >= 160000
#define zcompat_counts(stats, counter) ((stats)->counts.counter)
#else
#define zcompat_counts(stats, counter) ((stats)->t_counts.t_##counter)
#define pgstat_count_heap_update(rel, hot, newpage) pgstat_count_heap_update(rel, hot)
#endif

#if PG_VERSION_NUM < 170000
#define AmBackgroundWorkerProcess() IsBackgroundWorker
#endif

/* ---- 16: for a catalog, conflicts on a standby invalidate logical slots as well ---- */

#if PG_VERSION_NUM < 160000
#define ResolveRecoveryConflictWithSnapshot(horizon, catalog, locator) \
	ResolveRecoveryConflictWithSnapshot(horizon, locator)
#define ResolveRecoveryConflictWithSnapshotFullXid(horizon, catalog, locator) \
	ResolveRecoveryConflictWithSnapshotFullXid(horizon, locator)
#endif

/* ---- 19: a parameter says whether the horizon may be computed anew ---- */

#if PG_VERSION_NUM < 190000
#define GlobalVisTestIsRemovableXid(state, xid, allow_update) \
	GlobalVisTestIsRemovableXid(state, xid)
#define GlobalVisTestIsRemovableFullXid(state, fxid, allow_update) \
	GlobalVisTestIsRemovableFullXid(state, fxid)
#endif

/* ---- 17: a parameter says whether a stronger lock counts ---- */

#if PG_VERSION_NUM < 170000
#define LockHeldByMe(tag, mode, orstronger) LockHeldByMe(tag, mode)
#endif

/* ---- 16: a parameter says whether the result is to be a copy ---- */

#if PG_VERSION_NUM < 160000
#define tuplesort_getdatum(state, forward, copy, value, isnull, abbrev) \
	tuplesort_getdatum(state, forward, value, isnull, abbrev)
#endif

/* ---- 19: a shared hash table has one number of elements, initial and maximal ---- */

#if PG_VERSION_NUM < 190000
#define ShmemInitHash(name, nelems, info, flags) ShmemInitHash(name, nelems, nelems, info, flags)
#endif

/* ---- 17: dshash_parameters have a function that copies keys ---- */

#if PG_VERSION_NUM >= 170000
#define ZCOMPAT_DSHASH_COPY(function) .copy_function = function,
#else
#define ZCOMPAT_DSHASH_COPY(function)
#endif

/* ---- 18: a lock that NOWAIT does not get may be logged (log_lock_failures) ---- */

#if PG_VERSION_NUM >= 180000
#define zcompat_logs_lock_failure(policy) ((policy) == LockWaitError && log_lock_failures)
#else
#define zcompat_logs_lock_failure(policy) false

static inline bool
zcompat_xact_lock_wait(TransactionId xid, bool log_failure)
{
	return ConditionalXactLockTableWait(xid);
}
#undef ConditionalXactLockTableWait
#define ConditionalXactLockTableWait zcompat_xact_lock_wait
#endif

/* ---- 18: PageIsVerifiedExtended is renamed; it returns whether the checksum failed ---- */

#if PG_VERSION_NUM < 180000
#undef PageIsVerified
#define PageIsVerified(page, block, flags, failed) \
	PageIsVerifiedExtended((Page) (page), block, flags)
#endif

/* ---- minor releases before November 2024 lack this; a build has to work with them ---- */

static inline bool
zcompat_relation_oid_locked_by_me(Oid relid, LOCKMODE lockmode, bool orstronger)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	for (LOCKMODE mode = lockmode; mode <= (orstronger ? MaxLockMode : lockmode); mode++)
	{
		if (LockHeldByMe(&tag, mode, false))
			return true;
	}
	return false;
}
#define CheckRelationOidLockedByMe(relid, lockmode, orstronger) \
	zcompat_relation_oid_locked_by_me(relid, lockmode, orstronger)

/* ---- 16: buffers that smgr reads into or writes from are aligned for direct I/O ---- */

#if PG_VERSION_NUM < 160000
#define PGIOAlignedBlock PGAlignedBlock
#define zcompat_palloc_page() ((Page) palloc0(BLCKSZ))
#else
#define zcompat_palloc_page() ((Page) palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, MCXT_ALLOC_ZERO))
#endif

/*
 * ---- 16: ExtendBufferedRel() extends a file for which there is no relation cache entry; P_NEW
 * did so before.  Returns the new page's buffer, pinned and exclusively locked. ----
 */

static inline Buffer
zcompat_extend_locked(RelFileLocator locator)
{
#if PG_VERSION_NUM >= 160000
	return ExtendBufferedRel(BMR_SMGR(smgropen(locator, INVALID_PROC_NUMBER),
									  RELPERSISTENCE_PERMANENT),
							 MAIN_FORKNUM, NULL, EB_SKIP_EXTENSION_LOCK | EB_LOCK_FIRST);
#else
	return ReadBufferWithoutRelcache(locator, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL, true);
#endif
}

/* ---- 19: index scans have the flags of table scans ---- */

#if PG_VERSION_NUM < 190000
#define SO_NONE					0
#endif

/* ---- 19: parameters say which transactions of which databases count ---- */

#if PG_VERSION_NUM < 190000
#define GetOldestActiveTransactionId(in_commit_only, all_databases) GetOldestActiveTransactionId()
#endif

/* ---- 19: PageSetChecksumInplace is renamed ---- */

#if PG_VERSION_NUM < 190000
#define PageSetChecksum(page, block) PageSetChecksumInplace(page, block)
#endif

#endif							/* ZHEAP_PG_COMPAT_H */
