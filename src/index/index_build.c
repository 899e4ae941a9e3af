/*
 * index_build.c
 *		Feed every row that a new index must have to the index's access method.
 *
 * A row has one TID for all its versions, so a build makes one entry per row, from its newest
 * version.  Versions before it have no entry of their own.  If one that some snapshot may still
 * see has another key, that snapshot must not use the index, and the build sets ii_BrokenHotChain
 * (heap's name for it).
 *
 * LOCKING: pages are copied one by one; none is locked while the index's code or users'
 * expressions run.
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/target.h"
#include "zheap/index/index.h"
#include "zheap/mvcc/state.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/scan/scan.h"
#include "zheap/undo/undo_horizon.h"

#include "index_keys.h"
#include "index_rebuilt.h"

typedef struct IndexBuild
{
	Relation	table;
	Relation	index;
	IndexInfo  *info;
	bool		anyvisible;		/* count rows of running transactions as live */
	bool		unique;			/* the build looks for duplicates */
	bool		several_keys;	/* REINDEX of an index that may have had several entries of a
								 * row */
	bool		summarizes;		/* BRIN: rows may be changed in place, without entries of their
								 * own */
	TransactionId ignored;		/* versions replaced by transactions older than this need no
								 * entry; or invalid */
	bool		progress;
	IndexBuildCallback callback;
	void	   *callback_state;

	ZScan	   *scan;
	Snapshot	snapshot;
	bool		own_snapshot;	/* to be unregistered at the end */
	EState	   *estate;
	ExprContext *econtext;
	ExprState  *predicate;
	TupleTableSlot *slot;		/* the version to index */
	TupleTableSlot *older;		/* a version before it */
	KeyTypes	types;
	bool		hash;			/* a hash index: keys are compared by their hash codes */
	Bitmapset  *columns;		/* columns of keys, expressions and predicate; NULL: all */

	double		reltuples;
} IndexBuild;

/*
 * Collect the columns of keys, expressions and predicate; all, if one of these refers to the whole
 * row.
 */
static void
key_columns_init(IndexBuild *build)
{
	const int	whole_row = 0 - FirstLowInvalidHeapAttributeNumber;

	for (int i = 0; i < build->info->ii_NumIndexAttrs; i++)
	{
		AttrNumber	attno = build->info->ii_IndexAttrNumbers[i];

		if (attno != 0)
			build->columns = bms_add_member(build->columns,
											attno - FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos((Node *) build->info->ii_Expressions, 1, &build->columns);
	pull_varattnos((Node *) build->info->ii_Predicate, 1, &build->columns);
	if (bms_is_member(whole_row, build->columns))
		build->columns = NULL;
}

/* Form the key of the version in "slot", which is one of the build's two. */
static void
key_form(IndexBuild *build, TupleTableSlot *slot, IndexKey *key)
{
	build->econtext->ecxt_scantuple = slot;
	key->present = build->predicate == NULL ||
		ExecQual(build->predicate, build->econtext);
	if (key->present)
		FormIndexDatum(build->info, slot, build->estate, key->values, key->isnull);
	build->econtext->ecxt_scantuple = build->slot;
}

static bool
column_equal(IndexBuild *build, AttrNumber attno)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(build->table), attno - 1);
	bool		isnull;
	bool		older_isnull;
	Datum		value = slot_getattr(build->slot, attno, &isnull);
	Datum		older = slot_getattr(build->older, attno, &older_isnull);

	return isnull == older_isnull &&
		(isnull || datum_image_eq(value, older, att->attbyval, att->attlen));
}

/*
 * Return whether the versions in the two slots are the same in all columns that keys are made of.
 */
static bool
columns_equal(IndexBuild *build)
{
	int			natts = RelationGetNumberOfAttributes(build->table);

	for (AttrNumber attno = 1; attno <= natts; attno++)
	{
		if ((build->columns == NULL ||
			 bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, build->columns)) &&
			!column_equal(build, attno))
			return false;
	}
	return true;
}

/* ---- rows with several keys ---- */

/*
 * Return the xid that wrote the index's row of pg_index if the index is marked with indcheckxmin,
 * and stays so.  Only snapshots that see all earlier transactions use such an index, and none of
 * these needs a key that an earlier transaction has replaced.  Such keys may be ones that the
 * index cannot take.
 */
static TransactionId
ignored_before(Relation index)
{
	if (!ReindexIsProcessingIndex(RelationGetRelid(index)) || !index->rd_index->indcheckxmin)
		return InvalidTransactionId;
	return HeapTupleHeaderGetXmin(index->rd_indextuple->t_data);
}

