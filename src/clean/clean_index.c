/*
 * clean_index.c
 *		The entries of rows that a writer has pruned go from one B-tree.
 *
 * A row's key tells the leaf, and is used for nothing else: all entries on it that name one of
 * the rows go, as they would if the leaf were about to be split (index_delete.c looks at the rows
 * once more).  So a leaf is visited once however many of the rows have their entries there.
 *
 * The other keys that a row had are known to nobody.  In an index that may have several entries of
 * a row, all leaves are looked through for those of rows that have had several keys; and in each
 * index for rows whose keys are not known any more.
 *
 * No cleanup lock is needed, as the line pointers are not given to other rows before all scans
 * that may remember them have ended (clean_by_writer.c).
 *
 * LOCKING: one leaf, exclusively, and table pages and undo below it; or what deleting it takes.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/base/pg_compat_index.h"
#include "zheap/base/base.h"
#include "zheap/index/index.h"
#include "zheap/index/index_leaf.h"
#include "zheap/scan/tuple_slot.h"

#include "clean_private.h"

/* What deletes a page may delete others beside and above it. */
#define MAX_DELETED		64

StaticAssertDecl(offsetof(ZReapRow, tid) == 0, "ZLeafRows");

/* What to collect on a leaf: entries of these rows, in the order of TIDs. */
static ZLeafRows
looked_for(ZReapRow *rows, int nrows, ZLeafFilter *filter)
{
	memset(filter, 0, sizeof(*filter));
	for (int i = 0; i < nrows; i++)
		zleaf_filter_add(filter, &rows[i].tid);
	return (ZLeafRows)
	{
		.rows = rows,.nrows = nrows,.size = sizeof(ZReapRow),.last = MaxBlockNumber,
			.filter = filter,.dead = true
	};
}

/* ---- pages without entries ---- */

static void
note_pages(ZReapNotes *notes, Relation index, const BTVacState *state)
{
	/* of an index that is gone as well: the oldest make room */
	if (notes->npages + state->npendingpages > ZREAP_MAX_PAGES)
	{
		notes->npages -= ZREAP_MAX_PAGES / 4;
		memmove(notes->lists->pages, notes->lists->pages + ZREAP_MAX_PAGES / 4,
				notes->npages * sizeof(ZReapPage));
	}
	for (int i = 0; i < state->npendingpages && notes->npages < ZREAP_MAX_PAGES; i++)
		notes->lists->pages[notes->npages++] = (ZReapPage)
		{
			.index = index->rd_locator,.block = state->pendingpages[i].target,
				.safe = state->pendingpages[i].safexid
		};
}

/* The leaf is locked, and left. */
static void
delete_page(ZIndexRemoval *removal, Buffer buffer)
{
	IndexBulkDeleteResult stats = {0};
	IndexVacuumInfo info = {.index = removal->index};
	BTPendingFSM pending[MAX_DELETED];
	BTVacState	state = {
		.stats = &stats,.bufsize = MAX_DELETED,.maxbufsize = MAX_DELETED,.pendingpages = pending
	};

	zcompat_info_set_table(&info, removal->table);
	state.info = &info;
	_bt_pagedel(removal->index, buffer, &state);
	note_pages(removal->notes, removal->index, &state);
}

/*
 * The leaf is locked, and left; deleted if it has no entry.  Not while a scan has it pinned:
 * VACUUM waits for such scans, which may be at a row that it is about to free, on pages that are
 * there only.
 */
static void
leave_leaf(ZIndexRemoval *removal, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	BTPageOpaque opaque = BTPageGetOpaque(page);

	if (zleaf_is_empty(page) && !P_RIGHTMOST(opaque) && !P_ISROOT(opaque) &&
		IsBufferCleanupOK(buffer))
		delete_page(removal, buffer);
	else
		_bt_relbuf(removal->index, buffer);
}

