/*
 * zheap_buflock.c
 *		Which content locks and LWLocks the backend holds, above all for assertions.
 *
 * Before 19 content locks are LWLocks.  The server keeps a list of those that a backend holds, and
 * empties it when an ERROR releases them, so no state is kept here.  Since 19 the server can
 * report only whether a given buffer is locked: builds with assertions keep a list of the locks
 * that this library has taken.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"

#include "zheap/base/pg_compat_buflock.h"
#include "zheap/base/base.h"

/* The buffers of temporary tables have no locks, and do not count. */
bool
zheap_may_hold_buffer_lock(void)
{
	return zcompat_may_hold_buffer_lock();
}

#ifdef USE_ASSERT_CHECKING

#define MAX_LOCKED	64

static Buffer locked[MAX_LOCKED];
static int	nlocked = 0;

static void
note_locked(Buffer buffer)
{
	if (ZCOMPAT_BUFFER_LOCKS_ARE_LWLOCKS || BufferIsLocal(buffer))
		return;
	/*
	 * each lock holds interrupts off: if only this one does, the list dates from before an ERROR
	 */
	Assert(InterruptHoldoffCount > 0);
	if (InterruptHoldoffCount == 1)
		nlocked = 0;
	Assert(nlocked < MAX_LOCKED);
	locked[nlocked++] = buffer;
}

/* The buffer may not be in the list: one of the server's functions may have locked it. */
static void
note_unlocked(Buffer buffer)
{
	for (int i = 0; i < nlocked; i++)
	{
		if (locked[i] == buffer)
		{
			locked[i] = locked[--nlocked];
			return;
		}
	}
}

/* The abort has released the locks, or does so together with the pins. */
void
zheap_forget_buffer_locks(void)
{
	nlocked = 0;
}

bool
zheap_holds_buffer_lock(void)
{
	if (ZCOMPAT_BUFFER_LOCKS_ARE_LWLOCKS)
		return zcompat_may_hold_buffer_lock();
	return InterruptHoldoffCount > 0 && nlocked > 0;
}

/*
 * L2: a backend that waits while it holds such a lock cannot be cancelled, and the deadlock
 * detector does not know of the lock.
 */
bool
zheap_may_wait(void)
{
	return !zcompat_holds_lwlock() && !zheap_holds_buffer_lock() && CritSectionCount == 0;
}

/* A buffer of a temporary table, which only this backend sees, counts as locked. */
bool
zheap_buffer_is_exclusive(Buffer buffer)
{
	return BufferIsLocal(buffer) || BufferIsLockedByMeInMode(buffer, BUFFER_LOCK_EXCLUSIVE);
}

/*
 * A backend that requests a content lock that it holds waits for ever: the server does not detect
 * it, and no signal gets through.
 */
void
zheap_lock_buffer(Buffer buffer, int mode)
{
	if (mode != BUFFER_LOCK_UNLOCK && !BufferIsLocal(buffer))
	{
		Assert(!BufferIsLockedByMeInMode(buffer, BUFFER_LOCK_SHARE));
		Assert(!BufferIsLockedByMeInMode(buffer, BUFFER_LOCK_EXCLUSIVE));
	}
	(LockBuffer) (buffer, mode);
	if (mode == BUFFER_LOCK_UNLOCK)
		note_unlocked(buffer);
	else
		note_locked(buffer);
}

bool
zheap_try_lock_buffer(Buffer buffer)
{
	bool		done = (ConditionalLockBuffer) (buffer);

	if (done)
		note_locked(buffer);
	return done;
}

void
zheap_unlock_release_buffer(Buffer buffer)
{
	(UnlockReleaseBuffer) (buffer);
	note_unlocked(buffer);
}

#endif
