/*
 * page_plan.h
 *		Changes of a table page: the plan of each, and the only code that carries it out.
 *
 * Functions named _apply need the page's exclusive content lock, or an own copy, cannot fail, and
 * are shared by the forward path and redo.
 */
#ifndef ZHEAP_PAGE_PLAN_H
#define ZHEAP_PAGE_PLAN_H

#include "storage/bufpage.h"

#include "zheap/page/page_format.h"
#include "zheap/page/row_format.h"

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

#endif							/* ZHEAP_PAGE_PLAN_H */
