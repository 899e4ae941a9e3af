/*
 * zheap_prefetch.c
 *		Advise the kernel of blocks that will be read soon.
 *
 * LOCKING: none but, for a moment, a partition lock of the server's buffer table.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "zheap/base/base.h"
#include "zheap/base/prefetch.h"

/*
 * Reads in a row that find their page before the distance is halved; twice the distance is added.
 */
#define MANY_HITS	8

/*
 * Return how many blocks may be ahead, as the server does for bitmap scans and ANALYZE; 0 for
 * temporary tables, whose reads zprefetch_misses() does not count.
 */
static int
find_limit(ZReader reader, Relation rel)
{
	Oid			tablespace = rel->rd_rel->reltablespace;

	Assert(!zheap_holds_buffer_lock()); /* I3: may read catalogs */
#ifdef USE_PREFETCH
	if (RelationUsesLocalBuffers(rel))
		return 0;
	return zreader_is_maintenance(reader) ? get_tablespace_maintenance_io_concurrency(tablespace) :
		get_tablespace_io_concurrency(tablespace);
#else
	return 0;
#endif
}

/* Adapt the distance to a read that found its page in shared buffers, or missed. */
void
zprefetch_learn(ZPrefetch *prefetch, Relation rel, bool missed)
{
	bool		asked = prefetch->ahead > 0;

	if (asked)
		prefetch->ahead--;
	if (!missed)
	{
		if (++prefetch->hits > MANY_HITS + 2 * prefetch->distance)
		{
			prefetch->distance /= 2;
			prefetch->hits = 0;
			if (prefetch->distance == 0)
				prefetch->ahead = 0;
		}
		return;
	}
	zcount(ZCOUNT_IO(prefetch->reader, asked ? ZIO_READS_ASKED : ZIO_READS_NOT_ASKED));
	prefetch->hits = 0;
	if (prefetch->limit < 0)
	{
		zcounters_attach();
		prefetch->limit = find_limit(prefetch->reader, rel);
	}
	prefetch->distance = Min(Max(1, 2 * prefetch->distance), prefetch->limit);
}

void
zprefetch_ask(ZPrefetch *prefetch, Relation rel, BlockNumber block)
{
	PrefetchBufferResult result = PrefetchBuffer(rel, MAIN_FORKNUM, block);

	prefetch->ahead++;
	if (BufferIsValid(result.recent_buffer))
		zcount(ZCOUNT_IO(prefetch->reader, ZIO_CACHED));
	else
	{
		zcount(ZCOUNT_IO(prefetch->reader, ZIO_ASKED));
		zcount_add(ZCOUNT_IO(prefetch->reader, ZIO_DISTANCES), prefetch->distance);
	}
}
