"""Runs schedules on heap and on zheap and compares step by step.  See --help of
test/differential, which calls this; this needs a running server.

A difference counts only if heap agrees with itself when the schedule is run again.
Where it does not, or runs into a timeout, the schedule depends on something that the
restrictions in schedule.py forgot, and is counted as unstable.
"""

import argparse
import json
import os
import re
import signal
import sys
import time
import traceback
from collections import Counter

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from keys import final_reads
from pressure import DIGEST, HOLDERS, Pressure
from schedule import Generator, Schedule
from side import Side
from wire import Lost, Session

CHECKS = [
    'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off',
    'RESET ALL; SET enable_seqscan = off; SET enable_bitmapscan = off',
    'RESET ALL; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off',
]


class Trace:
    """What happened: (session, statement, outcome) per step, and the tables at the end;
    and what each cost: the processor time of the sessions, or half of the time that passed
    if that is more, since a session may wait for another process to do the work."""

    def __init__(self):
        self.lines = []
        self.costs = []


def run(side, schedule, slots=0, choose=None, reference=None):
    """Run a schedule; its steps are those it has, or what choose(free, status) says.
    With a reference stop where the trace leaves it."""
    trace = Trace()
    side.setup(schedule.setup, schedule.inits, schedule.slots or slots)
    steps = iter(schedule.steps)

    def do(k, sql):
        before, start = side.cpu(), time.monotonic()
        outcome = side.step(k, sql)
        passed, after = time.monotonic() - start, side.cpu()
        trace.lines.append((k, sql, outcome))
        trace.costs.append(max(passed / 2, sum(after[p] - before.get(p, 0) for p in after)))
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
            yield 0, DIGEST if t == 'big' else 'SELECT * FROM %s x ORDER BY x::text' % t
        if 't' in tables:
            yield 0, 'SELECT id, v FROM t WHERE id >= 0 ORDER BY id'
            yield 0, 'SELECT id, k FROM t WHERE k >= 0 ORDER BY k, id'
            yield 0, 'SELECT u FROM t WHERE u >= 0 ORDER BY u'
    if 'm' in tables:
        for query in final_reads():
            yield 0, query


def differ(a, b):
    """Index of the first line that differs, or None."""
    for i, (x, y) in enumerate(zip(a.lines, b.lines)):
        if x != y:
            return i
    return None if len(a.lines) == len(b.lines) else min(len(a.lines), len(b.lines))


def slower(a, b, seconds):
    """Index of the first line that cost so much more, or None."""
    for i, (x, y) in enumerate(zip(a.costs, b.costs)):
        if seconds and y > seconds + 10 * x:
            return i
    return None


class Difference:
    def __init__(self, heap, zheap, at, kind=None):
        self.heap, self.zheap, self.at = heap, zheap, at
        self.kind = kind or self.judge()

    def statements(self):
        """What those do whose answers differ; some of them may have waited."""
        if self.at >= min(len(self.heap.lines), len(self.zheap.lines)):
            return ''
        answers = set(self.heap.lines[self.at][2]) ^ set(self.zheap.lines[self.at][2])
        who = {int(re.match(r's(\d+)', x)[1]) for x in answers}
        last = {k: sql for k, sql, outcome in self.heap.lines[:self.at + 1]
                if k in who and ' skipped: ' not in ' '.join(outcome)}
        return ' | '.join(last.values())

    def judge(self):
        """What it looks like, in a few words."""
        sql = self.statements()
        heap = ' | '.join(self.heap.lines[self.at][2] if self.at < len(self.heap.lines) else [])
        zheap = ' | '.join(self.zheap.lines[self.at][2] if self.at < len(self.zheap.lines) else [])
        new = [x for x in re.findall(r'error \w{5} [^|]*', zheap) if x not in heap]
        for pattern, kind in (('zheap data is damaged', 'damage reported'), ('missing chunk', 'toasted value missing'),
                              ('error XX', 'internal error')):
            if any(pattern in x for x in new):
                return kind
        if heap.count(' violated') > zheap.count(' violated'):
            return 'foreign key accepted'
        if 'differential.version' in sql:
            return 'xmin'
        if 'CURRENT OF' in sql and re.search('(UPDATE|DELETE) 0', zheap):
            return 'cursor misses its row'
        if heap.count(' blocked') != zheap.count(' blocked'):
            return 'blocks' if ' blocked' in zheap else 'does not block'
        if new:
            return 'error ' + new[0].split()[1]
        if re.findall(r'error \w{5}', heap) != re.findall(r'error \w{5}', zheap):
            return 'no error'
        return 'rows'


