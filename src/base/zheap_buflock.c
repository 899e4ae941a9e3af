/*
 * zheap_buflock.c
 *		Which LWLocks does the backend hold?  Above all for assertions.
 *
 * The server keeps a short list of the LWLocks that a backend holds, and empties it when
 * an ERROR releases them.  So these questions need no state of ours that could be wrong.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"

#include "zheap/base/base.h"

/* Temporary tables' buffers have no locks, and do not count. */
bool
zheap_holds_buffer_lock(void)
{
	LWLock	   *first = BufferDescriptorGetContentLock(GetBufferDescriptor(0));

	return LWLockAnyHeldByMe(first, NBuffers, sizeof(BufferDescPadded));
}

#ifdef USE_ASSERT_CHECKING

static void
note_held(LWLock *lock, LWLockMode mode, void *held)
{
	*(bool *) held = true;
}

/* L2: whoever waits with an LWLock can neither be cancelled nor seen by the deadlock detector. */
bool
zheap_may_wait(void)
{
	bool		held = false;

	ForEachLWLockHeldByMe(note_held, &held);
	return !held && CritSectionCount == 0;
}

/* A temporary table's buffer, which nobody else sees, counts as locked. */
bool
zheap_buffer_is_exclusive(Buffer buffer)
{
	if (BufferIsLocal(buffer))
		return true;
	return LWLockHeldByMeInMode(BufferDescriptorGetContentLock(GetBufferDescriptor(buffer - 1)),
								LW_EXCLUSIVE);
}

/*
 * A backend that asks for a lock that it holds waits for ever: the server does not notice, and no
 * signal gets through.
 */
void
zheap_lock_buffer(Buffer buffer, int mode)
{
	if (mode != BUFFER_LOCK_UNLOCK && !BufferIsLocal(buffer))
	{
		BufferDesc *desc = GetBufferDescriptor(buffer - 1);

		Assert(!LWLockHeldByMe(BufferDescriptorGetContentLock(desc)));
	}
	(LockBuffer) (buffer, mode);
}

#endif
