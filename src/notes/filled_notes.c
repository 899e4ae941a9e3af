/*
 * filled_notes.c
 *		Notes of pages that insertions have filled: see filled.h.
 *
 * LOCKING: one LWLock for the whole table.  It may be taken while a table page is locked, and
 * nothing is locked below it.  A writer takes it once for each page that it fills.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "zheap/notes/filled.h"

/* Number of relations, of all databases together, that have notes at the same time. */
#define MAX_TABLES		1024

typedef struct FilledKey
{
	Oid			db;
	Oid			table;
} FilledKey;

/* A range of blocks; empty if "before" is invalid. */
typedef struct FilledRange
{
	BlockNumber first;
	BlockNumber last;
	FullTransactionId before;	/* only transactions before this one have filled its pages */
} FilledRange;

typedef struct FilledTable
{
	FilledKey	key;
	RelFileLocator locator;
	FilledRange waiting;		/* until every snapshot sees the transactions that filled it */
	FilledRange since;			/* blocks filled after "waiting" began to wait */
	TimestampTz not_before;		/* no worker takes it earlier */
} FilledTable;

static HTAB *tables = NULL;
static LWLock *lock = NULL;

Size
zfilled_shmem_size(void)
{
	return hash_estimate_size(MAX_TABLES, sizeof(FilledTable));
}

void
zfilled_shmem_init(void)
{
	HASHCTL		info = {.keysize = sizeof(FilledKey),.entrysize = sizeof(FilledTable)};

	tables = ShmemInitHash("zheap filled pages", MAX_TABLES, &info,
						   HASH_ELEM | HASH_BLOBS | HASH_FIXED_SIZE);
	lock = &GetNamedLWLockTranche(ZFILLED_LWLOCK_TRANCHE)->lock;
}

static bool
is_none(const FilledRange *range)
{
	return !FullTransactionIdIsValid(range->before);
}

static void
set_none(FilledRange *range)
{
	range->before = InvalidFullTransactionId;
}

static void
add_pages(FilledRange *range, BlockNumber first, BlockNumber last, FullTransactionId before)
{
	if (is_none(range))
	{
		range->first = first;
		range->last = last;
		range->before = before;
		return;
	}
	range->first = Min(range->first, first);
	range->last = Max(range->last, last);
	if (FullTransactionIdPrecedes(range->before, before))
		range->before = before;
}

/* Let the range "since" wait if no range does. */
static void
let_wait(FilledTable *table)
{
	if (is_none(&table->waiting))
	{
		table->waiting = table->since;
		set_none(&table->since);
	}
	Assert(!is_none(&table->waiting));
}

/*
 * Return the table that has waited longest, of one database, or of all if "db" is invalid; NULL
 * if there is none.  A table of another time (not_before) is left out unless "db" is invalid.
 * The caller holds the LWLock exclusively.
 */
static FilledTable *
oldest_table(Oid db)
{
	HASH_SEQ_STATUS status;
	FilledTable *table;
	FilledTable *oldest = NULL;
	TimestampTz now = GetCurrentTimestamp();

	hash_seq_init(&status, tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		if (OidIsValid(db) && (table->key.db != db || table->not_before > now))
			continue;
		let_wait(table);
		if (oldest == NULL ||
			FullTransactionIdPrecedes(table->waiting.before, oldest->waiting.before))
			oldest = table;
	}
	return oldest;
}

/*
 * Return the table's entry with its ranges, made if there was none; the table that has waited
 * longest makes room.  Ranges of another file of the table are dropped.  The caller holds the
 * LWLock exclusively.
 */
