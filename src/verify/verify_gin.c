/*
 * verify_gin.c
 *		Is each row that the snapshot sees in a GIN index?
 *
 * A scan of the whole index, without a condition, tells the TIDs that it has.  That takes as long
 * as the index is large, however often a value occurs; whether a search for the row's values would
 * come to the entry it does not tell.
 *
 * The access method believes what it finds on a page.  So pages are looked at before: are they
 * of such an index, are their items within them, and the lists and keys within the items, and do
 * the links end that the scan follows: to the first page below, and to the right, and along the
 * pending list?  It keeps pages locked while it does, so one that went round in a circle could not
 * be cancelled.
 *
 * LOCKING: a page, shared, while it is copied; the lock that keeps the pending list from being
 * emptied, while that is looked at; the access method's.
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "verify_private.h"

#include "zheap/base/pg_compat_index.h"

/* The links of a page that a scan follows, or invalid. */
enum
{
	BELOW,
	RIGHT,
	NLINKS,
	WALKED						/* "next": all have been followed to their ends */
};

typedef struct GinLinks
{
	BlockNumber to[NLINKS];
	BlockNumber from;			/* where the walk came from */
	int			next;			/* the link that is next */
} GinLinks;

/* ---- a page ---- */

static bool
is_gin_page(Page page)
{
	return !PageIsNew(page) && verify_has_special(page, sizeof(GinPageOpaqueData)) &&
		((GinPageGetOpaque(page)->flags & (GIN_META | GIN_DATA | GIN_DELETED)) != 0 ||
		 verify_items_fit(page));
}

static bool
has_items(Page page)
{
	return GinPageIsData(page) ? GinPageGetOpaque(page)->maxoff > 0 :
		PageGetMaxOffsetNumber(page) > 0;
}

static BlockNumber
first_below(Page page)
{
	if (GinPageIsLeaf(page))
		return InvalidBlockNumber;
	if (!has_items(page))
		return InvalidBlockNumber;
	if (GinPageIsData(page))
		return PostingItemGetBlockNumber(GinDataPageGetPostingItem(page, FirstOffsetNumber));
	return GinGetDownlink((IndexTuple) PageGetItem(page, PageGetItemId(page, FirstOffsetNumber)));
}

/* Of a page of zeros, too. */
static GinLinks
links_of(Page page)
{
	GinLinks	links = {{InvalidBlockNumber, InvalidBlockNumber}, InvalidBlockNumber, 0};

	/* a page of the pending list may be in use anew, anywhere, before all have been looked at */
	if (!PageIsNew(page) &&
		(GinPageGetOpaque(page)->flags & (GIN_META | GIN_LIST | GIN_DELETED)) == 0)
	{
		links.to[BELOW] = first_below(page);
		links.to[RIGHT] = GinPageGetOpaque(page)->rightlink;
	}
	return links;
}

/* ---- what is on a leaf ---- */

/* Where the list ends that begins at "at"; NULL: not before "end". */
static const char *
posting_list_end(const char *at, const char *end)
{
	const GinPostingList *list = (const GinPostingList *) at;

	if (end - at < (ptrdiff_t) offsetof(GinPostingList, bytes) ||
		end - at < (ptrdiff_t) SizeOfGinPostingList(list))
		return NULL;
	return at + SizeOfGinPostingList(list);
}

/* The TIDs in an entry that has no tree of them. */
static bool
postings_fit(IndexTuple entry)
{
	Size		offset = GinGetPostingOffset(entry);
	const char *at = (const char *) entry + offset;
	const char *end = (const char *) entry + IndexTupleSize(entry);

	if (offset > IndexTupleSize(entry))
		return false;
	if (GinGetNPosting(entry) == 0)
		return true;
	if (!GinItupIsCompressed(entry))
		return end - at >= (ptrdiff_t) (GinGetNPosting(entry) * sizeof(ItemPointerData));
	return posting_list_end(at, end) != NULL;
}

/* The key, or why there is none, in the first "size" bytes; before it the number of its column. */
static bool
key_fits(GinState *state, IndexTuple entry, Size size)
{
	Size		start = IndexInfoFindDataOffset(entry->t_info);
	TupleDesc	desc = state->origTupdesc;
	int			key = 0;
	Datum		values[2];
	bool		isnull[2];

	if (!state->oneCol)
	{
		int16		column;

		if (start + sizeof(column) > size)
			return false;
		memcpy(&column, (const char *) entry + start, sizeof(column));
		if (column < 1 || column > desc->natts)
			return false;
		desc = state->tupdesc[column - 1];
		key = 1;
	}
	return verify_entry_values(entry, size, desc, values, isnull) && (key == 0 || !isnull[0]) &&
		(!isnull[key] || GinCategoryOffset(entry, state) < size);
}

/* A tree's root has been made after the first two blocks. */
static bool
tree_may_be(IndexTuple entry)
{
	BlockNumber root = GinGetPostingTree(entry);

	return root != InvalidBlockNumber && root > GIN_ROOT_BLKNO;
}

static bool
entries_fit(GinState *state, Page page)
{
	for (OffsetNumber off = FirstOffsetNumber; off <= PageGetMaxOffsetNumber(page); off++)
	{
		IndexTuple	entry = verify_index_tuple(page, off);

		if (entry == NULL ||
			!(GinIsPostingTree(entry) ? tree_may_be(entry) : postings_fit(entry)) ||
			!key_fits(state, entry, GinIsPostingTree(entry) ? IndexTupleSize(entry) :
					  GinGetPostingOffset(entry)))
			return false;
	}
	return true;
}

