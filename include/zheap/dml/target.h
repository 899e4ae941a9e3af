/*
 * target.h
 *		The row (or page) that an operation works on; shared by the files of dml/.
 *
 * Where a function works on the target's locked page, the page is locked exclusively by the
 * caller, and still locked on return unless the comment says otherwise.  ERROR (data_corrupted)
 * for a damaged page or row may be raised wherever pages or undo are read; it is mentioned only
 * where it is the function's purpose.
 */
#ifndef ZHEAP_TARGET_H
#define ZHEAP_TARGET_H

#include "access/heapam.h"
#include "access/hio.h"
#include "access/tableam.h"

#include "zheap/dml/dml.h"
#include "zheap/lock/lock.h"
#include "zheap/mvcc/version.h"
#include "zheap/page/page_plan.h"
#include "zheap/page/row.h"
#include "zheap/record/record.h"
#include "zheap/slot/slot.h"

/*
 * The result of a step that works under the lock of a page.  AGAIN: the page had to be unlocked,
 * and what was found out about it does not hold any more; no visible change was made.  The
 * operation locks the page and begins with its check again.
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
	Buffer		overflow_buf;	/* while locked: the overflow page, or invalid; during a change
								 * by a slot on a lock page: that page */
	bool		locked;			/* exclusively; view attached */
	bool		init_page;		/* the page is new and not initialised yet, or blank and to be
								 * made anew */
	OffsetNumber offnum;
	ZPageView	view;
#ifdef USE_ASSERT_CHECKING
	bool		checked;		/* the row was checked under this hold of the page's lock */
#endif
} ZTarget;

/* D1: the result of the check allows a change until the page is unlocked. */
#ifdef USE_ASSERT_CHECKING
#define ztarget_set_checked(target) ((target)->checked = true)
#else
#define ztarget_set_checked(target) ((void) 0)
#endif

/* ---- dml_target.c ---- */

/*
 * Begin work: assign an xid, and prepare the undo log.  No page is locked; it may read catalogs,
 * do I/O and raise errors of the undo log.  ztarget_close() unlocks and unpins the page.
 */
extern void ztarget_open(ZTarget *target, Relation rel);

/*
 * Open a target for the second page of an operation whose first page is that of "first", and may
 * be locked.  Raises no error.
 */
extern void ztarget_open_second(ZTarget *target, const ZTarget *first);
extern void ztarget_close(ZTarget *target);

/* Unlock the page if it is locked, and give up its pin, if there is one. */
extern void ztarget_release(ZTarget *target);

/*
 * Pin the page of "tid", and unpin the one before.  The page is not locked.  ERROR
 * (data_corrupted) if it does not exist.
 */
extern void ztarget_pin(ZTarget *target, const ItemPointerData *tid);

/*
 * Lock the pinned page; no page is locked on entry.  Return whether it holds rows; it is locked
 * in any case.
 */
extern bool ztarget_lock(ZTarget *target);
extern void ztarget_unlock(ZTarget *target);

/*
 * Lock this target's page while that of "first" stays locked, if no circle of waiters can arise
 * (D2).  Return false if not, or if the page holds no rows; it is not locked then.
 */
extern bool ztarget_lock_second(ZTarget *target, const ZTarget *first);

/* Lock the pinned page, which a TID names.  ERROR (data_corrupted) if it holds no rows. */
extern void ztarget_lock_row_page(ZTarget *target);

/* Unlock the page, and continue with a copy of it in target->view. */
extern void ztarget_leave(ZTarget *target);

/*
 * Unlock the page; *copy becomes a target with a copy of it.  For questions that take more undo
 * records than may be read while the page is locked (B1).
 */
extern void ztarget_look_at_copy(ZTarget *target, ZTarget *copy);

/*
 * Lock the page again, and close the copy.  Return whether the answer found with the copy holds,
 * because the row is still the same version.  *since then has the row locks taken meanwhile, as
 * zlock_holders() reports them for this mode.
 */
