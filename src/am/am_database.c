/*
 * am_database.c
 *		Databases that are made and dropped: a new one may get an old one's OID.  And indexes that
 *		are dropped.
 *
 * What shared memory knows of a database's tables is forgotten when the drop is about to commit,
 * to give back the memory: the server asks only after the hook whether sessions of the database
 * are there.  What must not be taken for another database's is forgotten when that is made, which
 * is before anybody can connect to it.
 *
 * LOCKING: those of what is forgotten.
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
#include "zheap/notes/filled.h"

static object_access_hook_type previous_hook = NULL;

/* About to be dropped by this transaction, if that does not find a reason against it. */
static Oid	dropped_database = InvalidOid;

static void
forget_database(Oid db)
{
	zdead_forget_database(db);
	zfilled_forget_database(db);
}

static void
note_database(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook)
		previous_hook(access, class, object, sub, arg);
	if (!zheap_is_preloaded())
		return;
	/* of tables there are none; if that is rolled back, nothing but time is lost */
	if (class == RelationRelationId && access == OAT_DROP && sub == 0)
		zdead_forget_files(object);
	if (class != DatabaseRelationId)
		return;
	if (access == OAT_DROP && IsTransactionState())
		dropped_database = object;
	if (access == OAT_POST_CREATE)
		forget_database(object);
}

static void
end_of_drop(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT && OidIsValid(dropped_database))
	{
		zstats_forget_database(dropped_database);
		forget_database(dropped_database);
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
