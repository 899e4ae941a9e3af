/*
 * undo_holders.h
 *		Sizes of undo, and the holders that keep it.
 */
#ifndef ZHEAP_UNDO_HOLDERS_H
#define ZHEAP_UNDO_HOLDERS_H

#include "access/transam.h"
#include "access/xact.h"

#include "zheap/base/base.h"

typedef struct ZUndoStats
{
	BlockNumber nblocks;		/* of the undo relation */
	BlockNumber high_water;		/* the greatest nblocks ever */
	uint32		extents_used;
	uint32		extents_free;
	uint32		extents_pending;	/* used, in logs from what is pending on; about */
	int			logs;
	int			logs_pending;
	int			transactions_pending;	/* after a restart: at least so many */
	FullTransactionId horizon;
	FullTransactionId next;		/* the next xid */
} ZUndoStats;

extern void zundo_stats(ZUndoStats *stats);

typedef enum ZUndoHolderKind
{
	ZUNDO_HOLDER_BACKEND,
	ZUNDO_HOLDER_PREPARED,		/* prepared transaction */
	ZUNDO_HOLDER_SLOT,			/* replication slot */
	ZUNDO_HOLDER_STANDBY,		/* hot_standby_feedback, without a slot */
	ZUNDO_HOLDER_ABORTED		/* aborted, not yet rolled back everywhere */
} ZUndoHolderKind;

typedef struct ZUndoHolder
{
	ZUndoHolderKind kind;
	int			pid;			/* of the backend or walsender, else 0 */
	char		name[GIDSIZE];	/* of the slot, GID of the transaction */
	Oid			relid;			/* ABORTED: a table whose rows could not be rolled back when
								 * that was last tried; or invalid.  "pid" and "name" are those
								 * of the transaction that has it locked, if any */
	TransactionId prepared;		/* the prepared transaction that "name" is the GID of */
	FullTransactionId xid;		/* undo of this one and later ones is kept */
	int			rank;			/* of two with the same xid the lower is the reason */
	uint64		bytes;			/* zundo_holders_weigh() */
} ZUndoHolder;

/*
 * All that keep the horizon of this database back, oldest first, allocated.  A
 * few catalog entries are read for GIDs unless buffer locks are held.
 */
extern ZUndoHolder *zundo_holders(int *n);

/*
 * Fill in the bytes of undo that would be kept if each was the only one.  What was there
 * when the server started is not told apart, nor are the last few per cent.
 */
extern void zundo_holders_weigh(ZUndoHolder *holders, int n);

/* What it keeps, as a whole sentence for a DETAIL: translated, allocated. */
extern char *zundo_holder_text(const ZUndoHolder *holder);

/*
 * LOG that undo is held for longer than zheap.undo_hold_warning, and by whom, if
 * so; from time to time only.  No buffer lock may be held.
 */
extern void zundo_hold_warn(void);

#endif							/* ZHEAP_UNDO_HOLDERS_H */
