/*
 * undo.h
 *		An append-only log of opaque records, with discard.
 *
 * The log lives in an ordinary relation of each database (access method
 * zheap_undo) and knows nothing of rows: a record is a string of bytes, at most
 * ZUNDO_MAX_RECORD of them, that one transaction wrote.  Each backend that
 * writes owns one log, a chain of extents; it recycles its own oldest extent
 * when nobody can need it any more.
 *
 * Invariants (U1 to U6, H1 to H3), locks and limits: src/undo/README.md.
 */
#ifndef ZHEAP_UNDO_H
#define ZHEAP_UNDO_H

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlogreader.h"
#include "storage/buf.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "zheap/base/base.h"
#include "zheap/undo/undo_format.h"

/* ---- set-up (undo_state.c) ---- */

/* name of the LWLock tranche to request, with zundo_lwlock_count() locks */
#define ZUNDO_LWLOCK_TRANCHE	"zheap_undo"

extern Size zundo_shmem_size(void);
extern Size zundo_use_shmem_size(void);
extern int	zundo_lwlock_count(void);

/* Of so many databases something is known at the same time. */
extern int	zundo_max_databases(void);

/* In the shmem startup hook; AddinShmemInitLock is held by the caller. */
extern void zundo_shmem_init(void);
extern void zundo_use_shmem_init(void);

/* ---- the undo relation (undo_relation.c) ---- */

/*
 * OID of this database's undo relation; ERROR with a hint if the extension does
 * not exist here.
 */
extern Oid	zundo_relation_oid(void);

/* Has this database an undo relation?  For workers that come by unasked. */
extern bool zundo_exists(void);

/*
 * The undo relation, for use until the end of the transaction: nobody moves or drops it
 * meanwhile.  The caller holds no buffer lock (L2: it reads catalogs, and may wait for a
 * heavyweight lock), so DML and scans call zundo_open() at their
 * start; cheap if the backend knows the relation.  It may be called in a parallel worker.
 */
extern PGDLLEXPORT void zundo_open(void);

/*
 * The same, for a caller that is about to look at the table's pages.  Of a temporary
 * table what an earlier transaction of the session has left there is rolled back first.
 */
extern void zundo_open_for(Relation rel);

/*
 * The same, for a reader that may get by with zundo_horizon(): as a rule it does nothing, and
 * zundo_open() is called when undo is to be read, unless zundo_is_open().
 */
extern void zundo_attach_for(Relation rel);
extern bool zundo_is_open(void);

/*
 * After zundo_open() in the same transaction.  Nobody closes it; it is good until the server may
 * accept invalidation messages: not to be kept.  The next call then reads the catalog, or, where a
 * page is locked, returns a copy that is good for reading and writing pages (L2).
 */
extern Relation zundo_relation(void);

/* ---- writing (undo_write.c) ---- */

typedef struct ZUndoWrite
{
	Buffer		buffer;			/* tail page, pinned and locked exclusively; or
								 * invalid: undo of a temporary table */
	ZUndoPtr	ptr;			/* where the record will be */
	uint16		offset;			/* the same, within the page */
	uint16		generation;
	bool		init;			/* the page is to be initialised */
	bool		omitted;		/* the WAL record does not name the page */
	uint32		log;			/* number of the log */
} ZUndoWrite;

/* A record's bytes. */
typedef struct ZUndoBytes
{
	const char *bytes;
	Size		len;
} ZUndoBytes;

/*
 * Attach to a log of this database and make sure that the transaction can
 * write undo; takes care of recycling and the horizon from time to time.  May
 * do I/O, take heavyweight locks, write WAL and ereport.  No buffer lock may be
 * held.  To be called once per statement or row operation before any page is
 * locked; cheap when there is nothing to do.
 */
extern void zundo_prepare(void);

