/*
 * page.h
 *		What the bytes of a table page mean, and the only code that changes them.
 *
 * Pure functions of Page: no buffers, no locks, no transactions.  Callers hold
 * the content lock (share to read, exclusive to change) or own a copy.
 * Everything named _apply cannot fail and is shared by the forward path and redo.
 *
 * P1 to P6 (src/page/README.md) are checked by zpage_check, and asserted after each apply
 * of a row, a rollback, and pruning.
 */
#ifndef ZHEAP_PAGE_H
#define ZHEAP_PAGE_H

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

#include "zheap/page/page_format.h"
#include "zheap/page/row_format.h"

/* ---- looking (page_items.c) ---- */

static inline ZPageTrailer *
zpage_trailer(Page page)
{
	return (ZPageTrailer *) ((char *) page + BLCKSZ - sizeof(ZPageTrailer));
}

/* Of a page whose header has been checked. */
static inline int
zpage_nslots(Page page)
{
	return (int) ((BLCKSZ - sizeof(ZPageTrailer) - ((PageHeader) page)->pd_special) /
				  sizeof(ZPageSlot));
}

/* Block of the overflow page, or InvalidBlockNumber. */
static inline BlockNumber
zpage_overflow_block(Page page)
{
	return zpage_trailer(page)->overflow;
}

/* How many of these slots has an empty page room for, beside a row of "len" bytes? */
static inline int
zpage_slots_beside(Size len, int wanted)
{
	Assert(len <= ZPAGE_MAX_ROW);
	return (int) Min((Size) wanted, (ZPAGE_MAX_ROW - len) / sizeof(ZPageSlot));
}

/* Does the page, with its overflow page, have slot "slotno" >= 1, which a row names? */
static inline bool
zpage_has_slot(Page page, int slotno)
{
	if (slotno < ZPAGE_FIRST_OVERFLOW)
		return slotno <= zpage_nslots(page);
	return slotno <= ZPAGE_MAX_SLOTNO && zpage_overflow_block(page) != InvalidBlockNumber;
}

static inline ZOverflowPageBody *
zpage_overflow_body(Page overflow)
{
	return (ZOverflowPageBody *) PageGetContents(overflow);
}

/* Is it the number of a slot on a lock page? */
static inline bool
zpage_is_lock_slot(int slotno)
{
	return slotno >= ZPAGE_FIRST_LOCK;
}

/* Where slots beyond the table page are: 0: on its overflow page, else on that lock page. */
static inline int
zpage_slot_page(int slotno)
{
	return slotno < ZPAGE_FIRST_LOCK ? 0 :
		(slotno - ZPAGE_FIRST_OVERFLOW) / ZPAGE_OVERFLOW_SLOTS;
}

/*
 * Slot "slotno" >= 1; "overflow" is needed for overflow numbers only: the overflow page, or
 * the lock page that the slot is on.
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
 * The number of the slot after "slotno" (0: of the first one); 0: there is none.  The page
 * has slots on that many overflow pages, lock pages included, as far as they matter.
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

/* Invalid: the slot is free. */
static inline FullTransactionId
zpage_slot_fxid(const ZPageSlot *slot)
{
	return FullTransactionIdFromU64(slot->word & ZPAGE_SLOT_FXID_MASK);
}

/* Records of the chain above its newest directory. */
static inline int
zpage_slot_count(const ZPageSlot *slot)
{
	return (int) (slot->word >> ZPAGE_SLOT_COUNT_SHIFT);
}

/* The owner, and the newest record of the chain. */
static inline ZOwner
zpage_slot_owner(const ZPageSlot *slot)
{
	ZOwner		owner = {zpage_slot_fxid(slot), slot->undo};

	return owner;
}

static inline void
zpage_slot_set(ZPageSlot *slot, const ZOwner *owner, int count)
{
	Assert(count >= 0 && count <= ZCHAIN_INTERVAL); /* C1 */
	Assert(FullTransactionIdIsValid(owner->fxid) || count == 0);
	slot->word = U64FromFullTransactionId(owner->fxid) |
		(uint64) count << ZPAGE_SLOT_COUNT_SHIFT;
	slot->undo = owner->undo;
}

/* The newest owner whose slot was taken over before all could see it, or newer. */
static inline FullTransactionId
zpage_reused_fxid(Page page)
{
	return FullTransactionIdFromU64(zpage_trailer(page)->reused_word & ZPAGE_SLOT_FXID_MASK);
}

