/*
 * verify_row.c
 *		Check the rows of a page, all their versions, and their toasted values.
 *
 * Undo is read by the functions that readers use, which raise an error where it is damaged.  The
 * statement's snapshot is older than the copy of the page, so that the undo that the copy leads to
 * is kept.
 *
 * LOCKING: none while undo is read; the page is a private copy.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "miscadmin.h"

#include "zheap/mvcc/chain.h"
#include "zheap/page/page.h"
#include "zheap/page/row.h"
#include "zheap/undo/undo_ptr.h"

#include "verify_private.h"

/* ---- chains of slots ---- */

/* Check a slot's chain of records down to its newest directory, or to its end. */
static void
check_slot_chain(Verify *verify, int slotno, const ZOwner *newest)
{
	ZChainCursor cursor;
	int			n = 0;

	zchain_open(&cursor, &verify->view, InvalidOffsetNumber, newest);
	while (zchain_next(&cursor))
	{
		if (cursor.rec.slotno != slotno)
		{
			verify_report(verify, "chain",
						  "chain of transaction slot %d has a record of slot %d at undo block %u, offset %u",
						  slotno, cursor.rec.slotno, zundo_ptr_block(cursor.at.undo),
						  zundo_ptr_offset(cursor.at.undo));
			return;
		}
		if (cursor.rec.has_page && cursor.rec.block != verify->block)
		{
			verify_report(verify, "chain",
						  "chain of transaction slot %d has a record about block %u at undo block %u, offset %u",
						  slotno, cursor.rec.block, zundo_ptr_block(cursor.at.undo),
						  zundo_ptr_offset(cursor.at.undo));
			return;
		}
		if (cursor.rec.type == ZOP_DIRECTORY)
		{
			ZDirectory *dir = palloc(sizeof(ZDirectory));

			if (!zrec_directory_decode(&cursor.rec, dir))
				verify_report(verify, "chain",
							  "directory at undo block %u, offset %u cannot be read",
							  zundo_ptr_block(cursor.at.undo), zundo_ptr_offset(cursor.at.undo));
			pfree(dir);
			return;
		}
		/* C1 */
		if (++n > ZCHAIN_INTERVAL && FullTransactionIdIsValid(cursor.next.fxid))
		{
			verify_report(verify, "chain",
						  "chain of transaction slot %d has no directory among its first %d records",
						  slotno, n);
			return;
		}
	}
}

void
verify_chains(Verify *verify)
{
	ZPageView  *view = &verify->view;
	int			slotno = 0;

	verify->usable = false;
	if (!zview_read(view, verify->block, NULL))
		return;
	verify->usable = true;
	/* without lock pages: their chains are followed only for locks of transactions in progress */
	while ((slotno = zpage_next_slotno(view->page, view->overflow ? 1 : 0, slotno)) != 0)
	{
		ZOwner		newest = zpage_slot_owner(zpage_slot(view->page, view->overflow, slotno));

		if (!zview_is_frozen(view, newest.fxid))
			check_slot_chain(verify, slotno, &newest);
	}
}

/* ---- versions ---- */

static ZXactStatus
version_status(Verify *verify, const ZRowVersion *version)
{
	FullTransactionId fxid = zmodifier_fxid(&version->modifier);

	return zview_is_frozen(&verify->view, fxid) ? ZXACT_ALL_VISIBLE : zmvcc_xact_status(fxid);
}

/* Check that the version's bytes are those of its columns, no less and no more. */
static void
check_bytes(Verify *verify, const ZRowVersion *version, int ordinal)
{
	TupleDesc	desc = RelationGetDescr(verify->rel);
	int			natts = version->hdr.natts;
	ItemPointerData origins[ZROW_MAX_ORIGINS];
	uint32		end = version->len;
	uint32		values_end;
	int			norigins;

	/* the body is gone, as the deletion is visible to all; or columns were rolled back, too */
	if (zrow_is_tombstone(&version->hdr) ||
		version_status(verify, version) == ZXACT_ABORTED)
		return;
	if (natts > desc->natts)
	{
		verify_report(verify, "version", "version %d has %d columns, the table has %d", ordinal,
					  natts, desc->natts);
		return;
	}
	verify_deform(verify, version, natts, palloc(sizeof(Datum) * Max(natts, 1)),
				  palloc(Max(natts, 1)), &values_end);
	norigins = zrow_origins_get(version->row, version->len, origins);
	if (norigins > 0)
		end -= norigins * sizeof(ItemPointerData) + 1;
	if (natts > 0 && values_end != end)
		verify_report(verify, "version", "values of version %d end at %u, and not at %u",
					  ordinal, values_end, end);
}

