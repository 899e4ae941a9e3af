/*
 * clean_index.c
 *		Remove the entries of rows that a writer has pruned from one B-tree.
 *
 * A row's key serves only to find the leaf: all entries there that name one of the rows are
 * removed, as they would be before a split of the leaf (index_delete.c checks the rows once
 * more).  So a leaf is visited once, no matter how many of the rows have entries there.
 *
 * A row's earlier keys are not known.  In an index that may have several entries of a row, all
 * leaves are searched for rows that have had several keys; and in each index for rows whose keys
 * are not known any more.
 *
 * No cleanup lock is needed, because a line pointer is not reused before all scans that may
 * remember it have ended (clean_by_writer.c).
 *
 * LOCKING: one leaf, exclusively, and table pages and undo below it; or the locks of deleting
 * it.
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
#include "zheap/base/stats.h"
#include "zheap/index/index.h"
#include "zheap/index/index_leaf.h"
#include "zheap/scan/tuple_slot.h"

#include "clean_private.h"

/*
 * Removal from an index pays if the first TRIAL_LEAVES that are visited have ENTRIES_A_LEAF of
 * the batch's entries on average (README.md, "What pays").
 */
#define TRIAL_LEAVES	8
#define ENTRIES_A_LEAF	3

/* Most pages that deleting one leaf may delete: others beside and above it. */
#define MAX_DELETED		64

StaticAssertDecl(offsetof(ZReapRow, tid) == 0, "ZLeafRows");

/* Describe what to collect on a leaf: entries of these rows, which are in the order of TIDs. */
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

void
clean_count(ZIndexRemoval *removal)
{
	zstats_count(removal->table, ZTABLE_DEAD_ENTRIES, removal->entries);
	zstats_count(removal->table, ZTABLE_DEAD_LEAVES, removal->leaves);
	removal->entries = removal->leaves = 0;
}

/* ---- pages without entries ---- */

static void
note_pages(ZReapNotes *notes, Relation index, const BTVacState *state)
{
	/* the oldest make room, among them those of dropped indexes */
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

/* Delete the leaf, which is locked exclusively on entry; no page is locked on return. */
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
 * Unlock the leaf; delete it if it has no entry.  Not while a scan has it pinned: VACUUM waits
 * for such scans, which may be at a row that it is about to free, but only on pages that still
 * exist.
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

/* Return whether the order of a type of variable length depends on no library and no setting. */
static bool
type_is_certain(Oid type)
{
	return type == NUMERICOID || type == BYTEAOID || type == INETOID || type == CIDROID ||
		type == BITOID || type == VARBITOID;
}

/*
 * Return whether the order of the index's keys is certainly the one in which they were inserted.
 * Then an entry that is not where its key leads does not exist.  Orders of collations other than
 * C change with libraries of the operating system, and those of user-defined operator classes
 * with their functions; an index that is in disorder has entries that only VACUUM finds.
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

/* Return a key to be filled with each row's values. */
static BTScanInsert
make_key(Relation index)
{
	BTScanInsert key = _bt_mkscankey(index, NULL);

	_bt_metaversion(index, &key->heapkeyspace, &key->allequalimage);
	key->keysz = IndexRelationGetNumberOfKeyAttributes(index);
	return key;
}

/*
 * Fill the key with the row's values.  Return false if one is in the toast table, where it may
 * be gone.
 */
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

/* Return whether the index may have other entries of the row than that of its last key. */
static bool
has_several(const ZIndexRemoval *removal, const ZReapRow *row)
{
	return removal->several && row->several;
}

/*
 * Count the index as one without an entry of the row, if "gone": its entry was removed, or there
 * was none.
 */
static void
note_entry(const ZIndexRemoval *removal, ZReapRow *row, bool gone)
{
	if (row->here || !gone || has_several(removal, row))
		return;
	row->here = true;
	row->removed++;
}

/*
 * Remove the entries of all rows from the leaf to which the key leads.  Returns whether no entry
 * found there had to stay, so that the leaf has no entry of the key's row.  The leaf is locked
 * exclusively meanwhile.
 */
static bool
remove_at(ZIndexRemoval *removal, BTScanInsert key, const ZLeafRows *rows, ZLeafEntries *leaf)
{
	Buffer		buffer;
	bool		all = true;
	int			n;

	removal->notes->looks++;
	removal->leaves++;
	zcompat_bt_descend(removal->index, removal->table, key, &buffer, BT_WRITE);
	if (!BufferIsValid(buffer))
		return false;
	zleaf_collect(removal->index, buffer, rows, leaf);
	n = leaf->op.ndeltids;
	if (n > 0)
		zindex_delete_from_leaf(removal->table, buffer, &leaf->op, NULL);
	for (int id = 0; id < n; id++)
	{
		all = all && leaf->status[id].knowndeletable;
		removal->entries += leaf->status[id].knowndeletable;
		note_entry(removal, leaf->rows[id], leaf->status[id].knowndeletable);
	}
	leave_leaf(removal, buffer);
	return all;
}

/* Return whether the entries are so scattered that they are better left to VACUUM. */
static bool
is_scattered(const ZIndexRemoval *removal)
{
	return removal->may_leave && removal->leaves == TRIAL_LEAVES &&
		removal->entries < TRIAL_LEAVES * ENTRIES_A_LEAF;
}

bool
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
	bool		left = false;

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	Assert(CheckRelationLockedByMe(removal->table, ShareUpdateExclusiveLock, false));	/* G6 */
	for (int i = 0; i < notes->nrows; i++)
		notes->lists->rows[i].here = false;
	MemoryContextSwitchTo(scratch);
	/* B-trees of older versions do not order equal keys by TID */
	for (int i = 0; i < notes->nrows && key->heapkeyspace && !left; i++)
	{
		ZReapRow   *row = &notes->lists->rows[i];

		CHECK_FOR_INTERRUPTS();
		if (!row->here && !row->anywhere && !has_several(removal, row) &&
			fill_key(removal, row, key))
			note_entry(removal, row, remove_at(removal, key, &collect, leaf) && certain);
		left = is_scattered(removal);
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return left;
}

/* ---- rows that their keys don't lead to: all leaves ---- */

/* A row of which an entry was left, for whatever reason, is not done. */
static void
note_swept(void *arg, const ZLeafEntries *leaf, int n)
{
	ZIndexRemoval *removal = arg;

	for (int id = 0; id < n; id++)
	{
		ZReapRow   *row = leaf->rows[id];

		row->here = row->here && leaf->status[id].knowndeletable;
		removal->entries += leaf->status[id].knowndeletable;
	}
}

/* Deleting a page leaks memory, and there may be many pages: use a context for each. */
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
	removal->leaves += walk.leaves;
	state->leaves += walk.leaves;
	state->paused = walk.paused;
	if (state->paused)
		return false;
	for (int i = 0; i < notes->nswept && complete; i++)
		rows[i].removed += rows[i].here;
	return true;
}
