/*
 * pg_compat_stats.h
 *		18: libraries can register kinds of cumulative statistics.
 */
#ifndef ZHEAP_PG_COMPAT_STATS_H
#define ZHEAP_PG_COMPAT_STATS_H

#if PG_VERSION_NUM >= 180000
#include "utils/pgstat_internal.h"
#define ZCOMPAT_STATS_KINDS
#endif

#endif							/* ZHEAP_PG_COMPAT_STATS_H */
