/*
 * am_undo.c
 *		Table access method of the undo relation.
 *
 * The undo relation has only storage in common with a table.  Commands that work on storage are
 * served (VACUUM, VACUUM FULL, SET TABLESPACE, ANALYZE); commands that write rows, or would lose
 * pages, are refused.  A scan finds no rows, so that commands for all tables (a publication's
 * initial copy) need no exception for this one.
 *
 * LOCKING: the command has locked the relation.  Where its file is replaced that is
 * AccessExclusiveLock, and zundo_wait_for_users() waits for transactions that use the relation
 * without a lock.
 */
#include "postgres.h"

#include "access/multixact.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/storage.h"
#include "commands/extension.h"
#include "commands/vacuum.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "zheap/base/pg_compat_am.h"
#include "zheap/base/pg_compat_vacuum.h"
#include "zheap/base/catalog.h"
#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_space.h"

void		(*zundo_vacuum_hook) (void) = NULL;

/* Raise ERROR (feature_not_supported).  "message" is marked for translation. */
static void
refuse(const char *message)
{
	zheap_require_preload();
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg_internal("%s", _(message))));
}

/*
 * ---- scans: there are no rows ----
 *
 * Commands that rewrite the relation scan it, too: ALTER TABLE would put an empty file in its
 * place.  They are recognized by a lock that readers do not take.
 */

static const TupleTableSlotOps *
undo_slot_callbacks(Relation rel)
{
	return &TTSOpsVirtual;
}

static TableScanDesc
scan_begin(Relation rel, Snapshot snapshot, int nkeys, struct ScanKeyData *key,
		   ParallelTableScanDesc parallel, uint32 flags)
{
	TableScanDesc scan;

	if ((flags & SO_TYPE_ANALYZE) == 0 &&
		CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true))
		refuse(gettext_noop("cannot scan the undo relation of zheap for a command that changes it"));
	scan = palloc0(sizeof(TableScanDescData));
	scan->rs_rd = rel;
	scan->rs_parallel = parallel;
	scan->rs_snapshot = snapshot;
	scan->rs_flags = flags;
	RelationIncrementReferenceCount(rel);
	return scan;
}

static void
scan_end(TableScanDesc scan)
{
	RelationDecrementReferenceCount(scan->rs_rd);
	if (scan->rs_flags & SO_TEMP_SNAPSHOT)
		UnregisterSnapshot(scan->rs_snapshot);
	pfree(scan);
}

static void
scan_rescan(TableScanDesc scan, struct ScanKeyData *key, bool set_params,
			bool allow_strat, bool allow_sync, bool allow_pagemode)
{
}

static bool
scan_getnextslot(TableScanDesc scan, ScanDirection direction, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	return false;
}

static void
scan_set_tidrange(TableScanDesc scan, ItemPointer mintid, ItemPointer maxtid)
{
}

pg_attribute_unused() static bool
scan_bitmap_page(TableScanDesc scan, BlockNumber block, const OffsetNumber *offsets, int noffsets,
				 bool *recheck)
{
	return false;
}

pg_attribute_unused() static bool
scan_bitmap_row(TableScanDesc scan, TupleTableSlot *slot)
{
	return false;
}

pg_attribute_unused() static bool
scan_bitmap_next_tuple(TableScanDesc scan, TupleTableSlot *slot, bool *recheck, uint64 *lossy,
					   uint64 *exact)
{
	return false;
}

static bool
scan_sample_next_block(TableScanDesc scan, struct SampleScanState *state)
{
	return false;
}

static bool
scan_sample_next_tuple(TableScanDesc scan, struct SampleScanState *state,
					   TupleTableSlot *slot)
{
	return false;
}

static bool
scan_analyze_next_block(TableScanDesc scan, ReadStream *stream)
{
	return false;
}

static bool
scan_analyze_next_tuple(TableScanDesc scan, double *liverows, double *deadrows,
						TupleTableSlot *slot)
{
	return false;
}

/* ---- indexes ---- */

static struct IndexFetchTableData *
index_fetch_begin(Relation rel, uint32 flags)
{
	refuse(gettext_noop("cannot use an index of the undo relation of zheap"));
	return NULL;
}

static void
index_fetch_reset(struct IndexFetchTableData *fetch)
{
}

static void
index_fetch_end(struct IndexFetchTableData *fetch)
{
}

static bool
index_fetch_tuple(struct IndexFetchTableData *fetch, ItemPointer tid,
				  Snapshot snapshot, TupleTableSlot *slot,
				  bool *call_again, bool *all_dead)
{
	return false;
}

