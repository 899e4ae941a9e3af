/*
 * rec_private.h
 *		What the files of this layer share: a cursor over bytes that may be damaged, and
 *		what becomes of a WAL record that is.
 */
#ifndef ZHEAP_REC_PRIVATE_H
#define ZHEAP_REC_PRIVATE_H

#include "access/xloginsert.h"

#include "zheap/record/record.h"
#include "zheap/undo/undo_write.h"

/*
 * ---- decoding: a cursor that remembers whether it ran out ----
 *
 * Inline, so that the cursor stays in registers.
 */

typedef struct ZRecCursor
{
	const char *at;
	const char *end;
	bool		bad;			/* then it is at the end, so nothing more is taken */
} ZRecCursor;

static inline void
zrec_cursor_init(ZRecCursor *cur, const char *bytes, Size len)
{
	cur->at = bytes;
	cur->end = bytes + len;
	cur->bad = false;
}

static inline void
zrec_cursor_fail(ZRecCursor *cur)
{
	cur->bad = true;
	cur->at = cur->end;
}

/* All of it was taken, and that was enough. */
static inline bool
zrec_cursor_done(const ZRecCursor *cur)
{
	return !cur->bad && cur->at == cur->end;
}

/* Up to "max", or the cursor is bad. */
static inline uint64
zrec_take_varint(ZRecCursor *cur, uint64 max)
{
	uint64		value;
	const char *next = zvarint_get(cur->at, cur->end, &value);

	if (next == NULL || value > max)
	{
		zrec_cursor_fail(cur);
		return 0;
	}
	cur->at = next;
	return value;
}

/* NULL, with a bad cursor: there are not so many. */
static inline const char *
zrec_take_bytes(ZRecCursor *cur, Size len)
{
	const char *bytes = cur->at;

	if ((Size) (cur->end - cur->at) < len)
	{
		zrec_cursor_fail(cur);
		return NULL;
	}
	cur->at += len;
	return bytes;
}

/* Zeros, with a bad cursor. */
static inline void
zrec_take_raw(ZRecCursor *cur, void *out, Size len)
{
	const char *bytes = zrec_take_bytes(cur, len);

	if (bytes)
		memcpy(out, bytes, len);
	else
		memset(out, 0, len);
}

static inline uint8
zrec_take_byte(ZRecCursor *cur)
{
	const char *byte = zrec_take_bytes(cur, 1);

	return byte ? (uint8) *byte : 0;
}

/* The record that has been registered changes a table page, which is locked. */
static inline XLogRecPtr
zrec_insert(uint8 opcode)
{
	XLogRecPtr	lsn = XLogInsert(ZHEAP_RMGR_ID, opcode);

	zundo_note_redo();			/* W3 */
	return lsn;
}

/* ---- one page's change in a WAL record (rec_part.c) ---- */

#define C_UNDO			0x01
#define C_INIT_PAGE		0x02
#define C_UNDO_INIT		0x04
#define C_UNDO_ONLY		0x08
#define C_GROW			0x10
#define C_MANY			0x20
#define C_HEADER		0x40
#define C_CONFLICT		0x80

/* A part as it was decoded. */
typedef struct ZRecPart			/* tidy: in memory only */
{
	uint8		flags;			/* C_* */
	ZChange		change;			/* its row.op the caller has set */
	uint64		conflict_distance;
	OffsetNumber first;			/* INSERT */
} ZRecPart;

/* Where the record's undo, all of it together, was appended. */
typedef struct ZRecPlace		/* tidy: in memory only */
{
	ZUndoAppend append;			/* its "init" the caller has set */
	bool		known;			/* the undo page is */
	ZUndoPtr	ptr;
} ZRecPlace;

/* Not aligned in WAL. */
static inline char *
zrec_put_u16(char *out, uint16 value)
{
	memcpy(out, &value, sizeof(value));
	return out + sizeof(value);
}

/* What they write is at most so long. */
#define ZREC_PLACE_MAX	(2 * sizeof(uint16) + ZVARINT_MAX)
#define ZREC_HEAD_MAX	(2 + ZVARINT_MAX)
#define ZREC_TAIL_MAX	(2 + 4 * ZVARINT_MAX)

