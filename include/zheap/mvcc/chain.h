/*
 * chain.h
 *		The undo records of one transaction slot about one page.
 *
 * The slot's pointer leads from the newest record to the oldest: first the records of the
 * slot's owner (page_prev), then, if the slot was taken over from a transaction that some
 * snapshot might not see, the records of that owner (slot_prev), and so on.  Each earlier owner
 * had ended when the next one took the slot, or is an earlier subtransaction of the same
 * transaction.
 *
 * C1	Among any ZCHAIN_INTERVAL + 1 records that follow each other in a chain there
 *		is a directory, or the chain's last record.  A directory names, for every row, its
 *		newest record further down; a row that it does not name is visible to all.
 *
 * So the way from a slot, or from any record of its chain, to the newest record about a row is
 * never longer than ZCHAIN_INTERVAL + 2 records, whatever else the owner did to the page and
 * however many owners there were.
 *
 * ERROR (data_corrupted) is raised by every function here that reads undo and meets a record
 * that is gone though its transaction is not below the horizon, that cannot be decoded, or that
 * does not fit the row.
 */
#ifndef ZHEAP_CHAIN_H
#define ZHEAP_CHAIN_H

#include "zheap/mvcc/status.h"
#include "zheap/mvcc/version.h"
#include "zheap/record/record.h"

/* A position in a chain, for reading it from newer to older records. */
typedef struct ZChainCursor
{
	ZPageView  *view;
	OffsetNumber offnum;		/* the row concerned, for messages; or invalid */
	bool		past_horizon;	/* read on below the horizon, as far as there are records */
	ZOwner		next;			/* the record to be read next; invalid fxid if the chain ends */
	ZOwner		at;				/* owner and place of the record read last */
	ZUndoRecord rec;			/* rec.mid is valid until the next read */
#ifdef USE_ASSERT_CHECKING
	int			count;			/* records read since the last directory */
#endif
} ZChainCursor;

/*
 * Set up the cursor to read from the record at "from" on.  Reads nothing.  There is no close:
 * the cursor owns no memory.
 */
extern void zchain_open(ZChainCursor *cursor, ZPageView *view, OffsetNumber offnum,
						const ZOwner *from);

/*
 * Read the next record into cursor->rec, its owner and place into cursor->at.  Return false if
 * the chain ends, or if everything that follows is visible to all.  Interruptible unless a page
 * is locked.  ERROR (data_corrupted) if the record cannot be read.
 */
extern bool zchain_next(ZChainCursor *cursor);

/*
 * Read the record at "at".  Return false if it has been recycled, so that its version is
 * visible to all, or if the view's limit is reached (view->unfinished).  rec->mid is valid
 * until the next read.  Locks one undo page at a time; interruptible unless a page is locked.
 * ERROR (data_corrupted) if the record cannot be read.
 */
extern bool zchain_read(ZPageView *view, OffsetNumber offnum, const ZOwner *at,
						ZUndoRecord *rec);

/*
 * Return whether the row locks of an owner with this status count.  If those of one owner
 * count, so do those of the owners before it that belong to the same transaction: such an owner
 * is a subtransaction that had ended when the next one took the slot, or one in which the next
 * one is nested, so it is never rolled back without the next one.
 */
static inline bool
zchain_holds_locks(ZXactStatus status)
{
	return status == ZXACT_OWN || status == ZXACT_IN_PROGRESS;
}

/* The version whose record is searched for: its row, and whether it is a deletion. */
typedef struct ZSought
{
	OffsetNumber offnum;
	bool		deleted;
} ZSought;

/* The search for the version's record: its row, and whether it is a deletion. */
static inline ZSought
zsought(const ZRowVersion *version)
{
	ZSought		sought = {version->offnum, zversion_is_deleted(version)};

	return sought;
}

typedef enum ZChainFound
{
	ZCHAIN_FOUND,
	ZCHAIN_VISIBLE,				/* not found: the search ended at an owner that the snapshot
								 * sees */
	ZCHAIN_GONE					/* not found: no record, or only one that is visible to all */
} ZChainFound;

/*
 * Search the chain of slot "slotno" (0: not known), from the record at "from" on, for the
 * newest record about the row that can have made the version.  FOUND: *at is its owner and
 * place, and *rec, if rec is not NULL, the record, whose bytes are valid until the next read.
 * With a snapshot (it may be NULL) the search ends at an owner that the snapshot sees: VISIBLE.
 * Reads at most ZVIEW_STEP_READS records (C1).  ERROR (data_corrupted) as above.
 */
extern ZChainFound zchain_find(ZPageView *view, int slotno, const ZOwner *from,
							   ZSought sought, Snapshot snapshot, ZOwner *at,
							   ZUndoRecord *rec);

/*
 * Get the command of the record that zchain_find would find.  Return false if there is none.
 * Often answered from memory.
 */
extern bool zchain_command(ZPageView *view, int slotno, const ZOwner *from,
						   ZSought sought, CommandId *cid);

/*
 * Return the directory of slot "slotno" as its chain is now: each row's newest record, without
 * the rows of a run of deletions that is the chain's newest record (zchain_whole_directory()
 * adds them).  Reads at most ZCHAIN_INTERVAL + 1 records, or none if the backend has built the
 * directory lately; the view must have no limit.  The result belongs to the backend's cache,
 * and is valid until the next call of a function of this header.
 */
extern const ZDirectory *zchain_directory(ZPageView *view, int slotno);

/*
 * Copy the directory into *dir, to be written to undo: the caller holds the page locked
 * exclusively.  If the chain's newest record is a run of deletions, its rows are included;
 * zchain_directory leaves them out, for the run may go on.
 */
extern void zchain_whole_directory(ZPageView *view, int slotno, ZDirectory *dir);

/*
 * Turn the directory of a slot with the owner "before" into that of a record that takes the
 * slot over (ZTAKE_REUSED).  Locks of another transaction are removed, as they ended with it.
 */
extern void zchain_take_over_directory(ZDirectory *dir, const ZOwner *before);

/*
 * Note that the backend has added the record at "ptr" to its chain on the page, which is now as
 * the change left it, or unlocked and not viewed any more (view->page is NULL).  Keeps the
 * remembered directory and command up to date.  Reads no undo; raises no error.
 */
extern void zchain_added(ZPageView *view, FullTransactionId fxid, const ZUndoRecord *rec,
						 ZUndoPtr ptr);

#endif							/* ZHEAP_CHAIN_H */
