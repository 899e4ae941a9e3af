"""A client: a session that runs random transactions until it is told to stop, or until
its server is gone.  It tells the model what was acknowledged.
"""

import hashlib
import random
import threading
import time

from model import ACCOUNTS, CLIENTS, COPIED, CROWD, PARENTS, START_BALANCE, TRUNCATED, WIDE, Transaction
from server import Lost, SqlError

KEYS = 40                       # rows of "own" of a client, at most
CHANGES = 1000                  # of one row or page by one statement, at most

# lock timeout, deadlock, serialization, key still referenced or not there, cancelled,
# undo limit
EXPECTED = {'55P03', '40P01', '40001', '23503', '57014', '53400'}


class Wrong(Exception):
    """A client read what it should not."""


class Client(threading.Thread):
    pressure = False                    # mostly what crowds pages
    CROWDED = []

    def __init__(self, number, server, model, seed, findings, numbers):
        super().__init__(daemon=True)
        self.number, self.server, self.model, self.findings = number, server, model, findings
        self.r = random.Random(seed)
        self.numbers = numbers          # equal to ours modulo CLIENTS
        self.end = threading.Event()
        self.prepared = []              # our transactions in doubt
        self.db = None
        self.counts = {}

    def run(self):
        try:
            self.work()
            if self.db:
                self.db.close()
        except (Lost, OSError):
            pass
        except Exception as e:          # a defect of the test: not to be lost in a thread
            self.finding('%s: %r' % (type(e).__name__, e))
        self.model.doubtful += self.prepared

    def connect(self):
        self.db = self.server.connect(
            '-c lock_timeout=2s -c deadlock_timeout=50ms -c statement_timeout=100s '
            '-c default_table_access_method=zheap -c max_parallel_workers_per_gather=0')

    def work(self):
        if self.db is None:
            self.connect()
        actions, weights = zip(*(self.ACTIONS + self.CROWDED * (10 if self.pressure else 1)))
        while not self.end.is_set():
            self.attempt(self.r.choices(actions, weights)[0])

    def finding(self, text):
        self.findings.add('client %d: %s' % (self.number, text))

    def attempt(self, name):
        self.t = None
        try:
            getattr(self, name)()
            self.counts[name] = self.counts.get(name, 0) + 1
        except Wrong as e:
            self.finding('%s: %s' % (name, e))
            self.rollback()
        except SqlError as e:
            if e.code == 'hang':
                self.finding('%s: %s' % (name, e))
                raise Lost('hang')
            if e.code not in EXPECTED:
                self.finding('%s: %s' % (name, e))
            self.rollback()
        except Lost:
            if self.t is not None and self.t.state != 'open':
                self.model.doubtful.append(self.t)
            raise

    def rollback(self):
        if self.db.status != 'I':
            self.db.run('rollback')

    # ------------------------------------------------------------ transactions

    def begin(self, kind, level=None):
        self.t = Transaction(next(self.numbers), self.number, kind)
        level = level or self.r.choices(['read committed', 'repeatable read', 'serializable'], [8, 2, 1])[0]
        self.t.level = level
        self.db.run('begin isolation level ' + level)
        if kind == 'own' and level != 'read committed':
            # a snapshot from before ALTER TABLE has rewritten the table would find it empty
            self.db.run('lock table own in row exclusive mode')
        if self.r.random() < 0.5:
            self.write_journal()
        return self.t

    def write_journal(self):
        self.db.run("insert into journal values (%d, %d, '%s')" % (self.t.n, self.number, self.t.kind))
        self.t.written = True

    def effect(self, *e):
        self.t.effects.append(e)

    def finish(self):
        """Commit, roll back or prepare."""
        t = self.t
        if not hasattr(t, 'written'):
            self.write_journal()
        what = self.r.random()
        if what < 0.15:
            self.db.run('rollback')
            return
        if what < 0.25 and len(self.prepared) < 2:
            t.state = 'preparing'
            self.db.run("prepare transaction '%d'" % t.n)
            t.state = 'prepared'
            if self.db.tags != ['PREPARE TRANSACTION']:
                raise Wrong('prepare says %s' % self.db.tags)
            self.prepared.append(t)
            self.t = None
            if self.r.random() < 0.5:
                self.finish_prepared()
            return
        t.state = 'committing'
        self.db.run('commit')
        if self.db.tags != ['COMMIT']:
            raise Wrong('commit says %s' % self.db.tags)
        self.model.committed(t)

    def finish_prepared(self):
        """One of those that we have prepared."""
        if not self.prepared:
            return
        self.t = t = self.prepared.pop(self.r.randrange(len(self.prepared)))
        how = self.r.choice(['commit', 'rollback'])
        t.state = {'commit': 'committing prepared', 'rollback': 'rolling back prepared'}[how]
        self.db.run("%s prepared '%d'" % (how, t.n))
        if how == 'commit':
            self.model.committed(t)

    # ------------------------------------------------------------ rows of our own

    def text(self):
        kind = self.r.random()
        if kind < 0.05:
            return None
        if kind < 0.5:
            return self.r.choice('abc') * self.r.randrange(50)
        if kind < 0.85:
            return self.r.choice('xyz') * self.r.randrange(1500)
        first = self.r.randrange(10**9)
        return ''.join(hashlib.md5(b'%d' % (first + i)).hexdigest() for i in range(self.r.randrange(60, 500)))

    def change_own(self, rows, busy):
        """One change; rows: what we have, as the statement will find it."""
        key = self.r.choice([k for k in range(KEYS) if k not in busy])
        old = rows.get(key)
        text = self.text()
        v, u = self.r.randrange(1000), self.r.randrange(10**6)
        literal = 'null' if text is None else "'%s'" % text
        digest = None if text is None else hashlib.md5(text.encode()).hexdigest()
        where = ' where client = %d and key = %d' % (self.number, key)
        if self.r.random() < 0.2:
            self.db.run('select from own' + where + self.r.choice([' for update', ' for share', ' for no key update', ' for key share']))
        if old is None or self.r.random() < 0.1:
            self.db.run('insert into own values (%d, %d, %d, %d, %s) on conflict (client, key) do update '
                        'set v = excluded.v, u = excluded.u, t = excluded.t' % (self.number, key, v, u, literal))
            new = (v, u, digest)
        else:
            how = self.r.randrange(6)
            if how == 0:
                self.db.run('delete from own' + where)
                new = None
            elif how == 1:
                self.db.run('update own set v = %d%s' % (v, where))
                new = (v, old[1], old[2])
            elif how == 2:
                self.db.run('update own set t = %s%s' % (literal, where))
                new = (old[0], old[1], digest)
            elif how == 3:
                self.db.run('update own set v = %d, u = %d, t = %s%s' % (v, u, literal, where))
                new = (v, u, digest)
            else:
                self.db.run('update own set u = %d%s' % (u, where))
                new = (old[0], u, old[2])
            expected = ('DELETE 1' if how == 0 else 'UPDATE 1')
            if self.db.tags != [expected]:
                raise Wrong('%s: key %d: %s, expected %s' % (self.t.level, key, self.db.tags, expected))
        if new is None:
            rows.pop(key, None)
        else:
            rows[key] = new
        return key

    def my_rows(self):
        with self.model.lock:
            return {k: row for (c, k), row in self.model.own.items() if c == self.number}

    def busy(self):
        return set().union(*(t.keys() for t in self.prepared))

    def own(self):
        """Changes with savepoints, some of them rolled back."""
        self.begin('own')
        rows, touched, busy = self.my_rows(), set(), self.busy()
        stack = []
        for _ in range(self.r.randrange(1, 10)):
            what = self.r.random()
            if what < 0.6 or len(stack) > 4:
                touched.add(self.change_own(rows, busy))
            elif what < 0.8 or not stack:
                self.db.run('savepoint s%d' % len(stack))
                stack.append(dict(rows))
            elif what < 0.9:
                level = self.r.randrange(len(stack))
                self.db.run('rollback to s%d' % level)
                rows = dict(stack[level])
                del stack[level + 1:]
            else:
                level = self.r.randrange(len(stack))
                self.db.run('release s%d' % level)
                del stack[level:]
        if self.r.random() < 0.3:
            self.compare_own(rows, 'in our transaction')
        for key in touched:
            self.effect('own', self.number, key, rows.get(key))
        self.finish()

    def compare_own(self, expected, when):
        scan = self.r.choice(['seqscan', 'indexscan', 'bitmapscan'])
        for s in ('seqscan', 'indexscan', 'bitmapscan'):
            self.db.run('set enable_%s = %s' % (s, 'on' if s == scan else 'off'))
        found = {}
        for key, v, u, t in self.db.run('select key, v, u, md5(t) from own where client = %d' % self.number):
            if int(key) in found:
                raise Wrong('%s (%s): key %s twice' % (when, scan, key))
            found[int(key)] = (int(v), int(u), t)
        for s in ('seqscan', 'indexscan', 'bitmapscan'):
            self.db.run('set enable_%s = on' % s)
        if found != expected:
            raise Wrong('%s (%s): rows differ: %s' % (when, scan, differences(expected, found)))

    def look(self):
        self.compare_own(self.my_rows(), 'looking')

    # ------------------------------------------------------------ rows of all

    def transfer(self):
        self.begin('transfer')
        for _ in range(self.r.randrange(1, 4)):
            a, b = self.r.sample(range(1, ACCOUNTS + 1), 2)
            delta = self.r.randrange(1, 100)
            filler = self.r.choice(['', '', '', ", filler = repeat('f', %d)" % self.r.randrange(400),
                                    ", filler = filler || 'g'"])
            for account, d in ((a, delta), (b, -delta)):
                if self.r.random() < 0.1:
                    self.db.run('select balance from accounts where id = %d for update' % account)
                self.db.run('update accounts set balance = balance + %d%s where id = %d' % (d, filler, account))
                if self.db.tags != ['UPDATE 1']:
                    raise Wrong('account %d: %s' % (account, self.db.tags))
                self.effect('balance', account, d)
        self.finish()

    def tag(self):
        n = self.begin('tag').n
        self.db.run('insert into tags1 values (%d)' % n)
        self.db.run("insert into tags2 values (%d, repeat('p', %d))" % (n, self.r.randrange(300)))
        self.db.run("insert into tags3 values ('old', %d, 0)" % n)
        if self.r.random() < 0.5:
            self.db.run("update tags3 set pad = 'new', k = %d where k = 0 and n = %d" % (self.r.randrange(1, 5), n))
        self.effect('tag', n, True)
        self.finish()

    def forget(self):
        """Delete old tags of ours."""
        with self.model.lock:
            pending = {e[1] for t in self.prepared for e in t.effects if e[0] == 'tag'}
            mine = sorted(n for n in self.model.tags if n % CLIENTS == self.number and n not in pending)
        if len(mine) < 20:
            return
        self.begin('forget')
        some = self.r.sample(mine, 15)
        for table in ('tags1', 'tags2', 'tags3'):
            self.db.run('delete from %s where n in (%s)' % (table, ', '.join(map(str, some))))
            if self.db.tags != ['DELETE 15']:
                raise Wrong('%s: %s of 15' % (table, self.db.tags))
        for n in some:
            self.effect('tag', n, False)
        self.finish()

    def family(self):
        """Foreign keys: parents and children come and go."""
        self.begin('family')
        what = self.r.random()
        busy = {e[1] for t in self.prepared for e in t.effects if e[0] == 'child'}
        with self.model.lock:
            mine = [c for c in self.model.child if c % CLIENTS == self.number and c not in busy]
        if what < 0.5 or not mine:
            for i in range(self.r.randrange(1, 4)):
                parent = self.r.randrange(1, PARENTS + 1)
                id = self.t.n + i * CLIENTS * 10**9
                self.db.run('insert into child values (%d, %d)' % (id, parent))
                self.effect('child', id, parent)
                self.db.run('update parent set x = x + 1 where id = %d' % parent)
                self.effect('parent', parent, 1)
        elif what < 0.9:
            id = self.r.choice(mine)
            self.db.run('delete from child where id = %d returning parent' % id)
            if self.db.tags != ['DELETE 1']:
                raise Wrong('child %d: %s' % (id, self.db.tags))
            self.effect('child', id, None)
        else:
            # with children: refused at the end of the statement
            self.db.run('delete from parent where id = %d' % self.r.randrange(1, PARENTS + 1))
            self.db.run('rollback')
            return
        self.finish()

    def put(self):
        n = self.begin('put').n
        self.db.run("insert into queue values (%d, repeat('q', %d))" % (n, self.r.randrange(200)))
        self.effect('put', n)
        self.finish()

    def take(self):
        n = self.begin('take').n
        rows = self.db.run('delete from queue where id = (select id from queue order by id limit 1 '
                           'for update skip locked) returning id')
        if rows:
            self.db.run('insert into done values (%s, %d)' % (rows[0][0], n))
            self.effect('take', int(rows[0][0]))
        self.finish()

    def copy(self):
        n = self.begin('copy').n
        self.db.run('copy copied from stdin\n' +
                    ''.join('%d\t%d\t%s\n' % (n, i, 'c' * (i * 3)) for i in range(COPIED)))
        self.effect('copied', n)
        self.finish()

    def widen(self):
        self.begin('wide')
        for _ in range(3):
            id = self.r.randrange(1, WIDE + 1)
            self.db.run('update wide set k = k + 1 where id = %d' % id)
            self.effect('wide', id, 1)
        self.finish()

    def truncate(self):
        if any(e[0] == 'truncated' for t in self.prepared for e in t.effects):
            return
        table = 'truncated_%d' % self.number
        n = self.begin('truncate').n
        self.db.run('truncate ' + table)
        if self.r.random() < 0.5:
            self.db.run('copy %s from stdin\n' % table + ''.join('%d\t%d\n' % (n, i) for i in range(TRUNCATED)))
        else:
            self.db.run('insert into %s select %d, g from generate_series(0, %d) g' % (table, n, TRUNCATED - 1))
        if self.r.random() < 0.5:
            self.db.run('savepoint s')
            self.db.run('update %s set n = -1, i = i + 100' % table)
            self.db.run('rollback to s')
        self.effect('truncated', self.number, n)
        self.finish()

    # ------------------------------------------------------------ full pages

    def crowd_rows(self, n):
        """Up to n rows in the order of their numbers, so that few deadlock.  Mostly rows
        that others leave alone: it is the page that is crowded."""
        r = self.r
        busy = {e[1] for t in self.prepared for e in t.effects if e[0] == 'crowd'}
        first = r.randrange(1, CROWD + 1)
        if r.random() < 0.15:
            some = range(first, min(CROWD, first + n - 1) + 1)
        else:
            some = range(1 + self.number % 8, CROWD + 1, 8)
        some = [id for id in some if id not in busy] or [first]
        return sorted(r.sample(some, min(n, len(some))))

    def crowd_loop(self):
        """Many changes of a row, or of the rows of a page, by one statement; its effects."""
        r = self.r
        some = self.crowd_rows(r.choice([1, 1, 4, 15]))
        times = max(1, r.choice([1, 10, 100, CHANGES]) // len(some))
        change = r.choice(['', '', ", pad = repeat(chr(97 + i % 26), 150)", ', k = k + 1' if times < 50 else ''])
        loop = ("for i in 1..%d loop update crowd set n = n + 1%s where id = r; "
                "if not found then raise 'row %% is not there', r; end if; end loop; " % (times, change))
        if r.random() < 0.2:
            loop = 'begin %s raise division_by_zero; exception when division_by_zero then null; end; %s' % (loop, loop)
        self.db.run("do $$ declare r int; begin foreach r in array '{%s}'::int[] loop %s end loop; end $$"
                    % (','.join(map(str, some)), loop))
        return [('crowd', id, times) for id in some]

    def crowd(self):
        """Many changes of one page, and savepoints among them."""
        self.begin('crowd')
        for _ in range(self.r.randrange(1, 4)):
            undone = self.r.random() < 0.3
            if undone:
                self.db.run('savepoint s')
            effects = self.crowd_loop()
            if undone:
                self.db.run('rollback to s')
            else:
                self.t.effects += effects
        self.finish()

    def crowd_one(self):
        """Small: slots of full pages change hands."""
        self.begin('crowd_one')
        id = self.crowd_rows(1)[0] if self.r.random() < 0.8 else self.r.randrange(1, 4)
        if self.r.random() < 0.3:
            self.db.run('select from crowd where id between %d and %d order by id for %s' % (
                id, id + 2, self.r.choice(['update', 'no key update', 'share', 'key share']) +
                self.r.choice(['', ' skip locked'])))
        self.db.run('update crowd set n = n + 1, k = k + %d where id = %d' % (self.r.randrange(2), id))
        if self.db.tags != ['UPDATE 1']:
            raise Wrong('crowd %d: %s' % (id, self.db.tags))
        self.effect('crowd', id, 1)
        self.finish()

    def crowd_cursor(self):
        """WHERE CURRENT OF; others may change the row meanwhile."""
        self.begin('crowd_cursor', 'read committed')
        id = self.crowd_rows(1)[0] if self.r.random() < 0.3 else self.r.randrange(1, 4)
        self.db.run('declare c cursor for select * from crowd where id = %d' % id)
        self.db.run('fetch c')
        time.sleep(self.r.random() * 0.1)
        self.db.run('update crowd set n = n + 1 where current of c')
        if self.db.tags != ['UPDATE 1']:
            raise Wrong('current of, crowd %d: %s' % (id, self.db.tags))
        self.effect('crowd', id, 1)
        self.finish()

    def crowd_abort(self):
        """A big rollback of few pages."""
        self.begin('crowd_abort')
        for _ in range(self.r.randrange(1, 3)):
            if self.r.random() < 0.3:
                # each row of the table several times, or nothing
                self.db.run('do $$ begin perform from crowd order by id for update nowait; for i in 1..%d loop '
                            'update crowd set n = -1; end loop; end $$' % self.r.randrange(1, 1 + CHANGES // CROWD))
            else:
                self.crowd_loop()
        self.db.run('rollback')

    def crowd_hold(self):
        """An old snapshot of the full pages: it sees the same all the time, however it looks."""
        self.db.run('begin isolation level repeatable read')
        first = None
        for _ in range(self.r.randrange(2, 8)):
            scan = self.r.choice(['seqscan', 'indexscan', 'bitmapscan'])
            for s in ('seqscan', 'indexscan', 'bitmapscan'):
                self.db.run('set local enable_%s = %s' % (s, 'on' if s == scan else 'off'))
            found = dict(self.db.run('select id, n from crowd where id > 0'))
            first = first or found
            if found != first:
                raise Wrong('a snapshot of crowd changed (%s): %s' % (scan, differences(first, found)))
            time.sleep(self.r.random() * 0.4)
        if len(first) != CROWD:
            raise Wrong('%d rows in crowd' % len(first))
        self.db.run('commit')

    # ------------------------------------------------------------ many rows

    def big_abort(self):
        self.begin('big_abort', 'read committed')
        part = self.r.choice(['', '', ' where id % 2 = 0', ' where id % 10 < 3'])
        for _ in range(self.r.randrange(1, 3)):
            self.db.run(self.r.choice([
                "update bulk set v = 'aborted'" + part,
                "update bulk set v = repeat('aborted', id % 20)" + part,
                'update bulk set w = -1' + part,
                'delete from bulk' + part,
                "insert into bulk select g, 'aborted', -1 from generate_series(%d, %d) g "
                % (10**6, 10**6 + self.model.bulk // 2) + "on conflict do nothing"]))
        if self.r.random() < 0.3:
            time.sleep(self.r.random())
        self.db.run('rollback')

    def bulk(self):
        self.begin('bulk', 'read committed')
        if self.r.random() < 0.3:
            self.db.run('savepoint s')
            self.db.run("update bulk set v = 'aborted', w = w + 5 where id % 3 = 0")
            self.db.run('rollback to s')
        self.db.run('update bulk set w = w + 1')
        if self.db.tags != ['UPDATE %d' % self.model.bulk]:
            raise Wrong('bulk: %s' % self.db.tags)
        self.effect('bulk')
        self.finish()

    # ------------------------------------------------------------ snapshots

    INVARIANTS = [
        ('select sum(balance), count(*) from accounts', str(ACCOUNTS * START_BALANCE), str(ACCOUNTS)),
        ("select min(w) - max(w), count(*) filter (where v <> 'clean') from bulk", '0', '0'),
        ('select (select count(*) from tags1) - (select count(*) from tags2), '
         '(select count(*) from tags1) - (select count(*) from tags3)', '0', '0'),
        ('select count(*), count(*) from child c where not exists (select from parent p where p.id = c.parent)', '0', '0'),
        ('select count(*), count(*) from (select n from copied group by n having count(*) <> %d) s' % COPIED, '0', '0'),
        ('select count(*), count(*) from queue join done using (id)', '0', '0')]

    DIGEST = 'select ' + ', '.join(
        "(select md5(coalesce(string_agg(md5(t::text), '' order by md5(t::text)), '')) from %s t)" % t
        for t in ('own', 'accounts', 'tags1', 'tags3', 'queue', 'done', 'child', 'parent'))

    def snapshot(self):
        """An old snapshot sees the same all the time, and it is consistent."""
        self.db.run('begin isolation level repeatable read')
        first = self.db.run(self.DIGEST)
        for _ in range(self.r.randrange(1, 5)):
            self.invariants('')
            time.sleep(self.r.random() * 0.5)
            self.db.run('set local enable_seqscan = %s' % self.r.choice(['on', 'off']))
            now = self.db.run(self.DIGEST)
            if now != first:
                raise Wrong('a snapshot changed: %s, then %s' % (first, now))
        self.db.run('commit')

    def invariants(self, where):
        for query, *expected in self.r.sample(self.INVARIANTS, 3):
            rows = self.db.run(query)
            if list(rows[0]) != expected:
                raise Wrong('%s%s: %s, expected %s' % (where, query, rows[0], expected))

    # ------------------------------------------------------------ without WAL

    def unlogged(self):
        self.db.run('begin')
        id = next(self.numbers)
        self.db.run("insert into unlogged select %d * 100 + g, %d, 'u' from generate_series(1, 20) g" % (id, id))
        self.db.run("update unlogged set t = repeat('u', 50), n = n where n = %d and id %% 2 = 0" % id)
        if self.db.tags != ['UPDATE 10']:
            raise Wrong('unlogged: %s' % self.db.tags)
        self.db.run(self.r.choice(['commit', 'rollback']))

    def temporary(self):
        self.db.run('create temp table if not exists temporary (id int primary key, v text)')
        self.db.run('truncate temporary')
        self.db.run("insert into temporary select g, 'one' from generate_series(1, 200) g")
        self.db.run('begin')
        self.db.run("update temporary set v = 'two' where id % 2 = 0")
        self.db.run('savepoint s')
        self.db.run("update temporary set v = repeat('x', 100), id = -id")
        self.db.run('delete from temporary where id % 3 = 0')
        self.db.run('rollback to s')
        how = self.r.choice(['commit', 'rollback'])
        self.db.run(how)
        found = self.db.run("select count(*), count(*) filter (where v = 'two') from temporary where id > 0")[0]
        expected = ('200', '100' if how == 'commit' else '0')
        if found != expected:
            raise Wrong('temporary table: %s, expected %s' % (found, expected))

    ACTIONS = [('own', 30), ('look', 5), ('transfer', 20), ('tag', 12), ('forget', 2), ('family', 10),
               ('put', 5), ('take', 5), ('copy', 4), ('widen', 4), ('truncate', 3), ('big_abort', 1),
               ('bulk', 0.3), ('snapshot', 2), ('unlogged', 3), ('temporary', 1), ('finish_prepared', 8)]
    CROWDED = [('crowd', 8), ('crowd_one', 16), ('crowd_cursor', 2), ('crowd_abort', 2), ('crowd_hold', 0.7),
               ('finish_prepared', 4)]


class Chores(Client):
    """The client that looks after the tables: VACUUM and DDL."""

    TABLES = ('journal', 'accounts', 'tags1', 'tags2', 'tags3', 'own', 'parent', 'child', 'queue',
              'done', 'bulk', 'copied', 'wide', 'crowd')

    def table(self):
        return self.r.choice(self.TABLES)

    def rest(self):
        time.sleep(self.r.random() * 0.5)

    def vacuum(self):
        self.db.run('vacuum %s %s' % (self.r.choice(['', '(analyze)', '(index_cleanup on)', '(freeze)']), self.table()))

    def vacuum_undo(self):
        self.db.run('vacuum zheap.undo')

    def vacuum_full(self):
        self.db.run('vacuum full ' + self.table())

    def cluster(self):
        table = self.r.choice(['accounts', 'own', 'bulk', 'journal', 'child', 'tags1', 'wide'])
        self.db.run('cluster %s using %s_pkey' % (table, table))

    def checkpoint(self):
        self.db.run('checkpoint')

    INDEXES = [('x_own', 'own (u)'), ('x_own_t', 'own (md5(t))'), ('x_accounts', 'accounts (filler, id)'),
               ('x_tags', 'tags2 (pad, n)'), ('x_bulk', 'bulk (v, id)'), ('x_wide', 'wide (k)'),
               ('x_copied', 'copied (i)'), ('x_crowd', 'crowd (n, id)')]

    def index(self):
        name, what = self.r.choice(self.INDEXES)
        concurrently = self.r.choice(['', '', 'concurrently'])
        if self.db.run("select from pg_class where relname = '%s'" % name):
            self.db.run('drop index %s %s' % (concurrently, name))
        else:
            try:
                self.db.run('create index %s %s on %s' % (concurrently, name, what))
            except SqlError:
                if concurrently:
                    self.db.run('drop index if exists ' + name)
                raise

    def reindex(self):
        self.db.run('reindex table ' + self.table())

    def rewrite(self):
        self.db.run('alter table own alter column u type ' + self.r.choice(['int', 'bigint']))

    def column(self):
        """A column with a default comes, or goes."""
        if self.prepared:
            return self.finish_prepared()
        self.begin('column', 'read committed')
        if len(self.model.columns) > 5:
            name = self.r.choice(sorted(self.model.columns))
            self.db.run('alter table wide drop column ' + name)
            self.effect('column', name, None)
        else:
            name = 'c%d' % self.t.n
            self.db.run('alter table wide add column %s int default %d' % (name, self.t.n % 1000))
            self.effect('column', name, str(self.t.n % 1000))
        self.finish()

    def new_table(self):
        self.db.run('begin')
        self.db.run('create table made as select * from bulk where id <= 1000')
        self.db.run('create index on made (w, id)')
        self.db.run("update made set v = 'made', w = 7 where id % 2 = 0")
        found = self.db.run("select count(*), count(*) filter (where v = 'made'), min(w) filter (where id % 2 = 0) from made")[0]
        if found != ('1000', '500', '7'):
            raise Wrong('new table: %s' % (found,))
        if self.r.random() < 0.5:
            self.db.run('drop table made')
        else:
            self.db.run('alter table made rename to made_%d' % next(self.numbers))
        self.db.run(self.r.choice(['commit', 'commit', 'rollback']))
        for (name,) in self.db.run("select relname from pg_class where relname ~ '^made_\\d+$' order by random() limit 1"):
            self.db.run('drop table ' + name)

    ACTIONS = [('vacuum', 8), ('vacuum_undo', 1), ('vacuum_full', 4), ('cluster', 3), ('checkpoint', 4),
               ('index', 6), ('reindex', 2), ('rewrite', 1), ('column', 3), ('new_table', 3),
               ('rest', 20), ('finish_prepared', 5)]
    CROWDED = []


class Reader(Client):
    """On a standby: snapshots only."""

    def new_snapshot(self):
        self.db.run('begin isolation level repeatable read')
        self.invariants('standby: ')
        self.db.run('commit')
        time.sleep(self.r.random() * 0.3)

    ACTIONS = [('snapshot', 1), ('new_snapshot', 3)]
    CROWDED = [('crowd_hold', 1)]


def differences(expected, found):
    """Some of them."""
    lines = []
    for key in sorted(set(expected) | set(found), key=str):
        if expected.get(key) != found.get(key):
            lines.append('%s: expected %s, found %s' % (key, expected.get(key), found.get(key)))
    return '; '.join(lines[:8]) + ('; %d in all' % len(lines) if len(lines) > 8 else '')
