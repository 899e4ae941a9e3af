/*
 * am_heap_checks.c
 *		Functions that would write into zheap pages as if they were heap's.
 *
 * pg_check_visible() of pg_visibility judges what lies on all-visible pages by heap's rules,
 * of any table with a visibility map.  That reads transaction ids where a zheap row has
 * values, and where heap's hint bits would be it sets bits of values.  pg_check_frozen() only
 * reads, and reports rows that are in order.
 *
 * The server tells when a function begins and ends if asked to.  Both ask for the size of
 * the table before they read a page of it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "zheap/am/am_relation.h"
#include "zheap/base/base.h"

static const char *const heap_checks[] = {"pg_check_visible", "pg_check_frozen"};

static needs_fmgr_hook_type previous_needs = NULL;
static fmgr_hook_type previous_hook = NULL;

/*
 * The one that is running; neither calls other functions.  Should another hook fail as it
 * begins, nobody tells of its end: it does not outlive its transaction.
 */
static const char *running = NULL;
static LocalTransactionId running_in;

/* By its name in the library, as SQL may give it any.  NULL: another function. */
static const char *
heap_check(Oid function)
{
	HeapTuple	tuple;
	const char *result = NULL;

	/* neither is built in; and catalogs cannot be read to read catalogs */
	if (function < FirstNormalObjectId)
		return NULL;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		isnull;
		Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
		char	   *name = isnull ? NULL : TextDatumGetCString(source);

		for (int i = 0; name != NULL && i < (int) lengthof(heap_checks); i++)
		{
			if (strcmp(name, heap_checks[i]) == 0)
				result = heap_checks[i];
		}
		if (name != NULL)
			pfree(name);
	}
	ReleaseSysCache(tuple);
	return result;
}

static bool
needs_hook(Oid function)
{
	return (previous_needs != NULL && previous_needs(function)) || heap_check(function) != NULL;
}

static void
note_running(FmgrHookEventType event, FmgrInfo *flinfo, Datum *private)
{
	if (previous_hook != NULL)
		previous_hook(event, flinfo, private);
	running = event == FHET_START ? heap_check(flinfo->fn_oid) : NULL;
	running_in = MyProc->lxid;
}

void
zam_refuse_heap_checks(Relation rel)
{
	if (running != NULL && running_in == MyProc->lxid)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s() cannot check table \"%s\"", running, RelationGetRelationName(rel)),
				 errdetail("It takes rows of a table with access method \"%s\" for heap's.",
						   ZHEAP_AM_NAME)));
}

void
zam_heap_checks_register(void)
{
	previous_needs = needs_fmgr_hook;
	needs_fmgr_hook = needs_hook;
	previous_hook = fmgr_hook;
	fmgr_hook = note_running;
}
