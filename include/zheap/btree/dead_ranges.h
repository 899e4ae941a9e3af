/*
 * dead_ranges.h
 *		Ranges of B-tree entries that young snapshots need not look at.
 *
 * While an old snapshot is open, the entries that only it needs stay, and every other scan would
 * walk over them.  Scans that have done so publish where, for others to pass by at once.  What is
 * lost here, or can't be stored, costs time, never rows.  See src/btree/README.md, "Dead ranges".
 */
#ifndef ZHEAP_DEAD_RANGES_H
#define ZHEAP_DEAD_RANGES_H

#include "access/itup.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* Longer entries are no bounds. */
#define ZDEAD_MAX_ENTRY		128

/* A place in an index: at an entry, which tells the key and the TID, or just beside it. */
typedef struct ZDeadBound
{
	bool		inclusive;		/* the entry itself is in the range */
	union
	{
		IndexTupleData tuple;
		int64		align;
		char		bytes[ZDEAD_MAX_ENTRY];
	}			entry;
} ZDeadBound;

/* What a scan has passed by without a break: all dead for good, for its snapshot. */
typedef struct ZDeadRun
{
	uint64		began;			/* zdead_clock() before it read the index page of the first one */
	Snapshot	snapshot;
	uint32		entries;		/* about so many */
	uint32		visited;		/* of these, not passed by at once */
	ZDeadBound	low;
	ZDeadBound	high;
} ZDeadRun;

extern Size zdead_shmem_size(void);
extern int	zdead_lwlock_count(void);
extern void zdead_shmem_init(void);

#define ZDEAD_LWLOCK_TRANCHE "zheap_dead_ranges"

/* How many ranges have been announced so far. */
extern uint64 zdead_clock(void);

/*
 * Is the entry beyond the bound, in the direction of the scan?  Like all that follows, this calls
 * functions of the keys' types: no page is locked, and a snapshot is active.
 */
extern bool zdead_is_beyond(Relation index, IndexTuple entry, const ZDeadBound *end,
							bool backward);

/* False: the entry is too long for a bound. */
extern bool zdead_bound(IndexTuple entry, ZDeadBound *bound);

/*
 * Need the snapshot not look at the entry?  If so, *end tells how far in the direction of the
 * scan, and *entries of about how many that is true altogether.
 */
extern bool zdead_find(Relation index, IndexTuple entry, Snapshot snapshot, bool backward,
					   ZDeadBound *end, uint32 *entries);

/*
 * Announce the run or, if it has been announced before it began, publish it.  All entries between
 * its bounds have been looked at, or were in published ranges.
 */
extern void zdead_note_run(Relation index, const ZDeadRun *run);

/*
 * An entry has been inserted, or an entry that was there has a version of its row again.  Called
 * after that, and before the transaction goes on: no range has it from now on.
 */
extern void zdead_inserted(Relation index, IndexTuple entry);

/* Is there any range, of whatever index, or of this one?  Asked after an insertion. */
extern bool zdead_any(void);
extern bool zdead_has_ranges(Relation index);

/* Is there one of this index that the snapshot, an MVCC snapshot, may use? */
extern bool zdead_may_help(Relation index, Snapshot snapshot);

/*
 * Asked for after insertions into indexes without ranges, while there are others.  Once in a
 * while looks at an index's ranges, and forgets them if no VACUUM has come for very long.
 */
extern void zdead_tidy(void);

/*
 * VACUUM has removed the index's entries of all rows whose deleters had ended, for all snapshots,
 * before the horizon.  No page is locked.
 */
extern void zdead_vacuumed(Relation index, FullTransactionId horizon);

/* The index of this database is dropped, or has a new file: none of its files has ranges. */
extern void zdead_forget_files(Oid index);

/* The database is made, or dropped. */
extern void zdead_forget_database(Oid database);

#endif							/* ZHEAP_DEAD_RANGES_H */
