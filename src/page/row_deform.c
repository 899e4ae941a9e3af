/*
 * row_deform.c
 *		Convert row bytes to values.
 *
 * This is the inner loop of sequential scans.  Three things keep it short: rows without nulls have
 * a loop of their own, by-value columns and short varlenas need no call, and all that may need an
 * aligned copy is out of line.
 *
 * Nothing here trusts the bytes: each length is compared with the rest of the row before it is
 * used.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"

#include "zheap/page/row.h"

/* The row's bytes, as the loops below need them. */
typedef struct RowBytes
{
	const char *start;
	const char *end;
	const uint8 *bits;			/* null bitmap, or anything if there is none */
	int			upto;			/* attributes to deform; all of them are stored */
	int			natts;			/* attributes of the descriptor */
} RowBytes;

/* Copy a value to the scratch space.  Out of line, as few values need it. */
static pg_noinline Datum
aligned_copy(const char *in, Size size, char attalign, const RowBytes *bytes, ZRowDeform *state)
{
	char	   *copy;

	if (state->scratch == NULL)
		state->scratch = state->provide(state, ZROW_SCRATCH_SIZE(bytes->natts,
																 bytes->end - bytes->start));
	copy = (char *) att_align_nominal((uintptr_t) (state->scratch + state->scratch_used),
									  attalign);
	memcpy(copy, in, size);
	state->scratch_used = (uint32) (copy + size - state->scratch);
	return PointerGetDatum(copy);
}

/*
 * Return a by-reference value at "in": itself if its address suits the type, otherwise a copy in
 * the scratch space.
 */
static inline Datum
aligned_value(const char *in, Size size, char attalign, const RowBytes *bytes, ZRowDeform *state)
{
	if (likely(zrow_is_aligned(in, attalign)))
		return PointerGetDatum(in);
	return aligned_copy(in, size, attalign, bytes, state);
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
 * Read a value of variable length, other than a short varlena.  Returns its length, or 0 if the
 * bytes are damaged.
 */
static pg_noinline Size
variable_get(const char *in, Form_pg_attribute att, Datum *value, const RowBytes *bytes,
			 ZRowDeform *state)
{
	Size		left = bytes->end - in;
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
		*value = aligned_value(in, size, att->attalign, bytes, state);
	return size;
}

/*
 * Deform attributes [state->natts, bytes->upto).  Returns false if a value is damaged.  Compiled
 * twice: "hasnull" is a constant in each call.
 */
static pg_attribute_always_inline bool
stored_deform(TupleDesc desc, const RowBytes *bytes, bool hasnull,
			  Datum *values, bool *isnull, ZRowDeform *state)
{
	const char *in = bytes->start + state->off;
	const char *end = bytes->end;
	int			upto = bytes->upto;
	int			i;

	for (i = state->natts; i < upto; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			attlen = att->attlen;
		Size		size;

		if (hasnull && att_isnull(i, bytes->bits))
		{
			values[i] = (Datum) 0;
			isnull[i] = true;
			continue;
		}
		isnull[i] = false;

		if (attlen > 0)
		{
			size = attlen;
			if (unlikely(size > (Size) (end - in)))
				return false;
			if (att->attbyval)
				values[i] = byval_get(in, attlen);
			else
				values[i] = aligned_value(in, size, att->attalign, bytes, state);
		}
		else if (attlen == -1 && in < end && VARATT_IS_1B(in) && !VARATT_IS_1B_E(in))
		{
			size = VARSIZE_1B(in);
			if (unlikely(size > (Size) (end - in)))
				return false;
			values[i] = PointerGetDatum(in);
		}
		else
		{
			size = variable_get(in, att, &values[i], bytes, state);
			if (unlikely(size == 0))
				return false;
		}
		in += size;
	}
	state->off = (uint32) (in - bytes->start);
	return true;
}

/* Return where the values begin; 0 if the row is too short for its own header. */
static inline uint32
body_offset(const ZRowHeader *hdr, uint32 len)
{
	uint32		off = ZROW_HDR_SIZE;

	if (hdr->flags & ZROW_HASNULL)
		off += BITMAPLEN(hdr->natts);
	return off <= len ? off : 0;
}

bool
zrow_deform(TupleDesc desc, const char *row, uint32 len, int upto,
			Datum *values, bool *isnull, ZRowDeform *state) /* tidy: two arrays */
{
	ZRowHeader	hdr;
	RowBytes	bytes;
	int			i;

	Assert(upto <= desc->natts);
	Assert(state->scratch == (char *) MAXALIGN(state->scratch));
	Assert(state->scratch != NULL || state->provide != NULL);

	if (unlikely(len < ZROW_HDR_SIZE))
		return false;
	zrow_header_get(row, &hdr);
	if (state->natts == 0)
	{
		state->off = body_offset(&hdr, len);
		state->scratch_used = 0;
		if (unlikely(state->off == 0 || hdr.natts > ZROW_MAX_NATTS))
			return false;
	}

	bytes.start = row;
	bytes.end = row + len;
	bytes.upto = Min(upto, hdr.natts);
	bytes.natts = desc->natts;
	bytes.bits = (const uint8 *) row + ZROW_HDR_SIZE;
	if (state->natts < bytes.upto)
	{
		bool		sound;

		if (hdr.flags & ZROW_HASNULL)
			sound = stored_deform(desc, &bytes, true, values, isnull, state);
		else
			sound = stored_deform(desc, &bytes, false, values, isnull, state);
		if (unlikely(!sound))
			return false;
		state->natts = bytes.upto;
	}

	/* columns added since the row was stored */
	for (i = state->natts; i < upto; i++)
		values[i] = getmissingattr(desc, i + 1, &isnull[i]);
	state->natts = Max(state->natts, upto);

	Assert(state->off <= len);
	Assert(state->scratch_used <= ZROW_SCRATCH_SIZE(desc->natts, len));
	return true;
}
