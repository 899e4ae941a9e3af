/*
 * am_repack.c
 *		Refuse tables of pg_repack that would replace a table of another access method.
 *
 * pg_repack creates repack.table_OID with the default access method, fills it, and exchanges the
 * files of the two by updating pg_class itself: a zheap table would then have a file of heap
 * pages, or the other way round.  No hook reports the exchange, but object_access_hook reports the
 * new table, when nothing has been copied yet.
 *
 * LOCKING: reads pg_class; the server has locked the new table.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"
#include "zheap/base/catalog.h"

#define REPACK_SCHEMA	"repack"
#define REPACK_TABLE	"table_"

static object_access_hook_type previous_hook = NULL;

/* Return the OID of the table that a table of this name is to replace, or invalid. */
static Oid
original_of(Form_pg_class made)
{
	const char *name = NameStr(made->relname);
	char	   *end;
	unsigned long oid;

	if (made->relkind != RELKIND_RELATION ||
		strncmp(name, REPACK_TABLE, strlen(REPACK_TABLE)) != 0)
		return InvalidOid;
	oid = strtoul(name + strlen(REPACK_TABLE), &end, 10);
	return *end == '\0' && oid <= OID_MAX ? (Oid) oid : InvalidOid;
}

/* ERROR if the new table, in the schema *arg, is to replace one of another access method. */
static bool
check_made(HeapTuple tuple, TupleDesc desc, void *arg)
{
	Form_pg_class made = (Form_pg_class) GETSTRUCT(tuple);
	Oid			original;
	Oid			am;

	if (made->relnamespace != *(Oid *) arg)
		return false;
	original = original_of(made);
	am = OidIsValid(original) ? zheap_relation_am(original) : InvalidOid;
	if (!OidIsValid(am) || am == made->relam ||
		(!zheap_is_table_am(am) && !zheap_is_table_am(made->relam)))
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" with access method \"%s\" cannot be replaced by one with \"%s\"",
					get_rel_name(original), get_am_name(am), get_am_name(made->relam)),
			 errdetail("pg_repack makes the new table with the default access method, and exchanges the files."),
			 errhint("Run pg_repack with PGOPTIONS=\"-c default_table_access_method=%s\" for this table.",
					 get_am_name(am))));
	return false;
}

static void
after_create(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	Oid			schema;
	ScanKeyData key;

	if (previous_hook)
		previous_hook(access, class, object, sub, arg);
	if (access != OAT_POST_CREATE || class != RelationRelationId || sub != 0 || IsBinaryUpgrade)
		return;
	schema = get_namespace_oid(REPACK_SCHEMA, true);
	if (!OidIsValid(schema))
		return;
	/* the row as this command has left it */
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	zheap_class_scan(ClassOidIndexId, SnapshotSelf, &key, 1, check_made, &schema);
}

void
zam_repack_register(void)
{
	previous_hook = object_access_hook;
	object_access_hook = after_create;
}
