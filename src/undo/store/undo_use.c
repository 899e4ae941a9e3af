/*
 * undo_use.c
 *		Users of the undo relation, and movers, which wait for them.
 *
 * Each transaction that reads zheap tables uses the undo relation, except one that only finds
 * all-visible rows by an index.  A lock of its own and a reference to the relation's entry in
 * the relation cache would cost each of them some 2,700 instructions.  Only rarely does a
 * command need the file for itself: to move it (VACUUM FULL, SET TABLESPACE), to make it anew,
 * to drop it.  So a backend only notes that it is in a transaction that uses undo, and takes no
 * lock unless a mover is about:
 *
 *   backend	notes "entering", then looks whether the database's relation is being moved.  If not
 *				it notes its transaction, until that ends.  If so it takes its note back and
 *				locks the relation (RowExclusiveLock) to the transaction's end.
 *   mover		has AccessExclusiveLock.  It sets "moving", then looks at each backend's note:
 *				it waits while that is "entering", which takes some instructions, and for the
 *				end of a transaction that is noted.
 *
 * Both have a full barrier between their two steps, so that one of them sees the other (U7).  A
 * mover waits for a transaction as CREATE INDEX CONCURRENTLY does, by its virtual transaction's
 * lock: the wait can be cancelled, and the deadlock detector sees it.  That lock is released
 * after the note is taken back.
 *
 * The mover cannot reset "moving" itself: others must not go on before they can know of the new
 * file, and a transaction releases its locks after it has sent its invalidation messages.  So
 * the first backend that gets its RowExclusiveLock resets it: there is no mover then, nor can
 * one begin.
 *
 * A parallel worker whose leader is noted needs neither note nor lock: the leader outlives it.
 * It must not wait for the lock, as the mover waits for the leader, and the leader for the
 * worker.
 *
 * A prepared transaction has no note.  If it has written undo it has another lock, which movers
 * request when no user is left.  It could not take the relation's lock: a mover may have that,
 * and wait for this transaction.
 *
 * LOCKING: callers hold no lock; a lock on the undo relation may be waited for.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/sinvaladt.h"

#include "zheap/base/pg_compat.h"
#include "zheap/undo/undo_am.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/undo/undo_xact.h"

#include "store_private.h"
#include "undo_state.h"

/* Values of a note that are not the local id of the transaction that uses undo. */
#define NOT_USED		((uint64) InvalidLocalTransactionId)
#define ENTERING		(UINT64CONST(1) << 32)

/* The lock of prepared transactions: the server locks no relation in this way. */
#define LOCK_PREPARED(relid, mode)	LockDatabaseObject(RelationRelationId, relid, 0, mode)

/* Each has its own cache line: its backend writes there in each transaction. */
typedef union PaddedNote
{
	pg_atomic_uint64 note;
	char		pad[PG_CACHE_LINE_SIZE];
} PaddedNote;

static PaddedNote *notes = NULL;

Size
zundo_use_shmem_size(void)
{
	return add_size(mul_size(MaxBackends, sizeof(PaddedNote)), PG_CACHE_LINE_SIZE);
}

void
zundo_use_shmem_init(void)
{
	bool		found;
	char	   *start = ShmemInitStruct("zheap undo users", zundo_use_shmem_size(), &found);

	notes = (PaddedNote *) CACHELINEALIGN(start);
	for (int i = 0; !found && i < MaxBackends; i++)
		pg_atomic_init_u64(&notes[i].note, NOT_USED);
}

/* ---- users ---- */

/*
 * Return whether this is a parallel worker whose leader is noted: the relation is not moved
 * before the leader's transaction ends.
 */
static bool
leader_is_noted(void)
{
	PGPROC	   *leader = MyProc->lockGroupLeader;
	pg_atomic_uint64 *note;

	if (!IsParallelWorker() || leader == NULL || zcompat_proc_backend(leader) < 0)
		return false;
	note = &notes[zcompat_proc_backend(leader)].note;
	while (pg_atomic_read_u64(note) == ENTERING)
		pg_spin_delay();
	return pg_atomic_read_u64(note) != NOT_USED;
}

bool
zundo_use_begin(void)
{
	pg_atomic_uint64 *note = &notes[zcompat_proc_backend(MyProc)].note;

	Assert(MyUndo.db != NULL && LocalTransactionIdIsValid(zcompat_my_lxid()));
	Assert(pg_atomic_read_u64(note) == NOT_USED);
	pg_atomic_write_u64(note, ENTERING);
	pg_memory_barrier();
	if (unlikely(pg_atomic_read_u32(&MyUndo.db->moving) != 0) && !leader_is_noted())
	{
		pg_atomic_write_u64(note, NOT_USED);
		return false;
	}
	pg_atomic_write_u64(note, zcompat_my_lxid());
	return true;
}

void
zundo_use_end(void)
{
	/* after all reads and writes of the relation */
	pg_memory_barrier();
	pg_atomic_write_u64(&notes[zcompat_proc_backend(MyProc)].note, NOT_USED);
}

bool
zundo_use_is_noted(void)
{
	return pg_atomic_read_u64(&notes[zcompat_proc_backend(MyProc)].note) == zcompat_my_lxid();
}

/* Our own lock as a mover does not mean that the move is done. */
void
zundo_use_locked(Oid relid)
{
	Assert(CheckRelationOidLockedByMe(relid, RowExclusiveLock, true));
	if (!CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false))
		pg_atomic_write_u32(&MyUndo.db->moving, 0);
}

void
zundo_before_prepare(void)
{
	if (MyUndo.entered && !MyUndo.locked)
		LOCK_PREPARED(MyUndo.db->relid, ShareLock);
}

/* ---- movers ---- */

/* Wait for the end of the transaction that this backend has noted, if any. */
static void
wait_for_user(int backend)
{
	pg_atomic_uint64 *note = &notes[backend].note;
	PGPROC	   *proc;
	uint64		value;

	while ((value = pg_atomic_read_u64(note)) == ENTERING)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000L);
	}
	if (value == NOT_USED)
		return;
	/* another process, if the first one has ended meanwhile */
	proc = zcompat_backend_proc(backend);
	if (proc == NULL || proc->databaseId != MyDatabaseId)
		return;
	(void) VirtualXactLock(zcompat_vxid(backend, (LocalTransactionId) value), true);
}

void
zundo_wait_for_users(Oid relid)
{
	Assert(CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false));	/* U7 */
	zundo_db_attach(relid);
	zundo_tail_unpin();
	pg_atomic_write_u32(&MyUndo.db->moving, 1);
	pg_memory_barrier();
	for (int i = 0; i < MaxBackends; i++)
	{
		if (i != zcompat_proc_backend(MyProc))
			wait_for_user(i);
	}
	LOCK_PREPARED(relid, ExclusiveLock);
	/* a command's own changes arrive without the invalidation messages that others get */
	MyUndo.rel = NULL;
}
