/*
 * lock_holders.c
 *		Find the holders of row locks.
 *
 * A holder is a transaction in progress, so it still owns a slot of the page (S3), or its slot
 * went to a later subtransaction of its own and it is found down the chain (K2).  However much it
 * has done to the page, a directory lists what it has locked there (C1).  A backend does not
 * search its own chains at all: it remembers what it has locked (lock_own.c).
 *
 * LOCKING: the caller views the page, in place with its lock held, or a copy.  Lock pages are
 * locked in shared mode only while they are copied.
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/bufmgr.h"

#include "zheap/lock/lock.h"
#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"
#include "zheap/undo/undo_ptr.h"

/* Return whether two modes conflict, as in the table in lock.h. */
static bool
modes_conflict(LockTupleMode a, LockTupleMode b)
{
	switch (a)
	{
		case LockTupleKeyShare:
			return b == LockTupleExclusive;
		case LockTupleShare:
			return b >= LockTupleNoKeyExclusive;
		case LockTupleNoKeyExclusive:
			return b >= LockTupleShare;
		case LockTupleExclusive:
			return true;
	}
	return true;
}

TransactionId
zlock_oldest(TransactionId a, TransactionId b)
{
	if (!TransactionIdIsValid(a))
		return b;
	return TransactionIdIsValid(b) && TransactionIdPrecedes(b, a) ? b : a;
}

StaticAssertDecl(ZLOCK_LOOK_READS <= ZVIEW_STEP_READS, "B1: zlock_may_be_held is no more than a step");

typedef struct HolderSearch
{
	OffsetNumber offnum;
	LockTupleMode mode;
	bool		others;			/* skip our own locks, which are known */
	ZLockHolders *holders;
} HolderSearch;

/* Note a lock of "fxid".  It is in progress, so its 32-bit xid can be compared with others. */
static void
note_lock(HolderSearch *search, ZXactStatus status, FullTransactionId fxid, int mode)
{
	ZLockHolders *holders = search->holders;

	Assert(mode >= LockTupleKeyShare && mode <= LockTupleExclusive);
	Assert(zchain_holds_locks(status));
	holders->strongest = Max(holders->strongest, mode);
	if (status == ZXACT_OWN)
		holders->own = Max(holders->own, mode);
	else if (modes_conflict(search->mode, mode))
		holders->conflicting = zlock_oldest(holders->conflicting, zfxid_xid(fxid));
}

/*
 * Note what a directory says about the row.  Returns whether that ends the search, as the
 * directory covers all records below it.  It does not if it belongs to a subtransaction that was
 * rolled back: then the search continues with the owner before that one.  ERROR (data_corrupted)
 * if it cannot be read.
 */
static bool
note_directory(ZChainCursor *cursor, HolderSearch *search, ZXactStatus status)
{
	ZDirectory	dir;
	bool		damaged;
	int			mode;

	if (zchain_holds_locks(status))
	{
		mode = zrec_directory_lock(&cursor->rec, search->offnum, &damaged);
		if (!damaged && mode != ZDIRECTORY_NO_LOCK)
			note_lock(search, status, cursor->at.fxid, mode);
	}
	else
	{
		damaged = !zrec_directory_decode(&cursor->rec, &dir);
		cursor->next = dir.before;
	}
	if (damaged)
		zheap_corrupt(cursor->view->rel, cursor->view->block, search->offnum,
					  "directory at undo block %u, offset %u cannot be read",
					  zundo_ptr_block(cursor->at.undo), zundo_ptr_offset(cursor->at.undo));
	return zchain_holds_locks(status);
}

/*
 * Search one slot's chain, as far as its owners are in progress, down to the record "known".  A
 * subtransaction that was rolled back alone may lie above others that are in progress.
 */
static void
search_chain(ZPageView *view, const ZOwner *newest, ZUndoPtr known, HolderSearch *search)
{
	FullTransactionId owner = InvalidFullTransactionId;
	ZXactStatus	status = ZXACT_UNKNOWN;
	ZChainCursor cursor;

	zchain_open(&cursor, view, search->offnum, newest);
	while (FullTransactionIdIsValid(cursor.next.fxid) && cursor.next.undo != known)
	{
		if (!FullTransactionIdEquals(owner, cursor.next.fxid))
		{
			owner = cursor.next.fxid;
			status = zmvcc_xact_status(owner);
		}
		if (!(zchain_holds_locks(status) || status == ZXACT_ABORTED) ||
			(status == ZXACT_OWN && search->others))
			return;				/* below are only ours, and committed ones */
		if (!zchain_next(&cursor))
			return;
		if (cursor.rec.type == ZOP_DIRECTORY)
		{
			if (note_directory(&cursor, search, status))
				return;
		}
		else if (cursor.rec.type == ZOP_LOCK && cursor.rec.offnum == search->offnum &&
				 zchain_holds_locks(status))
			note_lock(search, status, owner, cursor.rec.lockmode);
	}
}

/* Return the newest record of the slot as it was in "before"; ZUNDO_INVALID if not known. */
static ZUndoPtr
known_record(ZPageView *before, int slotno)
{
	Page		slots = NULL;

	if (before == NULL)
		return ZUNDO_INVALID;
	if (slotno >= ZPAGE_FIRST_OVERFLOW)
		slots = zview_slot_page_seen(before, zpage_slot_page(slotno));
	if (slotno >= ZPAGE_FIRST_OVERFLOW ? slots == NULL : slotno > zpage_nslots(before->page))
		return ZUNDO_INVALID;
	return zpage_slot(before->page, slots, slotno)->undo;
}

