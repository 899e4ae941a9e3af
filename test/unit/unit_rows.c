/*
 * unit_rows.c
 *		Random descriptors and values.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/expandeddatum.h"

#include "unit.h"
#include "unit_compat.h"

/* Stands for a type; what is stored depends on these four things only. */
typedef struct ColumnKind
{
	int16		attlen;
	bool		attbyval;
	char		attalign;
	char		attstorage;
} ColumnKind;

static const ColumnKind kinds[] = {
	{1, true, TYPALIGN_CHAR, TYPSTORAGE_PLAIN},
	{2, true, TYPALIGN_SHORT, TYPSTORAGE_PLAIN},
	{4, true, TYPALIGN_INT, TYPSTORAGE_PLAIN},
	{4, true, TYPALIGN_INT, TYPSTORAGE_PLAIN},
	{8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{6, false, TYPALIGN_SHORT, TYPSTORAGE_PLAIN},	/* tid */
	{6, false, TYPALIGN_INT, TYPSTORAGE_PLAIN}, /* macaddr */
	{12, false, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN}, /* timetz */
	{16, false, TYPALIGN_CHAR, TYPSTORAGE_PLAIN},	/* uuid */
	{16, false, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN}, /* interval */
	{64, false, TYPALIGN_CHAR, TYPSTORAGE_PLAIN},	/* name */
	{-1, false, TYPALIGN_INT, TYPSTORAGE_EXTENDED}, /* text */
	{-1, false, TYPALIGN_INT, TYPSTORAGE_EXTENDED},
	{-1, false, TYPALIGN_INT, TYPSTORAGE_PLAIN},
	{-1, false, TYPALIGN_INT, TYPSTORAGE_MAIN},
	{-1, false, TYPALIGN_DOUBLE, TYPSTORAGE_EXTENDED},	/* int8[] */
	{-1, false, TYPALIGN_DOUBLE, TYPSTORAGE_PLAIN},
	{-2, false, TYPALIGN_CHAR, TYPSTORAGE_PLAIN}	/* cstring: the last one */
};

int
unit_natts(Unit *unit)
{
	if (unit_once_in(unit, 100))
		return unit_int(unit, 1000, 1600);
	if (unit_once_in(unit, 30))
		return 0;
	return unit_int(unit, 1, unit_once_in(unit, 5) ? 60 : 12);
}

static void
column_make(Unit *unit, Form_pg_attribute att, int attnum, bool cstrings)
{
	const ColumnKind *kind = &kinds[unit_int(unit, 0, lengthof(kinds) - (cstrings ? 1 : 2))];

	memset(att, 0, ATTRIBUTE_FIXED_PART_SIZE);
	snprintf(NameStr(att->attname), NAMEDATALEN, "c%d", attnum);
	att->atttypid = kind->attlen == -1 ? INT8ARRAYOID : INT4OID;
	att->attnum = attnum;
	att->atttypmod = -1;
	unit_att_begin(att);
	att->attlen = kind->attlen;
	att->attbyval = kind->attbyval;
	att->attalign = kind->attalign;
	att->attstorage = kind->attstorage;
	att->attisdropped = unit_once_in(unit, 20);
}

/* ---- values ---- */

static int
varlena_size(Unit *unit)
{
	switch (unit_int(unit, 0, 9))
	{
		case 0:
			return 0;
		case 1:
			return unit_int(unit, 120, 132);	/* around the longest short one */
		case 2:
			return unit_int(unit, 200, 2000);
		default:
			return unit_int(unit, 1, 30);
	}
}

static Datum
expanded_make(Unit *unit)
{
	Datum		elements[20];
	int			n = unit_int(unit, 0, lengthof(elements));
	ArrayType  *array;
	int			i;

	for (i = 0; i < n; i++)
		elements[i] = Int64GetDatum((int64) pg_prng_uint64(&unit->rng));
	array = construct_array(elements, n, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	return expand_array(PointerGetDatum(array), CurrentMemoryContext, NULL);
}

static Datum
varlena_make(Unit *unit, Form_pg_attribute att)
{
	int			size = varlena_size(unit);
	char	   *value = palloc0(size + VARHDRSZ_COMPRESSED + VARHDRSZ_EXTERNAL +
								sizeof(varatt_external));
	int			kind;

	unit_bytes(unit, value, size + VARHDRSZ_COMPRESSED);
	kind = unit_int(unit, 0, 7);
	if (kind == 3 && att->attalign == TYPALIGN_DOUBLE)
		return expanded_make(unit);
	switch (kind)
	{
		case 0:
			SET_VARTAG_EXTERNAL(value, VARTAG_ONDISK);
			unit_bytes(unit, VARDATA_EXTERNAL(value), sizeof(varatt_external));
			break;
		case 1:
			SET_VARSIZE_COMPRESSED(value, size + VARHDRSZ_COMPRESSED);
			break;
		case 2:
			SET_VARSIZE_SHORT(value, Min(size + VARHDRSZ_SHORT, VARATT_SHORT_MAX));
			break;
		default:
			SET_VARSIZE(value, size + VARHDRSZ);
	}
	return PointerGetDatum(value);
}

static Datum
byval_make(Unit *unit, int attlen)
{
	uint64		bits = pg_prng_uint64(&unit->rng);

	switch (attlen)
	{
		case 1:
			return CharGetDatum((char) bits);
		case 2:
			return Int16GetDatum((int16) bits);
		case 4:
			return Int32GetDatum((int32) bits);
		default:
			Assert(attlen == sizeof(Datum));
			return (Datum) bits;
	}
}

static Datum
value_make(Unit *unit, Form_pg_attribute att)
{
	char	   *value;
	int			len;

	if (att->attbyval)
		return byval_make(unit, att->attlen);
	if (att->attlen == -1)
		return varlena_make(unit, att);

	len = att->attlen > 0 ? att->attlen : unit_int(unit, 1, 40);
	value = palloc(len);
	unit_bytes(unit, value, len);
	if (att->attlen == -2)
	{
		int			i;

		for (i = 0; i < len - 1; i++)
			value[i] |= 1;
		value[len - 1] = '\0';
	}
	return PointerGetDatum(value);
}

/*
 * Columns [first, natts) were added later, some with a default.  Those of a kind
 * that core cannot give a missing value have none.
 */
static void
missing_make(Unit *unit, UnitRow *row, int first)
{
	TupleDesc	desc = row->desc;
	AttrMissing *missing = palloc0(desc->natts * sizeof(AttrMissing));
	int			i;

	desc->constr = palloc0(sizeof(TupleConstr));
	desc->constr->missing = missing;
	for (i = first; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		row->isnull[i] = true;
		if (att->attisdropped || att->attlen == -2 || unit_once_in(unit, 3))
			continue;
		do
			row->values[i] = value_make(unit, att);
		while (att->attlen == -1 &&
			   VARATT_IS_EXTERNAL(DatumGetPointer(row->values[i])));
		row->isnull[i] = false;
		att->atthasmissing = true;
		missing[i].am_present = true;
		missing[i].am_value = row->values[i];
		populate_compact_attribute(desc, i);
	}
	TupleDescFinalize(desc);
}

void
unit_desc_make(Unit *unit, int natts, bool cstrings, UnitRow *row)
{
	Form_pg_attribute *atts = palloc((natts + 1) * sizeof(Form_pg_attribute));
	int			stored = natts;
	int			i;

	for (i = 0; i < natts; i++)
	{
		atts[i] = palloc(ATTRIBUTE_FIXED_PART_SIZE);
		column_make(unit, atts[i], i + 1, cstrings);
	}
	row->desc = CreateTupleDesc(natts, atts);
	row->values = palloc0((natts + 1) * sizeof(Datum));
	row->isnull = palloc0(natts + 1);

	if (natts > 0 && unit_once_in(unit, 3))
		stored = unit_int(unit, Max(0, natts - 4), natts);
	row->stored_desc = CreateTupleDesc(stored, atts);
	if (stored < natts)
		missing_make(unit, row, stored);
}

void
unit_values_make(Unit *unit, UnitRow *row)
{
	bool		nulls = !unit_once_in(unit, 3);
	int			i;

	for (i = 0; i < row->stored_desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->stored_desc, i);

		row->isnull[i] = (nulls && unit_once_in(unit, 4)) ||
			(att->attisdropped && !unit_once_in(unit, 3));
		row->values[i] = row->isnull[i] ? (Datum) 0 : value_make(unit, att);
	}
}

/* ---- comparing ---- */

/* The payload of a varlena that is neither compressed nor external, flat. */
static struct varlena *
flat(Datum value)
{
	struct varlena *result = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL_EXPANDED(result))
	{
		Size		size = EOH_get_flat_size(DatumGetEOHP(value));

		result = palloc(size);
		EOH_flatten_into(DatumGetEOHP(value), result, size);
	}
	return result;
}

