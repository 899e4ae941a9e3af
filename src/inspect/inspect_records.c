/*
 * inspect_records.c
 *		SQL function that shows the records on a page of the undo relation, needed or not.
 *
 * A record contains its transaction and the page it is about only where these change; the first
 * record of each page contains both.
 *
 * LOCKING: the page is copied under a share lock (zundo_look_page).
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/itemptr.h"

#include "zheap/record/record.h"
#include "zheap/undo/undo_format.h"
#include "zheap/undo/undo_look.h"
#include "zheap/undo/undo_relation.h"

#include "inspect_private.h"

PG_FUNCTION_INFO_V1(zheap_undo_records);

enum
{
	REC_UNDO, REC_KIND, REC_XID, REC_TABLE, REC_FILE, REC_BLOCK, REC_LP, REC_LENGTH, REC_SLOT,
	REC_TAKEOVER, REC_COMMAND, REC_PAGE_PREV, REC_SLOT_PREV_XID, REC_SLOT_PREV, REC_ROW_PREV_XID,
	REC_ROW_PREV, REC_LOCK, REC_NEW_TID, REC_DAMAGE
};

static const char *const kinds_of_records[] = {
	[ZOP_INSERT] = "insert",
	[ZOP_UPDATE] = "update",
	[ZOP_DELETE] = "delete",
	[ZOP_LOCK] = "lock",
	[ZOP_TOMBSTONE] = "tombstone",
	[ZOP_DIRECTORY] = "directory"
};

static const char *const takeovers[] = {
	[ZTAKE_OWN] = "own",
	[ZTAKE_FREE] = "free",
	[ZTAKE_ALL_VISIBLE] = "visible to all",
	[ZTAKE_REUSED] = "reused"
};

/* Transaction and page of a record, which hold for the following ones that contain none. */
typedef struct Context
{
	FullTransactionId fxid;		/* invalid if not known */
	bool		has_page;
	RelFileLocator locator;
	BlockNumber block;
	Oid			table;			/* table that has the file now, or invalid */
} Context;

/* Take over what the record contains.  The table is looked up only if the file changes. */
static void
note_context(Context *context, const ZUndoRecord *rec)
{
	Oid			spc;

	if (rec->has_xact)
		context->fxid = rec->fxid;
	if (!rec->has_page)
		return;
	spc = rec->locator.spcOid;
	if (!context->has_page || context->locator.relNumber != rec->locator.relNumber ||
		context->locator.spcOid != spc)
		context->table = !OidIsValid(rec->locator.relNumber) ? InvalidOid :
			RelidByRelfilenumber(OidIsValid(spc) ? spc : MyDatabaseTableSpace,
								  rec->locator.relNumber);
	context->has_page = true;
	context->locator = rec->locator;
	context->block = rec->block;
}

static void
put_context(const Context *context, InspectRow *row)
{
	inspect_set_fxid(row, REC_XID, context->fxid);
	inspect_set_oid(row, REC_TABLE, context->table);
	if (!context->has_page)
		return;
	inspect_set(row, REC_FILE, ObjectIdGetDatum(context->locator.relNumber));
	inspect_set_int8(row, REC_BLOCK, context->block);
}

/* Fill in two columns: an owner's transaction and undo pointer. */
static void
put_owner(int column, const ZOwner *owner, InspectRow *row)
{
	inspect_set_fxid(row, column, owner->fxid);
	if (FullTransactionIdIsValid(owner->fxid))
		inspect_set_pointer(row, column + 1, owner->undo);
}

/* Fill in the columns of the version before. */
static void
put_before(const Context *context, const ZUndoRecord *rec, InspectRow *row)
{
	ZOwner		before = rec->row_prev;

	if (rec->prev_own)
	{
		before.fxid = context->fxid;
		inspect_set_pointer(row, REC_ROW_PREV, before.undo);
	}
	put_owner(REC_ROW_PREV_XID, &before, row);
}

