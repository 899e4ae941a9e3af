/*
 * dead_sets.h
 *		Private to dead ranges: an index's set of ranges, and which snapshots may use a range.
 *
 * A range never changes: it is removed, and others take its place.  Comparing keys calls functions
 * of their types, so it is done on a copy of the set, which is changed, and then replaces the set
 * if that is still as it was.
 *
 * Functions that take an index lock its set, and release it; they raise no errors.
 */
#ifndef ZHEAP_DEAD_SETS_H
#define ZHEAP_DEAD_SETS_H

#include "zheap/btree/dead_ranges.h"

#define MAX_RANGES		16
#define MAX_HOLES		32
#define MAX_RUNNING		8

/* Value of "announced" in a copy that has not replaced its set yet. */
#define NOT_YET			PG_UINT64_MAX

/* The part of a snapshot that decides whether another one is later. */
typedef struct SnapshotAge
{
	FullTransactionId xmax;
	int			nrunning;
	TransactionId running[MAX_RUNNING]; /* the oldest that it did not see */
} SnapshotAge;

typedef struct Range
{
	uint64		announced;		/* zdead_clock() after the announcement; 0: published */
	SnapshotAge age;			/* of the snapshot for which it was made; later ones may use it */
	uint32		entries;		/* estimated number of entries when it was made */
	ZDeadBound	low;
	ZDeadBound	high;
} Range;

/* An entry in a range that is not dead, or not known to be (dead_holes.h). */
typedef struct Hole
{
	uint64		announced;		/* zdead_clock() after it was first found dead; 0: not found */
	bool		dead;			/* found dead by two scans */
	SnapshotAge age;			/* if dead: of the second; later snapshots may skip it */
	ZDeadBound	entry;
} Hole;

/*
 * The index whose entries a set describes.  A file that is moved with its database keeps its
 * number, and insertions into it must find the set meanwhile, so the tablespace is not part of it.
 */
typedef struct SetOwner
{
	Oid			database;
	Oid			index;
	Oid			file;
} SetOwner;

typedef struct RangeSet
{
	SetOwner	owner;			/* not set in a copy */
	uint64		version;		/* counts changes */
	int			n;
	int			nholes;			/* 0 if there are no ranges */
	Range		ranges[MAX_RANGES]; /* in any order */
	Hole		holes[MAX_HOLES];	/* in the index's order */
} RangeSet;

/* Set the age of an MVCC snapshot. */
extern void zdead_age_of(Snapshot snapshot, SnapshotAge *age);

/*
 * Return whether the snapshot, an MVCC snapshot, sees all transactions that the other one saw; or
 * every snapshot does.
 */
extern bool zdead_is_later(Snapshot snapshot, const SnapshotAge *age);

/*
 * Return whether each snapshot that is later than a is later than b.  May be false if that cannot
 * be told, as a has no room for all transactions that its snapshot did not see.
 */
extern bool zdead_age_is_later(const SnapshotAge *a, const SnapshotAge *b);

/*
 * Return whether the range's entries are dead to all snapshots: every one sees all that its own
 * saw.  It is useful until VACUUM has removed them; there may be very many after a long snapshot.
 */
extern bool zdead_is_for_all(const Range *range);

/* Return whether the range is published, and the snapshot, an MVCC snapshot, may use it. */
extern bool zdead_may_use(Snapshot snapshot, const Range *range);

/* Copy the index's set; without ranges if there is none. */
extern void zdead_set_copy(Relation index, RangeSet *copy);

/* Replace the set by the modified copy.  Return whether it still was what was copied. */
extern bool zdead_set_replace(Relation index, const RangeSet *copy);

/*
 * Return whether the index, which has no ranges, may have a set: its place is free, or has another
 * index's, whose entries can be removed.
 */
extern bool zdead_set_may_take(Relation index);

/* Remove all ranges of the index. */
extern void zdead_set_forget(Relation index);

/* Remove range i of a copy, or of a set that is locked exclusively. */
static inline void
zdead_remove_range(RangeSet *set, int i)
{
	Assert(i >= 0 && i < set->n);
	set->ranges[i] = set->ranges[--set->n];
}

#endif							/* ZHEAP_DEAD_SETS_H */
