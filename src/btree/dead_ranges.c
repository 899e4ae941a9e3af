/*
 * dead_ranges.c
 *		Ranges of B-tree entries that young snapshots need not look at, in shared memory.
 *
 * N6 (README.md) says what a range promises, and why it is made in two steps.
 *
 * A range never changes: it is removed, and others take its place.  An index has one set of
 * ranges, with a version.  Comparing keys calls functions of their types, so it is done on a copy
 * of the set.  The changed copy replaces the set only if that still has the same version.
 *
 * LOCKING: one set's lock at a time; no buffer is locked.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/btree/dead_ranges.h"
#include "zheap/undo/undo_horizon.h"

#include "dead_bounds.h"

#define MAX_SETS		128
#define MAX_RANGES		16
#define MAX_ANNOUNCED	3		/* of MAX_RANGES; the others are published */
#define MAX_RUNNING		8

/* Value of "announced" in a copy that has not replaced its set yet. */
#define NOT_YET			PG_UINT64_MAX

/* A range that is not smaller gives way to a new one once in this many times. */
#define KEPT_TIMES		16

/* Insertions between two looks of zdead_tidy() */
#define TIDY_INTERVAL	64

/*
 * Publish a larger range if the youngest one within it is NEWS_XIDS transactions older, or after
 * NEWS_VISITED entries outside of ranges; keep MAX_WITHIN of those within it.
 */
#define NEWS_XIDS		32
#define NEWS_VISITED	256
#define MAX_WITHIN		2

/* Number of transactions for which a range that all may use is kept, if no VACUUM comes. */
#define KEPT_XIDS		UINT64CONST(100000000)

/* After this many changes of the set under it an inserter forgets the set. */
#define MAX_TRIES		5

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
	SetOwner	owner;
	uint64		version;
	int			n;
	Range		ranges[MAX_RANGES];
} RangeSet;

typedef struct DeadShared
{
	pg_atomic_uint64 clock;
	pg_atomic_uint32 nused;		/* number of sets with ranges */
	RangeSet	sets[MAX_SETS];
} DeadShared;

static DeadShared *shared = NULL;
static LWLockPadded *locks = NULL;

Size
zdead_shmem_size(void)
{
	return sizeof(DeadShared);
}

int
zdead_lwlock_count(void)
{
	return MAX_SETS;
}

void
zdead_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("zheap dead ranges", zdead_shmem_size(), &found);
	locks = GetNamedLWLockTranche(ZDEAD_LWLOCK_TRANCHE);
	if (found)
		return;
	memset(shared, 0, sizeof(*shared));
	pg_atomic_init_u64(&shared->clock, 0);
	pg_atomic_init_u32(&shared->nused, 0);
}

uint64
zdead_clock(void)
{
	return pg_atomic_read_u64(&shared->clock);
}

bool
zdead_any(void)
{
	return pg_atomic_read_u32(&shared->nused) != 0;
}

/* ---- ranges ---- */

static bool
has_entry(Relation index, const Range *range, IndexTuple entry)
{
	return !zdead_is_beyond(index, entry, &range->low, true) &&
		!zdead_is_beyond(index, entry, &range->high, false);
}

static bool
has_nothing(Relation index, const Range *range)
{
	return zdead_is_nothing(index, &range->low, &range->high);
}

/* ---- snapshots ---- */

static void
age_of(Snapshot snapshot, SnapshotAge *age)
{
	TransactionId *xids = palloc(Max(snapshot->xcnt, 1) * sizeof(TransactionId));

	memcpy(xids, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));
	qsort(xids, snapshot->xcnt, sizeof(TransactionId), xidLogicalComparator);
	age->xmax = zfxid_from_xid(snapshot->xmax);
	age->nrunning = Min(snapshot->xcnt, MAX_RUNNING);
	memcpy(age->running, xids, age->nrunning * sizeof(TransactionId));
	pfree(xids);
}

/*
 * Return whether the snapshot sees all transactions that the other one saw: it must see each
 * transaction below the other's xmax, unless the other is known not to have seen that either.
 * Subtransactions need not be compared: their parents are older, and listed.
 */
