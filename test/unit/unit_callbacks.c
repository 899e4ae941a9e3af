/*
 * unit_callbacks.c
 *		Callbacks of a table access method that take a slot, called with slots of every kind.
 *
 * The same calls can be made on a heap table, to compare with: those that read only with slots of
 * heap's kind, as heap merely asserts that.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tsmapi.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/tid/tid.h"

#include "unit_callbacks.h"
#include "unit_compat.h"

PG_FUNCTION_INFO_V1(zheap_unit_callback);

/* ---- rows and slots, compared ---- */

char *
unit_row_text(TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	StringInfoData text;

	initStringInfo(&text);
	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid			output;
		bool		is_varlena;

		if (att->attisdropped)
			continue;
		getTypeOutputInfo(att->atttypid, &output, &is_varlena);
		appendStringInfo(&text, "%s;", slot->tts_isnull[i] ? "null" :
						 OidOutputFunctionCall(output, slot->tts_values[i]));
	}
	return text.data;
}

/* Without cmax, which in a heap tuple is cmin as well. */
char *
unit_system_text(TupleTableSlot *slot)
{
	static const int columns[] = {
		MaxCommandIdAttributeNumber, TableOidAttributeNumber, SelfItemPointerAttributeNumber,
		MinTransactionIdAttributeNumber, MinCommandIdAttributeNumber,
		MaxTransactionIdAttributeNumber
	};
	MemoryContext context = CurrentMemoryContext;
	volatile bool has_them = true;
	StringInfoData text;

	initStringInfo(&text);
	PG_TRY();
	{
		for (int i = 0; i < (int) lengthof(columns); i++)
		{
			bool		isnull;
			Datum		value = slot_getsysattr(slot, columns[i], &isnull);

			if (columns[i] == SelfItemPointerAttributeNumber)
				appendStringInfo(&text, "(%u,%u) ",
								 ItemPointerGetBlockNumberNoCheck((ItemPointer) value),
								 ItemPointerGetOffsetNumberNoCheck((ItemPointer) value));
			else if (columns[i] != MaxCommandIdAttributeNumber)
				appendStringInfo(&text, "%u ", DatumGetUInt32(value));
		}
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_FEATURE_NOT_SUPPORTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		has_them = false;
	}
	PG_END_TRY();
	return has_them ? text.data : NULL;
}

/* ---- one call ---- */

typedef struct Call
{
	Relation	rel;
	Relation	zheap_source;
	Relation	heap_source;
	const char *kind;
	const char *content;
	bool		system;			/* ask for system columns, before the call and after it */
	TupleTableSlot *slot;
	TableScanDesc scan;			/* goes on meanwhile, or NULL */

	ItemPointerData tid;		/* of the row to be read or changed: the table's last one */
	char	   *row;			/* what it is */
	char	   *source;			/* what the slot holds */
} Call;

static const TupleTableSlotOps *
slot_ops(const Call *call)
{
	if (strcmp(call->kind, "virtual") == 0)
		return &TTSOpsVirtual;
	if (strcmp(call->kind, "heap") == 0)
		return &TTSOpsHeapTuple;
	if (strcmp(call->kind, "minimal") == 0)
		return &TTSOpsMinimalTuple;
	if (strcmp(call->kind, "buffer") == 0)
		return &TTSOpsBufferHeapTuple;
	if (strcmp(call->kind, "other") == 0)
		return table_slot_callbacks(call->zheap_source);
	return table_slot_callbacks(call->rel);
}

/* Whose rows a slot of that kind would have. */
static Relation
source_rel(const Call *call)
{
	if (strcmp(call->kind, "own") == 0)
		return call->rel;
	if (strcmp(call->kind, "heap") == 0 || strcmp(call->kind, "buffer") == 0)
		return call->heap_source;
	return call->zheap_source;
}

static void
slot_fill(Call *call)
{
	Relation	rel = source_rel(call);
	TableScanDesc scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL, SO_NONE);
	TupleTableSlot *row = table_slot_create(rel, NULL);
	bool		stays = strcmp(call->content, "scan") == 0;

	if (!table_scan_getnextslot(scan, ForwardScanDirection, row))
		elog(ERROR, "table \"%s\" is empty", RelationGetRelationName(rel));
	call->source = unit_row_text(row);
	if (stays && slot_ops(call) == row->tts_ops)
	{
		call->slot = row;
		call->scan = scan;
		return;
	}
	call->slot = MakeSingleTupleTableSlot(RelationGetDescr(strcmp(call->kind, "other") == 0 ?
														   call->zheap_source : call->rel),
										  slot_ops(call));
	if (strcmp(call->content, "values") == 0)
		ExecForceStoreHeapTuple(ExecCopySlotHeapTuple(row), call->slot, true);
	else if (strcmp(call->content, "empty") != 0)
		ExecCopySlot(call->slot, row);
	if (strcmp(call->content, "material") == 0)
		ExecMaterializeSlot(call->slot);
	ExecDropSingleTupleTableSlot(row);
	if (stays)
		call->scan = scan;
	else
		table_endscan(scan);
}

