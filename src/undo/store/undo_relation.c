/*
 * undo_relation.c
 *		The undo relation of this database: find it, open it, lock its pages.
 *
 * A transaction that has opened it uses it to its end: its file is not exchanged meanwhile
 * (VACUUM FULL, SET TABLESPACE), so that positions in it stay good.  As a rule the transaction
 * takes no lock for that (undo_use.c).  If it does, the lock belongs to the top transaction: it
 * survives a rolled back subtransaction that came first.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "zheap/base/catalog.h"
#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_relation.h"

#include "store_private.h"
#include "undo_state.h"

#define UNDO_AM_NAME		"zheap_undo"
#define UNDO_SCHEMA_NAME	"zheap"
#define UNDO_RELATION_NAME	"undo"

static Oid	cached_relid = InvalidOid;

/* ---- finding ---- */

static void
forget_relid(Oid relid)
{
	if (relid == InvalidOid || relid == cached_relid)
		cached_relid = InvalidOid;
	if (relid == InvalidOid || (MyUndo.db != NULL && relid == MyUndo.db->relid))
		MyUndo.rel = NULL;
}

static Oid
find_by_name(Oid am)
{
	Oid			schema = get_namespace_oid(UNDO_SCHEMA_NAME, true);
	Oid			relid;

	if (!OidIsValid(schema))
		return InvalidOid;
	relid = get_relname_relid(UNDO_RELATION_NAME, schema);
	return OidIsValid(relid) && zheap_relation_am(relid) == am ? relid : InvalidOid;
}

static bool
take_relation(HeapTuple tuple, TupleDesc desc, void *arg)
{
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

	/* not the copy that VACUUM FULL makes */
	if (form->relkind == RELKIND_RELATION && !OidIsValid(form->relrewrite))
		*(Oid *) arg = form->oid;
	return true;
}

/* Search pg_class, after the relation or its schema was renamed. */
static Oid
find_by_am(Oid am)
{
	Oid			relid = InvalidOid;
	ScanKeyData key;

	ScanKeyInit(&key, Anum_pg_class_relam, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(am));
	zheap_class_scan(InvalidOid, NULL, &key, 1, take_relation, &relid);
	return relid;
}

/*
 * Return the relation's OID, or invalid if there is none.  Only a relation that was found is
 * cached.
 */
static Oid
find(void)
{
	static bool registered = false;
	Oid			am;

	Assert(zheap_may_wait());	/* L2 */
	if (OidIsValid(cached_relid))
		return cached_relid;
	if (!registered)
	{
		zheap_watch_relations(forget_relid);
		registered = true;
	}
	am = get_table_am_oid(UNDO_AM_NAME, true);
	if (!OidIsValid(am))
		return InvalidOid;
	cached_relid = find_by_name(am);
	if (!OidIsValid(cached_relid))
		cached_relid = find_by_am(am);
	return cached_relid;
}

bool
zundo_exists(void)
{
	return OidIsValid(find());
}

Oid
zundo_relation_oid(void)
{
	Oid			relid = find();

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("this database has no undo relation"),
				 errhint("Create the extension with CREATE EXTENSION zheap.")));
	return relid;
}

/* ---- opening ---- */

/* Find and lock the relation, until the end of the transaction, and attach to the database. */
static void
use_locked(void)
{
	LOCKMODE	mode = RecoveryInProgress() || IsParallelWorker() ?
	AccessShareLock : RowExclusiveLock;
	ResourceOwner owner = CurrentResourceOwner;
	Relation	rel = NULL;
	Oid			relid = InvalidOid;

	/* on error the (sub)transaction's abort restores the resource owner */
	CurrentResourceOwner = TopTransactionResourceOwner;
	while (rel == NULL)
	{
		relid = zundo_relation_oid();
		rel = try_relation_open(relid, mode);
		/* dropped while we waited for the lock: there may be a new one */
		if (rel == NULL)
			cached_relid = InvalidOid;
	}
	relation_close(rel, NoLock);
	CurrentResourceOwner = owner;
	/* a standby's backend comes here unattached, and may fail to attach */
	zundo_db_attach(relid);
	MyUndo.locked = true;
	if (mode == RowExclusiveLock)
		zundo_use_locked(relid);
}

/*
 * Note that we use the relation, without a lock.  Returns false if it is not the one that other
 * backends use, or if a mover is about.
 */
static bool
use_unlocked(void)
{
	if (RecoveryInProgress() || !zundo_db_is_of(zundo_relation_oid()) || !zundo_use_begin())
		return false;
	MyUndo.within = true;
	/* the last mover has sent its messages before "moving" was reset */
	AcceptInvalidationMessages();
	if (likely(zundo_db_is_of(zundo_relation_oid())))
	{
		zundo_db_attach(MyUndo.db->relid);
		return true;
	}
	zundo_close();
	return false;
}

