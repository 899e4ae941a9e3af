/*
 * rewrite.h
 *		Rewrite of a table by CLUSTER, VACUUM FULL and REPACK.
 */
#ifndef ZHEAP_REWRITE_H
#define ZHEAP_REWRITE_H

#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * CLUSTER and VACUUM FULL: copy the rows of "from" to the empty table "to", in the
 * order of "index" or as they lie.  Snapshots of all ages find there what they see
 * in the old one.  The caller holds AccessExclusiveLock on both.
 */
extern void zrewrite_table(Relation from, Relation to, Relation index,
									 bool use_sort, TransactionId oldest_xmin,
									 Snapshot snapshot, TransactionId *xid_cutoff,
									 MultiXactId *multi_cutoff, double *num_tuples,
									 double *tups_vacuumed,
									 double *tups_recently_dead);

#endif							/* ZHEAP_REWRITE_H */
