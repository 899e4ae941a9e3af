"""A queue beside a transaction that stays open."""

import figures
import load
from scenarios.base import Scenario, load_script
from server import Sampler, Session

DELETED = "select n_tup_del from pg_stat_user_tables where relname = 'jobs'"


class SkipLocked(Scenario):
    name = "skip_locked"
    title = "a queue read by SKIP LOCKED while a snapshot is open, and others' look-ups beside it"
    lesson = ("On heap each look for the next job walks over all that are gone, so jobs pile up and others wait for the processor;"
              " on zheap a queue keeps its pace beside a long transaction.")
    parameters = {
        "seconds": (180, 40, 4),
        "producers": (4, 4, 4),
        "consumers": (4, 4, 4),
        "rate": (800, 800, 800),                # jobs that the producers insert, per second in all
        "poll_rate": (1000, 1000, 1000),        # turns of the consumers, per second in all
        "bystanders": (2, 2, 2),
        "bystander_rate": (400, 400, 400),      # look-ups, per second in all
        "rows": (1000000, 200000, 5000),        # of the table that they look into
    }

    def measure(self, bench, result):
        values = self.values(bench, result)
        bench.server.databases()
        for side in ("heap", "zheap"):
            load_script(bench, side, "skip_locked_tables")
            bench.server.sql(side, f"insert into accounts select i, i, repeat('x', 80) from generate_series(1, {values.rows}) i",
                             "vacuum analyze")
        lines = {side: self.one(bench, result, side, values) for side in bench.pairs(full=1, quick=1)}
        result.plots.append(figures.Plot(self.name, self.title, "seconds", "jobs taken per second", lines))

    def one(self, bench, result, side, values):
        held = Session(bench.server, side)
        held.run("begin isolation level repeatable read")
        held.run("select count(*) from jobs")
        sampler = Sampler(bench.server, side, DELETED)
        done = load.run_together(bench, side, {
            "producers": (values.producers, self.script(bench, "produce", values.rate)),
            "consumers": (values.consumers, self.script(bench, "consume", values.poll_rate)),
            "bystanders": (values.bystanders, [*self.script(bench, "look", values.bystander_rate), "-D", f"rows={values.rows}"]),
        }, values.seconds)
        by_second = rates(sampler.end())
        held.close()
        left, taken = (int(bench.server.sql(side, query)) for query in ("select count(*) from jobs", DELETED))
        inserted = done["producers"].transactions
        if inserted != taken + left:
            raise RuntimeError(f"{side}: {inserted} jobs inserted, {taken} taken, {left} left")
        last = [n for second, n in by_second if 0.8 * values.seconds < second < values.seconds + 0.5]
        for name, unit, better, value in (
                ("jobs taken", "1/s", "higher", taken / values.seconds),
                ("jobs taken, last fifth", "1/s", "higher", sum(last) / max(len(last), 1)),
                ("jobs left", "jobs", "lower", left),
                ("consumer's turn p50", "ms", "lower", done["consumers"].service_percentile(0.5)),
                ("consumer's turn p99", "ms", "lower", done["consumers"].service_percentile(0.99)),
                ("producer's turn p99", "ms", "lower", done["producers"].service_percentile(0.99)),
                ("look-up p50, since it was due", "ms", "lower", done["bystanders"].percentile(0.5)),
                ("look-up p99, since it was due", "ms", "lower", done["bystanders"].percentile(0.99)),
                ("processor time of a job, look-ups included", "ms", "lower", 1000 * done["consumers"].processor / max(taken, 1)),
                ("WAL of a job", "bytes", "lower", done["consumers"].wal / max(taken, 1))):
            result.figure(name, unit, better).add(side, value)
        for name, query in (("queue", "pg_table_size('jobs')"), ("its indexes", "pg_indexes_size('jobs')")):
            result.figure(f"{name} at last", "MB", "lower").add(side, float(bench.server.sql(side, f"select {query} / 1048576.0")))
        result.figure("undo at last", "MB", None).add(side, bench.server.undo_bytes(side) / 1048576)
        return by_second

    @staticmethod
    def script(bench, name, rate):
        return ["-M", "prepared", "-f", f"{bench.scripts}/skip_locked_{name}.sql", "--rate", str(rate)]


def rates(samples):
    """What a counter grew per second between samples."""
    return [(b[0], (b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(samples, samples[1:])]


SCENARIOS = [SkipLocked]