static FilledTable *
find_or_make(Oid relid, RelFileLocator locator)
{
	FilledKey	key = {.db = MyDatabaseId,.table = relid};
	FilledTable *table;
	bool		found;

	table = hash_search(tables, &key, HASH_ENTER_NULL, &found);
	if (table == NULL)
	{
		hash_search(tables, &oldest_table(InvalidOid)->key, HASH_REMOVE, NULL);
		table = hash_search(tables, &key, HASH_ENTER_NULL, &found);
	}
	if (!found || !RelFileLocatorEquals(table->locator, locator))
	{
		table->locator = locator;
		set_none(&table->waiting);
		set_none(&table->since);
		table->not_before = 0;
	}
	return table;
}

/* ---- writers ---- */

void
zfilled_note(Relation rel, BlockNumber left, BlockNumber next)
{
	/* other backends may have put rows on the page "left", with later xids */
	FullTransactionId before = ReadNextFullTransactionId();
	FilledTable *table;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	table = find_or_make(RelationGetRelid(rel), rel->rd_locator);
	add_pages(&table->since, Min(left, next), Max(left, next), before);
	LWLockRelease(lock);
}

void
zfilled_forget_database(Oid db)
{
	HASH_SEQ_STATUS status;
	FilledTable *table;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	hash_seq_init(&status, tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		if (table->key.db == db)
			hash_search(tables, &table->key, HASH_REMOVE, NULL);
	}
	LWLockRelease(lock);
}

/* ---- workers ---- */

bool
zfilled_any(void)
{
	return hash_get_num_entries(tables) > 0;
}

/* Only "waiting" ranges are considered; a table that has none gets its range "since" as one. */
int
zfilled_databases(FullTransactionId horizon, Oid *dbs, int max)
{
	HASH_SEQ_STATUS status;
	FilledTable *table;
	TimestampTz now = GetCurrentTimestamp();
	int			n = 0;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	hash_seq_init(&status, tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		int			known = 0;

		let_wait(table);
		if (table->not_before > now || FullTransactionIdFollows(table->waiting.before, horizon))
			continue;
		while (known < n && dbs[known] != table->key.db)
			known++;
		if (known == n && n < max)
			dbs[n++] = table->key.db;
	}
	LWLockRelease(lock);
	return n;
}

/*
 * Take the first "max" pages of the waiting range.  A table without any range is then forgotten.
 */
static void
take_pages(FilledTable *table, BlockNumber max, ZFilledPages *pages)
{
	FilledRange *range = &table->waiting;

	Assert(!is_none(range));
	pages->table = table->key.table;
	pages->locator = table->locator;
	pages->before = range->before;
	pages->first = range->first;
	pages->last = range->last - range->first < max ? range->last : range->first + max - 1;
	if (pages->last < range->last)
		range->first = pages->last + 1;
	else if (is_none(&table->since))
		hash_search(tables, &table->key, HASH_REMOVE, NULL);
	else
		set_none(range);
}

bool
zfilled_take(FullTransactionId horizon, BlockNumber max, ZFilledPages *pages)
{
	FilledTable *table;
	bool		found;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	table = oldest_table(MyDatabaseId);
	found = table != NULL && !FullTransactionIdFollows(table->waiting.before, horizon);
	if (found)
		take_pages(table, max, pages);
	LWLockRelease(lock);
	return found;
}

void
zfilled_put_back(const ZFilledPages *pages, int delay)
{
	FilledTable *table;

	Assert(pages->first <= pages->last);
	LWLockAcquire(lock, LW_EXCLUSIVE);
	table = find_or_make(pages->table, pages->locator);
	add_pages(&table->waiting, pages->first, pages->last, pages->before);
	if (delay > 0)
		table->not_before = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), delay);
	LWLockRelease(lock);
}

void
zfilled_forget_file(Oid relid, RelFileLocator locator)
{
	FilledKey	key = {.db = MyDatabaseId,.table = relid};
	FilledTable *table;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	table = hash_search(tables, &key, HASH_FIND, NULL);
	if (table != NULL && RelFileLocatorEquals(table->locator, locator))
		hash_search(tables, &key, HASH_REMOVE, NULL);
	LWLockRelease(lock);
}