void
clean_free_pages(Relation index, ZReapNotes *notes)
{
	RelFileLocator locator = index->rd_locator;
	BlockNumber first = MaxBlockNumber;
	BlockNumber end = 0;
	int			kept = 0;

	for (int i = 0; i < notes->npages; i++)
	{
		const ZReapPage *page = &notes->lists->pages[i];

		if (RelFileLocatorEquals(page->index, locator) &&
			GlobalVisCheckRemovableFullXid(NULL, page->safe))
		{
			RecordFreeIndexPage(index, page->block);
			first = Min(first, page->block);
			end = Max(end, page->block + 1);
		}
		else
			notes->lists->pages[kept++] = *page;
	}
	notes->npages = kept;
	if (first < end)
		FreeSpaceMapVacuumRange(index, first, end);
}

/* ---- the order of an index ---- */

/* Of types whose values differ in length: does their order depend on no library and setting? */
static bool
type_is_certain(Oid type)
{
	return type == NUMERICOID || type == BYTEAOID || type == INETOID || type == CIDROID ||
		type == BITOID || type == VARBITOID;
}

/*
 * Is the order of the index's keys today certain to be the one in which they were inserted?  Then
 * an entry that is not where its key leads to is not there.  Orders of collations other than C
 * change with libraries of the operating system, those of operator classes that somebody has
 * written with their functions; an index that is in disorder has entries that only VACUUM finds.
 */
static bool
order_is_certain(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);
		Oid			collation = index->rd_indcollation[i];

		if (index->rd_opfamily[i] >= FirstNormalObjectId)
			return false;
		if (OidIsValid(collation) ? !zcompat_collate_is_c(collation) :
			att->attlen < 0 && !type_is_certain(att->atttypid))
			return false;
	}
	return true;
}

/* ---- the way to a leaf ---- */

/* One that is to be filled with each row's values. */
static BTScanInsert
make_key(Relation index)
{
	BTScanInsert key = _bt_mkscankey(index, NULL);

	_bt_metaversion(index, &key->heapkeyspace, &key->allequalimage);
	key->keysz = IndexRelationGetNumberOfKeyAttributes(index);
	return key;
}

/* False: a value is in the toast table, and may be gone. */
static bool
fill_key(const ZIndexRemoval *removal, ZReapRow *row, BTScanInsert key)
{
	TupleTableSlot *slot = removal->slot;
	Relation	index = removal->index;
	ZVersionId	id = {0};

	ztuple_slot_store(slot, removal->notes->lists->bytes + row->offset, row->len, &row->tid,
					  RelationGetRelid(removal->table), &id);
	key->anynullkeys = false;
	for (int i = 0; i < key->keysz; i++)
	{
		ScanKey		part = &key->scankeys[i];
		bool		isnull;

		part->sk_argument = slot_getattr(slot, index->rd_index->indkey.values[i], &isnull);
		if (!isnull && TupleDescAttr(RelationGetDescr(index), i)->attlen == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(part->sk_argument)))
			return false;
		part->sk_flags = isnull ? part->sk_flags | SK_ISNULL : part->sk_flags & ~SK_ISNULL;
		key->anynullkeys = key->anynullkeys || isnull;
	}
	key->scantid = &row->tid;
	return true;
}

/* May the index have other entries of the row than that of its last key? */
static bool
has_several(const ZIndexRemoval *removal, const ZReapRow *row)
{
	return removal->several && row->several;
}

/* There was an entry of the row, which has been removed; or there is none. */
static void
note_entry(const ZIndexRemoval *removal, ZReapRow *row, bool gone)
{
	if (row->here || !gone || has_several(removal, row))
		return;
	row->here = true;
	row->removed++;
}

/*
 * From the leaf that the key leads to; what else of the rows is there goes as well.  Returns
 * whether nothing there had to stay, so that the leaf has no entry of the key's row.
 */
