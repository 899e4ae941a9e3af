"""Updates of indexed columns, and queues: the tests of the HOT and WARM threads."""

import figures
import load
from scenarios.base import Scenario, add_sizes, plain_loads
from server import Session


def make_wide(bench, columns, rows, indexed=None):
    """A table with as many columns of integers beside its key; the first of them, or all, have an index each."""
    indexed = columns if indexed is None else indexed
    bench.server.databases()
    for side in ("heap", "zheap"):
        bench.server.sql(
            side, f"create table wide (id int primary key{''.join(f', c{i} int' for i in range(1, columns + 1))})",
            f"insert into wide select i{''.join(f', i * {i + 2} % 1000003' for i in range(1, columns + 1))}"
            f" from generate_series(1, {rows}) i",
            *[f"create index wide_c{i} on wide (c{i})" for i in range(1, indexed + 1)], "vacuum analyze wide")


class IndexedUpdate(Scenario):
    name = "indexed_update"
    title = "1, 3 and 5 of 6 indexed columns are updated"
    lesson = "An update costs what the indexes cost whose columns change; heap writes to all of them as soon as one changes."

    def measure(self, bench, result):
        rows = bench.choose(200000, 50000)
        for text, script in (("1", "one"), ("3", "three"), ("5", "five")):
            make_wide(bench, 6, rows)
            plain_loads(bench, result, ["-M", "prepared", "-D", f"rows={rows}", "-f", f"{bench.scripts}/indexes_{script}.sql"],
                        label=f"{text} of 6")
            for side in ("heap", "zheap"):
                pages = bench.server.sql(side, "select sum(pg_relation_size(indexrelid)) / 8192 from pg_index where indrelid = 'wide'::regclass")
                result.figure(f"{text} of 6: all indexes at last", "pages", "lower").add(side, float(pages))


class ManyIndexes(Scenario):
    name = "many_indexes"
    title = "1 of 1 to 64 indexed columns is updated"
    lesson = "Each further index makes heap's update dearer, and zheap's not."

    def measure(self, bench, result):
        rows = bench.choose(100000, 10000)
        lines = {"heap": [], "zheap": []}
        for columns in bench.choose((1, 2, 4, 8, 16, 32, 64), (1, 8, 64)):
            make_wide(bench, columns, rows)
            for side in bench.pairs(full=2, quick=1):
                done = load.run(bench, side, ["-M", "prepared", "-D", f"rows={rows}", "-f", f"{bench.scripts}/indexes_one.sql"],
                                bench.choose(20, 5))
                result.add_load(side, done, f"{columns} indexes", latency=False)
                lines[side].append((columns, done.tps))
        result.plots.append(figures.Plot("many_indexes", self.title, "indexed columns", "transactions per second", lines, log_x=True))


class Columns(Scenario):
    name = "columns"
    title = "1, 8 and 64 of 64 columns are updated, with an index on 0, 8 and all of them"
    lesson = "What an update costs by what it changes and by what is indexed, apart from each other."
    parameters = {
        "columns": (64, 64, 64),
        "indexed": ((0, 8, 64), (0, 8, 64), (0, 8, 64)),    # the first ones
        "changed": ((1, 8, 64), (1, 8, 64), (1, 8, 64)),    # the first ones
        "rows": (100000, 20000, 1000),
        "seconds": (20, 4, 1),
    }

    def measure(self, bench, result):
        values = self.values(bench, result)
        for indexed in values.indexed:
            make_wide(bench, values.columns, values.rows, indexed)
            for changed in values.changed:
                label = f"{indexed} indexed, {changed} changed"
                plain_loads(bench, result, ["-M", "prepared", "-D", f"rows={values.rows}", "-f", self.script(bench, changed)],
                            values.seconds, values.seconds, label)
            for column in {1, indexed} if indexed else ():
                self.check(bench, column)
            add_sizes(bench, result, f"{indexed} indexed: ")

    @staticmethod
    def script(bench, changed):
        path = f"{bench.run}/columns_{changed}.sql"
        with open(path, "w") as f:
            f.write("\\set id random(1, :rows)\n\\set v random(1, 100000000)\n"
                    f"UPDATE wide SET {', '.join(f'c{i} = :v + {i}' for i in range(1, changed + 1))} WHERE id = :id;\n")
        return path

    @staticmethod
    def check(bench, column):
        """The index has the column's values."""
        query = f"select count(*), sum(c{column}) from wide where c{column} >= 0"
        for side in ("heap", "zheap"):
            by_table, by_index = [bench.server.sql(side, "set enable_bitmapscan = off", f"set enable_{off} = off", f"set enable_{too} = off", query)
                                  for off, too in (("indexscan", "indexonlyscan"), ("seqscan", "material"))]
            if by_table != by_index:
                raise RuntimeError(f"{side}: the table has {by_table}, the index on c{column} {by_index}")


