/*
 * scan_shown.c
 *		The row that a scan has shown last.
 *
 * What a snapshot sees of a row does not change (V1).  So the version in the slot remains what the
 * snapshot sees as long as the slot has the row and the snapshot stands at the same command (E4).
 * The snapshot is identified by its address: a scan whose slot still has a row has not ended, and
 * the executor keeps its snapshot registered until then.  Nothing that was shown outlives the
 * release of a resource owner, which happens at the end of each (sub)transaction or portal.
 *
 * The scan's slot is also core's.  INSERT ...  SELECT may pass it on as the new row, with that
 * table's OID; the row's TID follows if it is inserted (ztuple_slot_written).  So the table that
 * was scanned and the one that the slot names must both be the one asked for.
 *
 * LOCKING: none, all is private to the backend.
 */
#include "postgres.h"

#include "zheap/scan/shown.h"

ZShown		zshown;

TupleTableSlot *
zshown_find(Oid table, const ItemPointerData *tid, Snapshot snapshot)
{
	TupleTableSlot *slot = zshown.slot;

	/* core makes a new row in the scan's slot, and may continue with another one's TID */
	if (slot == NULL || zshown.table != table || slot->tts_tableOid != table ||
		!zmvcc_sees_same(&zshown.moment, snapshot) ||
		!ItemPointerEquals(&slot->tts_tid, unconstify(ItemPointerData *, tid)))
		return NULL;
	Assert(!TTS_EMPTY(slot));
	return slot;
}
