/*
 * pg_compat_buflock.h
 *		19: content locks of buffers are no LWLocks, and the LWLocks held cannot be listed.
 */
#ifndef ZHEAP_PG_COMPAT_BUFLOCK_H
#define ZHEAP_PG_COMPAT_BUFLOCK_H

#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "storage/pg_shmem.h"

#if PG_VERSION_NUM >= 190000
#define ZCOMPAT_BUFFER_LOCKS_ARE_LWLOCKS	0

/*
 * Each content lock holds interrupts off, and few other things do: only the result false is
 * certain.
 */
static inline bool
zcompat_may_hold_buffer_lock(void)
{
	return InterruptHoldoffCount > 0;
}

/*
 * Unlock a pinned buffer that an ERROR may have left locked.  The server releases a content lock
 * when a resource owner releases the pin, which is after the callbacks of the (sub)transaction's
 * abort.  The ERROR has reset InterruptHoldoffCount, which unlocking decrements.
 */
static inline void
zcompat_unlock_after_error(Buffer buffer)
{
	if (!BufferIsLockedByMe(buffer))
		return;
	HOLD_INTERRUPTS();
	UnlockBuffer(buffer);
}

/* Return whether any LWLock is held in the main shared memory segment, in its first 8 GB. */
static inline bool
zcompat_holds_lwlock(void)
{
	return LWLockAnyHeldByMe((LWLock *) UsedShmemSegAddr, PG_INT32_MAX, sizeof(int32));
}
#else
#define ZCOMPAT_BUFFER_LOCKS_ARE_LWLOCKS	1

static inline bool
zcompat_may_hold_buffer_lock(void)
{
	LWLock	   *first = BufferDescriptorGetContentLock(GetBufferDescriptor(0));

	return LWLockAnyHeldByMe(first, NBuffers, sizeof(BufferDescPadded));
}

/* Nothing to do: the abort begins with the release of all LWLocks. */
static inline void
zcompat_unlock_after_error(Buffer buffer)
{
}

/* Minor releases before November 2024 lack ForEachLWLockHeldByMe(): only assertions need it. */
#ifdef USE_ASSERT_CHECKING
static inline void
zcompat_note_lwlock(LWLock *lock, LWLockMode mode, void *held)
{
	*(bool *) held = true;
}

static inline bool
zcompat_holds_lwlock(void)
{
	bool		held = false;

	ForEachLWLockHeldByMe(zcompat_note_lwlock, &held);
	return held;
}
#endif

#define BufferIsLockedByMeInMode(buffer, mode) \
	LWLockHeldByMeInMode(BufferDescriptorGetContentLock(GetBufferDescriptor((buffer) - 1)), \
						 (mode) == BUFFER_LOCK_EXCLUSIVE ? LW_EXCLUSIVE : LW_SHARED)
#endif

#endif							/* ZHEAP_PG_COMPAT_BUFLOCK_H */
