#!/usr/bin/env python3
"""Races: clients drop, truncate and rewrite their tables, in prepared transactions and plain
ones, beside VACUUM of the undo relation and workers.  Called by test/races.

Each zheap table has a twin that is a heap table; each statement is done to both in the same
transaction, so at any moment both must contain the same.  After each round, when nothing
is left to be rolled back and the horizon has passed all of it, they are compared once more.
"""

import argparse
import itertools
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from server import Lost, Server, SqlError
from client import Chores, Client, Findings, same

PATIENCE = 120                  # seconds within which undo must come to nothing


class Race:
    def __init__(self, args):
        self.args = args
        self.r = random.Random(args.seed)
        self.findings = Findings()
        self.counts = {}
        with open(args.conf) as f:
            conf = f.read()
        os.makedirs(args.directory, exist_ok=True)
        self.server = Server(args.bindir, args.directory, 'races', conf, args.port)

    def settings(self):
        r = self.r
        return {'zheap.undo_workers': r.choice([0, 1, 3]), 'zheap.undo_worker_naptime': '10ms',
                'zheap.initial_slots': r.choice([1, 4]),
                'autovacuum': r.choice(['on', 'off']), 'autovacuum_naptime': '1s',
                'shared_buffers': r.choice(['1MB', '32MB']), 'checkpoint_timeout': '30s',
                'max_connections': 50, 'max_prepared_transactions': 100, 'log_lock_waits': 'off',
                'deadlock_timeout': '100ms', 'jit': 'off',
                'max_wal_size': '64MB', 'min_wal_size': '32MB'}

    def setup(self):
        self.server.init()
        self.server.set(self.settings())
        self.server.start()
        place = os.path.join(self.args.directory, 'place')
        os.makedirs(place, exist_ok=True)
        db = self.server.connect()
        db.run('create extension zheap; create extension amcheck')
        db.run("create tablespace place location '%s'" % place)
        db.close()

    # ------------------------------------------------------------ a round

    def round(self, transactions, crash, alone):
        """The clients until they have done so many transactions together; or a crash first.

        A client that is alone ends its prepared transactions at once, so that the horizon
        follows closely.
        """
        left = threading.Semaphore(transactions)
        seed = self.r.randrange(10**9)
        number = 1 if alone else self.args.clients
        clients = [Client(c, self.server, seed + c, self.findings, left, alone) for c in range(number)]
        chores = [Chores(c, self.server, seed + 100 + c, self.findings, number, alone) for c in range(2)]
        for c in clients + chores:
            c.start()
        if crash:
            at = transactions * self.r.uniform(0.3, 1)
            while sum(c.done for c in clients) < at and any(c.is_alive() for c in clients):
                time.sleep(0.01)
            self.server.stop(signal.SIGQUIT)
        for c in clients:
            c.join()
        for c in chores:
            c.end.set()
            c.join()
        for c in clients + chores:
            for name, n in c.counts.items():
                self.counts[name] = self.counts.get(name, 0) + n
        return sum(c.done for c in clients)

    def finish_prepared(self, db):
        for (gid,) in db.run('select gid from pg_prepared_xacts'):
            db.run("%s prepared '%s'" % (self.r.choice(['commit', 'rollback']), gid))

    def wait_for(self, db, what, query, before):
        end = time.time() + PATIENCE
        while db.value(query) != 't':
            if time.time() > end:
                self.findings.add('%s: never; holders %s, undo %s' % (
                    what, db.run('table zheap.zheap_undo_holders'), db.run('table zheap.zheap_stat_undo')))
                return
            for statement in before:
                db.run(statement)
            time.sleep(0.05)

    def settle(self, db):
        """Everything is rolled back, and the horizon passes it."""
        sweep = ['vacuum zheap.undo'] if db.value('show zheap.undo_workers') == '0' else []
        self.wait_for(db, 'nothing is pending', 'select zheap.zheap_undo_pending() = 0', sweep)
        xid = db.value('select pg_current_xact_id()')
        self.wait_for(db, 'the horizon moves', "select horizon > '%s' from zheap.zheap_stat_undo" % xid,
                      ['select pg_current_xact_id()', 'vacuum zheap.undo'])

    def verify(self, db, what):
        for (table,) in db.run("select c.relname from pg_class c where relkind = 'r' and "
                               "relnamespace = 'public'::regnamespace and relname !~ '_twin$' order by 1"):
            wrong = same(db, table)
            if wrong:
                self.findings.add('%s: %s' % (what, wrong), wrong=True)
            try:
                db.run("select bt_index_check('%s_pkey', true)" % table)
            except SqlError as e:
                self.findings.add('%s: %s' % (what, e), wrong=True)

    def after(self):
        if self.args.damage:
            db = self.server.connect()
            db.run("insert into races_0_0 values (-1, 666, 'damage')")
            db.close()
        db = self.server.connect('-c max_parallel_workers_per_gather=0')
        self.finish_prepared(db)
        self.verify(db, 'after the round')
        self.settle(db)
        self.verify(db, 'when all is rolled back')
        db.close()
        for line in self.server.bad_lines():
            self.findings.add('the log says ' + line)

    def run(self):
        print('seed %d' % self.args.seed, flush=True)
        self.setup()
        done = 0
        for number in itertools.count(1):
            self.findings.round = number
            crash = self.args.crashes and number % 3 == 0
            alone = number % 2 == 0
            done += self.round(min(self.args.round, self.args.transactions - done), crash, alone)
            if not crash:
                self.server.stop(self.r.choice([signal.SIGINT, signal.SIGQUIT]))
            settings = self.settings()
            self.server.set(settings)
            self.server.start()
            self.after()
            print('round %d: %d transactions%s%s' % (
                number, done, ', one client' if alone else '', ', crash' if crash else ''), flush=True)
            if done >= self.args.transactions or len(self.findings.list) >= self.args.max:
                break
        self.server.stop()
        print(' '.join('%s:%d' % x for x in sorted(self.counts.items())))
        print('%d transactions, %d findings, %d tables with wrong rows' % (
            done, len(self.findings.list), self.findings.wrong))
        return 0 if done >= self.args.transactions and not self.findings.list else 1


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--bindir', required=True)
    p.add_argument('--directory', required=True, help='for the cluster and its log')
    p.add_argument('--conf', required=True, help='settings of every server')
    p.add_argument('--port', type=int, default=54340)
    p.add_argument('--seed', type=int, required=True)
    p.add_argument('--transactions', type=int, default=20000)
    p.add_argument('--round', type=int, default=1000, help='transactions after which all is checked')
    p.add_argument('--clients', type=int, default=4)
    p.add_argument('--crashes', action='store_true', help='an immediate stop in each third round')
    p.add_argument('--max', type=int, default=20, help='stop after so many findings')
    p.add_argument('--damage', action='store_true', help='there must be findings')
    sys.exit(Race(p.parse_args()).run())


if __name__ == '__main__':
    main()
