/*
 * target.h
 *		The row (or page) that an operation works on; shared by the files of dml/.
 */
#ifndef ZHEAP_TARGET_H
#define ZHEAP_TARGET_H

#include "access/heapam.h"
#include "access/hio.h"
#include "access/tableam.h"

#include "zheap/dml/dml.h"
#include "zheap/lock/lock.h"
#include "zheap/page/row.h"
#include "zheap/slot/slot.h"

/*
 * What became of a step of an operation that works under the lock of a page.  AGAIN: the page
 * had to be unlocked, and what was learnt of it does not hold any more; nothing was changed
 * that shows.  The operation locks it and begins with its check.
 */
typedef enum ZStep
{
	ZSTEP_DONE,
	ZSTEP_AGAIN,
	ZSTEP_NO_ROOM				/* the page is still locked, and cannot hold the row */
} ZStep;

typedef struct ZTarget
{
	Relation	rel;
	FullTransactionId fxid;		/* the current (sub)transaction */
	Buffer		buffer;			/* pinned, or invalid */
	Buffer		overflow_buf;	/* while locked: the overflow page, or invalid; during a
								 * change by a slot on a lock page: that one */
	bool		locked;			/* exclusively; view attached */
	bool		init_page;		/* the page is new and still to be initialised, or blank and
								 * to be made anew */
	OffsetNumber offnum;
	ZPageView	view;
#ifdef USE_ASSERT_CHECKING
	bool		checked;		/* the row was, under this hold of the page's lock */
#endif
} ZTarget;

/* D1: what is found out of the row now allows a change of it until the page is unlocked. */
#ifdef USE_ASSERT_CHECKING
#define ztarget_set_checked(target) ((target)->checked = true)
#else
#define ztarget_set_checked(target) ((void) 0)
#endif

/* ---- dml_target.c ---- */

/* Assigns the xid, opens the undo log.  No page yet. */
extern void ztarget_open(ZTarget *target, Relation rel);
extern void ztarget_close(ZTarget *target);

/* Pin the page of tid; ERROR (data corrupted) if it does not exist. */
extern void ztarget_pin(ZTarget *target, const ItemPointerData *tid);

/* False: the page holds no rows. */
extern bool ztarget_lock(ZTarget *target);
extern void ztarget_unlock(ZTarget *target);

/*
 * Lock this target's page while that of "first" stays locked, if nobody can wait for the other in a
 * circle (D2).  False: it is not locked, or it holds no rows.
 */
extern bool ztarget_lock_second(ZTarget *target, const ZTarget *first);

/* The same for a page that a TID names: ERROR if it holds no rows. */
extern void ztarget_lock_row_page(ZTarget *target);

/* Unlock the locked page, but go on with a copy of it in target->view. */
extern void ztarget_leave(ZTarget *target);

/*
 * What would take more undo records than may be read while the page is locked (B1) is found
 * out with a copy of it: the page is unlocked, *copy is a target that looks at the copy.
 */
extern void ztarget_look_at_copy(ZTarget *target, ZTarget *copy);

/*
 * Lock the page again, and be done with the copy.  True: what was found out counts, as the row
 * is the same version still; *since tells of row locks that have come since, as zlock_holders
 * does for this mode.
 */
extern bool ztarget_confirm(ZTarget *target, ZTarget *copy, LockTupleMode mode,
							ZLockHolders *since);

/*
 * Undo records that a check reads while the page is locked, or a confirmation.  What is read for
 * the change itself comes on top of it (B1): a step down our own chain and another for its
 * directory, and so many for the row's number, a waypoint, or holders of locks.
 */
#define ZTARGET_CHANGE_READS	44
#define ZTARGET_CHECK_READS		(ZVIEW_MAX_READS - 2 * ZVIEW_STEP_READS - ZTARGET_CHANGE_READS)

StaticAssertDecl(ZTARGET_CHECK_READS >= ZVIEW_STEP_READS, "B1: a check gets down one chain");

/*
 * ERROR if any row of the locked page is damaged: before a change that moves or
 * touches all of them (a slot that changes hands, compaction).
 */
extern void ztarget_check_rows(ZTarget *target);

