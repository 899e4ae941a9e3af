/*
 * mvcc_own_chain.h
 *		The chain that the backend is writing: private to mvcc_known.c and
 *		mvcc_find.c.
 */
#ifndef ZHEAP_MVCC_OWN_CHAIN_H
#define ZHEAP_MVCC_OWN_CHAIN_H

#include "zheap/record/record.h"

#include "mvcc_directory.h"

/*
 * Note that the backend has added a record about the rows "first" .. "last", or about none
 * (last < first).  A run of deletions is about those of these rows that have been deleted.
 */
extern void own_chain_added(const ZOwner *at, const ZUndoRecord *rec, OffsetNumber first,
							OffsetNumber last);

/*
 * Fill in the directory of the chain, which is empty on entry.  Return false if another chain
 * is kept.  *run_first is the first row of a run of deletions if that is the newest record,
 * whose rows are left out, else invalid.
 */
extern bool own_chain_directory(ZPageView *view, int slotno, const ZOwner *newest,
								ZDirectory *dir, OffsetNumber *run_first);

#endif							/* ZHEAP_MVCC_OWN_CHAIN_H */