static void
varlena_compare(Datum expected, Datum value)
{
	struct varlena *want = flat(expected);
	struct varlena *got = (struct varlena *) DatumGetPointer(value);

	unit_check(VARATT_IS_EXTERNAL(want) == VARATT_IS_EXTERNAL(got));
	unit_check(VARATT_IS_COMPRESSED(want) == VARATT_IS_COMPRESSED(got));
	unit_check(VARSIZE_ANY_EXHDR(want) == VARSIZE_ANY_EXHDR(got));
	unit_check(memcmp(VARDATA_ANY(want), VARDATA_ANY(got),
							VARSIZE_ANY_EXHDR(want)) == 0);
}

/* The address that a reader of the type may count on. */
static void
alignment_check(Form_pg_attribute att, Datum value)
{
	char	   *at = DatumGetPointer(value);

	if (att->attlen == -1 && (VARATT_IS_EXTERNAL(at) || VARATT_IS_SHORT(at)))
		return;
	unit_check((uintptr_t) at == att_align_nominal((uintptr_t) at, att->attalign));
}

void
unit_values_compare(const UnitRow *row, int natts,
					const Datum *values, const bool *isnull)
{
	int			i;

	for (i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->desc, i);

		unit_check(isnull[i] == row->isnull[i]);
		if (isnull[i])
			continue;
		if (att->attbyval)
		{
			unit_check(values[i] == row->values[i]);
			continue;
		}
		alignment_check(att, values[i]);
		if (att->attlen == -1)
			varlena_compare(row->values[i], values[i]);
		else if (att->attlen == -2)
			unit_check(strcmp(DatumGetCString(values[i]),
									DatumGetCString(row->values[i])) == 0);
		else
			unit_check(memcmp(DatumGetPointer(values[i]),
									DatumGetPointer(row->values[i]), att->attlen) == 0);
	}
}

void
unit_values_touch(TupleDesc desc, int natts,
				  const Datum *values, const bool *isnull)
{
	int			i;

	for (i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		const char *at = DatumGetPointer(values[i]);
		Size		size;
		Size		k;

		if (isnull[i] || att->attbyval)
			continue;
		alignment_check(att, values[i]);
		size = att_addlength_datum((Size) 0, att->attlen, values[i]);
		for (k = 0; k < size; k++)
			(void) *(const volatile char *) &at[k];
	}
}