/*
 * Room for a record of at most "size" bytes about a row of "rel".  The caller may
 * hold table pages (lock order L1: undo last).  On return the tail page is locked exclusively;
 * the caller then writes within its critical section, or gives up with
 * zundo_release.  Must not be called in a critical section.  ERROR if the undo
 * relation cannot grow.  When the extent is full a new one is opened here, with
 * a WAL record of its own.  One reservation at a time, and one record in it, or two.
 * zundo_prepare() must have been called in this transaction.
 */
extern void zundo_reserve(Relation rel, Size size, ZUndoWrite *write);

/*
 * Two records, so many bytes long at most: what to reserve for both; and, when the length of the
 * first is known, where the second will be.  They are written in this order.  If one WAL record
 * has both it registers the page for the first.
 */
extern Size zundo_size_of_two(Size first, Size second);
extern void zundo_place_second(const ZUndoWrite *first, Size len, ZUndoWrite *second);

/*
 * Append.  In the critical section; cannot fail.  "len" <= the reserved size.
 * Marks the buffer dirty.  The transaction must have its xid by now.  The caller then
 * writes a WAL record with log, offset, generation and init in its data, and calls
 * zundo_register() before XLogInsert() and zundo_logged() after it.
 */
extern void zundo_write(ZUndoWrite *write, const char *bytes, Size len);

/* ---- does WAL name the page?  (undo_reference.c) ---- */

/*
 * Register the page as block reference "block_id" of the WAL record that is being made,
 * unless "may_omit" and replay will know it from the log's number (W3).  A record that may
 * omit it names a block of the same database.
 */
extern void zundo_register(ZUndoWrite *write, uint8 block_id, bool may_omit);

/*
 * A record that changes a table page, or brings an image of one, has been inserted: other
 * backends, which see the page once it is unlocked, see that a checkpoint had begun.
 */
extern PGDLLEXPORT void zundo_note_redo(void);

/* The record has been inserted and ends at "lsn": give the page its LSN. */
extern void zundo_logged(ZUndoWrite *write, XLogRecPtr lsn);

/* In replay: the page that the log goes on with, from a record that names both. */
extern void zundo_replay_end_set(const RelFileLocator *locator, uint32 number, BlockNumber block);

/* False: no record has named it since replay began, or this process does not replay. */
extern bool zundo_replay_end(Oid dboid, uint32 number, RelFileLocator *locator,
							 BlockNumber *block);

/* Unlock; it may stay pinned. */
extern void zundo_release(ZUndoWrite *write);

/* What redo of an append goes by.  The page is a block reference, or the end of the log. */
typedef struct ZUndoAppend
{
	uint32		log;
	uint16		offset;
	uint16		generation;
	bool		init;
	bool		named;			/* by block reference "block_id" */
	uint8		block_id;
	RelFileLocator locator;
	BlockNumber block;
} ZUndoAppend;

/*
 * Redo of zundo_write, of all records that the WAL record has.  Call it before the table page
 * that points here is unlocked: readers of a standby follow the pointer at once.
 */
extern void zundo_redo_write(XLogReaderState *record, const ZUndoAppend *append,
							 const ZUndoBytes *records, int n);

/* The pointer alone, without touching the page. */
extern ZUndoPtr zundo_ptr_make(BlockNumber block, uint16 generation, uint16 offset);

static inline BlockNumber
zundo_ptr_block(ZUndoPtr ptr)
{
	return (BlockNumber) (ptr >> 32);
}

static inline uint16
zundo_ptr_generation(ZUndoPtr ptr)
{
	return (uint16) (ptr >> 16);
}

static inline uint16
zundo_ptr_offset(ZUndoPtr ptr)
{
	return (uint16) ptr;
}

/*
 * A pointer in a record, in few bytes if it leads to the same extent as "base", a
 * pointer that whoever reads it knows, and not behind it: two on the same page, three
 * elsewhere.  ZUNDO_PTR_MAX bytes at most.  Reading returns NULL if the bytes run past
 * "end" or are no pointer.
 */
