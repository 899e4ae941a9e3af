/*
 * tuple_slot.c
 *		The executor's slot for rows of zheap tables.
 *
 * A slot is in one of three states:
 *
 *   empty     TTS_FLAG_EMPTY
 *   stored    row != NULL: the row's bytes, deformed on demand; by-reference
 *             values point into it or into the scratch space
 *   virtual   row == NULL: core has put values into tts_values itself
 *             (ExecStoreVirtualTuple and its callers)
 *
 * A stored row is materialised if it is in the slot's own room.  Otherwise it is on a copy of its
 * page, which is valid until the resource owner under which that was made is released.  A virtual
 * slot is materialised by forming the row, which a writer takes from there; if it is one for the
 * toaster, the values are copied to "data", and TTS_FLAG_SHOULDFREE is set.
 *
 * Room and scratch space are allocated when a row needs them, kept for later rows, and freed with
 * the slot.
 *
 * System columns, and what made the version, are in slot_version.c.
 *
 * LOCKING: none.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "port/pg_bitutils.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "zheap/base/pg_compat_executor.h"
#include "zheap/base/base.h"
#include "zheap/page/page.h"
#include "zheap/scan/shown.h"
#include "zheap/scan/tuple_slot.h"

#include "slot_version.h"

/* Smallest allocation, in bytes, so that rows that grow a little need no new one. */
#define SLOT_MIN_ALLOC	256

/* Allocate at least *size bytes; on return *size is the allocated size. */
static char *
space_alloc(TupleTableSlot *slot, Size *size)
{
	*size = Max(*size, SLOT_MIN_ALLOC);
	if (*size <= MaxAllocSize / 2)
		*size = pg_nextpower2_64(*size);
	return MemoryContextAlloc(slot->tts_mcxt, *size);
}

static void
room_free(ZTupleSlot *zslot)
{
	if (zslot->room != zslot->small_room)
		pfree(zslot->room);
	zslot->room = zslot->small_room;
	zslot->room_alloc = ZTUPLE_SMALL_ROOM;
}

/* Make the room at least "size" bytes long; its contents are lost. */
static pg_noinline void
room_enlarge(ZTupleSlot *zslot, Size size)
{
	room_free(zslot);
	zslot->room = space_alloc(&zslot->base, &size);
	zslot->room_alloc = (uint32) size;
}

static void
scratch_free(ZTupleSlot *zslot)
{
	if (zslot->deform.scratch)
		pfree(zslot->deform.scratch);
	zslot->deform.scratch = NULL;
	zslot->scratch_alloc = 0;
}

/* Provide the deformer with scratch space; most rows need none. */
static char *
scratch_provide(ZRowDeform *state, Size size)
{
	ZTupleSlot *zslot = (ZTupleSlot *) ((char *) state - offsetof(ZTupleSlot, deform));

	if (size > zslot->scratch_alloc)
	{
		scratch_free(zslot);
		state->scratch = space_alloc(&zslot->base, &size);
		zslot->scratch_alloc = (uint32) size;
	}
	return state->scratch;
}

static inline void
data_free(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	if (unlikely(TTS_SHOULDFREE(slot)))
	{
		pfree(zslot->data);
		zslot->data = NULL;
		slot->tts_flags &= ~TTS_FLAG_SHOULDFREE;
	}
}

static inline void
copy_forget(ZTupleSlot *zslot)
{
	if (zslot->copy != NULL)
	{
		zcopy_drop(zslot->copy);
		zslot->copy = NULL;
	}
}

/* ---- storing rows: often, hence inline ---- */

/* Release what the slot holds.  The caller stores another row, or marks the slot as empty. */
static inline void
row_release(ZTupleSlot *zslot)
{
	TupleTableSlot *slot = &zslot->base;

	Assert(TTS_IS_ZHEAP(slot));

	zshown_forget(slot);
	data_free(slot);
	copy_forget(zslot);
	zslot->formed = false;
	zslot->has_version_id = false;
	slot->tts_nvalid = 0;
}

void
ztuple_slot_store(TupleTableSlot *slot, const char *row, uint32 len,
				  const ItemPointerData *tid, Oid table, const ZVersionId *id)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	row_release(zslot);
	slot->tts_tid = *tid;
	slot->tts_tableOid = table;
	if (unlikely(len > zslot->room_alloc))
	{
		/* empty, in case of an error; a damaged padding yields any length: do not copy it */
		zslot->row = NULL;
		slot->tts_flags |= TTS_FLAG_EMPTY;
		if (len > BLCKSZ)
			ztuple_slot_report_damage(slot);
		room_enlarge(zslot, len);
	}
	Assert(row + len <= zslot->room || row >= zslot->room + len);
	memcpy(zslot->room, row, len);
	if (unlikely(len < ZROW_HDR_SIZE))
		ztuple_slot_report_damage(slot);

	zslot->row = zslot->room;
	zslot->row_len = len;
	zslot->deform.natts = 0;
	if (id)
	{
		zslot->has_version_id = true;
		zslot->version_id = *id;
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
}

