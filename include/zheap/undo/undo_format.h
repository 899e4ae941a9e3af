/*
 * undo_format.h
 *		On-disk format of the undo relation, and of its WAL records.
 *
 * Block 0 is the meta page, blocks 1..ZUNDO_DIR_PAGES are the log directory, and the next block
 * is the first page of the free map; the rest of the first extent is unused.  Then follow
 * extents of ZUNDO_EXTENT_BLOCKS blocks.  Each ZUNDO_GROUP_EXTENTS of them form a group, whose
 * first extent holds only the group's map page:
 *
 *   meta page       24 | ZUndoMeta
 *           pd_special | ZUndoPageSpecial (magic only)
 *   directory page  24 | ZUndoDirEntry[ZUNDO_DIR_ENTRIES]
 *           pd_special | ZUndoPageSpecial (magic only)
 *   map page        24 | one bit for each extent of the group: set if it is free
 *           pd_special | ZUndoPageSpecial (magic only)
 *   undo page       24 | records: varint length, ZUndoCheck, bytes; append only
 *           pd_special | ZUndoPageSpecial
 *
 * A record's check covers its bytes and its ZUndoPtr.  Every page has a check of its own in
 * pd_prune_xid, which has no other use here (page_check): it covers the block number, the
 * header and the special area, and, except on undo pages, all that lies between.
 *
 * On every page pd_lower is the end of the used part, and the bytes from there to pd_special
 * are zero, so that copies that omit the hole (full-page images, CREATE DATABASE) lose nothing.
 *
 * The pages of an extent are filled in order and initialised when first written.  They get the
 * generation that the extent's first page got when the extent was opened: a page with another
 * generation has not been written since.
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
	FullTransactionId horizon;	/* 8-15: the logged horizon */
	BlockNumber nblocks;		/* 16-19: end of the last extent */
	uint32		free_count;		/* 20-23: free extents */
	uint32		generation;		/* 24-27: the newest generation of all extents that were ever
								 * freed */
	BlockNumber high_water;		/* 28-31: greatest nblocks ever */
} ZUndoMeta;

StaticAssertDecl(sizeof(ZUndoMeta) == 32, "ZUndoMeta is on disk");

/* One undo log: a chain of extents that one backend at a time appends to. */
typedef struct ZUndoDirEntry
{
	BlockNumber oldest_extent;	/* 0-3: oldest extent; invalid: the log has none */
	BlockNumber newest_extent;	/* 4-7: newest extent */
} ZUndoDirEntry;

StaticAssertDecl(sizeof(ZUndoDirEntry) == 8, "ZUndoDirEntry is on disk");

#define ZUNDO_DIR_ENTRIES \
	((int) ((BLCKSZ - SizeOfPageHeaderData - sizeof(ZUndoPageSpecial)) / sizeof(ZUndoDirEntry)))
#define ZUNDO_MAX_LOGS		(ZUNDO_DIR_PAGES * ZUNDO_DIR_ENTRIES)

