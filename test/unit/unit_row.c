/*
 * unit_row.c
 *		The row codec: what is formed comes back, and damaged bytes are noticed
 *		or harmless.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "zheap/page/page_format.h"
#include "zheap/page/row.h"

#include "unit.h"

PG_FUNCTION_INFO_V1(zheap_unit_row);
PG_FUNCTION_INFO_V1(zheap_unit_row_damage);

/* Deformed values, and the room that they need. */
typedef struct Deformed
{
	Datum	   *values;
	bool	   *isnull;
	ZRowDeform	state;
	Size		scratch_size;
} Deformed;

#define CANARY	"canary"

static void
deformed_init(Deformed *deformed, int natts, uint32 len)
{
	memset(deformed, 0, sizeof(*deformed));
	deformed->values = palloc0((natts + 1) * sizeof(Datum));
	deformed->isnull = palloc0(natts + 1);
	deformed->scratch_size = ZROW_SCRATCH_SIZE(natts, len);
	deformed->state.scratch = palloc0(deformed->scratch_size + sizeof(CANARY));
	memcpy(deformed->state.scratch + deformed->scratch_size, CANARY, sizeof(CANARY));
}

static void
canary_check(const Deformed *deformed)
{
	unit_check(memcmp(deformed->state.scratch + deformed->scratch_size,
							CANARY, sizeof(CANARY)) == 0);
}

/* Deform in random steps.  Returns false as soon as a step does. */
static bool
deform_in_steps(Unit *unit, TupleDesc desc, const char *bytes, uint32 len,
				Deformed *deformed)
{
	int			done = 0;

	while (done < desc->natts)
	{
		done = unit_int(unit, done + 1, desc->natts);
		if (!zrow_deform(desc, bytes, len, done, deformed->values, deformed->isnull,
						 &deformed->state))
			return false;
		unit_check(deformed->state.natts == done);
	}
	return true;
}

/* Headers of one byte wherever the type allows it, and only there. */
static void
storage_check(const UnitRow *row, const Datum *values)
{
	int			i;

	for (i = 0; i < row->stored_desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->desc, i);

		if (row->isnull[i] || att->attlen != -1)
			continue;
		if (att->attstorage != TYPSTORAGE_PLAIN)
			unit_check(!VARATT_CAN_MAKE_SHORT(DatumGetPointer(values[i])));
		else if (VARATT_IS_4B(DatumGetPointer(row->values[i])))
			unit_check(VARATT_IS_4B(DatumGetPointer(values[i])));
	}
}

static char *
row_form_guarded(const UnitRow *row, uint32 *len)
{
	char	   *formed = zrow_form(row->stored_desc, row->values, row->isnull, len);
	char	   *guarded = unit_guarded(*len);
	uint8		flags;

	unit_check(*len == zrow_form_length(row->stored_desc, row->values, row->isnull, &flags));
	unit_check(flags == zrow_flags(formed));
	memcpy(guarded, formed, *len);
	return guarded;
}

static void
header_check(const UnitRow *row, const char *bytes)
{
	ZRowHeader	hdr;
	bool		hasnull = false;
	bool		hasexternal = false;
	int			i;

	for (i = 0; i < row->stored_desc->natts; i++)
	{
		hasnull |= row->isnull[i];
		hasexternal |= !row->isnull[i] &&
			TupleDescAttr(row->desc, i)->attlen == -1 &&
			VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(row->values[i]));
	}
	zrow_header_get(bytes, &hdr);
	unit_check(hdr.natts == row->stored_desc->natts);
	unit_check(hdr.slotno == 0 && hdr.flags2 == 0 && hdr.turn4 == 0);
	unit_check(hdr.flags == ((hasnull ? ZROW_HASNULL : 0) |
								   (hasexternal ? ZROW_HASEXTERNAL : 0)));
}

/* Every field of a header next to every other. */
static void
header_round_trip(Unit *unit)
{
	ZRowHeader	hdr;
	ZRowHeader	got;
	char		bytes[ZROW_HDR_SIZE];
	int			turn = unit_int(unit, 0, ZROW_TURNS - 1);
	uint8		other;

	hdr.flags = unit_int(unit, 0, 0xFF);
	hdr.flags2 = unit_int(unit, 0, 0xFF);
	hdr.slotno = unit_int(unit, 0, ZPAGE_MAX_SLOTNO);
	hdr.natts = unit_int(unit, 0, ZROW_MAX_NATTS);
	other = hdr.flags2 & ~ZROW2_PARITY;
	zrow_set_turn(&hdr, turn);
	zrow_header_put(bytes, &hdr);
	zrow_header_get(bytes, &got);
	unit_check(got.flags == hdr.flags && zrow_flags(bytes) == hdr.flags);
	unit_check(got.flags2 == hdr.flags2 && (got.flags2 & ~ZROW2_PARITY) == other);
	unit_check(got.slotno == hdr.slotno && zrow_slotno(bytes) == hdr.slotno);
	unit_check(got.natts == hdr.natts && zrow_natts(bytes) == hdr.natts);
	unit_check(zrow_turn(&got) == turn);
	unit_check(((got.flags2 & ZROW2_PARITY) != 0) == (turn % 2 == 1) && got.turn4 == turn / 2);

	zrow_set_turn(&got, turn + 1);
	unit_check(zrow_turn(&got) == (turn + 1) % ZROW_TURNS);
	zrow_set_turn(&got, turn - 1);
	unit_check(zrow_turn(&got) == (turn + ZROW_TURNS - 1) % ZROW_TURNS);
}

