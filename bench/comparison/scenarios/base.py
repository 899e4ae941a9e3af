"""What a scenario is."""

import os
from types import SimpleNamespace


class Scenario:
    """Named after its class's "name"; measure() fills a figures.Result, or says False: cannot be measured here."""

    name = title = lesson = None
    settings = {}               # of the server, beside bench_conf's
    parameters = {}             # name: (value of --full, of --quick, with BENCH_SHORT=1)

    def measure(self, bench, result):
        raise NotImplementedError

    def values(self, bench, result):
        """The parameters, as attributes; NAME_PARAMETER in the environment comes first.  The report tells them."""
        values = {name: self.set_outside(name, bench.choose(*choice)) for name, choice in self.parameters.items()}
        result.notes.append(f"Parameters: {', '.join(f'{name} {self.told(value)}' for name, value in values.items())}.")
        return SimpleNamespace(**values)

    def variable(self, name):
        return f"{self.name}_{name}".upper()

    def set_outside(self, name, value):
        text = os.environ.get(self.variable(name))
        if text is None:
            return value
        if isinstance(value, tuple):
            return tuple(type(value[0])(x) for x in text.split())
        return type(value)(text)

    def choices(self, name):
        """What may be set in the environment, and to what --quick and --full set it."""
        full, quick, _ = self.parameters[name]
        text = f'{self.variable(name)}="{self.told(quick)}"'
        return text if full == quick else f"{text}, --full {self.told(full)}"

    @staticmethod
    def told(value):
        return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def load_script(bench, side, *names):
    """Files of pgbench/, each a transaction of its own."""
    for name in names:
        with open(f"{bench.scripts}/{name}.sql") as f:
            bench.server.sql(side, f.read())


def add_sizes(bench, result, label=""):
    """What the tables of both sides take at last."""
    for side in ("heap", "zheap"):
        sizes = bench.server.sql(side, "select sum(pg_table_size(oid)) / 1048576.0, sum(pg_indexes_size(oid)) / 1048576.0"
                                 " from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace").split("|")
        for name, size in zip(("tables", "indexes"), sizes):
            result.figure(f"{label}{name} at last", "MB", "lower").add(side, float(size))
        result.figure(f"{label}undo at last", "MB", None).add(side, bench.server.undo_bytes(side) / 1048576)


def plain_loads(bench, result, options, quick=5, full=20, label=""):
    """pgbench in pairs, with the figures that every load has; the last load of each side."""
    import load
    last = {}
    for side in bench.pairs():
        last[side] = load.run(bench, side, options, bench.choose(full, quick))
        result.add_load(side, last[side], label)
    return last
