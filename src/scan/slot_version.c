/*
 * slot_version.c
 *		What made the version in an executor slot, and the system columns that follow from that.
 *
 * xmin is a number of the version's (src/scan/README.md, What xmin shows), and the transaction
 * itself only for those parts of the server that ask whether our transaction made the version.
 *
 * LOCKING: no buffer on entry and exit; a system column may be read from a table.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/page/page.h"
#include "zheap/scan/shown.h"
#include "zheap/scan/token.h"
#include "zheap/scan/tuple_slot.h"
#include "zheap/tid/tid.h"

#include "slot_version.h"

/* Set version_id from the header of a row on a copy, and the slot that it names (M1). */
static void
id_from_copy(ZTupleSlot *zslot)
{
	int			slotno = zrow_slotno(zslot->row);
	ZModifier  *modifier = &zslot->version_id.modifier;

	Assert(zslot->copy->references > 0);	/* E2 */
	memset(&zslot->version_id, 0, sizeof(zslot->version_id));
	zmodifier_set_all_visible(modifier);
	zslot->has_version_id = true;
	if (slotno != 0)
	{
		ZOwner		owner = zpage_slot_owner(zpage_slot(zslot->copy->page.data, NULL, slotno));

		if (!FullTransactionIdIsValid(owner.fxid) ||
			FullTransactionIdPrecedes(owner.fxid, zslot->copy->horizon))
			return;
		modifier->kind = (zrow_flags(zslot->row) & ZROW_REUSED) ?
			ZMODIFIER_UPPER_BOUND : ZMODIFIER_EXACT;
		modifier->place = owner;
	}
}

ZVersionId *
ztuple_slot_id(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	if (!zslot->has_version_id && zslot->copy != NULL && !zslot->copy->nameless)
		id_from_copy(zslot);
	return zslot->has_version_id ? &zslot->version_id : NULL;
}

/* Return what made the version, with its modifier looked up; NULL if the row is of no table. */
static const ZVersionId *
resolved_id(TupleTableSlot *slot)
{
	ItemPointerData tid = ztid_untagged(&slot->tts_tid);
	ZVersionId *id = ztuple_slot_id(slot);

	if (id != NULL)
		zmvcc_resolve_id(id, ItemPointerGetOffsetNumberNoCheck(&tid));
	return id;
}

static TransactionId
id_xmin(const ZVersionId *id)
{
	FullTransactionId fxid = zmodifier_fxid(&id->modifier);

	if (!FullTransactionIdIsValid(fxid))
		return FrozenTransactionId;
	return XidFromFullTransactionId(fxid);
}

/*
 * Return a version's number as an xid that no transaction of the last or the next 2^30 has: it is
 * in the quarter opposite to the current one.  It changes with the quarter, once in 2^30
 * transactions.
 */
static TransactionId
token_xid(uint32 token)
{
	uint32		quarter = XidFromFullTransactionId(ReadNextFullTransactionId()) >> ZROW_TOKEN_BITS;
	TransactionId xid = ((quarter + 2) & 3) << ZROW_TOKEN_BITS | token;

	return Max(xid, FirstNormalTransactionId);
}

/* Get the version's number.  Return false if the slot has nothing to make it of. */
static bool
slot_token(TupleTableSlot *slot, const ZVersionId *id, uint32 *token)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;
	ItemPointerData tid = ztid_untagged(&slot->tts_tid);

	if (id->written)
		return zscan_token_on_page(slot->tts_tableOid, &tid, token);
	if (zslot->row == NULL || zslot->formed)
		return false;
	*token = zrow_token(zslot->row, zslot->row_len);
	return true;
}

/* Return what users see as xmin, and the server's code that asks whether we made the version. */
static TransactionId
shown_xmin(TupleTableSlot *slot, const ZVersionId *id)
{
	TransactionId xmin = id_xmin(id);
	uint32		token;

	if (zheap_xmin == ZXMIN_TRANSACTION ||
		(id->for_core && TransactionIdIsCurrentTransactionId(xmin)) ||
		!slot_token(slot, id, &token))
		return xmin;
	return token_xid(token);
}

/* Return a command id to show, 0 if there is none. */
static CommandId
shown_cid(CommandId cid, TransactionId xid)
{
	if (!TransactionIdIsNormal(xid) || cid == InvalidCommandId)
		return FirstCommandId;
	return cid;
}

/*
 * Get a system column of a row that is in a table of another access method: when a row of ours
 * moves to such a partition, this slot gets only its new place.  ERROR (feature_not_supported) if
 * none.
 */
static Datum
sysattr_elsewhere(TupleTableSlot *slot, int attnum, bool *isnull)
{
	bool		found = false;
	Datum		value = (Datum) 0;
	Relation	rel = NULL;

	Assert(!zheap_holds_buffer_lock()); /* L1 */
	if (OidIsValid(slot->tts_tableOid) && ItemPointerIsValid(&slot->tts_tid))
		rel = try_relation_open(slot->tts_tableOid, AccessShareLock);
	/* a foreign table's row has a TID, too */
	if (rel != NULL && rel->rd_tableam != NULL)
	{
		TupleTableSlot *row = table_slot_create(rel, NULL);

		found = !TTS_IS_ZHEAP(row) &&
			table_tuple_fetch_row_version(rel, &slot->tts_tid, SnapshotSelf, row);
		if (found)
			value = slot_getsysattr(row, attnum, isnull);
		ExecDropSingleTupleTableSlot(row);
	}
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot retrieve a system column in this context")));
	return value;
}