extern bool ztarget_confirm(ZTarget *target, ZTarget *copy, LockTupleMode mode,
							ZLockHolders *since);

/*
 * Number of undo records that a check, or a confirmation, may read while the page is locked.
 * The change itself reads more (B1): a step down our own chain and another for its directory,
 * and ZTARGET_CHANGE_READS for the row's number, a waypoint, or holders of locks.
 */
#define ZTARGET_CHANGE_READS	44
#define ZTARGET_CHECK_READS		(ZVIEW_MAX_READS - 2 * ZVIEW_STEP_READS - ZTARGET_CHANGE_READS)

StaticAssertDecl(ZTARGET_CHECK_READS >= ZVIEW_STEP_READS, "B1: a check gets down one chain");

/*
 * ERROR (data_corrupted) if any row of the locked page is damaged.  To be called before a change
 * that moves or touches all rows (a slot that changes hands, compaction).
 */
extern void ztarget_check_rows(ZTarget *target);

/*
 * Reserve a slot for the transaction to change rows; "reserve" as in zslot_reserve.  DONE;
 * AGAIN: the page is unlocked, because it needed an overflow page, or changes of a slot's owner
 * had to be rolled back.
 */
extern ZStep ztarget_reserve_slot(ZTarget *target, Size reserve, ZSlotPlan *plan);

/* Reserve a slot to lock a row (zslot_reserve_lock).  DONE or AGAIN, likewise. */
extern ZStep ztarget_reserve_lock_slot(ZTarget *target, ZSlotPlan *plan);

/*
 * Initialise the new page without slots, because its first row leaves no room for them, and give
 * it an overflow page.  Returns AGAIN; the page is unlocked.
 */
extern ZStep ztarget_add_overflow_page(ZTarget *target);

/*
 * Report conflicts with SERIALIZABLE transactions that have read the row, or, for a new row, the
 * table.  ERROR (t_r_serialization_failure) if our transaction must fail.  The page is locked,
 * and must stay so until the change is made.
 */
extern void ztarget_conflict_in(ZTarget *target);
extern void ztarget_conflict_in_new(ZTarget *target);

/* ---- dml_check.c ---- */

/* Result of the check of a row that is to be updated, deleted or locked. */
typedef struct ZUpdateCheck
{
	TM_Result	result;
	ZRowVersion	version;		/* newest version, on the page */
	TransactionId xid;			/* BeingModified: the transaction to wait for; otherwise the one
								 * that made the conflicting version */
	uint16		parity;			/* BeingModified: parity of the version asked about */
	TransactionId replacer;		/* BeingModified: the transaction that replaces the version
								 * asked about; invalid if that is only locked */
	bool		later;			/* BeingModified for KEY SHARE: the conflict is not with the
								 * version asked about, but with one that an update made of it */
	bool		not_crosschecked;	/* used by zcheck_row only: the crosscheck snapshot does not
									 * see it */
	int			own_lock;		/* strongest lock of our transaction, or -1 */
	int			strongest_lock; /* at least the strongest lock that any transaction holds, or -1 */
	bool		modified_by_us; /* our transaction made the newest version */
	CommandId	cmax;			/* SelfModified */
	int			superseded;		/* Updated, if wanted: number of versions after the caller's up
								 * to the newest committed one, inclusive; from 2 on not counted */
	ItemPointerData ctid;		/* Updated: where the newest version is */
	ItemPointerData moved_to;	/* Ok for KEY SHARE although an update has moved the row: its
								 * new place; or invalid */
	FullTransactionId mover;	/* moved_to: the transaction that moved it, perhaps in progress */
} ZUpdateCheck;

typedef struct ZCheckQuery
{
	Snapshot	snapshot;		/* it sees the version that the caller means; NULL: the newest */
	Snapshot	crosscheck;
	CommandId	cid;
	LockTupleMode mode;			/* the lock that the operation needs */
	bool		counts_superseded;	/* "superseded" is wanted */
	bool		was_locked;		/* the caller has locked what was the newest version: later
								 * versions are our transaction's */
} ZCheckQuery;

