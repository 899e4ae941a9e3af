/*
 * dml_update_gin.c
 *		Keys of a GIN index for a row that was changed in place.
 *
 * A search looks for its keys in the pending list and in the rest of the index separately, so
 * all keys of a version must be in the one or in the other.  Keys of a row get into the list only
 * when the row is inserted, so when they have left it they stay in the rest.  An update in place
 * inserts the keys that the old version lacks into the rest.  If the list may have keys of the
 * row, or there are many to be inserted, which the list takes for less, the row moves.
 *
 * COMPARE has no lock of the row.  Nevertheless its answer counts as long as the old version has
 * the same bytes: no update in place changes the list, and the row's place is not given to another
 * one while our snapshot needs the row.
 *
 * Serializable searches lock the metapage, for the list, and the pages where their keys are or
 * would be.  ginEntryInsert looks for the latter locks.
 *
 * LOCKING: no page of the table is locked; the index locks its own.
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/dml/update.h"

/*
 * With a pending list, keys that are inserted past it: up to FEW_KEYS, or one of KEYS_PER_DIRECT
 * of the row's.
 */
#define FEW_KEYS		2
#define KEYS_PER_DIRECT	8

typedef struct Keys
{
	Datum	   *values;			/* ascending */
	GinNullCategory *categories;
	int32		n;
} Keys;

static void
extract(GinState *state, OffsetNumber column, Datum value, bool isnull, Keys *keys)
{
	keys->values = ginExtractEntries(state, column, value, isnull, &keys->n, &keys->categories);
}

/* Add a key, copied, as it may be in a value that does not last as long. */
static void
add_key(GinState *state, OffsetNumber column, Datum value, GinNullCategory category, Keys *keys)
{
	Form_pg_attribute att = TupleDescAttr(state->origTupdesc, column - 1);

	keys->values[keys->n] = category == GIN_CAT_NORM_KEY ?
		datumCopy(value, att->attbyval, att->attlen) : value;
	keys->categories[keys->n++] = category;
}

/* Fill "missing" with the keys of "after" that "before" lacks.  All are in ascending order. */
static void
find_missing(GinState *state, OffsetNumber column, const Keys *before, const Keys *after,
			 Keys *missing)
{
	int			old = 0;

	missing->values = palloc(after->n * sizeof(Datum));
	missing->categories = palloc(after->n * sizeof(GinNullCategory));
	missing->n = 0;
	for (int i = 0; i < after->n; i++)
	{
		int			order = 1;

		while (old < before->n &&
			   (order = ginCompareEntries(state, column,
										  before->values[old], before->categories[old],
										  after->values[i], after->categories[i])) < 0)
			old++;
		if (old == before->n || order != 0)
			add_key(state, column, after->values[i], after->categories[i], missing);
	}
}

struct ZGinKeys
{
	Keys		missing[INDEX_MAX_KEYS];	/* of each column: those that the old version lacks */
	int			nmissing;		/* of all columns */
	bool		lost;			/* the new version lacks keys of the old one */
	int			nkeys;			/* of the new version; of a document, its pairs */
};

/* Return whether there is a placeholder instead of keys. */
static bool
has_no_keys(const Keys *keys)
{
	return keys->n == 1 && keys->categories[0] == GIN_CAT_EMPTY_ITEM;
}

/*
 * Extract, of two documents, the keys of what they have not in common.  Return the number of pairs
 * of the new one; 0 if these are no documents, or something has no keys: a placeholder belongs to
 * a whole value only.
 */
static int
extract_difference(GinState *state, OffsetNumber column, Datum old, Datum new,
				   Keys *before, Keys *after)
{
	Oid			function = index_getprocid(state->index, column, GIN_EXTRACTVALUE_PROC);
	int			npairs;

	if (function != F_GIN_EXTRACT_JSONB && function != F_GIN_EXTRACT_JSONB_PATH)
		return 0;
	npairs = zgin_reduce_jsonb(&old, &new);
	if (npairs == 0)
		return 0;
	extract(state, column, old, false, before);
	extract(state, column, new, false, after);
	return has_no_keys(before) || has_no_keys(after) ? 0 : npairs;
}

/* Find the keys of the new version that the old one lacks. */
static ZGinKeys *
compare_versions(Relation index, TupleTableSlot *old, TupleTableSlot *new)
{
	ZGinKeys   *keys = palloc0(sizeof(ZGinKeys));
	GinState	state;

	initGinState(&state, index);
	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		bool		was_null;
		bool		isnull;
		Datum		a = slot_getattr(old, attno, &was_null);
		Datum		b = slot_getattr(new, attno, &isnull);
		Keys		before;
		Keys		after;
		int			n = was_null || isnull ? 0 :
			extract_difference(&state, i + 1, a, b, &before, &after);

		if (n == 0)
		{
			extract(&state, i + 1, a, was_null, &before);
			extract(&state, i + 1, b, isnull, &after);
			n = after.n;
		}
		find_missing(&state, i + 1, &before, &after, &keys->missing[i]);
		keys->nmissing += keys->missing[i].n;
		keys->lost |= before.n > after.n - keys->missing[i].n;
		keys->nkeys += n;
	}
	return keys;
}

ZKeyChange
zgin_compare(Relation index, TupleTableSlot *old, TupleTableSlot *new, ItemPointer tid,
			 ZGinKeys **keys)
{
	Assert(!zheap_holds_buffer_lock()); /* I3 */
	if (zgin_may_be_pending(index, tid))
		return ZKEY_TO_LIST;
	*keys = compare_versions(index, old, new);
	if ((*keys)->nmissing == 0)
		return (*keys)->lost ? ZKEY_LEAVES : ZKEY_SAME;
	return GinGetUseFastUpdate(index) &&
		(*keys)->nmissing > Max(FEW_KEYS, (*keys)->nkeys / KEYS_PER_DIRECT) ?
		ZKEY_TO_LIST : ZKEY_ADDED;
}

static void
insert_keys(Relation index, const ZGinKeys *keys, ItemPointer tid)
{
	GinState   *state = palloc(sizeof(GinState));

	initGinState(state, index);
	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
	{
		const Keys *missing = &keys->missing[i];

		for (int j = 0; j < missing->n; j++)
		{
			CHECK_FOR_INTERRUPTS();
			ginEntryInsert(state, i + 1, missing->values[j], missing->categories[j], tid, 1, NULL);
		}
	}
}

void
zgin_insert(Relation index, const ZGinKeys *keys, ItemPointer tid)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "GIN keys of a zheap row",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(scratch);

	Assert(!zheap_holds_buffer_lock()); /* I3 */
	insert_keys(index, keys, tid);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(scratch);
}
