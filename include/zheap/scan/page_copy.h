/*
 * page_copy.h
 *		Private copies of table pages that scans and tuple slots share.
 *
 * A scan copies a page and lets slots refer to rows on the copy.  Each of them holds a
 * reference, as it would hold a pin of a buffer; who drops the last one gives the copy
 * back, and the backend keeps some for the next scan.  As with pins, references
 * that an error leaves behind go with the resource owner under which the page was copied.
 *
 * E1	A copy is written only by a scan that has the only reference to it.
 * E2	A slot that refers to a row on a copy has a reference to the copy.
 */
#ifndef ZHEAP_PAGE_COPY_H
#define ZHEAP_PAGE_COPY_H

#include "lib/ilist.h"
#include "storage/bufmgr.h"
#include "utils/resowner.h"

#include "zheap/mvcc/mvcc.h"

typedef struct ZPageCopy
{
	PGAlignedBlock page;
	FullTransactionId horizon;	/* of the view that made it: who is below needs no name */
	int			references;
	ResourceOwner owner;
	dlist_node	node;			/* with the others in use, or spare */
} ZPageCopy;

/*
 * A copy to be written, for the current resource owner: the one that the caller had, or NULL,
 * if it has the only reference to it; else another one, and the caller's reference is dropped.
 */
extern ZPageCopy *zcopy_renew(ZPageCopy *had);

/*
 * Copy a pinned page into the view, for the current resource owner.  *copy is NULL or what was
 * read before, to which the caller has a reference; it is used again if it has the only
 * one, which it has afterwards (E1).  False as zview_read.
 */
extern bool zcopy_read(ZPageCopy **copy, ZPageView *view, Buffer buffer);

/* *copy becomes NULL, and the view has no copy either. */
extern void zcopy_forget(ZPageCopy **copy, ZPageView *view);

extern void zcopy_give_back(ZPageCopy *copy);

static inline void
zcopy_hold(ZPageCopy *copy)
{
	Assert(copy->references > 0);
	copy->references++;
}

static inline void
zcopy_drop(ZPageCopy *copy)
{
	Assert(copy->references > 0);
	if (--copy->references == 0)
		zcopy_give_back(copy);
}

extern void zcopy_register(void);

#endif							/* ZHEAP_PAGE_COPY_H */
