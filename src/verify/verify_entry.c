/*
 * verify_entry.c
 *		Index entries: bounds checks of items on a page that may be damaged, and keys as bytes
 *		that can be compared with a row's.
 *
 * Values are compared in full, uncompressed form, since a value that is compressed in the table
 * may be stored uncompressed in the index.
 *
 * LOCKING: none; pages are private copies.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "storage/bufpage.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "verify_private.h"

bool
verify_pointer_exists(Page page, OffsetNumber offnum)
{
	return offnum != InvalidOffsetNumber && offnum <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsUsed(PageGetItemId(page, offnum));
}

/* ---- on the page ---- */

bool
verify_item_fits(Page page, OffsetNumber offnum)
{
	PageHeader	header = (PageHeader) page;
	ItemId		item = PageGetItemId(page, offnum);
	uint32		off = ItemIdGetOffset(item);
	uint32		len = ItemIdGetLength(item);

	return (ItemIdIsNormal(item) || ItemIdIsDead(item)) && off == MAXALIGN(off) &&
		off >= header->pd_upper && len >= sizeof(IndexTupleData) &&
		off + len <= header->pd_special;
}

bool
verify_items_fit(Page page)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		if (!verify_item_fits(page, off))
			return false;
	}
	return true;
}

bool
verify_has_special(Page page, Size special)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_lower >= SizeOfPageHeaderData && header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special && header->pd_special == BLCKSZ - MAXALIGN(special);
}

IndexTuple
verify_index_tuple(Page page, OffsetNumber offnum)
{
	ItemId		item = PageGetItemId(page, offnum);
	IndexTuple	tuple = (IndexTuple) ((char *) page + ItemIdGetOffset(item));

	return verify_item_fits(page, offnum) && IndexTupleSize(tuple) == ItemIdGetLength(item) ?
		tuple : NULL;
}

/* Return the length of the value at "at", or 0 if it does not fit before "end". */
static Size
stored_length(const char *at, const char *end, int16 attlen)
{
	Size		room = end - at;
	Size		len;

	if (attlen > 0)
		len = attlen;
	else if (attlen == -2)
		len = strnlen(at, room) + 1;
	else if (VARATT_IS_1B_E(at))
		return 0;				/* indexes have no toasted values */
	else if (VARATT_IS_1B(at))
		len = VARSIZE_1B(at);
	else if (room < (VARATT_IS_4B_C(at) ? VARHDRSZ_COMPRESSED : VARHDRSZ))
		return 0;
	else
	{
		len = VARSIZE_4B(at);
		if (len < (VARATT_IS_4B_C(at) ? VARHDRSZ_COMPRESSED : VARHDRSZ))
			return 0;
	}
	return len <= room ? len : 0;
}

const char *
verify_value_end(const char *start, const char *at, const char *end, int16 attlen, char attalign)
{
	Size		len;

	Assert(start <= at);
	if (at < end)
		at = start + att_align_pointer(at - start, attalign, attlen, at);
	if (at >= end)
		return NULL;
	len = stored_length(at, end, attlen);
	return len == 0 ? NULL : at + len;
}

bool
verify_entry_values(IndexTuple tuple, Size size, TupleDesc desc, Datum *values, bool *isnull)
{
	const char *start = (const char *) tuple + IndexInfoFindDataOffset(tuple->t_info);
	const char *end = (const char *) tuple + size;
	uint8	   *nulls = (uint8 *) ((char *) tuple + sizeof(IndexTupleData));
	const char *at = start;

	if (start > end)
		return false;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		const char *value_end;

		values[i] = (Datum) 0;
		isnull[i] = IndexTupleHasNulls(tuple) && att_isnull(i, nulls);
		if (isnull[i])
			continue;
		value_end = verify_value_end(start, at, end, att->attlen, att->attalign);
		if (value_end == NULL)
			return false;
		at = start + att_align_pointer(at - start, att->attalign, att->attlen, at);
		values[i] = fetchatt(att, at);
		at = value_end;
	}
	return true;
}

/* ---- keys as bytes ---- */

/* Append a value, whole and uncompressed; ERROR (data_corrupted) if it cannot be decompressed. */
static void
append_value(StringInfo bytes, Form_pg_attribute att, Datum value)
{
	if (att->attbyval)
	{
		Datum		stored = 0;

		/* bytes of a Datum beyond the value's length are not always the same */
		store_att_byval(&stored, value, att->attlen);
		appendBinaryStringInfo(bytes, (const char *) &stored, sizeof(stored));
	}
	else if (att->attlen == -1)
	{
		struct varlena *whole = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));
		int32		len = VARSIZE_ANY_EXHDR(whole);

		appendBinaryStringInfo(bytes, (const char *) &len, sizeof(len));
		appendBinaryStringInfo(bytes, VARDATA_ANY(whole), len);
	}
	else
		appendBinaryStringInfo(bytes, DatumGetPointer(value),
							   (int) datumGetSize(value, false, att->attlen));
}

StringInfo
verify_key_bytes(TupleDesc desc, const Datum *values, const bool *isnull)
{
	StringInfo	bytes = makeStringInfo();

	for (int i = 0; i < desc->natts; i++)
	{
		appendStringInfoChar(bytes, isnull[i] ? 'n' : 'v');
		if (!isnull[i])
			append_value(bytes, TupleDescAttr(desc, i), values[i]);
	}
	return bytes;
}

static void
append_tid(StringInfo bytes, int len, ItemPointer tid)
{
	Assert(len <= bytes->len);
	bytes->len = len;
	appendBinaryStringInfo(bytes, (const char *) tid, sizeof(ItemPointerData));
}

void
verify_add_entry(bloom_filter *filter, StringInfo bytes, int len, ItemPointer tid)
{
	append_tid(bytes, len, tid);
	bloom_add_element(filter, (unsigned char *) bytes->data, bytes->len);
}

bool
verify_lacks_entry(bloom_filter *filter, StringInfo bytes, int len, ItemPointer tid)
{
	append_tid(bytes, len, tid);
	return bloom_lacks_element(filter, (unsigned char *) bytes->data, bytes->len);
}