static TransactionId
index_delete_tuples(Relation rel, TM_IndexDeleteOp *delstate)
{
	refuse(gettext_noop("cannot use an index of the undo relation of zheap"));
	return InvalidTransactionId;
}

static double
index_build_range_scan(Relation rel, Relation index,	/* tidy: server's */
					   struct IndexInfo *info, bool allow_sync,
					   bool anyvisible, bool progress,
					   BlockNumber start, BlockNumber nblocks,
					   IndexBuildCallback callback, void *state,
					   TableScanDesc scan)
{
	refuse(gettext_noop("cannot create an index on the undo relation of zheap"));
	return 0;
}

static void
index_validate_scan(Relation rel, Relation index, struct IndexInfo *info,
					Snapshot snapshot, struct ValidateIndexState *state)
{
	refuse(gettext_noop("cannot create an index on the undo relation of zheap"));
}

/* ---- single rows ---- */

static bool
tuple_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
						TupleTableSlot *slot)
{
	return false;
}

static bool
tuple_tid_valid(TableScanDesc scan, ItemPointer tid)
{
	return false;
}

static void
tuple_get_latest_tid(TableScanDesc scan, ItemPointer tid)
{
}

static bool
tuple_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
	return false;
}

static void
tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
			 ZCompatOptions options, struct BulkInsertStateData *bistate)
{
	refuse(gettext_noop("cannot insert into the undo relation of zheap"));
}

static void
tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
						 ZCompatOptions options, struct BulkInsertStateData *bistate,
						 uint32 token)
{
	refuse(gettext_noop("cannot insert into the undo relation of zheap"));
}

static void
tuple_complete_speculative(Relation rel, TupleTableSlot *slot, uint32 token,
						   bool succeeded)
{
	refuse(gettext_noop("cannot insert into the undo relation of zheap"));
}

static void
multi_insert(Relation rel, TupleTableSlot **slots, int nslots, CommandId cid,
			 ZCompatOptions options, struct BulkInsertStateData *bistate)
{
	refuse(gettext_noop("cannot insert into the undo relation of zheap"));
}

static TM_Result
tuple_delete(Relation rel, ItemPointer tid, CommandId cid,	/* tidy: server's */
			 uint32 options, Snapshot snapshot, Snapshot crosscheck, bool wait,
			 TM_FailureData *tmfd)
{
	refuse(gettext_noop("cannot delete from the undo relation of zheap"));
	return TM_Invisible;
}

static TM_Result
tuple_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,	/* tidy: server's */
			 CommandId cid, uint32 options, Snapshot snapshot, Snapshot crosscheck, bool wait,
			 TM_FailureData *tmfd, LockTupleMode *lockmode, TU_UpdateIndexes *update_indexes)
{
	refuse(gettext_noop("cannot update the undo relation of zheap"));
	return TM_Invisible;
}

static TM_Result
tuple_lock(Relation rel, ItemPointer tid, Snapshot snapshot,	/* tidy: server's */
		   TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
		   LockWaitPolicy policy, uint8 flags, TM_FailureData *tmfd)
{
	refuse(gettext_noop("cannot lock rows of the undo relation of zheap"));
	return TM_Invisible;
}

/* ---- storage ---- */

/* Return whether "rel" is the transient copy of the undo relation that VACUUM FULL is to fill. */
static bool
is_transient_copy(Relation rel)
{
	Oid			original;

	/* pg_class.relrewrite is not filled in yet */
	return sscanf(RelationGetRelationName(rel), "pg_temp_%u", &original) == 1 &&
		CheckRelationOidLockedByMe(original, AccessExclusiveLock, false) &&
		zheap_relation_am(original) == rel->rd_rel->relam;
}

/*
 * Raise ERROR (insufficient_privilege) if the extension's schema is not owned by a superuser.  The
 * owner could drop the schema, and with it the extension and the tables of all owners.  A schema
 * that CREATE EXTENSION creates is the superuser's.
 */
static void
check_schema_owner(Oid schema)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	char	   *name;
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for schema %u", schema);
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	name = pstrdup(NameStr(((Form_pg_namespace) GETSTRUCT(tuple))->nspname));
	ReleaseSysCache(tuple);
	if (superuser_arg(owner))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("cannot create extension \"zheap\" in schema \"%s\", which is owned by role \"%s\"",
					name, GetUserNameFromId(owner, false)),
			 errdetail("The owner could drop the schema, and all zheap tables of this database with it."),
			 errhint("Drop the schema, or make a superuser its owner.")));
}

