"""What a measurement is given: the server, and how long it may take."""

import argparse
import os

from server import Server


def options_parser():
    """What each program here is told by the command that calls it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bindir")
    parser.add_argument("--run")
    parser.add_argument("--version")
    parser.add_argument("--memory-limit", help="the file that limits the memory of this program and all that it starts")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", dest="full", action="store_false")
    parser.add_argument("--full", action="store_true")
    parser.set_defaults(full=False)
    return parser


class Bench:
    """The options of the command, and the server that it measures."""

    def __init__(self, options):
        self.run = options.run
        self.clients, self.threads = options.clients, options.threads
        self.full = options.full
        self.short = bool(os.environ.get("BENCH_SHORT")) and not options.full
        self.version = options.version
        self.scripts = f"{options.run}/pgbench"
        with open(f"{options.run}/instructions.txt") as f:
            self.instructions = f.read()
        self.server = Server(options.bindir, options.run, options.memory_limit)
        self.server_version = self.server.sql("postgres", "select split_part(version(), ' on ', 1)")

    def choose(self, full, quick, short=None):
        if self.short and short is not None:
            return short
        return full if self.full else quick

    def pairs(self, full=3, quick=2):
        """heap and zheap in turn, each first in every other pair."""
        for i in range(self.choose(full, quick, 1)):
            yield from ("heap", "zheap") if i % 2 == 0 else ("zheap", "heap")
