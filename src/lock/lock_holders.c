/*
 * lock_holders.c
 *		Who holds a lock on a row.
 *
 * A holder is a transaction in progress, so it still owns a slot of the page
 * (S3), or its slot went to a later subtransaction of its own and is found down
 * the chain.  Its records about the page are few unless it changed the page a
 * lot itself.
 *
 * A transaction that works through a page by thousands of commands or subtransactions
 * has a long chain there, all of it its own, and does not look through it: it remembers
 * what it has locked (lock_own.c).
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/bufmgr.h"

#include "zheap/lock/lock.h"

bool
zlock_modes_conflict(LockTupleMode a, LockTupleMode b)
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

/* Our own records on a page are looked through that far, unless all must be known. */
#define OWN_RECORDS		64

/* All records, where it does no harm to take a row for locked. */
#define MAX_READS		64

typedef struct HolderSearch
{
	OffsetNumber offnum;
	LockTupleMode mode;
	ZLockHolders *holders;
	int			own_left;		/* how many of our own records may still be read */
	bool		cut;			/* more would have been there */
	int			left;			/* how many records may still be read at all */
} HolderSearch;

static void
note_lock(HolderSearch *search, ZXactStatus status, FullTransactionId fxid, int mode)
{
	ZLockHolders *holders = search->holders;

	holders->strongest = Max(holders->strongest, mode);
	if (status == ZXACT_OWN)
		holders->own = Max(holders->own, mode);
	else if (zlock_modes_conflict(search->mode, mode))
		holders->conflicting = zlock_oldest(holders->conflicting, zfxid_xid(fxid));
}

/*
 * One slot's chain, as far as its owners are in progress.  (One that was rolled
 * back alone may sit on top of others that go on.)
 */
static void
search_chain(ZPageView *view, const ZOwner *slot, HolderSearch *search)
{
	FullTransactionId fxid = slot->fxid;
	ZUndoPtr	ptr = slot->undo;
	ZXactStatus	status = zmvcc_xact_status(fxid);

	while (status == ZXACT_OWN || status == ZXACT_IN_PROGRESS || status == ZXACT_ABORTED)
	{
		ZUndoRecord rec;
		Size		len;
		const char *bytes;

		if ((status == ZXACT_OWN && search->own_left-- <= 0) || search->left-- <= 0)
		{
			search->cut = true;
			return;				/* below are ours, and committed ones */
		}
		bytes = zundo_read(&view->reader, ptr, &len);
		if (bytes == NULL)
			return;				/* aborted, rolled back, recycled */
		if (zrec_undo_decode(bytes, len, ptr, ZFORM_LOG, &rec) == 0)
			zheap_corrupt(view->rel, view->block, search->offnum,
						  "undo record at block %u, offset %u cannot be read",
						  zundo_ptr_block(ptr), zundo_ptr_offset(ptr));
		if (rec.type == ZOP_LOCK && rec.offnum == search->offnum && status != ZXACT_ABORTED)
			note_lock(search, status, fxid, rec.lockmode);
		if (rec.takeover == ZTAKE_OWN)
		{
			ptr = rec.page_prev;
			continue;
		}
		if (rec.takeover != ZTAKE_REUSED)
			return;
		fxid = rec.slot_prev.fxid;
		ptr = rec.slot_prev.undo;
		status = zmvcc_xact_status(fxid);
	}
}

static void
search_page(ZPageView *view, HolderSearch *search)
{
	int			noverflow = zview_slot_pages(view);
	Page		slots = view->overflow;
	int			k = 0;
	int			i = 0;

	while ((i = zpage_next_slotno(view->page, noverflow, i)) != 0)
	{
		ZOwner		slot;

		if (zpage_slot_page(i) != k)
			slots = zview_slot_page(view, k = zpage_slot_page(i));
		slot = zpage_slot_owner(zpage_slot(view->page, slots, i));
		if (FullTransactionIdIsValid(slot.fxid))
			search_chain(view, &slot, search);
	}
}

static void
holders_init(ZLockHolders *holders)
{
	holders->conflicting = InvalidTransactionId;
	holders->own = holders->strongest = -1;
}

/*
 * Nobody holds a stronger lock than the row's hint says.  So only where that one is in
 * the way of the mode asked for, others' undo is looked at; and our own, only if we do
 * not remember what we have locked.
 */
void
zlock_holders(ZPageView *view, OffsetNumber offnum, LockTupleMode mode, bool waits,
			  ZLockHolders *holders)
{
	HolderSearch search = {offnum, mode, holders, waits ? INT_MAX : OWN_RECORDS, false, INT_MAX};
	uint8		bits = zpage_row_lock_bits(view->page, offnum);
	int			hint = zrow_lock_hint(bits);
	bool		exact;
	int			own;

	holders_init(holders);
	if (bits == 0)
		return;
	own = zlock_own_strongest(view->rel, view->block, offnum, &exact);
	if (!zlock_modes_conflict(mode, hint) && (exact || own >= (int) mode))
	{
		holders->own = own;
		holders->strongest = hint;
		return;
	}
	if (exact)
		search.own_left = 0;
	search_page(view, &search);
	if (!exact && search.cut && TransactionIdIsValid(holders->conflicting))
	{
		search.own_left = INT_MAX;
		search_page(view, &search);
	}
	holders->own = Max(holders->own, own);
	holders->strongest = Max(holders->strongest, search.cut && !exact ? hint : holders->own);
}

bool
zlock_may_be_held(ZPageView *view, OffsetNumber offnum)
{
	ZLockHolders holders;
	HolderSearch search = {offnum, LockTupleExclusive, &holders, OWN_RECORDS, false, MAX_READS};

	holders_init(&holders);
	search_page(view, &search);
	return search.cut || holders.strongest >= 0;
}

TransactionId
zlock_origin_conflict(Relation rel, const ItemPointerData *origin)
{
	ZLockHolders holders;
	HolderSearch search = {ItemPointerGetOffsetNumberNoCheck(origin), LockTupleExclusive,
	&holders, 0, false, INT_MAX};
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(origin);
	ZPageView	view;

	holders_init(&holders);
	/* the table is truncated only when nobody has a lock on it */
	if (block >= RelationGetNumberOfBlocks(rel))
		return InvalidTransactionId;
	zview_open(&view, rel);
	if (zview_read(&view, block, NULL))
		search_page(&view, &search);
	zview_close(&view);
	return holders.conflicting;
}
