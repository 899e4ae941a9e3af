/*
 * dead_holes.h
 *		Private to dead ranges: entries in ranges that scans must look at.
 *
 * Ranges lie over one another, for snapshots of several ages, and entries are inserted into them
 * all the time.  A hole is such an entry; all ranges of the set have it in common.  A hole that
 * scans have found dead for good is skipped by later snapshots, and dropped when its place is
 * needed.
 *
 * All functions work on copies of sets, and call comparison functions of the keys' types: no
 * buffer is locked (I3).
 */
#ifndef ZHEAP_DEAD_HOLES_H
#define ZHEAP_DEAD_HOLES_H

#include "dead_sets.h"

/*
 * Make the entry, which is in a range, a hole that no scan has found dead.  Return false, with the
 * copy unchanged, if there is no room, or if the entry is too long.
 */
extern bool zdead_add_hole(Relation index, RangeSet *copy, IndexTuple entry);

/*
 * Move "end", the far end of a range that has the entry, to the nearest hole behind the entry that
 * the snapshot may not skip.  Return whether the entry itself is such a hole.
 */
extern bool zdead_stop_at_hole(Relation index, const RangeSet *copy, IndexTuple entry,
							   Snapshot snapshot, bool backward, ZDeadBound *end);

/*
 * Announce that the holes in the run are dead for good; publish it of those that were announced
 * before the run began.  "age" is that of the run's snapshot.  Return whether anything changed.
 */
extern bool zdead_note_holes(Relation index, RangeSet *copy, const ZDeadRun *run,
							 const SnapshotAge *age);

/* Return whether any range, or announcement, has the entry, or would have it but for a hole. */
extern bool zdead_is_inside(Relation index, const RangeSet *copy, IndexTuple entry);

/* Drop the holes that are in no range any more. */
extern void zdead_drop_outside(Relation index, RangeSet *copy);

#endif							/* ZHEAP_DEAD_HOLES_H */
