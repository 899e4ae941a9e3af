/*
 * undo_page.c
 *		Format of pages and pointers: checks, and the changes of pages that redo applies, too.
 */
#include "postgres.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_CRC_INSTRUCTIONS
#include <nmmintrin.h>
#endif

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "port/pg_crc32c.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_wal.h"

#include "store_private.h"

/* ---- pointers: block << 32 | generation << 16 | offset ---- */

ZUndoPtr
zundo_ptr_make(BlockNumber block, uint16 generation, uint16 offset)
{
	Assert(block >= ZUNDO_EXTENT_BLOCKS && generation != 0);
	Assert(offset >= ZUNDO_PAGE_START && offset < ZUNDO_PAGE_END);
	return (uint64) block << 32 | (uint64) generation << 16 | offset;
}

/* ---- pages ---- */

bool
zundo_is_undo_page(const char *page)
{
	uint16		magic;

	if (PageGetSpecialSize((Page) page) != sizeof(ZUndoPageSpecial))
		return false;
	magic = zundo_special((Page) page)->magic;
	return magic == ZUNDO_PAGE_MAGIC || magic == ZUNDO_DIR_MAGIC ||
		magic == ZUNDO_MAP_MAGIC || magic == ZUNDO_METAPAGE_MAGIC;
}

/* ---- checks ---- */

/*
 * Return a record's check: CRC-32C folded to 16 bits.  It includes the pointer, so that neither
 * zero bytes nor a record of another place, or of an earlier generation of the extent, pass.
 */
static pg_noinline ZUndoCheck
check_by_server(ZUndoPtr ptr, const char *bytes, Size len)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &ptr, sizeof(ptr));
	COMP_CRC32C(crc, bytes, len);
	FIN_CRC32C(crc);
	return (ZUndoCheck) (crc ^ crc >> 16);
}

/*
 * Do the same with the processor's instructions.  A record is short: the server's function, which
 * is called by a pointer, would take longer for the calls than for the bytes.
 */
#ifdef HAVE_CRC_INSTRUCTIONS
#define IF_CRC_INSTRUCTIONS __attribute__((target("sse4.2")))

static inline IF_CRC_INSTRUCTIONS ZUndoCheck
check_by_instructions(ZUndoPtr ptr, const char *bytes, Size len)
{
	uint64		crc = _mm_crc32_u64(PG_UINT32_MAX, ptr);
	uint64		eight;
	uint32		four;
	uint16		two;
	uint32		rest;

	for (const char *end = bytes + len; end - bytes >= 8; bytes += 8)
	{
		memcpy(&eight, bytes, 8);
		crc = _mm_crc32_u64(crc, eight);
	}
	rest = (uint32) crc;
	if (len & 4)
	{
		memcpy(&four, bytes, 4);
		rest = _mm_crc32_u32(rest, four);
		bytes += 4;
	}
	if (len & 2)
	{
		memcpy(&two, bytes, 2);
		rest = _mm_crc32_u16(rest, two);
		bytes += 2;
	}
	if (len & 1)
		rest = _mm_crc32_u8(rest, (uint8) *bytes);
	rest = ~rest;
	return (ZUndoCheck) (rest ^ rest >> 16);
}

static pg_noinline IF_CRC_INSTRUCTIONS const char *
sound_by_instructions(ZUndoPtr ptr, const char *bytes, Size len)
{
	ZUndoCheck	check;

	memcpy(&check, bytes - sizeof(check), sizeof(check));
	Assert(check_by_instructions(ptr, bytes, len) == check_by_server(ptr, bytes, len));
	return check == check_by_instructions(ptr, bytes, len) ? bytes : NULL;
}
#endif

const char *
zundo_record_sound(ZUndoPtr ptr, const char *bytes, Size len)
{
	ZUndoCheck	check;

#ifdef HAVE_CRC_INSTRUCTIONS
	if (likely(__builtin_cpu_supports("sse4.2")))
		return sound_by_instructions(ptr, bytes, len);
#endif
	memcpy(&check, bytes - sizeof(check), sizeof(check));
	return check == check_by_server(ptr, bytes, len) ? bytes : NULL;
}