/*
 * A slot for the transaction to change rows; "reserve" as in zslot_reserve.  DONE, or AGAIN: the
 * page needed an overflow page, or what a slot's owner had left on it had to be rolled back.
 */
extern ZStep ztarget_reserve_slot(ZTarget *target, Size reserve, ZSlotPlan *plan);

/* The same to lock a row: zslot_reserve_lock. */
extern ZStep ztarget_reserve_lock_slot(ZTarget *target, ZSlotPlan *plan);

/*
 * The page is new, and its first row will leave no room for slots: make it a page without any, and
 * give it an overflow page.  AGAIN.
 */
extern ZStep ztarget_add_overflow_page(ZTarget *target);

/*
 * Report conflicts with SERIALIZABLE transactions that have read the row, or the
 * table as far as a new row matters to it; ERROR if one of us has to go.  The
 * page is locked, and stays so until the change is made.
 */
extern void ztarget_conflict_in(ZTarget *target);
extern void ztarget_conflict_in_new(ZTarget *target);

/* ---- dml_check.c ---- */

/* What an updater, deleter or locker wants to know of a row. */
typedef struct ZUpdateCheck
{
	TM_Result	result;
	ZRowVersion	version;		/* newest version, on the page */
	TransactionId xid;			/* BeingModified: to be waited for; otherwise the
								 * one that made the version in the way */
	uint16		parity;			/* BeingModified: parity of the version asked about */
	TransactionId replacer;		/* BeingModified: the one that replaces the version asked
								 * about; invalid: it is only locked */
	bool		later;			/* BeingModified for KEY SHARE: not the version asked
								 * about, but one that an update made of it */
	bool		not_crosschecked;	/* of zcheck_row's own: no crosscheck snapshot sees it */
	int			own_lock;		/* strongest lock that we hold, or -1 */
	int			strongest_lock; /* at least the strongest that anybody holds, or -1 */
	bool		modified_by_us; /* newest version is of our own transaction */
	CommandId	cmax;			/* SelfModified */
	int			superseded;		/* Updated, if it is wanted: versions that lie between the
								 * caller's and the newest that is committed, that one
								 * included; from 2 on not counted */
	ItemPointerData ctid;		/* Updated: where the newest version is */
	ItemPointerData moved_to;	/* Ok for KEY SHARE although an update has moved the
								 * row: where to; or invalid */
	FullTransactionId mover;	/* moved_to: who did, perhaps still in progress */
} ZUpdateCheck;

typedef struct ZCheckQuery
{
	Snapshot	snapshot;		/* the version that the caller saw; NULL: newest */
	Snapshot	crosscheck;
	CommandId	cid;
	LockTupleMode mode;			/* what is to be done needs this lock */
	bool		counts_superseded;	/* is the answer's count of them wanted? */
	bool		was_locked;		/* the caller has locked what was the newest version: what came
								 * since is our transaction's */
} ZCheckQuery;

/*
 * Check the row at target->offnum as HeapTupleSatisfiesUpdate would, after
 * rolling back what aborted transactions did to the page.  The page is locked; it
 * is unlocked and locked again for that, and if locks at the row's origin matter.
 */
extern void zcheck_row(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check);

/*
 * The result is BeingModified: unlock the page and wait for the transaction in the way, in the
 * queue for the row.  False: the queue's policy is not to wait for locks.
 */
extern bool zcheck_wait(ZTarget *target, ZRowQueue *queue, const ZUpdateCheck *check);

/*
 * Check the row again and again until the result is another than BeingModified, or only once
 * if not "wait".  The page, which need not be locked on entry, is locked on exit.
 */
extern void zcheck_row_wait(ZTarget *target, const ZCheckQuery *query, ZRowQueue *queue, bool wait,
							ZUpdateCheck *check);

/* Fill tmfd for a result other than Ok. */
extern void zcheck_report(const ZTarget *target, const ZUpdateCheck *check, TM_FailureData *tmfd);

/* ---- dml_change.c ---- */

/*
 * Begin the plan of a change to the row "offnum" of the locked page: a slot ("reserve" as in
 * zslot_reserve), the row's newest version as it is then, and what all changes
 * have in common.  DONE or AGAIN.
 */
extern ZStep zchange_begin(ZTarget *target, ZRowOp op, OffsetNumber offnum, Size reserve,
						   ZChange *change, ZRowVersion *version);

