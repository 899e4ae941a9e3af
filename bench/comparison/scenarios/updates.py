"""Updates of rows by their key: the tests of the zheap thread, and what users ask next."""

import threading
import time

import figures
import load
from scenarios.base import Scenario, plain_loads
from server import Sampler, Session

SIZES = ("select pg_table_size('pgbench_accounts') / 1048576.0"
         " + coalesce(pg_relation_size(to_regclass('zheap.undo')), 0) / 1048576.0")


def both(bench, scale):
    bench.server.databases()
    for side in ("heap", "zheap"):
        load.init(bench, side, scale)
    return scale


class SimpleUpdate(Scenario):
    name = "simple_update"
    title = "pgbench -N, commits that do not wait for the disk"
    lesson = ("Short updates by key: the same rate as heap's, with less WAL, in a table that does not grow.")
    synchronous = "off"

    def measure(self, bench, result):
        scale = both(bench, bench.choose(100, 20))
        options = ["-N", "-M", "prepared"]
        for side in ("heap", "zheap"):
            bench.server.sql("postgres", f"alter database {side} set synchronous_commit = {self.synchronous}")
        before = {s: bench.server.pages(s, "pgbench_accounts") for s in ("heap", "zheap")}
        last = plain_loads(bench, result, options)
        result.plots.append(figures.Plot(
            self.name, f"{self.title}, scale {scale}", "seconds", "transactions per second",
            {side: last[side].by_second for side in ("heap", "zheap")}))
        for side in ("heap", "zheap"):
            pages = bench.server.pages(side, "pgbench_accounts")
            result.figure("accounts at first", "pages", "lower").add(side, before[side])
            result.figure("accounts at last", "pages", "lower").add(side, pages)
            result.figure("undo", "MB", None).add(side, bench.server.undo_bytes(side) / 1048576)


class SimpleUpdateSynchronous(SimpleUpdate):
    name = "simple_update_sync"
    title = "pgbench -N, commits that wait for their WAL"
    lesson = "The same with synchronous_commit on: less WAL to write, so commits wait for less."
    synchronous = "on"


