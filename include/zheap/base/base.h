/*
 * base.h
 *		What every layer may use: settings, the preload check, damage reports, small byte codecs.
 */
#ifndef ZHEAP_BASE_H
#define ZHEAP_BASE_H

#include "access/transam.h"
#include "access/xlogdefs.h"
#include "port/atomics.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/bufmgr.h"
#include "storage/off.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat.h"
#include "zheap/zheap.h"

/* ---- settings (zheap_guc.c) ---- */

/* What the system column xmin shows. */
typedef enum ZXminShows
{
	ZXMIN_VERSION,				/* a number that does not change while the version does not */
	ZXMIN_TRANSACTION			/* its maker's xid; FrozenTransactionId once all-visible */
} ZXminShows;

extern PGDLLIMPORT int zheap_xmin;	/* ZXminShows */

extern int	zheap_initial_slots;	/* slots of a new page */
extern int	zheap_max_changed_indexes;	/* per cent: more, and an updated row moves */
extern bool zheap_remove_dead_entries;	/* writers remove index entries of deleted rows */
extern bool zheap_skip_heap_rows;	/* scans skip rows that heap functions have written */
extern bool zheap_skip_dead_entries;	/* index scans skip entries only older snapshots need */
extern int	zheap_status_cache_size;	/* kB; 0: none */
extern int	zheap_temp_undo_max_size;	/* kB; 0 or less: no limit */
extern int	zheap_undo_max_size;	/* MB; 0 or less: no limit */
extern int	zheap_undo_hold_warning;	/* ms; 0 or less: never */
extern int	zheap_undo_workers; /* maximum at the same time; 0: none */
extern int	zheap_undo_worker_naptime;	/* ms between rounds of the launcher */

#define ZHEAP_MAX_UNDO_WORKERS	16

/*
 * Define the settings, while the library is being preloaded.  The default and maximum of
 * zheap.initial_slots, and the hook of zheap.status_cache_size, come from higher layers.
 */
extern void zheap_guc_define(int default_slots, int max_slots,
							 GucIntAssignHook status_cache_assign);

/* ---- preload check (zheap_preload.c) ---- */

/*
 * Raise ERROR (object_not_in_prerequisite_state) with a hint if the library was not loaded by
 * shared_preload_libraries: only its own resource manager can replay the WAL that it writes.  Each
 * entry point calls this.  zheap_mark_preloaded() is called when _PG_init() has registered it.
 */
extern void zheap_require_preload(void);
extern void zheap_mark_preloaded(void);
extern bool zheap_is_preloaded(void);

/* ---- marks of rows that have several keys, and of dead entries (zheap_marks.c) ---- */

/* Return the bytes of shared memory to request; initialize them, under AddinShmemInitLock. */
extern Size zheap_marks_shmem_size(void);
extern void zheap_marks_shmem_init(void);

typedef struct ZMarks
{
	pg_atomic_uint64 cleared;
	pg_atomic_uint64 newest_killer; /* FullTransactionId; 0: not known */
} ZMarks;

extern ZMarks *zheap_marks;

/*
 * Return how many times marks have been cleared since the server started.  If two results are
 * equal, none were cleared in between.
 */
static inline uint64
zheap_marks_cleared(void)
{
	return pg_atomic_read_u64(&zheap_marks->cleared);
}

/*
 * Count that marks are cleared.  The caller holds the exclusive lock of the page, and calls this
 * before it changes the page.
 */
extern void zheap_note_marks_cleared(void);

/*
 * Note that a scan may mark an index entry of a row with several keys as dead, because every
 * snapshot sees what this transaction did.  Called before the entry is marked.  Does nothing
 * during recovery.
 */
extern void zheap_note_killer(FullTransactionId fxid);

/*
 * Return the newest transaction noted by zheap_note_killer, or before the server started; or a
 * later one.  Not during recovery.
 */
extern FullTransactionId zheap_newest_killer(void);

/* ---- line pointers that VACUUM has made reusable (zheap_freed.c) ---- */

/* Return the bytes of shared memory to request; initialize them, under AddinShmemInitLock. */
extern Size zheap_freed_shmem_size(void);
extern void zheap_freed_shmem_init(void);

