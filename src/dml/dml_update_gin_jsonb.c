/*
 * dml_update_gin_jsonb.c
 *		What two versions of a document have not in common.
 *
 * To extract all keys of a document, and to sort them, takes longer than to find out in which of
 * its pairs it differs from another one.  The keys of an object are those of its pairs, so a key
 * of only one of two objects is a key of a pair of which the other one has not the like.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "zheap/base/pg_compat_jsonb.h"
#include "zheap/dml/update.h"

/* An object, and the pair where a walk over it is; the values are not walked. */
typedef struct Pairs
{
	JsonbIterator *iterator;
	JsonbValue	key;
	JsonbValue	value;
	bool		end;
	JsonbInState kept;
} Pairs;

static void
next_pair(Pairs *pairs)
{
	pairs->end = JsonbIteratorNext(&pairs->iterator, &pairs->key, true) != WJB_KEY;
	if (!pairs->end)
		(void) JsonbIteratorNext(&pairs->iterator, &pairs->value, true);
}

static void
open_pairs(Pairs *pairs, Jsonb *object)
{
	memset(pairs, 0, sizeof(*pairs));
	pairs->iterator = JsonbIteratorInit(&object->root);
	(void) JsonbIteratorNext(&pairs->iterator, &pairs->value, true);	/* WJB_BEGIN_OBJECT */
	pushJsonbValue(&pairs->kept, WJB_BEGIN_OBJECT, NULL);
	next_pair(pairs);
}

static void
keep_pair(Pairs *pairs)
{
	pushJsonbValue(&pairs->kept, WJB_KEY, &pairs->key);
	pushJsonbValue(&pairs->kept, WJB_VALUE, &pairs->value);
	next_pair(pairs);
}

static Datum
close_pairs(Pairs *pairs)
{
	pushJsonbValue(&pairs->kept, WJB_END_OBJECT, NULL);
	return JsonbPGetDatum(JsonbValueToJsonb(pairs->kept.result));
}

/* Compare keys in the order in which an object has them. */
static int
order_of_pairs(const Pairs *a, const Pairs *b)
{
	if (a->end || b->end)
		return a->end - b->end;
	if (a->key.val.string.len != b->key.val.string.len)
		return a->key.val.string.len < b->key.val.string.len ? -1 : 1;
	return memcmp(a->key.val.string.val, b->key.val.string.val, a->key.val.string.len);
}

/* Return whether two values have the same bytes; those of equal values may differ. */
static bool
is_same_value(const JsonbValue *a, const JsonbValue *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type)
	{
		case jbvNull:
			return true;
		case jbvBool:
			return a->val.boolean == b->val.boolean;
		case jbvString:
			return a->val.string.len == b->val.string.len &&
				memcmp(a->val.string.val, b->val.string.val, a->val.string.len) == 0;
		case jbvNumeric:
			return VARSIZE_ANY(a->val.numeric) == VARSIZE_ANY(b->val.numeric) &&
				memcmp(a->val.numeric, b->val.numeric, VARSIZE_ANY(a->val.numeric)) == 0;
		case jbvBinary:
			return a->val.binary.len == b->val.binary.len &&
				memcmp(a->val.binary.data, b->val.binary.data, a->val.binary.len) == 0;
		default:
			return false;
	}
}

int
zgin_reduce_jsonb(Datum *before, Datum *after)
{
	Jsonb	   *old = DatumGetJsonbP(*before);
	Jsonb	   *new = DatumGetJsonbP(*after);
	Pairs		a;
	Pairs		b;

	if (!JB_ROOT_IS_OBJECT(old) || !JB_ROOT_IS_OBJECT(new) || JB_ROOT_COUNT(new) == 0)
		return 0;
	open_pairs(&a, old);
	open_pairs(&b, new);
	while (!a.end || !b.end)
	{
		int			order = order_of_pairs(&a, &b);

		if (order == 0 && is_same_value(&a.value, &b.value))
		{
			next_pair(&a);
			next_pair(&b);
			continue;
		}
		if (order <= 0)
			keep_pair(&a);
		if (order >= 0)
			keep_pair(&b);
	}
	*before = close_pairs(&a);
	*after = close_pairs(&b);
	return JB_ROOT_COUNT(new);
}
