/*
 * dml_update_hash.c
 *		Whether a hash index has an entry of a row for a value's hash code.
 *
 * LOCKING: no page of the table is locked; the index locks its own.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/hash.h"
#include "access/relscan.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/dml/update.h"

/*
 * Report to serializable transactions that the row has the hash code again.  To those that have
 * read the bucket this is an insertion.
 */
static void
conflict_in(Relation index, Datum value)
{
	Buffer		bucket = _hash_getbucketbuf_from_hashkey(index, _hash_datum2hashkey(index, value),
														 HASH_READ, NULL);

	CheckForSerializableConflictIn(index, NULL, BufferGetBlockNumber(bucket));
	_hash_relbuf(index, bucket);
}

/*
 * No other transaction inserts an entry of the row while we change it, and entries are removed
 * only of rows that are dead to all.  The access method's own scan is used, as it knows what to do
 * while a bucket is split.
 */
bool
zentries_hash_has(Relation index, Datum value, ItemPointer tid)
{
	/* without a function, as scans compare hash codes only */
	ScanKeyData key = {.sk_attno = 1,.sk_strategy = HTEqualStrategyNumber,.sk_argument = value};
	IndexScanDesc scan = hashbeginscan(index, 1, 0);
	bool		found = false;

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	scan->xs_snapshot = SnapshotAny;
	hashrescan(scan, &key, 1, NULL, 0);
	while (!found && hashgettuple(scan, ForwardScanDirection))
		found = ItemPointerEquals(&scan->xs_heaptid, tid);
	hashendscan(scan);
	IndexScanEnd(scan);
	/* no scan of a query */
	if (index->pgstat_info != NULL)
		zcompat_counts(index->pgstat_info, numscans)--;
	if (found)
		conflict_in(index, value);
	return found;
}
