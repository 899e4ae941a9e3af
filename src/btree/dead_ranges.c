/*
 * dead_ranges.c
 *		Ranges of B-tree entries that young snapshots need not look at: how they are found, made
 *		and taken apart.
 *
 * N6 (README.md) says what a range promises, and why it is made in two steps.  All is done on
 * copies of the sets of ranges (dead_sets.h).
 *
 * LOCKING: none.  No buffer is locked by the caller either, as keys are compared.
 */
#include "postgres.h"

#include "access/transam.h"
#include "common/pg_prng.h"

#include "dead_bounds.h"
#include "dead_holes.h"
#include "dead_sets.h"

#define MAX_ANNOUNCED	3		/* of MAX_RANGES; the others are published */

/* A range that is not smaller gives way to a new one once in this many times. */
#define KEPT_TIMES		16

/*
 * Publish a larger range if the youngest one within it is NEWS_XIDS transactions older, or after
 * NEWS_VISITED entries outside of ranges; keep MAX_WITHIN of those within it.
 */
#define NEWS_XIDS		32
#define NEWS_VISITED	256
#define MAX_WITHIN		2

/* After this many changes of the set under it an inserter forgets the set. */
#define MAX_TRIES		5

/* ---- skipping ---- */

bool
zdead_find(Relation index, IndexTuple entry, Snapshot snapshot, bool backward, ZDeadFound *found)
{
	RangeSet	copy;
	ZDeadBound *end = &found->range_end;
	bool		any = false;

	if (!zdead_any())
		return false;
	zdead_set_copy(index, &copy);
	for (int i = 0; i < copy.n; i++)
	{
		const Range *range = &copy.ranges[i];

		if (!zdead_may_use(snapshot, range) || !zdead_has_entry(index, range, entry))
			continue;
		if (!any || (backward ? zdead_low_is_higher(index, end, &range->low) :
					 zdead_high_is_lower(index, end, &range->high)))
		{
			*end = backward ? range->low : range->high;
			found->entries = range->entries;
		}
		any = true;
	}
	if (!any)
		return false;
	found->end = *end;
	found->hole = zdead_stop_at_hole(index, &copy, entry, snapshot, backward, &found->end);
	return true;
}

/* ---- making ---- */

/*
 * Return the index of the announcement, made before the run began, that has most in common with
 * it, or -1.  Nothing was inserted there since.  *common, the run's bounds at first, becomes the
 * common part.
 */
static int
find_announced(Relation index, const RangeSet *copy, const ZDeadRun *run, Range *common)
{
	int			best = -1;

	for (int i = 0; i < copy->n; i++)
	{
		const Range *range = &copy->ranges[i];
		uint32		entries = Min(run->entries, range->entries);
		Range		both = *common;

		if (range->announced == 0 || range->announced > run->began ||
			!zdead_is_later(run->snapshot, &range->age) ||
			(best >= 0 && entries <= common->entries))
			continue;
		both.low = zdead_low_is_higher(index, &run->low, &range->low) ? run->low : range->low;
		both.high = zdead_high_is_lower(index, &run->high, &range->high) ? run->high : range->high;
		both.entries = entries;
		if (zdead_is_nothing(index, &both.low, &both.high))
			continue;
		*common = both;
		best = i;
	}
	return best;
}

static bool
is_within(Relation index, const Range *inner, const Range *outer)
{
	return !zdead_low_is_higher(index, &outer->low, &inner->low) &&
		!zdead_high_is_lower(index, &outer->high, &inner->high);
}

/* Return whether the range is published and within "whole". */
static bool
is_part(Relation index, const Range *range, const Range *whole)
{
	return range->announced == 0 && is_within(index, range, whole);
}

/* Return whether the snapshot could have skipped the whole range by one published range. */
static bool
is_covered(Relation index, const RangeSet *copy, const Range *range, Snapshot snapshot)
{
	for (int i = 0; i < copy->n; i++)
	{
		const Range *other = &copy->ranges[i];

		if (zdead_may_use(snapshot, other) && is_within(index, range, other))
			return true;
	}
	return false;
}

/*
 * Return whether "common" is worth publishing.  Not if a range within it is nearly as large and
 * one nearly as young: a snapshot that may use only the new one gains little, and all may use
 * older ones.
 */
