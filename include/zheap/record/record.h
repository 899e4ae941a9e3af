/*
 * record.h
 *		The two log forms of each change, undo record and WAL record: for each of them, writing
 *		and reading in one place.
 *
 * The functions named *_emit insert a WAL record and return its end LSN.  They are called in
 * the critical section, with all buffers of the change locked exclusively, and allocate
 * nothing.  The caller sets the pages' LSNs.
 */
#ifndef ZHEAP_RECORD_H
#define ZHEAP_RECORD_H

#include "access/htup.h"
#include "access/xlogreader.h"
#include "lib/stringinfo.h"
#include "storage/itemptr.h"

#include "zheap/base/base.h"
#include "zheap/page/page_plan.h"
#include "zheap/undo/undo_ptr.h"

/*
 * Opcodes; 0xB0 to 0xF0 are the undo layer's (undo_wal.h).  The functions that redo and describe
 * each are in the list in rec_rmgr.c.
 */
#define ZREC_INSERT			0x00
#define ZREC_UPDATE			0x10
#define ZREC_DELETE			0x20
#define ZREC_LOCK			0x30
#define ZREC_ROLLBACK		0x40	/* rows of an aborted transaction rolled back */
#define ZREC_PRUNE			0x50
#define ZREC_OVERFLOW		0x60	/* a table page got an overflow page, or a lock page */
#define ZREC_CONFIRM		0x70	/* speculative insertion confirmed */
#define ZREC_NO_VERSION		0x80	/* a tombstone, or a directory added to a chain: its undo
									 * record says which */
#define ZREC_VISIBLE		0x90	/* a page is all-visible; without blocks: a rewritten table
									 * lacks versions that older snapshots saw */
#define ZREC_MOVE			0xA0	/* an update that moves a row */

/* block references of all these records */
#define ZREC_BLK_TABLE		0
#define ZREC_BLK_UNDO		1
#define ZREC_BLK_OVERFLOW	2		/* or a lock page */
#define ZREC_BLK_OLD		2		/* MOVE: the page that the row leaves */
#define ZREC_BLK_MAP		3		/* the visibility map's page of a table page */
#define ZREC_BLK_OTHER_MAP	4		/* MOVE: the map's page of the other page, if that is
									 * another */

/* ---- undo record (rec_undo.c) ---- */

/*
 * A change, as the undo log keeps it: how to get from the version that it made to the version
 * before, and where the record of that version is.
 */
typedef struct ZUndoRecord
{
	uint8		type;			/* ZRowOp */
	uint16		slotno;
	uint8		takeover;		/* ZTakeover: OWN means page_prev is set; otherwise
								 * this is the owner's first record on the page */
	bool		open_run;		/* INSERT: all rows from offnum on that the owner
								 * adds with this cid; else exactly count.  DELETE:
								 * all rows from offnum on that are deleted and name
								 * the slot, unless a newer record is about them */
	OffsetNumber offnum;
	uint16		count;
	CommandId	cid;
	ZUndoPtr	page_prev;		/* the owner's record before, same page */
	ZOwner		slot_prev;		/* REUSED: the slot's owner before */

	uint8		lockmode;		/* LOCK: LockTupleMode; no version of the row */

	/* UPDATE, DELETE: the version before */
	ZRowHeader	old_hdr;
	bool		prev_own;		/* true if the same owner made it */
	bool		prev_upper_bound; /* true if its modifier is below row_prev in the slot's chain
								   * (ZROW_REUSED) */
	ZOwner		row_prev;		/* its modifier, and the version's record or one above it in the
								 * modifier's chain; invalid fxid: visible to all.  With prev_own
								 * only undo counts */

	/* UPDATE that is a waypoint of the row (mvcc/README.md) */
	bool		waypoint;
	uint32		images;			/* number of waypoints with an image, this one included */
	uint32		since;			/* number of waypoints since the last one with an image; 0: this
								 * is one */
	ZOwner		far;			/* a waypoint with an image further down, or invalid */
	bool		far_own;		/* true if all versions from there to here were made in one
								 * owner's possession of the slot (prev_own) */
	bool		far_keys;		/* true if some version from there to the one before this one's
								 * is ZROW2_KEYS_UPDATED */

	/* UPDATE: body bytes [prefix, len - suffix) were mid; TOMBSTONE: mid is the body;
	 * DIRECTORY: mid is what zrec_directory_encode gave */
	uint16		prefix;
	uint16		suffix;
	uint16		midlen;
	const char *mid;

	bool		has_new_tid;	/* DELETE by a moving update */
	ItemPointerData new_tid;
	uint32		token;			/* speculative INSERT, or 0 */

	/* for sweeps of the log; left out while they stay the same */
	bool		has_xact;
	bool		has_page;
	FullTransactionId fxid;
	RelFileLocator locator;
	BlockNumber block;
} ZUndoRecord;

