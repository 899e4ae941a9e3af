/*
 * verify_spgist.c
 *		Check that each row that the snapshot sees is in an SP-GiST index.
 *
 * All tuples are visited from the two roots on to collect the TIDs that the index has.  This does
 * not show whether a search for the row's values would find the entry.  A scan by the access
 * method would return the same TIDs, but trusts what it finds on a page; and if links form a
 * circle it does not end, with a page locked all the time, so that it cannot be cancelled.
 *
 * Concurrent changes are handled as by a scan: a tuple that is moved leaves a redirection in its
 * place for as long as a snapshot like ours exists.
 *
 * LOCKING: a page, shared, while it is copied.
 */
#include "postgres.h"

#include "access/spgist_private.h"
#include "catalog/pg_am.h"
#include "utils/rel.h"

#include "verify_private.h"

/* ---- bounds of tuples ---- */

/* Return whether the value at "at", in a tuple that begins at "start", ends before "end". */
static bool
value_fits(const SpGistTypeDesc *type, const char *start, const char *at, const char *end)
{
	return type->attbyval ? at + sizeof(Datum) <= end :
		verify_value_end(start, at, end, type->attlen, type->attalign) != NULL;
}

/* Return whether the prefix and the nodes of an inner tuple, with their labels, are within it. */
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

/* Return whether the value of a leaf tuple is within it. */
static bool
leaf_fits(SpGistCache *cache, SpGistLeafTuple tuple, Size size, bool nulls)
{
	char	   *start = (char *) tuple;

	if (tuple->tupstate != SPGIST_LIVE)
		return size >= SGDTSIZE;
	return tuple->size == size &&
		(nulls || value_fits(&cache->attLeafType, start, SGLTDATAPTR(tuple), start + size));
}

/* ---- tuples ---- */

static void
report_tuple(VerifyWalk *walk, OffsetNumber off, const char *what)
{
	verify_damaged("item %u on block %u of index \"%s\" %s", off, walk->block,
				   RelationGetRelationName(walk->index), what);
}

/* Return the tuple at "off", of any kind, on the page; ERROR if there is none within the page. */
static void *
tuple_at(VerifyWalk *walk, OffsetNumber off)
{
	Page		page = walk->copy.data;

	if (off == InvalidOffsetNumber || off > PageGetMaxOffsetNumber(page))
		report_tuple(walk, off, "is led to, but does not exist");
	if (!verify_item_fits(page, off))
		report_tuple(walk, off, "is damaged");
	return PageGetItem(page, PageGetItemId(page, off));
}

static Size
size_of(VerifyWalk *walk, OffsetNumber off)
{
	return ItemIdGetLength(PageGetItemId(walk->copy.data, off));
}

/* ERROR if the place has been visited already: scans would return rows twice. */
static void
pass(VerifyWalk *walk, OffsetNumber off)
{
	if (!verify_walk_pass(walk, walk->block, off))
		report_tuple(walk, off, "is led to more than once");
}

static void
add_link(VerifyWalk *walk, const ItemPointerData *to)
{
	verify_walk_add(walk, ItemPointerGetBlockNumberNoCheck(to),
					ItemPointerGetOffsetNumberNoCheck(to), InvalidXLogRecPtr);
}

static void
redirect(VerifyWalk *walk, OffsetNumber off, SpGistDeadTuple tuple)
{
	pass(walk, off);
	add_link(walk, &tuple->pointer);
}

/* Add the links of an inner tuple to the walk; ERROR if it is damaged or not in use. */
static void
take_inner(VerifyWalk *walk, OffsetNumber off)
{
	SpGistInnerTuple tuple = tuple_at(walk, off);
	SpGistNodeTuple node;
	int			i;

	if (!inner_fits(spgGetCache(walk->index), tuple, size_of(walk, off)))
		report_tuple(walk, off, "is damaged");
	if (tuple->tupstate == SPGIST_REDIRECT)
	{
		redirect(walk, off, (SpGistDeadTuple) tuple);
		return;
	}
	if (tuple->tupstate != SPGIST_LIVE)
		report_tuple(walk, off, "is led to, but is not in use");
	pass(walk, off);
	SGITITERATE(tuple, i, node)
	{
		if (ItemPointerIsValid(&node->t_tid))
			add_link(walk, &node->t_tid);
	}
}

