/*
 * store_private.h
 *		The undo relation, its users and movers, and the format of its pages.
 *
 * Unless said otherwise zundo_open() must have been called, and ERROR is raised only for I/O.
 */
#ifndef ZHEAP_STORE_PRIVATE_H
#define ZHEAP_STORE_PRIVATE_H

#include "undo_state.h"

/* End the transaction's use of the relation.  Raises no error. */
extern void zundo_close(void);

/*
 * Raise ERROR (object_not_in_prerequisite_state) if the transaction has moved the relation: it
 * must not write there.
 */
extern void zundo_refuse_moved(void);

/*
 * Raise ERROR (object_not_in_prerequisite_state) if this transaction has given up undo, so that
 * its xid is below the horizon.
 */
extern void zundo_refuse_given_up(void);

/*
 * Copy the meta page's values.  ERROR (data_corrupted) if the page is damaged, or of another
 * version.
 */
extern void zundo_meta_read(ZUndoMeta *meta);

/*
 * Try to copy the meta page's values.  Returns false if the page is damaged; ERROR
 * (data_corrupted) if it is of another version.  zundo_meta_guess() then writes a LOG message,
 * and sets what readers need from pg_class and the length of the file.
 */
extern bool zundo_meta_try(ZUndoMeta *meta);
extern void zundo_meta_guess(ZUndoMeta *meta);

/* Raise ERROR (data_corrupted) with what is wrong with a page that should be sound. */
pg_noreturn extern void zundo_report_page(Page page, BlockNumber block, uint16 magic);

/*
 * Pin, lock and return a page.  ERROR (data_corrupted) if it does not exist or, unless "magic"
 * is 0, if it is not sound, or is to be locked exclusively and has an LSN beyond the end of
 * WAL.
 */
extern Buffer zundo_page_lock(BlockNumber block, int mode, uint16 magic);

/*
 * Copy a page, for callers that can do without it.  Returns false if the page does not exist,
 * fails the server's verification or is not sound.  Locks it, shared, for the copy.  ERROR only
 * if the read itself fails.
 */
extern bool zundo_page_copy(BlockNumber block, uint16 magic, Page copy);

/*
 * Return whether the block, whose buffer is zero, fails the server's verification on disk.
 * Otherwise it was never written, or another backend is about to write it.  Reads the block
 * from the file.
 */
extern bool zundo_is_unreadable(BlockNumber block);

/*
 * Pin, lock exclusively and return a page that is to be initialised, without reading it.  ERROR
 * (data_corrupted) if the file has no such block.
 */
extern Buffer zundo_page_lock_new(BlockNumber block);

/*
 * Log a change of pages, in the critical section, after it was applied: mark them dirty, insert
 * the record, and set their LSN.  Return the record's end.  pages[i] is block reference i, or
 * invalid; replay initialises those of which "init" has the bit 1 << i.
 */
extern XLogRecPtr zundo_emit(uint8 opcode, const void *rec, Size len, const Buffer *pages, int n,
							 uint32 init);

/* Unlock and unpin the pages that are valid. */
extern void zundo_unlock_pages(const Buffer *pages, int n);

/*
 * Extend the file to at least this many blocks.  The database is locked exclusively, so that no
 * other backend extends it.  ERROR as for any extension of a file.
 */
extern void zundo_extend_to(BlockNumber nblocks);

/*
 * Reopen the file if it was truncated since this backend last did so: segments that another
 * backend has truncated away would still count.  The database is locked exclusively.
 */
extern void zundo_refresh_file(void);

/* Return whether this transaction has made the relation, which is open. */
extern bool zundo_relation_is_new(void);

/*
 * Set horizons and end of the relation in shared memory from the meta page, if they are not
 * known yet.  Takes the truncate lock, shared.  ERROR (data_corrupted) if the horizon is beyond
 * the next xid (not in recovery), or the page is of another version.
 */
extern void zundo_learn_meta(void);

/*
 * Return whether the block is within the undo relation; if not, it was, and has been truncated
 * away.  ERROR (data_corrupted) if it never was.  The caller holds the truncate lock until the
 * page is pinned.
 */
extern bool zundo_block_exists(BlockNumber block);

/* ---- making the relation (undo_make.c) ---- */

