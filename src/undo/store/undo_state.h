/*
 * undo_state.h
 *		State of the undo relations in shared memory and in the backend.
 *
 * LOCKING, in this order; buffers of the undo relation come after ZUndoDb's lock, or are locked
 * alone:
 *
 *   ZUndoDb's lock	list of logs, ownership, the chains of extents, meta and
 *					directory pages (exclusive: the only way to change them)
 *   map			array of databases: which exist, how many backends are attached; held only
 *					for short operations
 *   truncate		held shared by a reader of a page that may be truncated away, while it
 *					looks whether the page exists and pins it
 *   pool			unused log entries
 *   ZUndoLog.mutex	what is pending; held only for operations that cannot fail
 */
#ifndef ZHEAP_UNDO_STATE_H
#define ZHEAP_UNDO_STATE_H

#include "access/transam.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/rel.h"

#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_ptr.h"

/*
 * A horizon pin, after undo was applied: keep the horizon at "fxid" until all snapshots are
 * newer than "until", as older ones may go with a page copy from before.
 */
typedef struct ZUndoPin
{
	FullTransactionId fxid;
	FullTransactionId until;
} ZUndoPin;

#define ZUNDO_PINS		2

typedef struct ZUndoLog
{
	/* under the database's lock */
	int			next_log;		/* index of the next log of the database, or of
								 * the next unused entry; -1 ends the list */
	uint32		number;
	int			owner;			/* pid of the backend that appends, or 0 */
	bool		sealed;			/* true: its tail is damaged, and no backend may append */
	bool		lost;			/* true: sealed, and an end of its chain cannot be read: nothing
								 * of it is freed */
	BlockNumber oldest_extent;	/* oldest extent; invalid: none */
	BlockNumber newest_extent;	/* newest extent */
	BlockNumber oldest_next;	/* the extent after the oldest; invalid if that is the newest */
	FullTransactionId oldest_closed; /* "closed" of the oldest extent */

	/* where the next owner goes on; invalid block: it has to search the tail */
	BlockNumber insert_block;
	uint16		insert_offset;
	uint16		insert_generation;

	/*
	 * Odd while the owner is in a transaction that may append.  The log's only extent may be
	 * taken away only while it is even (zundo_free_only).
	 */
	pg_atomic_uint32 uses;
	uint32		ordinal;		/* ordinal of the newest extent: counts those opened since the
								 * log was loaded, from 1 on */
	uint32		idle_uses;		/* under the database's lock: "uses" when last seen idle ... */
	FullTransactionId idle_next;	/* ... and the next xid then */

	/* the owner's transaction: its top xid, 0 if none, and its first record */
	pg_atomic_uint64 active;
	pg_atomic_uint64 active_first;

	/* under mutex: what is pending, [pending_from, end of the log) */
	slock_t		mutex;
	uint32		sweep_id;		/* id of the last sweep that was begun, which no other log has;
								 * ZUNDO_NO_SWEEP if nothing is pending, or no sweep has begun
								 * since it is */
	ZUndoPtr	pending_from;	/* 0: nothing pending */
	uint32		pending_ordinal;	/* ordinal of its extent; 0: not known */
	FullTransactionId pending_fxid; /* keeps the horizon back */
	FullTransactionId oldest_unapplied; /* oldest xid that the last sweep has left; invalid: no
										 * sweep came to its end */
	TimestampTz retry_at;		/* what is left has failed: do not try it again before */
	uint32		retry_wait;		/* milliseconds; doubled each time */
	Oid			left_relid;		/* a table that the last sweep could not roll back, or invalid */
	ZUndoPtr	newly_aborted_from; /* first abort since that sweep was begun */
	uint32		newly_aborted_ordinal;
	FullTransactionId newly_aborted_fxid;
	uint32		aborts;			/* number of transactions that made it pending */
	uint32		newly_aborted_count;
	ZUndoPin	pins[ZUNDO_PINS]; /* older first; invalid fxid: unused */
} ZUndoLog;

/* The next xid when "opened" extents had been opened, and the time (undo_marks.c). */
typedef struct ZUndoMark
{
	TimestampTz at;
	uint64		opened;
	FullTransactionId next;
} ZUndoMark;

#define ZUNDO_MARKS		64

