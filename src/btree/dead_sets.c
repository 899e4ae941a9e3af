/*
 * dead_sets.c
 *		Sets of ranges of dead entries in shared memory, one set for each index that has ranges.
 *
 * LOCKING: one set's lock at a time; no buffer is locked.
 */
#include "postgres.h"

#include "access/transam.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/undo/undo_horizon.h"

#include "dead_sets.h"

#define MAX_SETS		128

/* Insertions between two looks of zdead_tidy() */
#define TIDY_INTERVAL	64

/* Number of transactions for which a range that all may use is kept, if no VACUUM comes. */
#define KEPT_XIDS		UINT64CONST(100000000)

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

/* ---- snapshots ---- */

void
zdead_age_of(Snapshot snapshot, SnapshotAge *age)
{
	TransactionId *xids = palloc(Max(snapshot->xcnt, 1) * sizeof(TransactionId));

	/* xip[] of a snapshot of recovery does not have the transactions in progress */
	Assert(snapshot->snapshot_type == SNAPSHOT_MVCC && !snapshot->takenDuringRecovery);
	memcpy(xids, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));
	qsort(xids, snapshot->xcnt, sizeof(TransactionId), xidLogicalComparator);
	age->xmax = zfxid_from_xid(snapshot->xmax);
	age->nrunning = Min(snapshot->xcnt, MAX_RUNNING);
	memcpy(age->running, xids, age->nrunning * sizeof(TransactionId));
	pfree(xids);
}

/* Return whether the snapshot of this age is known not to have seen the transaction. */
static bool
did_not_see(const SnapshotAge *age, TransactionId xid)
{
	for (int i = 0; i < age->nrunning; i++)
	{
		if (age->running[i] == xid)
			return true;
	}
	return false;
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
		if (TransactionIdPrecedes(snapshot->xip[i], xmax) && !did_not_see(age, snapshot->xip[i]))
			return false;
	}
	return true;
}

/* Return whether every snapshot sees all that the one of this age saw. */
static bool
is_for_all(const SnapshotAge *age)
{
	return FullTransactionIdPrecedes(age->xmax, zundo_horizon());
}

bool
zdead_is_later(Snapshot snapshot, const SnapshotAge *age)
{
	Assert(snapshot->snapshot_type == SNAPSHOT_MVCC);
	return is_for_all(age) || is_later(snapshot, age);
}

bool
zdead_age_is_later(const SnapshotAge *a, const SnapshotAge *b)
{
	TransactionId xmax = zfxid_xid(b->xmax);

	if (is_for_all(b))
		return true;
	if (FullTransactionIdPrecedes(a->xmax, b->xmax))
		return false;
	for (int i = 0; i < a->nrunning; i++)
	{
		if (!TransactionIdPrecedes(a->running[i], xmax))
			return true;		/* so are those that a has no room for */
		if (!did_not_see(b, a->running[i]))
			return false;
	}
	return a->nrunning < MAX_RUNNING;
}

bool
zdead_is_for_all(const Range *range)
{
	return is_for_all(&range->age);
}

bool
zdead_may_use(Snapshot snapshot, const Range *range)
{
	return range->announced == 0 && zdead_is_later(snapshot, &range->age);
}

/* Return whether no VACUUM has come for KEPT_XIDS transactions, or the index is gone. */
static bool
is_obsolete(const Range *range)
{
	return U64FromFullTransactionId(range->age.xmax) + KEPT_XIDS <
		U64FromFullTransactionId(zundo_horizon());
}

/* ---- one index ---- */

/* Return the place of the index's set, which may have another index's. */
static RangeSet *
set_of(Relation index)
{
	return &shared->sets[hash_bytes_uint32(index->rd_locator.relNumber) % MAX_SETS];
}

static LWLock *
lock_of(const RangeSet *set)
{
	return &locks[set - shared->sets].lock;
}

/* Temporary indexes have no ranges: their files' numbers may be other indexes' as well. */
static bool
owns(Relation index, const RangeSet *set)
{
	return set->owner.file == index->rd_locator.relNumber &&
		set->owner.index == RelationGetRelid(index) && set->owner.database == MyDatabaseId &&
		!RelationUsesLocalBuffers(index);
}

