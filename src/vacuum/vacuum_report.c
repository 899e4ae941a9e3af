/*
 * vacuum_report.c
 *		The output of VACUUM VERBOSE, autovacuum's log, and the context of errors.
 *
 * The words are heap's where they mean the same, so that tools which read the log keep working.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"

#include "zheap/undo/undo_horizon.h"

#include "vacuum_private.h"

static const char *
full_name(ZVacuum *vac)
{
	return psprintf("%s.%s.%s", get_database_name(MyDatabaseId), vac->namespace,
					RelationGetRelationName(vac->rel));
}

static bool
wants_report(ZVacuum *vac)
{
	return vac->verbose ||
		(AmAutoVacuumWorkerProcess() && vac->params->log_vacuum_min_duration >= 0);
}

void
vacuum_report_start(ZVacuum *vac)
{
	if (!wants_report(vac))
		return;

	pg_rusage_init(&vac->clock.usage);
	vac->clock.start = GetCurrentTimestamp();
	vac->clock.wal = pgWalUsage;
	vac->clock.buffers = pgBufferUsage;
	vac->clock.read_time = pgStatBlockReadTime;
	vac->clock.write_time = pgStatBlockWriteTime;

	if (vac->verbose)
		ereport(INFO, (errmsg("vacuuming \"%s\"", full_name(vac))));
}

static double
percent(double part, double whole)
{
	return whole == 0 ? 100.0 : 100.0 * part / whole;
}

/* Append the lines about pages, rows and the horizon. */
static void
append_table(ZVacuum *vac, StringInfo buf)
{
	BlockNumber all = vac->npages + vac->removed;

	appendStringInfo(buf, _("pages: %u removed, %u remain, %u scanned (%.2f%% of total)\n"),
					 vac->removed, vac->npages, vac->scanned, percent(vac->scanned, all));
	appendStringInfo(buf, _("tuples: %lld removed, %lld remain, %lld are dead but not yet removable\n"),
					 (long long) vac->pruned,
					 (long long) vacuum_all_rows(vac),
					 (long long) vac->recently_dead);
	if (vac->in_progress > 0)
		appendStringInfo(buf, _("tuples of transactions in progress: %lld\n"),
						 (long long) vac->in_progress);
	if (vac->rolled_back > 0)
		appendStringInfo(buf, _("aborted transactions rolled back on %u pages\n"),
						 vac->rolled_back);
	appendStringInfo(buf, _("undo horizon: " UINT64_FORMAT "\n"),
					 U64FromFullTransactionId(zundo_horizon()));
}

/* Append the lines about dead line pointers, stale entries and each index. */
static void
append_indexes(ZVacuum *vac, StringInfo buf)
{
	bool		reclaimed = vac->nindexes == 0 || vac->rounds > 0 || vac->dead_pointers == 0;
	int			i;

	if (!reclaimed)
		appendStringInfoString(buf, _("index scan bypassed: "));
	else if (vac->rounds == 0)
		appendStringInfoString(buf, _("index scan not needed: "));
	else
		appendStringInfoString(buf, _("index scan needed: "));
	appendStringInfo(buf,
					 reclaimed ?
					 _("%u pages from table (%.2f%% of total) had %lld dead item identifiers removed\n") :
					 _("%u pages from table (%.2f%% of total) have %lld dead item identifiers\n"),
					 vac->dead_pages,
					 percent(vac->dead_pages, vac->npages + vac->removed),
					 (long long) vac->dead_pointers);

	if (vac->stale_pages > 0)
		appendStringInfo(buf,
						 _("index entries of keys that rows had before: %lld removed, %lld rows have one key again\n"),
						 (long long) vac->stale_removed, (long long) vac->single);

	for (i = 0; i < vac->nindexes; i++)
	{
		IndexBulkDeleteResult *result = vac->results[i];

		if (result != NULL)
			appendStringInfo(buf,
							 _("index \"%s\": pages: %u in total, %u newly deleted, %u currently deleted, %u reusable\n"),
							 RelationGetRelationName(vac->indexes[i]),
							 result->num_pages, result->pages_newly_deleted,
							 result->pages_deleted, result->pages_free);
	}
}

/* Return megabytes per second since the start. */
static double
rate_of(const ZVacuum *vac, int64 blocks)
{
	long		seconds;
	int			microseconds;

	TimestampDifference(vac->clock.start, GetCurrentTimestamp(), &seconds, &microseconds);
	if (seconds == 0 && microseconds == 0)
		return 0;
	return (double) blocks * BLCKSZ / (1024 * 1024) / (seconds + microseconds / 1000000.0);
}

