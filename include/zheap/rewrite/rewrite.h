/*
 * rewrite.h
 *		Rewrite of a table by CLUSTER, VACUUM FULL and REPACK.
 */
#ifndef ZHEAP_REWRITE_H
#define ZHEAP_REWRITE_H

#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * CLUSTER and VACUUM FULL: copy the rows of "from" to the empty table "to", in the order of
 * "index" or in physical order.  Snapshots of any age see in the new table what they see in the
 * old one.  "oldest_xmin" decides which versions are visible to all; the last five arguments are
 * results.  The caller holds AccessExclusiveLock on both tables, on exit as well, and no buffer
 * lock.  ERROR (feature_not_supported) with a snapshot (REPACK CONCURRENTLY), (object_in_use) if
 * a transaction in progress has changed rows, (data_corrupted) for damaged rows,
 * (object_not_in_prerequisite_state) if the library is not preloaded.
 */
extern void zrewrite_table(Relation from, Relation to, Relation index,
									 bool use_sort, TransactionId oldest_xmin,
									 Snapshot snapshot, TransactionId *xid_cutoff,
									 MultiXactId *multi_cutoff, double *num_tuples,
									 double *tups_vacuumed,
									 double *tups_recently_dead);

#endif							/* ZHEAP_REWRITE_H */
