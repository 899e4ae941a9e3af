/*
 * dml_update_gin.c
 *		Keys of a GIN index for a row that was changed in place.
 *
 * A GIN index has each TID once for each key.  Its posting lists and trees merge a TID that is
 * inserted again with the same key, but its pending list and its builds do not.  So keys are
 * inserted past the pending list.
 *
 * A search looks for its keys in the pending list and in the rest of the index separately, so the
 * keys of a version must not be divided between the two.  While the pending list has entries, the
 * keys of the row as it was inserted may be among them: then all keys of the new version are
 * inserted, otherwise those that the old one lacks.
 *
 * Serializable searches lock the metapage, for the pending list, and the pages where their keys
 * are or would be.  ginEntryInsert looks for the latter locks.
 *
 * LOCKING: no page of the table is locked; the index locks its own.
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/btree/entry_key.h"
#include "zheap/dml/update.h"

typedef struct Keys
{
	Datum	   *values;			/* ascending */
	GinNullCategory *categories;
	int32		n;
} Keys;

/*
 * Return whether the pending list may have entries.  An entry leaves it only after it was inserted
 * into the rest of the index; and no further one of a row that exists comes into it.
 */
static bool
has_pending_keys(Relation index)
{
	Buffer		buffer = ReadBuffer(index, GIN_METAPAGE_BLKNO);
	bool		pending;

	LockBuffer(buffer, GIN_SHARE);
	pending = GinPageGetMeta(BufferGetPage(buffer))->head != InvalidBlockNumber;
	UnlockReleaseBuffer(buffer);
	return pending;
}

static void
extract(GinState *state, OffsetNumber column, Datum value, bool isnull, Keys *keys)
{
	keys->values = ginExtractEntries(state, column, value, isnull, &keys->n, &keys->categories);
}

/* Insert the keys of "after" that "before" lacks. */
static void
insert_missing_keys(GinState *state, OffsetNumber column, const Keys *before, const Keys *after,
			   ItemPointer tid)
{
	int			old = 0;

	for (int i = 0; i < after->n; i++)
	{
		int			order = 1;

		CHECK_FOR_INTERRUPTS();
		while (old < before->n &&
			   (order = ginCompareEntries(state, column,
										  before->values[old], before->categories[old],
										  after->values[i], after->categories[i])) < 0)
			old++;
		if (old == before->n || order != 0)
			ginEntryInsert(state, column, after->values[i], after->categories[i], tid, 1, NULL);
	}
}

static void
insert_keys(Relation index, Relation rel, HeapTuple old, TupleTableSlot *slot)
{
	GinState   *state = palloc(sizeof(GinState));
	bool		pending = has_pending_keys(index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	initGinState(state, index);
	(void) zkey_values(index, slot, values, isnull);
	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
	{
		Keys		before = {0};
		Keys		after;
		bool		was_null;
		Datum		value = heap_getattr(old, index->rd_index->indkey.values[i],
										 RelationGetDescr(rel), &was_null);

		if (!pending)
			extract(state, i + 1, value, was_null, &before);
		extract(state, i + 1, values[i], isnull[i], &after);
		insert_missing_keys(state, i + 1, &before, &after, &slot->tts_tid);
	}
}

void
zgin_insert(Relation index, Relation rel, HeapTuple old, TupleTableSlot *slot)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "GIN keys of a zheap row",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(scratch);

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	insert_keys(index, rel, old, slot);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(scratch);
}
