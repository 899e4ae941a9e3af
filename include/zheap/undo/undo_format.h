/*
 * undo_format.h
 *		The bytes of the undo relation.
 *
 * Block 0 is the meta page, blocks 1..ZUNDO_DIR_PAGES the log directory, then
 * the first page of the free map; the rest of the first extent is unused.  From
 * then on extents of ZUNDO_EXTENT_BLOCKS blocks.  Each ZUNDO_GROUP_EXTENTS of
 * them are a group, whose first extent holds nothing but the group's map page:
 *
 *   meta page       24 | ZUndoMeta
 *           pd_special | ZUndoPageSpecial (magic only)
 *   directory page  24 | ZUndoDirEntry[ZUNDO_DIR_ENTRIES]
 *           pd_special | ZUndoPageSpecial (magic only)
 *   map page        24 | one bit for each extent of the group: it is free
 *           pd_special | ZUndoPageSpecial (magic only)
 *   undo page       24 | records: varint length, ZUndoCheck, bytes; append only
 *           pd_special | ZUndoPageSpecial
 *
 * A record's check is made of its bytes and its ZUndoPtr.  All pages have a check of their
 * own in pd_prune_xid, which has no other use here (zundo_page_check): of block number,
 * header and special area, and except on undo pages of all that lies between.
 *
 * pd_lower is the end of what is used on all of them, and what follows it up to
 * pd_special is zero, so that copies that drop the hole (full-page images,
 * CREATE DATABASE) lose nothing.
 *
 * The pages of an extent are filled in order and initialised when first
 * written, with the generation that the extent's first page got when the extent
 * was opened: a page with another generation has not been written yet since.
 */
#ifndef ZHEAP_UNDO_FORMAT_H
#define ZHEAP_UNDO_FORMAT_H

#include "access/transam.h"
#include "storage/block.h"
#include "storage/bufpage.h"

#include "zheap/page/page_format.h"

#define ZUNDO_META_BLOCK		0
#define ZUNDO_DIR_PAGES			15
#define ZUNDO_EXTENT_BLOCKS		32

#define ZUNDO_META_MAGIC		0x5A554D45
#define ZUNDO_META_VERSION		4

/* ZUndoPageSpecial.magic */
#define ZUNDO_PAGE_MAGIC		0x5A55
#define ZUNDO_DIR_MAGIC			0x5A44
#define ZUNDO_METAPAGE_MAGIC	0x5A4D
#define ZUNDO_MAP_MAGIC			0x5A46

typedef struct ZUndoMeta
{
	uint32		magic;			/*  0- 3 */
	uint32		version;		/*  4- 7 */
	FullTransactionId horizon;	/*  8-15: older xids are committed and seen by all */
	BlockNumber nblocks;		/* 16-19: end of the last extent */
	uint32		free_count;		/* 20-23: free extents */
	uint32		generation;		/* 24-27: newest one of extents that were freed */
	BlockNumber high_water;		/* 28-31: greatest nblocks ever */
} ZUndoMeta;

StaticAssertDecl(sizeof(ZUndoMeta) == 32, "ZUndoMeta is on disk");

/* One undo log: a chain of extents that one backend at a time appends to. */
typedef struct ZUndoDirEntry
{
	BlockNumber oldest_extent;	/* 0-3: oldest extent, or invalid: no extents */
	BlockNumber newest_extent;	/* 4-7: newest */
} ZUndoDirEntry;

StaticAssertDecl(sizeof(ZUndoDirEntry) == 8, "ZUndoDirEntry is on disk");

#define ZUNDO_DIR_ENTRIES \
	((int) ((BLCKSZ - SizeOfPageHeaderData - sizeof(ZUndoPageSpecial)) / sizeof(ZUndoDirEntry)))
#define ZUNDO_MAX_LOGS		(ZUNDO_DIR_PAGES * ZUNDO_DIR_ENTRIES)

/* Special area of all pages; but undo pages use the magic alone. */
typedef struct ZUndoPageSpecial
{
	FullTransactionId closed;	/*  0- 7: extent's first page: next xid when the
								 * log went on to the next extent; invalid in
								 * the tail.  No record of the extent is of
								 * this or a later xid. */
	BlockNumber next;			/*  8-11: extent's first page: next extent of the
								 * log */
	uint16		generation;		/* 12-13: times this extent was opened */
	uint16		magic;			/* 14-15: at the page's very end */
} ZUndoPageSpecial;

StaticAssertDecl(sizeof(ZUndoPageSpecial) == 16, "ZUndoPageSpecial is on disk");

/* ---- the free map ---- */

#define ZUNDO_MAP_BYTES		((int) (BLCKSZ - SizeOfPageHeaderData - sizeof(ZUndoPageSpecial)))
#ifndef ZUNDO_GROUP_EXTENTS
#define ZUNDO_GROUP_EXTENTS	(ZUNDO_MAP_BYTES * 8)
#endif

StaticAssertDecl(ZUNDO_GROUP_EXTENTS <= ZUNDO_MAP_BYTES * 8, "a group's map is one page");

