/*
 * zheap_stats_kind.c
 *		From PostgreSQL 18 on: counters of each table, as a kind of the server's cumulative
 *		statistics.
 *
 * A backend counts in private memory.  When it reports statistics (after a transaction, at most
 * once a second, and when it exits), the counts are added to the table's entry in shared memory.
 * The server writes entries to its statistics file at a clean shutdown, sets them to zero with
 * pg_stat_reset(), and drops them with their database.
 *
 * An entry is created at the first count, while the backend has the table locked.  A report does
 * not create one: the table may have been dropped meanwhile; then its counts are discarded.
 *
 * LOCKING: the partition locks of the server's hash table of entries, and each entry's LWLock.
 */
#include "postgres.h"

#include "zheap/base/pg_compat_stats.h"

#ifdef ZCOMPAT_STATS_KINDS

#include "access/parallel.h"
#include "access/xact.h"
#include "lib/dshash.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "zheap/base/base.h"
#include "zheap/base/stats.h"

/*
 * The kind's ID; https://wiki.postgresql.org/wiki/CustomCumulativeStats lists those of extensions.
 * It is in the statistics file, and in commit records, which name the entries to drop, so it must
 * not change.  If another library has registered it, the server does not start.
 */
#define KIND			31

/*
 * An entry, as in the statistics file.  Its size must be the same in all versions of this library,
 * as with another size the server would discard the whole file as damaged.  The counters of an
 * entry of another layout are ignored.
 */
#define LAYOUT			3
#define MAX_COUNTERS	31

StaticAssertDecl(ZTABLE_NCOUNTERS == 24, "other counters: LAYOUT gets another number");
StaticAssertDecl((int) ZTABLE_NCOUNTERS <= MAX_COUNTERS, "the size of an entry does not change");

typedef struct Entry
{
	uint64		layout;			/* LAYOUT, or 0 after a reset */
	uint64		counts[MAX_COUNTERS];
} Entry;

typedef struct SharedEntry
{
	PgStatShared_Common header; /* must be first */
	Entry		entry;
} SharedEntry;

/* Counts not reported yet of a table that has, or had, an entry. */
typedef struct Counted
{
	Oid			table;			/* hash key */
	bool		is_pending;		/* to be reported */
	slist_node	node;			/* of "pending" */
	uint64		counts[ZTABLE_NCOUNTERS];
} Counted;

/* After a report the backend forgets all tables if it remembers more than this. */
#define MAX_COUNTED		8192

static HTAB *counted = NULL;
static Counted *last = NULL;	/* the one found last */
static slist_head pending = SLIST_STATIC_INIT(pending);

/* ---- counting ---- */

static Counted *
counted_find(Oid table)
{
	if (likely(last != NULL && last->table == table))
		return last;
	if (counted == NULL)
		return NULL;
	last = hash_search(counted, &table, HASH_FIND, NULL);
	return last;
}

/*
 * Return the table's new counters; NULL if it has no entry, which a parallel worker does not
 * create.
 */
static Counted *
counted_make(Oid table)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(Counted)};

	ctl.hcxt = TopMemoryContext;
	if (counted == NULL)
		counted = hash_create("zheap tables counted", 64, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	/* a worker does not know whether its leader's transaction has created the table */
	if (pgstat_get_entry_ref(KIND, MyDatabaseId, table, !IsParallelWorker(), NULL) == NULL)
		return NULL;
	last = hash_search(counted, &table, HASH_ENTER, NULL);
	last->is_pending = false;
	memset(last->counts, 0, sizeof(last->counts));
	return last;
}

static inline void
add_pending(Counted *of, ZTableCounter counter, uint64 n)
{
	of->counts[counter] += n;
	if (unlikely(!of->is_pending))
	{
		of->is_pending = true;
		slist_push_head(&pending, &of->node);
		pgstat_report_fixed = true; /* makes the server call report_pending() */
	}
}

void
zstats_count(Relation table, ZTableCounter counter, uint64 n)
{
	Counted    *of = counted_find(RelationGetRelid(table));

	if (unlikely(of == NULL))
	{
		Assert(!zheap_holds_buffer_lock()); /* I3 */
		if (!zstats_may_count(table))
			return;
		of = counted_make(RelationGetRelid(table));
		if (of == NULL)
			return;
	}
	add_pending(of, counter, n);
}

void
zstats_count_known(Relation table, ZTableCounter counter, uint64 n)
{
	Counted    *of = counted_find(RelationGetRelid(table));

	if (of != NULL)
		add_pending(of, counter, n);
}

/* ---- reporting ---- */

/*
 * Add the counts to the table's entry.  Returns false if another backend has locked the entry, and
 * "nowait" is true.  *gone is set to whether the table has no entry any more.
 */
