"""Clients that change tables as such: their own, which come, go and are rewritten, and those of all."""

import re

from client import Chores, Wrong
from model import SUMS

TABLES = 4                      # of a client, at most
PLACE = 'place'                 # a tablespace

PREPARE = "create tablespace %s location ''" % PLACE
SETTINGS = {'allow_in_place_tablespaces': 'on'}
# recovery's warning of the tablespace, and its details
HARMLESS = re.compile(r'XX001 (WARNING|DETAIL|HINT): .*(found in pg_tblspc/|entries in pg_tblspc/|allow_in_place_tablespaces)')


class Ddl(Chores):
    def place(self):
        return self.r.choice(['pg_default', PLACE])

    # ------------------------------------------------------------ tables of our own

    def mine(self, there):
        """One of our tables that no prepared transaction of ours holds, or None."""
        busy = {e[1] for t in self.prepared for e in t.effects if e[0] == 'made'}
        names = ['ddl_%d_%d' % (self.number, i) for i in range(TABLES)]
        with self.model.lock:
            names = [t for t in names if t not in busy and (t in self.model.made) == there]
        return self.r.choice(names) if names else None

    def fill(self, table):
        self.db.run("insert into %s select g, g %% 7, repeat('%s', %d) from generate_series(1, %d) g on conflict do nothing" % (
            table, self.r.choice('abc'), self.r.choice([1, 40, 1200]), self.r.choice([1, 30, 400])))

    def write(self, table):
        """Some changes, of which a part may be rolled back."""
        for _ in range(self.r.randrange(3)):
            undone = self.r.random() < 0.3
            if undone:
                self.db.run('savepoint s')
            what = self.r.choice(['fill', 'update', 'delete', 'move'])
            if what == 'fill':
                self.fill(table)
            elif what == 'update':
                self.db.run("update %s set n = n + 1, t = repeat('u', %d) where id %% 3 = 0" % (table, self.r.randrange(300)))
            elif what == 'delete':
                self.db.run('delete from %s where id %% 5 = %d' % (table, self.r.randrange(5)))
            else:
                self.db.run('update {0} t set id = -id where id between 1 and 20 and not exists (select from {0} o where o.id = -t.id)'
                            .format(table))
            if undone:
                self.db.run('rollback to s')

    def tell(self, table):
        self.effect('made', table, tuple(self.db.run(SUMS % table)[0]))

    def changed(self, kind, *statements):
        """One of our tables is changed; what it then contains is told by a scan, and must be what it did before."""
        table = self.mine(True)
        if table is None:
            return self.create()
        self.begin(kind, 'read committed')
        if self.r.random() < 0.5:
            self.write(table)
        before = self.db.run(SUMS % table)
        for s in statements:
            self.db.run(s.format(table=table, place=self.place()))
        if kind != 'empty' and self.db.run(SUMS % table) != before:
            raise Wrong('%s of %s: %s before, %s after' % (kind, table, before, self.db.run(SUMS % table)))
        if self.r.random() < 0.5:
            self.write(table)
        self.tell(table)
        self.finish()

    def create(self):
        table = self.mine(False)
        if table is None:
            return
        self.begin('create', 'read committed')
        self.db.run('create table %s (id int primary key, n int, t text) using zheap tablespace %s' % (table, self.place()))
        self.fill(table)
        self.write(table)
        if self.r.random() < 0.5:
            self.db.run('create index on %s (n, id)' % table)
        self.tell(table)
        self.finish()

    def drop(self):
        table = self.mine(True)
        if table is None:
            return
        self.begin('drop', 'read committed')
        if self.r.random() < 0.5:
            self.write(table)
        self.db.run('drop table ' + table)
        self.effect('made', table, None)
        self.finish()

    def empty(self):
        self.changed('empty', 'truncate {table}')

    def retype(self):
        self.changed('retype', 'alter table {table} alter n type bigint', 'alter table {table} alter n type int')

    def move(self):
        """Writing to it before or afterwards and rolling back leaves index entries, on heap alike."""
        table = self.mine(True)
        if table is None:
            return self.create()
        self.begin('move', 'read committed')
        self.db.run('alter table %s set tablespace %s' % (table, self.place()))
        self.db.run('alter index %s_pkey set tablespace %s' % (table, self.place()))
        self.tell(table)
        self.finish()

    def cluster_own(self):
        self.changed('cluster_own', 'cluster {table} using {table}_pkey')

    def index_own(self):
        self.changed('index_own', 'create index on {table} (n) tablespace {place}',
                     'drop index if exists {table}_id_n_idx', 'create index on {table} (id, n)')

    def method(self):
        self.changed('method', 'alter table {table} set access method heap', 'alter table {table} set access method zheap')

    def change(self):
        table = self.mine(True)
        if table is None:
            return self.create()
        self.begin('change', 'read committed')
        self.write(table)
        self.tell(table)
        self.finish()

    def full_own(self):
        table = self.mine(True)
        if table:
            self.db.run('vacuum %s %s' % (self.r.choice(['full', '', '(freeze)']), table))

    # ------------------------------------------------------------ those of all

    def move_any(self):
        self.db.run('alter table %s set tablespace %s' % (self.table(), self.place()))

    ACTIONS = [('create', 10), ('drop', 6), ('empty', 4), ('retype', 3), ('move', 3), ('cluster_own', 3), ('method', 2),
               ('change', 10), ('full_own', 3), ('move_any', 1), ('vacuum_full', 1), ('cluster', 1), ('reindex', 1),
               ('index_own', 4), ('checkpoint', 1), ('finish_prepared', 6)]
    CROWDED = []
