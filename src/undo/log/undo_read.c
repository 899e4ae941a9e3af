/*
 * undo_read.c
 *		Follow pointers to records.
 *
 * LOCKING: a record is copied from its page without a lock, as the page's owner holds that
 * while it inserts WAL: a reader would wait for it, and others for the reader's table page.
 * The page is pinned meanwhile.  Only if that does not give a sound record, and where the
 * page's end matters, is the page locked, shared; no lock is held between calls.  Callers may
 * hold table pages (L1).  The relation may be truncated at any time: the truncate lock is held
 * while a page is looked up.  A page that is still in the buffer where it was last found needs
 * no lookup: as long as truncation has not dropped the buffer the page is what it was.
 *
 * A record that can be reached never changes, so a private copy of a page stays true for the
 * records that it has; only its end may be out of date (U9).
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_local.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_read.h"
#include "zheap/undo/undo_relation.h"

#include "../store/store_private.h"
#include "../store/undo_state.h"
#include "log_private.h"

void
zundo_reader_open(ZUndoReader *reader, MemoryContext context, bool local)
{
	memset(reader, 0, sizeof(*reader));
	reader->block = InvalidBlockNumber;
	reader->copies[0].place = reader->copies[1].place = ZUNDO_NO_PAGE;
	reader->context = context;
	reader->local = local;
}

void
zundo_reader_close(ZUndoReader *reader)
{
	for (Size i = 0; i < lengthof(reader->copies); i++)
	{
		if (reader->copies[i].page)
			pfree(reader->copies[i].page);
	}
	if (reader->bytes)
		pfree(reader->bytes);
	zundo_reader_open(reader, reader->context, reader->local);
}

/* ---- pages ---- */

static void
report_no_block(Relation rel, BlockNumber block)
{
	zheap_corrupt(rel, block, InvalidOffsetNumber,
				  "undo pointer to a block that does not exist");
}

/*
 * Return whether the block is in the file.  Replay makes only the first page of each extent, so
 * until the logs have been loaded, on a standby always, the file may end before the relation
 * does.  A pointer to recycled undo may lead there.
 */
static bool
is_in_file(Relation rel, BlockNumber block)
{
	return MyUndo.db->loaded || block < RelationGetNumberOfBlocks(rel);
}

/*
 * Look the page up and pin it; invalid if it has been truncated away.  ERROR (data_corrupted)
 * if it never existed.
 */
static Buffer
pin_page(Relation rel, BlockNumber block)
{
	LWLock	   *lock = zundo_truncate_lock(MyUndo.db);
	Buffer		buffer = InvalidBuffer;

	Assert(zundo_is_open());	/* L2 */
	if (block < ZUNDO_EXTENT_BLOCKS)
		report_no_block(rel, block);
	LWLockAcquire(lock, LW_SHARED);
	if (zundo_block_exists(block) && is_in_file(rel, block))
		buffer = ReadBuffer(rel, block);
	LWLockRelease(lock);
	return buffer;
}

/*
 * The buffers where this backend has read pages last: with contended rows all backends read the
 * same few.  Only hints.  From time to time a hint is not used, as the server does not count
 * such reads as uses of the buffer.
 */
#define RECENT_PAGES	16
#define RECENT_USES		32

typedef struct RecentPage
{
	BlockNumber block;
	Buffer		buffer;
	int			uses;
} RecentPage;

static RecentPage recent_pages[RECENT_PAGES];

static bool
pin_recent(Relation rel, BlockNumber block, RecentPage *recent)
{
	if (recent->block != block || !BufferIsValid(recent->buffer) ||
		recent->uses++ >= RECENT_USES ||
		!ReadRecentBuffer(rel->rd_locator, MAIN_FORKNUM, block, recent->buffer))
		return false;
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
	return true;
}

/*
 * Pin the page, by the buffer's number if it was read lately.  Returns invalid if the page has
 * been truncated away: what was there has long been recycled.
 */
