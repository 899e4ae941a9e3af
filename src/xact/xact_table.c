/*
 * xact_table.c
 *		The tables that a sweep has open.
 *
 * A sweep may come by the same few tables by turns, so it keeps some open.  It holds
 * the lock on the file of each (lock_file.c), none on the table but for the moment of
 * opening, and closes the table when somebody waits for the file.  Whatever else
 * is done to a table meanwhile does not matter: only its file's pages are changed, as
 * any writer beside would.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "zheap/lock/lock.h"
#include "zheap/vacuum/vacuum.h"

#include "xact_private.h"

static bool
is_ours(Relation rel)
{
	return rel->rd_tableam != NULL && rel->rd_tableam->relation_vacuum == zvacuum_relation;
}

static void
close_table(ZSweepTable *table)
{
	relation_close(table->rel, NoLock);
	zlock_file_release(table->file);
	table->rel = NULL;
}

void
zxact_tables_close(ZSweepTables *tables)
{
	for (int i = 0; i < ZSWEEP_TABLES; i++)
	{
		if (tables->tables[i].rel != NULL)
			close_table(&tables->tables[i]);
	}
}

void
zxact_tables_forget(ZSweepTables *tables)
{
	memset(tables, 0, sizeof(*tables));
}

bool
zxact_tables_make_way(ZSweepTables *tables)
{
	bool		any = false;

	for (int i = 0; i < ZSWEEP_TABLES; i++)
	{
		ZSweepTable *table = &tables->tables[i];

		if (table->rel != NULL && zlock_file_is_wanted(table->file))
		{
			close_table(table);
			any = true;
		}
	}
	return any;
}

ZSweepTable *
zxact_table_find(ZSweepTables *tables, ZRelLocator locator)
{
	for (int i = 0; i < ZSWEEP_TABLES; i++)
	{
		ZSweepTable *table = &tables->tables[i];

		if (table->rel != NULL && RelFileNodeEquals(table->locator, locator))
			return table;
	}
	return NULL;
}

/* Is it still, under the lock, ours and the file's?  If not, the file's pages are no more. */
static bool
has_file(Relation rel, ZRelLocator locator)
{
	return is_ours(rel) && zloc_rel(zrel_locator(rel)) == zloc_rel(locator);
}

ZTableState
zxact_table_open(ZSweepTables *tables, ZRelLocator locator, Oid oid, ZSweepTable **found)
{
	ZTableState state = ZTABLE_GONE;
	ZSweepTable *table;
	Relation	rel;

	if (!ConditionalLockRelationOid(oid, RowExclusiveLock))
		return ZTABLE_BUSY;
	rel = try_relation_open(oid, NoLock);
	if (rel != NULL && has_file(rel, locator))
		state = zlock_file_acquire(zrel_locator(rel)) ? ZTABLE_OPEN : ZTABLE_BUSY;
	if (rel != NULL && state != ZTABLE_OPEN)
		relation_close(rel, NoLock);
	UnlockRelationOid(oid, RowExclusiveLock);
	if (state != ZTABLE_OPEN)
		return state;

	table = &tables->tables[tables->next];
	tables->next = (tables->next + 1) % ZSWEEP_TABLES;
	if (table->rel != NULL)
		close_table(table);
	table->rel = rel;
	table->locator = locator;
	table->file = zrel_locator(rel);
	table->oid = oid;
	*found = table;
	return ZTABLE_OPEN;
}
