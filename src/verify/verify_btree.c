/*
 * verify_btree.c
 *		Check that each row that the snapshot sees is in a B-tree, with its key; and that each
 *		entry leads to a row, and to one that has the entry's key.
 *
 * The leaves are walked twice, from left to right.  Before the table is read, each entry, its
 * key's values and its TID, is added to a Bloom filter, in which rows are then looked up.  An
 * entry that the snapshot needs was there before the snapshot was taken, and stays as long as any
 * snapshot needs it, so concurrent changes do not matter.
 *
 * While the table is read, rows are added to another filter, as the entries that they should have.
 * An entry that the second walk does not find there is a suspect: it leads to nowhere, or to
 * another row, or to one that the snapshot does not see.  The suspect is compared with the table's
 * page.  If it seems to be wrong, it is compared again while the leaf is locked, that is, at a
 * moment when the entry exists (README.md).
 *
 * A filter may report an entry that was not added, with a probability that depends on
 * maintenance_work_mem, but never the other way round.
 *
 * LOCKING: a leaf, shared, while it is copied; if an entry seems to be wrong, also the table's
 * page and its overflow page below it while they are copied (L1).
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "zheap/btree/table_indexes.h"
#include "zheap/page/row.h"

#include "verify_private.h"

/* Estimated bytes of an entry: between a tuple of its own and a TID in a posting list. */
#define ENTRY_BYTES		12

typedef struct Suspect
{
	ItemPointerData tid;
	OffsetNumber item;			/* offset on the leaf */
	bool		dead;			/* true if marked as dead */
} Suspect;

/* A copy of a leaf. */
typedef struct Leaf
{
	PGAlignedBlock page;
	BlockNumber block;
	int			nsuspects;
	Suspect		suspects[MaxTIDsPerBTreePage];
} Leaf;

/* An item of a leaf. */
typedef struct LeafItem
{
	IndexTuple	tuple;
	Size		key_size;		/* bytes of header and key */
	ItemPointer tids;
	int			ntids;
	bool		dead;
} LeafItem;

/* ---- leaves ---- */

static void
report_page(Verify *verify, const Leaf *leaf, const char *what)
{
	verify_damaged("block %u of index \"%s\" is no %s", leaf->block,
				   RelationGetRelationName(verify->index->rel), what);
}

/*
 * Copy a page of the index to leaf->page.  "block" of the table, if valid, is copied into the view
 * at the same moment, under both locks; return whether it has rows.  The index has the page, as
 * verify_link() has checked.  No lock is held afterwards.  ERROR (index_corrupted) if it is no
 * page of a B-tree.
 */
static bool
copy_tree_page(Verify *verify, BlockNumber index_block, Leaf *leaf, BlockNumber block)
{
	Relation	index = verify->index->rel;
	Buffer		buffer;
	bool		has_rows;

	/* for P_NEW, _bt_getbuf() would add a page */
	Assert(BlockNumberIsValid(index_block));
	buffer = _bt_getbuf(index, index_block, BT_READ);
	has_rows = BlockNumberIsValid(block) && zview_read(&verify->view, block, NULL);
	memcpy(leaf->page.data, BufferGetPage(buffer), BLCKSZ);
	_bt_relbuf(index, buffer);
	leaf->block = index_block;
	if (!verify_has_special(leaf->page.data, sizeof(BTPageOpaqueData)))
		report_page(verify, leaf, "page of a B-tree");
	return has_rows;
}

/* Like copy_tree_page(), but ERROR (index_corrupted) if the page is no leaf. */
static bool
copy_leaf_with(Verify *verify, BlockNumber index_block, Leaf *leaf, BlockNumber block)
{
	bool		has_rows = copy_tree_page(verify, index_block, leaf, block);
	BTPageOpaque opaque = BTPageGetOpaque((Page) leaf->page.data);

	if (!P_IGNORE(opaque) && !P_ISLEAF(opaque))
		report_page(verify, leaf, "leaf page");
	return has_rows;
}

/*
 * Return the leftmost leaf: descend from the root, at each level to the first page that is not
 * being deleted.  If the root is split meanwhile, it stays the first page of its level.
 */
