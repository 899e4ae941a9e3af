/*
 * rec_rmgr.c
 *		The resource manager: dispatch, names, masking.
 */
#include "postgres.h"

#include "access/bufmask.h"
#include "access/xlog_internal.h"
#include "replication/decode.h"

#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_space.h"
#include "zheap/undo/undo_wal.h"

#include "rec_private.h"

/* A kind of record. */
typedef struct Operation
{
	const char *name;
	void		(*redo) (XLogReaderState *record);
	void		(*desc) (StringInfo buf, XLogReaderState *record);
	ZRecLogicalOf logical;		/* or NULL: never changes a row's values */
} Operation;

/* An entry: ZREC_name, and its functions, whose names begin with "does". */
#define OP(name, does)	[ZREC_##name >> 4] = {#name, does##_redo, does##_desc, NULL}
#define LOGICAL_OP(name, does) \
	[ZREC_##name >> 4] = {#name, does##_redo, does##_desc, does##_logical}

/* The list of all kinds of records; an info byte has no room for more. */
static const Operation operations[] = {
	LOGICAL_OP(INSERT, zrec_change),
	LOGICAL_OP(UPDATE, zrec_change),
	LOGICAL_OP(DELETE, zrec_change),
	OP(LOCK, zrec_change),
	LOGICAL_OP(ROLLBACK, zrec_rollback),
	OP(PRUNE, zrec_prune),
	OP(OVERFLOW, zrec_overflow),
	LOGICAL_OP(CONFIRM, zrec_confirm),
	OP(NO_VERSION, zrec_change),
	OP(VISIBLE, zrec_visible),
	LOGICAL_OP(MOVE, zrec_move),
	OP(UNDO_TRUNCATE, zundo_truncate),
	OP(UNDO_EXTENT, zundo_extent),
	OP(UNDO_FREE, zundo_free),
	OP(UNDO_HORIZON, zundo_horizon),
	OP(UNDO_INIT, zundo_init),
};

StaticAssertDecl(lengthof(operations) == (XLR_RMGR_INFO_MASK >> 4) + 1, "each opcode is something");

static const Operation *
operation(uint8 info)
{
	return &operations[(info & XLR_RMGR_INFO_MASK) >> 4];
}

static void
redo(XLogReaderState *record)
{
	operation(XLogRecGetInfo(record))->redo(record);
}

static void
desc(StringInfo buf, XLogReaderState *record)
{
	operation(XLogRecGetInfo(record))->desc(buf, record);
}

static const char *
identify(uint8 info)
{
	return operation(info)->name;
}

/*
 * Mask what replay does not reproduce: as it gives the page byte for byte (W1), only what is
 * not logged at all.  A page of the visibility map has its bits where other pages have the
 * hole.
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
	if (((PageHeader) page)->pd_special != BLCKSZ)
		mask_unused_space((Page) page);
}

static void
decode(LogicalDecodingContext *ctx, XLogRecordBuffer *buf)
{
	zrec_decode(ctx, buf, operation(XLogRecGetInfo(buf->record))->logical);
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
