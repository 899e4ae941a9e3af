/*
 * rec_logical.c
 *		The part of a WAL record for logical decoding.
 *
 * Replay does not use it, and decoding, which has no catalogs, uses nothing else.  It is at the
 * end of the main data, behind everything that replay needs:
 *
 *   kind (ZLogicalKind) and L_* flags, 1 byte
 *   INSERT: number of rows, varint
 *   tuples: with L_OLD that of the version before; the new one, or each row's
 * Each tuple:
 *   length of its data, varint
 *   xl_heap_header, 5 bytes
 *   null bitmap and values as heap stores them
 * But an insertion, whose rows the record has, takes the values from these, and adds zeros for
 * alignment:
 *   length of its data, varint
 *   xl_heap_header, 5 bytes
 *   number of bytes before the values, varint; these bytes
 *   number of bytes of the row that follow, then number of zeros, varints, until the data is
 *   complete
 */
#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "utils/memutils.h"

#include "zheap/page/row.h"

#include "rec_private.h"

#define L_KIND			0x0F
#define L_OLD			0x10
#define L_MORE			0x20

/* ---- emit ---- */

static void
put_varint(StringInfo out, uint64 value)
{
	char		bytes[ZVARINT_MAX];

	appendBinaryStringInfo(out, bytes, zvarint_put(bytes, value) - bytes);
}

/* Put the head of a tuple.  Return the length of its data, which begin at *data. */
static Size
put_head(StringInfo out, HeapTuple tuple, const char **data)
{
	Size		len = tuple->t_len - SizeofHeapTupleHeader;
	xl_heap_header header = {
		tuple->t_data->t_infomask2, tuple->t_data->t_infomask, tuple->t_data->t_hoff
	};

	put_varint(out, len);
	appendBinaryStringInfo(out, (char *) &header, SizeOfHeapHeader);
	*data = (char *) tuple->t_data + SizeofHeapTupleHeader;
	return len;
}

void
zrec_logical_put_tuple(StringInfo out, HeapTuple tuple)
{
	const char *data;
	Size		len = put_head(out, tuple, &data);

	appendBinaryStringInfo(out, data, len);
}

/*
 * The tuple's values are the row's, with zeros between some.  Bytes are taken for the row's as
 * long as they are equal.  That cannot go wrong: if a zero for alignment is taken for a zero of
 * the row, the row's own zero is then put as one for alignment.
 */
void
zrec_logical_put_row(StringInfo out, HeapTuple tuple, const char *row, uint32 len)
{
	const char *data;
	Size		size = put_head(out, tuple, &data);
	Size		at = tuple->t_data->t_hoff - SizeofHeapTupleHeader;
	Size		from = zrow_values_offset(row);

	put_varint(out, at);
	appendBinaryStringInfo(out, data, at);
	while (at < size)
	{
		uint32		n = zrow_same_bytes(data + at, row + from, Min(size - at, len - from));
		Size		zeros = 0;

		at += n;
		from += n;
		put_varint(out, n);
		if (at == size)
			break;
		while (at + zeros < size && data[at + zeros] == 0)
			zeros++;
		if (zeros == 0)
			elog(ERROR, "heap tuple of %zu bytes is not made of the row's", size);
		put_varint(out, zeros);
		at += zeros;
	}
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
	/* keep the origin, so that changes can be filtered by it, as on heap */
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
}

/* ---- decode ---- */

static void
take_head(ZRecCursor *cur, ZRecTuple *tuple, Size max)
{
	xl_heap_header header;

	tuple->len = zrec_take_varint(cur, max);
	zrec_take_raw(cur, &header, SizeOfHeapHeader);
	tuple->infomask2 = header.t_infomask2;
	tuple->infomask = header.t_infomask;
	tuple->hoff = header.t_hoff;
}

bool
zrec_logical_take_tuple(ZRecCursor *cur, ZRecTuple *tuple)
{
	take_head(cur, tuple, MaxAllocSize);
	tuple->nbytes = tuple->len;
	tuple->bytes = zrec_take_bytes(cur, tuple->nbytes);
	return !cur->bad;
}

bool
zrec_logical_take_head(ZRecCursor *cur, ZRecTuple *tuple)
{
	/* alignment may turn one byte into eight */
	take_head(cur, tuple, 8 * BLCKSZ);
	tuple->nbytes = zrec_take_varint(cur, tuple->len);
	tuple->bytes = zrec_take_bytes(cur, tuple->nbytes);
	return !cur->bad;
}

/* Set "values" to the values of the row at the cursor, behind its header. */
static void
take_row_values(ZRecCursor *rows, bool many, ZRecCursor *values)
{
	uint16		len = rows->end - rows->at;
	const char *row;
	Size		skip;

	if (many)
		zrec_take_raw(rows, &len, sizeof(len));
	row = zrec_take_bytes(rows, len);
	zrec_cursor_init(values, row, row ? len : 0);
	/* in a damaged row the place of the values is not known */
	skip = row && len >= ZROW_HDR_SIZE ? zrow_values_offset(row) : PG_UINT16_MAX;
	(void) zrec_take_bytes(values, skip);
}

bool
zrec_logical_take_values(ZRecCursor *cur, const ZRecTuple *tuple, ZRecCursor *rows, bool many,
						 char *out)
{
	ZRecCursor	values;
	Size		at = tuple->nbytes;

	zrec_cursor_init(&values, NULL, 0);
	if (out != NULL)
	{
		take_row_values(rows, many, &values);
		memcpy(out, tuple->bytes, tuple->nbytes);
	}
	while (at < tuple->len && !cur->bad)
	{
		Size		n = zrec_take_varint(cur, tuple->len - at);
		Size		zeros = at + n == tuple->len ? 0 : zrec_take_varint(cur, tuple->len - at - n);

		if (n + zeros == 0)
			zrec_cursor_fail(cur);
		if (out != NULL)
		{
			zrec_take_raw(&values, out + at, n);
			memset(out + at + n, 0, zeros);
		}
		at += n + zeros;
	}
	return !cur->bad && !values.bad;
}

/* Return the number of whole tuples. */
static int
count_tuples(const ZRecLogical *logical)
{
	switch (logical->kind)
	{
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
	for (int i = 0; zrec_logical_has_rows(logical->kind) && i < logical->nrows && !cur->bad; i++)
	{
		if (zrec_logical_take_head(cur, &tuple))
			(void) zrec_logical_take_values(cur, &tuple, NULL, false, NULL);
	}
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
