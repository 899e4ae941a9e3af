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

/* The highest attribute number that an index has, 0: none.  *whole: one refers to whole rows. */
static int
highest_attribute(const Bitmapset *indexed, bool *whole)
{
	int			bit = -1;
	int			max = 0;

	*whole = false;
	while ((bit = bms_next_member(indexed, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		*whole = *whole || attno == 0;
		max = Max(max, attno);
	}
	return max;
}

ZColumnChanges
zcolumns_changed(const ZIndexedColumns *columns, Relation rel, const ZRowVersion *old,
				 const char *row, uint32 len)
{
	bool		whole;
	int			max = highest_attribute(columns->indexed, &whole);
	ZColumnChanges changes = whole ? ZCHANGES_INDEXED : ZCHANGES_NONE;
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

void
zcolumns_open(ZIndexedColumns *columns, Relation rel)
{
	columns->indexed = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_ALL);
	columns->keys = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
}

void
zcolumns_close(ZIndexedColumns *columns)
{
	bms_free(columns->indexed);
	bms_free(columns->keys);
}
