/*
 * rewrite_table.c
 *		CLUSTER and VACUUM FULL: copy the rows of a table to a new file.
 *
 * The order is the old file's, or an index's, by walking it or by sorting.  Rows that are
 * visible to all are written as such; other rows are written with their history (rewrite_row.c).
 * Changes of aborted transactions are skipped.  The old file is not changed.
 *
 * "Visible to all" is what the server computed for this rewrite (oldest_xmin), as on heap: older
 * versions must not be read, because their toasted values may be gone.  The undo horizon may lag
 * behind it.
 *
 * LOCKING: the caller holds AccessExclusiveLock on both tables, and sweeps of the old file are
 * waited for, so no other process changes a row.  A page is share locked while it is copied;
 * none is locked afterwards.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/multixact.h"
#include "access/relscan.h"
#include "access/xact.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "zheap/base/pg_compat_index.h"
#include "zheap/base/pg_compat_vacuum.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/row_set.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/target.h"
#include "zheap/mvcc/state.h"
#include "zheap/rewrite/rewrite.h"
#include "zheap/rollback/rollback.h"
#include "zheap/undo/undo_relation.h"

#include "rewrite_private.h"

/* ---- reading the old table ---- */

typedef enum CopyVisibility
{
	COPY_NOT,
	COPY_FROZEN,				/* write it as visible to all */
	COPY_HISTORY				/* write it with the versions before; it may be deleted */
} CopyVisibility;

/*
 * Raise ERROR (object_in_use) if a transaction in progress made the version.  Heap warns about
 * rows of system catalogs here; our tables cannot have such rows.
 */
static void
check_not_running(ZCopy *copy, const ZRowVersion *version)
{
	if (zmvcc_version_status(&copy->view, version) == ZXACT_IN_PROGRESS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot rewrite table \"%s\" now", RelationGetRelationName(copy->from)),
				 errdetail("Transaction %u is changing rows of it.", zfxid_xid(zmodifier_fxid(&version->modifier)))));
}

/*
 * Decide how to write the row, and count it.  *version is set to its newest version that is not
 * aborted.
 */
static CopyVisibility
check_visibility(ZCopy *copy, OffsetNumber offnum, ZRowVersion *version)
{
	bool		deleted;
	bool		all_visible;

	zmvcc_current(&copy->view, offnum, version);
	if (!zmvcc_skip_aborted(&copy->view, version))
	{
		copy->tups_vacuumed += 1;
		return COPY_NOT;
	}
	all_visible = copy_all_visible(copy, version);
	deleted = (version->hdr.flags & ZROW_DELETED) != 0;
	if (all_visible && deleted)
	{
		copy->tups_vacuumed += 1;
		return COPY_NOT;
	}
	copy->num_tuples += 1;
	if (all_visible)
		return COPY_FROZEN;
	check_not_running(copy, version);
	if (deleted)
		copy->tups_recently_dead += 1;
	return COPY_HISTORY;
}

/* ---- writing the new table ---- */

/* Write a row of the viewed page with the versions before it. */
static void
write_history(ZCopy *copy, const ItemPointerData *from)
{
	FullTransactionId inserter;
	ItemPointerData to;

	Assert(copy->view_rows && copy->view_block == ItemPointerGetBlockNumber(from));
	inserter = copy_row_history(copy, ItemPointerGetOffsetNumber(from), NULL, &to);
	if (FullTransactionIdIsValid(inserter))
		copy_move_remember(copy, from, &to, inserter);
}

static void
report_written(ZCopy *copy)
{
	const int	index[] = {
		PROGRESS_REPACK_HEAP_TUPLES_SCANNED,
		PROGRESS_REPACK_HEAP_TUPLES_INSERTED
	};
	int64		value[2];

	value[0] = value[1] = copy->num_tuples;
	pgstat_progress_update_multi_param(2, index, value);
}

/*
 * Values of xmin in a tuple to be sorted: whether the row is written with its history.  Then the
 * tuple's values serve only for sorting, and the row is read again.
 */
#define SORT_FROZEN		((TransactionId) 0)
#define SORT_HISTORY	((TransactionId) 1)

/* Give a row to the sort, unless its values are gone. */
static void
sort_put(ZCopy *copy, Tuplesortstate *sort, const ItemPointerData *tid, ZRowVersion *version,
		 CopyVisibility visibility)
{
	HeapTuple	tuple;

	Assert(visibility == COPY_FROZEN || visibility == COPY_HISTORY);
	/* the body is gone if the last snapshot that saw the deleted row has ended since */
	if (!zmvcc_reconstruct_body(&copy->view, version))
		return;
	if (visibility == COPY_HISTORY && (version->hdr.flags & ZROW_DELETED))
	{
		/* I4: its toasted values may be gone, which the sort may need */
		copy_values(copy, version);
		if (!zdml_toast_present(copy->from, version->hdr.flags, copy->slot, NULL))
		{
			copy_note_conflict(copy, zmodifier_fxid(&version->modifier));
			return;
		}
	}
	tuple = zdml_heap_tuple(copy->from, version->row, version->len);
	tuple->t_self = *tid;
	HeapTupleHeaderSetXmin(tuple->t_data, visibility == COPY_HISTORY ? SORT_HISTORY : SORT_FROZEN);
	tuplesort_putheaptuple(sort, tuple);
	pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_SCANNED, copy->num_tuples);
}

