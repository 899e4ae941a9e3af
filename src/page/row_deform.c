/*
 * row_deform.c
 *		Convert row bytes to values.
 *
 * This is the inner loop of sequential scans.  zrow_deform() itself deals with by-value columns
 * and short varlenas of rows without nulls, which need no call and few registers.  From the first
 * other column on, and for other rows, any_deform() takes over.
 *
 * Nothing here trusts the bytes: each length is compared with the rest of the row before it is
 * used.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"

#include "zheap/base/pg_compat_tupdesc.h"
#include "zheap/page/row.h"

/* Copy a value to the scratch space.  Out of line, as few values need it. */
static pg_noinline Datum
aligned_copy(const char *in, Size size, int alignby, ZRowDeform *state)
{
	char	   *copy;

	if (state->scratch_used == 0 && state->provide != NULL)
		state->scratch = state->provide(state, state->scratch_size);
	copy = (char *) TYPEALIGN(alignby, state->scratch + state->scratch_used);
	memcpy(copy, in, size);
	state->scratch_used = (uint32) (copy + size - state->scratch);
	return PointerGetDatum(copy);
}

/*
 * Return a by-reference value at "in": itself if its address suits the type, otherwise a copy in
 * the scratch space.
 */
static inline Datum
aligned_value(const char *in, Size size, const CompactAttribute *att, ZRowDeform *state)
{
	int			alignby = zcompat_alignby(att);

	if (likely(((uintptr_t) in & (alignby - 1)) == 0))
		return PointerGetDatum(in);
	return aligned_copy(in, size, alignby, state);
}

/* Read a by-value column from any address: rows have no alignment. */
static inline Datum
byval_get(const char *in, int attlen)
{
	switch (attlen)
	{
		case sizeof(int32):
			{
				int32		v;

				memcpy(&v, in, sizeof(v));
				return Int32GetDatum(v);
			}
#if SIZEOF_DATUM == 8
		case sizeof(Datum):
			{
				Datum		v;

				memcpy(&v, in, sizeof(v));
				return v;
			}
#endif
		case sizeof(int16):
			{
				int16		v;

				memcpy(&v, in, sizeof(v));
				return Int16GetDatum(v);
			}
		default:
			Assert(attlen == sizeof(char));
			return CharGetDatum(*in);
	}
}

/*
 * Return the length of a varlena that is not a short one; 0 if it is damaged or has more than
 * "left" bytes.
 */
static Size
varlena_length(const char *in, Size left)
{
	varattrib_4b head;
	Size		size;

	Assert(left > 0);
	if (VARATT_IS_1B_E(in))
	{
		/* only pointers into a toast table are ever stored */
		size = VARHDRSZ_EXTERNAL + sizeof(varatt_external);
		if (size > left || VARTAG_1B_E(in) != VARTAG_ONDISK)
			return 0;
		return size;
	}

	if (left < VARHDRSZ)
		return 0;
	memcpy(&head, in, VARHDRSZ);
	size = VARSIZE_4B(&head);
	if (size > left || size < (VARATT_IS_4B_C(&head) ? VARHDRSZ_COMPRESSED : VARHDRSZ))
		return 0;
	return size;
}

/*
 * Read a value of variable length, other than a short varlena, of at most "left" bytes.  Returns
 * its length, or 0 if the bytes are damaged.
 */
static pg_noinline Size
variable_get(const char *in, Size left, const CompactAttribute *att, Datum *value,
			 ZRowDeform *state)
{
	Size		size;

	if (left == 0)
		return 0;
	if (att->attlen == -2)
	{
		const char *nul = memchr(in, '\0', left);

		*value = PointerGetDatum(in);
		return nul ? nul - in + 1 : 0;
	}

	Assert(att->attlen == -1);
	size = varlena_length(in, left);
	if (size == 0)
		return 0;
	if (VARATT_IS_1B_E(in))
		*value = PointerGetDatum(in);	/* not aligned, and need not be: the reader copies it */
	else
		*value = aligned_value(in, size, att, state);
	return size;
}

/*
 * Return whether the bytes before "end" begin with a short varlena that is no pointer into a toast
 * table; it may run past the end.
 */
static inline bool
is_short(const char *in, const char *end)
{
	return in < end && VARATT_IS_1B(in) && !VARATT_IS_1B_E(in);
}

/*
 * Begin to deform the row.  Returns false if it is too short for its own header, or stores more
 * columns than a table can have.
 */
