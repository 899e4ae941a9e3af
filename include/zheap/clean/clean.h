/*
 * clean.h
 *		Work that VACUUM would do, done by writers and by a worker.  Invariants (G6, G7):
 *		README.md.
 */
#ifndef ZHEAP_CLEAN_H
#define ZHEAP_CLEAN_H

#include "access/transam.h"
#include "utils/rel.h"

#include "zheap/notes/reap.h"

/*
 * A writer's batch, at the start of a write to the table (zreap_hook): remove index entries and
 * free line pointers of the rows that it has noted.  Takes ShareUpdateExclusiveLock on the table
 * for the batch, conditionally; returns without doing anything if the lock is not available or
 * held already, or without a snapshot.  No page is locked on entry and exit.  Errors: those of
 * reading and changing pages, and a cancel.
 */
extern void zclean_by_writer(Relation rel, ZReapNotes *notes);

/* A worker's visit to a database for marking pages, which takes about a second. */
typedef struct ZMarkVisit
{
	bool		for_standby;	/* there is a standby: marks must not cancel its snapshots */
	FullTransactionId seen;		/* all snapshots of this server see the transactions before this
								 * one */
	bool		flushed;		/* WAL is flushed as far as their commits */
} ZMarkVisit;

/* Begin a visit; the caller is in a transaction. */
extern void zclean_begin_marking(ZMarkVisit *visit);

/*
 * Mark some of the pages of this database all-visible that insertions have filled, if every
 * snapshot sees their rows.  Returns whether there may be more.  The caller is a worker, in a
 * transaction of its own, with undo open.  Locks: see clean_filled.c; none on exit.  An error
 * about a table is logged, and ends the table's notes; only a cancel is raised.
 */
extern bool zclean_mark_filled(ZMarkVisit *visit);

/*
 * Store the OIDs of at most "max" databases that have such pages now; return their number.  None
 * if there is a standby.
 */
extern int	zclean_databases_with_filled(Oid *dbs, int max);

#endif							/* ZHEAP_CLEAN_H */