/* It is this one, if that is newer. */
static inline void
zpage_note_reused(Page page, FullTransactionId fxid)
{
	uint64	   *word = &zpage_trailer(page)->reused_word;

	if (FullTransactionIdPrecedes(zpage_reused_fxid(page), fxid))
		*word = (*word & ~ZPAGE_SLOT_FXID_MASK) | U64FromFullTransactionId(fxid);
}

/* The group that the row is in: a bit of the trailer's "naming_word" (P5). */
static inline uint32
zpage_group_bit(OffsetNumber offnum)
{
	return (uint32) 1 << (offnum - FirstOffsetNumber) / ZPAGE_GROUP_ROWS;
}

/* Bits of the groups whose rows may name slots. */
static inline uint32
zpage_naming(Page page)
{
	return zpage_trailer(page)->naming_word & (((uint32) 1 << ZPAGE_GROUPS) - 1);
}

/* Is the page of the extension's making, of this version of it or another? */
static inline bool
zpage_has_magic(Page page)
{
	return zpage_trailer(page)->naming_word >> ZPAGE_GROUPS == ZPAGE_MAGIC;
}

/* ZPAGE_KIND_*, and the version. */
static inline uint8
zpage_kind(Page page)
{
	return (uint8) (zpage_trailer(page)->reused_word >> ZPAGE_SLOT_COUNT_SHIFT);
}

/* Of the format; a page of the extension's making. */
static inline int
zpage_version(Page page)
{
	return zpage_kind(page) & ~ZPAGE_KIND_OVERFLOW;
}

static inline bool
zpage_is_table(Page page)
{
	return zpage_has_magic(page) && (zpage_kind(page) & ZPAGE_KIND_OVERFLOW) == 0;
}

static inline bool
zpage_is_overflow(Page page)
{
	return zpage_has_magic(page) && zpage_kind(page) == (ZPAGE_KIND_OVERFLOW | ZPAGE_VERSION);
}

/* The row's bytes; *len excludes padding, *alloc (may be NULL) includes it. */
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

/* Copy what is in use of a sound page; the hole keeps whatever "to" had. */
static inline void
zpage_copy_used(char *to, const PageHeaderData *page)
{
	memcpy(to, page, page->pd_lower);
	memcpy(to + page->pd_upper, (const char *) page + page->pd_upper, BLCKSZ - page->pd_upper);
}

/* Bytes between line pointers and rows. */
extern Size zpage_free_contiguous(Page page);

/* Bytes free after compaction (line pointer of a new row not deducted). */
extern Size zpage_free_total(Page page);

/* What a new row (with its line pointer) may need. */
extern Size zpage_free_for_row(Page page);

/* The same, compared with "need": rows are counted only where the gap is smaller. */
extern bool zpage_has_total(Page page, Size need);
extern bool zpage_has_for_row(Page page, Size need);

/* Has the page neither a line pointer in use nor an overflow page? */
extern bool zpage_is_blank(Page page);

/*
 * The same for the free space map.  It counts in steps of 32 bytes and rounds down
 * what is there, up what is asked for; so new pages have the one value that is good for every
 * size, and so have blank ones, which may be made anew.
 */
#define ZPAGE_MAP_EMPTY		MaxHeapTupleSize
extern Size zpage_free_for_map(Page page);

/*
 * Offset for a new row: the first unused line pointer, or one past the last;
 * InvalidOffsetNumber if the page has all the line pointers it may have.
 */
extern OffsetNumber zpage_free_offset(Page page, OffsetNumber from);

/*
 * Check every invariant.  NULL if the page is right, else what is wrong (static
 * text), with *offnum set to the row concerned or invalid.
 */
extern const char *zpage_check(Page page, OffsetNumber *offnum);

/*
 * The cheap part, for pages just read: header, magic, and that all line
 * pointers lie within the page, and all rows together (so that no later access, and no
 * compaction, can leave it).
 */
extern const char *zpage_check_quick(Page page, OffsetNumber *offnum);

/* Its two halves: the header and trailer; one line pointer and its row. */
extern const char *zpage_check_header(Page page);
extern const char *zpage_check_row(Page page, OffsetNumber offnum);

/* The same of an overflow page or a lock page. */
extern const char *zpage_check_overflow(Page page);

/* ---- what heap functions have written (page_heap_rows.c) ---- */

/*
 * The line pointer of what lies at pd_upper, if that looks like a heap tuple that heap_insert()
 * has put there: it names itself in t_ctid.  By chance a row's values may look like that, too.
 * Of a page whose header has been checked.
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
 * May heap functions have changed the page?  False: no.  heap_update() sets a bit if it finds no
 * room on the page, which is not used otherwise.  Cheap enough for each look at a page.
 */
