/*
 * entry_key.c
 *		Keys of a row's versions in a B-tree, and of the entry that a scan is at.
 *
 * Expressions and predicates are evaluated with a state that is made once per transaction and
 * index.
 *
 * LOCKING: none; no buffer is locked while a key is formed.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/index.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/base/server_calls.h"
#include "zheap/btree/entry_key.h"
#include "zheap/btree/table_indexes.h"

/* States kept at a time; with one more all are freed. */
#define MAX_EVALUATIONS		64

/* What it takes to evaluate an index's expressions and predicate. */
typedef struct Evaluation
{
	Oid			index;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	bool		running;
} Evaluation;

static MemoryContext memory = NULL; /* of the states; a child of the transaction's */
static Evaluation evaluations[MAX_EVALUATIONS];
static int	nevaluations = 0;

/* ---- expressions and predicates ---- */

void
zkey_at_end_of_transaction(void)
{
	memory = NULL;
	nevaluations = 0;
}

/*
 * The relation cache has simplified the index's trees, so they need not be planned again, as
 * ExecPrepareQual and FormIndexDatum would do.
 */
static void
evaluation_init(Evaluation *evaluation, Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	MemoryContext old;

	evaluation->info = info;
	evaluation->estate = CreateExecutorState();
	old = MemoryContextSwitchTo(evaluation->estate->es_query_cxt);
	evaluation->predicate = ExecInitQual(info->ii_Predicate, NULL);
	info->ii_ExpressionsState = ExecInitExprList(info->ii_Expressions, NULL);
	MemoryContextSwitchTo(old);
	evaluation->index = RelationGetRelid(index);
	evaluation->running = false;
}

/* Return whether an index is being evaluated: its expression has led to another evaluation. */
static bool
any_is_running(void)
{
	for (int i = 0; i < nevaluations; i++)
	{
		if (evaluations[i].running)
			return true;
	}
	return false;
}

/* Return the state for the index, or one to be used once if all others are in use. */
static Evaluation *
evaluation_of(Relation index)
{
	MemoryContext old;
	Evaluation *new;

	for (int i = 0; i < nevaluations; i++)
	{
		if (evaluations[i].index == RelationGetRelid(index) && !evaluations[i].running)
			return &evaluations[i];
	}
	if (any_is_running())
	{
		new = palloc(sizeof(Evaluation));
		evaluation_init(new, index);
		return new;
	}
	if (nevaluations == MAX_EVALUATIONS)
	{
		nevaluations = 0;
		MemoryContextReset(memory);
	}
	if (memory == NULL)
		memory = AllocSetContextCreate(TopTransactionContext, "zheap index expressions",
									   ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(memory);
	evaluation_init(&evaluations[nevaluations], index);
	MemoryContextSwitchTo(old);
	return &evaluations[nevaluations++];
}

/* Form the key of the version in the slot.  Return whether it is under the predicate. */
static bool
evaluate(Evaluation *evaluation, TupleTableSlot *slot, Datum *values, bool *isnull)
{
	ExprContext *econtext = GetPerTupleExprContext(evaluation->estate);
	bool		present = true;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	evaluation->running = true;
	PG_TRY();
	{
		if (evaluation->predicate != NULL)
			present = ExecQual(evaluation->predicate, econtext);
		if (present)
			FormIndexDatum(evaluation->info, slot, evaluation->estate, values, isnull);
	}
	PG_FINALLY();
	{
		evaluation->running = false;
	}
	PG_END_TRY();
	return present;
}

/*
 * Evaluate as the owner of the table, as commands that build indexes do: a reader needs no
 * permission to execute the index's functions.  After an error the end of the (sub)transaction
 * restores the user.
 */
static bool
evaluate_as_owner(Relation index, TupleTableSlot *slot, Datum *values, bool *isnull)
{
	Oid			user;
	int			context;
	bool		present;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(index->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	present = evaluate(evaluation_of(index), slot, values, isnull);
	SetUserIdAndSecContext(user, context);
	return present;
}

bool
zkey_values(Relation index, TupleTableSlot *slot, Datum *values, bool *isnull)
{
	Assert(!zheap_holds_buffer_lock()); /* I3 */
	if (!zindex_has_plain_columns(index))
		return evaluate_as_owner(index, slot, values, isnull);
	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
		values[i] = slot_getattr(slot, index->rd_index->indkey.values[i], &isnull[i]);
	return true;
}

/* ---- keys ---- */

IndexTuple
zkey_form(Relation index, TupleTableSlot *slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (!zkey_values(index, slot, values, isnull))
		return NULL;
	return index_form_tuple(RelationGetDescr(index), values, isnull);
}

static inline bool
same_image(Relation index, int i, Datum a, Datum b)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);

	return datum_image_eq(a, b, att->attbyval, att->attlen);
}

