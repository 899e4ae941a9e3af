/*
 * record.h
 *		The two log forms of each change: undo record and WAL record, both
 *		directions in one place.
 */
#ifndef ZHEAP_RECORD_H
#define ZHEAP_RECORD_H

#include "access/htup.h"
#include "access/xlogreader.h"
#include "lib/stringinfo.h"
#include "storage/itemptr.h"

#include "zheap/base/base.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"
#include "zheap/undo/undo_write.h"

/*
 * Opcodes; 0xB0 to 0xF0 are the undo layer's (undo_wal.h).  What is done with each: the list in
 * rec_rmgr.c.
 */
#define ZREC_INSERT			0x00
#define ZREC_UPDATE			0x10
#define ZREC_DELETE			0x20
#define ZREC_LOCK			0x30
#define ZREC_ROLLBACK		0x40	/* rows of an aborted transaction rolled back */
#define ZREC_PRUNE			0x50
#define ZREC_OVERFLOW		0x60	/* a table page got an overflow page, or a lock page */
#define ZREC_CONFIRM		0x70	/* speculative insertion confirmed */
#define ZREC_NO_VERSION		0x80	/* a tombstone, or a chain got a directory: its undo
									 * record says which */
#define ZREC_VISIBLE		0x90	/* a page is all-visible; without blocks: a rewritten table
									 * lacks what older snapshots saw */
#define ZREC_MOVE			0xA0	/* an update that moves a row */

/* block references of all of them */
#define ZREC_BLK_TABLE		0
#define ZREC_BLK_UNDO		1
#define ZREC_BLK_OVERFLOW	2		/* or a lock page */
#define ZREC_BLK_OLD		2		/* MOVE: the page that the row leaves */
#define ZREC_BLK_MAP		3		/* the visibility map's page of the table page */
#define ZREC_BLK_OLD_MAP	4		/* MOVE: of the page that the row leaves, if another */

/* ---- undo record (rec_undo.c) ---- */

/*
 * One change, as the undo log keeps it: how to get from the version it made to
 * the one before, and where that one's own record is.
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
	bool		prev_own;		/* made by the same owner */
	bool		prev_upper_bound; /* its modifier is below row_prev in the slot's
								 * chain (ZROW_REUSED) */
	ZOwner		row_prev;		/* its modifier, and a record of its chain that the
								 * version's own is, or is below; invalid fxid: visible
								 * to all.  With prev_own undo alone counts */

	/* UPDATE that is a waypoint of the row (mvcc/README.md) */
	bool		waypoint;
	uint32		images;			/* waypoints with an image, up to here */
	uint32		since;			/* waypoints since the last of them; 0: this is one */
	ZOwner		far;			/* a waypoint with an image further down, or invalid */
	bool		far_own;		/* from there to here all versions are of one owner's
								 * possession of the slot (prev_own) */
	bool		far_keys;		/* from there to the version before this one's some are
								 * ZROW2_KEYS_UPDATED */

	/* UPDATE: body bytes [prefix, len - suffix) were mid; TOMBSTONE: mid is the body;
	 * DIRECTORY: mid is what zrec_directory_encode gave */
	uint16		prefix;
	uint16		suffix;
	uint16		midlen;
	const char *mid;

	bool		has_new_tid;	/* DELETE by a moving update */
	ItemPointerData new_tid;
	uint32		token;			/* speculative INSERT, or 0 */

	/* what a sweep through the log needs; left out while it stays the same */
	bool		has_xact;
	bool		has_page;
	FullTransactionId fxid;
	RelFileLocator locator;
	BlockNumber block;
} ZUndoRecord;

typedef enum ZUndoForm
{
	ZFORM_LOG,					/* in the undo relation */
	ZFORM_WAL					/* in a WAL record: xact and page are known there */
} ZUndoForm;

/* Upper bound of the encoded size. */
extern Size zrec_undo_bound(const ZUndoRecord *rec);

/*
 * The record in log form; "self" is its own position.  Returns the length.  The WAL form are the
 * first *wal_len bytes of it.
 */
extern Size zrec_undo_encode(const ZUndoRecord *rec, ZUndoPtr self, char *out, Size *wal_len);

/*
 * rec->mid points into "bytes".  Returns the bytes consumed, or 0 if they are no
 * undo record.
 */
extern Size zrec_undo_decode(const char *bytes, Size len, ZUndoPtr self,
							 ZUndoForm form, ZUndoRecord *rec);

/*
 * Did the record make the version of the row at offnum that is looked for, if no newer record of
 * its chain did?  "deleted": that version is a deletion.
 */
extern bool zrec_undo_covers(const ZUndoRecord *rec, OffsetNumber offnum, bool deleted);

/* Is it about deletions, one or more? */
static inline bool
zrec_is_delete_run(const ZUndoRecord *rec)
{
	return rec->type == ZOP_DELETE && rec->open_run;
}

/* ---- directories (rec_directory.c) ---- */

