/*
 * zheap_freed.c
 *		Count how often line pointers of a table were made reusable, since the server started.
 *
 * A writer remembers dead line pointers for a while (reap_notes.c).  When VACUUM makes one of them
 * reusable another row may get it, so notes taken before that are discarded.
 *
 * LOCKING: none.  The count is increased before pointers that were dead are freed.  Writers that
 * compare it hold a lock on the table that keeps VACUUM out.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "port/atomics.h"
#include "storage/shmem.h"

#include "zheap/base/base.h"

/* Several tables may share a counter: then the notes of all of them are discarded. */
#define COUNTERS	256

static pg_atomic_uint64 *counters = NULL;

Size
zheap_freed_shmem_size(void)
{
	return COUNTERS * sizeof(pg_atomic_uint64);
}

void
zheap_freed_shmem_init(void)
{
	bool		found;

	counters = ShmemInitStruct("zheap pointers freed", zheap_freed_shmem_size(), &found);
	for (int i = 0; i < COUNTERS && !found; i++)
		pg_atomic_init_u64(&counters[i], 0);
}

static pg_atomic_uint64 *
counter_of(Relation rel)
{
	RelFileLocator locator = rel->rd_locator;
	const unsigned char *bytes = (const unsigned char *) &locator;

	return &counters[hash_bytes(bytes, sizeof(locator)) % COUNTERS];
}

uint64
zheap_pointers_freed(Relation rel)
{
	return pg_atomic_read_u64(counter_of(rel));
}

void
zheap_note_pointers_freed(Relation rel)
{
	(void) pg_atomic_fetch_add_u64(counter_of(rel), 1);
}