static bool
is_later(Snapshot snapshot, const SnapshotAge *age)
{
	TransactionId xmax = zfxid_xid(age->xmax);

	if (FullTransactionIdPrecedes(zfxid_from_xid(snapshot->xmax), age->xmax))
		return false;
	for (uint32 i = 0; i < snapshot->xcnt; i++)
	{
		bool		found = false;

		if (!TransactionIdPrecedes(snapshot->xip[i], xmax))
			continue;
		for (int j = 0; j < age->nrunning && !found; j++)
			found = age->running[j] == snapshot->xip[i];
		if (!found)
			return false;
	}
	return true;
}

/*
 * Return whether the range's entries are dead to all snapshots: every one sees all that its own
 * saw.  It is useful until VACUUM has removed them; there may be very many after a long snapshot.
 */
static bool
is_for_all(const Range *range)
{
	return FullTransactionIdPrecedes(range->age.xmax, zundo_horizon());
}

static bool
may_use(Snapshot snapshot, const Range *range)
{
	return range->announced == 0 && (is_for_all(range) || is_later(snapshot, &range->age));
}

/* Return whether no VACUUM has come for KEPT_XIDS transactions, or the index is gone. */
static bool
is_obsolete(const Range *range)
{
	return U64FromFullTransactionId(range->age.xmax) + KEPT_XIDS <
		U64FromFullTransactionId(zundo_horizon());
}

/* ---- sets ---- */

static int
set_number(Relation index)
{
	return hash_bytes_uint32(index->rd_locator.relNumber) % MAX_SETS;
}

/* Temporary indexes have no ranges: their files' numbers may be other indexes' as well. */
static bool
owns(Relation index, const RangeSet *set)
{
	return set->owner.file == index->rd_locator.relNumber &&
		set->owner.index == RelationGetRelid(index) && set->owner.database == MyDatabaseId &&
		!RelationUsesLocalBuffers(index);
}

static LWLock *
set_lock(int number)
{
	return &locks[number].lock;
}

/* Count a change of the set, locked exclusively, which had "before" ranges. */
static void
set_changed(RangeSet *set, int before)
{
	set->version++;
	if (before == 0 && set->n > 0)
		(void) pg_atomic_fetch_add_u32(&shared->nused, 1);
	else if (before > 0 && set->n == 0)
		(void) pg_atomic_fetch_sub_u32(&shared->nused, 1);
}

/* Remove all ranges of the set, which is locked exclusively. */
static void
empty_set(RangeSet *set)
{
	int			before = set->n;

	set->n = 0;
	set_changed(set, before);
}

/* Copy the index's set; without ranges if there is none. */
static void
set_copy(Relation index, RangeSet *copy)
{
	int			number = set_number(index);
	const RangeSet *set = &shared->sets[number];

	LWLockAcquire(set_lock(number), LW_SHARED);
	copy->version = set->version;
	copy->n = owns(index, set) ? set->n : 0;
	memcpy(copy->ranges, set->ranges, copy->n * sizeof(Range));
	LWLockRelease(set_lock(number));
}

/* Lock and return the index's set.  NULL, with nothing locked, if it has no ranges. */
static RangeSet *
lock_own(Relation index, LWLockMode mode)
{
	int			number = set_number(index);
	RangeSet   *set = &shared->sets[number];

	if (!zdead_any())
		return NULL;
	LWLockAcquire(set_lock(number), mode);
	if (set->n > 0 && owns(index, set))
		return set;
	LWLockRelease(set_lock(number));
	return NULL;
}

bool
zdead_has_ranges(Relation index)
{
	RangeSet   *set = lock_own(index, LW_SHARED);

	if (set != NULL)
		LWLockRelease(set_lock(set_number(index)));
	return set != NULL;
}

/*
 * Number new announcements while the set is locked and "nused" counts it: inserters, which read
 * nused without the lock, then wait for it.  So if a scan has read the new count, inserters that
 * reach a page of the index after the scan find the announcement.
 */
static void
count_announced(RangeSet *set)
{
	for (int i = 0; i < set->n; i++)
	{
		if (set->ranges[i].announced == NOT_YET)
			set->ranges[i].announced = pg_atomic_add_fetch_u64(&shared->clock, 1);
	}
}