def deadlock_early(schedule, a, b):
    """Is the only difference a deadlock that on heap is found later?  See "KEY SHARE" in
    schedule.py."""
    i = differ(a, b)
    if i >= min(len(a.lines), len(b.lines)) or not KEY_SHARE.search(schedule.text()):
        return False
    k = b.lines[i][0]
    return (b.lines[i][2][0] == 's%d %s' % (k, DEADLOCK) and a.lines[i][2] == ['s%d blocked' % k] and
            any(' error 40P01 ' in y for _, _, outcome in a.lines[i + 1:] for y in outcome))


REWRITE = re.compile(r'^CLUSTER|^VACUUM \(.*FULL|^VACUUM FULL')
KEY_SHARE = re.compile(r'KEY SHARE|REFERENCES p\b')
DEADLOCK = 'error 40P01 deadlock detected'
FAILS = re.compile(r's(\d+) (error 40001 could not serialize access due to concurrent .*)')


def fails_early(schedule, a, b):
    """Is the only difference that sessions fail now that on heap wait first, and then fail
    alike?  See "KEY SHARE" in schedule.py."""
    i = differ(a, b)
    if i >= min(len(a.lines), len(b.lines)) or not KEY_SHARE.search(schedule.text()):
        return False
    ours, heap = b.lines[i][2], a.lines[i][2]
    early = [x for x in ours if FAILS.match(x) and x not in heap]
    waits = ['s%s %s' % (FAILS.match(x)[1], how) for x in early for how in ('blocked', DEADLOCK)]
    if not early or [x for x in ours if x not in early] != [x for x in heap if x not in waits]:
        return False
    for x in early:
        label = 's%s ' % FAILS.match(x)[1]
        if label + DEADLOCK in heap:
            continue
        later = [y for _, _, outcome in a.lines[i + 1:] for y in outcome
                 if y.startswith(label) and ' skipped: ' not in y]
        if not later or not (later[0] == x or later[0].startswith(label + 'error 40P01') or
                             later[0] == label + 'terminated' or
                             later[0].startswith(label + 'error 57014')):
            return False
    return True


def key_forgotten(schedule, a, b):
    """Is the only difference that heap has forgotten that an update changed the key?  See
    "KEY SHARE" in schedule.py."""
    i = differ(a, b)
    if i >= min(len(a.lines), len(b.lines)):
        return False
    k, sql, ours = b.lines[i]
    rewritten = any(REWRITE.search(x) for _, x, _ in b.lines[:i])
    return rewritten and 'KEY SHARE' in sql and any(FAILS.match(x) for x in ours)


def names(worker):
    return 'heap_%d' % worker, 'zheap_%d' % worker


def make_databases(args):
    """Before any session is stopped: DROP DATABASE waits for all of them."""
    admin = Session(args.host, args.port, 'postgres')
    if not admin.query("SELECT FROM pg_roles WHERE rolname = 'differential'"):
        admin.query('CREATE ROLE differential')
    for worker in range(args.workers):
        heap, zheap = names(worker)
        for name in heap, zheap:
            admin.query('DROP DATABASE IF EXISTS %s' % name)
            admin.query('CREATE DATABASE %s' % name)
            s = Session(args.host, args.port, name)
            for extension in 'amcheck', 'bloom', 'btree_gin', 'btree_gist', 'pg_trgm':
                s.query('CREATE EXTENSION %s SCHEMA pg_catalog' % extension)
            s.close()
        if not args.heap_twice:
            s = Session(args.host, args.port, zheap)
            s.query('CREATE EXTENSION zheap')
            s.query('ALTER DATABASE %s SET default_table_access_method = zheap' % zheap)
            s.close()
    admin.close()


class HeapLost(Lost):
    """The server failed while heap's side ran."""


class Pair:
    """The two sides, with their connections."""

    def __init__(self, args, worker):
        self.args = args
        self.names = names(worker)
        self.early = 0          # schedules that were cut short
        self.stuck = 0          # schedules that heap did not finish
        self.last = None        # the schedule that is run
        self.open()

    def close(self):
        self.heap.close()
        self.zheap.close()

    def open(self):
        a = self.args
        self.heap, self.zheap = (Side(a.host, a.port, name, a.connections, zheap)
                                 for name, zheap in zip(self.names, (False, not a.heap_twice)))

    def compare(self, schedule, choose=None):
        """The difference, or None."""
        try:
            a = run(self.heap, schedule, choose=choose)
        except Lost as e:
            raise HeapLost(str(e))
        if any('due to statement timeout' in x for _, _, outcome in a.lines for x in outcome):
            self.stuck += 1
            return None
        b = run(self.zheap, schedule, self.args.slots, reference=a)
        at = differ(a, b)
        if at is not None and any(explains(schedule, a, b) for explains in
                                  (fails_early, deadlock_early, key_forgotten)):
            self.early += 1
            return None
        slow = slower(a, b, self.args.slow)
        if slow is not None:
            return Difference(a, b, slow, 'slow')
        return None if at is None else Difference(a, b, at)

    def unstable(self, schedule, a):
        """Is heap's own trace another one the next time?"""
        return any(differ(a, run(self.heap, schedule)) is not None for _ in range(3))


