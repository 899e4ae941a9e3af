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

#include "access/htup_details.h"
#include "utils/tuplestore.h"
#include "access/visibilitymap.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/xid8.h"
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
	HEADER_REUSED, HEADER_MARKED, HEADER_IN_MAP, HEADER_DAMAGE,
	HEADER_COLUMNS
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
put_server_header(Page page, Datum *values, bool *nulls)
{
	PageHeader	header = (PageHeader) page;

	values[HEADER_LSN] = LSNGetDatum(PageGetLSN(page));
	values[HEADER_CHECKSUM] = Int32GetDatum(header->pd_checksum);
	values[HEADER_FLAGS] = inspect_page_flags(page);
	values[HEADER_LOWER] = Int32GetDatum(header->pd_lower);
	values[HEADER_UPPER] = Int32GetDatum(header->pd_upper);
	values[HEADER_SPECIAL] = Int32GetDatum(header->pd_special);
	values[HEADER_PAGE_SIZE] = Int32GetDatum((int32) PageGetPageSize(page));
	values[HEADER_LAYOUT] = Int32GetDatum(PageGetPageLayoutVersion(page));
	values[HEADER_PRUNE_XID] = TransactionIdGetDatum(header->pd_prune_xid);
	for (int i = HEADER_LSN; i <= HEADER_PRUNE_XID; i++)
		nulls[i] = false;
}

static void
put_number(int column, int64 number, Datum *values, bool *nulls)
{
	values[column] = Int64GetDatum(number);
	nulls[column] = false;
}

/* Fill in the columns of a table page; those that need a sound header stay null otherwise. */
static void
put_table_page(Page page, Datum *values, bool *nulls)
{
	BlockNumber overflow = zpage_overflow_block(page);
	FullTransactionId reused = zpage_reused_fxid(page);

	values[HEADER_FORMAT] = Int32GetDatum(zpage_version(page));
	values[HEADER_REUSED] = FullTransactionIdGetDatum(reused);
	values[HEADER_MARKED] = BoolGetDatum(PageIsAllVisible(page));
	nulls[HEADER_FORMAT] = nulls[HEADER_MARKED] = false;
	nulls[HEADER_REUSED] = !FullTransactionIdIsValid(reused);
	if (overflow != InvalidBlockNumber)
		put_number(HEADER_OVERFLOW, overflow, values, nulls);
	if (zpage_check_header(page) != NULL)
		return;
	values[HEADER_SLOTS] = Int32GetDatum(zpage_nslots(page));
	values[HEADER_ITEMS] = Int32GetDatum(PageGetMaxOffsetNumber(page));
	values[HEADER_FREE] = Int32GetDatum((int32) zpage_free_contiguous(page));
	nulls[HEADER_SLOTS] = nulls[HEADER_ITEMS] = nulls[HEADER_FREE] = false;
}

/* Fill in the columns of an overflow page or lock page. */
static void
put_overflow_page(Page page, Datum *values, bool *nulls)
{
	const ZOverflowPageBody *body = zpage_overflow_body(page);
	Datum		blocks[ZPAGE_MAX_LOCK_PAGES];
	int			n = (int) Min(body->nlock_pages, ZPAGE_MAX_LOCK_PAGES);

	values[HEADER_FORMAT] = Int32GetDatum(zpage_version(page));
	values[HEADER_SLOTS] = Int32GetDatum(ZPAGE_OVERFLOW_SLOTS);
	nulls[HEADER_FORMAT] = nulls[HEADER_SLOTS] = false;
	put_number(HEADER_TABLE, body->table_block, values, nulls);
	for (int i = 0; i < n; i++)
		blocks[i] = Int64GetDatum((int64) body->lock_pages[i]);
	values[HEADER_LOCK_PAGES] = PointerGetDatum(construct_array(blocks, n, INT8OID, sizeof(int64),
																FLOAT8PASSBYVAL,
																TYPALIGN_DOUBLE));
	nulls[HEADER_LOCK_PAGES] = false;
}

/*
 * Fill in what is wrong with the page, or null.  "readable" is false if the server refused to read
 * it; "wrong" is the finding of a check, or NULL, about row "offnum" if that is valid.
 */
static void
put_damage(bool readable, const char *wrong, OffsetNumber offnum, Datum *values, bool *nulls)
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
	nulls[HEADER_DAMAGE] = text.len == 0;
	values[HEADER_DAMAGE] = CStringGetTextDatum(text.data);
}

