/*
 * am_workers.c
 *		Background workers that would write zheap tables as if they were heap's.
 *
 * pglogical's apply worker, and that of spock, which comes from it, ask for a slot of the table's
 * kind and then take it for heap's: a deletion hands what lies there to heap_delete(), an
 * update is a crash.  The first that such a worker asks a table for is its kind of slot, when it
 * has locked the table for writing.
 *
 * What the worker does by SQL, in triggers, with pglogical.use_spi, or as a statement that was
 * replicated as such, is no such thing: the server's executor asks for the slot then.  Of triggers
 * that are deferred to the end of the transaction that cannot be told.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/rel.h"

#include "zheap/am/am_relation.h"

/* Libraries as their workers are registered; docs/extensions.md has them. */
static const char *const heap_workers[] = {"pglogical", "spock"};

static bool
is_heap_worker(const char *library)
{
	const char *slash = strrchr(library, '/');

	for (int i = 0; i < (int) lengthof(heap_workers); i++)
	{
		if (strcmp(slash != NULL ? slash + 1 : library, heap_workers[i]) == 0)
			return true;
	}
	return false;
}

/* No relation has an empty name: nothing is done, but the answer tells. */
static bool
spi_is_connected(void)
{
	return SPI_unregister_relation("") != SPI_ERROR_UNCONNECTED;
}

void
zam_refuse_heap_workers(Relation rel)
{
	const char *library = MyBgworkerEntry->bgw_library_name;

	if (!is_heap_worker(library) || ActivePortal != NULL || spi_is_connected() ||
		!CheckRelationLockedByMe(rel, RowExclusiveLock, true))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("background worker of \"%s\" cannot write to table \"%s\"", library,
					RelationGetRelationName(rel)),
			 errdetail("It takes rows of a table with access method \"%s\" for heap's.",
					   ZHEAP_AM_NAME),
			 errhint("Use ALTER TABLE ... SET ACCESS METHOD heap, or the server's own logical replication.")));
}
