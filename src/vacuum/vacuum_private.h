/*
 * vacuum_private.h
 *		State of one VACUUM of a table, shared by the files of this layer.
 */
#ifndef ZHEAP_VACUUM_PRIVATE_H
#define ZHEAP_VACUUM_PRIVATE_H

#include "access/genam.h"
#include "commands/vacuum.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "utils/pg_rusage.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "zheap/base/pg_compat_stream.h"
#include "zheap/base/pg_compat_vacuum.h"
#include "zheap/mvcc/view.h"

/*
 * Below this share of a table's pages, those with dead line pointers can wait for the next VACUUM
 * (heap's limit), and so can those with rows that have several keys.
 */
#define VACUUM_BYPASS_PAGES	0.02

/* Resources that the process had used when the VACUUM began. */
typedef struct ZVacuumClock
{
	PGRUsage	usage;
	TimestampTz start;
	WalUsage	wal;
	BufferUsage buffers;
	PgStat_Counter read_time;	/* microseconds */
	PgStat_Counter write_time;
} ZVacuumClock;

/* An overflow page or lock page, and the table page that may use it. */
typedef struct ZVacuumOverflowPage
{
	BlockNumber block;
	BlockNumber table_block;
} ZVacuumOverflowPage;

/* Return the number of bytes that the rows and pointers collected from the pages may take. */
static inline int64
vacuum_memory(void)
{
	int			kilobytes = AmAutoVacuumWorkerProcess() && autovacuum_work_mem != -1 ?
		autovacuum_work_mem : maintenance_work_mem;

	return (int64) kilobytes * 1024;
}

/* The operation on the current block or index, for error messages. */
typedef enum VacuumDoing
{
	VACUUM_NO_BLOCK,			/* no block, no index */
	VACUUM_SCANNING,
	VACUUM_VACUUMING,
	VACUUM_TRUNCATING,
	VACUUM_VACUUMING_INDEX,
	VACUUM_CLEANING_INDEX
} VacuumDoing;

typedef struct ZVacuumStale ZVacuumStale;

typedef struct ZVacuum
{
	Relation	rel;
	ZCompatVacuumParams *params;
	BufferAccessStrategy strategy;
	bool		verbose;
	TimestampTz began;
	ZPageView	view;

	/* indexes */
	int			nindexes;
	Relation   *indexes;
	IndexBulkDeleteResult **results;
	ParallelVacuumState *parallel;	/* or NULL */
	VacDeadItemsInfo *dead_info;
	TidStore   *dead;			/* pointers whose entries are to be removed, by TID */
	bool		do_indexes;		/* delete entries and reclaim pointers */
	bool		may_bypass;		/* a small number of them may wait for the next VACUUM */
	bool		do_truncate;
	int			rounds;			/* passes over the indexes */
	ZVacuumStale *stale;		/* rows with several keys found so far; or NULL */

	/* for error messages */
	const char *namespace;
	VacuumDoing doing;
	BlockNumber block;			/* InvalidBlockNumber: the stream is reading */
	const char *index;

	/* pages */
	BlockNumber npages;			/* number when the scan began, less those truncated */
	BlockNumber next;			/* next block that the scan's stream considers */
	BlockNumber scanned;
	BlockNumber skipped;		/* not read, because they are all-visible */
	BlockNumber nonempty;		/* end of the last page with rows */
	BlockNumber removed;		/* truncated */
	BlockNumber dead_pages;		/* pages with dead line pointers */
	BlockNumber rolled_back;	/* pages where rows were rolled back */
	BlockNumber stale_pages;	/* pages with rows that have several keys */
	bool		stale_left;		/* their entries wait for the next VACUUM */
	BlockNumber leaves;			/* leaves of B-trees searched for their entries */
	BlockNumber empty_leaves;	/* those of them that have no entry any more */
	ZVacuumOverflowPage *overflow_pages; /* found so far */
	int			noverflow_pages;
	int			overflow_pages_alloc;

	/* all-visible pages */
	Buffer		map;			/* page of the visibility map, pinned; or invalid */
	FullTransactionId seen;		/* transactions before this one have ended, every snapshot sees
								 * their outcome, and their WAL is flushed */

	/* rows */
	FullTransactionId horizon;	/* of undo, at the start */
	double		old_reltuples;
	int64		pruned;			/* became dead line pointers */
	int64		dead_pointers;	/* found or made, over all pages */
	int64		live;			/* on the pages that were read */
	int64		recently_dead;
	int64		in_progress;	/* of transactions in progress */
	int64		stale_removed;	/* stale entries removed, of keys that rows had before */
	int64		single;			/* rows that have one key again */

	ZVacuumClock clock;
} ZVacuum;

