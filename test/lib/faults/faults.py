#!/usr/bin/env python3
"""Faults: reads, writes, fsyncs, extensions, truncations and allocations fail at random while
clients do everything at once, sessions are cancelled and terminated.  Called by test/torture.

Clients, model and checks are those of the torture; the clients go on after errors
(steadfast.py).  After each round nothing fails any more, everything is rolled back, and every
row is compared with what was acknowledged.
"""

import argparse
import collections
import errno
import faulthandler
import mmap
import os
import random
import re
import signal
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, '..', 'torture'), os.path.join(HERE, '..', 'shared')]
from preload import PreloadServer
from server import BAD, Lost, SqlError
from steadfast import Aborter, Evictor, SteadfastChores, SteadfastClient, SteadfastDdl, Sweeper
from torture import Torture

RULE = struct.Struct('=4i2Q96s')        # faults.c: Rule
RULES = 32
OPERATIONS = {name: n for n, name in enumerate(('read', 'write', 'extend', 'sync', 'truncate', 'memory'), 1)}

DATA, UNDO, WAL = '*/base/*', 'UNDO', '*/pg_wal/*'      # UNDO: set when the file is known

# name: operation, error, files, failures per million, of which a round chooses one
KINDS = {
    # of the sweepers only; slow ones, so that more happens meanwhile
    'sweep read': ('read', errno.EIO, UNDO, [30000, 300000]),
    'sweep slow': ('read', 0, DATA, [100000, 300000]),
    'read slow': ('read', 0, DATA, [3000, 30000]),
    'undo read': ('read', errno.EIO, UNDO, [3000, 30000, 300000]),
    'read': ('read', errno.EIO, DATA, [300, 3000, 30000]),
    'write': ('write', errno.EIO, DATA, [1000, 10000, 100000]),
    'write full': ('write', errno.ENOSPC, DATA, [1000, 10000, 100000]),
    'extend': ('extend', errno.ENOSPC, DATA, [3000, 30000, 300000]),
    'undo extend': ('extend', errno.ENOSPC, UNDO, [30000, 300000, 1000000]),
    'extend broken': ('extend', errno.EIO, DATA, [3000, 30000]),
    'truncate': ('truncate', errno.EIO, DATA, [30000, 300000]),
    'fsync': ('sync', errno.EIO, DATA, [300, 3000]),
    'wal fsync': ('sync', errno.EIO, WAL, [30, 300]),
    'wal full': ('write', errno.ENOSPC, WAL, [30, 300]),
    'memory': ('memory', errno.ENOMEM, '', [30, 300, 3000]),
}
SIGNALS = {'cancel': signal.SIGINT, 'terminate': signal.SIGTERM}

# What an injected error may do to the whole server: a PANIC in a critical section, or after an fsync; or a failed recovery
MAY_PANIC = re.compile('Input/output error|No space left on device|Cannot allocate memory|out of memory')
ABORTED = re.compile(r'terminated by signal 6')
# After the commit record the server unlinks files, and sends requests to the checkpointer.  Where the queue is full,
# CompactCheckpointerRequestQueue() makes a hash table, whose first elements are these bytes; an error is a PANIC there.
COMMITTED = re.compile(r'\[(\d+)\] XX000 .*PANIC:  cannot abort transaction \d+, it was already committed')
COMPACTING = re.compile(r'ERROR:  out of memory\n.*'
                        r'DETAIL:  Failed on request of size 2016 in memory context "dynahash"\.\n'
                        r'(.*(CONTEXT|STATEMENT):  .*\n)*'
                        r'.*WARNING:  AbortTransaction while in COMMIT state\n'
                        r'.*PANIC:  cannot abort transaction ')
# pgstat_get_entry_ref_cached() leaves an entry without a reference when it runs out of memory
NO_REFERENCE = re.compile(r'TRAP: .*"ent->entry_ref != NULL".* PID: (\d+)')
REFERENCES = 'memory context "PgStat Shared Ref"'
# The checkpointer's error was reported before: to a session, or to the process that ends a recovery; what follows a message
HARMLESS = re.compile(r'(ERROR|FATAL):  checkpoint request failed|(HINT|STATEMENT|CONTEXT|DETAIL):  ')