void
ztuple_slot_refer(TupleTableSlot *slot, ZPageCopy *copy, const char *row, uint32 len,
				  const ItemPointerData *tid)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	zshown_forget(slot);
	data_free(slot);
	if (zslot->copy != copy)
	{
		zcopy_hold(copy);
		copy_forget(zslot);
		zslot->copy = copy;
	}
	zslot->formed = false;
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	ztuple_slot_refer_next(slot, row, len, tid);
}

/* ---- callbacks ---- */

/*
 * Found by C code that takes each slot for heap's: with our bytes as a tuple it would change the
 * table by what looks like a TID there.  With this one reading the block is an error, and reading
 * values follows a null pointer, which is better than wrong ones.  Constant, so that it stays so.
 */
static const HeapTupleData tuple_on_no_page = {
	.t_self = {{MaxBlockNumber >> 16, MaxBlockNumber & 0xFFFF}, FirstOffsetNumber}
};

static void
tts_zheap_init(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	/* zeroes are right for the other fields */
	zslot->heap.base.tuple = unconstify(HeapTupleData *, &tuple_on_no_page);
	zslot->room = zslot->small_room;
	zslot->room_alloc = ZTUPLE_SMALL_ROOM;
	zslot->deform.provide = scratch_provide;
}

static void
tts_zheap_release(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	Assert(TTS_EMPTY(slot) && zslot->copy == NULL);

	room_free(zslot);
	scratch_free(zslot);
}

static void
tts_zheap_clear(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	row_release(zslot);
	zslot->row = NULL;
	slot->tts_flags |= TTS_FLAG_EMPTY;
	ItemPointerSetInvalid(&slot->tts_tid);
}

/*
 * Deform natts columns.  In a virtual slot core fills those beyond tts_nvalid with missing values.
 */
static void
tts_zheap_getsomeattrs(TupleTableSlot *slot, int natts)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	Assert(!TTS_EMPTY(slot));

	if (unlikely(zslot->row == NULL))
		return;

	Assert(zslot->copy == NULL || zslot->copy->references > 0);	/* E2 */
	Assert(slot->tts_nvalid == zslot->deform.natts);
	if (unlikely(!zrow_deform(slot->tts_tupleDescriptor, zslot->row, zslot->row_len, natts,
							  slot->tts_values, slot->tts_isnull, &zslot->deform)))
		ztuple_slot_report_damage(slot);
	slot->tts_nvalid = natts;
}

/* Return the length of a by-reference value, when it is flat. */
static Size
value_size(Form_pg_attribute att, Datum value)
{
	if (att->attlen == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return EOH_get_flat_size(DatumGetEOHP(value));
	return att_addlength_datum((Size) 0, att->attlen, value);
}

static void
value_copy(char *out, Size size, Form_pg_attribute att, Datum value)
{
	if (att->attlen == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		EOH_flatten_into(DatumGetEOHP(value), out, size);
	else
		memcpy(out, DatumGetPointer(value), size);
}

/* Copy the row from the copy of its page into the slot's room; it must be deformed again. */
static void
row_materialize(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;
	const char *row = zslot->row;

	Assert(zslot->copy->references > 0);	/* E2 */
	(void) ztuple_slot_id(slot);
	if (zslot->row_len > zslot->room_alloc)
		room_enlarge(zslot, zslot->row_len);
	memcpy(zslot->room, row, zslot->row_len);
	zslot->row = zslot->room;
	zslot->deform.natts = 0;
	slot->tts_nvalid = 0;
	copy_forget(zslot);
}

/* Check that no value points into the room: clearing the slot has invalidated such pointers. */
static inline void
assert_values_elsewhere(TupleTableSlot *slot)
{
#ifdef USE_ASSERT_CHECKING
	ZTupleSlot *zslot = (ZTupleSlot *) slot;
	TupleDesc	desc = slot->tts_tupleDescriptor;

	for (int i = 0; i < desc->natts; i++)
	{
		const char *value = DatumGetPointer(slot->tts_values[i]);

		Assert(TupleDescAttr(desc, i)->attbyval || slot->tts_isnull[i] ||
			   value < zslot->room || value >= zslot->room + zslot->room_alloc);
	}
#endif
}

/*
 * Form the row of a virtual slot in its room.  Return false, with nothing done, if it is long, or
 * has values elsewhere.
 */
static bool
form_in_room(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	uint8		flags;
	uint32		len = zrow_form_length(desc, slot->tts_values, slot->tts_isnull, &flags);

	Assert(zslot->row == NULL && slot->tts_nvalid == desc->natts);
	if (zrow_is_for_toaster(len, flags))
		return false;
	assert_values_elsewhere(slot);
	if (len > zslot->room_alloc)
		room_enlarge(zslot, len);
	zslot->deform.natts = 0;
	if (zrow_form_at(desc, slot->tts_values, slot->tts_isnull, zslot->room, flags))
		zslot->deform.natts = desc->natts;
	slot->tts_nvalid = zslot->deform.natts;
	zslot->row = zslot->room;
	zslot->row_len = len;
	zslot->formed = true;
	return true;
}

/* Copy the by-reference values of a virtual row into one chunk, each MAXALIGNed, as core does. */
static void
values_materialize(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Size		total = 0;
	char	   *out;
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attbyval && !slot->tts_isnull[i])
			total += MAXALIGN(value_size(att, slot->tts_values[i]));
	}
	if (total == 0)
		return;

	zslot->data = out = MemoryContextAlloc(slot->tts_mcxt, total);
	slot->tts_flags |= TTS_FLAG_SHOULDFREE;
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Size		size;

		if (att->attbyval || slot->tts_isnull[i])
			continue;
		size = value_size(att, slot->tts_values[i]);
		value_copy(out, size, att, slot->tts_values[i]);
		slot->tts_values[i] = PointerGetDatum(out);
		out += MAXALIGN(size);
	}
	Assert(out == zslot->data + total);
}