static bool
remove_at(ZIndexRemoval *removal, BTScanInsert key, const ZLeafRows *rows, ZLeafEntries *leaf)
{
	Buffer		buffer;
	bool		all = true;
	int			n;

	removal->notes->looks++;
	zcompat_bt_descend(removal->index, removal->table, key, &buffer, BT_WRITE);
	if (!BufferIsValid(buffer))
		return false;
	zleaf_collect(removal->index, buffer, rows, leaf);
	n = leaf->op.ndeltids;
	if (n > 0)
		zindex_delete_from_leaf(removal->table, buffer, &leaf->op);
	for (int id = 0; id < n; id++)
	{
		all = all && leaf->status[id].knowndeletable;
		note_entry(removal, leaf->rows[id], leaf->status[id].knowndeletable);
	}
	leave_leaf(removal, buffer);
	return all;
}

void
clean_remove_dead(ZIndexRemoval *removal)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zheap entries to remove",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	MemoryContext scratch = AllocSetContextCreate(context, "zheap entry to remove",
												  ALLOCSET_DEFAULT_SIZES);
	ZReapNotes *notes = removal->notes;
	ZLeafEntries *leaf = palloc(sizeof(ZLeafEntries));
	ZLeafFilter filter;
	ZLeafRows	collect = looked_for(notes->lists->rows, notes->nrows, &filter);
	BTScanInsert key = make_key(removal->index);
	bool		certain = order_is_certain(removal->index);

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	Assert(CheckRelationLockedByMe(removal->table, ShareUpdateExclusiveLock, false));	/* G6 */
	for (int i = 0; i < notes->nrows; i++)
		notes->lists->rows[i].here = false;
	MemoryContextSwitchTo(scratch);
	/* entries of older versions of the B-tree are not found by their TIDs */
	for (int i = 0; i < notes->nrows && key->heapkeyspace; i++)
	{
		ZReapRow   *row = &notes->lists->rows[i];

		CHECK_FOR_INTERRUPTS();
		if (!row->here && !row->anywhere && !has_several(removal, row) &&
			fill_key(removal, row, key))
			note_entry(removal, row, remove_at(removal, key, &collect, leaf) && certain);
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---- rows that their keys don't lead to: all leaves ---- */

/* A row that has an entry left, for whatever reason, is not done with. */
static void
note_swept(void *arg, const ZLeafEntries *leaf, int n)
{
	for (int id = 0; id < n; id++)
	{
		ZReapRow   *row = leaf->rows[id];

		row->here = row->here && leaf->status[id].knowndeletable;
	}
}

/* What deletes a page leaves memory behind, and there may be many. */
static void
leave_swept(void *arg, Buffer buffer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zheap page to delete",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	leave_leaf(arg, buffer);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
clean_may_pause(Relation index)
{
	bool		heapkeyspace;
	bool		allequalimage;

	_bt_metaversion(index, &heapkeyspace, &allequalimage);
	return heapkeyspace && order_is_certain(index);
}

bool
clean_sweep_dead(ZIndexRemoval *removal, bool may_pause)
{
	ZReapNotes *notes = removal->notes;
	ZReapRow   *rows = notes->lists->waiting;
	ZReapWalk  *state = &notes->lists->walk;
	ZLeafFilter filter;
	ZLeafWalk	walk = {
		.table = removal->table,.index = removal->index,
		.rows = looked_for(rows, notes->nswept, &filter),
		.note = note_swept,.leave_empty = leave_swept,.arg = removal,
		.max_leaves = removal->max_leaves,
		.pivot = may_pause ? &state->pivot.tuple : NULL,.paused = state->paused
	};
	bool		complete;

	Assert(notes->nswept > 0);
	Assert(may_pause || !state->paused);
	Assert(CheckRelationLockedByMe(removal->table, ShareUpdateExclusiveLock, false));	/* G6 */
	for (int i = 0; i < notes->nswept && !walk.paused; i++)
		rows[i].here = true;
	complete = zleaf_walk(&walk);
	notes->looks += walk.leaves;
	state->leaves += walk.leaves;
	state->paused = walk.paused;
	if (state->paused)
		return false;
	for (int i = 0; i < notes->nswept && complete; i++)
		rows[i].removed += rows[i].here;
	return true;
}
