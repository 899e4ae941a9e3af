/*
 * log_private.h
 *		Extents, pages that are read, and the life of a log.
 *
 * zundo_open_loaded() has been called.  "ERROR (data_corrupted)" is about the meta page, a page
 * of the directory or of the free map, or the first page of an extent.
 */
#ifndef ZHEAP_LOG_PRIVATE_H
#define ZHEAP_LOG_PRIVATE_H

#include "zheap/undo/undo_read.h"
#include "zheap/undo/undo_write.h"

#include "../store/undo_state.h"

/* ---- directory pages (undo_dir.c) ---- */

/*
 * Pin, lock exclusively and return the directory page with the log's entry, which is not lost.
 * If the page is damaged it is made anew.  The database is locked exclusively.
 */
extern Buffer zundo_dir_lock(uint32 number);

/* ---- opening extents (undo_extent.c) ---- */

/*
 * Return whether our log can go on to another extent: not if the first page of "newest", its
 * newest one, is damaged.
 */
extern bool zundo_extent_can_be_left(BlockNumber newest);

/*
 * Open a new extent for our log; MyUndo then stands at its begin.  Takes the database's lock,
 * exclusively; the caller may hold locks of table pages.  ERROR (configuration_limit_exceeded)
 * at zheap.undo_max_size, (program_limit_exceeded) at the relation's greatest size,
 * (data_corrupted), or as for any extension of a file.
 */
extern void zundo_extent_open(void);

/* ---- freeing extents (undo_free.c) ---- */

/*
 * Return whether the log's oldest extent is not needed, and at least "keep" others (1 or 2)
 * follow it.  The database is locked.
 */
extern bool zundo_oldest_is_free(ZUndoLog *log, FullTransactionId horizon, int keep);

/* Copy the special area of an undo page.  Returns false if the page is damaged. */
extern bool zundo_read_special(BlockNumber block, ZUndoPageSpecial *special);

/* Set the values for a record that changes the meta page to the present ones. */
extern void zundo_meta_values(const ZUndoMeta *meta, ZUndoMetaValues *values);

/*
 * Raise the logged horizon in the values to "closed" of an extent that is not needed any more,
 * and set their xid that standby queries may conflict with.  Returns whether that changes them.
 * Raises no error.
 */
extern bool zundo_pass_extent(ZUndoMetaValues *values, FullTransactionId closed);

/* Return the generation after this one, which is never 0. */
extern uint16 zundo_next_generation(uint16 generation);

/* Return the newer of two generations, which are compared modulo 2^16. */
extern uint32 zundo_newer_generation(uint32 known, uint16 generation);

/*
 * Return the extent's generation, or a newer one if its first page is damaged.  An extent that
 * was ever freed is not newer than "freed" (ZUndoMeta.generation).  Locks its pages, shared, one
 * at a time.  ERROR only if a read itself fails.
 */
extern uint16 zundo_extent_generation(BlockNumber extent, uint32 freed);

/*
 * Free the log's oldest extent; or its only one, unless its owner has entered a transaction
 * since "uses" was read.  The horizon has passed the extent.  The database is locked
 * exclusively.  Return whether it was freed: not if the next extent, or the free map, is
 * damaged.  ERROR (data_corrupted).
 */
extern bool zundo_free_oldest(ZUndoLog *log);
extern bool zundo_free_only(ZUndoLog *log, uint32 uses);

/*
 * Free the only extents of idle logs, if they are at block "from" or behind.  The database is
 * locked exclusively.  ERROR (data_corrupted).
 */
extern void zundo_empty_idle(ZUndoDb *db, BlockNumber from);

/*
 * Free at most "max" extents, as zundo_discard() does; logs with an owner keep at least "keep"
 * extents (1 or 2) for it.
 */
extern uint32 zundo_discard_keeping(int keep, uint32 max);

/* ---- pages of a reader (undo_read.c) ---- */

/*
 * Pin the page, by the buffer's number if it was read lately, lock it, shared, and return it;
 * the caller unlocks and unpins it.  Returns invalid, with nothing locked, if the page has been
 * truncated away: what was there has long been recycled.  Takes the truncate lock, shared.
 * ERROR (data_corrupted) if the page never existed.
 */
extern Buffer zundo_reader_lock(ZUndoReader *reader, BlockNumber block);

