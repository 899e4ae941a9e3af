/*
 * scan_query.c
 *		Hooks that know whether a query is being executed.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "zheap/scan/query.h"

static int	depth = 0;			/* executor calls within one another */

static ExecutorRun_hook_type previous_run = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

bool
zscan_query_runs(void)
{
	return depth > 0;
}

static void
query_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	int			outer = depth;

	depth = outer + 1;
	PG_TRY();
	{
		if (previous_run)
			previous_run(query, direction, count, once);
		else
			standard_ExecutorRun(query, direction, count, once);
	}
	PG_FINALLY();
	{
		depth = outer;
	}
	PG_END_TRY();
}

static void
query_finish(QueryDesc *query)
{
	int			outer = depth;

	depth = outer + 1;
	PG_TRY();
	{
		if (previous_finish)
			previous_finish(query);
		else
			standard_ExecutorFinish(query);
	}
	PG_FINALLY();
	{
		depth = outer;
	}
	PG_END_TRY();
}

/* SET CONSTRAINTS fires events of earlier queries, perhaps in a function of one. */
static void
utility(PlannedStmt *pstmt, const char *string, bool read_only,	/* tidy: the server's signature */
		ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	ProcessUtility_hook_type next = previous_utility ? previous_utility : standard_ProcessUtility;
	int			outer = depth;

	if (!IsA(pstmt->utilityStmt, ConstraintsSetStmt))
	{
		next(pstmt, string, read_only, context, params, env, dest, qc);
		return;
	}
	depth = 0;
	PG_TRY();
	{
		next(pstmt, string, read_only, context, params, env, dest, qc);
	}
	PG_FINALLY();
	{
		depth = outer;
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
