/*
 * dml_update_columns.c
 *		Does an update change indexed columns, or a key?
 *
 * LOCKING: zcolumns_open() asks the catalog, so no page is locked.  zcolumns_changed() takes no
 * lock; the row that it is given may be on a locked page.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "zheap/dml/update.h"

typedef struct Deformed
{
	Datum	   *values;
	bool	   *isnull;
	ZRowDeform	state;
} Deformed;

static void
deform(Relation rel, const char *row, uint32 len, int natts, Deformed *out)
{
	out->values = palloc(natts * sizeof(Datum));
	out->isnull = palloc(natts * sizeof(bool));
	memset(&out->state, 0, sizeof(out->state));
	out->state.scratch = palloc(ZROW_SCRATCH_SIZE(natts, len));
	if (!zrow_deform(RelationGetDescr(rel), row, len, natts, out->values, out->isnull,
					 &out->state))
		zheap_corrupt(rel, InvalidBlockNumber, InvalidOffsetNumber,
					  "row of %u bytes cannot be read", len);
}

static void
deform_free(Deformed *d)
{
	pfree(d->values);
	pfree(d->isnull);
	pfree(d->state.scratch);
}

static bool
attribute_changed(Relation rel, int attno, Deformed *old, Deformed *new)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);

	if (old->isnull[attno - 1] != new->isnull[attno - 1])
		return true;
	if (old->isnull[attno - 1] || att->attisdropped)
		return false;
	return !datumIsEqual(old->values[attno - 1], new->values[attno - 1],
						 att->attbyval, att->attlen);
}

ZColumnChanges
zcolumns_changed(const ZIndexedColumns *columns, Relation rel, const ZRowVersion *old,
				 const char *row, uint32 len)
{
	int			max = columns->highest;
	ZColumnChanges changes = columns->whole ? ZCHANGES_INDEXED : ZCHANGES_NONE;
	int			bit = -1;
	Deformed	before;
	Deformed	after;

	Assert(max <= RelationGetNumberOfAttributes(rel));
	/* as a rule the columns of the key come first, and stay as they are */
	if (max == 0 ||
		zrow_starts_alike(RelationGetDescr(rel), old->row, old->len, row, len, max))
		return changes;
	deform(rel, old->row, old->len, max, &before);
	deform(rel, row, len, max, &after);
	while (changes != ZCHANGES_KEY && (bit = bms_next_member(columns->indexed, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attribute_changed(rel, attno, &before, &after))
			changes = bms_is_member(bit, columns->keys) ? ZCHANGES_KEY : ZCHANGES_INDEXED;
	}
	deform_free(&before);
	deform_free(&after);
	return changes;
}

/*
 * Of the table that was updated last, as a rule the one that the next row is of, too.  The
 * server's own sets go away whenever it accepts invalidation messages.
 */
static ZIndexedColumns known;

static Bitmapset *
keep_set(const Bitmapset *set)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Bitmapset  *copy = bms_copy(set);

	MemoryContextSwitchTo(old);
	return copy;
}

static void
learn(Relation rel)
{
	Bitmapset  *indexed = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_ALL);
	Bitmapset  *keys = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	int			bit = -1;

	bms_free(known.indexed);
	bms_free(known.keys);
	memset(&known, 0, sizeof(known));
	known.indexed = keep_set(indexed);
	known.keys = keep_set(keys);
	bms_free(indexed);
	bms_free(keys);
	while ((bit = bms_next_member(known.indexed, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		known.whole = known.whole || attno == 0;
		known.highest = Max(known.highest, attno);
	}
}

const ZIndexedColumns *
zcolumns_open(Relation rel)
{
	if (rel->rd_indexattr == NULL || !bms_equal(rel->rd_indexattr, known.indexed) ||
		!bms_equal(rel->rd_keyattr, known.keys))
		learn(rel);
	return &known;
}
