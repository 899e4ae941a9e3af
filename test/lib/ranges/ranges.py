#!/usr/bin/env python3
"""Ranges of dead index entries: random changes by several sessions, and queries that must give the
same whether scans pass by such ranges or not, and as a scan of the table.  Called by test/ranges.

One schedule after the other, each with a seed of its own.  In a schedule the sessions take their
steps in turn, so that it can be run again; with --at-once each has a thread.  Steps are those of
queues (rows come at one end and go at the other) and of keys that change and come back, in
transactions with savepoints, prepared ones, those rolled back.  Some schedules have indexes of other kinds, too (KINDS).  A query is run three times within
one snapshot; a cursor is compared with its query at the time when it was declared.
"""

import argparse
import os
import random
import re
import sys
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
from wire import Lost, Session

ROWS = 2500
PLAIN = ('set enable_seqscan = off; set enable_bitmapscan = %s; set enable_indexscan = %s; set enable_sort = off; '
         'set enable_hashjoin = off; set enable_material = off; set enable_nestloop = %s; '
         'set enable_mergejoin = %s; set enable_indexonlyscan = %s; ')
WHOLE = ('set enable_seqscan = on; set enable_indexscan = off; set enable_indexonlyscan = off; '
         'set enable_bitmapscan = off; set enable_sort = on; set enable_hashjoin = on; ')
BACK = 'set enable_indexscan = on; '

SETUP = """
drop table if exists t, o cascade;
create table t (id int, k int, d int, s text, pad text, n numeric, e text, j jsonb, p point, q numrange) using zheap;
create unique index t_id on t (id);
create index t_k on t (k) with (deduplicate_items = %s);
create index t_d on t (d desc nulls first) with (deduplicate_items = %s);
create index t_s on t (s desc nulls first, k) with (deduplicate_items = %s);
create index t_dk on t (d, k desc) with (deduplicate_items = %s);
create table o (k int) using zheap;
create index o_k on o (k);
insert into t select g, g, %s, %s, repeat('x', %d), %s from generate_series(1, %d) g;
insert into o select g / 3 * 40 from generate_series(1, %d) g;
"""
D = 'case when g %% 7 <> 0 then g / %d end'
S = "case when g %% 10 <> 0 then 's' || lpad((g %% 3000)::text, 6, '0') || repeat('y', g %% %d) end"

# of the columns after pad; equal numbers differ in their scale
OTHERS = ("g / 10 * case g % 3 when 0 then 1 when 1 then 1.0 else 1.00 end, case when g % 20 = 0 then 'pending' else 'done' end, "
          "jsonb_build_object('a', g % 50, 't', array['t' || g % 7, 'u' || g % 300]), point(g % 100, g / 100), "
          "numrange(g / 10, g / 10 + case g % 2 when 0 then 1 else 1.0 end)")
KINDS = ['(n)', '(n) include (e)', '(d) include (n)', '(n, k)', '((n * 2))', "(k, id) where e = 'pending'", "(k, id) where e = 'pending'",
         "(n) where e <> 'done'", '(e, k)', '(lower(s))', '(q)', '(j)', 'using hash (n)', 'using hash (d)', 'using hash (e)', 'using gin (j)',
         'using gin (j jsonb_path_ops)', 'using gin (j) with (fastupdate = off)', 'using gist (p)', 'using gist (p) include (n)', 'using spgist (p)',
         'using gist (q)', 'using spgist (q)', "using gist (p) where e = 'pending'", "using hash (n) where e = 'pending'"]
KIND_CHANGES = ['n = n + 1', 'n = n - 1', 'n = n * 1.00', 'n = trim_scale(n)', 'n = id / 10', "e = 'pending'", "e = 'running'", "e = 'done'", "e = 'done'",
                's = upper(s)', 's = lower(s)', "j = jsonb_set(j, '{a}', to_jsonb(id % 50))", "j = jsonb_set(j, '{a}', to_jsonb(7))",
                "j = jsonb_set(j, '{a}', to_jsonb(7.0))", "j = jsonb_set(j, '{t,0}', '\"t1\"')", 'p = point(p[1], p[0])', 'p = point(id % 100, id / 100)',
                'q = numrange(id / 10, id / 10 + 1)', 'q = numrange(lower(q) * 1.0, upper(q))', "q = 'empty'"]


