/*
 * verify_gist.c
 *		Check that each row that the snapshot sees is in a GiST index.
 *
 * All pages are visited from the root on to collect the TIDs that the index has.  This does not
 * show whether a search for the row's values would find the entry.  A scan by the access method
 * would return the same TIDs, but trusts what it finds on a page, and does not end if downlinks
 * form a circle.
 *
 * Concurrent changes are handled as by a scan: if a page was split after its downlink was read,
 * its right sibling is visited, too.  A deleted page is not reused while a snapshot like ours
 * exists.
 *
 * LOCKING: a page, shared, while it is copied.
 */
#include "postgres.h"

#include "access/gist_private.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "utils/rel.h"

#include "verify_private.h"

/* ---- a page ---- */

static bool
is_gist_page(Page page, BlockNumber block)
{
	return verify_has_special(page, sizeof(GISTPageOpaqueData)) &&
		GistPageGetOpaque(page)->gist_page_id == GIST_PAGE_ID &&
		(GistPageIsDeleted(page) || verify_items_fit(page));
}

/* Collect the TIDs of a leaf, or add the downlinks of an inner page to the walk. */
static void
take_items(VerifyWalk *walk)
{
	Page		page = walk->copy.data;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	/* like scans: on a standby, the primary server's hints are ignored */
	bool		ignore_killed = !RecoveryInProgress();

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		item = PageGetItemId(page, off);
		IndexTuple	tuple = (IndexTuple) PageGetItem(page, item);

		if (ignore_killed && ItemIdIsDead(item))
			continue;
		if (GistPageIsLeaf(page))
			tbm_add_tuples(walk->tids, &tuple->t_tid, 1, false);
		else
			verify_walk_add(walk, ItemPointerGetBlockNumberNoCheck(&tuple->t_tid),
							InvalidOffsetNumber, PageGetLSN(page));
	}
}

/* Copy the page that a link leads to, and take its items and, if it was split, its sibling. */
static void
visit_page(VerifyWalk *walk, const VerifyLink *link)
{
	Page		page = walk->copy.data;
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(&link->to);
	GISTPageOpaque opaque;

	if (!verify_walk_pass(walk, block, InvalidOffsetNumber))
		verify_damaged("block %u of index \"%s\" is led to more than once", block,
					   RelationGetRelationName(walk->index));
	verify_walk_copy(walk, block, is_gist_page);
	opaque = GistPageGetOpaque(page);
	/* the root has no sibling */
	if (block != GIST_ROOT_BLKNO && opaque->rightlink != InvalidBlockNumber &&
		(GistFollowRight(page) || link->parent_lsn < GistPageGetNSN(page)))
		verify_walk_add(walk, opaque->rightlink, InvalidOffsetNumber, link->parent_lsn);
	if (!GistPageIsDeleted(page))
		take_items(walk);
}

/* ---- the index ---- */

/* A step: walk the index from its root. */
static void
read_gist(Verify *verify)
{
	VerifyWalk *walk = verify_walk_begin(verify);

	verify_walk_add(walk, GIST_ROOT_BLKNO, InvalidOffsetNumber, InvalidXLogRecPtr);
	verify_walk_run(walk, visit_page);
}

const VerifyMethod verify_gist = VERIFY_TIDS_METHOD(GIST_AM_OID, read_gist);
