/*
 * zheap_stats.c
 *		Before PostgreSQL 18: counters of each table since the start of the server.
 *
 * A shared hash table maps a table to its counters.  A backend remembers the address, so it adds
 * to them without a lock.  Counters are never returned to the area, only used again for other
 * tables: a backend that remembers them first checks their owner.  If the owner changes just then,
 * a count is added to another table.
 *
 * The counters of a dropped table are freed at the end of the drop.  A standby gets no report of
 * drops: there a transaction looks for dropped tables at its end, when the number of tables is
 * high.
 *
 * LOCKING: the hash table's own locks; "lock" protects the list of free counters.
 */
#include "postgres.h"

#include "zheap/base/pg_compat_stats.h"

#ifndef ZCOMPAT_STATS_KINDS

#include "access/xlog.h"
#include "lib/dshash.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/dsa.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "zheap/base/pg_compat.h"
#include "zheap/base/base.h"
#include "zheap/base/stats.h"

/* The initial size of the area, in bytes; more is mapped when needed. */
#define AREA_SIZE		((Size) 256 * 1024)

#define LWLOCK_TRANCHE	"zheap_stats"

typedef struct TableKey
{
	Oid			database;
	Oid			table;
} TableKey;

typedef struct Counters
{
	TableKey	owner;
	dsa_pointer next;			/* next in the list of free counters */
	pg_atomic_uint64 counts[ZTABLE_NCOUNTERS];
} Counters;

/* An entry of the shared hash table. */
typedef struct TableEntry
{
	TableKey	key;			/* must be first */
	dsa_pointer counters;
} TableEntry;

typedef struct StatsShared
{
	int			tranche;
	dshash_table_handle tables;
	dsa_pointer free;
	pg_atomic_uint32 ntables;
	pg_atomic_uint32 enough;	/* number of tables at which a standby looks for dropped ones */
} StatsShared;

/* Maximum of tables that a backend remembers; minimum of "enough". */
#define MAX_KNOWN		8192
#define MIN_ENOUGH		256

/* An entry of the backend's own hash table. */
typedef struct Known
{
	Oid			table;			/* hash key */
	Counters   *counters;
} Known;

static StatsShared *shared = NULL;
static LWLock *lock = NULL;

static dsa_area *area = NULL;
static dshash_table *tables = NULL;
static HTAB *known = NULL;
static Counters *last = NULL;	/* the counters found last */
static bool crowded = false;	/* look for dropped tables at the end of the transaction */

/* ---- shared memory ---- */

static char *
area_place(void)
{
	return (char *) shared + MAXALIGN(sizeof(StatsShared));
}

static dshash_parameters
table_parameters(void)
{
	dshash_parameters parameters = {
		.key_size = sizeof(TableKey),.entry_size = sizeof(TableEntry),
		.compare_function = dshash_memcmp,.hash_function = dshash_memhash,
		ZCOMPAT_DSHASH_COPY(dshash_memcpy).tranche_id = shared->tranche
	};

	return parameters;
}

void
zstats_register(void)
{
}

static Size
shmem_size(void)
{
	return MAXALIGN(sizeof(StatsShared)) + AREA_SIZE;
}

void
zstats_shmem_request(void)
{
	RequestAddinShmemSpace(shmem_size());
	RequestNamedLWLockTranche(LWLOCK_TRANCHE, 1);
}

/* Create the hash table within the initial area: the postmaster must not map more memory. */
static void
make_table(void)
{
	dsa_area   *made = dsa_create_in_place(area_place(), AREA_SIZE, shared->tranche, NULL);
	dshash_parameters parameters = table_parameters();
	dshash_table *table;

	dsa_pin(made);
	dsa_set_size_limit(made, AREA_SIZE);
	table = dshash_create(made, &parameters, NULL);
	shared->tables = dshash_get_hash_table_handle(table);
	dsa_set_size_limit(made, SIZE_MAX);
	dshash_detach(table);
	dsa_detach(made);
}

