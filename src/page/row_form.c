/*
 * row_form.c
 *		Convert values to row bytes.
 *
 * Two passes make the same decisions: value_length() returns how many bytes a value takes and
 * which flag it needs, value_put() writes them.  That they agree is asserted for each value.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "zheap/page/row.h"

/* Return whether a 4-byte header of this attribute may be stored as a short one. */
static inline bool
att_is_packable(Form_pg_attribute att)
{
	return att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
}

/* Return the stored length of an uncompressed inline varlena with a 4-byte header. */
static inline Size
packed_length(Form_pg_attribute att, Size size)
{
	if (att_is_packable(att) && size - VARHDRSZ + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
		return size - VARHDRSZ + VARHDRSZ_SHORT;
	return size;
}

/*
 * Return the stored length of a pointer to an external value; one into memory (an expanded object)
 * is flattened.
 */
static Size
external_length(Form_pg_attribute att, const struct varlena *value, uint8 *flags)
{
	if (VARATT_IS_EXTERNAL_EXPANDED(value))
		return packed_length(att, EOH_get_flat_size(DatumGetEOHP(PointerGetDatum(value))));
	*flags |= ZROW_HASEXTERNAL;
	return VARSIZE_EXTERNAL(value);
}

/* Return the bytes that value_put() will write.  Sets the flags that the value needs. */
static inline Size
value_length(Form_pg_attribute att, Datum value, uint8 *flags)
{
	const struct varlena *varlena;

	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen == -2)
		return strlen(DatumGetCString(value)) + 1;

	Assert(att->attlen == -1);
	varlena = (const struct varlena *) DatumGetPointer(value);
	if (VARATT_IS_EXTERNAL(varlena))
		return external_length(att, varlena, flags);
	if (VARATT_IS_4B_U(varlena))
		return packed_length(att, VARSIZE_4B(varlena));
	return VARSIZE_ANY(varlena);
}

/*
 * Write a by-value column, through a variable of its own width, so that byte order does not
 * matter.
 */
static inline void
byval_put(char *out, Datum value, int attlen)
{
	switch (attlen)
	{
		case sizeof(char):
			*out = DatumGetChar(value);
			break;
		case sizeof(int16):
			{
				int16		v = DatumGetInt16(value);

				memcpy(out, &v, sizeof(v));
				break;
			}
		case sizeof(int32):
			{
				int32		v = DatumGetInt32(value);

				memcpy(out, &v, sizeof(v));
				break;
			}
#if SIZEOF_DATUM == 8
		case sizeof(Datum):
			memcpy(out, &value, sizeof(value));
			break;
#endif
		default:
			elog(ERROR, "unsupported byval length: %d", attlen);
	}
}

/*
 * Write an uncompressed varlena with a 4-byte header, made short where allowed.  Returns the
 * length.
 */
static Size
packable_put(char *out, Form_pg_attribute att, const char *value)
{
	Size		size = VARSIZE_4B(value);
	Size		packed = packed_length(att, size);

	if (packed < size)
	{
		SET_VARSIZE_SHORT(out, packed);
		memcpy(out + VARHDRSZ_SHORT, value + VARHDRSZ, packed - VARHDRSZ_SHORT);
	}
	else
		memcpy(out, value, size);
	return packed;
}

/*
 * Write an expanded object, through a palloc'd copy: it flattens only into aligned memory, which a
 * row does not have.  Returns the length.
 */
static Size
expanded_put(char *out, Form_pg_attribute att, Datum value)
{
	ExpandedObjectHeader *eoh = DatumGetEOHP(value);
	Size		size = EOH_get_flat_size(eoh);
	char	   *flat = palloc(size);
	Size		length;

	EOH_flatten_into(eoh, flat, size);
	Assert(VARATT_IS_4B_U(flat) && VARSIZE_4B(flat) == size);
	length = packable_put(out, att, flat);
	pfree(flat);
	return length;
}

