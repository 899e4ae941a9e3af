/*
 * rec_private.h
 *		Declarations shared by the files of this layer: a cursor over bytes that may be
 *		damaged, and the treatment of damaged WAL records.
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
	bool		bad;			/* true if the bytes ran out or made no sense; "at" is the end
								 * then, so nothing more is taken */
} ZRecCursor;

/* Begin to take the "len" bytes at "bytes", which stay where they are while they are taken. */
static inline void
zrec_cursor_init(ZRecCursor *cur, const char *bytes, Size len)
{
	cur->at = bytes;
	cur->end = bytes + len;
	cur->bad = false;
}

/* Make the cursor bad: whatever is taken from it is 0 from now on. */
static inline void
zrec_cursor_fail(ZRecCursor *cur)
{
	cur->bad = true;
	cur->at = cur->end;
}

/* Return whether exactly all bytes were taken. */
static inline bool
zrec_cursor_done(const ZRecCursor *cur)
{
	return !cur->bad && cur->at == cur->end;
}

/* Take an integer of at most "max"; else the cursor becomes bad, and the result is 0. */
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

/* Take len bytes.  Return NULL, with a bad cursor, if fewer are left. */
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

/* Copy len bytes to "out"; zeros, with a bad cursor, if fewer are left. */
static inline void
zrec_take_raw(ZRecCursor *cur, void *out, Size len)
{
	const char *bytes = zrec_take_bytes(cur, len);

	if (bytes)
		memcpy(out, bytes, len);
	else
		memset(out, 0, len);
}

/* Take a byte; 0 if there is none, and the cursor is bad then. */
static inline uint8
zrec_take_byte(ZRecCursor *cur)
{
	const char *byte = zrec_take_bytes(cur, 1);

	return byte ? (uint8) *byte : 0;
}

/*
 * Insert the registered record, which changes a table page; that is locked.  Return its end
 * LSN.
 */
static inline XLogRecPtr
zrec_insert(uint8 opcode)
{
	XLogRecPtr	lsn = XLogInsert(ZHEAP_RMGR_ID, opcode);

	zundo_note_redo();			/* W3 */
	return lsn;
}

/* ---- one page's change in a WAL record (rec_part.c) ---- */

/* Flags of a part; their meaning is at the heads of rec_part.c and rec_change.c. */
#define C_UNDO			0x01
#define C_INIT_PAGE		0x02
#define C_UNDO_INIT		0x04
#define C_UNDO_ONLY		0x08
#define C_GROW			0x10
#define C_MANY			0x20
#define C_HEADER		0x40
#define C_CONFLICT		0x80

/* A decoded part. */
typedef struct ZRecPart			/* tidy: in memory only */
{
	uint8		flags;			/* C_* */
	ZChange		change;			/* row.op is set by the caller before decoding */
	uint64		conflict_distance;
	OffsetNumber first;			/* INSERT */
} ZRecPart;

/* The place where all of the record's undo was appended. */
typedef struct ZRecPlace		/* tidy: in memory only */
{
	ZUndoAppend append;			/* append.init is set by the caller before decoding */
	bool		known;			/* true if the undo page is known */
	ZUndoPtr	ptr;
} ZRecPlace;

/* Put two bytes, unaligned. */
static inline char *
zrec_put_u16(char *out, uint16 value)
{
	memcpy(out, &value, sizeof(value));
	return out + sizeof(value);
}

/*
 * Upper limits of the bytes that zrec_place_put, zrec_part_put_head and zrec_part_put_tail
 * write.
 */
#define ZREC_PLACE_MAX	(2 * sizeof(uint16) + ZVARINT_MAX)
#define ZREC_HEAD_MAX	(2 + ZVARINT_MAX)
#define ZREC_TAIL_MAX	(2 + 4 * ZVARINT_MAX)

/*
 * Encode a change.  zrec_part_flags returns its C_* flags; the *_put functions write at "out"
 * and return the end of what they wrote.
 */
extern uint8 zrec_part_flags(const ZChange *change);
extern char *zrec_place_put(char *out, const ZUndoWrite *write);
extern char *zrec_part_put_head(char *out, const ZChange *change, uint8 flags);
extern char *zrec_part_put_tail(char *out, const ZChange *change, uint8 flags);

