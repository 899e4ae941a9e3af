/*
 * log_private.h
 *		Extents, and the life of a log.
 */
#ifndef ZHEAP_LOG_PRIVATE_H
#define ZHEAP_LOG_PRIVATE_H

#include "zheap/undo/undo_write.h"

#include "../store/undo_state.h"

/* ---- directory pages (undo_dir.c) ---- */

/*
 * With the database locked exclusively: pin and lock exclusively the page with the log's entry,
 * which is not lost.  If it is damaged it is made anew.
 */
extern Buffer zundo_dir_lock(uint32 number);

/* ---- extents (undo_extent.c) ---- */

/* Copy the special area of an extent's first page; false if that is damaged. */
extern bool zundo_read_special(BlockNumber block, ZUndoPageSpecial *special);

/* Can our log go on to another extent?  Not if the first page of "newest", its newest, is damaged. */
extern bool zundo_extent_can_be_left(BlockNumber newest);

/* Our log goes on to a new extent; MyUndo stands at its begin. */
extern void zundo_extent_open(void);

/* As zundo_discard(); logs in use keep so many extents, 1 or 2. */
extern uint32 zundo_discard_keeping(int keep, uint32 max);

/* The newer one; generations go round. */
extern uint32 zundo_newer_generation(uint32 known, uint16 generation);

/* Values for a record that changes the meta page. */
extern void zundo_meta_values(const ZUndoMeta *meta, ZUndoMetaValues *values);

/* The database is locked exclusively: free the log's oldest, or only, extent. */
extern bool zundo_free_oldest(ZUndoLog *log);
extern bool zundo_free_only(ZUndoLog *log, uint32 uses);

/*
 * Take the only extents of idle logs away, where these are at block "from" or behind.  The
 * database is locked exclusively.
 */
extern void zundo_empty_idle(ZUndoDb *db, BlockNumber from);

/* ---- truncating (undo_truncate.c) ---- */

/* Is it worth a visit?  The database is locked. */
extern bool zundo_wants_truncation(ZUndoDb *db, TimestampTz now);

/* ---- logs that are idle (undo_idle.c) ---- */

/* Has it one extent or none, and nothing that must be looked at? */
extern bool zundo_could_be_emptied(ZUndoLog *log);

/*
 * Note which logs are idle now, with the database locked exclusively.  Returns how many of them
 * have no owner.
 */
extern int	zundo_note_idle(ZUndoDb *db);

/*
 * Is the log's only extent, if it has any, one that could be taken away: nobody has written
 * to it since zundo_note_idle(), and the horizon has passed what it holds?
 */
extern bool zundo_is_idle(ZUndoLog *log, FullTransactionId horizon);

/* ---- the limit (undo_limit.c) ---- */

/* Bytes that may be in use when this transaction has opened an extent, or PG_UINT64_MAX. */
extern uint64 zundo_limit_bytes(void);

/* Extents that have to be freed before so many more may be in use; 0: they may be. */
extern uint32 zundo_limit_excess(uint32 more);

/* ERROR: there may be no more. */
pg_noreturn extern void zundo_limit_report(void);

/* ---- retiring logs (undo_retire.c) ---- */

/* More logs than are kept for the next writers have no owner.  The database is locked. */
extern bool zundo_wants_retirement(const ZUndoDb *db);

/* When the horizon has come where they were idle; takes the lock.  Returns how many. */
extern int	zundo_logs_retire(ZUndoDb *db);

/*
 * Nobody needs the log's oldest extent: the database is locked.  "keep" that
 * many of them, 1 or 2.
 */
extern bool zundo_oldest_is_free(ZUndoLog *log, FullTransactionId horizon, int keep);

/* ---- temporary tables (undo_local.c) ---- */

/* An earlier transaction's aborted rows are to be rolled back. */
extern bool zundo_local_pending;

extern void zundo_local_reserve(Relation rel, Size size, ZUndoWrite *write);
extern void zundo_local_write(ZUndoWrite *write, const char *bytes, Size len);
extern const char *zundo_local_read(ZUndoPtr ptr, Size *len);
extern ZUndoPtr zundo_local_next(ZUndoPtr ptr, bool *new_page);
extern void zundo_local_at_end(bool aborted);
extern void zundo_local_at_subabort(void);

/* ---- writers that wait (undo_throttle.c) ---- */

/*
 * Before an extent is opened: wait while much of the undo is to be rolled back, for a
 * moment at most.  No buffer is locked.  Can be cancelled.
 */
extern void zundo_throttle(void);

/* ---- the transaction (undo_xact.c) ---- */

/* What it has written to our log, if anything, is to be looked at when it has ended. */
extern void zundo_xact_mark_pending(void);

#endif							/* ZHEAP_LOG_PRIVATE_H */
