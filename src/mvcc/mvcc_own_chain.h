/*
 * mvcc_own_chain.h
 *		The chain that the backend is writing: private to mvcc_chain.c.
 */
#ifndef ZHEAP_MVCC_OWN_CHAIN_H
#define ZHEAP_MVCC_OWN_CHAIN_H

#include "zheap/mvcc/chain.h"

/* The backend has added a record about the rows "first" .. "last"; last < first: about none. */
extern void own_chain_added(const ZOwner *at, const ZUndoRecord *rec, OffsetNumber first,
							OffsetNumber last);

/* Fill in the directory of the chain, which is empty on entry.  False: the chain is another. */
extern bool own_chain_directory(ZRelLocator locator, BlockNumber block, int slotno,
								const ZOwner *newest, ZDirectory *dir);

#endif							/* ZHEAP_MVCC_OWN_CHAIN_H */
