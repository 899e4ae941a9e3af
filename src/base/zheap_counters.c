/*
 * zheap_counters.c
 *		Counters of the whole server.
 *
 * Each backend number has a place in shared memory; a backend adds to what earlier backends with
 * that number have counted.  A reset changes no counter, only what is subtracted from their sums.
 *
 * LOCKING: none.  A place is written only by the backend that has its number; a reader may miss
 * counts that are being added.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "zheap/base/base.h"
#include "zheap/base/counters.h"

#define PLACE_SIZE	TYPEALIGN(PG_CACHE_LINE_SIZE, ZCOUNT_NCOUNTERS * sizeof(uint64))

typedef struct CountersShared
{
	pg_atomic_uint64 before[ZCOUNT_NCOUNTERS];	/* the sums at the last reset */
} CountersShared;

static uint64 not_shared[ZCOUNT_NCOUNTERS];

uint64	   *zcounters_mine = not_shared;

static CountersShared *shared = NULL;

static uint64 *
place(int number)
{
	char	   *first = (char *) CACHELINEALIGN((char *) shared + sizeof(CountersShared));

	return (uint64 *) (first + number * PLACE_SIZE);
}

Size
zcounters_shmem_size(void)
{
	return add_size(sizeof(CountersShared) + PG_CACHE_LINE_SIZE,
					mul_size(MaxBackends, PLACE_SIZE));
}

void
zcounters_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("zheap counters", zcounters_shmem_size(), &found);
	if (found)
		return;
	for (int i = 0; i < ZCOUNT_NCOUNTERS; i++)
		pg_atomic_init_u64(&shared->before[i], 0);
	memset(place(0), 0, MaxBackends * PLACE_SIZE);
}

void
zcounters_attach(void)
{
	int			number = MyProc != NULL ? zcompat_proc_backend(MyProc) : -1;

	if (zcounters_mine != not_shared || number < 0 || number >= MaxBackends)
		return;
	zcounters_mine = place(number);
	for (int i = 0; i < ZCOUNT_NCOUNTERS; i++)
		zcounters_mine[i] += not_shared[i];
}

static uint64
sum(ZCounter counter)
{
	uint64		result = 0;

	for (int i = 0; i < MaxBackends; i++)
		result += *(volatile uint64 *) &place(i)[counter];
	return result;
}

void
zcounters_read(uint64 *counts)
{
	for (int i = 0; i < ZCOUNT_NCOUNTERS; i++)
	{
		uint64		before = pg_atomic_read_u64(&shared->before[i]);

		/* the sum only grows, so it is not below what was subtracted first */
		pg_read_barrier();
		counts[i] = sum(i) - before;
	}
}

void
zcounters_reset(ZCounter first, ZCounter last)
{
	for (ZCounter i = first; i <= last; i++)
		pg_atomic_write_u64(&shared->before[i], sum(i));
}