static TupleTableSlot *
last_row(Relation rel)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TupleTableSlot *last = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL, SO_NONE);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		ExecCopySlot(last, slot);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return last;
}

/* Is this the row, and do the slot's system columns tell of it? */
static const char *
compare_row(const Call *call, TupleTableSlot *slot, const char *row, Snapshot snapshot)
{
	TupleTableSlot *again = table_slot_create(call->rel, NULL);
	/* without what tuple_lock has left in it */
	ItemPointerData tid = ztid_untagged(&slot->tts_tid);
	char	   *shown = call->system ? unit_system_text(slot) : NULL;
	const char *result = call->system ? "right, with its system columns" : "right";

	if (slot->tts_tableOid != RelationGetRelid(call->rel))
		result = "wrong tableoid";
	else if (!table_tuple_fetch_row_version(call->rel, &tid, snapshot, again))
		result = "row is not there";
	else if (strcmp(row, unit_row_text(again)) != 0)
		result = "another row is there";
	else if (strcmp(row, unit_row_text(slot)) != 0)
		result = "slot has another row";
	else if (call->system && shown == NULL)
		result = "right, without system columns";
	else if (call->system && strcmp(shown, unit_system_text(again)) != 0)
		result = "right, but system columns of another row";
	/* writers look at what they have written, readers at rows of a transaction that has ended */
	else if (call->system && slot->tts_ops == again->tts_ops &&
			 !unit_slot_is_current(slot, snapshot == SnapshotSelf))
		result = "right, but it takes the row for another transaction's";
	ExecDropSingleTupleTableSlot(again);
	return result;
}

/* ---- writers ---- */

static const char *
call_insert(Call *call)
{
	table_tuple_insert(call->rel, call->slot, GetCurrentCommandId(true), 0, NULL);
	return compare_row(call, call->slot, call->source, SnapshotSelf);
}

/* Rows that are loaded: nobody asks for their system columns. */
static const char *
call_insert_bulk(Call *call)
{
	BulkInsertState bulk = GetBulkInsertState();

	table_tuple_insert(call->rel, call->slot, GetCurrentCommandId(true), 0, bulk);
	FreeBulkInsertState(bulk);
	call->system = false;
	return compare_row(call, call->slot, call->source, SnapshotSelf);
}

static const char *
multi_insert(Call *call, BulkInsertState bulk)
{
	TupleTableSlot *slots[50];
	const char *result = NULL;

	slots[0] = call->slot;
	for (int i = 1; i < (int) lengthof(slots); i++)
	{
		slots[i] = MakeSingleTupleTableSlot(call->slot->tts_tupleDescriptor, call->slot->tts_ops);
		ExecCopySlot(slots[i], call->slot);
	}
	table_multi_insert(call->rel, slots, lengthof(slots), GetCurrentCommandId(true), 0, bulk);
	for (int i = 0; i < (int) lengthof(slots); i++)
	{
		const char *one = compare_row(call, slots[i], call->source, SnapshotSelf);

		if (result == NULL || strcmp(result, one) == 0)
			result = one;
		else
			elog(ERROR, "slot 0 is %s, slot %d is %s", result, i, one);
		if (i > 0)
			ExecDropSingleTupleTableSlot(slots[i]);
	}
	return result;
}

static const char *
call_multi_insert(Call *call)
{
	return multi_insert(call, NULL);
}

static const char *
call_multi_insert_bulk(Call *call)
{
	BulkInsertState bulk = GetBulkInsertState();
	const char *result;

	call->system = false;
	result = multi_insert(call, bulk);
	FreeBulkInsertState(bulk);
	return result;
}

