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
#include "storage/relfilenode.h"

/* 16 renames RelFileNode to RelFileLocator, and its fields. */
typedef RelFileNode ZRelLocator;

#define zrel_locator(rel)		((rel)->rd_node)
#define zloc_spc(loc)			((loc).spcNode)
#define zloc_db(loc)			((loc).dbNode)
#define zloc_rel(loc)			((loc).relNode)

/* 17 renames ShmemVariableCache to TransamVariables. */
#define zcompat_next_fxid_in_recovery() (ShmemVariableCache->nextXid)
#define zcompat_xid_stop_limit() (ShmemVariableCache->xidStopLimit)

/* 17 numbers backends from 0 on: ProcNumber; -1: none. */
#define zcompat_proc_backend(proc)	((proc)->backendId > 0 ? (proc)->backendId - 1 : -1)
#define zcompat_backend_proc(number)	BackendIdGetProc((number) + 1)
#define zcompat_my_lxid()			(MyProc->lxid)
#define zcompat_set_vxid(vxid, number, lxid) \
	((vxid).backendId = (number) + 1, (vxid).localTransactionId = (lxid))

#endif							/* ZHEAP_PG_COMPAT_H */
