/*
 * rec_decode.c
 *		Logical decoding: from WAL records to the reorder buffer.
 *
 * As heap's records are decoded (src/backend/replication/logical/decode.c): the buffer gets the
 * same changes in the same order, tuples in heap's form among them, so all that comes after it
 * works as for a heap table.  Toasted values come by themselves, as toast tables are heap tables.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "replication/reorderbuffer.h"
#include "replication/snapbuild.h"

#include "rec_private.h"

/* As the reorder buffer has it; NULL: there is none. */
static ReorderBufferTupleBuf *
take_tuple(ReorderBuffer *reorder, ZRecCursor *cur)
{
	ReorderBufferTupleBuf *out;
	HeapTupleHeader header;
	ZRecTuple	tuple;

	if (!zrec_logical_take_tuple(cur, &tuple))
		return NULL;
	out = ReorderBufferGetTupleBuf(reorder, tuple.len);
	out->tuple.t_len = tuple.len + SizeofHeapTupleHeader;
	/* the buffer finds out which table it is of */
	out->tuple.t_tableOid = InvalidOid;
	ItemPointerSetInvalid(&out->tuple.t_self);
	header = out->tuple.t_data;
	memset(header, 0, SizeofHeapTupleHeader);
	header->t_infomask2 = tuple.infomask2;
	header->t_infomask = tuple.infomask;
	header->t_hoff = tuple.hoff;
	memcpy((char *) header + SizeofHeapTupleHeader, tuple.bytes, tuple.len);
	return out;
}

static ReorderBufferChangeType
action_of(ZLogicalKind kind)
{
	switch (kind)
	{
		case ZLOGICAL_UPDATE:
			return REORDER_BUFFER_CHANGE_UPDATE;
		case ZLOGICAL_DELETE:
			return REORDER_BUFFER_CHANGE_DELETE;
		case ZLOGICAL_SPECULATIVE:
			return REORDER_BUFFER_CHANGE_INTERNAL_SPEC_INSERT;
		case ZLOGICAL_CONFIRM:
			return REORDER_BUFFER_CHANGE_INTERNAL_SPEC_CONFIRM;
		case ZLOGICAL_TAKE_BACK:
			return REORDER_BUFFER_CHANGE_INTERNAL_SPEC_ABORT;
		case ZLOGICAL_NONE:
		case ZLOGICAL_INSERT:
			break;
	}
	return REORDER_BUFFER_CHANGE_INSERT;
}

static bool
has_new(ZLogicalKind kind)
{
	return kind == ZLOGICAL_INSERT || kind == ZLOGICAL_SPECULATIVE || kind == ZLOGICAL_UPDATE;
}

/* A change for each row. */
static void
queue_changes(LogicalDecodingContext *ctx, XLogRecordBuffer *buf, const ZRecLogical *logical)
{
	XLogReaderState *record = buf->record;
	ZRecCursor	cur;

	zrec_cursor_init(&cur, logical->tuples, logical->len);
	for (int i = 0; i < logical->nrows; i++)
	{
		ReorderBufferChange *change = ReorderBufferGetChange(ctx->reorder);

		change->action = action_of(logical->kind);
		change->origin_id = XLogRecGetOrigin(record);
		XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &zcompat_change_locator(change), NULL, NULL);
		if (logical->has_old)
			change->data.tp.oldtuple = take_tuple(ctx->reorder, &cur);
		if (has_new(logical->kind))
			change->data.tp.newtuple = take_tuple(ctx->reorder, &cur);
		/* the toasted values of all rows of a COPY's batch came before the first row */
		change->data.tp.clear_toast_afterwards = !logical->more && i == logical->nrows - 1;
		ReorderBufferQueueChange(ctx->reorder, XLogRecGetXid(record), buf->origptr, change, false);
	}
}

/* Of another database, or of an origin that the output plugin does not want. */
static bool
is_unwanted(LogicalDecodingContext *ctx, XLogReaderState *record)
{
	ZRelLocator table;

	XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &table, NULL, NULL);
	return zloc_db(table) != ctx->slot->data.database ||
		(ctx->callbacks.filter_by_origin_cb != NULL &&
		 filter_by_origin_cb_wrapper(ctx, XLogRecGetOrigin(record)));
}

void
zrec_decode(LogicalDecodingContext *ctx, XLogRecordBuffer *buf, ZRecLogicalOf logical_of)
{
	XLogReaderState *record = buf->record;
	TransactionId xid = XLogRecGetXid(record);
	SnapBuild  *builder = ctx->snapshot_builder;
	ZRecLogical logical;

	ReorderBufferProcessXid(ctx->reorder, xid, buf->origptr);
	if (logical_of == NULL || SnapBuildCurrentState(builder) < SNAPBUILD_FULL_SNAPSHOT)
		return;
	if (!logical_of(record, &logical))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("damaged zheap WAL record at %X/%X",
								 LSN_FORMAT_ARGS(record->ReadRecPtr))));
	/*
	 * While the slot is only advanced, too: the transaction's snapshot holds the slot's xmin, so
	 * that the catalogs as it sees them are there when it is decoded.
	 */
	if (logical.kind == ZLOGICAL_NONE ||
		!SnapBuildProcessChange(builder, xid, buf->origptr) ||
		ctx->fast_forward || is_unwanted(ctx, record))
		return;
	queue_changes(ctx, buf, &logical);
}