typedef struct ZUndoDb
{
	/* under the map lock */
	Oid			dboid;			/* invalid: unused entry */
	TransactionId maker;		/* xmin of its row in pg_database; invalid: no backend was
								 * attached yet */
	uint32		attached;		/* number of backends that point here */

	/* under the database's lock */
	Oid			relid;			/* OID of the undo relation */
	uint32		incarnation;	/* counts changes of relid */
	bool		loaded;			/* the list of logs is complete */
	int			first_log;
	uint32		free_extents;	/* number of free extents, as on the meta page */
	uint32		free_hint;		/* no extent with a lower number is free */
	uint32		peak;			/* number of extents in use lately (undo_truncate.c) */
	uint32		truncations;	/* number of truncations of the file */
	uint32		lost_dirs;		/* bit k: directory page k could not be read when the logs were
								 * loaded */
	bool		map_lost;		/* true: some map page is damaged: no extent is freed, no free
								 * one used */
	uint64		opened;			/* number of extents opened since it was loaded */
	uint32		mark_interval;	/* number of extents opened per mark */
	int			nmarks;			/* at least one if loaded */
	ZUndoMark	marks[ZUNDO_MARKS]; /* oldest first */
	TimestampTz hold_at;		/* when to look next whether undo is held for long */
	TimestampTz truncate_at;	/* do not look before */
	uint32		truncate_wait;	/* wait between looks, in milliseconds */

	/* no lock; both only grow, 0: not known yet */
	pg_atomic_uint64 horizon;
	pg_atomic_uint64 logged_horizon;

	/* no lock: number of transactions that left a log pending; for the launcher */
	pg_atomic_uint32 aborts;

	/* no lock: not 0 if writers are not to wait for sweeps (zundo_hold_sweeps) */
	pg_atomic_uint32 sweeps_held;

	/* no lock, only grows: greatest "until" of pins that were dropped; 0: none */
	pg_atomic_uint64 released;

	/* no lock: not 0 if a mover may be about (undo_use.c) */
	pg_atomic_uint32 moving;

	/* end of the last extent, 0: not known yet; see zundo_block_exists() */
	pg_atomic_uint32 nblocks;

	/* when the horizon was last computed, and the next xid then */
	pg_atomic_uint64 last_advance;	/* TimestampTz */
	pg_atomic_uint64 last_next;

	/* no lock: the last message (undo_hold.c) */
	TimestampTz warned_at;
	uint32		warned_of;		/* hash of the holder */
} ZUndoDb;

/* This backend's part. */
typedef struct ZUndoBackend
{
	ZUndoDb    *db;				/* kept until the backend exits */
	uint32		incarnation;	/* the incarnation that "log" is of */
	uint32		truncations;	/* value of ZUndoDb.truncations when the file was last opened */
	ZUndoLog   *log;			/* ours to append to, or NULL */

	/* where the next record goes; invalid block: the log has no extent yet */
	BlockNumber block;
	uint16		offset;
	uint16		generation;
	bool		init;			/* the page has not been written yet */
	Buffer		recent;			/* buffer that the page was last found in */
	Buffer		tail;			/* the page while we keep it pinned, or invalid */
	bool		ending;			/* the transaction is about to end: keep no pin */
	XLogRecPtr	lsn;			/* end of our last record: the page's LSN, if no other backend
								 * wrote it */

	/*
	 * The undo relation's entry in the relation cache, which is not kept open.  NULL: to be
	 * looked up.  It may become NULL whenever the server accepts invalidation messages, also in
	 * a comparison function of an index that the server calls with a leaf locked.
	 */
	Relation	rel;
	Relation	copy;			/* fake entry by which its pages are found; outlives the entry */

	/* of the transaction in progress */
	bool		within;			/* it uses undo, and has noted that */
	bool		locked;			/* it uses undo, and has locked the relation */
	bool		known;			/* ... and what the meta page says has been learnt */
	bool		ready;			/* zundo_prepare() has nothing left to do */
	bool		entered;		/* log->uses is odd */
	uint32		extents;		/* number of extents that it opened */
	ZUndoPtr	first;			/* its first record, or 0 */
	uint32		first_ordinal;	/* ordinal of the extent of "first" */
	FullTransactionId fxid;		/* its top xid, if first is set */
	SubTransactionId last_sub;	/* subtransaction that wrote last */
	bool		sub_aborted;	/* some of its records are rolled back */
	uint32		records;		/* number of records for which a page was reserved */
	bool		several_before; /* true: the last transaction that wrote wrote several records */
} ZUndoBackend;

extern ZUndoBackend MyUndo;

/* The horizon of a database that this backend is attached to. */
static inline FullTransactionId
zundo_db_horizon(ZUndoDb *db)
{
	return FullTransactionIdFromU64(pg_atomic_read_u64(&db->horizon));
}