static bool
deserves_range(Relation index, const RangeSet *copy, const Range *common, const ZDeadRun *run)
{
	uint32		largest = 0;
	FullTransactionId youngest = InvalidFullTransactionId;

	for (int i = 0; i < copy->n; i++)
	{
		const Range *range = &copy->ranges[i];

		if (!is_part(index, range, common))
			continue;
		largest = Max(largest, range->entries);
		if (FullTransactionIdPrecedes(youngest, range->age.xmax))
			youngest = range->age.xmax;
	}
	return largest < common->entries / 4 * 3 || run->visited >= NEWS_VISITED ||
		U64FromFullTransactionId(common->age.xmax) >=
		U64FromFullTransactionId(youngest) + NEWS_XIDS;
}

/* Find the oldest of the published ranges within "common".  Return their number. */
static int
find_oldest_part(Relation index, const RangeSet *copy, const Range *common, int *oldest)
{
	int			n = 0;

	for (int i = 0; i < copy->n; i++)
	{
		if (!is_part(index, &copy->ranges[i], common))
			continue;
		if (n == 0 || FullTransactionIdPrecedes(copy->ranges[i].age.xmax,
												copy->ranges[*oldest].age.xmax))
			*oldest = i;
		n++;
	}
	return n;
}

/* Keep of what is within "common" only its youngest large ranges, for snapshots older than its. */
static void
remove_parts(Relation index, RangeSet *copy, const Range *common)
{
	int			oldest;

	for (int i = copy->n - 1; i >= 0; i--)
	{
		const Range *range = &copy->ranges[i];

		if ((range->announced != 0 || range->entries < common->entries / 2) &&
			is_within(index, range, common))
			zdead_remove_range(copy, i);
	}
	while (find_oldest_part(index, copy, common, &oldest) > MAX_WITHIN)
		zdead_remove_range(copy, oldest);
}

static bool
publish(Relation index, RangeSet *copy, int announced, const Range *common, const ZDeadRun *run)
{
	if (!deserves_range(index, copy, common, run))
		return false;
	Assert(copy->ranges[announced].announced != 0);	/* N6 */
	zdead_remove_range(copy, announced);
	remove_parts(index, copy, common);
	Assert(common->announced == 0 && copy->n < MAX_RANGES);
	copy->ranges[copy->n++] = *common;
	return true;
}

/* Remove announcements so old that their scans would no longer find the entries. */
static void
remove_old_announcements(RangeSet *copy)
{
	for (int i = copy->n - 1; i >= 0; i--)
	{
		if (copy->ranges[i].announced != 0 && zdead_is_for_all(&copy->ranges[i]))
			zdead_remove_range(copy, i);
	}
}

/*
 * If the copy is full, remove the smallest range that all may use: others are needed by current
 * snapshots.  But not the largest of all: VACUUM may come late.
 */
static void
make_room(RangeSet *copy)
{
	int			smallest = -1;
	uint32		largest = 0;

	if (copy->n < MAX_RANGES)
		return;
	for (int i = 0; i < copy->n; i++)
	{
		largest = Max(largest, copy->ranges[i].entries);
		if (zdead_is_for_all(&copy->ranges[i]) &&
			(smallest < 0 || copy->ranges[i].entries < copy->ranges[smallest].entries))
			smallest = i;
	}
	if (smallest >= 0 && copy->ranges[smallest].entries < largest)
		zdead_remove_range(copy, smallest);
}

/* Return the index of the smallest range or, if "announced", of the smallest announcement. */
static int
find_smallest(const RangeSet *copy, bool announced)
{
	int			smallest = -1;

	for (int i = 0; i < copy->n; i++)
	{
		if (announced && copy->ranges[i].announced == 0)
			continue;
		if (smallest < 0 || copy->ranges[i].entries < copy->ranges[smallest].entries)
			smallest = i;
	}
	return smallest;
}

/*
 * Add an announcement of the run to the copy; return false if there is no room.  If all places are
 * taken it replaces the smallest range, or announcement, if that is smaller.  If not, only once in
 * KEPT_TIMES, so that of many alternating runs some are still announced when they recur, but
 * nothing stays for ever.
 */