static const char *
speculative(Call *call, bool succeeds)
{
	uint32		token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
	TupleTableSlot *again = table_slot_create(call->rel, NULL);
	const char *result;

	table_tuple_insert_speculative(call->rel, call->slot, GetCurrentCommandId(true), 0, NULL,
								   token);
	table_tuple_complete_speculative(call->rel, call->slot, token, succeeds);
	SpeculativeInsertionLockRelease(GetCurrentTransactionId());
	if (succeeds)
		result = compare_row(call, call->slot, call->source, SnapshotSelf);
	else if (table_tuple_fetch_row_version(call->rel, &call->slot->tts_tid, SnapshotSelf, again))
		result = "row is there";
	else
		result = "right";
	ExecDropSingleTupleTableSlot(again);
	return result;
}

static const char *
call_speculative(Call *call)
{
	return speculative(call, true);
}

static const char *
call_speculative_taken_back(Call *call)
{
	return speculative(call, false);
}

static const char *
call_update(Call *call)
{
	ItemPointerData tid = call->tid;
	TM_FailureData failure;
	LockTupleMode mode;
	TU_UpdateIndexes indexes;

	if (table_tuple_update(call->rel, &tid, call->slot, GetCurrentCommandId(true), 0,
						   GetActiveSnapshot(), InvalidSnapshot, true, &failure, &mode,
						   &indexes) != TM_Ok)
		return "not updated";
	return compare_row(call, call->slot, call->source, SnapshotSelf);
}

/* ---- readers ---- */

static const char *
scan_to_end(Call *call, TableScanDesc scan)
{
	const char *result = "no row";

	while (table_scan_getnextslot(scan, ForwardScanDirection, call->slot))
	{
		if (ItemPointerEquals(&call->slot->tts_tid, &call->tid))
			result = compare_row(call, call->slot, call->row, GetActiveSnapshot());
	}
	table_endscan(scan);
	return result;
}

static const char *
call_scan(Call *call)
{
	return scan_to_end(call, table_beginscan(call->rel, GetActiveSnapshot(), 0, NULL, SO_NONE));
}

static const char *
call_scan_backward(Call *call)
{
	TableScanDesc scan = table_beginscan(call->rel, GetActiveSnapshot(), 0, NULL, SO_NONE);
	const char *result = "no row";

	if (table_scan_getnextslot(scan, BackwardScanDirection, call->slot))
		result = compare_row(call, call->slot, call->row, GetActiveSnapshot());
	table_endscan(scan);
	return result;
}

static const char *
call_tid_range(Call *call)
{
	TableScanDesc scan = table_beginscan_tidrange(call->rel, GetActiveSnapshot(), &call->tid,
												  &call->tid, SO_NONE);
	const char *result = "no row";

	if (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, call->slot))
		result = compare_row(call, call->slot, call->row, GetActiveSnapshot());
	table_endscan(scan);
	return result;
}

/* Read the rows of a bitmap in which the row is the last one. */
static const char *
bitmap_scan(Call *call, TIDBitmap *bitmap)
{
	UnitBitmapScan scan;
	const char *result = "no row";

	unit_bitmap_begin(&scan, call->rel, GetActiveSnapshot(), bitmap);
	while (unit_bitmap_next(&scan, call->slot))
	{
		if (ItemPointerEquals(&call->slot->tts_tid, &call->tid))
			result = compare_row(call, call->slot, call->row, GetActiveSnapshot());
	}
	unit_bitmap_end(&scan);
	return result;
}

static const char *
call_bitmap(Call *call)
{
	TIDBitmap  *bitmap = tbm_create(work_mem * (Size) 1024, NULL);

	tbm_add_tuples(bitmap, &call->tid, 1, false);
	return bitmap_scan(call, bitmap);
}

/* Read all rows of two pages, as with a lossy bitmap. */
static const char *
call_bitmap_lossy(Call *call)
{
	TIDBitmap  *bitmap = tbm_create(work_mem * (Size) 1024, NULL);

	tbm_add_page(bitmap, 0);
	tbm_add_page(bitmap, ItemPointerGetBlockNumber(&call->tid));
	return bitmap_scan(call, bitmap);
}

static OffsetNumber sampled;

static OffsetNumber
next_sampled(SampleScanState *state, BlockNumber block, OffsetNumber maxoffset)
{
	sampled = sampled < maxoffset ? sampled + 1 : InvalidOffsetNumber;
	return sampled;
}

