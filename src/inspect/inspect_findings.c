/*
 * inspect_findings.c
 *		What zheap_verify() has found: rows of its answer, or errors that are made such.
 */
#include "postgres.h"

#include <stdarg.h>

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "zheap/rollback/rollback.h"

#include "inspect_verify.h"

static void
put_finding(Verify *verify, const char *kind, const char *message)
{
	Datum		all[5];
	bool		nulls[5] = {false};
	int			first = verify->with_relation ? 0 : 1;

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
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&text, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	put_finding(verify, kind, text.data);
	pfree(text.data);
}

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

/* What the step had pinned or locked when it failed is given back. */
bool
verify_step(Verify *verify, const char *kind, void (*step) (Verify *verify))
{
	Step		run = {step, verify};
	ErrorData  *error = zrollback_try(run_step, &run);

	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED &&
		error->sqlerrcode != ERRCODE_INDEX_CORRUPTED)
		ReThrowError(error);
	put_finding(verify, kind, error->message);
	FreeErrorData(error);
	return false;
}