#define ZUNDO_PTR_MAX	9
extern char *zundo_ptr_put(char *out, ZUndoPtr ptr, ZUndoPtr base);
extern const char *zundo_ptr_get(const char *in, const char *end, ZUndoPtr base, ZUndoPtr *ptr);

/* ---- reading (undo_read.c) ---- */

/*
 * A reader keeps what makes a walk cheap: where the page last read was in the
 * buffer pool and, once a second record of the same page is wanted, a private
 * copy of the page.  There are two, as what was written about one table page may
 * begin on one undo page and end on the next, and the next table page's undo
 * follows it.  It holds no pin between calls.
 */
typedef struct ZUndoCopy
{
	PGAlignedBlock *page;		/* allocated on demand */
	BlockNumber block;			/* invalid: none yet */
	uint16		generation;
} ZUndoCopy;

typedef struct ZUndoReader
{
	BlockNumber block;			/* of the last record that was not from a copy */
	ZUndoCopy	copies[2];
	int			used;			/* the copy used last */
	char	   *bytes;			/* the last record that was not from a copy: */
	ZUndoPtr	bytes_ptr;		/* where it is, or invalid */
	Size		bytes_len;
	Size		bytes_size;		/* allocated */
	MemoryContext context;
	bool		local;			/* follows pointers of temporary tables, and else of others */
} ZUndoReader;

/* Memory comes from "context" and is freed by zundo_reader_close. */
extern void zundo_reader_open(ZUndoReader *reader, MemoryContext context, bool local);
extern void zundo_reader_close(ZUndoReader *reader);


/*
 * The record's bytes, valid until the next call on this reader.  NULL if it has
 * been recycled (its transaction is then below the horizon, or the record
 * belonged to a rolled back transaction).  ERROR (data corrupted) if the pointer
 * or the page makes no sense.  The caller may hold table pages.
 */
extern const char *zundo_read(ZUndoReader *reader, ZUndoPtr ptr, Size *len);

/*
 * The record after "ptr" in its log, for sweeps: invalid at the end of the log.
 * *new_page tells that it is the first of its page (writers give their context
 * in full there).  Takes care of extents.  Also invalid if "ptr" has been
 * recycled, which does not happen to a sweeper at work on pending records.
 */
extern ZUndoPtr zundo_next(ZUndoReader *reader, ZUndoPtr ptr, bool *new_page);

/*
 * The record after "ptr" on its page, as the reader has read that; invalid if there is none, or
 * the reader does not have the page.  Reads nothing.
 */
extern ZUndoPtr zundo_next_read(ZUndoReader *reader, ZUndoPtr ptr);

/*
 * For sweeps that meet a page that cannot be read: the first record behind page *block of
 * this generation, which goes along, so that after one more error the next call goes on
 * behind that page.  Invalid at the end of the log.  An extent whose first page
 * cannot be read is the end, too: then it fails at the extent's last page.
 */
extern ZUndoPtr zundo_skip_page(ZUndoReader *reader, BlockNumber *block, uint16 generation);
extern bool zundo_is_last_of_extent(BlockNumber block);

/* ---- looking at a page (undo_look.c) ---- */

/*
 * Copy any page of the undo relation; false: that has only *nblocks blocks.  zundo_open() must
 * have been called.  ERROR if the page cannot be read.
 */
extern bool zundo_look_page(BlockNumber block, Page copy, BlockNumber *nblocks);

typedef enum ZUndoPageKind
{
	ZUNDO_PAGE_NEW,				/* never written */
	ZUNDO_PAGE_META,
	ZUNDO_PAGE_DIRECTORY,
	ZUNDO_PAGE_MAP,
	ZUNDO_PAGE_RECORDS			/* sound, but for its records */
} ZUndoPageKind;

/* ERROR (data corrupted) if it is none of them, or should have records and is damaged. */
extern ZUndoPageKind zundo_look_kind(Page page, BlockNumber block);

