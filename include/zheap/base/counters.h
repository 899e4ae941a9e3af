/*
 * counters.h
 *		Counters of the whole server: how often caches, and reads ahead, have helped.
 *
 * Each backend has counters of its own in shared memory, so counting is an addition without a
 * lock, at any point: with pages locked, and in a critical section.
 */
#ifndef ZHEAP_COUNTERS_H
#define ZHEAP_COUNTERS_H

/* Readers of tables that know which blocks they will read next (prefetch.h). */
typedef enum ZReader
{
	ZREADER_INDEX_SCAN,
	ZREADER_SEQ_SCAN,
	ZREADER_VACUUM,				/* from here on: maintenance */
	ZREADER_ROLLBACK,
	ZREADER_NREADERS
} ZReader;

/* Return whether the reader is VACUUM or such, which keeps to maintenance_io_concurrency. */
static inline bool
zreader_is_maintenance(ZReader reader)
{
	return reader >= ZREADER_VACUUM;
}

/* Counters of each reader. */
typedef enum ZIoCounter
{
	ZIO_ASKED,					/* blocks advised ahead */
	ZIO_CACHED,					/* requests ahead for a block that was in a buffer already */
	ZIO_DISTANCES,				/* sum of the distances when ZIO_ASKED blocks were advised */
	ZIO_READS_ASKED,			/* blocks read from disk or the kernel that had been advised */
	ZIO_READS_NOT_ASKED,		/* ... and that had not been */
	ZIO_NCOUNTERS
} ZIoCounter;

typedef enum ZCounter
{
	/* the status of a transaction (mvcc_status.c) */
	ZCOUNT_STATUS_HITS,			/* known: no look at the process array or commit log */
	ZCOUNT_OUTCOME_HITS,		/* known, which saved a look at the commit log */
	ZCOUNT_ENDED_HITS,			/* ended for the snapshot: no look at the process array */
	ZCOUNT_PROC_ARRAY,			/* looks at the process array: is it in progress? */
	ZCOUNT_COMMIT_LOG,			/* looks at the commit log: has it committed? */
	ZCOUNT_FIRST_IO,
	ZCOUNT_NCOUNTERS = ZCOUNT_FIRST_IO + ZREADER_NREADERS * ZIO_NCOUNTERS
} ZCounter;

#define ZCOUNT_IO(reader, counter) \
	((ZCounter) (ZCOUNT_FIRST_IO + (reader) * ZIO_NCOUNTERS + (counter)))

/* This backend's counters; they are in shared memory once it has called zcounters_attach(). */
extern uint64 *zcounters_mine;

/* Add one to a counter of this backend. */
static inline void
zcount(ZCounter counter)
{
	zcounters_mine[counter]++;
}

/* Add "n" to a counter of this backend. */
static inline void
zcount_add(ZCounter counter, uint64 n)
{
	zcounters_mine[counter] += n;
}

/* Return the bytes of shared memory to request; initialize them, under AddinShmemInitLock. */
extern Size zcounters_shmem_size(void);
extern void zcounters_shmem_init(void);

/*
 * Move this backend's counters to shared memory, with what they have counted.  Does nothing the
 * second time, or in a process that has no backend number.
 */
extern void zcounters_attach(void);

/*
 * Store the sums over all backends, since the server started or the last reset, in
 * counts[ZCOUNT_NCOUNTERS].
 */
extern void zcounters_read(uint64 *counts);

/* Set the counters from "first" to "last", both included, to zero. */
extern void zcounters_reset(ZCounter first, ZCounter last);

#endif							/* ZHEAP_COUNTERS_H */
