#!/usr/bin/env python3
"""Bits and bytes of table and undo pages changed at random, many at a time.  Called by test/flips.

A server without checksums has some hundreds of small tables (cells.py).  Each batch takes a copy of its files and
changes one byte in most tables, or some hundred of the undo relation, while the server is stopped; starts it, and in each
table reads, changes the rows of the damaged page, and reads again.  Whatever the statements say of the damaged page, in
all other pages each row must be as it was before: of the same table, and of all others.
"""

import argparse
import collections
import hashlib
import os
import random
import re
import shutil
import struct
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from server import Db, Lost, Server, SqlError
import cells

BLCKSZ = 8192
CRASH = re.compile(r'PANIC:|TRAP:|terminated by signal (?!9:)\d|stuck spinlock')
FIRST_UNDO = 32                 # blocks before are what test/damage changes
TOLD = ('XX001', 'XX002')       # data_corrupted, index_corrupted

# Other errors that a damaged page may lead to, though none of them spoils anything:
ALLOWED = {
    '55P03': 'a lock on the row, or its owner, seems to be that of a prepared transaction',
    '40001': 'the row seems to have changed',
    '22021': "bytes of the user's text",
    '22003': 'a number of the user',
    '22008': 'a date of the user',
    '23505': 'a key of the user, or that of a row that came back',
    'P0002': 'zheap_undo_chain() of a row that is not there',
    '21000': 'a key twice among the rows of the statement',
}
# What core says, on heap as well, of a damaged value of a user, and of a row that the query has found and its lock not;
# and, in core's words, zheap_undo_chain() of a row whose line pointer is not there
CORE = re.compile(r'invalid memory alloc request size|could not open relation with OID|missing chunk number|'
                  r'unexpected chunk|compressed .* data is corrupt|cache lookup failed|unrecognized TOAST|'
                  r'invalid compression method|could not find .* in (?:index|TOAST)|'
                  r'attempted to (?:lock|update|delete) invisible tuple|unrecognized table_tuple_\w+ status: 1 |'
                  r'22023: tid \(\d+,\d+\) is not valid for relation')

TAG = 'md5(tag)'              # the bytes may be no text
FULL = 'md5(c::text)'
SHORT = "md5((c.id, c.tag, c.n)::text)"     # does not read what is in the TOAST table
UNSEEN = [hashlib.md5(tag.encode()).hexdigest() for tag in ('never', 'yet')]
SETTINGS = '-c lock_timeout=10ms -c statement_timeout=60s -c max_parallel_workers_per_gather=0 -c synchronous_commit=off '
BY_INDEX = '-c enable_seqscan=off -c enable_bitmapscan=off -c enable_tidscan=on '


def page_condition(page):
    return "ctid >= '(%d,0)' and ctid < '(%d,0)'" % (page, page + 1)


class Cell:
    """What a table has, as the copied files have it."""

    def __init__(self, number):
        self.number, self.name, self.shape = number, 'c%d' % number, cells.shape_of(number)
        self.full, self.short = {}, {}      # page: {(id, tag): digest}
        self.tids = {}                      # page: tid, ...
        self.owner = {}                     # block: the table page whose rows it is about

    def learn(self, db):
        self.file, self.blocks = db.run("select pg_relation_filepath('%s'), pg_relation_size('%s') / 8192"
                                        % (self.name, self.name))[0]
        for block in range(int(self.blocks)):
            kind, table_block = db.run("select kind, table_block from zheap.zheap_page_header('%s', %d)"
                                       % (self.name, block))[0]
            self.owner[block] = block if table_block is None else int(table_block)
        for tid, ident, tag, full, short in db.run('select ctid, id, %s, %s, %s from %s c' % (TAG, FULL, SHORT, self.name)):
            page = int(tid[1:].split(',')[0])
            self.full.setdefault(page, {})[ident, tag] = full
            self.short.setdefault(page, {})[ident, tag] = short
            self.tids.setdefault(page, []).append(tid)
        self.pages = sorted(self.full)


