"""Reading: the tests of the hint-bit cache thread and of the prefetch thread."""

import figures
import load
from scenarios.base import Scenario


class FirstScan(Scenario):
    name = "first_scan"
    title = "scans of a table that was just loaded, then OLTP (the hint-bit cache thread)"
    lesson = "Heap's first reader marks every row, and so dirties and may log every page; zheap's reads."
    settings = {"shared_buffers": "32MB"}   # a large table's pages do not stay in the buffers

    def measure(self, bench, result):
        for rows, pad in ((bench.choose(8000000, 1500000), 10), (bench.choose(400000, 60000), 1000)):
            label = f"rows of {pad} bytes"
            bench.server.databases()
            for side in bench.pairs():
                self.one(bench, result, side, label, rows, pad)

    @staticmethod
    def one(bench, result, side, label, rows, pad):
        sql, server = bench.server.sql, bench.server
        sql(side, "drop table if exists loaded", "create table loaded (id int, n int, pad text) with (autovacuum_enabled = off)",
            f"insert into loaded select g, 0, repeat('x', {pad}) from generate_series(1, {rows}) g", "checkpoint")
        plain = ("set max_parallel_workers_per_gather = 0",)
        for text in ("first", "second"):
            out = server.sql(side, *plain, "explain (analyze, buffers, wal, costs off, timing off) select count(*) from loaded where n = 0")
            result.figure(f"{label}: {text} scan", "ms", "lower").add(
                side, float([x for x in out.splitlines() if x.startswith("Execution Time")][0].split()[2]))
            plan = out.split("Planning:")[0]
            # the scan's own: those of other processes do not count
            for figure, unit, word in (("pages dirtied", "pages", "dirtied="), ("WAL", "bytes", "bytes=")):
                found = [int(x.split(word)[1].split()[0]) for x in plan.splitlines() if word in x]
                result.figure(f"{label}: {text} scan, {figure}", unit, "lower").add(side, max(found, default=0))
        sql(side, "create index on loaded (id)")
        done = load.run(bench, side, ["-M", "prepared", "-D", f"rows={rows}", "-f", f"{bench.scripts}/loaded_row.sql"], bench.choose(15, 4), clients=4)
        result.add_load(side, done, f"{label}: updates by key after it", latency=False)


class Prefetch(Scenario):
    name = "prefetch"
    title = "cold reads by distance (the prefetch thread)"
    lesson = "Index scans over rows that lie all over the table ask for their pages ahead: effective_io_concurrency counts for them, too."
    settings = {"shared_buffers": "32MB"}

    QUERIES = {
        "index": ("set enable_seqscan = off; set enable_bitmapscan = off", "select sum(length(pad)) from cold where k between {a} and {b}"),
        "bitmap": ("set enable_seqscan = off; set enable_indexscan = off", "select sum(length(pad)) from cold where k between {a} and {b}"),
        "nested loop": ("set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off",
         "select sum(length(pad)) from generate_series({a} / 100, {b} / 100 - 1) g join cold on k between g * 100 and g * 100 + 99"),
        "sequential": ("set enable_indexscan = off", "select sum(length(pad)) from cold"),
        "analyze": ("set client_min_messages = warning", "analyze cold"),
    }

    def measure(self, bench, result):
        rows = bench.choose(4000037, 400009)
        self.make_table(bench, rows)
        for kind in self.QUERIES:
            lines = {"heap": [], "zheap": []}
            for distance in bench.choose((0, 1, 4, 16, 64, 256), (0, 64)):
                figure = result.figure(f"{kind}, distance {distance}", "s", "lower")
                for side in bench.pairs(full=2, quick=2):
                    figure.add(side, self.cold_seconds(bench, side, kind, distance, rows))
                for side in ("heap", "zheap"):
                    lines[side].append((distance, figure.median(side)))
            result.plots.append(figures.Plot(f"prefetch_{kind.replace(' ', '_')}", f"cold {kind}, by distance", "blocks ahead", "seconds", lines, log_x=True))
        self.cached(bench, result)

    @staticmethod
    def make_table(bench, rows):
        """Rows whose order by k has nothing to do with where they are; "rows" is a prime number."""
        bench.server.databases()
        for side in ("heap", "zheap"):
            bench.server.sql(side, "create table cold (id int, k int, pad text)",
                             f"insert into cold select g, (g::bigint * 7919) % {rows}, repeat('x', 150) from generate_series(1, {rows}) g",
                             "create index on cold (k)", "vacuum analyze cold")

    def cold_seconds(self, bench, side, kind, distance, rows):
        """Of one query after a restart, with nothing of the cluster in the kernel's cache."""
        setup, query = self.QUERIES[kind]
        bench.server.make_cold({**self.settings, "max_parallel_workers_per_gather": 0})
        return bench.server.timed(side, f"set effective_io_concurrency = {distance}", f"set maintenance_io_concurrency = {distance}",
                                  *setup.split("; "), query.format(a=rows // 10, b=rows // 10 + 20000))

    def cached(self, bench, result):
        """Who wants one row, or finds all in the buffers, is to pay nothing."""
        bench.server.restart({"max_parallel_workers_per_gather": 0})
        for distance in (0, 64):
            for side in bench.pairs(full=4, quick=2):
                done = load.run(bench, side, ["-M", "prepared", "-D", "rows=20000", "-f", f"{bench.scripts}/cold_limit.sql"], bench.choose(10, 3), clients=1)
                result.figure(f"LIMIT 1, cached, distance {distance}", "1/s", "higher").add(side, done.tps)


SCENARIOS = [FirstScan, Prefetch]
