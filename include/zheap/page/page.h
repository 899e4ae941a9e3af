/*
 * page.h
 *		The bytes of a table page, and how to read them; page_plan.h changes them.
 *
 * Pure functions of Page: no buffers, no locks, no transactions.  Callers hold the content lock
 * in share mode, or own a copy.  No function here raises an error, except for assertions.
 *
 * P1 to P6 (src/page/README.md) are checked by zpage_check, and asserted after each apply of a
 * row, a rollback, and pruning.
 */
#ifndef ZHEAP_PAGE_H
#define ZHEAP_PAGE_H

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

#include "zheap/page/page_format.h"
#include "zheap/page/row_format.h"

/* ---- reading (page_items.c) ---- */

/* The trailer of a table page, at its end. */
static inline ZPageTrailer *
zpage_trailer(Page page)
{
	return (ZPageTrailer *) ((char *) page + BLCKSZ - sizeof(ZPageTrailer));
}

/* Return the number of slots on the page itself.  The page header has been checked. */
static inline int
zpage_nslots(Page page)
{
	return (int) ((BLCKSZ - sizeof(ZPageTrailer) - ((PageHeader) page)->pd_special) /
				  sizeof(ZPageSlot));
}

/* Return the block of the overflow page, or InvalidBlockNumber. */
static inline BlockNumber
zpage_overflow_block(Page page)
{
	return zpage_trailer(page)->overflow;
}

/* Return how many of "wanted" slots an empty page has room for, beside a row of "len" bytes. */
static inline int
zpage_slots_beside(Size len, int wanted)
{
	Assert(len <= ZPAGE_MAX_ROW);
	return (int) Min((Size) wanted, (ZPAGE_MAX_ROW - len) / sizeof(ZPageSlot));
}

/* Return whether the page, with its overflow page, has slot "slotno" >= 1, which a row names. */
static inline bool
zpage_has_slot(Page page, int slotno)
{
	if (slotno < ZPAGE_FIRST_OVERFLOW)
		return slotno <= zpage_nslots(page);
	return slotno <= ZPAGE_MAX_SLOTNO && zpage_overflow_block(page) != InvalidBlockNumber;
}

/* Return whether the slot is on a lock page. */
static inline bool
zpage_is_lock_slot(int slotno)
{
	return slotno >= ZPAGE_FIRST_LOCK;
}

/*
 * Return where a slot beyond the table page is: 0, its overflow page; else the number of its lock
 * page.
 */
static inline int
zpage_slot_page(int slotno)
{
	return slotno < ZPAGE_FIRST_LOCK ? 0 :
		(slotno - ZPAGE_FIRST_OVERFLOW) / ZPAGE_OVERFLOW_SLOTS;
}

/*
 * Return slot "slotno" >= 1.  "overflow" is needed only if the slot is not on the page itself: the
 * overflow page or the lock page that contains it.
 */
static inline ZPageSlot *
zpage_slot(Page page, Page overflow, int slotno)
{
	int			i = slotno - ZPAGE_FIRST_OVERFLOW;

	Assert(slotno >= 1 && slotno <= ZPAGE_MAX_LOCK_SLOTNO);
	Assert(slotno < ZPAGE_FIRST_OVERFLOW ? slotno <= zpage_nslots(page) : overflow != NULL);
	if (slotno < ZPAGE_FIRST_OVERFLOW)
		return (ZPageSlot *) ((char *) page + BLCKSZ - sizeof(ZPageTrailer)) - slotno;
	if (zpage_is_lock_slot(slotno))
		i %= ZPAGE_OVERFLOW_SLOTS;
	return &zpage_overflow_body(overflow)->slots[i];
}

/*
 * Return the number of the slot after "slotno" (0: of the first slot); 0 if there is none.
 * "noverflow" is the number of overflow and lock pages to include.
 */
static inline int
zpage_next_slotno(Page page, int noverflow, int slotno)
{
	if (slotno < zpage_nslots(page))
		return slotno + 1;
	slotno = Max(slotno + 1, ZPAGE_FIRST_OVERFLOW);
	return slotno < ZPAGE_FIRST_OVERFLOW + noverflow * ZPAGE_OVERFLOW_SLOTS ? slotno : 0;
}

#define ZPAGE_SLOT_COUNT_SHIFT	56
#define ZPAGE_SLOT_FXID_MASK	(((uint64) 1 << ZPAGE_SLOT_COUNT_SHIFT) - 1)

