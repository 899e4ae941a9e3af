/*
 * rec_private.h
 *		Declarations shared by the files of this layer: a cursor over bytes that may be
 *		damaged, and WAL records as they are decoded.
 */
#ifndef ZHEAP_REC_PRIVATE_H
#define ZHEAP_REC_PRIVATE_H

#include "access/xloginsert.h"

#include "zheap/base/redo.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"
#include "zheap/undo/undo_ptr.h"
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

/* Take a place near "self"; invalid, with a bad cursor, if there is none. */
static inline ZUndoPtr
zrec_take_ptr(ZRecCursor *cur, ZUndoPtr self)
{
	ZUndoPtr	ptr = ZUNDO_INVALID;
	const char *next = zundo_ptr_get(cur->at, cur->end, self, &ptr);

	if (next == NULL)
		zrec_cursor_fail(cur);
	else
		cur->at = next;
	return ptr;
}

/* Take an owner, as zrec_put_owner has written it; its place is left alone if there is none. */
static inline void
zrec_take_owner(ZRecCursor *cur, ZOwner *owner)
{
	owner->fxid = FullTransactionIdFromU64(zrec_take_varint(cur, ZPAGE_SLOT_FXID_MASK));
	if (FullTransactionIdIsValid(owner->fxid))
		zrec_take_raw(cur, &owner->undo, sizeof(ZUndoPtr));
}

/* ---- encoding: each function returns the end of what it has written ---- */

/* Put len bytes. */
static inline char *
zrec_put_raw(char *out, const void *bytes, Size len)
{
	memcpy(out, bytes, len);
	return out + len;
}

/* Put two bytes, unaligned. */
static inline char *
zrec_put_u16(char *out, uint16 value)
{
	return zrec_put_raw(out, &value, sizeof(value));
}

/*
 * Put an owner, or 0 for none.  Its place takes 8 bytes: it may be in any log, so it is not near
 * a known place.
 */
static inline char *
zrec_put_owner(char *out, const ZOwner *owner)
{
	out = zvarint_put(out, U64FromFullTransactionId(owner->fxid));
	if (FullTransactionIdIsValid(owner->fxid))
		out = zrec_put_raw(out, &owner->undo, sizeof(ZUndoPtr));
	return out;
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
	OffsetNumber first;			/* the row; INSERT: the first one */
	uint32		header;			/* INSERT: what stands for the only row's header (rec_change.c) */
	uint8		block_id;		/* its page; set by the caller before decoding */
} ZRecPart;

/* The place where all of the record's undo was appended. */
typedef struct ZRecPlace		/* tidy: in memory only */
{
	ZUndoAppend append;
	bool		known;			/* true if the undo page is known */
	ZUndoPtr	ptr;
} ZRecPlace;

/* A decoded record of rec_change.c or rec_move.c. */
typedef struct ZRecChanges		/* tidy: in memory only */
{
	ZRecPlace	place;
	int			nparts;
	ZRecPart	parts[2];		/* MOVE: deletion and insertion; others: one */
	/* MOVE: one_page, and what ZMove has for WAL */
	bool		one_page;
	bool		same_header;
	uint8		value_flags;	/* unless same_header: the new row's, and natts */
	uint16		natts;
	uint16		prefix;
	uint16		suffix;
} ZRecChanges;

/* Upper limits of the bytes that zrec_part_put_head and zrec_part_put_tail write. */
#define ZREC_HEAD_MAX	(2 + ZVARINT_MAX)
#define ZREC_TAIL_MAX	(2 + 4 * ZVARINT_MAX)

/* Upper limit of the bytes that a record of several parts puts behind that. */
#define ZREC_MORE_MAX	(2 + 5 * ZVARINT_MAX + ZUNDO_PTR_MAX)

/*
 * Encode a change.  zrec_part_flags() returns its C_* flags.  zrec_part_begin() begins the WAL
 * record, puts main data up to the undo record, if there is one, and returns where the tail goes,
 * which zrec_part_put_tail() puts there, and perhaps ZREC_MORE_MAX bytes more; zrec_part_end()
 * then registers main data up to "end".  "change" may be NULL with C_UNDO_ONLY.  With C_UNDO
 * zrec_part_begin() calls zundo_name(), and the caller registers the undo page.
 */
extern uint8 zrec_part_flags(const ZChange *change);
extern char *zrec_part_put_head(char *out, const ZChange *change, uint8 flags);
extern char *zrec_part_begin(const ZChange *change, uint8 flags, ZUndoWrite *write,
							 const ZUndoBytes *undo);
extern char *zrec_part_put_tail(char *out, const ZChange *change, uint8 flags);
extern void zrec_part_end(char *end);

/*
 * Decode what these wrote: the head of a part, or all of the record's first one.  If the bytes
 * make no sense the cursor becomes bad.
 */
extern void zrec_part_take_head(ZRecCursor *cur, ZRecPart *part);
extern void zrec_part_take_first(XLogReaderState *record, ZRecCursor *cur, ZRecChanges *changes);

