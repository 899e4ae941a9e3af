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
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
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
#include "zheap/undo/undo_relation.h"

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
 * Find the entry of this key and TID (N3).  Return the leaf, locked for "access", and the item's
 * offset; or InvalidBuffer if there is no such entry.
 */
static Buffer
find_entry_of_key(Relation index, Relation rel, IndexTuple entry, int access,
				  OffsetNumber *offnum)
{
	BTScanInsert key = _bt_mkscankey(index, entry);
	Buffer		leaf;

	Assert(key->heapkeyspace && key->keysz == IndexRelationGetNumberOfKeyAttributes(index));
	key->scantid = &entry->t_tid;
	zcompat_bt_descend(index, rel, key, &leaf, access);
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

/* Delete the item at "offnum", which is marked as dead, from the leaf, locked exclusively. */
static void
delete_dead_item(Relation index, Relation rel, Buffer leaf, OffsetNumber offnum)
{
	IndexTuple	item = (IndexTuple) PageGetItem(BufferGetPage(leaf),
												PageGetItemId(BufferGetPage(leaf), offnum));
	bool		posting = BTreeTupleIsPosting(item);
	int			n = posting ? BTreeTupleGetNPosting(item) : 1;
	TM_IndexDeleteOp op = {
		.irel = index,.iblknum = BufferGetBlockNumber(leaf),.ndeltids = n,
		.deltids = palloc(n * sizeof(TM_IndexDelete)),
		.status = palloc0(n * sizeof(TM_IndexStatus))
	};

	for (int i = 0; i < n; i++)
	{
		op.deltids[i].tid = posting ? *BTreeTupleGetPostingN(item, i) : item->t_tid;
		op.deltids[i].id = i;
		op.status[i].idxoffnum = offnum;
		op.status[i].knowndeletable = true;
	}
	_bt_delitems_delete_check(index, leaf, rel, &op);
	pfree(op.deltids);
	pfree(op.status);
}

/*
 * Delete the entry of this key and TID if it is marked as dead.  A scan has marked it when no
 * version of the row had the key that a snapshot needs (N7); now one gets it again, and an entry
 * of its own.
 */
static void
delete_dead_entry(Relation index, Relation rel, IndexTuple entry)
{
	OffsetNumber offnum;
	Buffer		leaf;

	zundo_open();				/* L2: the conflict's xid is looked for with the leaf locked */
	leaf = find_entry_of_key(index, rel, entry, BT_WRITE, &offnum);
	if (!BufferIsValid(leaf))
		return;
	if (ItemIdIsDead(PageGetItemId(BufferGetPage(leaf), offnum)))
		delete_dead_item(index, rel, leaf, offnum);
	_bt_relbuf(index, leaf);
}

/*
 * Return whether there is an entry of this key and TID, of an older version of the row, or of one
 * that was rolled back.  No other transaction inserts one while we change the row; and a
 * backend that would remove it, or mark it, sees with the leaf locked that the newest version has
 * that key (N4, N7).  Serializable transactions that have read the leaf are in conflict with this
 * one, as with an insertion.
 */
static bool
entry_exists(Relation index, Relation rel, IndexTuple entry)
{
	OffsetNumber offnum;
	Buffer		leaf = find_entry_of_key(index, rel, entry, BT_READ, &offnum);
	bool		dead;

	if (!BufferIsValid(leaf))
		return false;
	dead = ItemIdIsDead(PageGetItemId(BufferGetPage(leaf), offnum));
	if (!dead)
		CheckForSerializableConflictIn(index, NULL, BufferGetBlockNumber(leaf));
	_bt_relbuf(index, leaf);
	if (dead)
		delete_dead_entry(index, rel, entry);
	return !dead;
}

ZKeyChange
zentries_key_change(Relation index, Relation rel, IndexTuple entry)
{
	OffsetNumber offnum;
	Buffer		leaf = find_entry_of_key(index, rel, entry, BT_READ, &offnum);
	Page		page;
	ItemId		item;
	bool		differ;

	if (!BufferIsValid(leaf))
		return ZKEY_NEW;
	page = BufferGetPage(leaf);
	item = PageGetItemId(page, offnum);
	differ = !ItemIdIsDead(item) &&
		!zkey_same_bytes(index, entry, (IndexTuple) PageGetItem(page, item));
	_bt_relbuf(index, leaf);
	return differ ? ZKEY_OTHER_BYTES : ZKEY_ADDED;
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

/* Return whether a hash index need not get an entry: it has one, or takes no nulls. */
static bool
needs_no_hash(Relation index, Relation rel, HeapTuple old, TupleTableSlot *slot)
{
	AttrNumber	attno = index->rd_index->indkey.values[0];
	bool		isnull;
	bool		was_null;
	Datum		value = slot_getattr(slot, attno, &isnull);
	Datum		before = heap_getattr(old, attno, RelationGetDescr(rel), &was_null);

	return isnull || zentries_hash_has(index, before, was_null, value);
}

/*
 * Insert into an index that is no B-tree.  The insertion may keep what it allocates in the
 * IndexInfo: use a memory context of its own.
 */
static void
insert_into_other(Relation index, Relation rel, HeapTuple old, TupleTableSlot *slot)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "entry of a zheap row",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(scratch);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexInfo  *info = BuildIndexInfo(index);

	(void) zkey_values(index, slot, values, isnull);
	if (index->rd_rel->relam != HASH_AM_OID || !needs_no_hash(index, rel, old, slot))
		(void) index_insert(index, values, isnull, &slot->tts_tid, rel, UNIQUE_CHECK_NO, true,
							info);
	/* releases the pages that the insertion keeps pinned in "info" */
	index_insert_cleanup(index, info);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(scratch);
}

/* Insert the keys that the comparison has found into a GIN index. */
static void
insert_into_gin(Relation index, const ZComparison *comparison, ItemPointer tid)
{
	int			i = zcomparison_find(comparison, RelationGetRelid(index));

	if (i < 0)
		elog(ERROR, "keys of index \"%s\" were not compared", RelationGetRelationName(index));
	zgin_insert(index, comparison->added[i], tid);
}

void
zentries_insert(Relation rel, const ZTableIndexes *indexes, const ZColumnChanges *changes,
				TupleTableSlot *slot, const ZBefore *before)
{
	ZTableIndex *copies = palloc(bms_num_members(changes->indexes) * sizeof(ZTableIndex));
	int			n = 0;

	/* an operator class may be written in SQL, and rebuild "indexes" */
	for (int i = -1; (i = bms_next_member(changes->indexes, i)) >= 0;)
		copies[n++] = indexes->indexes[i];
	n = 0;
	for (int i = -1; (i = bms_next_member(changes->indexes, i)) >= 0; n++)
	{
		/* the executor has locked it already, but C code that updates the table may not have */
		Relation	index = index_open(copies[n].oid, RowExclusiveLock);

		Assert(!zheap_holds_buffer_lock()); /* I3 */
		switch (copies[n].change)
		{
			case ZINDEX_ADDS:
			case ZINDEX_COMPARES:
				insert_into_btree(index, rel, slot, before->several_keys &&
								  !bms_is_member(i, changes->absent));
				break;
			case ZINDEX_MERGES:
				if (index->rd_rel->relam == GIN_AM_OID)
					insert_into_gin(index, before->comparison, &slot->tts_tid);
				else
					insert_into_other(index, rel, before->tuple, slot);
				break;
			case ZINDEX_RECHECKS:
			case ZINDEX_SUMMARIZES:
				insert_into_other(index, rel, before->tuple, slot);
				break;
			case ZINDEX_MOVES:
				elog(ERROR, "unexpected kind of index \"%s\"", RelationGetRelationName(index));
		}
		index_close(index, RowExclusiveLock);
	}
	pfree(copies);
}
