/*
 * mvcc_find.c
 *		Search a chain for the record of a row's version, and for that record's command.
 *
 * The search goes down the records (mvcc_chain.c), or is answered by a directory that the
 * backend remembers (mvcc_known.c).  A run of deletions that is the chain's newest record is in
 * no directory: whether it is meant follows from the version that is looked for (C3).
 *
 * LOCKING: none of its own; undo pages come after table pages (L1).
 */
#include "postgres.h"

#include "zheap/undo/undo_ptr.h"

#include "mvcc_known.h"
#include "mvcc_own_chain.h"

/* number of records read down a chain from which on its directory is remembered the next time */
#define LONG_WAY	8

/*
 * Get the owner of slot "slotno", and its newest record.  Return false if it is not known.  The
 * number may come from an undo record, and be damaged.
 */
static bool
slot_newest(ZPageView *view, int slotno, ZOwner *newest)
{
	if (slotno == 0 || view->page == NULL ||
		(slotno >= ZPAGE_FIRST_OVERFLOW ? view->overflow == NULL :
		 slotno > zpage_nslots(view->page)))
		return false;
	*newest = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));
	return true;
}

/* Return what the directory says about the row, in *at; *rec is read if rec is not NULL. */
static ZChainFound
found_in(ZPageView *view, ZSought sought, const ZOwner *named, ZOwner *at, ZUndoRecord *rec)
{
	if (zview_is_frozen(view, named->fxid))
		return ZCHAIN_GONE;
	*at = *named;
	if (rec == NULL)
		return ZCHAIN_FOUND;
	if (!zchain_read(view, sought.offnum, at, rec))
		return ZCHAIN_GONE;
	if (!zrec_undo_covers(rec, sought.offnum, sought.deleted))
		zheap_corrupt(view->rel, view->block, sought.offnum,
					  "undo record at block %u, offset %u is not about the row",
					  zundo_ptr_block(at->undo), zundo_ptr_offset(at->undo));
	return ZCHAIN_FOUND;
}

/* Return whether the chain's newest record is a run of deletions that made the version. */
static inline bool
is_of_run(const CachedDirectory *cached, ZSought sought)
{
	return sought.deleted && cached->run_first != InvalidOffsetNumber &&
		sought.offnum >= cached->run_first;
}

ZChainFound
zchain_find(ZPageView *view, int slotno, const ZOwner *from, ZSought sought,
			Snapshot snapshot, ZOwner *at, ZUndoRecord *rec)	/* tidy: where, and what is found */
{
	OffsetNumber offnum = sought.offnum;
	FullTransactionId owner = from->fxid;
	ZChainCursor cursor;
	ZOwner		newest;
	bool		whole;
	int			n = 0;

	Assert(offnum >= FirstOffsetNumber && offnum <= ZPAGE_MAX_OFFSET);
	whole = slot_newest(view, slotno, &newest) && zowner_equals(&newest, from);
	if (whole)
	{
		CachedDirectory *cached = known_directory(view, slotno, from);

		if (cached)
			return found_in(view, sought, is_of_run(cached, sought) ? from :
							&cached->dir.newest[offnum], at, rec);
	}
	zchain_open(&cursor, view, offnum, from);
	while (zchain_next(&cursor))
	{
		if (whole && ++n == LONG_WAY)
			known_note_long_way(view, slotno, from);
		if (zrec_undo_covers(&cursor.rec, offnum, sought.deleted))
		{
			*at = cursor.at;
			if (rec)
				*rec = cursor.rec;
			return ZCHAIN_FOUND;
		}
		if (cursor.rec.type == ZOP_DIRECTORY)
		{
			ZOwner		named;
			bool		damaged;

			/* a look into a directory costs as much as several records */
			if (whole)
				known_note_long_way(view, slotno, from);
			if (zrec_directory_find(&cursor.rec, offnum, &named, &damaged))
				return found_in(view, sought, &named, at, rec);
			if (damaged)
				directory_report(view, &cursor.at);
			return ZCHAIN_GONE;
		}
		if (!FullTransactionIdIsValid(cursor.next.fxid))
			break;
		if (snapshot != NULL && !FullTransactionIdEquals(cursor.next.fxid, owner))
		{
			owner = cursor.next.fxid;
			if (zmvcc_fxid_in_snapshot(owner, snapshot))
				return ZCHAIN_VISIBLE;
		}
	}
	return ZCHAIN_GONE;
}

