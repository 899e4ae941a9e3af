/*
 * rec_logical.c
 *		What a WAL record tells logical decoding of its change.
 *
 * Replay has no use for it, and decoding, which has no catalogs, none for the rest.  It stands at
 * the end of the main data, behind all that replay needs:
 *
 *   kind (ZLogicalKind) and L_* flags, 1 byte
 *   INSERT: number of rows, varint
 *   tuples: with L_OLD that of the version before; the new one, or each row's
 * Each tuple:
 *   length of its data, varint
 *   xl_heap_header, 5 bytes
 *   null bitmap and values as heap stores them
 */
#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "utils/memutils.h"

#include "rec_private.h"

#define L_KIND			0x0F
#define L_OLD			0x10
#define L_MORE			0x20

/* ---- emit ---- */

void
zrec_logical_put_tuple(StringInfo out, HeapTuple tuple)
{
	Size		len = tuple->t_len - SizeofHeapTupleHeader;
	xl_heap_header header = {
		tuple->t_data->t_infomask2, tuple->t_data->t_infomask, tuple->t_data->t_hoff
	};
	char		head[ZVARINT_MAX];

	appendBinaryStringInfo(out, head, zvarint_put(head, len) - head);
	appendBinaryStringInfo(out, (char *) &header, SizeOfHeapHeader);
	appendBinaryStringInfo(out, (char *) tuple->t_data + SizeofHeapTupleHeader, len);
}

void
zrec_logical_register(const ZRecLogical *logical)
{
	/* static: the data must live until XLogInsert */
	static char head[1 + ZVARINT_MAX];
	char	   *end = head;

	if (logical == NULL)
		return;
	Assert(logical->kind > ZLOGICAL_NONE && logical->kind <= ZLOGICAL_TAKE_BACK);
	*end++ = (char) (logical->kind | (logical->has_old ? L_OLD : 0) |
					 (logical->more ? L_MORE : 0));
	if (logical->kind == ZLOGICAL_INSERT)
		end = zvarint_put(end, logical->nrows);
	XLogRegisterData(head, end - head);
	if (logical->len > 0)
		XLogRegisterData((char *) logical->tuples, logical->len);
	/* whose replication is not to be repeated can be told row by row, as on heap */
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
}

/* ---- decode ---- */

bool
zrec_logical_take_tuple(ZRecCursor *cur, ZRecTuple *tuple)
{
	xl_heap_header header;

	tuple->len = zrec_take_varint(cur, MaxAllocSize);
	zrec_take_raw(cur, &header, SizeOfHeapHeader);
	tuple->infomask2 = header.t_infomask2;
	tuple->infomask = header.t_infomask;
	tuple->hoff = header.t_hoff;
	tuple->bytes = zrec_take_bytes(cur, tuple->len);
	return !cur->bad;
}

/* How many there are. */
static int
count_tuples(const ZRecLogical *logical)
{
	switch (logical->kind)
	{
		case ZLOGICAL_INSERT:
		case ZLOGICAL_SPECULATIVE:
			return logical->nrows;
		case ZLOGICAL_UPDATE:
			return logical->has_old ? 2 : 1;
		case ZLOGICAL_DELETE:
			return logical->has_old ? 1 : 0;
		default:
			return 0;
	}
}

void
zrec_logical_take(ZRecCursor *cur, ZRecLogical *logical)
{
	uint8		head;
	ZRecTuple	tuple;

	memset(logical, 0, sizeof(*logical));
	if (cur->bad || cur->at == cur->end)
		return;
	head = zrec_take_byte(cur);
	logical->kind = head & L_KIND;
	logical->has_old = (head & L_OLD) != 0;
	logical->more = (head & L_MORE) != 0;
	if (logical->kind == ZLOGICAL_NONE || logical->kind > ZLOGICAL_TAKE_BACK ||
		(head & ~(L_KIND | L_OLD | L_MORE)) != 0)
		zrec_cursor_fail(cur);
	logical->nrows = logical->kind == ZLOGICAL_INSERT ?
		zrec_take_varint(cur, ZPAGE_MAX_OFFSET) : 1;
	logical->tuples = cur->at;
	for (int i = 0; i < count_tuples(logical) && !cur->bad; i++)
		(void) zrec_logical_take_tuple(cur, &tuple);
	logical->len = cur->at - logical->tuples;
}

void
zrec_logical_desc(StringInfo buf, const ZRecLogical *logical)
{
	static const char *const names[] = {
		[ZLOGICAL_INSERT] = "insert",
		[ZLOGICAL_UPDATE] = "update",
		[ZLOGICAL_DELETE] = "delete",
		[ZLOGICAL_SPECULATIVE] = "speculative insert",
		[ZLOGICAL_CONFIRM] = "confirm",
		[ZLOGICAL_TAKE_BACK] = "take back"
	};

	if (logical->kind != ZLOGICAL_NONE)
		appendStringInfo(buf, ", logical: %s%s, %zu bytes", names[logical->kind],
						 logical->has_old ? " with old" : "", logical->len);
}
