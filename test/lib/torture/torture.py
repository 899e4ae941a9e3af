#!/usr/bin/env python3
"""Torture: clients that do everything at once, servers killed at any moment, and then
every row is compared with what was acknowledged (model.py).  Called by test/torture.
"""

import argparse
import faulthandler
import itertools
import os
import random
import shutil
import signal
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from check import Check, digests
from client import Chores, Client, Reader
from ddl import HARMLESS, PREPARE, SETTINGS, Ddl
from model import CLIENTS, Model
from power import PowerServer
from server import Lost, Server, SqlError


class Findings:
    def __init__(self):
        self.list = []
        self.round = 0

    def add(self, text):
        self.list.append(text)
        print('FINDING in round %d: %s' % (self.round, text[:3000]), flush=True)


class Torture:
    SERVER = Server

    def __init__(self, args):
        self.args = args
        self.r = random.Random(args.seed)
        self.findings = Findings()
        self.lost = self.commits = 0
        self.names = itertools.count(1)
        os.makedirs(args.directory, exist_ok=True)
        self.numbers = [itertools.count(CLIENTS + c, CLIENTS) for c in range(args.clients + 4)]
        with open(args.conf) as f:
            self.conf = f.read()
        self.primary = self.standby = None

    def server(self):
        number = next(self.names)
        kind = PowerServer if self.args.power else self.SERVER
        server = kind(self.args.bindir, self.args.directory, 'server%d' % number, self.conf,
                      self.args.port + number % 2)
        server.lying = self.args.damage
        return server

    # ------------------------------------------------------------ settings

    def settings(self):
        r = self.r
        s = {'zheap.initial_slots': r.choice([1, 4]),
             'zheap.max_changed_indexes': r.choice([0, 50, 100, 100]),
             'zheap.skip_dead_entries': r.choice(['on', 'on', 'off']),
             'zheap.remove_dead_entries': r.choice(['on', 'off']),
             'zheap.undo_workers': r.choice([0, 1, 3, 3]),
             'zheap.undo_worker_naptime': r.choice(['10ms', '200ms', '1s']),
             'shared_buffers': r.choice(['512kB', '1MB', '8MB', '64MB']),
             'min_wal_size': '32MB', 'max_wal_size': r.choice(['32MB', '64MB', '1GB']),
             'checkpoint_timeout': r.choice(['30s', '5min']),
             'full_page_writes': r.choice(['on', 'on', 'off']),
             'wal_compression': r.choice(['on', 'off']),
             'synchronous_commit': 'on', 'jit': 'off',
             'autovacuum_naptime': '1s', 'autovacuum_vacuum_cost_delay': 0,
             'autovacuum_vacuum_scale_factor': r.choice([0.02, 0.2]),
             'bgwriter_delay': r.choice(['10ms', '200ms']),
             'max_connections': 50, 'max_prepared_transactions': 100, 'max_worker_processes': 16,
             'fsync': 'off', 'log_lock_waits': 'off', 'max_wal_senders': 10, 'wal_level': 'replica',
             'wal_keep_size': '256MB'}
        if self.args.standby:
            # a name not known yet makes the server read the setting again when libraries are there
            s['wal_consistency_checking'] = 'all, zheap'
            s['full_page_writes'] = 'on'
            s['max_wal_size'] = '1GB'
            # for a standby that is slower than the primary
            s['wal_keep_size'] = '8GB'
            s['hot_standby_feedback'] = r.choice(['on', 'off'])
            s['max_standby_streaming_delay'] = '2s'
            s['wal_retrieve_retry_interval'] = '200ms'
        elif r.random() < 0.4:
            s['wal_level'] = 'minimal'
            s['max_wal_senders'] = 0
        if self.args.ddl:
            s.update(SETTINGS)
        if self.args.power:
            # without full pages a torn page is lost; what checkpoints and others write early is volatile for long
            s.update({'fsync': 'on', 'full_page_writes': 'on', 'wal_sync_method': r.choice(['fdatasync', 'fsync']),
                      'checkpoint_timeout': '30s', 'checkpoint_completion_target': r.choice([0, 0.9]),
                      'bgwriter_lru_maxpages': r.choice([0, 100, 1000])})
        return s

    # ------------------------------------------------------------ a round

    def begin(self):
        """New servers, and a new model."""
        self.kill_all()
        self.primary = self.server()
        self.primary.init(checksums=not self.args.power or self.r.random() < 0.5)
        self.primary.set(self.settings())
        self.primary.start()
        # with wal_consistency_checking each change of a row is a page of WAL
        self.model = Model(self.args.rows or (1000 if self.args.standby else 10000))
        db = self.primary.connect()
        self.model.setup(db, self.args.clients)
        if self.args.ddl:
            db.run(PREPARE)
        db.close()
        self.standby = None
        if self.args.standby:
            self.new_standby()

    def kill_all(self):
        """Their files stay as they were found."""
        for s in (self.primary, self.standby):
            if s:
                Server.kill(s, self.r)

    def new_standby(self):
        self.standby = self.server()
        self.standby.init_standby(self.primary)
        self.standby.set(self.settings())
        self.standby.start()

    def round(self, number):
        r, seed = self.r, self.r.randrange(10**9)
        failover = self.standby is not None and r.random() < 0.3
        self.primary.stop(r.choice([signal.SIGINT, signal.SIGINT, signal.SIGQUIT]) if number > 1 else signal.SIGINT)
        settings = self.settings()
        self.primary.set(settings)
        self.primary.start()
        db = self.primary.connect()
        if failover:
            db.run("alter system set synchronous_standby_names = '*'")
            db.run('select pg_reload_conf()')
            self.wait_for(db, "select count(*) > 0 from pg_stat_replication where sync_state = 'sync'")
        db.close()

        clients = [Client(c, self.primary, self.model, seed + c, self.findings, self.numbers[c])
                   for c in range(self.args.clients)]
        for c in clients:
            c.pressure = self.args.pressure
        clients.append(Chores(self.args.clients, self.primary, self.model, seed + 100, self.findings,
                              self.numbers[self.args.clients]))
        if self.args.ddl:
            clients += [Ddl(n, self.primary, self.model, seed + n, self.findings, self.numbers[n])
                        for n in (self.args.clients + 2, self.args.clients + 3)]
        if self.standby:
            clients.append(Reader(self.args.clients + 1, self.standby, self.model, seed + 101, self.findings, None))
        before = len(self.model.journal)
        for c in clients:
            c.start()
        end = time.time() + self.args.seconds * r.uniform(0.2, 1.8)
        if self.standby and not failover and r.random() < 0.4:
            time.sleep((end - time.time()) * r.random())
            self.standby.kill(r)
            self.standby.start()
        while time.time() < end or len(self.model.journal) - before < self.args.commits:
            time.sleep(0.02)
            if not any(c.is_alive() for c in clients):
                break
        how = r.choices(['kill', 'kill in recovery', 'one process', 'immediate', 'clean'],
                        [8, 4, 0, 0, 0] if self.args.power else [8, 4, 2, 1, 1])[0]
        if failover:
            how = 'failover'
        after_crash = self.crash(how, clients)
        for c in clients:
            c.join(300)
            if c.is_alive():
                self.findings.add('client %d hangs' % c.number)
        commits = len(self.model.journal) - before
        self.commits += commits
        if self.args.save and not self.primary.process:
            self.save()
        took = self.primary.start()
        if self.args.damage and not self.args.power:
            self.damage()
        self.verify(after_crash)
        if self.standby:
            self.compare_standby()
        elif failover:
            self.new_standby()
        if r.random() < 0.3:
            self.verify_later()
        self.read_logs()
        print('round %d: %s after %d commits, %s; open after %.1f s%s' % (
            number, how, commits,
            ', '.join('%s %s' % (k, settings[k]) for k in ('wal_level', 'shared_buffers', 'max_wal_size')) +
            ', %s slot%s' % (settings['zheap.initial_slots'], 's'[:settings['zheap.initial_slots'] - 1]),
            took, ' ' + self.actions(clients) if self.args.verbose else ''), flush=True)

    def actions(self, clients):
        counts = {}
        for c in clients:
            for k, n in c.counts.items():
                counts[k] = counts.get(k, 0) + n
        return ' '.join('%s:%d' % x for x in sorted(counts.items()))

    def crash(self, how, clients):
        """Returns whether unlogged tables must be empty now."""
        r, p = self.r, self.primary
        if how == 'clean':
            for c in clients:
                c.end.set()
            for c in clients:
                c.join(300)
            p.stop()
            return False
        if how == 'one process':
            while True:
                sessions = [c.db.pid for c in clients if c.db and c.server is p]
                try:
                    os.kill(r.choice(sessions), signal.SIGKILL)
                    break
                except ProcessLookupError:
                    time.sleep(0.1)
        elif how == 'immediate':
            p.stop(signal.SIGQUIT)
        else:
            p.kill(r)
        for c in clients:
            c.end.set()
        if how == 'kill in recovery':
            for c in clients:
                c.join(300)
            for _ in range(r.randrange(1, 4)):
                p.launch()
                time.sleep(r.random() * 0.6)
                p.kill(r)
        if how == 'failover':
            p.remove()
            self.primary, self.standby = self.standby, None
            if self.args.power:
                # what was acknowledged is durable on both
                self.primary.kill(r)
                self.primary.start()
            self.primary.promote()
        return True

    def save(self):
        """The files as the crash left them, until they are found to be right."""
        shutil.rmtree(self.primary.data + '.crashed', ignore_errors=True)
        shutil.copytree(self.primary.data, self.primary.data + '.crashed', symlinks=True)

    def damage(self):
        """To try the test itself: a commit is lost, a row changed, an index lacks a row."""
        db = self.primary.connect('-c allow_system_table_mods=on')
        db.run('delete from journal where n = %d' % min(self.model.journal))
        db.run('update own set u = u + 1 where (client, key) = (select client, key from own limit 1)')
        ready = "update pg_index set indisready = %s where indexrelid = 'tags2_n'::regclass"
        db.run(ready % 'false')
        db.run("insert into tags2 values (1, 'damage')")
        db.run(ready % 'true')
        db.close()

    def verify(self, after_crash):
        db = self.primary.connect('-c max_parallel_workers_per_gather=0')
        self.check = check = Check(db, self.model, self.findings)
        held = check.resolve_doubts()
        check.all('after the crash', after_crash, held)
        check.finish_prepared(held, self.r)
        if held:
            check.all('prepared transactions finished', False)
        self.lost += check.lost
        db.run('begin; update accounts set filler = filler; update bulk set w = w + 1 where id <= 500; rollback')
        db.close()

    def verify_later(self):
        """When everything is put back and vacuumed."""
        db = self.primary.connect('-c max_parallel_workers_per_gather=0')
        if db.value("select setting from pg_settings where name = 'zheap.undo_workers'") != '0':
            self.wait_for(db, 'select zheap.zheap_undo_pending() = 0')
        db.run('vacuum')
        self.check.db = db
        self.check.all('after VACUUM', False)
        db.close()

    def undisturbed(self, standby):
        """digests(); on a slow machine redo of what the primary's workers do may cancel them"""
        for _ in range(20):
            try:
                return digests(standby)
            except SqlError as e:
                if e.code != '40001':
                    raise
        return digests(standby)

    def compare_standby(self):
        db = self.primary.connect()
        lsn = db.value('select pg_current_wal_insert_lsn()')
        standby = self.standby.connect()
        if 'zheap' not in db.value('show wal_consistency_checking'):
            self.findings.add('records of zheap are not checked')
        self.wait_for(standby, "select pg_last_wal_replay_lsn() >= '%s'" % lsn)
        a, b = digests(db), self.undisturbed(standby)
        if a != b:
            self.findings.add('standby: %s' % {t: (a.get(t), b.get(t)) for t in set(a) | set(b) if a.get(t) != b.get(t)})
        db.close()
        standby.close()

    def wait_for(self, db, query):
        end = time.time() + 120
        while db.value(query) != 't':
            if time.time() > end:
                raise RuntimeError('never true: ' + query)
            time.sleep(0.1)

    def read_logs(self):
        for s in (self.primary, self.standby):
            for line in (s.bad_lines() if s else []):
                if self.args.ddl and HARMLESS.search(line):
                    continue
                self.findings.add('%s says %s' % (s.name, line))

    def more(self, number):
        """Whether there is to be a round of this number."""
        return number <= self.args.rounds

    def something_done(self):
        """Whether something could have been lost."""
        return self.commits

    def say(self):
        """At the end, what was done to the servers."""
        if self.args.power:
            print('power: ' + ', '.join('%d %s' % (n, what) for what, n in sorted(PowerServer.total.items())))

    def run(self):
        print('seed %d' % self.args.seed, flush=True)
        rounds, begun = 0, False
        for number in itertools.takewhile(self.more, itertools.count(1)):
            self.findings.round = number
            before = len(self.findings.list)
            try:
                if not begun:
                    self.begin()
                    begun = True
                self.round(number)
            except (RuntimeError, SqlError, Lost, OSError) as e:
                self.findings.add('%s: %s' % (type(e).__name__, e))
                if not self.primary:
                    break
                self.read_logs()
            rounds += 1
            if len(self.findings.list) > before:
                # wrong rows stay wrong: a later round would only find them again
                begun = False
                if self.args.max and len(self.findings.list) >= self.args.max:
                    break
        self.kill_all()
        self.say()
        print('%d rounds, %d findings, %d lost commits' % (rounds, len(self.findings.list), self.lost))
        print('%d commits were acknowledged' % self.commits, file=sys.stderr)
        return 0 if self.something_done() and not self.findings.list and not self.more(rounds + 1) else 1


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--bindir', required=True)
    p.add_argument('--directory', required=True, help='for clusters and logs')
    p.add_argument('--conf', required=True, help='settings of every server')
    p.add_argument('--port', type=int, default=54330)
    p.add_argument('--rounds', type=int, default=20)
    p.add_argument('--seed', type=int, required=True)
    p.add_argument('--seconds', type=float, default=5, help='per round, on average')
    p.add_argument('--commits', type=int, default=0, help='per round, at least')
    p.add_argument('--clients', type=int, default=6)
    p.add_argument('--rows', type=int, help='of the big table; default 10000, with a standby 1000')
    p.add_argument('--standby', action='store_true')
    p.add_argument('--pressure', action='store_true', help='mostly full pages, many changes of one page')
    p.add_argument('--save', action='store_true', help='keep the files as the crash left them')
    p.add_argument('--power', action='store_true', help='the power fails when a server is killed')
    p.add_argument('--ddl', action='store_true', help='two more clients create, drop, move and rewrite tables')
    p.add_argument('--max', type=int, default=20, help='stop after so many findings')
    p.add_argument('--damage', action='store_true', help='there must be findings')
    p.add_argument('--verbose', action='store_true')
    faulthandler.register(signal.SIGUSR1)       # where do all threads stand?
    sys.exit(Torture(p.parse_args()).run())


if __name__ == '__main__':
    main()
