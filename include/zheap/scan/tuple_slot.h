/*
 * tuple_slot.h
 *		The executor's slot for rows of zheap tables.
 *
 * The slot owns a copy of its row's bytes, so it needs no buffer pin and stays
 * valid whatever happens to the page or to the scan that filled it.
 */
#ifndef ZHEAP_TUPLE_SLOT_H
#define ZHEAP_TUPLE_SLOT_H

#include "executor/tuptable.h"
#include "storage/itemptr.h"

#include "zheap/mvcc/version_id.h"
#include "zheap/page/row.h"

typedef struct ZTupleSlot
{
	TupleTableSlot base;
	char	   *row;			/* our copy, or NULL: only values (virtual) */
	uint32		row_len;
	uint32		room_alloc;		/* bytes palloc'd at room */
	char	   *room;			/* where rows are copied to, kept from row to row */
	ZRowDeform	deform;
	uint32		scratch_alloc;
	char	   *data;			/* materialised values, when virtual */
	bool		has_version_id;	/* version is meaningful: the row came from a table */
	ZVersionId	version_id;
} ZTupleSlot;

extern const TupleTableSlotOps TTSOpsZheap;

#define TTS_IS_ZHEAP(slot)	((slot)->tts_ops == &TTSOpsZheap)

/*
 * Store a copy of a row (padding excluded).  Any earlier content is cleared.
 * "tid" goes to tts_tid as it is.
 */
extern void ztuple_slot_store(TupleTableSlot *slot, const char *row, uint32 len,
							  const ItemPointerData *tid, Oid table,
							  const ZVersionId *id);

/*
 * Room for a row of "len" bytes to be filled by the caller, who then calls
 * ztuple_slot_stored: saves a copy for rows rebuilt from undo.
 */
extern char *ztuple_slot_room(TupleTableSlot *slot, uint32 len);
extern void ztuple_slot_stored(TupleTableSlot *slot, uint32 len,
							   const ItemPointerData *tid, Oid table,
							   const ZVersionId *id);

/*
 * The slot's row has just been written by our transaction: what RETURNING shows
 * as its system columns.  was_locked: our transaction had locked the row before;
 * then xmax is ours, as on heap (ON CONFLICT DO UPDATE is told from an insertion
 * by that).  Slots of other kinds have none, as on heap.
 */
extern void ztuple_slot_written(TupleTableSlot *slot, FullTransactionId fxid,
								CommandId cid, bool was_locked);

#endif							/* ZHEAP_TUPLE_SLOT_H */
