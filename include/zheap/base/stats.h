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

/* Stored in the statistics file from 18 on: a change needs another LAYOUT (zheap_stats_kind.c). */
typedef enum ZTableCounter
{
	/* updates: each counts as one of these; ztable_is_move() says which are moves */
	ZTABLE_UPDATED_IN_PLACE,	/* no index got an entry */
	ZTABLE_UPDATED_SEVERAL_KEYS,	/* in place, with new entries in the changed indexes */
	ZTABLE_MOVED_UNIQUE,		/* moved: an index of a unique or exclusion constraint changed */
	ZTABLE_MOVED_EQUAL_KEY,		/* ... its new key may equal the old one, with other bytes */
	ZTABLE_MOVED_KIND,			/* ... its access method, an expression or its predicate */
	ZTABLE_MOVED_INVALID,		/* ... it is being built, or its build has failed */
	ZTABLE_MOVED_BUDGET,		/* ... to bound its stale entries, mostly by chance */
	ZTABLE_MOVED_SHARE,			/* ... more indexes changed than the setting allows */
	ZTABLE_MOVED_ROOM,			/* ... the page had no room for the new version */
	ZTABLE_MOVED_HISTORY,		/* ... triggers count versions, or undo was too long for a page */

	ZTABLE_STALE_REMOVED,		/* index entries of keys that rows had before */
	ZTABLE_DEAD_SKIPPED,		/* index entries that scans skipped, as other scans had noted */
	ZTABLE_DEAD_REMOVED,		/* deleted rows whose line pointers writers have freed */
	ZTABLE_DEAD_LEFT,			/* ... noted by writers, but left to VACUUM */
	ZTABLE_DEAD_ENTRIES,		/* index entries of deleted rows that writers have removed */
	ZTABLE_DEAD_LEAVES,			/* leaves that they have visited for that */

	/* counted in a view of a page, and here when it is closed (view.h) */
	ZTABLE_SLOTS_ADDED,			/* slots that were added to pages */
	ZTABLE_SLOTS_REUSED,		/* taken over from owners that are not all-visible */
	ZTABLE_OVERFLOW_PAGES,		/* overflow pages made */
	ZTABLE_LOCK_PAGES,			/* lock pages made */
	ZTABLE_PAGES_ROLLED_BACK,	/* pages, once for each aborted owner of a slot with rows there */
	ZTABLE_ROWS_ROLLED_BACK,	/* rows restored or removed by that */
	ZTABLE_PAGES_COPIED,		/* copied by readers, to read without the page's lock */
	ZTABLE_VERSIONS_WALKED,		/* earlier versions, reconstructed from undo records */
	ZTABLE_NCOUNTERS
} ZTableCounter;

#define ZTABLE_FIRST_OF_VIEW	ZTABLE_SLOTS_ADDED
#define ZTABLE_NVIEW_COUNTERS	(ZTABLE_NCOUNTERS - ZTABLE_FIRST_OF_VIEW)

/* Return whether the counter is for updates that give the row another line pointer. */
static inline bool
ztable_is_move(ZTableCounter counter)
{
	return counter >= ZTABLE_MOVED_UNIQUE && counter <= ZTABLE_MOVED_HISTORY;
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

/* Called in shmem_request_hook, and in shmem_startup_hook with AddinShmemInitLock held. */
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

/*
 * Add n to the table's counter; nothing if zstats_may_count() is false.  No content lock may be
 * held, as memory may be allocated: ERROR (out_of_memory).
 */
extern void zstats_count(Relation table, ZTableCounter counter, uint64 n);

/*
 * Add n to the counter of a table that this backend has counted for before; do nothing for another
 * table.  Content locks may be held.  Raises no error.
 */
extern void zstats_count_known(Relation table, ZTableCounter counter, uint64 n);

/*
 * Set the counters of a table of this database, or of all its tables, to zero.  From 18 on, counts
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
 * Forget this database's dropped tables, if it is time to look for them.  Called at the end of a
 * transaction that is about to commit.  Reads the catalog.
 */
extern void zstats_forget_dropped(void);

/*
 * Return the tables of this database that have counters, in an array of *n allocated in the
 * current memory context.  Includes what this backend has counted so far.
 */
extern ZTableCounts *zstats_tables(int *n);

#endif							/* ZHEAP_STATS_H */
