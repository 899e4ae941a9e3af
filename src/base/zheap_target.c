/*
 * zheap_target.c
 *		Detect that heap_insert() has written into a zheap table.
 *
 * heap_insert() looks for a page first in the block that smgr_targblock names, then in the free
 * space map, then at the table's end.  While smgr_targblock has a block that cannot exist, it
 * fails.  The server forgets smgr_targblock when it closes the file, as after each change of the
 * table's definition; until the next operation of ours sets it again, am_heap_checks.c refuses
 * heap_insert().
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "zheap/base/base.h"

/*
 * Report the block once: later readers of the page find the rows themselves.  The block may no
 * longer exist, if the table has been truncated since.
 */
void
zheap_target_found(Relation rel, BlockNumber block)
{
	Buffer		buffer;
	XLogRecPtr	lsn;

	RelationSetTargetBlock(rel, ZTARGET_NONE);
	if (zheap_skip_heap_rows || block >= RelationGetNumberOfBlocks(rel))
		return;
	buffer = ReadBuffer(rel, block);
	lsn = BufferGetLSNAtomic(buffer);
	ReleaseBuffer(buffer);
	zheap_corrupt_by_heap(rel, block, lsn);
}
