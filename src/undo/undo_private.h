/*
 * undo_private.h
 *		What the files of the undo layer share: its state in shared memory and in
 *		the backend, and the bytes of a page.
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
#ifndef ZHEAP_UNDO_PRIVATE_H
#define ZHEAP_UNDO_PRIVATE_H

#include "access/transam.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/rel.h"

#include "zheap/undo/undo.h"

/* ---- shared memory (undo_state.c) ---- */

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

/* ---- the relation (undo_relation.c) ---- */

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

/* ---- does WAL name the page?  (undo_reference.c) ---- */

/* A record that ends at "lsn" names the page and our log, which goes on there. */
extern void zundo_reference_set(BlockNumber block, uint16 generation, XLogRecPtr lsn);

/* The next record is to name the page: another backend may have written to the log. */
extern void zundo_reference_forget(void);

/* The newest redo point after which a record that changes a table page was inserted. */
extern pg_atomic_uint64 *zundo_shared_redo(void);

/* ---- directory pages (undo_dir.c) ---- */

/* Was the page with the log's entry damaged when the logs were loaded? */
static inline bool
zundo_dir_is_lost(const ZUndoDb *db, uint32 number)
{
	return (db->lost_dirs & 1 << number / ZUNDO_DIR_ENTRIES) != 0;
}

/*
 * With the database locked exclusively: pin and lock exclusively the page with the log's entry,
 * which is not lost.  If it is damaged it is made anew.
 */
extern Buffer zundo_dir_lock(uint32 number);

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

/* ---- the free map (undo_map.c); the database is locked ---- */

/* Can the extent's map page, or any, not be read? */
extern bool zundo_map_is_lost(BlockNumber extent);

/* Lowest free extent; invalid if there is none, or if the map is lost. */
extern BlockNumber zundo_map_lowest(void);

/* So many extents before "end" are free, all of one group, not more than max. */
extern uint32 zundo_map_free_before(BlockNumber end, uint32 max);

extern BlockNumber zundo_map_block(BlockNumber extent);
extern uint32 zundo_map_bit(BlockNumber extent);

/* ---- who keeps undo, for long (undo_holders.c, undo_hold.c) ---- */

/* What keeps the horizon back most, a sentence for a DETAIL; NULL: nothing does. */
extern char *zundo_describe_holder(void);

/* The horizon was just computed: remember when it was where. */
extern void zundo_hold_note(ZUndoDb *db);

/* Is it time for a worker to call zundo_hold_warn()?  The database is locked. */
extern bool zundo_hold_due(const ZUndoDb *db, TimestampTz now);

/* ---- counting extents (undo_marks.c) ---- */

/* The database is loaded; its lock is held exclusively. */
extern void zundo_marks_begin(ZUndoDb *db);

/* An extent was opened when this was the next xid. */
extern void zundo_count_opened(ZUndoDb *db, FullTransactionId next);

/* ---- the horizon (undo_horizon.c) ---- */

/* The oldest xid that the log keeps back, given what snapshots need.  Takes its mutex. */
extern FullTransactionId zundo_log_oldest(ZUndoDb *db, ZUndoLog *log,
										  FullTransactionId oldest_needed);

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

/* ---- writers that wait (undo_throttle.c) ---- */

/*
 * Before an extent is opened: wait while much of the undo is to be rolled back, for a
 * moment at most.  No buffer is locked.  Can be cancelled.
 */
extern void zundo_throttle(void);

/* ---- the transaction (undo_xact.c) ---- */

/* What it has written to our log, if anything, is to be looked at when it has ended. */
extern void zundo_xact_mark_pending(void);

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

/* ---- who keeps undo (undo_holders.c, undo_blocker.c) ---- */

/*
 * Fill in "pid", or "prepared", of the transaction that has locked the holder's table
 * against those who would roll back its rows, if there is one.
 */
extern void zundo_find_blocker(ZUndoHolder *holder);

#endif							/* ZHEAP_UNDO_PRIVATE_H */
