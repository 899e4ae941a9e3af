/*
 * dead_bounds.h
 *		How the bounds of ranges lie to each other.
 */
#ifndef ZHEAP_DEAD_BOUNDS_H
#define ZHEAP_DEAD_BOUNDS_H

#include "dead_sets.h"

/*
 * Compare two lower, or two upper, bounds: return whether a excludes an entry that b includes.
 * Here and below no buffer is locked (I3); errors are those of the keys' comparison functions.
 */
extern bool zdead_low_is_higher(Relation index, const ZDeadBound *a, const ZDeadBound *b);
extern bool zdead_high_is_lower(Relation index, const ZDeadBound *a, const ZDeadBound *b);

/* Return whether the range has the entry, or would have it but for a hole. */
extern bool zdead_has_entry(Relation index, const Range *range, IndexTuple entry);

/* Return whether no entry can be between low and high. */
extern bool zdead_is_nothing(Relation index, const ZDeadBound *low, const ZDeadBound *high);

#endif							/* ZHEAP_DEAD_BOUNDS_H */