/*
 * Return the page of "ptr", pinned and locked as by zundo_reader_lock(); or invalid, with
 * nothing locked, if it holds other records by now (U4).  ERROR (data_corrupted) if the page is
 * damaged or lost.
 */
extern Buffer zundo_reader_lock_of(ZUndoReader *reader, ZUndoPtr ptr);

/* Raise ERROR (data_corrupted): a page that was of this generation has been lost. */
pg_noreturn extern void zundo_report_lost(BlockNumber block, uint16 generation);

/*
 * Raise ERROR (data_corrupted): no sound record is at "ptr", on a page whose records end at
 * "end".
 */
pg_noreturn extern void zundo_report_bad_record(ZUndoPtr ptr, uint16 end);

/* ---- truncating (undo_truncate.c) ---- */

/* Return whether a worker should call zundo_truncate().  The database is locked. */
extern bool zundo_wants_truncation(ZUndoDb *db, TimestampTz now);

/* ---- logs that are idle (undo_idle.c) ---- */

/*
 * Return whether the log has at most one extent, is not lost or pending, and its owner has not
 * written in a transaction in progress.
 */
extern bool zundo_could_be_emptied(ZUndoLog *log);

/*
 * Note which logs are idle now.  Returns how many of those newly noted have no owner.  The
 * database is locked exclusively.
 */
extern int	zundo_note_idle(ZUndoDb *db);

/*
 * Return whether the log's only extent, if it has any, could be taken away: the log was not
 * used since zundo_note_idle(), and the horizon has passed what the extent holds.  The database
 * is locked.
 */
extern bool zundo_is_idle(ZUndoLog *log, FullTransactionId horizon);

/* ---- the limit (undo_limit.c) ---- */

/*
 * Return the bytes that may be in use after this transaction has opened an extent;
 * PG_UINT64_MAX: no limit.
 */
extern uint64 zundo_limit_bytes(void);

/* Return how many extents have to be freed before "more" more may be in use; 0: none. */
extern uint32 zundo_limit_excess(uint32 more);

/*
 * Raise ERROR (configuration_limit_exceeded), as no more undo may be in use.  Assigns an xid.
 * No LWLock is held; table pages may be locked.
 */
pg_noreturn extern void zundo_limit_report(void);

/* ---- retiring logs (undo_retire.c) ---- */

/*
 * Return whether a log is to be retired: more logs than are kept for the next writers have no
 * owner, or one is sealed.  The database is locked.
 */
extern bool zundo_wants_retirement(const ZUndoDb *db);

/*
 * Retire logs that the horizon has passed since they were noted as idle.  Returns their number.
 * Takes the database's lock, exclusively.  ERROR (query_canceled, data_corrupted).
 */
extern int	zundo_logs_retire(ZUndoDb *db);

/* ---- temporary tables (undo_local.c) ---- */

/* True if an earlier transaction's aborted rows are still to be rolled back. */
extern bool zundo_local_pending;

/*
 * Undo of temporary tables, for the functions of the same names in undo_write.h, undo_read.h
 * and undo_xact.h.  zundo_local_reserve() raises ERROR (configuration_limit_exceeded) at
 * zheap.temp_undo_max_size; zundo_local_read() and zundo_local_next() ERROR (internal_error) if
 * there is no such record; the others raise none.
 */
extern void zundo_local_reserve(Relation rel, Size size, ZUndoWrite *write);
extern void zundo_local_write(ZUndoWrite *write, const char *bytes, Size len);
extern const char *zundo_local_read(ZUndoPtr ptr, Size *len);
extern ZUndoPtr zundo_local_next(ZUndoPtr ptr, bool *new_page);
extern void zundo_local_at_end(bool aborted);
extern void zundo_local_at_subabort(void);

/* ---- writers that wait (undo_throttle.c) ---- */

/*
 * Wait, before an extent is opened, while much undo is to be rolled back: at most 100
 * milliseconds.  No buffer lock and no LWLock may be held.  ERROR (query_canceled).
 */
extern void zundo_throttle(void);

/* ---- the transaction (undo_xact.c) ---- */

/* Mark what the transaction has written to our log, if anything, as pending.  Raises no error. */
extern void zundo_xact_mark_pending(void);

#endif							/* ZHEAP_LOG_PRIVATE_H */