/*
 * Initialise the first pages of a new relation, or of one whose undo is given up.  "lock_page"
 * is called for each in the order of their numbers, and returns it locked exclusively; at most
 * two are pinned at once, none on return.  Returns the end of the last WAL record.
 */
extern XLogRecPtr zundo_init_pages(Buffer (*lock_page) (BlockNumber block,
														const RelFileLocator *locator),
								   const RelFileLocator *locator, const ZRecUndoInit *rec);

/* ---- users and movers (undo_use.c) ---- */

/*
 * Note that this transaction uses the relation: from here to zundo_use_end() its file is not
 * exchanged.  Returns false if a mover is about: the caller then has to lock the relation.  The
 * backend is attached to the database.  zundo_use_is_noted() returns whether the transaction is
 * noted.  Raise no error.
 */
extern bool zundo_use_begin(void);
extern void zundo_use_end(void);
extern bool zundo_use_is_noted(void);

/*
 * Note that the relation was locked with RowExclusiveLock: no mover is about, unless it is this
 * transaction.
 */
extern void zundo_use_locked(Oid relid);

/* ---- does WAL name the page?  (undo_reference.c) ---- */

/*
 * Note that a WAL record that ends at "lsn" names the page and our log, which goes on there.
 * Raises no error.
 */
extern void zundo_reference_set(BlockNumber block, uint16 generation, XLogRecPtr lsn);

/* Have the next WAL record name the page: another backend may have written to the log. */
extern void zundo_reference_forget(void);

/* ---- the tail page (undo_tail.c) ---- */

/*
 * Pin the page MyUndo.block, which is not kept pinned (MyUndo.tail) yet, and return it; from
 * now on it may be kept.  "mode" says whether it is locked, as in ReadBufferExtended.  The
 * backend has entered.
 */
extern Buffer zundo_tail_pin(Relation rel, ReadBufferMode mode);

/* Unlock the page, and unpin it unless it is kept. */
extern void zundo_tail_unlock(Buffer buffer);

/* Give the pin back, if the page is kept.  Raises no error. */
extern void zundo_tail_unpin(void);

/* ---- the free map (undo_map.c); the database is locked ---- */

/*
 * Return whether the extent's map page, or any other one so far, cannot be read; writes a LOG
 * message the first time.
 */
extern bool zundo_map_is_lost(BlockNumber extent);

/*
 * Return the first block of the lowest free extent; invalid if there is none, or if the map is
 * lost.  The database is locked exclusively.  ERROR (data_corrupted) if the map has fewer free
 * extents than the meta page says.
 */
extern BlockNumber zundo_map_lowest(void);

/*
 * Return how many extents in a row before "end" are free: at most "max", and all of one group.
 * ERROR (data_corrupted) if the map page is damaged.
 */
extern uint32 zundo_map_free_before(BlockNumber end, uint32 max);

/* The map page of an extent, which is given by its first block, and its bit there. */
extern BlockNumber zundo_map_block(BlockNumber extent);
extern uint32 zundo_map_bit(BlockNumber extent);

/* ---- counting extents (undo_marks.c) ---- */

/* Begin to count, as the database is loaded; its lock is held exclusively. */
extern void zundo_marks_begin(ZUndoDb *db);

/*
 * Count an extent that was opened when "next" was the next xid.  The database is locked
 * exclusively.
 */
extern void zundo_count_opened(ZUndoDb *db, FullTransactionId next);

/* ---- bytes (undo_page.c) ---- */

/* The special space of an undo page. */
static inline ZUndoPageSpecial *
zundo_special(Page page)
{
	return (ZUndoPageSpecial *) ((char *) page + ZUNDO_PAGE_END);
}

/* The end of the page's records, in bytes from its begin. */
static inline uint16
zundo_page_end(Page page)
{
	return ((PageHeader) page)->pd_lower;
}

/* The first block of the extent that the block is in. */
static inline BlockNumber
zundo_extent_of(BlockNumber block)
{
	return block - block % ZUNDO_EXTENT_BLOCKS;
}

/* Return whether the block is the last one of its extent. */
static inline bool
zundo_last_of_extent(BlockNumber block)
{
	return block % ZUNDO_EXTENT_BLOCKS == ZUNDO_EXTENT_BLOCKS - 1;
}

