#!/usr/bin/env python3
"""One byte of the undo relation changed at random, again and again.  Called by test/damage.

A server has some databases with the same tables and undo.  Each round takes a copy of its files,
changes one byte in each database's undo relation while it is stopped, starts it, and does in each
what users and an operator would do: read, write, VACUUM, and what docs/operating.md says if that is
not enough.  Then the server is killed and all is looked at once more.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from server import Db, Lost, Server, SqlError

BLCKSZ = 8192
CLEAR = re.compile(r'zheap data is damaged in relation "undo", block \d+|'
                   r'invalid page in block \d+ of relation "?base/')
CRASH = re.compile(r'PANIC:|TRAP:|terminated by signal (?!9:)\d')
DIRECTORY = range(1, 16)
MAP = 16

# What is in each table, whatever the damage is: c was updated, a and d were rolled back
TABLES = {
    'c': ("select count(*), sum(id), min(f), max(f) from c", ['3000', '4501500', 'n' * 100, 'n' * 100]),
    'a': ("select count(*), sum(id), min(f), max(f) from a", ['3000', '4501500', 'o' * 100, 'o' * 100]),
    'd': ("select count(*), sum(id), min(f), max(f) from d", ['500', '125250', 'o' * 100, 'o' * 100]),
    'w': ("select count(*), sum(id), 'w', max(f) from w where id <= 100", ['100', '5050', 'w', 'o' * 100])}


class Findings:
    def __init__(self):
        self.number = 0

    def add(self, where, text):
        self.number += 1
        print('FINDING in %s: %s' % (where, text[:1500]), flush=True)


class Damage:
    def __init__(self, args):
        self.args = args
        self.r = random.Random(args.seed)
        self.findings = Findings()
        self.counts = collections.Counter()
        os.makedirs(args.directory, exist_ok=True)
        with open(args.conf) as f:
            self.conf = f.read()

    # ------------------------------------------------------------ the server

    def make(self, checksums):
        name = 'sums' if checksums else 'plain'
        self.server = Server(self.args.bindir, self.args.directory, name, self.conf, self.args.port)
        self.server.init(checksums)
        self.server.set({'zheap.undo_workers': 0, 'autovacuum': 'off', 'shared_buffers': '16MB', 'fsync': 'off',
                         'min_wal_size': '32MB', 'max_wal_size': '64MB', 'wal_level': 'minimal',
                         'max_wal_senders': 0, 'client_min_messages': 'warning', 'log_statement': 'none',
                         'max_connections': 30, 'zheap.undo_hold_warning': -1})
        self.server.start()
        db = self.server.connect()
        db.run('create database z')
        self.fill()
        for i in range(self.args.databases):
            db.run('create database d%d template z strategy file_copy' % i)
        db.close()
        self.files = []
        for i in range(self.args.databases):
            db = self.connect(i)
            self.files.append(db.value("select pg_relation_filepath('zheap.undo')"))
            db.close()
        self.server.stop()
        self.saved = self.server.data + '.saved'
        os.rename(self.server.data, self.saved)
        with open(os.path.join(self.saved, self.files[0]), 'rb') as f:
            self.content = f.read()
        self.classify()

    def connect(self, i):
        return self.session('d%d' % i)

    def session(self, name):
        return Db(self.server.sockets, self.server.port, name)

    # Several logs, extents that follow each other, are free, and are used again.
    def fill(self):
        sessions = [self.session('z') for _ in range(3)]
        one, two, three = sessions
        one.run('create extension zheap')
        for table, rows in (('c', 3000), ('a', 3000), ('d', 500), ('w', 100), ('x', 3000)):
            one.run("create table %s (id int primary key, f text) using zheap; alter table %s alter f set storage plain;"
                    "insert into %s select g, repeat('o', 100) from generate_series(1, %d) g"
                    % (table, table, table, rows))
        two.run('begin; update w set f = f where id = 1')
        three.run('begin; update w set f = f where id = 2')
        one.run("update x set f = repeat('x', 100)")
        two.run('commit')
        three.run('commit')
        one.run('select pg_current_xact_id()')
        one.run('vacuum zheap.undo')
        one.run('select pg_current_xact_id()')
        one.run('vacuum zheap.undo')
        two.run('begin; delete from d where id % 2 = 0; insert into d select g, \'new\' from generate_series(1001, 1500) g')
        three.run("begin; update a set f = repeat('n', 100)")
        one.run("update c set f = repeat('n', 100); update x set f = repeat('y', 100)")
        one.run('begin; update x set f = null; rollback')
        two.run('rollback')
        three.run('rollback')
        for session in sessions:
            session.close()

    # ------------------------------------------------------------ damage

    def classify(self):
        self.classes = {'meta': [0], 'directory': list(DIRECTORY), 'map': [MAP], 'first': [], 'data': []}
        for block in range(32, len(self.content) // BLCKSZ):
            page = self.content[block * BLCKSZ:(block + 1) * BLCKSZ]
            if page.count(0) == BLCKSZ:
                continue
            self.classes['first' if block % 32 == 0 else 'data'].append(block)

    def change(self, i):
        r = self.r
        kind = r.choice(self.args.kinds or ['meta', 'directory', 'map', 'first', 'data', 'data'])
        block = r.choice(self.classes[kind]) if kind != 'directory' or r.random() < 0.5 else 1
        where = r.random()
        if where < 0.4:
            offset = r.randrange(BLCKSZ)
        elif where < 0.7:
            offset = r.randrange(24)
        elif where < 0.85:
            offset = BLCKSZ - 1 - r.randrange(16)
        else:
            offset = 24 + r.randrange(40)
        at = block * BLCKSZ + offset
        value = self.content[at] ^ r.choice([1 << r.randrange(8), r.randrange(1, 256)])
        path = os.path.join(self.server.data, self.files[i])
        with open(path, 'r+b') as f:
            f.seek(at)
            f.write(bytes([value]))
        return kind, 'block %d, offset %d, 0x%02X to 0x%02X' % (block, offset, self.content[at], value)

    # ------------------------------------------------------------ a database

    def attempt(self, db, sql, what, where):
        """The rows; None if there was a clear error."""
        try:
            return db.run(sql)
        except SqlError as e:
            self.counts['%s: error' % what] += 1
            if not CLEAR.search(str(e)):
                self.findings.add(where, '%s: %s' % (what, e))
            return None

    def read(self, db, where, given_up):
        unread = []
        for table, (sql, expected) in TABLES.items():
            rows = self.attempt(db, sql, 'read', where)
            if rows is None:
                unread.append(table)
            elif list(rows[0]) != expected and table not in given_up:
                self.findings.add(where, 'table %s has %s' % (table, rows[0]))
        return unread

    def write(self, i, where, must):
        """In two sessions, with transactions of their own."""
        sessions = [self.connect(i), self.connect(i)]
        done = 0
        for k, db in enumerate(sessions):
            for sql in ('insert into w select coalesce(max(id), 0) + 101, \'new\' from w',
                        'begin; update w set f = f where id = %d' % (k + 1)):
                done += self.attempt(db, sql, 'write', where) is not None
        for db in sessions:
            self.attempt(db, 'rollback' if self.r.random() < 0.5 else 'commit', 'end', where)
            db.close()
        if done < 4 and must:
            self.findings.add(where, 'only %d of 4 writes were possible' % done)
        return done == 4

    def horizon_moves(self, db, where):
        before = self.attempt(db, 'select horizon from zheap.zheap_stat_undo', 'figures', where)
        self.attempt(db, 'select pg_current_xact_id()', 'xid', where)
        if self.attempt(db, 'vacuum zheap.undo', 'vacuum', where) is None:
            return False
        after = self.attempt(db, 'select horizon from zheap.zheap_stat_undo', 'figures', where)
        return before is not None and after is not None and int(after[0][0]) > int(before[0][0])

    def operate(self, db, kind, unread, where):
        """What docs/operating.md says, step by step, until the horizon moves."""
        gone = set()
        steps = [('vacuum', None), ('truncate', unread), ('skip', 'select zheap.zheap_undo_skip()'),
                 ('reset', 'select zheap.zheap_undo_skip(true)')]
        for name, what in steps:
            if name == 'truncate':
                for table in what:
                    if self.attempt(db, 'truncate %s' % table, 'truncate', where) is not None:
                        gone.add(table)
            elif what is not None:
                if self.attempt(db, what, name, where) is None and name == 'reset':
                    self.findings.add(where, 'the undo relation cannot be made anew')
                gone |= set(TABLES)
            if any(self.horizon_moves(db, where) for _ in range(3)):
                self.counts['%s: the horizon moves after %s' % (kind, name)] += 1
                return name, gone
        self.findings.add(where, 'nothing gets the horizon moving')
        return None, gone

    def database(self, i, kind, where):
        db = self.connect(i)
        if self.args.spoil:
            self.attempt(db, 'delete from c where id = 7', 'spoil', where)
        unread = self.read(db, where, set())
        could = self.write(i, where, kind != 'meta')
        step, gone = self.operate(db, kind, unread, where)
        unread = self.read(db, where, gone)
        if unread and step in ('skip', 'reset'):
            self.findings.add(where, 'cannot be read: %s' % unread)
        could = self.write(i, where, True) and could
        self.counts['%s: %s' % (kind, 'writers went on' if could else 'writers had to wait')] += 1
        db.close()
        return gone

    # ------------------------------------------------------------ rounds

    def each(self, rounds, what):
        """For each database; one that breaks the connection is a crash."""
        for i, (kind, where) in rounds.items():
            try:
                what(i, kind, where)
            except (Lost, OSError) as e:
                self.findings.add(where, 'connection lost: %s' % e)
            except SqlError as e:
                self.findings.add(where, str(e))

    def round(self, number):
        shutil.rmtree(self.server.data, ignore_errors=True)
        shutil.copytree(self.saved, self.server.data)
        rounds = {}
        gone = {}
        for i in range(self.args.databases):
            kind, what = self.change(i)
            rounds[i] = kind, 'round %d, %s, %s page, %s' % (number + i, self.server.name, kind, what)
        self.server.start()
        self.each(rounds, lambda i, kind, where: gone.update({i: self.database(i, kind, where)}))
        self.server.kill(self.r)
        self.server.start()
        self.each(rounds, lambda i, kind, where: self.again(i, where + ', after a crash', gone.get(i, set(TABLES))))
        self.server.stop(signal.SIGINT)
        with open(self.server.log, errors='replace') as f:
            for line in f:
                if CRASH.search(line):
                    self.findings.add('rounds %d to %d' % (number, number + self.args.databases - 1), line)
        os.truncate(self.server.log, 0)

    def again(self, i, where, gone):
        db = self.connect(i)
        self.read(db, where, gone)
        self.write(i, where, True)
        db.close()

    def run(self):
        done = 0
        for checksums in (False, True):
            self.make(checksums)
            half = self.args.changes // 2
            for number in range(0, half, self.args.databases):
                self.round(done)
                done += self.args.databases
                if self.findings.number >= self.args.max:
                    break
            shutil.rmtree(self.server.data, ignore_errors=True)
            shutil.rmtree(self.saved, ignore_errors=True)
            if self.findings.number >= self.args.max:
                break
        for name, count in sorted(self.counts.items()):
            print('%s: %d' % (name, count))
        print('%d changes, %d findings' % (done, self.findings.number))
        return 1 if self.findings.number or not done else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bindir', required=True)
    parser.add_argument('--directory', required=True)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--port', type=int, default=54330)
    parser.add_argument('--changes', type=int, default=10000)
    parser.add_argument('--databases', type=int, default=20, help='changed at a time')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--max', type=int, default=20)
    parser.add_argument('--kind', dest='kinds', action='append',
                        choices=['meta', 'directory', 'map', 'first', 'data'])
    parser.add_argument('--spoil', action='store_true', help='delete a row that should be there')
    return Damage(parser.parse_args()).run()


if __name__ == '__main__':
    sys.exit(main())
