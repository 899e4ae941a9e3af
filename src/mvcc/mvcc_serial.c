/*
 * mvcc_serial.c
 *		What a SERIALIZABLE reader tells core: which row it has read, and whose
 *		changes of it its snapshot does not see.
 *
 * A read and a write that miss each other must be noticed by one of the two: the
 * reader sees the change on the page and reports a conflict out, or the writer,
 * later, finds the reader's predicate lock.  So the page has to be locked from
 * before the check until the predicate lock has been taken, unless the lock
 * that covers the row (the relation's) is older than the view of the page.
 *
 * Heap looks at versions one by one, and the transactions reported here are the same.  As all
 * versions of a row share its TID, their parity goes into the predicate lock:
 * without it, the second to update a row that a transaction had read would be in
 * conflict with that one as well.  Every other version still shares a lock, and
 * all do after the lock has grown to the page or the table; this can only report
 * too much, and takes a reader that outlasts two updates of what it read.
 */
#include "postgres.h"

#include "access/subtrans.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/mvcc.h"
#include "zheap/mvcc/tid.h"

void
zmvcc_version_tid(ItemPointer tid, BlockNumber block, OffsetNumber offnum, uint8 flags2)
{
	ItemPointerSet(tid, block, offnum);
	if (flags2 & ZROW2_PARITY)
		ztid_set_tag(tid, 1);
}

/* The snapshot does not see what fxid made of a row. */
static void
conflict_out(ZPageView *view, FullTransactionId fxid, Snapshot snapshot)
{
	TransactionId xid = zfxid_xid(fxid);

	/* those before TransactionXmin have ended before our snapshot; so: aborted */
	if (TransactionIdPrecedes(xid, TransactionXmin) ||
		TransactionIdIsCurrentTransactionId(xid) ||
		zmvcc_xact_status(fxid) == ZXACT_ABORTED)
		return;
	xid = SubTransGetTopmostTransaction(xid);
	if (TransactionIdPrecedes(xid, TransactionXmin))
		return;
	CheckForSerializableConflictOut(view->rel, xid, snapshot);
}

/* The row at offnum, which is one, from its newest version on. */
static void
walk_conflicts(ZPageView *view, OffsetNumber offnum, Snapshot snapshot)
{
	ZRowVersion	version;

	zmvcc_current(view, offnum, &version);
	while (!zmvcc_modifier_visible(view, &version, snapshot))
	{
		/* what we changed under this isolation level, our snapshot saw */
		if (TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version.modifier))))
			break;
		conflict_out(view, zmodifier_fxid(&version.modifier), snapshot);
		if ((version.hdr.flags & ZROW_INSERTED) || !zmvcc_previous(view, &version))
			break;
	}
}

static bool
is_row(ZPageView *view, OffsetNumber offnum)
{
	return offnum >= FirstOffsetNumber &&
		offnum <= PageGetMaxOffsetNumber(view->page) &&
		ItemIdIsNormal(PageGetItemId(view->page, offnum));
}

void
zmvcc_conflicts_out(ZPageView *view, OffsetNumber offnum, Snapshot snapshot)
{
	if (is_row(view, offnum) &&
		CheckForSerializableConflictOutNeeded(view->rel, snapshot))
		walk_conflicts(view, offnum, snapshot);
}

bool
zmvcc_fetch_serial(ZPageView *view, OffsetNumber offnum, Snapshot snapshot, ZRowVersion *version)
{
	ItemPointerData tid;

	if (!is_row(view, offnum) ||
		!CheckForSerializableConflictOutNeeded(view->rel, snapshot))
		return zmvcc_fetch(view, offnum, snapshot, version);

	if (!zmvcc_fetch(view, offnum, snapshot, version))
	{
		walk_conflicts(view, offnum, snapshot);
		return false;
	}
	/* heap's reader stops at the version it sees: only the next one counts */
	if (FullTransactionIdIsValid(version->next_fxid))
		conflict_out(view, version->next_fxid, snapshot);

	/*
	 * Rows that we have written ourselves need no lock.  A modifier that is only
	 * known to be somewhere in the slot's chain is not us: then the snapshot
	 * would not see it without looking (zmvcc_modifier_visible).
	 */
	zmvcc_version_tid(&tid, view->block, offnum, version->hdr.flags2);
	PredicateLockTID(view->rel, &tid, snapshot,
					 zmodifier_is_exact(&version->modifier) ?
					 zfxid_xid(zmodifier_fxid(&version->modifier)) : InvalidTransactionId);
	return true;
}
