/*
 * stats.h
 *		What has been counted of each table since the server began.
 *
 * In shared memory, for all backends at once; aborted transactions' work is counted, too.
 * Temporary tables are not counted, nor what the transaction does that makes a table: if it
 * aborts nobody would drop the counters.
 */
#ifndef ZHEAP_STATS_H
#define ZHEAP_STATS_H

#include "utils/relcache.h"

typedef enum ZTableCounter
{
	/* updates: each is one of these, as UPDATE decides; ztable_is_move() says it of the moves */
	ZTABLE_UPDATED_IN_PLACE,	/* no index got an entry */
	ZTABLE_UPDATED_SEVERAL_KEYS,	/* in place, with entries in those indexes that changed */
	ZTABLE_MOVED_INDEX,			/* moved: an index changed that can't have several keys of a row */
	ZTABLE_MOVED_SHARE,			/* ... more indexes changed than the setting allows */
	ZTABLE_MOVED_ROOM,			/* ... the page had no room for the new version */
	ZTABLE_MOVED_HISTORY,		/* ... triggers count versions, or undo was too long for a page */

	ZTABLE_STALE_REMOVED,		/* index entries of keys that rows had before */
	ZTABLE_DEAD_PASSED,			/* index entries that scans need not look at, as others had */
	ZTABLE_DEAD_REMOVED,		/* deleted rows that writers have freed the line pointers of */
	ZTABLE_DEAD_LEFT,			/* ... that they have left to VACUUM, though they had noted them */

	/* counted in a view of a page, and here when it is closed (mvcc.h) */
	ZTABLE_SLOTS_ADDED,			/* by which pages have grown */
	ZTABLE_SLOTS_REUSED,		/* taken over from owners that some snapshot does not see */
	ZTABLE_OVERFLOW_PAGES,		/* overflow pages made */
	ZTABLE_LOCK_PAGES,			/* lock pages made */
	ZTABLE_PAGES_ROLLED_BACK,	/* pages, once for each aborted owner of a slot with rows there */
	ZTABLE_ROWS_ROLLED_BACK,	/* rows that went back then, or were removed */
	ZTABLE_PAGES_COPIED,		/* by readers, to look at without the page's lock */
	ZTABLE_VERSIONS_WALKED,		/* versions before others, reconstructed from undo records */
	ZTABLE_NCOUNTERS
} ZTableCounter;

#define ZTABLE_FIRST_OF_VIEW	ZTABLE_SLOTS_ADDED
#define ZTABLE_NVIEW_COUNTERS	(ZTABLE_NCOUNTERS - ZTABLE_FIRST_OF_VIEW)

/* An update that is counted so gives the row another line pointer. */
static inline bool
ztable_is_move(ZTableCounter counter)
{
	return counter >= ZTABLE_MOVED_INDEX && counter <= ZTABLE_MOVED_HISTORY;
}

typedef struct ZTableCounts
{
	Oid			table;
	uint64		counts[ZTABLE_NCOUNTERS];
} ZTableCounts;

#define ZSTATS_LWLOCK_TRANCHE "zheap_stats"

extern Size zstats_shmem_size(void);
extern void zstats_shmem_init(void);

/* No page is locked, as memory may have to be allocated: ERROR (out of memory). */
extern void zstats_count(Relation table, ZTableCounter counter, uint64 n);

/*
 * As zstats_count() of a table that this backend has counted for before; of another one, nothing.
 * May be called with pages locked.
 */
extern void zstats_count_known(Relation table, ZTableCounter counter, uint64 n);

/* From now on count from 0: of a table, or of all tables of this database. */
extern void zstats_reset(Oid table);
extern void zstats_reset_all(void);

/* The table has been dropped, or the database. */
extern void zstats_forget_table(Oid table);
extern void zstats_forget_database(Oid database);

/*
 * At the end of a transaction that is about to commit: forget this database's dropped tables, if
 * it is time to look for them.  Reads the catalog.
 */
extern void zstats_forget_dropped(void);

/* All tables of this database that something has been counted of; allocated. */
extern ZTableCounts *zstats_tables(int *n);

#endif							/* ZHEAP_STATS_H */
