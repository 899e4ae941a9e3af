/*
 * store_private.h
 *		The relation, its users and movers, bytes of its pages.
 */
#ifndef ZHEAP_STORE_PRIVATE_H
#define ZHEAP_STORE_PRIVATE_H

#include "undo_state.h"

/* The transaction has ended: it does not use the relation any more. */
extern void zundo_close(void);

/* ERROR if the transaction has moved the relation: it must not write there. */
extern void zundo_refuse_moved(void);

/* ERROR if this transaction has given up undo, so that its xid is below the horizon. */
extern void zundo_refuse_given_up(void);

extern void zundo_meta_read(ZUndoMeta *meta);

/* The same for those who get by without: false if it is damaged; and what is known then. */
extern bool zundo_meta_try(ZUndoMeta *meta);
extern void zundo_meta_guess(ZUndoMeta *meta);

/*
 * Initialise the first pages, of a new relation or one whose undo is given up.  "lock_page" is
 * called for each in turn, in the order of their numbers, and returns it locked exclusively; no
 * more than two are pinned at once.  Returns the end of the last WAL record.
 */
extern XLogRecPtr zundo_init_pages(Buffer (*lock_page) (BlockNumber block,
														const RelFileLocator *locator),
								   const RelFileLocator *locator, const ZRecUndoInit *rec);

/* Say what is wrong with a page that should be sound. */
pg_noreturn extern void zundo_report_page(Page page, BlockNumber block, uint16 magic);

/* Pin and lock a page that must exist; checks it unless "magic" is 0. */
extern Buffer zundo_page_lock(BlockNumber block, int mode, uint16 magic);

/*
 * For those who get by without: copy a page, which must be sound.  False if it is not, or
 * does not exist, or cannot be read.
 */
extern bool zundo_page_copy(BlockNumber block, uint16 magic, Page copy);

/*
 * The block's buffer is zero.  Is that because it could not be read?  Else it was never written,
 * or somebody was about to.
 */
extern bool zundo_is_unreadable(BlockNumber block);

/* Pin and lock exclusively a page that is to be initialised. */
extern Buffer zundo_page_lock_new(BlockNumber block);

/* Make the file at least so long; nobody else extends it meanwhile. */
extern void zundo_extend_to(BlockNumber nblocks);

/*
 * Open the file anew if it was truncated: segments that another backend truncated away
 * would still count.  The database is locked exclusively.
 */
extern void zundo_refresh_file(void);

/* Was the relation made by this transaction?  It is open. */
extern bool zundo_relation_is_new(void);

/* Learn from the meta page what shared memory does not know yet. */
extern void zundo_learn_meta(void);

/*
 * Is the block within the undo relation?  False: it was, and has been truncated away.
 * ERROR if it never was.  The truncate lock must be held, and be kept until the page
 * is pinned.
 */
extern bool zundo_block_exists(BlockNumber block);

/* ---- users and movers (undo_use.c) ---- */

/*
 * From here to zundo_use_end() the file stays as it is.  False: a mover is about; the caller
 * has to lock the relation.  The backend is attached to the database.  Cannot fail.
 */
extern bool zundo_use_begin(void);
extern void zundo_use_end(void);
extern bool zundo_use_is_noted(void);

/* The relation was locked with RowExclusiveLock: no mover is about, unless we are one. */
extern void zundo_use_locked(Oid relid);

/* ---- does WAL name the page?  (undo_reference.c) ---- */

/* A record that ends at "lsn" names the page and our log, which goes on there. */
extern void zundo_reference_set(BlockNumber block, uint16 generation, XLogRecPtr lsn);

/* The next record is to name the page: another backend may have written to the log. */
extern void zundo_reference_forget(void);

/* ---- the tail page (undo_tail.c) ---- */

/*
 * Pin the page that MyUndo.block is about, which is not kept pinned (MyUndo.tail), and from now on
 * may be; it is locked as "mode" says.  We have entered.
 */
extern Buffer zundo_tail_pin(Relation rel, ReadBufferMode mode);

/* Unlock it, and unpin it unless it is kept. */
extern void zundo_tail_unlock(Buffer buffer);

/* Where that may be pinned, but must not be any more.  Cannot fail. */
extern void zundo_tail_unpin(void);

/* ---- the free map (undo_map.c); the database is locked ---- */

/* Can the extent's map page, or any, not be read? */
extern bool zundo_map_is_lost(BlockNumber extent);

/* Lowest free extent; invalid if there is none, or if the map is lost. */
extern BlockNumber zundo_map_lowest(void);

/* So many extents before "end" are free, all of one group, not more than max. */
extern uint32 zundo_map_free_before(BlockNumber end, uint32 max);

extern BlockNumber zundo_map_block(BlockNumber extent);
extern uint32 zundo_map_bit(BlockNumber extent);