static void
put_in_map(Relation rel, BlockNumber block, Datum *values, bool *nulls)
{
	Buffer		map = InvalidBuffer;

	values[HEADER_IN_MAP] = BoolGetDatum(VM_ALL_VISIBLE(rel, block, &map));
	nulls[HEADER_IN_MAP] = false;
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}

/* SQL: zheap_page_header(table, block): one row about a page of any kind, damaged or not. */
Datum
zheap_page_header(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	BlockNumber block = inspect_block(rel, PG_GETARG_INT64(1));
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[HEADER_COLUMNS] = {0};
	bool		nulls[HEADER_COLUMNS];
	OffsetNumber offnum = InvalidOffsetNumber;
	const char *kind = "unknown";
	const char *wrong;
	PGAlignedBlock copy;
	Page		page = (Page) copy.data;
	bool		readable;

	InitMaterializedSRF(fcinfo, 0);
	memset(nulls, true, sizeof(nulls));
	readable = inspect_copy_any(rel, block, page);
	put_server_header(page, values, nulls);
	put_in_map(rel, block, values, nulls);
	if (is_all_zero(page))
	{
		kind = "new";
		wrong = NULL;
	}
	else if (zpage_is_overflow(page))
	{
		kind = overflow_kind(rel, block, page);
		wrong = zpage_check_overflow(page);
		put_overflow_page(page, values, nulls);
	}
	else
	{
		wrong = zpage_check(page, &offnum);
		if (zpage_is_table(page))
		{
			kind = "table";
			put_table_page(page, values, nulls);
		}
	}
	put_damage(readable, wrong, offnum, values, nulls);
	values[HEADER_KIND] = CStringGetTextDatum(kind);
	nulls[HEADER_KIND] = false;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	zinspect_close(rel);
	return (Datum) 0;
}

/* ---- line pointers and rows ---- */

enum
{
	ITEM_LP, ITEM_OFF, ITEM_KIND, ITEM_LEN, ITEM_FLAGS, ITEM_SLOT, ITEM_NATTS, ITEM_TURN,
	ITEM_PADDING, ITEM_ORIGINS, ITEM_BODY, ITEM_LOCK, ITEM_ROW, ITEM_DAMAGE,
	ITEM_COLUMNS
};

static Datum
origins_array(const char *row, uint32 len, int *count)
{
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	Datum		tids[ZROW_MAX_ORIGINS];

	*count = zrow_origins_get(row, len, origins);
	for (int i = 0; i < *count; i++)
		tids[i] = PointerGetDatum(&origins[i]);
	return PointerGetDatum(construct_array(tids, *count, TIDOID, sizeof(ItemPointerData), false,
										   TYPALIGN_SHORT));
}

/* Fill in the columns of a row in which zpage_check_row() has found nothing wrong. */
static void
show_row(const char *row, uint32 space, Datum *values, bool *nulls)
{
	uint32		padding = zrow_pad_length(row, space);
	uint32		len = space - padding;
	ZRowHeader	hdr;
	int			norigins;

	zrow_header_get(row, &hdr);
	values[ITEM_FLAGS] = inspect_row_flags(&hdr);
	values[ITEM_SLOT] = Int32GetDatum(hdr.slotno);
	values[ITEM_NATTS] = Int32GetDatum(hdr.natts);
	values[ITEM_TURN] = Int32GetDatum(zrow_turn(&hdr));
	values[ITEM_PADDING] = Int32GetDatum((int32) padding);
	values[ITEM_ROW] = inspect_row_bytes(row, len, &hdr);
	nulls[ITEM_FLAGS] = nulls[ITEM_SLOT] = nulls[ITEM_NATTS] = false;
	nulls[ITEM_TURN] = nulls[ITEM_PADDING] = nulls[ITEM_ROW] = false;
	if (zrow_is_tombstone(&hdr))
	{
		ZUndoPtr	body;

		memcpy(&body, row + ZROW_HDR_SIZE, sizeof(body));
		values[ITEM_BODY] = inspect_pointer(body);
		nulls[ITEM_BODY] = false;
	}
	else
	{
		values[ITEM_ORIGINS] = origins_array(row, len, &norigins);
		nulls[ITEM_ORIGINS] = norigins == 0;
	}
	if (zrow_lock_hint(hdr.flags2) >= 0)
	{
		values[ITEM_LOCK] = CStringGetTextDatum(inspect_lock_mode(zrow_lock_hint(hdr.flags2)));
		nulls[ITEM_LOCK] = false;
	}
}

