/*
 * stats.h
 *		Counters of each table.
 *
 * Work of aborted transactions is counted, too.  Temporary tables are not counted, nor is the work
 * of the transaction that creates a table: if it aborted, nothing would drop the counters.
 *
 * From 18 on the counters are a kind of the server's cumulative statistics (zheap_stats_kind.c):
 * they survive a clean restart, and other backends see them some time after the transaction.
 * Before 18 they are in shared memory of the library (zheap_stats.c), and all backends see each
 * count at once.
 */
#ifndef ZHEAP_STATS_H
#define ZHEAP_STATS_H

#include "utils/rel.h"

/* From 18 on in the statistics file: a change needs another LAYOUT (zheap_stats_kind.c). */
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

/*
 * Register the kind of statistics, while the library is being preloaded.  The server reports an
 * error, and does not start, if another library has the kind's ID.
 */
extern void zstats_register(void);

/*
 * To be called in shmem_request_hook and shmem_startup_hook; AddinShmemInitLock is held for the
 * second.
 */
extern void zstats_shmem_request(void);
extern void zstats_shmem_init(void);

/*
 * Return whether counters may be made for the table: not for a temporary one, nor in the
 * transaction that has made it, as nothing would drop them if that is rolled back.
 */
static inline bool
zstats_may_count(Relation table)
{
	return !RelationUsesLocalBuffers(table) && table->rd_createSubid == InvalidSubTransactionId;
}

/* No page is locked, as memory may have to be allocated: ERROR (out of memory). */
extern void zstats_count(Relation table, ZTableCounter counter, uint64 n);

/*
 * As zstats_count() of a table that this backend has counted for before; of another one, nothing.
 * May be called with pages locked.
 */
extern void zstats_count_known(Relation table, ZTableCounter counter, uint64 n);

/*
 * Set the counters to zero, of a table, or of all tables of this database.  From 18 on, counts
 * that other backends have not reported yet are added after that.
 */
extern void zstats_reset(Oid table);
extern void zstats_reset_all(void);

/*
 * Drop the counters of a table, or of a database, that is dropped by the transaction which is
 * about to commit or to be prepared.
 */
extern void zstats_forget_table(Oid table);
extern void zstats_forget_database(Oid database);

/*
 * At the end of a transaction that is about to commit: forget this database's dropped tables, if
 * it is time to look for them.  Reads the catalog.
 */
extern void zstats_forget_dropped(void);

/*
 * Return the tables of this database of which something has been counted, in an allocated array of
 * *n.  Includes what this backend has counted so far.
 */
extern ZTableCounts *zstats_tables(int *n);

#endif							/* ZHEAP_STATS_H */