/* ---- counting extents (undo_marks.c) ---- */

/* The database is loaded; its lock is held exclusively. */
extern void zundo_marks_begin(ZUndoDb *db);

/* An extent was opened when this was the next xid. */
extern void zundo_count_opened(ZUndoDb *db, FullTransactionId next);

/* ---- bytes (undo_page.c) ---- */

static inline ZUndoPageSpecial *
zundo_special(Page page)
{
	return (ZUndoPageSpecial *) ((char *) page + ZUNDO_PAGE_END);
}

static inline uint16
zundo_page_end(Page page)
{
	return ((PageHeader) page)->pd_lower;
}

static inline BlockNumber
zundo_extent_of(BlockNumber block)
{
	return block - block % ZUNDO_EXTENT_BLOCKS;
}

static inline bool
zundo_last_of_extent(BlockNumber block)
{
	return block % ZUNDO_EXTENT_BLOCKS == ZUNDO_EXTENT_BLOCKS - 1;
}

static inline BlockNumber
zundo_dir_block(uint32 log)
{
	return 1 + log / ZUNDO_DIR_ENTRIES;
}

static inline Size
zundo_framed(Size len)
{
	return len + sizeof(ZUndoCheck) + (len < 0x80 ? 1 : 2);
}

static inline ZUndoMeta *
zundo_meta(Page page)
{
	return (ZUndoMeta *) PageGetContents(page);
}

static inline ZUndoDirEntry *
zundo_dir_entry(Page page, uint32 log)
{
	return (ZUndoDirEntry *) PageGetContents(page) + log % ZUNDO_DIR_ENTRIES;
}

/* The length and the begin of the record at "offset"; false: it does not fit the page. */
static inline bool
zundo_record_bounds(Page page, uint16 offset, const char **bytes, Size *len)
{
	const char *end = (const char *) page + zundo_page_end(page);
	uint64		length;
	const char *in;

	in = zvarint_get((const char *) page + offset, end, &length);
	if (in == NULL || end - in < (ptrdiff_t) sizeof(ZUndoCheck))
		return false;
	*bytes = in + sizeof(ZUndoCheck);
	if (length > (uint64) (end - *bytes))
		return false;
	*len = (Size) length;
	return true;
}

/* As they are at this moment, on a page that is not locked. */
static inline uint16
zundo_page_end_now(Page page)
{
	return *(volatile LocationIndex *) &((PageHeader) page)->pd_lower;
}

static inline uint16
zundo_generation_now(Page page)
{
	return *(volatile uint16 *) &zundo_special(page)->generation;
}

/* Does the check that stands before the bytes say that they are the record at "ptr"? */
extern bool zundo_record_is_sound(ZUndoPtr ptr, const char *bytes, Size len);

/* The record's bounds, and its check; the page is known to be the one of "ptr". */
extern bool zundo_record_at(Page page, ZUndoPtr ptr, const char **bytes, Size *len);

/* Is it a page of this kind, at its place, with nothing wrong in its header? */
extern bool zundo_page_is_sound(Page page, BlockNumber block, uint16 magic);

/*
 * Has WAL come as far as the page's LSN?  With a greater one, which its check does not cover, the
 * page can't be changed: after a crash replay would skip records that it believes to be in the
 * page, and the next one would not fit.  Not during recovery.  Takes a spinlock.
 */
extern bool zundo_page_lsn_is_sound(Page page);

extern bool zundo_map_get(Page page, uint32 bit);

/* Changes of pages: in the critical section and in redo, page locked. */
extern void zundo_page_init_apply(Page page, BlockNumber block, uint16 generation);
extern void zundo_page_append_apply(Page page, BlockNumber block, const char *bytes, Size len);
extern void zundo_meta_init_apply(Page page, const ZRecUndoInit *rec);
extern void zundo_dir_init_apply(Page page, BlockNumber block);
extern void zundo_meta_apply(Page page, const ZUndoMetaValues *values);
extern void zundo_horizon_apply(Page page, FullTransactionId horizon);
extern void zundo_dir_apply(Page page, uint32 log, BlockNumber oldest_extent,
							BlockNumber newest_extent);
extern void zundo_extent_close_apply(Page page, BlockNumber block, BlockNumber next,
									 FullTransactionId closed);
extern void zundo_map_init_apply(Page page, BlockNumber block);

/* Of block 0 to ZUNDO_MAP_OFFSET, whichever of these three it needs. */
extern void zundo_first_page_apply(Page page, BlockNumber block, const ZRecUndoInit *rec);
extern void zundo_map_apply(Page page, BlockNumber block, uint32 first, uint32 count,
							bool is_free);

#endif							/* ZHEAP_STORE_PRIVATE_H */
