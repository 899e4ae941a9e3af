/*
 * keep_private.h
 *		What keeps undo: logs and their owners, pending work, the horizon.
 *
 * Unless said otherwise functions raise no error, and zundo_open() must have been called.
 */
#ifndef ZHEAP_KEEP_PRIVATE_H
#define ZHEAP_KEEP_PRIVATE_H

#include "zheap/undo/undo_holders.h"
#include "zheap/undo/undo_pending.h"

#include "../store/undo_state.h"

/* ---- logs (undo_log.c) ---- */

/*
 * Open the undo relation as zundo_open() does, and load the list of logs.  Returns the
 * database's state.  No lock is held on entry or exit; not in recovery.  ERROR (data_corrupted)
 * if the meta page is damaged, (out_of_memory) if there are no entries for the logs.
 */
extern ZUndoDb *zundo_open_loaded(void);

/*
 * Note that an end of the log's chain cannot be read: nothing is appended to it, or freed of
 * it, from now on.  "block" is the damaged one.  The database is locked.  Writes a LOG message.
 */
extern void zundo_log_lose(ZUndoLog *log, BlockNumber block);
/*
 * Become the owner of a log, and find the insert position.  The backend has none, and no lock
 * is held.  ERROR (out_of_memory, program_limit_exceeded) if there is no room for another log;
 * otherwise as for any read of the undo relation.
 */
extern void zundo_log_attach(void);

/*
 * Seal our log, whose newest extent cannot be left for another one; this backend is without a
 * log afterwards.  What the transaction in progress has written there was marked pending.
 * Takes the database's lock, exclusively.
 */
extern void zundo_log_seal(void);

/*
 * Give up our log, which is sealed; it has no owner afterwards.  Takes the database's lock,
 * exclusively.
 */
extern void zundo_log_leave(void);

/* Return whether the page with the log's entry was damaged when the logs were loaded. */
static inline bool
zundo_dir_is_lost(const ZUndoDb *db, uint32 number)
{
	return (db->lost_dirs & 1 << number / ZUNDO_DIR_ENTRIES) != 0;
}

/* ---- owners (undo_owner.c) ---- */

/* Assert what MyUndo promises in each of its states (see undo_owner.c). */
extern void zundo_owner_check(void);

/*
 * Enter: the transaction may append from here on, and our newest extent stays ours.  If it was
 * taken away while we were idle the insert position becomes invalid.
 * zundo_owner_newest_extent() returns that extent, or invalid.  Both may take the database's
 * lock, shared.
 */
extern void zundo_log_enter(void);
extern BlockNumber zundo_owner_newest_extent(const ZUndoLog *log);

/*
 * Note that the transaction's first record is about to be written there: the horizon stays
 * behind its xid.
 */
extern void zundo_owner_begin(ZUndoPtr first);

/* Make zundo_log_is_active_from() return false from now on, before the log is marked pending. */
extern void zundo_owner_hide_first(void);

/*
 * Leave: the transaction has ended, or goes on in another log, and what is left to apply has
 * been marked pending.
 */
extern void zundo_owner_leave(void);

/*
 * Return the log's "uses", a count that is odd while the owner is in a transaction that may
 * append.
 */
extern uint32 zundo_log_uses(const ZUndoLog *log);

/* Return whether "uses" was even, and its owner has not entered a transaction since. */
extern bool zundo_log_is_unused_since(const ZUndoLog *log, uint32 uses);

/* Return the top xid of the owner's transaction, if that has written undo; else invalid. */
extern FullTransactionId zundo_log_active(const ZUndoLog *log);

/* Return whether "first" is the first record of the owner's transaction. */
extern bool zundo_log_is_active_from(const ZUndoLog *log, ZUndoPtr first);

/* ---- holders of undo, and undo kept for long (undo_holders.c, undo_hold.c) ---- */

/*
 * Return the oldest holder as a sentence for a DETAIL, palloc'd; NULL if there is none.  No
 * buffer lock may be held.  ERROR as zundo_open().
 */
extern char *zundo_describe_holder(void);

/* Return whether it is time for a worker to call zundo_hold_warn().  The database is locked. */
extern bool zundo_hold_due(const ZUndoDb *db, TimestampTz now);

