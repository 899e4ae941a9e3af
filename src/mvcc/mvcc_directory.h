/*
 * mvcc_directory.h
 *		Directories of chains, built from their records: private to the files that keep and use
 *		them.
 */
#ifndef ZHEAP_MVCC_DIRECTORY_H
#define ZHEAP_MVCC_DIRECTORY_H

#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"
#include "zheap/record/record.h"

/* Return whether the owners are the same transaction, with the same newest record. */
static inline bool
zowner_equals(const ZOwner *a, const ZOwner *b)
{
	return a->undo == b->undo && FullTransactionIdEquals(a->fxid, b->fxid);
}

/*
 * Return whether a run of deletions has deleted the row: the page shows it as deleted, under
 * this slot, and no newer record is about it (C3).  Valid once the run is complete.
 */
static inline bool
zchain_run_deleted(ZPageView *view, int slotno, OffsetNumber offnum)
{
	return zpage_row_deleted_under(view->original ? view->original : view->page, offnum, slotno);
}

/* Raise ERROR (data_corrupted): the directory at "at" cannot be read. */
extern void directory_report(ZPageView *view, const ZOwner *at);

/* Make the directory empty. */
extern void directory_clear(ZDirectory *dir);

/* Enter a row lock, unless a stronger one is there. */
extern void directory_add_lock(ZDirectory *dir, OffsetNumber offnum, int mode);

/*
 * Return the last of the rows that a record is about, which begin with its offnum; of a run of
 * deletions only some of them are meant.  InvalidOffsetNumber: the record is about no row.
 */
extern OffsetNumber directory_last_covered(const ZUndoRecord *rec);

/*
 * Build the directory of the chain from "from" on, into *dir, which is cleared.  *run_first is
 * the first row of a run of deletions if that is the newest record, else invalid; the run's
 * rows are left out.  ERROR (data_corrupted) if a record cannot be read.
 */
extern void directory_build(ZPageView *view, int slotno, const ZOwner *from, ZDirectory *dir,
							OffsetNumber *run_first);

#endif							/* ZHEAP_MVCC_DIRECTORY_H */
