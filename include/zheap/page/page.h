/*
 * page.h
 *		The bytes of a table page: how to read them, and the only code that changes them.
 *
 * Pure functions of Page: no buffers, no locks, no transactions.  Callers hold the content lock
 * (share to read, exclusive to change) or own a copy.  Functions named _apply need the exclusive
 * lock, cannot fail, and are shared by the forward path and redo.  No function here raises an
 * error, except for assertions.
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

/* The contents of an overflow page. */
static inline ZOverflowPageBody *
zpage_overflow_body(Page overflow)
{
	return (ZOverflowPageBody *) PageGetContents(overflow);
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
 * Check the header and trailer of an overflow page or a lock page.  Returns NULL or what is wrong.
 */
extern const char *zpage_check_overflow(Page page);

/* ---- rows that heap functions have written (page_heap_rows.c) ---- */

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
	if (offnum == InvalidOffsetNumber || offnum > PageGetMaxOffsetNumber(page) ||
		ItemIdGetOffset(PageGetItemId(page, offnum)) != header->pd_upper ||
		!ItemIdIsNormal(PageGetItemId(page, offnum)))
		return InvalidOffsetNumber;
	return offnum;
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

/* ---- plans ---- */

typedef enum ZTakeover
{
	ZTAKE_OWN,					/* the slot is ours already */
	ZTAKE_FREE,					/* it was free */
	ZTAKE_ALL_VISIBLE,			/* its owner is all-visible: its rows become frozen */
	ZTAKE_REUSED				/* its owner is committed (or ours) but not
								 * all-visible: it stays reachable through our undo */
} ZTakeover;

/* Return whether the slot is in a set of slots on the page itself (bit k: slot k). */
static inline bool
zpage_slot_in(uint32 slots, int slotno)
{
	return slotno <= ZPAGE_MAX_INPAGE && (slots & (uint32) 1 << slotno) != 0;
}

typedef struct ZSlotPlan
{
	uint16		slotno;
	uint8		takeover;		/* ZTakeover */
	uint8		grow;			/* slots to add to the page first */
	uint32		also;			/* with ZTAKE_ALL_VISIBLE of a slot on the page itself: bit k, slot
								 * k becomes free, as its owner is all-visible, too */
	bool		directory;		/* the record is a directory: the chain counts anew */
	ZOwner		next;			/* the slot's new contents */
	ZOwner		prev;			/* its old contents, with ZTAKE_REUSED */
	FullTransactionId conflict; /* WAL only: with ZTAKE_ALL_VISIBLE, the previous owner if
								 * standbys do not know yet that it is all-visible; else
								 * invalid.  With "also", the newest such owner */
} ZSlotPlan;

/* Return whether the plan freezes the rows that name this slot. */
static inline bool
zslot_plan_freezes(const ZSlotPlan *plan, int slotno)
{
	return plan->takeover == ZTAKE_ALL_VISIBLE &&
		(slotno == plan->slotno || zpage_slot_in(plan->also, slotno));
}

typedef enum ZRowOp
{
	ZOP_INSERT = 1,
	ZOP_UPDATE,
	ZOP_DELETE,
	ZOP_LOCK,
	ZOP_TOMBSTONE,				/* a deleted row's body moves to undo; no version */
	ZOP_DIRECTORY				/* no row: see chain.h */
} ZRowOp;

/* Return whether the operation makes a version, which is not all-visible at first. */
static inline bool
zrow_op_makes_version(uint8 op)
{
	return op <= ZOP_DELETE;
}

/* A new row; its header's slotno and modifier flags are set by the caller. */
typedef struct ZNewRow
{
	OffsetNumber offnum;
	uint16		len;
	const char *bytes;
} ZNewRow;

typedef struct ZRowPlan
{
	uint8		op;				/* ZRowOp */
	OffsetNumber offnum;		/* not for INSERT */
	ZRowHeader	hdr;			/* new header (zpage_row_apply sets PADDED and the turn);
								 * LOCK: only the lock bits of flags2 count */
	uint64		body;			/* TOMBSTONE: undo pointer to the body */
	/* UPDATE: body bytes (after the header) [prefix, len - suffix) become mid */
	uint16		prefix;
	uint16		suffix;
	uint16		midlen;
	const char *mid;
	/* DELETE */
	TransactionId xid;
	/* INSERT */
	int			nrows;
	const ZNewRow *rows;
} ZRowPlan;

/* ---- page_init.c ---- */

/* Initialize an empty table page with 0 to ZPAGE_MAX_INPAGE slots, which are free. */
extern void zpage_init_apply(Page page, int nslots);

/* Initialize an empty overflow page, or lock page, of a table page. */
extern void zpage_overflow_init_apply(Page page, BlockNumber table_block);

/* ---- page_apply.c ---- */

/*
 * Take the slot, before the rows are changed.  "overflow" is needed only for a slot that is not on
 * the page itself: the page that contains it.  Room for plan->grow slots has been checked.
 */
extern void zpage_slot_apply(Page page, Page overflow, const ZSlotPlan *plan);

/* Take the slot alone, when only its page needs replay. */
extern void zpage_slot_take_apply(ZPageSlot *slot, const ZSlotPlan *plan);

/*
 * Make "scratch" an overflow page for zpage_slot_apply(), when only the table page needs replay.
 */
extern void zpage_scratch_init_apply(Page scratch, const ZSlotPlan *plan);

/*
 * Change rows, after the slot has been taken.  The space has been checked: zpage_update_fits,
 * zpage_free_contiguous, or zpage_free_total.
 */
extern void zpage_row_apply(Page page, const ZRowPlan *plan);

/* Parts of it, which rolling back uses, too. */
extern void zpage_row_replace_apply(Page page, const ZRowPlan *plan);
extern void zpage_row_header_apply(Page page, OffsetNumber offnum, const ZRowHeader *header);

/* Return the hint of locks of the row, as bits of flags2. */
extern uint8 zpage_row_lock_bits(Page page, OffsetNumber offnum);

/* Note that the page has a row deleted by xid: pruning may find something when that is old. */
extern void zpage_set_prunable(Page page, TransactionId xid);

/* Return whether the row at offnum, grown to newlen bytes, fits the page. */
extern bool zpage_update_fits(Page page, OffsetNumber offnum, uint32 newlen);

/* ---- rolling back rows of an aborted transaction (page_rollback.c) ---- */

typedef enum ZRollbackKind
{
	ZROLLBACK_KILL,				/* the row never existed: dead line pointer */
	ZROLLBACK_HEADER,			/* header only */
	ZROLLBACK_BODY				/* header, and body bytes [prefix, len - suffix) */
} ZRollbackKind;

typedef struct ZRowRollback
{
	OffsetNumber offnum;
	uint8		kind;
	ZRowHeader	hdr;
	uint16		prefix;
	uint16		suffix;
	uint16		midlen;
	const char *mid;
} ZRowRollback;

typedef struct ZRollbackPlan
{
	uint16		slotno;
	ZOwner		next;			/* the previous owner, or free */
	uint8		next_count;		/* its records above its newest directory (zpage_slot_count) */
	ZOwner		next_before;	/* planning only: the owner before "next" */
	int			nrows;
	ZRowRollback *rows;
	FullTransactionId conflict; /* newest modifier that this makes frozen, and that standbys
								 * do not know yet to be all-visible */
} ZRollbackPlan;

/*
 * Roll rows back and return the slot to the previous owner.  "overflow" as for zpage_slot_apply().
 */
extern void zpage_rollback_apply(Page page, Page overflow, const ZRollbackPlan *plan);

/* Return the slot alone, when only its page needs replay. */
extern void zpage_slot_rollback_apply(ZPageSlot *slot, const ZRollbackPlan *plan);

/* ---- pruning (page_prune.c) ---- */

typedef struct ZPrunePlan
{
	int			ndead;			/* rows dead to all snapshots: become LP_DEAD */
	int			ntrim;			/* rows that lose their padding */
	int			nunused;		/* LP_DEAD without index entries: become LP_UNUSED */
	int			nsingle;		/* rows with one key again: lose the mark */
	OffsetNumber dead[ZPAGE_MAX_OFFSET];
	OffsetNumber trim[ZPAGE_MAX_OFFSET];
	OffsetNumber unused[ZPAGE_MAX_OFFSET];
	OffsetNumber single[ZPAGE_MAX_OFFSET];
	FullTransactionId conflict; /* newest xid whose rows are removed, for standbys */
	FullTransactionId remembered;	/* with nunused or nsingle: scans with snapshots up to this xid
									 * may remember index entries that are gone; or invalid */
} ZPrunePlan;

/* Carry out the plan, compact the page, and compute pd_prune_xid. */
extern void zpage_prune_apply(Page page, const ZPrunePlan *plan);

/* ---- page_compact.c ---- */

/* Remove the holes between rows.  The result depends only on the bytes of the page. */
extern void zpage_compact_apply(Page page);

/* Add "grow" slots, which are free; their space must be free after compaction. */
extern void zpage_grow_apply(Page page, int grow);

/* Clear the mark of a speculative insertion that succeeded. */
extern void zpage_confirm_apply(Page page, OffsetNumber offnum);

/*
 * Set the name of the overflow page of a table page, or add that of a lock page to an overflow
 * page.
 */
extern void zpage_overflow_apply(Page page, BlockNumber overflow_block);

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

/* ---- all-visible pages, and the visibility map (page_visible.c) ---- */

/*
 * Return whether the page has rows, and may be marked all-visible if all of them are visible to
 * all snapshots (P6).
 */
extern bool zpage_may_be_visible(Page page);

/* Return the page of the map that contains the bits of a block of the table. */
extern BlockNumber zmap_page_of(BlockNumber block);

/*
 * Set, or clear, both bits of the block.  "map" is that page, or a page of zeros, which is
 * initialized.  PageSetAllVisible() marks the table page itself.
 */
extern void zmap_set_apply(Page map, BlockNumber block);
extern void zmap_clear_apply(Page map, BlockNumber block);

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