/*
 * Begin to use the relation.  Starts from scratch if an error came halfway through an earlier
 * call, and the transaction went on after a savepoint.
 */
static void
use(void)
{
	zheap_require_preload();
	if (zundo_is_used())
		zundo_close();
	if (!use_unlocked())
		use_locked();
	(void) zundo_relation();
	if (pg_atomic_read_u64(&MyUndo.db->horizon) == 0 ||
		pg_atomic_read_u64(&MyUndo.db->logged_horizon) == 0 ||
		pg_atomic_read_u32(&MyUndo.db->nblocks) == 0)
		zundo_learn_meta();
	MyUndo.known = true;
}

/*
 * Use the relation that exists now: the one used before was made in this transaction, by a
 * subtransaction that was rolled back.  ERROR if undo was written there.
 */
static void
use_another(void)
{
	if (MyUndo.entered)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the undo relation that this transaction has written to is gone"),
				 errhint("Roll the transaction back.")));
	zundo_close();
	use();
}

void
zundo_open(void)
{
	Assert(zheap_may_wait());	/* L2 */
	if (unlikely(!MyUndo.known))
		use();
	if (unlikely(MyUndo.rel == NULL))
	{
		if (unlikely(zundo_relation_oid() != MyUndo.db->relid))
			use_another();
		(void) zundo_relation();
	}
}

/*
 * Copy what is needed to read and write pages of the relation without its entry in the relation
 * cache.  It is the kind of entry that the server has for recovery.
 */
static void
copy_entry(Relation rel)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	if (MyUndo.copy != NULL)
		FreeFakeRelcacheEntry(MyUndo.copy);
	MyUndo.copy = NULL;
	MyUndo.copy = CreateFakeRelcacheEntry(rel->rd_locator);
	MemoryContextSwitchTo(old);
	memcpy(MyUndo.copy->rd_rel, rel->rd_rel, CLASS_TUPLE_SIZE);
	MyUndo.copy->rd_id = RelationGetRelid(rel);
	MyUndo.copy->rd_lockInfo = rel->rd_lockInfo;
	MyUndo.copy->rd_tableam = rel->rd_tableam;	/* static data of this library */
	MyUndo.copy->rd_createSubid = rel->rd_createSubid;
	MyUndo.copy->rd_firstRelfilelocatorSubid = rel->rd_firstRelfilelocatorSubid;
}

/*
 * Look the entry up.  It does not stay open: the relation cache keeps an entry that is not open
 * until an invalidation message comes, and then calls forget_relid(); if that fails in between,
 * the abort calls it.
 */
static void
find_entry(void)
{
	Relation	rel = RelationIdGetRelation(MyUndo.db->relid);

	if (rel == NULL)
		elog(ERROR, "could not open undo relation with OID %u", MyUndo.db->relid);
	/* as relation_open() does */
	pgstat_init_relation(rel);
	copy_entry(rel);
	MyUndo.rel = rel;
	RelationClose(rel);
}

/*
 * While a page is locked, which holds interrupts off, the catalog must not be read (L2).  The
 * copy serves as well: the file is not moved while it is used (U7), and a transaction that has
 * moved it itself has called zundo_open() since, before the page was locked.  Accesses by the
 * copy are not counted in the statistics.
 */
Relation
zundo_relation(void)
{
	Assert(MyUndo.locked || zundo_use_is_noted());	/* U7 */
	if (unlikely(MyUndo.rel == NULL))
	{
		if (InterruptHoldoffCount > 0 || CritSectionCount > 0)
		{
			if (MyUndo.copy == NULL || RelationGetRelid(MyUndo.copy) != MyUndo.db->relid)
				elog(ERROR, "undo relation was not opened before a page was locked");
			return MyUndo.copy;
		}
		find_entry();
	}
	return MyUndo.rel;
}

void
zundo_close(void)
{
	if (MyUndo.within)
		zundo_use_end();
	MyUndo.within = MyUndo.locked = MyUndo.known = false;
}

bool
zundo_is_used(void)
{
	return MyUndo.within || MyUndo.locked;
}

bool
zundo_is_open(void)
{
	return MyUndo.known && MyUndo.rel != NULL;
}

bool
zundo_relation_is_new(void)
{
	return zundo_relation()->rd_createSubid != InvalidSubTransactionId;
}