/* where a group's map page is: block of its first extent */
#define ZUNDO_MAP_OFFSET	(1 + ZUNDO_DIR_PAGES)

/* Records lie in [ZUNDO_PAGE_START, ZUNDO_PAGE_END). */
#define ZUNDO_PAGE_START	((uint16) SizeOfPageHeaderData)
#define ZUNDO_PAGE_END		((uint16) (BLCKSZ - sizeof(ZUndoPageSpecial)))

typedef uint16 ZUndoCheck;

/* The longest record that fits a page (its length takes two bytes more, then its check). */
#define ZUNDO_MAX_RECORD \
	((int) (ZUNDO_PAGE_END - ZUNDO_PAGE_START - 2 - sizeof(ZUndoCheck)))

/* ---- WAL records of the undo layer itself (undo_wal.c) ---- */

/* Values that a record gives the meta page. */
typedef struct ZUndoMetaValues
{
	FullTransactionId horizon;
	BlockNumber nblocks;
	uint32		free_count;
	uint32		generation;
	TransactionId conflict;		/* not older than the horizon: snapshots up to this
								 * xmin may go with copies of pages where rows were
								 * rolled back since; or invalid */
} ZUndoMetaValues;

StaticAssertDecl(sizeof(ZUndoMetaValues) == 24, "ZUndoMetaValues is in WAL");

/*
 * ZREC_UNDO_EXTENT: a log goes on to a new extent.
 *
 * Backup Blk 0: first page of the new extent, initialised
 * Backup Blk 1: first page of the log's last extent (unless it had none)
 * Backup Blk 2: directory page
 * Backup Blk 3: meta page (if meta changed)
 * Backup Blk 4: map page (if the extent was free, or is the first of its group)
 */
typedef struct ZRecUndoExtent
{
	ZUndoMetaValues meta;
	FullTransactionId closed;	/* for block 1 */
	BlockNumber oldest_extent;	/* the log's oldest extent from now on */
	uint32		log;
	uint16		generation;		/* of the new extent */
	bool		recycled;		/* it was the log's own oldest extent: conflicts with
								 * snapshots older than meta.horizon */
	bool		map_init;		/* block 4 is new, not changed */
	uint8		unused[4];
} ZRecUndoExtent;

StaticAssertDecl(sizeof(ZRecUndoExtent) == 48, "ZRecUndoExtent is in WAL");

/*
 * ZREC_UNDO_FREE: a log gives its oldest extent away.
 *
 * Backup Blk 0: meta page
 * Backup Blk 1: directory page
 * Backup Blk 2: map page
 */
typedef struct ZRecUndoFree
{
	ZUndoMetaValues meta;		/* horizon: conflicts with older snapshots */
	BlockNumber extent;			/* is free now */
	BlockNumber oldest_extent;	/* the log's oldest extent from now on */
	BlockNumber newest_extent;	/* both invalid: it is empty now */
	uint32		log;
} ZRecUndoFree;

StaticAssertDecl(sizeof(ZRecUndoFree) == 40, "ZRecUndoFree is in WAL");

/*
 * ZREC_UNDO_TRUNCATE: free extents at the end are no longer part of the undo relation;
 * the server's own record of the truncation follows.
 *
 * Backup Blk 0: meta page
 * Backup Blk 1: map page (unless it is truncated away, too)
 */
typedef struct ZRecUndoTruncate
{
	ZUndoMetaValues meta;		/* nblocks: the new end */
	BlockNumber old_nblocks;	/* at least the end of what the map page tells */
	uint32		unused;
} ZRecUndoTruncate;

StaticAssertDecl(sizeof(ZRecUndoTruncate) == 32, "ZRecUndoTruncate is in WAL");

/*
 * ZREC_UNDO_HORIZON: the logged horizon moves.
 *
 * Backup Blk 0: meta page
 */
typedef struct ZRecUndoHorizon
{
	FullTransactionId horizon;	/* conflicts with older snapshots */
	TransactionId conflict;		/* as in ZUndoMetaValues */
	uint32		unused;
} ZRecUndoHorizon;

StaticAssertDecl(sizeof(ZRecUndoHorizon) == 16, "ZRecUndoHorizon is in WAL");

/*
 * ZREC_UNDO_INIT: a new undo relation, in which nobody has written anything yet; or all that
 * it had is given up (undo_reset.c).  The server's record of a truncation follows then.  A record
 * has one of the directory's pages, the last one both others; older servers wrote one with all.
 *
 * Backup Blk 0: meta page, initialised
 * Backup Blk 1..ZUNDO_DIR_PAGES: directory pages, initialised
 * Backup Blk ZUNDO_MAP_OFFSET: map page, initialised
 */
typedef struct ZRecUndoInit
{
	FullTransactionId horizon;
	TransactionId conflict;		/* snapshots up to this xmin; invalid: a new relation */
	BlockNumber high_water;
	uint32		generation;		/* of what was given up the newest */
	uint32		unused;
} ZRecUndoInit;

StaticAssertDecl(sizeof(ZRecUndoInit) == 24, "ZRecUndoInit is in WAL");

#endif							/* ZHEAP_UNDO_FORMAT_H */