static bool
begin_deform(const char *row, uint32 len, ZRowDeform *state)
{
	ZRowHeader	hdr;

	if (len < ZROW_HDR_SIZE)
		return false;
	zrow_header_get(row, &hdr);
	state->off = ZROW_HDR_SIZE;
	if (hdr.flags & ZROW_HASNULL)
		state->off += BITMAPLEN(hdr.natts);
	state->scratch_used = 0;
	return state->off <= len && hdr.natts <= ZROW_MAX_NATTS;
}

/*
 * Deform attributes [state->natts, upto), all of which the row stores.  Returns false if a value
 * is damaged.
 */
static bool
stored_deform(TupleDesc desc, const char *row, uint32 len, int upto,
			  Datum *values, bool *isnull, ZRowDeform *state)	/* tidy: two arrays */
{
	const char *in = row + state->off;
	const char *end = row + len;
	bool		hasnull = (row[0] & ZROW_HASNULL) != 0;

	for (int i = state->natts; i < upto; i++)
	{
		const CompactAttribute *att = TupleDescCompactAttr(desc, i);
		Size		size;

		isnull[i] = hasnull && att_isnull(i, (const uint8 *) row + ZROW_HDR_SIZE);
		if (isnull[i])
		{
			values[i] = (Datum) 0;
			continue;
		}

		if (att->attlen > 0)
		{
			size = att->attlen;
			if (unlikely(size > (Size) (end - in)))
				return false;
			if (att->attbyval)
				values[i] = byval_get(in, att->attlen);
			else
				values[i] = aligned_value(in, size, att, state);
		}
		else if (att->attlen == -1 && is_short(in, end))
		{
			size = VARSIZE_1B(in);
			if (unlikely(size > (Size) (end - in)))
				return false;
			values[i] = PointerGetDatum(in);
		}
		else
		{
			size = variable_get(in, end - in, att, &values[i], state);
			if (unlikely(size == 0))
				return false;
		}
		in += size;
	}
	state->off = (uint32) (in - row);
	return true;
}

/* Do what zrow_deform() does, for all rows. */
static pg_noinline bool
any_deform(TupleDesc desc, const char *row, uint32 len, int upto,
		   Datum *values, bool *isnull, ZRowDeform *state)	/* tidy: two arrays */
{
	int			stored;

	Assert(upto <= desc->natts);
	Assert(state->scratch == (char *) MAXALIGN(state->scratch));
	Assert(state->scratch != NULL || state->provide != NULL);

	if (state->natts == 0 && !begin_deform(row, len, state))
		return false;
	state->scratch_size = ZROW_SCRATCH_SIZE(desc->natts, len);

	stored = Min(upto, zrow_natts(row));
	if (state->natts < stored)
	{
		if (!stored_deform(desc, row, len, stored, values, isnull, state))
			return false;
		state->natts = stored;
	}

	/* columns added since the row was stored */
	for (int i = state->natts; i < upto; i++)
		values[i] = getmissingattr(desc, i + 1, &isnull[i]);
	state->natts = Max(state->natts, upto);

	Assert(state->off <= len);
	Assert(state->scratch_used <= ZROW_SCRATCH_SIZE(desc->natts, len));
	return true;
}

bool
zrow_deform(TupleDesc desc, const char *row, uint32 len, int upto,
			Datum *values, bool *isnull, ZRowDeform *state) /* tidy: two arrays */
{
	const char *in = row + ZROW_HDR_SIZE;
	const char *end = row + len;
	int			i;

	/* in this order: a shorter row has no header */
	if (state->natts > 0 || len <= ZROW_HDR_SIZE || (row[0] & ZROW_HASNULL) != 0 ||
		upto > zrow_natts(row) || zrow_natts(row) > ZROW_MAX_NATTS)
		return any_deform(desc, row, len, upto, values, isnull, state);

	for (i = 0; i < upto; i++)
	{
		const CompactAttribute *att = TupleDescCompactAttr(desc, i);
		int			size = att->attlen;

		if (att->attbyval && size <= end - in)
			values[i] = byval_get(in, size);
		else if (size == -1 && is_short(in, end) && (size = VARSIZE_1B(in)) <= end - in)
			values[i] = PointerGetDatum(in);
		else
			break;
		isnull[i] = false;
		in += size;
	}
	state->natts = i;
	state->off = (uint32) (in - row);
	state->scratch_used = 0;
	return i == upto || any_deform(desc, row, len, upto, values, isnull, state);
}