class Flip:
    """One change of a byte."""

    def __init__(self, region, block, offset, was, now, what):
        self.region, self.block, self.offset, self.was, self.now, self.what = region, block, offset, was, now, what

    def __str__(self):
        return '%s block %d, offset %d (%s): 0x%02X to 0x%02X' % (
            self.what, self.block, self.offset, self.region, self.was, self.now)


def table_region(page, offset):
    lower, upper, special = struct.unpack_from('<HHH', page, 12)
    if offset < 24:
        return 'page header'
    if offset >= BLCKSZ - 16:
        return 'trailer'
    if page[BLCKSZ - 9] & 0x80:
        return 'overflow page'
    if offset >= special:
        return 'slot'
    if offset < lower:
        return 'line pointer'
    return 'hole' if offset < upper else 'row'


def undo_region(page, offset):
    if offset < 24:
        return 'undo page header'
    if offset >= BLCKSZ - 16:
        return 'undo special area'
    return 'undo record' if offset < struct.unpack_from('<H', page, 12)[0] else 'undo hole'


def row_offset(r, page):
    """Somewhere in the header of a row, or in a line pointer's row."""
    lower = struct.unpack_from('<H', page, 12)[0]
    count = (lower - 24) // 4
    if not 0 < count < 400:
        return r.randrange(BLCKSZ)
    lp = struct.unpack_from('<I', page, 24 + 4 * r.randrange(count))[0]
    off, length = lp & 0x7FFF, lp >> 17
    if length == 0 or off >= BLCKSZ - 8:
        return r.randrange(BLCKSZ)
    return off + (r.randrange(5) if r.random() < 0.7 else r.choice([length - 1, r.randrange(length)]))


def choose_offset(r, page, undo):
    where = r.random()
    if undo:
        end = struct.unpack_from('<H', page, 12)[0]
        if where < 0.15:
            return r.randrange(24)
        if where < 0.3:
            return BLCKSZ - 1 - r.randrange(16)
        return r.randrange(24, max(end, 25)) if where < 0.9 and end < BLCKSZ else r.randrange(BLCKSZ)
    special = struct.unpack_from('<H', page, 16)[0]
    if page[BLCKSZ - 9] & 0x80 and where < 0.8:         # an overflow page: what is used lies at its begin
        return r.randrange(24, 24 + 8 + 16 * 45)
    if where < 0.12:
        return r.randrange(24)
    if where < 0.22:
        return BLCKSZ - 1 - r.randrange(16)
    if where < 0.40 and 24 < special < BLCKSZ - 16:
        return r.randrange(special, BLCKSZ - 16)
    if where < 0.52:
        return r.randrange(24, max(25, struct.unpack_from('<H', page, 12)[0]))
    return row_offset(r, page) if where < 0.75 else r.randrange(BLCKSZ)


