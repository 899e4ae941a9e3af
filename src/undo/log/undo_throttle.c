/*
 * undo_throttle.c
 *		Throttle writers while undo of aborted transactions piles up towards the limit.
 *
 * Rolling back costs less than what it undoes, but where more backends want the processors than
 * there are, a worker is one of many, and falls behind clients that do nothing but roll back.
 * So with zheap.undo_max_size a writer that needs an extent waits once half of that is in use
 * and something is to be rolled back: the longer, the less is left.  That gives the worker its
 * share, and keeps clients from an error that no operator could prevent.  (LSM trees stall
 * writers in the same way while compaction is behind.)
 *
 * What is in use counts, not what is to be rolled back: a sweep goes through one log after the
 * other, and the horizon does not move before it has been through the last one.  Logs that back
 * off, or wait for a transaction to end, make no writer wait: no worker gets that done
 * meanwhile.  Nor does a worker get anything done while VACUUM holds sweeps and looks through
 * the tables.
 *
 * LOCKING: the database's lock, shared, for a look.  The writer holds no buffer lock, but a
 * snapshot and locks of its own, so the wait is bounded for each extent.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "zheap/undo/undo_space.h"

#include "../store/undo_state.h"
#include "log_private.h"

/* in milliseconds: the longest wait for one extent; the wait between two looks */
#define LONGEST_WAIT	100
#define NAP				10

/* Return the bytes in use, which are not exact without a lock. */
static uint64
bytes_used(void)
{
	return (uint64) zundo_extents_used(MyUndo.db) * ZUNDO_EXTENT_BLOCKS * BLCKSZ;
}

/* Return how long a writer waits, in milliseconds, with this many bytes in use. */
static int
longest_wait(uint64 used)
{
	uint64		half = (uint64) zheap_undo_max_size * 1024 * 1024 / 2;

	if (used <= half)
		return 0;
	return Min(LONGEST_WAIT, (used - half) * LONGEST_WAIT / half);
}

static bool
is_worth_a_wait(void)
{
	return pg_atomic_read_u32(&MyUndo.db->sweeps_held) == 0 && zundo_sweep_is_due(NULL);
}

static void
nap(void)
{
	(void) WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, NAP, PG_WAIT_EXTENSION);
	CHECK_FOR_INTERRUPTS();
}

void
zundo_throttle(void)
{
	Assert(InterruptHoldoffCount == 0 && !zheap_holds_buffer_lock());
	if (zheap_undo_max_size <= 0 || zheap_undo_workers == 0 || !IsUnderPostmaster)
		return;
	for (int waited = 0; waited < longest_wait(bytes_used()) && is_worth_a_wait(); waited += NAP)
		nap();
}
