/*
 * verify_tids.c
 *		Compare the TIDs that an index has with the table's pages.
 *
 * The TIDs are read into a bitmap before the table is read.  A row that the snapshot sees had its
 * entry before that, and keeps it.  The other way round, an entry may have been removed since, and
 * its line pointer freed: only VACUUM does that in tables with such indexes, and it increments a
 * counter before (zheap_freed.c).  Replay does not count, so line pointers are not checked on a
 * standby.
 *
 * If memory is scarce the bitmap knows only pages; then all their rows count as present.
 *
 * LOCKING: none; the page is a private copy.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "zheap/base/base.h"

#include "verify_private.h"

void
verify_tids_begin(VerifyIndex *index, int memory)
{
	index->tids = tbm_create(memory * 1024L, NULL);
}

/* Set index->at to the next block, or to NULL after the last one. */
static void
tids_next(VerifyIndex *index)
{
	if (!zcompat_tids_next(index->iterator, index->at))
		index->at = NULL;
}

void
verify_tids_ready(VerifyIndex *index)
{
	Assert(index->iterator == NULL);
	index->iterator = tbm_begin_private_iterate(index->tids);
	index->at = palloc(sizeof(ZCompatTidBlock));
	tids_next(index);
}

void
verify_tids_end(VerifyIndex *index)
{
	if (index->iterator)
		tbm_end_private_iterate(index->iterator);
	tbm_free(index->tids);
}

/* Return the index's TIDs of a block, or NULL.  Blocks are asked for in ascending order. */
static ZCompatTidBlock *
tids_of_block(VerifyIndex *index, BlockNumber block)
{
	Assert(index->iterator != NULL);
	while (index->at != NULL && index->at->blockno < block)
		tids_next(index);
	return index->at != NULL && index->at->blockno == block ? index->at : NULL;
}

static int
compare_offsets(const void *a, const void *b)
{
	return (int) *(const OffsetNumber *) a - (int) *(const OffsetNumber *) b;
}

bool
verify_tids_have(Verify *verify)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumber(&verify->slot->tts_tid);
	ZCompatTidBlock *there =
	tids_of_block(verify->index, ItemPointerGetBlockNumber(&verify->slot->tts_tid));

	return there != NULL &&
		(there->lossy ||
		 bsearch(&offnum, there->offsets, there->noffsets, sizeof(OffsetNumber),
				 compare_offsets) != NULL);
}

static void
report_tid(Verify *verify, VerifyIndex *index, BlockNumber block, OffsetNumber offnum,
		   const char *where)
{
	ItemPointerData tid;

	verify->index = index;
	ItemPointerSet(&tid, block, offnum);
	verify_report_entry(verify, &tid, InvalidBlockNumber, InvalidOffsetNumber, where);
}

/* "freed" is compared last, so that what VACUUM has freed since the index was read is skipped. */
void
verify_tids_of_page(Verify *verify)
{
	BlockNumber block = verify->block;

	for (int i = 0; i < verify->nindexes; i++)
	{
		VerifyIndex *index = &verify->indexes[i];
		ZCompatTidBlock *there;

		if (index->iterator == NULL || (there = tids_of_block(index, block)) == NULL)
			continue;
		for (int k = 0; k < there->noffsets; k++)
		{
			if (verify_pointer_exists(verify->view.page, there->offsets[k]) ||
				TransactionStartedDuringRecovery() ||
				zheap_pointers_freed(verify->rel) != index->freed)
				continue;
			report_tid(verify, index, block, there->offsets[k],
					   "a line pointer that is not in use");
			verify->block = block;
		}
	}
	verify->offnum = InvalidOffsetNumber;
}

/* Report TIDs beyond the table's end: it cannot become shorter while we hold our lock. */
static void
report_block(Verify *verify, VerifyIndex *index)
{
	const char *where = "a block that does not exist";

	if (index->at->lossy)
		report_tid(verify, index, index->at->blockno, InvalidOffsetNumber, where);
	for (int k = 0; k < index->at->noffsets; k++)
		report_tid(verify, index, index->at->blockno, index->at->offsets[k], where);
}

void
verify_tids_beyond(Verify *verify)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(verify->rel);

	for (int i = 0; i < verify->nindexes; i++)
	{
		VerifyIndex *index = &verify->indexes[i];

		if (index->iterator == NULL)
			continue;
		(void) tids_of_block(index, nblocks);
		while (index->at != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			report_block(verify, index);
			tids_next(index);
		}
	}
}
