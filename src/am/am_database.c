/*
 * am_database.c
 *		Hook that forgets shared state of dropped databases and indexes: a new database may get
 *		the OID of an old one.
 *
 * When a drop is about to commit, all state of the database is forgotten, to free memory.  The
 * hook itself would be too early, as the server checks only afterwards whether other sessions use
 * the database.  When a database is created, state of an old one with the same OID is forgotten
 * again, before any session can connect to the new one.
 *
 * LOCKING: that of the functions called.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/base/stats.h"
#include "zheap/btree/dead_ranges.h"

static object_access_hook_type previous_hook = NULL;

/* The database that this transaction is about to drop, unless the server still refuses. */
static Oid	dropped_database = InvalidOid;

static void
note_database(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook)
		previous_hook(access, class, object, sub, arg);
	if (!zheap_is_preloaded())
		return;
	/* only indexes have dead ranges; if the drop is rolled back, only time is lost */
	if (class == RelationRelationId && access == OAT_DROP && sub == 0)
		zdead_forget_files(object);
	if (class != DatabaseRelationId)
		return;
	if (access == OAT_DROP && IsTransactionState())
		dropped_database = object;
	if (access == OAT_POST_CREATE)
		zdead_forget_database(object);
}

static void
end_of_drop(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT && OidIsValid(dropped_database))
	{
		zstats_forget_database(dropped_database);
		zdead_forget_database(dropped_database);
	}
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_ABORT)
		dropped_database = InvalidOid;
}

void
zam_database_register(void)
{
	previous_hook = object_access_hook;
	object_access_hook = note_database;
	RegisterXactCallback(end_of_drop, NULL);
}
