/*
 * page_copy.h
 *		Private copies of table pages that scans and executor slots share.
 *
 * A scan copies a page, and executor slots refer to rows on the copy.  The scan and each such slot
 * hold a reference to it, as they would hold a pin of a buffer.  When the last reference is
 * dropped the copy returns to the backend, which keeps some for the next scan.  As with pins,
 * references that an error leaves behind are released with the resource owner under which the page
 * was copied.
 *
 * E1 A copy is written only by a scan that has the only reference to it.  E2 A slot that refers to
 * a row on a copy has a reference to the copy.
 *
 * The scan has unpinned the page itself.  A statement that deletes row after row of it pins it
 * once and leaves the pin to the copy (zcopy_take_pin), which releases it when the copy is given
 * back or used for another page: when heap's scan and slots would release theirs.
 *
 * No function here takes a lock, except that zcopy_read reads a page.
 */
#ifndef ZHEAP_PAGE_COPY_H
#define ZHEAP_PAGE_COPY_H

#include "lib/ilist.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "zheap/mvcc/view.h"

typedef struct ZPageCopy
{
	PGAlignedBlock page;
	FullTransactionId horizon;	/* of the view that copied it; owners older than it need no name */
	bool		nameless;		/* what made its rows is not to be shown */
	int			references;
	ResourceOwner owner;
	RelFileLocator file;		/* the page, if it was copied whole ... */
	BlockNumber block;
	Buffer		pinned;			/* ... and its buffer, while the copy has a pin of it, for "owner" */
	dlist_node	node;			/* in the list of copies in use, or of spare ones */
} ZPageCopy;

/* The copy that was made last of a whole page; NULL if that one has been given back. */
extern ZPageCopy *zcopy_last;

/*
 * Return a copy to be written, with one reference, for the current resource owner.  It is "had",
 * if the caller has the only reference to it.  Otherwise it is another one, and the caller's
 * reference to "had", which may be NULL, is dropped.
 */
extern ZPageCopy *zcopy_renew(ZPageCopy *had);

/*
 * Copy a page, which the caller has pinned and not locked, into the view, for the current resource
 * owner.
 *
 * *copy is NULL or the previous copy, to which the caller has a reference; it is reused if that is
 * the only one.  Afterwards the caller has the only reference to *copy (E1).  Return false if the
 * page holds no rows.  Takes and releases the page's share lock; ERROR (data_corrupted) if the
 * page is damaged.
 */
extern bool zcopy_read(ZPageCopy **copy, ZPageView *view, Buffer buffer);

/* Drop the caller's reference; *copy and the view's become NULL. */
extern void zcopy_forget(ZPageCopy **copy, ZPageView *view);

/* Put a copy without references into the list of spare ones, or free it. */
extern void zcopy_give_back(ZPageCopy *copy);

/*
 * Return whether the copy that was made last is one of this page.  The table is not temporary: its
 * file could have the number of another table's.
 */
static inline bool
zcopy_last_is_of(Relation rel, BlockNumber block)
{
	Assert(!RelationUsesLocalBuffers(rel));
	return zcopy_last != NULL && zcopy_last->block == block &&
		RelFileLocatorEquals(zcopy_last->file, rel->rd_locator);
}

/*
 * Return the page's buffer if the copy that was made last has a pin of it, else InvalidBuffer.
 * The pin remains the copy's: it lasts while the caller neither reads rows nor clears a slot.
 */
static inline Buffer
zcopy_pinned(Relation rel, BlockNumber block)
{
	return zcopy_last_is_of(rel, block) ? zcopy_last->pinned : InvalidBuffer;
}

/*
 * Leave the caller's pin of the page to the copy that was made last, if it is one of that page,
 * for the current resource owner, and has no pin yet.  Return whether it has taken the pin, which
 * the caller must not release then.
 */
extern bool zcopy_take_pin(Relation rel, BlockNumber block, Buffer buffer);

/* Add, and drop, a reference. */
static inline void
zcopy_hold(ZPageCopy *copy)
{
	Assert(copy->references > 0);
	copy->references++;
}

/* End a reference.  The last one gives the copy's memory back. */
static inline void
zcopy_drop(ZPageCopy *copy)
{
	Assert(copy->references > 0);
	if (--copy->references == 0)
		zcopy_give_back(copy);
}

/* Register the release of copies with resource owners; called once, when the library is loaded. */
extern void zcopy_register(void);

#endif							/* ZHEAP_PAGE_COPY_H */
