"""The Yahoo! Cloud Serving Benchmark: its workloads A to F."""

from scenarios.base import Scenario, add_sizes, load_script, plain_loads

# name: what it is called, {script: weight}
WORKLOADS = {
    "A": ("reads and updates", {"read": 50, "update": 50}),
    "B": ("reads, few updates", {"read": 95, "update": 5}),
    "C": ("reads", {"read": 100}),
    "F": ("reads, and reads with an update after them", {"read": 50, "update": 50}),
    "D": ("reads of the latest rows, few insertions", {"read_latest": 95, "insert": 5}),
    "E": ("short scans, few insertions", {"scan": 95, "insert": 5}),
}


class Ycsb(Scenario):
    name = "ycsb"
    title = "YCSB's workloads A to F: rows of ten fields by a hashed key"
    lesson = "What key-value stores are compared with: some rows are hot, an update changes one field of a row of 1 kB."
    parameters = {
        "rows": (1000000, 100000, 2000),
        "seconds": (20, 5, 1),
        "skew": (1.01, 1.01, 1.01),     # of the zipfian distribution; YCSB's is 0.99, pgbench's is more than 1
        "scan": (100, 100, 100),        # rows of a scan, at most
        "workloads": (tuple(WORKLOADS),) * 3,
    }

    def measure(self, bench, result):
        values = self.values(bench, result)
        loaded = False
        for name in values.workloads:
            text, scripts = WORKLOADS[name]
            # as YCSB advises: E begins with a table of its own
            if not loaded or name == "E":
                self.load(bench, values.rows)
                loaded = True
            options = ["-M", "prepared", "-D", f"rows={values.rows}", "-D", f"skew={values.skew}", "-D", f"scan={values.scan}",
                       "-D", f"reads_first={int(name == 'F')}"]
            for script, weight in scripts.items():
                options += ["-f", f"{bench.scripts}/ycsb_{script}.sql@{weight}"]
            plain_loads(bench, result, options, values.seconds, values.seconds, f"{name}, {text}")
            if name in "FE":
                add_sizes(bench, result, f"after {name}: ")
            self.check(bench)

    @staticmethod
    def load(bench, rows):
        bench.server.databases()
        for side in ("heap", "zheap"):
            load_script(bench, side, "ycsb_tables")
            bench.server.sql(side, f"select ycsb_load({rows})", "vacuum analyze", "checkpoint")

    @staticmethod
    def check(bench):
        """Every key is there once, and fields have their length."""
        for side in ("heap", "zheap"):
            wrong = bench.server.sql(side, "select (select count(*) from usertable) - last_value,"
                                     " (select count(*) from generate_series(1, last_value) n where not exists"
                                     " (select from usertable where ycsb_key = ycsb_key_of(n))),"
                                     " (select count(*) from usertable where length(field0 || field5 || field9) <> 300) from ycsb_last")
            if wrong != "0|0|0":
                raise RuntimeError(f"{side}: rows too many, missing, wrong: {wrong}")


SCENARIOS = [Ycsb]
