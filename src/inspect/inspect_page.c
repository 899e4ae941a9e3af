/*
 * inspect_page.c
 *		SQL functions that show pages of zheap tables: headers, line pointers and rows, transaction
 *		slots.
 *
 * A page may be damaged: its copy is used only as far as zpage_check_header() and
 * zpage_check_row() have found it sound.
 *
 * LOCKING: AccessShareLock on the table.  Pages are copied under a share lock.
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/pg_lsn.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"

#include "inspect_private.h"

PG_FUNCTION_INFO_V1(zheap_page_header);
PG_FUNCTION_INFO_V1(zheap_page_items);
PG_FUNCTION_INFO_V1(zheap_page_slots);

/* ---- the header ---- */

enum
{
	HEADER_KIND, HEADER_LSN, HEADER_CHECKSUM, HEADER_FLAGS, HEADER_LOWER, HEADER_UPPER,
	HEADER_SPECIAL, HEADER_PAGE_SIZE, HEADER_LAYOUT, HEADER_PRUNE_XID, HEADER_FORMAT,
	HEADER_SLOTS, HEADER_ITEMS, HEADER_FREE, HEADER_OVERFLOW, HEADER_TABLE, HEADER_LOCK_PAGES,
	HEADER_REUSED, HEADER_MARKED, HEADER_IN_MAP, HEADER_DAMAGE
};

static bool
is_all_zero(Page page)
{
	for (int i = 0; i < BLCKSZ; i++)
	{
		if (page[i] != 0)
			return false;
	}
	return true;
}

/*
 * Return whether an overflow page is one or a lock page.  They have the same format, so the table
 * page decides; if that cannot be read, the answer is both names.
 */
static const char *
overflow_kind(Relation rel, BlockNumber block, Page page)
{
	BlockNumber table_block = zpage_overflow_body(page)->table_block;
	PGAlignedBlock copy;

	if (table_block >= RelationGetNumberOfBlocks(rel) ||
		!inspect_copy_any(rel, table_block, copy.data) || !zpage_is_table(copy.data))
		return "overflow or lock";
	return zpage_overflow_block(copy.data) == block ? "overflow" : "lock";
}

static void
put_server_header(Page page, InspectRow *row)
{
	PageHeader	header = (PageHeader) page;

	inspect_set(row, HEADER_LSN, LSNGetDatum(PageGetLSN(page)));
	inspect_set_int4(row, HEADER_CHECKSUM, header->pd_checksum);
	inspect_set(row, HEADER_FLAGS, inspect_page_flags(page));
	inspect_set_int4(row, HEADER_LOWER, header->pd_lower);
	inspect_set_int4(row, HEADER_UPPER, header->pd_upper);
	inspect_set_int4(row, HEADER_SPECIAL, header->pd_special);
	inspect_set_int4(row, HEADER_PAGE_SIZE, (int32) PageGetPageSize(page));
	inspect_set_int4(row, HEADER_LAYOUT, PageGetPageLayoutVersion(page));
	inspect_set(row, HEADER_PRUNE_XID, TransactionIdGetDatum(header->pd_prune_xid));
}

/* Fill in the columns of a table page; those that need a sound header stay null otherwise. */
static void
put_table_page(Page page, InspectRow *row)
{
	BlockNumber overflow = zpage_overflow_block(page);

	inspect_set_int4(row, HEADER_FORMAT, zpage_version(page));
	inspect_set_fxid(row, HEADER_REUSED, zpage_reused_fxid(page));
	inspect_set(row, HEADER_MARKED, BoolGetDatum(PageIsAllVisible(page)));
	if (overflow != InvalidBlockNumber)
		inspect_set_int8(row, HEADER_OVERFLOW, overflow);
	if (zpage_check_header(page) != NULL)
		return;
	inspect_set_int4(row, HEADER_SLOTS, zpage_nslots(page));
	inspect_set_int4(row, HEADER_ITEMS, PageGetMaxOffsetNumber(page));
	inspect_set_int4(row, HEADER_FREE, (int32) zpage_free_contiguous(page));
}

