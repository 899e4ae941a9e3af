/*
 * undo_state.h
 *		State of the undo relations in shared memory and in the backend.
 *
 * LOCKING, in this order; buffers of the undo relation come after ZUndoDb's
 * lock, or stand alone:
 *
 *   ZUndoDb's lock	list of logs, ownership, the chains of extents, meta and
 *					directory pages (exclusive: the only way to change them)
 *   map			array of databases: which exist, how many backends are attached; nothing
 *					is done under it that may wait long
 *   truncate		a reader of a page that may be truncated away has it shared while it
 *					asks whether the page is there and pins it
 *   pool			unused log entries
 *   ZUndoLog.mutex	what is pending; never held across anything that can fail
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
 * Undo was applied: snapshots that may go with a page copy from before keep the
 * horizon at "fxid" until all of them are newer than "until".
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
	bool		sealed;			/* its tail is damaged: nobody may append */
	bool		lost;			/* that, and an end of its chain cannot be read: nothing of
								 * it is freed */
	BlockNumber oldest_extent;	/* oldest extent, or invalid: none */
	BlockNumber newest_extent;	/* newest */
	BlockNumber oldest_next;	/* the one after it; invalid if it is the newest */
	FullTransactionId oldest_closed; /* when the oldest was left for it */

	/* where the next owner goes on; invalid block: it has to search the tail */
	BlockNumber insert_block;
	uint16		insert_offset;
	uint16		insert_generation;

	/*
	 * Odd while the owner is in a transaction that may append.  An extent that
	 * is the log's only one may be taken away when that is even (undo_truncate.c).
	 */
	pg_atomic_uint32 uses;
	uint32		ordinal;		/* of the newest extent: counts those opened since
								 * the log was loaded, from 1 on */
	uint32		idle_uses;		/* under the database's lock: seen so at ... */
	FullTransactionId idle_next;	/* ... this next xid */

	/* the owner's transaction: its top xid, 0 if none, and its first record */
	pg_atomic_uint64 active;
	pg_atomic_uint64 active_first;

	/* under mutex: what has to be looked at, [pending_from, end of the log) */
	slock_t		mutex;
	uint32		sweep_id;		/* of the last sweep that was begun, which no other log
								 * has; none if nothing is pending, or since it was */
	ZUndoPtr	pending_from;	/* 0: nothing pending */
	uint32		pending_ordinal;	/* of its extent; 0: not known */
	FullTransactionId pending_fxid; /* keeps the horizon back */
	FullTransactionId oldest_unapplied; /* oldest of what the last sweep has left;
										 * invalid: none came to its end */
	TimestampTz retry_at;		/* something left has failed: not again before */
	uint32		retry_wait;		/* milliseconds; doubled each time */
	Oid			left_relid;		/* a table of what the last sweep has left, or invalid */
	ZUndoPtr	newly_aborted_from; /* first abort since that sweep was begun */
	uint32		newly_aborted_ordinal;
	FullTransactionId newly_aborted_fxid;
	uint32		aborts;			/* transactions that made it pending */
	uint32		newly_aborted_count;
	ZUndoPin	pins[ZUNDO_PINS]; /* older first; invalid fxid: unused */
} ZUndoLog;

typedef struct ZUndoSample
{
	TimestampTz at;				/* 0: unused */
	FullTransactionId next;
} ZUndoSample;

#define ZUNDO_SAMPLES	16

/* When so many extents had been opened, this xid was the next one (undo_marks.c). */
typedef struct ZUndoMark
{
	uint64		opened;
	FullTransactionId next;
} ZUndoMark;

#define ZUNDO_MARKS		64

typedef struct ZUndoDb
{
	/* under the map lock */
	Oid			dboid;			/* invalid: unused entry */
	TransactionId maker;		/* xmin of its row in pg_database; invalid: nobody
								 * was attached yet */
	uint32		attached;		/* backends that point here */

	/* under the database's lock */
	Oid			relid;			/* the undo relation that the rest is about */
	uint32		incarnation;	/* counts changes of relid */
	bool		loaded;			/* the list of logs is complete */
	int			first_log;
	uint32		free_extents;	/* as on the meta page */
	uint32		free_hint;		/* no extent with a lower number is free */
	uint32		peak;			/* extents in use lately (undo_truncate.c) */
	uint32		truncations;	/* truncations of the file */
	uint32		lost_dirs;		/* bit k: directory page k could not be read when loaded */
	bool		map_lost;		/* nor some map page: no extent is freed, no free one used */
	uint64		opened;			/* extents, since it was loaded */
	uint32		mark_interval;	/* of them, a mark each */
	int			nmarks;			/* at least one if loaded */
	ZUndoMark	marks[ZUNDO_MARKS]; /* oldest first */
	TimestampTz hold_at;		/* time to look whether undo is held for long */
	TimestampTz truncate_at;	/* not before */
	uint32		truncate_wait;	/* milliseconds, when it is no use */

	/* no lock; both only grow, 0: not known yet */
	pg_atomic_uint64 horizon;
	pg_atomic_uint64 logged_horizon;

	/* no lock: counts transactions that left a log pending; for the launcher */
	pg_atomic_uint32 aborts;

	/* no lock: is nobody to wait for sweeps?  (zundo_hold_sweeps) */
	pg_atomic_uint32 sweeps_held;

	/* no lock, only grows: greatest "until" of the pins that are over; 0: none */
	pg_atomic_uint64 released;

	/* no lock: not 0 if a command may have the relation for itself (undo_use.c) */
	pg_atomic_uint32 moving;

	/* end of the last extent, 0: not known yet; see zundo_block_exists() */
	pg_atomic_uint32 nblocks;

	/* the horizon was last computed: when, and which xid was next then */
	pg_atomic_uint64 last_advance;	/* TimestampTz */
	pg_atomic_uint64 last_next;

	/* what the next xid was some time ago (undo_hold.c) */
	slock_t		mutex;
	int			newest_sample;
	ZUndoSample samples[ZUNDO_SAMPLES];
	TimestampTz warned_at;
	uint32		warned_of;		/* hash of the holder */
} ZUndoDb;

