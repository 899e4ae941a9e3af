"""Columns that come and go: added on the subscriber first, dropped on the publisher first.

So for a while the subscriber has a column more, and never one less.  Rows that it gets meanwhile have the
default there; a table without a key, where rows are found by all their columns, has only columns without a
default, set to null before they are dropped.
"""

import random
import threading

from server import Lost, SqlError

LIST = """select attname, format_type(atttypid, atttypmod) from pg_attribute
where attrelid = '%s'::regclass and attnum > 0 and not attisdropped order by attname"""


class Columns(threading.Thread):
    def __init__(self, run, seed):
        super().__init__(daemon=True)
        self.run_ = run
        self.r = random.Random(seed)
        self.end = threading.Event()
        self.extra = {}             # {table: {column: type}}, for clients; may be out of date

    def run(self):
        while not self.end.wait(self.r.random() * 0.5):
            try:
                if self.run_.synchronized():
                    self.change()
            except (Lost, OSError):
                self.end.wait(0.2)
            except SqlError as e:
                # locked, or just cancelled
                if e.code not in ('55P03', '57014', '40P01'):
                    self.run_.finding('columns: %s' % e)
            except Exception as e:
                self.run_.finding('columns: %s: %r' % (type(e).__name__, e))

    def lists(self, table, both):
        return [dict(db.run(LIST % table.name)) for db in both]

    def change(self):
        tables = [t for t in self.run_.tables if t.kind != 'nothing']
        table = self.r.choice(tables)
        both = [side.connect('-c lock_timeout=1s') for side in (self.run_.publisher, self.run_.subscriber)]
        try:
            here, there = self.lists(table, both)
            added = [c for c in here if c not in table.columns]
            if set(there) - set(here):
                self.drop_there(table, both)
            elif len(added) < 3 and self.r.random() < 0.6:
                self.add(table, both)
            elif added and self.r.random() < 0.3:
                self.retype(table, both, self.r.choice(added), here)
            elif added:
                self.drop(table, both, self.r.choice(added))
            self.extra[table.name] = {c: t for c, t in self.lists(table, both)[0].items() if c not in table.columns}
        finally:
            for db in both:
                db.close()

    def add(self, table, both):
        name = 'c%d' % self.r.randrange(6)
        if name in self.lists(table, both)[1]:
            return
        kind, default = self.r.choice([('integer', '7'), ('text', "'seven'"), ('numeric', '7.5')])
        sql = 'alter table %s add column %s %s' % (table.name, name, kind)
        if table.kind != 'full' and self.r.random() < 0.6:
            sql += ' default ' + default
        both[1].run(sql)
        both[0].run(sql)
        self.run_.count('columns added')

    def drop(self, table, both, name):
        sql = 'alter table %s drop column %s' % (table.name, name)
        if table.kind == 'full':
            sql = 'begin; lock table {t}; update {t} set {c} = null where {c} is not null; {sql}; commit'.format(t=table.name, c=name, sql=sql)
        both[0].run(sql)
        self.run_.count('columns dropped')
        self.drop_there(table, both)

    def drop_there(self, table, both):
        """When the subscriber has all that was there before."""
        here, there = self.lists(table, both)
        if self.run_.caught_up(both[0], 30):
            for name in set(there) - set(here):
                both[1].run('alter table %s drop column %s' % (table.name, name))

    def retype(self, table, both, name, here):
        """The table is rewritten; a binary value would not do for another type."""
        if here[name] == 'integer' and table.subscription != 'spilled':
            for db in reversed(both):
                db.run('alter table %s alter column %s type bigint' % (table.name, name))
            self.run_.count('columns rewritten')

    def settle(self, both):
        """No load, and the subscriber has everything: then both sides are to have the same columns."""
        for table in self.run_.tables:
            here, there = self.lists(table, both)
            for name in set(there) - set(here):
                both[1].run('alter table %s drop column %s' % (table.name, name))
            if set(here) - set(there):
                self.run_.finding('%s lacks columns %s' % (table.name, sorted(set(here) - set(there))))