/* Fill in the columns of an overflow page or lock page. */
static void
put_overflow_page(Page page, InspectRow *row)
{
	const ZOverflowPageBody *body = zpage_overflow_body(page);
	Datum		blocks[ZPAGE_MAX_LOCK_PAGES];
	int			n = (int) Min(body->nlock_pages, ZPAGE_MAX_LOCK_PAGES);

	inspect_set_int4(row, HEADER_FORMAT, zpage_version(page));
	inspect_set_int4(row, HEADER_SLOTS, ZPAGE_OVERFLOW_SLOTS);
	inspect_set_int8(row, HEADER_TABLE, body->table_block);
	for (int i = 0; i < n; i++)
		blocks[i] = Int64GetDatum((int64) body->lock_pages[i]);
	inspect_set(row, HEADER_LOCK_PAGES,
				PointerGetDatum(construct_array(blocks, n, INT8OID, sizeof(int64),
												FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
}

/*
 * Fill in what is wrong with the page, or null.  "readable" is false if the server refused to read
 * it; "wrong" is the finding of a check, or NULL, about row "offnum" if that is valid.
 */
static void
put_damage(bool readable, const char *wrong, OffsetNumber offnum, InspectRow *row)
{
	StringInfoData text;

	initStringInfo(&text);
	if (!readable)
		appendStringInfoString(&text, "the server cannot read the page, its header or checksum is wrong");
	if (!readable && wrong != NULL)
		appendStringInfoString(&text, "; ");
	if (wrong != NULL && OffsetNumberIsValid(offnum))
		appendStringInfo(&text, "offset %u: ", offnum);
	if (wrong != NULL)
		appendStringInfoString(&text, wrong);
	if (text.len > 0)
		inspect_set_text(row, HEADER_DAMAGE, text.data);
}

static void
put_in_map(Relation rel, BlockNumber block, InspectRow *row)
{
	Buffer		map = InvalidBuffer;

	inspect_set(row, HEADER_IN_MAP, BoolGetDatum(VM_ALL_VISIBLE(rel, block, &map)));
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}

/* SQL: zheap_page_header(table, block): one row about a page of any kind, damaged or not. */
Datum
zheap_page_header(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	BlockNumber block = inspect_block(rel, PG_GETARG_INT64(1));
	InspectRow	row = {0};
	OffsetNumber offnum = InvalidOffsetNumber;
	const char *kind = "unknown";
	const char *wrong = NULL;
	PGAlignedBlock copy;
	Page		page = (Page) copy.data;
	bool		readable;

	InitMaterializedSRF(fcinfo, 0);
	readable = inspect_copy_any(rel, block, page);
	put_server_header(page, &row);
	put_in_map(rel, block, &row);
	if (is_all_zero(page))
		kind = "new";
	else if (zpage_is_overflow(page))
	{
		kind = overflow_kind(rel, block, page);
		wrong = zpage_check_overflow(page);
		put_overflow_page(page, &row);
	}
	else
	{
		wrong = zpage_check(page, &offnum);
		if (zpage_is_table(page))
		{
			kind = "table";
			put_table_page(page, &row);
		}
	}
	put_damage(readable, wrong, offnum, &row);
	inspect_set_text(&row, HEADER_KIND, kind);
	inspect_put(fcinfo, &row);
	zinspect_close(rel);
	return (Datum) 0;
}

/* ---- line pointers and rows ---- */

enum
{
	ITEM_LP, ITEM_OFF, ITEM_KIND, ITEM_LEN, ITEM_FLAGS, ITEM_SLOT, ITEM_NATTS, ITEM_TURN,
	ITEM_PADDING, ITEM_ORIGINS, ITEM_BODY, ITEM_LOCK, ITEM_ROW, ITEM_DAMAGE
};

static void
put_origins(const char *bytes, uint32 len, InspectRow *row)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	Datum		tids[ZROW_MAX_ORIGINS];
	int			n = zrow_origins_get(bytes, len, origins);

	for (int i = 0; i < n; i++)
		tids[i] = PointerGetDatum(&origins[i]);
	if (n > 0)
		inspect_set(row, ITEM_ORIGINS,
					PointerGetDatum(construct_array(tids, n, TIDOID, sizeof(ItemPointerData),
													false, TYPALIGN_SHORT)));
}

/* Fill in the columns of a row in which zpage_check_row() has found nothing wrong. */
static void
show_row(const char *bytes, uint32 space, InspectRow *row)
{
	uint32		padding = zrow_pad_length(bytes, space);
	uint32		len = space - padding;
	ZRowHeader	hdr;

	Assert(padding < space);
	zrow_header_get(bytes, &hdr);
	inspect_set(row, ITEM_FLAGS, inspect_row_flags(&hdr));
	inspect_set_int4(row, ITEM_SLOT, hdr.slotno);
	inspect_set_int4(row, ITEM_NATTS, hdr.natts);
	inspect_set_int4(row, ITEM_TURN, zrow_turn(&hdr));
	inspect_set_int4(row, ITEM_PADDING, (int32) padding);
	inspect_set(row, ITEM_ROW, inspect_row_bytes(bytes, len, &hdr));
	if (zrow_is_tombstone(&hdr))
	{
		ZUndoPtr	body;

		memcpy(&body, bytes + ZROW_HDR_SIZE, sizeof(body));
		inspect_set(row, ITEM_BODY, inspect_pointer(body));
	}
	else
		put_origins(bytes, len, row);
	if (zrow_lock_hint(hdr.flags2) >= 0)
		inspect_set_text(row, ITEM_LOCK, inspect_lock_mode(zrow_lock_hint(hdr.flags2)));
}

/* Fill in the columns of a line pointer, and of its row or what is wrong with that. */
static void
put_item(Page page, OffsetNumber offnum, InspectRow *row)
{
	static const char *const kinds[] = {
		[LP_UNUSED] = "unused",
		[LP_NORMAL] = "normal",
		[LP_REDIRECT] = "redirect",
		[LP_DEAD] = "dead"
	};
	ItemId		lp = PageGetItemId(page, offnum);
	const char *wrong = zpage_check_row(page, offnum);

	inspect_set_int4(row, ITEM_LP, offnum);
	inspect_set_int4(row, ITEM_OFF, (int32) ItemIdGetOffset(lp));
	inspect_set_text(row, ITEM_KIND, kinds[ItemIdGetFlags(lp)]);
	inspect_set_int4(row, ITEM_LEN, (int32) ItemIdGetLength(lp));
	inspect_set_text(row, ITEM_DAMAGE, wrong);
	if (wrong == NULL && ItemIdIsNormal(lp))
		show_row((const char *) page + ItemIdGetOffset(lp), ItemIdGetLength(lp), row);
}

/* SQL: zheap_page_items(table, block): the line pointers and rows of a table page. */
Datum
zheap_page_items(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	BlockNumber block = inspect_block(rel, PG_GETARG_INT64(1));
	PGAlignedBlock copy;
	Page		page = (Page) copy.data;
	OffsetNumber max;

	InitMaterializedSRF(fcinfo, 0);
	zinspect_copy(rel, block, page);
	if (zpage_check_header(page) != NULL)
		inspect_refuse_page(rel, block, page);
	max = PageGetMaxOffsetNumber(page);
	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		InspectRow	row = {0};

		put_item(page, off, &row);
		inspect_put(fcinfo, &row);
	}
	zinspect_close(rel);
	return (Datum) 0;
}

/* ---- transaction slots ---- */

enum
{
	SLOT_NUMBER, SLOT_PLACE, SLOT_BLOCK, SLOT_XID, SLOT_STATUS, SLOT_UNDO, SLOT_RECORDS
};

/* Return the name of the slot's place, and set *block to the block of the page that has it. */
static const char *
slot_place(const ZPageView *view, int slotno, BlockNumber *block)
{
	if (slotno < ZPAGE_FIRST_OVERFLOW)
	{
		*block = view->block;
		return "page";
	}
	if (!zpage_is_lock_slot(slotno))
	{
		*block = zpage_overflow_block(view->page);
		return "overflow";
	}
	*block = zpage_overflow_body(view->overflow)->lock_pages[zpage_slot_page(slotno) - 1];
	return "lock";
}

/* Fill in the columns of a slot, which may be on a lock page that has to be read. */
static void
show_slot(ZPageView *view, int slotno, InspectRow *row)
{
	Page		slots = slotno < ZPAGE_FIRST_OVERFLOW ? NULL :
		zview_slot_page(view, zpage_slot_page(slotno));
	const ZPageSlot *slot = zpage_slot(view->page, slots, slotno);
	FullTransactionId fxid = zpage_slot_fxid(slot);
	BlockNumber block;

	inspect_set_int4(row, SLOT_NUMBER, slotno);
	inspect_set_text(row, SLOT_PLACE, slot_place(view, slotno, &block));
	inspect_set_int8(row, SLOT_BLOCK, block);
	inspect_set_fxid(row, SLOT_XID, fxid);
	inspect_set_text(row, SLOT_STATUS,
					 FullTransactionIdIsValid(fxid) ? inspect_status(view, fxid) : "free");
	inspect_set_pointer(row, SLOT_UNDO, slot->undo);
	inspect_set_int4(row, SLOT_RECORDS, zpage_slot_count(slot));
}

/* SQL: zheap_page_slots(table, block): the slots of a table page, wherever they are. */
Datum
zheap_page_slots(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	BlockNumber block = inspect_block(rel, PG_GETARG_INT64(1));
	ZPageView	view;
	int			slotno = 0;

	InitMaterializedSRF(fcinfo, 0);
	zview_open(&view, rel);
	inspect_view(&view, block);
	while ((slotno = zpage_next_slotno(view.page, zview_slot_pages(&view), slotno)) != 0)
	{
		InspectRow	row = {0};

		CHECK_FOR_INTERRUPTS();
		show_slot(&view, slotno, &row);
		inspect_put(fcinfo, &row);
	}
	zview_close(&view);
	zinspect_close(rel);
	return (Datum) 0;
}
