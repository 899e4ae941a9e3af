"""Counts the operations; bench/instructions --help tells what can be asked for."""

import argparse
import concurrent.futures
import os
import re
import shutil
import statistics
import subprocess
import sys

import access_method
import callgrind
import holds
from operations import COPY_LINES, OPERATIONS, SCHEMA

MORE = 1.03         # what an operation may take, of the table's figure
LESS = 0.95         # below, the table ought to be written anew
START = "select pg_sleep(0);"
RELATIONS = "select relfilenode, relname from pg_class where relnamespace = 'public'::regnamespace and relfilenode <> 0;"

# A worker would look, after the start, what became of the transactions that were at work before
SETTLE = {"heap": [], "zheap": ["vacuum zheap.undo;"]}

# memset and memcpy of libc would be counted by byte where they use an instruction that repeats itself
TUNABLES = "glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000"

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '@WORK@'
shared_buffers = 64MB
max_wal_size = 16GB
checkpoint_timeout = 1h
synchronous_commit = off
full_page_writes = off
fsync = off
autovacuum = off
work_mem = 64MB
max_parallel_workers_per_gather = 0
max_prepared_transactions = 2
jit = off
log_checkpoints = off
"""


class Failed(Exception):
    pass


class Cluster:
    """A cluster with the databases heap and zheap, which is copied for each operation."""

    def __init__(self, options):
        self.bindir = options.bindir
        self.library = options.library
        self.relation_lines = {}
        self.work = options.work
        self.owner = options.owner
        self.base = os.path.join(options.work, "base")
        with open(options.conf) as conf:
            self.settings = conf.read() + SETTINGS.replace("@WORK@", options.work) + "".join(f"{setting}\n" for setting in options.set)

    def command(self, *command):
        if not self.owner:
            return list(command)
        return ["setpriv", f"--reuid={self.owner}", f"--regid={self.owner}", "--init-groups", "--", *command]

    def run(self, program, *arguments):
        path = os.path.join(self.bindir, program)
        done = subprocess.run(self.command(path, *arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failed(f"{program} failed: {done.stdout[-2000:]}")
        return done.stdout

    def sql(self, database, *statements):
        return self.run("psql", "-X", "-q", "-A", "-t", "-F", " ", "-v", "ON_ERROR_STOP=1", "-h", self.work, "-U", "postgres", "-d", database,
                        *[word for statement in statements for word in ("-c", statement)])

    def make(self, operations):
        tables = "\n".join(sorted({operation.tables for operation in operations}))
        self.run("initdb", "-D", self.base, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        with open(os.path.join(self.base, "postgresql.conf"), "a") as conf:
            conf.write(self.settings)
        with open(os.path.join(self.work, "copy"), "w") as file:
            file.write(COPY_LINES)
        self.run("pg_ctl", "-D", self.base, "-l", os.path.join(self.work, "log"), "-w", "start")
        for database in "heap", "zheap":
            self.sql("postgres", f"create database {database}")
            if database == "zheap":
                self.sql(database, "create extension zheap", "alter database zheap set default_table_access_method = zheap")
            self.sql(database, *[line for line in (tables + SCHEMA).split("\n") if line])
            self.relation_lines[database] = self.sql(database, RELATIONS)
        self.run("pg_ctl", "-D", self.base, "-w", "stop")

    def warm_up(self, operation, method):
        """What comes before an operation is measured."""
        lines = SETTLE[method] + operation.setup
        for i in range(operation.warm):
            lines += operation.statements(i + 1000)
        return lines

    def relations(self, method):
        """Names of the database's tables and indexes, by the number of their file."""
        lines = self.relation_lines[method].split("\n")
        return {int(number): name for number, name in (line.split() for line in lines if line)}

    def holds(self, operation, method, times):
        """Run an operation; the page locks of each time."""
        place = os.path.join(self.work, f"{operation.name}.{method}")
        server = os.path.join(self.bindir, "postgres")
        subprocess.run(["cp", "-a", self.base, place], check=True)
        lines = self.warm_up(operation, method)
        first = operation.warm + 1000
        for i in range(first, first + times):
            lines += [START] + operation.statements(i)
        lines.append(START)
        with open(f"{place}.in", "w+") as text, open(f"{place}.err", "w+") as errors:
            text.write("\n".join(lines) + "\n")
            text.flush()
            text.seek(0)
            runs = holds.measure(self.command(server, "--single", "-D", place, method), server, self.library, text, times,
                                 self.relations(method), errors)
            errors.seek(0)
            said = errors.read()
        shutil.rmtree(place)
        if re.search(r"\b(ERROR|FATAL|PANIC):", said):
            raise Failed(f"{operation.name} on {method}: {said[-2000:]}")
        return runs

    def profile(self, operation, method):
        """Run an operation under callgrind."""
        place = os.path.join(self.work, f"{operation.name}.{method}")
        lines = self.warm_up(operation, method)
        lines.append(START)
        for i in range(operation.warm, operation.warm + operation.times):
            lines += operation.statements(i + 1000)
        text = "\n".join(lines).replace("@COPY@", os.path.join(self.work, "copy")) + "\n"
        subprocess.run(["cp", "-a", self.base, place], check=True)
        done = subprocess.run(
            self.command("valgrind", "--tool=callgrind", "--zero-before=pg_sleep", f"--callgrind-out-file={place}.out",
                         os.path.join(self.bindir, "postgres"), "--single", "-D", place, method),
            input=text, capture_output=True, text=True, env=dict(os.environ, GLIBC_TUNABLES=TUNABLES))
        shutil.rmtree(place)
        if done.returncode or re.search(r"\b(ERROR|FATAL|PANIC):", done.stderr):
            raise Failed(f"{operation.name} on {method}: {done.stderr[-2000:]}")
        profile = callgrind.read(f"{place}.out")
        os.remove(f"{place}.out")
        return profile