class FaultServer(PreloadServer):
    SOURCE = os.path.join(HERE, 'faults.c')

    def __init__(self, *args):
        super().__init__(*args)
        path = self.data + '.faults'
        with open(path, 'wb') as f:
            f.write(bytes(RULE.size * RULES))
        with open(path, 'r+b') as f:
            self.map = mmap.mmap(f.fileno(), 0)
        self.names = []
        self.hits = collections.Counter()

    def environment(self):
        return {'FAULTS': self.data + '.faults'}

    def fail(self, rules):
        """From now on; rules: (name, operation, error, path, per million, process or 0, at most so many or 0)."""
        self.work_on()
        self.names = [rule[0] for rule in rules]
        for i, (_, operation, error, path, share, process, limit) in enumerate(rules):
            RULE.pack_into(self.map, i * RULE.size, OPERATIONS[operation], error, share, process, 0, limit, path.encode())

    def work_on(self):
        """Nothing fails any more."""
        for i, name in enumerate(self.names):
            self.hits[name] += RULE.unpack_from(self.map, i * RULE.size)[4]
        self.map[:] = bytes(len(self.map))
        self.names = []

    def was_compacting(self, lines, panic):
        """Has a COMMIT failed where the server alone is at work?"""
        found = COMMITTED.search(panic)
        if not found or not self.hits['memory']:
            return False
        pid = '[%s] ' % found.group(1)
        of_process = [line for line in lines if pid in line]
        end = of_process.index(panic) + 1
        return COMPACTING.search('\n'.join(of_process[max(end - 6, 0):end])) is not None

    def has_no_reference(self, lines, trap):
        """Has the assertion failed since an allocation of the server's did?"""
        found = NO_REFERENCE.search(trap)
        return found and any('[%s] ' % found.group(1) in line and REFERENCES in line for line in lines)

    def bad_lines(self):
        all_lines = self.new_lines()
        lines = [line for line in all_lines if BAD.search(line)]
        by_design = [line for line in lines if 'PANIC:' in line and
                     (MAY_PANIC.search(line) or self.was_compacting(all_lines, line)) or
                     self.has_no_reference(all_lines, line)]
        self.hits['PANIC'] += len(by_design)
        return [line for line in lines if line not in by_design and not HARMLESS.search(line) and
                not (by_design and ABORTED.search(line))]


class Signaller(threading.Thread):
    """Cancels and terminates sessions and workers."""

    def __init__(self, number, clients, seed, pause, hits):
        super().__init__(daemon=True)
        self.number, self.clients, self.r, self.pause, self.hits = number, clients, random.Random(seed), pause, hits
        self.end = threading.Event()

    def run(self):
        while not self.end.wait(self.r.random() * 2 * self.pause):
            pid = self.r.choice(self.clients).session()
            if pid:
                try:
                    os.kill(pid, self.number)
                    self.hits[self.number.name] += 1
                except ProcessLookupError:
                    pass


