/*
 * mvcc_directory.c
 *		The directory of a chain, built from its records.
 *
 * A directory is a function of the chain's newest record alone: a record that can be reached
 * never changes, and a transaction never has two at one place of the undo log (U1, U4).  Only
 * the locks in it end with the chain's owner, so they are used while the owner is in progress.
 *
 * Which rows a run of deletions is about stands only on the page (C3).  While the run is the
 * chain's newest record, rows may be added to it: a directory keeps it apart (run_first).  A
 * run below another record is complete.
 *
 * LOCKING: none of its own.
 */
#include "postgres.h"

#include "zheap/undo/undo_ptr.h"

#include "mvcc_directory.h"

void
directory_report(ZPageView *view, const ZOwner *at)
{
	zheap_corrupt(view->rel, view->block, InvalidOffsetNumber,
				  "directory at undo block %u, offset %u cannot be read",
				  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo));
}

void
directory_clear(ZDirectory *dir)
{
	dir->before.fxid = InvalidFullTransactionId;
	dir->before.undo = ZUNDO_INVALID;
	memset(dir->newest, 0, sizeof(dir->newest));
	memset(dir->lock, ZDIRECTORY_NO_LOCK, sizeof(dir->lock));
}

void
directory_add_lock(ZDirectory *dir, OffsetNumber offnum, int mode)
{
	Assert(mode >= ZDIRECTORY_NO_LOCK && mode <= LockTupleExclusive);
	dir->lock[offnum] = Max(dir->lock[offnum], mode);
}

OffsetNumber
directory_last_covered(const ZUndoRecord *rec)
{
	if (zrec_is_delete_run(rec))
		return ZPAGE_MAX_OFFSET;
	if (rec->type == ZOP_INSERT)
		return rec->open_run ? ZPAGE_MAX_OFFSET :
			Min(ZPAGE_MAX_OFFSET, rec->offnum + rec->count - 1);
	if (rec->type == ZOP_DIRECTORY || !zrec_undo_covers(rec, rec->offnum, true))
		return InvalidOffsetNumber;
	return rec->offnum;
}

/* Enter the record unless the row already has one, which is newer. */
static void
directory_add_older(ZDirectory *dir, OffsetNumber offnum, const ZOwner *at)
{
	if (!FullTransactionIdIsValid(dir->newest[offnum].fxid))
		dir->newest[offnum] = *at;
}

/* Enter the rows that the record is about.  A run of deletions must be complete. */
static void
directory_add_covered(ZPageView *view, int slotno, const ZUndoRecord *rec, const ZOwner *at,
					  ZDirectory *dir)
{
	for (int i = Max(rec->offnum, FirstOffsetNumber); i <= directory_last_covered(rec); i++)
	{
		if (!zrec_is_delete_run(rec) || zchain_run_deleted(view, slotno, i))
			directory_add_older(dir, i, at);
	}
}

void
directory_build(ZPageView *view, int slotno, const ZOwner *from, ZDirectory *dir,
				OffsetNumber *run_first)
{
	ZChainCursor cursor;
	bool		first_owner = true;
	bool		holds = true;	/* the owner belongs to the newest record's transaction, which
								 * is in progress */
	FullTransactionId owner = InvalidFullTransactionId;
	ZXactStatus status = ZXACT_UNKNOWN;

	*run_first = InvalidOffsetNumber;
	zchain_open(&cursor, view, InvalidOffsetNumber, from);
	/* one directory serves readers and writers, whose horizons differ */
	cursor.past_horizon = true;
	while (zchain_next(&cursor))
	{
		const ZUndoRecord *rec = &cursor.rec;

		if (holds && !FullTransactionIdEquals(owner, cursor.at.fxid))
		{
			ZXactStatus before PG_USED_FOR_ASSERTS_ONLY = status;

			owner = cursor.at.fxid;
			status = zmvcc_xact_status(owner);
			/* C2: records that are rolled back are above those of a transaction that goes on */
			Assert(before != ZXACT_OWN || status != ZXACT_ABORTED);
			holds = zchain_holds_locks(status);
		}
		if (holds && rec->type == ZOP_LOCK)
			directory_add_lock(dir, rec->offnum, rec->lockmode);
		if (rec->type == ZOP_DIRECTORY)
		{
			ZDirectory	older;

			if (!zrec_directory_decode(rec, &older))
				directory_report(view, &cursor.at);
			for (int i = FirstOffsetNumber; i <= ZPAGE_MAX_OFFSET; i++)
			{
				if (FullTransactionIdIsValid(older.newest[i].fxid))
					directory_add_older(dir, i, &older.newest[i]);
				if (holds)
					directory_add_lock(dir, i, older.lock[i]);
			}
			if (first_owner)
				dir->before = older.before;
			break;
		}
		if (zrec_is_delete_run(rec) && zowner_equals(&cursor.at, from))
			*run_first = rec->offnum;	/* some page copies show more of its rows than others */
		else
			directory_add_covered(view, slotno, rec, &cursor.at, dir);
		if (rec->takeover != ZTAKE_OWN && first_owner)
		{
			first_owner = false;
			if (rec->takeover == ZTAKE_REUSED)
				dir->before = rec->slot_prev;
		}
	}
}
