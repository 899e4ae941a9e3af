/*
 * verify_gin.c
 *		Check that each row that the snapshot sees is in a GIN index.
 *
 * A scan of the whole index, without a condition, returns the TIDs that it has.  Its time depends
 * on the size of the index only, however often a value occurs.  It does not show whether a search
 * for the row's values would find the entry.
 *
 * The access method trusts what it finds on a page.  So all pages are checked before the scan:
 * that they are GIN pages, that items are within the page, and lists and keys within the items,
 * and that the links that the scan follows end: to the first page below, to the right, and along
 * the pending list.  The scan keeps pages locked while it follows links, so in a circle it could
 * not be cancelled.
 *
 * LOCKING: a page, shared, while it is copied; the metapage's heavyweight lock, exclusively, which
 * keeps the pending list from being emptied, while that is followed; in the scan, the access
 * method's own.
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

#include "zheap/base/pg_compat_index.h"

#include "verify_private.h"

/* The links of a page that a scan follows, or invalid. */
enum
{
	BELOW,
	RIGHT,
	NLINKS,
	WALKED						/* value of "next": all links were followed to their ends */
};

typedef struct GinLinks
{
	BlockNumber to[NLINKS];
	BlockNumber from;			/* page that the walk came from; invalid if not visited */
	int			next;			/* next link to follow */
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
	if (GinPageIsLeaf(page) || !has_items(page))
		return InvalidBlockNumber;
	if (GinPageIsData(page))
		return PostingItemGetBlockNumber(GinDataPageGetPostingItem(page, FirstOffsetNumber));
	return GinGetDownlink((IndexTuple) PageGetItem(page, PageGetItemId(page, FirstOffsetNumber)));
}

/* Return the links of a page that a scan follows; none for a page of zeros. */
static GinLinks
links_of(Page page)
{
	GinLinks	links = {{InvalidBlockNumber, InvalidBlockNumber}, InvalidBlockNumber, 0};

	/* pages of the pending list may be freed and reused, anywhere, before all pages are copied */
	if (!PageIsNew(page) &&
		(GinPageGetOpaque(page)->flags & (GIN_META | GIN_LIST | GIN_DELETED)) == 0)
	{
		links.to[BELOW] = first_below(page);
		links.to[RIGHT] = GinPageGetOpaque(page)->rightlink;
	}
	return links;
}

/* ---- items of a leaf ---- */

/* Return the end of the posting list at "at", or NULL if it does not end before or at "end". */
static const char *
posting_list_end(const char *at, const char *end)
{
	const GinPostingList *list = (const GinPostingList *) at;

	if (end - at < (ptrdiff_t) offsetof(GinPostingList, bytes) ||
		end - at < (ptrdiff_t) SizeOfGinPostingList(list))
		return NULL;
	return at + SizeOfGinPostingList(list);
}

/* Return whether the TIDs of an entry that has no posting tree are within the entry. */
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

/*
 * Return whether the key, or the category of a null key, is within the first "size" bytes of the
 * entry.  In an index of several columns the key follows the number of its column.
 */
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

/*
 * Return whether the root of a posting tree may be right: it is never one of the first two
 * blocks.
 */
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
 * Return whether the scan can read the page: it copies items of a leaf by the lengths stated
 * there, and follows downlinks without checks.
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
	verify_damaged("the pages of index \"%s\" form a circle: block %u leads to block %u",
				   RelationGetRelationName(index), from, to);
}

/*
 * Follow the links from "start", depth first, and raise ERROR (index_corrupted) if they form a
 * circle.  "start" has not been visited.  A page that has been visited is on the current path or
 * WALKED.
 *
 * The pages were not all copied at one time.  This does no harm: pages are only added, and a
 * deleted page is not reused while a snapshot like ours exists, so the order of pages, left to
 * right and down, does not change.
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
		/* the scan raises an error for a block beyond the end */
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

/* Return the page of the pending list after "block", the metapage at first, or invalid. */
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
 * ERROR (index_corrupted) if the pending list forms a circle.  While the metapage's lock keeps the
 * list from being emptied, pages are only added at its end, so that none occurs twice.  On a
 * standby, replay empties the list regardless of locks, so it is not checked there.
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
	/* a block beyond the end was added since, or the scan will raise an error */
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

/*
 * Check all pages and links; ERROR (index_corrupted) for damage.  Return whether the index can be
 * scanned: false if it has pages of zeros, which the scan would not detect.
 */
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
		/* a crash may have left a page that no link leads to */
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
				(errmsg("index \"%s\" is not checked", RelationGetRelationName(index)),
				 errdetail("It has pages of zeros, which a crash can leave while an index grows."),
				 errhint("Rebuild it with REINDEX.")));
	return !zeros;
}

/* ---- the index ---- */

/* A step.  After an error, the step's subtransaction releases what the scan holds. */
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
