/*
 * index_keys.c
 *		The distinct keys that the versions of one row have in an index.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "catalog/heap.h"
#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "zheap/base/server_calls.h"

#include "index_keys.h"

/* An element of the set. */
typedef struct KeyEntry
{
	const IndexKey *key;
	uint32		hash;
	char		status;
} KeyEntry;

static uint32
key_hash(const KeyTypes *types, const IndexKey *key)
{
	uint32		hash = key->present;

	for (int i = 0; key->present && i < types->n; i++)
	{
		if (!key->isnull[i])
			hash = hash_combine(hash, datum_image_hash(key->values[i], types->columns[i].byval,
													   types->columns[i].len));
	}
	return hash;
}

/* Return whether the keys have the same bytes. */
static bool
key_equal(const KeyTypes *types, const IndexKey *a, const IndexKey *b)
{
	if (a->present != b->present)
		return false;
	for (int i = 0; a->present && i < types->n; i++)
	{
		if (a->isnull[i] != b->isnull[i])
			return false;
		if (!a->isnull[i] &&
			!datum_image_eq(a->values[i], b->values[i],
							types->columns[i].byval, types->columns[i].len))
			return false;
	}
	return true;
}

#define SH_PREFIX keys
#define SH_ELEMENT_TYPE KeyEntry
#define SH_KEY_TYPE const IndexKey *
#define SH_KEY key
#define SH_HASH_KEY(tb, key) key_hash((tb)->private_data, key)
#define SH_EQUAL(tb, a, b) key_equal((tb)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

void
index_key_types_init(KeyTypes *types, Relation table, const IndexInfo *info)
{
	TupleDesc	desc = RelationGetDescr(table);
	ListCell   *expr = list_head(info->ii_Expressions);

	types->n = info->ii_NumIndexAttrs;
	for (int i = 0; i < types->n; i++)
	{
		AttrNumber	attno = info->ii_IndexAttrNumbers[i];
		KeyType    *type = &types->columns[i];

		if (attno > 0)
		{
			type->len = TupleDescAttr(desc, attno - 1)->attlen;
			type->byval = TupleDescAttr(desc, attno - 1)->attbyval;
		}
		else if (attno < 0)
		{
			const FormData_pg_attribute *att = SystemAttributeDefinition(attno);

			type->len = att->attlen;
			type->byval = att->attbyval;
		}
		else
		{
			get_typlenbyval(exprType((Node *) lfirst(expr)), &type->len, &type->byval);
			expr = lnext(info->ii_Expressions, expr);
		}
	}
}

struct keys_hash *
index_keys_begin(KeyTypes *types)
{
	return keys_create(CurrentMemoryContext, 4, types);
}

bool
index_keys_add(struct keys_hash *keys, const IndexKey *key)
{
	const KeyTypes *types = keys->private_data;
	bool		found;
	KeyEntry   *entry = keys_insert(keys, key, &found);
	IndexKey   *copy;

	if (found)
		return false;
	copy = palloc(sizeof(*copy));
	*copy = *key;
	for (int i = 0; key->present && i < types->n; i++)
	{
		if (!key->isnull[i])
			copy->values[i] = datumCopy(key->values[i], types->columns[i].byval,
										types->columns[i].len);
	}
	entry->key = copy;
	return true;
}