/* Check that the newest version has committed if the page is marked all-visible (P6). */
static void
check_mark(Verify *verify, const ZRowVersion *version)
{
	ZXactStatus status = version_status(verify, version);

	if (!PageIsAllVisible(verify->view.page) ||
		status == ZXACT_COMMITTED || status == ZXACT_ALL_VISIBLE)
		return;
	verify_report(verify, "map",
				  "page is marked all-visible, but transaction %llu, which has not committed, has changed the row",
				  (unsigned long long)
				  U64FromFullTransactionId(zmodifier_fxid(&version->modifier)));
}

/* Check the row's versions from the one on the page to the first, or one visible to all. */
static void
check_versions(Verify *verify)
{
	ZPageView  *view = &verify->view;
	ZUndoPtr	seen = ZUNDO_INVALID;
	ZRowVersion version;
	int			ordinal = 0;

	zmvcc_current(view, verify->offnum, &version);
	do
	{
		ZUndoRecord rec;
		ZOwner		made;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(verify->per_row);
		zmvcc_find_modifier(view, &version);
		if (++ordinal == 1)
			check_mark(verify, &version);
		(void) zmvcc_reconstruct_body(view, &version);
		check_bytes(verify, &version, ordinal);
		if (!zmvcc_record(view, &version, &rec, &made))
			return;
		if (made.undo == seen)
		{
			verify_report(verify, "chain", "versions of the row go round in a circle");
			return;
		}
		/* Brent's algorithm: remember the place at each power of two to detect a circle */
		if ((ordinal & (ordinal - 1)) == 0)
			seen = made.undo;
		version.next_fxid = InvalidFullTransactionId;
	} while (zmvcc_previous(view, &version) && FullTransactionIdIsValid(version.next_fxid));
}

/* ---- toasted values ---- */

#define SLICE_BYTES		((int32) TOAST_MAX_CHUNK_SIZE * 32)

/*
 * Read all chunks of a toasted value; ERROR (data_corrupted) by heap's function if one is wrong.
 */
static void
check_chunks(Verify *verify, const struct varatt_external *pointer)
{
	int32		size = VARATT_EXTERNAL_GET_EXTSIZE(*pointer);
	struct varlena *slice = palloc(SLICE_BYTES + VARHDRSZ);

	for (int32 from = 0; from < size; from += SLICE_BYTES)
	{
		int32		len = Min(SLICE_BYTES, size - from);

		CHECK_FOR_INTERRUPTS();
		SET_VARSIZE(slice, len + VARHDRSZ);
		table_relation_fetch_toast_slice(verify->toast_rel, pointer->va_valueid, size, from, len,
										 slice);
		/* each slice overwrites the last */
	}
	pfree(slice);
}

/*
 * Check that the toasted values of verify->slot are in the TOAST table, and, if wanted, complete.
 */
static void
check_toasted(Verify *verify)
{
	TupleDesc	desc = RelationGetDescr(verify->rel);
	TupleTableSlot *slot = verify->slot;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		struct varlena *value = (struct varlena *) DatumGetPointer(slot->tts_values[i]);
		struct varatt_external pointer;

		if (slot->tts_isnull[i] || att->attisdropped || att->attlen != -1 ||
			!VARATT_IS_EXTERNAL(value))
			continue;
		if (!VARATT_IS_EXTERNAL_ONDISK(value))
		{
			verify_report(verify, "toast", "column %d has a value that is nowhere", i + 1);
			continue;
		}
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		if (verify->toast_rel == NULL ||
			pointer.va_toastrelid != RelationGetRelid(verify->toast_rel))
			verify_report(verify, "toast",
						  "column %d has a value in relation %u, which is not the TOAST table",
						  i + 1, pointer.va_toastrelid);
		else if (verify->toast)
			check_chunks(verify, &pointer);
	}
}

/* ---- a row ---- */

/* Check the version that the snapshot sees: its toasted values, and its index entries. */
static void
check_seen(Verify *verify)
{
	MemoryContextReset(verify->per_row);
	if (!verify_fetch_seen(verify, verify->offnum))
		return;
	check_toasted(verify);
	verify_in_indexes(verify);
	ExecClearTuple(verify->slot);
}

void
verify_row(Verify *verify)
{
	MemoryContext old = MemoryContextSwitchTo(verify->per_row);

	check_versions(verify);
	check_seen(verify);
	MemoryContextSwitchTo(old);
}