typedef enum ZUndoForm
{
	ZFORM_LOG,					/* in the undo relation */
	ZFORM_WAL					/* in a WAL record, which has transaction and page anyway */
} ZUndoForm;

/* Return an upper bound of the encoded size, in bytes. */
extern Size zrec_undo_bound(const ZUndoRecord *rec);

/*
 * Encode the record in log form into "out"; "self" is its own place.  Return the length in
 * bytes.  The first *wal_len bytes are its WAL form.
 */
extern Size zrec_undo_encode(const ZUndoRecord *rec, ZUndoPtr self, char *out, Size *wal_len);

/*
 * Decode an undo record.  Return the number of bytes consumed, or 0 if the bytes are no undo
 * record.  rec->mid points into "bytes".  Never reads past "len"; values that would lead out of
 * bounds are refused.  Raises no error.
 */
extern Size zrec_undo_decode(const char *bytes, Size len, ZUndoPtr self,
							 ZUndoForm form, ZUndoRecord *rec);

/* Take a number of one or two bytes; *last collects the last byte, whose upper bit is not set. */
static inline uint32
zrec_take_short(const uint8 **in, uint8 *last)
{
	uint32		value = *(*in)++;

	if (value >= 0x80)
	{
		*last |= **in;
		value = (value & 0x7F) | (uint32) *(*in)++ << 7;
	}
	return value;
}

/*
 * Decode a plain update, the common record of a change of many rows: not its owner's first one on
 * the page, and of a version that was visible to all.  Return false if the record is of another
 * kind, or has a number of more than two bytes; then zrec_undo_decode() decodes it.  Sets the
 * fields that concern an update.  Reads up to ZUNDO_READABLE bytes before it looks at "len".
 *
 * Inline, so that the fields stay in registers; numbers that mostly have one byte are tested
 * together.
 */
static pg_attribute_always_inline bool
zrec_undo_decode_plain(const char *bytes, Size len, ZUndoPtr self, ZUndoRecord *rec)
{
	const uint8 *in = (const uint8 *) bytes;
	uint8		last = in[2];
	uint32		distance;

	StaticAssertStmt(3 + 3 * 2 + 2 + 3 * 2 <= ZUNDO_READABLE, "all before mid can be read");
	if (in[0] != (ZOP_UPDATE | ZTAKE_OWN << 3) || in[1] != 0)
		return false;
	rec->type = ZOP_UPDATE;
	rec->takeover = ZTAKE_OWN;
	rec->open_run = false;
	rec->slotno = in[2];
	in += 3;
	rec->offnum = in[0];
	rec->cid = in[1];
	if (likely(((in[0] | in[1]) & 0x80) == 0))
		in += 2;
	else
	{
		rec->offnum = zrec_take_short(&in, &last);
		rec->cid = zrec_take_short(&in, &last);
		if (rec->offnum > ZPAGE_MAX_OFFSET)
			return false;
	}
	distance = zrec_take_short(&in, &last);
	/* a pointer to another extent, in full */
	if (unlikely(distance == 0))
		return false;
	rec->page_prev = zundo_ptr_before(self, distance);
	last |= in[1];
	rec->old_hdr = (ZRowHeader) {.flags = in[0], .slotno = in[1], .natts = ZROW_NATTS_KEEP};
	rec->prev_own = rec->prev_upper_bound = rec->waypoint = rec->has_new_tid = false;
	rec->row_prev = (ZOwner) {InvalidFullTransactionId, ZUNDO_INVALID};
	in += 2;
	rec->prefix = in[0];
	rec->suffix = in[1];
	rec->midlen = in[2];
	if (likely(((in[0] | in[1] | in[2]) & 0x80) == 0))
		in += 3;
	else
	{
		rec->prefix = zrec_take_short(&in, &last);
		rec->suffix = zrec_take_short(&in, &last);
		rec->midlen = zrec_take_short(&in, &last);
	}
	rec->mid = (const char *) in;
	if (unlikely(last >= 0x80 || rec->slotno == 0 || rec->mid + rec->midlen > bytes + len))
		return false;
	return true;
}

/*
 * Return whether the record made the wanted version of the row at offnum, provided that no
 * newer record of its chain did.  "deleted": whether that version is a deletion.
 */
extern bool zrec_undo_covers(const ZUndoRecord *rec, OffsetNumber offnum, bool deleted);

/* Return whether the record is a run of deletions, of one row or more. */
static inline bool
zrec_is_delete_run(const ZUndoRecord *rec)
{
	return rec->type == ZOP_DELETE && rec->open_run;
}

