/*
 * dead_bounds.h
 *		How the bounds of ranges lie to each other.
 */
#ifndef ZHEAP_DEAD_BOUNDS_H
#define ZHEAP_DEAD_BOUNDS_H

#include "zheap/btree/dead_ranges.h"

/* Does the lower bound a leave out an entry that b has?  Does the higher bound a? */
extern bool zdead_low_is_higher(Relation index, const ZDeadBound *a, const ZDeadBound *b);
extern bool zdead_high_is_lower(Relation index, const ZDeadBound *a, const ZDeadBound *b);

/* Is no entry between them? */
extern bool zdead_is_nothing(Relation index, const ZDeadBound *low, const ZDeadBound *high);

#endif							/* ZHEAP_DEAD_BOUNDS_H */
