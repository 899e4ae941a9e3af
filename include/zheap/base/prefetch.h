/*
 * prefetch.h
 *		Advise the kernel of blocks that will be read soon (PrefetchBuffer).
 *
 * A reader that knows its next blocks requests them ahead.  The distance begins at 0; each read
 * that does not find its page in shared buffers doubles it, up to the tablespace's
 * effective_io_concurrency or maintenance_io_concurrency; reads that find their pages halve it.
 * So it costs nothing where all pages are cached, or where one row is wanted.  The idea and its
 * limits: the fadvise prefetch thread of 2012 (Claudio Freire, Cedric Villemain).
 *
 * The functions here may read catalogs: no content lock may be held.
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
	int			limit;			/* maximum of the distance, in blocks; negative: not known yet */
	int			distance;		/* number of blocks that should be ahead now */
	int			ahead;			/* estimated number of blocks requested and not read yet */
	int			hits;			/* reads since the last one that missed */
} ZPrefetch;

/* Begin to read for this reader; the distance is 0 until reads miss. */
static inline void
zprefetch_init(ZPrefetch *prefetch, ZReader reader)
{
	prefetch->reader = reader;
	prefetch->limit = -1;
	prefetch->distance = prefetch->ahead = prefetch->hits = 0;
}

/* Continue at another place: the requested blocks will not be read. */
static inline void
zprefetch_turn(ZPrefetch *prefetch)
{
	prefetch->ahead = 0;
}

/* Return whether another block should be requested. */
static inline bool
zprefetch_wants(const ZPrefetch *prefetch)
{
	return prefetch->ahead < prefetch->distance;
}

/* Request a block that will be read. */
extern void zprefetch_ask(ZPrefetch *prefetch, Relation rel, BlockNumber block);

/*
 * Adapt the distance to a read, which "missed" if its page was not in shared buffers.  Needed only
 * if it missed or the distance is not 0; zprefetch_note_read() checks that.
 */
extern void zprefetch_learn(ZPrefetch *prefetch, Relation rel, bool missed);

/* Return the number of reads by this backend that did not find their page in shared buffers. */
static inline int64
zprefetch_misses(void)
{
	return pgBufferUsage.shared_blks_read;
}

/* Take notice of the read of a block; "misses" is zprefetch_misses() from before it. */
static inline void
zprefetch_note_read(ZPrefetch *prefetch, Relation rel, int64 misses)
{
	bool		missed = zprefetch_misses() != misses;

	if (unlikely(missed || prefetch->distance > 0))
		zprefetch_learn(prefetch, rel, missed);
}

#endif							/* ZHEAP_PREFETCH_H */
