"""Sessions of the races: clients that change their own tables, and chores beside them."""

import random
import threading

from server import Lost, SqlError

GROUPS = 4                      # of tables, per client; a prepared transaction holds one
TABLES = 2                      # per group
IDS = 150

# lock timeout, deadlock, cancelled
EXPECTED = {'55P03', '40P01', '57014'}


class Findings:
    def __init__(self):
        self.list = []
        self.round = 0
        self.wrong = 0

    def add(self, text, wrong=False):
        self.list.append(text)
        self.wrong += wrong
        print('FINDING in round %d: %s\n' % (self.round, text[:3000]), end='', flush=True)


def same(db, table):
    """What is wrong with the table, compared with its twin; or None."""
    digest = '(select row(count(*), sum(hashtextextended(t::text, 0)::numeric)) from %s t)'
    if db.value('select %s is not distinct from %s' % (digest % table, digest % (table + '_twin'))) == 't':
        return None
    only = 'select t::text from %s t except all select t::text from %s t'
    return '%s: too many %s, missing %s' % (
        table, db.run(only % (table, table + '_twin') + ' limit 10'),
        db.run(only % (table + '_twin', table) + ' limit 10'))


class Session(threading.Thread):
    def __init__(self, number, server, seed, findings):
        super().__init__(daemon=True)
        self.number, self.server, self.findings = number, server, findings
        self.r = random.Random(seed)
        self.counts = {}
        self.db = None

    def run(self):
        try:
            self.db = self.server.connect('-c lock_timeout=5s -c statement_timeout=100s '
                                          '-c max_parallel_workers_per_gather=0')
            self.work()
            self.db.close()
        except (Lost, OSError):
            pass
        except Exception as e:          # a defect of the test: not to be lost in a thread
            self.findings.add('%s %d: %s: %r' % (type(self).__name__, self.number, type(e).__name__, e))

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def expected(self, error):
        if error.code not in EXPECTED:
            self.findings.add('%s %d: %s' % (type(self).__name__, self.number, error))
        self.count('error ' + error.code)
        if self.db.status != 'I':
            self.db.run('rollback')