void
zstats_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("zheap statistics", shmem_size(), &found);
	lock = &GetNamedLWLockTranche(LWLOCK_TRANCHE)->lock;
	if (found)
		return;
	shared->tranche = lock->tranche;
	shared->free = InvalidDsaPointer;
	pg_atomic_init_u32(&shared->ntables, 0);
	pg_atomic_init_u32(&shared->enough, MIN_ENOUGH);
	make_table();
}

/*
 * Attach this backend to the area and the shared hash table, if it is not yet.  Forgets the
 * remembered counters when there are too many.
 */
static void
stats_attach(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	dshash_parameters parameters = table_parameters();
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(Known),.hcxt = TopMemoryContext};

	if (known != NULL && hash_get_num_entries(known) >= MAX_KNOWN)
	{
		hash_destroy(known);
		known = NULL;
	}
	if (known == NULL)
		known = hash_create("zheap tables counted", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	if (area == NULL)
	{
		area = dsa_attach_in_place(area_place(), NULL);
		on_shmem_exit(dsa_on_shmem_exit_release_in_place, PointerGetDatum(area_place()));
		dsa_pin_mapping(area);
	}
	if (tables == NULL)
		tables = dshash_attach(area, &parameters, shared->tables, NULL);
	MemoryContextSwitchTo(old);
}

/* ---- counters ---- */

/* Return counters for the table, set to zero: free ones, or new memory of the area. */
static dsa_pointer
counters_new(TableKey owner)
{
	Counters   *counters;
	dsa_pointer where;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	where = shared->free;
	if (DsaPointerIsValid(where))
		shared->free = ((Counters *) dsa_get_address(area, where))->next;
	LWLockRelease(lock);
	if (!DsaPointerIsValid(where))
		where = dsa_allocate(area, sizeof(Counters));
	counters = dsa_get_address(area, where);
	counters->next = InvalidDsaPointer;
	for (int i = 0; i < ZTABLE_NCOUNTERS; i++)
		pg_atomic_init_u64(&counters->counts[i], 0);
	counters->owner = owner;
	return where;
}

static void
counters_free(dsa_pointer where)
{
	Counters   *counters = dsa_get_address(area, where);

	memset(&counters->owner, 0, sizeof(counters->owner));
	LWLockAcquire(lock, LW_EXCLUSIVE);
	counters->next = shared->free;
	shared->free = where;
	LWLockRelease(lock);
}

static bool
are_of(const Counters *counters, Oid table)
{
	return counters->owner.table == table && counters->owner.database == MyDatabaseId;
}

/* Return the counters that the backend remembers for the table; NULL if none, or no longer its. */
static Counters *
counters_known(Oid table)
{
	Known	   *entry;

	if (likely(last != NULL && are_of(last, table)))
		return last;
	entry = known != NULL ? hash_search(known, &table, HASH_FIND, NULL) : NULL;
	if (entry == NULL || entry->counters == NULL || !are_of(entry->counters, table))
		return NULL;
	last = entry->counters;
	return last;
}

/*
 * Find the table's counters, or create them, and remember them.  Takes a partition lock of the
 * shared hash table, and "lock" before that.
 */
static Counters *
counters_of(Oid table)
{
	TableKey	key = {MyDatabaseId, table};
	TableEntry *shared_entry;
	Known	   *entry;
	bool		found;

	stats_attach();
	entry = hash_search(known, &table, HASH_ENTER, &found);
	entry->counters = NULL;
	/* allocate before the entry is inserted: an error must not leave one without counters */
	shared_entry = dshash_find(tables, &key, false);
	if (shared_entry == NULL)
	{
		dsa_pointer counters = counters_new(key);

		shared_entry = dshash_find_or_insert(tables, &key, &found);
		if (found)
			counters_free(counters);
		else
		{
			shared_entry->counters = counters;
			crowded = pg_atomic_add_fetch_u32(&shared->ntables, 1) >=
				pg_atomic_read_u32(&shared->enough) && RecoveryInProgress();
		}
	}
	entry->counters = dsa_get_address(area, shared_entry->counters);
	dshash_release_lock(tables, shared_entry);
	last = entry->counters;
	return last;
}

static void
add(Counters *counters, ZTableCounter counter, uint64 n)
{
	(void) pg_atomic_fetch_add_u64(&counters->counts[counter], (int64) n);
}