def statement_cost(profile):
    """What PostgresMain does for statements; it also reads them, character by character."""
    for callee, cost in profile.callees("PostgresMain").items():
        if "pg_parse_query" in profile.callees(callee):
            return cost
    raise Failed("no function of PostgresMain's parses statements")


class Count:
    """Instructions of an operation: whole and access method's."""

    def __init__(self, operation, profile, callbacks):
        each = operation.times * operation.rows
        self.whole = round(statement_cost(profile) / each)
        self.am = round(profile.called_from_outside(callbacks) / each)


# ---- the table ----

HEAD = ("operation", "heap", "zheap", "ratio", "AM heap", "AM zheap", "target")
ROW = "{:<18} {:>9} {:>9} {:>6} {:>9} {:>9} {:>7}  {}"


def row(operation, heap, zheap):
    ratio = f"{zheap.whole / heap.whole:.3f}"
    target = f"{operation.target:.2f}" if operation.target else ""
    return ROW.format(operation.name, heap.whole, zheap.whole, ratio, heap.am, zheap.am, target, operation.what).rstrip()


def read_table(path):
    """zheap's figures by operation."""
    table = {}
    with open(path) as lines:
        for line in lines:
            fields = line.split()
            if fields and fields[0] in OPERATIONS:
                table[fields[0]] = int(fields[2])
    return table


def write_table(path, rows):
    with open(path, "w") as file:
        file.write("Instructions per operation; bench/instructions --write wrote it, --check compares with column zheap.\n\n")
        file.write(ROW.format(*HEAD, "").rstrip() + "\n")
        file.write("".join(line + "\n" for line in rows))


def verdict(operation, count, table):
    """Print how a count compares with the table; is it all right?"""
    if operation.name not in table:
        print(f"MISSING {operation.name}: {count.whole}, not in the table")
        return False
    share = count.whole / table[operation.name]
    word = "ok" if share <= MORE else "MORE"
    if share < LESS:
        word = "less"
    print(f"{word:<7} {operation.name:<18} {count.whole:>9} of {table[operation.name]:>9}, {100 * (share - 1):+.1f} %", flush=True)
    return share <= MORE


def show_normal(operation, counts):
    """Compare an operation with its normal one, if that was counted."""
    normal = counts.get(operation.normal)
    if normal:
        ratios = {method: counts[operation.name][method].whole / normal[method].whole for method in normal}
        limit = f", target {operation.limit:.2f}" if operation.limit else ""
        print(f"{operation.name} / {operation.normal}: heap {ratios['heap']:.3f}, zheap {ratios['zheap']:.3f}{limit}")


# ---- profiles ----

def show_profile(profile, function, operation):
    each = operation.times * operation.rows
    if function == "all":
        for name, own in profile.own.most_common(60):
            print(f"{own / each:>10.1f}  {name}")
        return
    show_callers(profile, function, each)
    show_calls(profile, function, profile.below(function), each, 0, ())


def show_callers(profile, function, each):
    callers = {caller: callees[function] for caller, callees in profile.calls.items() if function in callees}
    for caller, cost in sorted(callers.items(), key=lambda item: -item[1])[:8]:
        print(f"{cost / each:>10.1f} {profile.times[caller][function] / each:.2f}x from {caller}")


def show_calls(profile, function, cost, each, depth, path, times=None):
    if depth > 8 or function in path or cost / each < 20:
        return
    print(f"{cost / each:>10.1f} {'' if times is None else f'{times / each:.2f}x':>7} {'  ' * depth}{function}")
    share = cost / max(1, profile.below(function))
    for callee, below in sorted(profile.callees(function).items(), key=lambda item: -item[1]):
        show_calls(profile, callee, below * share, each, depth + 1, path + (function,), profile.times[function][callee] * share)


# ---- page locks ----