static inline bool
zpage_may_have_heap_rows(Page page, BlockNumber block)
{
	return unlikely((((PageHeader) page)->pd_flags & PD_PAGE_FULL) != 0 ||
					zpage_newest_heap_row(page, block) != InvalidOffsetNumber);
}

/*
 * Is the line pointer's number where heap_delete() and heap_lock_tuple() write it?  By chance a
 * row's values, or those of the row behind it, may be like that.  The row lies within the page.
 */
static inline bool
zpage_row_names_itself(Page page, OffsetNumber offnum)
{
	OffsetNumber named;

	memcpy(&named, (char *) page + ItemIdGetOffset(PageGetItemId(page, offnum)) +
		   offsetof(HeapTupleHeaderData, t_ctid.ip_posid), sizeof(named));
	return unlikely(named == offnum);
}

/* Then: have they? */
extern bool zpage_is_changed_by_heap(Page page, BlockNumber block, OffsetNumber offnum,
									 TupleDesc desc);

/*
 * Have heap functions changed the page, if they may have?  "desc" has the columns of its rows; NULL:
 * they are not known, and a tuple that could be a row of zheap's counts as one.
 */
extern bool zpage_has_heap_rows(Page page, BlockNumber block, TupleDesc desc);

/* Have they changed rows, of all that there are? */
extern bool zpage_has_changed_rows(Page page, BlockNumber block, TupleDesc desc);

/*
 * Let the line pointers of what they have written be dead, and those that lead to no row.  The
 * page is the caller's own copy, and they have changed it.
 */
extern void zpage_forget_heap_rows(Page page, BlockNumber block, TupleDesc desc);

/* Has heap made the page? */
extern bool zpage_is_of_heap(Page page);

/*
 * Can the row at offnum have been this, before what is being rolled back?  The bytes
 * need not begin with the header; "len" is without padding.
 */
extern const char *zpage_check_version(Page page, OffsetNumber offnum, const ZRowHeader *hdr,
									   const char *row, uint32 len);

/* ---- plans ---- */

typedef enum ZTakeover
{
	ZTAKE_OWN,					/* the slot is ours already */
	ZTAKE_FREE,					/* it was free */
	ZTAKE_ALL_VISIBLE,			/* its owner is visible to all: its rows freeze */
	ZTAKE_REUSED				/* its owner is committed (or ours) but not visible
								 * to all: it stays reachable through our undo */
} ZTakeover;

/* Is the slot one of these?  Bit k: slot k, which is on the page itself; rows may name any. */
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
								 * k is set free, for its owner is visible to all, too */
	bool		directory;		/* the record is a directory: the chain counts anew */
	ZOwner		next;			/* what the slot will be */
	ZOwner		prev;			/* what it was, with ZTAKE_REUSED */
	FullTransactionId conflict; /* WAL only: with ZTAKE_ALL_VISIBLE, the owner before if
								 * standbys have not been told that it is visible to
								 * all; else invalid.  The newest one, with "also" */
} ZSlotPlan;

/* Does the plan freeze the rows that name this slot? */
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

/* Does the operation make a version, which not all see? */
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
	ZRowHeader	hdr;			/* header afterwards (PADDED is seen to here); LOCK:
								 * only the lock bits of flags2 count */
	uint64		body;			/* TOMBSTONE: undo pointer to where it goes */
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

/* An empty page with so many slots, 0 to ZPAGE_MAX_INPAGE. */
extern void zpage_init_apply(Page page, int nslots);
extern void zpage_overflow_init_apply(Page page, BlockNumber table_block);	/* or a lock page */

/* ---- page_apply.c ---- */

/*
 * Prepare the slot, then change rows.  "overflow" only with an overflow slot.
 * The space must have been checked: zpage_update_fits, zpage_free_contiguous /
 * zpage_free_total.
 */
extern void zpage_slot_apply(Page page, Page overflow, const ZSlotPlan *plan);

/* The slot alone, where only its page needs replay. */
extern void zpage_slot_take_apply(ZPageSlot *slot, const ZSlotPlan *plan);

/* The other way round: makes "scratch" an overflow page for zpage_slot_apply. */
extern void zpage_scratch_init_apply(Page scratch, const ZSlotPlan *plan);
extern void zpage_row_apply(Page page, const ZRowPlan *plan);

