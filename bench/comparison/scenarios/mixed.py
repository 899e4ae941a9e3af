"""Mixed loads: TPC-B, reads, TPC-C, sysbench."""

import shutil
import subprocess

import figures
import load
from scenarios.base import Scenario, load_script, plain_loads
from scenarios.updates import both


class TpcB(Scenario):
    name = "tpcb"
    title = "TPC-B, scale 1 and 20"
    lesson = "Few hot rows that all transactions want (scale 1), and many (scale 20)."

    def measure(self, bench, result):
        for scale in (1, 20):
            both(bench, scale)
            last = plain_loads(bench, result, ["-M", "prepared"], label=f"scale {scale}")
            result.plots.append(figures.Plot(f"tpcb_{scale}", f"TPC-B, scale {scale}", "seconds", "transactions per second",
                                             {side: last[side].by_second for side in ("heap", "zheap")}))


class ReadOnly(Scenario):
    name = "read_only"
    title = "pgbench -S"
    lesson = "Single rows by key, nothing changes: even."

    def measure(self, bench, result):
        both(bench, 20)
        plain_loads(bench, result, ["-S", "-M", "prepared"])


class Inserts(Scenario):
    name = "inserts"
    title = "single rows inserted"
    lesson = "An insertion writes undo, which heap's need not: even, or a little behind."

    def measure(self, bench, result):
        both(bench, 1)
        plain_loads(bench, result, ["-M", "prepared", "-f", f"{bench.scripts}/insert.sql"])


def check_tpcc(bench, result):
    for side in ("heap", "zheap"):
        wrong = bench.server.sql(side, "select * from tpcc_check()")
        if wrong:
            raise RuntimeError(f"{side}: consistency conditions violated: {wrong[:1000]}")
    result.notes.append("All consistency conditions hold on both sides after the runs.")


class TpcC(Scenario):
    name = "tpcc"
    title = "TPC-C: its five transactions as procedures, in their shares"
    lesson = "Orders, payments, deliveries: updates, insertions, range reads and a queue of new orders in one; its consistency conditions are checked."

    def measure(self, bench, result):
        warehouses = bench.choose(10, 2)
        bench.server.databases()
        for side in ("heap", "zheap"):
            load_script(bench, side, "tpcc_random", "tpcc_schema", "tpcc_check")
            bench.server.sql(side, f"select tpcc_load({warehouses})", "vacuum analyze")
        plain_loads(bench, result, ["-M", "prepared", "-D", f"warehouses={warehouses}", "-f", f"{bench.scripts}/tpcc.sql"])
        check_tpcc(bench, result)
        for side in ("heap", "zheap"):
            size = bench.server.sql(side, "select sum(pg_total_relation_size(oid)) / 1048576.0 from pg_class where relkind = 'r'"
                                    " and (relnamespace = 'public'::regnamespace or relname = 'undo')")
            result.figure("tables, indexes and undo at last", "MB", "lower").add(side, float(size))


class Sysbench(Scenario):
    name = "sysbench"
    title = "sysbench oltp_read_write, oltp_update_index, oltp_update_non_index, oltp_delete, oltp_point_select"
    lesson = "What other databases are compared with."

    def measure(self, bench, result):
        if shutil.which("sysbench") is None:
            result.notes.append("sysbench is not installed.")
            return False
        rows, seconds = bench.choose(1000000, 100000), bench.choose(20, 4)
        for test in ("oltp_read_write", "oltp_update_index", "oltp_update_non_index", "oltp_delete", "oltp_point_select"):
            bench.server.databases()
            for side in ("heap", "zheap"):
                self.call(bench, side, test, rows, seconds, "prepare")
            for side in bench.pairs(full=3, quick=2):
                bench.server.wait_until_idle()
                processor = bench.server.processor_seconds()
                out = self.call(bench, side, test, rows, seconds, "run")
                bench.server.wait_until_idle()
                line = [x for x in out.splitlines() if "transactions:" in x][0]
                done = int(line.split()[1])
                result.figure(f"{test}: transactions", "1/s", "higher").add(side, float(line.split("(")[1].split()[0]))
                result.figure(f"{test}: processor time", "ms", "lower").add(
                    side, 1000 * (bench.server.processor_seconds() - processor) / max(done, 1))
                result.figure(f"{test}: latency p95", "ms", "lower").add(
                    side, float([x for x in out.splitlines() if "95th percentile" in x][0].split()[-1]))
        return True

    @staticmethod
    def call(bench, side, test, rows, seconds, what):
        done = subprocess.run(
            ["sysbench", test, "--db-driver=pgsql", f"--pgsql-host={bench.server.socket}", "--pgsql-port=54329",
             "--pgsql-user=postgres", f"--pgsql-db={side}", "--tables=2", f"--table-size={rows}",
             f"--threads={bench.clients}", f"--time={seconds}", "--report-interval=0", what],
            capture_output=True, text=True, env={**bench.server.environment(), "HOME": bench.run}, cwd=bench.run)
        if done.returncode != 0:
            raise RuntimeError(f"sysbench {test} {what} failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.stdout


SCENARIOS = [TpcB, ReadOnly, Inserts, TpcC, Sysbench]
