/*
 * vacuum.h
 *		VACUUM of a table, and its rewrite by CLUSTER and VACUUM FULL.
 */
#ifndef ZHEAP_VACUUM_H
#define ZHEAP_VACUUM_H

#include "commands/vacuum.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat_vacuum.h"
#include "zheap/dml/reap.h"

/*
 * Take dead rows and the index entries that name them away, roll back rows of
 * aborted transactions, tell the free space map, give an empty tail back to the
 * operating system.  The caller holds ShareUpdateExclusiveLock.
 */
extern void zvacuum_relation(Relation rel, ZCompatVacuumParams *params,
							 BufferAccessStrategy strategy);

/*
 * CLUSTER and VACUUM FULL: copy the rows of "from" to the empty table "to", in the
 * order of "index" or as they lie.  Snapshots of all ages find there what they see
 * in the old one.  The caller holds AccessExclusiveLock on both.
 */
extern void zvacuum_copy_for_cluster(Relation from, Relation to, Relation index,
									 bool use_sort, TransactionId oldest_xmin,
									 Snapshot snapshot, TransactionId *xid_cutoff,
									 MultiXactId *multi_cutoff, double *num_tuples,
									 double *tups_vacuumed,
									 double *tups_recently_dead);

/*
 * By a writer, at the start of a write to the table (zreap_hook): work on what it has noted,
 * unless VACUUM or whatever else works on the table as a whole has it locked.
 */
extern void zvacuum_by_writer(Relation rel, ZReapNotes *notes);

/* A worker's visit to a database for marking pages, which takes a second or so. */
typedef struct ZMarkVisit
{
	bool		for_standby;	/* no snapshot of a standby must go for a mark */
	FullTransactionId seen;		/* all snapshots of this server see what older ones have done */
	bool		flushed;		/* that is on disk */
} ZMarkVisit;

/* The visit begins: in a transaction. */
extern void zvacuum_begin_marking(ZMarkVisit *visit);

/*
 * By a worker: mark some of the pages of this database all-visible that insertions have filled,
 * if all see them.  Returns whether there may be more.  In a transaction of its own, with undo
 * open.
 */
extern bool zvacuum_mark_filled(ZMarkVisit *visit);

/* By the launcher: databases with such pages, as many as there are but at most "max". */
extern int	zvacuum_databases_with_filled(Oid *dbs, int max);

#endif							/* ZHEAP_VACUUM_H */
