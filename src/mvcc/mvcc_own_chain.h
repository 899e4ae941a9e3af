/*
 * mvcc_own_chain.h
 *		The chain that the backend is writing: private to mvcc_chain.c.
 */
#ifndef ZHEAP_MVCC_OWN_CHAIN_H
#define ZHEAP_MVCC_OWN_CHAIN_H

#include "zheap/mvcc/chain.h"

/*
 * The backend has added a record about the rows "first" .. "last"; last < first: about none.  Of a
 * run of deletions it is about those that have been deleted.
 */
extern void own_chain_added(const ZOwner *at, const ZUndoRecord *rec, OffsetNumber first,
							OffsetNumber last);

/*
 * Fill in the directory of the chain, which is empty on entry.  *run_first: from which row on its
 * newest record is a run of deletions, whose rows are left out; invalid: it is none.  False: the
 * chain is another.
 */
extern bool own_chain_directory(ZPageView *view, int slotno, const ZOwner *newest,
								ZDirectory *dir, OffsetNumber *run_first);

/*
 * Which rows has a run of deletions deleted?  Those that the page shows as deleted, with this
 * slot, unless a newer record is about them (C3).  Valid from the moment on when the run
 * does not go on any more.
 */
static inline bool
zchain_run_deleted(ZPageView *view, int slotno, OffsetNumber offnum)
{
	return zpage_row_deleted_under(view->original ? view->original : view->page, offnum, slotno);
}

#endif							/* ZHEAP_MVCC_OWN_CHAIN_H */