/* Write a varlena.  Returns its length. */
static inline Size
varlena_put(char *out, Form_pg_attribute att, Datum value)
{
	char	   *varlena = DatumGetPointer(value);
	Size		size;

	if (VARATT_IS_4B_U(varlena))
		return packable_put(out, att, varlena);
	if (VARATT_IS_EXTERNAL(varlena) && VARATT_IS_EXTERNAL_EXPANDED(varlena))
		return expanded_put(out, att, value);
	size = VARSIZE_ANY(varlena);
	memcpy(out, varlena, size);
	return size;
}

/* Write a value.  Returns its length. */
static pg_attribute_always_inline Size
value_put(char *out, Form_pg_attribute att, Datum value)
{
	Size		size;

	if (att->attbyval)
	{
		byval_put(out, value, att->attlen);
		return att->attlen;
	}
	if (att->attlen == -1)
		return varlena_put(out, att, value);

	size = att->attlen > 0 ? (Size) att->attlen : strlen(DatumGetCString(value)) + 1;
	memcpy(out, DatumGetPointer(value), size);
	return size;
}

uint32
zrow_form_length(TupleDesc desc, const Datum *values, const bool *isnull, uint8 *flags)
{
	int			natts = desc->natts;
	Size		length = ZROW_HDR_SIZE;
	int			i;

	Assert(natts >= 0 && natts <= ZROW_MAX_NATTS);
	*flags = 0;
	for (i = 0; i < natts; i++)
	{
		if (isnull[i])
			*flags |= ZROW_HASNULL;
		else
			length += value_length(TupleDescAttr(desc, i), values[i], flags);
	}
	if (*flags & ZROW_HASNULL)
		length += BITMAPLEN(natts);
	if (!AllocSizeIsValid(length))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %zu, maximum size %zu",
						length, (Size) MaxAllocSize)));
	return (uint32) length;
}

/* Return whether the value at "in", in a row, has the alignment that its type demands. */
static inline bool
suits_type(const char *in, Form_pg_attribute att)
{
	return att->attlen == -2 || (att->attlen == -1 && VARATT_IS_1B(in)) ||
		zrow_is_aligned(in, att->attalign);
}

/*
 * Form a row, in both ways.  "places", a constant NULL in zrow_form() and the values themselves in
 * zrow_form_at(), gets the addresses of the by-reference values in the row.  Returns whether these
 * are all aligned.
 */
static pg_attribute_always_inline bool
form(TupleDesc desc, const Datum *values, const bool *isnull, char *row, uint8 flags,
	 Datum *places)
{
	int			natts = desc->natts;
	ZRowHeader	hdr = {.flags = flags, .natts = natts};
	uint8	   *bits = NULL;
	char	   *out = row + ZROW_HDR_SIZE;
	bool		aligned = true;
	int			i;

	if (flags & ZROW_HASNULL)
	{
		bits = (uint8 *) out;
		memset(bits, 0, BITMAPLEN(natts));
		out += BITMAPLEN(natts);
	}
	for (i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		uint8		asked PG_USED_FOR_ASSERTS_ONLY = 0;
		Size		size;

		if (isnull[i])
			continue;
		if (bits != NULL)
			bits[i >> 3] |= 1 << (i & 7);
		size = value_put(out, att, values[i]);
		Assert(size == value_length(att, values[i], &asked));
		Assert((asked & ~flags) == 0);
		if (places != NULL && !att->attbyval)
		{
			places[i] = PointerGetDatum(out);
			aligned = aligned && suits_type(out, att);
		}
		out += size;
	}
	zrow_header_put(row, &hdr);
	return aligned;
}

char *
zrow_form(TupleDesc desc, const Datum *values, const bool *isnull, uint32 *len)
{
	uint8		flags;
	char	   *row;

	*len = zrow_form_length(desc, values, isnull, &flags);
	row = palloc(*len);
	form(desc, values, isnull, row, flags, NULL);
	return row;
}

bool
zrow_form_at(TupleDesc desc, Datum *values, const bool *isnull, char *row, uint8 flags)
{
	return form(desc, values, isnull, row, flags, values);
}
