/*
 * scan_shown.c
 *		The row that a scan has shown last.
 *
 * What a snapshot sees of a row does not change (V1), so what it is said to have seen holds as
 * long as the slot has the row and the snapshot stands at the same command (E4).  The
 * snapshot is known by its address: a scan whose slot still has a row has not ended, and
 * the executor keeps its snapshot registered till then.  Should a slot have a row for longer, the
 * number of transactions that had ended when the snapshot was taken tells another one at the
 * same address; and nothing that was shown outlives the resource owner.
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

	if (slot == NULL || zshown.snapshot != snapshot ||
		zshown.completions != snapshot->snapXactCompletionCount ||
		zshown.curcid != snapshot->curcid || slot->tts_tableOid != table ||
		!ItemPointerEquals(&slot->tts_tid, unconstify(ItemPointerData *, tid)))
		return NULL;
	Assert(!TTS_EMPTY(slot));
	return slot;
}