/*
 * If this transaction has moved the relation and fails, the new file is removed, and with it
 * the undo that was written there, while pages of tables point to it.  Reading does no harm:
 * both files are the same.  (If the transaction has made the relation, too, those pages are
 * removed as well; but with wal_level = minimal the server does not log what it moves, while
 * undo is logged.)
 */
void
zundo_refuse_moved(void)
{
	Relation	rel = zundo_relation();

	if (rel->rd_firstRelfilelocatorSubid == InvalidSubTransactionId ||
		(rel->rd_createSubid != InvalidSubTransactionId && XLogIsNeeded()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot change zheap tables in the transaction that has moved the undo relation"),
			 errhint("Commit first.")));
}

/*
 * zundo_reset() has moved the horizon beyond the xid of the transaction that called it, which
 * would be taken for one that is committed and visible to all (H1).
 */
void
zundo_refuse_given_up(void)
{
	FullTransactionId fxid = GetTopFullTransactionIdIfAny();

	if (FullTransactionIdIsValid(fxid) &&
		FullTransactionIdPrecedes(fxid, zundo_db_horizon(MyUndo.db)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change zheap tables in the transaction that has given up undo")));
}

/* ALTER TABLE ALL IN TABLESPACE moves the relation even if we have written undo before. */
void
zundo_moved(void)
{
	MyUndo.ready = false;
}

/* ---- pages ---- */

void
zundo_report_page(Page page, BlockNumber block, uint16 magic)
{
	if (zundo_special(page)->magic != magic)
		zheap_corrupt(zundo_relation(), block, InvalidOffsetNumber,
					  "page has magic number 0x%04X instead of 0x%04X",
					  zundo_special(page)->magic, magic);
	zheap_corrupt(zundo_relation(), block, InvalidOffsetNumber,
				  "the page does not agree with its check 0x%08X",
				  ((PageHeader) page)->pd_prune_xid);
}

Buffer
zundo_page_lock(BlockNumber block, int mode, uint16 magic)
{
	Relation	rel = zundo_relation();
	Buffer		buffer;
	Page		page;

	if (block >= RelationGetNumberOfBlocks(rel))
		zheap_corrupt(rel, block, InvalidOffsetNumber,
					  "undo relation has no such block");
	buffer = ReadBuffer(rel, block);
	page = BufferGetPage(buffer);
	LockBuffer(buffer, mode);
	if (magic != 0 && !zundo_page_is_sound(page, block, magic))
		zundo_report_page(page, block, magic);
	if (magic != 0 && mode == BUFFER_LOCK_EXCLUSIVE && !zundo_page_lsn_is_sound(page))
		zheap_corrupt(rel, block, InvalidOffsetNumber,
					  "the page's LSN %X/%X is beyond the end of WAL",
					  LSN_FORMAT_ARGS(PageGetLSN(page)));
	return buffer;
}

/*
 * A page that fails the server's verification is a page of zeros in the buffer pool from then
 * on.  It is not written out, and is not sound.
 */
bool
zundo_page_copy(BlockNumber block, uint16 magic, Page copy)
{
	Relation	rel = zundo_relation();
	Buffer		buffer;

	if (block >= RelationGetNumberOfBlocks(rel))
	{
		memset(copy, 0, BLCKSZ);
		return false;
	}
	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_ON_ERROR, NULL);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return zundo_page_is_sound(copy, block, magic);
}

bool
zundo_is_unreadable(BlockNumber block)
{
	PGIOAlignedBlock bytes;

	smgrread(RelationGetSmgr(zundo_relation()), MAIN_FORKNUM, block, bytes.data);
	return !PageIsVerified((Page) bytes.data, block, 0, NULL);
}

Buffer
zundo_page_lock_new(BlockNumber block)
{
	Relation	rel = zundo_relation();

	if (block >= RelationGetNumberOfBlocks(rel))
		zheap_corrupt(rel, block, InvalidOffsetNumber, "undo relation has no such block");
	return ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
}

/*
 * A page of another version has another check, too, so only its magic and version numbers are
 * compared.
 */
bool
zundo_meta_try(ZUndoMeta *meta)
{
	PGAlignedBlock copy;
	bool		sound = zundo_page_copy(ZUNDO_META_BLOCK, ZUNDO_METAPAGE_MAGIC, copy.data);

	*meta = *zundo_meta(copy.data);
	if (sound && meta->magic == ZUNDO_META_MAGIC && meta->version == ZUNDO_META_VERSION)
		return true;
	if (meta->magic == ZUNDO_META_MAGIC &&
		meta->version > 0 && meta->version < ZUNDO_META_VERSION &&
		((PageHeader) copy.data)->pd_prune_xid == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("undo relation has version %u, this library reads version %u",
						meta->version, ZUNDO_META_VERSION)));
	return false;
}

