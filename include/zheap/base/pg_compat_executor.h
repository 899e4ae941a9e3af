/*
 * pg_compat_executor.h
 *		Differences between the supported servers in the executor.
 */
#ifndef ZHEAP_PG_COMPAT_EXECUTOR_H
#define ZHEAP_PG_COMPAT_EXECUTOR_H

#include "access/htup_details.h"
#include "executor/executor.h"
#include "executor/tuptable.h"

/* 17: a callback of slots says whether the current transaction has made the tuple */
#if PG_VERSION_NUM >= 170000
#define zcompat_is_current_xact_tuple(f) .is_current_xact_tuple = f,
#else
#define zcompat_is_current_xact_tuple(f)
#endif

/* 18: a minimal tuple may have extra space in front */
#if PG_VERSION_NUM >= 180000
#define ZCOMPAT_COPY_MINIMAL(f)
#define zcompat_copy_minimal(f) f
#else
#define heap_form_minimal_tuple(desc, values, isnull, extra) \
	heap_form_minimal_tuple(desc, values, isnull)
#define ZCOMPAT_COPY_MINIMAL(f) \
static MinimalTuple \
f##_compat(TupleTableSlot *slot) \
{ \
	return f(slot, 0); \
}
#define zcompat_copy_minimal(f) f##_compat
#endif

/* 18: ExecutorRun has no parameter execute_once */
#if PG_VERSION_NUM >= 180000
#define ZCOMPAT_RUN_PARAM
#define ZCOMPAT_RUN_ARG
#else
#define ZCOMPAT_RUN_PARAM , bool once
#define ZCOMPAT_RUN_ARG , once
#endif

/* 19: INSERT ... ON CONFLICT DO SELECT, which fetches the conflicting row by its TID */
#define ZCOMPAT_CONFLICT_IS_FETCHED (PG_VERSION_NUM >= 190000)

#endif							/* ZHEAP_PG_COMPAT_EXECUTOR_H */