/*
 * Check the row at target->offnum as HeapTupleSatisfiesUpdate would, after rolling back changes
 * of aborted transactions on the page.  The page is locked on entry and exit; it is unlocked
 * meanwhile for rolling back, for reading much undo, and if locks at the row's origins matter.
 */
extern void zcheck_row(ZTarget *target, const ZCheckQuery *query, ZUpdateCheck *check);

/*
 * After the result BeingModified: unlock the page, and wait in the row's queue for check->xid.
 * Return whether to check again; false if the queue's policy is not to wait.  ERROR
 * (lock_not_available) if the policy says so; errors of waiting, such as a deadlock.
 */
extern bool zcheck_wait(ZTarget *target, ZRowQueue *queue, const ZUpdateCheck *check);

/*
 * Check the row until the result is not BeingModified, waiting in between, or only once unless
 * "wait".  The page need not be locked on entry; it is locked on exit.  Errors as zcheck_wait().
 */
extern void zcheck_row_wait(ZTarget *target, const ZCheckQuery *query, ZRowQueue *queue, bool wait,
							ZUpdateCheck *check);

/* Fill *tmfd for a result other than Ok. */
extern void zcheck_report(const ZTarget *target, const ZUpdateCheck *check, TM_FailureData *tmfd);

/* ---- dml_plan.c ---- */

/*
 * Begin the plan of a change to the row "offnum" of the locked page: reserve a slot ("reserve"
 * as in zslot_reserve), read the row's newest version, and fill in what all changes have in
 * common.  DONE; AGAIN: the page is unlocked.
 */
extern ZStep zchange_begin(ZTarget *target, ZRowOp op, OffsetNumber offnum, Size reserve,
						   ZChange *change, ZRowVersion *version);

/*
 * Likewise, for a caller that knows the newest version because the page has not changed since it
 * was checked under this hold of the lock.
 */
extern ZStep zchange_begin_known(ZTarget *target, ZRowOp op, OffsetNumber offnum, Size reserve,
								 ZChange *change);

/*
 * Let the undo record describe the version before (UPDATE, DELETE, LOCK), which is the row's
 * newest (D5).
 */
extern void zchange_describe_before(ZTarget *target, const ZRowVersion *version, ZChange *change);

/* Return whether the undo record fits the undo log. */
extern bool zchange_undo_fits(const ZChange *change);

/* ---- dml_change.c ---- */

/*
 * Perform the change on the locked page: undo, page and WAL in one critical section.  The plans
 * of slot and row must be complete; the undo record's context and position are filled in here.
 * May raise errors of reserving undo, before anything is changed.
 */
extern void zchange_execute(ZTarget *target, ZChange *change);

/*
 * Likewise for the last change of the target, by a slot that rows can name: the page is unlocked
 * as soon as WAL has been written.  Same errors; the page is still locked then.
 */
extern void zchange_execute_last(ZTarget *target, ZChange *change);

/*
 * Likewise for an update that moves the row of the old target to "new", which may be the same
 * target: two plans, one WAL record.  Both pages are locked.
 */
extern void zchange_execute_move(ZTarget *old, ZTarget *new, ZMove *move);

/*
 * Add a row that needs no undo record of its own, or mark one deleted.  The page is locked
 * exclusively, and has the room.  Of the plan only the row's slot is set.
 */
extern void zchange_without_undo(Relation rel, Buffer buffer, ZChange *change);

/*
 * Write an undo record by itself, for a row that is copied to "block" with its history, and
 * return its place.  The block is not in use yet, and will name the record by other means.
 * Fills in the record's context.  No page is locked on entry and exit.
 */
extern ZUndoPtr zchange_undo_alone(Relation rel, BlockNumber block, ZUndoRecord *undo);

/* ---- dml_waypoint.c ---- */

