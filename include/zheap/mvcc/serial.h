/*
 * serial.h
 *		Reads of SERIALIZABLE transactions (mvcc_serial.c).
 *
 * ERROR (data_corrupted) is raised by every function here that looks at a row or reads undo, if
 * the page, the row or its undo is damaged.  While no page is locked, reading undo can be
 * cancelled.
 */
#ifndef ZHEAP_SERIAL_H
#define ZHEAP_SERIAL_H

#include "zheap/mvcc/version.h"

/*
 * Set *tid to the name of a version in predicate locks: its TID, tagged with its parity.  A
 * reader of the version before the one that is replaced therefore has no conflict with the
 * replacement.
 */
extern void zmvcc_version_tid(ItemPointer tid, BlockNumber block, OffsetNumber offnum,
							  uint8 flags2);

/*
 * Report conflicts with all transactions whose changes of the row the snapshot does not see: a
 * scan of its page has skipped the row.  ERROR (serialization_failure) as
 * CheckForSerializableConflictOut.
 */
extern void zmvcc_conflicts_out(ZPageView *view, OffsetNumber offnum, Snapshot snapshot);

/* What a reader has read of one page, to be reported together. */
typedef struct ZSerialRow
{
	bool		seen;			/* true if the snapshot sees a version, which is to be locked */
	uint8		flags2;			/* its parity */
	TransactionId writer;		/* that made the version, if it may be our transaction */
} ZSerialRow;

typedef struct ZSerialReads
{
	int			nrows;
	OffsetNumber offsets[ZPAGE_MAX_OFFSET];
	ZSerialRow	rows[ZPAGE_MAX_OFFSET];
	FullTransactionId *unseen;	/* transactions with which the reader has a conflict */
	int			nunseen;
	int			alloc;
} ZSerialReads;

/*
 * Make "reads" empty; it must be zeroed the first time.  zserial_begin allocates in the current
 * context, zserial_end frees.
 */
extern void zserial_begin(ZSerialReads *reads);
extern void zserial_end(ZSerialReads *reads);

/*
 * Like zmvcc_fetch, but add to "reads" what is to be reported.  "whole": the scan does not know
 * which versions match, so that all that the snapshot does not see count.
 */
extern bool zserial_read(ZSerialReads *reads, ZPageView *view, OffsetNumber offnum,
						 Snapshot snapshot, bool whole, ZRowVersion *version);

/*
 * Report the reads and take the predicate locks.  "view": the page, locked and viewed in place.
 * The reads were of this view ("before" is NULL), or of a copy not older than "before".  Return
 * false, having done nothing, if a row has changed since, or if it takes long to find out.
 * ERROR (serialization_failure) on a dangerous conflict; PredicateLockTID's errors.
 */
extern bool zserial_report(const ZSerialReads *reads, ZPageView *before, ZPageView *view,
						   Snapshot snapshot);

/*
 * Like zmvcc_fetch, for a caller that reads a single row of a page that is viewed in place (share
 * lock): page[0] is its buffer, page[1] its overflow page's.  If the transaction takes part in
 * serializable snapshot isolation, lock the row's TID if a version is visible, and report
 * conflicts with transactions whose changes are not.  On exit the view may be of a copy, the
 * page unlocked and the overflow page released (view->locked is false then).  ERROR
 * (serialization_failure) as zserial_report.
 */
extern bool zmvcc_fetch_serial(ZPageView *view, Buffer *page, OffsetNumber offnum,
							   Snapshot snapshot, ZRowVersion *version);

#endif							/* ZHEAP_SERIAL_H */