/* Return the older xid; either may be invalid, then it is the other one. */
static inline FullTransactionId
zundo_older(FullTransactionId a, FullTransactionId b)
{
	if (!FullTransactionIdIsValid(a))
		return b;
	if (!FullTransactionIdIsValid(b))
		return a;
	return FullTransactionIdPrecedes(a, b) ? a : b;
}

/*
 * Attach to this database, whose undo relation is "relid".  It is locked, or in use and this
 * backend's use noted, so that it does not change.  Drops what is known of another undo
 * relation.  Takes the map lock and the database's lock, exclusively.  ERROR
 * (program_limit_exceeded) if too many databases are in use, (object_not_in_prerequisite_state)
 * if the library is not preloaded.
 */
extern void zundo_db_attach(Oid relid);

/*
 * Attach to this database.  Returns whether "relid" is the undo relation that its backends use.
 * Locks and errors as above.
 */
extern bool zundo_db_is_of(Oid relid);
extern LWLock *zundo_db_lock(const ZUndoDb *db);
extern LWLock *zundo_truncate_lock(const ZUndoDb *db);

/* Return the id of a new sweep, which is unique and never ZUNDO_NO_SWEEP. */
#define ZUNDO_NO_SWEEP	0
extern uint32 zundo_new_sweep_id(void);

/*
 * Call "visit" for each loaded database, with the database's lock and the map lock held,
 * shared.
 */
typedef void (*ZUndoDbVisitor) (ZUndoDb *db, void *state);
extern void zundo_db_foreach(ZUndoDbVisitor visit, void *state);

/*
 * Iterate over the logs of a database, which is locked: NULL to start, NULL at the end.
 * zundo_log_find() returns the log with this number, or NULL.
 */
extern ZUndoLog *zundo_log_next(const ZUndoDb *db, const ZUndoLog *log);
extern ZUndoLog *zundo_log_find(const ZUndoDb *db, uint32 number);

/*
 * Add a log to the database, which is locked exclusively.  Returns NULL if no unused entry is
 * left.  Takes the pool lock.
 */
extern ZUndoLog *zundo_log_add(ZUndoDb *db, uint32 number);

/*
 * Remove a log that has no extents, no owner and nothing pending from the database, which is
 * locked exclusively.  Takes the pool lock.
 */
extern void zundo_log_remove(ZUndoDb *db, ZUndoLog *log);

/*
 * Remove all logs of the database.  It is locked exclusively; or, if no backend is attached to
 * it, the map is, so that none attaches.
 */
extern void zundo_logs_drop(ZUndoDb *db);

/*
 * Count this backend as attached to its database, and return the database's entry; NULL if too
 * many databases are in use.  "maker" is the xmin of the database's row in pg_database: with
 * another one, and no backend attached, what is kept is dropped first.  Takes the map lock,
 * exclusively.  Raises no error.
 */
extern ZUndoDb *zundo_state_add_backend(TransactionId maker);

/* Count it no longer.  Takes the map lock, exclusively.  Raises no error. */
extern void zundo_state_remove_backend(ZUndoDb *db);

/* Drop what is kept of idle databases.  No lock may be held; takes the map lock, exclusively. */
extern void zundo_state_shrink(void);

/* Raise a horizon, or "released"; never lower it.  Takes no lock. */
extern void zundo_horizon_raise(pg_atomic_uint64 *horizon, FullTransactionId fxid);

/*
 * Move the horizon as zundo_horizon_advance() does, after zundo_open_loaded(); pages may be
 * locked.
 */
extern void zundo_horizon_move(ZUndoDb *db);

/*
 * Return whether this horizon is newer than the one known, or none is; and set it.  In redo.
 * Take the map lock.
 */
extern bool zundo_redo_horizon_is_new(Oid dboid, FullTransactionId horizon);
extern void zundo_redo_horizon_set(Oid dboid, FullTransactionId horizon);

/*
 * Set the end of the undo relation, as its meta page already has it.  In redo.  Takes the map
 * lock and the truncate lock.
 */
extern void zundo_redo_nblocks_set(Oid dboid, BlockNumber nblocks);

/*
 * Return how many extents for undo a file with this end has, and how many of the database are
 * in use (exact only with the database locked).
 */
extern uint32 zundo_extents_in(BlockNumber nblocks);
extern uint32 zundo_extents_used(ZUndoDb *db);

/*
 * The newest redo pointer that a backend had when it inserted a record that changes a table
 * page.
 */
extern pg_atomic_uint64 *zundo_shared_redo(void);

#endif							/* ZHEAP_UNDO_STATE_H */