static BlockNumber
leftmost_leaf(Verify *verify, Leaf *leaf)
{
	BTMetaPageData *meta = BTPageGetMeta((Page) leaf->page.data);
	BlockNumber nblocks = 0;
	BlockNumber block;
	uint32		level;

	if (RelationGetNumberOfBlocks(verify->index->rel) == 0)
		verify_damaged_block(verify->index->rel, BTREE_METAPAGE);
	(void) copy_tree_page(verify, BTREE_METAPAGE, leaf, InvalidBlockNumber);
	if (!P_ISMETA(BTPageGetOpaque((Page) leaf->page.data)) || meta->btm_magic != BTREE_MAGIC)
		report_page(verify, leaf, "metapage of a B-tree");
	block = meta->btm_root;
	level = meta->btm_level;
	for (BlockNumber n = 0; level > 0 && block != P_NONE; n++)
	{
		Page		page = leaf->page.data;
		BTPageOpaque opaque;

		verify_link(verify->index->rel, block, n, &nblocks, "level");
		(void) copy_tree_page(verify, block, leaf, InvalidBlockNumber);
		opaque = BTPageGetOpaque(page);
		block = opaque->btpo_next;
		if (P_IGNORE(opaque))
			continue;
		if (P_ISLEAF(opaque) || opaque->btpo_level != level ||
			P_FIRSTDATAKEY(opaque) > PageGetMaxOffsetNumber(page) ||
			!verify_item_fits(page, P_FIRSTDATAKEY(opaque)))
			report_page(verify, leaf, "page of its level");
		block = BTreeTupleGetDownLink((IndexTuple)
									  PageGetItem(page,
												  PageGetItemId(page, P_FIRSTDATAKEY(opaque))));
		level--;
	}
	return block;
}

/*
 * Call "look" for a copy of each leaf, from left to right.  The right link is taken from the copy
 * that "look" has made last, so that entries which have moved to a new page before are there.
 */
static void
walk_leaves(Verify *verify, void (*look) (Verify *verify, Leaf *leaf))
{
	Leaf	   *leaf = palloc(sizeof(Leaf));
	BlockNumber block = leftmost_leaf(verify, leaf);
	BlockNumber nblocks = 0;

	for (BlockNumber n = 0; block != P_NONE; n++)
	{
		verify_link(verify->index->rel, block, n, &nblocks, "level");
		(void) copy_leaf_with(verify, block, leaf, InvalidBlockNumber);
		look(verify, leaf);
		block = BTPageGetOpaque((Page) leaf->page.data)->btpo_next;
	}
}

static OffsetNumber
first_item(const Leaf *leaf)
{
	BTPageOpaque opaque = BTPageGetOpaque((Page) leaf->page.data);

	/* a page that is being deleted has no items */
	return P_IGNORE(opaque) ? PageGetMaxOffsetNumber((Page) leaf->page.data) + 1 :
		P_FIRSTDATAKEY(opaque);
}

/* Set *item to point into the leaf.  Return whether the item is sound. */
static bool
read_item(Leaf *leaf, OffsetNumber offnum, LeafItem *item)
{
	Page		page = leaf->page.data;
	IndexTuple	tuple = verify_index_tuple(page, offnum);
	Size		size;

	if (tuple == NULL || BTreeTupleIsPivot(tuple))
		return false;
	size = IndexTupleSize(tuple);
	item->tuple = tuple;
	item->dead = ItemIdIsDead(PageGetItemId(page, offnum));
	item->key_size = size;
	item->tids = &tuple->t_tid;
	item->ntids = 1;
	if (BTreeTupleIsPosting(tuple))
	{
		item->ntids = BTreeTupleGetNPosting(tuple);
		item->key_size = BTreeTupleGetPostingOffset(tuple);
		if (item->ntids == 0 || item->key_size < sizeof(IndexTupleData) ||
			item->key_size + item->ntids * sizeof(ItemPointerData) > size)
			return false;
		item->tids = (ItemPointer) ((char *) tuple + item->key_size);
	}
	return true;
}

/* Return the item's key, in the current context, or NULL if its values are damaged. */
static StringInfo
item_key(Verify *verify, const LeafItem *item)
{
	TupleDesc	desc = RelationGetDescr(verify->index->rel);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (!verify_entry_values(item->tuple, item->key_size, desc, values, isnull))
		return NULL;
	return verify_key_bytes(desc, values, isnull);
}

/* ---- the first walk ---- */

