/*
 * undo_state.c
 *		Shared memory: databases with undo, and their logs.
 *
 * All but what is pending can be read again from the undo relation, and is after a restart
 * (undo_log.c); so entries of idle databases are simply dropped when room is needed.
 *
 * LOCKING: the map lock protects the set of databases, and the number of backends attached to
 * each.  The state of a database is protected by the database's lock.  If no backend is
 * attached the map lock, exclusively, does as well, as other processes read it with both locks
 * (zundo_db_foreach: the database's lock first).  The pool lock comes after either.
 */
#include "postgres.h"

#include "access/twophase.h"
#include "miscadmin.h"
#include "storage/shmem.h"

#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_space.h"

#include "store_private.h"

typedef struct ZUndoShared
{
	int			free_log;		/* first unused entry of logs */
	pg_atomic_uint32 sweeps;	/* number of sweeps ever begun */
	pg_atomic_uint64 redo;		/* undo_reference.c */
	ZUndoDb		dbs[FLEXIBLE_ARRAY_MEMBER]; /* zundo_max_databases() */
} ZUndoShared;

/* Each log has its own cache lines: its owner writes there in each transaction. */
typedef union PaddedLog
{
	ZUndoLog	log;
	char		pad[TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(ZUndoLog))];
} PaddedLog;

#define LOCK_MAP		0
#define LOCK_POOL		1
#define LOCK_FIRST_DB	2

static ZUndoShared *shared = NULL;
static PaddedLog *logs = NULL;
static LWLockPadded *locks = NULL;

/*
 * Entries in addition to one for each process, as no more databases can be in use at once.
 * Those not in use may be dropped; spare entries save reading their state again.
 */
#define SPARE_DATABASES	128

int
zundo_max_databases(void)
{
	return MaxBackends + SPARE_DATABASES;
}

/*
 * Return the number of log entries.  Each backend owns at most one log.  Others outlive the
 * backends that made them until workers retire them.  All logs that one database can have on
 * disk must fit, however many connections wrote them: a database is loaded as a whole.
 */
static int
max_logs(void)
{
	return 2 * (MaxBackends + max_prepared_xacts) + ZUNDO_MAX_LOGS;
}

static Size
logs_offset(void)
{
	return CACHELINEALIGN(add_size(offsetof(ZUndoShared, dbs),
								   mul_size(zundo_max_databases(), sizeof(ZUndoDb))));
}

Size
zundo_shmem_size(void)
{
	Size		size = add_size(logs_offset(), PG_CACHE_LINE_SIZE);

	return add_size(size, mul_size(max_logs(), sizeof(PaddedLog)));
}

int
zundo_lwlock_count(void)
{
	return LOCK_FIRST_DB + 2 * zundo_max_databases();
}

void
zundo_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("zheap undo", zundo_shmem_size(), &found);
	logs = (PaddedLog *) CACHELINEALIGN((char *) shared + logs_offset());
	locks = GetNamedLWLockTranche(ZUNDO_LWLOCK_TRANCHE);
	if (found)
		return;

	memset(shared, 0, zundo_shmem_size());
	pg_atomic_init_u32(&shared->sweeps, 0);
	pg_atomic_init_u64(&shared->redo, 0);
	for (int i = 0; i < zundo_max_databases(); i++)
	{
		shared->dbs[i].first_log = -1;
		pg_atomic_init_u64(&shared->dbs[i].horizon, 0);
		pg_atomic_init_u64(&shared->dbs[i].logged_horizon, 0);
		pg_atomic_init_u64(&shared->dbs[i].released, 0);
		pg_atomic_init_u32(&shared->dbs[i].nblocks, 0);
		pg_atomic_init_u32(&shared->dbs[i].moving, 0);
		pg_atomic_init_u32(&shared->dbs[i].aborts, 0);
		pg_atomic_init_u32(&shared->dbs[i].sweeps_held, 0);
		pg_atomic_init_u64(&shared->dbs[i].last_advance, 0);
		pg_atomic_init_u64(&shared->dbs[i].last_next, 0);
	}
	for (int i = 0; i < max_logs(); i++)
	{
		SpinLockInit(&logs[i].log.mutex);
		pg_atomic_init_u32(&logs[i].log.uses, 0);
		pg_atomic_init_u64(&logs[i].log.active, 0);
		pg_atomic_init_u64(&logs[i].log.active_first, 0);
		logs[i].log.next_log = i + 1 < max_logs() ? i + 1 : -1;
	}
}