/* Return whether no snapshot that uses the index sees the version, nor those before it. */
static bool
is_ignored(const IndexBuild *build, const ZRowVersion *older)
{
	return TransactionIdIsValid(build->ignored) && FullTransactionIdIsValid(older->next_fxid) &&
		TransactionIdPrecedes(zfxid_xid(older->next_fxid), build->ignored);
}

/*
 * Add the key to the row's keys.  Return false if it is there.  A hash index gets one entry for
 * all keys of a row with the same hash code.
 */
static bool
key_is_new(const IndexBuild *build, struct keys_hash *keys, const IndexKey *key)
{
	IndexKey	code;

	if (!build->hash || !key->present || key->isnull[0])
		return index_keys_add(keys, key);
	code.present = true;
	code.isnull[0] = false;
	code.values[0] = UInt32GetDatum(_hash_datum2hashkey(build->index, key->values[0]));
	return index_keys_add(keys, &code);
}

/*
 * Form the key of the version in "older" and add it to the keys; return whether it was there.  An
 * ignored version may be older than the index, and expressions fail for values that have been
 * corrected since; its columns are compared with those of the version to be indexed.
 */
static bool
key_is_known(IndexBuild *build, struct keys_hash *keys, bool ignored, IndexKey *key)
{
	if (ignored && !zindex_has_plain_columns(build->index))
		return columns_equal(build);
	key_form(build, build->older, key);
	return !key_is_new(build, keys, key);
}

/*
 * Index the keys of the versions before "version" that some snapshot may still see, and that had
 * other keys while this index, or another one, existed (N1).  Also for BRIN: rows were changed in
 * place while it existed, and after REINDEX the server uses it for all snapshots at once.  And an
 * update in progress may yet abort.
 */
static void
index_older(IndexBuild *build, const ZRowVersion *version, ItemPointer tid, const IndexKey *key)
{
	ZPageView  *view = &build->scan->view;
	ZRowVersion	older = *version;
	struct keys_hash *keys;
	bool		ignored = false;
	MemoryContext old;

	if (!zmvcc_has_older(view, &older))
		return;
	old = MemoryContextSwitchTo(build->econtext->ecxt_per_tuple_memory);
	keys = index_keys_begin(&build->types);
	(void) key_is_new(build, keys, key);
	while (zmvcc_has_older(view, &older) && zmvcc_previous(view, &older))
	{
		IndexKey	before;

		CHECK_FOR_INTERRUPTS();
		zscan_version_store(view, &older, tid, build->older);
		if (!zdml_toast_present(build->table, older.hdr.flags, build->older, build->columns))
			break;				/* I4 */
		Assert(!zheap_holds_buffer_lock());	/* I3 */
		ignored = ignored || is_ignored(build, &older);
		if (key_is_known(build, keys, ignored, &before))
			continue;
		if (ignored)
		{
			build->info->ii_BrokenHotChain = true;	/* the index stays marked */
			break;
		}
		if (!before.present)
			continue;
		/* BRIN keeps copies of values in the current context from one row to the next */
		MemoryContextSwitchTo(old);
		build->callback(build->index, tid, before.values, before.isnull, false,
						build->callback_state);
		MemoryContextSwitchTo(build->econtext->ecxt_per_tuple_memory);
	}
	ExecClearTuple(build->older);
	MemoryContextSwitchTo(old);
}

/* ---- the versions of a row ---- */

/*
 * Compare the versions before "version" that some snapshot may still see with the one to be
 * indexed (I2).  Their keys are not formed: expressions may fail for values that have been
 * corrected.
 */
static void
check_older(IndexBuild *build, const ZRowVersion *version, ItemPointer tid)
{
	ZPageView  *view = &build->scan->view;
	ZRowVersion	older = *version;

	while (zmvcc_has_older(view, &older) && zmvcc_previous(view, &older))
	{
		zscan_version_store(view, &older, tid, build->older);
		/* no snapshot sees it, nor those before (I4) */
		if (!zdml_toast_present(build->table, older.hdr.flags, build->older, build->columns))
			break;
		if (!columns_equal(build))
		{
			build->info->ii_BrokenHotChain = true;
			break;
		}
	}
	ExecClearTuple(build->older);
}

/*
 * Return whether a deleted row is to be indexed for old snapshots: its values must be complete
 * (I4).
 */
static bool
is_wanted(IndexBuild *build, ZRowVersion *version)
{
	ItemPointerData tid;

	if (!zmvcc_reconstruct_body(&build->scan->view, version))
		return false;
	ItemPointerSet(&tid, build->scan->block, version->offnum);
	zscan_version_store(&build->scan->view, version, &tid, build->slot);
	return zdml_toast_present(build->table, version->hdr.flags, build->slot, build->columns);
}

/*
 * Pass the version's key to the callback, and keys of older versions where the index needs them;
 * otherwise check these (I2).
 */