class Growth(Scenario):
    name = "growth"
    title = "fillfactor 90, and TPC-B: blocks by which tables and indexes grow (the HOT thread's tests)"
    lesson = "Heap keeps its size where a part of each page is left free and pruning keeps up; zheap at any fillfactor."

    def measure(self, bench, result):
        for fillfactor in (90, 100):
            bench.server.databases()
            for side in ("heap", "zheap"):
                load.init(bench, side, bench.choose(20, 5), "-F", str(fillfactor))
                before = self.sizes(bench, side)
                load.run(bench, side, ["-M", "prepared"], bench.choose(60, 8))
                for name, pages in self.sizes(bench, side).items():
                    result.figure(f"fillfactor {fillfactor}: {name} grows by", "pages", "lower").add(side, pages - before[name])

    @staticmethod
    def sizes(bench, side):
        rows = bench.server.sql(side, "select relname, pg_relation_size(oid) / 8192 from pg_class where relname like 'pgbench%'"
                                " and relname not like '%history%' order by 1")
        return {name: int(pages) for name, pages in (row.split("|") for row in rows.splitlines())}


class Queue(Scenario):
    name = "queue"
    title = "a queue as PGMQ has it, while a snapshot is open for the first half"
    lesson = "A job queue beside a long transaction: each look for the next message walks over all dead ones on heap."

    def measure(self, bench, result):
        seconds = bench.choose(240, 24)
        bench.server.databases()
        bench.server.sql("zheap", "alter database zheap set zheap.skip_dead_entries = on")
        lines = {}
        for side in bench.pairs(full=1, quick=1):
            bench.server.sql(
                side, "create table messages (msg_id bigint generated always as identity primary key, read_ct int not null default 0,"
                " enqueued_at timestamptz not null default now(), vt timestamptz not null, message jsonb)",
                "create index messages_vt on messages (vt)",
                "insert into messages (vt, message) select clock_timestamp(), '{\"n\": 1}' from generate_series(1, 100)")
            options = ["-M", "prepared", "-f", f"{bench.scripts}/queue_turn.sql"]
            free = load.run(bench, side, options, bench.choose(30, 6))
            result.add_load(side, free, "without a snapshot")
            held = Session(bench.server, side)
            held.run("begin isolation level repeatable read")
            held.run("select count(*) from messages")
            with_snapshot = load.run(bench, side, options, seconds // 2)
            held.run("commit")
            held.close()
            after = load.run(bench, side, options, seconds // 2)
            result.figure("with a snapshot, at last", "1/s", "higher").add(
                side, with_snapshot.tps_between(seconds * 2 // 5, seconds // 2))
            result.figure("with a snapshot, latency p99", "ms", "lower").add(side, with_snapshot.percentile(0.99))
            result.figure("afterwards", "1/s", "higher").add(side, after.tps_between(seconds // 4, seconds // 2))
            result.figure("table at last", "pages", "lower").add(side, bench.server.pages(side, "messages"))
            lines[side] = with_snapshot.by_second + [(x + seconds // 2, y) for x, y in after.by_second]
        result.plots.append(figures.Plot("queue", self.title, "seconds", "turns per second", lines))


SCENARIOS = [IndexedUpdate, ManyIndexes, Columns, Growth, Queue]
