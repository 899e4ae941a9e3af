/*
 * index_rebuilt.c
 *		Indexes that were rebuilt without the keys of older versions.
 *
 * A rebuilt GIN index has the keys of each row's newest version only, while the one before had
 * those of older versions, too (zindex_merges).  Snapshots that may need these must not use it
 * (I2), but the server changes an index's indcheckxmin in REINDEX only if it is not valid.  So
 * that is done here, by an update of pg_index: its xid is the one that snapshots must see.
 *
 * Not while the index is built, which may be in parallel, when the server updates nothing; but
 * before the statement ends, or the transaction if a statement has several.
 *
 * LOCKING: the statement has locked the table and the index; no buffer is locked.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_index.h"
#include "tcop/utility.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "zheap/base/base.h"
#include "zheap/index/index.h"

#include "index_rebuilt.h"

static List *rebuilt = NIL;		/* Oids, in the transaction's memory context */
static ProcessUtility_hook_type previous_utility = NULL;

void
index_rebuilt_note(Relation index)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	rebuilt = list_append_unique_oid(rebuilt, RelationGetRelid(index));
	MemoryContextSwitchTo(old);
}

/*
 * Mark the index with indcheckxmin, even if it was: the xid advances.  Does nothing if it was
 * dropped.
 */
static void
mark_index(Relation catalog, Oid index)
{
	HeapTuple	known = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	HeapTuple	tuple;
	Form_pg_index form;

	if (!HeapTupleIsValid(known))
		return;
	tuple = heap_copytuple(known);
	ReleaseSysCache(known);
	form = (Form_pg_index) GETSTRUCT(tuple);
	form->indcheckxmin = true;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	/* plans that use the index are made again */
	CacheInvalidateRelcacheByRelid(form->indrelid);
	heap_freetuple(tuple);
}

static void
mark_rebuilt(void)
{
	Relation	catalog;
	ListCell   *lc;

	if (likely(rebuilt == NIL))
		return;
	/* the server may have updated the rows in the current command */
	CommandCounterIncrement();
	catalog = table_open(IndexRelationId, RowExclusiveLock);
	foreach(lc, rebuilt)
		mark_index(catalog, lfirst_oid(lc));
	table_close(catalog, RowExclusiveLock);
	list_free(rebuilt);
	rebuilt = NIL;
	CommandCounterIncrement();
}

/*
 * ProcessUtility hook.
 *
 * What a failed statement has noted is forgotten: its subtransaction is aborted, and the next
 * statement is the one that ends it, before which no catalog can be read.  An outer statement's
 * indexes are left to it, as a subtransaction in which they were marked may be rolled back.
 */
static void
mark_after_utility(PlannedStmt *pstmt, const char *string, bool read_only, /* tidy: the server's signature */
				   ProcessUtilityContext context, ParamListInfo params,
				   QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	List	   *outer = rebuilt;

	rebuilt = NIL;
	PG_TRY();
	{
		(previous_utility ? previous_utility : standard_ProcessUtility)
			(pstmt, string, read_only, context, params, env, dest, qc);
		mark_rebuilt();
	}
	PG_FINALLY();
	{
		rebuilt = outer;
	}
	PG_END_TRY();
}

static void
mark_before_commit(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		mark_rebuilt();
	else if (event == XACT_EVENT_ABORT)
		rebuilt = NIL;
}

void
zindex_rebuilt_register(void)
{
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = mark_after_utility;
	RegisterXactCallback(mark_before_commit, NULL);
}