/* Search the chains of all slots of the page, until the limit of the view is reached. */
static void
search_page(ZPageView *view, ZPageView *before, HolderSearch *search)
{
	int			noverflow = zview_slot_pages(view);
	Page		slots = view->overflow;
	int			k = 0;
	int			i = 0;

	while (!view->unfinished && (i = zpage_next_slotno(view->page, noverflow, i)) != 0)
	{
		ZOwner		slot;

		if (zpage_slot_page(i) != k)
			slots = zview_slot_page(view, k = zpage_slot_page(i));
		slot = zpage_slot_owner(zpage_slot(view->page, slots, i));
		if (FullTransactionIdIsValid(slot.fxid))
			search_chain(view, &slot, known_record(before, i), search);
	}
}

/* Initialize: no lock is held. */
static void
holders_init(ZLockHolders *holders)
{
	holders->conflicting = InvalidTransactionId;
	holders->own = holders->strongest = -1;
}

#ifdef USE_ASSERT_CHECKING
/* K1, for the locks that are known without a search. */
static void
assert_own_is_hinted(ZPageView *view, OffsetNumber offnum, int hint)
{
	bool		exact;

	Assert(!view->locked || zlock_own_strongest(view->rel, view->block, offnum, &exact) <= hint);
}
#else
#define assert_own_is_hinted(view, offnum, hint) ((void) 0)
#endif

/*
 * No transaction holds a stronger lock than the row's hint says (K1).  So others' undo is searched
 * only where the hint conflicts with "mode"; our own only if not all of our locks are remembered.
 * No search either if we hold a lock as strong as "mode": it excludes all locks that conflict with
 * it, and so those that conflict with a weaker one.
 */
void
zlock_holders(ZPageView *view, ZPageView *before, OffsetNumber offnum, LockTupleMode mode,
			  ZLockHolders *holders)
{
	HolderSearch search = {offnum, mode, false, holders};
	uint8		bits = zpage_row_lock_bits(view->page, offnum);
	int			hint = zrow_lock_hint(bits);
	int			own;

	holders_init(holders);
	Assert(hint <= LockTupleExclusive);
	assert_own_is_hinted(view, offnum, hint);
	if (bits == 0)
		return;
	own = zlock_own_strongest(view->rel, view->block, offnum, &search.others);
	if (own >= (int) mode || (search.others && !modes_conflict(mode, hint)))
	{
		holders->own = own;
		holders->strongest = hint;
		return;
	}
	search_page(view, before, &search);
	/* K1; on a copy, lock pages may be newer than the row */
	Assert(!view->locked || holders->strongest <= hint);
	holders->own = Max(holders->own, own);
	holders->strongest = Max(holders->strongest, holders->own);
	if (view->unfinished)
		holders->strongest = hint;
}

bool
zlock_may_be_held(ZPageView *view, OffsetNumber offnum)
{
	ZLockHolders holders;
	HolderSearch search = {offnum, LockTupleExclusive, false, &holders};

	if (zview_is_spent(view))
		return true;
	holders_init(&holders);
	zview_limit(view, ZLOCK_LOOK_READS);
	search_page(view, NULL, &search);
	return !zview_limit_end(view) || holders.strongest >= 0;
}

/*
 * Return whether the line pointer is still that of a row that was moved.  If not, the last holder
 * of a lock there has ended, and another row may have got the line pointer.
 */
static bool
is_place_of_moved(const ZPageView *view, OffsetNumber offnum)
{
	uint32		len;

	if (!zpage_is_row(view->page, offnum) || zpage_check_row(view->page, offnum) != NULL)
		return false;
	return (zrow_flags(zpage_row(view->page, offnum, &len, NULL)) &
			(ZROW_DELETED | ZROW_MOVED)) == (ZROW_DELETED | ZROW_MOVED);
}

/* View the page of a row's former place.  Returns false if the place is no longer the row's. */
static bool
view_place(ZPageView *view, const ItemPointerData *place)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(place);

	Assert(!zheap_holds_buffer_lock()); /* L1: another table page is read */
	/* the table is truncated only when no transaction has a lock on it */
	return block < RelationGetNumberOfBlocks(view->rel) && zview_read(view, block, NULL) &&
		is_place_of_moved(view, ItemPointerGetOffsetNumberNoCheck(place));
}

bool
zlock_is_place_of_moved(Relation rel, const ItemPointerData *place)
{
	ZPageView	view;
	bool		is_place;

	zview_open(&view, rel);
	is_place = view_place(&view, place);
	zview_close(&view);
	return is_place;
}

TransactionId
zlock_origin_conflict(Relation rel, const ItemPointerData *origin)
{
	ZLockHolders holders;
	HolderSearch search = {
		ItemPointerGetOffsetNumberNoCheck(origin), LockTupleExclusive, true, &holders
	};
	ZPageView	view;

	holders_init(&holders);
	zview_open(&view, rel);
	if (view_place(&view, origin))
		search_page(&view, NULL, &search);
	zview_close(&view);
	return holders.conflicting;
}
