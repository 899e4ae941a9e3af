/*
 * keep_private.h
 *		What keeps undo: logs and their owners, pending work, the horizon.
 */
#ifndef ZHEAP_KEEP_PRIVATE_H
#define ZHEAP_KEEP_PRIVATE_H

#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_pending.h"

#include "../store/undo_state.h"

/* ---- logs (undo_log.c) ---- */

/* As zundo_open(), and the list of logs is complete.  No lock is held; not in recovery. */
extern ZUndoDb *zundo_open_loaded(void);

/*
 * With the database locked: an end of the log's chain cannot be read.  Nobody appends to it,
 * nothing of it is freed from now on.
 */
extern void zundo_log_lose(ZUndoLog *log, BlockNumber block);
extern void zundo_log_attach(void);

/*
 * Ours cannot be left for another extent: we are without one.  What the transaction in progress
 * has written there was marked pending.
 */
extern void zundo_log_seal(void);

/* Ours is sealed: we are without one, and so is it. */
extern void zundo_log_leave(void);

/* Was the page with the log's entry damaged when the logs were loaded? */
static inline bool
zundo_dir_is_lost(const ZUndoDb *db, uint32 number)
{
	return (db->lost_dirs & 1 << number / ZUNDO_DIR_ENTRIES) != 0;
}

/* ---- owners (undo_owner.c) ---- */

/* Asserts what MyUndo promises in each of its states, which are drawn there. */
extern void zundo_owner_check(void);

/*
 * The transaction may append from here on: our newest extent stays ours.  If it was taken
 * away while we were idle the insert position is invalid.
 */
extern void zundo_log_enter(void);
extern BlockNumber zundo_owner_newest_extent(const ZUndoLog *log);

/* Its first record is about to be written there: the horizon stays behind its xid. */
extern void zundo_owner_begin(ZUndoPtr first);

/* Before the log is marked: zundo_log_is_active_from() is false from now on. */
extern void zundo_owner_hide_first(void);

/* It has ended, or goes on elsewhere, and what is left to apply has been marked. */
extern void zundo_owner_leave(void);

/* A count; odd: the owner is in a transaction that may append. */
extern uint32 zundo_log_uses(const ZUndoLog *log);

/* The count was even then, and nobody has entered since. */
extern bool zundo_log_is_unused_since(const ZUndoLog *log, uint32 uses);

/* The top xid of the owner's transaction, if that has written; else invalid. */
extern FullTransactionId zundo_log_active(const ZUndoLog *log);

/* Is that its first record? */
extern bool zundo_log_is_active_from(const ZUndoLog *log, ZUndoPtr first);

/* ---- who keeps undo, for long (undo_holders.c, undo_hold.c) ---- */

/* What keeps the horizon back most, a sentence for a DETAIL; NULL: nothing does. */
extern char *zundo_describe_holder(void);

/* The horizon was just computed: remember when it was where. */
extern void zundo_hold_note(ZUndoDb *db);

/* Is it time for a worker to call zundo_hold_warn()?  The database is locked. */
extern bool zundo_hold_due(const ZUndoDb *db, TimestampTz now);

/* ---- the horizon (undo_horizon.c) ---- */

/* The oldest xid that the log keeps back, given what snapshots need.  Takes its mutex. */
extern FullTransactionId zundo_log_oldest(ZUndoDb *db, ZUndoLog *log,
										  FullTransactionId oldest_needed);

/* ---- snapshots that applied undo waits for (undo_pin.c); the mutex is held ---- */

/*
 * Keep the horizon at "fxid" until all snapshots are newer than "until".  Pins that are over
 * are dropped, given what snapshots need.
 */
extern void zundo_pin_add(ZUndoLog *log, FullTransactionId fxid, FullTransactionId until);
extern void zundo_pins_drop(ZUndoDb *db, ZUndoLog *log, FullTransactionId oldest_needed);

/* Are there any?  Takes the mutex. */
extern bool zundo_log_has_pins(ZUndoLog *log);

/*
 * For WAL records that move the logged horizon, once it is known how far: standbys
 * have no pins, so snapshots that those of this database waited for are told in
 * the record.  All with an xmin up to this one; invalid: none but those that are
 * older than the horizon anyway.
 */
extern TransactionId zundo_released(FullTransactionId horizon);

/* ---- pending work (undo_pending.c); all take the log's mutex ---- */

/* "ordinal": of the extent that "from" is in, 0 if that is not known. */
extern void zundo_log_mark_pending(ZUndoLog *log, ZUndoPtr from, uint32 ordinal,
								   FullTransactionId fxid);

/* Is anything left to be looked through? */
extern bool zundo_log_is_pending(ZUndoLog *log);

/* What a sweep has to look at now: see the states in undo_pending.c. */
typedef enum ZSweepDue
{
	ZSWEEP_NONE,
	ZSWEEP_WHOLE,				/* everything that is pending */
	ZSWEEP_NEW					/* only what is newly aborted */
} ZSweepDue;

extern ZSweepDue zundo_log_sweep_due(ZUndoLog *log, TimestampTz now);

/* How many extents a sweep of the log would go through; at most "most" if it is not known. */
extern uint32 zundo_log_pending_extents(ZUndoLog *log, ZSweepDue due, uint32 most);

/* Aborted transactions that are not applied; *oldest is invalid if there are none. */
extern int	zundo_log_aborted(ZUndoLog *log, FullTransactionId *oldest, ZUndoPtr *from);

/* A table that the last sweep could not roll back, or invalid. */
extern Oid	zundo_log_left_relid(ZUndoLog *log);

/*
 * A sweep begins, of everything or of what is newly aborted; asks whether it is still the
 * newest; is told how far it came; waits before it tries again.  The latter two do nothing if
 * another one has begun.  "next":
 * the next xid, not older than the sweep's end.  See zundo_pending_mark_applied() and
 * zundo_pending_back_off().
 */
extern void zundo_log_begin_sweep(ZUndoLog *log, bool newly_aborted, ZUndoPending *pending);
extern bool zundo_log_is_swept_by(ZUndoLog *log, const ZUndoPending *pending);
extern void zundo_log_mark_applied(ZUndoLog *log, ZUndoPending *pending,
								   const ZUndoSwept *swept, FullTransactionId next);
extern void zundo_log_back_off(ZUndoLog *log, const ZUndoPending *pending, uint32 first,
							   uint32 last, Oid relid, TimestampTz now);

/* ---- who keeps undo (undo_holders.c, undo_blocker.c) ---- */

/*
 * Fill in "pid", or "prepared", of the transaction that has locked the holder's table
 * against those who would roll back its rows, if there is one.
 */
extern void zundo_find_blocker(ZUndoHolder *holder);

#endif							/* ZHEAP_KEEP_PRIVATE_H */
