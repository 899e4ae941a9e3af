/*
 * am_drop.c
 *		Hook for dropped tables; keeps the undo relation as long as there are zheap tables.
 *
 * As a member of the extension the undo relation cannot be dropped alone, but a superuser may
 * remove it, or the access method, from the extension.  Then tables would be left with rows whose
 * other versions are gone.  The order in which DROP ... CASCADE drops objects is the server's, so
 * the check is made before the commit (A3).
 *
 * LOCKING: the server has locked what it drops.  Waits for sweeps of the table's file, and for
 * users of the undo relation.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/base/catalog.h"
#include "zheap/base/stats.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_relation.h"

static object_access_hook_type previous_hook = NULL;
static bool dropped = false;	/* true if this transaction, or a part of it, has dropped the undo
								 * relation */

/* Tables dropped in this transaction, including ones whose drop a subtransaction rolled back. */
static List *tables = NIL;		/* of OIDs, in TopTransactionContext */

/*
 * Wait until no sweep is at work on the file: sweeps hold no lock on the table.  The old file of a
 * rewritten table is dropped with the transient relation of the rewrite, so it is served, too.
 */
static void
wait_for_sweeps(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	RelFileLocator file = {0};
	bool		is_shared;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	is_shared = (form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW) &&
		form->relpersistence != RELPERSISTENCE_TEMP;
	file.relNumber = form->relfilenode;
	ReleaseSysCache(tuple);
	/* A1: after the wait no sweep comes back, as one needs AccessShareLock to begin */
	Assert(!is_shared || CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false));
	if (is_shared && OidIsValid(file.relNumber))
		zrollback_file_wait(file);
}

/* Remember to drop the table's counters at commit: the drop may yet be rolled back. */
static void
note_table(Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	if (zheap_is_preloaded())
		tables = lappend_oid(tables, relid);
	MemoryContextSwitchTo(old);
}

/*
 * Drop the counters of the noted tables that are gone; with "all", of all tables that have been
 * zheap tables, as the extension is dropped: a server that does not load the library any more
 * could not read its statistics file with them (18).  Each is named once, since minor releases of
 * 18 PANIC when an entry is dropped twice in a transaction.
 */
static void
forget_counts(bool all)
{
	List	   *gone = NIL;
	ListCell   *cell;

	foreach(cell, tables)
	{
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(cell))))
			gone = lappend_oid(gone, lfirst_oid(cell));
	}
	tables = NIL;
	if (all)
	{
		int			n;
		ZTableCounts *counts = zstats_tables(&n);

		for (int i = 0; i < n; i++)
			gone = lappend_oid(gone, counts[i].table);
		pfree(counts);
	}
	/* a table is noted again if its drop was rolled back to a savepoint */
	list_sort(gone, list_oid_cmp);
	list_deduplicate_oid(gone);
	foreach(cell, gone)
		zstats_forget_table(lfirst_oid(cell));
	list_free(gone);
}

/*
 * Wait until no other transaction uses the undo relation.  ERROR (object_in_use) if this one has
 * used zheap tables.
 */
static void
wait_for_users(Oid undo)
{
	if (zundo_is_used())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot drop the undo relation of zheap in a transaction that has used zheap tables"),
				 errhint("Commit first.")));
	zundo_wait_for_users(undo);
}

/* object_access_hook: wait for sweeps and users, and note what before_commit() needs. */
static void
note_drop(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook)
		previous_hook(access, class, object, sub, arg);
	if (access != OAT_DROP || sub != 0 || !IsTransactionState())
		return;
	if (class != RelationRelationId)
		return;
	note_table(object);
	wait_for_sweeps(object);
	if (!zundo_exists() || object != zundo_relation_oid())
		return;
	dropped = true;
	wait_for_users(object);
	zundo_note_dropped(object);
}

/* Set *arg to the name, allocated, of a table that needs the undo relation, and stop there. */
static bool
take_name(HeapTuple tuple, TupleDesc desc, void *arg)
{
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

	if (!RELKIND_HAS_TABLE_AM(form->relkind) || !zheap_is_table_am(form->relam))
		return true;
	*(char **) arg = pstrdup(NameStr(form->relname));
	return false;
}

/* A3: raise ERROR if zheap tables would be left without undo. */
static void
check_tables(void)
{
	char	   *name = NULL;

	if (zundo_exists())
		return;
	zheap_class_scan(InvalidOid, NULL, NULL, 0, take_name, &name);
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop the undo relation of zheap because zheap tables depend on it"),
				 errdetail("Table \"%s\" uses access method \"zheap\".", name),
				 errhint("Drop these tables first, or all together with DROP EXTENSION zheap CASCADE.")));
}

/* Transaction callback: check A3 and drop counters before the commit; forget notes at the end. */
static void
before_commit(XactEvent event, void *arg)
{
	bool		check = dropped;

	Assert(!dropped || IsTransactionState() || event == XACT_EVENT_ABORT);
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			dropped = false;
			if (check)
				check_tables();
			forget_counts(check && !zundo_exists());
			zstats_forget_dropped();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			/* temporary tables are dropped on commit, after the PRE_COMMIT callbacks */
			tables = NIL;
			zundo_forget_dropped();
			break;
		case XACT_EVENT_ABORT:
			dropped = false;
			tables = NIL;
			zundo_forget_dropped();
			break;
		default:
			break;
	}
}

void
zam_drop_register(void)
{
	previous_hook = object_access_hook;
	object_access_hook = note_drop;
	RegisterXactCallback(before_commit, NULL);
}
