/*
 * undo_holders.h
 *		Sizes of undo, and the holders that keep the horizon back.
 */
#ifndef ZHEAP_UNDO_HOLDERS_H
#define ZHEAP_UNDO_HOLDERS_H

#include "access/transam.h"
#include "access/xact.h"

#include "zheap/base/base.h"

typedef struct ZUndoStats
{
	BlockNumber nblocks;		/* size of the undo relation */
	BlockNumber high_water;		/* the greatest nblocks ever */
	uint32		extents_used;
	uint32		extents_free;
	uint32		extents_pending;	/* extents in use, from the position that each log is
									 * pending from; an estimate */
	int			logs;
	int			logs_pending;
	int			transactions_pending;	/* after a restart a lower bound */
	FullTransactionId horizon;
	FullTransactionId next;		/* the next xid */
} ZUndoStats;

/*
 * Compute the sizes, after moving the horizon (except in recovery).  No buffer lock and no
 * LWLock may be held.  ERROR as zundo_open(); ERROR (data_corrupted) if the meta page is
 * damaged.
 */
extern void zundo_stats(ZUndoStats *stats);

typedef enum ZUndoHolderKind
{
	ZUNDO_HOLDER_BACKEND,
	ZUNDO_HOLDER_PREPARED,		/* prepared transaction */
	ZUNDO_HOLDER_SLOT,			/* replication slot */
	ZUNDO_HOLDER_STANDBY,		/* hot_standby_feedback of a standby without a slot */
	ZUNDO_HOLDER_ABORTED		/* aborted, not yet rolled back everywhere */
} ZUndoHolderKind;

typedef struct ZUndoHolder
{
	ZUndoHolderKind kind;
	int			pid;			/* of the backend or walsender, else 0 */
	char		name[GIDSIZE];	/* name of the slot, or GID of the prepared transaction */
	Oid			relid;			/* ABORTED: a table whose rows the last sweep could not roll
								 * back; or invalid.  "pid" and "name" are those of the
								 * transaction that has it locked, if any */
	TransactionId prepared;		/* xid of the prepared transaction */
	FullTransactionId xid;		/* the oldest xid whose undo is kept */
	int			rank;			/* of two with the same xid the lower rank is the reason */
	uint64		bytes;			/* set by zundo_holders_weigh() */
} ZUndoHolder;

/*
 * Return the holders of this database, oldest xid first, palloc'd; *n is their number.  No
 * LWLock may be held.  GIDs are read by the server's SQL function, unless buffer locks are
 * held: then "name" is empty.  ERROR as zundo_open().
 */
extern ZUndoHolder *zundo_holders(int *n);

/*
 * Set the bytes of undo that each would keep if it were the only holder.  An estimate: undo
 * from before the start of the server cannot be told apart, and a few per cent are uncertain.
 * Takes the database's lock, shared; raises no error.  zundo_open() must have been called.
 */
extern void zundo_holders_weigh(ZUndoHolder *holders, int n);

/*
 * Return what the holder keeps, as a whole sentence for a DETAIL: translated, palloc'd.  The
 * table's name is looked up in the catalog, unless a buffer lock is held.
 */
extern char *zundo_holder_text(const ZUndoHolder *holder);

/*
 * Write a LOG message if undo is kept for longer than zheap.undo_hold_warning, with the holder.
 * Looks only from time to time.  No buffer lock and no LWLock may be held; zundo_open() must
 * have been called.
 */
extern void zundo_hold_warn(void);

#endif							/* ZHEAP_UNDO_HOLDERS_H */
