/*
 * undo_attach.c
 *		The backend's part of the state: its database, from its first use of undo to its exit.
 *
 * LOCKING: the map lock, or the database's lock, exclusively, one after the other.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/syscache.h"

#include "zheap/undo/undo_relation.h"

#include "store_private.h"

ZUndoBackend MyUndo = {
	.block = InvalidBlockNumber
};

/* Leave our log to the next backend.  Takes the database's lock, exclusively. */
static void
park_log(void)
{
	ZUndoLog   *log = MyUndo.log;

	LWLockAcquire(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE);
	if (MyUndo.incarnation == MyUndo.db->incarnation)
	{
		/* the extent may have been taken away since our last transaction */
		log->insert_block = MyUndo.init || !BlockNumberIsValid(MyUndo.block) ||
			log->newest_extent != zundo_extent_of(MyUndo.block) ?
			InvalidBlockNumber : MyUndo.block;
		log->insert_offset = MyUndo.offset;
		log->insert_generation = MyUndo.generation;
		log->owner = 0;
	}
	LWLockRelease(zundo_db_lock(MyUndo.db));
	MyUndo.log = NULL;
}

/*
 * Detach from the database, as the backend exits.  Its last transaction has been aborted
 * before, by a before_shmem_exit callback.
 */
static void
detach(int code, Datum arg)
{
	Assert(MyUndo.first == ZUNDO_INVALID);
	if (MyUndo.log != NULL)
		park_log();
	zundo_state_remove_backend(MyUndo.db);
	MyUndo.db = NULL;
}

/*
 * Return the xmin of this database's pg_database row, to tell it from one that had its OID
 * before.
 */
static TransactionId
database_maker(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	TransactionId maker;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	maker = HeapTupleHeaderGetRawXmin(tuple->t_data);
	ReleaseSysCache(tuple);
	return maker;
}

/* Attach this backend to its database until it exits.  Takes the map lock, exclusively. */
static void
attach(void)
{
	ZUndoDb    *db;

	zheap_require_preload();
	db = zundo_state_add_backend(database_maker());
	if (db == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("zheap is in use in too many databases"),
				 errdetail("At most %d databases can be used at the same time.",
						   zundo_max_databases()),
				 errhint("Close the sessions of another database.")));
	MyUndo.db = db;
	on_shmem_exit(detach, (Datum) 0);
}

/*
 * Drop what is known of another undo relation, after the extension was dropped and created
 * again.  Backends that used the old one have ended their transactions: the command that
 * dropped it has waited for them.
 */
static void
change_relation(ZUndoDb *db, Oid relid)
{
	LWLockAcquire(zundo_db_lock(db), LW_EXCLUSIVE);
	if (db->relid != relid)
	{
		zundo_logs_drop(db);
		pg_atomic_write_u32(&db->nblocks, 0);
		db->peak = 0;
		db->relid = relid;
		db->incarnation++;
	}
	LWLockRelease(zundo_db_lock(db));
}

bool
zundo_db_is_of(Oid relid)
{
	if (unlikely(MyUndo.db == NULL))
		attach();
	return MyUndo.db->relid == relid;
}

void
zundo_db_attach(Oid relid)
{
	if (MyUndo.db == NULL)
		attach();
	if (unlikely(MyUndo.db->relid != relid))
		change_relation(MyUndo.db, relid);
	if (unlikely(MyUndo.incarnation != MyUndo.db->incarnation))
	{
		Assert(MyUndo.first == ZUNDO_INVALID);
		MyUndo.incarnation = MyUndo.db->incarnation;
		MyUndo.log = NULL;
		MyUndo.block = InvalidBlockNumber;
	}
}
