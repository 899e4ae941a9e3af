/*
 * rewrite_view.c
 *		Reading the table that is rewritten.
 *
 * LOCKING: a page is share locked while it is copied to private memory.
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/rel.h"

#include "zheap/mvcc/status.h"
#include "zheap/undo/undo_horizon.h"

#include "rewrite_private.h"

/*
 * Modifiers are named down to the logged horizon, even if they are below the horizon here:
 * standbys may need them, and a conflict can be reported for them.
 */
bool
copy_view_pinned(ZCopy *copy, Buffer buffer)
{
	copy->view_rows = zview_read_pinned(&copy->view, buffer);
	copy->view_block = BufferGetBlockNumber(buffer);
	if (copy->view_rows && !RelationUsesLocalBuffers(copy->from))
		copy->view.horizon = zundo_logged_horizon();
	return copy->view_rows;
}

bool
copy_view(ZCopy *copy, BlockNumber block)
{
	Buffer		buffer;

	if (copy->view_block == block)
		return copy->view_rows;
	buffer = ReadBufferExtended(copy->from, MAIN_FORKNUM, block, RBM_NORMAL, copy->strategy);
	(void) copy_view_pinned(copy, buffer);
	ReleaseBuffer(buffer);
	return copy->view_rows;
}

static BlockNumber
block_to_copy(ReadStream *stream, void *private, void *per_buffer)
{
	ZCopyAhead *ahead = private;

	return ahead->block < ahead->nblocks ? ahead->block++ : InvalidBlockNumber;
}

ReadStream *
copy_stream_begin(ZCopy *copy, ZCopyAhead *ahead)
{
	ahead->block = 0;
	ahead->nblocks = copy->nblocks;
	return read_stream_begin_relation(READ_STREAM_SEQUENTIAL | READ_STREAM_USE_BATCHING,
									  copy->strategy, copy->from, MAIN_FORKNUM, block_to_copy,
									  ahead, 0);
}

void
copy_note_conflict(ZCopy *copy, FullTransactionId fxid)
{
	if (FullTransactionIdPrecedes(copy->conflict, fxid))
		copy->conflict = fxid;
}

bool
copy_all_visible(ZCopy *copy, ZRowVersion *version)
{
	FullTransactionId fxid;

	Assert(copy->view_rows && !copy->view.locked);
	zmvcc_find_modifier(&copy->view, version);
	fxid = zmodifier_fxid(&version->modifier);
	if (!FullTransactionIdIsValid(fxid))
		return true;
	if (!FullTransactionIdPrecedes(fxid, copy->oldest))
		return false;
	Assert(zmvcc_xact_status(fxid) != ZXACT_ABORTED);
	copy_note_conflict(copy, fxid);
	return true;
}
