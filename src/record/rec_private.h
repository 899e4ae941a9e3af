/*
 * rec_private.h
 *		What the files of this layer share: a cursor over bytes that may be damaged, and
 *		what becomes of a WAL record that is.
 */
#ifndef ZHEAP_REC_PRIVATE_H
#define ZHEAP_REC_PRIVATE_H

#include "zheap/record/record.h"

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

/* ---- WAL records that are none (rec_small.c) ---- */

/*
 * Replay cannot go on: PANIC.  Descriptions may not use it: pg_walinspect asks for them in
 * any backend, of WAL that another version may have written, and the server's report of an
 * error in replay asks for one, too.
 */
extern void zrec_replay_damaged(XLogReaderState *record) pg_attribute_noreturn();

/* What a description says of it instead. */
extern void zrec_desc_damaged(StringInfo buf);

#endif							/* ZHEAP_REC_PRIVATE_H */