static bool
announce(RangeSet *copy, const ZDeadRun *run, const SnapshotAge *age)
{
	int			n = 0;
	Range	   *new;

	remove_old_announcements(copy);
	make_room(copy);
	for (int i = 0; i < copy->n; i++)
		n += copy->ranges[i].announced != 0;
	if (n == MAX_ANNOUNCED || copy->n == MAX_RANGES)
	{
		int			smallest = find_smallest(copy, n == MAX_ANNOUNCED);

		if (copy->ranges[smallest].entries >= run->entries &&
			pg_prng_uint32(&pg_global_prng_state) % KEPT_TIMES != 0)
			return false;
		zdead_remove_range(copy, smallest);
	}
	Assert(copy->n < MAX_RANGES);
	new = &copy->ranges[copy->n++];
	memset(new, 0, sizeof(*new));
	new->announced = NOT_YET;
	new->age = *age;
	new->entries = run->entries;
	new->low = run->low;
	new->high = run->high;
	return true;
}

/* Announce or publish the run as a range.  Return whether the copy has changed. */
static bool
note_range(Relation index, RangeSet *copy, const ZDeadRun *run, const SnapshotAge *age)
{
	Range		common;
	int			announced;

	memset(&common, 0, sizeof(common));
	common.low = run->low;
	common.high = run->high;
	common.age = *age;
	if (is_covered(index, copy, &common, run->snapshot))
		return false;
	announced = find_announced(index, copy, run, &common);
	/* it would never be of use, and would prevent an announcement of the whole run */
	if (announced >= 0 && is_covered(index, copy, &common, run->snapshot))
	{
		zdead_remove_range(copy, announced);
		announced = -1;
	}
	if (announced >= 0 && publish(index, copy, announced, &common, run))
		return true;
	return (announced < 0 || common.entries < run->entries / 4 * 3) &&
		announce(copy, run, &common.age);
}

void
zdead_note_run(Relation index, const ZDeadRun *run)
{
	RangeSet	copy;
	SnapshotAge age;
	bool		changed;

	Assert(run->visited > 0 && run->entries >= run->visited);
	Assert(run->began <= zdead_clock());	/* N6 */
	zdead_set_copy(index, &copy);
	if (copy.n == 0 && !zdead_set_may_take(index))
		return;
	if (copy.nholes == MAX_HOLES)
		zdead_drop_outside(index, &copy);
	zdead_age_of(run->snapshot, &age);
	changed = zdead_note_holes(index, &copy, run, &age);
	if (run->visited >= ZDEAD_MIN_VISITED)
		changed |= note_range(index, &copy, run, &age);
	if (changed)
		(void) zdead_set_replace(index, &copy);
}

/* ---- insertions ---- */

/*
 * Replace each range that has the entry by the parts on either side; an announcement by nothing.
 */
static void
split(Relation index, RangeSet *copy, IndexTuple entry)
{
	for (int i = copy->n - 1; i >= 0; i--)
	{
		Range		range = copy->ranges[i];
		Range		behind = range;

		if (!zdead_has_entry(index, &range, entry))
			continue;
		zdead_remove_range(copy, i);
		if (range.announced != 0 || !zdead_bound(entry, &range.high))
			continue;
		range.high.inclusive = false;
		behind.low = range.high;
		range.entries = behind.entries = range.entries / 2;
		if (!zdead_is_nothing(index, &range.low, &range.high) && copy->n < MAX_RANGES)
			copy->ranges[copy->n++] = range;
		if (!zdead_is_nothing(index, &behind.low, &behind.high) && copy->n < MAX_RANGES)
			copy->ranges[copy->n++] = behind;
	}
}

/* Make the entry a hole in all ranges that have it, or split them.  Return whether any had it. */
static bool
take_out(Relation index, RangeSet *copy, IndexTuple entry)
{
	if (!zdead_is_inside(index, copy, entry))
		return false;
	if (!zdead_add_hole(index, copy, entry))
		split(index, copy, entry);
	return true;
}

void
zdead_inserted(Relation index, IndexTuple entry)
{
	RangeSet	copy;

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		zdead_set_copy(index, &copy);
		if (copy.n == 0 || !take_out(index, &copy, entry))
			return;
		if (zdead_set_replace(index, &copy))
			return;
	}
	zdead_set_forget(index);
}
