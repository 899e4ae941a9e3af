/*
 * base.h
 *		What every layer may use: settings, the preload check, corruption reports,
 *		small byte codecs.
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
	ZXMIN_VERSION,				/* a number that stays the version's */
	ZXMIN_TRANSACTION			/* which made it; FrozenTransactionId as soon as all see it */
} ZXminShows;

extern PGDLLIMPORT int zheap_xmin;	/* ZXminShows */

extern int	zheap_initial_slots;	/* slots of a new page */
extern int	zheap_max_changed_indexes;	/* per cent: more, and an updated row moves */
extern bool zheap_remove_dead_entries;	/* writers remove index entries of deleted rows */
extern bool zheap_skip_heap_rows;	/* readers pass by what heap functions have written */
extern bool zheap_skip_dead_entries;	/* index scans pass by what only older snapshots need */
extern int	zheap_status_cache_size;	/* kB; 0: none */
extern int	zheap_temp_undo_max_size;	/* kB; 0 or less: no limit */
extern int	zheap_undo_max_size;	/* MB; 0 or less: no limit */
extern int	zheap_undo_hold_warning;	/* ms; 0 or less: never */
extern int	zheap_undo_workers; /* at the same time; 0: no worker starts */
extern int	zheap_undo_worker_naptime;	/* ms between rounds of the launcher */

#define ZHEAP_MAX_UNDO_WORKERS	16

extern void zheap_guc_define(int default_slots, int max_slots,
							 GucIntAssignHook status_cache_assign);

/* ---- preload check (zheap_preload.c) ---- */

/*
 * The library writes WAL that only its own resource manager can replay, so it
 * must have been loaded by shared_preload_libraries.  ERROR with a hint
 * otherwise.  Called by every entry point.
 */
extern void zheap_require_preload(void);
extern void zheap_mark_preloaded(void);
extern bool zheap_is_preloaded(void);

/* ---- marks of several keys that have been taken away (zheap_marks.c) ---- */

extern Size zheap_marks_shmem_size(void);
extern void zheap_marks_shmem_init(void);

extern pg_atomic_uint64 *zheap_marks;

/* How often so far.  Two equal counts: none in between. */
static inline uint64
zheap_marks_cleared(void)
{
	return pg_atomic_read_u64(zheap_marks);
}

/* The caller is about to take them from a page that it has locked. */
extern void zheap_note_marks_cleared(void);

/* ---- line pointers that VACUUM has made reusable (zheap_freed.c) ---- */

extern Size zheap_freed_shmem_size(void);
extern void zheap_freed_shmem_init(void);

/* Of this table, or one that shares the count.  Two equal counts: none in between. */
extern uint64 zheap_pointers_freed(Relation rel);

/* The caller is about to do it, under a lock on the table that keeps other VACUUMs out. */
extern void zheap_note_pointers_freed(Relation rel);

/* ---- changed relations (zheap_inval.c) ---- */

/* A callback for a relation, or any (InvalidOid), that may have changed.  Must raise no error. */
typedef void (*ZRelationWatcher) (Oid relid);

/*
 * Register a callback, for the life of the backend.  The caller registers each one once; there is
 * no way to unregister it.
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
 * Raise ERRCODE_DATA_CORRUPTED naming relation, block and offset, of which the last, or
 * the last two, may be invalid, and a reason, which is not translated.  The relation's
 * name comes from the relcache entry, so this never touches a catalog.  "rel" may be
 * NULL (then the locator is not known, but block and offset are).
 */
pg_noreturn extern void zheap_corrupt(Relation rel, BlockNumber block, OffsetNumber offnum,
									  const char *fmt,...) pg_attribute_printf(4, 5);

/* The same for what the server's heap functions have put there; "lsn" is the page's. */
pg_noreturn extern void zheap_corrupt_by_heap(Relation rel, BlockNumber block, XLogRecPtr lsn);

/* The formatted text, allocated. */
extern char *zheap_format(const char *fmt, va_list args) pg_attribute_printf(1, 0);

/* ---- the page for the next row (zheap_target.c) ---- */

/*
 * The server's heap functions and we remember it in the same place, smgr_targblock.  We add
 * ZTARGET_OURS: so heap_insert(), called by C code that takes the table for heap's, reads a block
 * that cannot be, and fails before it has changed anything.  A block without it is one that
 * heap_insert() has found for itself.
 */
#define ZTARGET_OURS	((BlockNumber) 1 << 31)
#define ZTARGET_NONE	MaxBlockNumber

/* InvalidBlockNumber: none is remembered. */
static inline BlockNumber
zheap_target_get(Relation rel)
{
	BlockNumber block = RelationGetTargetBlock(rel);

	return block >= ZTARGET_NONE ? InvalidBlockNumber : block & ~ZTARGET_OURS;
}

/* No block beyond the half of all is remembered. */
static inline void
zheap_target_set(Relation rel, BlockNumber block)
{
	RelationSetTargetBlock(rel, block < (ZTARGET_NONE & ~ZTARGET_OURS) ? block | ZTARGET_OURS :
						   ZTARGET_NONE);
}

/* ERROR: heap_insert() has put a row on that block. */
extern void zheap_target_found(Relation rel, BlockNumber block);

/* Let heap_insert() fail from now on, as long as the server has the file open. */
static inline void
zheap_target_guard(Relation rel)
{
	if (unlikely(RelationGetTargetBlock(rel) == InvalidBlockNumber))
		RelationSetTargetBlock(rel, ZTARGET_NONE);
}

/* The same as an operation begins; ERROR if it has been called already. */
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
 * Return whether the backend may hold the content lock of a shared buffer, of whatever relation.
 * Where this is false it holds none, and may wait for a heavyweight lock.  Since 19 this is true
 * also where interrupts are held off for another reason.
 */
extern bool zheap_may_hold_buffer_lock(void);

#ifdef USE_ASSERT_CHECKING
/*
 * Return whether the backend holds such a lock.  Where it does not it may lock a table page (L1).
 * Since 19 this knows only the locks taken by the macros below, not those that the server's
 * functions have taken.
 */
extern bool zheap_holds_buffer_lock(void);

/* Empty the list of held locks, in the abort of a (sub)transaction, which releases them all. */
extern void zheap_forget_buffer_locks(void);

/* Return whether it holds this buffer's content lock exclusively. */
extern bool zheap_buffer_is_exclusive(Buffer buffer);

/*
 * LockBuffer(), ConditionalLockBuffer() and UnlockReleaseBuffer(), which keep that list.  The
 * first asserts that the backend does not hold the lock, as it would wait for itself.
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

extern char *zvarint_put(char *out, uint64 value);

/* Of any length. */
extern const char *zvarint_get_long(const char *in, const char *end, uint64 *value);

/* Returns NULL when the bytes run past "end" or are no varint.  Most are short. */
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

/* Widen an xid that is not newer than the next one and less than 2^31 old. */
extern FullTransactionId zfxid_from_xid(TransactionId xid);

/* The same in redo, where the next xid already includes the record's own. */
extern FullTransactionId zfxid_from_xid_in_redo(TransactionId xid);

/* Does the server refuse to assign xids, because of wraparound? */
extern bool zheap_xids_are_refused(void);

static inline TransactionId
zfxid_xid(FullTransactionId fxid)
{
	return XidFromFullTransactionId(fxid);
}

#endif							/* ZHEAP_BASE_H */