/*
 * Return a page's check.  On an undo page it covers the end of the records, which have checks
 * of their own, but not the records.  pd_lower up to pd_pagesize_version are eight bytes
 * without a gap.
 */
static uint32
page_check(Page page, BlockNumber block)
{
	char		head[sizeof(block) + 8 + sizeof(ZUndoPageSpecial)];
	pg_crc32c	crc;

	/* in one piece, as it is computed for each appended record */
	memcpy(head, &block, sizeof(block));
	memcpy(head + sizeof(block), &((PageHeader) page)->pd_lower, 8);
	memcpy(head + sizeof(block) + 8, zundo_special(page), sizeof(ZUndoPageSpecial));
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, head, sizeof(head));
	if (zundo_special(page)->magic != ZUNDO_PAGE_MAGIC)
		COMP_CRC32C(crc, PageGetContents(page), ZUNDO_PAGE_END - SizeOfPageHeaderData);
	FIN_CRC32C(crc);
	return crc;
}

static void
set_check(Page page, BlockNumber block)
{
	((PageHeader) page)->pd_prune_xid = page_check(page, block);
}

bool
zundo_page_is_sound(Page page, BlockNumber block, uint16 magic)
{
	uint16		end = zundo_page_end(page);

	return zundo_special(page)->magic == magic && end >= ZUNDO_PAGE_START &&
		end <= ZUNDO_PAGE_END && ((PageHeader) page)->pd_prune_xid == page_check(page, block);
}

bool
zundo_page_lsn_is_sound(Page page)
{
	return PageGetLSN(page) <= GetXLogInsertRecPtr();
}

/* ---- changes ---- */

/*
 * Zero the page and set its magic number.  The unused part stays zero: W1, and copies may omit
 * it.
 */
static void
init(Page page, uint16 magic)
{
	PageInit(page, BLCKSZ, sizeof(ZUndoPageSpecial));
	zundo_special(page)->magic = magic;
}

void
zundo_page_init_apply(Page page, BlockNumber block, uint16 generation)
{
	ZUndoPageSpecial *special = zundo_special(page);

	Assert(generation != 0);
	/* U9: generation 0 from before the first byte changes until all bytes are in place */
	special->generation = 0;
	pg_write_barrier();
	init(page, ZUNDO_PAGE_MAGIC);
	special->closed = InvalidFullTransactionId;
	special->next = InvalidBlockNumber;
	pg_write_barrier();
	special->generation = generation;
	set_check(page, block);
}

/* Append a record at the end of the page, and move the end. */
void
zundo_page_append_apply(Page page, BlockNumber block, const char *bytes, Size len)
{
	uint16		start = zundo_page_end(page);
	char	   *out = (char *) page + start;
	ZUndoCheck	check;

	Assert(zundo_special(page)->magic == ZUNDO_PAGE_MAGIC);
	Assert(start >= ZUNDO_PAGE_START);
	Assert(start + zundo_framed(len) <= ZUNDO_PAGE_END);

	check = check_by_server(zundo_ptr_make(block, zundo_special(page)->generation, start), bytes,
						 len);
	out = zvarint_put(out, len);
	memcpy(out, &check, sizeof(check));
	out += sizeof(check);
	memcpy(out, bytes, len);
	pg_write_barrier();			/* U9 */
	((PageHeader) page)->pd_lower = (out + len) - (char *) page;	/* U1 */
	set_check(page, block);
}

static void
meta_init_apply(Page page, const ZRecUndoInit *rec)
{
	ZUndoMeta  *meta = zundo_meta(page);

	init(page, ZUNDO_METAPAGE_MAGIC);
	meta->magic = ZUNDO_META_MAGIC;
	meta->version = ZUNDO_META_VERSION;
	meta->horizon = rec->horizon;
	meta->nblocks = ZUNDO_EXTENT_BLOCKS;
	meta->high_water = rec->high_water;
	meta->free_count = 0;
	meta->generation = rec->generation;
	((PageHeader) page)->pd_lower = (char *) (meta + 1) - (char *) page;
	set_check(page, ZUNDO_META_BLOCK);
}

