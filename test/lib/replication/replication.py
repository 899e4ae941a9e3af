#!/usr/bin/env python3
"""Replication: random load on a publisher, disturbances of both sides, and then the subscriber must
contain what the publisher does.  Called by test/replication.

In rounds: new settings, load by several sessions (client.py) on tables of all kinds (tables.py) whose columns
come and go (columns.py), while servers are killed and subscriptions made anew.  Then the load
ends, prepared transactions are finished, and when the subscriber has everything each table is compared.
"""

import argparse
import faulthandler
import itertools
import os
import random
import re
import signal
import sys
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from client import Chores, Client
from columns import Columns
from server import Lost, Server, SqlError
from tables import OWN, SUBSCRIPTIONS, Statements, make

PATIENCE = 180                  # seconds within which the subscriber must have everything
LARGE = 4000                    # rows of a table, beyond which it is emptied after a round

# what must not be said by who applies changes: values and keys refused, columns not there, internal errors
REFUSED = re.compile(r'\] (?:2[0-9]|42|XX|0A|55000)\w* .*ERROR:|logical replication did not find row')


class Run:
    def __init__(self, args):
        self.args = args
        self.r = random.Random(args.seed)
        self.findings = []
        self.counts = {}
        self.lock = threading.Lock()
        self.number = self.started = 0
        self.ids = [itertools.count() for _ in range(args.clients)]
        with open(args.conf) as f:
            self.conf = f.read()
        os.makedirs(args.directory, exist_ok=True)
        self.publisher = self.subscriber = None

    def finding(self, text):
        with self.lock:
            self.findings.append(text)
            print('FINDING in round %d: %s' % (self.number, text[:3000]), flush=True)

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    # ------------------------------------------------------------ servers

    def settings(self, side):
        r = self.r
        s = {'wal_level': 'logical', 'zheap.initial_slots': r.choice([1, 4]),
             'zheap.undo_workers': r.choice([0, 1, 3]), 'zheap.undo_worker_naptime': r.choice(['10ms', '200ms']),
             'logical_decoding_work_mem': r.choice(['64kB', '64kB', '1MB']),
             'shared_buffers': r.choice(['1MB', '8MB', '64MB']), 'min_wal_size': '32MB',
             'max_wal_size': r.choice(['64MB', '1GB']), 'checkpoint_timeout': '30s',
             'full_page_writes': r.choice(['on', 'on', 'off']), 'autovacuum_naptime': '1s', 'jit': 'off',
             'max_connections': 80, 'max_prepared_transactions': 100, 'max_worker_processes': 40,
             'max_wal_senders': 30, 'max_replication_slots': 30, 'max_logical_replication_workers': 20,
             'max_sync_workers_per_subscription': 4, 'wal_retrieve_retry_interval': '100ms',
             'wal_receiver_status_interval': '1s', 'log_replication_commands': 'off', 'log_lock_waits': 'off'}
        if self.publisher.major() == 18:
            # of an aborted transaction beyond the limit a publisher sends the ends of subtransactions whose begins it has not sent,
            # of heap tables, too, and the subscriber's worker crashes
            s['logical_decoding_work_mem'] = '64MB'
        if side:
            # says which rows were not found
            s['log_min_messages'] = 'debug1'
        return s

    def begin(self):
        """New servers, tables and subscriptions."""
        self.end()
        self.started += 1
        self.tables = make()
        self.columns = Columns(self, 0)
        sides = [Server(self.args.bindir, self.args.directory, '%s%d' % (name, self.started), self.conf, self.args.port + i)
                 for i, name in enumerate(('publisher', 'subscriber'))]
        self.publisher, self.subscriber = sides
        self.read_to = 0
        for i, side in enumerate(sides):
            side.init()
            side.set(self.settings(i))
            side.start()
            db = side.connect()
            db.run('create extension zheap')
            for table in self.tables:
                db.run(table.create(i))
            if i == 0:
                for table in self.tables:
                    db.run('insert into %s (%s) select %s from generate_series(1, %d) g' % (
                        table.name, ', '.join(table.columns), table.expressions('g', 'g - 150', 'g', "'first'", 'repeat(md5(g::text), g / 2)'),
                        table.ids))
                for name in SUBSCRIPTIONS:
                    db.run('create publication %s for table %s with (publish_via_partition_root = true)' % (
                        name, ', '.join(t.name for t in self.tables if t.subscription == name)))
            db.close()
        for name in SUBSCRIPTIONS:
            self.subscribe(name)
        self.wait(self.synchronized, 'the first copy')

    def end(self):
        for side in (self.publisher, self.subscriber):
            if side:
                side.kill(self.r)

    def subscribe(self, name):
        options = SUBSCRIPTIONS[name]
        if self.ask(self.publisher, 'show debug_assertions')[0][0] == 'on':
            # what has been spilled is streamed later: core's assertion fails there if a subtransaction has only locked
            options = options.replace('streaming = on', 'streaming = off')
        self.ask(self.subscriber, "create subscription %s connection 'host=%s port=%d user=postgres dbname=postgres' publication %s with (%s)" % (
            name, self.publisher.sockets, self.publisher.port, name, options))

    def ask(self, side, *statements):
        db = side.connect('-c max_parallel_workers_per_gather=0')
        try:
            for sql in statements:
                rows = db.run(sql)
            return rows
        finally:
            db.close()

    # ------------------------------------------------------------ what the subscriber has

    def synchronized(self):
        """Have all subscriptions copied their tables?"""
        return self.ask(self.subscriber, "select count(*) from pg_subscription_rel where srsubstate <> 'r'")[0][0] == '0' and \
            int(self.ask(self.subscriber, 'select count(*) from pg_subscription_rel')[0][0]) == len(self.tables)

    def copied(self):
        """As synchronized; what has lost its slot is copied anew."""
        if self.synchronized():
            return True
        lost = self.without_slot()
        # a copy that has just ended has lost its slot, too, but only for the moment until that is committed
        for name in sorted(lost and lost & self.without_slot()):
            self.copy_anew(name)
            self.count('copies without a slot')
        return False

    def without_slot(self):
        """Subscriptions with a copy that never ends: core drops the slot on the publisher before it commits that the copy has ended."""
        states = dict(self.ask(self.subscriber, "select 'pg_' || srsubid || '_sync_' || srrelid || '_', subname from pg_subscription_rel "
                                                "join pg_subscription s on s.oid = srsubid where srsubstate = 'f'"))
        if not states:
            return set()
        slots = [slot for slot, in self.ask(self.publisher, 'select slot_name from pg_replication_slots')]
        return {name for prefix, name in states.items() if not any(slot.startswith(prefix) for slot in slots)}

    def caught_up(self, db, seconds):
        """Wait until the subscriber has what there is now; false if it does not come."""
        # a commit, so that nothing is left unflushed
        db.run("select pg_logical_emit_message(true, 'mark', '')")
        lsn = db.value('select pg_current_wal_flush_lsn()')
        end = time.time() + seconds
        while int(db.value("select count(*) from pg_replication_slots where slot_name in (%s) and confirmed_flush_lsn >= '%s'" % (
                ', '.join("'%s'" % s for s in SUBSCRIPTIONS), lsn))) < len(SUBSCRIPTIONS):
            if time.time() > end:
                return False
            time.sleep(0.05)
        return True

    def wait(self, condition, what):
        end = time.time() + PATIENCE
        while not condition():
            if time.time() > end:
                raise RuntimeError('never: %s' % what)
            time.sleep(0.1)

    # ------------------------------------------------------------ a round

    def restart(self, side, settings=True):
        if settings:
            side.stop(self.r.choice([signal.SIGINT, signal.SIGINT, signal.SIGQUIT]))
            side.set(self.settings(side is self.subscriber))
        side.start()

    def copy_anew(self, name):
        """A subscription is made anew."""
        tables = ', '.join(t.name for t in self.tables if t.subscription == name)
        self.ask(self.subscriber, 'drop subscription ' + name)
        self.ask(self.subscriber, 'truncate ' + tables)
        self.subscribe(name)
        self.count('copied anew')

    def start_clients(self):
        self.clients = [Client(self, i, self.r.randrange(10**9)) for i in range(self.args.clients)]
        for c in self.clients:
            c.start()

    def stop(self, threads):
        for t in threads:
            t.end.set()
        for t in threads:
            t.join(PATIENCE)
            if t.is_alive():
                self.finding('a thread hangs: %s' % type(t).__name__)

    def disturb(self):
        what = self.r.choice(['', 'publisher', 'subscriber', 'subscriber', 'both'])
        if what in ('subscriber', 'both'):
            self.subscriber.kill(self.r)
        if what in ('publisher', 'both'):
            self.publisher.kill(self.r)
            self.stop(self.clients)
            self.restart(self.publisher, False)
            self.finish_prepared(0.5)
            self.start_clients()
        if what in ('subscriber', 'both'):
            # the publisher goes on for a while
            time.sleep(self.r.random())
            self.restart(self.subscriber, False)
        if what:
            self.count('killed')
        return what or 'nobody'

    def round(self):
        r = self.r
        if self.number > 1:
            self.restart(self.publisher)
            self.restart(self.subscriber)
        anew = r.random() < 0.3
        if anew:
            # its tables are copied while there is load
            self.copy_anew(self.r.choice(list(SUBSCRIPTIONS)))
        committed = self.counts.get('committed', 0)
        self.start_clients()
        self.columns = Columns(self, r.randrange(10**9))
        others = [self.columns, Chores(self, r.randrange(10**9))]
        for t in others:
            t.start()
        seconds = self.args.round_seconds * r.uniform(0.4, 1.6)
        before = seconds * r.uniform(0.2, 0.8)
        time.sleep(before)
        killed = self.disturb()
        end = time.time() + seconds - before
        while time.time() < end or self.counts.get('committed', 0) - committed < self.args.commits:
            time.sleep(0.02)
            if not any(c.is_alive() for c in self.clients):
                break
        self.stop(self.clients + others)
        self.finish_prepared(1)
        self.large()
        began = time.time()
        self.verify(anew)
        print('round %d: %s killed, %d commits%s, subscriber had all after %.1f s' % (
            self.number, killed, self.counts.get('committed', 0) - committed, ', copied anew' if anew else '', time.time() - began), flush=True)

    def finish_prepared(self, part):
        for (gid,) in self.ask(self.publisher, 'select gid from pg_prepared_xacts'):
            if self.r.random() < part:
                self.ask(self.publisher, "%s prepared '%s'" % (self.r.choice(['commit', 'rollback']), gid))

    def large(self):
        """For each subscription a transaction that is beyond logical_decoding_work_mem."""
        for name in SUBSCRIPTIONS:
            table = [t for t in self.tables if t.subscription == name and t.kind in ('primary', 'index', 'fullkey')][0]
            statements = Statements(self.r, 0, self.ids[0])
            load, more = [statements.rows(table, 3000, 'repeat(md5(g::text), 30)') for _ in range(2)]
            crowd = ('do $$ begin for i in 1 .. 500 loop update %s set n = n + 1 where id between 1 and 10; end loop; end $$' % table.name)
            self.ask(self.publisher, 'begin', load, 'savepoint a', crowd, 'update %s set note = null where id >= %d' % (table.name, OWN),
                     'rollback to a', crowd, 'delete from %s where id >= %d and n %% 2 = 0' % (table.name, OWN), 'commit',
                     'begin', more, crowd, 'rollback')

    def verify(self, anew):
        self.wait(self.copied, 'a copy')
        both = [side.connect('-c max_parallel_workers_per_gather=0') for side in (self.publisher, self.subscriber)]
        if not self.caught_up(both[0], PATIENCE):
            self.finding('the subscriber does not catch up')
        if both[1].value('select count(*) from pg_prepared_xacts') != '0':
            self.finding('prepared transactions are left on the subscriber')
        self.columns.settle(both)
        self.statistics(both[0])
        if self.args.damage:
            both[1].run('update %s set n = n + 1 where id = (select max(id) from %s)' % ((self.tables[0].name,) * 2))
        for table in self.tables:
            self.compare(table, both)
        self.read_logs(anew)
        for table in self.tables:
            if int(both[0].value('select count(*) from ' + table.name)) > LARGE:
                both[0].run('truncate ' + table.name)
        for db in both:
            db.close()

    def statistics(self, db):
        db.run('select pg_stat_force_next_flush()')
        streamed, spilled = db.run('select coalesce(sum(stream_txns), 0), coalesce(sum(spill_txns), 0) from pg_stat_replication_slots')[0]
        self.count('streamed', int(streamed))
        self.count('spilled', int(spilled))
        db.run('select pg_stat_reset_replication_slot(null)')

    def compare(self, table, both):
        columns = sorted(self.columns.lists(table, both)[0])
        row = '(%s)::text' % ', '.join('t.' + c for c in columns)
        query = 'select count(*), coalesce(sum(hashtextextended(%s, 0)::numeric), 0) from %s t' % (row, table.name)
        here, there = [db.run(query)[0] for db in both]
        self.count('tables compared')
        self.count('rows compared', int(here[0]))
        if here == there:
            return
        query = 'select md5({r}), left({r}, 100), count(*) from {t} t group by 1, 2'.format(r=row, t=table.name)
        here, there = [{m: (text, n) for m, text, n in db.run(query)} for db in both]
        lines = []
        for m in sorted(set(here) | set(there), key=lambda m: (here.get(m) or there.get(m))[0]):
            if here.get(m) != there.get(m):
                lines.append('publisher %s, subscriber %s' % (here.get(m), there.get(m)))
        self.finding('%s differs, %s: %s; %d in all' % (table.name, columns, '; '.join(lines[:6]), len(lines)))

    def read_logs(self, anew):
        for side in (self.publisher, self.subscriber):
            for line in side.bad_lines():
                self.finding('%s says %s' % (side.name, line))
        with open(self.subscriber.log, errors='replace') as f:
            f.seek(self.read_to)
            lines = f.read().split('\n')
            self.read_to = f.tell()
        for line in lines:
            # TRUNCATE makes a copy see fewer rows than its snapshot does, on heap, too
            if REFUSED.search(line) and not (anew and 'did not find row' in line):
                self.finding('%s says %s' % (self.subscriber.name, line))

    def run(self):
        a = self.args
        print('seed %d' % a.seed, flush=True)
        end = time.time() + a.seconds
        begun = False
        while self.number < a.rounds or (not a.rounds and time.time() < end):
            self.number += 1
            before = len(self.findings)
            try:
                if not begun:
                    self.begin()
                    begun = True
                self.round()
            except (RuntimeError, SqlError, Lost, OSError) as e:
                self.finding('%s: %s' % (type(e).__name__, e))
                if not self.subscriber:
                    break
                self.read_logs(True)
            if len(self.findings) > before:
                # what differs goes on to differ
                begun = False
                if len(self.findings) >= a.max:
                    break
        self.end()
        print(', '.join('%s %d' % x for x in sorted(self.counts.items())))
        c = self.counts.get
        print('%d rounds, %d commits, %d tables compared, %d findings' % (
            self.number, c('committed', 0), c('tables compared', 0), len(self.findings)), flush=True)
        return 0 if c('committed') and c('tables compared') and not self.findings else 1


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--bindir', required=True)
    p.add_argument('--directory', required=True, help='for clusters and logs')
    p.add_argument('--conf', required=True, help='settings of every server')
    p.add_argument('--port', type=int, default=54350)
    p.add_argument('--seed', type=int, required=True)
    p.add_argument('--seconds', type=float, default=60, help='rounds begin until then')
    p.add_argument('--rounds', type=int, default=0, help='instead: so many')
    p.add_argument('--round-seconds', type=float, default=8, help='of load, on average')
    p.add_argument('--commits', type=int, default=0, help='per round, at least')
    p.add_argument('--clients', type=int, default=5)
    p.add_argument('--max', type=int, default=5, help='stop after so many findings')
    p.add_argument('--damage', action='store_true', help='there must be findings')
    faulthandler.register(signal.SIGUSR1)       # where do all threads stand?
    sys.exit(Run(p.parse_args()).run())


if __name__ == '__main__':
    main()
