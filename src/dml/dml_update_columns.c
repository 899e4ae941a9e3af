/*
 * dml_update_columns.c
 *		Whether an update changes indexed columns, or a key, and whether the row may stay in
 *		place.
 *
 * LOCKING: none is taken; the row may be on a locked page, so no function of a type is called.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "zheap/base/base.h"
#include "zheap/dml/update.h"

typedef struct Deformed
{
	Datum	   *values;
	bool	   *isnull;
	char	   *scratch;
} Deformed;

typedef enum Difference
{
	SAME,
	OTHER_BYTES,				/* which may be the same value, compressed */
	OTHER_PLACE,				/* which may be the same value, in another table */
	OTHER_VALUE
} Difference;

/* The columns that differ. */
typedef struct Changed
{
	Bitmapset  *columns;		/* in the numbering of ZTableIndexes */
	Bitmapset  *unsure;			/* those whose values may be equal */
	Bitmapset  *external;		/* those that are in another table, before or after */
} Changed;

char *
zcolumns_deform(Relation rel, const char *row, uint32 len, int natts, Datum *values, bool *isnull)
{
	ZRowDeform	state;

	memset(&state, 0, sizeof(state));
	state.scratch = palloc(ZROW_SCRATCH_SIZE(natts, len));
	if (!zrow_deform(RelationGetDescr(rel), row, len, natts, values, isnull, &state))
		zheap_corrupt(rel, InvalidBlockNumber, InvalidOffsetNumber,
					  "row of %u bytes cannot be read", len);
	return state.scratch;
}

static void
deform(Relation rel, const char *row, uint32 len, int natts, Deformed *out)
{
	out->values = palloc(natts * sizeof(Datum));
	out->isnull = palloc(natts * sizeof(bool));
	out->scratch = zcolumns_deform(rel, row, len, natts, out->values, out->isnull);
}

static void
deform_free(Deformed *d)
{
	pfree(d->values);
	pfree(d->isnull);
	pfree(d->scratch);
}

/* Compare two datums of variable length whose bytes differ. */
static Difference
compare_varlena(Datum old, Datum new)
{
	struct varlena *a = (struct varlena *) DatumGetPointer(old);
	struct varlena *b = (struct varlena *) DatumGetPointer(new);

	if (VARATT_IS_EXTERNAL(a) || VARATT_IS_EXTERNAL(b))
		return OTHER_PLACE;
	if (VARATT_IS_COMPRESSED(a) || VARATT_IS_COMPRESSED(b))
		return OTHER_BYTES;
	if (VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0)
		return OTHER_BYTES;
	return OTHER_VALUE;
}

static Difference
compare_attribute(Relation rel, int attno, const Deformed *old, const Deformed *new)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	Datum		a = old->values[attno - 1];
	Datum		b = new->values[attno - 1];

	if (old->isnull[attno - 1] != new->isnull[attno - 1])
		return OTHER_VALUE;
	if (old->isnull[attno - 1] || att->attisdropped ||
		datumIsEqual(a, b, att->attbyval, att->attlen))
		return SAME;
	return att->attlen == -1 ? compare_varlena(a, b) : OTHER_VALUE;
}

