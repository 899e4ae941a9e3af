/*
 * slot_overflow.c
 *		Slot pages: more slots for a page that has no room for them.
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
zslot_add_page(Relation rel, Buffer buffer)
{
	Buffer		slotbuf = new_page(rel);
	Page		page = BufferGetPage(buffer);
	Page		slotpage = BufferGetPage(slotbuf);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(slotbuf, BUFFER_LOCK_EXCLUSIVE);

	/*
	 * Somebody may have been faster, or found the new page through the end of
	 * the relation and made it a table page.  A page left over stays new, to be
	 * used by inserts.
	 */
	if (zpage_trailer(page)->overflow == InvalidBlockNumber && PageIsNew(slotpage))
	{
		XLogRecPtr	lsn;

		START_CRIT_SECTION();
		zpage_slots_init_apply(slotpage, BufferGetBlockNumber(buffer));
		zpage_overflow_apply(page, BufferGetBlockNumber(slotbuf));
		MarkBufferDirty(slotbuf);
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(rel))
		{
			lsn = zrec_overflow_emit(buffer, slotbuf);
			PageSetLSN(page, lsn);
			PageSetLSN(slotpage, lsn);
		}
		END_CRIT_SECTION();
	}
	UnlockReleaseBuffer(slotbuf);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}
