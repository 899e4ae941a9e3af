/*
 * index_keys.h
 *		Private to index: the distinct keys that the versions of one row have in an index.
 *
 * Takes no lock.  What is allocated is in the current memory context, and is freed with it.
 */
#ifndef ZHEAP_INDEX_KEYS_H
#define ZHEAP_INDEX_KEYS_H

#include "nodes/execnodes.h"
#include "utils/relcache.h"

/* How the values of one index column are compared. */
typedef struct KeyType
{
	int16		len;
	bool		byval;
} KeyType;

typedef struct KeyTypes
{
	int			n;				/* number of columns of the index */
	KeyType		columns[INDEX_MAX_KEYS];
} KeyTypes;

/* A key, or the fact that the row has none in this index. */
typedef struct IndexKey
{
	bool		present;		/* the predicate, if any, is satisfied */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
} IndexKey;

/* Find the length and typbyval of each column of the index. */
extern void index_key_types_init(KeyTypes *types, Relation table, const IndexInfo *info);

/* Return an empty set of keys, which keeps the pointer. */
extern struct keys_hash *index_keys_begin(KeyTypes *types);

/* Add a copy of the key.  Return false if a key with the same bytes is in the set already. */
extern bool index_keys_add(struct keys_hash *keys, const IndexKey *key);

#endif							/* ZHEAP_INDEX_KEYS_H */
