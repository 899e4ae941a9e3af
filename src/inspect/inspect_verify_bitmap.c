/*
 * inspect_verify_bitmap.c
 *		Is each row that the snapshot sees in a GiST, SP-GiST or GIN index?
 *
 * A scan of the whole index, without a condition, tells the TIDs that it has.  That takes as long
 * as the index is large, however often a value occurs; whether a search for the row's values would
 * come to the entry it does not tell.
 *
 * The access methods believe what they find on a page.  So pages are looked at before: are they
 * of such an index, and are their items within them?
 *
 * LOCKING: a page, shared, while it is copied; the access methods'.
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/gist_private.h"
#include "access/spgist_private.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "inspect_verify.h"

/* ---- pages ---- */

/* Is the page's header one of a page with so many bytes for the access method? */
static bool
has_special(Page page, Size special)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_lower >= SizeOfPageHeaderData && header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special && header->pd_special == BLCKSZ - MAXALIGN(special);
}

static bool
items_fit(Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		if (!verify_item_fits(page, off))
			return false;
	}
	return true;
}

static bool
is_gist_page(Relation index, Page page)
{
	return has_special(page, sizeof(GISTPageOpaqueData)) &&
		GistPageGetOpaque(page)->gist_page_id == GIST_PAGE_ID &&
		(GistPageIsDeleted(page) || items_fit(page));
}

/* The value of a type that is said to begin at "at", within a tuple that begins at "start". */
static bool
value_fits(const SpGistTypeDesc *type, const char *start, const char *at, const char *end)
{
	return type->attbyval ? at + sizeof(Datum) <= end :
		verify_value_end(start, at, end, type->attlen, type->attalign) != NULL;
}

/* Are the prefix and the nodes of an inner tuple, with their labels, within it? */
static bool
inner_fits(SpGistCache *cache, SpGistInnerTuple tuple, Size size)
{
	char	   *start = (char *) tuple;
	char	   *end = start + size;
	char	   *node = start + SGITHDRSZ + tuple->prefixSize;

	if (tuple->tupstate != SPGIST_LIVE)
		return size >= SGDTSIZE;
	if (node != (char *) MAXALIGN(node) || node > end ||
		(tuple->prefixSize > 0 &&
		 !value_fits(&cache->attPrefixType, start, start + SGITHDRSZ, node)))
		return false;
	for (int i = 0; i < (int) tuple->nNodes; i++)
	{
		Size		length;

		if (node + SGNTHDRSZ > end)
			return false;
		length = IndexTupleSize((IndexTuple) node);
		if (length < SGNTHDRSZ || length != MAXALIGN(length) || node + length > end ||
			(!IndexTupleHasNulls((IndexTuple) node) && OidIsValid(cache->attLabelType.type) &&
			 length > SGNTHDRSZ &&
			 !value_fits(&cache->attLabelType, node, node + SGNTHDRSZ, node + length)))
			return false;
		node += length;
	}
	return true;
}

static bool
leaf_fits(SpGistCache *cache, SpGistLeafTuple tuple, Size size, bool nulls)
{
	char	   *start = (char *) tuple;

	if (tuple->tupstate != SPGIST_LIVE)
		return size >= SGDTSIZE;
	return tuple->size == size &&
		(nulls || value_fits(&cache->attLeafType, start, SGLTDATAPTR(tuple), start + size));
}

static bool
spgist_tuples_fit(Relation index, Page page)
{
	SpGistCache *cache = spgGetCache(index);
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		item = PageGetItemId(page, off);
		Size		size = ItemIdGetLength(item);

		if (SpGistPageIsLeaf(page) ?
			!leaf_fits(cache, (SpGistLeafTuple) PageGetItem(page, item), size,
					   SpGistPageStoresNulls(page)) :
			!inner_fits(cache, (SpGistInnerTuple) PageGetItem(page, item), size))
			return false;
	}
	return true;
}