/*
 * Return how many times VACUUM or TRUNCATE has made line pointers of this table, or of one that
 * shares the counter, reusable.  If two results are equal, none became reusable in between.
 */
extern uint64 zheap_pointers_freed(Relation rel);

/*
 * Count that line pointers of the table become reusable.  Called before they do, under a lock on
 * the table that keeps writers that compare the count, and other VACUUMs, out.
 */
extern void zheap_note_pointers_freed(Relation rel);

/* ---- changed relations (zheap_inval.c) ---- */

/* A callback: the relation may have changed; InvalidOid: any may have.  Must raise no error. */
typedef void (*ZRelationWatcher) (Oid relid);

/*
 * Register a callback for the life of the backend.  Each is registered once, and cannot be
 * unregistered.
 */
extern void zheap_watch_relations(ZRelationWatcher watcher);

/*
 * Call the callbacks for all relations, if the backend has received invalidation messages since
 * the last such call.  To be called in the abort of each transaction and subtransaction.  Raises
 * no error.
 */
extern void zheap_watch_at_abort(void);

/* ---- damaged bytes (zheap_corrupt.c) ---- */

/*
 * Raise ERROR (data_corrupted) with relation, block and offset, and a reason, which is not
 * translated.  The offset, or block and offset, may be invalid and are then omitted.  "rel" may be
 * NULL if only the file is known: then block and offset must be given.  The name comes from the
 * relcache entry, so no catalog is read.  Not to be called in a critical section (F3).
 */
pg_noreturn extern void zheap_corrupt(Relation rel, BlockNumber block, OffsetNumber offnum,
									  const char *fmt,...) pg_attribute_printf(4, 5);

/*
 * Raise ERROR (data_corrupted) about a page with rows that the server's heap functions have
 * written.  "lsn" is the page's.
 */
pg_noreturn extern void zheap_corrupt_by_heap(Relation rel, BlockNumber block, XLogRecPtr lsn);

/* Return the formatted text, allocated in the current memory context. */
extern char *zheap_format(const char *fmt, va_list args) pg_attribute_printf(1, 0);

/* ---- the page for the next row (zheap_target.c) ---- */

/*
 * The server's heap functions and zheap remember that page in the same place, smgr_targblock.
 * zheap adds ZTARGET_OURS: heap_insert(), called by C code that takes the table for a heap table,
 * then reads a block that cannot exist, and fails before it has changed anything.  A block without
 * ZTARGET_OURS is one that heap_insert() has found by itself.
 */
#define ZTARGET_OURS	((BlockNumber) 1 << 31)
#define ZTARGET_NONE	MaxBlockNumber

/* Return the block to try first for the next row; InvalidBlockNumber if none is remembered. */
static inline BlockNumber
zheap_target_get(Relation rel)
{
	BlockNumber block = RelationGetTargetBlock(rel);

	return block >= ZTARGET_NONE ? InvalidBlockNumber : block & ~ZTARGET_OURS;
}

/* Remember a block.  One that ZTARGET_OURS does not fit (half of all) is not remembered. */
static inline void
zheap_target_set(Relation rel, BlockNumber block)
{
	RelationSetTargetBlock(rel, block < (ZTARGET_NONE & ~ZTARGET_OURS) ? block | ZTARGET_OURS :
						   ZTARGET_NONE);
}

/*
 * Handle a block that heap_insert() has remembered, so has put a row on: forget it, and raise
 * ERROR (data_corrupted).  Returns if zheap.skip_heap_rows is on, or if the block no longer
 * exists.  No content lock may be held.
 */
extern void zheap_target_found(Relation rel, BlockNumber block);

/* Make heap_insert() fail from now on, as long as the server has the file open. */
static inline void
zheap_target_guard(Relation rel)
{
	if (unlikely(RelationGetTargetBlock(rel) == InvalidBlockNumber))
		RelationSetTargetBlock(rel, ZTARGET_NONE);
}

/*
 * Do the same at the start of an operation.  Raises ERROR (data_corrupted) if heap_insert() has
 * already written to the table (zheap_target_found).
 */