static void
tts_zheap_materialize(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	Assert(!TTS_EMPTY(slot));

	if (zslot->copy != NULL)
		row_materialize(slot);
	if (zslot->row == NULL && !TTS_SHOULDFREE(slot) && !form_in_room(slot))
		values_materialize(slot);
}

/*
 * Return whether the bytes of the source's row can be read with the target's descriptor.  Not if
 * it lacks columns: the target may not know their missing values.
 */
static bool
row_is_copyable(TupleTableSlot *dstslot, TupleTableSlot *srcslot)
{
	ZTupleSlot *source = (ZTupleSlot *) srcslot;
	ZRowHeader	hdr;

	if (!TTS_IS_ZHEAP(srcslot) || source->row == NULL)
		return false;
	zrow_header_get(source->row, &hdr);
	return dstslot->tts_tupleDescriptor == srcslot->tts_tupleDescriptor ||
		hdr.natts >= dstslot->tts_tupleDescriptor->natts;
}

static void
values_copy(TupleTableSlot *dstslot, TupleTableSlot *srcslot)
{
	int			natts = srcslot->tts_tupleDescriptor->natts;

	slot_getallattrs(srcslot);
	ExecClearTuple(dstslot);
	memcpy(dstslot->tts_values, srcslot->tts_values, natts * sizeof(Datum));
	memcpy(dstslot->tts_isnull, srcslot->tts_isnull, natts * sizeof(bool));
	if (natts < dstslot->tts_tupleDescriptor->natts)
		slot_getmissingattrs(dstslot, natts, dstslot->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(dstslot);
	tts_zheap_materialize(dstslot);
}

/* Copy from a slot of any kind. */
static void
tts_zheap_copyslot(TupleTableSlot *dstslot, TupleTableSlot *srcslot)
{
	ZTupleSlot *target = (ZTupleSlot *) dstslot;
	ZTupleSlot *source = (ZTupleSlot *) srcslot;

	Assert(srcslot->tts_tupleDescriptor->natts <= dstslot->tts_tupleDescriptor->natts);

	if (row_is_copyable(dstslot, srcslot))
	{
		ztuple_slot_store(dstslot, source->row, source->row_len, &srcslot->tts_tid,
						  srcslot->tts_tableOid, ztuple_slot_id(srcslot));
		return;
	}

	values_copy(dstslot, srcslot);
	dstslot->tts_tid = srcslot->tts_tid;
	dstslot->tts_tableOid = srcslot->tts_tableOid;
	if (TTS_IS_ZHEAP(srcslot) && ztuple_slot_id(srcslot) != NULL)
	{
		target->has_version_id = true;
		target->version_id = *ztuple_slot_id(srcslot);
	}
}

static MinimalTuple
tts_zheap_copy_minimal_tuple(TupleTableSlot *slot, Size extra)
{
	Assert(!TTS_EMPTY(slot));

	slot_getallattrs(slot);
	return heap_form_minimal_tuple(slot->tts_tupleDescriptor,
								   slot->tts_values, slot->tts_isnull, extra);
}

ZCOMPAT_COPY_MINIMAL(tts_zheap_copy_minimal_tuple)

const TupleTableSlotOps TTSOpsZheap = {
	.base_slot_size = sizeof(ZTupleSlot),
	.init = tts_zheap_init,
	.release = tts_zheap_release,
	.clear = tts_zheap_clear,
	.getsomeattrs = tts_zheap_getsomeattrs,
	.getsysattr = ztuple_slot_getsysattr,
	zcompat_is_current_xact_tuple(ztuple_slot_is_current_xact_tuple)
	.materialize = tts_zheap_materialize,
	.copyslot = tts_zheap_copyslot,

	/* the slot owns neither kind of tuple: core asks for copies */
	.get_heap_tuple = NULL,
	.get_minimal_tuple = NULL,
	.copy_heap_tuple = ztuple_slot_copy_heap_tuple,
	.copy_minimal_tuple = zcompat_copy_minimal(tts_zheap_copy_minimal_tuple)
};