/* Parts of it, for rolling rows back too. */
extern void zpage_row_replace_apply(Page page, const ZRowPlan *plan);
extern void zpage_row_header_apply(Page page, OffsetNumber offnum, const ZRowHeader *header);
extern uint8 zpage_row_lock_bits(Page page, OffsetNumber offnum);

/* A row deleted by xid is on the page: pruning may find something once that is old. */
extern void zpage_set_prunable(Page page, TransactionId xid);

/* Would the row at offnum, grown to newlen bytes, fit the page? */
extern bool zpage_update_fits(Page page, OffsetNumber offnum, uint32 newlen);

/* ---- rolling back rows of an aborted transaction (page_rollback.c) ---- */

typedef enum ZRollbackKind
{
	ZROLLBACK_KILL,				/* the row never was: dead line pointer */
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
	ZOwner		next;			/* the owner before, or free */
	uint8		next_count;		/* its records above a directory (zpage_slot_count) */
	ZOwner		next_before;	/* planning only: the owner before "next" */
	int			nrows;
	ZRowRollback *rows;
	FullTransactionId conflict; /* newest modifier that became "visible to all" here
								 * and that standbys have not been told of */
} ZRollbackPlan;

extern void zpage_rollback_apply(Page page, Page overflow, const ZRollbackPlan *plan);

/* The slot alone, where only its page needs replay. */
extern void zpage_slot_rollback_apply(ZPageSlot *slot, const ZRollbackPlan *plan);

/* ---- pruning (page_prune.c) ---- */

typedef struct ZPrunePlan
{
	int			ndead;			/* rows dead to all: become LP_DEAD */
	int			ntrim;			/* rows that give up their padding */
	int			nunused;		/* LP_DEAD without index entries: become LP_UNUSED */
	int			nsingle;		/* rows that have one key again: lose the mark */
	OffsetNumber dead[ZPAGE_MAX_OFFSET];
	OffsetNumber trim[ZPAGE_MAX_OFFSET];
	OffsetNumber unused[ZPAGE_MAX_OFFSET];
	OffsetNumber single[ZPAGE_MAX_OFFSET];
	FullTransactionId conflict; /* newest xid whose rows go, for standbys */
	FullTransactionId remembered;	/* with nunused or nsingle: scans with snapshots up to this one
									 * may know index entries that have gone; or invalid */
} ZPrunePlan;

extern void zpage_prune_apply(Page page, const ZPrunePlan *plan);

/* ---- page_compact.c ---- */

/* Squeeze out the holes between rows.  Deterministic: layout by line pointer. */
extern void zpage_compact_apply(Page page);

/* Make the slot array "grow" longer; contiguous space must suffice after compaction. */
extern void zpage_grow_apply(Page page, int grow);

/* Speculative insertion succeeded: clear the mark. */
extern void zpage_confirm_apply(Page page, OffsetNumber offnum);

/* Name the overflow page of a table page, or one more lock page of an overflow page. */
extern void zpage_overflow_apply(Page page, BlockNumber overflow_block);

/*
 * Has the page room for a row's header where the line pointer leads to?  For those that look at a
 * header before the row is checked: a damaged pointer must not make them read elsewhere.
 */
static inline bool
zpage_leads_to_row(ItemId lp)
{
	return ItemIdIsNormal(lp) && ItemIdGetOffset(lp) <= BLCKSZ - ZROW_HDR_SIZE;
}

/* Is there a row at offnum, that is deleted and names the slot (C3)? */
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

/* ---- pages whose rows all see, and the visibility map (page_visible.c) ---- */

/*
 * Has the page rows, and nothing that keeps it from being marked all-visible, if only all of them
 * are visible to all (P6)?
 */
extern bool zpage_may_be_visible(Page page);

/* The map's page where the bits of a block of the table are. */
extern BlockNumber zmap_page_of(BlockNumber block);

/* "map" is that page, or zeros.  The table page's own mark is PageSetAllVisible's. */
extern void zmap_set_apply(Page map, BlockNumber block);
extern void zmap_clear_apply(Page map, BlockNumber block);

#ifdef USE_ASSERT_CHECKING
extern void zpage_assert_valid(Page page);

/* S3: does every row that names the slot say that it was the modifier's before? */
extern bool zpage_slot_is_left(Page page, int slotno);
#else
#define zpage_assert_valid(page) ((void) 0)
#endif

/* ---- page_dump.c ---- */

/*
 * For debuggers ("call zpage_dump(page)"): print the header, slots, line pointers and
 * rows' headers of any page of a table to stderr.  Believes nothing that it reads.
 */
extern void zpage_dump(Page page);

#endif							/* ZHEAP_PAGE_H */