/* Special area of all pages.  Only undo pages use more than the magic. */
typedef struct ZUndoPageSpecial
{
	FullTransactionId closed;	/* 0- 7: extent's first page: the next xid when the log went on
								 * to the next extent; invalid in the log's last extent.  All
								 * records of the extent have older xids. */
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

/* offset in blocks of a group's map page within the group's first extent */
#define ZUNDO_MAP_OFFSET	(1 + ZUNDO_DIR_PAGES)

/* Records lie in [ZUNDO_PAGE_START, ZUNDO_PAGE_END). */
#define ZUNDO_PAGE_START	((uint16) SizeOfPageHeaderData)
#define ZUNDO_PAGE_END		((uint16) (BLCKSZ - sizeof(ZUndoPageSpecial)))

typedef uint16 ZUndoCheck;

/* The longest record that fits a page.  Before it come its length, two bytes, and its check. */
#define ZUNDO_MAX_RECORD \
	((int) (ZUNDO_PAGE_END - ZUNDO_PAGE_START - 2 - sizeof(ZUndoCheck)))

/* ---- WAL records of the undo layer itself (undo_wal.c) ---- */

/* The values of the meta page after the record. */
typedef struct ZUndoMetaValues
{
	FullTransactionId horizon;
	BlockNumber nblocks;
	uint32		free_count;
	uint32		generation;
	TransactionId conflict;		/* not older than the horizon: on a standby cancel snapshots
								 * with an xmin up to this one, which may go with page copies
								 * from before a rollback; invalid: none */
} ZUndoMetaValues;

StaticAssertDecl(sizeof(ZUndoMetaValues) == 24, "ZUndoMetaValues is in WAL");

/* ZREC_UNDO_EXTENT: a log opens an extent. */
enum							/* block references */
{
	ZEXTENT_FIRST,				/* first page of the new extent, initialised */
	ZEXTENT_CLOSED,				/* first page of the log's last extent (unless it had none) */
	ZEXTENT_DIR,				/* directory page */
	ZEXTENT_META,				/* meta page (if it changed) */
	ZEXTENT_MAP,				/* map page (if the extent was free, or is its group's first) */
	ZEXTENT_PAGES
};

typedef struct ZRecUndoExtent
{
	ZUndoMetaValues meta;
	FullTransactionId closed;	/* for ZEXTENT_CLOSED */
	BlockNumber oldest_extent;	/* the log's oldest extent from now on */
	uint32		log;
	uint16		generation;		/* of the new extent */
	bool		recycled;		/* the extent was the log's own oldest one: conflicts with
								 * snapshots older than meta.horizon */
	bool		map_init;		/* ZEXTENT_MAP is a new page */
	uint8		unused[4];
} ZRecUndoExtent;

StaticAssertDecl(sizeof(ZRecUndoExtent) == 48, "ZRecUndoExtent is in WAL");

/* ZREC_UNDO_FREE: a log frees its oldest extent. */
enum							/* block references */
{
	ZFREE_META,
	ZFREE_DIR,
	ZFREE_MAP,
	ZFREE_PAGES
};

typedef struct ZRecUndoFree
{
	ZUndoMetaValues meta;		/* horizon: conflicts with older snapshots */
	BlockNumber extent;			/* the freed extent */
	BlockNumber oldest_extent;	/* the log's oldest extent from now on */
	BlockNumber newest_extent;	/* both invalid: the log is empty now */
	uint32		log;
} ZRecUndoFree;

StaticAssertDecl(sizeof(ZRecUndoFree) == 40, "ZRecUndoFree is in WAL");

/*
 * ZREC_UNDO_TRUNCATE: free extents at the end are removed from the undo relation.  The server's
 * own record of the truncation follows.
 *
 * Backup Blk 0: meta page
 * Backup Blk 1: map page (unless it is truncated away, too)
 */
typedef struct ZRecUndoTruncate
{
	ZUndoMetaValues meta;		/* nblocks: the new end */
	BlockNumber old_nblocks;	/* at least the end of the extents in the map page */
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
 * ZREC_UNDO_INIT: make a new, empty undo relation, or make one anew whose undo is given up
 * (undo_reset.c); in the latter case the server's record of a truncation follows.  Each record
 * has one directory page, except the last one, which has the meta and map pages.  Older
 * versions wrote one record with all pages.
 *
 * Backup Blk 0: meta page, initialised
 * Backup Blk 1..ZUNDO_DIR_PAGES: directory pages, initialised
 * Backup Blk ZUNDO_MAP_OFFSET: map page, initialised
 */
typedef struct ZRecUndoInit
{
	FullTransactionId horizon;
	TransactionId conflict;		/* on a standby cancel snapshots with an xmin up to this one;
								 * invalid: a new relation */
	BlockNumber high_water;
	uint32		generation;		/* the newest generation of what was given up */
	uint32		unused;
} ZRecUndoInit;

StaticAssertDecl(sizeof(ZRecUndoInit) == 24, "ZRecUndoInit is in WAL");

#endif							/* ZHEAP_UNDO_FORMAT_H */