typedef struct ZUndoLook
{
	ZUndoPtr	ptr;
	const char *bytes;			/* on the page; NULL: its length cannot be right */
	Size		len;
	bool		sound;			/* it agrees with its check */
} ZUndoLook;

/* The next record of such a page, from *offset on, which is 0 at first; false: there is none. */
extern bool zundo_look_record(Page page, BlockNumber block, uint16 *offset, ZUndoLook *look);

/* ---- undo of temporary tables (undo_local.c) ---- */

/*
 * Undo of a table in local buffers stays in this backend's memory; zundo_reserve,
 * zundo_write, zundo_release, zundo_read and zundo_next work on it all the same,
 * but there is no buffer to be registered in WAL, and zundo_open_for() is all the
 * preparation it needs.
 */
extern bool zundo_ptr_is_local(ZUndoPtr ptr);

/*
 * What zundo_horizon() and zundo_logged_horizon() are for other tables: older
 * transactions have left nothing on pages of temporary tables but what is
 * visible to all.
 */
extern FullTransactionId zundo_local_horizon(void);

/*
 * Does the snapshot see all that this session's earlier transactions did to
 * temporary tables?  An imported one may not.
 */
extern bool zundo_local_sees(Snapshot snapshot);

/*
 * Called by zundo_open_for() when an earlier transaction has left aborted rows in
 * temporary tables, and before a commit when subtransactions have: rolls
 * them back.  Set once while the library loads.
 */
extern void (*zundo_local_hook) (void);

/*
 * Being in that first case.  The top xid of the transaction concerned, and
 * which of its subtransactions committed, itself included: nothing older on the pages
 * is in question, and neither the database's horizon, which may have passed it, nor the
 * commit log, which may have forgotten it, says anything.
 */
extern bool zundo_local_rolling_back;
extern FullTransactionId zundo_local_owner(void);
extern bool zundo_local_has_committed(FullTransactionId fxid);

/*
 * The first record whose change may still have to be rolled back (invalid: there is
 * none), the first one of its undo page.
 */
extern ZUndoPtr zundo_local_first(void);

/* What the undo pages before the one of "ptr" tell of has been rolled back. */
extern void zundo_local_mark_applied(ZUndoPtr ptr);

/* A file that records are about, and the table that had it then. */
typedef struct ZLocalFile
{
	RelFileLocator locator;
	Oid			relid;
	const struct TableAmRoutine *tableam;
} ZLocalFile;

extern const ZLocalFile *zundo_local_file(RelFileLocator locator);

/* To be called at XACT_EVENT_PRE_COMMIT. */
extern void zundo_local_before_commit(void);

/* ---- transactions and the horizon (undo_horizon.c) ---- */

/*
 * The order of xids in one database, at any moment (H1 to H3 in the layer's README):
 *
 *   relfrozenxid of the undo relation <= logged horizon <= horizon
 *   horizon <= the oldest xid that a snapshot needs
 *   horizon <= of each log, what is active, pending, newly aborted and pinned
 *   all of these <= the next xid
 *   an extent's "closed" <= the horizon when it is freed, <= the logged horizon when it is
 *   opened again
 */

/*
 * Every transaction below is committed and visible to all snapshots of this
 * database, and nobody needs its undo.  One atomic read; monotonic.
 *
 * It may be compared with a private copy of a page only by a caller that has held a
 * snapshot (one that the server's removable horizon respects: not VACUUM's)
 * since before the copy was made; anybody else reads the horizon first, then
 * copies the page.  Else a slot of an aborted transaction in the copy may pass
 * for an old committed one, after its page was rolled back.
 */
extern FullTransactionId zundo_horizon(void);

/*
 * The horizon as the WAL knows it: a standby that has replayed up to now has
 * resolved its conflicts with everything below.  At most zundo_horizon().
 */
extern FullTransactionId zundo_logged_horizon(void);