/* The newest waypoint below an update's record, and properties of the versions between. */
typedef struct ZWaypointBelow
{
	bool		found;			/* there is one that matters */
	ZUndoRecord rec;
	ZOwner		at;
	bool		own;			/* as far_own and far_keys of a link to there */
	bool		keys;
} ZWaypointBelow;

/*
 * Make the update's record a waypoint above that one.  Return whether it is to hold an image of
 * the version before, which is "len" bytes long.  The view is for reading undo.
 */
extern bool zwaypoint_link(ZPageView *view, const ZWaypointBelow *below, uint32 len,
						   ZUndoRecord *undo);

/*
 * Make the undo record of an update in place of "version" a waypoint, if one is due.  The
 * difference and the version before have been described.  "row" is the new row.
 */
extern void zwaypoint_describe(ZTarget *target, const ZRowVersion *version, const char *row,
							   uint32 len, ZChange *change);

/* ---- dml_full_page.c ---- */

/*
 * Return whether this (sub)transaction has found no space on the target's page, which is pinned;
 * whether there were fewer than "need" bytes besides; and note that it has found none on the page,
 * which is locked.
 */
extern bool zfull_page_is(const ZTarget *target);
extern bool zfull_page_lacks(const ZTarget *target, Size need);
extern void zfull_page_note(const ZTarget *target);

/* ---- dml_space.c ---- */

/*
 * Find a page with room for a row of "len" bytes; it is pinned in target->buffer, and locked on
 * return.  No page is locked on entry.  It may be new (target->init_page).  Errors: those of
 * extending the relation.
 */
extern void zspace_find(ZTarget *target, Size len, int options, BulkInsertState bistate);

/*
 * Pin the page that was used last for a new row of the table in target->buffer, if the backend has
 * had it lately, and it is not the page of "beside", which may be locked.  Return whether it is
 * pinned.  Raises no error.
 */
extern bool zspace_pin_last(ZTarget *target, Buffer beside);

/* Return whether zspace_find() would choose the target's locked page as it is, if it has rows. */
extern bool zspace_suffices(const ZTarget *target, Size len);

/* ---- dml_toast.c ---- */

/* A row to be stored. */
typedef struct ZFormedRow
{
	char	   *bytes;
	uint32		len;
	bool		borrowed;		/* it belongs to the slot: only its header may be changed, and
								 * the slot frees it; otherwise it is palloc'd */
} ZFormedRow;

/*
 * Form a row of the executor slot's values, not toasted.  It is valid until the slot is changed,
 * or zdml_form_release() frees it.
 */
extern void zdml_form(Relation rel, TupleTableSlot *slot, ZFormedRow *row);
extern void zdml_form_release(ZFormedRow *row);

/*
 * Likewise, toasted if it is long.  No page is locked.  ERROR (program_limit_exceeded) if it
 * fits no page.
 */
extern void zdml_form_whole(Relation rel, TupleTableSlot *slot, int options, ZFormedRow *row);

/*
 * Replace the row, formed from the slot, by the toaster's result.  "old" is the row that an
 * update replaces (a heap tuple), or NULL.  No page is locked.  ERROR (program_limit_exceeded)
 * if it fits no page.
 */
extern void zdml_toast(Relation rel, TupleTableSlot *slot, HeapTuple old, int options,
					   ZFormedRow *row);

/* Return whether this row (or, for an update, its old version) needs the toaster. */
extern bool zdml_needs_toaster(Relation rel, uint32 len, uint8 flags);

/* ERROR (program_limit_exceeded) if a row of this length fits no page. */
extern void zdml_check_length(uint32 len);

/*
 * Return a palloc'd heap tuple with the values of a row.  ERROR (data_corrupted) if the row
 * cannot be read.
 */
extern HeapTuple zdml_heap_tuple(Relation rel, const char *row, uint32 len);

/* ---- dml_toast_present.c ---- */

