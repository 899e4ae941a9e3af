"""TPC-C as HammerDB's TPROC-C runs it."""

import load
from scenarios.base import Scenario, add_sizes, load_script
from scenarios.mixed import check_tpcc

COUNTS = ("select (select sum(d_next_o_id) from district), xact_commit + xact_rollback"
          " from pg_stat_database where datname = current_database()")


class TprocC(Scenario):
    name = "tprocc"
    title = "TPC-C as HammerDB's TPROC-C runs it: procedures, no thinking, a home warehouse for each client"
    lesson = "What many publish: new orders per minute (NOPM) and transactions per minute (TPM), full rows of TPC-C's size."
    parameters = {
        "warehouses": (10, 2, 1),
        "items": (100000, 100000, 1000),
        "customers": (3000, 3000, 60),                  # of a district
        "seconds": (60, 8, 2),
        "weights": ((45, 43, 4, 4, 4),) * 3,            # neword, payment, delivery, ostat, slev; HammerDB's are 10 10 1 1 1
    }

    def measure(self, bench, result):
        values = self.values(bench, result)
        bench.server.databases()
        for side in ("heap", "zheap"):
            load_script(bench, side, "tpcc_random", "tprocc_tables", "tprocc_procedures", "tpcc_check")
            bench.server.sql(side, f"call tprocc_load({values.warehouses}, {values.items}, {values.customers})", "vacuum analyze", "checkpoint")
        for side in bench.pairs():
            self.one(bench, result, side, values)
        check_tpcc(bench, result)
        add_sizes(bench, result)

    @staticmethod
    def one(bench, result, side, values):
        options = ["-M", "prepared"]
        for name in ("warehouses", "items", "customers"):
            options += ["-D", f"{name}={getattr(values, name)}"]
        options += ["-D", f"names={min(values.customers, 1000)}"]
        for name, weight in zip(("neword", "payment", "delivery", "ostat", "slev"), values.weights):
            options += ["-f", f"{bench.scripts}/tprocc_{name}.sql@{weight}"]
        before = counts(bench, side)
        done = load.run(bench, side, options, values.seconds)
        after = counts(bench, side)
        for name, i in (("NOPM", 0), ("TPM", 1)):
            result.figure(name, "1/min", "higher").add(side, 60 * (after[i] - before[i]) / values.seconds)
        result.add_load(side, done)


def counts(bench, side):
    return [int(x) for x in bench.server.sql(side, COUNTS).split("|")]


SCENARIOS = [TprocC]