static Buffer
pin_again(ZUndoReader *reader, BlockNumber block)
{
	Relation	rel = zundo_relation();
	RecentPage *recent = &recent_pages[block % RECENT_PAGES];

	if (!pin_recent(rel, block, recent))
	{
		Buffer		buffer = pin_page(rel, block);

		if (!BufferIsValid(buffer))
			return InvalidBuffer;
		*recent = (RecentPage) {block, buffer, 0};
	}
	reader->block = block;
	return recent->buffer;
}

Buffer
zundo_reader_lock(ZUndoReader *reader, BlockNumber block)
{
	Buffer		buffer = pin_again(reader, block);

	if (BufferIsValid(buffer))
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
	return buffer;
}

void
zundo_report_lost(BlockNumber block, uint16 generation)
{
	zheap_corrupt(zundo_relation(), block, InvalidOffsetNumber,
				  "undo page of generation %u has been lost", generation);
}

/*
 * ERROR (data_corrupted) if a page that is older than the pointer, or was never written, is
 * lost.  It is not if its extent has been opened again and the page is not yet reached.
 */
static void
check_not_reached(ZUndoReader *reader, BlockNumber block, uint16 generation)
{
	BlockNumber extent = zundo_extent_of(block);
	Buffer		buffer = zundo_reader_lock(reader, extent);
	ZUndoPageSpecial special;
	bool		sound;

	if (!BufferIsValid(buffer))
		return;
	special = *zundo_special(BufferGetPage(buffer));
	sound = zundo_page_is_sound(BufferGetPage(buffer), extent, ZUNDO_PAGE_MAGIC);
	UnlockReleaseBuffer(buffer);
	if (!sound || (int16) (special.generation - generation) <= 0)
		zundo_report_lost(block, generation);
}

Buffer
zundo_reader_lock_of(ZUndoReader *reader, ZUndoPtr ptr)
{
	BlockNumber block = zundo_ptr_block(ptr);
	uint16		generation = zundo_ptr_generation(ptr);
	Buffer		buffer = zundo_reader_lock(reader, block);
	bool		older;
	Page		page;

	if (!BufferIsValid(buffer))
		return InvalidBuffer;
	page = BufferGetPage(buffer);
	if (!zundo_page_is_sound(page, block, ZUNDO_PAGE_MAGIC) && !PageIsNew(page))
		zundo_report_page(page, block, ZUNDO_PAGE_MAGIC);
	if (likely(zundo_special(page)->generation == generation))
		return buffer;
	older = PageIsNew(page) || (int16) (zundo_special(page)->generation - generation) < 0;
	UnlockReleaseBuffer(buffer);
	if (older)
		check_not_reached(reader, block, generation);
	return InvalidBuffer;
}

void
zundo_report_bad_record(ZUndoPtr ptr, uint16 end)
{
	zheap_corrupt(zundo_relation(), zundo_ptr_block(ptr), zundo_ptr_offset(ptr),
				  "no undo record is here, records end at %u", end);
}

/* ---- records ---- */

const char *
zundo_read_copied(const ZUndoReader *reader, ZUndoPtr ptr, Size *len)
{
	const ZUndoCopy *copy = &reader->copies[0];
	const char *bytes;

	if (copy->place == zundo_ptr_page(ptr) && zundo_ptr_offset(ptr) >= ZUNDO_PAGE_START &&
		zundo_record_bounds((Page) copy->page->data, zundo_ptr_offset(ptr), &bytes, len))
		return zundo_record_sound(ptr, bytes, *len);
	return NULL;
}

/* Make the other copy the one that was used last. */
static void
swap_copies(ZUndoReader *reader)
{
	ZUndoCopy	copy = reader->copies[0];

	reader->copies[0] = reader->copies[1];
	reader->copies[1] = copy;
}