/*
 * The command of the last search, or of the last record that the backend has made: a search
 * from "from" for such a version of a row at "first" .. "last" finds a record of this command.
 * A load asks for the command of each of its rows, and one record covers all those of a page; a
 * transaction often looks at the row that it has just changed.  As a record never changes, and
 * a transaction never has two at one place of the undo log (U1, U4), this stays right.
 */
static struct
{
	ZOwner		from;
	OffsetNumber first;
	OffsetNumber last;
	bool		deleted;		/* true if the record made deletions */
	CommandId	cid;
}			known_command;

/*
 * Remember the command of a record of our own.  Locks and tombstones make no version, and may
 * be about any version: they are left out.
 */
static void
remember_own_command(const ZOwner *at, const ZUndoRecord *rec, OffsetNumber last)
{
	if (rec->type != ZOP_INSERT && rec->type != ZOP_UPDATE && rec->type != ZOP_DELETE)
		return;
	known_command.from = *at;
	known_command.first = rec->offnum;
	known_command.last = last;
	known_command.deleted = rec->type == ZOP_DELETE;
	known_command.cid = rec->cid;
}

/* Remember the command of the record at "at", found by a search from "from". */
static void
remember_command(const ZOwner *from, OffsetNumber offnum, const ZOwner *at,
				 const ZUndoRecord *rec)
{
	bool		at_once = zowner_equals(from, at);

	known_command.from = *from;
	/* the records above it, which were skipped, may be about the other rows */
	known_command.first = at_once ? rec->offnum : offnum;
	known_command.last = at_once ? directory_last_covered(rec) : offnum;
	known_command.deleted = rec->type == ZOP_DELETE;
	known_command.cid = rec->cid;
	Assert(offnum >= known_command.first && offnum <= known_command.last);
}

bool
zchain_command(ZPageView *view, int slotno, const ZOwner *from, ZSought sought, CommandId *cid)
{
	OffsetNumber offnum = sought.offnum;
	CachedDirectory *cached = NULL;
	ZUndoRecord rec;
	ZOwner		newest;
	ZOwner		at;

	if (zowner_equals(&known_command.from, from) &&
		offnum >= known_command.first && offnum <= known_command.last &&
		sought.deleted == known_command.deleted)
	{
		*cid = known_command.cid;
		return true;
	}
	if (slot_newest(view, slotno, &newest))
		cached = known_directory(view, slotno, &newest);
	if (cached && (is_of_run(cached, sought) ||
				   (!zowner_equals(&newest, from) &&
					!zowner_equals(&cached->dir.newest[offnum], from))))
		cached = NULL;
	if (cached && cached->cids[offnum] != InvalidCommandId)
	{
		*cid = cached->cids[offnum];
		return true;
	}
	if (zchain_find(view, slotno, from, sought, NULL, &at, &rec) != ZCHAIN_FOUND)
		return false;
	*cid = rec.cid;
	if (cached && zowner_equals(&cached->dir.newest[offnum], &at))
		cached->cids[offnum] = rec.cid;
	remember_command(from, offnum, &at, &rec);
	return true;
}

void
zchain_added(ZPageView *view, FullTransactionId fxid, const ZUndoRecord *rec, ZUndoPtr ptr)
{
	ZOwner		at = {fxid, ptr};
	OffsetNumber last = directory_last_covered(rec);

	Assert(TransactionIdIsCurrentTransactionId(zfxid_xid(fxid)) && ptr != ZUNDO_INVALID);
	Assert(rec->slotno >= 1 && rec->slotno <= ZPAGE_MAX_LOCK_SLOTNO);
	remember_own_command(&at, rec, last);
	own_chain_added(&at, rec, Max(rec->offnum, FirstOffsetNumber), last);
	known_added(view, rec, &at);
}