/* ---- the horizon (undo_horizon.c) ---- */

/*
 * Return the oldest xid that the log keeps the horizon at, or "oldest_needed", what snapshots
 * need, if that is older.  Drops pins that are over.  Takes the log's mutex.
 */
extern FullTransactionId zundo_log_oldest(ZUndoDb *db, ZUndoLog *log,
										  FullTransactionId oldest_needed);

/* ---- snapshots that applied undo waits for (undo_pin.c); the mutex is held ---- */

/*
 * Keep the horizon at "fxid" until all snapshots are newer than "until".  zundo_pins_drop()
 * drops the pins that are over, given "oldest_needed", what snapshots need.
 */
extern void zundo_pin_add(ZUndoLog *log, FullTransactionId fxid, FullTransactionId until);
extern void zundo_pins_drop(ZUndoDb *db, ZUndoLog *log, FullTransactionId oldest_needed);

/* Return whether the log has pins.  Takes the mutex. */
extern bool zundo_log_has_pins(ZUndoLog *log);

/*
 * Return up to which xmin standbys are to cancel snapshots, for a WAL record that moves the
 * logged horizon to "horizon": those that pins of this database waited for, as standbys have no
 * pins.  Invalid: only snapshots that are older than the horizon anyway.
 */
extern TransactionId zundo_released(FullTransactionId horizon);

/* ---- pending work (undo_pending.c); all take the log's mutex ---- */

/*
 * Mark the log pending from "from" on, as the transaction "fxid" has aborted or its status is
 * not known.  "ordinal": of the extent of "from"; 0: not known.
 */
extern void zundo_log_mark_pending(ZUndoLog *log, ZUndoPtr from, uint32 ordinal,
								   FullTransactionId fxid);

/* Return whether the log is pending. */
extern bool zundo_log_is_pending(ZUndoLog *log);

/* Part of a log that a sweep has to look at now; see the states in undo_pending.c. */
typedef enum ZSweepDue
{
	ZSWEEP_NONE,
	ZSWEEP_WHOLE,				/* everything that is pending */
	ZSWEEP_NEW					/* only what is newly aborted */
} ZSweepDue;

/*
 * Return what a sweep that begins now has to look at.  May read the commit log and the process
 * array.
 */
extern ZSweepDue zundo_log_sweep_due(ZUndoLog *log, TimestampTz now);

/*
 * Return the number of extents that a sweep of the log would go through, at most "most"; "most"
 * if it is not known.
 */
extern uint32 zundo_log_pending_extents(ZUndoLog *log, ZSweepDue due, uint32 most);

/*
 * Return the number of aborted transactions that are not applied, with the oldest xid and the
 * first record; 0, and both invalid, if the log is not pending.
 */
extern int	zundo_log_aborted(ZUndoLog *log, FullTransactionId *oldest, ZUndoPtr *from);

/* Return a table that the last sweep could not roll back, or invalid. */
extern Oid	zundo_log_left_relid(ZUndoLog *log);

/*
 * Steps of a sweep, of everything that is pending or of what is newly aborted: begin it; return
 * whether it is still the newest one; report how far it came; back off before what is left is
 * tried again.  The latter two do nothing if another sweep has begun.  "next": the next xid,
 * not older than the sweep's end.  See zundo_pending_mark_applied() and
 * zundo_pending_back_off().
 */
extern void zundo_log_begin_sweep(ZUndoLog *log, bool newly_aborted, ZUndoPending *pending);
extern bool zundo_log_is_swept_by(ZUndoLog *log, const ZUndoPending *pending);
extern void zundo_log_mark_applied(ZUndoLog *log, ZUndoPending *pending,
								   const ZUndoSwept *swept, FullTransactionId next);
extern void zundo_log_back_off(ZUndoLog *log, const ZUndoPending *pending, uint32 first,
							   uint32 last, Oid relid, TimestampTz now);

/* ---- locks in the way of sweeps (undo_blocker.c) ---- */

/*
 * Set "pid", or "prepared", to the transaction that has locked the holder's table against a
 * sweep, if there is one.  No LWLock may be held.
 */
extern void zundo_find_blocker(ZUndoHolder *holder);

#endif							/* ZHEAP_KEEP_PRIVATE_H */