/* Return the record from a private copy; NULL if none has it: then the page has to be read. */
static const char *
read_copy(ZUndoReader *reader, ZUndoPtr ptr, Size *len)
{
	const char *bytes;

	if (reader->copies[0].place != zundo_ptr_page(ptr))
	{
		if (reader->copies[1].place != zundo_ptr_page(ptr))
			return NULL;
		swap_copies(reader);
	}
	bytes = zundo_read_copied(reader, ptr, len);
	/*
	 * the copy may have been made while replay restored an image of the page, its end first
	 * (U9)
	 */
	if (bytes == NULL && zundo_ptr_offset(ptr) < zundo_page_end((Page) reader->copies[0].page))
		reader->copies[0].place = ZUNDO_NO_PAGE;
	return bytes;
}

/* Copy the page of "ptr", replacing an older copy of it, or else the copy that was not used last. */
static void
keep_copy(ZUndoReader *reader, Page page, uint16 end, ZUndoPtr ptr)
{
	ZUndoCopy  *copy = &reader->copies[0];

	Assert(end >= ZUNDO_PAGE_START && end <= ZUNDO_PAGE_END);
	if (copy->place != zundo_ptr_page(ptr))
		swap_copies(reader);
	copy->place = ZUNDO_NO_PAGE;
	if (copy->page == NULL)
		copy->page = MemoryContextAlloc(reader->context, sizeof(PGAlignedBlock));
	memcpy(copy->page->data, page, end);
	/* the page may have grown since */
	((PageHeader) copy->page->data)->pd_lower = end;
	copy->place = zundo_ptr_page(ptr);
}

/* Copy the record with its check, which comes first. */
static void
copy_record(ZUndoReader *reader, ZUndoPtr ptr, const char *bytes, Size len)
{
	Assert(len > 0 && len < BLCKSZ);
	reader->bytes_ptr = ZUNDO_INVALID;
	if (reader->bytes_size < len + sizeof(ZUndoCheck))
	{
		if (reader->bytes)
			pfree(reader->bytes);
		reader->bytes = NULL;
		reader->bytes_size = Max(len + sizeof(ZUndoCheck), 256);
		reader->bytes = MemoryContextAlloc(reader->context, reader->bytes_size);
	}
	memcpy(reader->bytes, bytes - sizeof(ZUndoCheck), len + sizeof(ZUndoCheck));
	reader->bytes_ptr = ptr;
	reader->bytes_len = len;
}

static inline const char *
copied_record(const ZUndoReader *reader, Size *len)
{
	Assert(reader->bytes_ptr != ZUNDO_INVALID);
	*len = reader->bytes_len;
	return reader->bytes + sizeof(ZUndoCheck);
}

/*
 * Copy the record, or with "whole_page" the page as far as it has records.  The page may be
 * locked or not.  Returns false if no record is there.
 */
static bool
take_record(ZUndoReader *reader, Page page, ZUndoPtr ptr, bool whole_page)
{
	uint16		offset = zundo_ptr_offset(ptr);
	uint16		end = zundo_page_end_now(page);
	const char *bytes;
	Size		len;

	/* all bytes before the end were there before the end was (U9) */
	pg_read_barrier();
	if (offset < ZUNDO_PAGE_START || offset >= end || end > ZUNDO_PAGE_END)
		return false;
	if (whole_page)
		keep_copy(reader, page, end, ptr);
	else if (zundo_record_bounds(page, offset, &bytes, &len))
		copy_record(reader, ptr, bytes, len);
	else
		return false;
	return true;
}

/* Return what take_record() has copied; NULL if it is not a sound record. */
static const char *
check_taken(ZUndoReader *reader, ZUndoPtr ptr, bool whole_page, Size *len)
{
	ZUndoCopy  *copy = &reader->copies[0];
	const char *bytes;

	if (whole_page)
	{
		if (zundo_record_bounds((Page) copy->page, zundo_ptr_offset(ptr), &bytes, len) &&
			zundo_record_sound(ptr, bytes, *len))
			return bytes;
		copy->place = ZUNDO_NO_PAGE;
		return NULL;
	}
	bytes = copied_record(reader, len);
	if (zundo_record_sound(ptr, bytes, *len))
		return bytes;
	reader->bytes_ptr = ZUNDO_INVALID;
	return NULL;
}

