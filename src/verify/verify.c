/*
 * verify.c
 *		zheap_verify(): check a table and its indexes.
 *
 * The table is checked page by page, in steps that end separately, so that damage in one place
 * does not hide damage elsewhere.  README.md, and the comments of each check, explain why
 * concurrent changes are never findings.
 *
 * LOCKING: AccessShareLock on the table, its TOAST table and its indexes.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "zheap/base/catalog.h"
#include "zheap/undo/undo_relation.h"

#include "verify_private.h"

PG_FUNCTION_INFO_V1(zheap_verify);
PG_FUNCTION_INFO_V1(zheap_verify_all);

/* ---- a table ---- */

/* A step: check the rows behind verify->offnum, which an error leaves at the row it is about. */
static void
check_page_rows(Verify *verify)
{
	OffsetNumber max = PageGetMaxOffsetNumber(verify->view.page);

	while (verify->offnum < max)
	{
		verify->offnum++;
		if (ItemIdIsNormal(PageGetItemId(verify->view.page, verify->offnum)))
			verify_row(verify);
	}
}

/*
 * Check the page verify->block and its rows; after a row with an error, continue with the next.
 * Return whether all rows could be checked.
 */
static bool
check_rows_of_block(Verify *verify)
{
	bool		well = true;

	verify->offnum = InvalidOffsetNumber;
	if (!verify_step(verify, "page", verify_page) || !verify->usable)
		return false;
	(void) verify_step(verify, "chain", verify_chains);
	if (!verify->usable)
		return false;
	verify_tids_of_page(verify);
	while (!verify_step(verify, "version", check_page_rows))
	{
		CHECK_FOR_INTERRUPTS();
		well = false;
	}
	return well;
}

/* Check a block.  It is noted as damaged only if there was a finding, not if it has no rows. */
static void
check_block(Verify *verify, BlockNumber block)
{
	int64		findings = verify->findings;

	verify->block = block;
	if (!check_rows_of_block(verify) && verify->findings > findings)
		verify_note_damaged(verify);
}

/*
 * Check the blocks that exist now.  Blocks added later hold only rows that our snapshot does not
 * see.
 */
static void
check_table(Verify *verify)
{
	BlockNumber nblocks;

	zview_open(&verify->view, verify->rel);
	verify_open_indexes(verify);
	nblocks = RelationGetNumberOfBlocks(verify->rel);
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		check_block(verify, block);
	}
	verify_reread_indexes(verify);
	verify_close_indexes(verify);
	zview_close(&verify->view);
}

/*
 * Check the table verify->rel, as its owner: functions of indexes run with the owner's rights, as
 * when an index is built.
 */
static void
verify_table(Verify *verify)
{
	Oid			toast = verify->rel->rd_rel->reltoastrelid;
	Oid			user;
	int			sec_context;
	int			nest_level;

	verify->snapshot = GetActiveSnapshot();
	verify->toast_rel = OidIsValid(toast) ? relation_open(toast, AccessShareLock) : NULL;
	verify->estate = CreateExecutorState();
	verify->slot = MakeSingleTupleTableSlot(RelationGetDescr(verify->rel), &TTSOpsVirtual);
	verify->per_row = AllocSetContextCreate(CurrentMemoryContext, "zheap verify",
											ALLOCSET_DEFAULT_SIZES);
	verify_reset_place(verify);
	verify->indexes = NULL;
	verify->nindexes = 0;
	verify->index = NULL;
	verify->damaged = NULL;
	GetUserIdAndSecContext(&user, &sec_context);
	SetUserIdAndSecContext(verify->rel->rd_rel->relowner,
						   sec_context | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	/* a scan of a GIN index must return all entries */
	(void) set_config_option("gin_fuzzy_search_limit", "0", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	check_table(verify);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, sec_context);
	MemoryContextDelete(verify->per_row);
	ExecDropSingleTupleTableSlot(verify->slot);
	FreeExecutorState(verify->estate);
	if (verify->toast_rel)
		relation_close(verify->toast_rel, AccessShareLock);
}

/*
 * ERROR (null_value_not_allowed) if the argument is null.  The functions are not strict, as no
 * rows would mean that nothing is wrong.
 */
static void
check_argument(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
}

/* SQL: zheap_verify(relation, toast): the findings of one table. */
Datum
zheap_verify(PG_FUNCTION_ARGS)
{
	Verify		verify = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};

	check_argument(fcinfo, 0, "relation");
	check_argument(fcinfo, 1, "toast");

	verify.rel = zinspect_open(PG_GETARG_OID(0));
	verify.toast = PG_GETARG_BOOL(1);
	InitMaterializedSRF(fcinfo, 0);
	verify_table(&verify);
	zinspect_close(verify.rel);
	return (Datum) 0;
}

/* ---- all tables ---- */

/* Add a zheap table that can be checked here to the list *arg; see zheap_class_scan(). */
static bool
note_zheap_table(HeapTuple tuple, TupleDesc desc, void *arg)
{
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
	List	  **oids = arg;

	if ((form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW) &&
		(form->relpersistence == RELPERSISTENCE_PERMANENT || !RecoveryInProgress()) &&
		zheap_is_table_am(form->relam))
		*oids = lappend_oid(*oids, form->oid);
	return true;
}

/* SQL: zheap_verify_all(toast): the findings of all zheap tables of this database. */
Datum
zheap_verify_all(PG_FUNCTION_ARGS)
{
	Verify		verify = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo, .with_relation = true};
	List	   *oids = NIL;
	ListCell   *cell;

	check_argument(fcinfo, 0, "toast");
	zheap_require_preload();
	verify.toast = PG_GETARG_BOOL(0);
	InitMaterializedSRF(fcinfo, 0);
	zheap_class_scan(InvalidOid, NULL, NULL, 0, note_zheap_table, &oids);
	foreach(cell, oids)
	{
		/* it may have been dropped */
		verify.rel = try_relation_open(lfirst_oid(cell), AccessShareLock);
		if (verify.rel == NULL)
			continue;
		if (zheap_is_table(verify.rel) && !RELATION_IS_OTHER_TEMP(verify.rel))
		{
			zundo_open_for(verify.rel);
			verify_table(&verify);
		}
		zinspect_close(verify.rel);
	}
	return (Datum) 0;
}