def shrink(pair, schedule, found, seconds):
    """Leave out steps while a difference of that kind stays."""
    end = time.monotonic() + seconds
    best = schedule
    kind = found.kind

    def still(candidate):
        try:
            found = pair.compare(candidate)
        except RuntimeError:
            return False
        return found and found.kind == kind and not pair.unstable(candidate, found.heap)

    candidate = best.with_steps(best.steps[:found.at + 1])
    if still(candidate):
        best = candidate
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
            candidate = Schedule(best.setup[:at] + best.setup[at + 1:], best.inits, best.steps, best.slots)
            if still(candidate):
                best, changed = candidate, True
            else:
                at += 1
    return best


def report(out, schedule, found, title):
    heap, zheap, first = found.heap.lines, found.zheap.lines, found.at
    out.write('---- %s: %s\n%s---- the traces\n' % (title, found.kind, schedule.text()))
    for i, (k, sql, outcome) in enumerate(zheap[:first + 1]):
        out.write('%3d s%d: %s\n' % (i, k, sql.replace('\n', '\\n')))
        if i == first:
            theirs = heap[i][2] if i < len(heap) else ['nothing']
            for x in brief(theirs, outcome):
                out.write('      heap   %s\n' % x)
            for x in brief(outcome, theirs):
                out.write('      zheap  %s\n' % x)
            if found.kind == 'slow':
                out.write('      %.2f and %.2f s (see Trace)\n' % (found.heap.costs[i], found.zheap.costs[i]))
        else:
            for x in outcome:
                out.write('      %s\n' % (x if len(x) < 600 else x[:600] + ' ...'))
    out.write('----\n')
    out.flush()


def brief(outcome, other):
    """Of long answers only what the other side does not have."""
    theirs = set(' | '.join(other).split(' | '))
    return [x if len(x) < 600 else
            '... ' + ' | '.join([y for y in x.split(' | ') if y not in theirs] or ['the same, in another order'])
            for x in outcome]


class ServerLog:
    """What the server has written since a moment."""

    def __init__(self, path):
        self.path = path
        self.mark()

    def mark(self):
        self.start = os.path.getsize(self.path) if self.path else 0

    def heap_failed(self):
        """Has heap_update failed an assertion?  Then all sessions are lost."""
        if not self.path:
            return False
        with open(self.path, 'rb') as f:
            f.seek(self.start)
            return re.search(rb'TRAP: FailedAssertion.*File: "[^"]*heapam\.c"', f.read()) is not None


class Result:
    """What a worker has done."""

    def __init__(self):
        self.done = self.steps = self.unstable = self.early = 0
        self.kinds = Counter()

    def found(self):
        return sum(self.kinds.values())


def work(args, worker, out, result):
    """Run every args.workers-th schedule."""
    pair = Pair(args, worker)
    try:
        run_seeds(args, pair, worker, out, result)
    finally:
        result.early = pair.early
        result.unstable += pair.stuck
        pair.close()


def run_seeds(args, pair, worker, out, result):
    end = time.monotonic() + args.seconds if args.seconds else None
    seed = args.seed + worker
    log = ServerLog(args.log)
    while end is None or time.monotonic() < end:
        if args.count and seed >= args.seed + args.count:
            break
        log.mark()
        try:
            run_seed(args, pair, seed, out, result)
        except HeapLost as e:
            # test/differential looks at what has failed
            pair.stuck += 1
            out.write('---- HEAP FAILED, seed %d: %r\n' % (seed, e))
            out.flush()
            reopen(pair)
        except (Lost, TimeoutError, OSError) as e:
            if log.heap_failed():
                pair.stuck += 1
                out.write('---- HEAP FAILED, seed %d: in another worker\n' % seed)
            else:
                result.kinds['hangs' if isinstance(e, TimeoutError) else 'server failed'] += 1
                out.write('---- SERVER FAILED, seed %d: %r\n%s----\n' % (seed, e, pair.last.text()))
            out.flush()
            if result.found() >= args.max:
                break
            reopen(pair)
        except RuntimeError as e:
            result.kinds['setup failed'] += 1
            out.write('---- FAILED, seed %d: %s\n%s----\n' % (seed, e, pair.last.text()))
            out.flush()
            reopen(pair)
        result.done += 1
        result.steps += len(pair.last.steps)
        if result.found() >= args.max:
            break
        seed += args.workers


