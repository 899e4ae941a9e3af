/*
 * undo_use.c
 *		Who uses the undo relation, and who waits until nobody does.
 *
 * Each transaction that looks at zheap tables uses the undo relation, so a lock of its own and
 * a reference to the relation's entry in the relation cache would cost each of them some 2,700
 * instructions.  Hardly ever does a command need the file for itself: to move it
 * (VACUUM FULL, SET TABLESPACE), to make it anew, to drop it.  So a backend only notes that it
 * is in a transaction that uses undo, and does without lock unless a mover is about:
 *
 *   backend	notes "entering", then looks whether the database is being moved.  If not it
 *				notes "within", until the transaction ends.  If so it takes its note back and
 *				locks the relation (RowExclusiveLock) to the transaction's end.
 *   mover		has AccessExclusiveLock.  It sets "moving", then looks at each backend's note:
 *				it waits while one is "entering", which takes some instructions, and for the
 *				end of the transaction of one that is "within".
 *
 * With a full barrier between the two steps of either, one of them sees the other.  A mover
 * waits for a transaction as CREATE INDEX CONCURRENTLY does, by its virtual transaction's
 * lock: so it can be cancelled, and the deadlock detector sees it wait.
 *
 * The mover cannot say that it is done: others must not go on before they can know of the new
 * file, and a transaction releases its locks after it has told them.  So the first backend
 * that has got its RowExclusiveLock says so: there is no mover then, nor can one begin.
 *
 * LOCKING: none is held by callers; a lock on the undo relation may be waited for.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "storage/shmem.h"

#include "zheap/base/pg_compat.h"
#include "undo_private.h"

/* what a backend notes */
#define NOT_USED		0
#define ENTERING		1
#define WITHIN			2

/* Each has its own cache line: its backend writes there in each transaction. */
typedef union PaddedNote
{
	pg_atomic_uint32 note;
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
		pg_atomic_init_u32(&notes[i].note, NOT_USED);
}

/* ---- users ---- */

bool
zundo_use_begin(void)
{
	pg_atomic_uint32 *note = &notes[zcompat_my_backend()].note;

	Assert(MyUndo.db != NULL);
	Assert(pg_atomic_read_u32(note) == NOT_USED);
	pg_atomic_write_u32(note, ENTERING);
	pg_memory_barrier();
	if (unlikely(pg_atomic_read_u32(&MyUndo.db->moving) != 0))
	{
		pg_atomic_write_u32(note, NOT_USED);
		return false;
	}
	pg_atomic_write_u32(note, WITHIN);
	return true;
}

void
zundo_use_end(void)
{
	/* all that was read or written was so before */
	pg_memory_barrier();
	pg_atomic_write_u32(&notes[zcompat_my_backend()].note, NOT_USED);
}

/* A mover's own lock is no reason to think that it is done. */
void
zundo_use_locked(Oid relid)
{
	Assert(CheckRelationOidLockedByMe(relid, RowExclusiveLock, true));
	if (!CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false))
		pg_atomic_write_u32(&MyUndo.db->moving, 0);
}

/* ---- movers ---- */

static void
wait_for_user(VirtualTransactionId vxid)
{
	pg_atomic_uint32 *note = &notes[zcompat_vxid_backend(vxid)].note;

	while (pg_atomic_read_u32(note) == ENTERING)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000L);
	}
	if (pg_atomic_read_u32(note) == WITHIN)
		(void) VirtualXactLock(vxid, true);
}

void
zundo_use_wait(Oid relid)
{
	VirtualTransactionId *vxids;
	int			n;

	Assert(CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false));
	pg_atomic_write_u32(&MyUndo.db->moving, 1);
	pg_memory_barrier();
	vxids = GetCurrentVirtualXIDs(InvalidTransactionId, false, false, 0, &n);
	for (int i = 0; i < n; i++)
		wait_for_user(vxids[i]);
	pfree(vxids);
}