/*
 * Return whether the operator class of key column i takes the values for equal.  It takes each
 * value for equal to itself, and mostly it is the same one.
 */
static bool
equal_values(Relation index, int i, Datum a, Datum b)
{
	return same_image(index, i, a, b) ||
		DatumGetInt32(FunctionCall2Coll(index_getprocinfo(index, i + 1, BTORDER_PROC),
										index->rd_indcollation[i], a, b)) == 0;
}

typedef bool (*IsSame) (Relation index, int i, Datum a, Datum b);

/* Return whether two tuples are the same in their first n columns. */
static bool
compare(Relation index, int n, IndexTuple a, IndexTuple b, IsSame is_same)
{
	for (int i = 0; i < n; i++)
	{
		bool		a_isnull;
		bool		b_isnull;
		Datum		of_a = index_getattr(a, i + 1, RelationGetDescr(index), &a_isnull);
		Datum		of_b = index_getattr(b, i + 1, RelationGetDescr(index), &b_isnull);

		if (a_isnull != b_isnull || (!a_isnull && !is_same(index, i, of_a, of_b)))
			return false;
	}
	return true;
}

bool
zkey_equal(Relation index, IndexTuple a, IndexTuple b)
{
	Assert(!zheap_holds_buffer_lock()); /* I3 */
	return compare(index, IndexRelationGetNumberOfKeyAttributes(index), a, b, equal_values);
}

bool
zkey_same_bytes(Relation index, IndexTuple a, IndexTuple b)
{
	return compare(index, IndexRelationGetNumberOfAttributes(index), a, b, same_image);
}

uint64
zkey_hash(Relation index, IndexTuple key)
{
	uint64		hash = 0;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);
		bool		isnull;
		Datum		value = index_getattr(key, i + 1, RelationGetDescr(index), &isnull);

		hash = hash_combine64(hash, isnull ? 0 :
							  (uint64) datum_image_hash(value, att->attbyval, att->attlen) + 1);
	}
	return hash;
}

/* ---- entries ---- */

/* Return the index tuple that the scan is at, in the scan's memory. */
static IndexTuple
entry_of(IndexScanDesc scan)
{
	BTScanOpaque so = (BTScanOpaque) scan->opaque;

	Assert(BTScanPosIsValid(so->currPos) && so->currTuples != NULL);
	return (IndexTuple) (so->currTuples + so->currPos.items[so->currPos.itemIndex].tupleOffset);
}

/* Return how values of the watched index are compared. */
static inline IsSame
same_of(Relation index)
{
	return zindex_compares(index) ? equal_values : same_image;
}

/* Return whether key column i of the entry has this value. */
static bool
has_value(Relation index, IndexTuple entry, int i, Datum value, bool isnull)
{
	bool		key_isnull;
	Datum		key = index_getattr(entry, i + 1, RelationGetDescr(index), &key_isnull);

	if (isnull || key_isnull)
		return isnull && key_isnull;
	return same_of(index)(index, i, value, key);
}

bool
zindex_entry_is_of(IndexScanDesc scan, TupleTableSlot *slot)
{
	Relation	index = scan->indexRelation;
	IndexTuple	entry = entry_of(scan);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (!zkey_values(index, slot, values, isnull))
		return false;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		if (!has_value(index, entry, i, values[i], isnull[i]))
			return false;
	}
	return true;
}

IndexTuple
zindex_key_of(Relation index, TupleTableSlot *slot, Size max)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexTuple	key;

	if (!zkey_values(index, slot, values, isnull))
		return NULL;
	/* a long key is not copied, and may exceed what an index takes */
	if (heap_compute_data_size(RelationGetDescr(index), values, isnull) > max)
		return NULL;
	key = index_form_tuple(RelationGetDescr(index), values, isnull);
	if (IndexTupleSize(key) <= max)
		return key;
	pfree(key);
	return NULL;
}

bool
zindex_entry_has_key(IndexScanDesc scan, IndexTuple key)
{
	Relation	index = scan->indexRelation;

	return compare(index, IndexRelationGetNumberOfKeyAttributes(index), key, entry_of(scan),
				   same_of(index));
}