HOLDS = ("simple_update", "update_hot", "tpcb", "insert", "for_update", "delete", "queue")
HOLDS_TIMES = 3
HOLDS_ROW = "{:<15} {:<16} {:>10} {:>13} {:>10} {:>13} {:>10} {:>13} {:>10} {:>13}"


def hold_figures(runs, exclusive):
    """Of each relation: its locks in a run, on the average, and the median of the instructions of one.

    A page that all runs lock exclusively has figures of its own.
    """
    hot = set.intersection(*[{(hold.relation, hold.block) for hold in run if hold.exclusive} for run in runs])
    lengths = {}
    for run in runs:
        for hold in run:
            if hold.exclusive == exclusive:
                page = f" {hold.block}" if (hold.relation, hold.block) in hot else ""
                lengths.setdefault(hold.relation + page, []).append(hold.length())
    return {relation: (f"{len(values) / len(runs):.1f}", statistics.median_low(values)) for relation, values in lengths.items()}


def show_holds(cluster, operations):
    print("Page locks: how many of a run, and instructions executed under one of them, median\n")
    print(HOLDS_ROW.format("operation", "relation", "heap excl.", "instructions", "zheap", "instructions",
                           "heap share", "instructions", "zheap", "instructions"))
    for operation in operations:
        runs = [cluster.holds(operation, method, HOLDS_TIMES) for method in ("heap", "zheap")]
        figures = [hold_figures(run, exclusive) for exclusive in (True, False) for run in runs]
        for relation in sorted(set().union(*figures)):
            columns = [figure.get(relation, ("", "")) for figure in figures]
            print(HOLDS_ROW.format(operation.name, relation, *[value for pair in columns for value in pair]).rstrip(), flush=True)


def show_hold(cluster, operation, method, relation):
    """Print the calls under the exclusive lock of a relation's page: instructions and how often."""
    holds_of = [hold for run in cluster.holds(operation, method, HOLDS_TIMES) for hold in run if hold.relation == relation and hold.exclusive]
    if not holds_of:
        return
    hold = sorted(holds_of, key=lambda hold: hold.length())[len(holds_of) // 2]
    below = {}
    for path, count in hold.paths.items():
        for depth in range(len(path) + 1):
            below[path[:depth]] = below.get(path[:depth], 0) + count
    for path in holds.in_order(below):
        if below[path] >= 20:
            print(f"{below[path]:>7} {hold.paths[path]:>7} {'  ' * len(path)}{path[-1] if path else 'all, and own'}")


# ---- main ----

def parse():
    parser = argparse.ArgumentParser()
    for name in "bindir", "library", "work", "table", "conf", "owner":
        parser.add_argument(f"--{name}")
    parser.add_argument("--jobs", type=int, default=1)
    for name in "check", "write", "list", "heap", "holds":
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--profile", nargs=2)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def count_all(options, cluster, operations):
    """Count on both access methods, as they come in; zheap alone for --check."""
    methods = ["zheap"] if options.check else ["heap", "zheap"]
    server = os.path.join(options.bindir, "postgres")
    callbacks = {"zheap": access_method.zheap(options.library), "heap": access_method.heap(server, options.library)}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [(operation, [(method, pool.submit(cluster.profile, operation, method)) for method in methods]) for operation in operations]
        for operation, runs in jobs:
            yield operation, {method: Count(operation, run.result(), callbacks[method]) for method, run in runs}


def main():
    options = parse()
    unknown = [name for name in options.names if name not in OPERATIONS]
    if unknown:
        print(f"no such operation: {' '.join(unknown)}", file=sys.stderr)
        return 2
    cluster = Cluster(options)
    names = options.names or [name for name, operation in OPERATIONS.items() if not operation.tables]
    operations = [OPERATIONS[name] for name in (options.profile[:1] if options.profile else names)]
    cluster.make(operations)
    if options.holds and not holds.is_possible():
        print("page locks can be measured on Linux and x86_64 only")
        return 0
    if options.profile:
        operation = operations[0]
        method = "heap" if options.heap else "zheap"
        if options.holds:
            show_hold(cluster, operation, method, options.profile[1])
        else:
            show_profile(cluster.profile(operation, method), options.profile[1], operation)
        return 0
    if options.holds:
        show_holds(cluster, [OPERATIONS[name] for name in options.names or HOLDS])
        return 0
    if options.check:
        table = read_table(options.table)
        return 0 if all([verdict(operation, counts["zheap"], table) for operation, counts in count_all(options, cluster, operations)]) else 1
    print(ROW.format(*HEAD, "").rstrip(), flush=True)
    rows = []
    counted = {}
    for operation, counts in count_all(options, cluster, operations):
        counted[operation.name] = counts
        rows.append(row(operation, counts["heap"], counts["zheap"]))
        print(rows[-1], flush=True)
    for operation in operations:
        show_normal(operation, counted)
    if options.write:
        write_table(options.table, rows)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
