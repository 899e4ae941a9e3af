"""Runs schedules on heap and on zheap and compares step by step.  See --help of
test/differential, which calls this; this needs a running server.

A difference counts only if heap agrees with itself when the schedule is run again.
Where it does not, the schedule depends on something that the restrictions in
schedule.py forgot, and is counted as unstable.
"""

import argparse
import os
import re
import signal
import sys
import time

from schedule import Generator, Schedule
from side import Side
from wire import Lost, Session

CHECKS = [
    'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off',
    'RESET ALL; SET enable_seqscan = off; SET enable_bitmapscan = off',
    'RESET ALL; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off',
]


class Trace:
    """What happened: (session, statement, outcome) per step, and the tables at the end."""

    def __init__(self):
        self.lines = []

    def add(self, k, sql, outcome):
        self.lines.append((k, sql, outcome))


def run(side, schedule, choose=None, reference=None):
    """Run a schedule; its steps are those it has, or what choose(free, status) says.
    With a reference stop where the trace leaves it."""
    trace = Trace()
    side.setup(schedule.setup, schedule.inits)
    steps = iter(schedule.steps)

    def do(k, sql):
        trace.add(k, sql, side.step(k, sql))
        n = len(trace.lines)
        return reference is None or trace.lines[-1] == reference.lines[n - 1:n][0]

    while True:
        if choose:
            free = [i for i, s in enumerate(side.sessions) if i and not s.busy()]
            step = choose(free, [s.status for s in side.sessions])
            if step:
                schedule.steps.append(step)
        else:
            step = next(steps, None)
        if step is None:
            break
        if not do(*step):
            return trace
    # let everything end, in the order of the sessions
    for _ in range(4 * len(side.sessions)):
        todo = [(i, 'COMMIT') for i, s in enumerate(side.sessions) if not s.busy() and s.status != 'I']
        if not todo:
            left = side.prepared()
            if not left:
                break
            todo = [(0, "COMMIT PREPARED '%s'" % left[0][0].replace(side.database, '@DB@'))]
        for step in todo:
            if not do(*step):
                return trace
    for k, sql in final_queries(side):
        if not do(k, sql):
            return trace
    return trace


def final_queries(side):
    tables = [x[0] for x in side.control.query(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
        "AND relkind IN ('r', 'p') ORDER BY relname")]
    for setting in CHECKS:
        yield 0, setting
        for t in tables:
            yield 0, 'SELECT * FROM %s x ORDER BY x::text' % t
        if 't' in tables:
            yield 0, 'SELECT id, v FROM t WHERE id >= 0 ORDER BY id'
            yield 0, 'SELECT id, k FROM t WHERE k >= 0 ORDER BY k, id'
            yield 0, 'SELECT u FROM t WHERE u >= 0 ORDER BY u'


def differ(a, b):
    """Index of the first line that differs, or None."""
    for i, (x, y) in enumerate(zip(a.lines, b.lines)):
        if x != y:
            return i
    return None if len(a.lines) == len(b.lines) else min(len(a.lines), len(b.lines))


FAILS = re.compile(r's(\d+) (error 40001 could not serialize access due to concurrent .*)')


def fails_early(schedule, a, b):
    """Is the only difference that sessions fail now that on heap wait first, and then fail
    alike?  See "KEY SHARE" in schedule.py."""
    i = differ(a, b)
    if i >= min(len(a.lines), len(b.lines)) or not re.search('KEY SHARE|REFERENCES', schedule.text()):
        return False
    ours, heap = b.lines[i][2], a.lines[i][2]
    early = [x for x in ours if FAILS.match(x) and x not in heap]
    waits = ['s%s blocked' % FAILS.match(x)[1] for x in early]
    if not early or [x for x in ours if x not in early] != [x for x in heap if x not in waits]:
        return False
    for x in early:
        label = 's%s ' % FAILS.match(x)[1]
        later = [y for _, _, outcome in a.lines[i + 1:] for y in outcome
                 if y.startswith(label) and ' skipped: ' not in y]
        if not later or not (later[0] == x or later[0].startswith(label + 'error 40P01')):
            return False
    return True