static void
append_rates(ZVacuum *vac, const BufferUsage *buffers, StringInfo buf)
{
	if (track_io_timing)
		appendStringInfo(buf, _("I/O timings: read: %.3f ms, write: %.3f ms\n"),
						 (double) (pgStatBlockReadTime - vac->clock.read_time) / 1000,
						 (double) (pgStatBlockWriteTime - vac->clock.write_time) / 1000);
	appendStringInfo(buf, _("avg read rate: %.3f MB/s, avg write rate: %.3f MB/s\n"),
					 rate_of(vac, buffers->shared_blks_read + buffers->local_blks_read),
					 rate_of(vac, buffers->shared_blks_dirtied + buffers->local_blks_dirtied));
}

static void
append_usage(ZVacuum *vac, StringInfo buf)
{
	WalUsage	wal = {0};
	BufferUsage buffers = {0};

	WalUsageAccumDiff(&wal, &pgWalUsage, &vac->clock.wal);
	BufferUsageAccumDiff(&buffers, &pgBufferUsage, &vac->clock.buffers);

	append_rates(vac, &buffers, buf);
	appendStringInfo(buf, _("buffer usage: %lld hits, %lld misses, %lld dirtied\n"),
					 (long long) (buffers.shared_blks_hit + buffers.local_blks_hit),
					 (long long) (buffers.shared_blks_read + buffers.local_blks_read),
					 (long long) (buffers.shared_blks_dirtied + buffers.local_blks_dirtied));
	appendStringInfo(buf, _("WAL usage: %lld records, %lld full page images, %llu bytes\n"),
					 (long long) wal.wal_records, (long long) wal.wal_fpi,
					 (unsigned long long) wal.wal_bytes);
	appendStringInfo(buf, _("system usage: %s"), pg_rusage_show(&vac->clock.usage));
}

void
vacuum_report_end(ZVacuum *vac)
{
	StringInfoData buf;

	if (!wants_report(vac))
		return;
	if (!vac->verbose && vac->params->log_vacuum_min_duration > 0 &&
		!TimestampDifferenceExceeds(vac->clock.start, GetCurrentTimestamp(),
									vac->params->log_vacuum_min_duration))
		return;

	initStringInfo(&buf);
	appendStringInfo(&buf,
					 vac->verbose ?
					 _("finished vacuuming \"%s\": index scans: %d\n") :
					 _("automatic vacuum of table \"%s\": index scans: %d\n"),
					 full_name(vac), vac->rounds);
	append_table(vac, &buf);
	append_indexes(vac, &buf);
	append_usage(vac, &buf);

	ereport(vac->verbose ? INFO : LOG, (errmsg_internal("%s", buf.data)));
	pfree(buf.data);
}

/* Add the table, and the block or index being processed, to an error's context. */
void
vacuum_error_context(void *arg)
{
	ZVacuum    *vac = (ZVacuum *) arg;
	const char *name = RelationGetRelationName(vac->rel);

	switch (vac->doing)
	{
		case VACUUM_NO_BLOCK:
			break;
		case VACUUM_SCANNING:
			if (!BlockNumberIsValid(vac->block))
				errcontext("while scanning relation \"%s.%s\"", vac->namespace, name);
			else
				errcontext("while scanning block %u of relation \"%s.%s\"",
						   vac->block, vac->namespace, name);
			break;
		case VACUUM_VACUUMING:
			if (!BlockNumberIsValid(vac->block))
				errcontext("while vacuuming relation \"%s.%s\"", vac->namespace, name);
			else
				errcontext("while vacuuming block %u of relation \"%s.%s\"",
						   vac->block, vac->namespace, name);
			break;
		case VACUUM_TRUNCATING:
			errcontext("while truncating relation \"%s.%s\" to %u blocks",
					   vac->namespace, name, vac->block);
			break;
		case VACUUM_VACUUMING_INDEX:
			errcontext("while vacuuming index \"%s\" of relation \"%s.%s\"",
					   vac->index, vac->namespace, name);
			break;
		case VACUUM_CLEANING_INDEX:
			errcontext("while cleaning up index \"%s\" of relation \"%s.%s\"",
					   vac->index, vac->namespace, name);
			break;
	}
}