/* Compare the columns that any index has, and collect those that differ. */
static void
compare_rows(const ZTableIndexes *indexes, Relation rel, const ZRowVersion *old,
			 const ZFormedRow *row, Changed *changed)
{
	int			bit = -1;
	Deformed	before;
	Deformed	after;

	deform(rel, old->row, old->len, indexes->highest, &before);
	deform(rel, row->bytes, row->len, indexes->highest, &after);
	while ((bit = bms_next_member(indexes->columns, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;
		Difference	difference;

		if (attno <= 0)
			continue;
		difference = compare_attribute(rel, attno, &before, &after);
		if (difference != SAME)
			changed->columns = bms_add_member(changed->columns, bit);
		if (difference == OTHER_BYTES)
			changed->unsure = bms_add_member(changed->unsure, bit);
		if (difference == OTHER_PLACE)
			changed->external = bms_add_member(changed->external, bit);
	}
	deform_free(&before);
	deform_free(&after);
}

int
zcomparison_find(const ZComparison *comparison, Oid index)
{
	for (int i = 0; comparison != NULL && i < comparison->n; i++)
	{
		if (comparison->indexes[i] == index)
			return i;
	}
	return -1;
}

/* Return what functions have found out about the key in this index. */
static ZKeyChange
compared_key(const ZComparison *comparison, Oid index)
{
	int			i = zcomparison_find(comparison, index);

	return i < 0 ? ZKEY_UNKNOWN : comparison->changes[i];
}

/* Note what is to be done in a B-tree that has changed columns, number i. */
static void
look_at_btree(const ZTableIndex *index, int i, const Changed *changed,
			  const ZComparison *comparison, ZColumnChanges *changes)
{
	ZKeyChange	key = ZKEY_ADDED;

	if (index->change == ZINDEX_COMPARES || bms_overlap(index->columns, changed->unsure))
		key = compared_key(comparison, index->oid);
	switch (key)
	{
		case ZKEY_UNKNOWN:
			changes->unknown = bms_add_member(changes->unknown, i);
			break;
		case ZKEY_SAME:
			break;
		case ZKEY_LEAVES:
			changes->way = ZTABLE_UPDATED_SEVERAL_KEYS;
			break;
		case ZKEY_NEW:
		case ZKEY_ADDED:
			changes->way = ZTABLE_UPDATED_SEVERAL_KEYS;
			changes->indexes = bms_add_member(changes->indexes, i);
			if (key == ZKEY_NEW)
				changes->absent = bms_add_member(changes->absent, i);
			break;
		case ZKEY_TO_LIST:		/* not of a B-tree */
		case ZKEY_OTHER_BYTES:
			changes->way = ZTABLE_MOVED_EQUAL_KEY;
			break;
	}
}

/* Note that the keys of number i, which is no B-tree, may change. */
static void
look_at_other(const ZTableIndex *index, int i, const ZRowVersion *old,
			  const ZComparison *comparison, ZColumnChanges *changes)
{
	ZKeyChange	key = index->gin ? compared_key(comparison, index->oid) : ZKEY_ADDED;

	if (key == ZKEY_TO_LIST || (index->once && zrow_has_several_keys(old->row)))
		changes->way = ZTABLE_MOVED_BUDGET;
	else if (key == ZKEY_UNKNOWN)
		changes->unknown = bms_add_member(changes->unknown, i);
	else if (key == ZKEY_ADDED || key == ZKEY_LEAVES)
	{
		changes->way = ZTABLE_UPDATED_SEVERAL_KEYS;
		changes->keeps_entries = true;
		if (key == ZKEY_ADDED)
			changes->indexes = bms_add_member(changes->indexes, i);
	}
}

/* Find the indexes that have these columns, and decide whether the row may stay. */
static void
look_at_indexes(const ZTableIndexes *indexes, const ZRowVersion *old, const Changed *changed,
				const ZComparison *comparison, ZColumnChanges *changes)
{
	int			count = 0;

	for (int i = 0; i < indexes->n && !ztable_is_move(changes->way); i++)
	{
		const ZTableIndex *index = &indexes->indexes[i];

		if (!bms_overlap(index->columns, changed->columns))
			continue;
		if (index->change == ZINDEX_MOVES)
			changes->way = index->moved;
		else if (index->change == ZINDEX_MERGES || index->change == ZINDEX_RECHECKS)
		{
			look_at_other(index, i, old, comparison, changes);
			count += bms_is_member(i, changes->indexes);
		}
		/* the old value may be far away, and no entry of it can be told under locks */
		else if (bms_overlap(index->columns, changed->external))
			changes->way = ZTABLE_MOVED_EQUAL_KEY;
		else if (index->change == ZINDEX_SUMMARIZES)
			changes->indexes = bms_add_member(changes->indexes, i);
		else
		{
			look_at_btree(index, i, changed, comparison, changes);
			count += bms_is_member(i, changes->indexes);
		}
	}
	/* if most of them get an entry anyway, moving the row saves scans the comparison of keys */
	if (!ztable_is_move(changes->way) &&
		count * 100 > indexes->nentries * zheap_max_changed_indexes)
		changes->way = ZTABLE_MOVED_SHARE;
	if (ztable_is_move(changes->way))
	{
		bms_free(changes->unknown);
		changes->unknown = NULL;
	}
}

void
zcolumns_changed(const ZTableIndexes *indexes, Relation rel, const ZRowVersion *old,
				 const ZFormedRow *row, const ZComparison *comparison, ZColumnChanges *changes)
{
	Changed		changed = {NULL, NULL, NULL};

	Assert(indexes->highest <= RelationGetNumberOfAttributes(rel));
	memset(changes, 0, sizeof(*changes));
	changes->way = indexes->whole ? ZTABLE_MOVED_KIND : ZTABLE_UPDATED_IN_PLACE;
	/* in the usual case the key's columns come first, and are not changed */
	if (indexes->highest == 0 ||
		zrow_starts_alike(RelationGetDescr(rel), old->row, old->len, row->bytes, row->len,
						  indexes->highest))
		return;
	compare_rows(indexes, rel, old, row, &changed);
	if (changed.columns == NULL)
		return;
	changes->key = bms_overlap(changed.columns, indexes->keys);
	changes->identity = bms_overlap(changed.columns, indexes->identity);
	look_at_indexes(indexes, old, &changed, comparison, changes);
	bms_free(changed.columns);
	bms_free(changed.unsure);
	bms_free(changed.external);
}

void
zcolumns_free(ZColumnChanges *changes)
{
	bms_free(changes->indexes);
	bms_free(changes->absent);
	bms_free(changes->unknown);
}
