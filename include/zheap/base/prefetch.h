/*
 * prefetch.h
 *		Telling the kernel of blocks that will be read soon (PrefetchBuffer).
 *
 * A reader that knows its next blocks asks for them ahead.  How far: at first not at all; twice
 * as far each time a read did not find its page among the buffers, up to what the tablespace
 * says (effective_io_concurrency, maintenance_io_concurrency); half as far when reads find their
 * pages.  So nothing is paid where all is cached, or where one row is wanted.  The idea and its
 * limits: the fadvise prefetch thread of 2012 (Claudio Freire, Cedric Villemain).
 *
 * No function here is called with a page locked.
 */
#ifndef ZHEAP_PREFETCH_H
#define ZHEAP_PREFETCH_H

#include "executor/instrument.h"
#include "storage/block.h"
#include "utils/relcache.h"

#include "zheap/base/counters.h"

typedef struct ZPrefetch
{
	ZReader		reader;
	int			limit;			/* blocks: may be ahead; negative: not known yet */
	int			distance;		/* blocks: shall be ahead, now */
	int			ahead;			/* blocks: asked for and not read yet, about so many */
	int			hits;			/* reads since the last one that missed */
} ZPrefetch;

static inline void
zprefetch_init(ZPrefetch *prefetch, ZReader reader)
{
	prefetch->reader = reader;
	prefetch->limit = -1;
	prefetch->distance = prefetch->ahead = prefetch->hits = 0;
}

/* The reader goes on somewhere else: what was asked for will not be read. */
static inline void
zprefetch_turn(ZPrefetch *prefetch)
{
	prefetch->ahead = 0;
}

/* Shall one block more be asked for? */
static inline bool
zprefetch_wants(const ZPrefetch *prefetch)
{
	return prefetch->ahead < prefetch->distance;
}

/* Ask for a block that will be read. */
extern void zprefetch_ask(ZPrefetch *prefetch, Relation rel, BlockNumber block);

/* A read missed, or there is a distance. */
extern void zprefetch_learn(ZPrefetch *prefetch, Relation rel, bool missed);

/* Reads of shared buffers that did not find their page, by this backend so far. */
static inline int64
zprefetch_misses(void)
{
	return pgBufferUsage.shared_blks_read;
}

/* A block has been read; "misses" is zprefetch_misses() of before. */
static inline void
zprefetch_note_read(ZPrefetch *prefetch, Relation rel, int64 misses)
{
	bool		missed = zprefetch_misses() != misses;

	if (unlikely(missed || prefetch->distance > 0))
		zprefetch_learn(prefetch, rel, missed);
}

#endif							/* ZHEAP_PREFETCH_H */