class Client(Session):
    def __init__(self, number, server, seed, findings, left, alone):
        super().__init__(number, server, seed, findings)
        self.left = left                # transactions that clients may still do
        self.alone = alone              # nobody else keeps the horizon back
        self.done = 0
        self.prepared = {}              # group: gid

    def work(self):
        self.make()
        while self.left.acquire(blocking=False):
            group = self.r.randrange(GROUPS)
            if group in self.prepared:
                self.end_prepared(group)
            try:
                self.transaction(group)
            except SqlError as e:
                self.expected(e)
            self.done += 1

    def names(self, group):
        return ['races_%d_%d' % (self.number, group * TABLES + t) for t in range(TABLES)]

    def both(self, table, sql):
        """The same to the table and its twin."""
        self.db.run(sql.replace('TABLE', table) + '; ' + sql.replace('TABLE', table + '_twin'))

    def create(self, table):
        columns = '(id int constraint %s_pkey primary key, n int, f text)'
        self.db.run('create table %s %s using zheap; create table %s_twin %s using heap' % (
            table, columns % table, table, columns % (table + '_twin')))

    def make(self):
        there = {t for (t,) in self.db.run('select relname from pg_class')}
        for group in range(GROUPS):
            for table in self.names(group):
                if table not in there:
                    self.create(table)

    # ------------------------------------------------------------ transactions

    def transaction(self, group):
        self.tables = {t: True for t in self.names(group)}      # may they be written?
        self.db.run('begin')
        for t in self.tables:
            wrong = same(self.db, t)
            if wrong:
                self.findings.add('client %d: %s' % (self.number, wrong), wrong=True)
        self.savepoints = 0
        for _ in range(self.r.randrange(1, 3 if self.alone else 7)):
            self.step()
        how = self.r.choices(['commit', 'rollback', 'prepare'], [1, 1, 5] if self.alone else [4, 4, 5])[0]
        if how == 'prepare':
            gid = 'client %d, group %d' % (self.number, group)
            self.db.run("prepare transaction '%s'" % gid)
            self.prepared[group] = gid
            if self.alone or self.r.random() < 0.5:
                self.end_prepared(group)
        else:
            self.db.run(how)
        self.count(how)

    def end_prepared(self, group):
        how = self.r.choice(['commit', 'commit', 'rollback'])
        self.db.run("%s prepared '%s'" % (how, self.prepared.pop(group)))
        self.count(how + ' prepared')

    def step(self):
        kind = self.r.random()
        if kind < 0.25:
            self.savepoint()
            return
        if kind < 0.4 and self.savepoints:
            self.rollback_to()
            return
        writable = [t for t in self.tables if self.tables[t]]
        if not writable:
            return
        names, weights = zip(*(self.STEPS + self.NEW_FILES * (10 if self.alone else 1)))
        name = self.r.choices(names, weights)[0]
        getattr(self, name)(self.r.choice(writable))
        self.count(name)

    def savepoint(self):
        self.db.run('savepoint s%d' % self.savepoints)
        self.savepoints += 1
        self.count('savepoint')

    def rollback_to(self):
        to = self.r.randrange(self.savepoints)
        self.db.run('rollback to s%d' % to)
        self.savepoints = to + 1        # those made after it are gone
        self.count('rollback to')

    # ------------------------------------------------------------ steps

    def some(self):
        a = self.r.randrange(IDS)
        return 'id between %d and %d' % (a, a + self.r.choice([0, 5, IDS]))

    def insert(self, table):
        self.both(table, "insert into TABLE select g, %d, repeat('%s', %d) from generate_series(0, %d) g where %s on conflict do nothing" % (
            self.r.randrange(1000), self.r.choice('abc'), self.r.choice([1, 40, 300]), IDS, self.some().replace('id', 'g')))

    def update(self, table):
        self.both(table, "update TABLE set n = n + 1, f = repeat('%s', %d) where %s" % (
            self.r.choice('xyz'), self.r.choice([1, 40, 300]), self.some()))

    def move(self, table):
        self.both(table, 'update TABLE set id = -id where id > 0 and %s; update TABLE set id = -id where id < 0' % self.some())

    def delete(self, table):
        self.both(table, 'delete from TABLE where ' + self.some())

    def truncate(self, table):
        self.both(table, 'truncate TABLE')

    def truncate_in_part(self, table):
        """The new file's rows are those of a rolled back savepoint."""
        self.both(table, "truncate TABLE; savepoint part; insert into TABLE select g, 666, 'rolled back' from generate_series(1, 20) g; "
                  'rollback to part')
        if self.r.random() < 0.5:
            self.insert(table)

    def cluster(self, table):
        self.both(table, 'cluster TABLE using TABLE_pkey')

    def rewrite(self, table):
        self.both(table, 'alter table TABLE alter n type bigint using n + 1; alter table TABLE alter n type int')

    def drop(self, table):
        self.both(table, 'drop table TABLE')
        self.create(table)
        self.db.run("savepoint new; insert into %s values (1, 666, 'rolled back'); rollback to new" % table)

    def access_method(self, table):
        self.db.run('alter table %s set access method heap' % table)
        self.db.run('alter table %s set access method zheap' % table)

    def tablespace(self, table):
        """Writing to it afterwards and rolling back would leave index entries, on heap alike."""
        if self.tables[table] and self.savepoints == 0:
            place = self.r.choice(['place', 'pg_default'])
            self.both(table, 'alter table TABLE set tablespace %s; alter index TABLE_pkey set tablespace %s' % (place, place))
            self.tables[table] = False

    STEPS = [('insert', 8), ('update', 8), ('move', 2), ('delete', 4), ('truncate', 2), ('cluster', 2), ('rewrite', 1),
             ('access_method', 1), ('tablespace', 1)]
    NEW_FILES = [('truncate_in_part', 4), ('drop', 2)]      # and a part that is rolled back


class Chores(Session):
    """VACUUM of the undo relation again and again, of tables, old snapshots, readers."""

    def __init__(self, number, server, seed, findings, clients, alone):
        super().__init__(number, server, seed, findings)
        self.clients = clients
        self.alone = alone              # the client
        self.end = threading.Event()

    def work(self):
        names, weights = zip(*(self.VACUUM + ([] if self.alone else self.OTHERS)))
        while not self.end.is_set():
            name = self.r.choices(names, weights)[0]
            try:
                getattr(self, name)('races_%d_%d' % (self.r.randrange(self.clients), self.r.randrange(GROUPS * TABLES)))
                self.count(name)
            except SqlError as e:
                if e.code != '42P01':   # dropped, or not yet made
                    self.expected(e)
                elif self.db.status != 'I':
                    self.db.run('rollback')
            self.end.wait(0 if self.alone else self.r.choice([0, 0, 0.002, 0.02]))

    def vacuum_undo(self, table):
        self.db.run('vacuum zheap.undo')

    def vacuum(self, table):
        self.db.run('vacuum (%s) %s' % (self.r.choice(['analyze', 'skip_locked', 'freeze', 'full, skip_locked']), table))

    def checkpoint(self, table):
        self.db.run('checkpoint')

    def read(self, table):
        """The lock comes before the snapshot, as TRUNCATE empties the table for all."""
        self.db.run('begin isolation level repeatable read')
        self.db.run('lock table %s, %s_twin in access share mode nowait' % (table, table))
        wrong = same(self.db, table)
        if not wrong:
            self.end.wait(self.r.choice([0, 0.05, 0.3]))
            wrong = same(self.db, table)
        if wrong:
            self.findings.add('reader: ' + wrong, wrong=True)
        self.db.run('commit')

    VACUUM = [('vacuum_undo', 12), ('checkpoint', 0.2)]
    OTHERS = [('vacuum', 3), ('read', 3)]
