/*
 * dead_holes.c
 *		Entries in dead ranges that scans must look at.
 *
 * A hole is announced and published as a range is, and for the same reasons (README.md).
 *
 * LOCKING: none.  No buffer is locked by the caller either, as keys are compared.
 */
#include "postgres.h"

#include "access/transam.h"

#include "dead_bounds.h"
#include "dead_holes.h"

static IndexTuple
hole_entry(Hole *hole)
{
	return (IndexTuple) hole->entry.entry.bytes;
}

/* Return the number of holes before the entry. */
static int
holes_before(Relation index, const RangeSet *copy, IndexTuple entry)
{
	int			low = 0;
	int			high = copy->nholes;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (zdead_is_beyond(index, entry, &copy->holes[middle].entry, false))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return whether hole i exists and is the entry, which has i holes before it. */
static bool
is_hole_at(Relation index, const RangeSet *copy, int i, IndexTuple entry)
{
	return i < copy->nholes && !zdead_is_beyond(index, entry, &copy->holes[i].entry, true);
}

static bool
may_skip(Snapshot snapshot, const Hole *hole)
{
	return hole->dead && zdead_is_later(snapshot, &hole->age);
}

/* ---- dropping ---- */

static void
remove_hole(RangeSet *copy, int i)
{
	Assert(i >= 0 && i < copy->nholes);
	memmove(&copy->holes[i], &copy->holes[i + 1], (copy->nholes - i - 1) * sizeof(Hole));
	copy->nholes--;
}

/*
 * Return whether all ranges that have the hole can be for snapshots that may skip it.  If "make",
 * make them so.
 */
static bool
ranges_skip(Relation index, RangeSet *copy, Hole *hole, bool make)
{
	for (int i = 0; i < copy->n; i++)
	{
		Range	   *range = &copy->ranges[i];

		if (!zdead_has_entry(index, range, hole_entry(hole)) ||
			zdead_age_is_later(&range->age, &hole->age))
			continue;
		if (!zdead_age_is_later(&hole->age, &range->age))
			return false;
		if (make)
			range->age = hole->age;
	}
	return true;
}

/* Drop the hole that was found dead first.  Return false if no hole can be dropped. */
static bool
drop_oldest(Relation index, RangeSet *copy)
{
	int			oldest = -1;

	for (int i = 0; i < copy->nholes; i++)
	{
		if (copy->holes[i].dead &&
			(oldest < 0 || FullTransactionIdPrecedes(copy->holes[i].age.xmax,
													 copy->holes[oldest].age.xmax)))
			oldest = i;
	}
	if (oldest < 0 || !ranges_skip(index, copy, &copy->holes[oldest], false))
		return false;
	(void) ranges_skip(index, copy, &copy->holes[oldest], true);
	remove_hole(copy, oldest);
	return true;
}

bool
zdead_is_inside(Relation index, const RangeSet *copy, IndexTuple entry)
{
	for (int i = 0; i < copy->n; i++)
	{
		if (zdead_has_entry(index, &copy->ranges[i], entry))
			return true;
	}
	return false;
}

void
zdead_drop_outside(Relation index, RangeSet *copy)
{
	for (int i = copy->nholes - 1; i >= 0; i--)
	{
		if (!zdead_is_inside(index, copy, hole_entry(&copy->holes[i])))
			remove_hole(copy, i);
	}
}

/* ---- the interface ---- */

bool
zdead_add_hole(Relation index, RangeSet *copy, IndexTuple entry)
{
	int			i;
	Hole		hole;

	memset(&hole, 0, sizeof(hole));
	if (!zdead_bound(entry, &hole.entry))
		return false;
	i = holes_before(index, copy, entry);
	if (is_hole_at(index, copy, i, entry))
	{
		copy->holes[i] = hole;
		return true;
	}
	if (copy->nholes == MAX_HOLES)
	{
		if (!drop_oldest(index, copy))
			return false;
		i = holes_before(index, copy, entry);
	}
	memmove(&copy->holes[i + 1], &copy->holes[i], (copy->nholes - i) * sizeof(Hole));
	copy->holes[i] = hole;
	copy->nholes++;
	return true;
}

bool
zdead_stop_at_hole(Relation index, const RangeSet *copy, IndexTuple entry, Snapshot snapshot,
				   bool backward, ZDeadBound *end)
{
	int			i = holes_before(index, copy, entry);
	bool		at_hole = is_hole_at(index, copy, i, entry);
	bool		stops = at_hole && !may_skip(snapshot, &copy->holes[i]);

	if (backward)
		i--;
	else if (at_hole)
		i++;
	while (i >= 0 && i < copy->nholes && may_skip(snapshot, &copy->holes[i]))
		i += backward ? -1 : 1;
	if (i >= 0 && i < copy->nholes)
	{
		ZDeadBound	bound = copy->holes[i].entry;

		bound.inclusive = false;
		if (backward ? zdead_low_is_higher(index, &bound, end) :
			zdead_high_is_lower(index, &bound, end))
			*end = bound;
	}
	return stops;
}

bool
zdead_note_holes(Relation index, RangeSet *copy, const ZDeadRun *run, const SnapshotAge *age)
{
	bool		changed = false;

	for (int i = holes_before(index, copy, (IndexTuple) run->low.entry.bytes);
		 i < copy->nholes; i++)
	{
		Hole	   *hole = &copy->holes[i];

		if (zdead_is_beyond(index, hole_entry(hole), &run->high, false))
			break;
		if (hole->dead || hole->announced > run->began ||
			zdead_is_beyond(index, hole_entry(hole), &run->low, true))
			continue;
		if (hole->announced == 0)
			hole->announced = NOT_YET;
		else
		{
			hole->dead = true;
			hole->age = *age;
		}
		changed = true;
	}
	return changed;
}
