"""bench/prefetch-test: what it gains to tell the kernel of blocks ahead, by how many; raw reads, then queries."""

import csv
import os
import random
import sys
import time

import figures
import plots
from bench import Bench, options_parser
from scenarios.scans import Prefetch

BLOCK = 8192
RAW_DISTANCES = (0,) + tuple(2 ** i for i in range(14))
QUERY_DISTANCES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
KINDS = ("index", "bitmap")
FIELDS = ("what", "distance", "seconds", "megabytes_per_second", "speedup")


class Table:
    """Rows of the CSV file; each is measured against the one of its kind without anything ahead."""

    def __init__(self):
        self.rows = []
        self.lines = {}
        self.first = {}

    def add(self, what, distance, seconds, megabytes=None):
        first = self.first.setdefault(what, seconds)
        self.rows.append((what, distance, f"{seconds:.4f}", f"{megabytes / seconds:.1f}" if megabytes else "", f"{first / seconds:.2f}"))
        self.lines.setdefault(what, []).append((distance, first / seconds))
        print(f"{what:24} {distance:5} ahead {seconds:9.3f} s {first / seconds:6.2f} times", file=sys.stderr, flush=True)

    def write(self, path):
        with open(path, "w", newline="") as f:
            writer = csv.writer(f)
            writer.writerow(FIELDS)
            writer.writerows(self.rows)


# ---- raw reads

def make_file(path, megabytes):
    """Of bytes that no file system makes smaller."""
    with open(path, "wb") as f:
        for _ in range(megabytes):
            f.write(os.urandom(1024 * 1024))
        f.flush()
        os.fsync(f.fileno())


def read_blocks(fd, blocks, distance):
    """Seconds to read the blocks, when up to so many of those to come have been told of."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    advised = 0
    begin = time.perf_counter()
    for i, block in enumerate(blocks):
        advised = max(advised, i + 1)
        while advised < min(i + 1 + distance, len(blocks)):
            os.posix_fadvise(fd, blocks[advised] * BLOCK, BLOCK, os.POSIX_FADV_WILLNEED)
            advised += 1
        os.pread(fd, BLOCK, block * BLOCK)
    return time.perf_counter() - begin


def raw(bench, table, megabytes, reads):
    path = f"{bench.run}/blocks"
    make_file(path, megabytes)
    fd = os.open(path, os.O_RDONLY)
    chosen = random.Random(1).sample(range(megabytes * 1024 * 1024 // BLOCK), reads)
    for what, blocks in (("raw reads, unsorted", chosen), ("raw reads, sorted", sorted(chosen))):
        for distance in RAW_DISTANCES:
            table.add(what, distance, read_blocks(fd, blocks, distance), reads * BLOCK / 1048576)
    os.close(fd)
    os.unlink(path)


# ---- queries

def queries(bench, table):
    scenario = Prefetch()
    rows = bench.choose(4000037, 400009)
    scenario.make_table(bench, rows)
    for kind in KINDS:
        result = figures.Result(kind)
        for distance in QUERY_DISTANCES:
            figure = result.figure(str(distance), "s", "lower")
            for side in bench.pairs(full=3, quick=1):
                figure.add(side, scenario.cold_seconds(bench, side, kind, distance, rows))
        for side in ("heap", "zheap"):
            for figure in result.figures:
                table.add(f"{side}, {kind} scan", int(figure.name), figure.median(side))


def main():
    parser = options_parser()
    parser.add_argument("--megabytes", type=int, required=True)
    parser.add_argument("--reads", type=int, required=True)
    parser.add_argument("--raw-only", action="store_true")
    options = parser.parse_args()
    bench = Bench(options)
    table = Table()
    try:
        raw(bench, table, options.megabytes, options.reads)
        if not options.raw_only:
            queries(bench, table)
    finally:
        bench.server.stop()
    out = f"{options.run}/out"
    table.write(f"{out}/prefetch.csv")
    if plots.can_draw():
        plots.draw(figures.Plot("prefetch", "cold reads of 8 kB: how many times as fast as without advice", "blocks ahead",
                                "times as fast", table.lines, log_x=True), f"{out}/prefetch.svg")
    return 0


sys.exit(main())
