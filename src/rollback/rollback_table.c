/*
 * rollback_table.c
 *		The files of tables that a sweep has open.
 *
 * A sweep may meet the same few tables in turns, so it keeps some open.  It holds the lock on
 * the file of each (rollback_file_lock.c), none on the table except while opening it, and
 * leaves the file when another process waits for it.  Other changes of the table meanwhile do
 * not matter: the sweep only changes pages of the file, as any concurrent writer would.
 *
 * Without a lock on the table its relcache entry cannot be used, either: when the table is
 * altered the entry is rebuilt, from several catalogs, which are consistent only under a lock
 * on the table.  So the parts that access to pages needs are copied under the lock.
 */
#include "postgres.h"

#include "access/relation.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "rollback_private.h"

#define OPEN_TABLES	8

typedef struct OpenTable
{
	Relation	rel;			/* relation of the file, or NULL: unused */
	ZFileRelation file;
} OpenTable;

static OpenTable open_tables[OPEN_TABLES];
static int	next_table;			/* the entry to be reused next */

static void
forget_table(OpenTable *table)
{
	zrollback_file_close(&table->file);
	table->rel = NULL;
}

static void
close_table(OpenTable *table)
{
	Assert(table->rel == &table->file.data);
	zrollback_file_release(table->rel->rd_locator);
	forget_table(table);
}

void
zrollback_tables_close(void)
{
	for (int i = 0; i < OPEN_TABLES; i++)
	{
		if (open_tables[i].rel != NULL)
			close_table(&open_tables[i]);
	}
}

void
zrollback_tables_forget(void)
{
	for (int i = 0; i < OPEN_TABLES; i++)
	{
		if (open_tables[i].rel != NULL)
			forget_table(&open_tables[i]);
	}
}

bool
zrollback_tables_make_way(void)
{
	bool		any = false;

	for (int i = 0; i < OPEN_TABLES; i++)
	{
		OpenTable *table = &open_tables[i];

		if (table->rel != NULL && zrollback_file_is_wanted(table->rel->rd_locator))
		{
			close_table(table);
			any = true;
		}
	}
	return any;
}

Relation
zrollback_table_find(RelFileLocator locator)
{
	for (int i = 0; i < OPEN_TABLES; i++)
	{
		OpenTable *table = &open_tables[i];

		if (table->rel != NULL && RelFileLocatorEquals(table->rel->rd_locator, locator))
			return table->rel;
	}
	return NULL;
}

/*
 * Keep a copy of the relation, as far as access to its pages needs.  Closes another one if none
 * is free.
 */
static Relation
keep(Relation rel)
{
	OpenTable *table = &open_tables[next_table];

	next_table = (next_table + 1) % OPEN_TABLES;
	if (table->rel != NULL)
		close_table(table);
	table->rel = zrollback_file_describe(&table->file, rel->rd_locator, rel->rd_backend,
										 RelationGetRelid(rel), rel->rd_tableam);
	memcpy(&table->file.form, rel->rd_rel, CLASS_TUPLE_SIZE);
	/* needed by the lock under which the maps are extended */
	RelationInitLockInfo(table->rel);
	return table->rel;
}

ZTableState
zrollback_table_open(const RelFileLocator *locator, Oid oid, Relation *found)
{
	ZTableState state = ZTABLE_GONE;
	Relation	rel;

	/* everything that a sweep must not disturb is done under AccessExclusiveLock */
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return ZTABLE_BUSY;
	rel = try_relation_open(oid, NoLock);
	if (rel != NULL && (locator == NULL || RelFileLocatorEquals(rel->rd_locator, *locator)))
	{
		if (!zheap_is_table(rel))
			state = ZTABLE_OTHER;
		else
			state = zrollback_file_acquire(rel->rd_locator) ? ZTABLE_OPEN : ZTABLE_BUSY;
	}
	if (state == ZTABLE_OPEN)
	{
		*found = keep(rel);
		Assert(zrollback_table_find(rel->rd_locator) == *found);
		Assert(zrollback_file_is_held(*found));	/* R4 */
	}
	if (rel != NULL)
		relation_close(rel, NoLock);
	UnlockRelationOid(oid, AccessShareLock);
	return state;
}