/* Decode what these wrote.  If the bytes make no sense the cursor becomes bad. */
extern void zrec_place_take(XLogReaderState *record, ZRecCursor *cur, ZRecPlace *place);
extern void zrec_part_take_head(ZRecCursor *cur, ZRecPart *part);
extern void zrec_part_take_undo(ZRecCursor *cur, ZUndoPtr self, ZUndoForm form, ZRecPart *part);
extern void zrec_part_take_tail(ZRecCursor *cur, ZRecPart *part);

/*
 * In replay: resolve the part's conflict; fill in the transaction and page that an undo record
 * in WAL form leaves out; and raise PANIC if a page needs a pointer to an undo page that is not
 * known (W3).
 */
extern void zrec_part_redo_conflict(XLogReaderState *record, const ZRecPart *part);
extern void zrec_part_complete(XLogReaderState *record, uint8 block_id, ZUndoPtr self,
							   ZRecPart *part);
extern void zrec_place_check(XLogReaderState *record, const ZRecPlace *place);

/* Describe parts of a record, for *_desc. */
extern const char *zrec_takeover_name(ZTakeover takeover);
extern void zrec_part_desc_flags(StringInfo buf, uint8 flags);
extern void zrec_part_desc_undo(StringInfo buf, const ZRecPart *part, uint16 at);
extern void zrec_place_desc(StringInfo buf, const ZRecPlace *place);

/*
 * Check that a new record's links lead to older records (U2), and name their owners rightly
 * (M1).
 */
#ifdef USE_ASSERT_CHECKING
extern void zrec_part_assert_links(const ZChange *change, ZUndoPtr self);
#else
#define zrec_part_assert_links(change, self) ((void) 0)
#endif

/* ---- the part for logical decoding (rec_logical.c, rec_decode.c) ---- */

/* A tuple of the part for logical decoding. */
typedef struct ZRecTuple		/* tidy: in memory only */
{
	uint16		infomask2;
	uint16		infomask;
	uint8		hoff;
	Size		len;
	const char *bytes;			/* all bytes of the tuple; of an insertion those before the
								 * values */
	Size		nbytes;
} ZRecTuple;

/*
 * Register the part as main data, behind all other main data; in the critical section.  Does
 * nothing if it is NULL.
 */
extern void zrec_logical_register(const ZRecLogical *logical);

/* Take the part, which is all that is left of the main data; kind is NONE if nothing is left. */
extern void zrec_logical_take(ZRecCursor *cur, ZRecLogical *logical);

/* Return whether the part refers to rows that the record has, instead of having whole tuples. */
static inline bool
zrec_logical_has_rows(ZLogicalKind kind)
{
	return kind == ZLOGICAL_INSERT || kind == ZLOGICAL_SPECULATIVE;
}

/* Take the next tuple.  Return false, with a bad cursor, if there is none. */
extern bool zrec_logical_take_tuple(ZRecCursor *cur, ZRecTuple *tuple);

/*
 * Take the next tuple of an insertion in two steps: its head, then tuple->len bytes, made from
 * the next of the rows and put at "out".  If "out" is NULL they are skipped, and "rows" may be
 * NULL, too.  Return false if the bytes make no sense.
 */
extern bool zrec_logical_take_head(ZRecCursor *cur, ZRecTuple *tuple);
extern bool zrec_logical_take_values(ZRecCursor *cur, const ZRecTuple *tuple, ZRecCursor *rows,
									 bool many, char *out);

/* Append a description of the part to buf. */
extern void zrec_logical_desc(StringInfo buf, const ZRecLogical *logical);

/*
 * Decode a record, as rm_decode: queue its changes in the reorder buffer.  "logical_of" is NULL
 * for kinds of records without a part for decoding.  ERROR (data_corrupted) if the record is
 * damaged.
 */
struct LogicalDecodingContext;
struct XLogRecordBuffer;
extern void zrec_decode(struct LogicalDecodingContext *ctx, struct XLogRecordBuffer *buf,
						ZRecLogicalOf logical_of);

/* ---- damaged WAL records (rec_small.c) ---- */

/*
 * Raise PANIC: replay cannot go on.  Not for descriptions: pg_walinspect asks for them in any
 * backend, of WAL that another version may have written, and the server's report of an error in
 * replay asks for one, too.
 */
pg_noreturn extern void zrec_replay_damaged(XLogReaderState *record);

/* Append to buf that the record is damaged; for descriptions. */
extern void zrec_desc_damaged(StringInfo buf);

#endif							/* ZHEAP_REC_PRIVATE_H */
