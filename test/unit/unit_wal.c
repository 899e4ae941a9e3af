/*
 * unit_wal.c
 *		WAL in memory, and what the record layer wants from the undo layer.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "unit_wal.h"

#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

UnitWal		unit_wal;

/* ---- writing a record ---- */

void
unit_wal_begin(void)
{
	int			i;

	unit_wal.len = 0;
	for (i = 0; i < (int) lengthof(unit_wal.blocks); i++)
	{
		unit_wal.blocks[i].used = false;
		unit_wal.blocks[i].len = 0;
	}
}

void
unit_wal_data(const char *data, Size len)
{
	Assert(unit_wal.len + len <= sizeof(unit_wal.data));
	memcpy(unit_wal.data + unit_wal.len, data, len);
	unit_wal.len += len;
}

void
unit_wal_buffer(uint8 block_id, Buffer buffer, uint8 flags)
{
	UnitWalBlock *block = &unit_wal.blocks[block_id];

	if (buffer != UNIT_BUFFER(block_id) || block->used)
		elog(ERROR, "wrong buffer for block reference %u", block_id);
	block->used = true;
	block->flags = flags;
}

void
unit_wal_buffer_data(uint8 block_id, const char *data, Size len)
{
	UnitWalBlock *block = &unit_wal.blocks[block_id];

	if (!block->used)
		elog(ERROR, "data for block reference %u, which is not registered", block_id);
	Assert(block->len + len <= sizeof(block->data));
	memcpy(block->data + block->len, data, len);
	block->len += len;
}

XLogRecPtr
unit_wal_insert(uint8 info)
{
	unit_wal.info = info;
	return UNIT_WAL_LSN;
}

/* ---- reading it ---- */

/* A page that came with the record as an image needs no redo. */
XLogRedoAction
unit_wal_read(uint8 block_id, Buffer *buffer)
{
	UnitWalBlock *block = &unit_wal.blocks[block_id];

	if (!block->used)
		elog(ERROR, "redo asks for block reference %u, which is not there", block_id);
	*buffer = UNIT_BUFFER(block_id);
	if (block->flags & REGBUF_FORCE_IMAGE)
		return BLK_RESTORED;
	return block->done ? BLK_DONE : BLK_NEEDS_REDO;
}

Buffer
unit_wal_init(uint8 block_id)
{
	UnitWalBlock *block = &unit_wal.blocks[block_id];

	if (!block->used || !(block->flags & REGBUF_WILL_INIT))
		elog(ERROR, "redo initialises block reference %u", block_id);
	memset(block->page, 0x7f, BLCKSZ);
	return UNIT_BUFFER(block_id);
}

void
unit_wal_tag(uint8 block_id, RelFileLocator *locator, BlockNumber *block)
{
	if (!unit_wal.blocks[block_id].used)
		elog(ERROR, "redo asks for block reference %u, which is not there", block_id);
	if (locator)
	{
		locator->spcOid = 1663;
		locator->dbOid = MyDatabaseId;
		locator->relNumber = 16384;
	}
	if (block)
		*block = block_id == ZREC_BLK_TABLE ? UNIT_WAL_TABLE :
			block_id == ZREC_BLK_OVERFLOW ? UNIT_WAL_OVERFLOW : zundo_ptr_block(unit_wal.undo_ptr);
}

char *
unit_wal_block_data(uint8 block_id, Size *len)
{
	UnitWalBlock *block = &unit_wal.blocks[block_id];

	if (len)
		*len = block->len;
	return block->len > 0 ? block->data : NULL;
}

/* ---- instead of the undo layer ---- */

ZUndoPtr
zundo_ptr_make(BlockNumber block, uint16 generation, uint16 offset)
{
	return (uint64) block << 32 | (uint64) generation << 16 | offset;
}

/* The model's records are all at the same distance. */
Size
zundo_size_of_two(Size first, Size second)
{
	return unit_wal.undo_distance + second;
}

void
zundo_name(ZUndoWrite *write, bool may_omit)
{
	write->omitted = may_omit && !write->init && write->log % 2 == 0;
}

void
zundo_register(ZUndoWrite *write, uint8 block_id)
{
	if (!write->omitted)
		unit_wal_buffer(block_id, write->buffer,
						write->init ? REGBUF_WILL_INIT | REGBUF_STANDARD : REGBUF_STANDARD);
	unit_wal.undo_log = write->log;
}

bool
zundo_replay_end(Oid dboid, ZUndoAppend *end)
{
	unit_wal_tag(ZREC_BLK_TABLE, &end->locator, NULL);
	end->block = zundo_ptr_block(unit_wal.undo_ptr);
	end->offset = zundo_ptr_offset(unit_wal.undo_ptr);
	end->generation = zundo_ptr_generation(unit_wal.undo_ptr);
	/* a damaged record names another log */
	return dboid == MyDatabaseId && end->log == unit_wal.undo_log;
}

void
zundo_redo_write(XLogReaderState *record, const ZUndoAppend *append,
				 const ZUndoBytes *records, int n)
{
	Assert(append->block_id == ZREC_BLK_UNDO);
	Assert(append->named == unit_wal.blocks[ZREC_BLK_UNDO].used);
	unit_wal.undo_len = 0;
	for (int i = 0; i < n; i++)
	{
		Assert(unit_wal.undo_len + records[i].len <= sizeof(unit_wal.undo));
		memcpy(unit_wal.undo + unit_wal.undo_len, records[i].bytes, records[i].len);
		unit_wal.undo_len += records[i].len;
	}
	unit_wal.undo_init = append->init;
	unit_wal.undo_at = zundo_ptr_make(append->block, append->generation, append->offset);
}