static void
index_row(IndexBuild *build, const ZRowVersion *version, bool alive)
{
	ZPageView  *view = &build->scan->view;
	ItemPointerData tid;
	IndexKey	key;

	Assert(!zheap_holds_buffer_lock()); /* I3: user code and the index's may do anything */
	ItemPointerSet(&tid, build->scan->block, version->offnum);
	MemoryContextReset(build->econtext->ecxt_per_tuple_memory);

	zscan_version_store(view, version, &tid, build->slot);
	key_form(build, build->slot, &key);

	if (build->snapshot == SnapshotAny &&
		(build->summarizes ||
		 (build->several_keys && (version->hdr.flags2 & ZROW2_SEVERAL_KEYS))))
		index_older(build, version, &tid, &key);
	/* once set it stays set */
	else if (build->snapshot == SnapshotAny && !build->info->ii_BrokenHotChain)
		check_older(build, version, &tid);

	if (key.present)
		build->callback(build->index, &tid, key.values, key.isnull, alive,
						build->callback_state);
}

/*
 * Another transaction is inserting or deleting the row, though the caller's lock should prevent
 * that: raise a WARNING.  A build that looks for duplicates waits for its end.  Return true if it
 * has waited, and read the page again: the row must be checked again.
 */
static bool
wait_for_other(IndexBuild *build, OffsetNumber offnum, TransactionId xid, const char *doing)
{
	ItemPointerData tid;

	elog(WARNING, "concurrent %s in progress within table \"%s\"",
		 doing, RelationGetRelationName(build->table));
	if (!build->unique)
		return false;

	Assert(!zheap_holds_buffer_lock()); /* L1 */
	Assert(TransactionIdIsNormal(xid) && !TransactionIdIsCurrentTransactionId(xid));
	ItemPointerSet(&tid, build->scan->block, offnum);
	XactLockTableWait(xid, build->table, &tid, XLTW_InsertIndexUnique);
	CHECK_FOR_INTERRUPTS();
	(void) zview_read(&build->scan->view, build->scan->block, build->scan->strategy);
	return true;
}

/*
 * Return whether the row is to be indexed; *alive: it counts for uniqueness.  Waits, in a unique
 * build, for transactions in progress.  The rules, and which rows count, are those of heap and of
 * scan_analyze.c.
 */
static bool
row_is_indexed(IndexBuild *build, OffsetNumber offnum, ZRowVersion *version, bool *alive)
{
	for (;;)
	{
		FullTransactionId fxid = InvalidFullTransactionId;
		TransactionId xid;

		if (!zpage_is_row(build->scan->view.page, offnum))
			return false;

		*alive = true;
		switch (zmvcc_state(&build->scan->view, offnum, version, &fxid))
		{
			case ZSTATE_NONE:
			case ZSTATE_DEAD:
				return false;

			case ZSTATE_LIVE:
				build->reltuples += 1;
				return true;

			case ZSTATE_RECENTLY_DEAD:
				/* old snapshots will look for it in the index */
				*alive = false;
				return is_wanted(build, version);

			case ZSTATE_INSERTING:
				xid = zfxid_xid(fxid);
				if (build->anyvisible || TransactionIdIsCurrentTransactionId(xid))
					build->reltuples += 1;
				else if (wait_for_other(build, offnum, xid, "insert"))
					continue;
				return true;

			case ZSTATE_DELETING:
				xid = zfxid_xid(fxid);
				*alive = false;
				if (build->anyvisible)
					build->reltuples += 1;
				else if (!TransactionIdIsCurrentTransactionId(xid))
				{
					if (wait_for_other(build, offnum, xid, "delete"))
						continue;
					build->reltuples += 1;
				}
				return true;
		}
	}
}

/* Index the rows of the scan's current page. */
static void
index_page(IndexBuild *build)
{
	ZScan	   *scan = build->scan;
	int			i;

	for (i = 0; i < scan->nrows; i++)
	{
		OffsetNumber offnum = scan->rows[i].offnum;
		ZRowVersion	version;
		bool		alive = true;

		CHECK_FOR_INTERRUPTS();

		if (build->snapshot == SnapshotAny)
		{
			if (!row_is_indexed(build, offnum, &version, &alive))
				continue;
		}
		else
		{
			if (!zmvcc_fetch(&scan->view, offnum, build->snapshot, &version))
				continue;
			build->reltuples += 1;
		}
		index_row(build, &version, alive);
	}
}

/*
 * Begin the scan.  An ordinary build reads all rows and checks them itself, because it has to
 * index recently deleted ones, too.  A concurrent build takes what an MVCC snapshot sees.  In a
 * parallel build the leader has decided that.
 */