/* Replace the set by the modified copy.  Return whether it still was what was copied. */
static bool
set_replace(Relation index, const RangeSet *copy)
{
	int			number = set_number(index);
	RangeSet   *set = &shared->sets[number];
	bool		same;

	LWLockAcquire(set_lock(number), LW_EXCLUSIVE);
	same = set->version == copy->version;
	if (same)
	{
		int			before = set->n;

		set->owner.database = MyDatabaseId;
		set->owner.index = RelationGetRelid(index);
		set->owner.file = index->rd_locator.relNumber;
		set->n = copy->n;
		memcpy(set->ranges, copy->ranges, copy->n * sizeof(Range));
		set_changed(set, before);
		count_announced(set);
	}
	LWLockRelease(set_lock(number));
	return same;
}

/* Empty the sets of an index; of all the database's indexes if "index" is InvalidOid. */
static void
forget_sets(Oid database, Oid index)
{
	for (int number = 0; number < MAX_SETS; number++)
	{
		RangeSet   *set = &shared->sets[number];

		LWLockAcquire(set_lock(number), LW_EXCLUSIVE);
		if (set->n > 0 && set->owner.database == database &&
			(index == InvalidOid || set->owner.index == index))
			empty_set(set);
		LWLockRelease(set_lock(number));
	}
}

static void
forget_set(Relation index)
{
	RangeSet   *set = lock_own(index, LW_EXCLUSIVE);

	if (set == NULL)
		return;
	empty_set(set);
	LWLockRelease(set_lock(set_number(index)));
}

void
zdead_forget_files(Oid index)
{
	if (zdead_any())
		forget_sets(MyDatabaseId, index);
}

/* The OID may be given to another database, a copy of the same template with the same files. */
void
zdead_forget_database(Oid database)
{
	forget_sets(database, InvalidOid);
}

/* Remove range i.  The order of ranges does not matter. */
static void
remove_range(RangeSet *copy, int i)
{
	copy->ranges[i] = copy->ranges[--copy->n];
}

void
zdead_vacuumed(Relation index, FullTransactionId horizon)
{
	RangeSet   *set = lock_own(index, LW_EXCLUSIVE);
	int			before;

	if (set == NULL)
		return;
	before = set->n;
	for (int i = set->n - 1; i >= 0; i--)
	{
		if (FullTransactionIdPrecedes(set->ranges[i].age.xmax, horizon))
			remove_range(set, i);
	}
	if (set->n < before)
		set_changed(set, before);
	LWLockRelease(set_lock(set_number(index)));
}

/* Return whether all ranges of the set, which is locked, have the property. */
static bool
are_all(const RangeSet *set, bool (*property) (const Range *range))
{
	for (int i = 0; i < set->n; i++)
	{
		if (!property(&set->ranges[i]))
			return false;
	}
	return true;
}

/* In another database the horizon differs: ranges are then removed too early, or too late. */
void
zdead_tidy(void)
{
	static uint32 calls = 0;
	int			number = calls / TIDY_INTERVAL % MAX_SETS;
	RangeSet   *set = &shared->sets[number];

	if (calls++ % TIDY_INTERVAL != 0)
		return;
	LWLockAcquire(set_lock(number), LW_EXCLUSIVE);
	if (set->n > 0 && are_all(set, is_obsolete))
		empty_set(set);
	LWLockRelease(set_lock(number));
}

/* ---- skipping ---- */

bool
zdead_may_help(Relation index, Snapshot snapshot)
{
	RangeSet   *set = lock_own(index, LW_SHARED);
	bool		may = false;

	if (set == NULL)
		return false;
	for (int i = 0; i < set->n && !may; i++)
		may = may_use(snapshot, &set->ranges[i]);
	LWLockRelease(set_lock(set_number(index)));
	return may;
}

bool
zdead_find(Relation index, IndexTuple entry, Snapshot snapshot, bool backward, ZDeadBound *end,
		   uint32 *entries)
{
	RangeSet	copy;
	bool		found = false;

	if (!zdead_any())
		return false;
	set_copy(index, &copy);
	for (int i = 0; i < copy.n; i++)
	{
		const Range *range = &copy.ranges[i];

		if (!may_use(snapshot, range) || !has_entry(index, range, entry))
			continue;
		if (!found || (backward ? zdead_low_is_higher(index, end, &range->low) :
					   zdead_high_is_lower(index, end, &range->high)))
		{
			*end = backward ? range->low : range->high;
			*entries = range->entries;
		}
		found = true;
	}
	return found;
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
			(best >= 0 && entries <= common->entries))
			continue;
		both.low = zdead_low_is_higher(index, &run->low, &range->low) ? run->low : range->low;
		both.high = zdead_high_is_lower(index, &run->high, &range->high) ? run->high : range->high;
		both.entries = entries;
		if (has_nothing(index, &both))
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

		if (may_use(snapshot, other) && is_within(index, range, other))
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
			remove_range(copy, i);
	}
	while (find_oldest_part(index, copy, common, &oldest) > MAX_WITHIN)
		remove_range(copy, oldest);
}