/*
 * vacuum_visible.c: return whether the block may be skipped because the map has it as
 * all-visible.  May read a page of the map; no page is locked.
 */
extern bool vacuum_may_skip(ZVacuum *vac, BlockNumber block);

/*
 * Begin and end marking pages all-visible.  vacuum_begin_marking() flushes WAL if marks may rely
 * on commits that are not on disk yet.
 */
extern void vacuum_begin_marking(ZVacuum *vac);
extern void vacuum_end_marking(ZVacuum *vac);

/*
 * Pin the page of the visibility map for a block, extending the map if necessary; no page is
 * locked.  It must precede vacuum_mark_visible(), which marks the page in the buffer, locked
 * exclusively by the caller, if that is allowed.  That raises no ERROR for wrong marks: it clears
 * them with a WARNING (data_corrupted).  Both may raise errors of reading the map.
 */
extern void vacuum_pin_map(ZVacuum *vac, BlockNumber block);
extern void vacuum_mark_visible(ZVacuum *vac, Buffer buffer);

/* Return the number of live rows in the table, those of skipped pages estimated. */
extern double vacuum_live_rows(const ZVacuum *vac);

/*
 * Return the number of rows including those that only older snapshots see: indexes have their
 * entries, too.
 */
static inline double
vacuum_all_rows(const ZVacuum *vac)
{
	return vacuum_live_rows(vac) + (double) vac->recently_dead;
}

/*
 * vacuum_scan.c: the first pass over the table, with rounds over the indexes as needed.  No page
 * is locked on entry and exit, as for all functions here unless they say so.
 */
extern void vacuum_scan(ZVacuum *vac);

/*
 * vacuum_reap.c: remove index entries, then free line pointers.  vacuum_dead_open() allocates
 * the store of dead pointers, in shared memory if workers help, and enters parallel mode then;
 * vacuum_dead_close() frees it and leaves parallel mode.
 */
extern void vacuum_dead_open(ZVacuum *vac);
extern bool vacuum_dead_is_full(const ZVacuum *vac);
extern void vacuum_dead_close(ZVacuum *vac);
extern void vacuum_dead_add(ZVacuum *vac, BlockNumber block,
							const OffsetNumber *offsets, int n);
extern void vacuum_reap(ZVacuum *vac);
extern void vacuum_reap_last(ZVacuum *vac);
extern void vacuum_index_cleanup(ZVacuum *vac);

/*
 * vacuum_stale.c: remove stale entries of rows with several keys.  Rows are collected page by
 * page from vac->view, a copy.  vacuum_stale_is_full() returns whether there may be no room for
 * those of one more page: then a round must come first.
 */
extern void vacuum_stale_collect(ZVacuum *vac);
extern bool vacuum_stale_is_full(const ZVacuum *vac);
extern void vacuum_stale_reap(ZVacuum *vac);
extern void vacuum_stale_reap_last(ZVacuum *vac);

/*
 * Return whether so large a share of the leaves is empty that a bulk delete of the indexes,
 * which makes them reusable, pays.
 */
extern bool vacuum_has_empty_leaves(const ZVacuum *vac);

/*
 * vacuum_truncate.c: remember an overflow page, which the caller has locked; and truncate the
 * table, under AccessExclusiveLock that is not waited for in the queue, and is released again.
 */
extern void vacuum_overflow_page_add(ZVacuum *vac, BlockNumber block, Page page);
extern void vacuum_cut_end(ZVacuum *vac);

/*
 * vacuum_report.c: begin and write the report of VERBOSE or autovacuum's log; error context
 * callback.
 */
extern void vacuum_report_start(ZVacuum *vac);
extern void vacuum_report_end(ZVacuum *vac);
extern void vacuum_error_context(void *arg);

/* Begin work on an index, for error messages, until vac->doing is set again. */
static inline void
vacuum_begin_index(ZVacuum *vac, int i, VacuumDoing doing)
{
	vac->index = RelationGetRelationName(vac->indexes[i]);
	vac->doing = doing;
}

#endif							/* ZHEAP_VACUUM_PRIVATE_H */
