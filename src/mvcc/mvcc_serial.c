/*
 * mvcc_serial.c
 *		Report a SERIALIZABLE reader's reads to the server: which row it has read, and the
 *		transactions whose changes of the row its snapshot does not see.
 *
 * A read and a write that miss each other must be noticed by one of the two: the reader sees
 * the change on the page and reports a conflict out, or the writer, later, finds the reader's
 * predicate lock.  So the page has to be locked from before the check until the predicate lock
 * has been taken, unless the lock that covers the row (the relation's) is older than the view
 * of the page.
 *
 * Heap looks at versions one by one, and the transactions reported here are the same.  As all
 * versions of a row share its TID, their parity goes into the predicate lock: without it, the
 * second transaction to update a row that a transaction had read would be in conflict with that
 * one as well.  Every other version still shares a lock, and all do after the lock has been
 * promoted to the page or the table; this can only report too many conflicts, and takes a
 * reader that outlasts two updates of a row that it has read.
 *
 * LOCKING: the page is locked shared on entry; conflicts are reported, and predicate locks
 * taken, under its lock.  On exit of zmvcc_fetch_serial(), view->locked says whether it still
 * is.
 */
#include "postgres.h"

#include "access/subtrans.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/mvcc/serial.h"
#include "zheap/mvcc/status.h"
#include "zheap/mvcc/visibility.h"
#include "zheap/page/page.h"
#include "zheap/tid/tid.h"
#include "zheap/undo/undo_relation.h"

/* Upper limit of undo records read while a page is locked (B1). */
#define SERIAL_READS	128

StaticAssertDecl(SERIAL_READS <= ZVIEW_MAX_READS, "B1: a read, or a comparison with a copy");

void
zmvcc_version_tid(ItemPointer tid, BlockNumber block, OffsetNumber offnum, uint8 flags2)
{
	Assert(offnum >= FirstOffsetNumber && offnum <= ZPAGE_MAX_OFFSET);
	ItemPointerSet(tid, block, offnum);
	if (flags2 & ZROW2_PARITY)
		ztid_set_tag(tid, 1);
}

/*
 * Report a conflict with fxid, whose change of a row the snapshot does not see, unless it has
 * aborted or is ours.
 */
static void
conflict_out(const ZPageView *view, FullTransactionId fxid, Snapshot snapshot)
{
	TransactionId xid = zfxid_xid(fxid);

	Assert(FullTransactionIdIsNormal(fxid));
	/*
	 * transactions before TransactionXmin ended before our snapshot: as it does not see this
	 * one, that has aborted
	 */
	if (TransactionIdPrecedes(xid, TransactionXmin) ||
		TransactionIdIsCurrentTransactionId(xid) ||
		zmvcc_xact_status(fxid) == ZXACT_ABORTED)
		return;
	xid = SubTransGetTopmostTransaction(xid);
	if (TransactionIdPrecedes(xid, TransactionXmin))
		return;
	CheckForSerializableConflictOut(view->rel, xid, snapshot);
}

/*
 * Step to the next version, from the newest on, whose modifier the snapshot does not see.
 * Return false if there is none.
 */
static bool
next_conflict(ZPageView *view, ZRowVersion *version, Snapshot snapshot, bool first)
{
	if (!first && ((version->hdr.flags & ZROW_INSERTED) || !zmvcc_previous(view, version)))
		return false;
	/* our snapshot saw whatever we changed under this isolation level */
	return !zmvcc_modifier_visible(view, version, snapshot) &&
		!TransactionIdIsCurrentTransactionId(zfxid_xid(zmodifier_fxid(&version->modifier)));
}

void
zmvcc_conflicts_out(ZPageView *view, OffsetNumber offnum, Snapshot snapshot)
{
	ZRowVersion	version;

	if (!zpage_is_row(view->page, offnum) ||
		!CheckForSerializableConflictOutNeeded(view->rel, snapshot))
		return;
	zmvcc_current(view, offnum, &version);
	for (bool first = true; next_conflict(view, &version, snapshot, first); first = false)
		conflict_out(view, zmodifier_fxid(&version.modifier), snapshot);
}

/* ---- reads that are reported later ---- */

void
zserial_begin(ZSerialReads *reads)
{
	reads->nrows = reads->nunseen = 0;
	if (reads->unseen == NULL)
	{
		reads->alloc = 16;
		reads->unseen = palloc(sizeof(FullTransactionId) * reads->alloc);
	}
}

void
zserial_end(ZSerialReads *reads)
{
	if (reads->unseen)
		pfree(reads->unseen);
	reads->unseen = NULL;
}

static void
add_unseen(ZSerialReads *reads, FullTransactionId fxid)
{
	if (reads->nunseen > 0 && FullTransactionIdEquals(reads->unseen[reads->nunseen - 1], fxid))
		return;
	if (reads->nunseen == reads->alloc)
	{
		reads->alloc *= 2;
		reads->unseen = repalloc_huge(reads->unseen, sizeof(FullTransactionId) * reads->alloc);
	}
	reads->unseen[reads->nunseen++] = fxid;
}

static void
add_all_unseen(ZSerialReads *reads, ZPageView *view, OffsetNumber offnum, Snapshot snapshot)
{
	ZRowVersion version;

	zmvcc_current(view, offnum, &version);
	for (bool first = true; next_conflict(view, &version, snapshot, first); first = false)
		add_unseen(reads, zmodifier_fxid(&version.modifier));
}