/* The same tuple as the server makes of the values, apart from the fields that its owner sets. */
static void
tuple_compare(TupleDesc desc, HeapTuple tuple, Datum *values, bool *isnull)
{
	HeapTuple	formed = heap_form_tuple(desc, values, isnull);
	HeapTupleHeader a = tuple->t_data;
	HeapTupleHeader b = formed->t_data;
	uint32		bits = offsetof(HeapTupleHeaderData, t_bits);

	unit_check(tuple->t_len == formed->t_len && a->t_hoff == b->t_hoff);
	unit_check((a->t_infomask & ~HEAP_XACT_MASK) == (b->t_infomask & ~HEAP_XACT_MASK));
	unit_check(a->t_infomask2 == (b->t_infomask2 & HEAP_NATTS_MASK));
	unit_check(memcmp((char *) a + bits, (char *) b + bits, formed->t_len - bits) == 0);
	heap_freetuple(formed);
}

static void
round_trip(Unit *unit)
{
	HeapTuple	tuple;
	UnitRow		row;
	Deformed	deformed;
	uint32		len;
	char	   *bytes;

	header_round_trip(unit);
	unit_desc_make(unit, unit_natts(unit), true, &row);
	unit_values_make(unit, &row);
	bytes = row_form_guarded(&row, &len);
	header_check(&row, bytes);

	deformed_init(&deformed, row.desc->natts, len);
	if (!deform_in_steps(unit, row.desc, bytes, len, &deformed))
		unit_fail("a sound row is called damaged");
	unit_values_compare(&row, row.desc->natts, deformed.values, deformed.isnull);
	unit_values_touch(row.desc, row.desc->natts, deformed.values, deformed.isnull);
	storage_check(&row, deformed.values);
	canary_check(&deformed);
	tuple = zrow_heap_tuple(row.desc, bytes, len);
	if (tuple != NULL)
		tuple_compare(row.desc, tuple, deformed.values, deformed.isnull);
	if (row.stored_desc->natts == row.desc->natts)
		unit_check(row.desc->natts == 0 || deformed.state.off == len);
}

static void
damage(Unit *unit, char *bytes, uint32 len)
{
	int			n = unit_int(unit, 0, 3);

	for (; n > 0 && len > 0; n--)
	{
		uint32		at = unit_int(unit, 0, unit_once_in(unit, 2) ? Min(len - 1, 12) : len - 1);

		if (unit_once_in(unit, 2))
			bytes[at] ^= 1 << unit_int(unit, 0, 7);
		else
			unit_bytes(unit, &bytes[at], 1);
	}
}

/*
 * Whatever the bytes: deforming gives true or false and touches nothing outside
 * the row (a page without rights follows it), nor do the values it gives.
 */
static void
damaged_row(Unit *unit)
{
	HeapTuple	tuple;
	bool		sound;
	UnitRow		row;
	Deformed	deformed;
	uint32		len;
	uint32		left;
	char	   *bytes;
	int			tries;

	unit_desc_make(unit, unit_natts(unit), true, &row);
	unit_values_make(unit, &row);
	bytes = zrow_form(row.stored_desc, row.values, row.isnull, &len);

	for (tries = 0; tries < 20; tries++)
	{
		char	   *guarded;

		/* mostly cut, so that something lies at the very end */
		left = unit_int(unit, 0, len);
		if (unit_once_in(unit, 3))
			left = len;
		guarded = unit_guarded(left);
		memcpy(guarded, bytes, left);
		damage(unit, guarded, left);
		deformed_init(&deformed, row.desc->natts, left);
		sound = deform_in_steps(unit, row.desc, guarded, left, &deformed);
		if (sound)
			unit_values_touch(row.desc, row.desc->natts,
							  deformed.values, deformed.isnull);
		canary_check(&deformed);
		tuple = zrow_heap_tuple(row.desc, guarded, left);
		if (tuple == NULL)
			continue;
		unit_check(sound);
		heap_deform_tuple(tuple, row.desc, deformed.values, deformed.isnull);
		unit_values_touch(row.desc, row.desc->natts, deformed.values, deformed.isnull);
	}
}

/* zheap_unit_row(seed bigint, rounds integer) returns void */
Datum
zheap_unit_row(PG_FUNCTION_ARGS)
{
	return unit_repeat(fcinfo, round_trip);
}

/* zheap_unit_row_damage(seed bigint, rounds integer) returns void */
Datum
zheap_unit_row_damage(PG_FUNCTION_ARGS)
{
	return unit_repeat(fcinfo, damaged_row);
}
