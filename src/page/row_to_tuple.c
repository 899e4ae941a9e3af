/*
 * row_to_tuple.c
 *		Convert row bytes to a heap tuple, in one pass.
 *
 * The server gets copies of rows as heap tuples: ANALYZE its sample, triggers in PL languages OLD
 * and NEW.  The order of values, the null bitmap and the values themselves are the same in both
 * formats; a tuple has padding before values that need alignment.  So the values need not be
 * taken apart and put together again, for which the server goes through the columns three times.
 *
 * Bytes that are not as expected are left to zrow_deform(), whose caller reports damage.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"

#include "zheap/base/pg_compat_tupdesc.h"
#include "zheap/page/row.h"

/* The tuple, whose length is not known before it is complete; room for padding behind its end. */
static union
{
	HeapTupleHeaderData header;
	char		bytes[2 * BLCKSZ + MAXIMUM_ALIGNOF];
	double		force_align_d;
	int64		force_align_i64;
}			made;

/* Return whether a row of natts columns, with padding, certainly has room there. */
static inline bool
fits_made(uint32 len, int natts)
{
	return (Size) len + (Size) natts * MAXIMUM_ALIGNOF + SizeofHeapTupleHeader +
		MAXIMUM_ALIGNOF <= 2 * BLCKSZ;
}

/* Put padding of zeroes, as the server has in its tuples, and return where it ends. */
static inline char *
padding_put(char *out, const CompactAttribute *att)
{
	memset(out, 0, MAXIMUM_ALIGNOF);
	return (char *) TYPEALIGN(zcompat_alignby(att), out);
}

/* Copy a value of fixed length. */
static inline void
fixed_put(char *out, const char *in, Size size)
{
	if (size == sizeof(int32))
		memcpy(out, in, sizeof(int32));
	else if (size == sizeof(int64))
		memcpy(out, in, sizeof(int64));
	else
		memcpy(out, in, size);
}

/*
 * Put a varlena with a 4-byte header.  Returns its end; NULL if it is damaged, or would get a
 * short header in a tuple: the column's storage has been changed since it was stored.
 */
static char *
long_varlena_put(char *out, TupleDesc desc, int i, const char *in, Size left, Size *size)
{
	varattrib_4b head;

	if (left < VARHDRSZ_COMPRESSED)
		return NULL;
	memcpy(&head, in, VARHDRSZ);
	*size = VARSIZE_4B(&head);
	if (*size > left || *size < VARHDRSZ_COMPRESSED ||
		(VARATT_IS_4B_U(&head) && TupleDescAttr(desc, i)->attstorage != TYPSTORAGE_PLAIN &&
		 *size - VARHDRSZ + VARHDRSZ_SHORT <= VARATT_SHORT_MAX))
		return NULL;
	out = padding_put(out, TupleDescCompactAttr(desc, i));
	memcpy(out, in, *size);
	return out + *size;
}

/*
 * Put the values of the columns, of which those whose bit is not set in "bits" are null.  Returns
 * their end; NULL if a value is not of a common kind.  *infomask gets HASVARWIDTH.
 */
static char *
values_put(TupleDesc desc, const char *in, const char *end, const uint8 *bits, char *out,
		   uint16 *infomask)
{
	for (int i = 0; i < desc->natts; i++)
	{
		const CompactAttribute *att = TupleDescCompactAttr(desc, i);
		Size		size;

		if (bits != NULL && att_isnull(i, bits))
			continue;
		if (att->attlen > 0)
		{
			size = att->attlen;
			if (unlikely(size > (Size) (end - in)))
				return NULL;
			out = padding_put(out, att);
			fixed_put(out, in, size);
			out += size;
		}
		else
		{
			if (att->attlen != -1 || in >= end || VARATT_IS_1B_E(in))
				return NULL;
			*infomask |= HEAP_HASVARWIDTH;
			if (VARATT_IS_1B(in))
			{
				size = VARSIZE_1B(in);
				if (unlikely(size > (Size) (end - in)))
					return NULL;
				memcpy(out, in, size);
				out += size;
			}
			else if ((out = long_varlena_put(out, desc, i, in, end - in, &size)) == NULL)
				return NULL;
		}
		in += size;
	}
	return out;
}

/* Copy what has been made, as heap_form_tuple() allocates it, with the Datum fields. */
static HeapTuple
tuple_copy(TupleDesc desc, uint32 len)
{
	HeapTuple	tuple = palloc(HEAPTUPLESIZE + len);

	tuple->t_len = len;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	HeapTupleHeaderSetDatumLength(&made.header, len);
	HeapTupleHeaderSetTypeId(&made.header, desc->tdtypeid);
	HeapTupleHeaderSetTypMod(&made.header, desc->tdtypmod);
	ItemPointerSetInvalid(&made.header.t_ctid);
	memcpy(tuple->t_data, &made, len);
	return tuple;
}

HeapTuple
zrow_heap_tuple(TupleDesc desc, const char *row, uint32 len)
{
	int			natts = desc->natts;
	Size		values = ZROW_HDR_SIZE;
	Size		hoff = SizeofHeapTupleHeader;
	const uint8 *bits = NULL;
	char	   *end;

	if (len < ZROW_HDR_SIZE || zrow_natts(row) != natts || !fits_made(len, natts))
		return NULL;
	made.header.t_infomask = made.header.t_infomask2 = 0;
	if ((zrow_flags(row) & ZROW_HASNULL) != 0)
	{
		bits = (const uint8 *) row + ZROW_HDR_SIZE;
		values += BITMAPLEN(natts);
		hoff += BITMAPLEN(natts);
		if (values > len)
			return NULL;
		made.header.t_infomask = HEAP_HASNULL;
	}
	/* the padding before the values, too */
	memset(made.bytes + SizeofHeapTupleHeader, 0, MAXALIGN(hoff) - SizeofHeapTupleHeader);
	if (bits != NULL)
		memcpy(made.header.t_bits, bits, BITMAPLEN(natts));
	hoff = MAXALIGN(hoff);
	made.header.t_hoff = (uint8) hoff;
	HeapTupleHeaderSetNatts(&made.header, natts);
	end = values_put(desc, row + values, row + len, bits, made.bytes + hoff,
					 &made.header.t_infomask);
	return end == NULL ? NULL : tuple_copy(desc, (uint32) (end - made.bytes));
}
