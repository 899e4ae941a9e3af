/*
 * unit_wal.h
 *		WAL in memory: the record files of the main tree, compiled with the
 *		server's WAL and buffer functions replaced, so that a record goes straight
 *		from emit to redo.
 *
 * Buffer numbers are block references plus one.
 */
#ifndef ZHEAP_UNIT_WAL_H
#define ZHEAP_UNIT_WAL_H

#include "access/xloginsert.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "zheap/record/record.h"
#include "zheap/undo/undo_ptr.h"

#define UNIT_WAL_LSN		((XLogRecPtr) 0x1000)
#define UNIT_WAL_TABLE		7	/* block numbers */
#define UNIT_WAL_OVERFLOW	8
#define UNIT_BUFFER(block_id)	((Buffer) (block_id) + 1)

typedef struct UnitWalBlock
{
	bool		used;
	uint8		flags;			/* REGBUF_* */
	Size		len;
	char		data[4 * BLCKSZ];
	Page		page;			/* for redo */
	bool		done;			/* redo finds the page changed already */
} UnitWalBlock;

typedef struct UnitWal
{
	/* the record */
	uint8		info;
	Size		len;
	char		data[2 * BLCKSZ];
	Size		optional;		/* so many bytes at its end may be missing, all or none of them */
	UnitWalBlock blocks[ZREC_BLK_OTHER_MAP + 1];
	/* surroundings */
	FullTransactionId fxid;
	ZUndoPtr	undo_ptr;		/* where the undo record goes */
	uint16		undo_distance;	/* from the first of two records to the second */
	/* what redo appended to the undo page */
	Size		undo_len;
	uint32		undo_log;
	char		undo[BLCKSZ];
	ZUndoPtr	undo_at;
	bool		undo_init;
} UnitWal;

extern UnitWal unit_wal;

extern void unit_wal_begin(void);
extern void unit_wal_data(const char *data, Size len);
extern void unit_wal_buffer(uint8 block_id, Buffer buffer, uint8 flags);
extern void unit_wal_buffer_data(uint8 block_id, const char *data, Size len);
extern XLogRecPtr unit_wal_insert(uint8 info);
extern XLogRedoAction unit_wal_read(uint8 block_id, Buffer *buffer);
extern Buffer unit_wal_init(uint8 block_id);
extern void unit_wal_tag(uint8 block_id, RelFileLocator *locator, BlockNumber *block);
extern char *unit_wal_block_data(uint8 block_id, Size *len);

/* Everything below is for the files that include a record file. */
#ifdef UNIT_WAL_REPLACE

#undef XLogRecGetData
#undef XLogRecGetDataLen
#undef XLogRecGetInfo
#undef XLogRecGetXid
#undef XLogRecHasBlockRef
#undef BufferGetPage

#define XLogBeginInsert()				unit_wal_begin()
#define XLogRegisterData(data, len)		unit_wal_data(data, len)
#define XLogRegisterBuffer(id, buffer, flags)	unit_wal_buffer(id, buffer, flags)
#define XLogRegisterBufData(id, data, len)	unit_wal_buffer_data(id, data, len)
#define XLogInsert(rmid, info)			unit_wal_insert(info)
#define XLogSetRecordFlags(flags)		((void) (flags))

#define XLogRecGetData(record)			(unit_wal.data)
#define XLogRecGetDataLen(record)		(unit_wal.len)
#define XLogRecGetInfo(record)			(unit_wal.info)
#define XLogRecGetXid(record)			XidFromFullTransactionId(unit_wal.fxid)
#define XLogRecHasBlockRef(record, id)	(unit_wal.blocks[id].used)
#define XLogRecGetBlockTag(record, id, locator, fork, block)	unit_wal_tag(id, locator, block)
#define XLogRecGetBlockData(record, id, len)	unit_wal_block_data(id, len)
#define XLogReadBufferForRedo(record, id, buffer)	unit_wal_read(id, buffer)
#define XLogInitBufferForRedo(record, id)	unit_wal_init(id)
#define XLogReadBufferForRedoExtended(record, id, mode, cleanup, buffer)	unit_wal_read(id, buffer)

#define BufferGetPage(buffer)			(unit_wal.blocks[(buffer) - 1].page)
#define MarkBufferDirty(buffer)			((void) (buffer))
/* with assertions it is one that keeps a list (base.h) */
#undef UnlockReleaseBuffer
#define UnlockReleaseBuffer(buffer)		((void) (buffer))
#define BufferGetBlockNumber(buffer)	zundo_ptr_block(unit_wal.undo_ptr)
#define zheap_buffer_is_exclusive(buffer)	true
#define zfxid_from_xid_in_redo(xid)		(unit_wal.fxid)

#endif							/* UNIT_WAL_REPLACE */

#endif							/* ZHEAP_UNIT_WAL_H */