def names(worker):
    return 'heap_%d' % worker, 'zheap_%d' % worker


def make_databases(args):
    """Before any session is stopped: DROP DATABASE waits for all of them."""
    admin = Session(args.host, args.port, 'postgres')
    for worker in range(args.workers):
        heap, zheap = names(worker)
        for name in heap, zheap:
            admin.query('DROP DATABASE IF EXISTS %s' % name)
            admin.query('CREATE DATABASE %s' % name)
        if not args.heap_twice:
            s = Session(args.host, args.port, zheap)
            s.query('CREATE EXTENSION zheap')
            s.query('ALTER DATABASE %s SET default_table_access_method = zheap' % zheap)
            s.close()
    admin.close()


class Pair:
    """The two sides, with their connections."""

    def __init__(self, args, worker):
        self.args = args
        self.names = names(worker)
        self.early = 0          # schedules that were cut short
        self.open()

    def close(self):
        self.heap.close()
        self.zheap.close()

    def open(self):
        a = self.args
        self.heap = Side(a.host, a.port, self.names[0], a.sessions)
        self.zheap = Side(a.host, a.port, self.names[1], a.sessions,
                          '' if a.heap_twice else '-c zheap.initial_slots=%d' % a.slots)

    def compare(self, schedule, choose=None):
        """(heap's trace, zheap's) if they differ, else None."""
        a = run(self.heap, schedule, choose)
        b = run(self.zheap, schedule, None, a)
        if differ(a, b) is None:
            return None
        if fails_early(schedule, a, b):
            self.early += 1
            return None
        return a, b

    def unstable(self, schedule, a):
        """Is heap's own trace another one the next time?"""
        return any(differ(a, run(self.heap, schedule)) is not None for _ in range(3))


