/*
 * pg_compat_wal.h
 *		Differences between the supported servers in reading WAL, and in logical decoding.
 */
#ifndef ZHEAP_PG_COMPAT_WAL_H
#define ZHEAP_PG_COMPAT_WAL_H

#include "access/xlogreader.h"
#include "replication/decode.h"
#include "replication/reorderbuffer.h"

#include "zheap/base/pg_compat.h"

/* 19: returns an error message */
#if PG_VERSION_NUM < 190000
#define XLogFindNextRecord(reader, lsn, error) XLogFindNextRecord(reader, lsn)
#endif

/* 19: REPACK (CONCURRENTLY) decodes the changes of one table, and wants no others */
#if PG_VERSION_NUM < 190000
#define change_useless_for_repack(buf) false
#endif

/* 18: functions are renamed */
#if PG_VERSION_NUM < 180000
#define ReorderBufferAllocChange ReorderBufferGetChange
#endif

/* 17: a change has tuples; before, buffers that contain one */
#if PG_VERSION_NUM >= 170000
#if PG_VERSION_NUM < 180000
#define ReorderBufferAllocTupleBuf ReorderBufferGetTupleBuf
#endif
#define zcompat_change_old(change, htup) ((change)->data.tp.oldtuple = (htup))
#define zcompat_change_new(change, htup) ((change)->data.tp.newtuple = (htup))
#else
static inline HeapTuple
ReorderBufferAllocTupleBuf(ReorderBuffer *reorder, Size len)
{
	return &ReorderBufferGetTupleBuf(reorder, len)->tuple;
}

static inline ReorderBufferTupleBuf *
zcompat_tuple_buf(HeapTuple htup)
{
	return htup == NULL ? NULL :
		(ReorderBufferTupleBuf *) ((char *) htup - offsetof(ReorderBufferTupleBuf, tuple));
}
#define zcompat_change_old(change, htup) ((change)->data.tp.oldtuple = zcompat_tuple_buf(htup))
#define zcompat_change_new(change, htup) ((change)->data.tp.newtuple = zcompat_tuple_buf(htup))
#endif

#endif							/* ZHEAP_PG_COMPAT_WAL_H */