/* Write a row of the viewed page, or give it to the sort, or put it off if it was moved. */
static void
copy_row(ZCopy *copy, Tuplesortstate *sort, OffsetNumber offnum)
{
	ItemPointerData tid;
	ZRowVersion	version;
	CopyVisibility visibility;
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	if (!zpage_is_row(copy->view.page, offnum))
		return;
	visibility = check_visibility(copy, offnum, &version);
	if (visibility == COPY_NOT)
		return;

	ItemPointerSet(&tid, copy->view_block, offnum);
	old = MemoryContextSwitchTo(copy->context);
	if (visibility == COPY_HISTORY && copy_is_moved(&version))
		copy_move_later(copy, &version, &tid);
	else if (sort != NULL)
		sort_put(copy, sort, &tid, &version, visibility);
	else if (visibility == COPY_HISTORY)
		write_history(copy, &tid);
	else
	{
		copy_values(copy, &version);
		copy_row_frozen(copy);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(copy->context);
	if (sort == NULL)
		report_written(copy);
}

/* ---- order ---- */

/*
 * Return whether the entry is not that of the row's newest version.  Then the row is met by the
 * newest version's entry, before or later (N2).
 */
static bool
entry_is_older(ZCopy *copy, IndexScanDesc scan, OffsetNumber offnum)
{
	ZRowVersion version;
	MemoryContext old;
	bool		is_other;

	if (!zindex_is_watched(scan->indexRelation) || !zpage_is_row(copy->view.page, offnum))
		return false;
	zmvcc_current(&copy->view, offnum, &version);
	if (!(version.hdr.flags2 & ZROW2_SEVERAL_KEYS) ||
		!zmvcc_skip_aborted(&copy->view, &version) ||
		!zmvcc_reconstruct_body(&copy->view, &version))
		return false;
	old = MemoryContextSwitchTo(copy->context);
	copy_values(copy, &version);
	/* I4: a row that no snapshot sees is not written, whichever entry leads there */
	is_other = zdml_toast_present(copy->from, version.hdr.flags, copy->slot, NULL) &&
		!zindex_entry_is_of(scan, copy->slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(copy->context);
	return is_other;
}

/* Copy the rows in the order of an index scan.  ERROR if the index is lossy. */
static void
copy_by_index(ZCopy *copy, Relation index)
{
	const int	params[] = {PROGRESS_REPACK_PHASE, PROGRESS_REPACK_INDEX_RELID};
	int64		values[2];
	IndexScanDesc scan;
	ItemPointer entry;
	ZRowSet    *met = NULL;
	bool		rechecks;

	values[0] = PROGRESS_REPACK_PHASE_INDEX_SCAN_HEAP;
	values[1] = RelationGetRelid(index);
	pgstat_progress_update_multi_param(2, params, values);

	/* such an index may have several entries of a row: the first one that is met decides */
	rechecks = zindex_rechecks(index);
	scan = index_beginscan(copy->from, index, SnapshotAny, NULL, 0, 0, SO_NONE);
	index_rescan(scan, NULL, 0, NULL, 0);
	while ((entry = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		ItemPointerData tid = ztid_untagged(entry);

		if (scan->xs_recheck)
			elog(ERROR, "CLUSTER does not support lossy index conditions");
		if (copy_view(copy, ItemPointerGetBlockNumber(&tid)) &&
			!entry_is_older(copy, scan, ItemPointerGetOffsetNumber(&tid)) &&
			(!rechecks || zrow_set_add(&met, CurrentMemoryContext, &tid)))
			copy_row(copy, NULL, ItemPointerGetOffsetNumber(&tid));
	}
	index_endscan(scan);
	zrow_set_clear(&met);
}

/* Copy the rows in physical order, or give them to the sort. */
static void
copy_by_block(ZCopy *copy, Tuplesortstate *sort)
{
	ZCopyAhead	ahead;
	ReadStream *stream = copy_stream_begin(copy, &ahead);
	Buffer		buffer;

	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP);
	pgstat_progress_update_param(PROGRESS_REPACK_TOTAL_HEAP_BLKS, copy->nblocks);
	while ((buffer = read_stream_next_buffer(stream, NULL)) != InvalidBuffer)
	{
		BlockNumber block = BufferGetBlockNumber(buffer);
		bool		has_rows = copy_view_pinned(copy, buffer);

		ReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
		if (has_rows)
		{
			OffsetNumber max = PageGetMaxOffsetNumber(copy->view.page);

			for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
				copy_row(copy, sort, off);
		}
		pgstat_progress_update_param(PROGRESS_REPACK_HEAP_BLKS_SCANNED, block + 1);
	}
	read_stream_end(stream);
}

/* Write a row returned by the sort. */
static void
write_sorted(ZCopy *copy, HeapTuple tuple)
{
	if (HeapTupleHeaderGetRawXmin(tuple->t_data) == SORT_HISTORY)
	{
		(void) copy_view(copy, ItemPointerGetBlockNumber(&tuple->t_self));
		write_history(copy, &tuple->t_self);
		return;
	}
	ExecClearTuple(copy->slot);
	heap_deform_tuple(tuple, RelationGetDescr(copy->from), copy->slot->tts_values,
					  copy->slot->tts_isnull);
	ExecStoreVirtualTuple(copy->slot);
	copy_row_frozen(copy);
}

/* Copy the rows in the index's order by sorting them. */
static void
copy_by_sort(ZCopy *copy, Relation index)
{
	Tuplesortstate *sort;
	HeapTuple	tuple;
	int64		written = 0;

	sort = tuplesort_begin_cluster(RelationGetDescr(copy->from), index, maintenance_work_mem,
								   NULL, TUPLESORT_NONE);
	copy_by_block(copy, sort);

	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_SORT_TUPLES);
	tuplesort_performsort(sort);

	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP);
	while ((tuple = tuplesort_getheaptuple(sort, true)) != NULL)
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(copy->context);
		write_sorted(copy, tuple);
		MemoryContextSwitchTo(old);
		MemoryContextReset(copy->context);
		pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_INSERTED, ++written);
	}
	tuplesort_end(sort);
}

