/*
 * dml_update_entries.c
 *		Index entries for a row that was changed in place.
 *
 * The row already has the mark of several keys, and its new version exists (N1).  No other
 * transaction searches for it by its new key before we have committed.
 *
 * LOCKING: no page of the table is locked; the index locks its own.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/index.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat_index.h"
#include "zheap/base/base.h"
#include "zheap/btree/dead_ranges.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/dml/update.h"

/* Return whether the leaf's item is an entry for the TID. */
static bool
names_row(IndexTuple item, ItemPointer tid)
{
	if (!BTreeTupleIsPosting(item))
		return ItemPointerEquals(&item->t_tid, tid);
	for (int i = 0; i < BTreeTupleGetNPosting(item); i++)
	{
		if (ItemPointerEquals(BTreeTupleGetPostingN(item, i), tid))
			return true;
	}
	return false;
}

/* Return the offset of the first item of the locked leaf that is not before the key. */
static OffsetNumber
search_leaf(Relation index, BTScanInsert key, Page page)
{
	OffsetNumber low = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	OffsetNumber high = PageGetMaxOffsetNumber(page) + 1;

	while (low < high)
	{
		OffsetNumber middle = low + (high - low) / 2;

		if (_bt_compare(index, key, page, middle) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Find the entry of this key and TID (N3).  Return the leaf, locked in share mode, and the item's
 * offset; or InvalidBuffer if there is no such entry.
 */
static Buffer
find_entry_of_key(Relation index, Relation rel, IndexTuple entry, OffsetNumber *offnum)
{
	BTScanInsert key = _bt_mkscankey(index, entry);
	Buffer		leaf;

	Assert(key->heapkeyspace && key->keysz == IndexRelationGetNumberOfKeyAttributes(index));
	key->scantid = &entry->t_tid;
	zcompat_bt_descend(index, rel, key, &leaf, BT_READ);
	if (BufferIsValid(leaf))
	{
		Page		page = BufferGetPage(leaf);

		*offnum = search_leaf(index, key, page);
		if (*offnum > PageGetMaxOffsetNumber(page) ||
			_bt_compare(index, key, page, *offnum) != 0 ||
			!names_row((IndexTuple) PageGetItem(page, PageGetItemId(page, *offnum)),
					   &entry->t_tid))
		{
			_bt_relbuf(index, leaf);
			leaf = InvalidBuffer;
		}
	}
	pfree(key);
	return leaf;
}

/*
 * Return whether there is an entry of this key and TID, of an older version of the row, or of one
 * that was rolled back.  No other transaction inserts one while we change the row; and a
 * backend that would remove it sees, with the leaf locked, that the newest version has that key
 * (N4).  Serializable transactions that have read the leaf are in conflict with this one, as
 * with an insertion.  ERROR (data_corrupted) if the entry is marked as dead.
 */
static bool
entry_exists(Relation index, Relation rel, IndexTuple entry)
{
	OffsetNumber offnum;
	Buffer		leaf = find_entry_of_key(index, rel, entry, &offnum);

	if (!BufferIsValid(leaf))
		return false;
	CheckForSerializableConflictIn(index, NULL, BufferGetBlockNumber(leaf));
	/* only entries of rows that are dead to all are marked */
	if (ItemIdIsDead(PageGetItemId(BufferGetPage(leaf), offnum)))
		zheap_corrupt(rel, ItemPointerGetBlockNumber(&entry->t_tid),
					  ItemPointerGetOffsetNumber(&entry->t_tid),
					  "row is being updated, but is marked as dead in index \"%s\"",
					  RelationGetRelationName(index));
	_bt_relbuf(index, leaf);
	return true;
}

bool
zentries_have_other_bytes(Relation index, Relation rel, IndexTuple entry)
{
	OffsetNumber offnum;
	Buffer		leaf = find_entry_of_key(index, rel, entry, &offnum);
	bool		differ;

	if (!BufferIsValid(leaf))
		return false;
	differ = !zkey_same_bytes(index, entry, (IndexTuple)
							  PageGetItem(BufferGetPage(leaf),
										  PageGetItemId(BufferGetPage(leaf), offnum)));
	_bt_relbuf(index, leaf);
	return differ;
}

/*
 * Insert the row's entry into a B-tree, unless "look_first" and it exists.  No page is locked on
 * entry and exit.
 */
static void
insert_into_btree(Relation index, Relation rel, TupleTableSlot *slot, bool look_first)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		exists = false;

	if (!zkey_values(index, slot, values, isnull))
		return;
	if (look_first)
	{
		IndexTuple	entry = index_form_tuple(RelationGetDescr(index), values, isnull);

		entry->t_tid = slot->tts_tid;
		exists = entry_exists(index, rel, entry);
		if (exists)
			zdead_inserted(index, entry);	/* N6: the entry has a version again */
		pfree(entry);
	}
	/* indexUnchanged is true, so that a full leaf is searched for entries that can be removed */
	if (!exists)
		(void) index_insert(index, values, isnull, &slot->tts_tid, rel, UNIQUE_CHECK_NO, true,
							NULL);
}

/*
 * Insert into an index that is no B-tree, which summarizes.  The insertion may keep what it
 * allocates in the IndexInfo: use a memory context of its own.
 */
static void
insert_into_summary(Relation index, Relation rel, TupleTableSlot *slot)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "summary of a zheap row",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexInfo  *info = BuildIndexInfo(index);

	(void) zkey_values(index, slot, values, isnull);
	(void) index_insert(index, values, isnull, &slot->tts_tid, rel, UNIQUE_CHECK_NO, true,
						info);
	/* releases the pages that the insertion keeps pinned in "info" */
	index_insert_cleanup(index, info);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

void
zentries_insert(Relation rel, const ZTableIndexes *indexes, const Bitmapset *which,
				TupleTableSlot *slot, bool had_several_keys)
{
	ZTableIndex *copies = palloc(bms_num_members(which) * sizeof(ZTableIndex));
	int			n = 0;

	/* an operator class may be written in SQL, and rebuild "indexes" */
	for (int i = -1; (i = bms_next_member(which, i)) >= 0;)
		copies[n++] = indexes->indexes[i];
	for (int i = 0; i < n; i++)
	{
		/* the executor has locked it already, but C code that updates the table may not have */
		Relation	index = index_open(copies[i].oid, RowExclusiveLock);

		Assert(!zheap_holds_buffer_lock()); /* I3 */
		switch (copies[i].change)
		{
			case ZINDEX_ADDS:
			case ZINDEX_COMPARES:
				insert_into_btree(index, rel, slot, had_several_keys);
				break;
			case ZINDEX_SUMMARIZES:
				insert_into_summary(index, rel, slot);
				break;
			case ZINDEX_MERGES:
			case ZINDEX_RECHECKS:
			case ZINDEX_MOVES:
				elog(ERROR, "unexpected kind of index \"%s\"", RelationGetRelationName(index));
		}
		index_close(index, RowExclusiveLock);
	}
	pfree(copies);
}