/*
 * Oldest xid some snapshot of this database may see as running, 64 bits: what
 * committed before is visible to all.  Looks through the process array.
 */
extern FullTransactionId zundo_oldest_needed(void);

/*
 * Tell the undo layer of what becomes of the transaction in progress; no catalog
 * access, no ERROR.  A (sub)transaction that wrote undo and aborted makes its
 * log "pending" from its first record on (for a subtransaction, when its top
 * transaction ends).  To be called at
 *		zundo_before_end	XACT_EVENT_PRE_COMMIT, _PARALLEL_PRE_COMMIT, _PRE_PREPARE
 *		zundo_at_commit		XACT_EVENT_COMMIT, _PARALLEL_COMMIT (not PRE_COMMIT)
 *		zundo_at_abort		XACT_EVENT_ABORT, _PARALLEL_ABORT
 *		zundo_at_prepare	XACT_EVENT_PREPARE (not PRE_PREPARE)
 *		zundo_before_prepare	XACT_EVENT_PRE_PREPARE: may wait for a lock, and fail
 *		zundo_at_subabort	SUBXACT_EVENT_ABORT_SUB
 * in every transaction, whether it wrote undo or not.
 */
extern void zundo_before_end(void);
extern void zundo_at_abort(void);
extern void zundo_at_subabort(void);
extern void zundo_at_prepare(void);
extern void zundo_before_prepare(void);

/* The same; the top transaction if it has written undo, else invalid. */
extern FullTransactionId zundo_at_commit(void);

/*
 * Pending work: the logs of this database that hold undo of transactions which
 * aborted (or whose status is not known after a restart).  The sweeper goes
 * through [from, end of log) and tells how far it got.
 */
typedef struct ZUndoPending
{
	int			log;
	uint32		sweep_id;		/* the undo layer's own */
	ZUndoPtr	from;			/* first record to look at */
	bool		newly_aborted;	/* only what aborted since the last sweep: what
								 * that one has left is not to be tried yet */
	/* the undo layer's own */
	uint32		aborts;			/* of these; when it is marked: of what is left */
	uint32		ordinal;		/* of the extent that "from" is in */
	FullTransactionId left_before;	/* oldest of what an earlier sweep has left */
	TimestampTz retry_before;	/* when that was to be tried again */
	Oid			relid_before;	/* a table that was in its way */
} ZUndoPending;

/*
 * The next log with pending work after "log" (start with -1); false at the end.
 * "all": also what was in vain a moment ago (zundo_pending_back_off).
 * If two sweepers take the same log, the work of the one that took it first is
 * in vain: what it marks applied is ignored.
 */
extern bool zundo_pending_next(int log, bool all, ZUndoPending *pending);

/*
 * How far a sweep has come: everything before "upto" is applied (committed, or applied to
 * the pages); invalid: the whole log, up to where zundo_next() saw its end.  "upto" may
 * not lie beyond a record of a transaction that was in progress when it was
 * looked at: the sweeper notes the first such record, and goes on to apply what
 * lies behind.
 */
typedef struct ZUndoSwept
{
	ZUndoPtr	upto;
	uint32		extents;		/* from pending->from to it, its own not counted */
	FullTransactionId oldest;	/* oldest xid (top level or not) of the unapplied
								 * records from "upto" to the end; invalid if there is
								 * none or the sweeper did not look at them all */
	uint32		left;			/* number of their transactions, without the one that
								 * the log's owner is in */
} ZUndoSwept;

/*
 * Has no other sweep of the log begun?  Else what this one has not read yet may be gone.
 */
extern bool zundo_pending_is_newest(const ZUndoPending *pending);

/* Are the log's last pages damaged, so that nobody knows where it ends? */
extern bool zundo_log_is_sealed(int log);

/*
 * Tell so.  Safe against an abort that happened meanwhile.  May be called once more, with
 * the same *pending, when less is left.
 */
extern void zundo_pending_mark_applied(ZUndoPending *pending, const ZUndoSwept *swept);