/* Return the owner; invalid if the slot is free. */
static inline FullTransactionId
zpage_slot_fxid(const ZPageSlot *slot)
{
	return FullTransactionIdFromU64(slot->word & ZPAGE_SLOT_FXID_MASK);
}

/* Return the number of records of the chain above its newest directory. */
static inline int
zpage_slot_count(const ZPageSlot *slot)
{
	return (int) (slot->word >> ZPAGE_SLOT_COUNT_SHIFT);
}

/* Return the owner, and the newest record of the chain. */
static inline ZOwner
zpage_slot_owner(const ZPageSlot *slot)
{
	ZOwner		owner = {zpage_slot_fxid(slot), slot->undo};

	return owner;
}

/* Set the slot's owner, and how many records its chain has got since the last directory. */
static inline void
zpage_slot_set(ZPageSlot *slot, const ZOwner *owner, int count)
{
	Assert(count >= 0 && count <= ZCHAIN_INTERVAL); /* C1 */
	Assert(FullTransactionIdIsValid(owner->fxid) || count == 0);
	slot->word = U64FromFullTransactionId(owner->fxid) |
		(uint64) count << ZPAGE_SLOT_COUNT_SHIFT;
	slot->undo = owner->undo;
}

/* Return the newest owner whose slot was taken over before it was all-visible, or a newer xid. */
static inline FullTransactionId
zpage_reused_fxid(Page page)
{
	return FullTransactionIdFromU64(zpage_trailer(page)->reused_word & ZPAGE_SLOT_FXID_MASK);
}

/* Set it to "fxid" if that is newer. */
static inline void
zpage_note_reused(Page page, FullTransactionId fxid)
{
	uint64	   *word = &zpage_trailer(page)->reused_word;

	if (FullTransactionIdPrecedes(zpage_reused_fxid(page), fxid))
		*word = (*word & ~ZPAGE_SLOT_FXID_MASK) | U64FromFullTransactionId(fxid);
}

/* Return the group of the row, as a bit of the trailer's "naming_word" (P5). */
static inline uint32
zpage_group_bit(OffsetNumber offnum)
{
	return (uint32) 1 << (offnum - FirstOffsetNumber) / ZPAGE_GROUP_ROWS;
}

/* Return the bits of the groups whose rows may name slots. */
static inline uint32
zpage_naming(Page page)
{
	return zpage_trailer(page)->naming_word & (((uint32) 1 << ZPAGE_GROUPS) - 1);
}

/* Return whether zheap has made the page, in this format version or another. */
static inline bool
zpage_has_magic(Page page)
{
	return zpage_trailer(page)->naming_word >> ZPAGE_GROUPS == ZPAGE_MAGIC;
}

/* Return ZPAGE_KIND_*, and the version. */
static inline uint8
zpage_kind(Page page)
{
	return (uint8) (zpage_trailer(page)->reused_word >> ZPAGE_SLOT_COUNT_SHIFT);
}

/* Return the version of the format of a page that zheap has made. */
static inline int
zpage_version(Page page)
{
	return zpage_kind(page) & ~ZPAGE_KIND_OVERFLOW;
}

/* Return whether the page is a table page: initialized, and no overflow page or lock page. */
static inline bool
zpage_is_table(Page page)
{
	return zpage_has_magic(page) && (zpage_kind(page) & ZPAGE_KIND_OVERFLOW) == 0;
}

/* Return whether the page is an overflow page, or a lock page. */
static inline bool
zpage_is_overflow(Page page)
{
	return zpage_has_magic(page) && zpage_kind(page) == (ZPAGE_KIND_OVERFLOW | ZPAGE_VERSION);
}

/*
 * Return the row's bytes, in the page.  *len excludes padding, *alloc (may be NULL) includes it.
 */
static inline char *
zpage_row(Page page, OffsetNumber offnum, uint32 *len, uint32 *alloc)
{
	ItemId		lp = PageGetItemId(page, offnum);
	char	   *row = (char *) page + ItemIdGetOffset(lp);
	uint32		space = ItemIdGetLength(lp);

	Assert(ItemIdIsNormal(lp));
	*len = space - zrow_pad_length(row, space);
	if (alloc)
		*alloc = space;
	return row;
}

/* Copy the used bytes of a sound page; the hole keeps the bytes of "to". */
static inline void
zpage_copy_used(char *to, const PageHeaderData *page)
{
	memcpy(to, page, page->pd_lower);
	memcpy(to + page->pd_upper, (const char *) page + page->pd_upper, BLCKSZ - page->pd_upper);
}

/* Return the bytes between line pointers and rows. */
extern Size zpage_free_contiguous(Page page);

