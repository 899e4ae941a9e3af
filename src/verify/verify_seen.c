/*
 * verify_seen.c
 *		The version of a row that the snapshot sees, and its key in an index.
 *
 * LOCKING: none; the page is a private copy.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "executor/executor.h"

#include "zheap/mvcc/visibility.h"
#include "zheap/page/row.h"

#include "verify_private.h"

void
verify_deform(Verify *verify, const ZRowVersion *version, int upto, Datum *values, bool *isnull,
			  uint32 *end)
{
	TupleDesc	desc = RelationGetDescr(verify->rel);
	ZRowDeform	state = {0};

	state.scratch = palloc(ZROW_SCRATCH_SIZE(desc->natts, version->len));
	if (!zrow_deform(desc, version->row, version->len, upto, values, isnull, &state))
		zheap_corrupt(verify->rel, verify->view.block, version->offnum,
					  "values of the row run past its end");
	*end = state.off;
}

bool
verify_fetch_seen(Verify *verify, OffsetNumber offnum)
{
	TupleTableSlot *slot = verify->slot;
	ZRowVersion version;
	uint32		end;

	if (!zmvcc_fetch(&verify->view, offnum, verify->snapshot, &version))
		return false;
	ExecClearTuple(slot);
	verify_deform(verify, &version, RelationGetDescr(verify->rel)->natts, slot->tts_values,
				  slot->tts_isnull, &end);
	ExecStoreVirtualTuple(slot);
	ItemPointerSet(&slot->tts_tid, verify->view.block, offnum);
	slot->tts_tableOid = RelationGetRelid(verify->rel);
	return true;
}

bool
verify_form_key(Verify *verify, VerifyIndex *index)
{
	ExprContext *context = GetPerTupleExprContext(verify->estate);

	context->ecxt_scantuple = verify->slot;
	if (!ExecQual(index->predicate, context))
		return false;
	FormIndexDatum(index->info, verify->slot, verify->estate, index->values, index->isnull);
	return true;
}
