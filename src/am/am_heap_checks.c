/*
 * am_heap_checks.c
 *		Refuse functions that would write into zheap pages as if they were heap's.
 *
 * pg_check_visible() of pg_visibility applies heap's rules to all-visible pages of any table with
 * a visibility map.  It reads transaction ids where a zheap row has values, and sets bits of
 * values where heap has hint bits.  pg_check_frozen() only reads, and reports rows that are in
 * order.
 * Both ask for the size of the table before they read a page of it, and the function manager's
 * hook reports when they begin and end.
 *
 * heap_insert(), called by C code that takes the table for heap's, would write a heap tuple into a
 * zheap page, or initialize a heap page.  It first tries the block that zheap_target.c remembers.
 * If there is none it asks for the size: to see whether the block that the free space map names
 * exists (from 15.7 on), or which block is the last one.
 */
#include "postgres.h"

#include <ctype.h>
#ifdef HAVE_EXECINFO_H
#include <execinfo.h>
#endif

#include "access/hio.h"
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
static emit_log_hook_type previous_log_hook = NULL;

/*
 * The function that is running, or NULL; neither of the two calls other functions.  If another
 * hook fails as it begins, its end is never reported: "running" is valid only in its transaction.
 */
static const char *running = NULL;
static LocalTransactionId running_in;

/*
 * Return the name of the function in its library if it is one of the two, or NULL.  Its SQL name
 * may be any.
 */
static const char *
heap_check(Oid function)
{
	HeapTuple	tuple;
	const char *result = NULL;

	/* neither is built in; and a look-up for functions that look-ups call would not end */
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
	running_in = zcompat_my_lxid();
}

void
zam_refuse_heap_checks(Relation rel)
{
	if (running != NULL && running_in == zcompat_my_lxid())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s() cannot check table \"%s\"", running, RelationGetRelationName(rel)),
				 errdetail("It reads tables with access method \"%s\" as heap tables.",
						   ZHEAP_AM_NAME),
				 errhint("Use zheap.zheap_verify() to check the table.")));
}

/* Upper limit of a function's code: names are looked up only of return addresses in range. */
#define MAX_CODE	65536

/* Return whether RelationGetBufferForTuple() is among the 16 innermost frames of the stack. */
static bool
is_called_by_heap(void)
{
	bool		found = false;

#ifdef HAVE_BACKTRACE_SYMBOLS
	void	   *frames[16];
	int			n = backtrace(frames, lengthof(frames));

	for (int i = 0; i < n && !found; i++)
	{
		uintptr_t	code = (uintptr_t) frames[i] - (uintptr_t) RelationGetBufferForTuple;
		char	  **name = code < MAX_CODE ? backtrace_symbols(&frames[i], 1) : NULL;

		found = name != NULL && strstr(name[0], "RelationGetBufferForTuple") != NULL;
		free(name);
	}
#endif
	return found;
}

/*
 * The stack is examined only if no block is remembered, which happens about once after the server
 * has opened the table's file: nearly all zheap operations remember one before they ask for the
 * size.
 */
void
zam_refuse_heap_insert(Relation rel)
{
	if (likely(RelationGetTargetBlock(rel) != InvalidBlockNumber))
		return;
	if (is_called_by_heap())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot write heap rows into table \"%s\"", RelationGetRelationName(rel)),
				 errdetail("C code of an extension takes it for a heap table, but its access method is \"%s\".",
						   ZHEAP_AM_NAME),
				 errhint("Make the extension's tables heap tables, with ALTER TABLE ... SET ACCESS METHOD heap.")));
	zheap_target_guard(rel);
}

/*
 * emit_log_hook: add a detail and a hint to the error of heap_insert() when it has failed to read
 * a block that cannot exist (zheap_target.c).
 */
static void
hint_at_heap_insert(ErrorData *error)
{
	static const char *const unreadable =
		"could not open file \"%s\" (target block %u): previous segment is only %u blocks";
	bool		found = false;

	if (previous_log_hook != NULL)
		previous_log_hook(error);
	if (error->elevel != ERROR || error->detail != NULL || error->hint != NULL ||
		error->message_id == NULL || strcmp(error->message_id, unreadable) != 0)
		return;
	for (const char *c = error->message + 1; *c != '\0' && !found; c++)
	{
		/* the beginning of a number */
		if (isdigit((unsigned char) *c) && *(c - 1) == ' ')
			found = strtoul(c, NULL, 10) >= ZTARGET_OURS;
	}
	if (!found)
		return;
	error->detail = MemoryContextStrdup(error->assoc_context,
										_("C code of an extension may have tried to write heap rows into a zheap table."));
	error->hint = MemoryContextStrdup(error->assoc_context,
									  _("Make the extension's tables heap tables, with ALTER TABLE ... SET ACCESS METHOD heap."));
}

void
zam_heap_checks_register(void)
{
	previous_log_hook = emit_log_hook;
	emit_log_hook = hint_at_heap_insert;
	previous_needs = needs_fmgr_hook;
	needs_fmgr_hook = needs_hook;
	previous_hook = fmgr_hook;
	fmgr_hook = note_running;
}