/* Return the bytes that are free after compaction (the line pointer of a new row not deducted). */
extern Size zpage_free_total(Page page);

/*
 * Return the longest new row, in bytes, that fits after compaction; 0 if there is no line pointer
 * for it.
 */
extern Size zpage_free_for_row(Page page);

/* Return whether these are at least "need" bytes.  Rows are counted only if the gap is smaller. */
extern bool zpage_has_total(Page page, Size need);
extern bool zpage_has_for_row(Page page, Size need);

/* Return whether the page has neither a line pointer in use nor an overflow page. */
extern bool zpage_is_blank(Page page);

/*
 * Return the free space in bytes, as reported to the free space map.  The map counts in steps of
 * 32 bytes, and rounds free space down and requests up; so new pages have the one value that
 * satisfies every size, and so have blank ones, which may be made anew.
 */
#define ZPAGE_MAP_EMPTY		MaxHeapTupleSize
extern Size zpage_free_for_map(Page page);

/*
 * Return the offset for a new row, at least "from": the first unused line pointer, or one past the
 * last; InvalidOffsetNumber if the page has the maximum of line pointers.
 */
extern OffsetNumber zpage_free_offset(Page page, OffsetNumber from);

/*
 * Check P1 to P6, as far as the page alone shows.  Returns NULL if the page is right, else what is
 * wrong (static text, not translated), with *offnum set to the row concerned, or invalid.
 */
extern const char *zpage_check(Page page, OffsetNumber *offnum);

/*
 * Check the cheap part, for pages just read: header, magic, that each row lies within the page,
 * and that all together fit (so that no later access, and no compaction, can leave the page).
 * Results as zpage_check().
 */
extern const char *zpage_check_quick(Page page, OffsetNumber *offnum);

/*
 * Its two halves: check the header and trailer; check one line pointer and its row, when the
 * header is right.  Return NULL or what is wrong.
 */
extern const char *zpage_check_header(Page page);
extern const char *zpage_check_row(Page page, OffsetNumber offnum);

/*
 * Return whether the row, to which a line pointer leads, is certainly sound: false if only
 * zpage_check_row() can tell, as of rows with padding or former places, and of deleted ones.  The
 * page header has been checked.
 */
static inline bool
zpage_row_is_plain(Page page, OffsetNumber offnum)
{
	PageHeader	header = (PageHeader) page;
	ItemIdData	lp = *PageGetItemId(page, offnum);
	uint32		off = ItemIdGetOffset(&lp);
	uint32		len = ItemIdGetLength(&lp);
	ZRowHeader	hdr;

	if (off < header->pd_upper || off + len > header->pd_special || len < ZROW_HDR_SIZE)
		return false;
	zrow_header_get((const char *) page + off, &hdr);
	return (hdr.flags & (ZROW_PADDED | ZROW_ORIGIN | ZROW_DELETED)) == 0 &&
		hdr.natts <= ZROW_MAX_NATTS &&
		((hdr.flags & ZROW_HASNULL) == 0 || len >= (uint32) ZROW_HDR_SIZE + (hdr.natts + 7) / 8) &&
		(hdr.slotno == 0 || (hdr.slotno <= zpage_nslots(page) &&
							 (zpage_naming(page) & zpage_group_bit(offnum)) != 0));
}

/*
 * Check the header and trailer of an overflow page or a lock page.  Returns NULL or what is wrong.
 */
extern const char *zpage_check_overflow(Page page);

/* ---- rows that heap functions have written (page_heap_rows.c) ---- */

/* Return whether offnum, which may be any number, is that of a row, not unused or dead. */
static inline bool
zpage_is_row(Page page, OffsetNumber offnum)
{
	return offnum >= FirstOffsetNumber && offnum <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsNormal(PageGetItemId(page, offnum));
}

/*
 * Return the line pointer of the bytes at pd_upper, if they look like a heap tuple that
 * heap_insert() has written: it names itself in t_ctid; else InvalidOffsetNumber.  By chance a
 * row's values may look like that, too.  The page header has been checked.
 */
static inline OffsetNumber
zpage_newest_heap_row(Page page, BlockNumber block)
{
	PageHeader	header = (PageHeader) page;
	const char *newest = (const char *) page + header->pd_upper;
	ItemPointerData self;
	OffsetNumber offnum;

	if (header->pd_upper + SizeofHeapTupleHeader > header->pd_special)
		return InvalidOffsetNumber;
	memcpy(&self, newest + offsetof(HeapTupleHeaderData, t_ctid), sizeof(self));
	if (likely(ItemPointerGetBlockNumberNoCheck(&self) != block))
		return InvalidOffsetNumber;
	offnum = ItemPointerGetOffsetNumberNoCheck(&self);
	return zpage_is_row(page, offnum) &&
		ItemIdGetOffset(PageGetItemId(page, offnum)) == header->pd_upper ? offnum :
		InvalidOffsetNumber;
}

