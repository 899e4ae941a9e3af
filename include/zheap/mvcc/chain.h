/*
 * chain.h
 *		The undo records of one transaction slot about one page.
 *
 * From the slot's pointer the records lead from the newest to the oldest: those of
 * the slot's owner (page_prev), then, if the slot was taken over from a transaction
 * that some snapshot might not see, those of that one (slot_prev), and so on.  Each
 * owner before had ended when the next one came, or is an earlier subtransaction of
 * the same transaction.
 *
 * C1	Among any ZCHAIN_INTERVAL + 1 records that follow each other in a chain there
 *		is a directory, or the chain's last record.  A directory tells of every row
 *		its newest record further down; what it does not name is visible to all.
 *
 * So the way from a slot, or from any record of its chain, to the newest record about
 * a row is never longer than ZCHAIN_INTERVAL + 2 records, whatever else the owner did
 * to the page and however many owners there were.
 */
#ifndef ZHEAP_CHAIN_H
#define ZHEAP_CHAIN_H

#include "zheap/mvcc/mvcc.h"

/*
 * Going down a chain, record by record.
 */
typedef struct ZChainCursor
{
	ZPageView  *view;
	OffsetNumber offnum;		/* the row concerned, for messages; or invalid */
	bool		past_horizon;	/* go on as far as there are records */
	ZOwner		next;			/* the record to be read next; invalid fxid: none */
	ZOwner		at;				/* the record read last: whose, and where */
	ZUndoRecord rec;			/* rec.mid is valid until the next read */
#ifdef USE_ASSERT_CHECKING
	int			count;			/* records read since the last directory */
#endif
} ZChainCursor;

extern void zchain_open(ZChainCursor *cursor, ZPageView *view, OffsetNumber offnum,
						const ZOwner *from);

/*
 * The next record.  False: the chain ends, or all that follows is visible to all.
 * May be cancelled unless a page is locked.  ERROR (data corrupted) if the record
 * cannot be read.
 */
extern bool zchain_next(ZChainCursor *cursor);

/*
 * Read the one record at "at"; false: it has been recycled, so that it is visible to
 * all.  ERROR (data corrupted) if it cannot be read.
 */
extern bool zchain_read(ZPageView *view, OffsetNumber offnum, const ZOwner *at,
						ZUndoRecord *rec);

/*
 * Of an owner in a chain: do its locks count?  If the locks of one do, so do those of the
 * owners before it, as far as they are of its transaction: an owner before is a
 * subtransaction that had ended or one that it is nested in when it took the slot, so
 * that it is rolled back with what came before it, or alone.
 */
static inline bool
zchain_holds_locks(ZXactStatus status)
{
	return status == ZXACT_OWN || status == ZXACT_IN_PROGRESS;
}

/* The version whose record is looked for: of which row, and is it a deletion? */
typedef struct ZSought
{
	OffsetNumber offnum;
	bool		deleted;
} ZSought;

static inline ZSought
zsought(const ZRowVersion *version)
{
	ZSought		sought = {version->offnum, (version->hdr.flags & ZROW_DELETED) != 0};

	return sought;
}

typedef enum ZChainFound
{
	ZCHAIN_FOUND,
	ZCHAIN_VISIBLE,				/* not found: whatever there was is visible */
	ZCHAIN_GONE					/* not found: there was none that is not visible to all */
} ZChainFound;

/*
 * The newest record about the row in the chain of slot "slotno" (0: not known) that can have
 * made the version, from the record at "from" on.  FOUND: *at tells whose it is and where; "rec",
 * if not NULL, is the record.  With a snapshot (else NULL) the search ends at an owner
 * that it sees: VISIBLE.
 */
extern ZChainFound zchain_find(ZPageView *view, int slotno, const ZOwner *from,
							   ZSought sought, Snapshot snapshot, ZOwner *at,
							   ZUndoRecord *rec);

/*
 * The command of the record that zchain_find would give; false: there is none.
 */
extern bool zchain_command(ZPageView *view, int slotno, const ZOwner *from,
						   ZSought sought, CommandId *cid);

/*
 * The directory of slot "slotno" as its chain is now: of each row the newest record, but for what
 * zchain_whole_directory() adds.
 * Reads at most ZCHAIN_INTERVAL + 1 records, none if the backend has built it
 * lately.  Valid until the next call of this file's functions.
 */
extern const ZDirectory *zchain_directory(ZPageView *view, int slotno);

/*
 * A copy of it, to be written: the page is locked exclusively.  If the chain's newest record is a
 * run of deletions, its rows are there as well; zchain_directory leaves them out, for more may
 * come.
 */
extern void zchain_whole_directory(ZPageView *view, int slotno, ZDirectory *dir);

/*
 * What was the directory of a slot with the owner "before" becomes what that of a record is which
 * takes the slot over (ZTAKE_REUSED).
 */
extern void zchain_take_over_directory(ZDirectory *dir, const ZOwner *before);

/* The backend has added the record at "ptr" to its chain on the page, which is as it is now. */
extern void zchain_added(ZPageView *view, FullTransactionId fxid, const ZUndoRecord *rec,
						 ZUndoPtr ptr);

#endif							/* ZHEAP_CHAIN_H */