/*
 * In replay: do what comes before the table pages, conflicts and undo; and raise PANIC if a page
 * needs a pointer to an undo page that is not known (W3).
 */
extern void zrec_part_redo_undo(XLogReaderState *record, ZRecChanges *changes);
extern void zrec_place_check(XLogReaderState *record, const ZRecPlace *place);

/* Describe the record's first part. */
extern void zrec_part_desc(StringInfo buf, const ZRecChanges *changes);
extern const char *zrec_takeover_name(ZTakeover takeover);

/*
 * Check that a new record's links lead to older records (U2), and name their owners rightly
 * (M1).
 */
#ifdef USE_ASSERT_CHECKING
extern void zrec_part_assert_links(const ZUndoRecord *rec, ZUndoPtr self);
#else
#define zrec_part_assert_links(rec, self) ((void) 0)
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

/* ---- in several kinds of WAL records ---- */

/*
 * Register a page of the map whose bits have been cleared, unless it is invalid.  Between
 * XLogBeginInsert and the insertion.
 */
extern void zrec_map_register(uint8 block_id, Buffer map);

/* Replay it, for all table pages of the record. */
extern void zrec_map_redo(XLogReaderState *record);

/*
 * Resolve the conflict with a standby's snapshots that do not see "newest", which the table
 * page is going to take as visible to all; does nothing if it is invalid.  In replay, before
 * the page is locked: it may wait for queries.
 */
extern void zrec_resolve_conflict(XLogReaderState *record, TransactionId newest);

/* ---- kinds of WAL records ---- */

typedef struct ZRecOverflow		/* tidy: in memory only */
{
	BlockNumber table_block;
	bool		init;
} ZRecOverflow;

typedef struct ZRecVisible		/* tidy: in memory only */
{
	bool		has_page;		/* true if a page becomes all-visible */
	TransactionId conflict;		/* has_page */
	RelFileLocator locator;		/* a rewritten table, and the newest transaction there */
	FullTransactionId newest;
} ZRecVisible;

typedef struct ZRecPrune
{
	TransactionId conflict;		/* snapshots that see this xid as running must go; or invalid */
	uint16		ndead;			/* 4- 5 */
	uint16		ntrim;			/* 6- 7 */
	uint16		nunused;		/* 8- 9 */
	uint16		nsingle;		/* 10-11 */
} ZRecPrune;

StaticAssertDecl(sizeof(ZRecPrune) == 12, "ZRecPrune is in WAL");

/* The decoded main data of a record. */
typedef struct ZRecDecoded		/* tidy: in memory only */
{
	ZRecLogical logical;		/* kind is NONE unless decoding sets it */
	union
	{
		ZRecChanges changes;
		ZRollbackPlan rollback; /* without rows */
		struct
		{
			ZRecPrune	header;
			FullTransactionId remembered;
		}			prune;
		ZRecOverflow overflow;
		OffsetNumber confirmed;
		ZRecVisible visible;
	};
} ZRecDecoded;

/* A kind of record. */
typedef struct ZRecKind
{
	/* decode the main data; return false if it is damaged.  "d" has been cleared */
	bool		(*decode) (XLogReaderState *record, ZRecDecoded *d);
	void		(*redo) (XLogReaderState *record, ZRecDecoded *d);
	void		(*desc) (StringInfo buf, const ZRecDecoded *d);
} ZRecKind;

extern const ZRecKind zrec_change_kind;
extern const ZRecKind zrec_move_kind;
extern const ZRecKind zrec_rollback_kind;
extern const ZRecKind zrec_prune_kind;
extern const ZRecKind zrec_overflow_kind;
extern const ZRecKind zrec_confirm_kind;
extern const ZRecKind zrec_visible_kind;

/* Decode the main data of a record of some kind.  Return false if it is damaged. */
static inline bool
zrec_decode(const ZRecKind *kind, XLogReaderState *record, ZRecDecoded *d)
{
	memset(d, 0, sizeof(*d));
	return kind->decode(record, d);
}

/*
 * Queue the record's changes in the reorder buffer, as rm_decode.  "kind" is NULL if such
 * records have no part for decoding.  ERROR (data_corrupted) if the record is damaged.
 */
struct LogicalDecodingContext;
struct XLogRecordBuffer;
extern void zrec_queue(struct LogicalDecodingContext *ctx, struct XLogRecordBuffer *buf,
					   const ZRecKind *kind);

/*
 * Redo or describe a record.  If it is damaged replay cannot go on: PANIC.  A description says
 * so instead: pg_walinspect asks for it in any backend, of WAL that another version may have
 * written, and the server's report of an error in replay asks for one, too.
 */
extern void zrec_redo(const ZRecKind *kind, XLogReaderState *record);
extern void zrec_desc(const ZRecKind *kind, StringInfo buf, XLogReaderState *record);

/* Raise that PANIC. */
pg_noreturn extern void zrec_replay_damaged(XLogReaderState *record);

#endif							/* ZHEAP_REC_PRIVATE_H */