class Run:
    """What the schedules have in common."""

    def __init__(self, args):
        self.args = args
        self.findings = []
        self.counts = {}
        self.lock = threading.Lock()

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def connect(self, lock_timeout='20ms'):
        return Session(self.args.host, self.args.port, self.args.database,
                       '-c lock_timeout=%s -c cursor_tuple_fraction=1 '
                       '-c max_parallel_workers_per_gather=0 -c jit=off' % lock_timeout)


class Cursor:
    def __init__(self, name, sql, rows, hold):
        self.name, self.sql, self.rows, self.hold = name, sql, rows, hold
        self.at = 0                 # so many rows are before it, or it is on the one before that
        self.behind = False         # on no row: behind the last one

    def fetch(self, count):
        """What FETCH FORWARD or BACKWARD gives, by the rows at its declaration."""
        if count > 0:
            got = self.rows[self.at:self.at + count]
            self.behind = self.at + count > len(self.rows)
            self.at = min(self.at + count, len(self.rows))
            return got
        # the row that it is on does not come again, unless it is behind the last
        top = self.at if self.behind else max(self.at - 1, 0)
        got = self.rows[max(top + count, 0):top][::-1]
        self.at = max(top + count, -1) + 1
        self.behind = False
        return got


class Worker:
    def __init__(self, schedule, number):
        self.schedule, self.number = schedule, number
        self.run = schedule.run
        self.r = random.Random('%d %d' % (schedule.seed, number))
        self.db = self.run.connect()
        self.cursors = []
        self.open = None            # the isolation level of the transaction
        self.saved = 0
        self.names = 0

    # ------------------------------------------------------------ statements

    def send(self, sql):
        """The last statement's rows, or None after an error."""
        self.schedule.log.append('s%d: %s' % (self.number, re.sub(r'set (enable\w+) = (\w+); ', r'', sql)))
        self.db.send(sql)
        self.db.wait(300)
        rows = []
        for item in self.db.take():
            if item[0] == 'error':
                self.schedule.log.append('    %s %s' % (item[1], item[2]))
                self.run.count('error ' + item[1])
                if item[1].startswith('XX'):
                    self.schedule.finding('s%d: %s: %s' % (self.number, sql, item[2]))
                return None
            if item[0] == 'row':
                rows.append(item[1])
        return rows

    def change(self, sql):
        if self.send(sql) is not None:
            return
        if self.open and self.saved and self.r.random() < 0.7:
            self.send('rollback to a')
        elif self.open:
            self.end('rollback')

    def begin(self):
        level = self.r.choice(['read committed', 'repeatable read', 'repeatable read', 'serializable'])
        self.open = level
        self.saved = 0
        self.send('begin isolation level %s; select 1' % level)

    def end(self, how):
        if self.send(how) is None and how != 'rollback':
            self.send('rollback')
            how = 'rollback'
        self.open = None
        self.cursors = [c for c in self.cursors if c.hold and how == 'commit']

    def prepare(self):
        name = 'p%d_%d' % (self.number, self.names)
        self.names += 1
        if self.send("prepare transaction '%s'" % name) is not None:
            self.schedule.prepared.append(name)
        self.open = None
        self.cursors = []

    # ------------------------------------------------------------ changes

    def span(self, width):
        low = self.r.randint(-200, ROWS * 2)
        return low, low + self.r.randint(0, width)

    def step_change(self):
        r = self.r
        low, high = self.span(r.choice([0, 5, 100, 800]))
        if self.schedule.kinds and r.random() < 0.4:
            return self.change_kinds(low, high)
        kind = r.randrange(10)
        if kind < 2:
            self.change('delete from t where id between %d and %d' % (low, high))
        elif kind < 4:
            self.change('delete from t where id in (select id from t order by k limit %d for update skip locked)'
                        % r.choice([1, 20, 200, 1000]))
        elif kind < 5:
            self.change("insert into t select g, g, %s, %s, 'new', %s from generate_series(%d, %d) g on conflict do nothing"
                        % (D % 20, S % 40, OTHERS, low, min(high, low + 300)))
        elif kind < 6:
            self.change("insert into t select g, g, %s, %s, 'end', %s from (select max(id) m from t) x, generate_series(m + 1, m + %d) g on conflict do nothing"
                        % (D % 20, S % 40, OTHERS, r.choice([1, 50, 400])))
        elif kind < 8:
            self.change('update t set k = k + %d where id between %d and %d'
                        % (r.choice([1, 5, -700, 3000]), low, high))
        elif kind < 9:
            self.change('update t set k = id where id between %d and %d' % (low, high))
        else:
            self.change('update t set %s where id between %d and %d' % (
                r.choice(['d = d + 1', 'd = null', 'd = id / 20', 's = null', "s = 's' || id",
                          "pad = repeat('z', %d)" % r.choice([1, 300])]), low, high))

    def change_kinds(self, low, high):
        r = self.r
        if r.random() < 0.3:
            self.change("update t set e = '%s' where id in (select id from t where e = '%s' order by k, id limit %d for update skip locked)"
                        % (*r.choice([('running', 'pending'), ('running', 'pending'), ('done', 'running')]), r.choice([1, 20, 200])))
        else:
            self.change('update t set %s where id between %d and %d' % (', '.join(
                {x.split(' = ')[0]: x for x in r.sample(KIND_CHANGES, r.choice([1, 1, 2]))}.values()), low, high))

    def step_savepoint(self):
        if not self.open:
            return
        if self.saved and self.r.random() < 0.6:
            self.send('rollback to a')
        else:
            self.send('savepoint a')
            self.saved = 1

    def step_transaction(self):
        r = self.r
        if self.open:
            if r.random() < 0.1:
                self.prepare()
            else:
                self.end(r.choice(['commit', 'commit', 'rollback']))
        else:
            self.begin()

    def step_prepared(self):
        name = None if self.open else self.schedule.take_prepared(self.r)
        if name is None:
            return
        self.send("%s prepared '%s'" % (self.r.choice(['commit', 'rollback']), name))

    def step_maintain(self):
        # VACUUM waits for pins of cursors, and no timeout ends that
        if self.open or not self.run.args.at_once and any(w.cursors for w in self.schedule.workers):
            return
        self.send(self.r.choice(['vacuum t', 'reindex table t', 'reindex index t_k', 'vacuum t',
                                 'begin; truncate t; insert into t select g, g from generate_series(1, 50) g; rollback',
                                 'begin; reindex table t; insert into t values (-99, -99); rollback',
                                 "do $$ begin for i in 1..40 loop perform pg_current_xact_id(); commit; end loop; end $$"]))
        if self.db.status != 'I':
            self.send('rollback')

    # ------------------------------------------------------------ queries

    def query(self):
        """A query, and whether a scan of the table gives the same rows."""
        r = self.r
        if self.schedule.kinds and r.random() < 0.4:
            return self.query_kinds(), True
        low, high = self.span(r.choice([10, 300, 2000, 6000]))
        dlow, dhigh = sorted((low // 20, high // 20))
        limit = r.choice(['', '', ' limit %d' % r.choice([1, 1, 3, 50])])
        down = r.choice(['', ' desc'])
        end = r.choice(['', '::bigint', '::smallint'])
        sql = r.choice([
            'select id, k from t where k > %d%s order by k%s' % (low, end, down),
            'select id, k from t where k between %d and %d%s order by k%s' % (low, high, end, down),
            'select k from t where k >= %d order by k%s' % (low, down),
            'select id, pad from t order by id%s' % down,
            'select id from t where id > %d order by id%s' % (low, down),
            'select id, d from t where d between %d and %d order by d%s' % (dlow, dhigh, down),
            'select id, d from t where d <= %d order by d%s' % (dhigh, down),
            'select id, d from t where d is null order by d',
            'select id, d from t order by d%s' % (' nulls last' if not down else ' desc nulls first'),
            'select id, s from t where s is null order by s%s, k' % (' desc nulls first' if not down else ' nulls last'),
            "select id, s from t where s >= 's%06d' order by s desc nulls first, k" % (low % 3000),
            "select id, s from t where s = 's%06d' and k > %d order by k" % (low % 3000, high),
            'select id, d, k from t where d = %d and k < %d order by k desc' % (dlow, high),
            'select id, d, k from t where d > %d order by d, k desc' % dlow,
            'select id, d, k from t where (d, k) >= (%d, %d) order by d' % (dlow, low),
            'select id, k from t where k in (%d, %d, %d, %d) order by k' % (low, low + 1, high, high + 40),
            'select id, k from t where k = any (array[%d, %d]) and d is not null order by k%s' % (low, high, down),
            'select min(k), max(k), min(id), max(id), min(d), max(d) from t where k > %d' % low,
            'select o.k, t.id, t.k from o join t on t.k = o.k order by o.k%s' % down,
            'select o.k, t.id, t.d from o join t on t.d = o.k where o.k > %d order by o.k' % dlow])
        if sql.startswith('select min'):
            limit = ''
        return sql + limit, not limit

    def query_kinds(self):
        """One whose answer is the same in any order of the rows, or has a total order."""
        r = self.r
        low, high = (x // 10 for x in self.span(r.choice([0, 10, 300, 2000])))
        x, y = r.randint(0, 60), r.randint(0, 40)
        return r.choice([
            'select id, n from t where n = %d' % low, 'select n from t where n between %d and %d order by n' % (low, high),
            'select n, k from t where n > %d order by n desc, k desc' % high, 'select n, e from t where n between %d and %d' % (low, high),
            'select d, n from t where d between %d and %d' % (low, high), 'select id, d from t where d = %d' % low,
            'select id, n from t where n * 2 = %d' % (2 * low), "select id, n from t where n between %d and %d and e <> 'done'" % (low, high),
            "select k, id from t where e = 'pending' order by k, id limit %d" % r.choice([1, 20, 5000]),
            "select k, id, n from t where e = 'pending' and k > %d order by k desc, id desc limit 30" % low,
            "select id, n, k from t where n = %d and e = 'pending'" % low,
            "select id, e from t where e = '%s'" % r.choice(['running', 'pending', 'done']), "select e, k from t where e < 'running' order by e, k",
            "select id, s from t where lower(s) between 's%06d' and 's%06d'" % (low, high), 'select id, q from t where q @> %d.5' % low,
            'select q from t where q && numrange(%d, %d)' % (low, high + 1), 'select q from t where q >= numrange(%d, null) order by q' % low,
            'select id, j from t where j @> \'{"a": %d}\'' % (x % 50), 'select id, j from t where j @> \'{"t": ["t%d", "u%d"]}\'' % (x % 7, x),
            'select id from t where j ? \'a\'', 'select id, j from t where j = jsonb_build_object(\'a\', %d, \'t\', array[\'t1\', \'u%d\'])' % (x % 50, x),
            "select id, p from t where p <@ box '(%d,%d),(%d,%d)'" % (x, y, x + 20, y + 10), "select p, n from t where p <@ box '(%d,%d),(%d,%d)'" % (x, y, x + 5, y + 5),
            "select p <-> '(%d,%d)' as far from t order by far limit %d" % (x, y, r.choice([1, 20, 500])),
            "select id, p <-> '(%d,%d)' as far from t order by far" % (x, y),
            "select p <-> '(%d,%d)' as far, n from t where e = 'pending' order by far, n" % (x, y)])

    def plain(self, r):
        join = r.choice(['on', 'off'])
        bitmap = 'on' if self.schedule.kinds and r.random() < 0.4 else 'off'
        return PLAIN % (bitmap, 'off' if bitmap == 'on' else 'on', join, 'off' if join == 'on' else 'on', r.choice(['on', 'off']))

    def differs(self, what, sql, got, right):
        if got is None or right is None or got == right:
            return
        self.schedule.finding('s%d, %s: %s\n  too many: %s\n  missing: %s\n  %d rows, not %d' % (
            self.number, what, sql, sorted(set(got) - set(right), key=str)[:10],
            sorted(set(right) - set(got), key=str)[:10], len(got), len(right)))

    def certain(self, sql, rows):
        """What no deduplication beside the scans changes (is_alike)."""
        if not rows or not self.run.args.at_once:
            return rows
        if ' limit ' in sql:
            at = self.order_at(sql)
            return [(x[at] if at is not None else '',) for x in rows]
        return sorted(rows, key=str)

    @staticmethod
    def order_at(sql):
        """Which column has the first key of the order; None: none."""
        if ' order by ' not in sql:
            return None
        columns = [c.split(' as ')[-1] for c in re.split(r', ?(?![^(]*\))', re.match('select (.*?) from', sql).group(1))]
        first = re.split('[ ,]', sql.split(' order by ')[1])[0]
        return columns.index(first) if first in columns else None

    def step_check(self):
        r = self.r
        alone = not self.open
        if self.run.args.at_once and self.open == 'read committed':
            return
        if alone:
            self.send('begin isolation level repeatable read')
        plain = self.plain(r)
        for sql, whole in [self.query() for _ in range(r.randint(1, 3))]:
            right = self.send('set zheap.skip_dead_entries = off; ' + plain + sql)
            for time in range(3):
                got = self.send('set zheap.skip_dead_entries = on; ' + plain + sql)
                self.differs('with ranges', sql, self.certain(sql, got), self.certain(sql, right))
            if whole and right is not None:
                got = self.send(WHOLE + sql)
                self.send(BACK + 'select 1')
                self.differs('by the table', sql, right and sorted(right, key=str),
                             got and sorted(got, key=str))
            self.run.count('queries')
        if alone:
            self.send(r.choice(['commit', 'rollback']))

    def step_declare(self):
        r = self.r
        if not self.open or len(self.cursors) > 3 or \
           self.run.args.at_once and self.open == 'read committed':
            return
        sql = self.query()[0].split(' limit ')[0]
        if ' order by ' not in sql and not self.schedule.kinds:
            return
        plain = self.plain(r)
        right = self.send('set zheap.skip_dead_entries = off; ' + plain + sql)
        name = 'c%d' % self.names
        self.names += 1
        hold = r.random() < 0.2
        if right is None or self.send('set zheap.skip_dead_entries = on; %s declare %s scroll cursor %s for %s' % (
                plain, name, 'with hold' if hold else '', sql)) is None:
            return
        self.cursors.append(Cursor(name, sql, right, hold))

    def step_fetch(self):
        r = self.r
        if not self.cursors:
            return
        cursor = r.choice(self.cursors)
        count = r.choice([1, 1, 2, 30, 300, 300, 5000]) * r.choice([1, 1, 1, 1, -1])
        right = cursor.fetch(count)
        got = self.send('fetch %s %d from %s' % ('forward' if count > 0 else 'backward', abs(count), cursor.name))
        if got is None:
            # its transaction, or a part that it was declared in, is over
            self.cursors.remove(cursor)
            if self.open:
                self.end('rollback')
            return
        self.run.count('fetches')
        if not self.is_alike(cursor, got, right):
            self.differs('cursor %s' % cursor.name, cursor.sql, got, right)

    @staticmethod
    def is_alike(cursor, got, right):
        """The planner may take another index for the cursor than for the query, and a scan that goes
        backward comes to rows of one key in an order that deduplication changes."""
        at = Worker.order_at(cursor.sql)
        rows = set(cursor.rows)
        return len(got) == len(right) and rows.issuperset(got) and \
            (len(rows) < len(cursor.rows) or len(set(got)) == len(got)) and \
            (at is None or [x[at] for x in got] == [x[at] for x in right])

    STEPS = [(24, step_change), (4, step_savepoint), (7, step_transaction), (2, step_prepared),
             (1, step_maintain), (16, step_check), (14, step_declare), (40, step_fetch)]

    def step(self):
        weights = [w for w, _ in self.STEPS]
        self.r.choices(self.STEPS, weights)[0][1](self)

    def close(self):
        if self.open:
            self.end('rollback')
        self.db.close()


class Schedule:
    def __init__(self, run, seed):
        self.run, self.seed = run, seed
        self.r = random.Random(seed)
        self.log = []
        self.prepared = []
        self.found = 0
        self.kinds = self.r.sample(KINDS, self.r.choice([0, 2, 4]))

    def finding(self, text):
        with self.run.lock:
            self.found += 1
            self.run.findings.append(text)
            print('FINDING, seed %d: %s' % (self.seed, text), flush=True)

    def take_prepared(self, r):
        """A prepared transaction's name, for one session only; None: there is none."""
        with self.run.lock:
            return self.prepared.pop(r.randrange(len(self.prepared))) if self.prepared else None

    def setup(self, db):
        r = self.r
        db.query(SETUP % ((r.choice(['on', 'off']),) * 4 + (D % r.choice([3, 20, 400]), S % r.choice([1, 40, 150]), r.choice([1, 40, 400]), OTHERS,
                          ROWS, ROWS // 20)), timeout=300)
        for i in self.kinds:
            db.query('create index on t ' + i)
        db.query('vacuum analyze t, o')

    @staticmethod
    def rollback_prepared(db):
        for (name,) in db.query('select gid from pg_prepared_xacts'):
            db.query("rollback prepared '%s'" % name)

    def go(self):
        db = self.run.connect(lock_timeout='0')
        self.rollback_prepared(db)
        self.setup(db)
        workers = self.workers = [Worker(self, n) for n in range(1, self.run.args.sessions + 1)]
        changed = self.r.choice([0, 50, 100, 100, 100])
        for w in workers:
            w.send('set zheap.max_changed_indexes = %d' % changed)
        # the entries that it needs stay
        old = self.run.connect(lock_timeout='0')
        old.query('begin isolation level repeatable read; select count(*) from t')
        if self.run.args.at_once:
            threads = [threading.Thread(target=self.steps, args=(w, self.run.args.length))
                       for w in workers]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        else:
            for _ in range(self.run.args.length * len(workers)):
                self.r.choice(workers).step()
                if self.r.random() < 0.01:
                    old.query('commit; begin isolation level repeatable read; select count(*) from t')
        if self.found and not self.run.args.at_once:
            print('\n'.join(line[:300] for line in self.log), flush=True)
        for w in workers:
            w.close()
        old.close()
        # not by the names that sessions know: PREPARE of a failed transaction rolls it back without an error
        self.rollback_prepared(db)
        db.query("select bt_index_check(indexrelid, true) from pg_index join pg_class c on c.oid = indexrelid "
                 "where indrelid = 't'::regclass and relam = (select oid from pg_am where amname = 'btree')",
                 timeout=300)
        passed = db.query("select coalesce(sum(dead_entries_passed), 0) from zheap.zheap_stat_tables where relname in ('t', 'o')")
        self.run.count('passed', int(float(passed[0][0])))
        db.close()

    def steps(self, worker, n):
        try:
            for _ in range(n):
                worker.step()
            # another session's VACUUM would wait for its cursors' pins for ever
            if worker.open:
                worker.end('rollback')
        except Exception as e:
            self.finding('s%d ended: %r' % (worker.number, e))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--host', required=True)
    p.add_argument('--port', required=True)
    p.add_argument('--database', default='postgres')
    p.add_argument('--seed', type=int, required=True)
    p.add_argument('--count', type=int, default=10 ** 9, help='schedules')
    p.add_argument('--seconds', type=float, default=10 ** 9)
    p.add_argument('--sessions', type=int, default=4)
    p.add_argument('--length', type=int, default=100, help='steps of a session')
    p.add_argument('--at-once', action='store_true', help='each session in a thread')
    p.add_argument('--max', type=int, default=1, help='stop after so many findings')
    args = p.parse_args()
    run = Run(args)
    begin = time.time()
    done = 0
    while done < args.count and time.time() < begin + args.seconds and len(run.findings) < args.max:
        schedule = Schedule(run, args.seed + done)
        try:
            schedule.go()
        except (Lost, RuntimeError, TimeoutError) as e:
            print('\n'.join(line[:300] for line in schedule.log[-60:]), flush=True)
            schedule.finding('%r' % e)
        done += 1
    print(' '.join('%s:%d' % x for x in sorted(run.counts.items())))
    print('%d schedules, %d queries, %d fetches, %d entries passed by, %d findings' % (
        done, run.counts.get('queries', 0), run.counts.get('fetches', 0),
        run.counts.get('passed', 0), len(run.findings)))
    sys.exit(1 if run.findings or not run.counts.get('passed') else 0)


if __name__ == '__main__':
    main()