static const char *
call_sample(Call *call)
{
	TableScanDesc scan = table_beginscan_sampling(call->rel, GetActiveSnapshot(), 0, NULL, false,
												  false, true, SO_NONE);
	TsmRoutine	routine = {.type = T_TsmRoutine, .NextSampleTuple = next_sampled};
	SampleScanState state = {.tsmroutine = &routine};
	const char *result = "no row";

	sampled = InvalidOffsetNumber;
	while (table_scan_sample_next_block(scan, &state))
	{
		while (table_scan_sample_next_tuple(scan, &state, call->slot))
		{
			if (ItemPointerEquals(&call->slot->tts_tid, &call->tid))
				result = compare_row(call, call->slot, call->row, GetActiveSnapshot());
		}
	}
	table_endscan(scan);
	return result;
}

/* Values alone are sampled, without what made them. */
static const char *
call_analyze(Call *call)
{
	TableScanDesc scan = table_beginscan_analyze(call->rel);
	BlockNumber block = ItemPointerGetBlockNumber(&call->tid);
	ReadStream *stream = unit_stream_begin(call->rel, &block);
	const char *result = "no row";
	double		live = 0;
	double		dead = 0;

	call->system = false;
	while (table_scan_analyze_next_block(scan, stream))
	{
		while (table_scan_analyze_next_tuple(scan, &live, &dead, call->slot))
		{
			if (ItemPointerEquals(&call->slot->tts_tid, &call->tid))
				result = strcmp(unit_row_text(call->slot), call->row) == 0 ? "right" : "wrong row";
		}
	}
	unit_stream_end(stream);
	table_endscan(scan);
	return result;
}

/* A few times, as an index scan does with rows of one page. */
static const char *
call_index_fetch(Call *call)
{
	IndexFetchTableData *fetch = table_index_fetch_begin(call->rel, SO_NONE);
	const char *result = NULL;

	table_index_fetch_reset(fetch);
	for (int i = 0; i < 6; i++)
	{
		ItemPointerData tid = call->tid;
		bool		again = false;
		const char *one = "no row";

		if (table_index_fetch_tuple(fetch, &tid, GetActiveSnapshot(), call->slot, &again, NULL))
			one = compare_row(call, call->slot, call->row, GetActiveSnapshot());
		if (result != NULL && strcmp(result, one) != 0)
			elog(ERROR, "first it is %s, then %s", result, one);
		result = one;
	}
	table_index_fetch_end(fetch);
	return result;
}

static Buffer
index_page_locked(Relation rel, Relation *index)
{
	List	   *indexes = RelationGetIndexList(rel);
	Buffer		buffer;

	*index = index_open(linitial_oid(indexes), RowExclusiveLock);
	buffer = ReadBuffer(*index, 1);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return buffer;
}

/* As a unique check does, with a page of the index locked. */
static const char *
call_index_fetch_locked(Call *call)
{
	Relation	index;
	Buffer		buffer = index_page_locked(call->rel, &index);
	ItemPointerData tid = call->tid;
	IndexFetchTableData *fetch = table_index_fetch_begin(call->rel, SO_NONE);
	SnapshotData dirty;
	bool		again = false;
	bool		all_dead;
	bool		found;
	bool		checked;

	InitDirtySnapshot(dirty);
	found = table_index_fetch_tuple(fetch, &tid, &dirty, call->slot, &again, &all_dead);
	table_index_fetch_end(fetch);
	tid = call->tid;
	checked = table_index_fetch_tuple_check(call->rel, &tid, &dirty, &all_dead);
	/* slots change hands there, too */
	if (found)
		ExecMaterializeSlot(call->slot);
	UnlockReleaseBuffer(buffer);
	index_close(index, RowExclusiveLock);
	if (!found || !checked)
		return "no row";
	return compare_row(call, call->slot, call->row, GetActiveSnapshot());
}

static const char *
fetch(Call *call, ItemPointer tid, Snapshot snapshot)
{
	if (!table_tuple_fetch_row_version(call->rel, tid, snapshot, call->slot))
		return "no row";
	return compare_row(call, call->slot, call->row, snapshot);
}

static const char *
call_fetch(Call *call)
{
	return fetch(call, &call->tid, GetActiveSnapshot());
}

static const char *
call_fetch_any(Call *call)
{
	return fetch(call, &call->tid, SnapshotAny);
}

/* The TID is the slot's own. */
static const char *
call_fetch_own_tid(Call *call)
{
	call->slot->tts_tid = call->tid;
	return fetch(call, &call->slot->tts_tid, GetActiveSnapshot());
}

static const char *
call_satisfies(Call *call)
{
	return table_tuple_satisfies_snapshot(call->rel, call->slot, GetActiveSnapshot()) ?
		"seen" : "not seen";
}

