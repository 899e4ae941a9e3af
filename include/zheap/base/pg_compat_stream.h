/*
 * pg_compat_stream.h
 *		17: read streams, which read ahead the blocks that a callback returns.  On older servers
 *		zheap_stream.c has the same functions.
 */
#ifndef ZHEAP_PG_COMPAT_STREAM_H
#define ZHEAP_PG_COMPAT_STREAM_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"

/* the server decides by itself whether to advise the kernel */
#define ZCOMPAT_STREAM_ADVISE	0
#else
#include "zheap/base/prefetch.h"

#define ZCOMPAT_OWN_STREAMS

#define READ_STREAM_DEFAULT		0x00
#define READ_STREAM_MAINTENANCE	0x01
#define READ_STREAM_SEQUENTIAL	0x02

/* advise the kernel of blocks ahead (prefetch.h); without it the callback is not called ahead */
#define ZCOMPAT_STREAM_ADVISE	0x100

typedef struct ReadStream ReadStream;

typedef BlockNumber (*ReadStreamBlockNumberCB) (ReadStream *stream, void *private,
												void *per_buffer);

struct ReadStream
{
	Relation	rel;
	BufferAccessStrategy strategy;
	ReadStreamBlockNumberCB callback;
	void	   *private;

	/* if the kernel is advised */
	bool		advises;
	bool		ended;			/* the callback has no more blocks */
	ZPrefetch	prefetch;
	BlockNumber *queue;			/* ring of "limit" blocks ahead; or NULL */
	int			first;
	int			n;
};

#define read_stream_begin_relation zstream_begin
#define read_stream_next_buffer zstream_next_buffer
#define read_stream_reset		zstream_reset
#define read_stream_end			zstream_end

/*
 * Begin a stream of the main fork, without data per buffer.  It is allocated in the current memory
 * context; read_stream_end() frees it.
 */
extern ReadStream *read_stream_begin_relation(int flags, BufferAccessStrategy strategy,
											  Relation rel, ForkNumber forknum,
											  ReadStreamBlockNumberCB callback, void *private,
											  size_t per_buffer_size);	/* tidy: server's signature */

/*
 * Return the next buffer, pinned and not locked; InvalidBuffer if there are no more.  Raises ERROR
 * if the page cannot be read.  No content lock may be held.
 */
extern Buffer read_stream_next_buffer(ReadStream *stream, void **per_buffer);

/* Discard the blocks ahead; the callback is called again, even if it had no more blocks. */
extern void read_stream_reset(ReadStream *stream);
extern void read_stream_end(ReadStream *stream);

/* The callback of a stream of one block, which "block" points to. */
extern BlockNumber zstream_single_block(ReadStream *stream, void *block, void *per_buffer);
#endif

#if PG_VERSION_NUM < 180000
#define READ_STREAM_USE_BATCHING 0
#endif

/* 17: the executor begins the table's scan when it has made the bitmap, no longer before */
#if PG_VERSION_NUM >= 170000
#define ZCOMPAT_BITMAP_IS_OLDER	true
#else
#define ZCOMPAT_BITMAP_IS_OLDER	false
#endif

/* 18: the access method reads a bitmap scan's pages ahead, no longer the executor */
#if PG_VERSION_NUM >= 180000
#define ZCOMPAT_BITMAP_STREAMS
#endif

/*
 * 19: a scan with SO_SCAN_INSTRUMENT counts what its streams read, for EXPLAIN (ANALYZE, IO).
 * zcompat_scan_counts() allocates the counters, in the current context; zcompat_stream_counts()
 * lets a stream add to them.
 */
#if PG_VERSION_NUM >= 190000
#include "access/tableam.h"
#include "executor/instrument_node.h"

static inline void
zcompat_scan_counts(TableScanDesc scan)
{
	if (scan->rs_flags & SO_SCAN_INSTRUMENT)
		scan->rs_instrument = palloc0_object(TableScanInstrumentation);
}

static inline void
zcompat_stream_counts(TableScanDesc scan, ReadStream *stream)
{
	if (scan->rs_instrument != NULL)
		read_stream_enable_stats(stream, &scan->rs_instrument->io);
}
#else
#define zcompat_scan_counts(scan)			((void) 0)
#define zcompat_stream_counts(scan, stream)	((void) 0)
#endif

#endif							/* ZHEAP_PG_COMPAT_STREAM_H */
