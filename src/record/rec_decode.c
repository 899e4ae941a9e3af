/*
 * rec_decode.c
 *		Logical decoding: from WAL records to the reorder buffer.
 *
 * It works like the decoding of heap's records (src/backend/replication/logical/decode.c): the
 * buffer gets the same changes in the same order, with tuples in heap's form, so all later
 * stages work as for a heap table.  Toasted values have records of their own, as toast tables
 * are heap tables.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "replication/reorderbuffer.h"
#include "replication/snapbuild.h"

#include "zheap/base/pg_compat_wal.h"

#include "rec_private.h"

static void
report_damaged(XLogReaderState *record)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg_internal("damaged zheap WAL record at %X/%X",
							 LSN_FORMAT_ARGS(record->ReadRecPtr))));
}

/* Make a tuple of the reorder buffer, without its data. */
static HeapTuple 
make_tuple(ReorderBuffer *reorder, const ZRecTuple *tuple)
{
	HeapTuple	out = ReorderBufferAllocTupleBuf(reorder, tuple->len);
	HeapTupleHeader header = out->t_data;

	out->t_len = tuple->len + SizeofHeapTupleHeader;
	/* the reorder buffer sets the table */
	out->t_tableOid = InvalidOid;
	ItemPointerSetInvalid(&out->t_self);
	memset(header, 0, SizeofHeapTupleHeader);
	header->t_infomask2 = tuple->infomask2;
	header->t_infomask = tuple->infomask;
	header->t_hoff = tuple->hoff;
	return out;
}

static char *
data_of(HeapTuple tuple)
{
	return (char *) tuple->t_data + SizeofHeapTupleHeader;
}

/* Take the next whole tuple, or return NULL if there is none. */
static HeapTuple 
take_tuple(ReorderBuffer *reorder, ZRecCursor *cur)
{
	HeapTuple	out;
	ZRecTuple	tuple;

	if (!zrec_logical_take_tuple(cur, &tuple))
		return NULL;
	out = make_tuple(reorder, &tuple);
	memcpy(data_of(out), tuple.bytes, tuple.len);
	return out;
}

/*
 * Take the next tuple of an insertion, with the values of the next of the rows; NULL if there
 * is none.
 */
static HeapTuple 
take_inserted(ReorderBuffer *reorder, ZRecCursor *cur, ZRecCursor *rows, bool many)
{
	HeapTuple	out;
	ZRecTuple	tuple;

	if (!zrec_logical_take_head(cur, &tuple))
		return NULL;
	out = make_tuple(reorder, &tuple);
	return zrec_logical_take_values(cur, &tuple, rows, many, data_of(out)) ? out : NULL;
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

/* Queue a change for each row. */
static void
queue_changes(LogicalDecodingContext *ctx, XLogRecordBuffer *buf, const ZRecLogical *logical)
{
	XLogReaderState *record = buf->record;
	ZRecCursor	cur;
	ZRecCursor	rows;

	zrec_cursor_init(&cur, logical->tuples, logical->len);
	zrec_cursor_init(&rows, logical->rows, logical->rows_len);
	for (int i = 0; i < logical->nrows; i++)
	{
		ReorderBufferChange *change = ReorderBufferAllocChange(ctx->reorder);

		change->action = action_of(logical->kind);
		change->origin_id = XLogRecGetOrigin(record);
		XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &change->data.tp.rlocator, NULL, NULL);
		if (logical->has_old)
			zcompat_change_old(change, take_tuple(ctx->reorder, &cur));
		if (logical->kind == ZLOGICAL_UPDATE)
			zcompat_change_new(change, take_tuple(ctx->reorder, &cur));
		else if (zrec_logical_has_rows(logical->kind))
		{
			HeapTuple	inserted = take_inserted(ctx->reorder, &cur, &rows, logical->many);

			if (inserted == NULL)
				report_damaged(record);
			zcompat_change_new(change, inserted);
		}
		/* the toasted values of all rows of a COPY's batch came before the first row */
		change->data.tp.clear_toast_afterwards = !logical->more && i == logical->nrows - 1;
		ReorderBufferQueueChange(ctx->reorder, XLogRecGetXid(record), buf->origptr, change, false);
	}
}

/*
 * Return whether the record is of another database, of an origin that the output plugin filters
 * out, or of another table than the one that REPACK (CONCURRENTLY) decodes for: it takes each
 * change for one of that table.
 */
static bool
is_unwanted(LogicalDecodingContext *ctx, XLogRecordBuffer *buf)
{
	XLogReaderState *record = buf->record;
	RelFileLocator table;

	XLogRecGetBlockTag(record, ZREC_BLK_TABLE, &table, NULL, NULL);
	return table.dbOid != ctx->slot->data.database || change_useless_for_repack(buf) ||
		(ctx->callbacks.filter_by_origin_cb != NULL &&
		 filter_by_origin_cb_wrapper(ctx, XLogRecGetOrigin(record)));
}

void
zrec_queue(LogicalDecodingContext *ctx, XLogRecordBuffer *buf, const ZRecKind *kind)
{
	XLogReaderState *record = buf->record;
	TransactionId xid = XLogRecGetXid(record);
	SnapBuild  *builder = ctx->snapshot_builder;
	ZRecDecoded d;

	ReorderBufferProcessXid(ctx->reorder, xid, buf->origptr);
	if (kind == NULL || SnapBuildCurrentState(builder) < SNAPBUILD_FULL_SNAPSHOT)
		return;
	if (!zrec_decode(kind, record, &d))
		report_damaged(record);
	/*
	 * SnapBuildProcessChange is called while the slot is only advanced, too: the transaction's
	 * snapshot holds the slot's xmin, so that the catalogs as it sees them are still there when
	 * it is decoded.
	 */
	if (d.logical.kind == ZLOGICAL_NONE ||
		!SnapBuildProcessChange(builder, xid, buf->origptr) ||
		ctx->fast_forward || is_unwanted(ctx, buf))
		return;
	queue_changes(ctx, buf, &d.logical);
}