/*
 * Of each row of a page the newest record that a chain has about it, and whose that
 * is; an invalid fxid: none, or visible to all.  And the locks of the transaction whose
 * record is the chain's newest, as far as it, or that subtransaction of it, goes on.
 */
typedef struct ZDirectory
{
	ZOwner		before;			/* the slot's owner before the one of the newest record;
								 * invalid: none */
	ZOwner		newest[ZPAGE_MAX_OFFSET + 1];
	int8		lock[ZPAGE_MAX_OFFSET + 1]; /* strongest LockTupleMode, or none */
} ZDirectory;

#define ZDIRECTORY_NO_LOCK	(-1)

/*
 * Rows whose newest record is of a transaction below "horizon" are left out.  "base" is
 * where the chain's newest record is, which the directory's will follow; invalid: there is
 * none.  "out" has ZUNDO_MAX_RECORD bytes.  Returns the length.
 */
extern Size zrec_directory_encode(const ZDirectory *dir, FullTransactionId horizon,
								  ZUndoPtr base, char *out);

/* What zrec_directory_encode writes at most: all rows of a page, each its own owner. */
#define ZUNDO_MAX_DIRECTORY \
	(8 + ZVARINT_MAX + 3 + 8 + ZPAGE_MAX_OFFSET * (2 + 2 + 9 + ZUNDO_PTR_MAX))

/* False: the bytes are no directory. */
extern bool zrec_directory_decode(const ZUndoRecord *rec, ZDirectory *dir);

/* What it says of one row; false: nothing, or *damaged: as above. */
extern bool zrec_directory_find(const ZUndoRecord *rec, OffsetNumber offnum, ZOwner *at,
								bool *damaged);

/* The lock on the row, or ZDIRECTORY_NO_LOCK. */
extern int	zrec_directory_lock(const ZUndoRecord *rec, OffsetNumber offnum, bool *damaged);

/* ---- waypoints ---- */

/* Does the record hold the whole row before? */
static inline bool
zwaypoint_has_image(const ZUndoRecord *rec)
{
	return rec->type == ZOP_UPDATE && rec->waypoint && rec->since == 0;
}

/* ---- what logical decoding is told of a change (rec_logical.c) ---- */

typedef enum ZLogicalKind
{
	ZLOGICAL_NONE,
	ZLOGICAL_INSERT,			/* one row or several */
	ZLOGICAL_UPDATE,
	ZLOGICAL_DELETE,
	ZLOGICAL_SPECULATIVE,		/* an insertion in doubt ... */
	ZLOGICAL_CONFIRM,			/* ... stands */
	ZLOGICAL_TAKE_BACK			/* ... or never was */
} ZLogicalKind;

/* Tuples are in heap's form, because decoding has no catalog to make one with. */
typedef struct ZRecLogical
{
	ZLogicalKind kind;
	bool		has_old;		/* UPDATE, DELETE: the first tuple is the version before, or what
								 * the replica identity has of it */
	bool		more;			/* INSERT: rows in later records had their values toasted
								 * before this one */
	int			nrows;			/* INSERT; else 1 */
	const char *tuples;			/* as zrec_logical_put_tuple or _put_row wrote them */
	Size		len;
	/* decoding, of an insertion: the rows that these refer to, as they stand in the record */
	const char *rows;
	Size		rows_len;
	bool		many;			/* each with its length before it */
} ZRecLogical;

/* What a record of this kind tells; NONE: it was not logically logged.  False: damaged. */
typedef bool (*ZRecLogicalOf) (XLogReaderState *record, ZRecLogical *logical);

/* The new tuple of an insertion has the values of this row.  May allocate. */
extern void zrec_logical_put_row(StringInfo out, HeapTuple tuple, const char *row, uint32 len);

/* Any other.  May allocate. */
extern void zrec_logical_put_tuple(StringInfo out, HeapTuple tuple);

/* ---- a change of rows (rec_change.c) ---- */

/*
 * Plan of an insert, update, delete or lock: slot, rows, undo.  has_undo is
 * false for an insert or delete that belongs to a run already recorded.  "logical" lasts until the
 * change is made, and is for WAL only.
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

/* The one place that changes a page by a ZChange: forward path and redo. */
extern void zchange_apply(Page page, Page overflow, ZChange *change);

/* The pages of a change; the table's writes no WAL unless logged. */
typedef struct ZChangeBuffers
{
	Buffer		table;
	Buffer		slots;			/* or invalid */
	bool		logged;
	Buffer		map;			/* visibility map, if the change takes its bits; or invalid */
} ZChangeBuffers;

/*
 * In the critical section, after apply: the WAL record, with the undo record as it was encoded
 * before apply, for its bytes may have lain on the page.  If the table is not logged it covers
 * only the undo page, and has the undo record in log form.
 */
extern XLogRecPtr zrec_change_emit(const ZChange *change, const ZChangeBuffers *buffers,
								   ZUndoWrite *write, const char *undo, Size undo_len);