void
zundo_meta_read(ZUndoMeta *meta)
{
	PGAlignedBlock copy;

	if (zundo_meta_try(meta))
		return;
	(void) zundo_page_copy(ZUNDO_META_BLOCK, 0, copy.data);
	zundo_report_page(copy.data, ZUNDO_META_BLOCK, ZUNDO_METAPAGE_MAGIC);
}

/*
 * Set what readers need without the meta page.  An older horizon does no harm: the commit log
 * is asked about xids above it, and has them from relfrozenxid on.  Writers need the meta page
 * itself and fail.
 */
void
zundo_meta_guess(ZUndoMeta *meta)
{
	Relation	rel = zundo_relation();
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("meta page of undo relation \"%s\" is damaged", RelationGetRelationName(rel)),
			 errdetail("The zheap tables of this database can be read, but not written to."),
			 errhint("Call zheap.zheap_undo_skip(true) to rebuild the undo relation.")));
	memset(meta, 0, sizeof(*meta));
	meta->horizon = zfxid_from_xid(rel->rd_rel->relfrozenxid);
	meta->nblocks = meta->high_water = nblocks - nblocks % ZUNDO_EXTENT_BLOCKS;
}

/*
 * ERROR if the counter of transactions has been set back, by pg_resetwal: new transactions
 * would be taken for ones that are committed and visible to all, even if they abort (H1).
 */
static void
check_counter(FullTransactionId horizon)
{
	FullTransactionId next = ReadNextFullTransactionId();

	if (FullTransactionIdPrecedesOrEquals(horizon, next))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("undo of this database is of transactions that have not begun yet"),
			 errdetail("The next transaction is %u of epoch %u, and the undo horizon is at %u of epoch %u.",
					   XidFromFullTransactionId(next), EpochFromFullTransactionId(next),
					   XidFromFullTransactionId(horizon), EpochFromFullTransactionId(horizon)),
			 errhint("Stop the server and set epoch and next transaction by pg_resetwal, options -e and -x.")));
}

/*
 * Set the end under the truncate lock, so that an end from before a truncation is not set after
 * it.  A backend that extends the relation sets the end without that lock, so only a zero may
 * be replaced.
 */
void
zundo_learn_meta(void)
{
	ZUndoDb    *db = MyUndo.db;
	uint32		unknown = 0;
	ZUndoMeta	meta;

	LWLockAcquire(zundo_truncate_lock(db), LW_SHARED);
	if (unlikely(!zundo_meta_try(&meta)))
		zundo_meta_guess(&meta);
	else if (!RecoveryInProgress())
		check_counter(meta.horizon);
	zundo_horizon_raise(&db->horizon, meta.horizon);
	zundo_horizon_raise(&db->logged_horizon, meta.horizon);
	(void) pg_atomic_compare_exchange_u32(&db->nblocks, &unknown, meta.nblocks);
	LWLockRelease(zundo_truncate_lock(db));
}

bool
zundo_block_exists(BlockNumber block)
{
	ZUndoMeta	meta;

	Assert(LWLockHeldByMe(zundo_truncate_lock(MyUndo.db)));
	if (likely(block < pg_atomic_read_u32(&MyUndo.db->nblocks)))
		return true;
	if (!zundo_meta_try(&meta))
		zundo_meta_guess(&meta);
	if (block >= meta.high_water)
		zheap_corrupt(zundo_relation(), block, InvalidOffsetNumber,
					  "undo pointer to a block that does not exist");
	return block < meta.nblocks;
}

void
zundo_refresh_file(void)
{
	if (MyUndo.truncations != MyUndo.db->truncations)
		smgrclose(RelationGetSmgr(zundo_relation()));
	MyUndo.truncations = MyUndo.db->truncations;
}

/*
 * The relation extension lock is not taken: callers hold the database's lock exclusively, and
 * other backends neither extend nor truncate the relation (L1).
 */
void
zundo_extend_to(BlockNumber nblocks)
{
	Relation	rel = zundo_relation();
	BlockNumber have;

	Assert(LWLockHeldByMeInMode(zundo_db_lock(MyUndo.db), LW_EXCLUSIVE));
	zundo_refresh_file();
	have = RelationGetNumberOfBlocks(rel);
	for (; have < nblocks; have++)
	{
		Buffer		buffer = ReadBuffer(rel, P_NEW);

		Assert(BufferGetBlockNumber(buffer) == have);
		ReleaseBuffer(buffer);
	}
}
