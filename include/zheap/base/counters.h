/*
 * counters.h
 *		What is counted of the whole server: how often caches and the like have helped.
 *
 * Each backend has counters of its own in shared memory, so that counting is an addition
 * without a lock, at any place: with pages locked, and in a critical section.
 */
#ifndef ZHEAP_COUNTERS_H
#define ZHEAP_COUNTERS_H

/* Who reads blocks of tables, and knows which ones it will read next (prefetch.h). */
typedef enum ZReader
{
	ZREADER_INDEX_SCAN,
	ZREADER_SEQ_SCAN,
	ZREADER_VACUUM,				/* from here on: maintenance */
	ZREADER_ROLLBACK,
	ZREADER_NREADERS
} ZReader;

static inline bool
zreader_is_maintenance(ZReader reader)
{
	return reader >= ZREADER_VACUUM;
}

/* What is counted of each reader. */
typedef enum ZIoCounter
{
	ZIO_ASKED,					/* blocks asked for ahead */
	ZIO_CACHED,					/* ... that were found to be in a buffer already */
	ZIO_DISTANCES,				/* the sum of the distances at which the former were asked for */
	ZIO_READS_ASKED,			/* blocks read from disk or the kernel that had been asked for */
	ZIO_READS_NOT_ASKED,		/* ... and that had not */
	ZIO_NCOUNTERS
} ZIoCounter;

typedef enum ZCounter
{
	/* the status of a transaction (mvcc_status.c) */
	ZCOUNT_STATUS_HITS,			/* known: neither process array nor commit log were asked */
	ZCOUNT_OUTCOME_HITS,		/* known, where only the commit log would have been asked */
	ZCOUNT_ENDED_HITS,			/* the snapshot said that it has ended: no process array */
	ZCOUNT_PROC_ARRAY,			/* the process array was asked whether it is in progress */
	ZCOUNT_COMMIT_LOG,			/* the commit log was asked whether it has committed */
	ZCOUNT_FIRST_IO,
	ZCOUNT_NCOUNTERS = ZCOUNT_FIRST_IO + ZREADER_NREADERS * ZIO_NCOUNTERS
} ZCounter;

#define ZCOUNT_IO(reader, counter) \
	((ZCounter) (ZCOUNT_FIRST_IO + (reader) * ZIO_NCOUNTERS + (counter)))

/* This backend's: of shared memory, once it has called zcounters_attach. */
extern uint64 *zcounters_mine;

static inline void
zcount(ZCounter counter)
{
	zcounters_mine[counter]++;
}

static inline void
zcount_add(ZCounter counter, uint64 n)
{
	zcounters_mine[counter] += n;
}

extern Size zcounters_shmem_size(void);
extern void zcounters_shmem_init(void);

/* Where counting begins.  Nothing the second time, or in a process that is no backend. */
extern void zcounters_attach(void);

/* The sums over all backends since the start of the server or the last reset. */
extern void zcounters_read(uint64 *counts);

/* Let the counters from "first" to "last" begin at zero. */
extern void zcounters_reset(ZCounter first, ZCounter last);

#endif							/* ZHEAP_COUNTERS_H */
