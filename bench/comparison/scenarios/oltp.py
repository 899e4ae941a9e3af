"""sysbench's OLTP tests without sysbench: the same statements as scripts of pgbench."""

from scenarios.base import Scenario, add_sizes, load_script, plain_loads

# name: the script, whether its transaction reads, whether it writes
SCRIPTS = {
    "point_select": ("point_select", 1, 0),
    "read_only": ("transaction", 1, 0),
    "update_index": ("update_index", 0, 1),
    "update_non_index": ("update_non_index", 0, 1),
    "write_only": ("transaction", 0, 1),
    "read_write": ("transaction", 1, 1),
}


class Oltp(Scenario):
    name = "oltp"
    title = "sysbench's oltp tests by pgbench: single reads and updates, and transactions of ten to twenty statements"
    lesson = "As sysbench, with WAL, latency and statements prepared; no other program is needed."
    parameters = {
        "rows": (1000000, 100000, 2000),
        "seconds": (20, 5, 1),
        "range": (100, 100, 100),       # rows of a range that is read
        "hot": (75, 75, 0),             # per cent of the ids that are from the hot hundredth of the rows; 0: all alike
        "tests": (tuple(SCRIPTS),) * 3,
    }

    def measure(self, bench, result):
        values = self.values(bench, result)
        bench.server.databases()
        for side in ("heap", "zheap"):
            load_script(bench, side, "oltp_table")
            bench.server.sql(side, f"select oltp_load({values.rows})", "create index k_1 on sbtest1 (k)", "vacuum analyze", "checkpoint")
        for test in values.tests:
            script, reads, writes = SCRIPTS[test]
            # two that delete and insert the same row, or wait for each other: sysbench begins again, too
            options = ["-M", "prepared", "--max-tries", "100", "-f", f"{bench.scripts}/oltp_{script}.sql", "-D", f"reads={reads}", "-D", f"writes={writes}"]
            for name in ("rows", "range", "hot"):
                options += ["-D", f"{name}={getattr(values, name)}"]
            plain_loads(bench, result, options, values.seconds, values.seconds, f"oltp_{test}")
        add_sizes(bench, result)
        self.check(bench, values.rows)

    @staticmethod
    def check(bench, rows):
        """A row that was deleted has come back under the same id."""
        for side in ("heap", "zheap"):
            found = bench.server.sql(side, "select count(*) || ' ' || count(distinct id) || ' ' || max(id) from sbtest1")
            if found != f"{rows} {rows} {rows}":
                raise RuntimeError(f"{side}: rows, ids, last id: {found}")


SCENARIOS = [Oltp]
