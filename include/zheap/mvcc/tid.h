/*
 * tid.h
 *		Tagged TIDs.
 */
#ifndef ZHEAP_TID_H
#define ZHEAP_TID_H

#include "storage/itemptr.h"

/*
 * Old and new version of a row share a TID.  TIDs that core keeps between calls
 * say which one they mean by a tag in the spare high bits of the offset number:
 *
 *	NONE		as an index has it.  While a query runs: the version that its
 *				snapshot sees.  In an AFTER ROW event: the row as inserted, or what
 *				the update made of the old version that was fetched just before.
 *	1 .. 29		the k-th version of the row in our own transaction: 1 is the one
 *				that it found or inserted.  What AFTER ROW events keep of an update.
 *	REPLACED	the version that our last update replaced: tuple_update's answer
 *				where no event can keep it.
 *	LAST		the last version of a row that only we can change: after
 *				tuple_lock the newest, after tuple_delete the one deleted.  Also the
 *				newest, of others, that is in the way of ON CONFLICT.
 *
 * Ordinals count versions that are not rolled back.  An event's own rollback
 * takes the event with it, so the versions up to the one it names stay as they
 * are for as long as there is an event to ask for it.
 */
#define ZTID_OFFSET_BITS	11
#define ZTID_OFFSET_MASK	((1 << ZTID_OFFSET_BITS) - 1)
#define ZTID_TAG_NONE		0
#define ZTID_MAX_ORDINAL	29
#define ZTID_TAG_REPLACED	30
#define ZTID_TAG_LAST		31

static inline int
ztid_tag(const ItemPointerData *tid)
{
	return tid->ip_posid >> ZTID_OFFSET_BITS;
}

static inline ItemPointerData
ztid_untagged(const ItemPointerData *tid)
{
	ItemPointerData result = *tid;

	result.ip_posid &= ZTID_OFFSET_MASK;
	return result;
}

static inline void
ztid_set_tag(ItemPointer tid, int tag)
{
	tid->ip_posid = (tid->ip_posid & ZTID_OFFSET_MASK) | (tag << ZTID_OFFSET_BITS);
}

#endif							/* ZHEAP_TID_H */
