/*
 * undo_next.c
 *		Go from a record to the next one of its log.
 *
 * LOCKING: pages are locked one at a time, shared, as where a page ends matters here; no lock
 * is held between calls (undo_read.c).
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_read.h"

#include "../store/store_private.h"
#include "log_private.h"

/*
 * Return whether a record follows on the page of "ptr"; *end is where it is or would be.  If
 * the page holds other records by now *end is 0, and the result false.
 */
static bool
follows_on_page(ZUndoReader *reader, ZUndoPtr ptr, uint16 *end)
{
	const char *bytes;
	Size		len;
	Buffer		buffer;
	Page		page;
	uint16		page_end;

	*end = 0;
	buffer = zundo_reader_lock_of(reader, ptr);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	page_end = zundo_page_end(page);
	if (zundo_ptr_offset(ptr) >= page_end ||
		!zundo_record_bounds(page, zundo_ptr_offset(ptr), &bytes, &len))
		zundo_report_bad_record(ptr, page_end);
	*end = (bytes + len) - (char *) page;
	Assert(*end > zundo_ptr_offset(ptr) && *end <= page_end);
	UnlockReleaseBuffer(buffer);
	return *end < page_end;
}

/*
 * Copy a page's special area, and its end, which is 0 if the page was never written.  Returns
 * false if it has been truncated away.  ERROR (data_corrupted) if it is damaged.
 */
static bool
look_at_page(ZUndoReader *reader, BlockNumber block, ZUndoPageSpecial *special, uint16 *end)
{
	Buffer		buffer = zundo_reader_lock(reader, block);
	Page		page;

	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	*special = *zundo_special(page);
	*end = zundo_page_end(page);
	if (!PageIsNew(page) && !zundo_page_is_sound(page, block, ZUNDO_PAGE_MAGIC))
		zundo_report_page(page, block, ZUNDO_PAGE_MAGIC);
	UnlockReleaseBuffer(buffer);
	if (*end == 0 && zundo_is_unreadable(block))
		zundo_report_lost(block, special->generation);
	return true;
}

/*
 * Return the first record of a page; invalid if it has none.  With "generation" 0 the page is
 * the first one of an extent that the log goes on to: it was written when that was opened, and
 * has its generation.
 */
static ZUndoPtr
first_on_page(ZUndoReader *reader, BlockNumber block, uint16 generation)
{
	ZUndoPageSpecial special;
	uint16		end;

	if (!look_at_page(reader, block, &special, &end))
		return ZUNDO_INVALID;
	if (end == 0 && generation == 0)
		zundo_report_lost(block, generation);
	if (end <= ZUNDO_PAGE_START || (generation != 0 && special.generation != generation))
		return ZUNDO_INVALID;
	return zundo_ptr_make(block, special.generation, ZUNDO_PAGE_START);
}

/*
 * Return the extent that follows in the log; invalid if there is none, or this one holds other
 * records by now.
 */
static BlockNumber
next_extent(ZUndoReader *reader, BlockNumber block, uint16 generation)
{
	BlockNumber extent = zundo_extent_of(block);
	ZUndoPageSpecial special;
	uint16		end;

	if (!look_at_page(reader, extent, &special, &end))
		return InvalidBlockNumber;
	if (end == 0 || (int16) (special.generation - generation) < 0)
		zundo_report_lost(extent, generation);
	return special.generation == generation ? special.next : InvalidBlockNumber;
}

/*
 * Return whether a page of the extent behind this one is written.  Pages are written in order
 * (U1).
 */
static bool
is_hole(ZUndoReader *reader, BlockNumber block, uint16 generation)
{
	bool		result = false;

	while (!result && !zundo_last_of_extent(block++))
	{
		Buffer		buffer = zundo_reader_lock(reader, block);
		Page		page;

		if (!BufferIsValid(buffer))
			break;
		page = BufferGetPage(buffer);
		result = !PageIsNew(page) && zundo_special(page)->generation == generation;
		UnlockReleaseBuffer(buffer);
	}
	return result;
}

/*
 * Return the next record, or invalid at the end of the log, if no record was found on the page,
 * which is not the first of its extent.  As a rule it is the end of the log; but not if pages
 * behind it are written, nor in an extent that has been left, as that is done when its last
 * page is full: then it is lost, unless the owner has appended meanwhile.
 */
static ZUndoPtr
end_of_log(ZUndoReader *reader, BlockNumber block, uint16 generation)
{
	ZUndoPtr	ptr = ZUNDO_INVALID;

	if (BlockNumberIsValid(next_extent(reader, block, generation)) ||
		is_hole(reader, block, generation))
	{
		ptr = first_on_page(reader, block, generation);
		if (ptr == ZUNDO_INVALID)
			zundo_report_lost(block, generation);
	}
	return ptr;
}

/*
 * Return the first record after the page, in this extent or the next one; invalid at the end of
 * the log.
 */
static ZUndoPtr
first_after_page(ZUndoReader *reader, BlockNumber block, uint16 generation)
{
	BlockNumber next;
	ZUndoPtr	ptr;

	Assert(!zheap_holds_buffer_lock());
	if (!zundo_last_of_extent(block))
	{
		ptr = first_on_page(reader, block + 1, generation);
		return ptr != ZUNDO_INVALID ? ptr : end_of_log(reader, block + 1, generation);
	}
	next = next_extent(reader, block, generation);
	return BlockNumberIsValid(next) ? first_on_page(reader, next, 0) : ZUNDO_INVALID;
}

ZUndoPtr
zundo_next(ZUndoReader *reader, ZUndoPtr ptr, bool *new_page)
{
	BlockNumber block = zundo_ptr_block(ptr);
	uint16		generation = zundo_ptr_generation(ptr);
	ZUndoPtr	next;
	uint16		end;

	*new_page = false;
	if (zundo_ptr_is_local(ptr))
		return zundo_local_next(ptr, new_page);
	next = zundo_next_read(reader, ptr);
	if (next != ZUNDO_INVALID)
		return next;
	if (follows_on_page(reader, ptr, &end))
		return zundo_ptr_make(block, generation, end);
	if (end == 0)
		return ZUNDO_INVALID;

	next = first_after_page(reader, block, generation);
	if (next == ZUNDO_INVALID)
		return ZUNDO_INVALID;
	/* a page with a successor is final; it may have grown since we looked */
	if (follows_on_page(reader, ptr, &end))
		return zundo_ptr_make(block, generation, end);
	*new_page = true;
	return next;
}

bool
zundo_is_last_of_extent(BlockNumber block)
{
	return zundo_last_of_extent(block);
}

ZUndoPtr
zundo_skip_page(ZUndoReader *reader, BlockNumber *block, uint16 generation)
{
	while (!zundo_last_of_extent(*block))
	{
		ZUndoPtr	ptr;

		/* pages behind the end have another generation, as do some damaged ones */
		(*block)++;
		ptr = first_on_page(reader, *block, generation);
		if (ptr != ZUNDO_INVALID)
			return ptr;
	}
	return first_after_page(reader, *block, generation);
}