static void
build_begin(IndexBuild *build, bool allow_sync, TableScanDesc sscan)
{
	if (sscan == NULL)
	{
		build->snapshot = SnapshotAny;
		if (IsBootstrapProcessingMode() || build->info->ii_Concurrent)
		{
			build->snapshot = RegisterSnapshot(GetTransactionSnapshot());
			build->own_snapshot = true;
		}
		sscan = table_beginscan_strat(build->table, build->snapshot, 0, NULL,
									  true, allow_sync);
	}
	else
	{
		Assert(allow_sync);
		build->snapshot = sscan->rs_snapshot;
	}
	Assert(build->snapshot == SnapshotAny || IsMVCCSnapshot(build->snapshot));
	Assert(build->snapshot == SnapshotAny || !build->anyvisible);
	/* avoid versions that VACUUM's horizon has passed (I4) */
	if (build->snapshot == SnapshotAny)
		zmvcc_renew_horizon(build->table);
	build->scan = (ZScan *) sscan;

	build->estate = CreateExecutorState();
	build->econtext = GetPerTupleExprContext(build->estate);
	build->slot = table_slot_create(build->table, NULL);
	build->older = table_slot_create(build->table, NULL);
	build->econtext->ecxt_scantuple = build->slot;
	build->predicate = ExecPrepareQual(build->info->ii_Predicate, build->estate);
	index_key_types_init(&build->types, build->table, build->info);
	if (build->hash)
		build->types.columns[0] = (KeyType) {.len = sizeof(int32),.byval = true};
	key_columns_init(build);
}

static void
build_end(IndexBuild *build)
{
	table_endscan(&build->scan->base);
	if (build->own_snapshot)
		UnregisterSnapshot(build->snapshot);

	ExecDropSingleTupleTableSlot(build->slot);
	ExecDropSingleTupleTableSlot(build->older);
	FreeExecutorState(build->estate);

	/* these pointed into the executor state */
	build->info->ii_ExpressionsState = NIL;
	build->info->ii_PredicateState = NULL;
}

/*
 * Return whether REINDEX rebuilds a valid index.  No snapshot has used an invalid one: like a new
 * one it is marked with indcheckxmin where needed.
 */
static bool
is_made_anew(Relation index)
{
	return ReindexIsProcessingIndex(RelationGetRelid(index)) && index->rd_index->indisvalid &&
		index->rd_index->indisready && index->rd_index->indislive;
}

/*
 * Note a rebuilt index that lacks keys of older versions, where the one before had them.  What the
 * workers of a parallel build find is not known here, so that one counts as lacking some.
 */
static void
note_if_incomplete(const IndexBuild *build, bool parallel)
{
	if (!IsParallelWorker() && (parallel || build->info->ii_BrokenHotChain) &&
		is_made_anew(build->index) && zindex_merges(build->index))
		index_rebuilt_note(build->index);
}

double
zindex_build_range_scan(Relation table, Relation index, IndexInfo *info,	/* tidy: the server's signature */
						bool allow_sync, bool anyvisible, bool progress,
						BlockNumber start_block, BlockNumber numblocks,
						IndexBuildCallback callback, void *callback_state,
						TableScanDesc sscan)
{
	IndexBuild	build = {0};
	/* VACUUM summarizes BRIN indexes, and each page is copied before its rows are looked at */
	uint8		held = zundo_hold_back();

	build.table = table;
	build.index = index;
	build.info = info;
	build.anyvisible = anyvisible;
	build.unique = info->ii_Unique || info->ii_ExclusionOps != NULL;
	build.several_keys = is_made_anew(index) &&
		(zindex_may_have_several_keys(table, index) || zindex_rechecks(index));
	build.hash = index->rd_rel->relam == HASH_AM_OID;
	build.ignored = ignored_before(index);
	build.summarizes = info->ii_Expressions == NIL && info->ii_Predicate == NIL &&
		(anyvisible || index->rd_rel->relam == BRIN_AM_OID);
	build.progress = progress;
	build.callback = callback;
	build.callback_state = callback_state;
	Assert(!(anyvisible && build.unique));
	zdead_forget_files(RelationGetRelid(index));

	build_begin(&build, allow_sync, sscan);

	/* the size at the scan's start, also of a parallel one */
	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, build.scan->nblocks);
	if (!allow_sync)
		zscan_set_limits(build.scan, start_block, numblocks);
	else
		Assert(start_block == 0 && numblocks == InvalidBlockNumber);

	while (zscan_block_next(build.scan, false))
	{
		if (progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 zscan_blocks_done(build.scan));
		index_page(&build);
	}

	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, build.scan->nblocks);

	build_end(&build);
	zundo_hold_back_end(held);
	note_if_incomplete(&build, sscan != NULL);

	return build.reltuples;
}
