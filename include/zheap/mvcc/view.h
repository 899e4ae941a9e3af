/*
 * view.h
 *		Views of table pages (mvcc_view.c).
 *
 * A page "view" is a private copy of a table page, or the shared page under its content lock.
 * Undo pages are read while the view is open; undo buffers rank after table pages (L1).  None
 * of the functions writes to a page or to undo.
 *
 * ERROR (data_corrupted) is raised by every function here that looks at a row or reads undo, if
 * the page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 */
#ifndef ZHEAP_VIEW_H
#define ZHEAP_VIEW_H

#include "access/xact.h"
#include "storage/buf.h"
#include "storage/proc.h"
#include "utils/rel.h"

#include "zheap/base/pg_compat.h"
#include "zheap/base/stats.h"
#include "zheap/page/page_format.h"
#include "zheap/undo/undo_read.h"

typedef struct ZPageView
{
	Relation	rel;			/* NULL: no page, only undo is read */
	bool		local;			/* rel is a temporary table */
	BlockNumber block;
	Page		page;
	Page		overflow;		/* or NULL */
	FullTransactionId horizon;	/* zview_horizon() when the page was set */
	bool		all_frozen;		/* every slot is below the horizon: each row is visible unless
								 * it says DELETED */
	uint8		status[ZPAGE_MAX_INPAGE + 1]; /* ZXactStatus, filled on demand */
	uint8		asked_status;	/* status of "asked", the last transaction asked about that is
								 * in no slot of the page itself */
	FullTransactionId asked;
	PGAlignedBlock *copy;		/* storage of private copies: set, and cleared again, by the
								 * caller, or allocated once */
	PGAlignedBlock *overflow_copy;
	struct ZLockPageCopies *lock_copies;	/* zview_slot_page; allocated on demand, kept */
	ZUndoReader reader;
	MemoryContext context;		/* of all allocations of the view */
	PGAlignedBlock *other_rows; /* copy of a page that heap functions have changed
								 * (zview_attach) */
	char	   *version_buf;	/* buffer for rebuilt rows, BLCKSZ */
	bool		own_columns;	/* true if rel's descriptor describes its rows even while we
								 * alter the table */
	bool		locked;			/* true if a page is viewed in place: its lock is held */
	Buffer	   *leave;			/* not NULL: the buffers of the page and its overflow page, to
								 * be unlocked before much undo is read (zview_leave) */
	int			reads;			/* undo records read since the page was locked */
	int			limit;			/* upper limit of "reads" (zview_limit); 0: no limit */
	bool		unfinished;		/* true if the limit was reached */

	/*
	 * set by zmvcc_reconstruct: the slots of some rows do not name the transaction that made
	 * them
	 */
	bool		reconstructed;
	Page		original;		/* the page before the reconstruction, or NULL */
	struct ZReconstruct *reconstruct; /* allocated on demand, kept */

	uint64		counts[ZTABLE_NVIEW_COUNTERS];	/* zview_count */
} ZPageView;

/*
 * Open and close a view.  Its memory comes from the current context, and is freed by
 * zview_close; one view serves many pages.  zview_close adds the counts to the table's
 * counters; if the backend may hold a buffer lock then, only where it already has the table's
 * counters.  The view itself must hold no lock.
 */
extern void zview_open(ZPageView *view, Relation rel);
extern void zview_close(ZPageView *view);

/* Add n to a counter of the view.  Allowed at any place, critical sections included. */
static inline void
zview_count(ZPageView *view, ZTableCounter counter, uint64 n)
{
	Assert(counter >= ZTABLE_FIRST_OF_VIEW);
	view->counts[counter - ZTABLE_FIRST_OF_VIEW] += n;
}

/*
 * Copy the block into the view, holding a pin and a share lock for the duration of the call.
 * Return false if the page holds no rows (a new page, an overflow page or a lock page).  ERROR
 * (data_corrupted) if it is damaged.
 */
extern bool zview_read(ZPageView *view, BlockNumber block, BufferAccessStrategy strategy);

/* Like zview_read, for a page that the caller has pinned and not locked.  It stays pinned. */
extern bool zview_read_pinned(ZPageView *view, Buffer buffer);

/*
 * Like zview_read_pinned, to plan a change of the page: the view's horizon is the one that
 * standbys know (zundo_logged_horizon).
 */
extern bool zview_copy(ZPageView *view, Buffer buffer);

/*
 * Copy a page that is viewed in place (zview_attach, share lock), and view the copy from now
 * on.  Unlocks and releases the overflow page; the caller unlocks the page.  Return false as
 * zview_read.
 */
extern bool zview_copy_viewed(ZPageView *view, Buffer buffer, Buffer *overflow_buf);

/*
 * Leave the page before much undo is read, if the caller allows that (view->leave, an array of
 * the page's buffer and the overflow page's): copy the page, unlock it, keeping the pin, and
 * view the copy; the overflow page's buffer is unlocked and released.  Versions of the page
 * must be looked up anew.  Does nothing if view->leave is NULL.
 */
extern void zview_leave(ZPageView *view);

/*
 * View in place a page that the caller has pinned, and locked with "lockmode".  *overflow_buf
 * gets the pinned overflow page, locked in the same mode, or InvalidBuffer; zview_detach
 * unlocks and releases it, and is to be called before the page is unlocked.  Return false, with
 * nothing locked, as zview_read.  ERROR (data_corrupted) if the page is damaged, or was changed
 * by heap functions.
 */