/*
 * Somebody who keeps others from sweeping is busy with something else for long: nobody is to
 * wait for sweeps until that ends, or until the next one begins.
 */
extern void zundo_hold_sweeps(bool hold);

/* Is this the first record of the transaction that the log's owner is in? */
extern bool zundo_is_first_active(int log, ZUndoPtr ptr);

/*
 * After it: what is left of the log could not be done now, so it is not to be
 * tried again before so many milliseconds, at first; twice as many each time, up
 * to "last".  Later aborts are seen to meanwhile.  "relid": a table that is in the way,
 * for zundo_holders(); or invalid.
 */
extern void zundo_pending_back_off(const ZUndoPending *pending, uint32 first, uint32 last,
								   Oid relid);

/*
 * VACUUM's snapshot keeps nothing back, so that what it looks at may change its meaning meanwhile.
 * From now on it does, like any other's; until zundo_hold_back_end() gets what the first has
 * returned, or to the end of the transaction where an error comes first.  Elsewhere they do
 * nothing.
 */
extern uint8 zundo_hold_back(void);
extern void zundo_hold_back_end(uint8 flags);

/*
 * For a server that assigns no xids any more, so that no snapshot will ever be
 * newer than the ones that may go with a page copy from before undo was applied.
 *
 * zundo_is_quiet(): no transaction runs that has an xid, and nobody else in this
 * database has a snapshot (VACUUM's aside).  zundo_pins_waive(): then the horizon
 * need not wait.  In between standbys must have been told of a conflict with the
 * next xid.  Nobody may sweep meanwhile.
 */
extern bool zundo_is_quiet(void);
extern void zundo_pins_waive(void);

/* Move the horizon as far as snapshots and pending aborts let it. */
extern void zundo_horizon_advance(void);

/*
 * Write the horizon to WAL.  zundo_logged_horizon() is then at least what
 * zundo_horizon() was at the call.
 */
extern void zundo_horizon_log(void);

/*
 * Free extents that nobody needs, at most so many.  For workers and VACUUM.
 * Returns their number.
 */
extern uint32 zundo_discard(uint32 max);

/*
 * Directory pages that were damaged since the logs were loaded are made anew.  Who needs one sees
 * to that, too; but when the server has been restarted nobody knows any more what they told.
 */
extern void zundo_dir_check(void);

/*
 * Logs that are lost and not pending any more are struck out of the directory.  The
 * database is loaded.
 */
extern void zundo_drop_lost(void);

/*
 * Make the undo relation anew, with this horizon.  It is locked against everybody else, and
 * nothing that it holds is needed.  zundo_is_writing(): this transaction is about to append.
 */
extern void zundo_reset(FullTransactionId horizon);
extern bool zundo_is_writing(void);

/* Has this transaction called zundo_open()? */
extern bool zundo_is_used(void);

/*
 * A database that is no more: nothing is to be done for it.  Only if nobody is
 * connected to it.
 */
extern void zundo_forget_database(Oid dboid);

/*
 * Truncate the undo relation if enough of its end is free (undo_truncate.c).  For
 * workers, who leave what was in use a moment ago; "all": for VACUUM, which
 * leaves a small reserve.  Returns the number of blocks given back.
 */
extern BlockNumber zundo_truncate(bool all);

/* A database in which a worker has something to do. */
typedef struct ZUndoWork
{
	Oid			db;
	bool		urgent;			/* aborted transactions are to be rolled back, not only
								 * extents to be freed */
	uint32		aborts;			/* a count of all aborts there, which goes round */
} ZUndoWork;

/* All of them, at most "max"; needs no database.  Returns their number. */
extern int	zundo_databases_with_work(ZUndoWork *work, int max);

/*
 * Has a sweep anything to look at in this database, now: not what waits for its time or for
 * the end of a transaction.  *bytes, unless that is NULL: about how much undo.
 */
extern bool zundo_sweep_is_due(uint64 *bytes);

