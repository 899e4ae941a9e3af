"""Clients of the torture that go on when a statement fails, or their session is lost.

What became of a transaction whose end has failed is asked of the server: it has committed, is
prepared, or has gone.
"""

import re
import time

from client import EXPECTED, Chores, Client, Wrong
from ddl import Ddl
from server import Lost, SqlError

# of the injected faults: input or output, full disk, memory, terminated while it connects
FAULTS = {'58030', '53100', '53200'}

# Where memory runs out after a command has changed catalogs, while the server rebuilds the session's relation cache entries,
# the abort invalidates only what earlier commands have changed: the entry of an index may keep a file that is gone ("read
# only 0 of 8192 bytes"), with heap as well.  So the session is given up.
CHANGES_CATALOGS = re.compile(r'\s*(create|drop|alter|truncate|cluster|vacuum|analyze|reindex|refresh)\b', re.I)


class Steadfast:
    doubt = None                    # a transaction whose end is not known
    error = None                    # that its end has met, if it was not just the session that was lost
    old_session = None              # the process that was to end it

    def session(self):
        """The process that works for us."""
        return self.db.pid if self.db else None

    def work(self):
        try:
            while not self.end.is_set():
                self.work_in_session()
        finally:
            self.leave_in_doubt()

    def work_in_session(self):
        """Until we are told to stop, or the session is lost."""
        try:
            if self.db is None:
                self.connect()
            self.settle()
            super().work()
        except (Lost, OSError):
            self.leave()
            self.end.wait(0.05)

    def leave(self):
        if self.db:
            self.db.close()
            self.db = None

    def attempt(self, name):
        self.t = None
        try:
            getattr(self, name)()
            self.count(name)
        except Wrong as e:
            self.finding('%s: %s' % (name, e))
            self.after_error(None)
        except SqlError as e:
            if e.code not in EXPECTED | FAULTS and 'checkpoint request failed' not in str(e):
                self.finding('%s: %s' % (name, e))
            self.count(e.code)
            self.after_error(e)
        except Lost:
            self.count('lost')
            self.note_doubt(None)
            raise

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def note_doubt(self, error):
        if self.t is not None and self.t.state != 'open':
            self.doubt, self.error, self.old_session = self.t, error, self.db.pid

    def after_error(self, error):
        self.note_doubt(error)
        if error and error.code == 'hang':
            raise Lost('hang')
        if error and error.code == '53200' and CHANGES_CATALOGS.match(error.sql):
            raise Lost('out of memory')
        try:
            self.rollback()
        except SqlError as e:
            self.count('rollback ' + e.code)
            raise Lost(str(e))
        self.settle()

    # ------------------------------------------------------------ transactions in doubt

    def settle(self):
        """What became of the transaction in doubt; until we are told to stop."""
        while self.doubt and not self.end.is_set():
            try:
                fate = self.fate(self.doubt)
            except SqlError:
                fate = None             # things still fail
            if fate:
                t, self.doubt = self.doubt, None
                self.apply(t, fate)
            else:
                self.end.wait(0.02)

    def leave_in_doubt(self):
        """When nothing fails any more, the model is told what became of it."""
        if self.doubt:
            self.model.doubtful.append(self.doubt)
            self.doubt = None

    def fate(self, t):
        db = self.db
        if self.old_session != db.pid and db.run('select from pg_stat_activity where pid = %d' % self.old_session):
            return None
        if db.run("select from pg_prepared_xacts where gid = '%d'" % t.n):
            return 'prepared'
        return 'committed' if db.run('select from journal where n = %d' % t.n) else 'gone'

    def apply(self, t, fate):
        state = t.state
        if fate == 'prepared' and state in ('preparing', 'committing prepared', 'rolling back prepared'):
            t.state = 'prepared'
            self.prepared.append(t)
        elif fate == 'committed' and state in ('committing', 'committing prepared'):
            if self.error:
                self.finding('%s %d is committed, in spite of %s' % (t.kind, t.n, self.error))
            self.model.committed(t)
        elif fate == 'gone' and state in ('committing', 'preparing', 'rolling back prepared'):
            pass
        else:
            self.finding('%s %d, %s, is %s' % (t.kind, t.n, state, fate))


class SteadfastClient(Steadfast, Client):
    pass


class SteadfastChores(Steadfast, Chores):
    pass


class SteadfastDdl(Steadfast, Ddl):
    pass


class Aborter(Steadfast, Client):
    """Rolls back a large transaction, then at once another, whose first undo record lies on the last page of the
    one before.  It begins while a sweep is at work on the first, and goes on until that has passed by.  None of their
    rows may ever come back.
    """

    ROWS = {'small': 10, 'large': 600, 'other': 300}

    def name(self, which):
        return 'aborted_%d_%s' % (self.number, which)

    def work(self):
        while not self.end.is_set() and not self.made():
            self.leave()
            self.end.wait(0.05)
        super().work()

    def made(self):
        try:
            self.connect()
            for which, rows in self.ROWS.items():
                t = self.name(which)
                self.db.run('create table if not exists %s (id int, v text) using zheap' % t)
                self.db.run("insert into %s select g, 'ok' from generate_series(1, %d) g where not exists (select from %s)" % (t, rows, t))
            return True
        except (Lost, SqlError, OSError):
            return False

    def unchanged(self):
        for which, rows in self.ROWS.items():
            found = self.db.run("select count(*) - %d, count(*) filter (where v <> 'ok') from %s" % (rows, self.name(which)))[0]
            if found != ('0', '0'):
                self.end.set()          # it stays so
                raise Wrong('%s: %s rows too many, %s that were rolled back' % ((self.name(which),) + found))

    def write(self, which):
        rows = self.r.choice([20, 100, 600])
        for _ in range(self.r.randrange(1, 4)):
            self.db.run("update %s set v = 'bad' || repeat('%s', %d) where id <= %d" % (
                self.name(which), self.r.choice('xyz'), self.r.randrange(100), rows))

    def two(self):
        self.unchanged()
        self.db.run('begin')
        self.write('large')
        self.db.run('rollback')
        self.end.wait(self.r.choice([0, 0.01, 0.05]) * self.r.random())
        self.db.run('begin')
        self.db.run("insert into %s values (-1, 'bad'), (-2, 'bad')" % self.name('small'))
        self.write('other')
        self.end.wait(self.r.choice([0.1, 0.5, 2]) * self.r.random())
        self.db.run('rollback')

    def dropped(self):
        """Rolled back in a table that is gone then."""
        t = 'aborted_%d_gone' % self.number
        self.db.run('drop table if exists ' + t)
        self.db.run('create table %s (id int, v text) using zheap' % t)
        self.db.run("begin; insert into %s select g, repeat('x', 100) from generate_series(1, %d) g; rollback" % (
            t, self.r.choice([1, 30, 300])))
        self.db.run('drop table ' + t)
        self.two()

    ACTIONS = [('two', 4), ('dropped', 1)]
    CROWDED = []


class Sweeper(Steadfast, Chores):
    """VACUUM of the undo relation, again and again."""

    def advance(self):
        self.db.run('select pg_current_xact_id()')

    def pause(self):
        time.sleep(self.r.random() * 0.02)

    ACTIONS = [('vacuum_undo', 10), ('advance', 5), ('pause', 2), ('checkpoint', 0.3)]
    CROWDED = []


class Evictor(Sweeper):
    """Drives the pages of others out of memory, so that they are read again."""

    def scan(self):
        self.db.run("select pg_prewarm('noise')")

    ACTIONS = [('scan', 1), ('pause', 1)]