static bool
report_table(Counted *of, bool nowait, bool *gone)
{
	PgStat_EntryRef *ref = pgstat_get_entry_ref(KIND, MyDatabaseId, of->table, false, NULL);
	Entry	   *entry;

	*gone = ref == NULL || ref->shared_entry->dropped;
	if (*gone)
		return true;
	if (!pgstat_lock_entry(ref, nowait))
		return false;
	entry = &((SharedEntry *) ref->shared_stats)->entry;
	if (entry->layout != LAYOUT)
		memset(entry, 0, sizeof(*entry));
	entry->layout = LAYOUT;
	for (int i = 0; i < ZTABLE_NCOUNTERS; i++)
		entry->counts[i] += of->counts[i];
	pgstat_unlock_entry(ref);
	memset(of->counts, 0, sizeof(of->counts));
	return true;
}

/* The kind's flush callback.  Returns whether counts are left to report. */
static bool
report_pending(bool nowait)
{
	slist_mutable_iter iter;

	slist_foreach_modify(iter, &pending)
	{
		Counted    *of = slist_container(Counted, node, iter.cur);
		bool		gone;

		if (!report_table(of, nowait, &gone))
			continue;
		slist_delete_current(&iter);
		of->is_pending = false;
		if (!gone)
			continue;
		/* a new table may get the same OID */
		last = NULL;
		(void) hash_search(counted, &of->table, HASH_REMOVE, NULL);
	}
	if (!slist_is_empty(&pending))
		return true;
	if (counted != NULL && hash_get_num_entries(counted) > MAX_COUNTED)
	{
		hash_destroy(counted);
		counted = NULL;
		last = NULL;
	}
	return false;
}

static const PgStat_KindInfo kind = {
	.name = "zheap_tables",
	.fixed_amount = false,
	.accessed_across_databases = false,
	.write_to_file = true,
	.shared_size = sizeof(SharedEntry),
	.shared_data_off = offsetof(SharedEntry, entry),
	.shared_data_len = sizeof(Entry),
	.flush_static_cb = report_pending
};

void
zstats_register(void)
{
	pgstat_register_kind(KIND, &kind);
}

void
zstats_shmem_request(void)
{
}

void
zstats_shmem_init(void)
{
}

/* ---- resetting, dropping, listing ---- */

static bool
is_of_database(PgStatShared_HashEntry *shared, Datum arg)
{
	return shared->key.kind == KIND && shared->key.dboid == MyDatabaseId;
}

void
zstats_reset(Oid table)
{
	Counted    *of = counted_find(table);

	pgstat_reset_entry(KIND, MyDatabaseId, table, GetCurrentTimestamp());
	if (of != NULL)
		memset(of->counts, 0, sizeof(of->counts));
}

void
zstats_reset_all(void)
{
	slist_iter	iter;

	pgstat_reset_matching_entries(is_of_database, (Datum) 0, GetCurrentTimestamp());
	slist_foreach(iter, &pending)
	{
		Counted    *of = slist_container(Counted, node, iter.cur);

		memset(of->counts, 0, sizeof(of->counts));
	}
}

/*
 * The commit record names the entry, so that standbys drop theirs.  A standby may have an entry
 * where the primary has none, so this does not check whether there is one.
 */
void
zstats_forget_table(Oid table)
{
	/* without an xid this transaction has dropped nothing, and its commit can name no drops */
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	pgstat_drop_transactional(KIND, MyDatabaseId, table);
}

/* Nothing to do: commit records name the entries that standbys drop. */
void
zstats_forget_dropped(void)
{
}

/* Nothing to do: the server drops all entries of a dropped database. */
void
zstats_forget_database(Oid database)
{
}

static void
copy_counts(PgStatShared_HashEntry *shared, ZTableCounts *to)
{
	SharedEntry *from = dsa_get_address(pgStatLocal.dsa, shared->body);

	memset(to, 0, sizeof(*to));
	to->table = (Oid) shared->key.objid;
	LWLockAcquire(&from->header.lock, LW_SHARED);
	if (from->entry.layout == LAYOUT)
		memcpy(to->counts, from->entry.counts, sizeof(to->counts));
	LWLockRelease(&from->header.lock);
}

ZTableCounts *
zstats_tables(int *n)
{
	dshash_seq_status status;
	PgStatShared_HashEntry *shared;
	int			alloc = 64;
	ZTableCounts *result = palloc(alloc * sizeof(ZTableCounts));

	*n = 0;
	dshash_seq_init(&status, pgStatLocal.shared_hash, false);
	while ((shared = dshash_seq_next(&status)) != NULL)
	{
		if (shared->dropped || !is_of_database(shared, (Datum) 0))
			continue;
		if (*n == alloc)
		{
			alloc *= 2;
			result = repalloc_huge(result, alloc * sizeof(ZTableCounts));
		}
		copy_counts(shared, &result[(*n)++]);
	}
	dshash_seq_term(&status);

	for (int i = 0; i < *n; i++)
	{
		Counted    *of = counted_find(result[i].table);

		for (int j = 0; of != NULL && j < ZTABLE_NCOUNTERS; j++)
			result[i].counts[j] += of->counts[j];
	}
	return result;
}

#endif							/* ZCOMPAT_STATS_KINDS */
