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

#include "access/htup_details.h"
#include "utils/tuplestore.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/xid8.h"

#include "zheap/undo/undo_look.h"
#include "zheap/undo/undo_relation.h"

#include "inspect_private.h"

PG_FUNCTION_INFO_V1(zheap_undo_records);

enum
{
	REC_UNDO, REC_KIND, REC_XID, REC_TABLE, REC_FILE, REC_BLOCK, REC_LP, REC_LENGTH, REC_SLOT,
	REC_TAKEOVER, REC_COMMAND, REC_PAGE_PREV, REC_SLOT_PREV_XID, REC_SLOT_PREV, REC_ROW_PREV_XID,
	REC_ROW_PREV, REC_LOCK, REC_NEW_TID, REC_DAMAGE,
	REC_COLUMNS
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
put_context(const Context *context, Datum *values, bool *nulls)
{
	values[REC_XID] = FullTransactionIdGetDatum(context->fxid);
	nulls[REC_XID] = !FullTransactionIdIsValid(context->fxid);
	values[REC_TABLE] = ObjectIdGetDatum(context->table);
	nulls[REC_TABLE] = !OidIsValid(context->table);
	values[REC_FILE] = ObjectIdGetDatum(context->has_page ? context->locator.relNumber : 0);
	values[REC_BLOCK] = Int64GetDatum((int64) context->block);
	nulls[REC_FILE] = nulls[REC_BLOCK] = !context->has_page;
}

static void
put_pointer(int column, ZUndoPtr ptr, Datum *values, bool *nulls)
{
	values[column] = inspect_pointer(ptr);
	nulls[column] = ptr == ZUNDO_INVALID;
}

/* Fill in two columns: an owner's transaction and undo pointer. */
static void
put_owner(int column, const ZOwner *owner, Datum *values, bool *nulls)
{
	values[column] = FullTransactionIdGetDatum(owner->fxid);
	nulls[column] = !FullTransactionIdIsValid(owner->fxid);
	if (!nulls[column])
		put_pointer(column + 1, owner->undo, values, nulls);
}

/* Fill in the columns of the version before. */
static void
put_before(const Context *context, const ZUndoRecord *rec, Datum *values, bool *nulls)
{
	ZOwner		before = rec->row_prev;

	if (rec->prev_own)
	{
		before.fxid = context->fxid;
		put_pointer(REC_ROW_PREV, before.undo, values, nulls);
	}
	put_owner(REC_ROW_PREV_XID, &before, values, nulls);
}

/* Fill in the columns of a sound record; those that its type does not have stay null. */
static void
put_undo_record(const Context *context, const ZUndoRecord *rec, Datum *values, bool *nulls)
{
	put_context(context, values, nulls);
	values[REC_KIND] = CStringGetTextDatum(kinds_of_records[rec->type]);
	values[REC_SLOT] = Int32GetDatum(rec->slotno);
	values[REC_TAKEOVER] = CStringGetTextDatum(takeovers[rec->takeover]);
	values[REC_COMMAND] = CommandIdGetDatum(rec->cid);
	nulls[REC_KIND] = nulls[REC_SLOT] = nulls[REC_TAKEOVER] = nulls[REC_COMMAND] = false;
	values[REC_LP] = Int32GetDatum(rec->offnum);
	nulls[REC_LP] = rec->type == ZOP_DIRECTORY;
	if (rec->takeover == ZTAKE_OWN)
		put_pointer(REC_PAGE_PREV, rec->page_prev, values, nulls);
	if (rec->takeover == ZTAKE_REUSED)
		put_owner(REC_SLOT_PREV_XID, &rec->slot_prev, values, nulls);
	if (rec->type == ZOP_UPDATE || rec->type == ZOP_DELETE)
		put_before(context, rec, values, nulls);
	if (rec->type == ZOP_LOCK)
	{
		values[REC_LOCK] = CStringGetTextDatum(inspect_lock_mode(rec->lockmode));
		nulls[REC_LOCK] = false;
	}
	if (rec->has_new_tid)
	{
		values[REC_NEW_TID] = PointerGetDatum(&rec->new_tid);
		nulls[REC_NEW_TID] = false;
	}
}

/* Return a record as a row, or what is wrong with it. */
static void
put_look(ReturnSetInfo *rsinfo, const ZUndoLook *look, Context *context)
{
	Datum		values[REC_COLUMNS] = {0};
	bool		nulls[REC_COLUMNS];
	const char *wrong = NULL;
	ZUndoRecord rec;

	memset(nulls, true, sizeof(nulls));
	put_pointer(REC_UNDO, look->ptr, values, nulls);
	values[REC_LENGTH] = Int32GetDatum((int32) look->len);
	nulls[REC_LENGTH] = look->bytes == NULL;
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
		values[REC_DAMAGE] = CStringGetTextDatum(wrong);
		nulls[REC_DAMAGE] = false;
	}
	else
	{
		note_context(context, &rec);
		put_undo_record(context, &rec, values, nulls);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Raise ERROR (object_not_in_prerequisite_state), which says what the page has instead. */
static void
refuse_undo_page(BlockNumber block, ZUndoPageKind kind)
{
	static const char *const kinds[] = {
		[ZUNDO_PAGE_NEW] = gettext_noop("It is a page of zeros, which was not written yet."),
		[ZUNDO_PAGE_META] = gettext_noop("It is the meta page."),
		[ZUNDO_PAGE_DIRECTORY] = gettext_noop("It is a page of the directory of undo logs."),
		[ZUNDO_PAGE_MAP] = gettext_noop("It is a page of the map of free extents.")
	};

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("block %u of the undo relation has no undo records", block),
			 errdetail("%s", _(kinds[kind])),
			 kind == ZUNDO_PAGE_NEW ? 0 :
			 errhint("Records begin at block %u.", ZUNDO_EXTENT_BLOCKS)));
}

/* SQL: zheap_undo_records(block): the undo records of a page. */
Datum
zheap_undo_records(PG_FUNCTION_ARGS)
{
	int64		number = PG_GETARG_INT64(0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
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
				 nblocks == 0 ? 0 : errdetail("It has %u blocks, numbered from 0.", nblocks)));
	kind = zundo_look_kind(copy.data, block);
	if (kind != ZUNDO_PAGE_RECORDS)
		refuse_undo_page(block, kind);
	while (zundo_look_record(copy.data, block, &offset, &look))
	{
		CHECK_FOR_INTERRUPTS();
		put_look(rsinfo, &look, &context);
	}
	return (Datum) 0;
}