static bool
segments_fit(Page page)
{
	const char *at = GinDataPageGetData(page);
	const char *end = (const char *) page + ((PageHeader) page)->pd_lower;

	if (!GinPageIsCompressed(page))
		return at + GinPageGetOpaque(page)->maxoff * sizeof(ItemPointerData) <=
			(const char *) page + ((PageHeader) page)->pd_special;
	while (at != NULL && at < end)
		at = posting_list_end(at, end);
	return at == end;
}

/*
 * The access method copies what is on a leaf by the lengths that it states, and goes down without
 * asking where to.
 */
static bool
has_sound_items(GinState *state, Page page)
{
	uint16		flags = GinPageGetOpaque(page)->flags;

	if ((flags & (GIN_META | GIN_LIST | GIN_DELETED)) != 0)
		return true;
	if ((flags & GIN_LEAF) == 0)
		return !has_items(page) || (first_below(page) != InvalidBlockNumber &&
									first_below(page) != GIN_METAPAGE_BLKNO);
	return (flags & GIN_DATA) != 0 ? segments_fit(page) : entries_fit(state, page);
}

/* ---- do the links end? ---- */

static void
report_circle(Relation index, BlockNumber from, BlockNumber to)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("the pages of index \"%s\" form a circle: block %u leads to block %u",
					RelationGetRelationName(index), from, to)));
}

/*
 * Walk on from "start", which has not been come to, and back where links end.  A page that has
 * been come to is on the way or WALKED.
 *
 * They were not all read at one time.  That does no harm: pages are only added, and a page that
 * is deleted is not used anew while a snapshot like ours is there, so that their order, left to
 * right and down, stays.
 */
static void
walk_links(Relation index, GinLinks *links, BlockNumber nblocks, BlockNumber start)
{
	BlockNumber at = start;

	links[at].from = at;
	for (;;)
	{
		BlockNumber to;

		CHECK_FOR_INTERRUPTS();
		if (links[at].next == NLINKS)
		{
			links[at].next = WALKED;
			if (at == start)
				return;
			at = links[at].from;
			continue;
		}
		to = links[at].to[links[at].next++];
		/* beyond the end the scan fails */
		if (to >= nblocks)
			continue;
		if (links[to].from == InvalidBlockNumber)
		{
			links[to].from = at;
			at = to;
		}
		else if (links[to].next != WALKED)
			report_circle(index, at, to);
	}
}

/* Invalid: the list is empty, or nothing comes after the page. */
static BlockNumber
next_pending(Relation index, BlockNumber block)
{
	PGAlignedBlock copy;

	zinspect_copy(index, block, copy.data);
	if (!is_gin_page(copy.data))
		verify_damaged_block(index, block);
	return block == GIN_METAPAGE_BLKNO ? GinPageGetMeta(copy.data)->head :
		GinPageGetOpaque(copy.data)->rightlink;
}

/*
 * While nobody empties the list it is only added to, at its end, so that no page comes twice.  On
 * a standby replay empties it, whatever we lock: there it is not looked at.
 */
static void
check_pending_list(Relation index)
{
	BlockNumber nblocks;
	BlockNumber at = GIN_METAPAGE_BLKNO;
	BlockNumber to;
	bool	   *seen;

	if (RecoveryInProgress())
		return;
	LockPage(index, GIN_METAPAGE_BLKNO, ExclusiveLock);
	nblocks = RelationGetNumberOfBlocks(index);
	seen = MemoryContextAllocExtended(CurrentMemoryContext, nblocks,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	/* beyond the end are pages that have been added since, or the scan fails */
	for (; (to = next_pending(index, at)) < nblocks; at = to)
	{
		CHECK_FOR_INTERRUPTS();
		if (to == GIN_METAPAGE_BLKNO || seen[to])
			report_circle(index, at, to);
		seen[to] = true;
	}
	pfree(seen);
	UnlockPage(index, GIN_METAPAGE_BLKNO, ExclusiveLock);
}

/* False: the scan cannot be trusted to find out by itself. */
static bool
check_pages(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	GinLinks   *links = MemoryContextAllocHuge(CurrentMemoryContext, nblocks * sizeof(GinLinks));
	GinState   *state = palloc(sizeof(GinState));
	PGAlignedBlock copy;
	bool		zeros = false;

	initGinState(state, index);
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		zinspect_copy(index, block, copy.data);
		/* a crash may have left a page that nothing leads to */
		if (PageIsNew(copy.data) && block > GIN_ROOT_BLKNO)
			zeros = true;
		else if (!is_gin_page(copy.data) || !has_sound_items(state, copy.data))
			verify_damaged_block(index, block);
		links[block] = links_of(copy.data);
	}
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		if (links[block].from == InvalidBlockNumber)
			walk_links(index, links, nblocks, block);
	}
	pfree(links);
	if (zeros)
		ereport(NOTICE,
				(errmsg("index \"%s\" is not looked at", RelationGetRelationName(index)),
				 errdetail("It has pages of zeros, as a crash leaves them where an index grows."),
				 errhint("Rebuild it with REINDEX.")));
	return !zeros;
}

/* ---- the index ---- */

/* A step.  A scan that an error ends gives back what it holds with the step's subtransaction. */
static void
read_gin(Verify *verify)
{
	VerifyIndex *index = verify->index;
	IndexScanDesc scan;

	index->unknown = !check_pages(index->rel);
	if (index->unknown)
		return;
	check_pending_list(index->rel);
	scan = index_beginscan_bitmap(index->rel, SnapshotAny, NULL, 0);
	index_rescan(scan, NULL, 0, NULL, 0);
	(void) index_getbitmap(scan, index->tids);
	index_endscan(scan);
}

const VerifyMethod verify_gin = VERIFY_TIDS_METHOD(GIN_AM_OID, read_gin);