/* Do the chains of tuples that begin on a leaf end? */
static bool
chains_end(Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		OffsetNumber next = off;

		for (int steps = 0; next != InvalidOffsetNumber; steps++)
		{
			SpGistLeafTuple tuple;

			if (next > max || steps > max)
				return false;
			tuple = (SpGistLeafTuple) PageGetItem(page, PageGetItemId(page, next));
			if (tuple->tupstate != SPGIST_LIVE)
				break;
			next = SGLT_GET_NEXTOFFSET(tuple);
		}
	}
	return true;
}

static bool
is_spgist_page(Relation index, Page page)
{
	return has_special(page, sizeof(SpGistPageOpaqueData)) &&
		SpGistPageGetOpaque(page)->spgist_page_id == SPGIST_PAGE_ID &&
		(SpGistPageIsMeta(page) || SpGistPageIsDeleted(page) ||
		 (items_fit(page) && spgist_tuples_fit(index, page) &&
		  (!SpGistPageIsLeaf(page) || chains_end(page))));
}

static bool
is_gin_page(Relation index, Page page)
{
	return has_special(page, sizeof(GinPageOpaqueData)) &&
		((GinPageGetOpaque(page)->flags & (GIN_META | GIN_DATA | GIN_DELETED)) != 0 ||
		 items_fit(page));
}

/* ---- reading the index ---- */

typedef struct BitmapPages
{
	bool		(*is_page) (Relation index, Page page);
	BlockNumber nfixed;			/* blocks that are never of zeros */
	bool		zeros;			/* the access method knows what to make of others that are */
} BitmapPages;

static const BitmapPages gist_pages = {is_gist_page, GIST_ROOT_BLKNO + 1, true};
static const BitmapPages spgist_pages = {is_spgist_page, SPGIST_LAST_FIXED_BLKNO + 1, false};
static const BitmapPages gin_pages = {is_gin_page, GIN_ROOT_BLKNO + 1, false};

/* False: the scan cannot be trusted to find out by itself. */
static bool
check_index_pages(Verify *verify, const BitmapPages *pages)
{
	Relation	index = verify->index->rel;
	PGAlignedBlock copy;
	bool		safe = true;

	for (BlockNumber block = 0; block < RelationGetNumberOfBlocks(index); block++)
	{
		CHECK_FOR_INTERRUPTS();
		inspect_copy(index, block, copy.data);
		/* a crash may have left a page that nothing leads to */
		if (PageIsNew(copy.data) && block >= pages->nfixed)
			safe &= pages->zeros;
		else if (PageIsNew(copy.data) || !pages->is_page(index, copy.data))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("block %u of index \"%s\" is damaged", block,
							RelationGetRelationName(index))));
	}
	if (!safe)
		ereport(NOTICE,
				(errmsg("index \"%s\" is not looked at", RelationGetRelationName(index)),
				 errdetail("It has pages of zeros, as a crash leaves them where an index grows."),
				 errhint("Rebuild it with REINDEX.")));
	return safe;
}

/* A scan that an error ends gives back what it holds with the step's subtransaction. */
static void
read_bitmap(Verify *verify, const BitmapPages *pages)
{
	VerifyIndex *index = verify->index;
	IndexScanDesc scan;

	index->unknown = !check_index_pages(verify, pages);
	if (index->unknown)
		return;
	scan = index_beginscan_bitmap(index->rel, SnapshotAny, 0);
	index_rescan(scan, NULL, 0, NULL, 0);
	(void) index_getbitmap(scan, index->tids);
	index_endscan(scan);
}

static void
read_gist(Verify *verify)
{
	read_bitmap(verify, &gist_pages);
}

static void
read_spgist(Verify *verify)
{
	read_bitmap(verify, &spgist_pages);
}

static void
read_gin(Verify *verify)
{
	read_bitmap(verify, &gin_pages);
}

/* ---- the methods ---- */

#define BITMAP_METHOD(oid, function) { \
	.am = (oid),.begin = verify_tids_begin,.read = (function), \
	.has = verify_tids_have,.end = verify_tids_end \
}

const VerifyMethod verify_gist = BITMAP_METHOD(GIST_AM_OID, read_gist);
const VerifyMethod verify_spgist = BITMAP_METHOD(SPGIST_AM_OID, read_spgist);
const VerifyMethod verify_gin = BITMAP_METHOD(GIN_AM_OID, read_gin);