extern bool zview_attach(ZPageView *view, Buffer buffer, int lockmode, Buffer *overflow_buf);
extern void zview_detach(ZPageView *view, Buffer *overflow_buf);

/*
 * Return the number of overflow pages on which the page has slots, lock pages included, for
 * zpage_next_slotno.  Number 0 is the overflow page itself; lock pages begin with 1.
 */
static inline int
zview_slot_pages(const ZPageView *view)
{
	return view->overflow ? 1 + zpage_overflow_body(view->overflow)->nlock_pages : 0;
}

/*
 * Return overflow page k, for reading.  A lock page is copied, under a share lock: as it is now
 * if the page is viewed in place; of a private copy of the page, as it was when first asked
 * for.  That may be later than the page was copied, so it may have locks that the rows do not
 * show yet; but none is missing that existed then and still does, since other transactions
 * leave the slot of a transaction in progress alone, and the records that it leads to.  The
 * result belongs to the view.
 */
extern Page zview_slot_page(ZPageView *view, int k);

/* Like zview_slot_page, but return NULL for a lock page that was not copied before. */
extern Page zview_slot_page_seen(const ZPageView *view, int k);

/*
 * Return lock page k, pinned and locked with "lockmode"; the caller unlocks and releases it.
 * To change it, the page must be viewed in place (L1).
 */
extern Buffer zview_lock_page(ZPageView *view, int k, int lockmode);

/*
 * Return the horizon of the view's table: zundo_horizon(), or that of temporary tables.
 * Transactions below it are visible to all.
 */
extern FullTransactionId zview_horizon(const ZPageView *view);

/* Return whether a modifier is invalid or below the view's horizon, that is, visible to all. */
static inline bool
zview_is_frozen(const ZPageView *view, FullTransactionId fxid)
{
	return !FullTransactionIdIsValid(fxid) || FullTransactionIdPrecedes(fxid, view->horizon);
}

/*
 * Return whether the owners of all slots are visible to all, ignoring slots whose bit is set in
 * "except".  False if there is an overflow page.
 */
extern bool zview_slots_are_frozen(const ZPageView *view, uint32 except);

/*
 * B1	No buffer content lock is held while more than ZVIEW_MAX_READS undo records are
 *		read.  What each operation may read is in src/mvcc/README.md, "Work under a lock".
 */
#define ZVIEW_MAX_READS		256

/*
 * Records read by one step, from a chain's newest record to a row's, or to build a directory
 * (C1).
 */
#define ZVIEW_STEP_READS	(ZCHAIN_INTERVAL + 2)

/* Records left free besides a step and a directory (zview_is_spent). */
#define ZVIEW_SPARE_READS	8

/* Count an undo record read under the page's lock. */
static inline void
zview_count_read(ZPageView *view)
{
	view->reads++;
	Assert(!view->locked || view->reads <= ZVIEW_MAX_READS);
}

/*
 * Return whether a page is locked and B1 allows no further step: one step, a directory for the
 * change that is to follow, and a few more records might not fit.
 */
static inline bool
zview_is_spent(const ZPageView *view)
{
	return view->locked &&
		view->reads > ZVIEW_MAX_READS - 2 * ZVIEW_STEP_READS - ZVIEW_SPARE_READS;
}

/* Number of records that are read in place before the page is copied, to unlock it. */
#define ZVIEW_READS_IN_PLACE	16

/*
 * Limit the undo records read until zview_limit_end to "reads" more.  Where more would be read,
 * answers are wrong but harmless: mostly that a version is visible to all.  zview_limit_end
 * returns true if the limit was not reached, so that the answers meanwhile can be used.
 */
static inline void
zview_limit(ZPageView *view, int reads)
{
	Assert(view->limit == 0 && !view->unfinished);
	view->limit = view->reads + reads;
	view->unfinished = false;
}

/* End the limit; return whether it was not reached. */
static inline bool
zview_limit_end(ZPageView *view)
{
	bool		finished = !view->unfinished;

	Assert(view->limit > 0 && view->reads <= view->limit);
	view->limit = 0;
	view->unfinished = false;
	return finished;
}

/* Forget cached statuses: the page has changed under the view (exclusive lock held). */
extern void zview_refresh(ZPageView *view);

/*
 * Number of changes of table pages that this backend has made, its rollbacks included: a copy
 * made at the same count has all of them.
 */
extern uint64 zview_own_changes;

/* The highest command that changed rows, in this transaction and its subtransactions. */
typedef struct ZOwnCommand
{
	LocalTransactionId lxid;	/* the last transaction that has changed rows */
	CommandId	latest;
} ZOwnCommand;

extern ZOwnCommand zview_own_command;

/* Note that command "cid" of this transaction changes rows. */
static inline void
zview_note_command(CommandId cid)
{
	LocalTransactionId lxid = zcompat_my_lxid();

	if (zview_own_command.lxid != lxid || zview_own_command.latest < cid)
		zview_own_command.latest = cid;
	zview_own_command.lxid = lxid;
}

/* Return whether a snapshot at this command sees everything that this transaction has changed. */
static inline bool
zview_own_are_before(CommandId curcid)
{
	return zview_own_command.lxid == zcompat_my_lxid() && zview_own_command.latest < curcid;
}

#endif							/* ZHEAP_VIEW_H */
