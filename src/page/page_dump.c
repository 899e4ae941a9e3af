/*
 * page_dump.c
 *		Print a table page as text, for debuggers.
 *
 * The page may be damaged, or only half changed: numbers are compared with the page's size before
 * anything is read by them, and those that do not fit are printed as they are.
 */
#include "postgres.h"

#include "zheap/page/page.h"

#define FLAG(value, bit, name) ((value) & (bit) ? " " name : "")

static void
dump_slot(const ZPageSlot *slot, int slotno)
{
	fprintf(stderr, "slot %d: fxid " UINT64_FORMAT ", undo " UINT64_FORMAT ", count %d\n",
			slotno, U64FromFullTransactionId(zpage_slot_fxid(slot)), slot->undo,
			zpage_slot_count(slot));
}

/* Print the slots of the table page itself, without free ones. */
static void
dump_slots(Page page)
{
	int			nslots = zpage_nslots(page);

	/* pd_special may be anything */
	for (int i = 1; i <= Min(nslots, ZPAGE_MAX_INPAGE); i++)
	{
		const ZPageSlot *slot = zpage_slot(page, NULL, i);

		if (slot->word != 0 || slot->undo != ZUNDO_INVALID)
			dump_slot(slot, i);
	}
}

/*
 * Print an overflow page or a lock page, which look alike; slots get the numbers of an overflow
 * page.
 */
static void
dump_overflow(Page page)
{
	const ZOverflowPageBody *body = zpage_overflow_body(page);

	fprintf(stderr, "of table page %u, lock pages: %u\n", body->table_block, body->nlock_pages);
	for (int i = 0; i < ZPAGE_OVERFLOW_SLOTS; i++)
	{
		if (body->slots[i].word != 0)
			dump_slot(&body->slots[i], ZPAGE_FIRST_OVERFLOW + i);
	}
	for (uint32 i = 0; i < Min(body->nlock_pages, ZPAGE_MAX_LOCK_PAGES); i++)
		fprintf(stderr, "lock page %u: block %u\n", i + 1, body->lock_pages[i]);
}

/*
 * Print a row's header.  "alloc" is at least a header; padding is not read if the space is too
 * short for its length.
 */
static void
dump_row(const char *row, uint32 alloc)
{
	ZRowHeader	hdr;

	zrow_header_get(row, &hdr);
	fprintf(stderr, ", slot %u, natts %u, turn %d, pad %u, lock %d:%s%s%s%s%s%s%s%s%s%s%s",
			hdr.slotno, hdr.natts, zrow_turn(&hdr),
			alloc > ZROW_HDR_SIZE + 3 ? zrow_pad_length(row, alloc) : 0,
			zrow_lock_hint(hdr.flags2),
			FLAG(hdr.flags, ZROW_HASNULL, "HASNULL"),
			FLAG(hdr.flags, ZROW_HASEXTERNAL, "HASEXTERNAL"),
			FLAG(hdr.flags, ZROW_INSERTED, "INSERTED"),
			FLAG(hdr.flags, ZROW_DELETED, "DELETED"),
			FLAG(hdr.flags, ZROW_MOVED, "MOVED"),
			FLAG(hdr.flags, ZROW_REUSED, "REUSED"),
			FLAG(hdr.flags, ZROW_PADDED, "PADDED"),
			FLAG(hdr.flags, ZROW_ORIGIN, "ORIGIN"),
			FLAG(hdr.flags2, ZROW2_KEYS_UPDATED, "KEYS_UPDATED"),
			FLAG(hdr.flags2, ZROW2_SEVERAL_KEYS, "SEVERAL_KEYS"),
			zrow_is_tombstone(&hdr) ? " TOMBSTONE" :
			FLAG(hdr.flags2, ZROW2_SPECULATIVE, "SPECULATIVE"));
}

static void
dump_items(Page page)
{
	OffsetNumber max = Min(PageGetMaxOffsetNumber(page), ZPAGE_MAX_OFFSET);
	static const char *const kinds[] = {"unused", "row", "redirect", "dead"};

	for (OffsetNumber off = FirstOffsetNumber; off <= max; off++)
	{
		ItemId		lp = PageGetItemId(page, off);

		fprintf(stderr, "%u: %s at %u, length %u", off, kinds[ItemIdGetFlags(lp)],
				ItemIdGetOffset(lp), ItemIdGetLength(lp));
		if (ItemIdIsNormal(lp) && ItemIdGetLength(lp) >= ZROW_HDR_SIZE &&
			ItemIdGetOffset(lp) + ItemIdGetLength(lp) <= BLCKSZ)
			dump_row((const char *) page + ItemIdGetOffset(lp), ItemIdGetLength(lp));
		fputc('\n', stderr);
	}
}

/* Print the page header and trailer, then slots and line pointers. */
void
zpage_dump(Page page)
{
	const PageHeaderData *header = (PageHeader) page;
	OffsetNumber offnum = InvalidOffsetNumber;
	const char *wrong = zpage_is_overflow(page) ? NULL : zpage_check(page, &offnum);

	fprintf(stderr, "page at %p: lsn %X/%X, flags 0x%x, lower %u, upper %u, special %u, prune %u\n",
			(void *) page, LSN_FORMAT_ARGS(PageGetLSN(page)), header->pd_flags,
			header->pd_lower, header->pd_upper, header->pd_special, header->pd_prune_xid);
	fprintf(stderr, "magic 0x%x, version 0x%x, slots %d, overflow page %d, reused_fxid " UINT64_FORMAT ", naming 0x%x\n",
			zpage_trailer(page)->naming_word >> ZPAGE_GROUPS, zpage_kind(page), zpage_nslots(page),
			(int) zpage_overflow_block(page), U64FromFullTransactionId(zpage_reused_fxid(page)),
			zpage_naming(page));
	if (wrong)
		fprintf(stderr, "WRONG at offset %u: %s\n", offnum, wrong);
	if (zpage_is_overflow(page))
		dump_overflow(page);
	else
	{
		dump_slots(page);
		dump_items(page);
	}
}
