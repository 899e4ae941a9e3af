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

/*
 * A few tables: a transaction that changes two in turn finds both again.  Two pages of each, the
 * later one first: an update that moves rows goes back and forth between them.
 */
static Recent recents[4][2];

static inline Recent *
recents_of(Relation rel)
{
	return recents[RelationGetRelid(rel) % lengthof(recents)];
}

/* Pin the block in the buffer where it was.  Return whether it is still there. */
static inline bool
pin_known(Relation rel, BlockNumber block, const Recent *recent)
{
	/* a temporary table's file may have the number of another table's */
	if (recent->block != block || recent->buffer <= 0 || RelationUsesLocalBuffers(rel) ||
		!RelFileLocatorEquals(recent->file, rel->rd_locator) ||
		!ReadRecentBuffer(recent->file, MAIN_FORKNUM, block, recent->buffer))
		return false;
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
	return true;
}

Buffer
zscan_pin_recent(Relation rel, BlockNumber block)
{
	const Recent *recent = recents_of(rel);

	for (int i = 0; i < (int) lengthof(recents[0]); i++)
	{
		if (pin_known(rel, block, &recent[i]))
			return recent[i].buffer;
	}
	return InvalidBuffer;
}

Buffer
zscan_read_recent(Relation rel, BlockNumber block)
{
	Recent	   *recent = recents_of(rel);
	Buffer		buffer = zscan_pin_recent(rel, block);

	if (BufferIsValid(buffer))
		return buffer;
	buffer = ReadBuffer(rel, block);
	recent[1] = recent[0];
	recent[0] = (Recent) {rel->rd_locator, block, buffer};
	return buffer;
}
