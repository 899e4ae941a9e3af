/*
 * rec_rmgr.c
 *		The resource manager: dispatch, names, masking.
 */
#include "postgres.h"

#include "access/bufmask.h"
#include "access/xlog_internal.h"
#include "replication/decode.h"
#include "replication/reorderbuffer.h"

#include "zheap/record/record.h"

static uint8
opcode(XLogReaderState *record)
{
	return XLogRecGetInfo(record) & ~XLR_INFO_MASK;
}

static void
redo(XLogReaderState *record)
{
	switch (opcode(record))
	{
		case ZREC_INSERT:
		case ZREC_UPDATE:
		case ZREC_DELETE:
		case ZREC_LOCK:
		case ZREC_TOMBSTONE:
		case ZREC_DIRECTORY:
			zrec_change_redo(record);
			break;
		case ZREC_ROLLBACK:
			zrec_rollback_redo(record);
			break;
		case ZREC_PRUNE:
			zrec_prune_redo(record);
			break;
		case ZREC_OVERFLOW:
			zrec_overflow_redo(record);
			break;
		case ZREC_CONFIRM:
			zrec_confirm_redo(record);
			break;
		case ZREC_CONFLICT:
			zrec_conflict_redo(record);
			break;
		case ZREC_UNDO_TRUNCATE:
		case ZREC_UNDO_EXTENT:
		case ZREC_UNDO_FREE:
		case ZREC_UNDO_HORIZON:
		case ZREC_UNDO_INIT:
			zundo_redo(record);
			break;
		default:
			elog(PANIC, "zheap: unknown WAL record type 0x%02X at %X/%X",
				 opcode(record), LSN_FORMAT_ARGS(record->ReadRecPtr));
	}
}

static void
desc(StringInfo buf, XLogReaderState *record)
{
	switch (opcode(record))
	{
		case ZREC_INSERT:
		case ZREC_UPDATE:
		case ZREC_DELETE:
		case ZREC_LOCK:
		case ZREC_TOMBSTONE:
		case ZREC_DIRECTORY:
			zrec_change_desc(buf, record);
			break;
		case ZREC_ROLLBACK:
			zrec_rollback_desc(buf, record);
			break;
		case ZREC_PRUNE:
			zrec_prune_desc(buf, record);
			break;
		case ZREC_OVERFLOW:
		case ZREC_CONFIRM:
			break;
		case ZREC_CONFLICT:
			zrec_conflict_desc(buf, record);
			break;
		default:
			zundo_desc(buf, record);
	}
}

static const char *
identify(uint8 info)
{
	switch (info & ~XLR_INFO_MASK)
	{
		case ZREC_INSERT:
			return "INSERT";
		case ZREC_UPDATE:
			return "UPDATE";
		case ZREC_DELETE:
			return "DELETE";
		case ZREC_LOCK:
			return "LOCK";
		case ZREC_ROLLBACK:
			return "ROLLBACK";
		case ZREC_PRUNE:
			return "PRUNE";
		case ZREC_OVERFLOW:
			return "OVERFLOW";
		case ZREC_CONFIRM:
			return "CONFIRM";
		case ZREC_TOMBSTONE:
			return "TOMBSTONE";
		case ZREC_DIRECTORY:
			return "DIRECTORY";
		case ZREC_CONFLICT:
			return "CONFLICT";
	}
	return zundo_identify(info);
}

/*
 * Replay gives the page byte for byte (W1), so only what is not logged at all is
 * masked.
 */
static void
mask(char *page, BlockNumber block)
{
	if (zundo_is_undo_page(page))
	{
		zundo_mask(page, block);
		return;
	}
	mask_page_lsn_and_checksum((Page) page);
	mask_unused_space((Page) page);
}

/*
 * Logical decoding is not supported yet; the transaction must be known to the
 * reorder buffer all the same.
 */
static void
decode(LogicalDecodingContext *ctx, XLogRecordBuffer *buf)
{
	ReorderBufferProcessXid(ctx->reorder, XLogRecGetXid(buf->record), buf->origptr);
}

static RmgrData rmgr = {
	.rm_name = ZHEAP_RMGR_NAME,
	.rm_redo = redo,
	.rm_desc = desc,
	.rm_identify = identify,
	.rm_startup = NULL,
	.rm_cleanup = NULL,
	.rm_mask = mask,
	.rm_decode = decode
};

void
zrec_rmgr_register(void)
{
	RegisterCustomRmgr(ZHEAP_RMGR_ID, &rmgr);
}
