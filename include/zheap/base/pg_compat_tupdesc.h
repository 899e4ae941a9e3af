/*
 * pg_compat_tupdesc.h
 *		Differences between the supported servers in descriptors of tuples.
 */
#ifndef ZHEAP_PG_COMPAT_TUPDESC_H
#define ZHEAP_PG_COMPAT_TUPDESC_H

#include "access/tupdesc.h"
#include "access/tupmacs.h"

/* 18: what deforming needs of an attribute is in a small struct, the alignment in bytes */
#if PG_VERSION_NUM < 180000
typedef FormData_pg_attribute CompactAttribute;
#define TupleDescCompactAttr(desc, i) TupleDescAttr(desc, i)
#endif

/* Return the alignment, in bytes, of the attribute's type. */
static inline int
zcompat_alignby(const CompactAttribute *att)
{
#if PG_VERSION_NUM >= 180000
	return att->attalignby;
#else
	return (int) att_align_nominal(1, att->attalign);
#endif
}

#endif							/* ZHEAP_PG_COMPAT_TUPDESC_H */