/* ---- directories (rec_directory.c) ---- */

/*
 * For each row of a page, the newest record that a chain has about it, with its owner; an
 * invalid fxid: none, or visible to all.  And the row locks of the transaction whose record is
 * the chain's newest, as far as it, or the subtransaction that took them, is in progress.
 */
typedef struct ZDirectory
{
	ZOwner		before;			/* the slot's owner before the newest record's; invalid: none */
	ZOwner		newest[ZPAGE_MAX_OFFSET + 1];
	int8		lock[ZPAGE_MAX_OFFSET + 1]; /* strongest LockTupleMode, or ZDIRECTORY_NO_LOCK */
} ZDirectory;

#define ZDIRECTORY_NO_LOCK	(-1)

/*
 * Encode a directory into "out", which has ZUNDO_MAX_RECORD bytes.  Return the length in bytes.
 * Rows whose newest record is of a transaction below "horizon" are left out.  "base" is the
 * place of the chain's newest record, which the directory's record will follow; invalid if
 * there is none.
 */
extern Size zrec_directory_encode(const ZDirectory *dir, FullTransactionId horizon,
								  ZUndoPtr base, char *out);

/*
 * Upper limit of what zrec_directory_encode writes: all rows of a page, each with an owner of
 * its own.
 */
#define ZUNDO_MAX_DIRECTORY \
	(8 + ZVARINT_MAX + 3 + 8 + ZPAGE_MAX_OFFSET * (2 + 2 + 9 + ZUNDO_PTR_MAX))

/* Decode the directory of an undo record.  Return false if the bytes are no directory. */
extern bool zrec_directory_decode(const ZUndoRecord *rec, ZDirectory *dir);

/*
 * Get one row's entry from the directory.  Return false if there is none or, with *damaged set
 * to true, if the bytes are no directory.
 */
extern bool zrec_directory_find(const ZUndoRecord *rec, OffsetNumber offnum, ZOwner *at,
								bool *damaged);

/* Return the mode of the lock on the row, or ZDIRECTORY_NO_LOCK; *damaged as above. */
extern int	zrec_directory_lock(const ZUndoRecord *rec, OffsetNumber offnum, bool *damaged);

/* ---- waypoints ---- */

/* Return whether the record holds the whole row before (an image). */
static inline bool
zwaypoint_has_image(const ZUndoRecord *rec)
{
	return rec->type == ZOP_UPDATE && rec->waypoint && rec->since == 0;
}

/* ---- the part of a record for logical decoding (rec_logical.c) ---- */

typedef enum ZLogicalKind
{
	ZLOGICAL_NONE,
	ZLOGICAL_INSERT,			/* one row or several */
	ZLOGICAL_UPDATE,
	ZLOGICAL_DELETE,
	ZLOGICAL_SPECULATIVE,		/* a speculative insertion ... */
	ZLOGICAL_CONFIRM,			/* ... is confirmed */
	ZLOGICAL_TAKE_BACK			/* ... or taken back */
} ZLogicalKind;

/*
 * Part of a WAL record for logical decoding.  Tuples are in heap's form, as decoding has no
 * catalog to form one.
 */
typedef struct ZRecLogical
{
	ZLogicalKind kind;
	bool		has_old;		/* UPDATE, DELETE: true if the first tuple is the version
								 * before, or its replica identity */
	bool		more;			/* INSERT: true if rows in later records had their values
								 * toasted before this one */
	int			nrows;			/* number of rows of an INSERT; else 1 */
	const char *tuples;			/* as written by zrec_logical_put_tuple or zrec_logical_put_row */
	Size		len;
	/* decoding of an insertion: the rows that the tuples refer to, as they are in the record */
	const char *rows;
	Size		rows_len;
	bool		many;			/* true if each row has its length before it */
} ZRecLogical;

/*
 * Append the new tuple of an insertion to "out", referring to the values in this row.
 * Allocates; ERROR (internal_error) if the tuple does not consist of the row's values.
 */
extern void zrec_logical_put_row(StringInfo out, HeapTuple tuple, const char *row, uint32 len);

/* Append any other tuple to "out".  Allocates. */
extern void zrec_logical_put_tuple(StringInfo out, HeapTuple tuple);

/* ---- a change of rows (rec_change.c) ---- */

/*
 * Plan of an insert, update, delete, lock, tombstone or directory: slot, rows, undo.  has_undo
 * is false for an insert or delete that belongs to a run already recorded.  "logical" must live
 * until the change is made, and is for WAL only.
 */
typedef struct ZChange
{
	bool		init_page;		/* the table page is new */
	uint8		init_slots;
	bool		has_undo;
	ZSlotPlan	slot;
	ZRowPlan	row;
	ZUndoRecord undo;
	const ZRecLogical *logical; /* or NULL */
} ZChange;

