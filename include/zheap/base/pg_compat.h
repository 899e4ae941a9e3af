/*
 * pg_compat.h
 *		The only file that looks at PG_VERSION_NUM.
 *
 * Each difference between the supported server versions becomes a feature
 * name or a small wrapper here, with the reason beside it.
 */
#ifndef ZHEAP_PG_COMPAT_H
#define ZHEAP_PG_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 160000
#error "this version of zheap supports PostgreSQL 15"
#endif

#include "access/transam.h"
#include "storage/bufmgr.h"
#include "storage/relfilenode.h"
#include "storage/smgr.h"
#include "utils/rel.h"
#include "utils/relfilenodemap.h"

#include "zheap/base/server_calls.h"

/*
 * 16 renames RelFileNode to RelFileLocator, with its fields, the two headers, and what is
 * named after it.  The lint sees to it that nothing else uses the names of 15.
 */
typedef RelFileNode ZRelLocator;

#define zrel_locator(rel)		((rel)->rd_node)
#define zsmgr_locator(smgr)		((smgr)->smgr_rnode.node)
#define zloc_spc(loc)			((loc).spcNode)
#define zloc_db(loc)			((loc).dbNode)
#define zloc_rel(loc)			((loc).relNode)
#define zloc_equals(a, b)		RelFileNodeEquals(a, b)

/* Which relation of this database has the file?  InvalidOid: none, or a temporary one. */
#define zcompat_relid_by_file(spc, number) ZCHECKED(RelidByRelfilenode(spc, number))

/* The same rename in TableAmRoutine, and in the relcache entry. */
#define zcompat_am_new_file		relation_set_new_filenode
#define zrel_first_file_subid(rel) ((rel)->rd_firstRelfilenodeSubid)

/* 16 has one function for objects of all kinds. */
#define zcompat_owns_relation(relid)	ZCHECKED(pg_class_ownercheck(relid, GetUserId()))

/* 17 renames ShmemVariableCache to TransamVariables. */
#define zcompat_next_fxid_in_recovery() (ShmemVariableCache->nextXid)
#define zcompat_xid_stop_limit() (ShmemVariableCache->xidStopLimit)

/* 17 numbers backends from 0 on: ProcNumber; -1: none. */
#define zcompat_proc_backend(proc)	((proc)->backendId > 0 ? (proc)->backendId - 1 : -1)
#define zcompat_backend_proc(number)	BackendIdGetProc((number) + 1)
#define zcompat_my_lxid()			(MyProc->lxid)
#define zcompat_set_vxid(vxid, number, lxid) \
	((vxid).backendId = (number) + 1, (vxid).localTransactionId = (lxid))

/* 17 names it TransamVariables.  To be read with XactTruncationLock. */
#define zcompat_oldest_clog_xid()	(ShmemVariableCache->oldestClogXid)

/*
 * ERROR if the snapshot is older than old_snapshot_threshold allows, and the page has changed
 * since it was taken.  17 has no such setting.
 */
#define zcompat_check_snapshot_age(snapshot, rel, page) TestForOldSnapshot(snapshot, rel, page)

/* 16 has it no more. */
#define zcompat_defer_cleanup_age() vacuum_defer_cleanup_age

/* Also renamed in 16. */
#define zcompat_change_locator(change)	((change)->data.tp.relnode)

/* 16 makes one of the two, and returns a copy of the array. */
#define zcompat_guc_variables(count)	(*(count) = GetNumConfigOptions(), get_guc_variables())

/* 16 shortens the names of a table's counters. */
#define zcompat_live_rows(entry)	((entry)->n_live_tuples)
#define zcompat_dead_rows(entry)	((entry)->n_dead_tuples)

#endif							/* ZHEAP_PG_COMPAT_H */
