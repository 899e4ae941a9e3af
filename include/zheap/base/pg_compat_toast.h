/*
 * pg_compat_toast.h
 *		Differences between the supported servers in toasting.
 */
#ifndef ZHEAP_PG_COMPAT_TOAST_H
#define ZHEAP_PG_COMPAT_TOAST_H

#include "access/toast_internals.h"

/* 18: get_toast_snapshot() */
#if PG_VERSION_NUM < 180000
static inline Snapshot
get_toast_snapshot(void)
{
	static SnapshotData snapshot;

	init_toast_snapshot(&snapshot);
	return &snapshot;
}
#endif

#endif							/* ZHEAP_PG_COMPAT_TOAST_H */