/* ---- statistics ---- */

typedef struct ZUndoStats
{
	BlockNumber nblocks;		/* of the undo relation */
	BlockNumber high_water;		/* the greatest nblocks ever */
	uint32		extents_used;
	uint32		extents_free;
	uint32		extents_pending;	/* used, in logs from what is pending on; about */
	int			logs;
	int			logs_pending;
	int			transactions_pending;	/* after a restart: at least so many */
	FullTransactionId horizon;
	FullTransactionId next;		/* the next xid */
} ZUndoStats;

extern void zundo_stats(ZUndoStats *stats);

/* ---- who keeps undo (undo_holders.c) ---- */

typedef enum ZUndoHolderKind
{
	ZUNDO_HOLDER_BACKEND,
	ZUNDO_HOLDER_PREPARED,		/* prepared transaction */
	ZUNDO_HOLDER_SLOT,			/* replication slot */
	ZUNDO_HOLDER_STANDBY,		/* hot_standby_feedback, without a slot */
	ZUNDO_HOLDER_ABORTED		/* aborted, not yet rolled back everywhere */
} ZUndoHolderKind;

typedef struct ZUndoHolder
{
	ZUndoHolderKind kind;
	int			pid;			/* of the backend or walsender, else 0 */
	char		name[GIDSIZE];	/* of the slot, GID of the transaction */
	Oid			relid;			/* ABORTED: a table whose rows could not be rolled back when
								 * that was last tried; or invalid.  "pid" and "name" are those
								 * of the transaction that has it locked, if any */
	TransactionId prepared;		/* the prepared transaction that "name" is the GID of */
	FullTransactionId xid;		/* undo of this one and later ones is kept */
	int			rank;			/* of two with the same xid the lower is the reason */
	uint64		bytes;			/* zundo_holders_weigh() */
} ZUndoHolder;

/*
 * All that keep the horizon of this database back, oldest first, allocated.  A
 * few catalog entries are read for GIDs unless buffer locks are held.
 */
extern ZUndoHolder *zundo_holders(int *n);

/*
 * Fill in the bytes of undo that would be kept if each was the only one.  What was there
 * when the server started is not told apart, nor are the last few per cent.
 */
extern void zundo_holders_weigh(ZUndoHolder *holders, int n);

/* What it keeps, as a whole sentence for a DETAIL: translated, allocated. */
extern char *zundo_holder_text(const ZUndoHolder *holder);

/*
 * LOG that undo is held for longer than zheap.undo_hold_warning, and by whom, if
 * so; from time to time only.  No buffer lock may be held.
 */
extern void zundo_hold_warn(void);

/* ---- WAL (undo_wal.c): opcodes 0xB0 to 0xF0 of the library's rmgr ---- */

#define ZREC_UNDO_TRUNCATE	0xB0	/* free extents at the end are gone */
#define ZREC_UNDO_EXTENT	0xC0	/* a log opens an extent */
#define ZREC_UNDO_FREE		0xD0	/* a log gives an extent away */
#define ZREC_UNDO_HORIZON	0xE0	/* the horizon moved */
#define ZREC_UNDO_INIT		0xF0	/* meta and directory pages made */

extern void zundo_truncate_redo(XLogReaderState *record);
extern void zundo_extent_redo(XLogReaderState *record);
extern void zundo_free_redo(XLogReaderState *record);
extern void zundo_horizon_redo(XLogReaderState *record);
extern void zundo_init_redo(XLogReaderState *record);
extern void zundo_truncate_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_extent_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_free_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_horizon_desc(StringInfo buf, XLogReaderState *record);
extern void zundo_init_desc(StringInfo buf, XLogReaderState *record);
/* mask a page of the undo relation (called when the page's magic is ours) */
extern void zundo_mask(char *page, BlockNumber block);
extern bool zundo_is_undo_page(const char *page);

#endif							/* ZHEAP_UNDO_H */
