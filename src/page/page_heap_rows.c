/*
 * page_heap_rows.c
 *		Detect what the server's heap functions leave on a page, if C code takes the table for a
 *		heap table.
 *
 * heap_insert() puts its tuple where the next row would be, at pd_upper, and takes a line pointer
 * for it.  It leaves zheap's rows as they are: so its newest tuple reveals the page, and the page
 * can be read without it.  A page that heap has made has no transaction slots and no trailer.
 *
 * heap_update(), heap_delete() and heap_lock_tuple() fail, as the row is not visible to them,
 * unless its values look like hint bits; then they write into its values.
 *
 * LOCKING: the caller holds the page's lock in any mode, or has a copy.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"

#include "zheap/page/page.h"
#include "zheap/page/row.h"

bool
zpage_is_of_heap(Page page)
{
	PageHeader	header = (PageHeader) page;

	return !PageIsNew(page) && PageGetPageSize(page) == BLCKSZ &&
		PageGetPageLayoutVersion(page) == PG_PAGE_LAYOUT_VERSION &&
		header->pd_special == BLCKSZ && header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper && header->pd_upper <= header->pd_special;
}

/* Return the length of the value at "in"; more than "left" if it is damaged. */
static uint32
bytes_of_value(Form_pg_attribute att, const char *in, uint32 left)
{
	varattrib_4b head;

	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen == -2)
		return strnlen(in, left) + 1;
	if (left > 0 && VARATT_IS_1B_E(in))
		return VARHDRSZ_EXTERNAL + sizeof(varatt_external);
	if (left > 0 && VARATT_IS_1B(in))
		return VARSIZE_1B(in);
	if (left < VARHDRSZ)
		return left + 1;
	memcpy(&head, in, VARHDRSZ);
	return Max(VARSIZE_4B(&head), VARHDRSZ);
}

/* Return whether all the bytes, without padding, are a row with at most the table's columns. */
static bool
is_whole_row(TupleDesc desc, const char *row, uint32 len)
{
	int			natts = zrow_natts(row);
	uint32		end = len - zrow_origins_length(row, len);
	uint32		off = zrow_values_offset(row);

	if (natts > desc->natts)
		return false;
	for (int i = 0; i < natts && off <= end; i++)
	{
		if ((zrow_flags(row) & ZROW_HASNULL) == 0 ||
			!att_isnull(i, (const uint8 *) row + ZROW_HDR_SIZE))
			off += bytes_of_value(TupleDescAttr(desc, i), row + off, end - off);
	}
	return off == end;
}

/*
 * Return whether this is a tuple with a header as heap_insert() makes it, and not a zheap row.
 * Both are needed: a row's values may be anything, and during ALTER TABLE the columns already
 * differ from those of the rows.
 */
static bool
is_heap_tuple(Page page, OffsetNumber offnum, TupleDesc desc)
{
	ItemId		lp = PageGetItemId(page, offnum);
	const char *row = (const char *) page + ItemIdGetOffset(lp);
	uint32		len = ItemIdGetLength(lp);
	HeapTupleHeaderData tuple;
	int			natts;
	uint32		hoff = SizeofHeapTupleHeader;

	if (len <= SizeofHeapTupleHeader)
		return false;
	memcpy(&tuple, row, SizeofHeapTupleHeader);
	natts = HeapTupleHeaderGetNatts(&tuple);
	if ((tuple.t_infomask & HEAP_HASNULL) != 0)
		hoff += BITMAPLEN(natts);
	if (natts == 0 || natts > desc->natts || tuple.t_hoff != MAXALIGN(hoff) ||
		len < tuple.t_hoff || !TransactionIdIsValid(HeapTupleHeaderGetRawXmin(&tuple)))
		return false;
	return zpage_check_row(page, offnum) != NULL ||
		!is_whole_row(desc, row, len - zrow_pad_length(row, len));
}

bool
zpage_is_changed_by_heap(Page page, BlockNumber block, OffsetNumber offnum, TupleDesc desc)
{
	const char *row = (const char *) page + ItemIdGetOffset(PageGetItemId(page, offnum));
	HeapTupleHeaderData tuple;
	TransactionId xmax;

	memcpy(&tuple, row, SizeofHeapTupleHeader);
	xmax = HeapTupleHeaderGetRawXmax(&tuple);
	/* heap took it for visible, and then set an xmax */
	if (ItemPointerGetBlockNumberNoCheck(&tuple.t_ctid) != block ||
		ItemPointerGetOffsetNumberNoCheck(&tuple.t_ctid) != offnum ||
		(tuple.t_infomask & HEAP_XMIN_COMMITTED) == 0 ||
		(tuple.t_infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_COMMITTED)) != 0 ||
		!TransactionIdIsNormal(xmax))
		return false;

	/*
	 * The lowest bits of xmax are the row's number of columns, and of its slot.  That
	 * heap_delete() stores xmax in the page's header, too, proves nothing: so does a deletion of
	 * zheap's.
	 */
	return zpage_check_row(page, offnum) != NULL || zrow_natts(row) > desc->natts;
}

bool
zpage_has_heap_rows(Page page, BlockNumber block, TupleDesc desc)
{
	OffsetNumber newest = zpage_newest_heap_row(page, block);

	if ((((PageHeader) page)->pd_flags & PD_PAGE_FULL) != 0)
		return true;
	if (newest == InvalidOffsetNumber)
		return false;
	if (desc == NULL)
		return zpage_check_row(page, newest) != NULL;
	return is_heap_tuple(page, newest, desc);
}

bool
zpage_has_changed_rows(Page page, BlockNumber block, TupleDesc desc)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);

		/* a damaged line pointer may lead out of the page */
		if (ItemIdIsNormal(lp) && ItemIdGetOffset(lp) <= BLCKSZ - SizeofHeapTupleHeader &&
			zpage_row_names_itself(page, off) && zpage_is_changed_by_heap(page, block, off, desc))
			return true;
	}
	return false;
}

void
zpage_forget_heap_rows(Page page, BlockNumber block, TupleDesc desc)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);

		if (!ItemIdIsUsed(lp) || ItemIdIsDead(lp))
			continue;
		if (zpage_check_row(page, off) != NULL || is_heap_tuple(page, off, desc) ||
			(ItemIdGetOffset(lp) <= BLCKSZ - SizeofHeapTupleHeader &&
			 zpage_row_names_itself(page, off) &&
			 zpage_is_changed_by_heap(page, block, off, desc)))
			ItemIdSetDead(lp);
	}
}
