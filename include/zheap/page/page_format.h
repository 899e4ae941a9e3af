/*
 * page_format.h
 *		The bytes of a table page, of an overflow page and of a lock page.
 *
 *   0          +------------------------------------------+
 *              | PageHeaderData, 24 bytes                 |
 *   24         | line pointers, growing towards the rows  |
 *   pd_lower   +------------------------------------------+
 *              | free space                               |
 *   pd_upper   +------------------------------------------+
 *              | rows (row_format.h), any alignment       |
 *   pd_special +------------------------------------------+
 *              | ZPageSlot[nslots], 16 bytes each         |
 *              | ZPageTrailer, 16 bytes                   |
 *   BLCKSZ     +------------------------------------------+
 *
 * The number of slots follows from pd_special.  A page begins with as many as its first row leaves
 * room for, up to zheap.initial_slots: with none if that row is one of the longest.
 *
 * An overflow page contains slots for one table page that has no room for them:
 *
 *   24         | BlockNumber of that table page, 4 bytes                |
 *   28         | number of its lock pages, 4 bytes                      |
 *   32         | ZPageSlot[ZPAGE_OVERFLOW_SLOTS]                        |
 *   7712       | BlockNumber[ZPAGE_MAX_LOCK_PAGES] of lock pages        |
 *   pd_lower = pd_upper's lower bound, free space, ZPageTrailer
 *
 * A lock page has the same form, and no lock pages of its own.  Its slots are for transactions
 * that only hold locks on rows: no row ever names them, so any number of transactions may have
 * one.
 *
 *   table page --trailer.overflow--> overflow page --lock_pages[]--> lock pages
 *
 * Slot numbers: 0 frozen; 1..ZPAGE_MAX_INPAGE on the page itself;
 * ZPAGE_FIRST_OVERFLOW..ZPAGE_MAX_SLOTNO on its overflow page, which is the limit of a row's
 * header; ZPAGE_FIRST_LOCK..ZPAGE_MAX_LOCK_SLOTNO on its lock pages.  On overflow page k, which is
 * the overflow page if k is 0 and a lock page otherwise, slot i has the number
 * ZPAGE_FIRST_OVERFLOW + k * ZPAGE_OVERFLOW_SLOTS + i.
 *
 * Line pointers: LP_UNUSED, LP_NORMAL, LP_DEAD (no storage; index entries may still name it;
 * lp_off is 0, or ZPAGE_DEAD_LOCKED).  LP_REDIRECT does not occur.
 */
#ifndef ZHEAP_PAGE_FORMAT_H
#define ZHEAP_PAGE_FORMAT_H

#include "access/htup_details.h"
#include "access/transam.h"
#include "storage/block.h"
#include "storage/bufpage.h"

/*
 * The address of an undo record: block << 32 | generation << 16 | offset.  Opaque above the undo
 * layer; 0 is invalid.
 */
typedef uint64 ZUndoPtr;

#define ZUNDO_INVALID	((ZUndoPtr) 0)

/* lp_off of a dead line pointer whose row was rolled back while it may have been locked */
#define ZPAGE_DEAD_LOCKED	1

/* A transaction, and the address of one of its undo records about a page. */
typedef struct ZOwner			/* tidy: in memory only */
{
	FullTransactionId fxid;		/* invalid: none */
	ZUndoPtr	undo;
} ZOwner;

typedef struct ZPageSlot
{
	uint64		word;			/*  0- 7: lower 56 bits: the owner's fxid, 0 means free;
								 * upper 8 bits: number of the chain's records above
								 * its newest directory (C1) */
	ZUndoPtr	undo;			/*  8-15: the chain's newest record */
} ZPageSlot;

StaticAssertDecl(sizeof(ZPageSlot) == 16, "ZPageSlot is on disk");

/* Only the accessors in page.h know how the words are divided. */
typedef struct ZPageTrailer
{
	uint64		reused_word;	/*  0- 7: lower 56 bits: fxid of the newest owner whose slot was
								 * taken over before it was all-visible; or newer, if scans
								 * may remember index entries that are gone; upper 8 bits:
								 * ZPAGE_KIND_OVERFLOW or 0, and ZPAGE_VERSION */
	BlockNumber overflow;		/*  8-11: overflow page, or InvalidBlockNumber */
	uint32		naming_word;	/* 12-15: lower 24 bits: groups of rows that may name slots (P5),
								 * bit k: from row k * ZPAGE_GROUP_ROWS + 1 on; upper 8
								 * bits: ZPAGE_MAGIC */
} ZPageTrailer;

