/*
 * inspect_verify_gist.c
 *		Is each row that the snapshot sees in a GiST index?
 *
 * All pages are visited from the root on, and tell the TIDs that the index has; whether a search
 * for the row's values would come to the entry is not told.  A scan by the access method would
 * do the same, but believes what it finds on a page, and goes round for ever if downlinks form a
 * circle.
 *
 * Beside others that change the index this is as good as a scan, by the same rule: a page that
 * was split after its downlink was read is followed by its right sibling.  No page is used anew
 * that was deleted while a snapshot like ours is there.
 *
 * LOCKING: a page, shared, while it is copied.
 */
#include "postgres.h"

#include "access/gist_private.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "inspect_verify.h"

typedef struct GistLink
{
	BlockNumber block;
	XLogRecPtr	parent_lsn;		/* of the page with the downlink, when that was read */
} GistLink;

typedef struct GistWalk
{
	Verify	   *verify;
	Relation	index;
	HTAB	   *visited;		/* blocks */
	GistLink   *links;			/* those that are still to be followed */
	int			nlinks;
	int			max_links;
	PGAlignedBlock copy;		/* of the page that is looked at */
} GistWalk;

static void
report_gist_page(GistWalk *walk, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("block %u of index \"%s\" is %s", block,
					RelationGetRelationName(walk->index), what)));
}

static void
push(GistWalk *walk, BlockNumber block, XLogRecPtr parent_lsn)
{
	if (walk->nlinks == walk->max_links)
	{
		walk->max_links *= 2;
		walk->links = repalloc_huge(walk->links, walk->max_links * sizeof(GistLink));
	}
	walk->links[walk->nlinks].block = block;
	walk->links[walk->nlinks++].parent_lsn = parent_lsn;
}

/* ---- a page ---- */

static bool
is_gist_page(Page page)
{
	return !PageIsNew(page) && verify_has_special(page, sizeof(GISTPageOpaqueData)) &&
		GistPageGetOpaque(page)->gist_page_id == GIST_PAGE_ID &&
		(GistPageIsDeleted(page) || verify_items_fit(page));
}

static void
copy_gist_page(GistWalk *walk, BlockNumber block)
{
	bool		visited;

	(void) hash_search(walk->visited, &block, HASH_ENTER, &visited);
	if (visited)
		report_gist_page(walk, block, "led to more than once");
	if (block < RelationGetNumberOfBlocks(walk->index))
	{
		inspect_copy(walk->index, block, walk->copy.data);
		if (is_gist_page(walk->copy.data))
			return;
	}
	report_gist_page(walk, block, "damaged");
}

static void
take_items(GistWalk *walk)
{
	Page		page = walk->copy.data;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	/* as scans: a standby does not trust the primary server's hints */
	bool		ignore_killed = !RecoveryInProgress();

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		item = PageGetItemId(page, off);
		IndexTuple	tuple = (IndexTuple) PageGetItem(page, item);

		if (ignore_killed && ItemIdIsDead(item))
			continue;
		if (GistPageIsLeaf(page))
			tbm_add_tuples(walk->verify->index->tids, &tuple->t_tid, 1, false);
		else
			push(walk, ItemPointerGetBlockNumberNoCheck(&tuple->t_tid), PageGetLSN(page));
	}
}

static void
visit_page(GistWalk *walk, GistLink link)
{
	Page		page = walk->copy.data;
	GISTPageOpaque opaque;

	copy_gist_page(walk, link.block);
	opaque = GistPageGetOpaque(page);
	/* no downlink leads to the root: it has no sibling */
	if (link.block != GIST_ROOT_BLKNO && opaque->rightlink != InvalidBlockNumber &&
		(GistFollowRight(page) || link.parent_lsn < GistPageGetNSN(page)))
		push(walk, opaque->rightlink, link.parent_lsn);
	if (!GistPageIsDeleted(page))
		take_items(walk);
}

/* ---- the index ---- */

/* A step; its memory goes with it if an error ends it. */
static void
read_gist(Verify *verify)
{
	HASHCTL		ctl = {
		.keysize = sizeof(BlockNumber),.entrysize = sizeof(BlockNumber),
		.hcxt = CurrentMemoryContext
	};
	GistWalk   *walk = palloc(sizeof(GistWalk));

	walk->verify = verify;
	walk->index = verify->index->rel;
	walk->visited = hash_create("pages of a GiST index", 1024, &ctl,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	walk->max_links = 1024;
	walk->nlinks = 0;
	walk->links = palloc(walk->max_links * sizeof(GistLink));
	push(walk, GIST_ROOT_BLKNO, InvalidXLogRecPtr);
	while (walk->nlinks > 0)
	{
		CHECK_FOR_INTERRUPTS();
		visit_page(walk, walk->links[--walk->nlinks]);
	}
	hash_destroy(walk->visited);
	pfree(walk->links);
	pfree(walk);
}

const VerifyMethod verify_gist = VERIFY_TIDS_METHOD(GIST_AM_OID, read_gist);