/* First walk: add the leaf's entries to the filter, and report damaged items. */
static void
note_entries(Verify *verify, Leaf *leaf)
{
	OffsetNumber max = PageGetMaxOffsetNumber((Page) leaf->page.data);
	MemoryContext old = MemoryContextSwitchTo(verify->per_row);

	for (OffsetNumber off = first_item(leaf); off <= max; off++)
	{
		LeafItem	item;
		StringInfo	key = NULL;
		int			len;

		MemoryContextReset(verify->per_row);
		if (read_item(leaf, off, &item))
			key = item_key(verify, &item);
		if (key == NULL)
		{
			verify_report_item(verify, leaf->block, off);
			continue;
		}
		/* the row is dead to all; on a standby, only to all snapshots of the primary */
		if (item.dead && !TransactionStartedDuringRecovery())
			continue;
		len = key->len;
		for (int i = 0; i < item.ntids; i++)
			verify_add_entry(verify->index->entries, key, len, &item.tids[i]);
	}
	MemoryContextSwitchTo(old);
}

static void
read_btree(Verify *verify)
{
	walk_leaves(verify, note_entries);
}

/* Look up the row's entry, and add the row to the other filter for the second walk. */
static bool
btree_has(Verify *verify)
{
	VerifyIndex *index = verify->index;
	StringInfo	key = verify_key_bytes(RelationGetDescr(index->rel), index->values,
									   index->isnull);
	int			len = key->len;

	verify_add_entry(index->rows, key, len, &verify->slot->tts_tid);
	return !verify_lacks_entry(index->entries, key, len, &verify->slot->tts_tid);
}

/* ---- the second walk: suspects ---- */

static int
compare_suspects(const void *a, const void *b)
{
	return ItemPointerCompare(&((Suspect *) a)->tid, &((Suspect *) b)->tid);
}

/*
 * Add the item's TIDs that lead to block "from" or later, and that no row read has accounted for.
 */
static void
add_suspects(Verify *verify, Leaf *leaf, const LeafItem *item, OffsetNumber offnum,
			 BlockNumber from)
{
	StringInfo	key = item_key(verify, item);
	int			len;

	if (key == NULL)
		return;
	len = key->len;
	for (int i = 0; i < item->ntids && leaf->nsuspects < MaxTIDsPerBTreePage; i++)
	{
		Suspect    *suspect = &leaf->suspects[leaf->nsuspects];

		if (ItemPointerGetBlockNumberNoCheck(&item->tids[i]) < from ||
			(!item->dead &&
			 !verify_lacks_entry(verify->index->rows, key, len, &item->tids[i])))
			continue;
		suspect->tid = item->tids[i];
		suspect->item = offnum;
		suspect->dead = item->dead;
		leaf->nsuspects++;
	}
}

/* Set the leaf's suspects to those of table blocks from "from" on, ordered by TID. */
static void
collect_suspects(Verify *verify, Leaf *leaf, BlockNumber from)
{
	OffsetNumber max = PageGetMaxOffsetNumber((Page) leaf->page.data);
	MemoryContext old = MemoryContextSwitchTo(verify->per_row);

	leaf->nsuspects = 0;
	for (OffsetNumber off = first_item(leaf); off <= max; off++)
	{
		LeafItem	item;

		MemoryContextReset(verify->per_row);
		if (read_item(leaf, off, &item))
			add_suspects(verify, leaf, &item, off, from);
	}
	MemoryContextSwitchTo(old);
	qsort(leaf->suspects, leaf->nsuspects, sizeof(Suspect), compare_suspects);
}

/*
 * Return whether the entry's key is that of the row in the view.  True also if that cannot be
 * required: the row may have several keys, of which entries may be left (N4), or the snapshot does
 * not see it.
 */
static bool
has_key_of_row(Verify *verify, Leaf *leaf, const Suspect *suspect)
{
	VerifyIndex *index = verify->index;
	Page		page = verify->view.page;
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(&suspect->tid);
	ItemId		lp = PageGetItemId(page, offnum);
	StringInfo	of_row;
	StringInfo	of_entry;
	LeafItem	item;

	if (suspect->dead || !ItemIdIsNormal(lp) ||
		(zrow_has_several_keys((char *) page + ItemIdGetOffset(lp)) &&
		 zindex_may_have_several_keys(verify->rel, index->rel)) ||
		!verify_fetch_seen(verify, offnum))
		return true;
	if (!verify_form_key(verify, index))
		return false;
	of_row = verify_key_bytes(RelationGetDescr(index->rel), index->values, index->isnull);
	if (!read_item(leaf, suspect->item, &item))
		return true;
	of_entry = item_key(verify, &item);
	return of_entry == NULL || (of_row->len == of_entry->len &&
								memcmp(of_row->data, of_entry->data, of_row->len) == 0);
}

/*
 * Compare a suspect with the page in the view.  Return a name of where it leads to if it must not
 * lead there, or NULL.
 */
