/*
 * verify_findings.c
 *		Findings of zheap_verify(): rows of its result, and errors that become findings.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/tuplestore.h"
#include <stdarg.h>
#include "utils/builtins.h"

#include "zheap/base/base.h"
#include "zheap/rollback/rollback.h"

#include "verify_private.h"

/* Return a finding at the current place as a row. */
static void
put_finding(Verify *verify, const char *kind, const char *message)
{
	Datum		all[5];
	bool		nulls[5] = {false};
	int			first = verify->with_relation ? 0 : 1;

	Assert(!zheap_holds_buffer_lock());
	all[0] = ObjectIdGetDatum(RelationGetRelid(verify->rel));
	all[1] = Int64GetDatum((int64) verify->block);
	nulls[1] = !BlockNumberIsValid(verify->block);
	all[2] = Int32GetDatum(verify->offnum);
	nulls[2] = !OffsetNumberIsValid(verify->offnum);
	all[3] = CStringGetTextDatum(kind);
	all[4] = CStringGetTextDatum(message);
	tuplestore_putvalues(verify->rsinfo->setResult, verify->rsinfo->setDesc, all + first,
						 nulls + first);
	verify->findings++;
}

void
verify_report(Verify *verify, const char *kind, const char *fmt,...)
{
	va_list		args;
	char	   *message;

	va_start(args, fmt);
	message = zheap_format(fmt, args);
	va_end(args);
	put_finding(verify, kind, message);
	pfree(message);
}

void
verify_reset_place(Verify *verify)
{
	verify->block = InvalidBlockNumber;
	verify->offnum = InvalidOffsetNumber;
}

void
verify_report_item(Verify *verify, BlockNumber index_block, OffsetNumber item)
{
	verify_report(verify, "index", "item %u on block %u of index \"%s\" is damaged", item,
				  index_block, RelationGetRelationName(verify->index->rel));
}

void
verify_report_entry(Verify *verify, ItemPointer tid, BlockNumber index_block, OffsetNumber item,
					const char *where)
{
	const char *index = RelationGetRelationName(verify->index->rel);

	verify->block = ItemPointerGetBlockNumberNoCheck(tid);
	verify->offnum = ItemPointerGetOffsetNumberNoCheck(tid);
	if (BlockNumberIsValid(index_block))
		verify_report(verify, "index", "item %u on block %u of index \"%s\" leads to %s", item,
					  index_block, index, where);
	else
		verify_report(verify, "index", "an entry of index \"%s\" leads to %s", index, where);
	verify_reset_place(verify);
}

/* ---- errors ---- */

typedef struct Step
{
	void		(*step) (Verify *verify);
	Verify	   *verify;
} Step;

static void
run_step(void *arg)
{
	Step	   *step = arg;

	step->step(step->verify);
}

/*
 * Return whether an error is by damage.  Index access methods report much damage as an internal
 * error, and a block far beyond the end as an undefined file.
 */
static bool
is_finding(const ErrorData *error, const char *kind)
{
	return error->sqlerrcode == ERRCODE_DATA_CORRUPTED ||
		error->sqlerrcode == ERRCODE_INDEX_CORRUPTED ||
		((error->sqlerrcode == ERRCODE_INTERNAL_ERROR ||
		  error->sqlerrcode == ERRCODE_UNDEFINED_FILE) && strcmp(kind, "index") == 0);
}

bool
verify_step(Verify *verify, const char *kind, void (*step) (Verify *verify))
{
	Step		run = {step, verify};
	ErrorData  *error = zrollback_try(run_step, &run);

	if (error == NULL)
		return true;
	if (!is_finding(error, kind))
		ReThrowError(error);
	put_finding(verify, kind, error->message);
	FreeErrorData(error);
	return false;
}

/* ---- blocks ---- */

void
verify_note_damaged(Verify *verify)
{
	Assert(BlockNumberIsValid(verify->block));
	if (verify->damaged == NULL)
		verify->damaged = intset_create();
	intset_add_member(verify->damaged, verify->block);
}

bool
verify_is_damaged(Verify *verify, BlockNumber block)
{
	return verify->damaged != NULL && intset_is_member(verify->damaged, block);
}
