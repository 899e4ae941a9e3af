/*
 * seen_keys.c
 *		An old snapshot's scan of an index that has many newer entries of each row.
 *
 * Each entry leads to the row, and back from version to version to the one that the snapshot sees,
 * only to find that the entry does not have its key.  The version that a snapshot sees does not
 * change, and neither does its key, unless our own transaction changes the row.  So the scan notes
 * the key, and compares the next entries with it.  It skips only entries with another key; for an
 * entry with the same key it fetches the row.
 *
 * Not for a SERIALIZABLE transaction, which has to report what it reads.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "zheap/btree/entry_key.h"
#include "zheap/btree/table_indexes.h"
#include "zheap/mvcc/visibility.h"

#include "zheap/btree/seen_keys.h"

/*
 * Number of such entries after which keys are noted.  From then on all are, as long as work_mem
 * has room.
 */
#ifdef USE_ASSERT_CHECKING
#define FEW_ENTRIES		2
#else
#define FEW_ENTRIES		32
#endif

/* Longest key that is noted, in bytes. */
#define MAX_KEY_SIZE	256

typedef struct SeenKey
{
	ItemPointerData tid;		/* must be first */
	IndexTuple	key;			/* allocated in SeenKeys.memory; NULL if it is too long */
} SeenKey;

struct SeenKeys
{
	MemoryContext memory;		/* has all keys and the hash table */
	HTAB	   *keys;			/* NULL if no key has been noted */
	int			counted;		/* number of entries counted before keys are noted */
	ZSnapshotMoment moment;		/* when noting began */
};

void
seen_keys_note(SeenKeys **noted, MemoryContext context, IndexScanDesc scan,
			   const ItemPointerData *tid, TupleTableSlot *slot)
{
	SeenKeys   *keys = *noted;
	Snapshot	snapshot = scan->xs_snapshot;
	MemoryContext old;
	SeenKey    *entry;
	bool		found;

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	Assert(zindex_is_watched(scan->indexRelation));
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable())
		return;
	if (keys == NULL)
	{
		*noted = keys = MemoryContextAllocZero(context, sizeof(SeenKeys));
		keys->memory = AllocSetContextCreate(context, "zheap seen keys", ALLOCSET_DEFAULT_SIZES);
	}
	if (keys->keys != NULL && !zmvcc_moment_lasts(&keys->moment, snapshot))
	{
		MemoryContextReset(keys->memory);
		keys->keys = NULL;
		keys->counted = 0;
	}
	if (keys->keys == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(ItemPointerData),.entrysize = sizeof(SeenKey),
			.hcxt = keys->memory
		};

		if (keys->counted++ < FEW_ENTRIES)
			return;
		keys->keys = hash_create("zheap seen keys", 256, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		keys->moment = zmvcc_moment(snapshot);
	}
	if (MemoryContextMemAllocated(keys->memory, true) >= (Size) work_mem * 1024)
		return;
	/* formed once per row, whether it is too long or not */
	entry = hash_search(keys->keys, tid, HASH_ENTER, &found);
	if (found)
		return;
	entry->key = NULL;
	old = MemoryContextSwitchTo(keys->memory);
	entry->key = zindex_key_of(scan->indexRelation, slot, MAX_KEY_SIZE);
	MemoryContextSwitchTo(old);
}

bool
seen_keys_skip(SeenKeys *keys, IndexScanDesc scan, const ItemPointerData *tid)
{
	SeenKey    *entry;

	if (keys->keys == NULL || !zmvcc_moment_lasts(&keys->moment, scan->xs_snapshot))
		return false;
	entry = hash_search(keys->keys, tid, HASH_FIND, NULL);
	return entry != NULL && entry->key != NULL && !zindex_entry_has_key(scan, entry->key);
}

void
seen_keys_free(SeenKeys *keys)
{
	MemoryContextDelete(keys->memory);
	pfree(keys);
}