class Flips:
    def __init__(self, args):
        self.args = args
        self.findings, self.known = 0, set()
        self.outcomes = collections.Counter()       # (region, outcome)
        self.errors = collections.Counter()
        self.statements = 0
        os.makedirs(args.directory, exist_ok=True)
        with open(args.conf) as f:
            self.server = Server(args.bindir, args.directory, 'plain', f.read(), args.port)

    def finding(self, where, text):
        """Once for what a change leads to, however often it is met."""
        key = where, re.sub(r'\[.*|\d+', '', text)
        if key in self.known:
            return
        self.known.add(key)
        self.findings += 1
        print('FINDING in %s: %s' % (where, text[:1500]), flush=True)

    # ------------------------------------------------------------ the files

    def settings(self, workers):
        self.server.set({
            'zheap.undo_workers': workers, 'zheap.undo_worker_naptime': '20ms', 'autovacuum': 'off',
            'shared_buffers': '32MB', 'fsync': 'off', 'min_wal_size': '4MB', 'max_wal_size': '256MB',
            'wal_level': 'replica', 'max_wal_senders': 0, 'client_min_messages': 'error', 'log_statement': 'none',
            'log_lock_waits': 'off', 'max_connections': 20, 'max_prepared_transactions': 60,
            'max_locks_per_transaction': 256, 'log_min_messages': 'log', 'log_min_error_statement': 'panic',
            'zheap.undo_hold_warning': -1})

    def make(self):
        server = self.server
        server.init(False, ['--wal-segsize=1'])
        self.settings(0)
        server.start()
        db = self.connect()
        if db.value('show data_checksums') != 'off':
            raise RuntimeError('the server has checksums')
        db.run('create extension zheap')
        cells.Builder(self.connect, self.args.cells).build()
        server.stop()
        server.start()
        db = self.connect()
        self.cells = [Cell(i) for i in range(self.args.cells)]
        for cell in self.cells:
            cell.learn(db)
        self.undo_file = db.value("select pg_relation_filepath('zheap.undo')")
        wrong = db.run('select * from zheap.zheap_verify_all()')
        if wrong:
            raise RuntimeError('damaged from the beginning: %s' % wrong[:5])
        db.close()
        server.stop()
        self.saved = server.data + '.saved'
        os.rename(server.data, self.saved)
        with open(os.path.join(self.saved, self.undo_file), 'rb') as f:
            content = f.read()
        self.undo_blocks = [b for b in range(FIRST_UNDO, len(content) // BLCKSZ)
                            if content[(b + 1) * BLCKSZ - 2:(b + 1) * BLCKSZ] == b'\x55\x5A' and
                            struct.unpack_from('<H', content, b * BLCKSZ + 12)[0] > 24]
        print('%d tables of %d pages, %d pages of undo records' % (
            len(self.cells), sum(int(c.blocks) for c in self.cells), len(self.undo_blocks)), flush=True)

    def connect(self, options=''):
        return Db(self.server.sockets, self.server.port, 'postgres', SETTINGS + options)

    def flip(self, r, path, block, what, undo=False):
        with open(os.path.join(self.server.data, path), 'r+b') as f:
            f.seek(block * BLCKSZ)
            page = f.read(BLCKSZ)
            offset = choose_offset(r, page, undo)
            now = page[offset] ^ (1 << r.randrange(8) if r.random() < 0.5 else r.randrange(1, 256))
            f.seek(block * BLCKSZ + offset)
            f.write(bytes([now]))
        region = (undo_region if undo else table_region)(page, offset)
        return Flip(region, block, offset, page[offset], now, what)

    # ------------------------------------------------------------ statements

    def attempt(self, db, sql, where):
        """The rows; None if there was an error, which must be one that may be."""
        self.statements += 1
        self.last = sql
        try:
            return db.run(sql)
        except SqlError as e:
            self.errors[e.code] += 1
            self.said.add(e.code)
            if e.code not in TOLD and e.code not in ALLOWED and not CORE.search(str(e)):
                self.finding(where, str(e))
            return None

    def ended(self, db, where):
        """Out of a transaction, whatever state it is in."""
        if db.status != 'I':
            self.attempt(db, 'rollback', where)

    def old(self, sql, where):
        """By the snapshot that was taken before anything was changed."""
        rows = self.attempt(self.o, sql, where)
        if rows is None:
            self.attempt(self.o, 'rollback to s', where)
        return rows

    def open_sessions(self):
        self.a, self.i, self.o = self.connect(), self.connect(BY_INDEX), self.connect()
        self.o.run('begin isolation level repeatable read')
        self.o.run('select 1')
        self.o.run('savepoint s')

    def compare(self, rows, expected, where, what, strict):
        """Each row that is expected, once, and as it was.  Returns how many are not."""
        got = collections.Counter((row[0], row[1], row[2]) for row in rows if (row[0], row[1]) in expected)
        wrong = [(key[0], got[(*key, digest)]) for key, digest in expected.items() if got[(*key, digest)] != 1]
        if wrong and strict:
            self.finding(where, '%s: row %s is there %d times as it was' % (what, *wrong[0]))
        elif sum(got.values()) != len(expected) and strict:
            self.finding(where, '%s: a row is there twice' % what)
        return max(len(wrong), int(sum(got.values()) != len(expected)))

    def unseen(self, rows, where, what):
        """On a page that is not damaged: rows that were rolled back, or have not been committed."""
        for row in rows:
            if row[1] in UNSEEN:
                self.finding(where, '%s: row %s should not be seen' % (what, row[0]))
                return

    def look(self, cell, damage, where, may_fail):
        """All rows of pages that are not damaged, in all ways.  Returns how many of all that could be read are not the same."""
        digest, expected = (SHORT, cell.short) if damage.short else (FULL, cell.full)
        columns = 'select id, %s, %s from %s c' % (TAG, digest, cell.name)
        others = [p for p in cell.pages if p != damage.page]
        differ = 0
        for page in cell.pages:
            strict = page != damage.page
            for read, name in ((self.a_run, 'scan'), (self.old, 'old snapshot')):
                rows = read('%s where %s' % (columns, page_condition(page)), where)
                if rows is None and strict and not may_fail:
                    # a damaged row that has moved here may be what cannot be read
                    rows = read('%s where ctid = any (array[%s]::tid[])' % (
                        columns, ','.join("'%s'" % tid for tid in cell.tids[page])), where)
                    if rows is None:
                        self.finding(where, '%s: page %d cannot be read' % (name, page))
                if rows is not None and (strict or damage.exact):
                    self.unseen(rows, where, '%s of page %d' % (name, page))
                if rows is not None:
                    differ = max(differ, self.compare(rows, expected[page], where, '%s of page %d' % (name, page),
                                                      strict or damage.exact))
        rest = {key: value for page in others for key, value in expected[page].items()}
        rows = self.attempt(self.i, columns + ' where id > -2000000000', where)
        if rows is None and not may_fail and rest:
            rows = self.attempt(self.i, '%s where id = any (array[%s])' % (columns, ','.join(key[0] for key in rest)), where)
            if rows is None:
                self.finding(where, 'index scan of pages that are not damaged fails')
        if rows is not None:
            self.compare(rows, rest, where, 'index scan', True)
        rows = self.attempt(self.i, 'select id from %s where id > -2000000000' % cell.name, where)
        if rows is not None:
            lost = set(key[0] for key in rest) - set(row[0] for row in rows)
            if lost:
                self.finding(where, 'index-only scan: no row %s' % sorted(lost)[:5])
        rows = self.attempt(self.a, columns, where)
        if rows is not None:
            self.compare(rows, rest, where, 'scan of the table', True)
        return differ

    def a_run(self, sql, where):
        return self.attempt(self.a, sql, where)

    def write(self, cell, page, r, where):
        """Some statement about the rows of one page, in some transaction."""
        name, here = cell.name, page_condition(page)
        ids = [key[0] for key in cell.full.get(page, [('0', '')])]
        one = r.choice(ids)
        tid = r.choice(cell.tids.get(page, ['(%d,1)' % page]))
        free = 'ctid = any (array(select ctid from %s where %s for update skip locked))' % (name, here)
        some = r.choice([here, free, free, here + ' and n %% %d = 0' % r.randrange(1, 5), "ctid = '%s'" % tid,
                         'id = %s' % one, 'id = any (array[%s]) and %s' % (','.join(ids[:10]), here)])
        new = r.randrange(100000, 100000000)
        sql = r.choice([
            'update %s set n = n + 1 where %s' % (name, some),
            'update %s set n = n + 1 where %s' % (name, some),
            'update %s set id = -id where %s' % (name, some),
            "update %s set v = v || repeat('g', %d) where %s" % (name, r.randrange(1, 400), some),
            "update %s set v = 'short' where %s" % (name, some),
            'delete from %s where %s' % (name, some),
            'delete from %s where %s' % (name, some),
            "insert into %s (id, tag, n, v) select %d + g, 'new', g, repeat('i', 50) from generate_series(1, %d) g"
            % (name, new, r.randrange(1, 40)),
            "insert into %s (id, tag, n) values (%s, 'new', 1) on conflict (id) do update set n = excluded.n" % (name, one),
            'select id from %s where %s for update' % (name, some),
            'select id from %s where %s for share' % (name, some),
            'select id from %s where %s for key share' % (name, some),
            'select id from %s where %s for no key update skip locked' % (name, here)])
        db = self.i if ('id = ' in some and r.random() < 0.7) else self.a
        around = r.random()
        if around < 0.4:
            self.attempt(db, sql, where)
        else:
            self.attempt(db, 'begin', where)
            if around < 0.6:
                self.attempt(db, 'savepoint a', where)
                self.attempt(db, sql, where)
                self.attempt(db, r.choice(['rollback to a', 'release a']) if db.status == 'T' else 'rollback to a', where)
            else:
                self.attempt(db, sql, where)
                if db.status == 'T' and r.random() < 0.3:
                    self.attempt(db, 'update %s set n = -n where %s' % (name, some), where)
            self.attempt(db, 'commit' if r.random() < 0.5 else 'rollback', where)
            self.ended(db, where)

    def tools(self, cell, page, r, where, may_fail):
        what = r.random()
        if what < 0.3:
            self.attempt(self.a, 'vacuum %s' % cell.name, where)
        elif what < 0.4:
            self.attempt(self.a, 'analyze %s' % cell.name, where)
        elif what < 0.7:
            found = self.attempt(self.a, "select block, kind, message from zheap.zheap_verify('%s')" % cell.name, where)
            if found:
                self.said.add('verify')
                self.verified = found
            for block, kind, message in found or []:
                if not may_fail and kind in ('page', 'row', 'slot') and block is not None and int(block) != page and \
                        int(block) in cell.pages:
                    self.finding(where, 'zheap_verify in block %s: %s' % (block, message))
        elif what < 0.85:
            for function in ('header', 'items', 'slots'):
                self.attempt(self.a, "select * from zheap.zheap_page_%s('%s', %d)" % (function, cell.name, page), where)
            self.attempt(self.a, "select * from zheap.zheap_undo_chain('%s', '%s')" % (cell.name, r.choice(cell.tids.get(page, ['(%d,1)' % page]))), where)

    # ------------------------------------------------------------ a batch

    def cell(self, cell, damage, r, where, may_fail):
        self.said, self.verified = set(), []
        page = damage.page if damage.page is not None else r.choice(cell.pages)
        differ = self.look(cell, damage, where, may_fail)
        if damage.short:
            self.attempt(self.a, 'select %s from %s c' % (FULL, cell.name), where)
        told_at_once = bool(self.said)
        aim = Damage(page, damage.short, False)         # what is changed from here on need not stay
        for _ in range(self.args.writes):
            self.write(cell, page, r, where)
        self.tools(cell, page, r, where, may_fail)
        self.look(cell, aim, where, may_fail)
        damage.page = page
        damage.exact = False
        if self.said & {'verify', *TOLD}:
            if damage.flip is None and not may_fail:
                self.finding(where, 'an error without damage: %s, %s' % (sorted(self.said), self.verified[:3]))
            return 'told'
        if differ > 0:
            return 'one row of the page differs' if differ == 1 else 'several rows of the page differ'
        return 'another error' if told_at_once else 'same'

    def batch(self, number):
        r = random.Random('%d %d' % (self.args.seed, number))
        undo = number % 3 == 2 if self.args.pages is None else self.args.pages == 'undo'
        self.said = set()
        shutil.rmtree(self.server.data, ignore_errors=True)
        shutil.copytree(self.saved, self.server.data)
        self.settings(r.choice([0, 0, 2]))
        flips, damages = [], {}
        if undo:
            for _ in range(min(self.args.undo, self.args.flips - self.done)):
                flips.append(self.flip(r, self.undo_file, r.choice(self.undo_blocks), 'undo', True))
            damages = {cell: Damage(None, False, True) for cell in self.cells}
        else:
            for cell in self.cells:
                damages[cell] = Damage(None, False, True)
                spared = self.args.spoil and cell.number == 0
                if r.random() < 0.9 and len(flips) < self.args.flips - self.done and not spared:
                    damages[cell] = self.damage_cell(cell, r)
                    flips.append(damages[cell].flip)
        self.done += len(flips)
        name = 'batch %d, %s' % (number, '%d changes of undo' % len(flips) if undo else 'tables')
        try:
            self.server.start()
            self.run_batch(r, damages, name, undo)
        except (Lost, OSError, RuntimeError) as e:
            self.finding(name, 'the server has gone: %s' % e)
            # the postmaster is to write to the log what became of the process
            time.sleep(2)
        self.server.kill(r)
        self.read_log(name)
        if undo:
            for flip in flips:
                self.outcomes[flip.region, 'changed'] += 1

    def damage_cell(self, cell, r):
        block = r.choice(sorted(cell.owner))
        damage = Damage(cell.owner[block], False, False)
        damage.flip = self.flip(r, cell.file, block, cell.name)
        # a damaged pointer to a value elsewhere may be that of another row, as in heap
        damage.short = cell.shape == 'toast' and damage.flip.region == 'row'
        return damage

    def run_batch(self, r, damages, name, undo):
        self.open_sessions()
        if self.args.spoil:
            self.a.run('update c0 set n = n + 1 where id = %s' % sorted(self.cells[0].full[0])[1][0])
        order = list(damages)
        r.shuffle(order)
        end_one = r.randrange(len(order)) if r.random() < 0.5 else -1
        for k, cell in enumerate(order):
            damage = damages[cell]
            where = '%s, %s (%s)%s' % (name, cell.name, cell.shape, '' if damage.flip is None else ', %s' % damage.flip)
            self.at = where
            if k == end_one:
                self.attempt(self.a, "rollback prepared '%s'" % r.choice(['change', 'long', 'move', 'key1', 'crowd7']), where)
            try:
                outcome = self.cell(cell, damage, r, where, undo)
            except (Lost, OSError):
                self.finding(where, 'connection lost by: %s' % self.last)
                raise
            self.outcomes['tables while undo is damaged' if undo else 'no damage' if damage.flip is None else
                          damage.flip.region, outcome] += 1
        self.o.close()
        if r.random() < self.args.crashes:
            self.server.kill(r)
            self.server.start()
            self.open_sessions()
            for cell in order:
                damage = damages[cell]
                where = '%s, %s (%s)%s, after a crash' % (name, cell.name, cell.shape,
                                                          '' if damage.flip is None else ', %s' % damage.flip)
                self.look(cell, damage, where, undo)

    def read_log(self, name):
        with open(self.server.log, errors='replace') as f:
            for line in f:
                if CRASH.search(line):
                    self.finding(name, line)
        os.truncate(self.server.log, 0)

    def run(self):
        self.make()
        self.done = 0
        number = self.args.first
        end = time.time() + self.args.seconds if self.args.seconds else None
        while self.done < self.args.flips and self.findings < self.args.max and (end is None or time.time() < end):
            self.batch(number)
            number += 1
        print('batches %d to %d' % (self.args.first, number - 1))
        for (region, outcome), count in sorted(self.outcomes.items()):
            print('%s: %s: %d' % (region, outcome, count))
        print('errors: %s' % ', '.join('%s %d' % item for item in sorted(self.errors.items())))
        print('%d flips, %d statements, %d findings' % (self.done, self.statements, self.findings))
        return 1 if self.findings or not self.done else 0


class Damage:
    """The page of a table whose rows may be anything from now on; None: none.  "short": and what is in the TOAST table.
    "exact": rows that can be read are right, wherever they are."""

    def __init__(self, page, short, exact):
        self.page, self.short, self.exact = page, short, exact
        self.flip = None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bindir', required=True)
    parser.add_argument('--directory', required=True)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--port', type=int, default=54331)
    parser.add_argument('--flips', type=int, default=100000)
    parser.add_argument('--seconds', type=int, help='no new batch after so many')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=0, help='number of the first batch')
    parser.add_argument('--cells', type=int, default=180, help='tables')
    parser.add_argument('--undo', type=int, default=400, help='changes of undo pages in a batch')
    parser.add_argument('--writes', type=int, default=4, help='statements that write, in each table')
    parser.add_argument('--crashes', type=float, default=0.3, help='share of batches with a crash at the end')
    parser.add_argument('--pages', choices=['table', 'undo'], help='change only these')
    parser.add_argument('--max', type=int, default=20)
    parser.add_argument('--spoil', action='store_true', help='change a row of a table that is not damaged')
    return Flips(parser.parse_args()).run()


if __name__ == '__main__':
    sys.exit(main())
