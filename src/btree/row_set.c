/*
 * row_set.c
 *		A set of rows, by their TIDs.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "zheap/btree/row_set.h"

/* Number of rows of one element. */
#define ROWS			64

/* An empty set that has more places than this is freed, not cleared. */
#define MAX_CLEARED		1024

/* Neighbours on a page. */
typedef struct RowGroup
{
	ItemPointerData key;		/* the page, and the rows' offset numbers divided by ROWS */
	char		status;
	uint64		rows;			/* a bit each */
} RowGroup;

#define SH_PREFIX zrowset
#define SH_ELEMENT_TYPE RowGroup
#define SH_KEY_TYPE ItemPointerData
#define SH_KEY key
#define SH_HASH_KEY(tb, key) \
	hash_combine(murmurhash32(ItemPointerGetBlockNumberNoCheck(&(key))), \
				 ItemPointerGetOffsetNumberNoCheck(&(key)))
#define SH_EQUAL(tb, a, b) (memcmp(&(a), &(b), sizeof(ItemPointerData)) == 0)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Set the key of the group that has the row, and return the row's bit there. */
static inline uint64
place_of(const ItemPointerData *tid, ItemPointerData *key)
{
	OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);

	ItemPointerSet(key, ItemPointerGetBlockNumberNoCheck(tid), offnum / ROWS);
	return UINT64CONST(1) << (offnum % ROWS);
}

bool
zrow_set_add(ZRowSet **set, MemoryContext context, const ItemPointerData *tid)
{
	ItemPointerData key;
	uint64		bit = place_of(tid, &key);
	RowGroup   *group;
	bool		found;

	if (*set == NULL)
		*set = zrowset_create(context, 16, NULL);
	group = zrowset_insert(*set, key, &found);
	if (!found)
		group->rows = 0;
	else if (group->rows & bit)
		return false;
	group->rows |= bit;
	return true;
}

bool
zrow_set_has(ZRowSet *set, const ItemPointerData *tid)
{
	ItemPointerData key;
	uint64		bit = place_of(tid, &key);
	RowGroup   *group = set == NULL ? NULL : zrowset_lookup(set, key);

	return group != NULL && (group->rows & bit) != 0;
}

void
zrow_set_clear(ZRowSet **set)
{
	if (*set == NULL || (*set)->members == 0)
		return;
	if ((*set)->size <= MAX_CLEARED)
		zrowset_reset(*set);
	else
	{
		zrowset_destroy(*set);
		*set = NULL;
	}
}
