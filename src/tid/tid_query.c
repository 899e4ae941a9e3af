/*
 * tid_query.c
 *		The phase of the query, and how long notes about TIDs are kept.
 *
 * Queries nest: functions and triggers run queries and commands of their own.  Each level has a
 * ZTidState of its own, begins with an empty one and, when it ends, restores that of the level
 * around it, after an error as well (T7).  The outermost level, which is not a query, is cleared
 * with each transaction.
 *
 * This depends on what the server's standard_ExecutorFinish does, and in which order
 * (ztid_events_fire).
 *
 * LOCKING: none.
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

/*
 * Return whether a WITH clause still changes rows.  An extension may have put a node of its own on
 * top of the ModifyTable node.
 */
static bool
is_unfinished(PlanState *node, void *context)
{
	if (IsA(node, ModifyTableState))
		return !((ModifyTableState *) node)->mt_done;
	return planstate_tree_walker(node, is_unfinished, context);
}

/*
 * ExecutorFinish first completes the WITH clauses that change rows and that the query has not read
 * to their end (ExecPostprocessPlan), which is no different from ExecutorRun; then it fires events
 * (AfterTriggerEndQuery).  There is no hook in between, but the plan says how far it is.
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

/*
 * Begin a level with an empty state; the caller keeps the state of the level around it in *outer.
 */
static pg_noinline void
level_begin(ZTidState *outer, ZTidPhase phase, QueryDesc *query)
{
	*outer = ztid_state;
	memset(&ztid_state, 0, sizeof(ztid_state));
	ztid_state.phase = phase;
	ztid_state.query = query;
	ztid_state.marks = zheap_marks_cleared();
}

/* Restore the state of the level around this one. */
static pg_noinline void
level_end(const ZTidState *outer, ZTidPhase phase)
{
	Assert(ztid_state.phase == phase);	/* T7 */
	ztid_state = *outer;
}

/* ExecutorRun_hook: a level in phase RUN. */
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

/* ExecutorFinish_hook: a level in phase FINISH. */
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
 * ProcessUtility_hook.  A command may be given in a function, while a query runs, but is no query
 * itself: COPY writes rows, SET CONSTRAINTS fires events of earlier queries.  So it is a level in
 * phase NONE.
 */
static void
utility(PlannedStmt *pstmt, const char *string, bool read_only, /* tidy: the server's signature */
		ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	ZTidState	outer;

	/* BEGIN, COMMIT: the outermost level continues, in any case */
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
 * Forget the notes that may have been rolled back.  The note of a deletion stays: the number of
 * the deleting transaction is part of it and not used again, and if another one has been rolled
 * back, the deleting query continues.
 */
static void
forget_notes(void)
{
	ztid_forget_conflict();
	ztid_state.next_ordinal = 0;
}

/*
 * At an abort no query continues: they have been left by an error, or the session ends within one.
 * In the latter case no PG_FINALLY has restored the state, and one more transaction follows, which
 * drops the session's temporary tables.
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
	/*
	 * the note may be of a later subtransaction: an index expression's, which has caught an error
	 */
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
