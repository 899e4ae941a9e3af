/*
 * undo_look.c
 *		Pages of the undo relation for inspection.
 *
 * All pages can be read, needed or not: no pointer leads to a page here, and its records may
 * have been recycled long ago.
 *
 * LOCKING: a page is found under the truncate lock and copied under its own, shared; no lock is
 * held afterwards.
 */
#include "postgres.h"

#include "zheap/undo/undo_look.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_relation.h"

#include "store_private.h"
#include "undo_state.h"

/* Return the end of the undo relation, which is not beyond that of the file. */
static BlockNumber
relation_end(void)
{
	ZUndoMeta	meta;

	if (!zundo_meta_try(&meta))
		zundo_meta_guess(&meta);
	return Min(meta.nblocks, RelationGetNumberOfBlocks(zundo_relation()));
}

bool
zundo_look_page(BlockNumber block, Page copy, BlockNumber *nblocks)
{
	LWLock	   *lock = zundo_truncate_lock(MyUndo.db);
	Buffer		buffer = InvalidBuffer;

	LWLockAcquire(lock, LW_SHARED);
	*nblocks = relation_end();
	if (block < *nblocks)
		buffer = ReadBuffer(zundo_relation(), block);
	LWLockRelease(lock);
	if (!BufferIsValid(buffer))
		return false;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return true;
}

ZUndoPageKind
zundo_look_kind(Page page, BlockNumber block)
{
	if (PageIsNew(page))
		return ZUNDO_PAGE_NEW;
	switch (zundo_special(page)->magic)
	{
		case ZUNDO_METAPAGE_MAGIC:
			return ZUNDO_PAGE_META;
		case ZUNDO_DIR_MAGIC:
			return ZUNDO_PAGE_DIRECTORY;
		case ZUNDO_MAP_MAGIC:
			return ZUNDO_PAGE_MAP;
	}
	if (!zundo_page_is_sound(page, block, ZUNDO_PAGE_MAGIC))
		zundo_report_page(page, block, ZUNDO_PAGE_MAGIC);
	return ZUNDO_PAGE_RECORDS;
}

bool
zundo_look_record(Page page, BlockNumber block, uint16 *offset, ZUndoLook *look)
{
	Assert(zundo_page_is_sound(page, block, ZUNDO_PAGE_MAGIC));
	if (*offset == 0)
		*offset = ZUNDO_PAGE_START;
	if (*offset >= zundo_page_end(page))
		return false;
	look->ptr = zundo_ptr_make(block, zundo_special(page)->generation, *offset);
	if (zundo_record_bounds(page, *offset, &look->bytes, &look->len))
	{
		look->sound = zundo_record_sound(look->ptr, look->bytes, look->len) != NULL;
		*offset = (uint16) (look->bytes + look->len - (const char *) page);
		return true;
	}
	/* the begin of the next record is not known */
	look->bytes = NULL;
	look->len = 0;
	look->sound = false;
	*offset = zundo_page_end(page);
	return true;
}
