/*
 * zheap_stream.c
 *		Read streams for servers that have none.
 *
 * Each block is read when its buffer is requested; the kernel is advised of the blocks after it,
 * if the caller wants that.
 *
 * LOCKING: none.  The caller must hold no content lock.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "zheap/base/pg_compat_stream.h"
#include "zheap/base/base.h"

#ifdef ZCOMPAT_OWN_STREAMS

ReadStream *
read_stream_begin_relation(int flags, BufferAccessStrategy strategy, Relation rel,
						   ForkNumber forknum, ReadStreamBlockNumberCB callback,
						   void *private, size_t per_buffer_size) /* tidy: server's signature */
{
	ReadStream *stream = palloc0(sizeof(ReadStream));

	Assert(forknum == MAIN_FORKNUM && per_buffer_size == 0);
	stream->rel = rel;
	stream->strategy = strategy;
	stream->callback = callback;
	stream->private = private;
	stream->advises = (flags & ZCOMPAT_STREAM_ADVISE) != 0;
	zprefetch_init(&stream->prefetch,
				   flags & READ_STREAM_MAINTENANCE ? ZREADER_VACUUM : ZREADER_SEQ_SCAN);
	return stream;
}

static Buffer
read_block(ReadStream *stream, BlockNumber block)
{
	return ReadBufferExtended(stream->rel, MAIN_FORKNUM, block, RBM_NORMAL, stream->strategy);
}

static BlockNumber
ask_callback(ReadStream *stream)
{
	BlockNumber block = InvalidBlockNumber;

	if (!stream->ended)
		block = stream->callback(stream, stream->private, NULL);
	stream->ended = !BlockNumberIsValid(block);
	return block;
}

static BlockNumber
next_block(ReadStream *stream)
{
	BlockNumber block;

	if (stream->n == 0)
		return ask_callback(stream);
	block = stream->queue[stream->first];
	stream->first = (stream->first + 1) % stream->prefetch.limit;
	stream->n--;
	return block;
}

/*
 * Fill the queue up to the distance, and advise the kernel of the blocks.  The distance may shrink
 * while the queue is longer, but it never exceeds its limit.
 */
static void
look_ahead(ReadStream *stream)
{
	int			limit = stream->prefetch.limit;

	if (stream->queue == NULL)
		stream->queue = MemoryContextAlloc(GetMemoryChunkContext(stream),
										   limit * sizeof(BlockNumber));
	while (stream->n < limit && zprefetch_wants(&stream->prefetch))
	{
		BlockNumber block = ask_callback(stream);

		if (!BlockNumberIsValid(block))
			break;
		stream->queue[(stream->first + stream->n) % limit] = block;
		stream->n++;
		zprefetch_ask(&stream->prefetch, stream->rel, block);
	}
}

static Buffer
read_and_advise(ReadStream *stream)
{
	int64		misses = zprefetch_misses();
	BlockNumber block = next_block(stream);
	Buffer		buffer;

	if (!BlockNumberIsValid(block))
		return InvalidBuffer;
	buffer = read_block(stream, block);
	zprefetch_note_read(&stream->prefetch, stream->rel, misses);
	if (unlikely(stream->prefetch.distance > 0))
		look_ahead(stream);
	return buffer;
}

Buffer
read_stream_next_buffer(ReadStream *stream, void **per_buffer)
{
	BlockNumber block;

	if (stream->advises)
		return read_and_advise(stream);
	block = stream->callback(stream, stream->private, NULL);
	return BlockNumberIsValid(block) ? read_block(stream, block) : InvalidBuffer;
}

void
read_stream_reset(ReadStream *stream)
{
	stream->ended = false;
	stream->n = 0;
	zprefetch_turn(&stream->prefetch);
}

void
read_stream_end(ReadStream *stream)
{
	if (stream->queue != NULL)
		pfree(stream->queue);
	pfree(stream);
}

BlockNumber
zstream_single_block(ReadStream *stream, void *block, void *per_buffer)
{
	BlockNumber single = *(BlockNumber *) block;

	*(BlockNumber *) block = InvalidBlockNumber;
	return single;
}

#endif							/* ZCOMPAT_OWN_STREAMS */