class Faults(Torture):
    SERVER = FaultServer

    def __init__(self, args):
        super().__init__(args)
        self.hits = collections.Counter()
        self.deadline = time.time() + args.duration

    def more(self, number):
        return number <= self.args.rounds if self.args.rounds else time.time() < self.deadline

    def settings(self):
        s = super().settings()
        # undo is read from the disk; what the checkpointer must sync is much and often
        s.update({'fsync': 'on', 'shared_buffers': self.r.choice(['512kB', '512kB', '1MB', '8MB']), 'checkpoint_timeout': '30s'})
        return s

    def kinds(self, alone):
        """Some kinds of faults, with a share each."""
        names = self.args.only or self.r.sample(sorted(KINDS) + sorted(SIGNALS), self.r.randrange(1, 5))
        if not self.args.only:
            for wanted in ['sweep read', 'sweep slow'] if alone else ['undo read']:
                if self.r.random() < 0.5 and wanted not in names:
                    names.append(wanted)
        choose = max if self.args.burst else self.r.choice
        return {n: choose(KINDS[n][3]) for n in names if n in KINDS}, [n for n in names if n in SIGNALS]

    def rules(self, kinds, undo, clients):
        """What FaultServer.fail() takes; sessions come and go."""
        sweepers = [c.session() for c in clients if type(c) is Sweeper]
        limit = self.r.choice([0, 1, 1, 3])     # just for a moment
        return [(name, operation, error, undo if path == UNDO else path, kinds[name], process, limit if name == 'sweep read' else 0)
                for name in kinds for operation, error, path, _ in [KINDS[name]]
                for process in (filter(None, sweepers) if name.startswith('sweep') else [0])]

    def crew(self, seed, alone):
        def one(kind, n):
            return kind(n, self.primary, self.model, seed + n, self.findings, self.numbers[n])
        n = self.args.clients
        if alone:
            # without prepared transactions, so that sweeps come to an end
            return [one(Aborter, c) for c in range(self.r.choice([1, 1, min(n, 3)]))] + [one(Sweeper, n), one(Evictor, n + 1)]
        return [one(SteadfastClient, c) for c in range(n)] + [
            one(SteadfastChores, n), one(Sweeper, n + 1), one(SteadfastDdl, n + 2), one(Aborter, n + 3)]

    def round(self, number):
        r, seed = self.r, self.r.randrange(10**9)
        p = self.primary
        p.stop(r.choice([signal.SIGINT, signal.SIGINT, signal.SIGQUIT]) if number > 1 else signal.SIGINT)
        alone = r.random() < 0.5 or self.args.rollbacks
        settings = self.settings()
        if alone and r.random() < 0.8:
            settings.update({'zheap.undo_workers': 0, 'shared_buffers': '512kB'})
        p.set(settings)
        p.start()
        db = p.connect()
        undo = '*/' + db.value("select pg_relation_filepath('zheap.undo')")
        db.close()
        kinds, signals = self.kinds(alone)
        clients = self.crew(seed, alone)
        disturbers = [Signaller(SIGNALS[s], clients, seed, r.choice([0.01, 0.1, 0.5]), self.hits) for s in signals]
        before, begun = len(self.model.journal), time.time()
        for c in clients:
            c.start()
        for d in disturbers:
            d.start()
        self.disturb(lambda: self.rules(kinds, undo, clients), begun + self.args.seconds * r.uniform(0.5, 1.5))
        self.finish(clients, disturbers)
        loaded = time.time()
        commits = len(self.model.journal) - before
        self.commits += commits
        self.after(r.random() < 0.3)
        print('round %d: %d commits, %.0f + %.0f s, %s; %s' % (
            number, commits, loaded - begun, time.time() - loaded, ', '.join('%s %s' % (k, settings[k]) for k in ('shared_buffers', 'zheap.undo_workers')),
            ', '.join(['%s %d/million' % x for x in kinds.items()] + signals)) +
            (' ' + self.actions(clients) if self.args.verbose else ''), flush=True)

    def disturb(self, rules, end):
        """All the time, or now and then; until the postmaster leaves, since a recovery has failed."""
        p, r = self.primary, self.r
        pause = 0 if self.args.burst else r.choice([0, 0.05, 0.3, 1])
        while time.time() < end and p.process.poll() is None:
            time.sleep(pause * r.random())
            p.fail(rules())
            time.sleep(r.choice([0.02, 0.1, 0.2]))
            if pause:
                p.work_on()

    def finish(self, clients, disturbers):
        for d in disturbers:
            d.end.set()
            d.join()
        # some leave while things still fail
        for c in clients:
            if self.r.random() < 0.5:
                c.end.set()
        time.sleep(0.1)
        self.primary.work_on()
        for c in clients:
            c.end.set()
        for c in clients:
            c.join(300)
            if c.is_alive():
                self.findings.add('client %d hangs' % c.number)

    def after(self, crash):
        p = self.primary
        if p.process.poll() is not None:
            p.process, crash = None, True
        elif crash:
            p.kill(self.r)
        p.start()
        self.verify(crash)
        self.settle()
        self.read_logs()
        self.hits += p.hits
        p.hits.clear()

    def begin(self):
        super().begin()
        db = self.primary.connect()
        db.run('create extension pg_prewarm')
        db.run("create table noise as select repeat('x', 500) from generate_series(1, 3000)")
        db.close()

    def settle(self):
        """All is rolled back and the horizon passes it; then once more."""
        db = self.primary.connect('-c max_parallel_workers_per_gather=0')
        for _ in range(300):
            db.run('select pg_current_xact_id()')
            db.run('vacuum zheap.undo')
            if db.value('select zheap.zheap_undo_pending()') == '0':
                break
            time.sleep(0.05)
        else:
            self.findings.add('undo stays pending: %s' % db.run('table zheap.zheap_undo_holders'))
        self.check.db = db
        self.check.all('all is rolled back', False)
        db.run('vacuum')
        self.check.all('after VACUUM', False)
        db.close()

    def something_done(self):
        return self.commits or self.hits

    def say(self):
        print('hits: ' + ', '.join('%d %s' % (n, what) for what, n in sorted(self.hits.items())))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--bindir', required=True)
    p.add_argument('--directory', required=True, help='for clusters and logs')
    p.add_argument('--conf', required=True, help='settings of every server')
    p.add_argument('--port', type=int, default=54335)
    p.add_argument('--duration', type=float, default=600, help='seconds')
    p.add_argument('--rounds', type=int, help='so many instead')
    p.add_argument('--seed', type=int, required=True)
    p.add_argument('--seconds', type=float, default=10, help='per round, on average')
    p.add_argument('--clients', type=int, default=5)
    p.add_argument('--rows', type=int, default=2000, help='of the big table')
    p.add_argument('--only', action='append', choices=sorted(KINDS) + sorted(SIGNALS), help='kinds of faults; default: all')
    p.add_argument('--burst', action='store_true', help='no pause between faults, and the highest share of each')
    p.add_argument('--rollbacks', action='store_true', help='only rounds of clients that just roll back')
    p.add_argument('--max', type=int, default=20, help='stop after so many findings')
    p.add_argument('--verbose', action='store_true')
    p.set_defaults(standby=False, power=False, ddl=True, damage=False, save=False, pressure=False, commits=0)
    faulthandler.register(signal.SIGUSR1)       # where do all threads stand?
    sys.exit(Faults(p.parse_args()).run())


if __name__ == '__main__':
    main()