/* Fill in the columns of a sound record; those that its type does not have stay null. */
static void
put_undo_record(const Context *context, const ZUndoRecord *rec, InspectRow *row)
{
	put_context(context, row);
	inspect_set_text(row, REC_KIND, kinds_of_records[rec->type]);
	inspect_set_int4(row, REC_SLOT, rec->slotno);
	inspect_set_text(row, REC_TAKEOVER, takeovers[rec->takeover]);
	inspect_set(row, REC_COMMAND, CommandIdGetDatum(rec->cid));
	if (rec->type != ZOP_DIRECTORY)
		inspect_set_int4(row, REC_LP, rec->offnum);
	if (rec->takeover == ZTAKE_OWN)
		inspect_set_pointer(row, REC_PAGE_PREV, rec->page_prev);
	if (rec->takeover == ZTAKE_REUSED)
		put_owner(REC_SLOT_PREV_XID, &rec->slot_prev, row);
	if (rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE)
		put_before(context, rec, row);
	if (rec->type == ZOP_LOCK)
		inspect_set_text(row, REC_LOCK, inspect_lock_mode(rec->lockmode));
	if (rec->has_new_tid)
		inspect_set(row, REC_NEW_TID, PointerGetDatum(&rec->new_tid));
}

/* Return a record as a row, or what is wrong with it. */
static void
put_look(FunctionCallInfo fcinfo, const ZUndoLook *look, Context *context)
{
	InspectRow	row = {0};
	const char *wrong = NULL;
	ZUndoRecord rec;

	inspect_set_pointer(&row, REC_UNDO, look->ptr);
	if (look->bytes != NULL)
		inspect_set_int4(&row, REC_LENGTH, (int32) look->len);
	if (look->bytes == NULL)
		wrong = "its length cannot be right; what follows on the page is left out";
	else if (!look->sound)
		wrong = "it does not agree with its check";
	else if (zrec_undo_decode(look->bytes, look->len, look->ptr, ZFORM_LOG, &rec) == 0)
		wrong = "it is no undo record";
	if (wrong)
	{
		/* its transaction and page, which the following ones may rely on, are not known */
		memset(context, 0, sizeof(*context));
		inspect_set_text(&row, REC_DAMAGE, wrong);
	}
	else
	{
		note_context(context, &rec);
		put_undo_record(context, &rec, &row);
	}
	inspect_put(fcinfo, &row);
}

/* Raise ERROR (object_not_in_prerequisite_state), which says what the page has instead. */
static void
refuse_undo_page(BlockNumber block, ZUndoPageKind kind)
{
	static const char *const kinds[] = {
		[ZUNDO_PAGE_NEW] = gettext_noop("It is a page of zeros, which has not been written yet."),
		[ZUNDO_PAGE_META] = gettext_noop("It is the meta page."),
		[ZUNDO_PAGE_DIRECTORY] = gettext_noop("It is a page of the directory of undo logs."),
		[ZUNDO_PAGE_MAP] = gettext_noop("It is a page of the map of free extents.")
	};

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("block %u of the undo relation has no undo records", block),
			 errdetail("%s", _(kinds[kind])),
			 kind == ZUNDO_PAGE_NEW ? 0 :
			 errhint("Specify another block, with number %u or greater.", ZUNDO_EXTENT_BLOCKS)));
}

/* SQL: zheap_undo_records(block): the undo records of a page. */
Datum
zheap_undo_records(PG_FUNCTION_ARGS)
{
	int64		number = PG_GETARG_INT64(0);
	BlockNumber block = (BlockNumber) number;
	BlockNumber nblocks = 0;
	Context		context = {.has_page = false};
	ZUndoLook	look;
	PGAlignedBlock copy;
	ZUndoPageKind kind;
	uint16		offset = 0;

	zheap_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	zundo_open();
	if (number < 0 || number > MaxBlockNumber || !zundo_look_page(block, copy.data, &nblocks))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number %lld is out of range for the undo relation",
						(long long) number),
				 nblocks == 0 ? 0 : errdetail("The undo relation has %u blocks, numbered from 0.", nblocks)));
	kind = zundo_look_kind(copy.data, block);
	if (kind != ZUNDO_PAGE_RECORDS)
		refuse_undo_page(block, kind);
	while (zundo_look_record(copy.data, block, &offset, &look))
	{
		CHECK_FOR_INTERRUPTS();
		put_look(fcinfo, &look, &context);
	}
	return (Datum) 0;
}