/* The page of the directory that has the log's entry. */
static inline BlockNumber
zundo_dir_block(uint32 log)
{
	return 1 + log / ZUNDO_DIR_ENTRIES;
}

/* Bytes that a record of "len" bytes takes on a page: its check and its length come first. */
static inline Size
zundo_framed(Size len)
{
	return len + sizeof(ZUndoCheck) + (len < 0x80 ? 1 : 2);
}

/* The contents of the meta page. */
static inline ZUndoMeta *
zundo_meta(Page page)
{
	return (ZUndoMeta *) PageGetContents(page);
}

/* The log's entry on its page of the directory (zundo_dir_block). */
static inline ZUndoDirEntry *
zundo_dir_entry(Page page, uint32 log)
{
	return (ZUndoDirEntry *) PageGetContents(page) + log % ZUNDO_DIR_ENTRIES;
}

/*
 * Set the begin and the length of the record at "offset".  Returns false if it does not fit the
 * page.
 */
static inline bool
zundo_record_bounds(Page page, uint16 offset, const char **bytes, Size *len)
{
	const uint8 *in = (const uint8 *) page + offset;
	const uint8 *end = (const uint8 *) page + zundo_page_end(page);
	Size		head = sizeof(ZUndoCheck) + 1;
	Size		length;

	if (end - in < (ptrdiff_t) head)
		return false;
	length = in[0];
	if (length >= 0x80)
	{
		/* no record is as long as a page */
		if (in[1] >= 0x80)
			return false;
		length = (length & 0x7F) | (Size) in[1] << 7;
		head++;
	}
	if (end - in < (ptrdiff_t) (head + length))
		return false;
	*bytes = (const char *) in + head;
	*len = length;
	return true;
}

/*
 * Read the page's end, and its generation, as they are at this moment, on a page that is not
 * locked.
 */
static inline uint16
zundo_page_end_now(Page page)
{
	return *(volatile LocationIndex *) &((PageHeader) page)->pd_lower;
}

/* The page's generation at this moment, as zundo_page_end_now(). */
static inline uint16
zundo_generation_now(Page page)
{
	return *(volatile uint16 *) &zundo_special(page)->generation;
}

/*
 * Return "bytes" if they agree with the check before them, as the record at "ptr"; otherwise
 * NULL.
 */
extern const char *zundo_record_sound(ZUndoPtr ptr, const char *bytes, Size len);

/* Return whether the page is of this kind, at its place, and agrees with its check. */
extern bool zundo_page_is_sound(Page page, BlockNumber block, uint16 magic);

/*
 * Return whether WAL has reached the page's LSN.  If not, the page must not be changed (its
 * check does not cover its LSN): after a crash replay would skip records that it believes to be
 * in the page, and the next one would not fit.  Not during recovery.  Takes a spinlock.
 */
extern bool zundo_page_lsn_is_sound(Page page);

/* Return whether the extent with this bit is free. */
extern bool zundo_map_get(Page page, uint32 bit);

/* Changes of pages: in the critical section and in redo, page locked. */
extern void zundo_page_init_apply(Page page, BlockNumber block, uint16 generation);
extern void zundo_page_append_apply(Page page, BlockNumber block, const char *bytes, Size len);
extern void zundo_dir_init_apply(Page page, BlockNumber block);
extern void zundo_meta_apply(Page page, const ZUndoMetaValues *values);
extern void zundo_horizon_apply(Page page, FullTransactionId horizon);
extern void zundo_dir_apply(Page page, uint32 log, BlockNumber oldest_extent,
							BlockNumber newest_extent);
extern void zundo_extent_close_apply(Page page, BlockNumber block, BlockNumber next,
									 FullTransactionId closed);
extern void zundo_map_init_apply(Page page, BlockNumber block);

/* Initialise a block from 0 to ZUNDO_MAP_OFFSET as meta, directory or map page. */
extern void zundo_first_page_apply(Page page, BlockNumber block, const ZRecUndoInit *rec);
extern void zundo_map_apply(Page page, BlockNumber block, uint32 first, uint32 count,
							bool is_free);

#endif							/* ZHEAP_STORE_PRIVATE_H */