pg_atomic_uint64 *
zundo_shared_redo(void)
{
	return &shared->redo;
}

LWLock *
zundo_db_lock(const ZUndoDb *db)
{
	return &locks[LOCK_FIRST_DB + (db - shared->dbs)].lock;
}

LWLock *
zundo_truncate_lock(const ZUndoDb *db)
{
	return &locks[LOCK_FIRST_DB + zundo_max_databases() + (db - shared->dbs)].lock;
}

/* ---- logs ---- */

static ZUndoLog *
log_at(int index)
{
	return index < 0 ? NULL : &logs[index].log;
}

static int
log_index(const ZUndoLog *log)
{
	return (const PaddedLog *) log - logs;
}

ZUndoLog *
zundo_log_next(const ZUndoDb *db, const ZUndoLog *log)
{
	Assert(LWLockHeldByMe(zundo_db_lock(db)));
	return log_at(log == NULL ? db->first_log : log->next_log);
}

ZUndoLog *
zundo_log_find(const ZUndoDb *db, uint32 number)
{
	ZUndoLog   *log = NULL;

	while ((log = zundo_log_next(db, log)) != NULL)
	{
		if (log->number == number)
			return log;
	}
	return NULL;
}

/* Initialise an entry as log "number", without extents, owner and pending undo. */
static void
log_clear(ZUndoLog *log, uint32 number)
{
	log->number = number;
	log->owner = 0;
	log->sealed = log->lost = false;
	log->oldest_extent = log->newest_extent = log->oldest_next = InvalidBlockNumber;
	log->oldest_closed = InvalidFullTransactionId;
	log->insert_block = InvalidBlockNumber;
	pg_atomic_write_u32(&log->uses, 0);
	log->idle_uses = 1;			/* odd: not seen idle yet */
	pg_atomic_write_u64(&log->active, 0);
	pg_atomic_write_u64(&log->active_first, 0);
	log->ordinal = 1;
	log->pending_ordinal = log->newly_aborted_ordinal = 0;
	log->pending_from = log->newly_aborted_from = ZUNDO_INVALID;
	log->pending_fxid = log->oldest_unapplied = log->newly_aborted_fxid = InvalidFullTransactionId;
	log->aborts = log->newly_aborted_count = 0;
	log->retry_at = 0;
	log->retry_wait = 0;
	log->left_relid = InvalidOid;
	memset(log->pins, 0, sizeof(log->pins));
	log->sweep_id = ZUNDO_NO_SWEEP;
}

uint32
zundo_new_sweep_id(void)
{
	uint32		id;

	do
		id = pg_atomic_add_fetch_u32(&shared->sweeps, 1);
	while (id == ZUNDO_NO_SWEEP);
	return id;
}

ZUndoLog *
zundo_log_add(ZUndoDb *db, uint32 number)
{
	ZUndoLog   *log;

	Assert(LWLockHeldByMeInMode(zundo_db_lock(db), LW_EXCLUSIVE));

	LWLockAcquire(&locks[LOCK_POOL].lock, LW_EXCLUSIVE);
	log = log_at(shared->free_log);
	if (log != NULL)
		shared->free_log = log->next_log;
	LWLockRelease(&locks[LOCK_POOL].lock);
	if (log == NULL)
		return NULL;

	log_clear(log, number);
	log->next_log = db->first_log;
	db->first_log = log_index(log);
	return log;
}

void
zundo_log_remove(ZUndoDb *db, ZUndoLog *log)
{
	int			index = log_index(log);
	int		   *link = &db->first_log;

	Assert(LWLockHeldByMeInMode(zundo_db_lock(db), LW_EXCLUSIVE));
	Assert(log->owner == 0 && !BlockNumberIsValid(log->newest_extent));
	Assert(log->pending_from == ZUNDO_INVALID && pg_atomic_read_u64(&log->active) == 0);

	while (*link != index)
		link = &log_at(*link)->next_log;
	*link = log->next_log;
	LWLockAcquire(&locks[LOCK_POOL].lock, LW_EXCLUSIVE);
	log->next_log = shared->free_log;
	shared->free_log = index;
	LWLockRelease(&locks[LOCK_POOL].lock);
}

/*
 * Assert that the database is locked exclusively; or that the map is, and no backend is
 * attached to the database.
 */
static void
check_exclusive(const ZUndoDb *db)
{
	Assert(LWLockHeldByMeInMode(zundo_db_lock(db), LW_EXCLUSIVE) ||
		   (LWLockHeldByMeInMode(&locks[LOCK_MAP].lock, LW_EXCLUSIVE) && db->attached == 0));
}