def shrink(pair, schedule, seconds):
    """Leave out steps while some difference stays."""
    end = time.monotonic() + seconds
    best = schedule

    def still(candidate):
        found = pair.compare(candidate)
        return found and not pair.unstable(candidate, found[0])

    changed = True
    while changed and time.monotonic() < end:
        changed = False
        size = max(1, len(best.steps) // 2)
        while size >= 1 and time.monotonic() < end:
            at = 0
            while at < len(best.steps) and time.monotonic() < end:
                candidate = best.with_steps(best.steps[:at] + best.steps[at + size:])
                if still(candidate):
                    best, changed = candidate, True
                else:
                    at += size
            size //= 2
        at = 0
        while at < len(best.setup) and time.monotonic() < end:
            candidate = Schedule(best.setup[:at] + best.setup[at + 1:], best.inits, best.steps)
            try:
                if still(candidate):
                    best, changed = candidate, True
                    continue
            except RuntimeError:
                pass
            at += 1
    return best


def report(out, schedule, traces, title):
    heap, zheap = traces
    first = differ(heap, zheap)
    out.write('---- %s\n%s---- the traces\n' % (title, schedule.text()))
    for i, (k, sql, outcome) in enumerate(zheap.lines[:first + 1]):
        out.write('%3d s%d: %s\n' % (i, k, sql.replace('\n', '\\n')))
        if i == first:
            for x in heap.lines[i][2] if i < len(heap.lines) else ['nothing']:
                out.write('      heap   %s\n' % x)
            for x in outcome:
                out.write('      zheap  %s\n' % x)
        else:
            for x in outcome:
                out.write('      %s\n' % x)
    out.write('----\n')
    out.flush()


def work(args, worker, out):
    """Run every args.workers-th schedule.  Returns (schedules, steps, unstable, passed
    over, differences)."""
    pair = Pair(args, worker)
    try:
        return run_seeds(args, pair, worker, out)
    finally:
        pair.close()


def run_seeds(args, pair, worker, out):
    end = time.monotonic() + args.seconds if args.seconds else None
    done = steps = unstable = found = 0
    seed = args.seed + worker
    while end is None or time.monotonic() < end:
        if args.count and seed >= args.seed + args.count:
            break
        generator = Generator(seed, args.sessions, args.length)
        schedule = generator.schedule
        left = [generator.length]

        def choose(free, status):
            left[0] -= 1
            return generator.step(free, status) if left[0] >= 0 else None

        try:
            traces = pair.compare(schedule, choose)
            if traces and pair.unstable(schedule, traces[0]):
                unstable += 1
                if args.verbose:
                    report(out, schedule, traces, 'unstable seed %d' % seed)
                traces = None
            if traces:
                found += 1
                again = pair.compare(schedule)
                report(out, schedule, again or traces, 'DIFFERENCE, seed %d%s' % (
                    seed, '' if again else ' (not seen when run again)'))
                if again and args.shrink:
                    short = shrink(pair, schedule, args.shrink)
                    last = pair.compare(short)
                    report(out, short, last or again, 'seed %d, shortened' % seed)
        except (Lost, TimeoutError, OSError) as e:
            found += 1
            out.write('---- SERVER FAILED, seed %d: %r\n%s----\n' % (seed, e, schedule.text()))
            out.flush()
            if found >= args.max:
                break
            reopen(pair)
        except RuntimeError as e:
            found += 1
            out.write('---- FAILED, seed %d: %s\n%s----\n' % (seed, e, schedule.text()))
            out.flush()
            reopen(pair)
        done += 1
        steps += len(schedule.steps)
        if found >= args.max:
            break
        seed += args.workers
    return done, steps, unstable, pair.early, found


def reopen(pair):
    for _ in range(60):
        try:
            pair.open()
            return
        except (Lost, OSError):
            time.sleep(1)
    raise SystemExit('the server does not come back')


def replay(args, out):
    with open(args.replay) as f:
        schedule = Schedule.read(f.read())
    pair = Pair(args, 0)
    try:
        return replay_schedule(args, pair, schedule, out)
    finally:
        pair.close()


def replay_schedule(args, pair, schedule, out):
    traces = pair.compare(schedule)
    if not traces:
        if args.verbose:
            a = run(pair.heap, schedule)
            for k, sql, outcome in a.lines:
                out.write('s%d: %s\n' % (k, sql) + ''.join('      %s\n' % x for x in outcome))
        out.write('no difference\n')
        return 0
    stable = not pair.unstable(schedule, traces[0])
    report(out, schedule, traces, 'DIFFERENCE' if stable else 'UNSTABLE')
    if stable and args.shrink:
        short = shrink(pair, schedule, args.shrink)
        report(out, short, pair.compare(short) or traces, 'shortened')
    return 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--host', required=True)
    p.add_argument('--port', required=True)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--count', type=int, default=0)
    p.add_argument('--seconds', type=int, default=0)
    p.add_argument('--sessions', type=int, default=4)
    p.add_argument('--length', type=int, default=0)
    p.add_argument('--workers', type=int, default=4)
    p.add_argument('--slots', type=int, default=4)
    p.add_argument('--shrink', type=int, default=60)
    p.add_argument('--max', type=int, default=5)
    p.add_argument('--replay')
    p.add_argument('--heap-twice', action='store_true')
    p.add_argument('--verbose', action='store_true')
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    make_databases(args)
    if args.replay:
        return replay(args, sys.stdout)
    if not args.count and not args.seconds:
        p.error('--count or --seconds')

    start = time.monotonic()
    children = []
    for w in range(args.workers):
        r, wr = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(r)
            result = (0, 0, 0, 0, 1)
            try:
                result = work(args, w, sys.stdout)
            finally:
                sys.stdout.flush()
                os.write(wr, ('%d %d %d %d %d' % result).encode())
                os._exit(0)
        os.close(wr)
        children.append((pid, r))
    total = [0, 0, 0, 0, 0]
    for pid, r in children:
        with os.fdopen(r) as f:
            for i, x in enumerate(f.read().split()):
                total[i] += int(x)
        os.waitpid(pid, 0)
    print('%d schedules, %d steps in %d s from seed %d; %d unstable, '
          '%d passed over, %d differences'
          % (total[0], total[1], time.monotonic() - start, args.seed, *total[2:]))
    return 0 if total[0] and not total[4] else 1


if __name__ == '__main__':
    sys.exit(main())
