/*
 * dead_ranges.h
 *		Ranges of B-tree entries that young snapshots need not look at.
 *
 * While an old snapshot is open, entries that only it needs stay in the index, and every other
 * scan walks over them.  Scans that have walked over such entries publish the range, in shared
 * memory, and later scans skip it.  A range that is lost, or for which there is no room, costs
 * time, never rows.  See src/btree/README.md, "Dead ranges".
 */
#ifndef ZHEAP_DEAD_RANGES_H
#define ZHEAP_DEAD_RANGES_H

#include "access/itup.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* Maximum size of an entry that serves as a bound, in bytes. */
#define ZDEAD_MAX_ENTRY		128

/* A place in an index: an entry, which has the key and the TID, or the gap next to it. */
typedef struct ZDeadBound
{
	bool		inclusive;		/* the range includes the entry itself */
	union
	{
		IndexTupleData tuple;
		int64		align;
		char		bytes[ZDEAD_MAX_ENTRY];
	}			entry;
} ZDeadBound;

/*
 * A run of entries that a scan has walked over or skipped without a break.  All are dead for good,
 * for the scan's snapshot.
 */
typedef struct ZDeadRun
{
	uint64		began;			/* zdead_clock() before the scan read the index page of the
								 * first entry */
	Snapshot	snapshot;
	uint32		entries;		/* number of entries, estimated */
	uint32		visited;		/* number of entries that were visited, not skipped by a range */
	bool		holes;			/* some of those were in a range */
	ZDeadBound	low;
	ZDeadBound	high;
} ZDeadRun;

/*
 * Bytes of shared memory, number of locks in the tranche, and initialization at server start.  The
 * last one is called with AddinShmemInitLock held exclusively.
 */
extern Size zdead_shmem_size(void);
extern int	zdead_lwlock_count(void);
extern void zdead_shmem_init(void);

#define ZDEAD_LWLOCK_TRANCHE "zheap_dead_ranges"

/* Return the number of ranges announced so far, since the server started.  No locks. */
extern uint64 zdead_clock(void);

/*
 * Return whether the entry is beyond the bound, in the direction of the scan.
 *
 * This and all functions below that take an entry call comparison functions of the keys' types.
 * The caller has locked no buffer (I3), and has an active snapshot; errors are those of the
 * comparison functions.  Functions of this file take the lock of one set of ranges at a time, and
 * have released it when they return or call others.
 */
extern bool zdead_is_beyond(Relation index, IndexTuple entry, const ZDeadBound *end,
							bool backward);

/*
 * Make an inclusive bound from an entry, which is no pivot and no posting list.  Return true if
 * done, false if the entry is longer than ZDEAD_MAX_ENTRY.  No locks, no errors.
 */
extern bool zdead_bound(IndexTuple entry, ZDeadBound *bound);

/* What a scan may skip. */
typedef struct ZDeadFound
{
	ZDeadBound	end;			/* far end in the direction of the scan */
	ZDeadBound	range_end;		/* far end of the whole range, if it has no holes */
	uint32		entries;		/* estimated number of entries in the whole range */
	bool		hole;			/* the scan's entry is a hole: scans must look at it */
} ZDeadFound;

/*
 * Return whether the snapshot, an MVCC snapshot for which the entry is dead for good, may skip
 * entries behind it because they are in the same published range.  If several ranges contain the
 * entry, the one that reaches furthest is taken.
 */
extern bool zdead_find(Relation index, IndexTuple entry, Snapshot snapshot, bool backward,
					   ZDeadFound *found);

/* Minimum number of visited entries of a run that may become a range. */
#ifdef USE_ASSERT_CHECKING
#define ZDEAD_MIN_VISITED	2
#else
#define ZDEAD_MIN_VISITED	32
#endif

/*
 * Announce the run or, if an announcement made before run->began overlaps it, publish what both
 * have in common.  The caller has looked at all entries between the run's bounds, or has skipped
 * them by published ranges.  Nothing is done if there is no room.  Of a run of fewer than
 * ZDEAD_MIN_VISITED visited entries only the holes are of use.
 */
extern void zdead_note_run(Relation index, const ZDeadRun *run);

/*
 * Take an entry out of all ranges of the index.  Call it after the entry has been inserted, or
 * after an existing entry has got a version of its row again, and before the transaction goes on
 * (N6).
 */
extern void zdead_inserted(Relation index, IndexTuple entry);

/*
 * Return whether any index has a range, and whether this index has one.  Asked after an insertion;
 * zdead_any takes no lock.  An inserter that must find an announcement gets true: see
 * count_announced().
 */
extern bool zdead_any(void);
extern bool zdead_has_ranges(Relation index);

/* Return whether the index has a range that the snapshot, an MVCC snapshot, may use. */
extern bool zdead_may_help(Relation index, Snapshot snapshot);

/*
 * Remove ranges that no VACUUM has removed for KEPT_XIDS transactions.
 *
 * Called after insertions into indexes without ranges, while other indexes have some.  Every
 * TIDY_INTERVAL-th call looks at the ranges of one index; the others return at once.
 */
extern void zdead_tidy(void);

/*
 * Remove the ranges whose snapshots are older than the horizon: VACUUM has removed the index's
 * entries of all rows whose deletion every snapshot sees, because the deleter is older than the
 * horizon.  No buffer is locked.
 */
extern void zdead_vacuumed(Relation index, FullTransactionId horizon);

/*
 * Remove the ranges of all files of an index of this database, which is dropped or gets a new
 * file.
 */
extern void zdead_forget_files(Oid index);

/* Remove the ranges of all indexes of a database that is created or dropped. */
extern void zdead_forget_database(Oid database);

#endif							/* ZHEAP_DEAD_RANGES_H */