extern void zrec_change_redo(XLogReaderState *record);
extern void zrec_change_desc(StringInfo buf, XLogReaderState *record);
extern bool zrec_change_logical(XLogReaderState *record, ZRecLogical *logical);

/* ---- a row that an update moves (rec_move.c) ---- */

/*
 * The old row's deletion, which names the new TID, and the new row's insertion.  On one page they
 * have one slot, and the deletion comes first.  No slot lies on another page.  The deletion has
 * what decoding is told, of the whole update.
 */
typedef struct ZMove
{
	ZChange		deletion;
	ZChange		insertion;
	/* WAL only; one page: what the two rows have in common */
	bool		same_header;	/* flags that describe values, and natts */
	uint16		prefix;			/* bytes of the bodies */
	uint16		suffix;
} ZMove;

/* The one place that changes pages by a ZMove; NULL: that page is not to be changed. */
extern void zmove_apply(Page old, Page new, ZMove *move);

typedef struct ZMoveBuffers
{
	Buffer		old;
	Buffer		new;			/* perhaps the same */
	Buffer		maps[2];		/* visibility map, as far as the move takes its bits; the
								 * second one is invalid if the first is */
} ZMoveBuffers;

/*
 * As zrec_change_emit, for a logged table.  "write" is the deletion's; "undo" is its record in
 * WAL form; the insertion's follows from the plan.
 */
extern XLogRecPtr zrec_move_emit(const ZMove *move, const ZMoveBuffers *buffers,
								 ZUndoWrite *write, const ZUndoBytes *undo);
extern void zrec_move_redo(XLogReaderState *record);
extern void zrec_move_desc(StringInfo buf, XLogReaderState *record);
extern bool zrec_move_logical(XLogReaderState *record, ZRecLogical *logical);

/* ---- others: one file each, emit + redo + desc ---- */

/* "logical" is NULL but where an insertion in doubt is taken back. */
extern XLogRecPtr zrec_rollback_emit(const ZRollbackPlan *plan, Buffer buffer,
									 Buffer overflow_buf, const ZRecLogical *logical);
extern void zrec_rollback_redo(XLogReaderState *record);
extern void zrec_rollback_desc(StringInfo buf, XLogReaderState *record);
extern bool zrec_rollback_logical(XLogReaderState *record, ZRecLogical *logical);

extern XLogRecPtr zrec_prune_emit(const ZPrunePlan *plan, Buffer buffer);
extern void zrec_prune_redo(XLogReaderState *record);
extern void zrec_prune_desc(StringInfo buf, XLogReaderState *record);

/*
 * "buffer": the page that names the new one: the table page, or its overflow page.  "init": the
 * table page was a page of zeros, and becomes one without slots.
 */
extern XLogRecPtr zrec_overflow_emit(Buffer buffer, bool init, Buffer overflow_buf,
									 BlockNumber table_block);
extern void zrec_overflow_redo(XLogReaderState *record);
extern void zrec_overflow_desc(StringInfo buf, XLogReaderState *record);

extern XLogRecPtr zrec_confirm_emit(Buffer buffer, OffsetNumber offnum,
									const ZRecLogical *logical);
extern void zrec_confirm_redo(XLogReaderState *record);
extern void zrec_confirm_desc(StringInfo buf, XLogReaderState *record);
extern bool zrec_confirm_logical(XLogReaderState *record, ZRecLogical *logical);

/* ---- the visibility map (rec_visible.c) ---- */

/* In the critical section, of a logged table: a page of the map whose bits have been cleared. */
extern void zrec_map_register(uint8 block_id, Buffer map);

/* Replay of that, for all table pages of the record. */
extern void zrec_map_redo(XLogReaderState *record);

/*
 * The page is marked all-visible, in the map as well.  "newest": the newest owner that its slots
 * have or had, or invalid if standbys know that all see it.  Both pages are locked exclusively.
 * Does all of it, critical section included.
 */
extern void zrec_mark_visible(Relation rel, Buffer buffer, Buffer map,
							  FullTransactionId newest);

extern void zrec_visible_redo(XLogReaderState *record);
extern void zrec_visible_desc(StringInfo buf, XLogReaderState *record);

/*
 * The table's new file takes "newest" and all before as visible to all: standbys
 * are to get rid of snapshots that do not.
 */
extern XLogRecPtr zrec_conflict_emit(Relation rel, FullTransactionId newest);

/*
 * In replay, before the table page of the record is changed: get rid of a standby's
 * snapshots that do not see "newest" (invalid: of none), which the page is going to take
 * as visible to all.
 */
extern void zrec_resolve_conflict(XLogReaderState *record, TransactionId newest);

/* ---- the resource manager (rec_rmgr.c) ---- */

/* Only while shared_preload_libraries are processed. */
extern void zrec_rmgr_register(void);

#endif							/* ZHEAP_RECORD_H */
