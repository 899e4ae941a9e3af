/*
 * verify_walk.c
 *		Walk through an index from its roots, on copies of pages, with a stack of links that are
 *		still to be followed.
 *
 * LOCKING: a page, shared, while it is copied.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include <stdarg.h>

#include "zheap/base/base.h"

#include "verify_private.h"

VerifyWalk *
verify_walk_begin(Verify *verify)
{
	HASHCTL		ctl = {
		.keysize = sizeof(ItemPointerData),.entrysize = sizeof(ItemPointerData),
		.hcxt = CurrentMemoryContext
	};
	VerifyWalk *walk = palloc(sizeof(VerifyWalk));

	walk->index = verify->index->rel;
	walk->tids = verify->index->tids;
	walk->passed = hash_create("places in an index", 1024, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	walk->max_links = 1024;
	walk->nlinks = 0;
	walk->links = palloc(walk->max_links * sizeof(VerifyLink));
	return walk;
}

void
verify_walk_add(VerifyWalk *walk, BlockNumber block, OffsetNumber off, XLogRecPtr parent_lsn)
{
	if (walk->nlinks == walk->max_links)
	{
		walk->max_links *= 2;
		walk->links = repalloc_huge(walk->links, walk->max_links * sizeof(VerifyLink));
	}
	ItemPointerSet(&walk->links[walk->nlinks].to, block, off);
	walk->links[walk->nlinks++].parent_lsn = parent_lsn;
}

void
verify_walk_run(VerifyWalk *walk, void (*visit) (VerifyWalk *walk, const VerifyLink *link))
{
	while (walk->nlinks > 0)
	{
		VerifyLink	link = walk->links[--walk->nlinks];

		CHECK_FOR_INTERRUPTS();
		visit(walk, &link);
	}
}

bool
verify_walk_pass(VerifyWalk *walk, BlockNumber block, OffsetNumber off)
{
	ItemPointerData place;
	bool		found;

	ItemPointerSet(&place, block, off);
	(void) hash_search(walk->passed, &place, HASH_ENTER, &found);
	return !found;
}

void
verify_walk_copy(VerifyWalk *walk, BlockNumber block,
				 bool (*is_page) (Page page, BlockNumber block))
{
	walk->block = block;
	if (block < RelationGetNumberOfBlocks(walk->index))
	{
		zinspect_copy(walk->index, block, walk->copy.data);
		if (!PageIsNew(walk->copy.data) && is_page(walk->copy.data, block))
			return;
	}
	verify_damaged_block(walk->index, block);
}

void
verify_damaged(const char *fmt,...)
{
	va_list		args;
	char	   *message;

	va_start(args, fmt);
	message = zheap_format(fmt, args);
	va_end(args);
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED), errmsg_internal("%s", message)));
}

void
verify_damaged_block(Relation index, BlockNumber block)
{
	verify_damaged("block %u of index \"%s\" is damaged", block, RelationGetRelationName(index));
}

void
verify_link(Relation index, BlockNumber block, BlockNumber n, BlockNumber *nblocks,
			const char *what)
{
	CHECK_FOR_INTERRUPTS();
	/* the index may have grown */
	if (n >= *nblocks || block >= *nblocks)
		*nblocks = RelationGetNumberOfBlocks(index);
	if (n >= *nblocks)
		verify_damaged("the pages of a %s of index \"%s\" form a circle", what,
					   RelationGetRelationName(index));
	if (block >= *nblocks)
		verify_damaged_block(index, block);
}
