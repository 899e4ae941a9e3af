"""What a scenario is."""


class Scenario:
    """Named after its class's "name"; measure() fills a figures.Result, or says False: cannot be measured here."""

    name = title = lesson = None
    settings = {}               # of the server, beside bench_conf's

    def measure(self, bench, result):
        raise NotImplementedError


def plain_loads(bench, result, options, quick=5, full=20, label=""):
    """pgbench in pairs, with the figures that every load has; the last load of each side."""
    import load
    last = {}
    for side in bench.pairs():
        last[side] = load.run(bench, side, options, bench.choose(full, quick))
        result.add_load(side, last[side], label)
    return last