static bool
publish(Relation index, RangeSet *copy, int announced, const Range *common, const ZDeadRun *run)
{
	if (!deserves_range(index, copy, common, run))
		return false;
	remove_range(copy, announced);
	remove_parts(index, copy, common);
	copy->ranges[copy->n++] = *common;
	return true;
}

/* Remove announcements so old that their scans would no longer find the entries. */
static void
remove_old_announcements(RangeSet *copy)
{
	for (int i = copy->n - 1; i >= 0; i--)
	{
		if (copy->ranges[i].announced != 0 && is_for_all(&copy->ranges[i]))
			remove_range(copy, i);
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
		if (is_for_all(&copy->ranges[i]) &&
			(smallest < 0 || copy->ranges[i].entries < copy->ranges[smallest].entries))
			smallest = i;
	}
	if (smallest >= 0 && copy->ranges[smallest].entries < largest)
		remove_range(copy, smallest);
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
		remove_range(copy, smallest);
	}
	new = &copy->ranges[copy->n++];
	memset(new, 0, sizeof(*new));
	new->announced = NOT_YET;
	new->age = *age;
	new->entries = run->entries;
	new->low = run->low;
	new->high = run->high;
	return true;
}

/* Return false if the set is another index's, with ranges whose entries cannot be removed yet. */
static bool
may_take(Relation index, const RangeSet *copy)
{
	int			number = set_number(index);
	bool		may;

	if (copy->n > 0)
		return true;
	LWLockAcquire(set_lock(number), LW_SHARED);
	may = are_all(&shared->sets[number], is_for_all);
	LWLockRelease(set_lock(number));
	return may;
}

void
zdead_note_run(Relation index, const ZDeadRun *run)
{
	RangeSet	copy;
	Range		common;
	int			announced;

	set_copy(index, &copy);
	if (!may_take(index, &copy))
		return;
	memset(&common, 0, sizeof(common));
	common.low = run->low;
	common.high = run->high;
	if (is_covered(index, &copy, &common, run->snapshot))
		return;
	age_of(run->snapshot, &common.age);
	announced = find_announced(index, &copy, run, &common);
	/* it would never be of use, and would prevent an announcement of the whole run */
	if (announced >= 0 && is_covered(index, &copy, &common, run->snapshot))
	{
		remove_range(&copy, announced);
		announced = -1;
	}
	if (announced >= 0 && publish(index, &copy, announced, &common, run))
		(void) set_replace(index, &copy);
	else if ((announced < 0 || common.entries < run->entries / 4 * 3) &&
			 announce(&copy, run, &common.age))
		(void) set_replace(index, &copy);
}

/* ---- insertions ---- */

/*
 * Replace each range that has the entry by the parts on either side; an announcement by nothing.
 * Return whether any had it.
 */
static bool
take_out(Relation index, RangeSet *copy, IndexTuple entry)
{
	bool		found = false;

	for (int i = copy->n - 1; i >= 0; i--)
	{
		Range		range = copy->ranges[i];
		Range		behind = range;

		if (!has_entry(index, &range, entry))
			continue;
		found = true;
		remove_range(copy, i);
		if (range.announced != 0 || !zdead_bound(entry, &range.high))
			continue;
		range.high.inclusive = false;
		behind.low = range.high;
		range.entries = behind.entries = range.entries / 2;
		if (!has_nothing(index, &range) && copy->n < MAX_RANGES)
			copy->ranges[copy->n++] = range;
		if (!has_nothing(index, &behind) && copy->n < MAX_RANGES)
			copy->ranges[copy->n++] = behind;
	}
	return found;
}

void
zdead_inserted(Relation index, IndexTuple entry)
{
	RangeSet	copy;

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		set_copy(index, &copy);
		if (copy.n == 0 || !take_out(index, &copy, entry))
			return;
		if (set_replace(index, &copy))
			return;
	}
	forget_set(index);
}
