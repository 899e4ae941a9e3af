/*
 * tuple_slot.h
 *		The executor's slot for rows of zheap tables.
 *
 * A row is in memory of the slot's own, or on a copy of its page that the slot has a
 * reference to (E2).  So it needs no buffer pin, and stays valid whatever happens to the
 * page or to the scan that filled the slot.
 */
#ifndef ZHEAP_TUPLE_SLOT_H
#define ZHEAP_TUPLE_SLOT_H

#include "executor/tuptable.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

#include "zheap/mvcc/version_id.h"
#include "zheap/page/row.h"
#include "zheap/scan/page_copy.h"

#define ZTUPLE_SMALL_ROOM	128

typedef struct ZTupleSlot
{
	union
	{
		TupleTableSlot base;
		BufferHeapTupleTableSlot heap;	/* what C code finds that takes the slot for heap's: no
										 * buffer, and a tuple that is on no page */
	};
	const char *row;			/* or NULL: only values (virtual) */
	uint32		row_len;
	ZPageCopy  *copy;			/* what the row is on; NULL: it is at room */
	uint32		room_alloc;		/* bytes at room */
	char	   *room;			/* where rows are copied to, kept from row to row: small_room,
								 * or palloc'd */
	ZRowDeform	deform;
	uint32		scratch_alloc;
	char	   *data;			/* materialised values, when virtual */
	bool		formed;			/* the row was formed from values, and has never been stored with
								 * any other: at room, not on a copy */
	bool		has_version_id;	/* version_id is meaningful: the row came from a table.  If it
								 * is not, the header of a row on a copy tells */
	ZVersionId	version_id;
	char		small_room[ZTUPLE_SMALL_ROOM];	/* many queries read a single small row */
} ZTupleSlot;

extern const TupleTableSlotOps TTSOpsZheap;

#define TTS_IS_ZHEAP(slot)	((slot)->tts_ops == &TTSOpsZheap)

/* ERROR (feature_not_supported): the slot is of another kind than TTSOpsZheap. */
pg_noreturn extern void ztuple_slot_report_kind(Relation rel, TupleTableSlot *slot);

/* ERROR (data_corrupted): the slot's row, at tts_tid of the table tts_tableOid, is damaged. */
pg_noreturn extern void ztuple_slot_report_damage(TupleTableSlot *slot);

/*
 * Each callback that fills a slot asks first: ERROR unless it is of our kind.  C code may pass
 * any, and memory beyond its end would be overwritten.
 */
static inline void
ztuple_slot_check_kind(Relation rel, TupleTableSlot *slot)
{
	if (unlikely(!TTS_IS_ZHEAP(slot)))
		ztuple_slot_report_kind(rel, slot);
}

/*
 * Store a copy of a row (padding excluded).  Any earlier content is cleared.
 * "tid" goes to tts_tid as it is.
 */
extern void ztuple_slot_store(TupleTableSlot *slot, const char *row, uint32 len,
							  const ItemPointerData *tid, Oid table,
							  const ZVersionId *id);

/*
 * Let the slot refer to a row on a copy of its page.  The row has been checked, a slot on
 * the page itself tells its modifier, or nobody, and no other version of it is meant.
 */
extern void ztuple_slot_refer(TupleTableSlot *slot, ZPageCopy *copy, const char *row,
							  uint32 len, const ItemPointerData *tid);

/* The same for a slot that refers to a row on that copy by now.  Once per row of a scan. */
static inline void
ztuple_slot_refer_next(TupleTableSlot *slot, const char *row, uint32 len,
					   const ItemPointerData *tid)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	Assert(TTS_IS_ZHEAP(slot) && !TTS_EMPTY(slot) && !TTS_SHOULDFREE(slot));
	Assert(zslot->copy->references > 1);	/* E2 */
	Assert(row >= zslot->copy->page.data && row + len <= zslot->copy->page.data + BLCKSZ);
	zslot->row = row;
	zslot->row_len = len;
	zslot->deform.natts = 0;
	zslot->has_version_id = false;
	slot->tts_nvalid = 0;
	slot->tts_tid = *tid;
}

/* What made the slot's version; NULL: the row came from no table.  May be changed. */
extern ZVersionId *ztuple_slot_id(TupleTableSlot *slot);

/*
 * Room for a row of "len" bytes to be filled by the caller, who then calls
 * ztuple_slot_stored: saves a copy for rows rebuilt from undo.
 */
extern char *ztuple_slot_room(TupleTableSlot *slot, uint32 len);
extern void ztuple_slot_stored(TupleTableSlot *slot, uint32 len,
							   const ItemPointerData *tid, Oid table,
							   const ZVersionId *id);

/*
 * The row, if the slot has formed it from values (when it was materialised) by this descriptor;
 * else NULL.  Neither is it too long to be stored, nor are any of its values elsewhere.
 * It is good as long as the slot is not changed; a writer may fill in its header.
 */
static inline char *
ztuple_slot_formed(TupleTableSlot *slot, TupleDesc desc, uint32 *len)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	if (!TTS_IS_ZHEAP(slot) || !zslot->formed || slot->tts_tupleDescriptor != desc)
		return NULL;
	Assert(zslot->row == zslot->room && zslot->copy == NULL);
	*len = zslot->row_len;
	return zslot->room;
}

/*
 * The slot's row has just been written by our transaction: what RETURNING shows
 * as its system columns.  was_locked: our transaction had locked the row before;
 * then xmax is ours, as on heap (ON CONFLICT DO UPDATE is told from an insertion
 * by that).  In a slot of heap the tuple gets them; slots of other kinds have none, as on heap.
 */
extern void ztuple_slot_written(TupleTableSlot *slot, FullTransactionId fxid,
								CommandId cid, bool was_locked);

#endif							/* ZHEAP_TUPLE_SLOT_H */
