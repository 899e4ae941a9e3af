/*
 * zheap_catalog.c
 *		Recognize zheap tables, and read rows of pg_class.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "zheap/base/base.h"
#include "zheap/base/catalog.h"

/* The C function that the extension's script declares as the handler of its access method. */
#define TABLE_HANDLER	"zheap_tableam_handler"

const struct TableAmRoutine *zheap_table_routine = NULL;

/*
 * Return whether the function is our handler, by its name in the library.  The handler is not
 * called: comparing what it returns would mean to call the handlers of other access methods too,
 * whose libraries may no longer exist.
 */
static bool
is_our_handler(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		isnull;
		Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

		result = !isnull && strcmp(TextDatumGetCString(source), TABLE_HANDLER) == 0;
	}
	ReleaseSysCache(tuple);
	return result;
}

bool
zheap_is_table_am(Oid am)
{
	HeapTuple	tuple = SearchSysCache1(AMOID, ObjectIdGetDatum(am));
	Oid			handler;

	if (!HeapTupleIsValid(tuple))
		return false;
	handler = ((Form_pg_am) GETSTRUCT(tuple))->amhandler;
	ReleaseSysCache(tuple);
	return is_our_handler(handler);
}

Oid
zheap_relation_am(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			am;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	am = ((Form_pg_class) GETSTRUCT(tuple))->relam;
	ReleaseSysCache(tuple);
	return am;
}

void
zheap_class_scan(Oid index, Snapshot snapshot, ScanKey keys, int nkeys,
				 ZClassVisitor visit, void *arg)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(pg_class, index, OidIsValid(index), snapshot, nkeys,
										  keys);
	HeapTuple	tuple;

	do
		tuple = systable_getnext(scan);
	while (HeapTupleIsValid(tuple) && visit(tuple, RelationGetDescr(pg_class), arg));
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
}
