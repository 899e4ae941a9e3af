/*
 * change_map.h
 *		Private to dml: the bits of the visibility map that a change clears.
 *
 * The map is pinned before the change, locked last of all buffers (L1), and cleared in the
 * critical section.  Inline: every change calls these, and most have nothing to do.
 */
#ifndef ZHEAP_DML_CHANGE_MAP_H
#define ZHEAP_DML_CHANGE_MAP_H

#include "access/visibilitymap.h"
#include "storage/bufmgr.h"

#include "zheap/dml/target.h"
#include "zheap/page/page_plan.h"
#include "zheap/record/record.h"

/*
 * Pin the page of the visibility map whose bits the change must clear: if it makes a version of
 * a row on a page that is all-visible (P6).  A backend caches the map's length, and may not know
 * yet that VACUUM has created or extended the map; but VACUUM did so before it marked the page.
 * So if the map seems to end before the page, its length is read again.
 */
static inline Buffer
zchange_map_pin(Relation rel, Page page, const ZChange *change, BlockNumber block)
{
	Buffer		map = InvalidBuffer;

	if (!PageIsAllVisible(page) || !zrow_op_makes_version(change->row.op))
		return InvalidBuffer;
	(void) visibilitymap_get_status(rel, block, &map);
	if (!BufferIsValid(map))
	{
		RelationGetSmgr(rel)->smgr_cached_nblocks[VISIBILITYMAP_FORKNUM] = InvalidBlockNumber;
		(void) visibilitymap_get_status(rel, block, &map);
	}
	return map;
}

/* Lock a page of the map, last of all buffers (L1); of two, the one with the lower block first. */
static inline void
zchange_map_lock(Buffer map)
{
	if (BufferIsValid(map))
		LockBuffer(map, BUFFER_LOCK_EXCLUSIVE);
}

/* Clear the page's bits in the map.  In the critical section. */
static inline void
zchange_map_clear(Buffer map, BlockNumber block)
{
	if (!BufferIsValid(map))
		return;
	zmap_clear_apply(BufferGetPage(map), block);
	MarkBufferDirty(map);
}

/* Set the LSN of the change on the map page, if there is one. */
static inline void
zchange_map_set_lsn(Buffer map, XLogRecPtr lsn)
{
	if (BufferIsValid(map))
		PageSetLSN(BufferGetPage(map), lsn);
}

/* Unlock and unpin the map page, if there is one. */
static inline void
zchange_map_release(Buffer map)
{
	if (BufferIsValid(map))
		UnlockReleaseBuffer(map);
}

#endif							/* ZHEAP_DML_CHANGE_MAP_H */