def run_seed(args, pair, seed, out, result):
    generator = args.generator(seed, args.sessions, args.length)
    pair.last = schedule = generator.schedule
    left = [generator.length]

    def choose(free, status):
        left[0] -= 1
        return (generator.step if left[0] >= 0 else generator.closing)(free, status)

    found = pair.compare(schedule, choose)
    if found and pair.unstable(schedule, found.heap):
        result.unstable += 1
        if args.verbose:
            report(out, schedule, found, 'unstable seed %d' % seed)
        found = None
    if found:
        # some depend on how far the undo horizon is
        again = pair.compare(schedule) or pair.compare(schedule)
        result.kinds[(again or found).kind] += 1
        report(out, schedule, again or found, 'DIFFERENCE, seed %d%s' % (
            seed, '' if again else ' (not seen when run again)'))
        if again and args.shrink:
            short = shrink(pair, schedule, again, args.shrink)
            report(out, short, pair.compare(short) or again, 'seed %d, shortened' % seed)


def reopen(pair):
    """After the server, or a session, did not answer."""
    pair.close()
    for _ in range(60):
        try:
            admin = Session(pair.args.host, pair.args.port, 'postgres')
            ours = "FROM pg_stat_activity WHERE datname IN ('%s', '%s')" % pair.names
            admin.query('SELECT pg_terminate_backend(pid) ' + ours)
            if not admin.query('SELECT ' + ours):
                admin.close()
                pair.open()
                return
            admin.close()
        except (Lost, OSError, RuntimeError):
            pass
        time.sleep(1)
    raise SystemExit('the server does not come back')


def replay(args, out):
    with open(args.replay) as f:
        schedule = Schedule.read(f.read())
    args.connections = max(args.connections, schedule.sessions())
    pair = Pair(args, 0)
    try:
        return replay_schedule(args, pair, schedule, out)
    finally:
        pair.close()


def replay_schedule(args, pair, schedule, out):
    try:
        found = pair.compare(schedule)
    except (Lost, TimeoutError, OSError) as e:
        out.write('---- SERVER FAILED: %r\n' % e)
        return 1
    if not found:
        if args.verbose:
            a = run(pair.heap, schedule)
            for k, sql, outcome in a.lines:
                out.write('s%d: %s\n' % (k, sql) + ''.join('      %s\n' % x for x in outcome))
        out.write('no difference\n')
        return 0
    stable = not pair.unstable(schedule, found.heap)
    report(out, schedule, found, 'DIFFERENCE' if stable else 'UNSTABLE')
    if stable and args.shrink:
        short = shrink(pair, schedule, found, args.shrink)
        report(out, short, pair.compare(short) or found, 'shortened')
    return 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--host', required=True)
    p.add_argument('--port', required=True)
    p.add_argument('--log', help="the server's, to be read")
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--count', type=int, default=0)
    p.add_argument('--seconds', type=int, default=0)
    p.add_argument('--sessions', type=int, default=4)
    p.add_argument('--length', type=int, default=0)
    p.add_argument('--workers', type=int, default=4)
    p.add_argument('--slots', type=int, default=4)
    p.add_argument('--shrink', type=int, default=60)
    p.add_argument('--max', type=int, default=5)
    p.add_argument('--pressure', action='store_true')
    p.add_argument('--changes', type=int, default=Pressure.CHANGES)
    p.add_argument('--slow', type=float, default=5)
    p.add_argument('--xmin', action='store_true')
    p.add_argument('--replay')
    p.add_argument('--heap-twice', action='store_true')
    p.add_argument('--verbose', action='store_true')
    args = p.parse_args()
    args.generator = Pressure if args.pressure else Generator
    args.connections = args.sessions + (HOLDERS if args.pressure else 0)
    Pressure.CHANGES, Pressure.XMIN = args.changes, args.xmin
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
            result = Result()
            try:
                work(args, w, sys.stdout, result)
            except BaseException:
                result.kinds['test failed'] += 1
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os.write(wr, json.dumps(vars(result)).encode())
                os._exit(0)
        os.close(wr)
        children.append((pid, r))
    total, kinds = Counter(), Counter()
    for pid, r in children:
        with os.fdopen(r) as f:
            result = json.load(f)
        kinds.update(result.pop('kinds'))
        total.update(result)
        os.waitpid(pid, 0)
    if kinds:
        print('differences: ' + ', '.join('%s %d' % x for x in kinds.most_common()))
    print('%d schedules, %d steps in %d s from seed %d; %d unstable, '
          '%d passed over, %d differences'
          % (total['done'], total['steps'], time.monotonic() - start, args.seed, total['unstable'],
             total['early'], sum(kinds.values())))
    return 0 if total['done'] and not kinds else 1


if __name__ == '__main__':
    sys.exit(main())