/*
 * The same for a caller that knows the newest version, as the page is still as it was checked
 * under this hold.
 */
extern ZStep zchange_begin_known(ZTarget *target, ZRowOp op, OffsetNumber offnum, Size reserve,
								 ZChange *change);

/*
 * Has this (sub)transaction looked in vain for space on the target's page, which is pinned?  And
 * now it has (dml_full_page.c).
 */
extern bool zfull_page_is(const ZTarget *target);
extern void zfull_page_note(const ZTarget *target);

/*
 * Perform the change on the locked page: undo, page, WAL in one critical
 * section.  The slot plan and the row plan are complete; of the undo record the
 * context and position are filled in here.
 */
extern void zchange_execute(ZTarget *target, ZChange *change);

/*
 * The same for an update that moves the old target's row to "new", which may be the same target:
 * two plans, one WAL record.
 */
extern void zchange_execute_move(ZTarget *old, ZTarget *new, ZMove *move);

/*
 * A row that needs no undo record of its own is added to the page or marked deleted: the page is
 * locked exclusively, and has the room.  The plan names the row's slot, and that is all.
 */
extern void zchange_without_undo(Relation rel, Buffer buffer, ZChange *change);

/* Would the undo record fit the undo log? */
extern bool zchange_undo_fits(const ZChange *change);

/*
 * An undo record by itself, for a row that is copied to "block" with its history:
 * that page is not in use yet and gets the record's place by other ways.  Fills in
 * the record's context.  No page is locked.
 */
extern ZUndoPtr zchange_undo_alone(Relation rel, BlockNumber block, ZUndoRecord *undo);

/* Fill the undo record's account of the version before (UPDATE, DELETE, LOCK). */
extern void zchange_describe_before(ZTarget *target, const ZRowVersion *version, ZChange *change);

/* ---- dml_waypoint.c ---- */

/* The newest waypoint below an update's record, and what lies between. */
typedef struct ZWaypointBelow
{
	bool		found;			/* false: there is none that matters */
	ZUndoRecord rec;
	ZOwner		at;
	bool		own;			/* as far_own and far_keys of a link to there */
	bool		keys;
} ZWaypointBelow;

/*
 * Make the update's record a waypoint above that one.  True: it is to hold an image of
 * the version before, "len" bytes long.  The view is for reading undo.
 */
extern bool zwaypoint_link(ZPageView *view, const ZWaypointBelow *below, uint32 len,
						   ZUndoRecord *undo);

/*
 * Make the undo record of an update in place of "version" a waypoint, if one is due: the
 * update's difference and the version before have been described.  "row": the new row.
 */
extern void zwaypoint_describe(ZTarget *target, const ZRowVersion *version, const char *row,
							   uint32 len, ZChange *change);

/* ---- dml_space.c ---- */

/*
 * A page with room for a row of "len" bytes, locked, in target->buffer.
 */
extern void zspace_find(ZTarget *target, Size len, int options, BulkInsertState bistate);

/* ---- dml_toast.c ---- */

/* A row to store. */
typedef struct ZFormedRow
{
	char	   *bytes;
	uint32		len;
	bool		borrowed;		/* it is the slot's: only its header may be written to, and it is
								 * not ours to free; otherwise it is palloc'd */
} ZFormedRow;

/* The row of a slot's values, not toasted.  Good until the slot is changed, or it is released. */
extern void zdml_form(Relation rel, TupleTableSlot *slot, ZFormedRow *row);
extern void zdml_form_release(ZFormedRow *row);

/* The same, toasted if it is long.  ERROR if it fits no page.  No page is locked. */
extern void zdml_form_whole(Relation rel, TupleTableSlot *slot, int options, ZFormedRow *row);

/*
 * Replace the row, made from the slot, by what the toaster makes of it; "old" is the row that an
 * update replaces (a heap tuple), or NULL.  ERROR if it fits no page.  No page is locked.
 */
extern void zdml_toast(Relation rel, TupleTableSlot *slot, HeapTuple old, int options,
					   ZFormedRow *row);

/* Is the toaster needed for this row (or, for an update, its old version)? */
extern bool zdml_needs_toaster(Relation rel, uint32 len, uint8 flags);

