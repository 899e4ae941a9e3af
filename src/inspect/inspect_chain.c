/*
 * inspect_chain.c
 *		SQL function that returns all versions of a row, newest first, as readers reconstruct them.
 *
 * LOCKING: AccessShareLock on the table.  The page is copied first; undo is read while no buffer
 * is locked, and the walk can be cancelled.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"

#include "zheap/mvcc/version.h"
#include "zheap/record/record.h"
#include "zheap/tid/tid.h"

#include "inspect_private.h"

PG_FUNCTION_INFO_V1(zheap_undo_chain);

enum
{
	CHAIN_ORDINAL, CHAIN_XID, CHAIN_STATUS, CHAIN_OPERATION, CHAIN_COMMAND, CHAIN_UNDO,
	CHAIN_LENGTH, CHAIN_TURN, CHAIN_FLAGS, CHAIN_ROW
};

/* Name of the operation that made a deleted version; its flags are enough. */
static const char *
deletion_name(const ZRowHeader *hdr)
{
	if (hdr->flags & ZROW_MOVED)
		return "move";
	return hdr->flags2 & ZROW2_MOVED_PART ? "move to partition" : "delete";
}

/* Name of the operation that made the version, or NULL if not known.  "made" may be NULL. */
static const char *
operation_name(const ZRowHeader *hdr, const ZUndoRecord *made)
{
	if (hdr->flags & ZROW_DELETED)
		return deletion_name(hdr);
	if (made == NULL)
		return NULL;
	return made->type == ZOP_INSERT ? "insert" : "update";
}

/*
 * Return a version as a row.  Its body has been reconstructed if it still exists.  "made" is the
 * undo record of the version's making, or NULL; "at" is the record that keeps the version, or
 * invalid if it is on the page.
 */
static void
put_version(FunctionCallInfo fcinfo, const ZPageView *view, const ZRowVersion *version,
			const ZUndoRecord *made, ZUndoPtr at, int ordinal)
{
	FullTransactionId fxid = zmodifier_fxid(&version->modifier);
	InspectRow	row = {0};

	inspect_set_int4(&row, CHAIN_ORDINAL, ordinal);
	inspect_set_fxid(&row, CHAIN_XID, fxid);
	inspect_set_text(&row, CHAIN_STATUS, inspect_status(view, fxid));
	inspect_set_text(&row, CHAIN_OPERATION, operation_name(&version->hdr, made));
	if (made)
		inspect_set(&row, CHAIN_COMMAND, CommandIdGetDatum(made->cid));
	inspect_set_pointer(&row, CHAIN_UNDO, at);
	inspect_set_int4(&row, CHAIN_LENGTH, (int32) version->len);
	inspect_set_int4(&row, CHAIN_TURN, zrow_turn(&version->hdr));
	inspect_set(&row, CHAIN_FLAGS, inspect_row_flags(&version->hdr));
	inspect_set(&row, CHAIN_ROW, inspect_row_bytes(version->row, version->len, &version->hdr));
	inspect_put(fcinfo, &row);
}

/* Return the row's versions from the one on the page to the first, or one visible to all. */
static void
put_versions(FunctionCallInfo fcinfo, ZPageView *view, OffsetNumber offnum)
{
	/* reset for each version: there may be millions */
	MemoryContext one = AllocSetContextCreate(CurrentMemoryContext, "zheap row version",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = CurrentMemoryContext;
	ZRowVersion version;
	ZUndoPtr	at = ZUNDO_INVALID;
	int			ordinal = 0;

	zmvcc_current(view, offnum, &version);
	do
	{
		ZUndoRecord rec;
		ZOwner		made;
		bool		has_record;

		CHECK_FOR_INTERRUPTS();
		zmvcc_find_modifier(view, &version);
		(void) zmvcc_reconstruct_body(view, &version);
		has_record = zmvcc_record(view, &version, &rec, &made);
		/* it has become visible to all meanwhile */
		if (!has_record)
			zmodifier_set_all_visible(&version.modifier);
		MemoryContextSwitchTo(one);
		put_version(fcinfo, view, &version, has_record ? &rec : NULL, at, ++ordinal);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(one);
		if (!has_record)
			break;
		at = made.undo;
		version.next_fxid = InvalidFullTransactionId;
		/* zmvcc_previous() has not stepped if this stays invalid */
	} while (zmvcc_previous(view, &version) && FullTransactionIdIsValid(version.next_fxid));
}

/*
 * Raise ERROR (invalid_parameter_value) if there is no such line pointer, (no_data_found) if it
 * has no row.
 */
static void
check_line_pointer(const ZPageView *view, OffsetNumber offnum)
{
	OffsetNumber max = PageGetMaxOffsetNumber(view->page);
	const char *table = RelationGetRelationName(view->rel);
	ItemId		lp;

	if (offnum < FirstOffsetNumber || offnum > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tid (%u,%u) is not valid for relation \"%s\"", view->block, offnum, table),
				 errdetail_plural("The page has %u line pointer.", "The page has %u line pointers.",
								  max, max)));
	lp = PageGetItemId(view->page, offnum);
	if (ItemIdIsDead(lp) || !ItemIdIsUsed(lp))
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("there is no row at tid (%u,%u) of relation \"%s\"", view->block, offnum,
						table),
				 ItemIdIsDead(lp) ?
				 errdetail("The line pointer is dead: the row was deleted, or its insertion rolled back, and index entries may name it.") :
				 errdetail("The line pointer is unused.")));
}

/* SQL: zheap_undo_chain(table, tid): the versions of a row. */
Datum
zheap_undo_chain(PG_FUNCTION_ARGS)
{
	Relation	rel = zinspect_open(PG_GETARG_OID(0));
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	BlockNumber block = inspect_block(rel, ItemPointerGetBlockNumberNoCheck(tid));
	/* ignore a tag, which would select one version: all are returned */
	OffsetNumber offnum = ztid_offset(tid);
	ZPageView	view;

	InitMaterializedSRF(fcinfo, 0);
	zview_open(&view, rel);
	inspect_view(&view, block);
	check_line_pointer(&view, offnum);
	put_versions(fcinfo, &view, offnum);
	zview_close(&view);
	zinspect_close(rel);
	return (Datum) 0;
}
