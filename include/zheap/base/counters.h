/*
 * counters.h
 *		What is counted of the whole server: how often caches and the like have helped.
 *
 * Each backend has counters of its own in shared memory, so that counting is an addition
 * without a lock, at any place: with pages locked, and in a critical section.
 */
#ifndef ZHEAP_COUNTERS_H
#define ZHEAP_COUNTERS_H

typedef enum ZCounter
{
	/* the status of a transaction (mvcc_status.c) */
	ZCOUNT_STATUS_HITS,			/* known: neither process array nor commit log were asked */
	ZCOUNT_OUTCOME_HITS,		/* known, where only the commit log would have been asked */
	ZCOUNT_ENDED_HITS,			/* the snapshot said that it has ended: no process array */
	ZCOUNT_PROC_ARRAY,			/* the process array was asked whether it is in progress */
	ZCOUNT_COMMIT_LOG,			/* the commit log was asked whether it has committed */
	ZCOUNT_NCOUNTERS
} ZCounter;

/* This backend's: of shared memory, once it has called zcounters_attach. */
extern uint64 *zcounters_mine;

static inline void
zcount(ZCounter counter)
{
	zcounters_mine[counter]++;
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