/*
 * Carry out a ZChange on a page, in the forward path and in redo: no other function does.  The
 * page, and the overflow page if the slot is there, are locked exclusively.  Raises no error.
 */
extern void zchange_apply(Page page, Page overflow, ZChange *change);

/* undo/undo_write.h */
struct ZUndoBytes;
struct ZUndoWrite;

/* The pages of a change. */
typedef struct ZChangeBuffers
{
	Buffer		table;
	Buffer		slots;			/* or invalid */
	Buffer		map;			/* page of the visibility map if the change clears its bits; or
								 * invalid */
} ZChangeBuffers;

/*
 * Emit the WAL record of a change of a logged table, after it was applied.  "undo" is the undo
 * record in WAL form, as it was encoded before that, as its bytes may have been on the page.
 */
extern XLogRecPtr zrec_change_emit(const ZChange *change, const ZChangeBuffers *buffers,
								   struct ZUndoWrite *write, const struct ZUndoBytes *undo);

/*
 * Emit the WAL record of an undo record alone, as the table is not logged, or the row is logged
 * by other means.  "undo" is the record in log form.
 */
extern XLogRecPtr zrec_undo_emit(const ZUndoRecord *rec, struct ZUndoWrite *write,
								 const struct ZUndoBytes *undo);

/* ---- a row that an update moves (rec_move.c) ---- */

/*
 * Plan of an update that moves a row: the old row's deletion, which names the new TID, and the
 * new row's insertion.  On one page they have one slot, and the deletion comes first.  No slot
 * is on an overflow page.  The deletion has the part for logical decoding, of the whole update.
 */
typedef struct ZMove
{
	ZChange		deletion;
	ZChange		insertion;
	/* for WAL only; on one page: what the two rows have in common */
	bool		same_header;	/* true if flags that describe values, and natts, are the same */
	uint16		prefix;			/* equal bytes of the bodies */
	uint16		suffix;
} ZMove;

/*
 * Carry out a ZMove, in the forward path and in redo: no other function does.  NULL: that page
 * is not to be changed.
 */
extern void zmove_apply(Page old, Page new, ZMove *move);

typedef struct ZMoveBuffers
{
	Buffer		old;
	Buffer		new;			/* may be the same as old */
	Buffer		maps[2];		/* pages of the visibility map whose bits the move clears; or
								 * invalid */
} ZMoveBuffers;

/*
 * Like zrec_change_emit, for a moved row.  "write" and "undo" are the deletion's; the
 * insertion's follow from the plan.
 */
extern XLogRecPtr zrec_move_emit(const ZMove *move, const ZMoveBuffers *buffers,
								 struct ZUndoWrite *write, const struct ZUndoBytes *undo);

/* ---- others ---- */

/* "logical" is NULL unless a speculative insertion is taken back. */
extern XLogRecPtr zrec_rollback_emit(const ZRollbackPlan *plan, Buffer buffer,
									 Buffer overflow_buf, const ZRecLogical *logical);

/* Pruning of a page. */
extern XLogRecPtr zrec_prune_emit(const ZPrunePlan *plan, Buffer buffer);

/*
 * A new overflow page or lock page.  "buffer": the page that names it: the table page, or its
 * overflow page.  "init": the table page was a page of zeros, and becomes one without slots.
 */
extern XLogRecPtr zrec_overflow_emit(Buffer buffer, bool init, Buffer overflow_buf,
									 BlockNumber table_block);

/* Confirmation of a speculative insertion.  "logical" may be NULL. */
extern XLogRecPtr zrec_confirm_emit(Buffer buffer, OffsetNumber offnum,
									const ZRecLogical *logical);

/* ---- the visibility map (rec_visible.c) ---- */

/*
 * Mark the page all-visible, in the map as well, with its WAL record and critical section.
 * Both pages are locked exclusively, on exit too.  "newest": the newest owner that its slots
 * have or had, or invalid if standbys know that all see it.
 */
extern void zrec_mark_visible(Relation rel, Buffer buffer, Buffer map,
							  FullTransactionId newest);

/*
 * Emit the WAL record of a rewritten table, whose new file takes "newest" and all transactions
 * before as visible to all: standbys cancel queries with snapshots that do not see these.
 * Needs no critical section and no lock.
 */
extern XLogRecPtr zrec_conflict_emit(Relation rel, FullTransactionId newest);

/* ---- the resource manager (rec_rmgr.c) ---- */

/* Register the resource manager.  Only while shared_preload_libraries are processed. */
extern void zrec_rmgr_register(void);

#endif							/* ZHEAP_RECORD_H */