/* Return a leaf tuple in any state, and collect its TID if it is in use; ERROR if damaged. */
static SpGistLeafTuple
leaf_at(VerifyWalk *walk, OffsetNumber off)
{
	SpGistLeafTuple tuple = tuple_at(walk, off);

	if (!leaf_fits(spgGetCache(walk->index), tuple, size_of(walk, off),
				   SpGistPageStoresNulls((Page) walk->copy.data)))
		report_tuple(walk, off, "is damaged");
	if (tuple->tupstate == SPGIST_LIVE)
		tbm_add_tuples(walk->tids, &tuple->heapPtr, 1, false);
	return tuple;
}

/* Collect the TIDs of a chain of leaf tuples on the current page. */
static void
take_chain(VerifyWalk *walk, OffsetNumber first)
{
	int			max = PageGetMaxOffsetNumber((Page) walk->copy.data);
	SpGistLeafTuple tuple = leaf_at(walk, first);
	OffsetNumber off;

	/* the chain may have been moved as a whole, or its only tuple removed */
	if (tuple->tupstate == SPGIST_REDIRECT)
		redirect(walk, first, (SpGistDeadTuple) tuple);
	else if (tuple->tupstate == SPGIST_PLACEHOLDER)
		report_tuple(walk, first, "is led to, but is not in use");
	if (tuple->tupstate != SPGIST_LIVE)
		return;
	for (int steps = 1; (off = SGLT_GET_NEXTOFFSET(tuple)) != InvalidOffsetNumber; steps++)
	{
		if (steps == max)
			report_tuple(walk, off, "is led to more than once");
		tuple = leaf_at(walk, off);
		if (tuple->tupstate != SPGIST_LIVE)
			report_tuple(walk, off, "is led to, but is not in use");
	}
}

/* Collect the TIDs of a root that is a leaf, whose tuples are in no chain. */
static void
take_root(VerifyWalk *walk)
{
	OffsetNumber max = PageGetMaxOffsetNumber((Page) walk->copy.data);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		if (leaf_at(walk, off)->tupstate != SPGIST_LIVE)
			report_tuple(walk, off, "is not in use on a root");
	}
}

/* ---- the index ---- */

static bool
is_spgist_page(Page page, BlockNumber block)
{
	return verify_has_special(page, sizeof(SpGistPageOpaqueData)) &&
		SpGistPageGetOpaque(page)->spgist_page_id == SPGIST_PAGE_ID &&
		(SpGistPageIsMeta(page) != 0) == (block == SPGIST_METAPAGE_BLKNO);
}

/* Visit the tuple that a link leads to. */
static void
visit(VerifyWalk *walk, const VerifyLink *link)
{
	Page		page = walk->copy.data;
	OffsetNumber off = ItemPointerGetOffsetNumberNoCheck(&link->to);

	verify_walk_copy(walk, ItemPointerGetBlockNumberNoCheck(&link->to), is_spgist_page);
	if (walk->block == SPGIST_METAPAGE_BLKNO)
		report_tuple(walk, off, "is led to, but does not exist");
	if (!SpGistPageIsLeaf(page))
		take_inner(walk, off);
	else if (SpGistBlockIsRoot(walk->block))
		take_root(walk);
	else
		take_chain(walk, off);
}

/* A step: walk the index from its two roots. */
static void
read_spgist(Verify *verify)
{
	VerifyWalk *walk = verify_walk_begin(verify);

	verify_walk_copy(walk, SPGIST_METAPAGE_BLKNO, is_spgist_page);
	verify_walk_add(walk, SPGIST_NULL_BLKNO, FirstOffsetNumber, InvalidXLogRecPtr);
	verify_walk_add(walk, SPGIST_ROOT_BLKNO, FirstOffsetNumber, InvalidXLogRecPtr);
	verify_walk_run(walk, visit);
}

const VerifyMethod verify_spgist = VERIFY_TIDS_METHOD(SPGIST_AM_OID, read_spgist);