bool
zserial_read(ZSerialReads *reads, ZPageView *view, OffsetNumber offnum, Snapshot snapshot,
			 bool whole, ZRowVersion *version)
{
	ZSerialRow *row;

	if (!zpage_is_row(view->page, offnum))
		return false;
	Assert(reads->unseen != NULL && reads->nrows < ZPAGE_MAX_OFFSET);
	reads->offsets[reads->nrows] = offnum;
	row = &reads->rows[reads->nrows++];

	/*
	 * The index entry that led here may have the key of a later version: on heap it leads to
	 * that version, and to the transaction that made it.
	 */
	zmvcc_current(view, offnum, version);
	whole = whole || (version->hdr.flags2 & ZROW2_SEVERAL_KEYS) != 0;
	if (whole)
		add_all_unseen(reads, view, offnum, snapshot);
	row->seen = zmvcc_fetch(view, offnum, snapshot, version);
	if (!row->seen)
	{
		if (!whole)
			add_all_unseen(reads, view, offnum, snapshot);
		return false;
	}
	/* heap's reader stops at the version that it sees: only the next one counts */
	if (FullTransactionIdIsValid(version->next_fxid))
		add_unseen(reads, version->next_fxid);
	row->flags2 = version->hdr.flags2;

	/*
	 * Rows that we have written ourselves need no lock.  An upper bound is never our
	 * transaction: the snapshot would not see it without a look at the chain
	 * (zmvcc_modifier_visible).
	 */
	row->writer = zmodifier_is_exact(&version->modifier) ?
		zfxid_xid(zmodifier_fxid(&version->modifier)) : InvalidTransactionId;
	return true;
}

bool
zserial_report(const ZSerialReads *reads, ZPageView *before, ZPageView *view, Snapshot snapshot)
{
	bool		same = true;

	Assert(view->locked);
	Assert(before == NULL || (!before->locked && before->block == view->block));
	if (before != NULL)
	{
		zview_limit(view, SERIAL_READS);
		same = zmvcc_same_versions(before, view, reads->offsets, reads->nrows);
		same = zview_limit_end(view) && same;
	}
	if (!same)
		return false;
	for (int i = 0; i < reads->nunseen; i++)
		conflict_out(view, reads->unseen[i], snapshot);
	for (int i = 0; i < reads->nrows; i++)
	{
		const ZSerialRow *row = &reads->rows[i];
		ItemPointerData tid;

		if (!row->seen)
			continue;
		zmvcc_version_tid(&tid, view->block, reads->offsets[i], row->flags2);
		PredicateLockTID(view->rel, &tid, snapshot, row->writer);
	}
	return true;
}

/* ---- a single row ---- */

/*
 * Read from a copy of the page, without its lock, and report the read if the row is the same
 * when the page is locked again; then return true, with the page unlocked.  Return false if it
 * is not the same; the page is then locked and viewed in place.
 */
static bool
read_with_copy(ZSerialReads *reads, ZPageView *view, Buffer *page, OffsetNumber offnum,
			   Snapshot snapshot, ZRowVersion *version, bool *found)	/* tidy: the caller's, and *found */
{
	ZPageView	live;
	Buffer		overflow_buf;
	bool		done;

	view->leave = page;
	zview_leave(view);
	zserial_begin(reads);
	*found = zserial_read(reads, view, offnum, snapshot, false, version);

	zview_open(&live, view->rel);
	zundo_open();
	LockBuffer(page[0], BUFFER_LOCK_SHARE);
	done = zview_attach(&live, page[0], BUFFER_LOCK_SHARE, &overflow_buf) &&
		zserial_report(reads, view, &live, snapshot);
	if (live.locked)
		zview_detach(&live, &overflow_buf);
	zview_close(&live);
	if (done)
		LockBuffer(page[0], BUFFER_LOCK_UNLOCK);
	else if (!zview_attach(view, page[0], BUFFER_LOCK_SHARE, &page[1]))
		zheap_corrupt(view->rel, view->block, offnum, "page holds no rows any more");
	Assert(done != view->locked);
	return done;
}

/*
 * Read and report until one read and its report agree.  The page is locked on entry; on exit
 * view->locked says whether it still is.
 */
static pg_noinline bool
fetch_and_report(ZPageView *view, Buffer *page, OffsetNumber offnum, Snapshot snapshot,
				 ZRowVersion *version)
{
	ZSerialReads reads = {0};
	bool		done = false;
	bool		found = false;

	/* the read is reported below, so the view must not change to a copy unnoticed */
	view->leave = NULL;
	while (!done)
	{
		zserial_begin(&reads);
		zview_limit(view, SERIAL_READS);
		found = zserial_read(&reads, view, offnum, snapshot, false, version);
		if (zview_limit_end(view))
			done = zserial_report(&reads, NULL, view, snapshot);
		else
			done = read_with_copy(&reads, view, page, offnum, snapshot, version, &found);
	}
	zserial_end(&reads);
	Assert(view->locked || !BufferIsValid(page[1]));
	return found;
}

bool
zmvcc_fetch_serial(ZPageView *view, Buffer *page, OffsetNumber offnum, Snapshot snapshot,
				   ZRowVersion *version)
{
	Assert(view->locked);
	if (!zpage_is_row(view->page, offnum) ||
		!CheckForSerializableConflictOutNeeded(view->rel, snapshot))
		return zmvcc_fetch(view, offnum, snapshot, version);
	return fetch_and_report(view, page, offnum, snapshot, version);
}
