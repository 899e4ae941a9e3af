/*
 * vacuum_rel.c
 *		VACUUM of a table, from end to end.
 *
 * This file has the control flow, and the figures for pg_class and the statistics; the work is
 * in vacuum_scan.c (pages), vacuum_stale.c and vacuum_reap.c (index entries, line pointers) and
 * vacuum_truncate.c (the empty tail).
 *
 * There is nothing to freeze: a transaction becomes irrelevant when the undo horizon passes it,
 * whether or not its pages are visited.  So FREEZE and all the freeze ages have no meaning, and
 * a VACUUM is never "aggressive".
 */
#include "postgres.h"

#include "access/multixact.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "zheap/base/base.h"
#include "zheap/undo/undo_horizon.h"
#include "zheap/undo/undo_relation.h"
#include "zheap/vacuum/vacuum.h"

#include "vacuum_private.h"

static void
choose_what_to_do(ZVacuum *vac)
{
	ZCompatVacuumParams *params = vac->params;

	Assert(params->index_cleanup != VACOPTVALUE_UNSPECIFIED);
	Assert(params->truncate != VACOPTVALUE_UNSPECIFIED &&
		   params->truncate != VACOPTVALUE_AUTO);

	vac->do_indexes = params->index_cleanup != VACOPTVALUE_DISABLED;
	vac->may_bypass = params->index_cleanup == VACOPTVALUE_AUTO;
	vac->do_truncate = params->truncate != VACOPTVALUE_DISABLED;
}

static void
update_index_stats(ZVacuum *vac)
{
	int			i;

	for (i = 0; i < vac->nindexes; i++)
	{
		IndexBulkDeleteResult *result = vac->results[i];

		if (result == NULL || result->estimated_count)
			continue;
		vac_update_relstats(vac->indexes[i], result->num_pages,
							result->num_index_tuples, 0, 0, false,
							InvalidTransactionId, InvalidMultiXactId,
							NULL, NULL, false);
	}
}

/*
 * Update the table's row in pg_class, and the statistics.  relfrozenxid should be 0, because
 * nothing in the table depends on it (the undo relation's relfrozenxid keeps clog).  But
 * rewriting commands of the server set it for every access method; then it must advance, or
 * autovacuum would come back forever.
 */
static void
update_table_stats(ZVacuum *vac)
{
	Form_pg_class form = vac->rel->rd_rel;
	TransactionId frozenxid = InvalidTransactionId;
	MultiXactId minmulti = InvalidMultiXactId;
	BlockNumber visible;
	BlockNumber frozen;

	if (TransactionIdIsNormal(form->relfrozenxid))
		frozenxid = GetOldestNonRemovableTransactionId(vac->rel);
	if (MultiXactIdIsValid(form->relminmxid))
		minmulti = GetOldestMultiXactId();

	Assert(vac->scanned + vac->skipped == vac->npages + vac->removed);
	visibilitymap_count(vac->rel, &visible, &frozen);
	vac_update_relstats(vac->rel, vac->npages, vacuum_live_rows(vac),
						Min(visible, vac->npages), Min(frozen, vac->npages), vac->nindexes > 0,
						frozenxid, minmulti, NULL, NULL, false);

	pgstat_report_vacuum(vac->rel, (PgStat_Counter) vacuum_live_rows(vac), vac->recently_dead,
						 vac->began);
}

/* Advance the horizon, open the indexes, and set up the state.  No page is locked. */
static void
vacuum_open(ZVacuum *vac)
{
	vac->began = GetCurrentTimestamp();
	vac->verbose = (vac->params->options & VACOPT_VERBOSE) != 0;
	vac->old_reltuples = vac->rel->rd_rel->reltuples;
	choose_what_to_do(vac);

	/*
	 * Both must precede parallel mode.  Advancing the horizon first makes as many deleted rows
	 * as possible removable.
	 */
	zundo_open_for(vac->rel);
	zundo_horizon_advance();
	vac->horizon = zundo_horizon();

	vac_open_indexes(vac->rel, RowExclusiveLock, &vac->nindexes, &vac->indexes);
	vac->results = palloc0(sizeof(IndexBulkDeleteResult *) * Max(vac->nindexes, 1));
	vac->npages = RelationGetNumberOfBlocks(vac->rel);
	zview_open(&vac->view, vac->rel);
	vacuum_begin_marking(vac);
}

void
zvacuum_relation(Relation rel, ZCompatVacuumParams *params, BufferAccessStrategy strategy)
{
	ZVacuum    *vac;
	ErrorContextCallback context;

	zheap_require_preload();
	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));

	vac = palloc0(sizeof(ZVacuum));
	vac->rel = rel;
	vac->params = params;
	vac->strategy = strategy;
	vac->namespace = get_namespace_name(RelationGetNamespace(rel));

	pgstat_progress_start_command(PROGRESS_COMMAND_VACUUM, RelationGetRelid(rel));
	context.callback = vacuum_error_context;
	context.arg = vac;
	context.previous = error_context_stack;
	error_context_stack = &context;

	vacuum_open(vac);
	vacuum_report_start(vac);

	vacuum_dead_open(vac);
	vacuum_scan(vac);
	vacuum_stale_reap_last(vac);	/* before freed line pointers change pages */
	vacuum_reap_last(vac);
	pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, vac->npages);
	vacuum_index_cleanup(vac);
	vacuum_dead_close(vac);
	vacuum_end_marking(vac);
	update_index_stats(vac);
	vacuum_cut_end(vac);

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE,
								 PROGRESS_VACUUM_PHASE_FINAL_CLEANUP);
	update_table_stats(vac);
	vacuum_report_end(vac);

	zview_close(&vac->view);
	vac_close_indexes(vac->nindexes, vac->indexes, NoLock);
	error_context_stack = context.previous;
	pgstat_progress_end_command();
}
