/*
 * slot_overflow.c
 *		Overflow pages: more slots for a page that has no room for them.
 *
 * LOCKING: the relation is extended before any page is locked (L1); then the
 * table page is locked, then the new page, which nobody else can name yet.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"

#include "zheap/slot/slot.h"

static Buffer
new_page(Relation rel)
{
	Buffer		buffer;

	LockRelationForExtension(rel, ExclusiveLock);
	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW, RBM_NORMAL, NULL);
	UnlockRelationForExtension(rel, ExclusiveLock);
	return buffer;
}

void
zslot_add_overflow_page(Relation rel, Buffer buffer)
{
	Buffer		overflow_buf = new_page(rel);
	Page		page = BufferGetPage(buffer);
	Page		overflow = BufferGetPage(overflow_buf);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(overflow_buf, BUFFER_LOCK_EXCLUSIVE);

	/*
	 * Somebody may have been faster, or found the new page through the end of
	 * the relation and made it a table page.  A page left over stays new, to be
	 * used by inserts.
	 */
	if (zpage_trailer(page)->overflow == InvalidBlockNumber && PageIsNew(overflow))
	{
		XLogRecPtr	lsn;

		START_CRIT_SECTION();
		zpage_overflow_init_apply(overflow, BufferGetBlockNumber(buffer));
		zpage_overflow_apply(page, BufferGetBlockNumber(overflow_buf));
		MarkBufferDirty(overflow_buf);
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(rel))
		{
			lsn = zrec_overflow_emit(buffer, overflow_buf);
			PageSetLSN(page, lsn);
			PageSetLSN(overflow, lsn);
		}
		END_CRIT_SECTION();
	}
	UnlockReleaseBuffer(overflow_buf);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}