/* Fill in the columns of a line pointer, and of its row or what is wrong with that. */
static void
put_item(Page page, OffsetNumber offnum, Datum *values, bool *nulls)
{
	static const char *const kinds[] = {
		[LP_UNUSED] = "unused",
		[LP_NORMAL] = "normal",
		[LP_REDIRECT] = "redirect",
		[LP_DEAD] = "dead"
	};
	ItemId		lp = PageGetItemId(page, offnum);
	const char *wrong = zpage_check_row(page, offnum);

	memset(nulls, true, sizeof(bool) * ITEM_COLUMNS);
	values[ITEM_LP] = Int32GetDatum(offnum);
	values[ITEM_OFF] = Int32GetDatum((int32) ItemIdGetOffset(lp));
	values[ITEM_KIND] = CStringGetTextDatum(kinds[ItemIdGetFlags(lp)]);
	values[ITEM_LEN] = Int32GetDatum((int32) ItemIdGetLength(lp));
	nulls[ITEM_LP] = nulls[ITEM_OFF] = nulls[ITEM_KIND] = nulls[ITEM_LEN] = false;
	if (wrong)
	{
		values[ITEM_DAMAGE] = CStringGetTextDatum(wrong);
		nulls[ITEM_DAMAGE] = false;
	}
	else if (ItemIdIsNormal(lp))
		show_row((const char *) page + ItemIdGetOffset(lp), ItemIdGetLength(lp), values, nulls);
}

/* SQL: zheap_page_items(table, block): the line pointers and rows of a table page. */
Datum
zheap_page_items(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	BlockNumber block = inspect_block(rel, PG_GETARG_INT64(1));
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
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
		Datum		values[ITEM_COLUMNS] = {0};
		bool		nulls[ITEM_COLUMNS];

		put_item(page, off, values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	zinspect_close(rel);
	return (Datum) 0;
}

/* ---- transaction slots ---- */

enum
{
	SLOT_NUMBER, SLOT_PLACE, SLOT_BLOCK, SLOT_XID, SLOT_STATUS, SLOT_UNDO, SLOT_RECORDS,
	SLOT_COLUMNS
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
show_slot(ZPageView *view, int slotno, Datum *values, bool *nulls)
{
	Page		slots = slotno < ZPAGE_FIRST_OVERFLOW ? NULL :
		zview_slot_page(view, zpage_slot_page(slotno));
	const ZPageSlot *slot = zpage_slot(view->page, slots, slotno);
	FullTransactionId fxid = zpage_slot_fxid(slot);
	bool		has_owner = FullTransactionIdIsValid(fxid);
	BlockNumber block;

	values[SLOT_NUMBER] = Int32GetDatum(slotno);
	values[SLOT_PLACE] = CStringGetTextDatum(slot_place(view, slotno, &block));
	values[SLOT_BLOCK] = Int64GetDatum((int64) block);
	values[SLOT_XID] = FullTransactionIdGetDatum(fxid);
	nulls[SLOT_XID] = !has_owner;
	values[SLOT_STATUS] = CStringGetTextDatum(has_owner ? inspect_status(view, fxid) : "free");
	values[SLOT_UNDO] = inspect_pointer(slot->undo);
	nulls[SLOT_UNDO] = slot->undo == ZUNDO_INVALID;
	values[SLOT_RECORDS] = Int32GetDatum(zpage_slot_count(slot));
}

/* SQL: zheap_page_slots(table, block): the slots of a table page, wherever they are. */
Datum
zheap_page_slots(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	BlockNumber block = inspect_block(rel, PG_GETARG_INT64(1));
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ZPageView	view;
	int			slotno = 0;

	InitMaterializedSRF(fcinfo, 0);
	zview_open(&view, rel);
	inspect_view(&view, block);
	while ((slotno = zpage_next_slotno(view.page, zview_slot_pages(&view), slotno)) != 0)
	{
		Datum		values[SLOT_COLUMNS] = {0};
		bool		nulls[SLOT_COLUMNS] = {false};

		CHECK_FOR_INTERRUPTS();
		show_slot(&view, slotno, values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	zview_close(&view);
	zinspect_close(rel);
	return (Datum) 0;
}