/* For a row that came from no table see sysattr_elsewhere. */
Datum
ztuple_slot_getsysattr(TupleTableSlot *slot, int attnum, bool *isnull)
{
	const ZVersionId *id;

	Assert(!TTS_EMPTY(slot));

	id = resolved_id(slot);
	if (id == NULL)
		return sysattr_elsewhere(slot, attnum, isnull);

	*isnull = false;
	switch (attnum)
	{
		case MinTransactionIdAttributeNumber:
			return TransactionIdGetDatum(ztid_worker_asks() ? id_xmin(id) : shown_xmin(slot, id));
		case MaxTransactionIdAttributeNumber:
			return TransactionIdGetDatum(id->xmax);
		case MinCommandIdAttributeNumber:
			return CommandIdGetDatum(shown_cid(id->cmin, id_xmin(id)));
		case MaxCommandIdAttributeNumber:
			return CommandIdGetDatum(shown_cid(id->cmax, id->xmax));
		default:
			elog(ERROR, "invalid attnum: %d", attnum);
			return 0;			/* keep compiler quiet */
	}
}

/* Set the system columns of a heap tuple, which triggers in PL languages read there. */
static void
tuple_set_id(HeapTupleHeader header, TupleTableSlot *slot, const ItemPointerData *tid,
			 const ZVersionId *id)
{
	/*
	 * heap_form_tuple made a composite datum, marked as one in recent minor releases: undo that.
	 */
	header->t_infomask &= ~HEAP_XACT_MASK;
	header->t_infomask2 &= HEAP_NATTS_MASK;
	header->t_ctid = *tid;
	HeapTupleHeaderSetXmin(header, shown_xmin(slot, id));
	HeapTupleHeaderSetCmin(header, shown_cid(id->cmin, id_xmin(id)));
	HeapTupleHeaderSetXmax(header, id->xmax);
	if (TransactionIdIsValid(id->xmax))
		header->t_choice.t_heap.t_field3.t_cid = shown_cid(id->cmax, id->xmax);
	else
		header->t_infomask |= HEAP_XMAX_INVALID;
}

static inline void
set_written(ZVersionId *id, FullTransactionId fxid, CommandId cid, bool was_locked)
{
	memset(id, 0, sizeof(*id));
	id->modifier.kind = ZMODIFIER_EXACT;
	id->modifier.place.fxid = fxid;
	id->cmin = cid;
	id->written = true;
	if (was_locked)
	{
		id->xmax = XidFromFullTransactionId(fxid);
		id->cmax = cid;
	}
}

/* Set the system columns in a heap slot, from which a row has moved to our partition. */
static pg_noinline void
written_from_heap(TupleTableSlot *slot, FullTransactionId fxid, CommandId cid, bool was_locked)
{
	HeapTuple	tuple;
	ZVersionId	id;

	set_written(&id, fxid, cid, was_locked);
	ExecMaterializeSlot(slot);
	tuple = ((HeapTupleTableSlot *) slot)->tuple;
	tuple->t_self = slot->tts_tid;
	tuple_set_id(tuple->t_data, slot, &tuple->t_self, &id);
}

void
ztuple_slot_written(TupleTableSlot *slot, FullTransactionId fxid, CommandId cid,
					bool was_locked)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;

	if (TTS_IS_ZHEAP(slot))
	{
		zshown_forget(slot);
		set_written(&zslot->version_id, fxid, cid, was_locked);
		zslot->has_version_id = true;
	}
	else if (TTS_IS_HEAPTUPLE(slot) || TTS_IS_BUFFERTUPLE(slot))
		written_from_heap(slot, fxid, cid, was_locked);
}

/* Form the tuple from the slot's values. */
static pg_noinline HeapTuple
tuple_of_values(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	return heap_form_tuple(slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
}

HeapTuple
ztuple_slot_copy_heap_tuple(TupleTableSlot *slot)
{
	ZTupleSlot *zslot = (ZTupleSlot *) slot;
	const ZVersionId *id;
	HeapTuple	tuple = NULL;

	Assert(!TTS_EMPTY(slot));

	/* one that came from no table is marked as a composite datum, as on heap */
	if (zslot->row != NULL && !zslot->formed)
		tuple = zrow_heap_tuple(slot->tts_tupleDescriptor, zslot->row, zslot->row_len);
	if (tuple == NULL)
		tuple = tuple_of_values(slot);
	/* triggers show it; the events have the tag */
	tuple->t_self = ztid_untagged(&slot->tts_tid);
	tuple->t_tableOid = slot->tts_tableOid;
	id = resolved_id(slot);
	if (id != NULL)
		tuple_set_id(tuple->t_data, slot, &tuple->t_self, id);
	return tuple;
}

bool
ztuple_slot_is_current_xact_tuple(TupleTableSlot *slot)
{
	const ZVersionId *id = resolved_id(slot);
	bool		isnull;

	return TransactionIdIsCurrentTransactionId(
		id != NULL ? id_xmin(id) :
		DatumGetTransactionId(sysattr_elsewhere(slot, MinTransactionIdAttributeNumber, &isnull)));
}