extern uint8 zrec_part_flags(const ZChange *change);
extern char *zrec_place_put(char *out, const ZUndoWrite *write);
extern char *zrec_part_put_head(char *out, const ZChange *change, uint8 flags);
extern char *zrec_part_put_tail(char *out, const ZChange *change, uint8 flags);

extern void zrec_place_take(XLogReaderState *record, ZRecCursor *cur, ZRecPlace *place);
extern void zrec_part_take_head(ZRecCursor *cur, ZRecPart *part);
extern void zrec_part_take_undo(ZRecCursor *cur, ZUndoPtr self, ZUndoForm form, ZRecPart *part);
extern void zrec_part_take_tail(ZRecCursor *cur, ZRecPart *part);

extern void zrec_part_redo_conflict(XLogReaderState *record, const ZRecPart *part);
extern void zrec_part_complete(XLogReaderState *record, uint8 block_id, ZUndoPtr self,
							   ZRecPart *part);
extern void zrec_place_check(XLogReaderState *record, const ZRecPlace *place);

extern const char *zrec_takeover_name(ZTakeover takeover);
extern void zrec_part_desc_flags(StringInfo buf, uint8 flags);
extern void zrec_part_desc_undo(StringInfo buf, const ZRecPart *part, uint16 at);
extern void zrec_place_desc(StringInfo buf, const ZRecPlace *place);

/* Where a new record leads: to older ones (U2), whose owners it names as it should (M1). */
#ifdef USE_ASSERT_CHECKING
extern void zrec_part_assert_links(const ZChange *change, ZUndoPtr self);
#else
#define zrec_part_assert_links(change, self) ((void) 0)
#endif

/* ---- what logical decoding is told (rec_logical.c, rec_decode.c) ---- */

/* One tuple of it. */
typedef struct ZRecTuple		/* tidy: in memory only */
{
	uint16		infomask2;
	uint16		infomask;
	uint8		hoff;
	Size		len;
	const char *bytes;			/* all of them; of an insertion those before the values */
	Size		nbytes;
} ZRecTuple;

/* In the critical section, when all other main data has been registered.  NULL: nothing. */
extern void zrec_logical_register(const ZRecLogical *logical);

/* All that is left; nothing: its kind is NONE. */
extern void zrec_logical_take(ZRecCursor *cur, ZRecLogical *logical);

/* Does it tell of rows that the record has, instead of whole tuples? */
static inline bool
zrec_logical_has_rows(ZLogicalKind kind)
{
	return kind == ZLOGICAL_INSERT || kind == ZLOGICAL_SPECULATIVE;
}

/* The next tuple.  False, with a bad cursor: there is none. */
extern bool zrec_logical_take_tuple(ZRecCursor *cur, ZRecTuple *tuple);

/*
 * The same of an insertion, in two steps: its head, then the tuple->len bytes at "out", made of
 * the next of the rows.  "out" NULL: they are passed over, and "rows" may be, too.
 */
extern bool zrec_logical_take_head(ZRecCursor *cur, ZRecTuple *tuple);
extern bool zrec_logical_take_values(ZRecCursor *cur, const ZRecTuple *tuple, ZRecCursor *rows,
									 bool many, char *out);

extern void zrec_logical_desc(StringInfo buf, const ZRecLogical *logical);

/* rm_decode; "logical_of" is NULL for kinds of records that decoding is told nothing by. */
struct LogicalDecodingContext;
struct XLogRecordBuffer;
extern void zrec_decode(struct LogicalDecodingContext *ctx, struct XLogRecordBuffer *buf,
						ZRecLogicalOf logical_of);

/* ---- WAL records that are none (rec_small.c) ---- */

/*
 * Replay cannot go on: PANIC.  Descriptions may not use it: pg_walinspect asks for them in
 * any backend, of WAL that another version may have written, and the server's report of an
 * error in replay asks for one, too.
 */
pg_noreturn extern void zrec_replay_damaged(XLogReaderState *record);

/* What a description says of it instead. */
extern void zrec_desc_damaged(StringInfo buf);

#endif							/* ZHEAP_REC_PRIVATE_H */
