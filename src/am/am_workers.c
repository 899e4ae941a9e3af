/*
 * am_workers.c
 *		Refuse background workers that would write zheap tables as if they were heap's.
 *
 * The apply worker of pglogical, and that of spock, a fork, create a slot of the table's type and
 * then take it for heap's: a deletion passes its contents to heap_delete(), an update crashes.
 * Such a worker calls slot_callbacks first, when it has locked the table for writing.
 *
 * SQL that the worker runs is not refused (triggers, pglogical.use_spi, replicated statements), as
 * the executor asks for the slot then.  Triggers that are deferred to the end of the transaction
 * cannot be told apart from the worker's own writes.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/rel.h"

#include "zheap/am/am_relation.h"

/* Names of libraries as their workers are registered; listed in docs/extensions.md. */
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

/*
 * Return whether SPI is connected, by the result of a call that does nothing else: no relation has
 * an empty name.
 */
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
			 errdetail("It reads tables with access method \"%s\" as heap tables.",
					   ZHEAP_AM_NAME),
			 errhint("Use ALTER TABLE ... SET ACCESS METHOD heap, or the server's own logical replication.")));
}