/* This backend's part. */
typedef struct ZUndoBackend
{
	ZUndoDb    *db;				/* kept until the backend exits */
	uint32		incarnation;	/* log is of this one */
	uint32		truncations;	/* the file was last looked at after so many */
	ZUndoLog   *log;			/* ours to append to, or NULL */

	/* where the next record goes; invalid block: the log has no extent yet */
	BlockNumber block;
	uint16		offset;
	uint16		generation;
	bool		init;			/* the page has not been written yet */
	Buffer		recent;			/* where the page was last */
	Buffer		tail;			/* the page while we keep it pinned, or invalid */
	bool		ending;			/* the transaction is about to end: no pin is kept */
	XLogRecPtr	lsn;			/* of our last record: the page's, if nothing else wrote it */

	/*
	 * The undo relation: in the relation cache, but not kept there.  NULL: to be looked up.
	 * That may become so whenever the server accepts invalidation messages, also in a
	 * comparison function of an index that the server calls with a leaf locked.
	 */
	Relation	rel;
	Relation	copy;			/* of what its pages are found by; outlives the entry */

	/* of the transaction in progress */
	bool		within;			/* it uses undo, and has told so */
	bool		locked;			/* it uses undo, and has locked the relation */
	bool		known;			/* ... and what the meta page says has been learnt */
	bool		ready;			/* zundo_prepare() has nothing left to do */
	bool		entered;		/* log->uses is odd */
	uint32		extents;		/* that it opened */
	ZUndoPtr	first;			/* its first record, or 0 */
	uint32		first_ordinal;	/* of the extent with that */
	FullTransactionId fxid;		/* its top xid, if first is set */
	SubTransactionId last_sub;	/* who wrote last */
	bool		sub_aborted;	/* some of its records are rolled back */
	uint32		records;		/* for which a page was reserved */
	bool		several_before; /* by the transaction before */
} ZUndoBackend;

extern ZUndoBackend MyUndo;

/* As zundo_horizon(), of a database that is attached. */
static inline FullTransactionId
zundo_db_horizon(ZUndoDb *db)
{
	return FullTransactionIdFromU64(pg_atomic_read_u64(&db->horizon));
}

/* The older one; either may be invalid. */
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
 * Become attached to this database, whose undo relation is "relid": that is locked, or
 * others use it and we have told that we do.
 */
extern void zundo_db_attach(Oid relid);

/* Become attached to this database.  Is this the undo relation that its backends use? */
extern bool zundo_db_is_of(Oid relid);
extern LWLock *zundo_db_lock(const ZUndoDb *db);
extern LWLock *zundo_truncate_lock(const ZUndoDb *db);

/* The id of a sweep that begins, which no earlier one had; never this one. */
#define ZUNDO_NO_SWEEP	0
extern uint32 zundo_new_sweep_id(void);

/* for each loaded database, with database and map locked shared */
typedef void (*ZUndoDbVisitor) (ZUndoDb *db, void *state);
extern void zundo_db_foreach(ZUndoDbVisitor visit, void *state);

/* Iterate over a locked database's logs: NULL to start, NULL at the end. */
extern ZUndoLog *zundo_log_next(const ZUndoDb *db, const ZUndoLog *log);
extern ZUndoLog *zundo_log_find(const ZUndoDb *db, uint32 number);

/* With the database locked exclusively.  NULL: no unused entry is left. */
extern ZUndoLog *zundo_log_add(ZUndoDb *db, uint32 number);

/* The same; one that has no extents, no owner, and nothing pending. */
extern void zundo_log_remove(ZUndoDb *db, ZUndoLog *log);

/*
 * All of them.  The database is locked exclusively, or, if no backend is attached to it, the map
 * is: so that none attaches.
 */
extern void zundo_logs_drop(ZUndoDb *db);

/* Drop what is kept of idle databases.  No lock is held. */
extern void zundo_state_shrink(void);

/* Raise a horizon, or "released", never lower it. */
extern void zundo_horizon_raise(pg_atomic_uint64 *horizon, FullTransactionId fxid);

/* As zundo_horizon_advance(), after zundo_open_loaded(): pages may be locked. */
extern void zundo_horizon_move(ZUndoDb *db);

/* In redo: is this horizon news?  And now it is so. */
extern bool zundo_redo_horizon_is_new(Oid dboid, FullTransactionId horizon);
extern void zundo_redo_horizon_set(Oid dboid, FullTransactionId horizon);

/* In redo: the undo relation ends there, as its meta page tells already. */
extern void zundo_redo_nblocks_set(Oid dboid, BlockNumber nblocks);

/* A file with this end has so many extents for undo; and so many are used. */
extern uint32 zundo_extents_in(BlockNumber nblocks);
extern uint32 zundo_extents_used(ZUndoDb *db);

/* The newest redo point after which a record that changes a table page was inserted. */
extern pg_atomic_uint64 *zundo_shared_redo(void);

#endif							/* ZHEAP_UNDO_STATE_H */