void
zundo_dir_init_apply(Page page, BlockNumber block)
{
	ZUndoDirEntry *entry = zundo_dir_entry(page, 0);

	init(page, ZUNDO_DIR_MAGIC);
	for (int i = 0; i < ZUNDO_DIR_ENTRIES; i++)
		entry[i].oldest_extent = entry[i].newest_extent = InvalidBlockNumber;
	((PageHeader) page)->pd_lower = (char *) (entry + ZUNDO_DIR_ENTRIES) - (char *) page;
	set_check(page, block);
}

void
zundo_horizon_apply(Page page, FullTransactionId horizon)
{
	ZUndoMeta  *meta = zundo_meta(page);

	Assert(meta->magic == ZUNDO_META_MAGIC);
	Assert(FullTransactionIdFollowsOrEquals(horizon, meta->horizon));	/* U1 */

	meta->horizon = horizon;
	set_check(page, ZUNDO_META_BLOCK);
}

/* Set the values of the meta page; high_water only grows. */
void
zundo_meta_apply(Page page, const ZUndoMetaValues *values)
{
	ZUndoMeta  *meta = zundo_meta(page);

	Assert(meta->magic == ZUNDO_META_MAGIC);

	Assert(FullTransactionIdFollowsOrEquals(values->horizon, meta->horizon));	/* U1 */
	Assert((int16) (values->generation - meta->generation) >= 0);	/* U6; it goes round */

	meta->horizon = values->horizon;
	meta->nblocks = values->nblocks;
	meta->high_water = Max(meta->high_water, values->nblocks);
	meta->free_count = values->free_count;
	meta->generation = values->generation;
	set_check(page, ZUNDO_META_BLOCK);
}

void
zundo_dir_apply(Page page, uint32 log, BlockNumber oldest_extent, BlockNumber newest_extent)
{
	ZUndoDirEntry *entry = zundo_dir_entry(page, log);

	Assert(zundo_special(page)->magic == ZUNDO_DIR_MAGIC);
	Assert(BlockNumberIsValid(oldest_extent) == BlockNumberIsValid(newest_extent));
	Assert(!BlockNumberIsValid(oldest_extent) ||
		   (oldest_extent % ZUNDO_EXTENT_BLOCKS == 0 && newest_extent % ZUNDO_EXTENT_BLOCKS == 0));

	entry->oldest_extent = oldest_extent;
	entry->newest_extent = newest_extent;
	set_check(page, zundo_dir_block(log));
}

void
zundo_extent_close_apply(Page page, BlockNumber block, BlockNumber next,
						 FullTransactionId closed)
{
	ZUndoPageSpecial *special = zundo_special(page);

	Assert(special->magic == ZUNDO_PAGE_MAGIC);

	special->next = next;
	special->closed = closed;
	set_check(page, block);
}

/* ---- map pages ---- */

/* The page has no hole: all of it is bits. */
void
zundo_map_init_apply(Page page, BlockNumber block)
{
	init(page, ZUNDO_MAP_MAGIC);
	((PageHeader) page)->pd_lower = ZUNDO_PAGE_END;
	set_check(page, block);
}

void
zundo_first_page_apply(Page page, BlockNumber block, const ZRecUndoInit *rec)
{
	if (block == ZUNDO_META_BLOCK)
		meta_init_apply(page, rec);
	else if (block <= ZUNDO_DIR_PAGES)
		zundo_dir_init_apply(page, block);
	else
		zundo_map_init_apply(page, block);
}

bool
zundo_map_get(Page page, uint32 bit)
{
	return (PageGetContents(page)[bit / 8] & (1 << bit % 8)) != 0;
}

void
zundo_map_apply(Page page, BlockNumber block, uint32 first, uint32 count, bool is_free)
{
	char	   *bits = PageGetContents(page);

	Assert(zundo_special(page)->magic == ZUNDO_MAP_MAGIC);
	Assert(first + count <= ZUNDO_GROUP_EXTENTS);

	for (uint32 bit = first; bit < first + count; bit++)
	{
		if (is_free)
			bits[bit / 8] |= 1 << bit % 8;
		else
			bits[bit / 8] &= ~(1 << bit % 8);
	}
	set_check(page, block);
}