StaticAssertDecl(sizeof(ZPageTrailer) == 16, "ZPageTrailer is on disk");
StaticAssertDecl(sizeof(ZPageTrailer) == MAXALIGN(sizeof(ZPageTrailer)), "pd_special is aligned");

#define ZPAGE_MAGIC			0x5A	/* the page's last byte, in former versions too */
#define ZPAGE_KIND_OVERFLOW	0x80	/* or a lock page */
#define ZPAGE_VERSION		5	/* former versions have 0 there */

/* C1, chain.h: maximum of records of a chain above its newest directory */
#define ZCHAIN_INTERVAL			64

#define ZPAGE_INITIAL_SLOTS		4
#define ZPAGE_MAX_INPAGE		31
#define ZPAGE_FIRST_OVERFLOW	32
#define ZPAGE_OVERFLOW_SLOTS	480 /* numbers 32..511 */
#define ZPAGE_MAX_SLOTNO		511 /* 9 bits in a row's header */

#define ZPAGE_FIRST_LOCK		(ZPAGE_MAX_SLOTNO + 1)
#define ZPAGE_MAX_LOCK_PAGES	96
#define ZPAGE_MAX_LOCK_SLOTNO \
	(ZPAGE_MAX_SLOTNO + ZPAGE_MAX_LOCK_PAGES * ZPAGE_OVERFLOW_SLOTS)

StaticAssertDecl(ZPAGE_FIRST_LOCK == ZPAGE_FIRST_OVERFLOW + ZPAGE_OVERFLOW_SLOTS,
				 "slot numbers go on from page to page");
StaticAssertDecl(ZPAGE_MAX_LOCK_SLOTNO <= PG_UINT16_MAX, "slot numbers have 16 bits");

/* core's tidbitmap refuses larger offsets */
#define ZPAGE_MAX_OFFSET		MaxHeapTuplesPerPage

#define ZPAGE_GROUPS			24
#define ZPAGE_GROUP_ROWS		13

StaticAssertDecl((ZPAGE_MAX_OFFSET - 1) / ZPAGE_GROUP_ROWS < ZPAGE_GROUPS,
				 "a bit for each group of rows");

/*
 * Maximum number of a slot for a transaction that only locks, unless it has a slot already.  The
 * slots above are as many as a page has rows, and each transaction in progress that changes rows
 * has changed one that no other has; where slots are scarce it has only one slot.  So a
 * transaction that may change a row always finds a slot.
 */
#define ZPAGE_MAX_SHARED_SLOTNO (ZPAGE_MAX_SLOTNO - ZPAGE_MAX_OFFSET)

#define ZPAGE_SPECIAL_SIZE(nslots)	((nslots) * sizeof(ZPageSlot) + sizeof(ZPageTrailer))

/*
 * The longest row that an empty page with this many slots has room for; that any page has room
 * for.
 */
#define ZPAGE_ROOM(nslots) \
	(BLCKSZ - SizeOfPageHeaderData - sizeof(ItemIdData) - ZPAGE_SPECIAL_SIZE(nslots))
#define ZPAGE_MAX_ROW			ZPAGE_ROOM(0)

typedef struct ZOverflowPageBody
{
	BlockNumber table_block;	/* 0-3 */
	uint32		nlock_pages;	/* 4-7 */
	ZPageSlot	slots[ZPAGE_OVERFLOW_SLOTS];	/*    8-7687 */
	BlockNumber lock_pages[ZPAGE_MAX_LOCK_PAGES];	/* 7688-8071 */
} ZOverflowPageBody;

/* The contents of an overflow page. */
static inline ZOverflowPageBody *
zpage_overflow_body(Page overflow)
{
	return (ZOverflowPageBody *) PageGetContents(overflow);
}

StaticAssertDecl(sizeof(ZOverflowPageBody) == 8072, "ZOverflowPageBody is on disk");
StaticAssertDecl(SizeOfPageHeaderData + sizeof(ZOverflowPageBody) + sizeof(ZPageTrailer) <= BLCKSZ,
				 "ZOverflowPageBody fits a page");

#endif							/* ZHEAP_PAGE_FORMAT_H */