void
zstats_count(Relation table, ZTableCounter counter, uint64 n)
{
	Counters   *counters = counters_known(RelationGetRelid(table));

	if (unlikely(counters == NULL))
	{
		Assert(!zheap_holds_buffer_lock()); /* I3 */
		if (!zstats_may_count(table))
			return;
		counters = counters_of(RelationGetRelid(table));
	}
	add(counters, counter, n);
}

void
zstats_count_known(Relation table, ZTableCounter counter, uint64 n)
{
	Counters   *counters = counters_known(RelationGetRelid(table));

	if (counters != NULL)
		add(counters, counter, n);
}

/* ---- all of them ---- */

static void
set_to_zero(const TableEntry *entry)
{
	Counters   *counters = dsa_get_address(area, entry->counters);

	for (int i = 0; i < ZTABLE_NCOUNTERS; i++)
		pg_atomic_write_u64(&counters->counts[i], 0);
}

void
zstats_reset(Oid table)
{
	TableKey	key = {MyDatabaseId, table};
	TableEntry *entry;

	stats_attach();
	entry = dshash_find(tables, &key, false);
	if (entry == NULL)
		return;
	set_to_zero(entry);
	dshash_release_lock(tables, entry);
}

void
zstats_reset_all(void)
{
	dshash_seq_status status;
	TableEntry *entry;

	stats_attach();
	dshash_seq_init(&status, tables, false);
	while ((entry = dshash_seq_next(&status)) != NULL)
	{
		if (entry->key.database == MyDatabaseId)
			set_to_zero(entry);
	}
	dshash_seq_term(&status);
}

void
zstats_forget_table(Oid table)
{
	TableKey	key = {MyDatabaseId, table};
	TableEntry *entry;

	stats_attach();
	entry = dshash_find(tables, &key, true);
	if (entry == NULL)
		return;
	counters_free(entry->counters);
	dshash_delete_entry(tables, entry);
	pg_atomic_fetch_sub_u32(&shared->ntables, 1);
}

/*
 * A table with counters was created by a committed transaction (zstats_may_count), so one that is
 * not in pg_class has been dropped.
 */
void
zstats_forget_dropped(void)
{
	ZTableCounts *counts;
	int			n;

	if (!crowded)
		return;
	crowded = false;
	counts = zstats_tables(&n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(counts[i].table)))
			zstats_forget_table(counts[i].table);
	}
	pfree(counts);
	pg_atomic_write_u32(&shared->enough,
						Max(2 * pg_atomic_read_u32(&shared->ntables), MIN_ENOUGH));
}

void
zstats_forget_database(Oid database)
{
	dshash_seq_status status;
	TableEntry *entry;

	stats_attach();
	dshash_seq_init(&status, tables, true);
	while ((entry = dshash_seq_next(&status)) != NULL)
	{
		if (entry->key.database != database)
			continue;
		counters_free(entry->counters);
		dshash_delete_current(&status);
		pg_atomic_fetch_sub_u32(&shared->ntables, 1);
	}
	dshash_seq_term(&status);
}

ZTableCounts *
zstats_tables(int *n)
{
	dshash_seq_status status;
	TableEntry *entry;
	int			alloc = 64;
	ZTableCounts *result = palloc(alloc * sizeof(ZTableCounts));

	*n = 0;
	stats_attach();
	dshash_seq_init(&status, tables, false);
	while ((entry = dshash_seq_next(&status)) != NULL)
	{
		Counters   *counters;

		if (entry->key.database != MyDatabaseId)
			continue;
		if (*n == alloc)
		{
			alloc *= 2;
			result = repalloc_huge(result, alloc * sizeof(ZTableCounts));
		}
		counters = dsa_get_address(area, entry->counters);
		result[*n].table = entry->key.table;
		for (int i = 0; i < ZTABLE_NCOUNTERS; i++)
			result[*n].counts[i] = pg_atomic_read_u64(&counters->counts[i]);
		(*n)++;
	}
	dshash_seq_term(&status);
	return result;
}

#endif							/* !ZCOMPAT_STATS_KINDS */
