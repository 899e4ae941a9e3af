/*
 * tid_query.c
 *		The phase of the query, and how long what core was told is remembered.
 *
 * Queries nest: functions and triggers run queries and commands of their own.  Each
 * level has a ZTidState of its own, begins with an empty one and, when it ends, leaves
 * the one around it as it was, after an error as well (T7).  The outermost level, which
 * no query is, is cleared with each transaction.
 *
 * This depends on what the server's standard_ExecutorFinish does, and in which order
 * (ztid_events_fire).
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "tcop/utility.h"

#include "zheap/base/pg_compat_executor.h"
#include "zheap/base/base.h"
#include "zheap/tid/tid.h"

ZTidState	ztid_state;

static ExecutorRun_hook_type previous_run = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

/* Does this WITH clause still change rows?  An extension may have put a node of its own there. */
static bool
is_unfinished(PlanState *node, void *context)
{
	if (IsA(node, ModifyTableState))
		return !((ModifyTableState *) node)->mt_done;
	return planstate_tree_walker(node, is_unfinished, context);
}

/*
 * ExecutorFinish first runs to their end the WITH clauses that change rows and that
 * the query has not read to theirs (ExecPostprocessPlan), which is no different from
 * ExecutorRun; then it fires events (AfterTriggerEndQuery).  There is no hook in
 * between, but the plan says how far it is.
 */
bool
ztid_events_fire(void)
{
	ListCell   *cell;

	Assert((ztid_state.phase == ZTID_PHASE_FINISH) == (ztid_state.query != NULL));
	if (ztid_state.phase != ZTID_PHASE_FINISH)
		return ztid_state.phase == ZTID_PHASE_NONE;
	foreach(cell, ztid_state.query->estate->es_auxmodifytables)
	{
		if (is_unfinished(lfirst(cell), NULL))
			return false;
	}
	return true;
}

/* ---- levels ---- */

static pg_noinline void
level_begin(ZTidState *outer, ZTidPhase phase, QueryDesc *query)
{
	*outer = ztid_state;
	memset(&ztid_state, 0, sizeof(ztid_state));
	ztid_state.phase = phase;
	ztid_state.query = query;
	ztid_state.marks = zheap_marks_cleared();
}

static pg_noinline void
level_end(const ZTidState *outer, ZTidPhase phase)
{
	Assert(ztid_state.phase == phase);	/* T7 */
	ztid_state = *outer;
}

static void
query_run(QueryDesc *query, ScanDirection direction, uint64 count ZCOMPAT_RUN_PARAM)
{
	ZTidState	outer;

	level_begin(&outer, ZTID_PHASE_RUN, NULL);
	PG_TRY();
	{
		if (previous_run)
			previous_run(query, direction, count ZCOMPAT_RUN_ARG);
		else
			standard_ExecutorRun(query, direction, count ZCOMPAT_RUN_ARG);
	}
	PG_FINALLY();
	{
		level_end(&outer, ZTID_PHASE_RUN);
	}
	PG_END_TRY();
}

static void
query_finish(QueryDesc *query)
{
	ZTidState	outer;

	level_begin(&outer, ZTID_PHASE_FINISH, query);
	PG_TRY();
	{
		if (previous_finish)
			previous_finish(query);
		else
			standard_ExecutorFinish(query);
	}
	PG_FINALLY();
	{
		level_end(&outer, ZTID_PHASE_FINISH);
	}
	PG_END_TRY();
}

/*
 * A command may be given in a function, that is, while a query runs, but is none
 * itself: COPY writes rows, SET CONSTRAINTS fires events of earlier queries.
 */
static void
utility(PlannedStmt *pstmt, const char *string, bool read_only, /* tidy: the server's signature */
		ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	ZTidState	outer;

	/* BEGIN, COMMIT: the outermost level goes on, whatever happens */
	if (ztid_state.phase == ZTID_PHASE_NONE)
	{
		previous_utility(pstmt, string, read_only, context, params, env, dest, qc);
		return;
	}
	level_begin(&outer, ZTID_PHASE_NONE, NULL);
	PG_TRY();
	{
		previous_utility(pstmt, string, read_only, context, params, env, dest, qc);
	}
	PG_FINALLY();
	{
		level_end(&outer, ZTID_PHASE_NONE);
	}
	PG_END_TRY();
}

/* ---- the ends of transactions ---- */

/*
 * What was noted last may have been rolled back.  The deletion stays: its transaction
 * is named by a number that is not used again, and if that is not the one that has
 * been rolled back, its query goes on.
 */
static void
forget_notes(void)
{
	ztid_forget_conflict();
	ztid_state.next_ordinal = 0;
}

/*
 * An abort finds no query that goes on: they have been left by an error, or the session
 * ends within one.  In the latter case nobody puts the state back, and yet there is
 * a transaction to come, which drops the session's temporary tables.
 */
static void
xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		memset(&ztid_state, 0, sizeof(ztid_state));
	Assert(ztid_state.phase == ZTID_PHASE_NONE);	/* T7 */
	forget_notes();
	ztid_state.locked_rel = InvalidOid;
	ztid_state.deleted_rel = InvalidOid;
}

static void
subxact_callback(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	/* one that began after it may be an index expression's, which has caught an error */
	if (ztid_state.conflict_sub >= id)
		ztid_forget_conflict();
	ztid_state.next_ordinal = 0;
}

void
ztid_register(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = query_run;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = query_finish;
	previous_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = utility;
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
}