static const char *
lock(Call *call, ItemPointer tid, uint8 flags)
{
	TM_FailureData failure;

	if (table_tuple_lock(call->rel, tid, GetActiveSnapshot(), call->slot,
						 GetCurrentCommandId(true), LockTupleExclusive, LockWaitBlock, flags,
						 &failure) != TM_Ok)
		return "not locked";
	/* heap shows the lock in xmax, at once */
	call->system = false;
	return compare_row(call, call->slot, call->row, GetActiveSnapshot());
}

static const char *
call_lock(Call *call)
{
	ItemPointerData tid = call->tid;

	return lock(call, &tid, TUPLE_LOCK_FLAG_FIND_LAST_VERSION);
}

static const char *
call_lock_own_tid(Call *call)
{
	call->slot->tts_tid = call->tid;
	return lock(call, &call->slot->tts_tid, TUPLE_LOCK_FLAG_FIND_LAST_VERSION);
}

static const struct
{
	const char *name;
	const char *(*function) (Call *call);
	bool		reads;			/* the slot is filled */
} callbacks[] = {
	{"tuple_insert", call_insert, false},
	{"tuple_insert, bulk", call_insert_bulk, false},
	{"multi_insert", call_multi_insert, false},
	{"multi_insert, bulk", call_multi_insert_bulk, false},
	{"speculative", call_speculative, false},
	{"speculative, taken back", call_speculative_taken_back, false},
	{"tuple_update", call_update, false},
	{"scan", call_scan, true},
	{"scan, backward", call_scan_backward, true},
	{"TID range", call_tid_range, true},
	{"bitmap", call_bitmap, true},
	{"bitmap, lossy", call_bitmap_lossy, true},
	{"sample", call_sample, true},
	{"analyze", call_analyze, true},
	{"index_fetch", call_index_fetch, true},
	{"index_fetch, index page locked", call_index_fetch_locked, true},
	{"fetch_row_version", call_fetch, true},
	{"fetch_row_version, SnapshotAny", call_fetch_any, true},
	{"fetch_row_version, own TID", call_fetch_own_tid, true},
	{"satisfies_snapshot", call_satisfies, true},
	{"tuple_lock", call_lock, true},
	{"tuple_lock, own TID", call_lock_own_tid, true}
};

/* False: there is no row, or heap would fail an assertion. */
static bool
makes_sense(const Call *call, int i)
{
	TupleTableSlot *slot = call->slot;
	bool		satisfies = callbacks[i].function == call_satisfies;

	if (TTS_EMPTY(slot) && (!callbacks[i].reads || satisfies))
		return false;
	if (call->rel->rd_rel->relam != HEAP_TABLE_AM_OID || !callbacks[i].reads)
		return true;
	return TTS_IS_BUFFERTUPLE(slot) &&
		(!satisfies || BufferIsValid(((BufferHeapTupleTableSlot *) slot)->buffer));
}

/*
 * (table, zheap source, heap source, callback, kind of slot, its content before, with system
 * columns).  NULL: such a call makes no sense.
 */
Datum
zheap_unit_callback(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(3));
	Call		call = {0};
	TupleTableSlot *last;
	const char *result = NULL;
	int			i = 0;

	call.rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	call.zheap_source = table_open(PG_GETARG_OID(1), AccessShareLock);
	call.heap_source = table_open(PG_GETARG_OID(2), AccessShareLock);
	call.kind = text_to_cstring(PG_GETARG_TEXT_PP(4));
	call.content = text_to_cstring(PG_GETARG_TEXT_PP(5));
	call.system = PG_GETARG_BOOL(6);
	last = last_row(call.rel);
	call.tid = last->tts_tid;
	call.row = unit_row_text(last);
	ExecDropSingleTupleTableSlot(last);

	while (i < (int) lengthof(callbacks) && strcmp(callbacks[i].name, name) != 0)
		i++;
	if (i == (int) lengthof(callbacks))
		elog(ERROR, "callback \"%s\" is not known", name);
	slot_fill(&call);
	if (makes_sense(&call, i))
	{
		if (call.system && !TTS_EMPTY(call.slot))
			(void) unit_system_text(call.slot);
		result = callbacks[i].function(&call);
	}
	ExecDropSingleTupleTableSlot(call.slot);
	if (call.scan != NULL)
		table_endscan(call.scan);
	table_close(call.heap_source, NoLock);
	table_close(call.zheap_source, NoLock);
	table_close(call.rel, NoLock);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(result));
}
