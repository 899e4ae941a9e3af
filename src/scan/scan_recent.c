/*
 * scan_recent.c
 *		The table pages that the backend had last, found again without the buffer table.
 *
 * An update needs its page two or three times: the index finds the row there, the executor fetches
 * it again, then it is changed.  Each time the buffer's number is known, and it is cheap to check
 * whether it still holds the block (ReadRecentBuffer).
 *
 * LOCKING: none; the page is pinned on return.
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/scan/scan.h"

typedef struct Recent
{
	RelFileLocator file;
	BlockNumber block;
	Buffer		buffer;			/* invalid or of a temporary table: not to be reused */
} Recent;

/* A few tables: a transaction that changes two in turn finds both again. */
static Recent recents[4];

Buffer
zscan_read_recent(Relation rel, BlockNumber block)
{
	Recent	   *recent = &recents[RelationGetRelid(rel) % lengthof(recents)];
	Buffer		buffer;

	/* a temporary table's file may have the number of another table's */
	if (recent->buffer > 0 && recent->block == block && !RelationUsesLocalBuffers(rel) &&
		RelFileLocatorEquals(recent->file, rel->rd_locator) &&
		ReadRecentBuffer(recent->file, MAIN_FORKNUM, block, recent->buffer))
	{
		pgstat_count_buffer_read(rel);
		pgstat_count_buffer_hit(rel);
		return recent->buffer;
	}
	buffer = ReadBuffer(rel, block);
	*recent = (Recent) {rel->rd_locator, block, buffer};
	return buffer;
}