/* ---- the whole rewrite ---- */

/*
 * Begin a rewrite: check the locks, wait until no sweep is active on the old file, and set up
 * the state.
 */
static void
copy_open(ZCopy *copy, Relation from, Relation to, TransactionId oldest_xmin)
{
	zheap_require_preload();
	Assert(CheckRelationLockedByMe(from, AccessExclusiveLock, false));
	Assert(CheckRelationLockedByMe(to, AccessExclusiveLock, false));
	Assert(RelationGetNumberOfBlocks(to) == 0);
	zundo_open_for(from);
	if (!RelationUsesLocalBuffers(from))
		zrollback_file_wait(from->rd_locator);
	memset(copy, 0, sizeof(*copy));
	copy->from = from;
	copy->to = to;
	copy->oldest = zfxid_from_xid(oldest_xmin);
	copy->conflict = InvalidFullTransactionId;
	copy->view_block = InvalidBlockNumber;
	copy->nblocks = RelationGetNumberOfBlocks(from);
	copy->strategy = GetAccessStrategy(BAS_BULKREAD);
	copy->context = AllocSetContextCreate(CurrentMemoryContext, "zheap rewrite",
										  ALLOCSET_DEFAULT_SIZES);
	copy->slot = MakeSingleTupleTableSlot(RelationGetDescr(to), &TTSOpsVirtual);
	zview_open(&copy->view, from);
	copy->view.own_columns = true;
	copy_page_open(&copy->out, to);
}

static void
copy_close(ZCopy *copy)
{
	copy_page_close(&copy->out);
	if (RelationNeedsWAL(copy->to) && FullTransactionIdIsValid(copy->conflict))
		zrec_conflict_emit(copy->to, copy->conflict);

	zview_close(&copy->view);
	ExecDropSingleTupleTableSlot(copy->slot);
	if (copy->moves)
		hash_destroy(copy->moves);
	if (copy->targets)
		hash_destroy(copy->targets);
	if (copy->pending)
		pfree(copy->pending);
	MemoryContextDelete(copy->context);
	FreeAccessStrategy(copy->strategy);
}

void
zrewrite_table(Relation from, Relation to, Relation index, bool use_sort,
						 TransactionId oldest_xmin, Snapshot snapshot, TransactionId *xid_cutoff,
						 MultiXactId *multi_cutoff, double *num_tuples,
						 double *tups_vacuumed, double *tups_recently_dead) /* tidy: server's signature */
{
	ZCopy		copy;

	if (snapshot != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot repack zheap table \"%s\" concurrently", RelationGetRelationName(from))));
	copy_open(&copy, from, to, oldest_xmin);
	if (index == NULL)
		copy_by_block(&copy, NULL);
	else if (use_sort)
		copy_by_sort(&copy, index);
	else
		copy_by_index(&copy, index);
	copy_moves_finish(&copy);
	copy_close(&copy);

	/* there is nothing to freeze, but a toast table gets the same cutoffs */
	if (!OidIsValid(to->rd_rel->reltoastrelid))
	{
		*xid_cutoff = InvalidTransactionId;
		*multi_cutoff = InvalidMultiXactId;
	}
	*num_tuples = copy.num_tuples;
	*tups_vacuumed = copy.tups_vacuumed;
	*tups_recently_dead = copy.tups_recently_dead;
}