/*
 * Return whether all toasted values of the version in the slot, whose header has these flags,
 * exist.  If not, no snapshot sees it, unless it is the row's newest version and not deleted.
 * "attrs" limits the question to these columns (attribute numbers less
 * FirstLowInvalidHeapAttributeNumber); NULL means all.  No page is locked; the caller has an
 * active snapshot.  Reads all chunks.
 */
extern bool zdml_toast_present(Relation rel, uint8 flags, TupleTableSlot *slot,
							   const Bitmapset *attrs);

/* ---- dml_insert.c ---- */

/* A formed row to be inserted; its header's modifier flags are set by the insertion. */
typedef struct ZInsert
{
	char	   *row;
	uint32		len;
	CommandId	cid;
	int			options;
	BulkInsertState bistate;
	uint32		token;			/* token of a speculative insertion, or 0 */
	const ZRecLogical *logical; /* data for logical decoding, or NULL */
} ZInsert;

/*
 * Insert the row on any page that has room, and set *tid.  No page is locked on entry (D2) and
 * exit.
 */
extern void zdml_insert_row(Relation rel, const ZInsert *insert, ItemPointer tid);

/* ---- dml_speculative.c ---- */

/*
 * Take back the insertion of a row by the current command; its toasted values stay.  No index
 * names it.  No page is locked on entry and exit.
 */
extern void zdml_take_back_row(Relation rel, const ItemPointerData *tid);

/* ---- dml_mark_deleted.c ---- */

typedef struct ZDeletion
{
	CommandId	cid;
	uint8		flags2;			/* for the row's header, including its lock bits */
	const ItemPointerData *new_tid; /* the place to which an update has moved the row, or NULL */
	const ZRowVersion *version; /* the row's newest version, as for zchange_begin_known(), or
								 * NULL */
	const ZRecLogical *logical; /* data for logical decoding, or NULL */
} ZDeletion;

/*
 * Mark the locked page's row, which was checked, deleted by our transaction.  DONE; AGAIN: the
 * page is unlocked.
 */
extern ZStep zdml_mark_deleted(ZTarget *target, const ZDeletion *deletion);

/*
 * Plan that deletion only; the place to which an update moves the row is filled in by the
 * caller.  "reserve" as in zslot_reserve.  DONE; AGAIN: the page is unlocked.
 */
extern ZStep zdml_plan_deletion(ZTarget *target, const ZDeletion *deletion, Size reserve,
								ZChange *change);

/* ---- dml_move.c ---- */

/*
 * Move the row of the target's locked page: to the same page, if "new" is the same target, or to
 * that of "new", which is pinned, and is locked and unlocked here.  DONE; AGAIN: the target's
 * page is unlocked; NO_ROOM: it cannot be done in one step.
 */
extern ZStep zdml_move(ZTarget *target, ZTarget *new, const ZInsert *insert,
					   const ZDeletion *deletion, ItemPointer new_tid);

/* ---- dml_lock_row.c ---- */

/*
 * Record our lock on the locked page's row, which was checked.  DONE; AGAIN: the page is
 * unlocked.
 */
extern ZStep zdml_lock_row(ZTarget *target, const ZUpdateCheck *check,
						  LockTupleMode mode, CommandId cid);

/* ---- dml_tombstone.c ---- */

/*
 * Move the bodies of deleted rows that old snapshots may still see from the locked page to undo.
 * The space is best used at once, for a new row or version of the caller's on this page.  DONE;
 * AGAIN: the page is unlocked.
 */
extern ZStep zdml_tombstone_page(ZTarget *target);

/* ---- dml_lock_successors.c ---- */

/*
 * Lock the row at "tid" FOR KEY SHARE, to which an update by "mover" has moved a row that our
 * transaction has locked so, and wherever it was moved from there.  No page is locked on entry
 * and exit.  Returns Ok, or another result if a transaction has deleted the row or changed its
 * key.  Waits for conflicting transactions, whatever the caller's policy.
 */
extern TM_Result zdml_lock_successors(Relation rel, ItemPointerData tid, FullTransactionId mover,
									  CommandId cid);

#endif							/* ZHEAP_TARGET_H */
