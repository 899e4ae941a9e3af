/*
 * rollback_find.c
 *		The tables whose pages an undo record may be about.
 *
 * A record names the file that its page was in when it was written.  ALTER DATABASE SET
 * TABLESPACE, or CREATE DATABASE from this one with another tablespace, moves the files of the
 * database's own tablespace to another one, where they keep their numbers; the records stay as
 * they are.  So the page is in the file that the record names, or in the file of the same
 * number in the present tablespace of the database.  Both may exist: file numbers are reused,
 * and are unique in one tablespace only.  The two cannot be told apart, and need not be: only
 * aborted changes of a page are rolled back.  So the sweep handles both.
 */
#include "postgres.h"

#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "zheap/undo/undo_horizon.h"

#include "rollback_private.h"

int
zrollback_find_files(RelFileLocator recorded, RelFileLocator *files)
{
	int			n = 1;

	/* a copied database has another OID than its records say */
	recorded.dbOid = MyDatabaseId;
	files[0] = recorded;
	if (recorded.spcOid != MyDatabaseTableSpace)
	{
		files[n] = recorded;
		files[n++].spcOid = MyDatabaseTableSpace;
	}
	Assert(n <= ZROLLBACK_MAX_FILES);
	return n;
}

static bool
file_has_pages(RelFileLocator file)
{
	SMgrRelation smgr = smgropen(file, INVALID_PROC_NUMBER);
	bool		result = smgrexists(smgr, MAIN_FORKNUM) && smgrnblocks(smgr, MAIN_FORKNUM) > 0;

	smgrclose(smgr);
	return result;
}

static bool
take_permanent(HeapTuple tuple, TupleDesc desc, void *arg)
{
	/* files of temporary relations are others, with numbers of their own */
	if (((Form_pg_class) GETSTRUCT(tuple))->relpersistence == RELPERSISTENCE_TEMP)
		return true;
	*(bool *) arg = true;
	return false;
}

/*
 * Return whether any relation has the file.  Searches pg_class itself: the caches may be older
 * than the end of the transaction that committed the file, which leaves the process array
 * before it sends its invalidations.
 */
static bool
file_has_relation(RelFileLocator file)
{
	ScanKeyData key[2];
	bool		found = false;

	/* in pg_class 0 is the database's own tablespace */
	ScanKeyInit(&key[0], Anum_pg_class_reltablespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(file.spcOid == MyDatabaseTableSpace ? InvalidOid :
								 file.spcOid));
	ScanKeyInit(&key[1], Anum_pg_class_relfilenode, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(file.relNumber));
	zrollback_class_scan(ClassTblspcRelfilenodeIndexId, key, 2, take_permanent, &found);
	return found;
}

/*
 * Return whether a file that the caches give to no relation is gone for good (R8).  It may have
 * been made by a transaction still running, a subtransaction of which aborted; then it has
 * pages.  The file of a table that was dropped or rewritten has none from the moment when that
 * has committed, whatever older snapshots there are.
 *
 * Read the horizon before the catalog.  In the other order the transaction that made the file
 * could commit in between: the catalog would not show the file yet, the horizon would no longer
 * be held back by the transaction, and what it did would never be rolled back on its pages.  If
 * it has ended before the horizon was read, the catalog, read after that, shows the file.
 */
static bool
is_gone(RelFileLocator file, FullTransactionId fxid)
{
	FullTransactionId oldest = zundo_oldest_needed();

	if (FullTransactionIdPrecedes(fxid, oldest))
		return !file_has_relation(file);
	return !file_has_pages(file);
}

ZTableState
zrollback_find_table(RelFileLocator file, FullTransactionId fxid, Relation *rel, Oid *oid)
{
	ZTableState state = ZTABLE_GONE;

	*rel = zrollback_table_find(file);
	if (*rel != NULL)
	{
		*oid = RelationGetRelid(*rel);
		return ZTABLE_OPEN;
	}
	*oid = RelidByRelfilenumber(file.spcOid, file.relNumber);
	if (OidIsValid(*oid))
		state = zrollback_table_open(&file, *oid, rel);
	/* the caches prove nothing */
	if (state == ZTABLE_GONE && !is_gone(file, fxid))
		state = ZTABLE_BUSY;
	return state;
}