/*
 * Return whether heap functions may have changed the page; false is certain.  heap_update() sets
 * PD_PAGE_FULL, which zheap does not use, if it finds no room on the page.  Cheap enough for each
 * look at a page.
 */
static inline bool
zpage_may_have_heap_rows(Page page, BlockNumber block)
{
	return unlikely((((PageHeader) page)->pd_flags & PD_PAGE_FULL) != 0 ||
					zpage_newest_heap_row(page, block) != InvalidOffsetNumber);
}

/*
 * Return whether the line pointer's number is where heap_delete() and heap_lock_tuple() write it.
 * By chance a row's values, or those of the row behind it, may be like that.  The row lies within
 * the page.
 */
static inline bool
zpage_row_names_itself(Page page, OffsetNumber offnum)
{
	OffsetNumber named;

	memcpy(&named, (char *) page + ItemIdGetOffset(PageGetItemId(page, offnum)) +
		   offsetof(HeapTupleHeaderData, t_ctid.ip_posid), sizeof(named));
	return unlikely(named == offnum);
}

/*
 * Return whether heap functions have changed the row.  Called if zpage_row_names_itself(), which
 * is cheap, returns true.
 */
extern bool zpage_is_changed_by_heap(Page page, BlockNumber block, OffsetNumber offnum,
									 TupleDesc desc);

/*
 * Return whether heap functions have changed the page.  Called if zpage_may_have_heap_rows()
 * returns true.  "desc" has the columns of its rows; NULL if they are not known: then a tuple that
 * could be a zheap row is taken for one.
 */
extern bool zpage_has_heap_rows(Page page, BlockNumber block, TupleDesc desc);

/* Return whether heap functions have changed any row of the page.  Looks at each. */
extern bool zpage_has_changed_rows(Page page, BlockNumber block, TupleDesc desc);

/*
 * Make the line pointers of rows that heap functions have written dead, and damaged ones.  The
 * page is the caller's own copy, and heap functions have changed it.
 */
extern void zpage_forget_heap_rows(Page page, BlockNumber block, TupleDesc desc);

/* Return whether heap has made the page. */
extern bool zpage_is_of_heap(Page page);

/*
 * Check a version that the row at offnum may have had, before a rollback to it is planned: whether
 * it fits the row's space.  The bytes need not begin with the header; "len" is without padding.
 * Returns NULL or what is wrong.
 */
extern const char *zpage_check_version(Page page, OffsetNumber offnum, const ZRowHeader *hdr,
									   const char *row, uint32 len);

/*
 * Return whether the page has room for a row's header where the line pointer leads to.  For code
 * that reads a header before the row is checked: a damaged pointer must not lead out of the page.
 */
static inline bool
zpage_leads_to_row(ItemId lp)
{
	return ItemIdIsNormal(lp) && ItemIdGetOffset(lp) <= BLCKSZ - ZROW_HDR_SIZE;
}

/* Return whether there is a row at offnum that is deleted and names the slot (C3). */
static inline bool
zpage_row_deleted_under(Page page, OffsetNumber offnum, int slotno)
{
	ItemId		lp;
	const char *row;

	if (offnum > PageGetMaxOffsetNumber(page))
		return false;
	lp = PageGetItemId(page, offnum);
	row = (const char *) page + ItemIdGetOffset(lp);
	return zpage_leads_to_row(lp) && (zrow_flags(row) & ZROW_DELETED) &&
		zrow_slotno(row) == slotno;
}

#ifdef USE_ASSERT_CHECKING
/* PANIC if zpage_check() finds anything wrong. */
extern void zpage_assert_valid(Page page);

/* S3: return whether each row that names the slot is marked REUSED. */
extern bool zpage_slot_is_left(Page page, int slotno);
#else
#define zpage_assert_valid(page) ((void) 0)
#endif

/* ---- page_dump.c ---- */

/*
 * For debuggers ("call zpage_dump(page)"): print the header, slots, line pointers and row headers
 * of any page of a table to stderr.  Trusts none of the bytes.
 */
extern void zpage_dump(Page page);

#endif							/* ZHEAP_PAGE_H */
