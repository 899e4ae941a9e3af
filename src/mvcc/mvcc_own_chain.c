/*
 * mvcc_own_chain.c
 *		The chain that the backend is writing, from its first record on.
 *
 * A statement that changes many rows of a page writes a directory when the chain has become
 * ZCHAIN_INTERVAL records long (C1).  The directory's contents were written a moment ago, so
 * they are kept here instead of being read from undo.  Only one chain is kept at a time, and
 * only one that begins with the backend's transaction, with nothing below: the case of a
 * statement that goes through a table.
 *
 * The chain is identified by its newest record.  A record never changes, nor does any below it,
 * and a transaction never has two at one place of the undo log (U1, U4): so the contents stay
 * right whatever becomes of the transaction, and need not be invalidated.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "mvcc_own_chain.h"

typedef struct OwnRecord
{
	ZUndoPtr	undo;
	OffsetNumber first;			/* first of the rows that it is about */
	OffsetNumber last;
	bool		deletions;		/* a run of deletions: only the deleted ones of these rows */
	int8		lock;			/* mode of a row lock on "first", or ZDIRECTORY_NO_LOCK */
} OwnRecord;

static struct
{
	RelFileLocator locator;
	BlockNumber block;
	int			slotno;
	ZOwner		newest;			/* invalid fxid: no chain is kept */
	int			n;
	OwnRecord	records[ZCHAIN_INTERVAL + 1];	/* oldest first */
}			own;

void
own_chain_added(const ZOwner *at, const ZUndoRecord *rec, OffsetNumber first, OffsetNumber last)
{
	OwnRecord  *own_rec;

	if (rec->takeover == ZTAKE_FREE || rec->takeover == ZTAKE_ALL_VISIBLE)
	{
		own.locator = rec->locator;
		own.block = rec->block;
		own.slotno = rec->slotno;
		own.n = 0;
	}
	else if (rec->takeover != ZTAKE_OWN || own.newest.undo != rec->page_prev ||
			 !FullTransactionIdEquals(own.newest.fxid, at->fxid))
		return;					/* another chain */
	if (rec->type == ZOP_DIRECTORY || own.n == lengthof(own.records))
	{
		own.newest.fxid = InvalidFullTransactionId;
		return;
	}
	own.newest = *at;
	own_rec = &own.records[own.n++];
	own_rec->undo = at->undo;
	own_rec->first = first;
	own_rec->last = last;
	own_rec->deletions = zrec_is_delete_run(rec);
	own_rec->lock = rec->type == ZOP_LOCK ? rec->lockmode : ZDIRECTORY_NO_LOCK;
}

bool
own_chain_directory(ZPageView *view, int slotno, const ZOwner *newest, ZDirectory *dir,
					OffsetNumber *run_first)
{
	OffsetNumber known = ZPAGE_MAX_OFFSET + 1;	/* all rows from there on are known */
	bool		holds;

	if (!zowner_equals(&own.newest, newest) || own.block != view->block ||
		own.slotno != slotno || !FullTransactionIdIsValid(newest->fxid) ||
		!RelFileLocatorEquals(own.locator, view->rel->rd_locator))
		return false;
	Assert(own.n > 0);
	*run_first = own.records[own.n - 1].deletions ? own.records[own.n - 1].first :
		InvalidOffsetNumber;
	holds = zchain_holds_locks(zmvcc_xact_status(newest->fxid));
	/*
	 * newest record first: a row's first one counts, and runs of insertions extend to the
	 * page's end
	 */
	for (int k = own.n - 1; k >= 0; k--)
	{
		const OwnRecord *rec = &own.records[k];
		int			end = Min((int) rec->last, known - 1);

		if (holds && rec->lock != ZDIRECTORY_NO_LOCK)
			dir->lock[rec->first] = Max(dir->lock[rec->first], rec->lock);
		/* the newest run is returned in *run_first */
		if (rec->deletions && k == own.n - 1)
			continue;
		for (int i = rec->first; i <= end; i++)
		{
			if (FullTransactionIdIsValid(dir->newest[i].fxid) ||
				(rec->deletions && !zchain_run_deleted(view, slotno, i)))
				continue;
			dir->newest[i].fxid = newest->fxid;
			dir->newest[i].undo = rec->undo;
		}
		if (!rec->deletions && rec->last >= known - 1)
			known = Min(known, rec->first);
	}
	return true;
}
