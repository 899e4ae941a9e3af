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

/* An opcode. */
typedef struct Operation
{
	const char *name;
	const ZRecKind *kind;		/* NULL: the undo layer's */
	bool		logical;		/* may change a row's values */
	void		(*redo) (XLogReaderState *record);	/* the undo layer's */
	void		(*desc) (StringInfo buf, XLogReaderState *record);
} Operation;

/* An entry: ZREC_name, and its kind, or the functions whose names begin with "does". */
#define OP(name, does)	[ZREC_##name >> 4] = {#name, .kind = &does##_kind}
#define LOGICAL_OP(name, does) \
	[ZREC_##name >> 4] = {#name, .kind = &does##_kind, .logical = true}
#define UNDO_OP(name, does) \
	[ZREC_##name >> 4] = {#name, .redo = does##_redo, .desc = does##_desc}

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
	UNDO_OP(UNDO_TRUNCATE, zundo_truncate),
	UNDO_OP(UNDO_EXTENT, zundo_extent),
	UNDO_OP(UNDO_FREE, zundo_free),
	UNDO_OP(UNDO_HORIZON, zundo_horizon),
	UNDO_OP(UNDO_INIT, zundo_init),
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
	const Operation *op = operation(XLogRecGetInfo(record));

	if (op->kind)
		zrec_redo(op->kind, record);
	else
		op->redo(record);
}

static void
desc(StringInfo buf, XLogReaderState *record)
{
	const Operation *op = operation(XLogRecGetInfo(record));

	if (op->kind)
		zrec_desc(op->kind, buf, record);
	else
		op->desc(buf, record);
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
	const Operation *op = operation(XLogRecGetInfo(buf->record));

	zrec_queue(ctx, buf, op->logical ? op->kind : NULL);
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