/*
 * Read the record without a lock.  The caller has the pointer from a table page that was
 * locked, so the record was complete by then, and does not change while the page is of this
 * generation, which is compared again when the bytes have been copied (U9).  NULL: read it with
 * the page locked.
 */
static const char *
read_unlocked(ZUndoReader *reader, ZUndoPtr ptr, bool whole_page, Size *len)
{
	Buffer		buffer = pin_again(reader, zundo_ptr_block(ptr));
	uint16		generation = zundo_ptr_generation(ptr);
	bool		taken = false;
	Page		page;

	if (!BufferIsValid(buffer))
		return NULL;
	page = BufferGetPage(buffer);
	if (zundo_generation_now(page) == generation)
	{
		taken = take_record(reader, page, ptr, whole_page);
		pg_read_barrier();
		if (zundo_generation_now(page) != generation)
		{
			reader->bytes_ptr = ZUNDO_INVALID;
			reader->copies[0].place = ZUNDO_NO_PAGE;
			taken = false;
		}
	}
	ReleaseBuffer(buffer);
	return taken ? check_taken(reader, ptr, whole_page, len) : NULL;
}

/*
 * Read the record with the page locked.  NULL if it has been recycled; ERROR (data_corrupted)
 * if it is damaged.
 */
static const char *
read_locked(ZUndoReader *reader, ZUndoPtr ptr, bool whole_page, Size *len)
{
	Buffer		buffer = zundo_reader_lock_of(reader, ptr);
	const char *bytes = NULL;
	Page		page;

	if (!BufferIsValid(buffer))
		return NULL;
	page = BufferGetPage(buffer);
	if (take_record(reader, page, ptr, whole_page))
		bytes = check_taken(reader, ptr, whole_page, len);
	if (bytes == NULL)
		zundo_report_bad_record(ptr, zundo_page_end(page));
	UnlockReleaseBuffer(buffer);
	return bytes;
}

/*
 * Read the record from the buffer pool; for the second record in a row of one page copy the
 * page.
 */
static pg_noinline const char *
read_page(ZUndoReader *reader, ZUndoPtr ptr, Size *len)
{
	bool		again = reader->block == zundo_ptr_block(ptr);
	const char *bytes = read_unlocked(reader, ptr, again, len);

	return bytes != NULL ? bytes : read_locked(reader, ptr, again, len);
}

const char *
zundo_read(ZUndoReader *reader, ZUndoPtr ptr, Size *len)
{
	const char *bytes = read_copy(reader, ptr, len);

	if (bytes != NULL)
		return bytes;
	if (reader->bytes_ptr == ptr && ptr != ZUNDO_INVALID)
		return copied_record(reader, len);
	/* a damaged pointer must not lead to undo of the other kind, which may have a record there */
	if (unlikely(zundo_ptr_is_local(ptr) != reader->local))
		report_no_block(zundo_relation(), zundo_ptr_block(ptr));
	return reader->local ? zundo_local_read(ptr, len) : read_page(reader, ptr, len);
}

ZUndoPtr
zundo_next_read(ZUndoReader *reader, ZUndoPtr ptr)
{
	const char *bytes;
	Page		page;
	uint16		end;
	Size		len;

	if (zundo_ptr_is_local(ptr))
		return ZUNDO_INVALID;
	bytes = read_copy(reader, ptr, &len);
	if (bytes == NULL)
		return ZUNDO_INVALID;
	page = (Page) reader->copies[0].page;
	end = (bytes + len) - (char *) page;
	return end < zundo_page_end(page) ?
		zundo_ptr_make(zundo_ptr_block(ptr), zundo_ptr_generation(ptr), end) : ZUNDO_INVALID;
}
