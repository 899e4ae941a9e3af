/*
 * tuple_slot.h
 *		The executor's slot for rows of zheap tables.
 *
 * A row is in memory of the slot's own, or on a copy of its page to which the slot has a reference
 * (E2).  So it needs no buffer pin, and stays valid whatever happens to the page or to the scan
 * that filled the slot.
 *
 * In this file "slot" is the executor's.  No function here takes a lock, except those that find a
 * system column.
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
		BufferHeapTupleTableSlot heap;	/* what C code sees that takes the slot for heap's: no
										 * buffer, and a tuple that is on no page */
	};
	const char *row;			/* NULL: the slot has only values (virtual) */
	uint32		row_len;
	ZPageCopy  *copy;			/* the copy that the row is on; NULL: the row is at room */
	uint32		room_alloc;		/* bytes allocated at room */
	char	   *room;			/* memory for rows, kept from row to row: small_room, or
								 * palloc'd */
	ZRowDeform	deform;
	uint32		scratch_alloc;
	char	   *data;			/* materialised values of a virtual slot */
	bool		formed;			/* the row was formed from values and has not been stored with
								 * another one: it is at room, not on a copy */
	bool		has_version_id;	/* version_id is valid: the row came from a table.  If not, and
								 * the row is on a copy, its header has it */
	ZVersionId	version_id;
	char		small_room[ZTUPLE_SMALL_ROOM];	/* many queries read a single small row */
} ZTupleSlot;

extern const TupleTableSlotOps TTSOpsZheap;

#define TTS_IS_ZHEAP(slot)	((slot)->tts_ops == &TTSOpsZheap)

/* Raise ERROR (feature_not_supported): the slot is not of TTSOpsZheap. */
pg_noreturn extern void ztuple_slot_report_kind(Relation rel, TupleTableSlot *slot);

/* Raise ERROR (data_corrupted): the slot's row, at tts_tid of table tts_tableOid, is damaged. */
pg_noreturn extern void ztuple_slot_report_damage(TupleTableSlot *slot);

/*
 * Raise ERROR (feature_not_supported) unless the slot is of our kind.  Each callback that fills a
 * slot begins with it: C code may pass any slot, and memory beyond its end would be overwritten.
 */
static inline void
ztuple_slot_check_kind(Relation rel, TupleTableSlot *slot)
{
	if (unlikely(!TTS_IS_ZHEAP(slot)))
		ztuple_slot_report_kind(rel, slot);
}

/*
 * Store a copy of a row, without padding, and clear any earlier content.  tts_tid becomes *tid,
 * with its tag; id may be NULL.  ERROR (data_corrupted) if the row is too short, or longer than a
 * page.
 */
extern void ztuple_slot_store(TupleTableSlot *slot, const char *row, uint32 len,
							  const ItemPointerData *tid, Oid table,
							  const ZVersionId *id);

/*
 * Make the slot refer to a row on a copy of its page, and add a reference to the copy.  The row
 * has been checked, its header and a slot on the page itself name its modifier, if any, and no
 * other version of it is meant.  The caller sets tts_tableOid.
 */
extern void ztuple_slot_refer(TupleTableSlot *slot, ZPageCopy *copy, const char *row,
							  uint32 len, const ItemPointerData *tid);

/*
 * Make a slot that refers to a row on a copy refer to another row on it.  Runs once per row of a
 * scan.
 */
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

/*
 * Return what made the slot's version, or NULL if the row came from no table.  It belongs to the
 * slot, and may be changed.  The modifier may be unresolved (zmvcc_resolve_id).
 */
extern ZVersionId *ztuple_slot_id(TupleTableSlot *slot);

/*
 * Return the row, if the slot has formed it from values by this descriptor when it was
 * materialised; otherwise NULL.  The row is short enough to be stored, and none of its values is
 * in a toast table.  It is valid until the slot changes; the caller may fill in its header.
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
 * Set the system columns that RETURNING shows, after our transaction has written the slot's row.
 *
 * was_locked: our transaction had locked the row before.  Then xmax is ours, as on heap, which is
 * how ON CONFLICT DO UPDATE is told from an insertion.  In a slot of heap the tuple gets them, and
 * is materialised; slots of other kinds have no system columns, as on heap.  No buffer is locked,
 * as the page may be read for a heap slot's xmin.
 */
extern void ztuple_slot_written(TupleTableSlot *slot, FullTransactionId fxid,
								CommandId cid, bool was_locked);

#endif							/* ZHEAP_TUPLE_SLOT_H */
