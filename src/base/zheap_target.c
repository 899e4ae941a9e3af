/*
 * zheap_target.c
 *		The block for the next row: heap_insert() has remembered one of ours.
 *
 * heap_insert() looks for a page first where smgr_targblock tells, then in the free space map,
 * then at the table's end.  While smgr_targblock has a block that cannot be, it fails.  The
 * server forgets it with the open file, as after each change of the table's definition; until
 * an operation of ours comes along, am_heap_checks.c is what heap_insert() meets.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "zheap/base/base.h"

/*
 * What it has put there, whoever looks at the page will find: so it is told here once.  It may be
 * gone, too, if the table has been truncated since.
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
