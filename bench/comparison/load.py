"""Runs of pgbench, and what they cost."""

import glob
import os
import subprocess
import time
from collections import Counter


class Load:
    """What one run of pgbench came to."""

    def __init__(self, tps, log, processor, wal, transactions):
        self.tps = tps
        self.latencies = log.latencies      # ms, sorted; of a throttled run since each was due
        self.services = log.services        # ms, sorted; since each began
        self.by_second = log.by_second      # [(second, transactions)]
        self.processor = processor          # s, of the server
        self.wal = wal                      # bytes
        self.transactions = transactions

    def percentile(self, share):
        return _percentile(self.latencies, share)

    def service_percentile(self, share):
        return _percentile(self.services, share)

    def tps_between(self, begin, end):
        seconds = [n for second, n in self.by_second if begin <= second < end]
        return sum(seconds) / max(len(seconds), 1)

    def processor_per_transaction(self):
        return 1000 * self.processor / max(self.transactions, 1)

    def wal_per_transaction(self):
        return self.wal / max(self.transactions, 1)


def _percentile(values, share):
    return values[min(int(share * len(values)), len(values) - 1)] if values else None


class _Log:
    """What pgbench wrote of each transaction."""

    def __init__(self, prefix, begin, throttled):
        self.latencies, self.services, seconds = [], [], Counter()
        for path in glob.glob(f"{prefix}.*"):
            with open(path) as f:
                for line in f:
                    fields = line.split()
                    if fields[2] in ("failed", "skipped"):
                        continue
                    latency = int(fields[2])
                    self.latencies.append(latency / 1000)
                    self.services.append((latency - (int(fields[6]) if throttled else 0)) / 1000)
                    seconds[int(fields[4]) - begin] += 1
            os.unlink(path)
        self.latencies.sort()
        self.services.sort()
        # the last second is seldom a whole one
        self.by_second = [(s, seconds[s]) for s in range(max(seconds, default=0))]


def run(bench, database, options, seconds, clients=None, during=None):
    """pgbench for so many seconds; "during" is called when it has begun."""
    return run_together(bench, database, {"": (clients or bench.clients, options)}, seconds, during)[""]


def run_together(bench, database, parts, seconds, during=None):
    """Several of them at once, {name: (clients, options)}; the processor time and WAL of each Load are those of all."""
    server = bench.server
    server.wait_until_idle()
    wal, processor, begin = server.wal_position(), server.processor_seconds(), int(time.time())
    processes = {name: _start(bench, database, options, seconds, clients, _prefix(bench, name))
                 for name, (clients, options) in parts.items()}
    if during is not None:
        during()
    outputs = {name: process.communicate()[0] for name, process in processes.items()}
    for name, process in processes.items():
        if process.returncode != 0 or "aborted" in outputs[name]:
            raise RuntimeError(f"{' '.join(process.args)} failed:\n{outputs[name]}")
    server.wait_until_idle()
    processor, wal = server.processor_seconds() - processor, server.wal_position() - wal
    return {name: _load(outputs[name], _Log(_prefix(bench, name), begin, "--rate" in options), processor, wal)
            for name, (clients, options) in parts.items()}


def _prefix(bench, name):
    return f"{bench.run}/pgbench-log{name}"


def _start(bench, database, options, seconds, clients, prefix):
    command = [f"{bench.server.bindir}/pgbench", "-n", "-c", str(clients), "-j", str(min(clients, bench.threads)),
               "-T", str(seconds), "-l", f"--log-prefix={prefix}", *options, database]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=bench.server.environment(), cwd=bench.run)


def _load(out, log, processor, wal):
    figures = dict(line.split(" = ", 1) for line in out.splitlines() if line.startswith("tps = "))
    transactions = [line for line in out.splitlines() if "actually processed" in line][0]
    return Load(float(figures["tps"].split()[0]), log, processor, wal, int(transactions.split(":")[1].split("/")[0]))


def init(bench, database, scale, *options):
    bench.server._call("pgbench", "-i", "-q", "-s", str(scale), *options, database)
