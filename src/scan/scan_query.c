/*
 * scan_query.c
 *		Hooks that know whether a query is being executed.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "tcop/utility.h"

#include "zheap/scan/query.h"

typedef enum QueryPhase
{
	QUERY_NONE,
	QUERY_RUN,
	QUERY_FINISH
} QueryPhase;

static QueryPhase phase = QUERY_NONE;	/* of the innermost query */

static ExecutorRun_hook_type previous_run = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

bool
zscan_query_runs(void)
{
	return phase != QUERY_NONE;
}

bool
zscan_events_fire(void)
{
	return phase != QUERY_RUN;
}

static void
query_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	QueryPhase	outer = phase;

	phase = QUERY_RUN;
	PG_TRY();
	{
		if (previous_run)
			previous_run(query, direction, count, once);
		else
			standard_ExecutorRun(query, direction, count, once);
	}
	PG_FINALLY();
	{
		phase = outer;
	}
	PG_END_TRY();
}

static void
query_finish(QueryDesc *query)
{
	QueryPhase	outer = phase;

	phase = QUERY_FINISH;
	PG_TRY();
	{
		if (previous_finish)
			previous_finish(query);
		else
			standard_ExecutorFinish(query);
	}
	PG_FINALLY();
	{
		phase = outer;
	}
	PG_END_TRY();
}

/*
 * A command may be given in a function, that is, while a query runs, but is none
 * itself: COPY writes rows, SET CONSTRAINTS fires events of earlier queries.
 */
static void
utility(PlannedStmt *pstmt, const char *string, bool read_only,	/* tidy: the server's signature */
		ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	ProcessUtility_hook_type next = previous_utility ? previous_utility : standard_ProcessUtility;
	QueryPhase	outer = phase;

	/* BEGIN, COMMIT: nothing to roll back, whatever happens */
	if (outer == QUERY_NONE)
	{
		next(pstmt, string, read_only, context, params, env, dest, qc);
		return;
	}
	phase = QUERY_NONE;
	PG_TRY();
	{
		next(pstmt, string, read_only, context, params, env, dest, qc);
	}
	PG_FINALLY();
	{
		phase = outer;
	}
	PG_END_TRY();
}

void
zscan_query_hooks_register(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = query_run;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = query_finish;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}