void
zundo_logs_drop(ZUndoDb *db)
{
	check_exclusive(db);
	LWLockAcquire(&locks[LOCK_POOL].lock, LW_EXCLUSIVE);
	while (db->first_log >= 0)
	{
		ZUndoLog   *log = log_at(db->first_log);

		db->first_log = log->next_log;
		log->next_log = shared->free_log;
		shared->free_log = log_index(log);
	}
	LWLockRelease(&locks[LOCK_POOL].lock);
	db->loaded = false;
	db->lost_dirs = 0;
	db->map_lost = false;
}

/* ---- databases ---- */

/* Return whether some log of the database is pending. */
static bool
has_pending(ZUndoDb *db)
{
	bool		pending = false;

	check_exclusive(db);
	for (int i = db->first_log; i >= 0; i = logs[i].log.next_log)
	{
		ZUndoLog   *log = log_at(i);

		SpinLockAcquire(&log->mutex);
		pending = pending || log->pending_from != ZUNDO_INVALID;
		SpinLockRelease(&log->mutex);
	}
	return pending;
}

/* Free the entry.  No backend is attached; the map is locked exclusively. */
static void
drop_database(ZUndoDb *db)
{
	Assert(LWLockHeldByMeInMode(&locks[LOCK_MAP].lock, LW_EXCLUSIVE) && db->attached == 0);
	zundo_logs_drop(db);
	db->dboid = db->relid = InvalidOid;
	db->maker = InvalidTransactionId;
	pg_atomic_write_u64(&db->horizon, 0);
	pg_atomic_write_u64(&db->logged_horizon, 0);
	pg_atomic_write_u64(&db->released, 0);
	pg_atomic_write_u32(&db->nblocks, 0);
	pg_atomic_write_u32(&db->moving, 0);
	db->peak = 0;
	db->truncate_at = 0;
	db->truncate_wait = 0;
	db->hold_at = db->warned_at = 0;
	pg_atomic_write_u64(&db->last_advance, 0);
	pg_atomic_write_u64(&db->last_next, 0);
}

/*
 * Free the entries of databases without attached backends.  The map is locked exclusively, so
 * that none attaches meanwhile.  No backend has a page copy of such a database either, so pins
 * do not matter.  A database with pending logs is dropped only if there is no other one: all
 * its logs will be pending when it is loaded again, but no worker visits it before.
 */
static void
drop_idle_databases(void)
{
	int			dropped = 0;

	for (int pass = 0; pass < 2 && dropped == 0; pass++)
	{
		for (int i = 0; i < zundo_max_databases(); i++)
		{
			ZUndoDb    *db = &shared->dbs[i];

			if (!OidIsValid(db->dboid) || db->attached > 0 ||
				(pass == 0 && has_pending(db)))
				continue;
			drop_database(db);
			dropped++;
		}
	}
}

void
zundo_state_shrink(void)
{
	LWLockAcquire(&locks[LOCK_MAP].lock, LW_EXCLUSIVE);
	drop_idle_databases();
	LWLockRelease(&locks[LOCK_MAP].lock);
}

static ZUndoDb *
find_db(Oid dboid)
{
	for (int i = 0; i < zundo_max_databases(); i++)
	{
		if (shared->dbs[i].dboid == dboid)
			return &shared->dbs[i];
	}
	return NULL;
}

/*
 * Return the database's entry, a new one if necessary; NULL if there is no room.  The map is
 * locked exclusively.
 */
static ZUndoDb *
find_or_make_db(Oid dboid)
{
	ZUndoDb    *db = find_db(dboid);

	if (db != NULL)
		return db;
	db = find_db(InvalidOid);
	if (db == NULL)
	{
		drop_idle_databases();
		db = find_db(InvalidOid);
	}
	if (db != NULL)
		db->dboid = dboid;
	return db;
}

/*
 * Drop the state if it may be that of a dropped database, or mixed from two by redo.  ALTER
 * DATABASE makes a new row, too: then all is simply read again.  No backend is attached; the
 * map is locked exclusively.
 */
static void
check_maker(ZUndoDb *db, TransactionId maker)
{
	if (db->maker == maker)
		return;
	drop_database(db);
	db->dboid = MyDatabaseId;
	db->maker = maker;
}

