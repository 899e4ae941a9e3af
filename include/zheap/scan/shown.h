/*
 * shown.h
 *		The row that a scan has shown last.
 *
 * An UPDATE fetches each row that its scan has just found once more, by TID and with SnapshotAny,
 * and means the version that its snapshot sees (T1).  Usually that is still in the scan's slot, so
 * it need not be searched for on the page.
 */
#ifndef ZHEAP_SHOWN_H
#define ZHEAP_SHOWN_H

#include "executor/tuptable.h"
#include "storage/itemptr.h"

#include "zheap/mvcc/visibility.h"

typedef struct ZShown
{
	TupleTableSlot *slot;		/* NULL: no row is known */
	Oid			table;			/* the row's table; core may give the slot another one's OID */
	ZSnapshotMoment moment;		/* of an MVCC snapshot that sees the version in the slot */
} ZShown;

extern ZShown zshown;

/* Note that the version in the slot is what the snapshot sees of the row at the slot's TID. */
static inline void
zshown_note(TupleTableSlot *slot, Snapshot snapshot)
{
	Assert(!TTS_EMPTY(slot) && snapshot->snapshot_type == SNAPSHOT_MVCC);
	zshown.slot = slot;
	zshown.table = slot->tts_tableOid;
	zshown.moment = zmvcc_moment(snapshot);
}

/* Forget the row, as the slot is about to hold another one, or is no longer that row's. */
static inline void
zshown_forget(const TupleTableSlot *slot)
{
	if (zshown.slot == slot)
		zshown.slot = NULL;
}

/*
 * Return the slot with the version that the snapshot sees of the table's row, or NULL if it is not
 * known.  The slot is the scan's; it is valid until another row is stored in it, or it is cleared.
 * No locks, no errors.
 */
extern TupleTableSlot *zshown_find(Oid table, const ItemPointerData *tid, Snapshot snapshot);

#endif							/* ZHEAP_SHOWN_H */