/* Count a change of the set, locked exclusively, which had "before" ranges. */
static void
set_changed(RangeSet *set, int before)
{
	Assert(LWLockHeldByMeInMode(lock_of(set), LW_EXCLUSIVE));
	Assert(set->n >= 0 && set->n <= MAX_RANGES);
	set->version++;
	if (set->n == 0)
		set->nholes = 0;
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

void
zdead_set_copy(Relation index, RangeSet *copy)
{
	const RangeSet *set = set_of(index);

	LWLockAcquire(lock_of(set), LW_SHARED);
	copy->version = set->version;
	copy->n = owns(index, set) ? set->n : 0;
	copy->nholes = copy->n > 0 ? set->nholes : 0;
	memcpy(copy->ranges, set->ranges, copy->n * sizeof(Range));
	memcpy(copy->holes, set->holes, copy->nholes * sizeof(Hole));
	LWLockRelease(lock_of(set));
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
	for (int i = 0; i < set->nholes; i++)
	{
		if (set->holes[i].announced == NOT_YET)
			set->holes[i].announced = pg_atomic_add_fetch_u64(&shared->clock, 1);
	}
}

bool
zdead_set_replace(Relation index, const RangeSet *copy)
{
	RangeSet   *set = set_of(index);
	bool		same;

	/* not on standbys, nor where changes of a leaf have no LSN */
	Assert(!RecoveryInProgress() && RelationNeedsWAL(index));
	Assert(copy->n >= 0 && copy->n <= MAX_RANGES);
	LWLockAcquire(lock_of(set), LW_EXCLUSIVE);
	same = set->version == copy->version;
	if (same)
	{
		int			before = set->n;

		set->owner.database = MyDatabaseId;
		set->owner.index = RelationGetRelid(index);
		set->owner.file = index->rd_locator.relNumber;
		set->n = copy->n;
		set->nholes = copy->nholes;
		memcpy(set->ranges, copy->ranges, copy->n * sizeof(Range));
		memcpy(set->holes, copy->holes, copy->nholes * sizeof(Hole));
		set_changed(set, before);
		count_announced(set);
	}
	LWLockRelease(lock_of(set));
	return same;
}

bool
zdead_set_may_take(Relation index)
{
	const RangeSet *set = set_of(index);
	bool		may;

	LWLockAcquire(lock_of(set), LW_SHARED);
	may = are_all(set, zdead_is_for_all);
	LWLockRelease(lock_of(set));
	return may;
}

/* Lock and return the index's set.  NULL, with nothing locked, if it has no ranges. */
static RangeSet *
lock_own(Relation index, LWLockMode mode)
{
	RangeSet   *set = set_of(index);

	if (!zdead_any())
		return NULL;
	LWLockAcquire(lock_of(set), mode);
	if (set->n > 0 && owns(index, set))
		return set;
	LWLockRelease(lock_of(set));
	return NULL;
}

bool
zdead_has_ranges(Relation index)
{
	RangeSet   *set = lock_own(index, LW_SHARED);

	if (set != NULL)
		LWLockRelease(lock_of(set));
	return set != NULL;
}

bool
zdead_may_help(Relation index, Snapshot snapshot)
{
	RangeSet   *set = lock_own(index, LW_SHARED);
	bool		may = false;

	if (set == NULL)
		return false;
	for (int i = 0; i < set->n && !may; i++)
		may = zdead_may_use(snapshot, &set->ranges[i]);
	LWLockRelease(lock_of(set));
	return may;
}

void
zdead_vacuumed(Relation index, FullTransactionId horizon)
{
	RangeSet   *set = lock_own(index, LW_EXCLUSIVE);
	int			before;

	if (set == NULL)
		return;
	Assert(!zheap_holds_buffer_lock());
	before = set->n;
	for (int i = set->n - 1; i >= 0; i--)
	{
		if (FullTransactionIdPrecedes(set->ranges[i].age.xmax, horizon))
			zdead_remove_range(set, i);
	}
	if (set->n < before)
		set_changed(set, before);
	LWLockRelease(lock_of(set));
}

void
zdead_set_forget(Relation index)
{
	RangeSet   *set = lock_own(index, LW_EXCLUSIVE);

	if (set == NULL)
		return;
	empty_set(set);
	LWLockRelease(lock_of(set));
}

/* ---- all indexes ---- */

/* Empty the sets of an index; of all the database's indexes if "index" is InvalidOid. */
static void
forget_sets(Oid database, Oid index)
{
	for (int number = 0; number < MAX_SETS; number++)
	{
		RangeSet   *set = &shared->sets[number];

		LWLockAcquire(lock_of(set), LW_EXCLUSIVE);
		if (set->n > 0 && set->owner.database == database &&
			(index == InvalidOid || set->owner.index == index))
			empty_set(set);
		LWLockRelease(lock_of(set));
	}
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

/* In another database the horizon differs: ranges are then removed too early, or too late. */
void
zdead_tidy(void)
{
	static uint32 calls = 0;
	RangeSet   *set = &shared->sets[calls / TIDY_INTERVAL % MAX_SETS];

	if (calls++ % TIDY_INTERVAL != 0)
		return;
	LWLockAcquire(lock_of(set), LW_EXCLUSIVE);
	if (set->n > 0 && are_all(set, is_obsolete))
		empty_set(set);
	LWLockRelease(lock_of(set));
}