ZUndoDb *
zundo_state_add_backend(TransactionId maker)
{
	ZUndoDb    *db;

	LWLockAcquire(&locks[LOCK_MAP].lock, LW_EXCLUSIVE);
	db = find_or_make_db(MyDatabaseId);
	if (db != NULL && db->attached == 0)
		check_maker(db, maker);
	if (db != NULL)
		db->attached++;
	LWLockRelease(&locks[LOCK_MAP].lock);

	return db;
}

void
zundo_state_remove_backend(ZUndoDb *db)
{
	LWLockAcquire(&locks[LOCK_MAP].lock, LW_EXCLUSIVE);
	Assert(db->attached > 0);
	db->attached--;
	LWLockRelease(&locks[LOCK_MAP].lock);
}

/*
 * The database's lock comes first: we may have to wait for one database, but backends that
 * attach to another one do not.
 */
void
zundo_db_foreach(ZUndoDbVisitor visit, void *state)
{
	for (int i = 0; i < zundo_max_databases(); i++)
	{
		ZUndoDb    *db = &shared->dbs[i];

		if (!OidIsValid(*(volatile Oid *) &db->dboid))
			continue;
		LWLockAcquire(zundo_db_lock(db), LW_SHARED);
		LWLockAcquire(&locks[LOCK_MAP].lock, LW_SHARED);
		if (OidIsValid(db->dboid) && db->loaded)
			visit(db, state);
		LWLockRelease(&locks[LOCK_MAP].lock);
		LWLockRelease(zundo_db_lock(db));
	}
}

/* ---- horizons ---- */

void
zundo_horizon_raise(pg_atomic_uint64 *horizon, FullTransactionId fxid)
{
	uint64		value = U64FromFullTransactionId(fxid);
	uint64		old = pg_atomic_read_u64(horizon);

	while (old < value && !pg_atomic_compare_exchange_u64(horizon, &old, value))
		;						/* another one raised it: look again */
}

bool
zundo_redo_horizon_is_new(Oid dboid, FullTransactionId horizon)
{
	ZUndoDb    *db;
	bool		result;

	LWLockAcquire(&locks[LOCK_MAP].lock, LW_SHARED);
	db = find_db(dboid);
	result = db == NULL ||
		pg_atomic_read_u64(&db->horizon) < U64FromFullTransactionId(horizon);
	LWLockRelease(&locks[LOCK_MAP].lock);
	return result;
}

/* If there is no room for the database its readers will find the horizon on the meta page. */
void
zundo_redo_horizon_set(Oid dboid, FullTransactionId horizon)
{
	ZUndoDb    *db;

	LWLockAcquire(&locks[LOCK_MAP].lock, LW_EXCLUSIVE);
	db = find_or_make_db(dboid);
	if (db != NULL)
	{
		zundo_horizon_raise(&db->horizon, horizon);
		zundo_horizon_raise(&db->logged_horizon, horizon);
	}
	LWLockRelease(&locks[LOCK_MAP].lock);
}

/* The truncate lock waits for readers that have not pinned their page yet. */
void
zundo_redo_nblocks_set(Oid dboid, BlockNumber nblocks)
{
	ZUndoDb    *db;

	LWLockAcquire(&locks[LOCK_MAP].lock, LW_SHARED);
	db = find_db(dboid);
	if (db != NULL && pg_atomic_read_u32(&db->nblocks) > nblocks)
	{
		LWLockAcquire(zundo_truncate_lock(db), LW_EXCLUSIVE);
		pg_atomic_write_u32(&db->nblocks, nblocks);
		LWLockRelease(zundo_truncate_lock(db));
	}
	else if (db != NULL)
		pg_atomic_write_u32(&db->nblocks, nblocks);
	LWLockRelease(&locks[LOCK_MAP].lock);
}

void
zundo_forget_database(Oid dboid)
{
	ZUndoDb    *db;

	LWLockAcquire(&locks[LOCK_MAP].lock, LW_EXCLUSIVE);
	db = find_db(dboid);
	if (db != NULL && db->attached == 0)
		drop_database(db);
	LWLockRelease(&locks[LOCK_MAP].lock);
}

/* ---- sizes ---- */

/* The first extent of each group holds the map, no undo. */
uint32
zundo_extents_in(BlockNumber nblocks)
{
	uint32		all = nblocks / ZUNDO_EXTENT_BLOCKS;

	return all - (all + ZUNDO_GROUP_EXTENTS - 1) / ZUNDO_GROUP_EXTENTS;
}

uint32
zundo_extents_used(ZUndoDb *db)
{
	return zundo_extents_in(pg_atomic_read_u32(&db->nblocks)) - db->free_extents;
}