static inline void
zheap_target_check(Relation rel)
{
	BlockNumber block = RelationGetTargetBlock(rel);

	if (unlikely(block == InvalidBlockNumber))
		RelationSetTargetBlock(rel, ZTARGET_NONE);
	else if (unlikely((block & ZTARGET_OURS) == 0))
		zheap_target_found(rel, block);
}

/* ---- locks held, above all for assertions (zheap_buflock.c) ---- */

/*
 * Return whether the backend may hold the content lock of a shared buffer, of any relation.  If
 * this is false it holds none, and may wait for a heavyweight lock.  Since 19 this is true also
 * where interrupts are held off for another reason.
 */
extern bool zheap_may_hold_buffer_lock(void);

#ifdef USE_ASSERT_CHECKING
/*
 * Return whether the backend holds such a lock.  If not, it may lock a table page (L1).  Since 19
 * this knows only the locks taken by the macros below, not those taken by functions of the server.
 */
extern bool zheap_holds_buffer_lock(void);

/* Empty the list of held locks, in the abort of a (sub)transaction, which releases them all. */
extern void zheap_forget_buffer_locks(void);

/* Return whether the backend holds this buffer's content lock exclusively. */
extern bool zheap_buffer_is_exclusive(Buffer buffer);

/*
 * Replacements of LockBuffer(), ConditionalLockBuffer() and UnlockReleaseBuffer() that keep that
 * list.  The first asserts that the backend does not hold the lock, as it would wait for itself.
 */
extern void zheap_lock_buffer(Buffer buffer, int mode);
extern bool zheap_try_lock_buffer(Buffer buffer);
extern void zheap_unlock_release_buffer(Buffer buffer);

#define LockBuffer(buffer, mode)	zheap_lock_buffer(buffer, mode)
#define ConditionalLockBuffer(buffer)	zheap_try_lock_buffer(buffer)
#define UnlockReleaseBuffer(buffer)	zheap_unlock_release_buffer(buffer)
#else
#define zheap_forget_buffer_locks()	((void) 0)
#endif

/* ---- varints (zheap_varint.c): little-endian base 128, at most 10 bytes ---- */

#define ZVARINT_MAX		10

/*
 * Write the value to "out", which has room for ZVARINT_MAX bytes.  Returns the end of what was
 * written, 1 to 10 bytes later.
 */
extern char *zvarint_put(char *out, uint64 value);

/* Do the same without the shortcut for one and two bytes. */
extern const char *zvarint_get_long(const char *in, const char *end, uint64 *value);

/*
 * Read a varint.  Returns the end of its bytes; NULL, with *value unchanged, if they run past
 * "end" or are no varint.  Most have one or two bytes.
 */
static inline const char *
zvarint_get(const char *in, const char *end, uint64 *value)
{
	if (likely(in < end && (uint8) in[0] < 0x80))
	{
		*value = (uint8) in[0];
		return in + 1;
	}
	if (likely(end - in >= 2 && (uint8) in[1] < 0x80))
	{
		*value = ((uint8) in[0] & 0x7F) | (uint64) (uint8) in[1] << 7;
		return in + 2;
	}
	return zvarint_get_long(in, end, value);
}

/* ---- 64-bit transaction ids (zheap_fxid.c) ---- */

/*
 * Return the 64 bits of an xid that is not newer than the next one and less than 2^31 old.  A
 * special xid (0, 1, 2) keeps its value.  Takes XidGenLock in shared mode for a moment.
 */
extern FullTransactionId zfxid_from_xid(TransactionId xid);

/* Do the same in redo, where the next xid already follows the record's own.  Takes no lock. */
extern FullTransactionId zfxid_from_xid_in_redo(TransactionId xid);

/*
 * Return whether the server refuses to assign xids to prevent wraparound.  The answer may be out
 * of date at once.  Takes XidGenLock in shared mode for a moment.
 */
extern bool zheap_xids_are_refused(void);

/* The 32-bit xid. */
static inline TransactionId
zfxid_xid(FullTransactionId fxid)
{
	return XidFromFullTransactionId(fxid);
}

#endif							/* ZHEAP_BASE_H */
