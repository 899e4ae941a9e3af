/*
 * am_options.c
 *		Refuse storage parameters that zheap tables cannot have.
 *
 * user_catalog_table lets output plugins of logical decoding read a table with a historic
 * snapshot.  Old versions would have to be kept for such snapshots, and visibility decided by
 * them; zheap does neither, so the rows read would be wrong.
 *
 * The server has no callback for a table's storage parameters, but calls object_access_hook when
 * a relation was created or altered.
 *
 * LOCKING: reads pg_class; the server has locked the relation.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/base/catalog.h"

static object_access_hook_type previous_hook = NULL;

/* ERROR if this row of pg_class is a zheap table's and has such a parameter.  Ends the scan. */
static bool
check_options(HeapTuple tuple, TupleDesc desc, void *arg)
{
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
	bytea	   *options;
	bool		refused;

	if ((form->relkind != RELKIND_RELATION && form->relkind != RELKIND_MATVIEW) ||
		heap_attisnull(tuple, Anum_pg_class_reloptions, desc) ||
		!zheap_is_table_am(form->relam))
		return false;
	options = extractRelOptions(tuple, desc, NULL);
	refused = options != NULL && ((StdRdOptions *) options)->user_catalog_table;
	if (refused)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("storage parameter \"user_catalog_table\" is not supported by access method \"%s\"",
						ZHEAP_AM_NAME),
				 errdetail("Output plugins cannot read zheap tables as they were in the past."),
				 errhint("Make tables that output plugins read heap tables, with USING heap or ALTER TABLE ... SET ACCESS METHOD heap.")));
	if (options != NULL)
		pfree(options);
	return false;
}

/* Check the row of pg_class as this command has left it (SnapshotSelf). */
static void
check_relation(Oid relid)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	zheap_class_scan(ClassOidIndexId, SnapshotSelf, &key, 1, check_options, NULL);
}

static void
after_change(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook)
		previous_hook(access, class, object, sub, arg);
	/* pg_upgrade must not fail half-way, and no decoding runs there */
	if ((access == OAT_POST_CREATE || access == OAT_POST_ALTER) &&
		class == RelationRelationId && sub == 0 && !IsBinaryUpgrade)
		check_relation(object);
}

void
zam_options_register(void)
{
	previous_hook = object_access_hook;
	object_access_hook = after_change;
}