static const char *
wrong_place(Verify *verify, Leaf *leaf, const Suspect *suspect, bool has_rows)
{
	const char *wrong = NULL;
	MemoryContext old;

	if (!has_rows)
		return "a page that has no rows";
	if (!verify_pointer_exists(verify->view.page,
							   ItemPointerGetOffsetNumberNoCheck(&suspect->tid)))
		return "a line pointer that is not in use";
	MemoryContextReset(verify->per_row);
	ResetPerTupleExprContext(verify->estate);
	old = MemoryContextSwitchTo(verify->per_row);
	if (!has_key_of_row(verify, leaf, suspect))
		wrong = "a row that has another key";
	ExecClearTuple(verify->slot);
	MemoryContextSwitchTo(old);
	return wrong;
}

/* Return the number of suspects, from the first on, that lead to the same block of the table. */
static int
count_group(const Suspect *suspects, int n)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(&suspects[0].tid);
	int			group = 1;

	Assert(n > 0);
	while (group < n && ItemPointerGetBlockNumberNoCheck(&suspects[group].tid) == block)
		group++;
	return group;
}

/*
 * Compare a group of suspects that lead to one block, which is in the view if "has_rows".  Return
 * whether all are right; report the others if "report".
 */
static bool
check_group(Verify *verify, Leaf *leaf, int first, bool has_rows, bool report)
{
	int			n = count_group(&leaf->suspects[first], leaf->nsuspects - first);
	bool		well = true;

	Assert(!has_rows || verify->view.block ==
		   ItemPointerGetBlockNumberNoCheck(&leaf->suspects[first].tid));
	for (int i = first; i < first + n; i++)
	{
		Suspect    *suspect = &leaf->suspects[i];
		const char *wrong = wrong_place(verify, leaf, suspect, has_rows);

		well &= wrong == NULL;
		if (report && wrong)
			verify_report_entry(verify, &suspect->tid, leaf->block, suspect->item, wrong);
	}
	return well;
}

/* Report suspects beyond the table's end: it cannot become shorter while we hold our lock. */
static void
report_beyond(Verify *verify, Leaf *leaf, int first)
{
	for (int i = first; i < leaf->nsuspects; i++)
		verify_report_entry(verify, &leaf->suspects[i].tid, leaf->block,
							leaf->suspects[i].item, "a block that does not exist");
}

/*
 * Second walk: compare the leaf's suspects with the table, without locks.  Where a group seems
 * wrong, copy leaf and table page again together, and report what is wrong in these copies.
 */
static void
check_suspects(Verify *verify, Leaf *leaf)
{
	int			i = 0;

	collect_suspects(verify, leaf, 0);
	while (i < leaf->nsuspects)
	{
		BlockNumber block = ItemPointerGetBlockNumberNoCheck(&leaf->suspects[i].tid);

		CHECK_FOR_INTERRUPTS();
		if (block >= RelationGetNumberOfBlocks(verify->rel))
		{
			report_beyond(verify, leaf, i);
			return;
		}
		if (!verify_is_damaged(verify, block) &&
			!check_group(verify, leaf, i, zview_read(&verify->view, block, NULL), false))
		{
			bool		has_rows = copy_leaf_with(verify, leaf->block, leaf, block);

			i = 0;
			collect_suspects(verify, leaf, block);
			if (leaf->nsuspects == 0 ||
				ItemPointerGetBlockNumberNoCheck(&leaf->suspects[0].tid) != block)
				continue;
			(void) check_group(verify, leaf, i, has_rows, true);
		}
		i += count_group(&leaf->suspects[i], leaf->nsuspects - i);
	}
}

static void
read_btree_again(Verify *verify)
{
	walk_leaves(verify, check_suspects);
}

/* ---- the method ---- */

static void
begin_btree(VerifyIndex *index, int memory)
{
	int64		entries = (int64) RelationGetNumberOfBlocks(index->rel) *
		(BLCKSZ / ENTRY_BYTES);

	index->entries = bloom_create(Max(entries, 1), Max(memory / 2, 1024), 0);
	index->rows = bloom_create(Max(entries, 1), Max(memory / 2, 1024), 0);
}

static void
end_btree(VerifyIndex *index)
{
	bloom_free(index->entries);
	bloom_free(index->rows);
}

const VerifyMethod verify_btree = {
	.am = BTREE_AM_OID,.begin = begin_btree,.read = read_btree,
	.read_again = read_btree_again,.has = btree_has,.end = end_btree
};