class Snapshot(Scenario):
    name = "snapshot"
    title = "pgbench -N while a snapshot is open for the first half"
    lesson = ("A long transaction makes heap's table grow for good; zheap's stays, and what the undo log has grown is used again or given back.")
    # the table is larger, and each row is updated several times
    settings = {"shared_buffers": "32MB"}

    def measure(self, bench, result):
        scale, seconds = bench.choose(10, 3), bench.choose(180, 30)
        lines, sizes = {}, {}
        for side in bench.pairs(full=3, quick=1):
            both(bench, scale)
            self.begin(bench, side)
            held = Session(bench.server, side)
            held.run("begin isolation level repeatable read")
            held.run("select count(*) from pgbench_branches")
            sampler = Sampler(bench.server, side, SIZES)

            def release(session=held):
                time.sleep(seconds / 2)
                session.run("commit")

            done = load.run(bench, side, ["-N", "-M", "prepared"], seconds, during=release)
            sizes[side] = sampler.end()
            held.close()
            self.end(bench)
            lines[side] = done.by_second
            result.figure("transactions in the first half", "1/s", "higher").add(
                side, done.tps_between(0, seconds // 2))
            result.figure("transactions in the second half", "1/s", "higher").add(
                side, done.tps_between(seconds // 2, seconds))
            result.figure("processor time of a transaction", "ms", "lower").add(
                side, done.processor_per_transaction())
            result.figure("latency p99", "ms", "lower").add(side, done.percentile(0.99))
            result.figure("table and undo at first", "MB", "lower").add(side, sizes[side][0][1])
            result.figure("table and undo at last", "MB", "lower").add(side, sizes[side][-1][1])
        result.plots.append(figures.Plot(
            f"{self.name}_rate", f"{self.title}, scale {scale}", "seconds", "transactions per second", lines))
        result.plots.append(figures.Plot(
            f"{self.name}_size", "size of accounts and of the undo log", "seconds", "MB", sizes))

    def begin(self, bench, side):
        """Before the load of one side."""

    def end(self, bench):
        """And after it."""


class SnapshotMemory(Snapshot):
    name = "snapshot_memory"
    title = "the same, on a server with memory for the tables as they were at first"
    lesson = "What grows no longer fits into memory, and reads go to the disk, also when the snapshot is gone."
    # beside the database: buffers, processes, pgbench, WAL
    OTHER_MEGABYTES = 120

    def measure(self, bench, result):
        if not bench.server.can_limit_memory():
            return False
        result.notes.append("Memory of server and clients, the kernel's cache included: the database's size before the load, and "
                            f"{self.OTHER_MEGABYTES} MB, of heap's on both sides.")
        return super().measure(bench, result)

    def begin(self, bench, side):
        size = int(bench.server.sql("heap", "select pg_database_size('heap') / 1048576"))
        bench.server.sql("postgres", "checkpoint")
        bench.server.drop_kernel_cache()
        bench.server.limit_memory(size + self.OTHER_MEGABYTES)

    def end(self, bench):
        bench.server.limit_memory(None)


class Zipfian(Scenario):
    name = "zipfian"
    title = "updates of few rows very often (zipfian keys)"
    lesson = "Where a few rows get most updates: whoever waits for a row waits for a transaction, not for a page."

    def measure(self, bench, result):
        scale = both(bench, bench.choose(20, 5))
        plain_loads(bench, result, ["-M", "prepared", "-D", f"rows={scale * 100000}", "-f",
                                    f"{bench.scripts}/zipfian.sql"])


class Rate(Scenario):
    name = "rate"
    title = "pgbench -N at half the rate that heap can do: latency"
    lesson = "At a given rate: how long a transaction takes, also the slowest of a thousand."

    def measure(self, bench, result):
        both(bench, bench.choose(50, 10))
        seconds = bench.choose(30, 6)
        most = load.run(bench, "heap", ["-N", "-M", "prepared"], bench.choose(15, 4)).tps
        points = {"heap": [], "zheap": []}
        for side in bench.pairs():
            done = load.run(bench, side, ["-N", "-M", "prepared", "--rate", str(int(most / 2))], seconds)
            result.add_load(side, done)
            points[side] = [(share, done.percentile(share / 100)) for share in (50, 75, 90, 95, 99, 99.9)]
        result.plots.append(figures.Plot("rate", self.title, "per cent of transactions", "ms or less", points))


class Rollbacks(Scenario):
    name = "rollbacks"
    title = "0, 1, 10, 50 and 100 % of the transactions roll back"
    lesson = "Rolling back is free at once, and costs a little when the row is next used: by share of transactions that fail."

    def measure(self, bench, result):
        scale = both(bench, bench.choose(20, 5))
        lines = {"heap": [], "zheap": []}
        for share in (0, 1, 10, 50, 100):
            for side in bench.pairs(full=2, quick=1):
                done = load.run(bench, side, ["-M", "prepared", "-D", f"rows={scale * 100000}", "-D", f"share={share}",
                                              "-f", f"{bench.scripts}/rollbacks.sql"], bench.choose(20, 4))
                result.add_load(side, done, f"{share} %", latency=False)
                lines[side].append((share, done.tps))
        result.plots.append(figures.Plot("rollbacks", self.title, "per cent that roll back", "transactions per second", lines))


class Bulk(Scenario):
    name = "bulk"
    title = "load, update, delete many rows at once"
    lesson = "Nightly jobs: what one statement over a whole table takes, and what it leaves behind for VACUUM."

    def measure(self, bench, result):
        rows = bench.choose(3000000, 300000)
        bench.server.databases()
        for side in bench.pairs():
            sql, timed = bench.server.sql, bench.server.timed
            sql(side, "drop table if exists bulk", "create table bulk (id int, k int, pad text)",
                "alter table bulk set (autovacuum_enabled = off)")
            sql(side, f"copy (select g, g % 1000, repeat('x', 60) from generate_series(1, {rows}) g) to '{bench.run}/bulk.txt'")
            bench.server.settle()
            for text, statement in (
                    ("COPY", f"copy bulk from '{bench.run}/bulk.txt'"),
                    ("CREATE INDEX", "create unique index on bulk (id)"),
                    ("INSERT ... SELECT", f"insert into bulk select id + {rows}, k, pad from bulk where id % 2 = 0"),
                    ("update of all rows", "update bulk set k = k + 1"),
                    ("second update of all rows", "update bulk set k = k + 1"),
                    ("delete of half", "delete from bulk where id % 2 = 1"),
                    ("VACUUM", "vacuum bulk")):
                wal, processor = bench.server.wal_position(), bench.server.processor_seconds()
                result.figure(text, "s", "lower").add(side, timed(side, statement))
                result.figure(f"{text}, WAL", "MB", "lower").add(
                    side, (bench.server.wal_position() - wal) / 1048576)
            result.figure("table at last", "pages", "lower").add(side, bench.server.pages(side, "bulk"))


class Wide(Scenario):
    name = "wide_rows"
    title = "rows of 25 columns, one of which is updated"
    lesson = "An update of one column of a wide row: heap writes the whole row anew, zheap what has changed."

    def measure(self, bench, result):
        rows = bench.choose(500000, 50000)
        bench.server.databases()
        columns = ", ".join(f"c{i} text default md5(random()::text)" for i in range(1, 24))
        for side in ("heap", "zheap"):
            bench.server.sql(side, f"create table wide_row (id int primary key, n int not null, {columns})",
                             f"insert into wide_row (id, n) select g, 0 from generate_series(1, {rows}) g", "vacuum analyze wide_row")
        plain_loads(bench, result, ["-M", "prepared", "-D", f"rows={rows}", "-f", f"{bench.scripts}/wide_row.sql"])
        for side in ("heap", "zheap"):
            result.figure("table at last", "pages", "lower").add(side, bench.server.pages(side, "wide_row"))


class LargerThanMemory(Scenario):
    name = "larger"
    title = "a table that does not fit: small buffers, and the kernel's cache is dropped all the time"
    lesson = "Where reads go to the disk, a smaller table and fewer dirty pages count."
    settings = {"shared_buffers": "32MB"}

    def measure(self, bench, result):
        scale = both(bench, bench.choose(100, 20))
        ended = threading.Event()

        def evict():
            while not ended.wait(0.5):
                bench.server.drop_kernel_cache()

        thread = threading.Thread(target=evict)
        thread.start()
        try:
            plain_loads(bench, result, ["-M", "prepared", "-S"], label="-S")
            plain_loads(bench, result, ["-M", "prepared", "-N"], label="-N")
        finally:
            ended.set()
            thread.join()
        for side in ("heap", "zheap"):
            result.figure("accounts", "pages", "lower").add(side, bench.server.pages(side, "pgbench_accounts"))
        result.notes.append(f"Scale {scale}; the cluster's files are dropped from the kernel's cache twice a second.")


SCENARIOS = [SimpleUpdate, SimpleUpdateSynchronous, Snapshot, SnapshotMemory, Zipfian, Rate, Rollbacks, Bulk, Wide, LargerThanMemory]
