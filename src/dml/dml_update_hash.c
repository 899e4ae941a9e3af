/*
 * dml_update_hash.c
 *		Whether a hash index has an entry of a row for a value's hash code.
 *
 * A row that has one key has the entry of its old value's code.  Rows with several keys move
 * (dml_update_columns.c): to look for an entry would be to walk over those of all rows with that
 * code.
 *
 * LOCKING: no page of the table is locked; the index locks its own.
 */
#include "postgres.h"

#include "access/hash.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

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

bool
zentries_hash_has(Relation index, Datum old, bool was_null, Datum value)
{
	Assert(!zheap_holds_buffer_lock()); /* I3 */
	if (was_null || _hash_datum2hashkey(index, old) != _hash_datum2hashkey(index, value))
		return false;
	conflict_in(index, value);
	return true;
}
