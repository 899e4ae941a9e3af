/*
 * shown.h
 *		The row that a scan has shown last.
 *
 * An UPDATE fetches each row that its scan has just found once more, by TID and with
 * SnapshotAny, and means the version that its snapshot sees (T1).  As a rule that is in
 * the scan's slot at that moment, so it need not be looked for on the page.
 */
#ifndef ZHEAP_SHOWN_H
#define ZHEAP_SHOWN_H

#include "executor/tuptable.h"
#include "storage/itemptr.h"
#include "utils/snapshot.h"

typedef struct ZShown
{
	TupleTableSlot *slot;		/* or NULL: not known */
	Oid			table;			/* the row's; core may give the slot another one's */
	Snapshot	snapshot;		/* an MVCC snapshot that sees what the slot has */
	CommandId	curcid;			/* its command then */
} ZShown;

extern ZShown zshown;

/* The snapshot sees, of the row that the slot's TID names, the version in the slot. */
static inline void
zshown_note(TupleTableSlot *slot, Snapshot snapshot)
{
	Assert(!TTS_EMPTY(slot) && snapshot->snapshot_type == SNAPSHOT_MVCC);
	zshown.slot = slot;
	zshown.table = slot->tts_tableOid;
	zshown.snapshot = snapshot;
	zshown.curcid = snapshot->curcid;
}

/* The slot is about to hold something else, or is no longer that row's. */
static inline void
zshown_forget(const TupleTableSlot *slot)
{
	if (zshown.slot == slot)
		zshown.slot = NULL;
}

/*
 * A slot with the version that the snapshot sees of the table's row; NULL: it is to be looked
 * for.  The slot stays as it is until the next row is stored in it, or it is cleared.
 */
extern TupleTableSlot *zshown_find(Oid table, const ItemPointerData *tid, Snapshot snapshot);

#endif							/* ZHEAP_SHOWN_H */
