"""Runs of pgbench, and what they cost."""

import glob
import os
import subprocess
import time
from collections import Counter


class Load:
    """What one run of pgbench came to."""

    def __init__(self, tps, latencies, by_second, processor, wal, transactions):
        self.tps = tps
        self.latencies = latencies          # ms, sorted
        self.by_second = by_second          # [(second, transactions)]
        self.processor = processor          # s, of the server
        self.wal = wal                      # bytes
        self.transactions = transactions

    def percentile(self, share):
        if not self.latencies:
            return None
        return self.latencies[min(int(share * len(self.latencies)), len(self.latencies) - 1)]

    def tps_between(self, begin, end):
        seconds = [n for second, n in self.by_second if begin <= second < end]
        return sum(seconds) / max(len(seconds), 1)

    def processor_per_transaction(self):
        return 1000 * self.processor / max(self.transactions, 1)

    def wal_per_transaction(self):
        return self.wal / max(self.transactions, 1)


def _read_log(prefix, begin):
    latencies, seconds = [], Counter()
    for path in glob.glob(f"{prefix}.*"):
        with open(path) as f:
            for line in f:
                fields = line.split()
                if fields[2] in ("failed", "skipped"):
                    continue
                latencies.append(int(fields[2]) / 1000)
                seconds[int(fields[4]) - begin] += 1
        os.unlink(path)
    latencies.sort()
    # the last second is seldom a whole one
    return latencies, [(s, seconds[s]) for s in range(max(seconds, default=0))]


def run(bench, database, options, seconds, clients=None, during=None):
    """pgbench for so many seconds; "during" is called when it has begun."""
    server = bench.server
    prefix = f"{bench.run}/pgbench-log"
    command = [f"{server.bindir}/pgbench", "-n", "-c", str(clients or bench.clients), "-j",
               str(min(clients or bench.clients, bench.threads)), "-T", str(seconds), "-l",
               f"--log-prefix={prefix}", *options, database]
    server.wait_until_idle()
    wal, processor, begin = server.wal_position(), server.processor_seconds(), int(time.time())
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=server.environment(), cwd=bench.run)
    if during is not None:
        during()
    out = process.communicate()[0]
    if process.returncode != 0 or "aborted" in out:
        raise RuntimeError(f"{' '.join(command)} failed:\n{out}")
    server.wait_until_idle()
    figures = dict(line.split(" = ", 1) for line in out.splitlines() if line.startswith("tps = "))
    transactions = [line for line in out.splitlines() if "actually processed" in line][0]
    latencies, by_second = _read_log(prefix, begin)
    return Load(float(figures["tps"].split()[0]), latencies, by_second,
                server.processor_seconds() - processor, server.wal_position() - wal,
                int(transactions.split(":")[1].split("/")[0]))


def init(bench, database, scale, *options):
    bench.server._call("pgbench", "-i", "-q", "-s", str(scale), *options, database)