/*
 * Return whether the relation may be created: by the extension's script, by pg_upgrade, or as the
 * transient copy of VACUUM FULL.
 */
static bool
may_be_created(Relation rel)
{
	char	   *extension;

	if (IsBinaryUpgrade)
		return true;
	if (!creating_extension)
		return is_transient_copy(rel);
	extension = get_extension_name(CurrentExtensionObject);
	if (extension == NULL || strcmp(extension, "zheap") != 0)
		return false;
	check_schema_owner(RelationGetNamespace(rel));
	return true;
}

/*
 * Create the file of the undo relation, with its meta page.  ERROR (feature_not_supported) for
 * TRUNCATE, SET UNLOGGED and other relations than may_be_created() allows.
 */
static void
relation_set_new_file(Relation rel, const RelFileLocator *locator,
					  char persistence, TransactionId *freeze_xid,
					  MultiXactId *min_multi)
{
	SMgrRelation srel;

	zheap_require_preload();
	if (persistence != RELPERSISTENCE_PERMANENT)
		refuse(gettext_noop("cannot change the persistence of the undo relation of zheap"));
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(RelationGetRelid(rel))))
		refuse(gettext_noop("cannot truncate the undo relation of zheap"));
	if (!may_be_created(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"zheap_undo\" is only for the undo relation of zheap")));

	/* relfrozenxid keeps the commit log from the start on (relation_vacuum) */
	*freeze_xid = RecentXmin;
	*min_multi = GetOldestMultiXactId();

	srel = RelationCreateStorage(*locator, persistence, true);
	smgrclose(srel);
	zundo_storage_create(*locator);
}

static void
relation_nontransactional_truncate(Relation rel)
{
	refuse(gettext_noop("cannot truncate the undo relation of zheap"));
}

/* SET TABLESPACE: copy all blocks (A2).  AccessExclusiveLock is held. */
static void
relation_copy_data(Relation rel, const RelFileLocator *locator)
{
	SMgrRelation target = smgropen(*locator, rel->rd_backend);

	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));
	zundo_wait_for_users(RelationGetRelid(rel));
	/* the copy reads the file, past the buffers, which no process changes meanwhile */
	FlushRelationBuffers(rel);
	RelationCreateStorage(*locator, rel->rd_rel->relpersistence, true);
	RelationCopyStorage(RelationGetSmgr(rel), target, MAIN_FORKNUM,
						rel->rd_rel->relpersistence);
	/* A2 */
	Assert(smgrnblocks(target, MAIN_FORKNUM) == RelationGetNumberOfBlocks(rel));
	RelationDropStorage(rel);
	smgrclose(target);
	zundo_moved();
}

/*
 * VACUUM FULL: copy each block to where it was, as undo pointers name blocks (A2).
 * AccessExclusiveLock is held.
 */
static void
relation_copy_for_cluster(Relation from, Relation to, Relation index,	/* tidy: server's */
						  bool use_sort, TransactionId oldest_xmin, Snapshot snapshot,
						  TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
						  double *num_tuples, double *tups_vacuumed,
						  double *tups_recently_dead)
{
	zheap_require_preload();
	Assert(from->rd_tableam == to->rd_tableam);
	Assert(CheckRelationLockedByMe(from, AccessExclusiveLock, false));
	zundo_wait_for_users(RelationGetRelid(from));
	zundo_storage_copy(from, to);
	Assert(RelationGetNumberOfBlocks(to) == RelationGetNumberOfBlocks(from));	/* A2 */
	*xid_cutoff = from->rd_rel->relfrozenxid;
	*multi_cutoff = from->rd_rel->relminmxid;
	*num_tuples = *tups_vacuumed = *tups_recently_dead = 0;
}

/*
 * VACUUM: advance and log the horizon, discard, truncate, and set relfrozenxid to the horizon.
 *
 * relfrozenxid of the undo relation stands for all zheap tables (H3): the server keeps the commit
 * log from there on, and zheap never looks up an xid below the horizon.  The horizon goes to WAL
 * first: after a crash it must not be older.
 */