/* ERROR if a row of this length fits no page. */
extern void zdml_check_length(uint32 len);

/* A heap tuple with the values of a row. */
extern HeapTuple zdml_heap_tuple(Relation rel, const char *row, uint32 len);

/* ---- dml_toast_present.c ---- */

/*
 * Are the toasted values of the version in the slot, whose header has these flags, all there?
 * If not, no snapshot sees it, unless it is the row's newest and not deleted.  Of the columns
 * in "attrs" (attribute numbers less FirstLowInvalidHeapAttributeNumber); NULL: of all.  No
 * page is locked; the caller has an active snapshot.  Reads all chunks.
 */
extern bool zdml_toast_present(Relation rel, uint8 flags, TupleTableSlot *slot,
							   const Bitmapset *attrs);

/* ---- dml_insert.c ---- */

/* Insert a formed row; its header's modifier flags are set here. */
typedef struct ZInsert
{
	char	   *row;
	uint32		len;
	CommandId	cid;
	int			options;
	BulkInsertState bistate;
	uint32		token;			/* speculative, or 0 */
	const ZRecLogical *logical; /* what decoding is told, or NULL */
} ZInsert;

/* On whichever page has room.  No page is locked (D2), and none is on return. */
extern void zdml_insert_row(Relation rel, const ZInsert *insert, ItemPointer tid);

/* Insert into the target's locked page: DONE, AGAIN or NO_ROOM. */
extern ZStep zdml_insert_into(ZTarget *target, const ZInsert *insert, ItemPointer tid);

/* ---- dml_speculative.c ---- */

/*
 * Take back the insertion of a row by this very command; its toasted values stay.  No
 * index names it, and no page is locked.
 */
extern void zdml_take_back_row(Relation rel, const ItemPointerData *tid);

/* ---- dml_mark_deleted.c ---- */

typedef struct ZDeletion
{
	CommandId	cid;
	uint8		flags2;			/* of the row's header: its lock bits among them */
	const ItemPointerData *new_tid; /* an update has moved the row there, or NULL */
	const ZRowVersion *version; /* the row's newest, as zchange_begin_known asks; or NULL */
	const ZRecLogical *logical; /* what decoding is told, or NULL */
} ZDeletion;

/* Mark the locked page's row deleted by us: DONE or AGAIN.  It has been checked. */
extern ZStep zdml_mark_deleted(ZTarget *target, const ZDeletion *deletion);

/*
 * The plan of that, but where an update moves the row to is filled in later; "reserve" as in
 * zslot_reserve.  DONE or AGAIN.
 */
extern ZStep zdml_plan_deletion(ZTarget *target, const ZDeletion *deletion, Size reserve,
								ZChange *change);

/* ---- dml_move.c ---- */

/*
 * The row of the target's locked page moves: to the same page, if "new" is the same target, or to
 * that of "new", which is pinned, and is locked and unlocked here.  DONE; AGAIN: the target's page
 * has been unlocked; NO_ROOM: that is not possible in one step.
 */
extern ZStep zdml_move(ZTarget *target, ZTarget *new, const ZInsert *insert,
					   const ZDeletion *deletion, ItemPointer new_tid);

/* ---- dml_lock_row.c ---- */

/* Record our lock on the locked page's row: DONE or AGAIN. */
extern ZStep zdml_lock_row(ZTarget *target, const ZUpdateCheck *check,
						  LockTupleMode mode, CommandId cid);

/* ---- dml_tombstone.c ---- */

/*
 * Move the bodies of deleted rows that old snapshots may still see from the locked
 * page to undo.  What becomes free has no better use than a new row or version of
 * the caller's on this page.  DONE or AGAIN.
 */
extern ZStep zdml_tombstone_page(ZTarget *target);

/* ---- dml_lock_successors.c ---- */

/*
 * Our transaction has locked a row FOR KEY SHARE that an update of "mover" has moved to
 * "tid": lock the row there, and wherever it went from there.  No page is locked.  Other
 * results than Ok: somebody has deleted it or changed its key.
 */
extern TM_Result zdml_lock_successors(Relation rel, ItemPointerData tid, FullTransactionId mover,
									  CommandId cid);

#endif							/* ZHEAP_TARGET_H */