static void
relation_vacuum(Relation rel, ZCompatVacuumParams *params,
				BufferAccessStrategy strategy)
{
	TimestampTz began = GetCurrentTimestamp();
	BlockNumber nblocks;

	zheap_require_preload();
	if (zundo_vacuum_hook)
		zundo_vacuum_hook();
	zundo_horizon_advance();
	/* before the steps that may meet damaged pages */
	zundo_horizon_log();
	zundo_drop_lost();
	zundo_discard(PG_UINT32_MAX);
	if (params->truncate != VACOPTVALUE_DISABLED)
		(void) zundo_truncate(true);
	zundo_hold_warn();

	Assert(FullTransactionIdPrecedesOrEquals(zundo_logged_horizon(), zundo_horizon()));
	nblocks = RelationGetNumberOfBlocks(rel);
	vac_update_relstats(rel, nblocks, 0, 0, 0, false,
						zfxid_xid(zundo_logged_horizon()), GetOldestMultiXactId(),
						NULL, NULL, false);
	pgstat_report_vacuum(rel, 0, 0, began);
	/* last: it reads pages that may not be needed, and may fail on a damaged disk */
	zundo_dir_check();
}

static bool
relation_needs_toast_table(Relation rel)
{
	return false;
}

static void
relation_estimate_size(Relation rel, int32 *attr_widths, BlockNumber *pages,
					   double *tuples, double *allvisfrac)
{
	*pages = RelationGetNumberOfBlocks(rel);
	*tuples = 0;
	*allvisfrac = 0;
}

ZCOMPAT_INDEX_FETCH_BEGIN(index_fetch_begin)
ZCOMPAT_DELETE(tuple_delete)
ZCOMPAT_UPDATE(tuple_update)
ZCOMPAT_COPY_FOR_CLUSTER(relation_copy_for_cluster)
ZCOMPAT_ANALYZE_BLOCK(scan_analyze_next_block)
ZCOMPAT_ANALYZE_TUPLE(scan_analyze_next_tuple)
ZCOMPAT_BITMAP(scan_bitmap_page, scan_bitmap_row, scan_bitmap_next_tuple)

static const TableAmRoutine undo_routine = {
	.type = T_TableAmRoutine,

	.slot_callbacks = undo_slot_callbacks,

	.scan_begin = scan_begin,
	.scan_end = scan_end,
	.scan_rescan = scan_rescan,
	.scan_getnextslot = scan_getnextslot,
	.scan_set_tidrange = scan_set_tidrange,
	.scan_getnextslot_tidrange = scan_getnextslot,

	.parallelscan_estimate = table_block_parallelscan_estimate,
	.parallelscan_initialize = table_block_parallelscan_initialize,
	.parallelscan_reinitialize = table_block_parallelscan_reinitialize,

	.index_fetch_begin = zcompat_index_fetch_begin(index_fetch_begin),
	.index_fetch_reset = index_fetch_reset,
	.index_fetch_end = index_fetch_end,
	.index_fetch_tuple = index_fetch_tuple,

	.tuple_fetch_row_version = tuple_fetch_row_version,
	.tuple_tid_valid = tuple_tid_valid,
	.tuple_get_latest_tid = tuple_get_latest_tid,
	.tuple_satisfies_snapshot = tuple_satisfies_snapshot,
	.index_delete_tuples = index_delete_tuples,

	.tuple_insert = tuple_insert,
	.tuple_insert_speculative = tuple_insert_speculative,
	.tuple_complete_speculative = tuple_complete_speculative,
	.multi_insert = multi_insert,
	.tuple_delete = zcompat_delete(tuple_delete),
	.tuple_update = zcompat_update(tuple_update),
	.tuple_lock = tuple_lock,

	.relation_set_new_filelocator = relation_set_new_file,
	.relation_nontransactional_truncate = relation_nontransactional_truncate,
	.relation_copy_data = relation_copy_data,
	.relation_copy_for_cluster = zcompat_copy_for_cluster(relation_copy_for_cluster),
	.relation_vacuum = relation_vacuum,
	.scan_analyze_next_block = zcompat_analyze_block(scan_analyze_next_block),
	.scan_analyze_next_tuple = zcompat_analyze_tuple(scan_analyze_next_tuple),
	.index_build_range_scan = index_build_range_scan,
	.index_validate_scan = index_validate_scan,

	.relation_size = table_block_relation_size,
	.relation_needs_toast_table = relation_needs_toast_table,
	.relation_estimate_size = relation_estimate_size,

	zcompat_bitmap(scan_bitmap_page, scan_bitmap_row, scan_bitmap_next_tuple),
	.scan_sample_next_block = scan_sample_next_block,
	.scan_sample_next_tuple = scan_sample_next_tuple,
};

const TableAmRoutine *
zundo_am_routine(void)
{
	return &undo_routine;
}
